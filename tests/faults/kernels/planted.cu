/* planted.cu - a kernel that is right where FAULT is 0, and goes wrong in a way of its own elsewhere.
 *
 * One thread computes one element of D, in blocks of BM x BN as in coalesced.cu.  The faults really
 * happen on a GPU (and in its compiler); the tests of the worker processes sweep over them. */
#ifndef BM
#define BM 8 /* rows of D per block */
#endif
#ifndef BN
#define BN 32 /* columns of D per block */
#endif
#ifndef FAULT
#define FAULT 0 /* 0: none; the others are named below */
#endif

#if FAULT == 6
// gt-fault: compile_error
#error "this point does not compile: planted"
#endif

#include "common/gemm.cuh"

#if FAULT == 7
// gt-fault: compile_endless
/* Each evaluation stays below the compiler's own limit; there are hours of them. */
constexpr __device__ unsigned gt_spin(unsigned x)
{
    for (int i = 0; i < 30000; i++)
        x = x * 1664525u + 1013904223u;
    return x;
}
template <int N> struct gt_inner {
    static constexpr unsigned value = gt_spin(N) + gt_inner<N - 1>::value;
};
template <> struct gt_inner<0> {
    static constexpr unsigned value = 1;
};
template <int N> struct gt_outer {
    static constexpr unsigned value = gt_inner<150 * N>::value + gt_outer<N - 1>::value;
};
template <> struct gt_outer<0> {
    static constexpr unsigned value = 1;
};
__device__ unsigned gt_blow_up()
{
    return gt_outer<200>::value;
}
#endif

#if FAULT == 8
// gt-fault: compile_memory
/* 2^30 classes. */
template <int N, int M> struct gt_tree {
    static const long value = gt_tree<N - 1, 2 * M>::value + gt_tree<N - 1, 2 * M + 1>::value;
};
template <int M> struct gt_tree<0, M> {
    static const long value = M;
};
__device__ long gt_blow_up()
{
    return gt_tree<30, 1>::value;
}
#endif

/* What the fault does to an element on its way to D. */
__device__ float gt_spoil(const gt_args &args, long long row, long long column, float value)
{
    bool middle = row == args.m / 2 && column == args.n / 2;
    volatile float *d = (volatile float *)args.d;
#if FAULT == 1
    // gt-fault: illegal_address
    if (middle)
        d[1ll << 42] = value;
#elif FAULT == 2
    // gt-fault: endless
    while (middle && d[0] != 1.2345e30f)
        continue;
#elif FAULT == 3
    // gt-fault: wrong
    if (middle)
        value += 1.0f;
#elif FAULT == 4
    // gt-fault: oob_write
    if (middle)
        d[(args.m - 1) * args.ldc + args.n] = value; /* one past the last element */
#elif FAULT == 5
    // gt-fault: nondeterministic
    if (value != rintf(value) && (clock64() >> 4 & 1)) /* the last bit, and only of reals */
        value *= 1.0f + 1.1920929e-7f;
#elif FAULT == 9
    // gt-fault: launch_invalid: more shared memory than there is, by the description
#endif
    (void)middle;
    (void)d;
    return value;
}

GT_KERNEL_BOUNDS(gemm, BM * BN, 1)
{
    unsigned tiles_n = (unsigned)gt_cdiv(args.n, BN);
    long long row = (long long)(blockIdx.x / tiles_n) * BM + threadIdx.x / BN;
    long long column = (long long)(blockIdx.x % tiles_n) * BN + threadIdx.x % BN;
    if (row >= args.m || column >= args.n)
        return;

    const float *a = gt_matrix_a(args, blockIdx.z) + gt_offset_a(args, row, 0);
    const float *b = gt_matrix_b(args, blockIdx.z) + gt_offset_b(args, 0, column);
    long long step_a = gt_offset_a(args, 0, 1), step_b = gt_offset_b(args, 1, 0);
    long long depth = gt_depth(args);
    float acc = 0.0f;
    for (long long k = 0; k < depth; k++)
        acc = fmaf(a[k * step_a], b[k * step_b], acc);

    acc = gt_spoil(args, row, column, acc);
    gt_output_store<1>(gt_output_of(args, blockIdx.z), row, column, &acc);
}
