/* narrow.h - narrows the spaces of kernels to some values of some parameters. */
#ifndef GT_NARROW_H
#define GT_NARROW_H

#include "kernel/kernel.h"

/* Keeps, in every kernel of the list, only those values of parameters that `text` names:
 * "TM=4|8,STAGES=2".  A kernel without such a parameter stays as it is.  Signatures do not change,
 * because a point of the narrowed space is a point of the whole space.  If a default is removed,
 * the first value left becomes the default.  GT_ESYNTAX, also if a parameter is named twice;
 * GT_ENOTFOUND if no kernel has the parameter, or if a kernel with the parameter has none of the
 * values. */
int gt_narrow(struct gt_kernel *const *kernel, size_t kernels, const char *text,
              struct gt_err *err);

#endif
