/* stand_in.c - see stand_in.h. */
#include "session/stand_in.h"

#include <stdio.h>

#include "base/err.h"
#include "base/stats.h"
#include "console/gpu_names.h"
#include "db/store.h"

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
    if (sheet) /* devices of an arch have as many lanes */
        write_numbers(own, sheet->sms, sheet->clock_mhz, device->fma_lanes, sheet->memory_gbps);
    write_numbers(numbers, device->sms, device->clock_mhz, device->fma_lanes, device->memory_gbps);
    gt_copy_clean(name, sizeof(name), asked);
    snprintf(text, GT_STAND_IN_MAX,
             "there is no profile of %s (%s%s): it is computed as %s, with %s", name,
             sheet ? "by its data sheet " : "", own, device->name, numbers);
    return true;
}

int gt_filter_arch(struct gt_row_filter *filter, const char *data_dir, const char *arch,
                   struct gt_err *err)
{
    struct gt_device device;
    int rc = gt_gpu_parse(arch, &filter->cc, &filter->device, err);

    filter->whole = !rc && filter->device && data_dir &&
                    !gt_device_profile_of(&device, data_dir, filter->cc, filter->device, NULL) &&
                    gt_device_same(device.name, filter->device);
    return rc;
}
