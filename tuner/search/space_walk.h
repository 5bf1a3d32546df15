/* space_walk.h - the enumeration behind gt_space_init and its order; for space*.c only. */
#ifndef GT_SPACE_WALK_H
#define GT_SPACE_WALK_H

#include "search/space.h"

/* Fills index, count, valid and cross_product of a space whose kernel, problem and device are set.
 * On failure the caller releases the space. */
int gt_space_walk(struct gt_space *space, size_t limit, struct gt_err *err);

/* Fills order[0..params): first the parameters that constraints depend on (need[c]: those of
 * constraint c), in the order in which to bind them, then the others.  Returns how many are of the
 * first kind.  facts: slots of problem and device. */
size_t gt_space_order(const struct gt_kernel *kernel, const int64_t *facts, const uint64_t *need,
                      size_t order[GT_MAX_PARAMS]);

#endif
