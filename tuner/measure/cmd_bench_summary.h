/* cmd_bench_summary.h - the means that tune bench prints, over all problems and over the problems
 * of each type. */
#ifndef GT_CMD_BENCH_SUMMARY_H
#define GT_CMD_BENCH_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>

struct gt_err;
struct gt_problem;

/* The figures of one problem that was compared. */
struct gt_bench_figures {
    char type[32]; /* "bf16"; "f32, accuracy f32" where the accuracy is not the type's default */
    double weight;
    double ratio;      /* cuBLASLt's time divided by the winner's */
    double best_ratio; /* cuBLASLt's time divided by the best of everything; 0: not known */
    double loss;       /* the untuned answer's time divided by the best known; 0: not timed */
    bool worse;        /* the winner is slower than the untuned answer */
    bool err_above;    /* the winner's error is above 1.25 times cuBLASLt's */
};

struct gt_bench_summary {
    struct gt_bench_figures *figures;
    size_t count, capacity;
};

/* The means over some of the problems. */
struct gt_bench_means {
    /* numbers of problems: all; with a ratio below 1; with a loss; where `worse` is set; where
     * `err_above` is set */
    size_t problems, below, untuned, worse, err_above;
    double ratio, worst, best_ratio, best_worst; /* of each ratio the weighted geometric mean, and
                                                    the least; 0: none */
    double loss, loss_p90, loss_worst;           /* of the losses the geometric mean without
                                                    weights, the 90th percentile and the greatest;
                                                    0: none */
};

/* Adds the figures of a problem; their `type` is set from the problem. */
int gt_bench_summary_add(struct gt_bench_summary *summary, const struct gt_problem *problem,
                         const struct gt_bench_figures *figures, struct gt_err *err);
void gt_bench_summary_release(struct gt_bench_summary *summary);

/* The means over the problems of a type (NULL: all). */
struct gt_bench_means gt_bench_summary_means(const struct gt_bench_summary *summary,
                                             const char *type);

/* Whether figures[i] is the first of its type. */
bool gt_bench_summary_first(const struct gt_bench_summary *summary, size_t i);

#endif
