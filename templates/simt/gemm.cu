/* gemm.cu - the production FP32 kernel for CUDA cores.
 *
 *   X = op(A), Y = op(B); with SWAP_AB the product is computed transposed: X = op(B)^T, Y =
 * op(A)^T.
 *
 *                 BN                 a block computes BM x BN elements of X Y, the tile's depth BK
 *            +----+----+----+        at a time, from a ring of STAGES tiles in shared memory;
 *         BK | Y  |    |    |        a warp computes WM x WN of them, and with WARPS_K > 1 several
 *            +----+----+----+        warps share a warp tile and split each BK between them;
 *      BK        WN                  a lane computes TM x TN elements in registers, in pieces of
 *    +----+  +----+----+----+        up to 4 that lie WM/TM lanes apart, so that the shared loads
 *    | X  |  | w0 | w1 | w2 | WM     of a warp are contiguous.
 * BM +----+  +----+----+----+
 *    |    |  | w3 | w4 | w5 |        Each operand reaches shared memory by one of three paths,
 *    +----+  +----+----+----+        PATH_A and PATH_B, described below.
 *
 * Split-K: SPLIT_K blocks share a tile of D along k. SPLIT_MODE 1 sums their partial results from
 * the workspace in a second launch, always in the same order; SPLIT_MODE 2 adds them to D by
 * atomics after a launch that wrote beta*C (+ bias). */
#include "common/gemm.cuh"

#ifndef BM
#define BM 128 /* rows of X per block */
#endif
#ifndef BN
#define BN 128 /* columns of Y per block */
#endif
#ifndef BK
#define BK 8 /* depth of a tile */
#endif
#ifndef WM
#define WM 32 /* rows of a warp tile */
#endif
#ifndef WN
#define WN 64 /* columns of a warp tile */
#endif
#ifndef TM
#define TM 8 /* rows per lane */
#endif
#ifndef TN
#define TN 8 /* columns per lane */
#endif
#ifndef WARPS_K
#define WARPS_K 1 /* warps that split the depth of a tile between them */
#endif
#ifndef STAGES
#define STAGES 3 /* tiles in the ring */
#endif
/* How an operand that is contiguous along k gets to shared memory: 0: 4-byte cp.async, transposed
 * on the way; 1: through registers, transposed; 2: as it is, read along k by 16-byte loads. One
 * that is contiguous along m or n: 0: cp.async; 1: through registers. */
#ifndef PATH_A
#define PATH_A 0
#endif
#ifndef PATH_B
#define PATH_B 0
#endif
#ifndef VEC_A
#define VEC_A 1 /* floats of a global load of A; the alignment class decides */
#endif
#ifndef VEC_B
#define VEC_B 1 /* the same for B */
#endif
#ifndef VEC_C
#define VEC_C 1 /* floats of an access to C and D */
#endif
#ifndef SKEW
#define SKEW 4 /* floats of padding per line of a shared tile, against bank conflicts */
#endif
#ifndef SWIZZLE
#define SWIZZLE 0 /* 1: XOR swizzle of 16-byte pieces instead of a skew, in tiles read along k */
#endif
#ifndef REG_DOUBLE
#define REG_DOUBLE 1 /* 1: the next step's fragments are loaded before this step's arithmetic */
#endif
#ifndef EDGE
#define EDGE 0 /* lines of a tile beyond the edge are 0: zeros, 1: the last line again */
#endif
#ifndef FMA_ORDER
#define FMA_ORDER 1 /* products by 0 rows, 1 rows to and fro, 2 columns, 3 columns to and fro */
#endif
#ifndef LOAD_ORDER
#define LOAD_ORDER 0 /* loads between the lines of products: 0 of X first, 1 of Y first */
#endif
#ifndef UNROLL
#define UNROLL 0 /* steps in the body of the loop over a tile; 0: all of them */
#endif
#ifndef MIN_BLOCKS
#define MIN_BLOCKS 1 /* blocks per SM the compiler leaves registers for */
#endif
#ifndef MAX_REGS
#define MAX_REGS 0 /* registers a thread is limited to; 0: none */
#endif
#ifndef SWAP_AB
#define SWAP_AB 0 /* 1: compute the transposed product */
#endif
#ifndef SPLIT_MODE
#define SPLIT_MODE 0 /* 0: whole k; 1: through the workspace, deterministic; 2: by atomics */
#endif
#ifndef SPLIT_K
#define SPLIT_K 1 /* blocks that share a tile of D */
#endif
#ifndef GROUP_M
#define GROUP_M 8 /* tile rows of a raster group */
#endif
#ifndef ORDER
#define ORDER 0 /* raster runs 0: down the rows of X; 1: along the columns of Y */
#endif

