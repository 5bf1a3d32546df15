/* space_walk.h - the enumeration behind gt_space_init; nobody else calls it. */
#ifndef GT_SPACE_WALK_H
#define GT_SPACE_WALK_H

#include "space.h"

/* Fills index, count, valid and cross_product of a space whose kernel, problem and device are set.
 * On failure the caller releases the space. */
int gt_space_walk(struct gt_space *space, size_t limit, struct gt_err *err);

#endif
