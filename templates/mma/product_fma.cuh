/* product_fma.cuh - part of tile.cu, whose parameters it uses: the product of two tiles on CUDA
 * cores. 16 threads lie side by side along n; each has every (THREADS / 16)th row and one of
 * every 16 vectors of columns. */
#ifndef GT_MMA_PRODUCT_FMA_CUH
#define GT_MMA_PRODUCT_FMA_CUH

struct Product {
    static constexpr int ACROSS = 16, DOWN = THREADS / ACROSS;
    static constexpr int ROWS = BM / DOWN, COLUMNS = BN / ACROSS; /* of a thread */
    static constexpr int SIDE = COLUMNS < 4 ? COLUMNS : 4;        /* columns side by side */
    float sum[ROWS][COLUMNS];

    static GT_DEVICE int row(int i)
    {
        return i * DOWN + threadIdx.x / ACROSS;
    }
    static GT_DEVICE int column(int j)
    {
        return j / SIDE * (SIDE * ACROSS) + threadIdx.x % ACROSS * SIDE + j % SIDE;
    }

    GT_DEVICE void clear()
    {
#pragma unroll
        for (int i = 0; i < ROWS; i++)
#pragma unroll
            for (int j = 0; j < COLUMNS; j++)
                sum[i][j] = 0.0f;
    }

    GT_DEVICE void add(const float *tile_a, const float *tile_b)
    {
#pragma unroll 4
        for (int k = 0; k < BK; k++) {
            float a[ROWS], b[COLUMNS];
#pragma unroll
            for (int i = 0; i < ROWS; i++)
                a[i] = ALONG_A ? tile_a[row(i) * LD_A + k] : tile_a[k * LD_A + row(i)];
#pragma unroll
            for (int j = 0; j < COLUMNS; j += SIDE)
                if (ALONG_B)
#pragma unroll
                    for (int u = 0; u < SIDE; u++)
                        b[j + u] = tile_b[column(j + u) * LD_B + k];
                else
                    gt_load<SIDE>(b + j, tile_b + k * LD_B + column(j));
#pragma unroll
            for (int i = 0; i < ROWS; i++)
#pragma unroll
                for (int j = 0; j < COLUMNS; j++)
                    sum[i][j] = fmaf(a[i], b[j], sum[i][j]);
        }
    }

    GT_DEVICE void store(const gt_typed_output &output, long long first_row, long long first_column,
                         char *) const
    {
        constexpr int N = VECTOR < SIDE ? VECTOR : SIDE;
#pragma unroll
        for (int i = 0; i < ROWS; i++)
#pragma unroll
            for (int j = 0; j < COLUMNS; j += N)
                gt_typed_output_store<N>(output, first_row + row(i), first_column + column(j),
                                         &sum[i][j]);
    }
};

#endif
