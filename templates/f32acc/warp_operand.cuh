/* warp_operand.cuh - of f32acc/warp.cu: moves an operand's tiles of floats to shared memory, and
 * from there, split into parts, to registers.
 *
 * A tile keeps the lines of global memory: lines of BK floats, one for each m or n, or lines of
 * EXTENT floats, one for each k. A lane loads four floats at once. With group = lane / 4 and member
 * = lane % 4, in a step of 16 values of k a lane always has k = 4 * member ... + 3, of A and of B:
 * the order of the 16 within the instruction does not matter as long as A and B agree. Along m or
 * n, a lane's four neighbours become rows (or columns) of four blocks of 8, so that rows or columns
 * change places (see at). An XOR places the chunks of four floats so that eight lanes read from
 * different banks. */
#ifndef GT_F32ACC_WARP_OPERAND_CUH
#define GT_F32ACC_WARP_OPERAND_CUH

#include "f32acc/parts.cuh"

/* The three parts of four values of k, two neighbours in a register. */
struct Quad {
    unsigned part[PARTS][2];
};

/* Also keeps the largest magnitude seen; a NaN does not count. */
GT_DEVICE Quad split_quad(const float (&x)[4], float &largest)
{
    Quad quad;
#pragma unroll
    for (int i = 0; i < 4; i++)
        largest = max(largest, fabsf(x[i]));
#pragma unroll
    for (int i = 0; i < 2; i++) {
        unsigned part[PARTS];
        split_pair(x[2 * i], x[2 * i + 1], part);
#pragma unroll
        for (int p = 0; p < PARTS; p++)
            quad.part[p][i] = part[p];
    }
    return quad;
}

/* EXTENT is the tile's length along m or n, VEC the number of floats of a copy. */
template <int EXTENT, bool K_CONTIGUOUS, int VEC> struct Operand {
    static constexpr bool ALONG_K = K_CONTIGUOUS;
    static constexpr int LINES = ALONG_K ? EXTENT : BK, LENGTH = ALONG_K ? BK : EXTENT;
    static constexpr int FLOATS = LINES * LENGTH;
    static constexpr int PER_LINE = LENGTH / VEC; /* copies */
    static constexpr int COPIES = LINES * PER_LINE, COUNT = (COPIES + THREADS - 1) / THREADS;
    static_assert(LENGTH % 32 == 0, "the XOR stays within 32 floats");

    /* The index in the tile of float `at` of a line. */
    static GT_DEVICE int place(int line, int at)
    {
        int swizzle = ALONG_K ? (line & 1) << 2 : (line >> 2 & 3) << 1;
        return line * LENGTH + ((at / 4 ^ swizzle) * 4 | at % 4);
    }

    /* Starts the copies of a tile from its first element, `first`. Along m or n the matrix has
     * `left` elements from there on, along k it has k_left; zeros follow them. Where lines are
     * short enough all copies of a thread are in the same column of the tile. */
    static GT_DEVICE void fill(float *tile, const float *first, long long ld, int left, int k_left)
    {
        constexpr bool REGULAR = THREADS % PER_LINE == 0;
        constexpr int STEP = REGULAR ? THREADS / PER_LINE : 1; /* lines between copies */
        const int lines = ALONG_K ? left : k_left, length = ALONG_K ? k_left : left;
        int line = threadIdx.x / PER_LINE, at = threadIdx.x % PER_LINE * VEC;
        const float *from = first + line * ld + at;

#pragma unroll 8
        for (int i = 0; i < COUNT; i++) {
            if (!REGULAR) {
                const int copy = i * THREADS + threadIdx.x;
                line = copy / PER_LINE;
                at = copy % PER_LINE * VEC;
                from = first + line * ld + at;
            }
            const int valid = line < lines ? length - at : 0;
            if (COPIES % THREADS == 0 || line < LINES)
                gt_cp_async<4 * VEC>(tile + place(line, at), valid > 0 ? from : first,
                                     valid >= VEC ? 4 * VEC
                                     : valid > 0  ? 4 * valid
                                                  : 0);
            line += STEP;
            from += STEP * ld;
        }
    }

    /* The row or column in the warp tile of element e of block `block` of 8. */
    static GT_DEVICE int at(int block, int e)
    {
        return ALONG_K ? block * 8 + e : block / 4 * 32 + e * 4 + block % 4;
    }

    /* Loads the lane's parts of COUNT_8 blocks of 8, from block `block` on, of the warp tile that
     * begins at `origin`; `step` counts steps of 16 values of k. Along m or n four blocks are
     * loaded at a time. */
    template <int COUNT_8>
    static GT_DEVICE void load(Quad (&to)[COUNT_8], const float *tile, int origin, int block,
                               int step, float &largest)
    {
        const int group = threadIdx.x % 32 / 4, member = threadIdx.x % 4;
        if constexpr (ALONG_K) {
#pragma unroll
            for (int b = 0; b < COUNT_8; b++) {
                float x[4];
                gt_load<4>(x,
                           tile + place(origin + (block + b) * 8 + group, step * 16 + member * 4));
                to[b] = split_quad(x, largest);
            }
        } else {
            static_assert(COUNT_8 % 4 == 0, "four blocks of 8 are loaded at once");
#pragma unroll
            for (int b = 0; b < COUNT_8; b += 4) {
                float x[4][4]; /* for each k */
#pragma unroll
                for (int i = 0; i < 4; i++)
                    gt_load<4>(x[i], tile + place(step * 16 + member * 4 + i,
                                                  origin + (block + b) * 8 + group * 4));
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    const float along_k[4] = {x[0][j], x[1][j], x[2][j], x[3][j]};
                    to[b + j] = split_quad(along_k, largest);
                }
            }
        }
    }
};

typedef Operand<BM, !GT_TRANS_A, VEC_A> Rows;
typedef Operand<BN, GT_TRANS_B, VEC_B> Columns;

#endif
