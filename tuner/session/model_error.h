/* model_error.h - how far a prediction may be believed: the peak of the device, the known error of
 * the model for each kind of kernel (db/measured/README.md, "The model"), and whose profile it is
 * for. */
#ifndef GT_MODEL_ERROR_H
#define GT_MODEL_ERROR_H

#include <stdbool.h>
#include <stddef.h>

#include "kernel/kernel.h"
#include "problem/device.h"

/* Kinds of kernels by the units that they compute with. */
enum gt_model_kind { GT_KIND_CORES, GT_KIND_MMA, GT_KIND_WGMMA, GT_KIND_COUNT };
enum gt_model_kind gt_model_kind_of(const struct gt_kernel *kernel);

/* A sentence such as "mma.sync kernels took 1.5 times the predicted time", if such kernels were
 * measured. */
const char *gt_model_error(enum gt_model_kind kind);

/* TFLOP/s that the device's units for this kind of kernel reach in the kernel's type; 0: not
 * known. */
double gt_model_peak(const struct gt_device *device, const struct gt_problem *problem,
                     const struct gt_kernel *kernel);

/* ---- a device that the user names: the profile that stands in for it, its rows ---- */

#define GT_STAND_IN_MAX 512

/* Writes "there is no profile of L20 (92 SMs, ...): it is computed as RTX 4090 (profile) (...)";
 * false, and nothing is written: the user asked for no device (NULL), or `device` is the one asked
 * for. */
bool gt_stand_in(char text[GT_STAND_IN_MAX], const struct gt_device *device, const char *asked);

struct gt_row_filter;

/* Narrows a filter to the rows of the arch or device ("h100") that --arch names.  data_dir NULL: no
 * profile is known. */
int gt_filter_arch(struct gt_row_filter *filter, const char *data_dir, const char *arch,
                   struct gt_err *err);

/* Sets `whole` if the filter's device has a profile of its own. */
void gt_filter_whole(struct gt_row_filter *filter, const char *data_dir);

#endif
