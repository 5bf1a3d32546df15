/* lookup_repair.c - adapts a point that won elsewhere to the problem at hand.
 *
 * Repairing is descent on the number of broken constraints: the best change of one parameter as
 * long as such a change helps, else a change of two parameters.  Where no winner is near and the
 * descent gets stuck, a random walk repairs broken constraints one by one.  Refining is descent on
 * the model's time.  Refining takes only steps so large that they cannot be an error of the
 * model. */
#include "lookup/lookup_impl.h"

#include "lookup/predict.h"
#include "base/stats.h"

#include <limits.h>
#include <math.h>

#define REPAIR_ROUNDS 12   /* changes before a repair is given up */
#define REPAIR_PAIRS  3    /* changes of two parameters in a repair: each costs milliseconds */
#define REFINEMENTS   4    /* changes of one parameter that are made for time */
#define WALK_STEPS    3000 /* changes of a walk; after them, no valid point is assumed to exist */
#define WALK_FREE     0.3  /* share of the walk's changes that are drawn blindly */
#define GAIN          0.75 /* a refinement must leave at most this share of the time */

bool gt_lookup_fits(const struct gt_candidate *candidate, struct gt_geometry *geometry)
{
    int failed;

    return gt_candidate_valid(candidate, &failed, NULL) == GT_OK && failed < 0 &&
           gt_candidate_geometry(candidate, geometry, NULL) == GT_OK;
}

double gt_lookup_predict(const struct gt_candidate *candidate, const struct gt_geometry *geometry)
{
    double us = 0;

    if (gt_predict(candidate, geometry, 0, 0, &us, NULL) != GT_OK || !isfinite(us) || us < 0)
        return 0;
    return us;
}

int gt_lookup_broken_slots(const struct gt_candidate *candidate, int most,
                           int64_t slots[GT_MAX_SLOTS])
{
    const struct gt_kernel *kernel = candidate->kernel;
    int broken = gt_candidate_slots(candidate, slots, NULL) != GT_OK;

    for (size_t i = 0; i < kernel->constraints && broken < most; i++)
        broken += gt_constraint_holds(&kernel->constraint[i], slots, NULL) <= 0;
    return broken;
}

int gt_lookup_broken(const struct gt_candidate *candidate, int most)
{
    int64_t slots[GT_MAX_SLOTS];

    return gt_lookup_broken_slots(candidate, most, slots);
}

void gt_lookup_find_breaks(const struct gt_candidate *candidate, struct gt_breaks *breaks)
{
    const struct gt_kernel *kernel = candidate->kernel;
    bool found = false;

    breaks->known = gt_candidate_slots(candidate, breaks->slots, NULL) == GT_OK;
    breaks->params = breaks->known ? 0 : ((uint64_t)1 << kernel->params) - 1;
    for (size_t i = 0; i < kernel->constraints && breaks->known; i++) {
        const struct gt_constraint *constraint = &kernel->constraint[i];

        breaks->broken[i] = gt_constraint_holds(constraint, breaks->slots, NULL) <= 0;
        if (breaks->broken[i] && !found)
            breaks->params = constraint->depends;
        found |= breaks->broken[i];
    }
}

/* How many of the broken constraints no change of the parameter repairs, counted up to `most`. */
static int count_unmended(const struct gt_kernel *kernel, const struct gt_breaks *before,
                          size_t changed, int most)
{
    int broken = 0;

    for (size_t i = 0; i < kernel->constraints && broken < most; i++)
        broken += before->broken[i] && !(kernel->constraint[i].depends >> changed & 1);
    return broken;
}

int gt_lookup_broken_after(const struct gt_candidate *candidate, const struct gt_breaks *before,
                           size_t changed, int most)
{
    const struct gt_kernel *kernel = candidate->kernel;
    int64_t slots[GT_MAX_SLOTS];
    struct gt_change change;
    int broken;

    if (!before->known)
        return gt_lookup_broken(candidate, most);
    broken = count_unmended(kernel, before, changed, most);
    if (broken >= most)
        return broken;
    gt_change_begin(&change, candidate, (uint64_t)1 << changed, before->slots, slots);
    if (!gt_change_derive(&change, change.stale))
        return gt_lookup_broken(candidate, most);
    for (size_t i = 0; i < kernel->constraints && broken < most; i++) {
        const struct gt_constraint *constraint = &kernel->constraint[i];

        if (!(constraint->depends >> changed & 1))
            continue;
        broken += gt_change_asked(&change, constraint->expr)
                      ? gt_constraint_holds(constraint, slots, NULL) <= 0
                      : before->broken[i];
    }
    return broken;
}

