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
 * valid points are rare and more prefixes are visited, so that no kernel is lost for them. */
#include "search/space_walk.h"

#include "base/err.h"
#include "problem/problem.h"
#include "base/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE_SEED 0x67656d6d74756e65ull /* of the sample kept of a space beyond the limit */

/* Spaces of 3 to 11 million points, such as those of simt where operands are not aligned, take 16
 * to 57 million visits.  When a walk had 20 million, sweeps of such problems knew 5,000 to 40,000
 * points with one or two neighbours each, and found nothing beside their first points. */
#define VISITS_MOST  60000000  /* prefixes of one walk: 4 s on one core; */
#define VISITS_POINT 100       /* so many for each point that is kept, if these are few */
#define VISITS_EMPTY 100000000 /* up to this, a walk that found no point is repeated with */
#define VISITS_MORE  10        /* so many times its visits */
#define CHANCE_LEAST 1e-4      /* by which a walk that was given up lowers the chance of a point */
#define VISITS_PART  8         /* a part that took less than visits_most over this is too small; */
#define VISITS_AIM   0.4       /* one is walked that should take this much of visits_most, */
#define WIDENED_MOST 4         /* so many times */
#define SHARED_FROM  2         /* shares are of the prefixes of depth / this many parameters */
#define GIVEN_UP     1         /* what a walk of too many visits returns */
#define LOOK_EVERY   8192      /* visits between two looks at the signals: 1 ms */

struct walk {
    struct gt_space *space;
    size_t limit, capacity;
    struct gt_walk_plan plan;
    struct gt_verdicts *verdicts;
    uint64_t free_points; /* of the parameters that no constraint reads */
    /* the state */
    uint8_t index[GT_MAX_PARAMS];
    uint64_t seen;   /* valid points so far */
    uint64_t visits; /* prefixes so far, */
    uint64_t visits_most;
    /* the part of a large space that is walked */
    double chance;       /* of each point: 1 if all are walked */
    double value_chance; /* of each value from level `thinned` on */
    size_t thinned;
    /* the share of the prefixes of `share.level` parameters that is walked */
    struct gt_walk_share share;
    uint64_t prefixes; /* of so many parameters so far */
    /* the sample: reservoir sampling by skips (Li, ACM TOMS 20(4), 1994, algorithm L) */
    struct gt_random random;
    double weight;
    uint64_t next; /* number of the next point to take */
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
    walk->free_points = (uint64_t)free_points;
    return GT_OK;
}

/* Writes the walked parameters and the `offset`-th combination of the free ones as point `at`. */
static void put_point(struct walk *walk, size_t at, uint64_t offset)
{
    const struct gt_kernel *kernel = walk->space->kernel;
    uint8_t *point = walk->space->index + at * kernel->params;

    memcpy(point, walk->index, kernel->params);
    for (size_t i = kernel->params; i-- > walk->plan.depth;) {
        size_t count = kernel->param[walk->plan.order[i]].count;

        point[walk->plan.order[i]] = (uint8_t)(offset % count);
        offset /= count;
    }
}

static int grow(struct walk *walk)
{
    struct gt_space *space = walk->space;
    size_t capacity = walk->capacity ? walk->capacity * 2 : 1024;
    uint8_t *index;

    if (capacity > walk->limit)
        capacity = walk->limit;
    index = realloc(space->index, capacity * (space->kernel->params ? space->kernel->params : 1));
    if (!index)
        return gt_err_nomem(walk->err);
    space->index = index;
    walk->capacity = capacity;
    return GT_OK;
}

/* Draws how many points are skipped before the next one is taken. */
static void skip(struct walk *walk)
{
    double k = (double)walk->limit, gap;

    walk->weight *= exp(log1p(-gt_random_unit(&walk->random)) / k);
    gap = floor(log1p(-gt_random_unit(&walk->random)) / log1p(-walk->weight));
    walk->next += gap < 0x1p61 ? (uint64_t)gap + 1 : 1ull << 61;
}

/* Takes the points of a valid prefix, or those of them that belong to the sample. */
static int take(struct walk *walk)
{
    struct gt_space *space = walk->space;
    uint64_t first = walk->seen, end = walk->seen + walk->free_points;
    uint64_t offset = 0;

    for (; space->count < walk->limit && first + offset < end; offset++) {
        if (space->count == walk->capacity) {
            int rc = grow(walk);

            if (rc)
                return rc;
        }
        put_point(walk, space->count++, offset);
        if (space->count == walk->limit) {
            walk->next = walk->limit - 1;
            skip(walk);
        }
    }
    while (space->count == walk->limit && walk->next < end) {
        put_point(walk, gt_random_below(&walk->random, walk->limit), walk->next - first);
        skip(walk);
    }
    walk->seen = end;
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

    return rc > 0 ? take(walk) : rc;
}

