/* fused_split.cuh - of f32acc/fused.cu: the warpgroups that load floats, split them and store their
 * parts to the ring.
 *
 * A tile of an operand has lines, which are contiguous in global memory: lines of BK floats, one
 * for each row or column, or lines of EXTENT floats, one for each k. A thread has some chunks of
 * four floats of it, all at the same place of a line. Shared memory has the same lines as wgmma
 * reads them (wgmma.cuh): 8 bytes of each part for a chunk, so that 16 lanes store 128 bytes
 * without conflicts of banks. With OWN_ROWS the four values of k lie in two places (k_place). */
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

    const float *first, *next; /* of the stage to load: the thread's first chunk; the one to load */
    long long ld;
    int left;      /* rows or columns from the tile's first on */
    bool whole;    /* every load is within the operand or beyond it */
    int line, at;  /* of the thread's first chunk in the tile */
    int apart[LOADS]; /* from a chunk's first load to each */
    float x[BUFFERS][COUNT][4];

    GT_DEVICE Share(int thread)
    {
        line = thread / PER_LINE;
        at = thread % PER_LINE * 4;
    }

    /* Where the chunk's float number u, or load from there on, is in a line: beyond the last column
     * (row) that is the last one again. */
    GT_DEVICE int place(int u, int floats) const
    {
        return ALONG_K ? at + u : min(at + u, left - floats);
    }

    /* Beyond the last row or column the last one is loaded again: what it gives is not stored. */
    GT_DEVICE void aim(const float *matrix, long long ld_, long long size, int begin, int k)
    {
        ld = ld_;
        left = (int)min(size - begin, (long long)EXTENT);
        whole = ALONG_K || left % VEC == 0;
        first = matrix + place(0, VEC) +
                (ALONG_K ? (begin + min(line, left - 1)) * ld + k : (k + line) * ld + begin);
#pragma unroll
        for (int u = 0; u < LOADS; u++)
            apart[u] = place(u * VEC, VEC) - place(0, VEC);
    }

    GT_DEVICE bool has(int i) const
    {
        return CHUNKS % SPLIT_THREADS == 0 || line + i * STEP < BOX_LINES;
    }

    /* Goes to the line of chunk i. The chunks of a stage are loaded in their order. */
    GT_DEVICE void go_to(int i)
    {
        if (i == 0)
            next = first;
        else if (!ALONG_K || line + i * STEP < left)
            next += STEP * ld;
    }

    /* Loads chunk i of a stage that has BK values of k, in a tile that is whole. */
    GT_DEVICE void load(int buffer, int i)
    {
        go_to(i);
        if (has(i))
#pragma unroll
            for (int u = 0; u < LOADS; u++)
                gt_load_global<VEC>(x[buffer][i] + u * VEC, next + (u > 0 ? apart[u] : 0));
    }

    /* Loads chunk i of any stage: zeros follow its `deep` values of k, which may be none. */
    GT_DEVICE void load_ragged(int buffer, int i, int deep)
    {
        go_to(i);
#pragma unroll
        for (int u = 0; u < 4; u++) {
            const bool valid = ALONG_K ? at + u < deep : line + i * STEP < deep;
            x[buffer][i][u] =
                has(i) && valid ? __ldg(next + (place(u, 1) - place(0, VEC))) : 0.0f;
        }
    }

    /* Goes to the next stage. */
    GT_DEVICE void advance()
    {
        first += ALONG_K ? BK : BK * ld;
    }

    /* Stores the parts of chunk i. */
    GT_DEVICE void put(int buffer, int i, unsigned char *tile) const
    {
        const float *const value = x[buffer][i];
        unsigned part[2][PARTS];

        if (!has(i))
            return;
        split_pair(value[0], value[1], part[0]);
        split_pair(value[2], value[3], part[1]);
#pragma unroll
        for (int p = 0; p < PARTS; p++)
            store(tile + p * PART, line + i * STEP, part[0][p], part[1][p]);
    }

    /* Stores the two pairs of a chunk's part to a line of shared memory. */
    GT_DEVICE void store(unsigned char *tile, int own, unsigned one, unsigned two) const
    {
        const int slot = ALONG_K ? own : own / 16 * 16 + k_place(own % 16);
        const int begin = ALONG_K ? at / 16 * 16 + k_place(at % 16) : at;
        const int offset = (begin / BOX * BOX_LINES + slot) * BOX * 2 + begin % BOX * 2;
        const int swizzle = offset >> 3 & (BOX * 2 - 16);

        if (ALONG_K && OWN_ROWS) { /* eight places, 16 bytes, apart */
            *reinterpret_cast<unsigned *>(tile + (offset ^ swizzle)) = one;
            *reinterpret_cast<unsigned *>(tile + ((offset + 16) ^ swizzle)) = two;
        } else {
            gt_vec<unsigned, 2> pair;
            pair.at[0] = one;
            pair.at[1] = two;
            gt_store_vec<unsigned, 2>(reinterpret_cast<unsigned *>(tile + (offset ^ swizzle)),
                                      pair);
        }
    }
};