/* The model's time, by which changes that break equally few constraints are ranked. */
static double judge(const struct gt_candidate *candidate, int broken)
{
    struct gt_geometry geometry;
    double us = 0;

    if (broken == 0 && gt_lookup_fits(candidate, &geometry))
        us = gt_lookup_predict(candidate, &geometry);
    return us > 0 ? us : HUGE_VAL;
}

/* The change of one parameter after which the fewest constraints are broken; false: none helps. */
static bool change_one(struct gt_candidate *candidate, int *broken)
{
    const struct gt_kernel *kernel = candidate->kernel;
    struct gt_point best = candidate->point;
    const struct gt_point start = best;
    const int before = *broken;
    double least = HUGE_VAL;

    for (size_t i = 0; i < kernel->params; i++) {
        candidate->point = start;
        for (size_t v = 0; v < kernel->param[i].count; v++) {
            int now;
            double us;

            candidate->point.value[i] = kernel->param[i].value[v];
            now = gt_lookup_broken(candidate, *broken + 1);
            if (now > *broken || now == before)
                continue;
            us = judge(candidate, now);
            if (now < *broken || us < least) {
                *broken = now;
                least = us;
                best = candidate->point;
            }
        }
    }
    candidate->point = best;
    return *broken < before;
}

/* The best change of two parameters so far. */
struct pair {
    struct gt_point point;
    int broken;
    double us;
};

/* Tries the second parameter on the candidate, whose first one was changed. */
static void try_second(struct gt_candidate *candidate, size_t param, struct pair *best)
{
    const struct gt_param *second = &candidate->kernel->param[param];
    const int64_t start = candidate->point.value[param];

    for (size_t w = 0; w < second->count; w++) {
        int now;
        double us;

        candidate->point.value[param] = second->value[w];
        now = gt_lookup_broken(candidate, best->broken + 1);
        if (now > best->broken)
            continue;
        us = judge(candidate, now);
        if (now < best->broken || us < best->us)
            *best = (struct pair){candidate->point, now, us};
    }
    candidate->point.value[param] = start;
}

/* The change of two parameters after which the fewest constraints are broken; false: none helps. */
static bool change_two(struct gt_candidate *candidate, int *broken)
{
    const struct gt_kernel *kernel = candidate->kernel;
    const struct gt_point start = candidate->point;
    struct pair best = {start, *broken, HUGE_VAL};

    for (size_t i = 0; i < kernel->params; i++) {
        candidate->point = start;
        for (size_t v = 0; v < kernel->param[i].count; v++) {
            candidate->point.value[i] = kernel->param[i].value[v];
            for (size_t j = i + 1; j < kernel->params; j++)
                try_second(candidate, j, &best);
        }
    }
    candidate->point = best.point;
    if (best.broken == *broken)
        return false;
    *broken = best.broken;
    return true;
}

bool gt_lookup_repair(struct gt_candidate *candidate, struct gt_geometry *geometry)
{
    int broken, pairs = 0;

    gt_candidate_renew(candidate);
    broken = gt_lookup_broken(candidate, INT_MAX);
    for (int round = 0; broken && round < REPAIR_ROUNDS; round++)
        if (!change_one(candidate, &broken) &&
            (pairs++ == REPAIR_PAIRS || !change_two(candidate, &broken)))
            return false;
    return gt_lookup_fits(candidate, geometry);
}

/* The parameters that one of the point's broken constraints, drawn at random, depends on; all
 * parameters, where only a derived value cannot be computed; 0: the point breaks no constraint. */
static uint64_t broken_params(const struct gt_candidate *candidate, struct gt_random *random)
{
    const struct gt_kernel *kernel = candidate->kernel;
    int64_t slots[GT_MAX_SLOTS];
    uint64_t params = 0, drawn, broken = 0;

    if (gt_candidate_slots(candidate, slots, NULL) != GT_OK)
        params = ((uint64_t)1 << kernel->params) - 1;
    for (size_t i = 0; i < kernel->constraints; i++) {
        if (gt_constraint_holds(&kernel->constraint[i], slots, NULL) > 0)
            continue;
        drawn = kernel->constraint[i].depends;
        if (drawn && gt_random_below(random, ++broken) == 0)
            params = drawn;
    }
    return params;
}

