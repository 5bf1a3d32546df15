/* produce.cuh - of the templates of f32acc that read parts from the workspace: the producer thread,
 * which fills the ring. Where blocks of a cluster share an operand, each of them loads some of its
 * rows (of B: columns), of one part after the other. */
#ifndef GT_F32ACC_PRODUCE_CUH
#define GT_F32ACC_PRODUCE_CUH

/* Loads the parts of a tile of an operand, EXTENT rows that begin at (x, k), to `to`; of a tile
 * that SHARERS blocks share, share number `share`, for those in `ranks`. z is the matrix of the
 * first part. */
template <int EXTENT, int SHARERS>
GT_DEVICE void load_parts(unsigned char *to, const gt_map *map, gt_mbarrier *full, int k, int x,
                          int z, int share, unsigned ranks)
{
    constexpr int rows = EXTENT / SHARERS;
    static_assert(EXTENT % SHARERS == 0 && rows * ROW_BYTES % 128 == 0, "equal shares, for TMA");

    if (SHARERS == 1) {
        gt_tma_load(to, map, full, k, x, z);
        return;
    }
#pragma unroll
    for (int p = 0; p < STORED; p++)
        gt_tma_load_multicast(to + (p * EXTENT + share * rows) * ROW_BYTES, map, full, k,
                              x + share * rows, z + p, ranks);
}

GT_DEVICE void produce_all(const gt_args &args, const gt_maps &maps, const Ring &ring)
{
    const Schedule schedule(args);
    const unsigned ranks_a = row_ranks(), ranks_b = column_ranks();
    Position position;

    for (unsigned index = schedule.first(args); index < schedule.works; index += schedule.step()) {
        const Work work = schedule.work_of(args, index);
        for (int i = 0; i < work.windows * WINDOW; i++) {
            unsigned char *stage = ring.stages + position.stage * STAGE_BYTES;
            gt_mbarrier *full = ring.full + position.stage;
            const int k = work.k + i * BK, part = work.batch * STORED;

            gt_mbarrier_wait(ring.empty + position.stage, position.parity ^ 1);
            gt_mbarrier_arrive_expect_tx(full, STAGE_BYTES);
            load_parts<BM, CLUSTER_N>(stage, &maps.map[MAP_A], full, k, work.row, part,
                                      cluster_column(), ranks_a);
            load_parts<BN, CLUSTER_M>(stage + STORED * A_PART, &maps.map[MAP_B], full, k,
                                      work.column, part, cluster_row(), ranks_b);
            position.advance();
        }
    }
}

#endif
