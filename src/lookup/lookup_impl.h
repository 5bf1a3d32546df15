/* lookup_impl.h - what src/lookup/lookup.c (remembering) and src/lookup/lookup_tiers.c (finding)
 * share. */
#ifndef GT_LOOKUP_IMPL_H
#define GT_LOOKUP_IMPL_H

#include "lookup/lookup.h"
#include "lookup/table.h"

/* Where answers come from. */
struct gt_sources {
    struct gt_kernels kernels;
    struct gt_table table; /* the user's rows, then the system's */
    size_t user_rows;
};

/* What a winner is an exact answer for: everything of a problem but alpha, and of beta only whether
 * it is zero.  Bytes that mean nothing are zero. */
struct gt_problem_key {
    int64_t size[10]; /* m n k lda ldb ldc batch stride_a stride_b stride_c */
    unsigned char kind[16];
};
void gt_problem_key(struct gt_problem_key *key, const struct gt_problem *problem);

/* Fills resolved, whose problem and device are set; device_name may be NULL.  Tier NONE is an
 * answer.  answer.point is malloc'ed. */
int gt_lookup_resolve(const struct gt_sources *sources, const char *device_name,
                      struct gt_resolved *resolved, struct gt_err *err);

/* Whether the candidate can run; fills its geometry. */
bool gt_lookup_fits(const struct gt_candidate *candidate, struct gt_geometry *geometry);

/* Changes a few parameters so that it can; false: that was not enough.  A winner for aligned
 * operands, say, needs narrower loads to serve others. */
bool gt_lookup_mend(struct gt_candidate *candidate, struct gt_geometry *geometry);

/* Changes as many parameters as it takes, in a walk that is the same every time, and then a few for
 * the sake of time; false: no valid point was found.  For a default point, which is as good as any
 * other to begin at. */
bool gt_lookup_walk(struct gt_candidate *candidate, struct gt_geometry *geometry);

/* Changes a few parameters of a candidate that fits where the model promises far more than it errs:
 * a winner for one row, say, reads B once for each of eight.  won, tuned: the point that was best
 * for that problem, of which the candidate was made.  Whether anything changed. */
bool gt_lookup_improve(struct gt_candidate *candidate, const struct gt_point *won,
                       const struct gt_problem *tuned, struct gt_geometry *geometry);

/* The model's estimate in microseconds; 0: it has none. */
double gt_lookup_predict(const struct gt_candidate *candidate, const struct gt_geometry *geometry);

#endif