constexpr int THREADS = (BM / WM) * (BN / WN) * WARPS_K * 32;
constexpr int LANES_M = WM / TM, LANES_N = WN / TN;
constexpr int STEPS = BK / WARPS_K; /* k steps of a warp in a tile */

/* Steps in the loop body: a body that does not fit the instruction cache waits for instructions. */
constexpr int BODY = UNROLL ? UNROLL : STEPS;

/* Steps of the (last) body in which copies through registers reach shared memory: spread over the
 * arithmetic, or in one place that the other bodies jump over. */
constexpr int END_FIRST = BODY >= 4 ? BODY / 2 : BODY - 1;
constexpr int END_PARTS = BODY == STEPS && STEPS >= 4 ? STEPS - 1 - STEPS / 2 : 1;

static_assert(LANES_M * LANES_N == 32, "a warp tile is covered by 32 lanes");
static_assert(STEPS >= 2 && STAGES >= 2, "the pipeline overlaps at least two steps and two tiles");

/* Where an operand lies and how it travels. MN: its extent in the block along m or n. */
template <int MN, bool K_CONTIGUOUS, int PATH, int VEC> struct Operand {
    static constexpr bool ALONG_K = K_CONTIGUOUS && PATH == 2; /* layout in shared memory */
    static constexpr bool TRANSPOSED = K_CONTIGUOUS && PATH != 2;
    static constexpr bool STAGED = PATH == 1;                     /* through registers */
    static constexpr int WIDTH = TRANSPOSED && !STAGED ? 1 : VEC; /* floats of a copy */
    static constexpr int LINE = ALONG_K ? BK + SKEW : MN + SKEW;  /* floats, in shared memory */
    static constexpr int SIZE = (ALONG_K ? MN : BK) * LINE;       /* floats of a stage */
    static constexpr int PER_LINE = (K_CONTIGUOUS ? BK : MN) / WIDTH;
    static constexpr int COPIES = PER_LINE * (K_CONTIGUOUS ? MN : BK);
    static constexpr int COUNT = (COPIES + THREADS - 1) / THREADS; /* copies of a thread */

    /* With whole lines per pass the copies of a thread are a constant number of lines apart. */
    static constexpr bool REGULAR = THREADS % PER_LINE == 0;
    static constexpr int LINES_PER_PASS = REGULAR ? THREADS / PER_LINE : 1;

    const float *source[REGULAR ? 1 : COUNT];
    const float *inside; /* an address that may be named where nothing is read */
    int last;       /* last copy that lies in the matrix along m or n, if along k and regular */
    long long pass; /* elements between two copies of a thread, if regular */
    float staged[STAGED ? COUNT * WIDTH : 1];

    /* Copy i of this thread: line (along the slow dimension of global memory) and place in it. */
    static GT_DEVICE int line(int i, int thread)
    {
        return REGULAR ? thread / PER_LINE + i * LINES_PER_PASS : (thread + i * THREADS) / PER_LINE;
    }
    static GT_DEVICE int place(int i, int thread)
    {
        return (REGULAR ? thread % PER_LINE : (thread + i * THREADS) % PER_LINE) * WIDTH;
    }
    static GT_DEVICE bool mine(int i)
    {
        return COPIES % THREADS == 0 || (int)threadIdx.x + i * THREADS < COPIES;
    }
    /* Offset in shared memory of float u of copy i. */
    static GT_DEVICE int target(int i, int u, int thread)
    {
        if (ALONG_K) {
            int row = line(i, thread), k = place(i, thread) + u;
            return row * LINE + (swizzled(row, k / 4) * 4 + k % 4);
        }
        return TRANSPOSED ? (place(i, thread) + u) * LINE + line(i, thread)
                          : line(i, thread) * LINE + place(i, thread) + u;
    }
    static GT_DEVICE int swizzled(int row, int piece)
    {
        constexpr int ROWS = BK >= 32 ? 1 : 32 / BK; /* rows of a line of banks */
        return SWIZZLE ? piece ^ (row / ROWS & (BK / 4 - 1)) : piece;
    }

    /* Whether a tile can be copied whole where it is whole along k. What lies beyond the edge is
     * then replaced by what lies before it, since nobody stores what is computed from it: at no
     * cost along the lines, unless the edge cuts a vector, and with EDGE across them. */
    static GT_DEVICE bool whole_across(int mn_left)
    {
        return mn_left >= MN || (K_CONTIGUOUS ? EDGE == 1 : mn_left % WIDTH == 0);
    }

    GT_DEVICE void init(const float *matrix, long long ld, long long first, long long k,
                        int mn_left)
    {
        const int thread = threadIdx.x;
        inside = matrix;
        if constexpr (STAGED)
#pragma unroll
            for (int i = 0; i < COUNT * WIDTH; i++)
                staged[i] = 0.0f;
        pass = LINES_PER_PASS * ld;
        last = (mn_left - 1 - line(0, thread)) / LINES_PER_PASS;
        last = last > 0 ? last : 0;
#pragma unroll
        for (int i = 0; i < (REGULAR ? 1 : COUNT); i++) {
            int at_line = line(i, thread), at_place = place(i, thread);
            if (K_CONTIGUOUS && EDGE)
                at_line = at_line < mn_left ? at_line : mn_left - 1;
            else if (!K_CONTIGUOUS && whole_across(mn_left))
                at_place = at_place < mn_left ? at_place : mn_left - WIDTH;
            source[i] = K_CONTIGUOUS ? matrix + (first + at_line) * ld + k + at_place
                                     : matrix + (k + at_line) * ld + first + at_place;
        }
    }

    GT_DEVICE const float *from(int i) const
    {
        if constexpr (!REGULAR)
            return source[i];
        return source[0] + (EDGE && K_CONTIGUOUS && i > last ? last : i) * pass;
    }

    /* Starts the copies of one tile and moves on to the next. Unless it is copied whole, mn_left
     * and k_left elements of the matrix remain from its first on and zeros follow them. */
    GT_DEVICE void begin(float *stage, long long step, bool whole, int mn_left, int k_left)
    {
        if (!whole) {
            const int thread = gt_thread_anew();
            int lines = K_CONTIGUOUS ? mn_left : k_left, length = K_CONTIGUOUS ? k_left : mn_left;
#pragma unroll
            for (int i = 0; i < COUNT; i++)
                if (mine(i))
                    copy_part(stage, i, thread,
                              line(i, thread) < lines ? length - place(i, thread) : 0);
        } else {
#pragma unroll
            for (int i = 0; i < COUNT; i++)
                if (mine(i))
                    copy(stage, i);
        }
#pragma unroll
        for (int i = 0; i < (REGULAR ? 1 : COUNT); i++)
            source[i] += step;
    }

    GT_DEVICE void copy(float *stage, int i)
    {
        if constexpr (STAGED)
            gt_load_global<WIDTH>(staged + i * WIDTH, from(i));
        else
            cp_async_whole<WIDTH * 4>(stage + target(i, 0, threadIdx.x), from(i));
    }

    /* Only the first `count` floats exist. */
    GT_DEVICE void copy_part(float *stage, int i, int thread, int count)
    {
        if constexpr (STAGED)
            gt_load_masked<WIDTH>(staged + i * WIDTH, from(i), count);
        else
            cp_async<WIDTH * 4>(stage + target(i, 0, thread), count > 0 ? from(i) : inside,
                                count >= WIDTH ? WIDTH * 4
                                : count > 0    ? count * 4
                                               : 0);
    }

    /* The second half of copies through registers, once the stage is free: part `part` of `parts`
     * of them, so that the stores can be spread over the arithmetic. */
    GT_DEVICE void end(float *stage, int part, int parts)
    {
        if constexpr (STAGED) {
#pragma unroll
            for (int i = 0; i < COUNT; i++) {
                if (i * parts / COUNT != part || !mine(i))
                    continue;
                if (TRANSPOSED) {
#pragma unroll
                    for (int u = 0; u < WIDTH; u++)
                        stage[target(i, u, threadIdx.x)] = staged[i * WIDTH + u];
                } else {
                    gt_store<WIDTH>(stage + target(i, 0, threadIdx.x), staged + i * WIDTH);
                }
            }
        }
    }
};

