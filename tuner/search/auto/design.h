/* design.h - the first points of a search that has no seeds: near the middle of the space, because
 * extreme values are seldom fast, and away from each other. */
#ifndef GT_DESIGN_H
#define GT_DESIGN_H

#include "search/strategy.h"

/* Of a few points drawn at random the one farthest from the design so far and nearest to the
 * middle; the first of the design: of many, or all, the nearest to the middle. */
size_t gt_spread(struct gt_strategy *strategy, const size_t *start, size_t starts);

#endif
