/* measured.c - vocabulary: the baseline's times; the names of a device's measured
 * figures, and their use. */
#include "problem/measured.h"

#include <math.h>
#include <string.h>

const struct gt_calibration_row gt_calibration_rows[GT_CALIBRATION_COUNT] = {
#define CALIBRATION_ROW(number, name, unit, decimals, doc) {name, unit, decimals, doc},
    GT_CALIBRATION_MAP(CALIBRATION_ROW)
#undef CALIBRATION_ROW
};

/* The tensor rate of a device to which a figure belongs; NULL if it belongs to none. */
static const int *tensor_rate(const struct gt_device *device, enum gt_calibration_figure figure)
{
    switch (figure) {
    case GT_CALIBRATION_MMA_TF32:
    case GT_CALIBRATION_WGMMA_TF32:
        return &device->tensor_tf32;
    case GT_CALIBRATION_MMA_F16:
    case GT_CALIBRATION_MMA_BF16:
    case GT_CALIBRATION_WGMMA_F16:
    case GT_CALIBRATION_WGMMA_BF16:
        return &device->tensor_f16;
    case GT_CALIBRATION_MMA_F8:
    case GT_CALIBRATION_WGMMA_F8:
        return &device->tensor_f8;
    case GT_CALIBRATION_MMA_S8:
    case GT_CALIBRATION_WGMMA_S8:
        return &device->tensor_s8;
    default:
        return NULL;
    }
}

double gt_calibration_expected(const struct gt_device *device, enum gt_calibration_figure figure)
{
    double clocks = 1e-6 * device->clock_mhz * device->sms; /* 10^12 clocks of all SMs a second */
    const int *rate = tensor_rate(device, figure);

    if (rate)
        return *rate * clocks;
    switch (figure) {
    case GT_CALIBRATION_LAUNCH:
        return device->launch_us;
    case GT_CALIBRATION_NEXT_LAUNCH:
        return device->next_launch_us;
    case GT_CALIBRATION_MEMORY_COPY:
        return device->memory_gbps;
    case GT_CALIBRATION_L2:
        return device->l2_gbps;
    case GT_CALIBRATION_SHARED_READ: /* each SM reads a word from each of 32 banks each clock */
        return 128e3 * clocks;
    case GT_CALIBRATION_FMA:
        return 2 * device->fma_lanes * clocks;
    default:
        return 0;
    }
}

void gt_baseline_take(struct gt_baseline *baseline, const struct gt_trial *trial)
{
    if (trial->samples <= 0)
        return;
    baseline->us = trial->us;
    baseline->lo_us = trial->lo_us;
    baseline->hi_us = trial->hi_us;
    baseline->samples = trial->samples;
    memcpy(baseline->sample, trial->sample, sizeof(baseline->sample));
}

static void replace(double *fact, double measured)
{
    if (measured > 0)
        *fact = measured;
}

void gt_calibration_apply(const struct gt_calibration *calibration, struct gt_device *device)
{
    const double *value = calibration->value;
    double clocks = 1e-6 * device->clock_mhz * device->sms;
    struct gt_device measured = *device;

    replace(&device->memory_gbps, value[GT_CALIBRATION_MEMORY_COPY]);
    replace(&device->l2_gbps, value[GT_CALIBRATION_L2]);
    replace(&device->launch_us, value[GT_CALIBRATION_LAUNCH]);
    replace(&device->next_launch_us, value[GT_CALIBRATION_NEXT_LAUNCH]);
    measured.tensor_tf32 = measured.tensor_f16 = measured.tensor_f8 = measured.tensor_s8 = 0;
    for (int i = 0; i < GT_CALIBRATION_COUNT && clocks > 0; i++) {
        int *rate = (int *)tensor_rate(&measured, (enum gt_calibration_figure)i);

        if (rate) /* mma.sync and wgmma reach different shares of one pipe */
            *rate = (int)fmax(*rate, round(value[i] / clocks));
    }
    if (measured.tensor_tf32)
        device->tensor_tf32 = measured.tensor_tf32;
    if (measured.tensor_f16)
        device->tensor_f16 = measured.tensor_f16;
    if (measured.tensor_f8)
        device->tensor_f8 = measured.tensor_f8;
    if (measured.tensor_s8)
        device->tensor_s8 = measured.tensor_s8;
}
