/* learn.c - the rows of trials, trees, prototypes, and what choosing loses.  See learn.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "learn/boost.h"
#include "learn/learn.h"

#define SLOW       4.0 /* times the best time of a problem */
#define SIZE_FOLDS 10

/* Where a power cap lowers the clock, times grow less than the clock falls: only this share of the
 * fall counts.  Of 43 problems of the H200 with trials of a race (1.9 GHz) and of a final (1.5
 * GHz), the best three trials of either differ by the clocks' ratio to the power of .1 to .8, .55
 * in the middle. */
#define CLOCK_COUNTS 0.6

/* ---- rows ---- */

/* The number of columns of a kernel's rows: terms and slots. */
static size_t columns_of(const struct gt_kernel *kernel)
{
    return GT_TERM_COUNT + kernel->names.count;
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

/* The point's place in the hash table, or the free place where it belongs. */
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
            for (size_t kind = 0; kind < GT_RANKING_KINDS; kind++)
                if (gt_kinds_have(&prototype->kinds, kind))
                    gt_kinds_add(&learning->point[point].kinds, kind);
    }
    return rc;
}

int gt_learn_add(struct gt_learning *learning, const struct gt_candidate *candidate, double us,
                 double clock, struct gt_err *err)
{
    const size_t columns = columns_of(candidate->kernel);
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
    if (!row.avoided) { /* the candidate is known not to spill */
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

/* ---- the regression of one kernel ---- */

#define ESTIMATED 0.2 /* weight of an estimate, relative to a trial */
#define CLIP      2.5 /* bound of a logarithm: more is no correction but another kernel */

/* Few rows get few trees: TREES_HALF rows get half of TREES_MOST. */
#define TREES_MOST 180
#define TREES_HALF 1000

static const struct gt_boost_options boost = {
    .depth = 5, .rate = 0.08, .rows = 0.8, .columns = 0.5, .least = 4, .shrink = 2};

static bool is_in(const struct gt_learning *learning, const struct gt_learn_row *row, size_t kernel,
                  int fold)
{
    return row->kernel == kernel && learning->problem[row->problem].fold != fold;
}

/* Times near the best weigh most, because these decide.  A problem with many trials must not
 * outvote others. */
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

/* Finds the error that all candidates of a problem, of whatever kernel, share.  A shared error
 * decides nothing.  So it is taken out, but for its mean over problems of the kind, and the trees
 * need not learn it.  problem[problems]: filled for the problems outside the fold. */
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
    const size_t columns = columns_of(learning->kernels->kernel[kernel]);
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

/* ---- folds, which are left out ---- */

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

/* Limits times to SLOW times the best.  A candidate that was given up after its first run has that
 * run's time, however often the run was interrupted, and a time above the limit says no more than
 * the limit. */
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

/* ---- which points become prototypes ---- */

#define LOSS_WITHOUT 0.7 /* loss assumed for a problem without any prototype, as a logarithm */

/* The weight of a saving for another device's problem, so that points that are good on that device
 * do not displace points that are good here.  Compared with a weight of 1 it gains .3 +- .2 %
 * (db/measured/README.md). */
#define ELSEWHERE 0.1

/* The least saving of a prototype, over all problems; a smaller saving ends the choosing. */
#define SAVING_LEAST 0.004

/* FP16 and BF16 problems of the same accuracy run at the same speed, so a point that is good for
 * one of these kinds is considered for the other, too. */
static bool related(size_t x, size_t y)
{
    const bool half_x = x / 4 == GT_F16 || x / 4 == GT_BF16,
               half_y = y / 4 == GT_F16 || y / 4 == GT_BF16;

    return x == y || (half_x && half_y && x % 4 == y % 4);
}

/* Sets the weight of a saving for each problem when prototypes of a kind are chosen; 0: none. */
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

/* saved[]: how much each point would reduce the losses; lost[]: the loss of each problem so far. */
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

int gt_learn_prototypes(const struct gt_learning *learning, size_t kind, int fold, bool *taken,
                        struct gt_err *err)
{
    double *lost = malloc((learning->problems + 1) * sizeof(*lost));
    double *saved = malloc((learning->points + 1) * sizeof(*saved));
    double *worth = malloc((learning->problems + 1) * sizeof(*worth));
    int most = 0;
    const int rc = lost && saved && worth ? GT_OK : gt_err_nomem(err);

    memset(taken, 0, learning->points * sizeof(*taken));
    for (size_t i = 0; i < learning->problems && !rc; i++) {
        lost[i] = LOSS_WITHOUT;
        if (learning->problem[i].kind == kind)
            most = GT_LEARN_PROTOTYPES_MOST;
    }
    if (!rc)
        weigh(learning, kind, fold, worth);
    for (int chosen = 0; chosen < most && !rc; chosen++) {
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

/* ---- what choosing loses on problems left out ---- */

#define LOSS_TRIED 5 /* measured points that a problem needs to count in losses */

/* The candidates of a problem with the shortest expected times, the shortest first. */
struct picks {
    const struct gt_learn_row *row[GT_LEARN_PICKS];
    double expected[GT_LEARN_PICKS];
    size_t count;
};

/* The time of a row as a choice.  A candidate that spills registers was not timed: it never counts
 * as less than GT_LEARN_AVOIDED times the problem's best time. */
static double cost_us(const struct gt_learning *learning, const struct gt_learn_row *row)
{
    const double best_us = learning->problem[row->problem].best_us;

    return row->avoided ? fmax(row->us, GT_LEARN_AVOIDED * best_us) : row->us;
}

/* Whether two candidates divide the problem in the same way in the sense of look-ups, which keep
 * one of such candidates. */
static bool same_way(const struct gt_learning *learning, const struct gt_learn_row *x,
                     const struct gt_learn_row *y)
{
    static const enum gt_ranking_term term[] = {GT_TERM_tile_m, GT_TERM_tile_n, GT_TERM_k_steps,
                                                GT_TERM_cluster, GT_TERM_blocks_sm};
    const float *a = learning->column + x->at, *b = learning->column + y->at;

    if (x->kernel != y->kernel)
        return false;
    for (size_t i = 0; i < sizeof(term) / sizeof(*term); i++)
        if (a[term[i]] < b[term[i]] || a[term[i]] > b[term[i]])
            return false;
    return true;
}

static void pick(const struct gt_learning *learning, struct picks *picks,
                 const struct gt_learn_row *row, double expected)
{
    size_t at = 0;

    while (at < picks->count && !same_way(learning, picks->row[at], row))
        at++;
    if (at < picks->count && expected >= picks->expected[at])
        return;
    if (at == picks->count && at == GT_LEARN_PICKS) {
        if (expected >= picks->expected[--at])
            return;
    } else if (at == picks->count) {
        picks->count++;
    }
    for (; at > 0 && expected < picks->expected[at - 1]; at--) {
        picks->row[at] = picks->row[at - 1];
        picks->expected[at] = picks->expected[at - 1];
    }
    picks->row[at] = row;
    picks->expected[at] = expected;
}

static double expected_us(const struct gt_learn_row *row, enum gt_learn_means means)
{
    if (means == GT_LEARN_MODEL)
        return row->model_us;
    return means == GT_LEARN_RANKING ? row->base_us : row->expected_us;
}

/* Picks candidates for the problems of a kind in a fold.  taken: the points to choose among; NULL:
 * all. */
static void pick_fold(const struct gt_learning *learning, enum gt_learn_means means, size_t kind,
                      int fold, const bool *taken, struct picks *picks)
{
    for (size_t i = 0; i < learning->rows; i++) {
        const struct gt_learn_row *row = &learning->row[i];
        const struct gt_learn_problem *problem = &learning->problem[row->problem];

        if (problem->kind == kind && problem->fold == fold && problem->rows >= LOSS_TRIED &&
            problem->best_us > 0 && !problem->estimated && (!taken || taken[row->point]))
            pick(learning, &picks[row->problem], row, expected_us(row, means));
    }
}

static int pick_all(const struct gt_learning *learning, enum gt_learn_means means,
                    struct picks *picks, struct gt_err *err)
{
    bool *taken = calloc(learning->points + 1, sizeof(*taken));
    int rc = taken ? GT_OK : gt_err_nomem(err);

    for (size_t kind = 0; kind < GT_RANKING_KINDS; kind++)
        for (int fold = 0; fold < learning->folds && !rc; fold++) {
            if (means == GT_LEARN_PROTOTYPES)
                rc = gt_learn_prototypes(learning, kind, fold, taken, err);
            if (!rc)
                pick_fold(learning, means, kind, fold, means == GT_LEARN_PROTOTYPES ? taken : NULL,
                          picks);
        }
    free(taken);
    return rc;
}

static void fill(const struct gt_learning *learning, const struct picks *picks,
                 struct gt_learn_choice *choice)
{
    const double best_us = learning->problem[picks->row[0]->problem].best_us;
    double us = HUGE_VAL;

    choice->row = picks->row[0];
    for (size_t i = 0; i < GT_LEARN_PICKS; i++) {
        if (i < picks->count)
            us = fmin(us, cost_us(learning, picks->row[i]));
        choice->loss[i] = fmax(log(us / best_us), 0);
    }
}

int gt_learn_choose(const struct gt_learning *learning, enum gt_learn_means means,
                    struct gt_learn_choice *choice, struct gt_err *err)
{
    struct picks *picks = calloc(learning->problems + 1, sizeof(*picks));
    int rc = picks ? pick_all(learning, means, picks, err) : gt_err_nomem(err);

    memset(choice, 0, learning->problems * sizeof(*choice));
    for (size_t i = 0; i < learning->problems && !rc; i++)
        if (picks[i].count)
            fill(learning, &picks[i], &choice[i]);
    for (size_t i = 0; i < learning->rows && !rc; i++) {
        const struct gt_learn_row *row = &learning->row[i], **best = &choice[row->problem].best;

        if (!row->avoided && (!*best || row->us < (*best)->us))
            *best = row;
    }
    free(picks);
    return rc;
}

static int by_size(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;

    return (a > b) - (a < b);
}

int gt_learn_loss_of(const struct gt_learning *learning, const struct gt_learn_choice *choice,
                     size_t kind, const char *device, struct gt_learn_loss *loss,
                     struct gt_err *err)
{
    double *first = calloc(learning->problems + 1, sizeof(*first));
    double sum[GT_LEARN_PICKS] = {0};
    size_t count = 0;

    *loss = (struct gt_learn_loss){0};
    if (!first)
        return gt_err_nomem(err);
    for (size_t i = 0; i < learning->problems; i++) {
        if (!choice[i].row || (kind != GT_LEARN_ALL && learning->problem[i].kind != kind) ||
            (device && strcmp(learning->problem[i].device, device) != 0))
            continue;
        for (size_t p = 0; p < GT_LEARN_PICKS; p++)
            sum[p] += choice[i].loss[p];
        first[count++] = expm1(choice[i].loss[0]);
    }
    if (count) {
        qsort(first, count, sizeof(*first), by_size);
        *loss = (struct gt_learn_loss){.problems = count,
                                       .mean = expm1(sum[0] / (double)count),
                                       .p90 = first[(count - 1) * 9 / 10],
                                       .most = first[count - 1],
                                       .of4 = expm1(sum[3] / (double)count),
                                       .of8 = expm1(sum[7] / (double)count)};
    }
    free(first);
    return GT_OK;
}

void gt_learn_compare(const struct gt_learning *learning, const struct gt_learn_choice *x,
                      const struct gt_learn_choice *y, struct gt_learn_gain *gain)
{
    double sum = 0, squares = 0, count = 0;

    for (size_t i = 0; i < learning->problems; i++) {
        const double one = x[i].loss[0] - y[i].loss[0];

        if (!x[i].row || !y[i].row)
            continue;
        sum += one;
        squares += one * one;
        count++;
        gain->better += one > 0;
        gain->worse += one < 0;
    }
    gain->mean = count > 0 ? sum / count : 0;
    gain->error =
        count > 1 ? sqrt(fmax(squares / count - gain->mean * gain->mean, 0) / (count - 1)) : 0;
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
