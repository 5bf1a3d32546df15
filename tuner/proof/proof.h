/* proof.h - stage: calls of the project's own device kernels (templates/proof).
 *
 * Every call is enqueued on the GPU's stream.  Findings are collected in numbered result slots on
 * the device, which gt_proof_fetch copies to the host.  The stages of proof and timing use this
 * file. */
#ifndef GT_PROOF_H
#define GT_PROOF_H

#include "cuda/gpu.h"
#include "templates/proof/args.h"

struct gt_nvrtc;
struct gt_proof;

/* Device memory with a batch of matrices and guards around them.  All of the memory is poisoned,
 * except for the elements that were filled. */
struct gt_matrix {
    gt_devptr base;
    int64_t words;  /* 32-bit words of the whole allocation */
    int64_t offset; /* bytes from base to the first element */
    struct gt_span span;
};

#define GT_PROOF_SLOTS 40

/* The word with which memory for elements of the type is poisoned. */
uint32_t gt_proof_poison(enum gt_dtype type);

/* Compiles the proof's kernels, or takes them from the cache, and loads them. */
int gt_proof_open(struct gt_proof **proof, struct gt_gpu *gpu, struct gt_nvrtc *nvrtc,
                  const char *data_dir, const char *cache_dir, struct gt_err *err);
void gt_proof_close(struct gt_proof *proof); /* NULL accepted */

int gt_proof_fill(const struct gt_proof *proof, const struct gt_matrix *matrix, uint64_t seed,
                  enum gt_fill kind, int range, struct gt_err *err);

/* Computes the whole product, in launches that are short even on the slowest device. */
int gt_proof_reference(const struct gt_proof *proof, const struct gt_reference_args *whole,
                       int64_t batch, struct gt_err *err);

/* Result slots are cleared, written by the calls below, fetched and read. */
int gt_proof_clear(const struct gt_proof *proof, struct gt_err *err);
int gt_proof_fetch(struct gt_proof *proof, struct gt_err *err); /* waits */
const struct gt_proof_result *gt_proof_result(const struct gt_proof *proof, int slot);

/* These calls set args->result from the slot. */
int gt_proof_compare(const struct gt_proof *proof, const struct gt_compare_args *args, int slot,
                     struct gt_err *err);
int gt_proof_look(const struct gt_proof *proof, const struct gt_look_args *args, int slot,
                  struct gt_err *err);
int gt_proof_equal(const struct gt_proof *proof, const struct gt_matrix *x,
                   const struct gt_matrix *y, int slot, struct gt_err *err);
int gt_proof_guard(const struct gt_proof *proof, const struct gt_matrix *matrix, int slot,
                   struct gt_err *err);
int gt_proof_hash(const struct gt_proof *proof, gt_devptr base, int64_t words, int slot,
                  struct gt_err *err);

/* Measures the SM clock for about `nanoseconds`; slot -1: only waits on the device. */
int gt_proof_clock(const struct gt_proof *proof, int64_t nanoseconds, int slot, struct gt_err *err);

/* Writes out[0 .. count), see gt_canary_args; element i must be gt_proof_canary_value(i). */
int gt_proof_canary(const struct gt_proof *proof, gt_devptr out, int64_t count, int steps,
                    struct gt_err *err);
float gt_proof_canary_value(int64_t i, int steps);

#endif
