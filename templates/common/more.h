/* more.h - the argument after gt_args, and after the maps if there are any, of kernels whose entry
 * says "more": factors and sizes that a plain product does not have.  The host fills in what the
 * problem names; everything else is 0. */
#ifndef GT_MORE_H
#define GT_MORE_H

struct gt_more {
    const void *scale_a, *scale_b; /* factors of op(A) and op(B): one, a row of A or column of B, or
                                      blocks, as the problem's scale_a and scale_b say */
    const float *scale_a_tensor, *scale_b_tensor; /* the factor of a whole operand beside blocks */
    const int *zero_a, *zero_b;                   /* zero points, as many as factors */
    void *scale_d;      /* read where D's factor is given, written where the product makes D's */
    const int *sizes;   /* of groups: ends, rows of each, or the group of each row */
    long long lsa, lsb; /* elements between lines of block factors */
    long long groups;
    double alpha, alpha_im, beta, beta_im; /* for sums in double, and for complex ones */
    long long reserved[49];
};

#ifdef __cplusplus
static_assert(sizeof(gt_more) == 512, "kernels that are compiled already take 512 bytes");
#else
_Static_assert(sizeof(struct gt_more) == 512, "kernels that are compiled already take 512 bytes");
#endif

#endif
