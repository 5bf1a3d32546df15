/* produce.cuh - of hopper/gemm.cu: the producer thread, which fills the ring. */

static_assert(ROW_PHASES == 1 || (MAP_ROW_PHASES + ROW_PHASES - 1) * sizeof(gt_map) <= sizeof(gt_maps),
              "the argument has a map for every strand");

/* Loads the block's part of a tile of an operand, `extent` long along m or n, for the `sharers`
 * blocks of the cluster that need the tile: all of them load a part of it, number `part` is ours.
 * x and k: its first element. */
template <int extent, int along_mn, int sharers>
GT_DEVICE void load_tile(unsigned char *tile, const gt_map *map, gt_mbarrier *full, int x, int k,
                         int batch, int part, unsigned ranks)
{
    constexpr int width = along_mn ? box_width(extent) : PIECE; /* elements of a row of a box */
    constexpr int rows = (along_mn ? PIECE : extent) / sharers; /* rows of a box */
    constexpr int row_bytes = width * (int)sizeof(in_type);
    constexpr int boxes = along_mn ? extent / width : 1;
    static_assert(rows % 8 == 0, "a box is whole groups of eight rows");

#pragma unroll
    for (int i = 0; i < boxes; i++) {
        unsigned char *to = tile + (i * sharers + part) * rows * row_bytes;
        int inner = along_mn ? x + i * width : k;
        int outer = (along_mn ? k : x) + part * rows;
        if (sharers > 1)
            gt_tma_load_multicast(to, map, full, inner, outer, batch, ranks);
        else
            gt_tma_load(to, map, full, inner, outer, batch);
    }
}

/* Bits of the blocks in the same row and in the same column of those that share operands. */
GT_DEVICE unsigned row_ranks()
{
    unsigned ranks = 0;
    for (int i = 0; i < CLUSTER_N; i++)
        ranks |= 1u << (cluster_first() + cluster_row() + i * CLUSTER_M);
    return ranks;
}

GT_DEVICE unsigned column_ranks()
{
    return ((1u << CLUSTER_M) - 1) << (cluster_first() + cluster_column() * CLUSTER_M);
}

/* Bytes that come for a stage. Where D has fewer rows than a tile, the box of A along k ends with
 * them (to a multiple of 8: the description's LOADED_M): what the stage holds below is multiplied
 * to rows that nobody stores. */
GT_DEVICE unsigned stage_bytes(const gt_args &args)
{
    const int rows = (min((int)args.m, BM) + 7) / 8 * 8;
    return A_ENDS_WITH_D ? DEPTH * (rows * 128 + B_BYTES) : STAGE_BYTES;
}

GT_DEVICE void produce_all(const gt_args &args, const gt_maps &maps, const ring &ring)
{
    schedule schedule(args);
    const unsigned with_a = row_ranks(), with_b = column_ranks();
    const int part_a = cluster_column(), part_b = cluster_row();
    const unsigned bytes = stage_bytes(args);
    position position;
    work work;

    while (schedule.next(args, work)) {
        const bool further = ROW_PHASES > 1 && work.phase > 0;
        const gt_map *map_a = &maps.map[further ? MAP_ROW_PHASES - 1 + work.phase : MAP_A];
        int k = work.k;
#pragma unroll 1 /* few registers */
        for (int i = 0; i < work.steps; i++, k += BK) {
            unsigned char *stage = ring.stages + position.stage * STAGE_BYTES;
            gt_mbarrier *full = ring.full + position.stage;

            gt_mbarrier_wait(ring.empty + position.stage, position.parity ^ 1);
            gt_mbarrier_arrive_expect_tx(full, bytes);
#pragma unroll
            for (int piece = 0; piece < DEPTH; piece++, stage += PIECE_BYTES) {
                const int first = k + piece * PIECE;
                load_tile<BM, A_ALONG_MN, CLUSTER_N>(stage, map_a, full, work.row, first,
                                                     work.batch, part_a, with_a);
                load_tile<BN, B_ALONG_MN, CLUSTER_M>(stage + A_BYTES, &maps.map[MAP_B], full,
                                                     work.column, first - work.shift, work.batch,
                                                     part_b, with_b);
            }
            position.advance();
        }
    }
}
