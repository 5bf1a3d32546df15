/* model_error.h - how far a prediction may be believed: per cent of the peak, and the known error
 * of the model for that kind of kernel (db/measured/README.md, "The model"). */
#ifndef GT_MODEL_ERROR_H
#define GT_MODEL_ERROR_H

#include <stdbool.h>
#include <stddef.h>

#include "kernel/kernel.h"
#include "problem/device.h"

/* Kinds of kernels by the units that they compute with. */
enum gt_model_kind { GT_KIND_CORES, GT_KIND_MMA, GT_KIND_WGMMA, GT_KIND_COUNT };
enum gt_model_kind gt_model_kind_of(const struct gt_kernel *kernel);

/* "mma.sync kernels took 1.5 times the predicted time" and so on, where they were measured. */
const char *gt_model_error(enum gt_model_kind kind);

/* TFLOP/s that the device's units of that kind reach in the type that the kernel computes in; 0:
 * not known. */
double gt_model_peak(const struct gt_device *device, const struct gt_problem *problem,
                     const struct gt_kernel *kernel);

/* A device that somebody names: whose numbers stand for it where it has no profile,
 * and which rows of a database are its. */

#define GT_STAND_IN_MAX 512

/* Writes "there is no profile of L20 (92 SMs, ...): it is computed as RTX 4090 (profile) (...)";
 * false, and nothing is written: nobody asked for a device (NULL), or `device` is that one. */
bool gt_stand_in(char text[GT_STAND_IN_MAX], const struct gt_device *device, const char *asked);

struct gt_row_filter;

/* Lets a filter have only the rows of what --arch names: an arch, or a device ("h100").  data_dir
 * NULL: no profile is known. */
int gt_filter_arch(struct gt_row_filter *filter, const char *data_dir, const char *arch,
                   struct gt_err *err);

#endif
