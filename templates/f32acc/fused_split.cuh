/* fused_split.cuh - of f32acc/fused.cu: the warpgroups that load floats, split them and store their
 * parts to the ring.
 *
 * A tile of an operand has lines, which are contiguous in global memory: lines of BK floats, one
 * for each row or column, or lines of EXTENT floats, one for each k. A thread has some chunks of
 * four floats of it, all at the same place of a line. Shared memory has the same lines as wgmma
 * reads them (wgmma.cuh): 8 bytes of each part for a chunk, so that 16 lanes store 128 bytes
 * without conflicts of banks. */
#ifndef GT_F32ACC_FUSED_SPLIT_CUH
#define GT_F32ACC_FUSED_SPLIT_CUH

/* Elements of a line in shared memory where an operand lies along m or n: as many as the widest
 * swizzle that divides the extent allows. */
GT_DEVICE constexpr int box_width(int extent)
{
    return extent % 64 == 0 ? 64 : extent % 32 == 0 ? 32 : 16;
}

/* A thread's share of the tiles of one operand. VEC is the number of floats of a load. */
template <int EXTENT, bool ALONG_K, int VEC> struct Share {
    static constexpr int PART = EXTENT * BK * 2;
    static constexpr int PER_LINE = (ALONG_K ? BK : EXTENT) / 4; /* chunks */
    static constexpr int CHUNKS = EXTENT * BK / 4;
    static constexpr int COUNT = (CHUNKS + SPLIT_THREADS - 1) / SPLIT_THREADS;
    static constexpr int STEP = SPLIT_THREADS / PER_LINE; /* lines between a thread's chunks */
    static constexpr int BOX = ALONG_K ? BK : box_width(EXTENT), BOX_LINES = ALONG_K ? EXTENT : BK;
    static_assert(SPLIT_THREADS % PER_LINE == 0, "a thread's chunks are at one place of a line");

    const float *first; /* of the tile at the beginning of the part of the depth */
    long long ld;
    int left;     /* rows or columns from the tile's first on */
    int line, at; /* of the thread's first chunk in the tile */
    float x[COUNT][4];

    GT_DEVICE Share(int thread)
    {
        line = thread / PER_LINE;
        at = thread % PER_LINE * 4;
    }

    GT_DEVICE void aim(const float *matrix, long long ld_, long long size, int begin, int k)
    {
        ld = ld_;
        left = (int)min(size - begin, (long long)EXTENT);
        first = matrix + (ALONG_K ? begin * ld + k : k * ld + begin);
    }

    GT_DEVICE bool has(int i) const
    {
        return CHUNKS % SPLIT_THREADS == 0 || line + i * STEP < BOX_LINES;
    }

    /* Loads chunk i of the stage that begins k behind the first one, and has `deep` values of k;
     * `ragged` says that these may be less than BK, and zeros follow. Beyond the last row or column
     * it is loaded again: the results are not stored. */
    template <bool ragged> GT_DEVICE void load(int i, int k, int deep)
    {
        const int own = line + i * STEP;
        const float *from = first + (ALONG_K ? min(own, left - 1) * ld + k : (k + own) * ld);
        const int length = ALONG_K ? (ragged ? deep : BK) : left; /* of the line */

        if (!has(i))
            return;
        if (ragged && (ALONG_K ? deep <= at : deep <= own)) {
#pragma unroll
            for (int u = 0; u < 4; u++)
                x[i][u] = 0.0f;
        } else if ((ALONG_K && !ragged) || at + 4 <= length) {
#pragma unroll
            for (int u = 0; u < 4; u += VEC)
                gt_load_global<VEC>(x[i] + u, from + at + u);
        } else {
#pragma unroll
            for (int u = 0; u < 4; u++)
                x[i][u] = ALONG_K && at + u >= deep ? 0.0f : __ldg(from + min(at + u, length - 1));
        }
    }

    /* Stores the parts of chunk i; keeps the largest magnitude. */
    GT_DEVICE void put(int i, unsigned char *tile, float &largest) const
    {
        const int own = line + i * STEP;
        const int offset = (at / BOX * BOX_LINES + own) * BOX * 2 + at % BOX * 2;
        unsigned part[2][PARTS];

        if (!has(i))
            return;
#pragma unroll
        for (int u = 0; u < 4; u++)
            largest = max(largest, fabsf(x[i][u]));
        split_pair(x[i][0], x[i][1], part[0]);
        split_pair(x[i][2], x[i][3], part[1]);
#pragma unroll
        for (int p = 0; p < PARTS; p++) {
            gt_vec<unsigned, 2> pair;
            pair.at[0] = part[0][p];
            pair.at[1] = part[1][p];
            gt_store_vec<unsigned, 2>(
                reinterpret_cast<unsigned *>(
                    tile + p * PART + (offset ^ (offset >> 3 & (BOX * 2 - 16)))),
                pair);
        }
    }
};

