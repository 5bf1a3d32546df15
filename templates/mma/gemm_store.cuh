/* gemm_store.cuh - part of gemm.cu, whose parameters it uses: stores the sums from registers to D
 * or to a partial result in the workspace, or adds them to D by atomics or through the shared
 * memory of a cluster. */
#ifndef GT_MMA_GEMM_STORE_CUH
#define GT_MMA_GEMM_STORE_CUH

#include "common/cluster.cuh"
#include "mma/gemm_multiply.cuh"

typedef gt_element<GT_OUT>::type Result;
constexpr int OUT_VECTOR = COPY_C / (int)sizeof(Result); /* elements of an access to D */
constexpr int SUM_VECTOR =
    OUT_VECTOR < 4 ? OUT_VECTOR : 4; /* sums of an access, at most 16 bytes */

/* Partial results lie behind the copies of the operands. Their rows are padded to whole vectors of
 * any width. */
GT_DEVICE long long partial_ld(const gt_args &args)
{
    return (args.n + 15) / 16 * 16;
}

GT_DEVICE Sum *partial_sums(const gt_args &args)
{
    return reinterpret_cast<Sum *>(static_cast<char *>(args.workspace) + gt_packed_bytes(args));
}

/* Where a block's sums go. */
struct Target {
    gt_typed_output output;
    Sum *partial; /* of this block's split and matrix */
    long long ld;

    GT_DEVICE Target(const gt_args &args, long long batch)
    {
        output = gt_typed_output_of(args, batch);
        if (SPLIT_MODE == 1) {
            ld = partial_ld(args);
            partial = partial_sums(args) + (blockIdx.y * args.batch + batch) * args.m * ld;
        }
    }

    /* Stores `count` neighbours of a row from a column that is a multiple of count, without those
     * outside of D. */
    template <int count> GT_DEVICE void put(long long row, long long column, const Sum *sum) const
    {
#if SPLIT_MODE == 0 || SPLIT_MODE == 3
        gt_typed_output_store<count>(output, row, column, sum);
#else
#pragma unroll
        for (int u = 0; u < count; u++)
            if (row < output.m && column + u < output.n)
                put_whole<1, false>(row, column + u, sum + u);
#endif
    }

    /* The same where all of them lie in D. */
    template <int count, bool READ_C>
    GT_DEVICE void put_whole(long long row, long long column, const Sum *sum) const
    {
#if SPLIT_MODE == 1
        gt_vec<Sum, count> vector;
#pragma unroll
        for (int u = 0; u < count; u++)
            vector.at[u] = sum[u];
        gt_store_vec<Sum, count>(partial + row * ld + column, vector);
#elif SPLIT_MODE == 2
#pragma unroll
        for (int u = 0; u < count; u++)
            add(output.d + row * output.ldc + column + u, sum[u]);
#else
        gt_vec<Result, count> c, d;
        if (READ_C)
            c = gt_load_vec<Result, count>(output.c + row * output.ldc + column);
        else
            c.word = typename gt_vec<Result, count>::word_type();
#pragma unroll
        for (int u = 0; u < count; u++)
            d.at[u] = gt_typed_finish(output, sum[u], c.at[u], column + u);
        gt_store_vec<Result, count>(output.d + row * output.ldc + column, d);
#endif
    }
    GT_DEVICE void add(float *to, float sum) const
    {
        atomicAdd(to, output.alpha * sum);
    }
    GT_DEVICE void add(int *to, int sum) const
    {
        atomicAdd(to, __float2int_rn(output.alpha) * sum);
    }
};

/* A lane has its sums of a row in VECTORS vectors of neighbours. Vector number `vector` of tile i
 * and half `half` lies in row `group` of this half. */
struct Lane {
    static constexpr bool BY_WORDS = Columns::BY_WORDS;
    static constexpr int VECTOR = BY_WORDS ? 4 : 2;
    static constexpr int VECTORS = WN / 4 / VECTOR;

    static GT_DEVICE int column(const Position &p, int vector)
    {
        return BY_WORDS ? Columns::at(vector / 2 * 4, p.member * 2 + vector % 2)
                        : Columns::at(vector, p.member * 2);
    }
    static GT_DEVICE Sum get(const Accumulator &acc, int i, int half, int vector, int u)
    {
        return BY_WORDS ? acc.get(i, vector / 2 * 4 + u, half, vector % 2)
                        : acc.get(i, vector, half, u);
    }
};

