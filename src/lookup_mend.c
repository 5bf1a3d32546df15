/* lookup_mend.c - makes a point that won elsewhere fit the problem at hand.
 *
 * Descent on the number of constraints that are broken: the best change of one parameter as long as
 * one helps, else a change of two. */
#include "lookup_impl.h"

#include "predict.h"

#include <math.h>

#define GT_MEND_ROUNDS 12 /* changes before it is given up */
#define GT_MEND_PAIRS  3  /* of them, changes of two parameters: each costs milliseconds */

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

/* How many constraints the point breaks; what cannot be computed counts as broken. */
static int count_broken(const struct gt_candidate *candidate)
{
    const struct gt_kernel *kernel = candidate->kernel;
    int64_t slots[GT_MAX_SLOTS], holds;
    int broken = gt_candidate_slots(candidate, slots, NULL) != GT_OK;

    for (size_t i = 0; i < kernel->constraints; i++)
        broken += gt_expr_eval(kernel->constraint[i].expr, slots, &holds, NULL) != GT_OK || !holds;
    return broken;
}

/* Of changes that break as few, the one that the model likes best: only whole points have a time.
 */
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
            now = count_broken(candidate);
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

/* The first change of two parameters that helps. */
static bool change_two(struct gt_candidate *candidate, int *broken)
{
    const struct gt_kernel *kernel = candidate->kernel;
    const struct gt_point start = candidate->point;

    for (size_t i = 0; i < kernel->params; i++)
        for (size_t v = 0; v < kernel->param[i].count; v++)
            for (size_t j = i + 1; j < kernel->params; j++) {
                candidate->point = start;
                candidate->point.value[i] = kernel->param[i].value[v];
                for (size_t w = 0; w < kernel->param[j].count; w++) {
                    int now;

                    candidate->point.value[j] = kernel->param[j].value[w];
                    now = count_broken(candidate);
                    if (now < *broken) {
                        *broken = now;
                        return true;
                    }
                }
            }
    candidate->point = start;
    return false;
}

bool gt_lookup_mend(struct gt_candidate *candidate, struct gt_geometry *geometry)
{
    int broken = count_broken(candidate), pairs = 0;

    for (int round = 0; broken && round < GT_MEND_ROUNDS; round++)
        if (!change_one(candidate, &broken) &&
            (pairs++ == GT_MEND_PAIRS || !change_two(candidate, &broken)))
            return false;
    return gt_lookup_fits(candidate, geometry);
}
