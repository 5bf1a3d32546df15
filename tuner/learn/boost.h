/* boost.h - gradient-boosted regression trees: each tree fits what the ones before leave over.
 *
 * Columns are cut into bins of about equally many rows, a split is between two bins, and trees grow
 * level by level to a fixed depth.  Each tree sees a part of rows and columns, drawn by a hash: the
 * same data give the same trees. */
#ifndef GT_BOOST_H
#define GT_BOOST_H

#include <stddef.h>

#include "lookup/ranking.h"

struct gt_boost_data {
    size_t rows, columns;
    const float *x;      /* rows x columns */
    const double *y, *w; /* targets; weights, above 0 */
};

struct gt_boost_options {
    int trees, depth;     /* depth: 1 to 8 */
    double rate;          /* share of each tree's correction that is taken */
    double rows, columns; /* shares of them that each tree sees */
    double least;         /* weight of a leaf, in mean rows */
    double shrink; /* rows of mean weight at zero that each leaf is thought to have besides */
};

struct gt_boosted {
    struct gt_ranking_node *node; /* malloc'ed */
    size_t nodes, capacity;
};

int gt_boost(struct gt_boosted *boosted, const struct gt_boost_data *data,
             const struct gt_boost_options *options, struct gt_err *err);
void gt_boosted_release(struct gt_boosted *boosted); /* a zeroed one is accepted */

#endif