/* The part of an operand's tile that a lane multiplies: T elements, of L lanes' worth. */
template <class OPERAND, int T, int L> struct Fragment {
    static constexpr int PIECE = T < 4 ? T : 4;
    static constexpr bool ALONG_K = OPERAND::ALONG_K;
    static constexpr int DEPTH = ALONG_K ? 4 : 1; /* k steps of one load */
    static constexpr int BUFFERS = REG_DOUBLE ? 2 : 1;
    float value[BUFFERS][T][DEPTH];

    /* Place of element e of a lane in the warp tile. */
    static GT_DEVICE int at(int e, int lane)
    {
        return ALONG_K ? e * L + lane : e / PIECE * (L * PIECE) + lane * PIECE + e % PIECE;
    }

    static constexpr int LOADS = ALONG_K ? T : T / PIECE;

    /* Load number `load` of LOADS of what step k of a stage needs, unless an earlier step brought
     * it. `origin`: the warp tile's first element along m or n. */
    GT_DEVICE void load(const float *stage, int origin, int lane, int first, int k, int load)
    {
        int buffer = k / DEPTH % BUFFERS;
        if constexpr (ALONG_K) {
            if (k % DEPTH == 0) {
                int row = origin + at(load, lane), piece = OPERAND::swizzled(row, (first + k) / 4);
                gt_load<4>(value[buffer][load], stage + row * OPERAND::LINE + piece * 4);
            }
        } else {
            float piece[PIECE];
            gt_load<PIECE>(piece,
                           stage + (first + k) * OPERAND::LINE + origin + at(load * PIECE, lane));
#pragma unroll
            for (int u = 0; u < PIECE; u++)
                value[buffer][load * PIECE + u][0] = piece[u];
        }
    }
    GT_DEVICE float get(int e, int k) const
    {
        return value[k / DEPTH % BUFFERS][e][k % DEPTH];
    }
};

