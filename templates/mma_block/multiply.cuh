/* multiply.cuh - of mma_block/gemm.cu: the loop over k. Copies run ahead by the ring of mma's
 * tiles; factors are loaded one tile ahead. */
#ifndef GT_MMA_BLOCK_MULTIPLY_CUH
#define GT_MMA_BLOCK_MULTIPLY_CUH

typedef Factors<Rows, WM, GT_SCALE_A_ORDER> FactorsA;
typedef Factors<Columns, WN, GT_SCALE_B_ORDER> FactorsB;

/* Adds the products of a step of a tile. */
GT_DEVICE void multiply_step(Accumulator &acc, const FactorsA &of_a, const FactorsB &of_b, int step)
{
    constexpr int BUFFERS = REG_DOUBLE ? 2 : 1;
    const int word = step / STEPS_OF_WORD;
#pragma unroll
    for (int i = 0; i < WM / 16; i++)
#pragma unroll
        for (int e = 0; e < WN / 8; e++) {
            const int j = i % 2 ? WN / 8 - 1 - e : e; /* back and forth, as mma does */
            const unsigned(&from)[4] = acc.y.value[step % BUFFERS][j / 2];
            const unsigned b[2] = {from[j % 2 * 2], from[j % 2 * 2 + 1]};
            const gt_block_factors by = {of_a.now[word][i / 2], of_b.now[word][j / 4],
                                         (unsigned short)(i % 2), (unsigned short)(j % 4),
                                         (unsigned short)(step % STEPS_OF_WORD)};
            gt_mma_block<PAIRS ? GT_E2M1 : GT_TYPE>(acc.sum[i][j], acc.x.value[step % BUFFERS][i],
                                                    b, by);
        }
}

/* Sums A B over the block's k into acc. */
GT_DEVICE void accumulate_blocks(const gt_args &args, const gt_more &more, const Work &work,
                                 long long batch, char *shared, const Position &p, Accumulator &acc)
{
    Ring ring(args, work, batch, shared);
    const int tiles = (int)gt_cdiv(work.k.end - work.k.first, BK);
    const int blocks = (int)gt_cdiv(args.k, BK / BLOCKS), first = (int)(work.k.first / BK) * BLOCKS;
    FactorsA of_a(more.scale_a, more.lsa, work.row + p.row, args.m, p);
    FactorsB of_b(more.scale_b, more.lsb, work.column + p.column, args.n, p);

    of_a.load(first, blocks);
    of_b.load(first, blocks);
#pragma unroll 1
    for (int tile = 0; tile < STAGES - 1; tile++) {
        if (tile < tiles) {
            ring.begin(args, tile, 0, 1);
            ring.begin_edge(args, work, batch, tile);
            ring.end(tile, tiles);
        }
        gt_cp_async_commit();
        ring.fill = Ring::next(ring.fill);
    }
#pragma unroll 1
    for (int tile = 0; tile < tiles; tile++) {
        const int coming = tile + STAGES - 1;
        const char *const now = shared + ring.use * STAGE;
        gt_cp_async_wait<STAGES - 2>();
        gt_sync(); /* the tile is there, and the stage of the one before it is free */
        of_a.advance();
        of_b.advance();
        of_a.load(first + (tile + 1) * BLOCKS, blocks);
        of_b.load(first + (tile + 1) * BLOCKS, blocks);
        if (coming < tiles) {
            ring.begin_edge(args, work, batch, coming);
            ring.begin(args, coming, 0, 1);
        }
        gt_cp_async_commit();
        if (REG_DOUBLE)
            acc.load(now, p, 0);
#pragma unroll
        for (int step = 0; step < STEPS; step++) {
            if (!REG_DOUBLE)
                acc.load(now, p, step);
            else if (step < STEPS - 1)
                acc.load(now, p, step + 1);
            multiply_step(acc, of_a, of_b, step);
        }
        ring.end(coming, tiles);
        ring.fill = Ring::next(ring.fill);
        ring.use = Ring::next(ring.use);
    }
}

#endif
