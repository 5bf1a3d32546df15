/* factors.cuh - of mma_block/gemm.cu: the factors of an operand's blocks, from memory to the lanes
 * whose words the tensor cores read (mma_block.cuh).
 *
 * A word has the factors of four neighbours along k. Memory has them
 *
 *   GT_ORDER_MN     rows of A (columns of B) next to each other, lines of them for each k block
 *   GT_ORDER_K      k blocks next to each other, lines of them for each row
 *   GT_ORDER_TILED  tiles of 128 rows and 4 k blocks, of 512 bytes, tiles along k next to each
 * other; in a tile the words of rows 0, 32, 64, 96, then of 1, 33, 65, 97, ... */
#ifndef GT_MMA_BLOCK_FACTORS_CUH
#define GT_MMA_BLOCK_FACTORS_CUH

/* The word of a row from k block `block` on, a multiple of four, of `blocks`. */
template <int order>
GT_DEVICE unsigned factors_of(const unsigned char *factors, long long ls, int row, int block,
                              int blocks)
{
    const int left = blocks - block;
    unsigned word = 0;

    if (left <= 0)
        return 0;
    if (order == GT_ORDER_TILED) {
        const long long tile = row / 128 * ((blocks + 3LL) / 4) + block / 4;
        word = __ldg(reinterpret_cast<const unsigned *>(factors) + tile * 128 + row % 32 * 4 +
                     row / 32 % 4);
        return left < 4 ? word & ((1u << 8 * left) - 1) : word;
    }
    const unsigned char *const from =
        factors + (order == GT_ORDER_K ? row * ls + block : block * ls + row);
    if (order == GT_ORDER_K && left >= 4 && reinterpret_cast<unsigned long long>(from) % 4 == 0)
        return __ldg(reinterpret_cast<const unsigned *>(from));
#pragma unroll
    for (int i = 0; i < 4; i++)
        if (i < left)
            word |= (unsigned)__ldg(from + i * (order == GT_ORDER_K ? 1 : ls)) << 8 * i;
    return word;
}

/* The words of EXTENT rows of A, or columns of B, for a tile of k. A lane's word number i is that
 * of row `group` of block 4 i + member of eight. */
template <class FRAGMENT, int EXTENT, int order> struct Factors {
    static constexpr int COUNT = (EXTENT + 31) / 32;

    const unsigned char *from;
    long long ls;
    int row[COUNT];
    unsigned now[WORDS][COUNT], next[WORDS][COUNT];

    GT_DEVICE Factors(const void *factors, long long line, long long first, long long end,
                      const Position &p)
    {
        from = static_cast<const unsigned char *>(factors);
        ls = line;
#pragma unroll
        for (int i = 0; i < COUNT;
             i++) /* beyond the edge the last one's: nobody stores such sums */
            row[i] = (int)min(first + FRAGMENT::at(i * 4 + p.member, p.group), end - 1);
    }
    /* Begins the loads of the tile from k block `block` on. */
    GT_DEVICE void load(int block, int blocks)
    {
#pragma unroll
        for (int w = 0; w < WORDS; w++)
#pragma unroll
            for (int i = 0; i < COUNT; i++)
                next[w][i] = factors_of<order>(from, ls, row[i], block + w * 4, blocks);
    }
    GT_DEVICE void advance()
    {
#pragma unroll
        for (int w = 0; w < WORDS; w++)
#pragma unroll
            for (int i = 0; i < COUNT; i++)
                now[w][i] = next[w][i];
    }
};

#endif
