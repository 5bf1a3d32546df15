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

    static constexpr int LOADS = 4 / VEC; /* of a chunk */

    const float *first, *next; /* of the tile at the beginning of the part of the depth; the line of
                                * the chunk to load next */
    long long ld;
    int left;      /* rows or columns from the tile's first on */
    bool whole;    /* every load is within the operand or beyond it */
    int line, at;  /* of the thread's first chunk in the tile */
    int place[LOADS]; /* of its loads in a line */
    float x[BUFFERS][COUNT][4];

    GT_DEVICE Share(int thread)
    {
        line = thread / PER_LINE;
        at = thread % PER_LINE * 4;
    }

    /* Beyond the last row or column the last one is loaded again: what it gives is not stored. */
    GT_DEVICE void aim(const float *matrix, long long ld_, long long size, int begin, int k)
    {
        ld = ld_;
        left = (int)min(size - begin, (long long)EXTENT);
        whole = ALONG_K || left % VEC == 0;
        first = matrix + (ALONG_K ? (begin + min(line, left - 1)) * ld + k : (k + line) * ld + begin);
#pragma unroll
        for (int u = 0; u < LOADS; u++)
            place[u] = ALONG_K ? at + u * VEC : min(at + u * VEC, left - VEC);
    }

    GT_DEVICE bool has(int i) const
    {
        return CHUNKS % SPLIT_THREADS == 0 || line + i * STEP < BOX_LINES;
    }

    /* Goes to the line of chunk i of the stage that begins k behind the first one. The chunks are
     * loaded in their order. */
    GT_DEVICE void go_to(int i, int k)
    {
        if (i == 0)
            next = first + (ALONG_K ? k : k * ld);
        else if (!ALONG_K || line + i * STEP < left)
            next += STEP * ld;
    }

    /* Loads chunk i of a stage that has BK values of k, in a tile that is whole. */
    GT_DEVICE void load(int buffer, int i, int k)
    {
        go_to(i, k);
        if (has(i))
#pragma unroll
            for (int u = 0; u < LOADS; u++)
                gt_load_global<VEC>(x[buffer][i] + u * VEC, next + place[u]);
    }

    /* Loads chunk i of any stage: zeros follow its `deep` values of k, which may be none. */
    GT_DEVICE void load_ragged(int buffer, int i, int k, int deep)
    {
        go_to(i, k);
#pragma unroll
        for (int u = 0; u < 4; u++) {
            const bool valid = ALONG_K ? at + u < deep : line + i * STEP < deep;
            x[buffer][i][u] = has(i) && valid
                                  ? __ldg(next + (ALONG_K ? at + u : min(at + u, left - 1)))
                                  : 0.0f;
        }
    }

    /* Stores the parts of chunk i; keeps the largest magnitude. */
    GT_DEVICE void put(int buffer, int i, unsigned char *tile, float &largest) const
    {
        const float *const value = x[buffer][i];
        const int own = line + i * STEP;
        const int offset = (at / BOX * BOX_LINES + own) * BOX * 2 + at % BOX * 2;
        unsigned part[2][PARTS];

        if (!has(i))
            return;
#pragma unroll
        for (int u = 0; u < 4; u++)
            largest = max(largest, fabsf(value[u]));
        split_pair(value[0], value[1], part[0]);
        split_pair(value[2], value[3], part[1]);
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
    int stage;        /* of the work */
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
            more = work.stages > 0;
        }
    }

    GT_DEVICE void next()
    {
        fresh = false;
        if (++stage < work.stages)
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

    /* Loads a stage into the buffer. */
    GT_DEVICE void load(const Stages &stages, int buffer)
    {
        const int k = stages.stage * BK, deep = stages.work.k_end - stages.work.k - k;

        if (stages.fresh)
            aim(stages.args, stages.work);
        if (deep >= BK && rows.whole && columns.whole) {
#pragma unroll
            for (int i = 0; i < RowsShare::COUNT; i++)
                rows.load(buffer, i, k);
#pragma unroll
            for (int i = 0; i < ColumnsShare::COUNT; i++)
                columns.load(buffer, i, k);
        } else {
#pragma unroll
            for (int i = 0; i < RowsShare::COUNT; i++)
                rows.load_ragged(buffer, i, k, deep);
#pragma unroll
            for (int i = 0; i < ColumnsShare::COUNT; i++)
                columns.load_ragged(buffer, i, k, deep);
        }
    }

    /* Stores the parts of what the buffer holds; the largest magnitude of it. */
    GT_DEVICE float put(int buffer, unsigned char *stage) const
    {
        float largest = 0.0f;
#pragma unroll
        for (int i = 0; i < RowsShare::COUNT; i++)
            rows.put(buffer, i, stage, largest);
#pragma unroll
        for (int i = 0; i < ColumnsShare::COUNT; i++)
            columns.put(buffer, i, stage + PARTS * ROWS_PART, largest);
        return largest;
    }
};

/* Hands a stage that is in the buffer to the consumers. */
GT_DEVICE void pass_on(const Ring &ring, const Position &position, const Shares &shares, int buffer,
                       int thread)
{
    int *const special = ring.special + position.stage * SPLIT_WARPS + thread / 32;

    gt_mbarrier_wait(ring.empty + position.stage, position.parity ^ 1);
    if (thread % 32 == 0)
        *special = 0;
    __syncwarp();
    if (shares.put(buffer, ring.stages + position.stage * STAGE_BYTES) >= NO_PARTS)
        *special = 1;
}

/* What a splitting thread does: it has BUFFERS stages in registers, in turns. LATE_LOADS 1: the
 * next loads begin behind the fence, which would wait for them. */
GT_DEVICE void split_all(const gt_args &args, const Ring &ring, int thread)
{
    Shares shares(thread);
    Stages stages(args);
    Position position;
    int loaded = 0; /* stages in registers */

    auto load_next = [&](int buffer) {
        if (stages.more) {
            shares.load(stages, buffer);
            stages.next();
            loaded++;
        }
    };

#pragma unroll
    for (int b = 0; b < BUFFERS; b++)
        load_next(b);
    while (loaded > 0) {
#pragma unroll
        for (int b = 0; b < BUFFERS; b++) {
            if (loaded == 0)
                break;
            pass_on(ring, position, shares, b, thread);
            loaded--;
            if (!LATE_LOADS)
                load_next(b);
            gt_tma_fence(); /* wgmma reads the stage as TMA would */
            __syncwarp();
            if (thread % 32 == 0)
                gt_mbarrier_arrive(ring.full + position.stage);
            position.advance();
            if (LATE_LOADS)
                load_next(b);
        }
    }
}

#endif
