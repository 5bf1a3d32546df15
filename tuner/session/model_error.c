/* model_error.c - see model_error.h. */
#include <stdio.h>

#include "base/err.h"
#include "base/stats.h"
#include "console/gpu_names.h"
#include "db/store.h"
#include "problem/device.h"
#include "session/model_error.h"

enum gt_model_kind gt_model_kind_of(const struct gt_kernel *kernel)
{
    const struct gt_serves *first = &kernel->entry[0];

    if (!kernel->model.mma)
        return GT_KIND_CORES;
    return first->min_cc == 90 && first->max_cc == 90 ? GT_KIND_WGMMA : GT_KIND_MMA;
}

/* From db/measured/predictor.csv: the measured time over the predicted time (1 / ratio).  The
 * first figures are the range of the spaces' medians; the figures for single points are this
 * range, widened by the spread on both sides.  tests/cli/predict.sh holds the sentences against
 * the table. */
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
    double rate = 2.0 * gt_device_fma(device, problem->acc); /* an FMA is two operations */

    if (kernel->model.mma) /* kernels that name a type split operands into parts of 16 bits */
        rate = gt_device_tensor_rate(device, kernel->model.mma_type ? GT_F16 : problem->type);
    return rate * device->sms * device->clock_mhz * 1e-6;
}

/* ---- a device without a profile ---- */

#define NUMBERS_MAX 100

static void write_numbers(char text[NUMBERS_MAX], int sms, double clock_mhz, int lanes, double gbps)
{
    char rate[GT_ROUGH_MAX];

    snprintf(text, NUMBERS_MAX, "%d SMs, %.0f MHz, %s TFLOP/s in FP32, %.0f GB/s", sms, clock_mhz,
             gt_rough(rate, 2e-6 * sms * lanes * clock_mhz), gbps);
}

bool gt_stand_in(char text[GT_STAND_IN_MAX], const struct gt_device *device, const char *asked)
{
    const struct gt_gpu_sheet *sheet;
    char numbers[NUMBERS_MAX], own[NUMBERS_MAX] = "its own numbers are not known";
    char name[64];

    if (!asked || !device->profile || gt_device_called(device->name, asked))
        return false;
    sheet = gt_gpu_sheet(asked);
    if (sheet) /* all devices of an arch have the same number of lanes */
        write_numbers(own, sheet->sms, sheet->clock_mhz, device->fma_lanes, sheet->memory_gbps);
    write_numbers(numbers, device->sms, device->clock_mhz, device->fma_lanes, device->memory_gbps);
    gt_copy_clean(name, sizeof(name), asked);
    snprintf(text, GT_STAND_IN_MAX,
             "there is no profile of %s (%s%s): it is computed as %s, with %s", name,
             sheet ? "by its data sheet " : "", own, device->name, numbers);
    return true;
}

void gt_filter_whole(struct gt_row_filter *filter, const char *data_dir)
{
    struct gt_device device;

    filter->whole = filter->device && data_dir &&
                    !gt_device_profile_of(&device, data_dir, filter->cc, filter->device, NULL) &&
                    gt_device_same(device.name, filter->device);
}

int gt_filter_arch(struct gt_row_filter *filter, const char *data_dir, const char *arch,
                   struct gt_err *err)
{
    int rc = gt_gpu_parse(arch, &filter->cc, &filter->device, err);

    if (!rc)
        gt_filter_whole(filter, data_dir);
    return rc;
}
