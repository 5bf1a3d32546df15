/* load_c.cuh - of hopper/gemm.cu: LOAD_C, C comes by TMA while the products run.
 *
 *   consumer   offer | products ...             | C 0 to D 0 | C 1 to D 1      | ...
 *   carrier           load C 0 .. PORTIONS-1                  store D 0, load C | store D 1, ...
 *
 * A consumer's subtiles of C come to the buffers from which its subtiles of D are stored: it turns
 * each pair of C into a pair of D in its place. One thread of the producer's warpgroup, the
 * consumer's carrier, loads and stores, and loads C of the next tile as soon as a buffer's D has
 * been read. So the consumer waits for no store, and C may be D: a subtile of D is stored when all
 * of its C has come, and no other subtile has elements of it.
 *
 *   arrived[i]    TMA completes it when portion i of the buffers holds C. The consumer waits.
 *   finished[i]   The consumer's warps complete it when portion i holds D and, once before that, when
 *                 their first tile begins. The carrier waits.
 *
 * With LOAD_C 2 the portions that have no place yet are fetched to the L2 cache when a tile begins.
 * With STREAM the consumer leaves a flag for each portion: whether D is stored, or another block
 * stores the tile. */
#ifndef GT_HOPPER_LOAD_C_CUH
#define GT_HOPPER_LOAD_C_CUH

#if LOADS_C

static_assert(READ_C && STORE > 0 && !STORE_ROWS && !HALVES, "TMA stores what it has loaded");

constexpr int MAP_C = 16; /* in the description's list of tensor maps */

/* Where a consumer's tile is in D. */
struct Corner {
    int left, row, batch;
};

/* The consumer's next tile; false if there is none. `number` counts the block's tiles. */
template <class Product>
GT_DEVICE bool next_corner(const Product &product, Schedule &schedule, int consumer, int &number,
                           Corner &corner)
{
    Work work;
    do
        if (!schedule.next(product, work))
            return false;
    while (PINGPONG && number++ % CONSUMERS != consumer);
    const int down = work.row + (PINGPONG ? 0 : consumer * ROWS);
    corner.left = SWAP_AB ? down : work.column;
    corner.row = SWAP_AB ? work.column : down;
    corner.batch = work.batch;
    return true;
}

/* The flags of a consumer's portions. */
GT_DEVICE int *flags_of(const Ring &ring, int consumer)
{
    return reinterpret_cast<int *>(ring.finished + CONSUMERS * PORTIONS) + consumer * PORTIONS;
}

struct Carrier {
    const gt_maps &maps;
    gt_mbarrier *arrived, *finished;
    unsigned char *subtiles;
    const int *flags;
    bool reads; /* beta is not 0 */

    GT_DEVICE Carrier(const gt_args &args, const gt_maps &all, const Ring &ring, int consumer)
        : maps(all)
    {
        arrived = ring.arrived + consumer * PORTIONS;
        finished = ring.finished + consumer * PORTIONS;
        subtiles = subtiles_of(ring, consumer);
        flags = flags_of(ring, consumer);
        reads = args.beta != 0.0f;
    }

    /* Loads C for portion `portion` of a tile. */
    GT_DEVICE void load(const Corner &corner, int portion) const
    {
        const int place = portion % PORTIONS;
        if (!reads) {
            gt_mbarrier_arrive(arrived + place);
            return;
        }
        gt_mbarrier_arrive_expect_tx(arrived + place, PORTION * SUBTILE_BYTES);
#pragma unroll
        for (int i = 0; i < PORTION; i++) {
            const int s = portion * PORTION + i;
            gt_tma_load(subtiles + (place * PORTION + i) * SUBTILE_BYTES, &maps.map[MAP_C],
                        arrived + place, corner.left + subtile_column(s),
                        corner.row + subtile_row(s), corner.batch);
        }
    }

    /* LOAD_C 2: fetches the tile's other portions to the L2 cache. */
    GT_DEVICE void prefetch(const Corner &corner) const
    {
        for (int s = PORTIONS * PORTION; LOAD_C == 2 && reads && s < SUBTILES; s++)
            gt_tma_prefetch_box(&maps.map[MAP_C], corner.left + subtile_column(s),
                                corner.row + subtile_row(s), corner.batch);
    }

    /* Stores D from it. */
    GT_DEVICE void store(const Corner &corner, int portion) const
    {
        const int place = portion % PORTIONS;
        if (STREAM && !flags[place])
            return;
#pragma unroll
        for (int i = 0; i < PORTION; i++) {
            const int s = portion * PORTION + i;
            gt_tma_store(&maps.map[MAP_D], subtiles + (place * PORTION + i) * SUBTILE_BYTES,
                         corner.left + subtile_column(s), corner.row + subtile_row(s),
                         corner.batch);
        }
        gt_tma_store_commit();
    }
};

