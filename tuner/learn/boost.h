/* boost.h - gradient-boosted regression trees: each tree is fitted to the residuals of the trees
 * before it.
 *
 * The values of a column are put into bins of about equally many rows.  A split lies between two
 * bins.  Trees are built level by level to a fixed depth.  Each tree is fitted to a sample of the
 * rows and columns.  A hash draws the sample, so that the same data give the same trees. */
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
    double rate;          /* learning rate: the share of each tree's correction that is applied */
    double rows, columns; /* shares of rows and columns that each tree is fitted to */
    double least;         /* least weight of a leaf, in rows of mean weight */
    double shrink; /* regularisation: each leaf is averaged with so many rows of mean weight and
                      target zero */
};

struct gt_boosted {
    struct gt_ranking_node *node; /* malloc'ed */
    size_t nodes, capacity;
};

/* Fits the trees; boosted is zeroed before, and its nodes are in the order of struct
 * gt_ranking_node. GT_ENOMEM. */
int gt_boost(struct gt_boosted *boosted, const struct gt_boost_data *data,
             const struct gt_boost_options *options, struct gt_err *err);
void gt_boosted_release(struct gt_boosted *boosted); /* a zeroed one is accepted */

#endif
