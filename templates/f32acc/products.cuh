/* products.cuh - of f32acc/gemm.cu: a consumer's products, and how their sums are promoted to
 * FP32. */
#ifndef GT_F32ACC_PRODUCTS_CUH
#define GT_F32ACC_PRODUCTS_CUH

/* The products in the order of their size, the smallest first. Hexadecimal digit i, from the right,
 * says which part of A (of B) product i has: 0 is high, 1 mid, 2 low. */
constexpr unsigned A_OF = 0x010120, B_OF = 0x001102;
constexpr int PRODUCTS = 6;

/* Adds all products of a stage to acc; the first stage of a window sets acc. */
GT_DEVICE void multiply_stage(unsigned long long a, unsigned long long b, bool first, float *acc)
{
#pragma unroll
    for (int p = 0; p < PRODUCTS; p++)
#pragma unroll
        for (int k = 0; k < BK / 16; k++)
            gt_wgmma<GT_BF16, BN, 0, 0>(
                acc,
                gt_smem_descriptor_advance(a, (A_OF >> 4 * p & 15) * (A_PART / 16) + k * 2),
                gt_smem_descriptor_advance(b, (B_OF >> 4 * p & 15) * (B_PART / 16) + k * 2),
                !first || p > 0 || k > 0);
}

/* Adds up the consumer's 64 rows over `windows` windows of the ring. */
GT_DEVICE void multiply(const Ring &ring, Position &position, int consumer, int windows, float *sum)
{
    const unsigned long long a = gt_smem_descriptor_keep(gt_smem_descriptor(
        ring.stages + consumer * 64 * ROW_BYTES, 16, 8 * ROW_BYTES, ROW_BYTES));
    const unsigned long long b = gt_smem_descriptor_keep(
        gt_smem_descriptor(ring.stages + PARTS * A_PART, 16, 8 * ROW_BYTES, ROW_BYTES));
    const int rank = consumer_rank();

#pragma unroll
    for (int i = 0; i < BN / 2; i++)
        sum[i] = 0.0f;
    for (int w = 0; w < windows; w++) {
        float acc[BN / 2];
        int read = 0;

#pragma unroll
        for (int i = 0; i < WINDOW; i++) {
            gt_mbarrier_wait(ring.full + position.stage, position.parity);
            gt_wgmma_fence();
            const unsigned at = position.stage * (STAGE_BYTES / 16);
            multiply_stage(gt_smem_descriptor_advance(a, at), gt_smem_descriptor_advance(b, at),
                           i == 0, acc);
            gt_wgmma_commit();
            if (i > 0) {
                gt_wgmma_wait<1>();
                release_stage(ring, read, rank);
            }
            read = position.stage;
            position.advance();
        }
        gt_wgmma_wait<0>();
        release_stage(ring, read, rank);
#pragma unroll
        for (int i = 0; i < BN / 2; i++)
            sum[i] += acc[i];
    }
}

#endif
