/* williams.h - vocabulary: in which order entries that are timed against each other take their
 * turns.
 *
 * Where an entry stands in a round changes its time: on an H200 BF16 kernels of 40 us are 1.6 %
 * faster as the first after a pause and 2 to 3 % slower as the second, because the clock follows
 * the power.  So in each block of rounds every entry stands once in every place and follows every
 * other equally often (Williams' design, a Latin square), and blocks are relabelled at random. */
#ifndef GT_WILLIAMS_H
#define GT_WILLIAMS_H

#include "base/stats.h"

#include <stdbool.h>

#define GT_WILLIAMS_MAX 72

struct gt_williams {
    struct gt_random random;
    int count, at; /* entries; the round of the block */
    bool mirrored; /* an odd count needs every other block backwards */
    int label[GT_WILLIAMS_MAX], row[GT_WILLIAMS_MAX];
};

/* count: 0 to GT_WILLIAMS_MAX entries. */
void gt_williams_begin(struct gt_williams *turns, int count, uint64_t seed);

/* The next round: order[0..count) are the entries, the first to start first. */
void gt_williams_next(struct gt_williams *turns, int *order);

#endif
