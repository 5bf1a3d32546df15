/* williams.h - vocabulary: the order in which the entries of a final are timed.
 *
 * The place of an entry in a round changes its time.  On an H200, BF16 kernels of 40 us are 1.6 %
 * faster in the first place after a pause and 2 to 3 % slower in the second place, because the
 * clock follows the power.  So in each block of rounds every entry is once in every place and
 * follows every other entry equally often (Williams' design, a Latin square).  Blocks are
 * relabelled at random. */
#ifndef GT_WILLIAMS_H
#define GT_WILLIAMS_H

#include "base/stats.h"

#include <stdbool.h>

#define GT_WILLIAMS_MAX 72

struct gt_williams {
    struct gt_random random;
    int count, at; /* entries; the next round of the block */
    bool mirrored; /* the block is reversed, as every second block must be if the count is odd */
    int label[GT_WILLIAMS_MAX], row[GT_WILLIAMS_MAX];
};

/* count: 0 to GT_WILLIAMS_MAX entries. */
void gt_williams_begin(struct gt_williams *turns, int count, uint64_t seed);

/* The next round: order[0..count) are the entries, the first to start first. */
void gt_williams_next(struct gt_williams *turns, int *order);

#endif
