/* model_error.h - how far a prediction may be believed: per cent of the peak, and the known error
 * of the model for that kind of kernel (db/measured/README.md, "The model"). */
#ifndef GT_MODEL_ERROR_H
#define GT_MODEL_ERROR_H

#include "kernel/kernel.h"

/* Kinds of kernels by the units that they compute with. */
enum gt_model_kind { GT_KIND_CORES, GT_KIND_MMA, GT_KIND_WGMMA, GT_KIND_COUNT };
enum gt_model_kind gt_model_kind_of(const struct gt_kernel *kernel);

/* "mma.sync kernels took 1.5 times the predicted time" and so on, where they were measured. */
const char *gt_model_error(enum gt_model_kind kind);

/* TFLOP/s that the device's units of that kind reach in the type that the kernel computes in; 0:
 * not known. */
double gt_model_peak(const struct gt_device *device, const struct gt_problem *problem,
                     const struct gt_kernel *kernel);

#endif
