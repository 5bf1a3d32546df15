/* space_walk.c - walks through a kernel's parameters to its valid points, for space.c and
 * space_shares.c.
 *
 * Parameters are bound one after the other, in an order that prunes early (space_order.c).  A
 * constraint is checked as soon as all its parameters are bound, and a prefix that fails is not
 * extended; space_verdicts.c remembers what constraints say.  Parameters that no constraint reads
 * are not walked at all: they multiply what is left.
 *
 * A kernel without its bets may have 10^12 valid points (simt, at 4096^3).  A walk that visits more
 * than VISITS_MOST prefixes, or fewer if few points are wanted, begins again and, at its later
 * levels, follows each value only with some chance.  Every valid point then has the same chance to
 * be found, and how many are found says how many there are.  The first chance is a guess by how far
 * the walk came; what it visits says which chance would use the visits.  If no point is found,
 * valid points are rare and more prefixes are visited, so that no kernel is lost for them.  Of a
 * part with far more points than are kept, each point is seen with some chance only, because points
 * that enter the sample and are replaced cost more than visits (space_sample.c). */
#include "search/space_walk.h"

#include "base/clock.h"
#include "base/err.h"
#include "problem/problem.h"
#include "base/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Spaces of 3 to 11 million points, such as those of simt where operands are not aligned, take 16
 * to 57 million visits.  When a walk had 20 million, sweeps of such problems knew 5,000 to 40,000
 * points with one or two neighbours each, and found nothing beside their first points. */
#define VISITS_MOST  GT_WALK_VISITS
#define VISITS_POINT 100       /* so many for each point that is kept, if these are few */
#define VISITS_EMPTY 100000000 /* up to this, a walk that found no point is repeated with */
#define VISITS_MORE  10        /* so many times its visits */
#define CHANCE_LEAST 1e-4      /* by which a walk that was given up lowers the chance of a point */
#define VISITS_PART  8         /* a part that took less than visits_most over this is too small; */
#define VISITS_AIM   0.4       /* one is walked that should take this much of visits_most, */
#define WIDENED_MOST 4         /* so many times */
#define SEEN_AIM     4         /* for each point that is kept, so many of a part should be seen */
#define SHARED_FROM  2         /* shares are of the prefixes of depth / this many parameters */
#define GIVEN_UP     1         /* what a walk of too many visits returns, */
#define SPENT        2         /* and one after which the walks together took too long: */
#define LOOK_EVERY   8192      /* visits between two looks at the signals: 1 ms */

#define PREFIX_SEED 0x7072656669786573ull /* of the values that are followed */

struct walk {
    struct gt_space *space;
    struct gt_walk_plan plan;
    struct gt_verdicts *verdicts;
    struct gt_sample sample;
    /* the state */
    uint8_t index[GT_MAX_PARAMS];
    uint64_t visits; /* prefixes so far, */
    uint64_t visits_most, seen_most;
    double ends_s; /* when the thread has taken so much processor time */
    /* the part of a large space that is walked */
    double chance;       /* of each prefix of all parameters: 1 if all are walked */
    double value_chance; /* of each value from level `thinned` on */
    double density;      /* points over visits, by the last walk */
    size_t thinned;
    struct gt_random random; /* of its own: the same prefixes, whatever is kept */
    /* the share of the prefixes of `share.level` parameters that is walked */
    struct gt_walk_share share;
    uint64_t prefixes; /* of so many parameters so far */
    struct gt_err *err;
};

/* Values of the parameters in `set`, multiplied. */
static double points_of(const struct gt_kernel *kernel, uint64_t set)
{
    double points = 1;

    for (size_t i = 0; i < kernel->params; i++)
        if (set >> i & 1)
            points *= (double)kernel->param[i].count;
    return points;
}

/* Counts the points that the parameters which are not walked make of each prefix. */
static int count_free(struct walk *walk)
{
    const struct gt_kernel *kernel = walk->space->kernel;
    double free_points = 1;

    for (size_t i = walk->plan.depth; i < kernel->params; i++)
        free_points *= (double)kernel->param[walk->plan.order[i]].count;
    if (free_points > 0x1p60)
        return gt_err_set(walk->err, GT_ERANGE,
                          "%s: its parameters span %.3g points; at most 2^60 can be counted",
                          kernel->path, free_points);
    walk->sample.plan = &walk->plan;
    walk->sample.free_points = (uint64_t)free_points;
    return GT_OK;
}

/* Judges a point whose expressions failed somewhere as gt_candidate_valid does: 1 valid, 0 rejected
 * by another constraint, < 0 an error of the description. */
static int settle_doubt(struct walk *walk)
{
    const struct gt_space *space = walk->space;
    const struct gt_kernel *kernel = space->kernel;
    struct gt_candidate candidate = {kernel, space->problem, space->device, {{0}}};
    int failed, rc;

    gt_point_default(&candidate.point, kernel);
    for (size_t i = 0; i < walk->plan.depth; i++)
        candidate.point.value[walk->plan.order[i]] =
            kernel->param[walk->plan.order[i]].value[walk->index[walk->plan.order[i]]];
    rc = gt_candidate_valid(&candidate, &failed, walk->err);
    return rc ? rc : failed < 0;
}