/* Loads and stores for a consumer. Within a tile the carrier does not wait until TMA has read the
 * portion that it has just stored, but until it has read the one before. */
GT_DEVICE void carry_all(const gt_args &args, const gt_maps &maps, const Ring &ring, int consumer)
{
    const auto &product = product_of(args);
    Schedule schedule(product);
    const Carrier carrier(args, maps, ring, consumer);
    Corner corner, next;
    int number = 0;
    unsigned parity = 1;

    if (EARLY && FOLLOWS)
        gt_pdl_wait();
    if (!next_corner(product, schedule, consumer, number, corner))
        return;
    for (int portion = 0; portion < PORTIONS; portion++) {
        gt_mbarrier_wait(carrier.finished + portion, 0);
        carrier.load(corner, portion);
    }
    carrier.prefetch(corner);
    for (bool more = true; more; corner = next) {
        int begun = PORTIONS; /* loads; those from TILE_PORTIONS on are the next tile's */
        more = next_corner(product, schedule, consumer, number, next);
#pragma unroll 1 /* to need few registers */
        for (int portion = 0; portion < TILE_PORTIONS; portion++) {
            const bool last = portion == TILE_PORTIONS - 1;
            gt_mbarrier_wait(carrier.finished + portion % PORTIONS, parity);
            if (portion % PORTIONS == PORTIONS - 1)
                parity ^= 1;
            carrier.store(corner, portion);
            if (PORTIONS == 1 || last)
                gt_tma_store_wait_read<0>();
            else
                gt_tma_store_wait_read<1>();
            for (; begun < portion + (PORTIONS == 1 || last) + PORTIONS; begun++)
                if (begun < TILE_PORTIONS)
                    carrier.load(corner, begun);
                else if (more)
                    carrier.load(next, begun - TILE_PORTIONS);
        }
        if (more)
            carrier.prefetch(next);
    }
}

/* The consumer's buffers are free for its first tile, which begins at `position` of the ring. Where
 * the tile has more stages than the ring, C waits for the first of them: the ring's loads, without
 * which no product can begin, then go ahead of C's. */
GT_DEVICE void offer_buffers(const Ring &ring, const Position &position, int consumer, int steps)
{
    if (steps > STAGES)
        gt_mbarrier_wait(ring.full + position.stage, position.parity);
    if (threadIdx.x % 32 == 0)
        for (int portion = 0; portion < PORTIONS; portion++)
            gt_mbarrier_arrive(ring.finished + consumer * PORTIONS + portion);
}

/* Turns the consumer's subtiles of C into those of D. `turn` counts the consumer's tiles. Without
 * `stores` another block stores the tile, and the subtiles are handed back as they are. */
GT_DEVICE void store_over_c(const gt_args &args, const Ring &ring, int consumer, const Work &work,
                            unsigned turn, bool stores, Sum (*sum)[BN / 2])
{
    gt_mbarrier *const arrived = ring.arrived + consumer * PORTIONS;
    gt_mbarrier *const finished = ring.finished + consumer * PORTIONS;
#if SWAP_AB
    const Swapped target = swapped_of(args, work, consumer);
#else
    const int thread = (int)threadIdx.x % 128, thread_place = Place::of(thread / 32, thread % 32);
    Target target = target_of(args, work, PINGPONG ? 0 : consumer * ROWS);
    scale(target, sum);
#endif

#pragma unroll
    for (int portion = 0; portion < TILE_PORTIONS; portion++) {
        const int place = portion % PORTIONS, round = portion / PORTIONS;
        gt_mbarrier_wait(arrived + place, (turn * (TILE_PORTIONS / PORTIONS) + round) & 1);
#pragma unroll
        for (int i = 0; i < PORTION && stores; i++) {
            unsigned char *const subtile =
                subtiles_of(ring, consumer) + (place * PORTION + i) * SUBTILE_BYTES;
            const int s = portion * PORTION + i;
#if SWAP_AB
            fill_swapped(subtile, s, target, sum);
#else
            fill_subtile<0, BLOCKS_64>(subtile, thread_place, target, subtile_column(s), sum);
#endif
        }
        if (STREAM && threadIdx.x % 128 == 0)
            flags_of(ring, consumer)[place] = stores;
        gt_tma_fence();
        __syncwarp();
        if (threadIdx.x % 32 == 0)
            gt_mbarrier_arrive(finished + place);
    }
}

#endif

#endif
