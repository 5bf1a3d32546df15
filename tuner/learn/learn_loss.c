/* learn_loss.c - stage: what choosing loses on problems left out.  See learn.h. */
#include "learn/learn_impl.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LOSS_TRIED 5 /* measured points that a problem needs to count in a loss */

/* The candidates of a problem that are expected to be fastest, the best first. */
struct picks {
    const struct gt_learn_row *row[GT_LEARN_PICKS];
    double expected[GT_LEARN_PICKS];
    size_t count;
};

/* What a choice of the row costs.  Nothing timed what spills registers: it is never taken for
 * faster than others of its kind were. */
static double cost_us(const struct gt_learning *learning, const struct gt_learn_row *row)
{
    const double best_us = learning->problem[row->problem].best_us;

    return row->avoided ? fmax(row->us, GT_LEARN_AVOIDED * best_us) : row->us;
}

/* Whether two candidates divide the problem in the same way, as look-ups understand it: of those
 * they keep one. */
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

/* Picks for the problems of a kind in a fold.  taken: the points to choose among; NULL: all. */
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
            if (means == GT_LEARN_PROTOTYPES && gt_learn_any(learning, kind))
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

int gt_learn_loss(const struct gt_learning *learning, enum gt_learn_means means, size_t kind,
                  struct gt_learn_loss *loss, struct gt_err *err)
{
    struct gt_learn_choice *choice = calloc(learning->problems + 1, sizeof(*choice));
    int rc = choice ? gt_learn_choose(learning, means, choice, err) : gt_err_nomem(err);

    GT_STEP(rc, gt_learn_loss_of(learning, choice, kind, learning->device.name, loss, err));
    free(choice);
    return rc;
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