#if SWAP_AB
typedef Operand<BM, GT_TRANS_B == 1, PATH_B, VEC_B> X;
typedef Operand<BN, GT_TRANS_A == 0, PATH_A, VEC_A> Y;
#else
typedef Operand<BM, GT_TRANS_A == 0, PATH_A, VEC_A> X;
typedef Operand<BN, GT_TRANS_B == 1, PATH_B, VEC_B> Y;
#endif

constexpr int STAGE = X::SIZE + Y::SIZE; /* floats */

/* Which warp tile, lane and slice of k a thread works on. */
struct Position {
    int row, column; /* origin of the warp tile in the block */
    int lane_row, lane_column;
    int slice;
};

GT_DEVICE Position position()
{
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int tile = warp % ((BM / WM) * (BN / WN));
    Position p;
    p.slice = warp / ((BM / WM) * (BN / WN));
    p.row = tile / (BN / WN) * WM;
    p.column = tile % (BN / WN) * WN;
    p.lane_row = lane / LANES_N;
    p.lane_column = lane % LANES_N;
    return p;
}

struct Accumulator {
    Fragment<X, TM, LANES_M> x;
    Fragment<Y, TN, LANES_N> y;
    float sum[TM][TN];

    GT_DEVICE void clear()
    {
#pragma unroll
        for (int i = 0; i < TM; i++)
#pragma unroll
            for (int j = 0; j < TN; j++)
                sum[i][j] = 0.0f;
    }
    static constexpr int LOADS = Fragment<X, TM, LANES_M>::LOADS + Fragment<Y, TN, LANES_N>::LOADS;

