/* learn_trees.c - stage: the regression of one kernel.  See learn_impl.h. */
#include "learn/learn_impl.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CLIP 2.5 /* of a logarithm: more is no correction but another kernel */

static const struct gt_boost_options boost = {
    .trees = 150, .depth = 3, .rate = 0.1, .rows = 0.5, .columns = 0.5, .least = 4, .shrink = 2};

static bool is_in(const struct gt_learning *learning, const struct gt_learn_row *row, size_t kernel,
                  int fold)
{
    return row->kernel == kernel && learning->problem[row->problem].fold != fold;
}

/* What decides are times near the best, and a problem with many trials must not outvote others. */
static double weight_of(const struct gt_learning *learning, const struct gt_learn_row *row)
{
    const struct gt_learn_problem *problem = &learning->problem[row->problem];
    const double near = problem->best_us / row->us;

    return near * sqrt(near) / sqrt((double)problem->rows);
}

int gt_learn_trees(const struct gt_learning *learning, size_t kernel, int fold,
                   struct gt_boosted *boosted, struct gt_err *err)
{
    const size_t columns = gt_learn_columns(learning->kernels->kernel[kernel]);
    size_t rows = 0, at = 0;
    float *x;
    double *y, *w;
    int rc = GT_OK;

    *boosted = (struct gt_boosted){0};
    for (size_t i = 0; i < learning->rows; i++)
        rows += is_in(learning, &learning->row[i], kernel, fold);
    if (!rows)
        return GT_OK;
    x = malloc(rows * columns * sizeof(*x));
    y = malloc(rows * sizeof(*y));
    w = malloc(rows * sizeof(*w));
    if (!x || !y || !w)
        rc = gt_err_nomem(err);
    for (size_t i = 0; i < learning->rows && !rc; i++) {
        const struct gt_learn_row *row = &learning->row[i];

        if (!is_in(learning, row, kernel, fold))
            continue;
        memcpy(x + at * columns, learning->column + row->at, columns * sizeof(*x));
        y[at] = fmax(fmin(log(row->us / row->base_us), CLIP), -CLIP);
        w[at++] = weight_of(learning, row);
    }
    if (!rc)
        rc = gt_boost(boosted, &(struct gt_boost_data){rows, columns, x, y, w}, &boost, err);
    free(x);
    free(y);
    free(w);
    return rc;
}
