/* calibrate.h - stage: what a GPU reaches, measured by small kernels of our own
 * (templates/calibrate). The predictor takes these figures where there are any, instead of those of
 * a profile. */
#ifndef GT_CALIBRATE_H
#define GT_CALIBRATE_H

#include "cuda/gpu.h"
#include "problem/measured.h"

struct gt_nvrtc;

/* Measures everything in less than a second of the GPU's time, or only the copy.  Needs up to 1 GiB
 * of device memory; takes less, and larger reads are left out, where a quarter of what is free is
 * less. */
int gt_calibrate(struct gt_calibration *calibration, bool only_copy, struct gt_gpu *gpu,
                 struct gt_nvrtc *nvrtc, const char *data_dir, const char *cache_dir,
                 struct gt_err *err);

#endif