/* Makes the change of one of the parameters that leaves the fewest constraints broken.  Among
 * equally good changes, one is drawn at random. */
static void change_best(struct gt_candidate *candidate, uint64_t params, struct gt_random *random)
{
    const struct gt_kernel *kernel = candidate->kernel;
    const struct gt_point start = candidate->point;
    struct gt_point best = start;
    int least = INT_MAX;
    uint64_t ties = 0;

    for (size_t i = 0; i < kernel->params; i++) {
        if (!(params >> i & 1))
            continue;
        candidate->point = start;
        for (size_t v = 0; v < kernel->param[i].count; v++) {
            int now;

            if (kernel->param[i].value[v] == start.value[i])
                continue;
            candidate->point.value[i] = kernel->param[i].value[v];
            now = gt_lookup_broken(candidate, least == INT_MAX ? INT_MAX : least + 1);
            ties = now < least ? 1 : ties + (now == least);
            if (now < least || (now == least && gt_random_below(random, ties) == 0))
                best = candidate->point;
            least = now < least ? now : least;
        }
    }
    candidate->point = best;
}

/* Gives one of the parameters a random value. */
static void change_any(struct gt_candidate *candidate, uint64_t params, struct gt_random *random)
{
    uint64_t skip = gt_random_below(random, (uint64_t)__builtin_popcountll(params));
    const struct gt_param *param;
    int i;

    for (; skip; skip--)
        params &= params - 1;
    i = __builtin_ctzll(params);
    param = &candidate->kernel->param[i];
    candidate->point.value[i] = param->value[gt_random_below(random, param->count)];
}

/* The changed point's time as a share of the time before, by the model.  On the problem that the
 * start was tuned for, the model should see no gain.  A gain that the model sees there is its own
 * error and is subtracted here. */
static double gain(const struct gt_candidate *changed, double before_us,
                   const struct gt_problem *tuned, double tuned_us)
{
    struct gt_candidate there = *changed;
    double share = judge(changed, 0) / before_us, error = HUGE_VAL;

    if (share >= GAIN)
        return share;
    there.problem = tuned;
    gt_candidate_renew(&there);
    if (tuned_us > 0)
        error = judge(&there, 0) / tuned_us;
    return error < 1 ? share / error : share;
}

/* Makes the change of one parameter that the model ranks best; false: none gains enough. */
static bool refine_one(struct gt_candidate *candidate, const struct gt_problem *tuned,
                       double tuned_us)
{
    const struct gt_kernel *kernel = candidate->kernel;
    const struct gt_point start = candidate->point;
    const double before_us = judge(candidate, 0);
    struct gt_point best = start;
    double least = GAIN;

    for (size_t i = 0; i < kernel->params; i++) {
        candidate->point = start;
        for (size_t v = 0; v < kernel->param[i].count; v++) {
            double share;

            candidate->point.value[i] = kernel->param[i].value[v];
            share = gain(candidate, before_us, tuned, tuned_us);
            if (share < least) {
                least = share;
                best = candidate->point;
            }
        }
    }
    candidate->point = best;
    return least < GAIN;
}

bool gt_lookup_walk(struct gt_candidate *candidate, struct gt_geometry *geometry)
{
    const struct gt_problem *problem = candidate->problem;
    struct gt_random random = {.state = 1}; /* fixed, for equal answers every time */
    uint64_t params = broken_params(candidate, &random);
    int refined = 0;

    for (int step = 0; params && step < WALK_STEPS; step++) {
        if (gt_random_unit(&random) < WALK_FREE)
            change_any(candidate, params, &random);
        else
            change_best(candidate, params, &random);
        params = broken_params(candidate, &random);
    }
    if (params || !gt_lookup_fits(candidate, geometry))
        return false;
    while (refined++ < REFINEMENTS && refine_one(candidate, problem, 0))
        ;
    return gt_lookup_fits(candidate, geometry);
}

bool gt_lookup_refine(struct gt_candidate *candidate, const struct gt_point *won,
                      const struct gt_problem *tuned, struct gt_geometry *geometry)
{
    struct gt_candidate there = *candidate;
    double tuned_us;
    int refined = 0;

    there.point = *won;
    there.problem = tuned;
    gt_candidate_renew(&there);
    tuned_us = judge(&there, 0);
    if (!isfinite(tuned_us))
        tuned_us = 0;
    while (refined < REFINEMENTS && refine_one(candidate, tuned, tuned_us))
        refined++;
    return gt_lookup_fits(candidate, geometry) && refined;
}
