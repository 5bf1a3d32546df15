/* bench.h - stage: proves candidates (verify.h) and times them, for a problem in GPU memory.
 *
 * A bench runs in the GPU worker.  A candidate that fails is a trial with a status, not an error.
 * An error means that the problem or the device cannot go on. */
#ifndef GT_BENCH_H
#define GT_BENCH_H

#include "cuda/gpu.h"
#include "kernel/kernel.h"
#include "problem/measured.h"
#include "problem/trial.h"
#include "proof/resident.h"

struct gt_nvrtc;
struct gt_bench;

struct gt_bench_options {
    enum gt_timing timing; /* operands rotate through more than 3 x L2, or stay in L2, or launches
                              form chains (bench_internal.h) */
    enum gt_dist dist;
    uint64_t seed;        /* of the operands */
    size_t workspace_cap; /* bytes of workspace that a candidate may use; 0: 256 MiB, or twice the
                             bytes of A and B */
    double slow_factor;   /* stage 1 gives up a candidate that takes more than this times the best;
                             0: 1.5 */
};

/* The launches in one sample of this timing: the launches of a chain (bench_internal.h), or 1. */
int gt_chain_launches(enum gt_timing timing);

/* The bytes of workspace that a candidate may use. */
size_t gt_bench_workspace(const struct gt_bench_options *options, const struct gt_problem *problem);
/* GT_ERANGE, with both figures in the sentence, if a candidate needs more. */
int gt_bench_check_workspace(const struct gt_geometry *geometry, size_t allowed,
                             struct gt_err *err);

/* Allocates operands, guards, reference and workspace once, fills the operands and computes the
 * float64 reference in strips.  GT_ETOOBIG: the memory is too small; the sentence has the bytes
 * needed and present.  The project's own device kernels (templates/proof) are compiled with nvrtc
 * or taken from the cache. */
int gt_bench_open(struct gt_bench **bench, struct gt_gpu *gpu, struct gt_nvrtc *nvrtc,
                  const char *data_dir, const char *cache_dir, const struct gt_problem *problem,
                  const struct gt_bench_options *options, struct gt_err *err);
void gt_bench_close(struct gt_bench *bench); /* NULL accepted */

/* A candidate of the bench's problem that is to be run. */
struct gt_bench_entry {
    const struct gt_candidate *candidate;
    struct gt_geometry geometry; /* of the candidate */
    const void *image;           /* a cubin or PTX */
    size_t size;
};

/* The proof (verify.h) and stage 1 of timing.  Small ragged integer products come first.  The
 * problem with integers follows as a warm-up that is timed, too.  If this run takes more than
 * slow_factor x best_us + 3 us, the candidate is `slow`, and trial->us is the time of this run
 * (best_us 0: none yet).  Three timed launches with normal reals come last, and each is proved;
 * trial->us is their median.  A candidate timed at a fraction of the rated clock is timed again. */
int gt_bench_trial(struct gt_bench *bench, const struct gt_bench_entry *entry, double best_us,
                   struct gt_trial *trial, struct gt_err *err);

/* Stage 2: takes samples until the interval of the median is below 0.5 % or there are max_samples,
 * and then proves once more (step 5). */
int gt_bench_sample(struct gt_bench *bench, const struct gt_bench_entry *entry, int max_samples,
                    struct gt_trial *trial, struct gt_err *err);

/* Stage 3: times the entries in turns, for `rounds` rounds in balanced order; an open baseline is
 * the last entry.  The samples with number r of all entries are one pairing.  If there are more
 * than two entries, an entry that has lost takes no part in further rounds and has fewer samples.
 * Before the rounds the first entry runs alone, until its time no longer rises because of a power
 * cap, for at least 0.15 s and at most about 1.2 s.  trial[e] gets the samples, statistics and
 * stage 3. */
int gt_bench_final(struct gt_bench *bench, const struct gt_bench_entry *entry, size_t entries,
                   int rounds, struct gt_trial *trial, struct gt_trial *baseline,
                   struct gt_err *err);

/* Asks cuBLASLt for all heuristic answers, times each and keeps the best for gt_bench_final.
 * GT_ENOLIB: there is no libcublasLt; a sweep goes on without the baseline.  GT_ENOTFOUND: no
 * answer runs and is right. */
int gt_bench_baseline(struct gt_bench *bench, struct gt_baseline *baseline, struct gt_err *err);

/* Times moving the problem's data alone: the best of several plain kernels
 * (templates/calibrate/move.cu) that read A, B and (if beta is not 0) C once, write D once and
 * compute nothing.  These kernels get the same sets of operands as candidates.  D is overwritten,
 * which does no harm because every proof poisons it first. */
int gt_bench_move(struct gt_bench *bench, struct gt_nvrtc *nvrtc, const char *data_dir,
                  const char *cache_dir, struct gt_move *move, struct gt_err *err);

/* Measures a candidate or, if entry is NULL, cuBLASLt's best answer (gt_bench_baseline came before)
 * as `wish` says.  The results are proved.  GT_ENOLIB: there is no NVML, or it has no meter of the
 * device; GT_ERANGE: the candidate cannot be launched or its results are wrong. */
int gt_bench_energy(struct gt_bench *bench, const struct gt_bench_entry *entry,
                    const struct gt_energy_wish *wish, struct gt_energy *energy,
                    struct gt_err *err);

/* Runs a fixed kernel of this project; us: its median time.  After the start of a worker the canary
 * kernel shows that the device still computes.  Its time, taken every minute, shows drift. */
int gt_bench_canary(struct gt_bench *bench, double *us, struct gt_err *err);

#endif
