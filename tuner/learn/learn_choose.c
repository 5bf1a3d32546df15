/* learn_choose.c - stage: which points become prototypes.  See learn_impl.h. */
#include "learn/learn_impl.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LOSS_WITHOUT 0.7 /* assumed for a problem without any prototype, as a logarithm */

/* What a saving for another device's problem counts, so that points that are good there do not take
 * the places of points that are good here.  Beside 1 it gains .3 +- .2 % (db/measured/README.md).
 */
#define ELSEWHERE 0.1

/* The least saving of a prototype, over all problems; a smaller one ends the choosing. */
#define SAVING_LEAST 0.004

/* FP16 and BF16 problems of the same accuracy run at the same speed, so a point that is good for
 * the one kind is considered for the other, too. */
static bool related(size_t x, size_t y)
{
    const bool half_x = x / 4 == GT_F16 || x / 4 == GT_BF16,
               half_y = y / 4 == GT_F16 || y / 4 == GT_BF16;

    return x == y || (half_x && half_y && x % 4 == y % 4);
}

/* What a saving for each problem counts where prototypes of a kind are chosen; 0: nothing. */
static void weigh(const struct gt_learning *learning, size_t kind, int fold, double *worth)
{
    for (size_t i = 0; i < learning->problems; i++) {
        const struct gt_learn_problem *problem = &learning->problem[i];

        worth[i] = problem->kind == kind ? 1 : 0.5;
        if (strcmp(problem->device, learning->device.name) != 0)
            worth[i] *= ELSEWHERE;
        if (problem->estimated || !related(problem->kind, kind) || problem->fold == fold)
            worth[i] = 0;
    }
}

/* saved[]: how much each point would reduce the losses, which are lost[] for each problem so far.
 */
static void save(const struct gt_learning *learning, const double *worth, const double *lost,
                 double *saved)
{
    memset(saved, 0, learning->points * sizeof(*saved));
    for (size_t i = 0; i < learning->rows; i++) {
        const struct gt_learn_row *row = &learning->row[i];
        double now;

        if (row->avoided || !(worth[row->problem] > 0))
            continue;
        now = log(row->us / learning->problem[row->problem].best_us);
        if (now < lost[row->problem])
            saved[row->point] += (lost[row->problem] - now) * worth[row->problem];
    }
}

bool gt_learn_any(const struct gt_learning *learning, size_t kind)
{
    for (size_t i = 0; i < learning->problems; i++)
        if (learning->problem[i].kind == kind)
            return true;
    return false;
}

int gt_learn_prototypes(const struct gt_learning *learning, size_t kind, int fold, bool *taken,
                        struct gt_err *err)
{
    double *lost = malloc((learning->problems + 1) * sizeof(*lost));
    double *saved = malloc((learning->points + 1) * sizeof(*saved));
    double *worth = malloc((learning->problems + 1) * sizeof(*worth));
    const int rc = lost && saved && worth ? GT_OK : gt_err_nomem(err);

    memset(taken, 0, learning->points * sizeof(*taken));
    for (size_t i = 0; i < learning->problems && !rc; i++)
        lost[i] = LOSS_WITHOUT;
    if (!rc)
        weigh(learning, kind, fold, worth);
    for (int chosen = 0; chosen < GT_LEARN_PROTOTYPES_MOST && !rc; chosen++) {
        size_t best = 0;

        save(learning, worth, lost, saved);
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
    free(worth);
    return rc;
}