    /* Load number `load` of LOADS for step k of the body that starts at step `body` of the tile. */
    GT_DEVICE void load(const float *stage, const Position &p, int body, int k, int load)
    {
        constexpr int FIRST = Fragment<X, TM, LANES_M>::LOADS;
        if (load < FIRST)
            x.load(stage, p.row, p.lane_row, p.slice * STEPS + body, k, load);
        else
            y.load(stage + X::SIZE, p.column, p.lane_column, p.slice * STEPS + body, k,
                   load - FIRST);
    }
    GT_DEVICE void load(const float *stage, const Position &p, int body, int k)
    {
#pragma unroll
        for (int i = 0; i < LOADS; i++)
            load(stage, p, body, k, i);
    }
    GT_DEVICE void fma(int i, int j, int k)
    {
        sum[i][j] = fmaf(x.get(i, k), y.get(j, k), sum[i][j]);
    }
    /* Row (or column, in the orders by columns) `line` of the products of step k. The order of the
     * products decides which operands the register reuse cache holds. */
    static constexpr int LINES = FMA_ORDER < 2 ? TM : TN;
    GT_DEVICE void multiply(int k, int line)
    {
        constexpr int LENGTH = FMA_ORDER < 2 ? TN : TM;
#pragma unroll
        for (int e = 0; e < LENGTH; e++) {
            int at = FMA_ORDER % 2 && line % 2 ? LENGTH - 1 - e : e;
            fma(FMA_ORDER < 2 ? line : at, FMA_ORDER < 2 ? at : line, k);
        }
    }
    GT_DEVICE void multiply(int k)
    {
#pragma unroll
        for (int line = 0; line < LINES; line++)
            multiply(k, line);
    }
    /* The products of step k with the loads of another step between their lines. */
    GT_DEVICE void multiply_and_load(int k, const float *stage, const Position &p, int body,
                                     int k_load)
    {
#pragma unroll
        for (int line = 0; line < LINES; line++) {
#pragma unroll
            for (int i = 0; i < LOADS; i++)
                if (i * LINES / LOADS == line)
                    load(stage, p, body, k_load, LOAD_ORDER ? LOADS - 1 - i : i);
            multiply(k, line);
        }
    }
};

/* The block's share of the product: which tile, and which k. */
struct Work {
    long long row, column; /* of X and Y */
    long long rows, columns;
    long long k, k_end;
};

GT_DEVICE int clamp(long long value, int limit)
{
    return value < limit ? (int)value : limit;
}