/* Whether a value is followed, where not all are. */
static bool followed(struct walk *walk, size_t level)
{
    return level < walk->thinned || walk->chance == 1 ||
           gt_random_unit(&walk->random) < walk->value_chance;
}

/* Takes the points of a prefix that binds all walked parameters. */
static int arrive(struct walk *walk, bool doubt)
{
    int rc = doubt ? settle_doubt(walk) : 1;

    if (rc <= 0)
        return rc;
    return gt_sample_take(&walk->sample, walk->index, walk->err);
}

/* What ends a walk early: too many visits or points, or a signal. */
static int check_visits(struct walk *walk)
{
    const volatile sig_atomic_t *signals = walk->space->signals;

    if (++walk->visits > walk->visits_most || walk->sample.seen > walk->seen_most)
        return GIVEN_UP;
    if (walk->visits % LOOK_EVERY == 0 && signals && *signals)
        return gt_err_set(walk->err, GT_EINTERRUPTED, "interrupted; the same command resumes");
    return walk->visits % LOOK_EVERY == 0 && gt_clock_thread_s() > walk->ends_s ? SPENT : GT_OK;
}

/* Extends a prefix by every value of the next parameter.  doubt: an expression failed for it, which
 * is settled at its points, because another constraint may reject them. */
static int descend(struct walk *walk, size_t level, bool doubt)
{
    const size_t param = walk->plan.order[level];
    struct gt_admitted admitted = {0, 0};
    int rc = GT_OK;

    if (level == walk->share.level && walk->prefixes++ % walk->share.of != walk->share.number)
        return GT_OK;
    if (level == walk->plan.depth)
        return arrive(walk, doubt);
    for (size_t i = 0; i < walk->space->kernel->param[param].count && !rc; i++) {
        const size_t bit = i % 64;

        if (!bit)
            admitted = gt_verdicts_admit(walk->verdicts, level + 1, i / 64);
        if (!followed(walk, level))
            continue;
        walk->index[param] = (uint8_t)i;
        rc = check_visits(walk);
        if (rc)
            return rc;
        if (!(admitted.values >> bit & 1))
            continue;
        gt_verdicts_bind(walk->verdicts, level, i);
        rc = descend(walk, level + 1, doubt || admitted.doubtful >> bit & 1);
    }
    return rc;
}

/* Which part of all prefixes lies before the one at which a walk was given up. */
static double progress(const struct walk *walk)
{
    double part = 1, before = 0;

    for (size_t level = 0; level < walk->plan.depth; level++) {
        part /= (double)walk->space->kernel->param[walk->plan.order[level]].count;
        before += part * walk->index[walk->plan.order[level]];
    }
    return before;
}

/* Sets the chance of each prefix, for a walk that should take so many visits.  The later half of
 * the levels is thinned, where most prefixes are; if that is not enough, more levels are. */
static void set_chance(struct walk *walk, double chance, double visits)
{
    const double points = walk->density * visits, wanted = SEEN_AIM * (double)walk->sample.limit;

    walk->chance = chance;
    walk->value_chance = pow(chance, 1 / (double)(walk->plan.depth - walk->thinned));
    walk->sample.chance = points > wanted ? wanted / points : 1;
}

/* After a walk of which visits_most covered only this: a smaller part, such that the next walk
 * takes about half of visits_most. */
static void thin(struct walk *walk, double covered)
{
    walk->thinned = walk->chance == 1 ? walk->plan.depth / 2 : walk->thinned / 2;
    set_chance(walk, walk->chance * fmax(covered, CHANCE_LEAST) / 2,
               VISITS_AIM * (double)walk->visits_most);
}

static int walk_once(struct walk *walk)
{
    struct gt_admitted root;
    int rc = GT_OK;

    gt_sample_begin(&walk->sample);
    walk->random.state = PREFIX_SEED;
    walk->visits = 1; /* the prefix without a parameter */
    walk->prefixes = 0;
    root = gt_verdicts_admit(walk->verdicts, 0, 0);
    if (root.values)
        rc = descend(walk, 0, root.doubtful);
    walk->density = (double)walk->sample.seen / walk->sample.chance / (double)walk->visits;
    return rc;
}

/* Whether more of a space should be looked at than the last walk did: too few of the visits were
 * used, or too few of the points seen. */
static bool too_small(const struct walk *walk)
{
    return walk->chance < 1 &&
           (walk->visits < walk->visits_most / VISITS_PART ||
            (walk->sample.chance < 1 && walk->space->count < walk->sample.limit));
}

/* After the walk of a part: of a larger one as long as the visits allow more.  The chance that was
 * guessed may be a thousandth of that. */
