/* ranking_impl.h - between ranking_read.c, which fills models, ranking_ask.c, which walks their
 * trees, and ranking_ask.c, which asks them. */
#ifndef GT_RANKING_IMPL_H
#define GT_RANKING_IMPL_H

#include "lookup/ranking.h"

#define GT_RANKING_DEPTH 5 /* of a tree, at most */
#define GT_RANKING_INNER ((1u << GT_RANKING_DEPTH) - 1)

/* A tree that is walked without asking where it ends: below step i come 2 i + 1 and 2 i + 2, and
 * below a leaf of the file all have its value. */
struct gt_ranking_steps {
    struct {
        float below;
        unsigned column;
    } step[GT_RANKING_INNER];
    float leaf[GT_RANKING_INNER + 1];
};

/* The trees of one kernel.  Their columns are those of the file. */
struct gt_ranking_model {
    const struct gt_kernel *kernel;   /* NULL: there is none of that name */
    short source[GT_RANKING_COLUMNS]; /* column of gt_ranking_columns; < 0: it is gone, and 0 */
    size_t columns;
    struct gt_ranking_node *node;
    size_t nodes, capacity;
    struct gt_ranking_steps *steps; /* of each tree */
    size_t trees, steps_capacity;
};

#endif