/* Sums X Y over the block's k into acc, the ring of stages running ahead of the arithmetic. */
GT_DEVICE void accumulate(const gt_args &args, const Work &work, long long batch, float *ring,
                          const Position &p, Accumulator &acc)
{
    const float *a = gt_matrix_a(args, batch), *b = gt_matrix_b(args, batch);
    long long ld_x = SWAP_AB ? args.ldb : args.lda, ld_y = SWAP_AB ? args.lda : args.ldb;
    constexpr bool X_ALONG = SWAP_AB ? GT_TRANS_B == 1 : GT_TRANS_A == 0;
    constexpr bool Y_ALONG = SWAP_AB ? GT_TRANS_A == 0 : GT_TRANS_B == 1;
    long long step_x = X_ALONG ? BK : BK * ld_x, step_y = Y_ALONG ? BK : BK * ld_y;
    int x_left = clamp(work.rows - work.row, BM), y_left = clamp(work.columns - work.column, BN);
    const int depth = (int)(work.k_end - work.k), tiles = (depth + BK - 1) / BK;
    const int whole_x = X::whole_across(x_left) ? depth / BK : 0; /* tiles */
    const int whole_y = Y::whole_across(y_left) ? depth / BK : 0;
    X x;
    Y y;

    x.init(SWAP_AB ? b : a, ld_x, work.row, work.k, x_left);
    y.init(SWAP_AB ? a : b, ld_y, work.column, work.k, y_left);
    int fill = 0, use = 0; /* stages written and read next */
    auto begin = [&](int stage, int tile) {
        float *to = ring + stage * STAGE;
        x.begin(to, step_x, tile < whole_x, x_left, depth - tile * BK);
        y.begin(to + X::SIZE, step_y, tile < whole_y, y_left, depth - tile * BK);
    };
    auto end = [&](int stage, int part, int parts) {
        x.end(ring + stage * STAGE, part, parts);
        y.end(ring + stage * STAGE + X::SIZE, part, parts);
    };
#pragma unroll 1
    for (int s = 0; s < STAGES - 1; s++) {
        if (s < tiles) {
            begin(s, s);
            end(s, 0, 1);
        }
        cp_async_commit();
    }
    fill = STAGES - 1;
    if (REG_DOUBLE) {
        cp_async_wait<STAGES - 2>();
        gt_sync();
        acc.load(ring, p, 0, 0);
    }
#pragma unroll 1
    for (int tile = 0; tile < tiles; tile++) {
        if (!REG_DOUBLE) {
            cp_async_wait<STAGES - 2>();
            gt_sync();
        }
#pragma unroll 1
        for (int body = 0; body < STEPS; body += BODY) {
            const bool last = BODY == STEPS || body == STEPS - BODY;
            const float *now = ring + use * STAGE;
            int next_body = last ? 0 : body + BODY;
#pragma unroll
            for (int k = 0; k < BODY; k++) {
                /* After the last tile this stores old values where nobody reads: cheaper than a
                 * branch. */
                if (k >= END_FIRST && k < END_FIRST + END_PARTS && last)
                    end(fill, k - END_FIRST, END_PARTS);
                if (REG_DOUBLE && k == BODY - 1) {
                    if (last) {
                        cp_async_wait<STAGES - 2>();
                        gt_sync();
                        use = use + 1 == STAGES ? 0 : use + 1;
                        fill = fill + 1 == STAGES ? 0 : fill + 1;
                    }
                    now = ring + use * STAGE;
                }
                if (!REG_DOUBLE)
                    acc.load(now, p, body, k);
                if (k == 0 && (BODY == STEPS || body == 0)) {
                    if (tile + STAGES - 1 < tiles)
                        begin(fill, tile + STAGES - 1);
                    cp_async_commit();
                }
                if (REG_DOUBLE)
                    acc.multiply_and_load(k, now, p, k == BODY - 1 ? next_body : body,
                                          (k + 1) % BODY);
                else
                    acc.multiply(k);
            }
        }
        if (!REG_DOUBLE) {
            use = use + 1 == STAGES ? 0 : use + 1;
            fill = fill + 1 == STAGES ? 0 : fill + 1;
        }
    }
}

/* Adds the sums of the other slices of k to those of slice 0, in the order of the slices. */
GT_DEVICE void add_slices(float *shared, const Position &p, Accumulator &acc)
{
    constexpr int PER_SLICE = THREADS / WARPS_K;
    int thread = threadIdx.x % PER_SLICE;

    gt_sync(); /* the last tile has been read */
    if (p.slice > 0)
#pragma unroll
        for (int e = 0; e < TM * TN; e++)
            shared[((p.slice - 1) * TM * TN + e) * PER_SLICE + thread] = acc.sum[e / TN][e % TN];
    gt_sync();
    if (p.slice == 0)
        for (int s = 0; s < WARPS_K - 1; s++)
#pragma unroll
            for (int e = 0; e < TM * TN; e++)
                acc.sum[e / TN][e % TN] += shared[(s * TM * TN + e) * PER_SLICE + thread];
}

/* Elements between rows of a partial result in the workspace: whole 16-byte pieces. */
GT_DEVICE long long partial_ld(const gt_args &args)
{
    return (args.n + 3) / 4 * 4;
}

/* Output of one matrix whose sums have been multiplied by alpha already. The product with alpha
 * comes first of all, so that wide stores take their values from other registers than the sums:
 * the sums themselves, tied into aligned groups of four, would meet in the register banks. */
GT_DEVICE gt_output scaled_output(const gt_args &args, long long batch)
{
    gt_output output = gt_output_of(args, batch);
    output.alpha = 1.0f;
    return output;
}

/* Finishes and stores N elements of a row: of D, of a partial result, or by atomics into D. All N
 * of them exist. sum: times alpha; c: the elements of C, where beta is not 0. */
