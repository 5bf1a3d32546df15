/* render.h - stage: candidate -> CUDA source.
 *
 * Rendering only prepends: a line naming kernel and compile parameters, one #define per compile
 * parameter (`#define TM 8`), per launch parameter (`#define GROUP_M (args.launch[0])`) and for the
 * problem's compile-time facts (GT_TRANS_A, GT_TRANS_B, GT_EPILOGUE, GT_TYPE, GT_OUT), then
 * `#line 1 "templates/..."` and the template, unchanged.  Two candidates that differ only in launch
 * parameters or sizes render to the same bytes. */
#ifndef GT_RENDER_H
#define GT_RENDER_H

#include "kernel/kernel.h"

int gt_render(struct gt_strbuf *source, const struct gt_candidate *candidate, struct gt_err *err);

/* The lines that gt_render prepends, each parameter with its doc from the description as a comment:
 * for people and for editors.  These comments are not compiled, so that editing a doc makes no
 * cubin stale. */
int gt_render_header(struct gt_strbuf *header, const struct gt_candidate *candidate,
                     struct gt_err *err);

#endif
