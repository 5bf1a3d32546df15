/* cmd_bench_summary.h - what tune bench says of all problems together, and of each type. */
#ifndef GT_CMD_BENCH_SUMMARY_H
#define GT_CMD_BENCH_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>

struct gt_err;
struct gt_problem;

/* The figures of one problem that was compared. */
struct gt_bench_figures {
    char type[32]; /* "bf16"; "f32, accuracy f32" where it is not the type's default */
    double weight;
    double ratio,
        best_ratio; /* cuBLASLt's time over ours; over the best of everything, 0: not known */
    double loss;    /* untuned time over the best known of the problem; 0: not timed */
    bool worse, err_above; /* worse than untuned; error above 1.25 times cuBLASLt's */
};

struct gt_bench_summary {
    struct gt_bench_figures *figures;
    size_t count, capacity;
};

/* The means over some of the problems. */
struct gt_bench_means {
    size_t problems, below, untuned, worse, err_above; /* below: with a ratio below 1 */
    double ratio, worst, best_ratio, best_worst;       /* weighted geometric means; 0: none */
    double loss, loss_p90, loss_worst;                 /* geometric mean, not weighted; 0: none */
};

/* `figures` of a problem; its type is filled from the problem. */
int gt_bench_summary_add(struct gt_bench_summary *summary, const struct gt_problem *problem,
                         const struct gt_bench_figures *figures, struct gt_err *err);
void gt_bench_summary_release(struct gt_bench_summary *summary);

/* The means over the problems of a type (NULL: all). */
struct gt_bench_means gt_bench_summary_means(const struct gt_bench_summary *summary,
                                             const char *type);

/* Whether figures[i] is the first of its type. */
bool gt_bench_summary_first(const struct gt_bench_summary *summary, size_t i);

#endif
