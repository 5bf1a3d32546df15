/* calibrate.h - stage: what a GPU reaches, measured by small kernels of our own
 * (templates/calibrate). The predictor takes these figures where there are any, instead of those of
 * a profile. */
#ifndef GT_CALIBRATE_H
#define GT_CALIBRATE_H

#include "gpu.h"

struct gt_nvrtc;

/* Every figure: its number, its name in the database, unit, decimals, and what it is.  Bandwidths
 * in 10^9 bytes a second; rates in 10^12 operations a second, two per multiply-add, sums in FP32
 * (or S32), operands of zeros, so without a power limit. */
#define GT_CALIBRATION_MAP(X)                                                           \
    X(LAUNCH, "launch", "us", 2, "an empty kernel, timed alone")                        \
    X(NEXT_LAUNCH, "next_launch", "us", 2, "each further empty kernel right behind it") \
    X(MEMORY_COPY, "copy", "GB/s", 0, "copy in device memory, read + written")          \
    X(READ_1, "read_1m", "GB/s", 0, "cold read of 1 MiB")                               \
    X(READ_8, "read_8m", "GB/s", 0, "cold read of 8 MiB")                               \
    X(READ_32, "read_32m", "GB/s", 0, "cold read of 32 MiB")                            \
    X(READ_128, "read_128m", "GB/s", 0, "cold read of 128 MiB")                         \
    X(READ_512, "read_512m", "GB/s", 0, "cold read of 512 MiB")                         \
    X(L2, "l2", "GB/s", 0, "read of a quarter of L2, from L2")                          \
    X(SHARED_READ, "shared", "GB/s", 0, "read from shared memory, all SMs together")    \
    X(FMA, "fma", "TFLOP/s", 1, "FP32 multiply-adds on CUDA cores")                     \
    X(MMA_TF32, "mma_tf32", "TFLOP/s", 1, "mma.sync, TF32")                             \
    X(MMA_F16, "mma_f16", "TFLOP/s", 1, "mma.sync, FP16")                               \
    X(MMA_BF16, "mma_bf16", "TFLOP/s", 1, "mma.sync, BF16")                             \
    X(MMA_F8, "mma_f8", "TFLOP/s", 1, "mma.sync, E4M3")                                 \
    X(MMA_S8, "mma_s8", "TOP/s", 1, "mma.sync, INT8")                                   \
    X(WGMMA_TF32, "wgmma_tf32", "TFLOP/s", 1, "wgmma, TF32")                            \
    X(WGMMA_F16, "wgmma_f16", "TFLOP/s", 1, "wgmma, FP16")                              \
    X(WGMMA_BF16, "wgmma_bf16", "TFLOP/s", 1, "wgmma, BF16")                            \
    X(WGMMA_F8, "wgmma_f8", "TFLOP/s", 1, "wgmma, E4M3")                                \
    X(WGMMA_S8, "wgmma_s8", "TOP/s", 1, "wgmma, INT8")

enum gt_calibration_figure {
#define GT_CALIBRATION_ENUM(number, name, unit, decimals, doc) GT_CALIBRATION_##number,
    GT_CALIBRATION_MAP(GT_CALIBRATION_ENUM)
#undef GT_CALIBRATION_ENUM
        GT_CALIBRATION_COUNT
};

struct gt_calibration {
    double value[GT_CALIBRATION_COUNT]; /* 0: not measured, the device has no such thing */
};

/* The rows of the list above. */
struct gt_calibration_row {
    const char *name, *unit;
    int decimals;
    const char *doc;
};
extern const struct gt_calibration_row gt_calibration_rows[GT_CALIBRATION_COUNT];

/* Measures everything in less than a second of the GPU's time, or only the copy.  Needs up to 1 GiB
 * of device memory; takes less, and larger reads are left out, where a quarter of what is free is
 * less. */
int gt_calibrate(struct gt_calibration *calibration, bool only_copy, struct gt_gpu *gpu,
                 struct gt_nvrtc *nvrtc, const char *data_dir, const char *cache_dir,
                 struct gt_err *err);

/* What the device's own facts or its profile say of a figure; 0: nothing. */
double gt_calibration_expected(const struct gt_device *device, enum gt_calibration_figure figure);

/* Replaces the device's facts by what was measured. */
void gt_calibration_apply(const struct gt_calibration *calibration, struct gt_device *device);

#endif
