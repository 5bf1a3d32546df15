/* blocks.cuh - of hopper_scaled/gemm.cu: factors of blocks along k, which change every 128 of k: A
 * has one for each row, 128 x 128 elements of B have one.
 *
 *             k blocks                    columns, 128 a block
 *           0   1   2               k    +-------+-------+
 *   row 0 | x | x | x |           blocks |   x   |   x   |
 *   row 1 | x | x | x |                  +-------+-------+      A thread keeps the factors of the
 *   row 2 | x | x | x |                  |   x   |   x   |      k block whose products are added,
 *                                        +-------+-------+      and loads those of the next one.
 *
 * Neighbours along m are neighbours in memory in A's factors, neighbours along k in B's. */
#ifndef GT_HOPPER_SCALED_BLOCKS_CUH
#define GT_HOPPER_SCALED_BLOCKS_CUH

#define GT_BLOCKS (GT_SCALE_A == GT_SCALE_BLOCK)

#if GT_BLOCKS

static_assert(GT_SCALE_B == GT_SCALE_BLOCK && GT_SUMS == GT_SUMS_PROMOTED, "both, every 128 of k");
static_assert(GT_SCALE_A_ROWS == 1 && GT_SCALE_A_DEPTH == 128 && GT_SCALE_A_ORDER == GT_ORDER_MN &&
                  GT_SCALE_A_TYPE == GT_FACTOR_F32 && !GT_SCALE_A_TENSOR,
              "a factor for each row of A and 128 of k");
static_assert(GT_SCALE_B_ROWS == 128 && GT_SCALE_B_DEPTH == 128 && GT_SCALE_B_ORDER == GT_ORDER_K &&
                  GT_SCALE_B_TYPE == GT_FACTOR_F32 && !GT_SCALE_B_TENSOR,
              "a factor for 128 x 128 of B");

/* Factors of A that a thread has: those of its rows of D; with SWAP_AB those of its columns of D^T.
 * Factors of B: those of the blocks of columns that a tile touches; with SWAP_AB one for each 64 rows
 * of D^T. */
enum {
    OF_A = SWAP_AB ? BN / 4 : BLOCKS_64 * 2,
    OF_B = SWAP_AB ? BLOCKS_64 : 128 % BN ? 2 : 1
};

struct BlockFactors {
    const float *from_a, *from_b; /* of the next k block: the thread's first row; the tile's first
                                     block of columns */
    long long line_a, line_b;     /* from k block to k block of A; from columns to columns of B */
    int rows;                     /* of A from the thread's first one on */
    int edge;   /* first column of the tile, counted from it, that is in another block */
    int last_b; /* the last block of columns, counted likewise */
    int left;   /* k blocks behind that one */
    float a[OF_A], b[OF_B], next_a[OF_A], next_b[OF_B];

    /* Row i of a thread, counted from its first one. */
    static GT_DEVICE constexpr int row_of(int i)
    {
        return SWAP_AB ? i / 2 * 8 + i % 2 : i / 2 * 64 + i % 2 * 8;
    }

    GT_DEVICE BlockFactors(const gt_args &args, const gt_more &more, const Work &work, int consumer)
    {
        const int lane = (int)threadIdx.x % 32, own = PINGPONG ? 0 : consumer * ROWS;
        const int row = SWAP_AB ? work.column + lane % 4 * 2
                                : work.row + own + (int)threadIdx.x % 128 / 32 * 16 + lane / 4;
        const int column = SWAP_AB ? work.row + own : work.column;
        const int blocks = (int)parts_of((unsigned)args.k, 128), k = min(work.k / 128, blocks - 1);
        line_a = more.lsa;
        line_b = more.lsb;
        from_a = static_cast<const float *>(more.scale_a) + k * line_a + row;
        from_b = static_cast<const float *>(more.scale_b) + column / 128 * line_b + k;
        rows = (int)args.m - row;
        edge = 128 - column % 128;
        last_b = ((int)args.n - 1) / 128 - column / 128;
        left = blocks - 1 - k;
        load();
    }

    GT_DEVICE void load()
    {
#pragma unroll
        for (int i = 0; i < OF_A; i++)
            next_a[i] = row_of(i) < rows ? __ldg(from_a + row_of(i)) : 0.0f;
#pragma unroll
        for (int i = 0; i < OF_B; i++) {
            const int block = SWAP_AB ? (i * 64 >= edge) + (i * 64 >= edge + 128) : i;
            next_b[i] = block <= last_b ? __ldg(from_b + block * line_b) : 0.0f;
        }
    }

    /* From now on the products of the next k block are added. Behind the last one it stays. */
    GT_DEVICE void advance()
    {
#pragma unroll
        for (int i = 0; i < OF_A; i++)
            a[i] = next_a[i];
#pragma unroll
        for (int i = 0; i < OF_B; i++)
            b[i] = next_b[i];
        if (left > 0) {
            left--;
            from_a += line_a;
            from_b++;
        }
        load();
    }

    /* Adds a group's products, of block r of 64 rows. */
    GT_DEVICE void add(int r, const Sum *part, Sum *sum) const
    {
#pragma unroll
        for (int i = 0; i < BN / 2; i++) {
            const int column = i / 4 * 8;
            const float of_a = SWAP_AB ? a[i / 4 * 2 + i % 2] : a[r * 2 + i / 2 % 2];
            const float of_b = SWAP_AB ? b[r] : OF_B == 1 || column < edge ? b[0] : b[OF_B - 1];
            sum[i] = fmaf(part[i], of_a * of_b, sum[i]);
        }
    }
};

#else

/* Without such factors products are added as they are. */
struct BlockFactors {
    GT_DEVICE BlockFactors(const gt_args &, const gt_more &, const Work &, int)
    {
    }

    GT_DEVICE void advance()
    {
    }

    GT_DEVICE void add(int, const Sum *part, Sum *sum) const
    {
#pragma unroll
        for (int i = 0; i < BN / 2; i++)
            sum[i] += part[i];
    }
};

#endif

#endif
