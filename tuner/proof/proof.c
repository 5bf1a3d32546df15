/* proof.c - stage: the device kernels of templates/proof as calls. */
#include "proof/proof.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "problem/problem.h"
#include "cuda/sources.h"

enum {
#define PROOF_ENUM(name, entry, type) KERNEL_##name,
    GT_PROOF_MAP(PROOF_ENUM)
#undef PROOF_ENUM
        KERNELS
};

static const char *const entries[KERNELS] = {
#define PROOF_ENTRY(name, entry, type) #entry,
    GT_PROOF_MAP(PROOF_ENTRY)
#undef PROOF_ENTRY
};

struct gt_proof {
    struct gt_gpu *gpu;
    struct gt_program *program;
    gt_devptr results; /* struct gt_proof_result[GT_PROOF_SLOTS] */
    struct gt_proof_result fetched[GT_PROOF_SLOTS];
    int64_t blocks; /* blocks that fill the device a few times */
};

static const struct gt_program_sources sources = {
    .name = "templates/proof",
    .file = {"common/args.h", "common/platform.cuh", "common/types.cuh", "proof/args.h",
             "proof/device.cuh", "proof/fill.cu", "proof/reference.cu", "proof/reference_double.cu",
             "proof/check.cu", "proof/clock.cu"},
};

int gt_proof_open(struct gt_proof **proof, struct gt_gpu *gpu, struct gt_nvrtc *nvrtc,
                  const char *data_dir, const char *cache_dir, struct gt_err *err)
{
    struct gt_proof *opened = calloc(1, sizeof(*opened));
    int rc;

    *proof = NULL;
    if (!opened)
        return gt_err_nomem(err);
    opened->gpu = gpu;
    opened->blocks = (int64_t)gt_gpu_device(gpu)->sms * 16;
    rc = gt_program_build(&opened->program, gpu, nvrtc, data_dir, cache_dir, &sources, entries,
                          KERNELS, err);
    GT_STEP(rc, gt_gpu_alloc(gpu, &opened->results, sizeof(opened->fetched), err));
    if (rc) {
        gt_proof_close(opened);
        return rc;
    }
    *proof = opened;
    return GT_OK;
}

void gt_proof_close(struct gt_proof *proof)
{
    if (!proof)
        return;
    gt_gpu_free(proof->gpu, proof->results);
    gt_program_free(proof->program);
    free(proof);
}