static int widen(struct walk *walk)
{
    const double aim = VISITS_AIM * (double)walk->visits_most;
    int rc = GT_OK;

    for (int i = 0; !rc && i < WIDENED_MOST && too_small(walk); i++) {
        const double done = walk->chance, visits = (double)walk->visits;

        set_chance(walk, fmin(0.5, done * fmax(1, aim / visits)), fmax(aim, visits));
        rc = walk_once(walk);
        if (rc == GIVEN_UP) {
            set_chance(walk, done, visits);
            return walk_once(walk);
        }
    }
    return rc;
}

/* Walks through all points, or through as large a part of them as visits_most allows. */
static int walk_part(struct walk *walk)
{
    int rc = GIVEN_UP;

    while (rc == GIVEN_UP) {
        rc = walk_once(walk);
        if (rc == GIVEN_UP)
            thin(walk, progress(walk));
    }
    return rc ? rc : widen(walk);
}

/* The same, with more visits as long as none of the points in that part is valid. */
static int walk_all(struct walk *walk)
{
    int rc = walk_part(walk);

    while (!rc && !walk->sample.seen && walk->chance < 1 && walk->visits_most < VISITS_EMPTY) {
        walk->visits_most *= VISITS_MORE;
        walk->chance = walk->sample.chance = 1;
        rc = walk_part(walk);
    }
    return rc;
}

/* The error where no point is left: names the constraint that rejected every prefix. */
static int explain_empty(const struct walk *walk)
{
    const struct gt_kernel *kernel = walk->space->kernel;
    const struct gt_constraint *constraint = gt_verdicts_culprit(walk->verdicts);
    char problem[GT_PROBLEM_TEXT_MAX];

    gt_problem_format(walk->space->problem, problem);
    if (walk->chance < 1)
        return gt_err_set(walk->err, GT_ERANGE,
                          "kernel %s has too many points for %s on %s to look at all of them, and "
                          "none of those looked at was valid; name the values to search",
                          kernel->name, problem, walk->space->device->name);
    if (constraint)
        return gt_err_set(walk->err, GT_ERANGE,
                          "kernel %s has no valid point for %s on %s: the constraint \"%s\" (%s) "
                          "rejects every point",
                          kernel->name, problem, walk->space->device->name,
                          gt_expr_text(constraint->expr), constraint->why);
    return gt_err_set(walk->err, GT_ERANGE, "kernel %s has no valid point for %s on %s",
                      kernel->name, problem, walk->space->device->name);
}

/* *walk is to be released also after a failure. */
static int begin(struct walk *walk, struct gt_space *space, size_t limit,
                 const struct gt_walk_share *share, struct gt_err *err)
{
    int64_t facts[GT_MAX_SLOTS] = {0};
    int rc;

    *walk = (struct walk){.space = space,
                          .sample = {.space = space, .limit = limit, .chance = 1},
                          .seen_most = UINT64_MAX,
                          .ends_s =
                              space->seconds > 0 ? gt_clock_thread_s() + space->seconds : INFINITY,
                          .chance = 1,
                          .share = *share,
                          .err = err};
    gt_facts_fill(space->problem, space->device, facts);
    space->cross_product = points_of(space->kernel, ~0ull);
    rc = gt_walk_plan_init(&walk->plan, space->kernel, facts, err);
    GT_STEP(rc, count_free(walk));
    GT_STEP(rc, gt_verdicts_new(&walk->verdicts, &walk->plan, facts, err));
    walk->share.level = walk->plan.depth / SHARED_FROM;
    return rc;
}

static void release(struct walk *walk)
{
    gt_verdicts_free(walk->verdicts);
    gt_walk_plan_release(&walk->plan);
}

int gt_space_walk(struct gt_space *space, size_t limit, double covered, struct gt_err *err)
{
    struct walk walk;
    int rc = begin(&walk, space, limit, &(struct gt_walk_share){.of = 1}, err);

    walk.visits_most = limit < VISITS_MOST / VISITS_POINT ? limit * VISITS_POINT : VISITS_MOST;
    walk.density = (double)walk.sample.free_points; /* at most */
    if (!rc && covered < 1)
        thin(&walk, covered);
    GT_STEP(rc, walk_all(&walk));
    if (rc == SPENT) { /* the points that were found are searched; there may be others */
        walk.chance *= fmax(progress(&walk), CHANCE_LEAST);
        rc = GT_OK;
    }
    if (!rc && !space->count)
        rc = explain_empty(&walk);
    space->estimated = walk.chance < 1;
    space->valid = (double)walk.sample.seen / walk.sample.chance / walk.chance;
    release(&walk);
    return rc;
}

int gt_space_walk_share(struct gt_space *space, size_t limit, struct gt_walk_share *share,
                        struct gt_err *err)
{
    struct walk walk;
    int rc = begin(&walk, space, limit, share, err);

    walk.visits_most = share->visits;
    if (share->points)
        walk.seen_most = share->points;
    GT_STEP(rc, walk_once(&walk));
    share->covered = rc == GT_OK ? 1 : progress(&walk);
    share->visited = walk.visits;
    space->valid = (double)walk.sample.seen;
    release(&walk);
    return rc == GIVEN_UP || rc == SPENT ? GT_OK : rc;
}
