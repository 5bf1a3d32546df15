/* bench.h - stage: a problem resident on a GPU; proves candidates (verify.h), then times them.
 *
 * Runs inside the GPU worker.  A candidate that fails is a trial with a status, not an error; an
 * error return means the problem or the device cannot go on. */
#ifndef GT_BENCH_H
#define GT_BENCH_H

#include "cuda/gpu.h"
#include "kernel/kernel.h"
#include "problem/measured.h"
#include "problem/trial.h"

struct gt_nvrtc;
struct gt_bench;

struct gt_bench_options {
    bool warm_l2;         /* time with operands left in L2 instead of rotated through > 3 x L2 */
    uint64_t seed;        /* of the operands */
    size_t workspace_cap; /* bytes a candidate may use; 0: 256 MiB, or twice those of A and B */
    double slow_factor;   /* stage 1 gives up on a candidate beyond this times the best; 0: 1.5 */
};

/* Allocates operands, guards, reference and workspace once, fills the operands and computes the
 * float64 reference in strips.  GT_ETOOBIG with the bytes needed and present if it does not fit.
 * The project's own device kernels (templates/proof) are compiled through nvrtc and the cache. */
int gt_bench_open(struct gt_bench **bench, struct gt_gpu *gpu, struct gt_nvrtc *nvrtc,
                  const char *data_dir, const char *cache_dir, const struct gt_problem *problem,
                  const struct gt_bench_options *options, struct gt_err *err);
void gt_bench_close(struct gt_bench *bench); /* NULL accepted */

/* The proof (verify.h) and stage 1 of timing.  Small ragged integer products come first, then the
 * problem with integers, whose time doubles as the warm-up: beyond slow_factor x best_us and 3 us
 * the candidate is `slow` at once (best_us 0: none yet).  Then three timed launches with normal
 * reals, each of which is proved: trial->us is their median.  A slow trial's us is its first run.
 * What was timed at a fraction of the rated clock is timed again.  image is a cubin or PTX. */
int gt_bench_trial(struct gt_bench *bench, const struct gt_candidate *candidate, const void *image,
                   size_t size, double best_us, struct gt_trial *trial, struct gt_err *err);

/* Stage 2: samples until the interval of the median is under 0.5 % or max_samples, then the proof
 * once more (step 5). */
int gt_bench_sample(struct gt_bench *bench, const struct gt_candidate *candidate, const void *image,
                    size_t size, int max_samples, struct gt_trial *trial, struct gt_err *err);

/* Stage 3: entries (and the baseline, if open, as the last one) interleaved in balanced order,
 * `rounds` times; sample[e][r] is paired over e.  The first entry is run alone before, until its
 * time rises no more (a power cap that takes hold), at least 0.15 s and at most about 1.2 s.
 * trial[e] gets the samples, statistics and stage 3. */
struct gt_final_entry {
    const struct gt_candidate *candidate;
    const void *image;
    size_t size;
};
int gt_bench_final(struct gt_bench *bench, const struct gt_final_entry *entry, size_t entries,
                   int rounds, struct gt_trial *trial, struct gt_trial *baseline,
                   struct gt_err *err);

/* cuBLASLt: asks for all heuristic answers, times each, keeps the best for gt_bench_final.
 * GT_ENOLIB if libcublasLt is absent (optional: the sweep goes on without), GT_ENOTFOUND if it
 * serves no answer. */
int gt_bench_baseline(struct gt_bench *bench, struct gt_baseline *baseline, struct gt_err *err);

/* What memory alone takes: the best of several plain kernels (templates/calibrate/move.cu), given
 * the same sets of operands as candidates are, that read A, B and (beta not 0) C once and write D
 * once, and compute nothing.  D is overwritten; whoever proves a result poisons it first. */
int gt_bench_move(struct gt_bench *bench, struct gt_nvrtc *nvrtc, const char *data_dir,
                  const char *cache_dir, struct gt_move *move, struct gt_err *err);

/* A fixed kernel of this project: proves after a worker's start that the device still computes
 * (canary), and re-timed every minute shows drift.  us: its median. */
int gt_bench_canary(struct gt_bench *bench, double *us, struct gt_err *err);

#endif
