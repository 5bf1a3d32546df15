/* learn_impl.h - what the files of tuner/learn share beside learn.h. */
#ifndef GT_LEARN_IMPL_H
#define GT_LEARN_IMPL_H

#include "learn/boost.h"
#include "learn/learn.h"

#define GT_LEARN_PROTOTYPES_MOST 200 /* of a kind */
/* A candidate that spills registers takes so many times what is expected; measured: 1.2 to 3. */
#define GT_LEARN_AVOIDED 1.5

/* Chooses the prototypes of a kind of problems, without the problems of a fold (-1: with all). They
 * are chosen greedily: each is the point that reduces the summed loss of the problems most.
 * taken[points]: set to whether the point is a prototype. */
int gt_learn_prototypes(const struct gt_learning *learning, size_t kind, int fold, bool *taken,
                        struct gt_err *err);

/* Whether there is a problem of the kind. */
bool gt_learn_any(const struct gt_learning *learning, size_t kind);

/* Fits the trees of a kernel, without the rows of a fold's problems (-1: with all).  Without rows
 * there are no trees. */
int gt_learn_trees(const struct gt_learning *learning, size_t kernel, int fold,
                   struct gt_boosted *boosted, struct gt_err *err);

/* Columns of a kernel's rows: terms and slots. */
size_t gt_learn_columns(const struct gt_kernel *kernel);

#endif