/* Stores a tile straight from registers: one that lies wholly within D, or one of a product whose
 * copies have masks, so that its stores have, too. */
template <bool READ_C>
GT_DEVICE void store_direct(const Target &target, const Work &work, const Position &p,
                            const Accumulator &acc)
{
    constexpr int N = SPLIT_MODE == 0 && OUT_VECTOR < Lane::VECTOR ? OUT_VECTOR : Lane::VECTOR;
#pragma unroll
    for (int i = 0; i < WM / 16; i++)
#pragma unroll
        for (int half = 0; half < 2; half++)
#pragma unroll
            for (int vector = 0; vector < Lane::VECTORS; vector++) {
                long long row = work.row + p.row + Rows::at(i * 2 + half, p.group);
                long long column = work.column + p.column + Lane::column(p, vector);
                Sum sum[Lane::VECTOR];
#pragma unroll
                for (int u = 0; u < Lane::VECTOR; u++)
                    sum[u] = Lane::get(acc, i, half, vector, u);
#pragma unroll
                for (int u = 0; u < Lane::VECTOR; u += N)
                    if constexpr (MASKED)
                        target.put<N>(row, column + u, sum + u);
                    else
                        target.put_whole<N, READ_C>(row, column + u, sum + u);
            }
}

/* Stores `count` neighbours of the tile without the elements that another block stores. */
template <int count>
GT_DEVICE void put_own(const Target &target, const Work &work, int row, int column, const Sum *sum)
{
    if (row < work.skip_rows)
        return;
    if (column >= work.skip_columns) {
        target.put<count>(work.row + row, work.column + column, sum);
        return;
    }
#pragma unroll
    for (int u = 0; u < count; u++)
        if (column + u >= work.skip_columns)
            target.put<1>(work.row + row, work.column + column + u, sum + u);
}

/* 16 rows of a warp tile. Their sums go through shared memory, so that each lane stores the widest
 * vector that D allows and a warp stores whole rows. Tiles at the edge go this way, too, because a
 * loop over masked vectors is short code. */
struct Slab {
    static constexpr int PITCH = WN + 8; /* 8 rows of pairs lie in different banks */
    static constexpr int STORES = 16 * WN / OUT_VECTOR;

    static GT_DEVICE void fill(Sum *slab, const Position &p, const Accumulator &acc, int i)
    {
#pragma unroll
        for (int half = 0; half < 2; half++)
#pragma unroll
            for (int vector = 0; vector < Lane::VECTORS; vector++) {
                gt_vec<Sum, Lane::VECTOR> sums;
#pragma unroll
                for (int u = 0; u < Lane::VECTOR; u++)
                    sums.at[u] = Lane::get(acc, i, half, vector, u);
                gt_store_vec<Sum, Lane::VECTOR>(
                    slab + (half * 8 + p.group) * PITCH + Lane::column(p, vector), sums);
            }
    }
    static GT_DEVICE void empty(const Sum *slab, const Target &target, const Work &work,
                                const Position &p, int i)
    {
#pragma unroll 1
        for (int first = 0; first < STORES; first += 32) {
            int store = first + p.group * 4 + p.member;
            int row = store / (WN / OUT_VECTOR), column = store % (WN / OUT_VECTOR) * OUT_VECTOR;
            Sum sum[OUT_VECTOR];
            if (STORES % 32 && store >= STORES)
                break;
#pragma unroll
            for (int u = 0; u < OUT_VECTOR; u += SUM_VECTOR) {
                gt_vec<Sum, SUM_VECTOR> vector =
                    gt_load_vec<Sum, SUM_VECTOR>(slab + row * PITCH + column + u);
#pragma unroll
                for (int v = 0; v < SUM_VECTOR; v++)
                    sum[u + v] = vector.at[v];
            }
            put_own<OUT_VECTOR>(target, work, p.row + Rows::at(i * 2 + row / 8, row % 8),
                                p.column + column, sum);
        }
    }
};

