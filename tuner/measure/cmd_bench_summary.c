/* cmd_bench_summary.c - means over the problems of tune bench; see cmd_bench_summary.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "measure/cmd_bench_summary.h"
#include "problem/problem.h"

int gt_bench_summary_add(struct gt_bench_summary *summary, const struct gt_problem *problem,
                         const struct gt_bench_figures *figures, struct gt_err *err)
{
    const char *type = gt_dtype_name(problem->type);
    struct gt_bench_figures *to;
    int rc = GT_ARRAY_RESERVE(&summary->figures, summary->count + 1, &summary->capacity, err);

    if (rc)
        return rc;
    to = &summary->figures[summary->count++];
    *to = *figures;
    if (problem->accuracy == gt_dtype_default_accuracy(problem->type))
        snprintf(to->type, sizeof(to->type), "%s", type);
    else
        snprintf(to->type, sizeof(to->type), "%s, accuracy %s", type,
                 gt_accuracy_name(problem->accuracy));
    return GT_OK;
}

void gt_bench_summary_release(struct gt_bench_summary *summary)
{
    free(summary->figures);
    *summary = (struct gt_bench_summary){0};
}

/* Accumulates a geometric mean and the least value. */
struct mean {
    double logs, weights, least;
};

static void take(struct mean *mean, double ratio, double weight)
{
    if (!(ratio > 0))
        return;
    mean->least = mean->weights > 0 && mean->least < ratio ? mean->least : ratio;
    mean->logs += weight * log(ratio);
    mean->weights += weight;
}

static double value_of(const struct mean *mean)
{
    return mean->weights > 0 ? exp(mean->logs / mean->weights) : 0;
}

/* The smallest loss that at least nine tenths of the problems do not exceed. */
static double ninth_tenth(const struct gt_bench_summary *summary, const char *type, size_t untuned)
{
    double found = 0;

    for (size_t i = 0; i < summary->count; i++) {
        const struct gt_bench_figures *at = &summary->figures[i];
        size_t within = 0;

        if (!(at->loss > 0) || (type && strcmp(at->type, type) != 0))
            continue;
        for (size_t j = 0; j < summary->count; j++) {
            const struct gt_bench_figures *other = &summary->figures[j];

            within += other->loss > 0 && other->loss <= at->loss &&
                      (!type || strcmp(other->type, type) == 0);
        }
        if (10 * within >= 9 * untuned && (!(found > 0) || at->loss < found))
            found = at->loss;
    }
    return found;
}

struct gt_bench_means gt_bench_summary_means(const struct gt_bench_summary *summary,
                                             const char *type)
{
    struct gt_bench_means means = {0};
    struct mean ratio = {0}, best = {0}, loss = {0};

    for (size_t i = 0; i < summary->count; i++) {
        const struct gt_bench_figures *at = &summary->figures[i];

        if (type && strcmp(at->type, type) != 0)
            continue;
        means.problems += at->ratio > 0;
        means.below += at->ratio > 0 && at->ratio < 1;
        means.untuned += at->loss > 0;
        means.worse += at->worse;
        means.err_above += at->err_above;
        take(&ratio, at->ratio, at->weight);
        take(&best, at->best_ratio, at->weight);
        take(&loss, at->loss, 1);
        means.loss_worst = fmax(means.loss_worst, at->loss);
    }
    means.ratio = value_of(&ratio);
    means.worst = ratio.least;
    means.best_ratio = value_of(&best);
    means.best_worst = best.least;
    means.loss = value_of(&loss);
    means.loss_p90 = ninth_tenth(summary, type, means.untuned);
    return means;
}

bool gt_bench_summary_first(const struct gt_bench_summary *summary, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (strcmp(summary->figures[j].type, summary->figures[i].type) == 0)
            return false;
    return true;
}
