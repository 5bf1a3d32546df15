/* calibrate.h - stage: measures the rates that a GPU reaches with the project's own small kernels
 * (templates/calibrate).  The predictor uses measured figures, if there are any, instead of a
 * profile's figures. */
#ifndef GT_CALIBRATE_H
#define GT_CALIBRATE_H

#include "cuda/gpu.h"
#include "problem/measured.h"
#include "cuda/sources.h"

struct gt_nvrtc;

/* The kernels for every arch, and the kernels for sm_90 alone. */
extern const struct gt_program_sources gt_calibrate_sources, gt_calibrate_wgmma_sources;

/* Measures everything, or only the copy, in less than a second of the GPU's time.  This takes up to
 * 1 GiB of device memory.  If a quarter of the free memory is less than 1 GiB, it takes a quarter
 * and leaves out the larger reads. */
int gt_calibrate(struct gt_calibration *calibration, bool only_copy, struct gt_gpu *gpu,
                 struct gt_nvrtc *nvrtc, const char *data_dir, const char *cache_dir,
                 struct gt_err *err);

#endif
