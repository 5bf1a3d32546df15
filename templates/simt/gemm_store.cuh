/* gemm_store.cuh - of gemm.cu and tma.cu, whose parameters it uses: stores the sums from registers to D,
 * to a partial result in the workspace, by atomics into D, or through the shared memory of a
 * cluster. */
#ifndef GT_SIMT_GEMM_STORE_CUH
#define GT_SIMT_GEMM_STORE_CUH

#include "common/cluster.cuh"
#include "simt/accumulator.cuh"
#include "simt/work.cuh"

/* Elements between rows of a partial result in the workspace: whole vectors of 16 bytes. */
GT_DEVICE long long partial_ld(const gt_args &args)
{
    return (args.n + 3) / 4 * 4;
}

/* Where the partial results begin: behind copies of operands, if there are any. */
GT_DEVICE float *partial_results(const gt_args &args)
{
#ifdef PACK_A
    return reinterpret_cast<float *>(static_cast<char *>(args.workspace) + gt_packed_bytes(args));
#else
    return static_cast<float *>(args.workspace);
#endif
}

/* Output of one matrix whose sums have been multiplied by alpha already. The product with alpha
 * comes first of all, so that wide stores take their values from other registers than the sums:
 * the sums themselves, in aligned groups of four, would conflict in the register banks. */
GT_DEVICE gt_output scaled_output(const gt_args &args, long long batch)
{
    gt_output output = gt_output_of(args, batch);
    output.alpha = 1.0f;
    return output;
}

/* Finishes N elements of a row, all of which exist, and stores them in D or in a partial result, or
 * adds them to D by atomics. sum: multiplied by alpha; c: the elements of C, if beta is not 0. */
template <int N>
GT_DEVICE void store(const gt_args &args, const gt_output &output, long long batch, long long row,
                     long long column, const float *sum, const float *c)
{
    if constexpr (SPLIT_MODE == 1) {
        float *partial = partial_results(args) +
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

/* The elements of a lane in the block's tile, and how many of them are neighbours in a row of D:
 * along the columns of Y or, in the transposed product, along the rows of X. */
struct Lane {
    typedef Fragment<X, TM, LANES_M> Rows;
    typedef Fragment<Y, TN, LANES_N> Columns;
    static constexpr int NEIGHBOURS =
        SWAP_AB ? (Rows::ALONG_K ? 1 : Rows::VECTOR) : (Columns::ALONG_K ? 1 : Columns::VECTOR);
    static constexpr int N = NEIGHBOURS < VEC_C ? NEIGHBOURS : VEC_C;
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

/* Stores a tile that lies wholly within D or, if CLIP, one of which some rows of X lie outside. */
template <bool READ_C, bool CLIP>
GT_DEVICE void store_whole(const gt_args &args, const Work &work, long long batch,
                           const Position &p, const Accumulator &acc)
{
    const gt_output output = scaled_output(args, batch);
#pragma unroll
    for (int i = 0; i < TM; i += Lane::STEP_I) {
        if (CLIP && work.row + p.row + Lane::Rows::at(i, p.lane_row) >= work.rows)
            continue;
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
}

/* Stores a tile at the edge element by element. This code runs rarely and should not fill the
 * instruction cache: it is a rolled loop over the rows of a copy of the sums in local memory. */
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

template <bool CLIP>
GT_DEVICE void store_whole_columns(const gt_args &args, const Work &work, long long batch,
                                   const Position &p, const Accumulator &acc)
{
    if (SPLIT_MODE == 0 && args.beta != 0.0f)
        store_whole<true, CLIP>(args, work, batch, p, acc);
    else
        store_whole<false, CLIP>(args, work, batch, p, acc);
}

GT_DEVICE void store_tile(const gt_args &args, const Work &work, long long batch, const Position &p,
                          const Accumulator &acc)
{
    /* Where BM was chosen to fit few rows, every tile may lack some. */
    constexpr bool clipped = TM > 4 && TM % 4 != 0;
    bool whole = work.row + BM <= work.rows && work.column + BN <= work.columns;
    if (clipped && work.column + BN <= work.columns && work.rows % Lane::STEP_I == 0)
        store_whole_columns<true>(args, work, batch, p, acc);
    else if (!whole)
        store_edge(args, work, batch, p, acc);
    else
        store_whole_columns<false>(args, work, batch, p, acc);
}

/* Adds the sums of all blocks of the cluster and stores the vectors that belong to this block:
 * numbers blockIdx.y, blockIdx.y + SPLIT_K, ... of every lane. */
GT_DEVICE void store_part(const gt_args &args, const Work &work, long long batch, float *shared,
                          const Position &p, const Accumulator &acc)
{
    constexpr int PER_SLICE = THREADS / WARPS_K, N = Lane::N;
    constexpr int LENGTH = SWAP_AB ? TM : TN, VECTORS = TM * TN / N;
    const gt_output output = scaled_output(args, batch);
    float *own = shared + threadIdx.x % PER_SLICE * N;

    gt_sync(); /* the ring, or the sums of other slices, have been read */
    if (p.slice == 0)
#pragma unroll
        for (int e = 0; e < TM * TN; e += N) {
            int i = SWAP_AB ? e % LENGTH : e / LENGTH, j = SWAP_AB ? e / LENGTH : e % LENGTH;
            float sum[N];
#pragma unroll
            for (int u = 0; u < N; u++)
                sum[u] = args.alpha * (SWAP_AB ? acc.sum[i + u][j] : acc.sum[i][j + u]);
            gt_store<N>(own + e * PER_SLICE, sum);
        }
    gt_cluster_sync();
#pragma unroll 1
    for (int vector = blockIdx.y; vector < VECTORS && p.slice == 0; vector += SPLIT_K) {
        int e = vector * N;
        int i = SWAP_AB ? e % LENGTH : e / LENGTH, j = SWAP_AB ? e / LENGTH : e % LENGTH;
        long long row = Lane::row(work, p, i, j), column = Lane::column(work, p, i, j);
        float sum[N] = {};
        for (int rank = 0; rank < SPLIT_K; rank++) {
            float part[N];
            gt_cluster_load<N>(part, own + e * PER_SLICE, rank);
#pragma unroll
            for (int u = 0; u < N; u++)
                sum[u] += part[u];
        }
        gt_output_store<N>(output, row, column, sum);
    }
    gt_cluster_sync();
}

#endif
