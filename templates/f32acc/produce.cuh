/* produce.cuh - of the templates of f32acc that read parts from the workspace: the producer thread, which fills the ring. */
#ifndef GT_F32ACC_PRODUCE_CUH
#define GT_F32ACC_PRODUCE_CUH

GT_DEVICE void produce_all(const gt_args &args, const gt_maps &maps, const Ring &ring)
{
    const Schedule schedule(args);
    Position position;

    for (unsigned index = blockIdx.x; index < schedule.works; index += gridDim.x) {
        const Work work = schedule.work_of(args, index);
        for (int i = 0; i < work.windows * WINDOW; i++) {
            unsigned char *stage = ring.stages + position.stage * STAGE_BYTES;
            gt_mbarrier *full = ring.full + position.stage;
            const int k = work.k + i * BK, part = work.batch * STORED;

            gt_mbarrier_wait(ring.empty + position.stage, position.parity ^ 1);
            gt_mbarrier_arrive_expect_tx(full, STAGE_BYTES);
            gt_tma_load(stage, &maps.map[MAP_A], full, k, work.row, part);
            gt_tma_load(stage + STORED * A_PART, &maps.map[MAP_B], full, k, work.column, part);
            position.advance();
        }
    }
}

#endif
