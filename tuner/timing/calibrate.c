/* calibrate.c - stage: times the kernels of templates/calibrate and computes bandwidths and rates
 * from the times.  Calibration runs in the GPU worker. */
#include "timing/calibrate.h"

#include "base/err.h"
#include "base/stats.h"
#include "base/clock.h"
#include "proof/proof.h"
#include "cuda/sources.h"
#include "templates/calibrate/args.h"

#define BLOCK_THREADS 256 /* of a block, as in the template */
#define SAMPLES       9
#define FILL          8           /* blocks of an SM for memory */
#define LARGEST       (512 << 20) /* bytes of each of the two buffers */
#define HEAD_START_NS 60000       /* the host's time for a sample's launches, rounded up */
#define LAUNCHES      20          /* launches of the empty kernel, one behind the other */
#define WARM_UP_MS    50          /* a GPU that slept needs so long to raise its clock */
#define WGMMA_CC      90          /* no later arch has wgmma */
#define MIB           1048576.0

enum entry {
    EMPTY,
    MEMORY_COPY,
    READ,
    SHARED_READ,
    FMA,
    MMA_TF32,
    MMA_F16,
    MMA_BF16,
    MMA_F8,
    MMA_S8,
    WGMMA_TF32, /* from here on: templates/calibrate/wgmma.cu */
    WGMMA_F16,
    WGMMA_BF16,
    WGMMA_F8,
    WGMMA_S8,
    ENTRIES
};

static const char *const entries[ENTRIES] = {
    "calibrate_empty",      "calibrate_copy",     "calibrate_read",       "calibrate_shared",
    "calibrate_fma",        "calibrate_mma_tf32", "calibrate_mma_f16",    "calibrate_mma_bf16",
    "calibrate_mma_f8",     "calibrate_mma_s8",   "calibrate_wgmma_tf32", "calibrate_wgmma_f16",
    "calibrate_wgmma_bf16", "calibrate_wgmma_f8", "calibrate_wgmma_s8",
};

const struct gt_program_sources gt_calibrate_sources = {
    .name = "templates/calibrate/calibrate.cu",
    .file = {"common/args.h", "common/platform.cuh", "common/mma.cuh", "calibrate/args.h",
             "calibrate/device.cuh", "calibrate/calibrate.cu"},
};

const struct gt_program_sources gt_calibrate_wgmma_sources = {
    .name = "templates/calibrate/wgmma.cu",
    .file = {"common/args.h", "common/platform.cuh", "common/vector.cuh", "common/types.cuh",
             "common/copy.cuh", "common/maps.h", "common/maps.cuh", "common/cluster.cuh",
             "common/hopper.cuh", "calibrate/all_types.h", "common/wgmma.cuh", "calibrate/args.h",
             "calibrate/device.cuh", "calibrate/wgmma.cu"},
};

/* Figures that do not depend on memory.  size: bytes of an operand's element; 0: no tensor
 * cores. */