GT_DEVICE void store_by_rows(const Target &target, const Work &work, char *shared,
                             const Position &p, const Accumulator &acc)
{
    Sum *slab = reinterpret_cast<Sum *>(shared) + threadIdx.x / 32 * (16 * Slab::PITCH);
#pragma unroll
    for (int i = 0; i < WM / 16; i++) {
        Slab::fill(slab, p, acc, i);
        __syncwarp();
        Slab::empty(slab, target, work, p, i);
        __syncwarp();
    }
}

/* Only the warps of slice 0 call this: they have the sums. */
GT_DEVICE void store_tile(const gt_args &args, const Work &work, long long batch, char *shared,
                          const Position &p, const Accumulator &acc)
{
    const Target target(args, batch);
    bool whole = work.row + BM <= args.m && work.column + BN <= args.n && work.skip_rows == 0 &&
                 work.skip_columns == 0;
    if (STORE == 1 || !(MASKED || whole))
        store_by_rows(target, work, shared, p, acc);
    else if (!MASKED && SPLIT_MODE == 0 && args.beta != 0.0f)
        store_direct<true>(target, work, p, acc);
    else
        store_direct<false>(target, work, p, acc);
}

#if SPLIT_MODE == 3

/* The sums of a lane that are stored together: PER_THREAD vectors of neighbours of a row of D. Each
 * thread leaves its own in shared memory, where a warp's lie next to each other. */
struct Part {
    static constexpr int N = OUT_VECTOR < Lane::VECTOR ? OUT_VECTOR : Lane::VECTOR;
    static constexpr int OF_ROW = Lane::VECTORS * Lane::VECTOR / N;
    static constexpr int PER_THREAD = WM / 8 * OF_ROW;
    static constexpr int OWNERS = THREADS / WARPS_K; /* threads that have sums */

    static GT_DEVICE void fill(float *own, const Accumulator &acc)
    {
#pragma unroll
        for (int e = 0; e < PER_THREAD; e++) {
            const int half = e / OF_ROW, at = e % OF_ROW * N;
            float bits[N];
#pragma unroll
            for (int u = 0; u < N; u++)
                bits[u] = word_of(Lane::get(acc, half / 2, half % 2, (at + u) / Lane::VECTOR,
                                            (at + u) % Lane::VECTOR));
            gt_store<N>(own + e * OWNERS * N, bits);
        }
    }
    static GT_DEVICE float word_of(float sum)
    {
        return sum;
    }
    static GT_DEVICE float word_of(int sum)
    {
        return __uint_as_float((unsigned)sum);
    }
    static GT_DEVICE void add(float &sum, float word)
    {
        sum += word;
    }
    static GT_DEVICE void add(int &sum, float word)
    {
        sum += (int)__float_as_uint(word);
    }
};

/* Adds the sums of all blocks of the cluster, always in the same order, and stores the vectors that
 * belong to this block: numbers blockIdx.y, blockIdx.y + SPLIT_K, ... of every thread. */
GT_DEVICE void store_part(const gt_args &args, const Work &work, long long batch, char *shared,
                          const Position &p, const Accumulator &acc)
{
    const Target target(args, batch);
    float *const own =
        reinterpret_cast<float *>(shared) + threadIdx.x % Part::OWNERS * Part::N;

    if (p.slice == 0)
        Part::fill(own, acc);
    gt_cluster_sync();
#pragma unroll 1
    for (int e = blockIdx.y; e < Part::PER_THREAD && p.slice == 0; e += SPLIT_K) {
        const int half = e / Part::OF_ROW, at = e % Part::OF_ROW * Part::N;
        Sum sum[Part::N] = {};
        for (int rank = 0; rank < SPLIT_K; rank++) {
            float part[Part::N];
            gt_cluster_load<Part::N>(part, own + e * Part::OWNERS * Part::N, rank);
#pragma unroll
            for (int u = 0; u < Part::N; u++)
                Part::add(sum[u], part[u]);
        }
        put_own<Part::N>(target, work, p.row + Rows::at(half, p.group),
                         p.column + Lane::column(p, at / Lane::VECTOR) + at % Lane::VECTOR, sum);
    }
    gt_cluster_sync(); /* the others read this block's sums until they are done */
}

#endif

#endif
