/* consume.cuh - of hopper_transposed/gemm.cu: how a consumer multiplies what the ring holds.
 *
 * The transposed operand lies in boxes of 32 rows of D' (D or its transpose, see gemm.cu), with one
 * line of 128 bytes for each k. TMA has swizzled the 16-byte chunks of a line: chunk c of line k
 * lies at c ^ k % 8. A thread reads VECTOR neighbouring rows at one k by one instruction. wgmma
 * expects rows r and r + 8 of a thread, with r = lane / 4, but we choose which rows of D' these
 * are:
 *
 *   BLOCKS 2, VECTOR 4   A warp has a box. The four rows from 4 * c(r) on are rows r and r + 8 of
 *                        the first product, then those of the second; c(r) = r % 2 * 4 + r / 2.
 *
 *   BLOCKS 1, VECTOR 2   Two warps, h = 0 and 1, share a box. Rows r and r + 8 are half r / 2 % 2
 *                        of chunk c(r) = r % 2 * 4 + 2 * h + r / 4.
 *
 * So the lanes of each phase of a read (8 lanes of 16 bytes, 16 lanes of 8) read from all banks:
 * the chunks i and i + 4 of the four lines k = lane % 4 have all eight places of a line. */
#ifndef GT_HOPPER_TRANSPOSED_CONSUME_CUH
#define GT_HOPPER_TRANSPOSED_CONSUME_CUH

/* The first of the thread's rows, counted from the consumer's first row. */
GT_DEVICE int thread_row()
{
    const int warp = (int)threadIdx.x % 128 / 32, r = (int)threadIdx.x % 32 / 4;
    if (BLOCKS == 2)
        return warp * 32 + (r % 2 * 4 + r / 2) * 4;
    return warp / 2 * 32 + (r % 2 * 4 + warp % 2 * 2 + r / 4) * 4 + r / 2 % 2 * 2;
}

/* Where in a slab of a stage the thread reads its rows at k = lane % 4. Those at k + 4 lie at this
 * value ^ 64, plus 512; those of the next eight k 1024 bytes further on. */
GT_DEVICE int thread_place(int consumer)
{
    const int row = consumer * 64 * BLOCKS + thread_row(), k = (int)threadIdx.x % 4;
    return TRANSPOSED_AT + row / 32 * SLAB * 128 + k * 128 + ((row % 32 / 4 ^ k) * 16) +
           row % 4 * 4;
}

/* A thread's part of STEP times eight k of the transposed operand, as gt_wgmma_rs takes it. */
struct Fragment {
    unsigned at[STEP][BLOCKS][4];

    GT_DEVICE void load(const unsigned char *slab, int place)
    {
#pragma unroll
        for (int half = 0; half < 2 * STEP; half++) {
            const int from = (half % 2 ? (place ^ 64) + 512 : place) + half / 2 * 1024;
            const gt_vec<unsigned, VECTOR> vec =
                gt_load_vec<unsigned, VECTOR>((const unsigned *)(slab + from));
#pragma unroll
            for (int i = 0; i < VECTOR; i++)
                at[half / 2][i / 2][half % 2 * 2 + i % 2] = vec.at[i];
        }
    }
};

/* Issues the products of STEP times eight k from number `k` on, of the stage `at` units of 16
 * bytes into the ring. With scale_d
 * 0 the sums start from the first of these products. */
GT_DEVICE void issue_mma(Sum (*sum)[WIDTH / 2], const Fragment &transposed,
                         unsigned long long other, unsigned at, int k, int scale_d)
{
    gt_wgmma_fence();
#pragma unroll
    for (int i = 0; i < STEP; i++)
#pragma unroll
        for (int b = 0; b < BLOCKS; b++)
            gt_wgmma_rs<GT_TF32, WIDTH, 0>(
                sum[b], transposed.at[i][b],
                gt_smem_descriptor_advance(other,
                                           at + (k + i) / 4 * (SLAB_BYTES / 16) + (k + i) % 4 * 2),
                i > 0 ? 1 : scale_d);
    gt_wgmma_commit();
}

/* Writes zeros over the first `count` elements (less than 16 bytes) of each row of the other
 * operand in a stage, where wgmma will read them. All consumers do it together. */
GT_DEVICE void zero_front(unsigned char *stage, int consumer, int count)
{
    const int thread = consumer * 128 + (int)threadIdx.x % 128;
    for (int row = thread; row < WIDTH; row += CONSUMERS * 128) {
        In *const at = (In *)(stage + OTHER_AT + row * 128 + row % 8 * 16);
        for (int i = 0; i < count; i++)
            at[i] = 0;
    }
    gt_tma_fence();
    gt_named_barrier_sync(1, CONSUMERS * 128);
}

/* Adds up the consumer's rows of D' over the tile's stages in the ring. While products run, the
 * thread reads the transposed operand of the next ones. */
GT_DEVICE void multiply(const Ring &ring, Position &position, int consumer, const Work &work,
                        Sum (*sum)[WIDTH / 2])
{
    const unsigned long long other =
        gt_smem_descriptor_keep(gt_smem_descriptor(ring.stages + OTHER_AT, 16, 1024, 128));
    const int place = thread_place(consumer);
    const int rank = released_rank((int)threadIdx.x % 32); /* by each warp */
    Fragment fragment[2];
    int before = 0;

    for (int i = 0; i < work.steps; i++) {
        const unsigned at = position.stage * STAGE_BYTES;
        gt_mbarrier_wait(ring.full + position.stage, position.parity);
        if (ROW_PHASES > 1 && i == 0 && work.shift > 0)
            zero_front(ring.stages + at, consumer, work.shift);
        fragment[0].load(ring.stages + at, place);
#pragma unroll
        for (int k = 0; k < 4 * DEPTH; k += STEP) {
            const int next = k + STEP;
            issue_mma(sum, fragment[k / STEP % 2], other, at / 16, k, k > 0 ? 1 : i);
            gt_wgmma_wait<1>();
            if (k == 0 && i > 0)
                release_stage(ring, before, rank);
            if (next < 4 * DEPTH)
                fragment[next / STEP % 2].load(ring.stages + at + next / 4 * SLAB_BYTES,
                                               place + next % 4 * 1024);
        }
        before = position.stage;
        position.advance();
    }
    gt_wgmma_wait<0>();
    release_stage(ring, before, rank);
}

#endif
