/* narrow.h - a part of a kernel's space: only some values of some parameters. */
#ifndef GT_NARROW_H
#define GT_NARROW_H

#include "kernel/kernel.h"

/* Takes from every kernel of the list all values of the parameters in `text` that it does not name:
 * "TM=4|8,STAGES=2".  A kernel without such a parameter stays as it is; so do signatures: a point
 * of the part is a point of the whole.  Where the default goes, the first value left is the
 * default.  GT_ESYNTAX; GT_ENOTFOUND if no kernel has the parameter, or a kernel none of the
 * values. */
int gt_narrow(struct gt_kernel *const *kernel, size_t kernels, const char *text,
              struct gt_err *err);

#endif
