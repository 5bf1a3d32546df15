/* lookup_choosing.h - between lookup_choose.c, which looks at what was measured somewhere, and
 * lookup_vary.c, which looks at what lies around it. */
#ifndef GT_LOOKUP_CHOOSING_H
#define GT_LOOKUP_CHOOSING_H

#include "lookup/lookup_impl.h"

#define GT_CHOOSING_KERNELS 64   /* that are counted one by one */
#define GT_CHOOSING_JUDGED  1024 /* candidates that are known again; a power of two */

struct gt_choosing {
    const struct gt_ranking *ranking;
    const struct gt_kernels *kernels;
    struct gt_choices *choices;
    const char *device; /* of struct gt_near_rows */
    struct gt_candidate candidate;
    int64_t slots[GT_MAX_SLOTS];         /* of the candidate, where it was found to be valid */
    uint64_t judged[GT_CHOOSING_JUDGED]; /* hashes of candidates that were judged; see there */
    size_t likely[GT_MAX_PARAMS];        /* constraints that changes of the parameters broke last */
    int effort;                          /* units left */
    int valid;                           /* candidates judged */
    int valid_each[GT_CHOOSING_KERNELS]; /* of each kernel */
};

/* Keeps the candidate, which is valid and whose slots are filled, if it is one of the best so far.
 */
void gt_choosing_judge(struct gt_choosing *choosing, const struct gt_table_row *row, bool adapted);

/* Judges what differs from the best choices in one parameter, or in two of which the second repairs
 * what the first one breaks; then what differs from the best of those; while there is effort. */
void gt_choosing_vary(struct gt_choosing *choosing);

#endif