typedef Share<BM, ROWS_ALONG_K, SWAP_AB ? VEC_B : VEC_A> RowsShare;
typedef Share<BN, COLUMNS_ALONG_K, SWAP_AB ? VEC_A : VEC_B> ColumnsShare;

/* All stages of the block's work, one after the other. */
struct Stages {
    const gt_args &args;
    Schedule schedule;
    unsigned index;
    Work work;
    int stage; /* of the work */
    bool more, fresh; /* there is a stage; it is its work's first */

    GT_DEVICE Stages(const gt_args &args_) : args(args_), schedule(args_)
    {
        index = blockIdx.x;
        stage = 0;
        find();
    }

    /* The first work from `index` on that has stages. */
    GT_DEVICE void find()
    {
        fresh = true;
        for (more = false; !more && index < schedule.works; index += more ? 0 : gridDim.x) {
            work = schedule.work_of(args, index);
            more = work.windows > 0;
        }
    }

    GT_DEVICE void next()
    {
        fresh = false;
        if (++stage < work.windows * WINDOW)
            return;
        stage = 0;
        index += gridDim.x;
        find();
    }
};

/* The thread's shares of both operands. */
struct Shares {
    RowsShare rows;
    ColumnsShare columns;

    GT_DEVICE Shares(int thread) : rows(thread), columns(thread)
    {
    }

    GT_DEVICE void aim(const gt_args &args, const Work &work)
    {
        const float *a = gt_matrix_a(args, work.batch), *b = gt_matrix_b(args, work.batch);
        rows.aim(SWAP_AB ? b : a, SWAP_AB ? args.ldb : args.lda, SWAP_AB ? args.n : args.m,
                 work.row, work.k);
        columns.aim(SWAP_AB ? a : b, SWAP_AB ? args.lda : args.ldb, SWAP_AB ? args.m : args.n,
                    work.column, work.k);
    }

    /* Loads the stage that begins k behind the work's first one. */
    template <bool ragged> GT_DEVICE void load(int k, int deep)
    {
#pragma unroll
        for (int i = 0; i < RowsShare::COUNT; i++)
            rows.load<ragged>(i, k, deep);
#pragma unroll
        for (int i = 0; i < ColumnsShare::COUNT; i++)
            columns.load<ragged>(i, k, deep);
    }

    /* Stores the parts of the stage that has been loaded. With `loads`, each chunk's registers
     * then take one of the next stage, which is whole. */
    template <bool loads> GT_DEVICE void put(unsigned char *stage, int k, float &largest)
    {
#pragma unroll
        for (int i = 0; i < RowsShare::COUNT; i++) {
            rows.put(i, stage, largest);
            if (loads)
                rows.load<false>(i, k, BK);
        }
#pragma unroll
        for (int i = 0; i < ColumnsShare::COUNT; i++) {
            columns.put(i, stage + PARTS * ROWS_PART, largest);
            if (loads)
                columns.load<false>(i, k, BK);
        }
    }
};

/* Whether a lane of the warp has found something; the same for all lanes. */
GT_DEVICE int any_lane(int found)
{
#pragma unroll
    for (int bits = 16; bits > 0; bits /= 2)
        found |= __shfl_xor_sync(0xffffffffu, found, bits);
    return found;
}

/* What a splitting thread does. */
GT_DEVICE void split_all(const gt_args &args, const Ring &ring, int thread)
{
    Shares shares(thread);
    Stages stages(args);
    Position position;

    if (stages.more) {
        shares.aim(args, stages.work);
        shares.load<true>(0, stages.work.k_end - stages.work.k);
    }
    while (stages.more) {
        unsigned char *const to = ring.stages + position.stage * STAGE_BYTES;
        float largest = 0.0f;

        stages.next();
        const int k = stages.stage * BK, deep = stages.work.k_end - stages.work.k - k;
        if (stages.more && stages.fresh)
            shares.aim(args, stages.work);
        gt_mbarrier_wait(ring.empty + position.stage, position.parity ^ 1);
        if (stages.more && deep >= BK) {
            shares.put<true>(to, k, largest);
        } else {
            shares.put<false>(to, 0, largest);
            if (stages.more)
                shares.load<true>(k, deep);
        }
        const int special = any_lane(largest >= NO_PARTS);
        gt_tma_fence(); /* wgmma reads the stage as TMA would */
        __syncwarp();
        if (thread % 32 == 0) {
            ring.special[position.stage * SPLIT_WARPS + thread / 32] = special;
            gt_mbarrier_arrive(ring.full + position.stage);
        }
        position.advance();
    }
}

#endif
