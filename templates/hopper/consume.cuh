/* consume.cuh - of hopper/gemm.cu: how a consumer multiplies what the ring holds. */
#ifndef GT_HOPPER_CONSUME_CUH
#define GT_HOPPER_CONSUME_CUH

/* The descriptor of an operand in a stage, from row number `first` of the tile along m or n on. */
template <int extent, int along_mn>
GT_DEVICE unsigned long long operand_of(const unsigned char *tile, int first)
{
    constexpr int width = box_width(extent), row = width * (int)sizeof(In);
    if (along_mn)
        return gt_smem_descriptor(tile + first / width * SLAB * row, SLAB * row, 8 * row, row);
    return gt_smem_descriptor(tile + first * 128, 16, 1024, 128);
}

/* The distance in units of 16 bytes, along k, between the parts of an operand that two wgmma in a
 * row read. */
template <int extent, int along_mn> GT_DEVICE constexpr unsigned k_distance()
{
    return along_mn ? K_MMA * box_width(extent) * (int)sizeof(In) / 16 : 2;
}

/* PINGPONG: waits until tile `number` of the block may begin, that is, until its predecessor, which
 * the other consumer computes, has had all its stages. Before that, this tile's stages are further
 * away than the parities of the ring can tell apart. turn[i] has a phase for each tile of consumer
 * i; the other consumer's warps complete it, each by an arrival: by a single one, the turn of a tile
 * of one stage or none might come round twice while another warp has not yet seen the first. */
GT_DEVICE void wait_for_turn(const Ring &ring, int number)
{
    const unsigned before = (unsigned)(number / 2 + number % 2 + 1);
    gt_mbarrier_wait(ring.turn + number % 2, before & 1);
}

/* Writes zeros over the first `count` elements (less than 16 bytes) of each of the consumer's rows
 * in a stage, where wgmma will read them. */
GT_DEVICE void zero_front(unsigned char *stage, int consumer, int count)
{
    constexpr int count_16 = 16 / (int)sizeof(In);
    const int first = PINGPONG ? 0 : consumer * ROWS;
    for (int row = first + (int)threadIdx.x % 128; row < first + ROWS; row += 128) {
        In *const at = (In *)(stage + row * 128 + row % 8 * 16);
        gt_vec<In, count_16> front = gt_load_vec<In, count_16>(at);
#pragma unroll
        for (int i = 0; i < count_16; i++)
            if (i < count)
                front.at[i] = In();
        gt_store_vec<In, count_16>(at, front);
    }
    gt_tma_fence();
    gt_named_barrier_sync(1 + consumer, 128);
}

/* Waits for the products of the ring's next stage, and lets the producers fill it again. `rank` is
 * as in release_stage. */
GT_DEVICE void finish_stage(const Ring &ring, Position &position, int rank)
{
    gt_wgmma_wait<0>();
    release_stage(ring, position.stage, rank);
    position.advance();
}

/* Descriptors of the operands in the ring's first stage: a consumer's rows of A, and B in boxes of
 * one width and, with WIDE_BOXES 2, its last box. */
struct Operands {
    unsigned long long a, b, last;

    GT_DEVICE Operands(const Ring &ring, int consumer)
    {
        constexpr int columns = B_COLUMNS - LAST_BOX;
        const unsigned char *const stage = ring.stages + A_BYTES;
        a = gt_smem_descriptor_keep(
            operand_of<BM, A_ALONG_MN>(ring.stages, PINGPONG ? 0 : consumer * ROWS));
        b = gt_smem_descriptor_keep(operand_of<columns, B_ALONG_MN>(stage, 0));
        last = gt_smem_descriptor_keep(operand_of<LAST_BOX, B_ALONG_MN>(stage + columns * 128, 0));
    }

    /* The same `units` of 16 bytes further on. */
    GT_DEVICE Operands at(unsigned units) const
    {
        Operands there = *this;
        there.a = gt_smem_descriptor_advance(a, units);
        there.b = gt_smem_descriptor_advance(b, units);
        there.last = gt_smem_descriptor_advance(last, units);
        return there;
    }
};