static const struct pipe {
    enum gt_calibration_figure figure;
    enum entry entry;
    int blocks_sm, steps, size, least_cc, most_cc;
    double work; /* work of a block's step: bytes, or operations if elements had one byte */
} pipes[] = {
    {GT_CALIBRATION_SHARED_READ, SHARED_READ, 4, 400, 0, 75, 999, BLOCK_THREADS * 16 * 16.0},
    {GT_CALIBRATION_FMA, FMA, 8, 200, 0, 75, 999, BLOCK_THREADS * 128 * 2.0},
#define MMA_WORK   (BLOCK_THREADS / 32 * 8 * 2.0 * 16 * 8 * 32)
#define WGMMA_WORK (BLOCK_THREADS / 128 * 4 * 2.0 * 64 * 256 * 32)
    {GT_CALIBRATION_MMA_TF32, MMA_TF32, 4, 1000, 4, 80, 999, MMA_WORK},
    {GT_CALIBRATION_MMA_F16, MMA_F16, 4, 1000, 2, 75, 999, MMA_WORK},
    {GT_CALIBRATION_MMA_BF16, MMA_BF16, 4, 1000, 2, 80, 999, MMA_WORK},
    {GT_CALIBRATION_MMA_F8, MMA_F8, 4, 1000, 1, 89, 999, MMA_WORK},
    {GT_CALIBRATION_MMA_S8, MMA_S8, 4, 1000, 1, 80, 999, MMA_WORK},
    {GT_CALIBRATION_WGMMA_TF32, WGMMA_TF32, 1, 400, 4, WGMMA_CC, WGMMA_CC, WGMMA_WORK},
    {GT_CALIBRATION_WGMMA_F16, WGMMA_F16, 1, 400, 2, WGMMA_CC, WGMMA_CC, WGMMA_WORK},
    {GT_CALIBRATION_WGMMA_BF16, WGMMA_BF16, 1, 400, 2, WGMMA_CC, WGMMA_CC, WGMMA_WORK},
    {GT_CALIBRATION_WGMMA_F8, WGMMA_F8, 1, 400, 1, WGMMA_CC, WGMMA_CC, WGMMA_WORK},
    {GT_CALIBRATION_WGMMA_S8, WGMMA_S8, 1, 400, 1, WGMMA_CC, WGMMA_CC, WGMMA_WORK},
};

struct work {
    struct gt_gpu *gpu;
    struct gt_proof *proof;        /* has the clock kernel, which gives the host a head start */
    struct gt_program *program[2]; /* of every arch; of sm_90a only, NULL on others */
    struct gt_event *begin, *end;
    gt_devptr from, to;
    int64_t bytes; /* of each */
};

/* ---- set-up ---- */

static int get_memory(struct work *work, struct gt_err *err)
{
    size_t free_bytes, total;
    int rc = gt_gpu_memory(work->gpu, &free_bytes, &total, err);

    if (rc)
        return rc;
    work->bytes = LARGEST;
    while (work->bytes > MIB && (size_t)work->bytes > free_bytes / 4)
        work->bytes /= 2;
    rc = gt_gpu_alloc(work->gpu, &work->from, (size_t)work->bytes, err);
    GT_STEP(rc, gt_gpu_alloc(work->gpu, &work->to, (size_t)work->bytes, err));
    return rc;
}

static int open_work(struct work *work, struct gt_nvrtc *nvrtc, const char *data_dir,
                     const char *cache_dir, struct gt_err *err)
{
    int rc = gt_proof_open(&work->proof, work->gpu, nvrtc, data_dir, cache_dir, err);

    GT_STEP(rc, gt_program_build(&work->program[0], work->gpu, nvrtc, data_dir, cache_dir,
                                 &gt_calibrate_sources, entries, WGMMA_TF32, err));
    if (!rc && gt_gpu_device(work->gpu)->cc == WGMMA_CC)
        rc = gt_program_build(&work->program[1], work->gpu, nvrtc, data_dir, cache_dir,
                              &gt_calibrate_wgmma_sources, entries + WGMMA_TF32,
                              ENTRIES - WGMMA_TF32, err);
    GT_STEP(rc, gt_event_new(&work->begin, work->gpu, err));
    GT_STEP(rc, gt_event_new(&work->end, work->gpu, err));
    return rc ? rc : get_memory(work, err);
}

static void close_work(struct work *work)
{
    gt_gpu_free(work->gpu, work->to);
    gt_gpu_free(work->gpu, work->from);
    gt_event_free(work->end);
    gt_event_free(work->begin);
    gt_program_free(work->program[1]);
    gt_program_free(work->program[0]);
    gt_proof_close(work->proof);
}

/* ---- times ---- */

/* Takes one sample: `launches` launches of an entry, one after the other. */
static int time_once(const struct work *work, enum entry entry, unsigned blocks,
                     const struct gt_calibrate_args *args, int launches, float *us,
                     struct gt_err *err)
{
    const unsigned grid[3] = {blocks, 1, 1};
    int rc = gt_proof_clock(work->proof, (int64_t)HEAD_START_NS + 6000 * launches, -1, err);

