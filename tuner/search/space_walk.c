/* space_walk.c - walks through a kernel's parameters to its valid points, for space.c.
 *
 * Parameters are bound one after the other, in an order that prunes early (space_order.c).  A
 * derived value is computed, and a constraint checked, as soon as all its parameters are bound, and
 * a prefix that fails is not extended.  Parameters that no constraint reads are not walked at all:
 * they multiply what is left.
 *
 * A kernel without its bets may have 10^12 valid points (simt, at 4096^3).  A walk that visits more
 * than VISITS_MOST prefixes, or fewer if few points are wanted, begins again and, at its later
 * levels, follows each value only with some chance.  Every valid point then has the same chance to
 * be found, and how many are found says how many there are.  If none is found, valid points are
 * rare and more prefixes are visited, so that no kernel is lost for them. */
#include "search/space_walk.h"

#include "base/err.h"
#include "problem/problem.h"
#include "base/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE_SEED 0x67656d6d74756e65ull /* of the sample kept of a space beyond the limit */

#define VISITS_MOST  20000000  /* prefixes of one walk: 3 s on one core; */
#define VISITS_POINT 100       /* so many for each point that is kept, if these are few */
#define VISITS_EMPTY 100000000 /* up to this, a walk that found no point is repeated with */
#define VISITS_MORE  10        /* so many times its visits */
#define CHANCE_LEAST 1e-4      /* by which a walk that was given up lowers the chance of a point */
#define GIVEN_UP     1         /* what a walk of too many visits returns */

/* One thing to do when a parameter has been bound. */
struct step {
    bool constraint; /* else a derived value */
    size_t index;
};

