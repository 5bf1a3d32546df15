/* produce.cuh - of hopper/gemm.cu: the producer thread, which fills the ring. */
#ifndef GT_HOPPER_PRODUCE_CUH
#define GT_HOPPER_PRODUCE_CUH

static_assert(ROW_PHASES == 1 ||
                  (MAP_ROW_PHASES + ROW_PHASES - 1) * sizeof(gt_map) <= sizeof(gt_maps),
              "the argument has a map for every row phase");
static_assert(LAST_BOX == 0 || (MAP_LAST + 1) * sizeof(gt_map) <= sizeof(gt_maps),
              "the argument has a map for the last box");

/* Rows of a box of an operand of which `sharers` blocks load an equal part each. A part begins at any
 * multiple of 128 bytes: the swizzle follows addresses in shared memory, and does not start anew
 * with a box. */
GT_DEVICE constexpr int box_rows(int extent, int along_mn, int sharers)
{
    return (along_mn ? SLAB : extent) / sharers;
}

/* Loads this block's part of a tile of an operand to `tile`. The tile is `extent` long along m or n
 * and begins at (x, k). `sharers` blocks of the cluster need it; each of them loads one part, this
 * block part number `part`, for all of them. */
template <int extent, int along_mn, int sharers>
GT_DEVICE void load_tile(unsigned char *tile, const gt_map *map, gt_mbarrier *full, int x, int k,
                         int batch, int part, unsigned ranks)
{
    constexpr int width = along_mn ? box_width(extent) : SLAB; /* elements of a box's row */
    constexpr int rows = box_rows(extent, along_mn, sharers), all = along_mn ? SLAB : extent;
    constexpr int row_bytes = width * (int)sizeof(In);
    constexpr int boxes = along_mn ? extent / width : 1;
    static_assert(rows * sharers == all, "the parts are all of the tile");
    static_assert(rows * row_bytes % 128 == 0, "boxes begin at multiples of 128 bytes");
    const int first = part * rows;

#pragma unroll
    for (int i = 0; i < boxes; i++) {
        unsigned char *to = tile + (i * all + first) * row_bytes;
        int inner = along_mn ? x + i * width : k;
        int outer = (along_mn ? k : x) + first;
        if (sharers > 1)
            gt_tma_load_multicast(to, map, full, inner, outer, batch, ranks);
        else
            gt_tma_load(to, map, full, inner, outer, batch);
    }
}

/* Bytes that arrive for a stage. Where D has fewer rows than a tile, the box of A along k has only
 * D's rows (rounded up to a multiple of 8: LOADED_M in the description). What the stage holds below
 * them is multiplied as well, but gives rows that nobody stores. */
GT_DEVICE unsigned stage_bytes(const gt_args &args)
{
    const int rows = A_ENDS_WITH_D ? (min((int)args.m, BM) + 7) / 8 * 8 : BM;
    return DEPTH * (rows * 128 + B_BYTES);
}

GT_DEVICE void produce_all(const gt_args &args, const gt_maps &maps, const Ring &ring)
{
    const auto &product = product_of(args);
    Schedule schedule(product);
    const unsigned ranks_a = row_ranks(), ranks_b = column_ranks();
    const int part_a = cluster_column(), part_b = cluster_row();
    const unsigned bytes = stage_bytes(product);
    Position position;
    Work work;

    if (LAST_BOX > 0)
        gt_tma_prefetch(&maps.map[MAP_LAST]);
    while (schedule.next(product, work)) {
#if EARLY && FOLLOWS
        gt_pdl_wait();
#endif
        const bool further = ROW_PHASES > 1 && work.phase > 0;
        const gt_map *map_a = &maps.map[further ? MAP_ROW_PHASES - 1 + work.phase : MAP_A];
        int k = work.k;
#pragma unroll 1 /* to need few registers */
        for (int i = 0; i < work.steps; i++, k += BK) {
            unsigned char *stage = ring.stages + position.stage * STAGE_BYTES;
            gt_mbarrier *full = ring.full + position.stage;

            gt_mbarrier_wait(ring.empty + position.stage, position.parity ^ 1);
            gt_mbarrier_arrive_expect_tx(full, bytes);
#pragma unroll
            for (int slab = 0; slab < DEPTH; slab++, stage += SLAB_BYTES) {
                const int first = k + slab * SLAB;
                load_tile<BM, A_ALONG_MN, CLUSTER_N>(stage, map_a, full, work.row, first,
                                                     work.batch, part_a, ranks_a);
                constexpr int columns = B_COLUMNS - LAST_BOX;
                load_tile<columns, B_ALONG_MN, CLUSTER_M>(stage + A_BYTES, &maps.map[MAP_B], full,
                                                          work.column, first - work.shift,
                                                          work.batch, part_b, ranks_b);
                if (LAST_BOX > 0)
                    load_tile<LAST_BOX, B_ALONG_MN, CLUSTER_M>(
                        stage + A_BYTES + columns * 128, &maps.map[MAP_LAST], full,
                        work.column + columns, first - work.shift, work.batch, part_b, ranks_b);
            }
            position.advance();
        }
    }
}

#endif
