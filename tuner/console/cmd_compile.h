/* cmd_compile.h - how commands compile one candidate in their own process. */
#ifndef GT_CMD_COMPILE_H
#define GT_CMD_COMPILE_H

#include "cuda/compile.h"
#include "kernel/kernel.h"

enum gt_image { GT_IMAGE_DEFAULT /* what a sweep would load */, GT_IMAGE_PTX, GT_IMAGE_CUBIN };

/* binary->log says why the source does not compile (GT_ENVRTC); release the binary in any case.
 * *version: NVRTC's, 13000 for 13.0; 0 if there is no NVRTC. */
int gt_cmd_compile(const struct gt_candidate *candidate, const struct gt_geometry *geometry,
                   const char *source, enum gt_image image, struct gt_binary *binary, int *version,
                   struct gt_err *err);

#endif
