/* fused_products.cuh - of f32acc/fused.cu: a consumer's products, how their sums are promoted to
 * FP32, and where they are stored. */
#ifndef GT_F32ACC_FUSED_PRODUCTS_CUH
#define GT_F32ACC_FUSED_PRODUCTS_CUH

/* The products in the order of their size, the smallest first. Hexadecimal digit i, from the right,
 * says which part of the first (second) operand product i has: 0 is high, 1 mid, 2 low. */
constexpr unsigned FIRST_OF = 0x010120, SECOND_OF = 0x001102;
constexpr int PRODUCTS = 6;

/* The descriptor of an operand's first part in the ring, from row (column) `first` of the tile on.
 */
template <int EXTENT, bool ALONG_K>
GT_DEVICE unsigned long long operand_of(const unsigned char *tile, int first)
{
    constexpr int width = box_width(EXTENT), line = width * 2;
    if (ALONG_K)
        return gt_smem_descriptor(tile + first * BK * 2, 16, 8 * BK * 2, BK * 2);
    return gt_smem_descriptor(tile + first / width * BK * line, BK * line, 8 * line, line);
}

/* Units of 16 bytes between the values of k of two wgmma in a row. */
template <int EXTENT, bool ALONG_K> GT_DEVICE constexpr unsigned k_distance()
{
    return ALONG_K ? 2 : 2 * box_width(EXTENT);
}

/* The consumer's 64 rows of the first operand, where a stage holds its parts. */
struct StagedRows {
    unsigned long long first; /* descriptor, in the ring's first stage */

    GT_DEVICE StagedRows(const gt_args &, const Ring &ring, const Work &, int consumer)
        : first(gt_smem_descriptor_keep(operand_of<BM, ROWS_ALONG_K>(ring.stages, consumer * 64)))
    {
    }
    GT_DEVICE void split()
    {
    }
    GT_DEVICE void load_next()
    {
    }

    /* Sets acc to all products with the second operand's parts at b, of the stage `at` units of 16
     * bytes into the ring. */
    GT_DEVICE void multiply(unsigned long long b, unsigned at, float *acc) const
    {
        const unsigned long long a = gt_smem_descriptor_advance(first, at);
#pragma unroll
        for (int p = 0; p < PRODUCTS; p++)
#pragma unroll
            for (int k = 0; k < BK / 16; k++)
                gt_wgmma<GT_BF16, BN, !ROWS_ALONG_K, !COLUMNS_ALONG_K>(
                    acc,
                    gt_smem_descriptor_advance(a, (FIRST_OF >> 4 * p & 15) * (ROWS_PART / 16) +
                                                      k * k_distance<BM, ROWS_ALONG_K>()),
                    gt_smem_descriptor_advance(b, (SECOND_OF >> 4 * p & 15) * (COLUMNS_PART / 16) +
                                                      k * k_distance<BN, COLUMNS_ALONG_K>()),
                    p > 0 || k > 0);
    }
};

/* Adds up the consumer's 64 rows over the work's stages. The sums are promoted after each stage,
 * because only within one the small products come first. A value without parts, which the splitting
 * warps do not look for, makes its row's (column's) sums infinities or NaN. Rows is StagedRows, or
 * OwnRows of fused_rows.cuh. */
template <typename Rows>
GT_DEVICE void multiply(const gt_args &args, const Ring &ring, Position &position, int consumer,
                        const Work &work, float *sum)
{
    Rows rows(args, ring, work, consumer);
    const unsigned long long b = gt_smem_descriptor_keep(
        operand_of<BN, COLUMNS_ALONG_K>(ring.stages + PARTS * ROWS_PART, 0));

#pragma unroll
    for (int i = 0; i < BN / 2; i++)
        sum[i] = 0.0f;
    for (int s = 0; s < work.stages; s++) {
        const unsigned at = position.stage * (STAGE_BYTES / 16);
        float acc[BN / 2];

        rows.split();
        gt_mbarrier_wait(ring.full + position.stage, position.parity);
        gt_tma_fence(); /* wgmma reads as TMA does what the splitting warps have stored */
        rows.load_next();
        gt_wgmma_fence();
        rows.multiply(gt_smem_descriptor_advance(b, at), at, acc);
        gt_wgmma_commit();
        gt_wgmma_wait<0>();
        if (threadIdx.x % 128 == 0)
            gt_mbarrier_arrive(ring.empty + position.stage);
        position.advance();
#pragma unroll
        for (int i = 0; i < BN / 2; i++)
            sum[i] += acc[i];
    }
}

/* Stores one sum, of element (row, column) of the tile, which with SWAP_AB is one of D^T. */
GT_DEVICE void put_sum(const Ring &ring, const Work &work, const Target &target, int row,
                       int column, const float *sum)
{
    const int d_row = SWAP_AB ? column : row, d_column = SWAP_AB ? row : column;
    if (SPLIT == 2)
        reinterpret_cast<float *>(ring.stages)[d_row * SUMS_ROW + d_column] = *sum;
    else
        target.put<1>(d_row + (SWAP_AB ? work.column : work.row),
                      d_column + (SWAP_AB ? work.row : work.column), sum);
}

/* Stores the consumer's sums one by one, as wgmma leaves them: eight lanes have neighbours of a row
 * of D where the product is D^T. */
GT_DEVICE void put_sums(const Ring &ring, const Work &work, const Target &target, int consumer,
                        const float *sum)
{
    const int thread = (int)threadIdx.x % 128, lane = thread % 32;
#pragma unroll
    for (int i = 0; i < BN / 2; i++)
        put_sum(ring, work, target,
                consumer * 64 + thread / 32 * 16 + row_of(lane, i % 4 / 2),
                i / 4 * 8 + lane % 4 * 2 + i % 2, sum + i);
}

/* Where blocks share an SM, their threads have no registers for more. */
constexpr int LOADS_AHEAD = MIN_BLOCKS > 1 ? 1 : 8;

/* Computes the warp's 16 rows of the tile from A and B themselves. */
GT_DEVICE void put_special(const gt_args &args, const Ring &ring, const Work &work,
                           const Target &target, int consumer)
{
    const int first = consumer * 64 + (int)threadIdx.x % 128 / 32 * 16;

    for (int e = (int)threadIdx.x % 32; e < 16 * BN; e += 32) {
        const int row = first + e / BN, column = e % BN;
        const int m = SWAP_AB ? work.column + column : work.row + row;
        const int n = SWAP_AB ? work.row + row : work.column + column;
        if (m >= args.m || n >= args.n)
            continue;
        const float sum = exact_element<LOADS_AHEAD>(args, work.batch, m, n, work.k, work.k_end);
        put_sum(ring, work, target, row, column, &sum);
    }
}

#endif