template <int N>
GT_DEVICE void store(const gt_args &args, const gt_output &output, long long batch, long long row,
                     long long column, const float *sum, const float *c)
{
    if constexpr (SPLIT_MODE == 1) {
        float *partial = static_cast<float *>(args.workspace) +
                         ((blockIdx.y * args.batch + batch) * args.m + row) * partial_ld(args);
        gt_store<N>(partial + column, sum);
    } else if constexpr (SPLIT_MODE == 2) {
#pragma unroll
        for (int u = 0; u < N; u++)
            atomicAdd(output.d + row * output.ldc + column + u, sum[u]);
    } else {
        float value[N];
#pragma unroll
        for (int u = 0; u < N; u++)
            value[u] = gt_epilogue(output, sum[u], c[u], column + u);
        gt_store<N>(output.d + row * output.ldc + column, value);
    }
}

/* The elements of a lane in the block's tile, and which of them are neighbours in a row of D: along
 * the columns of Y or, transposed, the rows of X. */
struct Lane {
    typedef Fragment<X, TM, LANES_M> Rows;
    typedef Fragment<Y, TN, LANES_N> Columns;
    static constexpr int RUN =
        SWAP_AB ? (Rows::ALONG_K ? 1 : Rows::PIECE) : (Columns::ALONG_K ? 1 : Columns::PIECE);
    static constexpr int N = RUN < VEC_C ? RUN : VEC_C;
    static constexpr int STEP_I = SWAP_AB ? N : 1, STEP_J = SWAP_AB ? 1 : N;

    /* Row and column in D of element i, j. */
    static GT_DEVICE long long row(const Work &work, const Position &p, int i, int j)
    {
        return SWAP_AB ? work.column + p.column + Columns::at(j, p.lane_column)
                       : work.row + p.row + Rows::at(i, p.lane_row);
    }
    static GT_DEVICE long long column(const Work &work, const Position &p, int i, int j)
    {
        return SWAP_AB ? work.row + p.row + Rows::at(i, p.lane_row)
                       : work.column + p.column + Columns::at(j, p.lane_column);
    }
};

/* A tile that lies in D as a whole. */
template <bool READ_C>
GT_DEVICE void store_whole(const gt_args &args, const Work &work, long long batch,
                           const Position &p, const Accumulator &acc)
{
    const gt_output output = scaled_output(args, batch);
#pragma unroll
    for (int i = 0; i < TM; i += Lane::STEP_I)
#pragma unroll
        for (int j = 0; j < TN; j += Lane::STEP_J) {
            long long row = Lane::row(work, p, i, j), column = Lane::column(work, p, i, j);
            float sum[Lane::N], c[Lane::N] = {};
#pragma unroll
            for (int u = 0; u < Lane::N; u++)
                sum[u] = args.alpha * (SWAP_AB ? acc.sum[i + u][j] : acc.sum[i][j + u]);
            if (READ_C)
                gt_load<Lane::N>(c, output.c + row * output.ldc + column);
            store<Lane::N>(args, output, batch, row, column, sum, c);
        }
}

/* A tile at the edge, element by element: a rolled loop over the rows of a copy of the sums in
 * local memory, because this code is rarely run and should not fill the instruction cache. */
GT_DEVICE void store_edge(const gt_args &args, const Work &work, long long batch, const Position &p,
                          const Accumulator &acc)
{
    constexpr int ROWS = SWAP_AB ? TN : TM, LENGTH = SWAP_AB ? TM : TN;
    const gt_output output = scaled_output(args, batch);
    float copy[ROWS][LENGTH];
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < TN; j++)
            copy[SWAP_AB ? j : i][SWAP_AB ? i : j] = args.alpha * acc.sum[i][j];
#pragma unroll 1
    for (int r = 0; r < ROWS; r++) {
        long long row = Lane::row(work, p, r, r);
        if (row >= args.m)
            continue;
#pragma unroll
        for (int e = 0; e < LENGTH; e++) {
            long long column = Lane::column(work, p, e, e);
            if (column < args.n) {
                float c = 0.0f;
                if (SPLIT_MODE == 0 && output.beta != 0.0f)
                    c = output.c[row * output.ldc + column];
                store<1>(args, output, batch, row, column, &copy[r][e], &c);
            }
        }
    }
}

