/* learn_choose.c - stage: which points become prototypes, and what choosing loses.  See learn.h. */
#include "learn/learn_impl.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LOSS_WITHOUT 0.7 /* assumed for a problem without any prototype, as a logarithm */
#define SAVING_LEAST                                                                       \
    0.004            /* of a prototype, over all problems; a smaller one ends the choosing \
                      */
#define LOSS_TRIED 5 /* measured points that a problem needs to count in a loss */

/* FP16 and BF16 problems of the same accuracy run at the same speed, so a point that is good for
 * the one kind is considered for the other, too. */
static bool related(size_t x, size_t y)
{
    const bool half_x = x / 4 == GT_F16 || x / 4 == GT_BF16,
               half_y = y / 4 == GT_F16 || y / 4 == GT_BF16;

    return x == y || (half_x && half_y && x % 4 == y % 4);
}

/* saved[]: how much each point would reduce the losses, which are lost[] for each problem so far.
 */
static void save(const struct gt_learning *learning, size_t kind, int fold, const double *lost,
                 double *saved)
{
    memset(saved, 0, learning->points * sizeof(*saved));
    for (size_t i = 0; i < learning->rows; i++) {
        const struct gt_learn_row *row = &learning->row[i];
        const struct gt_learn_problem *problem = &learning->problem[row->problem];
        const double now = log(row->us / problem->best_us);

        if (!row->avoided && !problem->estimated && related(problem->kind, kind) &&
            problem->fold != fold && now < lost[row->problem])
            saved[row->point] += (lost[row->problem] - now) * (problem->kind == kind ? 1 : 0.5);
    }
}

int gt_learn_prototypes(const struct gt_learning *learning, size_t kind, int fold, bool *taken,
                        struct gt_err *err)
{
    double *lost = malloc((learning->problems + 1) * sizeof(*lost));
    double *saved = malloc((learning->points + 1) * sizeof(*saved));
    const int rc = lost && saved ? GT_OK : gt_err_nomem(err);

    memset(taken, 0, learning->points * sizeof(*taken));
    for (size_t i = 0; i < learning->problems && !rc; i++)
        lost[i] = LOSS_WITHOUT;
    for (int chosen = 0; chosen < GT_LEARN_PROTOTYPES_MOST && !rc; chosen++) {
        size_t best = 0;

        save(learning, kind, fold, lost, saved);
        for (size_t i = 1; i < learning->points; i++)
            if (saved[i] > saved[best])
                best = i;
        if (!learning->points || saved[best] < SAVING_LEAST)
            break;
        taken[best] = true;
        for (size_t i = 0; i < learning->rows; i++) {
            const struct gt_learn_row *row = &learning->row[i];
            const double now = log(row->us / learning->problem[row->problem].best_us);

            if (!row->avoided && row->point == best && now < lost[row->problem])
                lost[row->problem] = now;
        }
    }
    free(lost);
    free(saved);
    return rc;
}

/* For each problem of the fold: us[] gets the measured time of the point that is expected to be
 * fastest; it stays 0 where there is nothing to choose from. */
static void choose(const struct gt_learning *learning, enum gt_learn_means means, size_t kind,
                   int fold, const bool *taken, double *us)
{
    double *least = us + learning->problems;

    for (size_t i = 0; i < learning->rows; i++) {
        const struct gt_learn_row *row = &learning->row[i];
        const struct gt_learn_problem *problem = &learning->problem[row->problem];
        const double expected = means == GT_LEARN_MODEL ? row->model_us : row->expected_us;

        if (problem->kind != kind || problem->fold != fold || problem->rows < LOSS_TRIED ||
            problem->estimated || (means == GT_LEARN_PROTOTYPES && !taken[row->point]) ||
            (us[row->problem] > 0 && expected >= least[row->problem]))
            continue;
        us[row->problem] = row->us;
        least[row->problem] = expected;
    }
}

static int by_size(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;

    return (a > b) - (a < b);
}

int gt_learn_loss(const struct gt_learning *learning, enum gt_learn_means means, size_t kind,
                  struct gt_learn_loss *loss, struct gt_err *err)
{
    double *us = calloc(2 * learning->problems + 1, sizeof(*us));
    bool *taken = calloc(learning->points + 1, sizeof(*taken));
    size_t count = 0;
    int rc = us && taken ? GT_OK : gt_err_nomem(err);

    *loss = (struct gt_learn_loss){0};
    for (int fold = 0; fold < GT_LEARN_FOLDS && !rc; fold++) {
        if (means == GT_LEARN_PROTOTYPES)
            rc = gt_learn_prototypes(learning, kind, fold, taken, err);
        if (!rc)
            choose(learning, means, kind, fold, taken, us);
    }
    for (size_t i = 0; i < learning->problems && !rc; i++)
        if (us[i] > 0) {
            loss->mean += log(us[i] / learning->problem[i].best_us);
            us[count++] = us[i] / learning->problem[i].best_us - 1;
        }
    if (!rc && count) {
        qsort(us, count, sizeof(*us), by_size);
        *loss = (struct gt_learn_loss){count, exp(loss->mean / (double)count) - 1,
                                       us[(count - 1) * 9 / 10], us[count - 1]};
    }
    free(us);
    free(taken);
    return rc;
}