static int64_t least(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

static int64_t most(int64_t x, int64_t y)
{
    return x > y ? x : y;
}

static int64_t parts(int64_t whole, int64_t part)
{
    return (whole + part - 1) / part;
}

static struct gt_proof_result *slot_address(const struct gt_proof *proof, int slot)
{
    gt_devptr address = proof->results + (size_t)slot * sizeof(struct gt_proof_result);

    return (struct gt_proof_result *)(uintptr_t)
        address; /* a device address, which the host must not read */
}

/* Runs a kernel over rows and columns (gt_proof_walk). */
static int run_walk(const struct gt_proof *proof, size_t kernel, const struct gt_span *span,
                    const void *args, struct gt_err *err)
{
    int64_t rows = parts(span->rows * span->batch, 8), cols = parts(span->cols, 32);
    int64_t y = least(rows, least(proof->blocks, 65535));
    unsigned grid[3] = {1, 1, 1};

    if (!rows || !cols)
        return GT_OK;
    grid[0] = (unsigned)least(cols, parts(proof->blocks, y));
    grid[1] = (unsigned)y;
    return gt_program_run(proof->program, kernel, grid, 256, args, err);
}

/* Runs a kernel over a line of words. */
static int run_line(const struct gt_proof *proof, size_t kernel, int64_t words, const void *args,
                    struct gt_err *err)
{
    unsigned grid[3] = {(unsigned)most(1, least(parts(words, 1024), proof->blocks)), 1, 1};

    return gt_program_run(proof->program, kernel, grid, 256, args, err);
}

uint32_t gt_proof_poison(enum gt_dtype type)
{
    if (type == GT_S8 || gt_dtype_size(type) == 4)
        return GT_POISON;
    if (type == GT_F64)
        return GT_POISON_8BYTE;
    return gt_dtype_size(type) == 2 ? GT_POISON_2BYTE : GT_POISON_1BYTE;
}

int gt_proof_fill(const struct gt_proof *proof, const struct gt_matrix *matrix, uint64_t seed,
                  enum gt_fill kind, int range, struct gt_err *err)
{
    const struct gt_fill_args args = {matrix->span, seed, kind, range};

    return run_walk(proof, KERNEL_FILL, &matrix->span, &args, err);
}

int gt_proof_reference(const struct gt_proof *proof, const struct gt_reference_args *whole,
                       int64_t batch, struct gt_err *err)
{
    /* A launch has at most 10^10 multiply-adds, which take 20 ms on a data-centre device, and less
     * than half a second on a device whose float64 rate is a 64th of its float32 rate.  In twice
     * the precision of doubles each takes ten operations. */
    const bool doubles = whole->type == GT_F64;
    const double limit = doubles ? 1e9 : 1e10;
    double per_row = 64.0 * (double)parts(whole->n, 64) * (double)most(whole->k, 1);
    int64_t strips = most(1, least((int64_t)(limit / (64 * per_row)), 1024));
    int64_t rows = least(strips * 64, parts(whole->m, 64) * 64);
    int64_t together = most(1, least((int64_t)(limit / (per_row * (double)most(rows, 1))), 1024));
    int rc = GT_OK;

    if (!whole->n)
        return GT_OK;
    for (int64_t first = 0; first < batch && !rc; first += together)
        for (int64_t row = 0; row < whole->m && !rc; row += rows) {
            struct gt_reference_args args = *whole;
            unsigned grid[3] = {(unsigned)parts(whole->n, 64),
                                (unsigned)parts(least(rows, whole->m - row), 64),
                                (unsigned)least(together, batch - first)};

            args.row = row;
            args.first = first;
            rc =
                gt_program_run(proof->program, doubles ? KERNEL_REFERENCE_DOUBLE : KERNEL_REFERENCE,
                               grid, 256, &args, err);
        }
    return rc;
}

int gt_proof_clear(const struct gt_proof *proof, struct gt_err *err)
{
    return gt_gpu_fill32(proof->gpu, proof->results, 0, sizeof(proof->fetched) / 4, err);
}

int gt_proof_fetch(struct gt_proof *proof, struct gt_err *err)
{
    return gt_gpu_download(proof->gpu, proof->fetched, proof->results, sizeof(proof->fetched), err);
}

const struct gt_proof_result *gt_proof_result(const struct gt_proof *proof, int slot)
{
    return &proof->fetched[slot];
}

int gt_proof_compare(const struct gt_proof *proof, const struct gt_compare_args *args, int slot,
                     struct gt_err *err)
{
    struct gt_compare_args copy = *args;

    copy.result = slot_address(proof, slot);
    return run_walk(proof, KERNEL_COMPARE, &copy.d, &copy, err);
}

int gt_proof_look(const struct gt_proof *proof, const struct gt_look_args *args, int slot,
                  struct gt_err *err)
{
    const unsigned grid[3] = {1, 1, 1};
    struct gt_look_args copy = *args;

    copy.result = slot_address(proof, slot);
    return gt_program_run(proof->program, KERNEL_LOOK, grid, 32, &copy, err);
}

int gt_proof_equal(const struct gt_proof *proof, const struct gt_matrix *x,
                   const struct gt_matrix *y, int slot, struct gt_err *err)
{
    const struct gt_equal_args args = {x->span, y->span, slot_address(proof, slot)};

    return run_walk(proof, KERNEL_EQUAL, &x->span, &args, err);
}

int gt_proof_guard(const struct gt_proof *proof, const struct gt_matrix *matrix, int slot,
                   struct gt_err *err)
{
    const struct gt_guard_args args = {(const unsigned *)(uintptr_t)matrix->base,
                                       gt_proof_poison((enum gt_dtype)matrix->span.type),
                                       matrix->words,
                                       matrix->offset,
                                       matrix->span,
                                       slot_address(proof, slot)};

    return run_line(proof, KERNEL_GUARD, matrix->words, &args, err);
}

int gt_proof_hash(const struct gt_proof *proof, gt_devptr base, int64_t words, int slot,
                  struct gt_err *err)
{
    const struct gt_hash_args args = {(const unsigned *)(uintptr_t)base, words,
                                      slot_address(proof, slot)};

    return run_line(proof, KERNEL_HASH, words, &args, err);
}

int gt_proof_clock(const struct gt_proof *proof, int64_t nanoseconds, int slot, struct gt_err *err)
{
    const struct gt_clock_args args = {nanoseconds, slot < 0 ? NULL : slot_address(proof, slot)};
    const unsigned grid[3] = {1, 1, 1};

    return gt_program_run(proof->program, KERNEL_CLOCK, grid, 32, &args, err);
}

int gt_proof_canary(const struct gt_proof *proof, gt_devptr out, int64_t count, int steps,
                    struct gt_err *err)
{
    const struct gt_canary_args args = {(float *)(uintptr_t)out, count, steps};
    unsigned grid[3] = {(unsigned)parts(count, 256), 1, 1};

    return gt_program_run(proof->program, KERNEL_CANARY, grid, 256, &args, err);
}

float gt_proof_canary_value(int64_t i, int steps)
{
    float x = 1.0f + (float)(i % 8);

    for (int step = 0; step < steps; step++)
        x = fmaf(x, 0.75f, 1.0f + 0.125f * (float)(step % 4));
    return x;
}
