/* learn.c - stage: rows, and trees that leave folds out.  See learn.h. */
#include "learn/learn.h"

#include "base/array.h"
#include "base/err.h"
#include "learn/boost.h"
#include "learn/learn_impl.h"
#include "problem/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOW       4.0 /* times the best of a problem */
#define SIZE_FOLDS 10

/* Where a power cap lowers the clock, times grow less than the clock falls: its share that counts.
 * Of 43 problems of the H200 with trials of a race (1.9 GHz) and of a final (1.5 GHz), the best
 * three of either differ by the clocks' ratio to the power of .1 to .8, .55 in the middle. */
#define CLOCK_COUNTS 0.6

size_t gt_learn_columns(const struct gt_kernel *kernel)
{
    return GT_TERM_COUNT + kernel->names.count;
}

static int size_fold(const struct gt_problem *problem)
{
    uint64_t mixed = (uint64_t)problem->n * 0x9e3779b97f4a7c15u + (uint64_t)problem->k;

    mixed = (mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9u;
    return (int)((mixed >> 40) % SIZE_FOLDS);
}

static bool same_family(const struct gt_learn_problem *x, const struct gt_learn_problem *y)
{
    return x->kind == y->kind && x->problem.trans_a == y->problem.trans_a &&
           x->problem.trans_b == y->problem.trans_b;
}

static void set_folds(struct gt_learning *learning, enum gt_learn_split split)
{
    learning->folds = split == GT_LEARN_BY_SIZE ? SIZE_FOLDS : 0;
    for (size_t i = 0; i < learning->problems; i++) {
        struct gt_learn_problem *problem = &learning->problem[i];
        size_t first = 0;

        while (!same_family(&learning->problem[first], problem))
            first++;
        if (split == GT_LEARN_BY_SIZE)
            problem->fold = size_fold(&problem->problem);
        else
            problem->fold = first < i ? learning->problem[first].fold : learning->folds++;
    }
}

static int find_problem(struct gt_learning *learning, const struct gt_candidate *candidate,
                        size_t *index, struct gt_err *err)
{
    const struct gt_problem *problem = candidate->problem;
    const char *device = candidate->device->name;
    char text[GT_PROBLEM_TEXT_MAX];
    struct gt_learn_problem *added;

    gt_problem_format(problem, text);
    for (*index = learning->problems; (*index)-- > 0;)
        if (strcmp(learning->problem[*index].text, text) == 0 &&
            strcmp(learning->problem[*index].device, device) == 0)
            return GT_OK;
    *index = learning->problems;
    if (GT_ARRAY_RESERVE(&learning->problem, *index + 1, &learning->problem_capacity, err))
        return GT_ENOMEM;
    added = &learning->problem[learning->problems++];
    *added = (struct gt_learn_problem){.problem = *problem, .kind = gt_ranking_kind(problem)};
    memcpy(added->text, text, sizeof(text));
    snprintf(added->device, sizeof(added->device), "%s", device);
    return GT_OK;
}

static size_t hash_of(size_t kernel, const struct gt_point *point)
{
    uint64_t mixed = kernel;

    for (size_t i = 0; i < GT_MAX_PARAMS; i++) {
        mixed = (mixed ^ (uint64_t)point->value[i]) * 0x9e3779b97f4a7c15u;
        mixed ^= mixed >> 29;
    }
    return (size_t)mixed;
}

/* Where the point is, or where it belongs if it is not there. */
static size_t *place_of(const struct gt_learning *learning, size_t kernel,
                        const struct gt_point *point)
{
    size_t at = hash_of(kernel, point) & (learning->places - 1);

    for (; learning->place[at]; at = (at + 1) & (learning->places - 1)) {
        const struct gt_learn_point *known = &learning->point[learning->place[at] - 1];

        if (known->kernel == kernel && memcmp(&known->point, point, sizeof(*point)) == 0)
            break;
    }
    return &learning->place[at];
}

/* Keeps at least half of the places free. */
static int reserve_places(struct gt_learning *learning, struct gt_err *err)
{
    const size_t places = learning->places ? 2 * learning->places : 1024;
    size_t *place;

    if (2 * (learning->points + 1) <= learning->places)
        return GT_OK;
    place = calloc(places, sizeof(*place));
    if (!place)
        return gt_err_nomem(err);
    free(learning->place);
    learning->place = place;
    learning->places = places;
    for (size_t i = 0; i < learning->points; i++)
        *place_of(learning, learning->point[i].kernel, &learning->point[i].point) = i + 1;
    return GT_OK;
}

static int find_point(struct gt_learning *learning, size_t kernel, const struct gt_point *point,
                      size_t *index, struct gt_err *err)
{
    size_t *place;
    int rc = reserve_places(learning, err);

    GT_STEP(rc, GT_ARRAY_RESERVE(&learning->point, learning->points + 1, &learning->point_capacity,
                                 err));
    if (rc)
        return rc;
    place = place_of(learning, kernel, point);
    if (!*place) {
        learning->point[learning->points++] =
            (struct gt_learn_point){.kernel = kernel, .point = *point};
        *place = learning->points;
    }
    *index = *place - 1;
    return GT_OK;
}

static size_t index_of(const struct gt_learning *learning, const struct gt_kernel *kernel)
{
    size_t i = 0;

    while (learning->kernels->kernel[i] != kernel)
        i++;
    return i;
}

int gt_learn_onto(struct gt_learning *learning, const struct gt_ranking *base, struct gt_err *err)
{
    size_t point;
    int rc = GT_OK;

    learning->base = base;
    for (size_t i = 0; i < base->prototypes && !rc; i++) {
        const struct gt_prototype *prototype = &base->prototype[i];

        rc = find_point(learning, index_of(learning, prototype->kernel), &prototype->point, &point,
                        err);
        if (!rc)
            learning->point[point].kinds |= prototype->kinds;
    }
    return rc;
}

int gt_learn_add(struct gt_learning *learning, const struct gt_candidate *candidate, double us,
                 double clock, struct gt_err *err)
{
    const size_t columns = gt_learn_columns(candidate->kernel);
    float column[GT_RANKING_COLUMNS];
    struct gt_geometry geometry;
    struct gt_learn_row row = {.at = learning->columns};
    struct gt_prediction prediction;
    double share;
    int rc;

    if (gt_candidate_geometry(candidate, &geometry, NULL) ||
        !gt_ranking_columns(candidate, &geometry, column, &prediction))
        return GT_OK;
    row.avoided = us <= 0;
    row.model_us = row.base_us = prediction.us;
    if (learning->base)
        row.base_us = gt_ranking_us(learning->base, candidate, &geometry, HUGE_VAL, &prediction);
    if (!row.avoided) { /* it is known not to spill */
        row.model_us /= prediction.risk;
        row.base_us /= prediction.risk;
    }
    share = fmin((double)column[GT_TERM_compute_share], 1);
    row.us = us = row.avoided ? GT_LEARN_AVOIDED * row.base_us
                              : us * (1 - CLOCK_COUNTS * share * share * (1 - clock));
    row.kernel = index_of(learning, candidate->kernel);
    rc = find_problem(learning, candidate, &row.problem, err);
    GT_STEP(rc, find_point(learning, row.kernel, &candidate->point, &row.point, err));
    GT_STEP(rc,
            GT_ARRAY_RESERVE(&learning->column, row.at + columns, &learning->column_capacity, err));
    GT_STEP(rc, GT_ARRAY_RESERVE(&learning->row, learning->rows + 1, &learning->row_capacity, err));
    if (rc)
        return rc;
    memcpy(learning->column + row.at, column, columns * sizeof(*column));
    learning->columns += columns;
    learning->row[learning->rows++] = row;
    learning->problem[row.problem].rows++;
    if (!row.avoided && (!(learning->problem[row.problem].best_us > 0) ||
                         us < learning->problem[row.problem].best_us))
        learning->problem[row.problem].best_us = us;
    return GT_OK;
}

int gt_learn_add_estimate(struct gt_learning *learning, const struct gt_candidate *candidate,
                          double us, struct gt_err *err)
{
    size_t problem;
    int rc = find_problem(learning, candidate, &problem, err);

    if (rc)
        return rc;
    if (!learning->problem[problem].rows)
        learning->problem[problem].estimated = true;
    return learning->problem[problem].estimated ? gt_learn_add(learning, candidate, us, 1, err)
                                                : GT_OK;
}

static bool any_left_out(const struct gt_learning *learning, size_t kernel, int fold)
{
    for (size_t i = 0; i < learning->rows; i++)
        if (learning->row[i].kernel == kernel &&
            learning->problem[learning->row[i].problem].fold == fold)
            return true;
    return false;
}

static int leave_out(struct gt_learning *learning, size_t kernel, int fold, struct gt_err *err)
{
    struct gt_boosted boosted;
    int rc;

    if (!any_left_out(learning, kernel, fold))
        return GT_OK;
    rc = gt_learn_trees(learning, kernel, fold, &boosted, err);

    for (size_t i = 0; i < learning->rows && !rc; i++) {
        struct gt_learn_row *row = &learning->row[i];

        if (row->kernel == kernel && learning->problem[row->problem].fold == fold)
            row->expected_us = row->base_us * exp(gt_ranking_sum(boosted.node, boosted.nodes,
                                                                 learning->column + row->at));
    }
    gt_boosted_release(&boosted);
    return rc;
}

/* A candidate that was given up after its first run has that run's time, however often it was
 * interrupted; more than SLOW times the best says no more than that. */
static void cap(struct gt_learning *learning)
{
    for (size_t i = 0; i < learning->rows; i++) {
        struct gt_learn_row *row = &learning->row[i];
        const double best_us = learning->problem[row->problem].best_us;

        if (best_us > 0)
            row->us = fmin(row->us, SLOW * best_us);
    }
}

void gt_learn_split(struct gt_learning *learning, enum gt_learn_split split)
{
    cap(learning);
    set_folds(learning, split);
}

int gt_learn_leave_out(struct gt_learning *learning, enum gt_learn_split split, struct gt_err *err)
{
    int rc = GT_OK;

    gt_learn_split(learning, split);
    for (size_t kernel = 0; kernel < learning->kernels->count && !rc; kernel++)
        for (int fold = 0; fold < learning->folds && !rc; fold++)
            rc = leave_out(learning, kernel, fold, err);
    return rc;
}

void gt_learn_release(struct gt_learning *learning)
{
    free(learning->problem);
    free(learning->point);
    free(learning->place);
    free(learning->row);
    free(learning->column);
    *learning = (struct gt_learning){0};
}
