/* swapped.cuh - of hopper/gemm.cu: SWAP_AB, the transposed product.
 *
 *        rows of D               What multiplies has n for its rows, of which wgmma takes 64 at
 *      +----------+              least, and m for its columns, 16 or more: few rows of D leave
 *      | B^T A^T  |  columns     nothing idle, and of B, which is most of what is read, a stage
 *      |          |  of D        holds BM rows.  Its A is B^T and its B is A^T; where D comes in
 *      +----------+              (C, bias, the sums of parts) rows and columns are D's again.
 */
#if SWAP_AB

static_assert(PACK_A == 0 && PACK_B == 0 && STRANDS_A == 1 && STORE == 0,
              "operands as they are, and D by threads");

GT_DEVICE gt_args product_of(const gt_args &args)
{
    gt_args product = args;
    product.a = args.b;
    product.b = args.a;
    product.m = args.n;
    product.n = args.m;
    product.lda = args.ldb;
    product.ldb = args.lda;
    product.stride_a = args.stride_b;
    product.stride_b = args.stride_a;
    return product;
}

/* A sum as it is to the place in the workspace that is its part's; or, finished, to D. */
GT_DEVICE void store_sum(const gt_args &args, const work &work, int row, int column, sum_type sum)
{
#if SPLIT == 1
    if (row < args.m && column < args.n)
        partial_sums(args, work.batch, work.split)[row * partial_row(args) + column] = sum;
#else
    gt_typed_output_store<1>(gt_typed_output_of(args, work.batch), row, column, &sum);
#endif
}

/* Lanes whose numbers differ by 4 have neighbours of a row of D. */
GT_DEVICE void store_swapped(const gt_args &args, const work &work, int first_row,
                             sum_type (*sum)[BN / 2])
{
    const int lane = (int)threadIdx.x % 32;
    const int row = work.column + lane % 4 * 2; /* of D */
    const int column = work.row + first_row + (int)threadIdx.x % 128 / 32 * 16 + lane / 4;

#pragma unroll
    for (int r = 0; r < BLOCKS_64; r++)
#pragma unroll
        for (int i = 0; i < BN / 2; i++)
            store_sum(args, work, row + i / 4 * 8 + i % 2, column + r * 64 + i / 2 % 2 * 8,
                      sum[r][i]);
}

#else

GT_DEVICE const gt_args &product_of(const gt_args &args)
{
    return args;
}

#endif
