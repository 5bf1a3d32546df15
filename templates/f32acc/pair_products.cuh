/* pair_products.cuh - of f32acc/pair.cu: a consumer's three products, and how their sums are
 * promoted to FP32.
 *
 * Low numbers are stored 2^11 times as large (split_pair.cuh), so that products with them are added
 * up first, and promoted; then those of the high ones. Meanwhile the other consumer has the tensor
 * cores. */
#ifndef GT_F32ACC_PAIR_PRODUCTS_CUH
#define GT_F32ACC_PAIR_PRODUCTS_CUH

constexpr int HIGH = 0, LOW = 1;      /* parts in a stage */
constexpr unsigned LOW_EXPONENT = 11; /* of the factor that low numbers have */
constexpr int GROUPS = BN / GROUP_COLUMNS;
static_assert(BN % GROUP_COLUMNS == 0 && PACK_TILE % GROUP_COLUMNS == 0, "groups have a word");

/* Words of the tiles that a consumer multiplies. */
struct Words {
    const int *a, *b; /* at the first value of the part of the depth: of the consumer's rows,
                       * of the first tile of columns */
    int step[GROUPS]; /* from there to the words of other columns */

    /* Beyond D's edges those of the last tile. The consumer's index is read again, as a value that
     * may differ in a warp: words that the compiler knew to be the same would be moved to uniform
     * registers when they arrive, before the first products, instead of behind them. */
    GT_DEVICE Words(const gt_args &args, const Work &work)
    {
        const SplitLayout layout = split_layout_of(args);
        const int consumer = gt_reload_thread_index() / 128 - 1;
        const long long row = (work.row + consumer * 64) / PACK_TILE;
        const int first = work.column / PACK_TILE, last = (int)layout.tiles_b - 1;

        a = layout.words(args, true, work.batch, min(row, layout.tiles_a - 1)) + work.k / PACK_TILE;
        b = layout.words(args, false, work.batch, first) + work.k / PACK_TILE;
#pragma unroll
        for (int j = 0; j < GROUPS; j++)
            step[j] = (int)layout.deep *
                      (min((work.column + j * GROUP_COLUMNS) / PACK_TILE, last) - first);
    }

    /* Of group j of columns, of window w. */
    GT_DEVICE unsigned column(int j, int w) const
    {
        return (unsigned)b[step[j] + w];
    }
};

/* Adds the products of two parts of the stage `at` units of 16 bytes into the ring to acc, or sets
 * acc to them. */
template <int part_a, int part_b>
GT_DEVICE void multiply_parts(unsigned long long a, unsigned long long b, unsigned at, bool set,
                              float *acc)
{
    const unsigned long long stage_a = gt_smem_descriptor_advance(a, at);
    const unsigned long long stage_b = gt_smem_descriptor_advance(b, at);

#pragma unroll
    for (int k = 0; k < BK / 16; k++)
        gt_wgmma<GT_F16, BN, 0, 0>(
            acc, gt_smem_descriptor_advance(stage_a, part_a * (A_PART / 16) + k * 2),
            gt_smem_descriptor_advance(stage_b, part_b * (B_PART / 16) + k * 2), !set || k > 0);
}

/* Adds acc to sum, each group of columns multiplied by 2 to the power of its exponent, which is
 * biased by 127. */
GT_DEVICE void promote(const unsigned (&exponent)[GROUPS], const float *acc, float *sum)
{
#pragma unroll
    for (int i = 0; i < BN / 2; i++)
        sum[i] = fmaf(acc[i], __uint_as_float(exponent[i * 2 / GROUP_COLUMNS] << 23), sum[i]);
}

/* Two consumers of a block begin their windows in turns: turn[i] has a phase for each window of the
 * consumer that comes before consumer i. Side by side they would promote at the same time, and leave
 * the tensor cores idle. Each warp arrives: by a single arrival the turn might come round twice while
 * another warp has not yet seen the first one, which parity cannot tell apart. */
struct Turns {
    gt_mbarrier *mine, *next;
    unsigned parity; /* of the phase that the consumer's next window waits for */

    GT_DEVICE Turns(const Ring &ring, int consumer)
    {
        mine = ring.turn + consumer;
        next = ring.turn + !consumer;
        parity = consumer == 0; /* the first window waits for nothing */
    }

    GT_DEVICE void wait()
    {
        if (CONSUMERS == 2)
            gt_mbarrier_wait(mine, parity);
        parity ^= 1;
    }

    GT_DEVICE void pass_on() const
    {
        if (CONSUMERS == 2 && threadIdx.x % 32 == 0)
            gt_mbarrier_arrive(next);
    }
};

/* Adds up the consumer's 64 rows over `windows` windows of the ring. Returns the groups of columns
 * that are marked, as bits, the same for all threads; their sums mean nothing. */
GT_DEVICE unsigned multiply(const Words &words, const Ring &ring, Position &position, Turns &turns,
                            int consumer, int windows, float *sum)
{
    const unsigned long long a = gt_smem_descriptor_keep(gt_smem_descriptor(
        ring.stages + consumer * 64 * ROW_BYTES, 16, 8 * ROW_BYTES, ROW_BYTES));
    const unsigned long long b = gt_smem_descriptor_keep(
        gt_smem_descriptor(ring.stages + STORED * A_PART, 16, 8 * ROW_BYTES, ROW_BYTES));
    const int rank = consumer_rank();
    unsigned marked = 0;

#pragma unroll
    for (int i = 0; i < BN / 2; i++)
        sum[i] = 0.0f;
    for (int w = 0; w < windows; w++) {
        float acc[BN / 2];
        const Position first = position;
        const unsigned word = (unsigned)words.a[w];
        unsigned exponent[GROUPS];

#pragma unroll
        for (int j = 0; j < GROUPS; j++)
            exponent[j] = words.column(j, w);
        turns.wait();
#pragma unroll
        for (int i = 0; i < WINDOW; i++) {
            const unsigned at = position.stage * (STAGE_BYTES / 16);
            gt_mbarrier_wait(ring.full + position.stage, position.parity);
            gt_wgmma_fence();
            multiply_parts<LOW, HIGH>(a, b, at, i == 0, acc);
            multiply_parts<HIGH, LOW>(a, b, at, false, acc);
            gt_wgmma_commit();
            position.advance();
        }
        turns.pass_on();
#pragma unroll
        for (int j = 0; j < GROUPS; j++) {
            marked |= ((word | exponent[j]) & NO_PAIRS ? 1u : 0u) << j;
            exponent[j] += word - 2 * WORD_BIAS + 127 - LOW_EXPONENT;
        }
        gt_wgmma_wait<0>();
        promote(exponent, acc, sum);
        gt_wgmma_fence();
        Position next = first;
#pragma unroll
        for (int i = 0; i < WINDOW; i++) {
            multiply_parts<HIGH, HIGH>(a, b, next.stage * (STAGE_BYTES / 16), i == 0, acc);
            next.advance();
        }
        gt_wgmma_commit();
#pragma unroll
        for (int j = 0; j < GROUPS; j++)
            exponent[j] += LOW_EXPONENT;
        gt_wgmma_wait<0>();
        next = first;
#pragma unroll
        for (int i = 0; i < WINDOW; i++) {
            release_stage(ring, next.stage, rank);
            next.advance();
        }
        promote(exponent, acc, sum);
    }
    return marked;
}

#endif
