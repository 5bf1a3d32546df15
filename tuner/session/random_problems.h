/* random_problems.h - vocabulary: draws problems as programs have them, for tune --random.
 *
 * Everybody draws the same problems from the same seed: only whole numbers take part, and
 * configs/problems/models.json has the sizes.  tuner/README.md states the shares. */
#ifndef GT_RANDOM_PROBLEMS_H
#define GT_RANDOM_PROBLEMS_H

#include "session/problemset.h"

#define GT_RANDOM_MOST 10000 /* problems of one draw */

/* Appends `count` different problems to the set.  The first ones are those of any smaller count
 * with the same seed.  Errors name models.json below data_dir and the key; the set is to be
 * released then, too. */
int gt_random_problems(struct gt_problemset *set, const char *data_dir, size_t count, uint64_t seed,
                       struct gt_err *err);

#endif