    GT_STEP(rc, gt_event_record(work->begin, err));
    for (int i = 0; i < launches && !rc; i++)
        rc = entry < WGMMA_TF32
                 ? gt_program_run(work->program[0], entry, grid, BLOCK_THREADS, args, err)
                 : gt_program_run(work->program[1], (size_t)(entry - WGMMA_TF32), grid,
                                  BLOCK_THREADS, args, err);
    GT_STEP(rc, gt_event_record(work->end, err));
    return rc ? rc : gt_event_us(work->begin, work->end, us, err);
}

/* The median time of a launch.  moving: each launch reads the next part of the buffer, so that as
 * much time as possible passes before a part is read again. */
static int time_entry(const struct work *work, enum entry entry, int blocks_sm,
                      struct gt_calibrate_args args, bool moving, double *us, struct gt_err *err)
{
    unsigned blocks = (unsigned)(gt_gpu_device(work->gpu)->sms * blocks_sm);
    int64_t parts = moving ? work->bytes / args.bytes : 1;
    float sample[SAMPLES];
    int rc = GT_OK;

    for (int i = -1; i < SAMPLES && !rc; i++) { /* the first sample warms up */
        args.from =
            (const void *)(uintptr_t)(work->from + (gt_devptr)((i + 1) % parts * args.bytes));
        rc = time_once(work, entry, blocks, &args, 1, &sample[i < 0 ? 0 : i], err);
        if (!rc && moving && parts <= SAMPLES) /* the part could still be in L2 */
            rc = gt_gpu_fill32(work->gpu, work->to, 0, (size_t)work->bytes / 4, err);
    }
    if (!rc)
        *us = gt_median(sample, SAMPLES);
    return rc;
}

static struct gt_calibrate_args args_of(const struct work *work, int64_t bytes, int steps)
{
    return (struct gt_calibrate_args){
        .from = (const void *)(uintptr_t)work->from, /* device addresses, not read by the host */
        .to = (void *)(uintptr_t)work->to,
        .bytes = bytes,
        .steps = steps,
        .never = 0x9e3779b9,
    };
}

/* ---- figures ---- */

static int warm_up(const struct work *work, struct gt_err *err)
{
    unsigned blocks = (unsigned)(gt_gpu_device(work->gpu)->sms * FILL);
    struct gt_calibrate_args args = args_of(work, 0, 2000);
    double passed = 0;
    int rc = GT_OK;

    for (int i = 0; i < 200 && passed < 1e3 * WARM_UP_MS && !rc; i++) {
        float us;

        rc = time_once(work, FMA, blocks, &args, 1, &us, err);
        passed += us;
    }
    return rc;
}

static int measure_launch(const struct work *work, double *value, struct gt_err *err)
{
    struct gt_calibrate_args args = args_of(work, 0, 0);
    float one[SAMPLES], many[SAMPLES];
    int rc = GT_OK;

    for (int i = 0; i < SAMPLES && !rc; i++) {
        rc = time_once(work, EMPTY, 1, &args, 1, &one[i], err);
        GT_STEP(rc, time_once(work, EMPTY, 1, &args, LAUNCHES, &many[i], err));
    }
    if (rc)
        return rc;
    value[GT_CALIBRATION_LAUNCH] = gt_median(one, SAMPLES);
    value[GT_CALIBRATION_NEXT_LAUNCH] =
        (gt_median(many, SAMPLES) - gt_median(one, SAMPLES)) / (LAUNCHES - 1);
    return GT_OK;
}

