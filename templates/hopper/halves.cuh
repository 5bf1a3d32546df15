/* halves.cuh - of hopper/gemm.cu: HALVES, the end of a tile under the next tile's products.
 *
 *   tensor cores  .. both halves | upper | lower | upper' | lower' | both halves ..
 *   sums stored                          | upper |  lower |
 *   stage           last but one |     last      |     first'      | second'
 *
 * A consumer has two blocks of 64 rows, the halves. The products of a tile's last stage, and of the
 * first stage of the tile after it, are not begun in turns, but one half after the other. While the
 * lower half of the last stage is multiplied, the sums of the upper half are finished and written
 * to the subtiles. Then the next tile's upper half begins, and the lower half's sums are written.
 * So there is always something to multiply, with one set of sums, and it is read from shared memory
 * as often as without. */
#ifndef GT_HOPPER_HALVES_CUH
#define GT_HOPPER_HALVES_CUH

#if HALVES

static_assert(BLOCKS_64 == 2, "two halves");
static_assert(STORE == SUBTILES && !STORE_ROWS && !SWAP_AB, "TMA stores a whole tile at a time");
static_assert(SPLIT == 0 && STREAM == 0 && !PINGPONG && ROW_PHASES == 1 && MMA_PENDING == 0,
              "the next tile follows at once, and is multiplied in the same way");

/* Begins the products of a half with the ring's stage number `stage`, which has arrived. */
template <int half>
GT_DEVICE void multiply_half(const Ring &ring, int stage, int consumer, int add, Sum (*sum)[BN / 2])
{
    gt_wgmma_fence();
    multiply_stage<half, half + 1>(Operands(ring, consumer).at(stage * (STAGE_BYTES / 16)), add,
                                   sum);
    gt_wgmma_commit();
}

/* Keeps the compiler from reading a sum before the wait in front of this. */
GT_DEVICE void hold(float &sum)
{
#ifndef GT_EMULATE
    asm volatile("" : "+f"(sum)::"memory");
#endif
}

GT_DEVICE void hold(int &sum)
{
#ifndef GT_EMULATE
    asm volatile("" : "+r"(sum)::"memory");
#endif
}

template <int half>
GT_DEVICE void fill_subtiles(unsigned char *subtiles, const Target &target, Sum (*sum)[BN / 2])
{
    const int thread = (int)threadIdx.x % 128, thread_place = Place::of(thread / 32, thread % 32);

#pragma unroll
    for (int s = 0; s < SUBTILES; s++)
        fill_subtile<half, half + 1>(subtiles + s * SUBTILE_BYTES, thread_place, target,
                                     subtile_column(s), sum);
}

/* Finishes the sums of a half, whose products are complete, and writes them to the subtiles. The
 * sums are not multiplied by alpha in place, as `scale` does it, because the compiler makes all
 * products wait for each other where sums are written while others are under way. */
template <int half>
GT_DEVICE void fill_half(const Ring &ring, int consumer, const Target &target, Sum (*sum)[BN / 2])
{
    Target plain = target;

    plain.output.alpha = 1.0f;
#pragma unroll
    for (int i = 0; i < BN / 2; i++)
        hold(sum[half][i]);
    if (GT_EPILOGUE == 0 && !READ_C && target.output.alpha == 1.0f)
        fill_subtiles<half>(subtiles_of(ring, consumer), plain, sum);
    else
        fill_subtiles<half>(subtiles_of(ring, consumer), target, sum);
}

GT_DEVICE void store_halves(const gt_maps &maps, const Ring &ring, int consumer, const Work &work)
{
    store_filled(&maps.map[MAP_D], subtiles_of(ring, consumer), consumer, work.column,
                 work.row + consumer * ROWS, work.batch, 0);
}

/* All tiles of the block, by one of its consumers. The next tile's products begin when those of
 * this one are complete, and not before: with products of both halves under way beside sums that
 * are read, the compiler makes all of them wait for each other. */
GT_DEVICE void consume_all(const gt_args &args, const gt_maps &maps, const Ring &ring, int consumer)
{
    const auto &product = product_of(args);
    Schedule schedule(product);
    Position position;
    Work work, next;
    Sum sum[BLOCKS_64][BN / 2];

    if (DEPENDENT)
        gt_pdl_trigger();
    if (threadIdx.x == 128)
        gt_tma_prefetch(&maps.map[MAP_D]);
    if (!schedule.next(product, work))
        return;
    for (int begun = 0;; begun = 1) { /* of the tile's stages */
        multiply(ring, position, consumer, work, begun, work.steps - 1, sum);
        finish_stage(ring, position, consumer_rank());
        gt_mbarrier_wait(ring.full + position.stage, position.parity);
        multiply_half<0>(ring, position.stage, consumer, 1, sum);
        multiply_half<1>(ring, position.stage, consumer, 1, sum);
        const bool more = schedule.next(product, next);
        wait_for_subtiles(consumer);
        gt_wgmma_wait<1>();
        fill_half<0>(ring, consumer, target_of(args, work, consumer * ROWS), sum);
        finish_stage(ring, position, consumer_rank());
        if (!more)
            break;
        gt_mbarrier_wait(ring.full + position.stage, position.parity);
        multiply_half<0>(ring, position.stage, consumer, 0, sum);
        fill_half<1>(ring, consumer, target_of(args, work, consumer * ROWS), sum);
        multiply_half<1>(ring, position.stage, consumer, 0, sum);
        store_halves(maps, ring, consumer, work);
        work = next;
    }
    fill_half<1>(ring, consumer, target_of(args, work, consumer * ROWS), sum);
    store_halves(maps, ring, consumer, work);
    store_finish();
}

#endif

#endif
