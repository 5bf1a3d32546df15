/* ranking_impl.h - between ranking_read.c, which fills models, and ranking_ask.c, which asks them.
 */
#ifndef GT_RANKING_IMPL_H
#define GT_RANKING_IMPL_H

#include "lookup/ranking.h"

/* The trees of one kernel.  Their columns are those of the file. */
struct gt_ranking_model {
    const struct gt_kernel *kernel;   /* NULL: there is none of that name */
    short source[GT_RANKING_COLUMNS]; /* column of gt_ranking_columns; < 0: it is gone, and 0 */
    size_t columns;
    struct gt_ranking_node *node;
    size_t nodes, capacity;
    unsigned short *tree; /* the first node of each */
    size_t trees, tree_capacity;
};

#endif