/* What ends a walk early: too many visits, or a signal. */
static int check_visits(struct walk *walk)
{
    const volatile sig_atomic_t *signals = walk->space->signals;

    if (++walk->visits > walk->visits_most)
        return GIVEN_UP;
    if (walk->visits % LOOK_EVERY == 0 && signals && *signals)
        return gt_err_set(walk->err, GT_EINTERRUPTED, "interrupted; the same command resumes");
    return GT_OK;
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

/* Sets the chance of each point.  The later half of the levels is thinned, where most prefixes are;
 * if that is not enough, more levels are. */
static void set_chance(struct walk *walk, double chance)
{
    walk->chance = chance;
    walk->value_chance = pow(chance, 1 / (double)(walk->plan.depth - walk->thinned));
}

/* After a walk that was given up: a smaller part, such that the next walk takes about half of
 * visits_most. */
static void thin(struct walk *walk)
{
    walk->thinned = walk->chance == 1 ? walk->plan.depth / 2 : walk->thinned / 2;
    set_chance(walk, walk->chance * fmax(progress(walk), CHANCE_LEAST) / 2);
}

static int walk_once(struct walk *walk)
{
    struct gt_admitted root;

    walk->random.state = SAMPLE_SEED;
    walk->weight = 1;
    walk->seen = 0;
    walk->visits = 1; /* the prefix without a parameter */
    walk->prefixes = 0;
    walk->space->count = 0;
    root = gt_verdicts_admit(walk->verdicts, 0, 0);
    return root.values ? descend(walk, 0, root.doubtful) : GT_OK;
}

/* After the walk of a part: of a larger one as long as the visits allow more.  The chance that was
 * guessed may be a thousandth of that. */
static int widen(struct walk *walk)
{
    int rc = GT_OK;

    for (int i = 0; !rc && i < WIDENED_MOST && walk->chance < 1 &&
                    walk->visits < walk->visits_most / VISITS_PART;
         i++) {
        const double done = walk->chance;
        const double more = VISITS_AIM * (double)walk->visits_most / (double)walk->visits;

        set_chance(walk, fmin(0.5, done * more));
        rc = walk_once(walk);
        if (rc == GIVEN_UP) {
            set_chance(walk, done);
            return walk_once(walk);
        }
    }
    return rc;
}

/* Walks through all points, or through as large a part of them as visits_most allows. */
static int walk_part(struct walk *walk)
{
    int rc = GIVEN_UP;

    for (walk->chance = 1; rc == GIVEN_UP; rc == GIVEN_UP ? thin(walk) : (void)0)
        rc = walk_once(walk);
    return rc ? rc : widen(walk);
}

/* The same, with more visits as long as none of the points in that part is valid. */
static int walk_all(struct walk *walk)
{
    int rc = walk_part(walk);

    while (!rc && !walk->seen && walk->chance < 1 && walk->visits_most < VISITS_EMPTY) {
        walk->visits_most *= VISITS_MORE;
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

    *walk = (struct walk){.space = space, .limit = limit, .chance = 1, .share = *share, .err = err};
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

int gt_space_walk(struct gt_space *space, size_t limit, struct gt_err *err)
{
    struct walk walk;
    int rc = begin(&walk, space, limit, &(struct gt_walk_share){.of = 1}, err);

    walk.visits_most = limit < VISITS_MOST / VISITS_POINT ? limit * VISITS_POINT : VISITS_MOST;
    GT_STEP(rc, walk_all(&walk));
    if (!rc && !space->count)
        rc = explain_empty(&walk);
    space->estimated = walk.chance < 1;
    space->valid = (double)walk.seen / walk.chance;
    release(&walk);
    return rc;
}

int gt_space_walk_share(struct gt_space *space, size_t limit, const struct gt_walk_share *share,
                        bool *whole, struct gt_err *err)
{
    struct walk walk;
    int rc = begin(&walk, space, limit, share, err);

    walk.visits_most = share->visits;
    GT_STEP(rc, walk_once(&walk));
    *whole = rc == GT_OK;
    space->valid = (double)walk.seen;
    release(&walk);
    return rc == GIVEN_UP ? GT_OK : rc;
}
