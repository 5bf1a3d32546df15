/* factors.cuh - of hopper_scaled/gemm.cu: multiplies a consumer's sums by the factors of the rows and
 * columns of what is computed.
 *
 * A thread has sums of two rows of each 64 and of BN / 4 columns, so that their factors would need
 * many registers, or would be waited for at the tile's end. So the consumer copies them to shared
 * memory, behind the barriers, when it begins a tile, and reads them there:
 *
 *   FACTORS_AT
 *   +--------------+------------+--------------+------------+
 *   | ROWS factors | BN factors | ROWS factors | BN factors |      4 bytes each
 *   +--------------+------------+--------------+------------+
 *     consumer 0                  consumer 1
 */
#ifndef GT_HOPPER_SCALED_FACTORS_CUH
#define GT_HOPPER_SCALED_FACTORS_CUH

/* Kinds of the factors of rows and of columns of what is computed, D or D^T. (Enums leave no symbols
 * in machine code.) */
enum {
    HAS_FACTORS = GT_FACTORS_A || GT_FACTORS_B,
    FACTORS_A = GT_FACTORS_A ? GT_SCALE_A : GT_SCALE_NONE,
    FACTORS_B = GT_FACTORS_B ? GT_SCALE_B : GT_SCALE_NONE,
    OF_ROWS = SWAP_AB ? FACTORS_B : FACTORS_A,
    OF_COLUMNS = SWAP_AB ? FACTORS_A : FACTORS_B
};
constexpr int FACTORS_AT = BARRIERS_AT + 16 * STAGES + 16;

struct Factors {
    float *rows, *columns; /* the consumer's, in shared memory */

    GT_DEVICE Factors(const Ring &ring, int consumer)
    {
        rows = reinterpret_cast<float *>(ring.stages + FACTORS_AT) + consumer * (ROWS + BN);
        columns = rows + ROWS;
    }

    /* Copies `count` factors from number `first` of `all` on. */
    template <int kind, int count>
    static GT_DEVICE void copy(float *to, const void *factors, unsigned first, unsigned all)
    {
        const float *const from = static_cast<const float *>(factors);
        if (kind == GT_SCALE_NONE)
            return;
#pragma unroll
        for (int i = 0; i < count; i += 128) {
            const int at = i + (int)threadIdx.x % 128;
            if (count % 128 == 0 || at < count)
                gt_cp_async_whole<4>(to + at, from + (kind == GT_SCALE_TENSOR
                                                          ? 0
                                                          : min(first + (unsigned)at, all - 1)));
        }
    }

    /* Begins the copies for a tile. */
    GT_DEVICE void load(const gt_args &product, const gt_more &more, const Work &work,
                        int consumer) const
    {
        if (!HAS_FACTORS)
            return;
        copy<OF_ROWS, ROWS>(rows, SWAP_AB ? more.scale_b : more.scale_a,
                            (unsigned)(work.row + (PINGPONG ? 0 : consumer * ROWS)),
                            (unsigned)product.m);
        copy<OF_COLUMNS, BN>(columns, SWAP_AB ? more.scale_a : more.scale_b, (unsigned)work.column,
                             (unsigned)product.n);
        gt_cp_async_commit();
    }

    /* Multiplies the sums by the tile's factors. */
    GT_DEVICE void scale(int consumer, Sum (*sum)[BN / 2]) const
    {
        const int lane = (int)threadIdx.x % 32, first = (int)threadIdx.x % 128 / 32 * 16 + lane / 4;
        float row[BLOCKS_64 * 2];

        if (!HAS_FACTORS)
            return;
        gt_cp_async_wait<0>();
        gt_named_barrier_sync(1 + consumer, 128);
#pragma unroll
        for (int r = 0; r < BLOCKS_64 * 2; r++)
            row[r] = OF_ROWS != GT_SCALE_NONE ? rows[r / 2 * 64 + r % 2 * 8 + first] : 1.0f;
#pragma unroll
        for (int i = 0; i < BN / 8; i++) {
            gt_vec<float, 2> column;
            column.at[0] = column.at[1] = 1.0f;
            if (OF_COLUMNS != GT_SCALE_NONE)
                column = gt_load_vec<float, 2>(columns + i * 8 + lane % 4 * 2);
#pragma unroll
            for (int r = 0; r < BLOCKS_64 * 4; r++)
                sum[r / 4][i * 4 + r % 4] *= row[r / 2] * column.at[r % 2];
        }
    }

    /* Waits until all threads have read the tile's factors; then the next tile's may come. */
    GT_DEVICE void release(int consumer) const
    {
        if (HAS_FACTORS)
            gt_named_barrier_sync(1 + consumer, 128);
    }
};

#endif
