/* sources.h - stage: compiles and loads the project's own device kernels (templates/proof,
 * templates/calibrate). */
#ifndef GT_SOURCES_H
#define GT_SOURCES_H

#include "cuda/gpu.h"

struct gt_binary;
struct gt_nvrtc;

#define GT_SOURCES_MAX 16

/* Files below templates/, in the order of their includes.  The files are compiled as one source, so
 * that the cache's key of the cubin covers all of them. */
struct gt_program_sources {
    const char *name; /* for messages */
    const char *file[GT_SOURCES_MAX];
};

/* Compiles for an arch (90: sm_90), or takes the cubin from the cache (cache_dir NULL: no cache).
 * The caller releases the binary. */
int gt_sources_compile(struct gt_binary *binary, int cc, struct gt_nvrtc *nvrtc,
                       const char *data_dir, const char *cache_dir,
                       const struct gt_program_sources *sources, struct gt_err *err);

/* Compiles for the GPU's arch, or takes the cubin from the cache (cache_dir NULL: no cache), and
 * loads it.  Release the program with gt_program_free. */
int gt_program_build(struct gt_program **program, struct gt_gpu *gpu, struct gt_nvrtc *nvrtc,
                     const char *data_dir, const char *cache_dir,
                     const struct gt_program_sources *sources, const char *const *entry,
                     size_t entries, struct gt_err *err);

#endif