typedef Share<BM, ROWS_ALONG_K, SWAP_AB ? VEC_B : VEC_A> RowsShare;
typedef Share<BN, COLUMNS_ALONG_K, SWAP_AB ? VEC_A : VEC_B> ColumnsShare;

constexpr int ROWS_COUNT = OWN_ROWS ? 0 : RowsShare::COUNT; /* chunks */

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

/* The thread's shares of both operands, or with OWN_ROWS of the second one. */
struct Shares {
    RowsShare rows;
    ColumnsShare columns;
    int deep;   /* values of k from the beginning of the stage to load on; 0: there is none */
    bool whole; /* its loads need no masks */

    GT_DEVICE Shares(int thread) : rows(thread), columns(thread)
    {
    }

    GT_DEVICE void aim(const gt_args &args, const Work &work)
    {
        const float *a = gt_matrix_a(args, work.batch), *b = gt_matrix_b(args, work.batch);
        if (!OWN_ROWS)
            rows.aim(SWAP_AB ? b : a, SWAP_AB ? args.ldb : args.lda, SWAP_AB ? args.n : args.m,
                     work.row, work.k);
        columns.aim(SWAP_AB ? a : b, SWAP_AB ? args.lda : args.ldb, SWAP_AB ? args.m : args.n,
                    work.column, work.k);
    }

    /* Makes the stage the one to load. What the buffers hold can still be put. */
    GT_DEVICE void begin(const Stages &stages)
    {
        deep = stages.more ? stages.work.k_end - stages.work.k - stages.stage * BK : 0;
        if (stages.more && stages.fresh)
            aim(stages.args, stages.work);
        whole = deep >= BK && (OWN_ROWS || rows.whole) && columns.whole;
    }

    GT_DEVICE void advance()
    {
        if (!OWN_ROWS)
            rows.advance();
        columns.advance();
    }

    /* Loads the stage into the buffer. */
    GT_DEVICE void load(int buffer)
    {
        if (whole) {
#pragma unroll
            for (int i = 0; i < ROWS_COUNT; i++)
                rows.load(buffer, i);
#pragma unroll
            for (int i = 0; i < ColumnsShare::COUNT; i++)
                columns.load(buffer, i);
        } else {
#pragma unroll
            for (int i = 0; i < ROWS_COUNT; i++)
                rows.load_ragged(buffer, i, deep);
#pragma unroll
            for (int i = 0; i < ColumnsShare::COUNT; i++)
                columns.load_ragged(buffer, i, deep);
        }
        advance();
    }

    /* Stores the parts of what the buffer holds. refill: the stage to load is whole; each of its
     * chunks is loaded where one has been stored. */
    template <bool refill> GT_DEVICE void put(int buffer, unsigned char *tile)
    {
#pragma unroll
        for (int i = 0; i < ROWS_COUNT; i++) {
            rows.put(buffer, i, tile);
            if (refill)
                rows.load(buffer, i);
        }
#pragma unroll
        for (int i = 0; i < ColumnsShare::COUNT; i++) {
            columns.put(buffer, i, tile + PARTS * ROWS_PART);
            if (refill)
                columns.load(buffer, i);
        }
        if (refill)
            advance();
    }
};

/* What a splitting thread does: it has BUFFERS stages in registers, in turns. A stage's loads begin
 * as soon as their registers are free, or with LATE_LOADS 1 when all of the stage there has been
 * handed on. The consumers have the fence before wgmma reads what is stored here: it would wait for
 * loads that are on their way. */
GT_DEVICE void split_all(const gt_args &args, const Ring &ring, int thread)
{
    Shares shares(thread);
    Stages stages(args);
    Position position;
    int loaded = 0; /* stages in registers */

#pragma unroll
    for (int b = 0; b < BUFFERS; b++) {
        shares.begin(stages);
        if (shares.deep > 0) {
            shares.load(b);
            stages.next();
            loaded++;
        }
    }
    while (loaded > 0) {
#pragma unroll
        for (int b = 0; b < BUFFERS; b++) {
            unsigned char *const tile = ring.stages + position.stage * STAGE_BYTES;
            if (loaded == 0)
                break;
            shares.begin(stages);
            const bool refill = !LATE_LOADS && shares.whole;
            gt_mbarrier_wait(ring.empty + position.stage, position.parity ^ 1);
            if (refill)
                shares.put<true>(b, tile);
            else
                shares.put<false>(b, tile);
            __syncwarp();
            if (thread % 32 == 0)
                gt_mbarrier_arrive(ring.full + position.stage);
            position.advance();
            loaded--;
            if (shares.deep > 0) {
                if (!refill)
                    shares.load(b);
                stages.next();
                loaded++;
            }
        }
    }
}

#endif