GT_DEVICE void store_tile(const gt_args &args, const Work &work, long long batch, const Position &p,
                          const Accumulator &acc)
{
    bool whole = work.row + BM <= work.rows && work.column + BN <= work.columns;
    if (!whole)
        store_edge(args, work, batch, p, acc);
    else if (SPLIT_MODE == 0 && args.beta != 0.0f)
        store_whole<true>(args, work, batch, p, acc);
    else
        store_whole<false>(args, work, batch, p, acc);
}

/* The tile of this block and, with split-K, its part of the tiles along k. */
GT_DEVICE Work work_of(const gt_args &args)
{
    Work work;
    work.rows = SWAP_AB ? args.n : args.m;
    work.columns = SWAP_AB ? args.m : args.n;
    unsigned tile_rows = (unsigned)gt_cdiv(work.rows, BM);
    unsigned tile_columns = (unsigned)gt_cdiv(work.columns, BN);
    gt_tile tile;
    if (ORDER == 0) {
        tile = gt_raster(blockIdx.x, tile_rows, tile_columns, GROUP_M);
    } else {
        gt_tile turned = gt_raster(blockIdx.x, tile_columns, tile_rows, GROUP_M);
        tile.row = turned.column;
        tile.column = turned.row;
    }
    work.row = tile.row * BM;
    work.column = tile.column * BN;
    long long depth = gt_depth(args);
    long long share = SPLIT_MODE == 0 ? depth : gt_cdiv(gt_cdiv(depth, BK), SPLIT_K) * BK;
    work.k = SPLIT_MODE == 0 ? 0 : blockIdx.y * share;
    work.k = work.k < depth ? work.k : depth;
    work.k_end = work.k + share < depth ? work.k + share : depth;
    return work;
}

#if MAX_REGS > 0
GT_KERNEL(gemm) /* launch bounds would overrule the limit */
#else
GT_KERNEL_BOUNDS(gemm, THREADS, MIN_BLOCKS)
#endif
{
    GT_DYNAMIC_SHARED(float, shared);
    const Position p = position();
    const Work work = work_of(args);

    for (long long batch = blockIdx.z; batch < args.batch; batch += gridDim.z) {
        Accumulator acc;
        acc.clear();
        accumulate(args, work, batch, shared, p, acc);
        cp_async_wait<0>();
        if (WARPS_K > 1)
            add_slices(shared, p, acc);
        if (p.slice == 0)
            store_tile(args, work, batch, p, acc);
        gt_sync(); /* the ring is filled anew for the next matrix */
    }
}

#if SPLIT_MODE == 1
/* D from the partial results: they are added in the order of the splits. */
GT_KERNEL(reduce)
{
    long long ld = partial_ld(args), pieces = args.batch * args.m * (ld / 4);
    long long stride = args.batch * args.m * ld; /* between splits */
    const float *partial = static_cast<const float *>(args.workspace);

    for (long long piece = blockIdx.x * (long long)blockDim.x + threadIdx.x; piece < pieces;
         piece += (long long)gridDim.x * blockDim.x) {
        long long row = piece / (ld / 4), column = piece % (ld / 4) * 4;
        gt_output output = scaled_output(args, row / args.m);
        float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        for (int s = 0; s < SPLIT_K; s++) {
            float value[4];
            gt_load<4>(value, partial + s * stride + row * ld + column);
#pragma unroll
            for (int u = 0; u < 4; u++)
                sum[u] += value[u];
        }
#pragma unroll
        for (int u = 0; u < 4; u += VEC_C)
            gt_output_store<VEC_C>(output, row % args.m, column + u, sum + u);
    }
}
#endif

#if SPLIT_MODE == 2
/* D = beta*C (+ bias), which the splits then add to. */
GT_KERNEL(prepare)
{
    long long columns = gt_cdiv(args.n, VEC_C), pieces = args.batch * args.m * columns;

    for (long long piece = blockIdx.x * (long long)blockDim.x + threadIdx.x; piece < pieces;
         piece += (long long)gridDim.x * blockDim.x) {
        long long row = piece / columns, column = piece % columns * VEC_C;
        const float zero[VEC_C] = {};
        gt_output_store<VEC_C>(gt_output_of(args, row / args.m), row % args.m, column, zero);
    }
}
#endif
