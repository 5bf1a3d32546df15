/* operand.cuh - where the elements of op(A) and op(B) are, for the layout that the source was
 * rendered for (GT_TRANS_A, GT_TRANS_B). Offsets have 64 bits. */
#ifndef GT_OPERAND_CUH
#define GT_OPERAND_CUH

/* Matrix `batch` of each operand. */
GT_DEVICE const float *gt_matrix_a(const gt_args &args, long long batch)
{
    return static_cast<const float *>(args.a) + batch * args.stride_a;
}

GT_DEVICE const float *gt_matrix_b(const gt_args &args, long long batch)
{
    return static_cast<const float *>(args.b) + batch * args.stride_b;
}

/* Offset of op(A)[row, k] and of op(B)[k, column]. */
GT_DEVICE long long gt_offset_a(const gt_args &args, long long row, long long k)
{
    return GT_TRANS_A ? k * args.lda + row : row * args.lda + k;
}

GT_DEVICE long long gt_offset_b(const gt_args &args, long long k, long long column)
{
    return GT_TRANS_B ? column * args.ldb + k : k * args.ldb + column;
}

/* The depth that a kernel multiplies: 0 where alpha is 0, so that A and B are not read. */
GT_DEVICE long long gt_depth(const gt_args &args)
{
    return args.alpha == 0.0f ? 0 : args.k;
}

#endif
