/* design.h - the first points of a search that has no seeds.  They lie near the middle of the
 * space, because extreme values are seldom fast, and away from each other. */
#ifndef GT_DESIGN_H
#define GT_DESIGN_H

#include "search/strategy.h"

/* The next point of a design.  The first one is the nearest to the middle of many points drawn at
 * random.  Each other one is drawn from a few, so that it is far from the design so far and near to
 * the middle. */
size_t gt_spread(struct gt_strategy *strategy, const size_t *start, size_t starts);

#endif