/* Measures the best of several grids, because devices differ in the number of blocks they need. */
static int measure_copy(const struct work *work, double *value, struct gt_err *err)
{
    const int whole = (int)(work->bytes / (16 * 4 * BLOCK_THREADS) / gt_gpu_device(work->gpu)->sms);
    const int blocks_sm[] = {4, FILL, 16, 32, whole > 64 ? whole : 64};
    int rc = GT_OK;

    for (size_t i = 0; i < sizeof(blocks_sm) / sizeof(*blocks_sm) && !rc; i++) {
        double us, gbps;

        rc = time_entry(work, MEMORY_COPY, blocks_sm[i], args_of(work, work->bytes, 1), false, &us,
                        err);
        gbps = rc ? 0 : 2 * (double)work->bytes / us * 1e-3;
        gt_trace("calibrate", "copy with %d blocks of an SM: %.0f GB/s", blocks_sm[i], gbps);
        if (gbps > value[GT_CALIBRATION_MEMORY_COPY])
            value[GT_CALIBRATION_MEMORY_COPY] = gbps;
    }
    return rc;
}

static int measure_reads(const struct work *work, double *value, struct gt_err *err)
{
    static const struct {
        enum gt_calibration_figure figure;
        int mib;
    } sizes[] = {{GT_CALIBRATION_READ_1, 1},
                 {GT_CALIBRATION_READ_8, 8},
                 {GT_CALIBRATION_READ_32, 32},
                 {GT_CALIBRATION_READ_128, 128},
                 {GT_CALIBRATION_READ_512, 512}};
    int64_t l2 = gt_gpu_device(work->gpu)->l2_bytes / 4 / 16 * 16;
    double us = 0;
    int rc = GT_OK;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes) && !rc; i++) {
        int64_t bytes = sizes[i].mib * (int64_t)MIB;

        if (bytes > work->bytes)
            break;
        rc = time_entry(work, READ, FILL, args_of(work, bytes, 1), true, &us, err);
        if (!rc)
            value[sizes[i].figure] = (double)bytes / us * 1e-3;
    }
    if (rc || l2 < 16 || l2 > work->bytes)
        return rc;
    rc = time_entry(work, READ, FILL, args_of(work, l2, 20), false, &us, err);
    if (!rc)
        value[GT_CALIBRATION_L2] = 20 * (double)l2 / us * 1e-3;
    return rc;
}

static int measure_pipes(const struct work *work, double *value, struct gt_err *err)
{
    const struct gt_device *device = gt_gpu_device(work->gpu);
    int rc = GT_OK;

    for (size_t i = 0; i < sizeof(pipes) / sizeof(*pipes) && !rc; i++) {
        const struct pipe *pipe = &pipes[i];
        double us, done = pipe->work * pipe->steps * pipe->blocks_sm * device->sms;

        if (device->cc < pipe->least_cc || device->cc > pipe->most_cc)
            continue;
        rc = time_entry(work, pipe->entry, pipe->blocks_sm, args_of(work, 0, pipe->steps), false,
                        &us, err);
        if (!rc) /* bytes: GB/s; operations: TFLOP/s */
            value[pipe->figure] =
                done / us *
                (pipe->figure == GT_CALIBRATION_SHARED_READ ? 1e-3
                                                            : 1e-6 / (pipe->size ? pipe->size : 1));
    }
    return rc;
}

int gt_calibrate(struct gt_calibration *calibration, bool only_copy, struct gt_gpu *gpu,
                 struct gt_nvrtc *nvrtc, const char *data_dir, const char *cache_dir,
                 struct gt_err *err)
{
    struct work work = {.gpu = gpu};
    int rc = open_work(&work, nvrtc, data_dir, cache_dir, err);

    *calibration = (struct gt_calibration){{0}};
    GT_STEP(rc, warm_up(&work, err));
    GT_STEP(rc, measure_copy(&work, calibration->value, err));
    if (!rc && !only_copy)
        rc = measure_launch(&work, calibration->value, err);
    if (!rc && !only_copy)
        rc = measure_reads(&work, calibration->value, err);
    if (!rc && !only_copy)
        rc = measure_pipes(&work, calibration->value, err);
    close_work(&work);
    return rc;
}
