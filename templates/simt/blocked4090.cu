/* blocked4090.cu - beyond the rungs: a study on an RTX 4090, step by step.
 *
 *          <------ BN = 32 * TN = 256 ------>
 *         +----------------------------------+      a block is 32 x 4 threads, a row of them a warp
 *    y 0  | row 0 (or rows 0-3) of D         |      TN = 8 columns a thread: neighbouring lanes own
 *    y 1  | row 1 (or rows 4-7)              |      neighbouring columns, or (SHARED_VEC 4) groups
 *    y 2  | ...                              | BM   of 4
 *    y 3  |                                  | =    TM = 16 rows a thread: every 4th row, or
 *    y 0  | row 4 (or rows 16-19)            | 4*TM (GROUP_ROWS) 4 neighbours of every 16
 *         +----------------------------------+
 *
 * A's tile is m x k in shared memory: the lanes of a warp need the same element of it, which is
 * read once for all of them. The steps, each a point: nothing in shared memory (SHARED 0); tiles
 * in it; C added at the end (INIT_C 0) instead of loaded first; the depth BK; COPY_VEC; SHARED_VEC;
 * A transposed; two buffers; SHARED_FACTOR, more shared memory than is used, so that fewer blocks
 * share an SM; the grouping of rows; the register limit; the arch that the code is made for.
 */

#include "common/gemm.cuh"

#define THREADS 128
#define BM      (4 * TM)
#define BN      (32 * TN)
#define SKEW_A  (TRANSPOSE_A ? (GT_TRANS_A ? 0 : 4) : (GT_TRANS_A ? 4 : 0))
#define SKEW_B  (GT_TRANS_B ? 4 : 0)
#define X_A     (TRANSPOSE_A ? 1 : BK + SKEW_A) /* distance of rows of A in shared memory */
#define K_A     (TRANSPOSE_A ? BM + SKEW_A : 1) /* and of neighbours along k */
#define SIZE_A  (TRANSPOSE_A ? BK * (BM + SKEW_A) : BM * (BK + SKEW_A))
#define LD_B    (BN + SKEW_B)
#define SIZE_B  (BK * LD_B)

/* Row i and column j of the thread, within the block. */
GT_DEVICE int row_of(int i)
{
    int y = threadIdx.x / 32;
    return GROUP_ROWS ? i / 4 * 16 + y * 4 + i % 4 : i * 4 + y;
}

GT_DEVICE int column_of(int j)
{
    int lane = threadIdx.x % 32;
    return SHARED_VEC == 4 ? j / 4 * 128 + lane * 4 + j % 4 : j * 32 + lane;
}

typedef float accumulator[TM][TN];

GT_DEVICE void multiply_row(float (&acc)[TN], float a, const float (&b)[TN])
{
#pragma unroll
    for (int j = 0; j < TN; j++)
        acc[j] = fmaf(a, b[j], acc[j]);
}

GT_DEVICE void load_b(float (&b)[TN], const float *tile_b, int k)
{
#pragma unroll
    for (int j = 0; j < TN; j += SHARED_VEC)
        gt_load<SHARED_VEC>(&b[j], tile_b + k * LD_B + column_of(j));
}

/* A as m x k: 4 values of k at a time, so that a row of A is one load. */
GT_DEVICE void multiply_tile(accumulator &acc, const float *tile_a, const float *tile_b)
{
    [[maybe_unused]] constexpr int factor =
        UNROLL; /* not every compiler expands macros in a pragma */
#pragma unroll factor
    for (int k0 = 0; k0 < BK; k0 += SHARED_VEC) {
        float b[SHARED_VEC][TN];
#pragma unroll
        for (int k = 0; k < SHARED_VEC; k++)
            load_b(b[k], tile_b, k0 + k);
#pragma unroll
        for (int i = 0; i < TM; i++) {
            float a[SHARED_VEC];
            gt_load<SHARED_VEC>(a, tile_a + row_of(i) * X_A + k0 * K_A);
#pragma unroll
            for (int k = 0; k < SHARED_VEC; k++)
                multiply_row(acc[i], a[k], b[k]);
        }
    }
}

/* A as k x m: groups of 4 rows are one load. */
GT_DEVICE void multiply_transposed(accumulator &acc, const float *tile_a, const float *tile_b)
{
    constexpr int ROWS = GROUP_ROWS ? SHARED_VEC : 1;
#pragma unroll
    for (int k = 0; k < BK; k++) {
        float a[TM], b[TN];
        load_b(b, tile_b, k);
#pragma unroll
        for (int i = 0; i < TM; i += ROWS)
            gt_load<ROWS>(&a[i], tile_a + k * K_A + row_of(i) * X_A);
#pragma unroll
        for (int i = 0; i < TM; i++)
            multiply_row(acc[i], a[i], b);
    }
}

