/* args.h - the argument of every kernel, read by the host (C) and by the templates (CUDA C++).
 *
 * A launch passes one struct gt_args by value. Problem sizes are run-time values, so that one cubin
 * serves many shapes. Parameters of kind "launch" travel in launch[], in the order in which the
 * description lists them; in the template they have their own names. */
#ifndef GT_ARGS_H
#define GT_ARGS_H

#define GT_MAX_LAUNCH_PARAMS 16

struct gt_args {
    const void *a, *b, *c; /* c is read only when beta != 0 */
    void *d;
    const void *bias; /* n elements, or null */
    void *workspace;  /* undefined at entry, unless a launch of the kernel prepares it */
    long long m, n, k;
    long long lda, ldb, ldc;                /* elements between stored rows; C and D share ldc */
    long long stride_a, stride_b, stride_c; /* elements between matrices of a batch */
    long long batch;
    float alpha, beta;
    int launch[GT_MAX_LAUNCH_PARAMS];
};

#endif
