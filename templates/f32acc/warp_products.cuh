/* warp_products.cuh - of f32acc/warp.cu: a warp's products, the loop over k, and the stores. */
#ifndef GT_F32ACC_WARP_PRODUCTS_CUH
#define GT_F32ACC_WARP_PRODUCTS_CUH

constexpr int STAGE = Rows::FLOATS + Columns::FLOATS;

/* The block's tile of D and part of the depth. */
struct Work {
    long long row, column;
    long long k, k_end;
};

/* The place of this warp's tile in the block's. */
GT_DEVICE int warp_row()
{
    return threadIdx.x / 32 / WARPS_N * WM;
}
GT_DEVICE int warp_column()
{
    return threadIdx.x / 32 % WARPS_N * WN;
}

/* A warp's sums: a lane has four of each 16 x 8 elements of D (mma.cuh). */
struct Sums {
    static constexpr int COLUMNS_8 = Columns::ALONG_K ? 2 : 4; /* blocks that are loaded at once */
    static_assert(WN % (8 * COLUMNS_8) == 0, "whole loads");
    float sum[WM / 16][WN / 8][4] = {};
    float largest = 0.0f;

    /* Adds the products of all rows and JOINED blocks of columns, 16 deep: first six products of
     * parts, the smallest first, on the tensor cores, then their sum in FP32. Neighbouring
     * instructions are independent of each other. */
    template <int JOINED> GT_DEVICE void add(const Quad *a, const Quad *b, int first)
    {
        constexpr unsigned A_OF = 0x010120, B_OF = 0x001102; /* digit i: the part in product i */
        float step[WM / 16][JOINED][4] = {};
#pragma unroll
        for (int p = 0; p < 6; p++) {
            const int x = A_OF >> 4 * p & 15, y = B_OF >> 4 * p & 15;
#pragma unroll
            for (int j = 0; j < JOINED; j++)
#pragma unroll
                for (int i = 0; i < WM / 16; i++) {
                    const unsigned left[4] = {a[2 * i].part[x][0], a[2 * i + 1].part[x][0],
                                              a[2 * i].part[x][1], a[2 * i + 1].part[x][1]};
                    const unsigned right[2] = {b[j].part[y][0], b[j].part[y][1]};
                    gt_mma_m16n8k16_bf16_f32(step[i][j], left, right);
                }
        }
#pragma unroll
        for (int j = 0; j < JOINED; j++)
#pragma unroll
            for (int i = 0; i < WM / 16; i++)
#pragma unroll
                for (int e = 0; e < 4; e++)
                    sum[i][first + j][e] += step[i][j][e];
    }

    /* Adds the products of one tile. */
    GT_DEVICE void add_tile(const float *tile)
    {
        constexpr int JOINED = WM == 16 ? COLUMNS_8 : 2;
#pragma unroll 1 /* else the compiler loads and splits far ahead, and spills */
        for (int step = 0; step < BK / 16; step++) {
            Quad a[WM / 8];
            Rows::load(a, tile, warp_row(), 0, step, largest);
#pragma unroll
            for (int first = 0; first < WN / 8; first += COLUMNS_8) {
                Quad b[COLUMNS_8];
                Columns::load(b, tile + Rows::FLOATS, warp_column(), first, step, largest);
#pragma unroll
                for (int j = 0; j < COLUMNS_8; j += JOINED)
                    add<JOINED>(a, b + j, first + j);
            }
        }
    }

    /* Whether an operand of the warp has no parts, or a sum is beyond float; the same for all
     * lanes. */
    GT_DEVICE bool is_special() const
    {
        Zeros zeros;
#pragma unroll
        for (int i = 0; i < WM / 16; i++)
#pragma unroll
            for (int j = 0; j < WN / 8; j++)
                zeros.see<4>(sum[i][j]);
        return any_lane(largest >= NO_PARTS || zeros.gone());
    }

    /* A lane's sums of a row are neighbours, in pairs or, along n, in fours. */
    GT_DEVICE void store(const Work &work, const Target &target) const
    {
        constexpr int VECTOR = Columns::ALONG_K ? 2 : 4;
        const int group = threadIdx.x % 32 / 4, member = threadIdx.x % 4;
#pragma unroll
        for (int block = 0; block < WM / 8; block++)
#pragma unroll
            for (int v = 0; v < WN / 4 / VECTOR; v++) {
                const int first = VECTOR == 4 ? v / 2 * 4 : v, e = VECTOR == 4 ? v % 2 : 0;
                float value[VECTOR];
#pragma unroll
                for (int u = 0; u < VECTOR; u++)
                    value[u] = sum[block / 2][first + (VECTOR == 4 ? u : 0)]
                                  [block % 2 * 2 + (VECTOR == 4 ? e : u)];
                target.put<VECTOR>(work.row + warp_row() + Rows::at(block, group),
                                   work.column + warp_column() + Columns::at(first, member * 2 + e),
                                   value);
            }
    }
};

/* Adds up the block's part of the depth; the copies to the ring run ahead of the arithmetic. */
GT_DEVICE void multiply(const gt_args &args, const Work &work, long long batch, float *shared,
                        Sums &sums)
{
    const float *a = gt_matrix_a(args, batch) + gt_offset_a(args, work.row, work.k);
    const float *b = gt_matrix_b(args, batch) + gt_offset_b(args, work.k, work.column);
    const long long step_a = GT_TRANS_A ? BK * args.lda : BK;
    const long long step_b = GT_TRANS_B ? BK : BK * args.ldb;
    const int left_a = (int)min(args.m - work.row, (long long)BM);
    const int left_b = (int)min(args.n - work.column, (long long)BN);
    int k_left = (int)(work.k_end - work.k);
    const int tiles = (k_left + BK - 1) / BK;
    int filled = 0; /* stages: index of the next one in the ring */

    auto fill_next = [&](int tile) {
        if (tile < tiles) {
            float *stage = shared + filled * STAGE;
            Rows::fill(stage, a, args.lda, left_a, k_left);
            Columns::fill(stage + Rows::FLOATS, b, args.ldb, left_b, k_left);
            a += step_a;
            b += step_b;
            k_left -= BK;
        }
        gt_cp_async_commit();
        filled = filled + 1 == STAGES ? 0 : filled + 1;
    };

#pragma unroll
    for (int tile = 0; tile < STAGES - 1; tile++)
        fill_next(tile);
    int use = 0;
#pragma unroll 1
    for (int tile = 0; tile < tiles; tile++) {
        gt_cp_async_wait<STAGES - 2>();
        gt_sync(); /* the tile has arrived, and the one before has been read */
        fill_next(tile + STAGES - 1);
        sums.add_tile(shared + use * STAGE);
        use = use + 1 == STAGES ? 0 : use + 1;
    }
    gt_cp_async_wait<0>();
}

/* Computes the warp's tile from A and B themselves. */
GT_DEVICE void store_special(const gt_args &args, const Work &work, long long batch,
                             const Target &target)
{
    for (int e = threadIdx.x % 32; e < WM * WN; e += 32) {
        const long long row = work.row + warp_row() + e / WN;
        const long long column = work.column + warp_column() + e % WN;
        if (row >= args.m || column >= args.n)
            continue;
        const float sum = exact_element<8>(args, batch, row, column, (int)work.k, (int)work.k_end);
        target.put<1>(row, column, &sum);
    }
}

#endif