/* Begins the products of a stage for the blocks of 64 rows from `first` to before `end`. Where `add`
 * is 0 their sums start from these products. */
template <int first, int end>
GT_DEVICE void multiply_stage(const Operands &stage, int add, Sum (*sum)[BN / 2])
{
    constexpr unsigned rows_64 = (A_ALONG_MN ? SLAB * 128 : 64 * 128) / 16;
    constexpr int columns = B_COLUMNS - LAST_BOX;
    constexpr int n = BN - LAST_N; /* columns of the first wgmma */

#pragma unroll
    for (int k = 0; k < 4 * DEPTH; k++)
#pragma unroll
        for (int r = first; r < end; r++) {
            const int more = k > 0 ? 1 : add; /* `add | k` would be an instruction */
            const unsigned to = k / 4 * (SLAB_BYTES / 16);
            const unsigned long long a = gt_smem_descriptor_advance(
                stage.a, to + r * rows_64 + k % 4 * k_distance<BM, A_ALONG_MN>());
            gt_wgmma<GT_TYPE, n, A_ALONG_MN, B_ALONG_MN>(
                sum[r], a,
                gt_smem_descriptor_advance(stage.b, to + k % 4 * k_distance<columns, B_ALONG_MN>()),
                more);
#if WIDE_BOXES == 2
            gt_wgmma<GT_TYPE, LAST_N, A_ALONG_MN, B_ALONG_MN>(
                sum[r] + n / 2, a,
                gt_smem_descriptor_advance(stage.last,
                                           to + k % 4 * k_distance<LAST_BOX, B_ALONG_MN>()),
                more);
#endif
        }
}

/* PINGPONG: whether a stage's products are waited for between the first 64 rows of the next stage and
 * its others. */
enum { HALFWAY = PINGPONG && MMA_PENDING == 1 && BLOCKS_64 > 1 }; /* no symbol in machine code */

/* Adds up the consumer's rows of a tile over the tile's stages in the ring. Without MMA_PENDING the
 * last stage is still being multiplied at the end: the caller has time until it calls finish_stage.
 * With HALFWAY the stage before is waited for between a stage's first 64 rows and its others: as much
 * is then left to multiply during the steps behind that wait as during those to the next stage. */
GT_DEVICE void multiply(const Ring &ring, Position &position, int consumer, const Work &work,
                        int begun, int end, Sum (*sum)[BN / 2])
{
    const Operands operands(ring, consumer);
    const int rank = consumer_rank();
    int before = 0;

    /* Copies of the loop would take the compiler half as long again, and be fetched. */
#pragma unroll 1
    for (int i = begun; i < end; i++) {
        if (MMA_PENDING == 0 && i > 0)
            finish_stage(ring, position, rank);
        const Operands stage = operands.at(position.stage * (STAGE_BYTES / 16));
        gt_mbarrier_wait(ring.full + position.stage, position.parity);
        if (ROW_PHASES > 1 && i == 0 && work.shift > 0)
            zero_front(ring.stages + position.stage * STAGE_BYTES, consumer, work.shift);
        gt_wgmma_fence();
        multiply_stage<0, HALFWAY ? 1 : BLOCKS_64>(stage, i, sum);
        gt_wgmma_commit();
        if (MMA_PENDING == 0)
            continue;
        gt_wgmma_wait<MMA_PENDING>();
        if (i > 0)
            release_stage(ring, before, rank);
        if (HALFWAY) {
            gt_wgmma_fence();
            multiply_stage<1, BLOCKS_64>(stage, i, sum);
            gt_wgmma_commit();
        }
        before = position.stage;
        position.advance();
    }
    if (PINGPONG && threadIdx.x % 32 == 0)
        gt_mbarrier_arrive(ring.turn + !consumer);
    if (MMA_PENDING > 0) {
        gt_wgmma_wait<0>();
        release_stage(ring, before, rank);
    }
}

#endif
