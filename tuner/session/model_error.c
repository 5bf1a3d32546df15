/* model_error.c - see model_error.h. */
#include "session/model_error.h"

#include "problem/device.h"

enum gt_model_kind gt_model_kind_of(const struct gt_kernel *kernel)
{
    const struct gt_serves *first = &kernel->entry[0];

    if (!kernel->model.mma)
        return GT_KIND_CORES;
    return first->min_cc == 90 && first->max_cc == 90 ? GT_KIND_WGMMA : GT_KIND_MMA;
}

/* From db/measured/predictor.csv: the measured time over the predicted one (1 / ratio), the range
 * of the spaces' medians, and for single points that range widened by the spread on both sides.
 * tests/cli/predict.sh holds the sentences against the table. */
const char *gt_model_error(enum gt_model_kind kind)
{
    static const char *const text[GT_KIND_COUNT] = {
        [GT_KIND_CORES] = "kernels on FP32 cores took 1.2 to 1.5 times the predicted time",
        [GT_KIND_MMA] = "kernels on tensor cores (mma) took 1.6 times the predicted time, single "
                        "points 1.1 to 2.3 times",
        [GT_KIND_WGMMA] = "kernels on tensor cores (wgmma) took 0.95 times the predicted time, "
                          "single points 0.7 to 1.3 times",
    };

    return text[kind];
}

double gt_model_peak(const struct gt_device *device, const struct gt_problem *problem,
                     const struct gt_kernel *kernel)
{
    double rate = 2.0 * device->fma_lanes; /* an FMA is two operations */

    if (kernel->model.mma) /* those that name a type split operands into parts of 16 bits */
        rate = gt_device_tensor_rate(device, kernel->model.mma_type ? GT_F16 : problem->type);
    return rate * device->sms * device->clock_mhz * 1e-6;
}