struct walk {
    struct gt_space *space;
    size_t limit, capacity;
    /* the plan: level 0 is before any parameter, level l after order[l - 1] was bound */
    size_t order[GT_MAX_PARAMS];
    size_t depth;                         /* parameters walked; the rest of order[] is free */
    size_t first_step[GT_MAX_PARAMS + 2]; /* of each level, in step[] */
    struct step *step;
    uint64_t free_points; /* of the parameters that no constraint reads */
    /* the state */
    int64_t slots[GT_MAX_SLOTS];
    uint8_t index[GT_MAX_PARAMS];
    bool *passed;    /* per constraint: some prefix satisfied it */
    size_t furthest; /* 1 + the last constraint that was reached */
    uint64_t seen;   /* valid points so far */
    uint64_t visits; /* prefixes so far, */
    uint64_t visits_most;
    /* the part of a large space that is walked */
    double chance;       /* of each point: 1 if all are walked */
    double value_chance; /* of each value from level `thinned` on */
    size_t thinned;
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

/* Whether an expression reads only derived values of `computed`. */
static bool computable(const struct gt_kernel *kernel, const struct gt_expr *expr,
                       const bool *computed)
{
    for (size_t i = 0; i < kernel->deriveds; i++)
        if (!computed[i] && gt_expr_uses(expr, kernel->first_param + kernel->params + i))
            return false;
    return true;
}

/* Sets the steps of each level: constraints as early as possible, a derived value only after the
 * constraints that guard it (BM % WARPS == 0 before xdiv(BM, WARPS)). */
static void plan_steps(struct walk *walk, const uint64_t *need)
{
    const struct gt_kernel *kernel = walk->space->kernel;
    bool computed[GT_MAX_DERIVED] = {false};
    bool *checked = walk->passed; /* borrowed while planning */
    uint64_t bound = 0;
    size_t steps = 0;

    for (size_t level = 0; level <= walk->depth; level++) {
        walk->first_step[level] = steps;
        if (level > 0)
            bound |= 1ull << walk->order[level - 1];
        for (size_t d = 0; d <= kernel->deriveds; d++) {
            for (size_t c = 0; c < kernel->constraints; c++) {
                if (checked[c] || (need[c] & ~bound) ||
                    !computable(kernel, kernel->constraint[c].expr, computed))
                    continue;
                checked[c] = true;
                walk->step[steps++] = (struct step){true, c};
            }
            if (d < kernel->deriveds && !computed[d] && !(kernel->derived[d].depends & ~bound)) {
                computed[d] = true;
                walk->step[steps++] = (struct step){false, d};
            }
        }
    }
    walk->first_step[walk->depth + 1] = steps;
    memset(checked, 0, kernel->constraints * sizeof(*checked));
}

static int plan(struct walk *walk)
{
    const struct gt_kernel *kernel = walk->space->kernel;
    uint64_t *need = calloc(kernel->constraints + 1, sizeof(*need));
    double free_points;

    walk->passed = calloc(kernel->constraints + 1, sizeof(*walk->passed));
    walk->step = calloc(kernel->constraints + kernel->deriveds + 1, sizeof(*walk->step));
    if (!need || !walk->passed || !walk->step) {
        free(need);
        return gt_err_nomem(walk->err);
    }
    for (size_t c = 0; c < kernel->constraints; c++)
        need[c] = gt_kernel_depends(kernel, kernel->constraint[c].expr);
    walk->depth = gt_space_order(kernel, walk->slots, need, walk->order);
    plan_steps(walk, need);
    free(need);
    free_points = 1;
    for (size_t i = walk->depth; i < kernel->params; i++)
        free_points *= (double)kernel->param[walk->order[i]].count;
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
    for (size_t i = kernel->params; i-- > walk->depth;) {
        size_t count = kernel->param[walk->order[i]].count;

        point[walk->order[i]] = (uint8_t)(offset % count);
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

/* Whether an expression reads a derived value that has none. */
static bool reads_undefined(const struct walk *walk, const struct gt_expr *expr, uint64_t undefined)
{
    const struct gt_kernel *kernel = walk->space->kernel;

    for (size_t i = 0; undefined >> i; i++)
        if (undefined >> i & 1 && gt_expr_uses(expr, kernel->first_param + kernel->params + i))
            return true;
    return false;
}

/* What is not known about a prefix because an expression failed (a division by zero, say).  Whether
 * that matters is decided at its points, which another constraint may reject (settle_doubt). */
struct doubt {
    uint64_t undefined; /* derived values */
    bool any;
};

/* Does the steps of a level; false: a constraint rejects the prefix. */
static bool check(struct walk *walk, size_t level, struct doubt *doubt)
{
    const struct gt_kernel *kernel = walk->space->kernel;
    const size_t first_derived = kernel->first_param + kernel->params;

    for (size_t s = walk->first_step[level]; s < walk->first_step[level + 1]; s++) {
        const struct step *step = &walk->step[s];
        const struct gt_expr *expr = step->constraint ? kernel->constraint[step->index].expr
                                                      : kernel->derived[step->index].expr;
        int64_t value;

        if ((doubt->undefined && reads_undefined(walk, expr, doubt->undefined)) ||
            gt_expr_eval(expr, walk->slots, &value, NULL)) {
            doubt->any = true;
            if (!step->constraint)
                doubt->undefined |= 1ull << step->index;
            continue;
        }
        if (!step->constraint) {
            walk->slots[first_derived + step->index] = value;
            continue;
        }
        if (s + 1 > walk->furthest)
            walk->furthest = s + 1;
        if (!value)
            return false;
        walk->passed[step->index] = true;
    }
    return true;
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
    for (size_t i = 0; i < walk->depth; i++)
        candidate.point.value[walk->order[i]] =
            kernel->param[walk->order[i]].value[walk->index[walk->order[i]]];
    rc = gt_candidate_valid(&candidate, &failed, walk->err);
    return rc ? rc : failed < 0;
}

/* Whether a value is followed, where not all are. */
static bool followed(struct walk *walk, size_t level)
{
    return level < walk->thinned || walk->chance == 1 ||
           gt_random_unit(&walk->random) < walk->value_chance;
}

static int descend(struct walk *walk, size_t level, struct doubt doubt)
{
    const struct gt_kernel *kernel = walk->space->kernel;
    size_t param;
    int rc = 1;

    if (++walk->visits > walk->visits_most)
        return GIVEN_UP;
    if (!check(walk, level, &doubt))
        return GT_OK;
    if (level == walk->depth) {
        if (doubt.any)
            rc = settle_doubt(walk);
        return rc > 0 ? take(walk) : rc;
    }
    param = walk->order[level];
    for (size_t i = 0; i < kernel->param[param].count; i++) {
        if (!followed(walk, level))
            continue;
        walk->index[param] = (uint8_t)i;
        walk->slots[kernel->first_param + param] = kernel->param[param].value[i];
        rc = descend(walk, level + 1, doubt);
        if (rc)
            return rc;
    }
    return GT_OK;
}

/* Which part of all prefixes lies before the one at which a walk was given up. */
static double progress(const struct walk *walk)
{
    double part = 1, before = 0;

    for (size_t level = 0; level < walk->depth; level++) {
        part /= (double)walk->space->kernel->param[walk->order[level]].count;
        before += part * walk->index[walk->order[level]];
    }
    return before;
}

/* After a walk that was given up: a smaller part, such that the next walk takes about half of
 * visits_most.  The later half of the levels is thinned, where most prefixes are; if that is not
 * enough, more levels are. */
static void thin(struct walk *walk)
{
    walk->thinned = walk->chance == 1 ? walk->depth / 2 : walk->thinned / 2;
    walk->chance *= fmax(progress(walk), CHANCE_LEAST) / 2;
    walk->value_chance = pow(walk->chance, 1 / (double)(walk->depth - walk->thinned));
}

/* Walks through all points, or through as large a part of them as visits_most allows. */
static int walk_part(struct walk *walk)
{
    int rc = GIVEN_UP;

    for (walk->chance = 1; rc == GIVEN_UP; rc == GIVEN_UP ? thin(walk) : (void)0) {
        walk->random.state = SAMPLE_SEED;
        walk->weight = 1;
        walk->seen = walk->visits = 0;
        walk->space->count = 0;
        rc = descend(walk, 0, (struct doubt){0});
    }
    return rc;
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
    char problem[GT_PROBLEM_TEXT_MAX];

    gt_problem_format(walk->space->problem, problem);
    if (walk->chance < 1)
        return gt_err_set(walk->err, GT_ERANGE,
                          "kernel %s has too many points for %s on %s to look at all of them, and "
                          "none of those looked at was valid; name the values to search",
                          kernel->name, problem, walk->space->device->name);
    for (size_t s = 0; s < walk->furthest; s++) {
        const struct step *step = &walk->step[s];
        const struct gt_constraint *constraint;

        if (!step->constraint || walk->passed[step->index])
            continue;
        constraint = &kernel->constraint[step->index];
        return gt_err_set(walk->err, GT_ERANGE,
                          "kernel %s has no valid point for %s on %s: the constraint \"%s\" (%s) "
                          "rejects every point",
                          kernel->name, problem, walk->space->device->name,
                          gt_expr_text(constraint->expr), constraint->why);
    }
    return gt_err_set(walk->err, GT_ERANGE, "kernel %s has no valid point for %s on %s",
                      kernel->name, problem, walk->space->device->name);
}

int gt_space_walk(struct gt_space *space, size_t limit, struct gt_err *err)
{
    struct walk walk = {.space = space,
                        .limit = limit,
                        .err = err,
                        .visits_most = limit < VISITS_MOST / VISITS_POINT ? limit * VISITS_POINT
                                                                          : VISITS_MOST};
    int rc;

    gt_facts_fill(space->problem, space->device, walk.slots);
    space->cross_product = points_of(space->kernel, ~0ull);
    rc = plan(&walk);
    GT_STEP(rc, walk_all(&walk));
    if (!rc && !space->count)
        rc = explain_empty(&walk);
    space->estimated = walk.chance < 1;
    space->valid = (double)walk.seen / walk.chance;
    free(walk.passed);
    free(walk.step);
    return rc;
}
