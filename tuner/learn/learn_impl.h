/* learn_impl.h - what the files of tuner/learn share beside learn.h. */
#ifndef GT_LEARN_IMPL_H
#define GT_LEARN_IMPL_H

#include "learn/boost.h"
#include "learn/learn.h"

#define GT_LEARN_PROTOTYPES_MOST 56 /* of a kind */

/* Chooses prototypes for a kind out of the rows of the problems that are not of the fold (-1: none
 * is left out): each next one is the point that brings the problems nearest to their best.
 * taken[points]: set for those. */
int gt_learn_prototypes(const struct gt_learning *learning, size_t kind, int fold, bool *taken,
                        struct gt_err *err);

/* The trees of a kernel, from the rows of problems that are not of the fold (-1: none is left out).
 * No rows give no trees. */
int gt_learn_trees(const struct gt_learning *learning, size_t kernel, int fold,
                   struct gt_boosted *boosted, struct gt_err *err);

/* Columns of a kernel's rows: terms and slots. */
size_t gt_learn_columns(const struct gt_kernel *kernel);

#endif
