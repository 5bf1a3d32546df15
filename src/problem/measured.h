/* measured.h - vocabulary: measurements of a GPU, and measurements beside a candidate that are
 * stored with it.
 *
 * The GPU worker fills these structures, the database keeps them, reports print them.  They are
 * declared here so that code that reads a database needs no code that measures. */
#ifndef GT_MEASURED_H
#define GT_MEASURED_H

#include "problem/device.h"
#include "problem/trial.h"

/* cuBLASLt's answers to a problem: each was timed, the fastest one is kept. */
struct gt_baseline {
    char name[96];                     /* "cublasLt 13.1.0, answer 3 of 8" */
    char algo[192];                    /* configuration of the best answer (db/README.md); "": the
                                          baseline is only a yardstick and no candidate */
    int answers, best;                 /* heuristic answers timed; index of the fastest */
    double us, lo_us, hi_us, first_us; /* the best answer's times; first_us: the first answer's
                                          median */
    float sample[GT_MAX_SAMPLES];
    int samples;
    double err_u; /* measured error, as for trials */
};

/* Copies the times of a trial of the baseline, if the trial was timed. */
void gt_baseline_take(struct gt_baseline *baseline, const struct gt_trial *trial);

/* How a product's energy is to be measured: for at least `seconds`, after heating for 2.4 times as
 * long, until the bound of the error is `error`, and for at most `most_s` seconds in all. */
struct gt_energy_wish {
    double seconds;
    double error;  /* relative */
    double most_s; /* 0: no such limit */
};

/* The energy of a product (tuner/timing/bench.h). */
struct gt_energy {
    double us;        /* the product's time in the same run */
    double joules;    /* energy of the whole GPU */
    double error;     /* bound of the relative error of joules */
    double watts;     /* mean power while the product ran */
    double clock_mhz; /* SM clock at the end; 0: not seen */
    int64_t launches;
    bool counted; /* true: joules are from the device's energy counter; false: from its power */
};

/* The time to only move a problem's operands through memory, by the best of several plain
 * kernels. */
struct gt_move {
    double us, lo_us, hi_us; /* median of the best one and its 95 % interval */
    char form[48];           /* "move_loads_8, 2048 blocks" */
};

/* X(number, name in the database, unit, decimals, meaning): every figure.  Bandwidths in 10^9 bytes
 * a second; rates in 10^12 operations a second, two per multiply-add, sums in FP32 (or S32),
 * operands of zeros, so without a power limit. */
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

/* A figure's value by the device's own facts or its profile; 0: they do not say. */
double gt_calibration_expected(const struct gt_device *device, enum gt_calibration_figure figure);

/* Replaces the device's facts by the measured figures. */
void gt_calibration_apply(const struct gt_calibration *calibration, struct gt_device *device);

#endif
