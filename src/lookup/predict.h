/* predict.h - stage: an analytic model's estimate of a candidate's time; needs no GPU.
 *
 * It ranks candidates before they are compiled, stands in for measurements where there is no GPU,
 * and re-ranks near answers of a look-up.  Everything it knows of a kernel comes from the
 * description's "model" entries and launch geometry. */
#ifndef GT_PREDICT_H
#define GT_PREDICT_H

#include "kernel/kernel.h"

/* How an estimate came about; times in microseconds. */
struct gt_prediction {
    double us;           /* the estimate: what follows, times the risk */
    double risk;         /* 1, or more where registers may spill: compiling has not shown it yet */
    int blocks_sm;       /* resident blocks of an SM */
    double waves;        /* blocks launched / blocks resident on the device */
    double compute_us;   /* issue, FMA pipe, shared memory, latency: what the SMs need */
    double l2_us;        /* operand tiles from L2 */
    double memory_us;    /* traffic of the device memory */
    double prepare_us;   /* operands packed, transposed or split by launches of their own */
    double reduction_us; /* sums of partial results when k is split */
    double launch_us;
    double tile_m, tile_n, tile_k; /* of a block: what it computes, and one step along k */
    double splits;                 /* blocks that share a tile along k */
    double cluster;                /* blocks of a cluster */
    double rounds; /* tiles, with those that fill clusters up at the edges / blocks of all SMs */
    const char *bound; /* the largest of them: "compute", "l2", "memory", "reduction", "launch",
                          "prepare" */
};

/* registers and spill_bytes as compiled, per thread; registers 0: not compiled yet, the
 * description's estimate is taken.  GT_ERANGE if no block fits an SM. */
int gt_predict_explain(const struct gt_candidate *candidate, const struct gt_geometry *geometry,
                       int registers, int spill_bytes, struct gt_prediction *prediction,
                       struct gt_err *err);

/* The same with the candidate's slots, which the caller has (gt_candidate_slots). */
int gt_predict_slots(const struct gt_candidate *candidate, const struct gt_geometry *geometry,
                     const int64_t *slots, int registers, int spill_bytes,
                     struct gt_prediction *prediction, struct gt_err *err);

/* Whether two candidates of one kernel divide the problem in the same way: tiles, parts of the
 * depth, clusters, blocks of an SM. */
bool gt_predict_same_way(const struct gt_prediction *a, const struct gt_prediction *b);

/* The estimate alone. */
int gt_predict(const struct gt_candidate *candidate, const struct gt_geometry *geometry,
               int registers, int spill_bytes, double *us, struct gt_err *err);

#endif