/* SHARED 0: every operand straight from global memory. */
GT_DEVICE void multiply_global(accumulator &acc, const gt_args &args, long long first_row,
                               long long first_column, float scale)
{
    const float *a = gt_matrix_a(args, blockIdx.z), *b = gt_matrix_b(args, blockIdx.z);
    long long depth = gt_depth(args);
    /* Rows and columns that do not exist are computed as the last one and not stored. */
    for (long long k = 0; k < depth; k++) {
        float b_values[TN];
#pragma unroll
        for (int j = 0; j < TN; j++) {
            long long column = first_column + column_of(j);
            b_values[j] = __ldg(b + gt_offset_b(args, k, min(column, args.n - 1)));
        }
#pragma unroll
        for (int i = 0; i < TM; i++) {
            long long row = min(first_row + row_of(i), args.m - 1);
            multiply_row(acc[i], scale * __ldg(a + gt_offset_a(args, row, k)), b_values);
        }
    }
}

/* A tile of each operand: from global memory to registers, and on to shared memory. */
struct tiles {
    gt_staged<BM, BK, !GT_TRANS_A, COPY_VEC, THREADS> a;
    gt_staged<BN, BK, GT_TRANS_B, COPY_VEC, THREADS> b;

    GT_DEVICE void load(long long left_m, long long left_n, long long left_k)
    {
        a.load_next(left_m, left_k);
        b.load_next(left_n, left_k);
    }

    /* With INIT_C, alpha goes into A here, for nothing can be scaled later. */
    GT_DEVICE void store(float *to, float scale)
    {
        if (INIT_C)
#pragma unroll
            for (int i = 0; i < a.loads * COPY_VEC; i++)
                a.value[i] *= scale;
        a.template store<X_A, K_A>(to);
        b.template store<1, LD_B>(to + SIZE_A);
    }
};

GT_DEVICE void multiply_shared(accumulator &acc, const gt_args &args, long long first_row,
                               long long first_column, float scale)
{
    GT_DYNAMIC_SHARED(float, shared); /* of each buffer: A's tile, B's tile */
    long long left_m = args.m - first_row, left_n = args.n - first_column;
    long long depth = gt_depth(args);
    tiles next;
    int buffer = 0;
    next.a.begin(gt_matrix_a(args, blockIdx.z) + gt_offset_a(args, first_row, 0), args.lda,
                 threadIdx.x);
    next.b.begin(gt_matrix_b(args, blockIdx.z) + gt_offset_b(args, 0, first_column), args.ldb,
                 threadIdx.x);
    if (BUFFERS == 2 && depth > 0) {
        next.load(left_m, left_n, depth);
        next.store(shared, scale);
        gt_sync();
    }
    for (long long k0 = 0; k0 < depth; k0 += BK) {
        long long left_k = depth - k0 - (BUFFERS == 2 ? BK : 0);
        if (left_k > 0)
            next.load(left_m, left_n, left_k);
        if (BUFFERS == 1) {
            next.store(shared, scale);
            gt_sync();
        }
        const float *tile_a = shared + buffer, *tile_b = tile_a + SIZE_A;
        if (TRANSPOSE_A)
            multiply_transposed(acc, tile_a, tile_b);
        else
            multiply_tile(acc, tile_a, tile_b);
        if (BUFFERS == 2) {
            buffer = SIZE_A + SIZE_B - buffer;
            if (left_k > 0)
                next.store(shared + buffer, scale);
        }
        gt_sync();
    }
}

/* No launch bounds: they would overrule the register limit. */
GT_KERNEL(gemm)
{
    unsigned tiles_n = (unsigned)gt_cdiv(args.n, BN);
    long long first_row = (long long)(blockIdx.x / tiles_n) * BM;
    long long first_column = (long long)(blockIdx.x % tiles_n) * BN;
    gt_output output = gt_output_of(args, blockIdx.z);
    accumulator acc = {};
    float scale = 1.0f;
    if (INIT_C) {
        scale = args.alpha;
        output.alpha = 1.0f;
        output.beta = 0.0f;
#pragma unroll
        for (int i = 0; i < TM; i++)
#pragma unroll
            for (int j = 0; j < TN; j++) {
                long long row = first_row + row_of(i), column = first_column + column_of(j);
                if (args.beta != 0.0f && row < args.m && column < args.n)
                    acc[i][j] = args.beta * output.c[row * args.ldc + column];
            }
    }
    if (SHARED)
        multiply_shared(acc, args, first_row, first_column, scale);
    else
        multiply_global(acc, args, first_row, first_column, scale);

    constexpr int STORE = SHARED_VEC == 4 ? COPY_VEC : 1;
#pragma unroll
    for (int i = 0; i < TM; i++)
#pragma unroll
        for (int j = 0; j < TN; j += STORE)
            gt_output_store<STORE>(output, first_row + row_of(i), first_column + column_of(j),
                                   &acc[i][j]);
}
