/* cases.h - stage: the small ragged products whose results must be exact for every candidate. */
#ifndef GT_CASES_H
#define GT_CASES_H

#include "proof/resident.h"

/* Fills the problems and flags of the GT_CASES small cases and of the whole problem after them. */
void gt_cases_fill(struct gt_case item[GT_CASES + 1], const struct gt_problem *problem);

#endif
