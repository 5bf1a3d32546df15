/* learn_trees.c - stage: the regression of one kernel.  See learn_impl.h. */
#include "learn/learn_impl.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ESTIMATED 0.2 /* what an estimate counts beside a trial */
#define CLIP      2.5 /* of a logarithm: more is no correction but another kernel */

/* Few rows bear few trees: with TREES_HALF rows it is half of the most. */
#define TREES_MOST 180
#define TREES_HALF 1000

static const struct gt_boost_options boost = {
    .depth = 5, .rate = 0.08, .rows = 0.8, .columns = 0.5, .least = 4, .shrink = 2};

static bool is_in(const struct gt_learning *learning, const struct gt_learn_row *row, size_t kernel,
                  int fold)
{
    return row->kernel == kernel && learning->problem[row->problem].fold != fold;
}

/* What decides are times near the best, and a problem with many trials must not outvote others. */
static double weight_of(const struct gt_learning *learning, const struct gt_learn_row *row)
{
    const struct gt_learn_problem *problem = &learning->problem[row->problem];
    const double near = fmin(problem->best_us / row->us, 1);

    return (problem->estimated ? ESTIMATED : 1) * near * sqrt(near) / sqrt((double)problem->rows);
}

static double off_by(const struct gt_learn_row *row)
{
    return fmax(fmin(log(row->us / row->base_us), CLIP), -CLIP);
}

struct mean {
    double weight, sum;
};

static void add_to(struct mean *mean, double weight, double value)
{
    mean->weight += weight;
    mean->sum += weight * value;
}

static double value_of(const struct mean *mean)
{
    return mean->weight > 0 ? mean->sum / mean->weight : 0;
}

/* What all candidates of a problem, of whatever kernel, are off by together decides nothing: it is
 * taken out, but for the mean over problems of the kind, so that the trees do not spend themselves
 * on it.  problem[problems]: filled for those outside of the fold. */
static void find_shared(const struct gt_learning *learning, int fold, struct mean *problem)
{
    struct mean kind[GT_RANKING_KINDS] = {{0, 0}};

    memset(problem, 0, learning->problems * sizeof(*problem));
    for (size_t i = 0; i < learning->rows; i++) {
        const struct gt_learn_row *row = &learning->row[i];

        if (learning->problem[row->problem].fold != fold)
            add_to(&problem[row->problem], weight_of(learning, row), off_by(row));
    }
    for (size_t i = 0; i < learning->problems; i++)
        if (problem[i].weight > 0)
            add_to(&kind[learning->problem[i].kind], 1, value_of(&problem[i]));
    for (size_t i = 0; i < learning->problems; i++)
        problem[i].sum -= problem[i].weight * value_of(&kind[learning->problem[i].kind]);
}

int gt_learn_trees(const struct gt_learning *learning, size_t kernel, int fold,
                   struct gt_boosted *boosted, struct gt_err *err)
{
    const size_t columns = gt_learn_columns(learning->kernels->kernel[kernel]);
    size_t rows = 0, at = 0;
    float *x;
    double *y, *w;
    struct mean *shared;
    int rc = GT_OK;

    *boosted = (struct gt_boosted){0};
    for (size_t i = 0; i < learning->rows; i++)
        rows += is_in(learning, &learning->row[i], kernel, fold);
    if (!rows)
        return GT_OK;
    x = malloc(rows * columns * sizeof(*x));
    y = malloc(rows * sizeof(*y));
    w = malloc(rows * sizeof(*w));
    shared = malloc(learning->problems * sizeof(*shared));
    if (!x || !y || !w || !shared)
        rc = gt_err_nomem(err);
    else
        find_shared(learning, fold, shared);
    for (size_t i = 0; i < learning->rows && !rc; i++) {
        const struct gt_learn_row *row = &learning->row[i];

        if (!is_in(learning, row, kernel, fold))
            continue;
        memcpy(x + at * columns, learning->column + row->at, columns * sizeof(*x));
        y[at] = off_by(row) - value_of(&shared[row->problem]);
        w[at++] = weight_of(learning, row);
    }
    if (!rc) {
        struct gt_boost_options options = boost;

        options.trees = (int)(TREES_MOST * rows / (rows + TREES_HALF));
        rc = gt_boost(boosted, &(struct gt_boost_data){rows, columns, x, y, w}, &options, err);
    }
    free(x);
    free(y);
    free(w);
    free(shared);
    return rc;
}
