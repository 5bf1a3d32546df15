/* cases.h - stage: the small ragged products on which every candidate must be exact. */
#ifndef GT_CASES_H
#define GT_CASES_H

#include "proof/resident.h"

/* Problems and flags of the GT_CASES small cases and of the whole problem behind them. */
void gt_cases_fill(struct gt_case item[GT_CASES + 1], const struct gt_problem *problem);

#endif
