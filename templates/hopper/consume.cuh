/* consume.cuh - of hopper/gemm.cu: a consumer's products. */

/* An operand in a stage: its first row is number `first` of the tile along m or n. */
template <int extent, int along_mn>
GT_DEVICE unsigned long long operand_of(const unsigned char *tile, int first)
{
    constexpr int width = box_width(extent), row = width * (int)sizeof(in_type);
    if (along_mn)
        return gt_smem_descriptor(tile + first / width * PIECE * row, PIECE * row, 8 * row, row);
    return gt_smem_descriptor(tile + first * 128, 16, 1024, 128);
}

/* Bytes from one wgmma's part of an operand to the next one's along k. */
template <int extent, int along_mn> GT_DEVICE constexpr unsigned k_distance()
{
    return along_mn ? K_MMA * box_width(extent) * (int)sizeof(in_type) : 32;
}

/* Tells whoever fills a stage of this block that this consumer has read it. */
GT_DEVICE void release(const ring &ring, int stage)
{
    const int thread = (int)threadIdx.x % 128;
    if (CLUSTER == 1) {
        if (thread == 0)
            gt_mbarrier_arrive(ring.empty + stage);
    } else if (thread < CLUSTER &&
               (thread % CLUSTER_M == cluster_row() || thread / CLUSTER_M == cluster_column())) {
        gt_mbarrier_arrive_at(ring.empty + stage, (unsigned)(cluster_first() + thread));
    }
}

/* PINGPONG: tile `number` of the block may be begun when its predecessor, which the other consumer
 * computes, has had all its stages: before that this one's are further off than the parities of the
 * ring can tell. turn[i] has a phase for each tile of consumer i, completed by the other. */
GT_DEVICE void wait_for_turn(const ring &ring, int number)
{
    const unsigned before = (unsigned)(number / 2 + number % 2 + 1);
    gt_mbarrier_wait(ring.turn + number % 2, before & 1);
}

/* Makes zeros of the first `count` elements, fewer than 16 bytes have, of the consumer's rows in a
 * stage, so that wgmma finds them. */
GT_DEVICE void clear_front(unsigned char *stage, int consumer, int count)
{
    constexpr int run = 16 / (int)sizeof(in_type);
    const int first = PINGPONG ? 0 : consumer * ROWS;
    for (int row = first + (int)threadIdx.x % 128; row < first + ROWS; row += 128) {
        in_type *const at = (in_type *)(stage + row * 128 + row % 8 * 16);
        gt_vec<in_type, run> front = gt_load_vec<in_type, run>(at);
#pragma unroll
        for (int i = 0; i < run; i++)
            if (i < count)
                front.at[i] = in_type();
        gt_store_vec<in_type, run>(at, front);
    }
    gt_tma_fence();
    gt_named_barrier_sync(1 + consumer, 128);
}

/* Waits for the products of the ring's next stage, and lets it be filled again. */
GT_DEVICE void finish_stage(const ring &ring, position &position)
{
    gt_wgmma_wait<0>();
    release(ring, position.stage);
    position.advance();
}

/* Sums of the consumer's rows over the stages of the ring that are its tile's. Without MMA_PENDING
 * the last stage is left to the caller's finish_stage, who has time until then. */
GT_DEVICE void multiply(const ring &ring, position &position, int consumer, const work &work,
                        sum_type (*sum)[BN / 2])
{
    const int first = PINGPONG ? 0 : consumer * ROWS;
    const unsigned long long a = operand_of<BM, A_ALONG_MN>(ring.stages, first);
    const unsigned long long b = operand_of<BN, B_ALONG_MN>(ring.stages + A_BYTES, 0);
    constexpr unsigned rows_64 = A_ALONG_MN ? PIECE * 128 : 64 * 128;
    int before = 0;

#if MMA_PENDING == 0 /* nothing hides the fetching of further copies */
#pragma unroll 1
#endif
    for (int i = 0; i < work.steps; i++) {
        if (MMA_PENDING == 0 && i > 0)
            finish_stage(ring, position);
        const unsigned at = position.stage * STAGE_BYTES;
        gt_mbarrier_wait(ring.full + position.stage, position.parity);
        if (ROW_PHASES > 1 && i == 0 && work.shift > 0)
            clear_front(ring.stages + at, consumer, work.shift);
        gt_wgmma_fence();
#pragma unroll
        for (int k = 0; k < 4 * DEPTH; k++)
#pragma unroll
            for (int r = 0; r < BLOCKS_64; r++) {
                const unsigned to = at + k / 4 * PIECE_BYTES;
                gt_wgmma<GT_TYPE, BN, A_ALONG_MN, B_ALONG_MN>(
                    sum[r],
                    gt_smem_descriptor_advance(a, to + r * rows_64 +
                                                      k % 4 * k_distance<BM, A_ALONG_MN>()),
                    gt_smem_descriptor_advance(b, to + k % 4 * k_distance<BN, B_ALONG_MN>()),
                    i | k);
            }
        gt_wgmma_commit();
        if (MMA_PENDING == 0)
            continue;
        gt_wgmma_wait<MMA_PENDING>();
        if (i > 0)
            release(ring, before);
        before = position.stage;
        position.advance();
    }
    if (PINGPONG && threadIdx.x % 128 == 0)
        gt_mbarrier_arrive(ring.turn + !consumer);
    if (MMA_PENDING > 0) {
        gt_wgmma_wait<0>();
        release(ring, before);
    }
}
