/* williams.c - computes the order of entries in rounds; see williams.h. */
#include "timing/williams.h"

#include <assert.h>

static void shuffle(struct gt_random *random, int *list, int count)
{
    for (int i = count - 1; i > 0; i--) {
        int j = (int)gt_random_below(random, (uint64_t)i + 1), kept = list[i];

        list[i] = list[j];
        list[j] = kept;
    }
}

void gt_williams_begin(struct gt_williams *turns, int count, uint64_t seed)
{
    assert(count >= 0 && count <= GT_WILLIAMS_MAX);
    *turns = (struct gt_williams){.random = {seed}, .count = count, .at = count, .mirrored = true};
    for (int i = 0; i < count; i++)
        turns->label[i] = turns->row[i] = i;
}

/* Begins a block.  Labels are drawn anew for each balanced design, which has two blocks if the
 * count is odd. */
static void begin_block(struct gt_williams *turns)
{
    turns->at = 0;
    turns->mirrored = turns->count % 2 && !turns->mirrored;
    if (!turns->mirrored)
        shuffle(&turns->random, turns->label, turns->count);
    shuffle(&turns->random, turns->row, turns->count);
}

void gt_williams_next(struct gt_williams *turns, int *order)
{
    const int count = turns->count;
    int row;

    if (turns->at >= count)
        begin_block(turns);
    row = turns->row[turns->at++];
    for (int i = 0; i < count; i++) {
        const int place = turns->mirrored ? count - 1 - i : i;
        const int step = place % 2 ? (place + 1) / 2 : count - place / 2; /* 0, 1, -1, 2, -2... */

        order[i] = turns->label[(row + step) % count];
    }
}
