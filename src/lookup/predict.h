/* predict.h - stage: an analytic model's estimate of a candidate's time; needs no GPU.
 *
 * It ranks candidates before they are compiled, stands in for measurements where there is no GPU,
 * and re-ranks near answers of a look-up.  Everything that the model knows of a kernel comes from
 * the description's "model" entries and launch geometry. */
#ifndef GT_PREDICT_H
#define GT_PREDICT_H

#include "kernel/kernel.h"

/* The parts of an estimate; times in microseconds. */
struct gt_prediction {
    double us;           /* the estimate: the time that follows from the parts below, times the
                            risk */
    double risk;         /* 1, or more where registers may spill, which only compiling will show */
    int blocks_sm;       /* resident blocks of an SM */
    double waves;        /* blocks launched / blocks resident on the device */
    double compute_us;   /* time that the SMs need: issue, FMA pipe, shared memory, latency */
    double l2_us;        /* time to read operand tiles from L2 */
    double memory_us;    /* time of the traffic of device memory */
    double prepare_us;   /* time of separate launches that pack, transpose or split operands */
    double reduction_us; /* time to sum partial results when k is split */
    double launch_us;
    double tile_m, tile_n, tile_k; /* the tile that a block computes, and one step along k */
    double splits;                 /* blocks that share a tile along k */
    double cluster;                /* blocks in a cluster */
    double rounds; /* tiles, padding tiles of clusters at the edges included / resident blocks of
                      all SMs */
    const char *bound; /* the largest part: "compute", "l2", "memory", "reduction", "launch",
                          "prepare" */
};

/* registers and spill_bytes: per thread, as compiled.  registers 0: the candidate is not compiled
 * yet, and the description's estimate is taken.  GT_ERANGE if no block fits an SM. */
int gt_predict_explain(const struct gt_candidate *candidate, const struct gt_geometry *geometry,
                       int registers, int spill_bytes, struct gt_prediction *prediction,
                       struct gt_err *err);

/* As gt_predict_explain, with the candidate's slots, which the caller has (gt_candidate_slots). */
int gt_predict_slots(const struct gt_candidate *candidate, const struct gt_geometry *geometry,
                     const int64_t *slots, int registers, int spill_bytes,
                     struct gt_prediction *prediction, struct gt_err *err);

/* Whether two candidates of one kernel divide the problem in the same way: tiles, parts of the
 * depth, clusters, blocks of an SM. */
bool gt_predict_same_way(const struct gt_prediction *a, const struct gt_prediction *b);

/* As gt_predict_explain, but returns only the estimate. */
int gt_predict(const struct gt_candidate *candidate, const struct gt_geometry *geometry,
               int registers, int spill_bytes, double *us, struct gt_err *err);

#endif
