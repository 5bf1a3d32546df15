/* calibrate.h - stage: measures what a GPU reaches with the project's own small kernels
 * (templates/calibrate).  The predictor uses these figures, if there are any, instead of those of a
 * profile. */
#ifndef GT_CALIBRATE_H
#define GT_CALIBRATE_H

#include "cuda/gpu.h"
#include "problem/measured.h"
#include "cuda/sources.h"

struct gt_nvrtc;

/* The kernels: those of every arch, and those of sm_90 alone. */
extern const struct gt_program_sources gt_calibrate_sources, gt_calibrate_wgmma_sources;

/* Measures everything, or only the copy, in less than a second of the GPU's time.  It uses up to
 * 1 GiB of device memory.  If a quarter of the free memory is less, it uses that and leaves out the
 * larger reads. */
int gt_calibrate(struct gt_calibration *calibration, bool only_copy, struct gt_gpu *gpu,
                 struct gt_nvrtc *nvrtc, const char *data_dir, const char *cache_dir,
                 struct gt_err *err);

#endif
