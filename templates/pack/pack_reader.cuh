/* pack_reader.cuh - how a warp reads rows of a stored matrix of any alignment: it loads whole
 * aligned vectors of 16 bytes and shifts them into the 16 bytes that each lane needs.
 *
 *      aligned      | line of lane 0 | line of lane 1 |  ...  | beyond |
 *      needed              | lane 0         | lane 1         | ... |
 *                   |shift |
 *
 * `side` lanes lie along a row, the others of the warp below each other; a lane has `lines` rows.
 * Of each row a lane loads one line, all of them before the first is used, and gets the rest of its
 * 16 bytes from its neighbour. The lanes of a row take turns at loading what lies beyond its last
 * lane. Nothing outside of the matrix is read. */
#ifndef GT_PACK_READER_CUH
#define GT_PACK_READER_CUH

typedef gt_vec<unsigned, 4> gt_pack_vector;

/* Rows of `bytes` bytes, `ld` bytes apart.  `end`: behind the last byte of the last row. */
struct gt_pack_source {
    const char *first, *end;
    long long rows, bytes, ld;
};

/* 16 aligned bytes that the launch reads once: they are the first to leave the L2 cache, where the
 * copy should stay until the product reads it. */
GT_DEVICE gt_pack_vector gt_pack_load(const char *from)
{
    gt_pack_vector line;
#if !defined(GT_EMULATE) && __CUDA_ARCH__ >= 800
    unsigned long long policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
                 : "=r"(line.at[0]), "=r"(line.at[1]), "=r"(line.at[2]), "=r"(line.at[3])
                 : "l"(from), "l"(policy));
#else
    line = gt_load_vec_global<unsigned, 4>(reinterpret_cast<const unsigned *>(from));
#endif
    return line;
}

/* The same at the first and the last bytes of the matrix; zeros replace what lies outside. */
template <class E>
GT_DEVICE gt_pack_vector gt_pack_load_edge(const gt_pack_source &from, const char *at)
{
    constexpr int size = (int)sizeof(E);
    if (at >= from.first && at + 16 <= from.end)
        return gt_pack_load(at);

    gt_pack_vector line = {};
#pragma unroll 1
    for (int w = 0; w < 4; w++, at += 4) {
        gt_vec<E, 4 / size> word;
        word.word = 0;
#pragma unroll
        for (int i = 0; i < 4 / size; i++)
            if (at + i * size >= from.first && at + i * size < from.end)
                word.at[i] = __ldg(reinterpret_cast<const E *>(at) + i);
#pragma unroll
        for (int i = 0; i < 3; i++)
            line.at[i] = line.at[i + 1];
        line.at[3] = word.word;
    }
    return line;
}

/* The 16 bytes that begin `shift` bytes, 0..15, behind the first of line. */
GT_DEVICE gt_pack_vector gt_pack_shift(const gt_pack_vector &line, const gt_pack_vector &next,
                                       int shift)
{
    unsigned word[8];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        word[i] = line.at[i];
        word[i + 4] = next.at[i];
    }
#pragma unroll
    for (int i = 0; i < 6; i++)
        word[i] = shift & 8 ? word[i + 2] : word[i];
#pragma unroll
    for (int i = 0; i < 5; i++)
        word[i] = shift & 4 ? word[i + 1] : word[i];

    gt_pack_vector wanted;
    const unsigned bytes = 0x3210u + 0x1111u * (unsigned)(shift & 3);
#pragma unroll
    for (int i = 0; i < 4; i++)
        wanted.at[i] = __byte_perm(word[i], word[i + 1], bytes);
    return wanted;
}

template <class E, int lines, int side> struct gt_pack_reader {
    static constexpr int rounds = (lines + side - 1) / side;
    gt_pack_vector line[lines], beyond[rounds];
    unsigned long long first; /* address of the bytes that lane 0 of the row needs in line 0 */
    long long ld;
    int lane;     /* of the warp */
    bool aligned; /* every line is needed as it is */

    GT_DEVICE int along() const
    {
        return lane % side;
    }

    GT_DEVICE int shift(int i) const
    {
        return (int)(first + i * ld) & 15;
    }

    /* Line number `number` of row i; zeros if it has none of the `left` bytes of the row. */
    template <bool whole>
    GT_DEVICE gt_pack_vector load(const gt_pack_source &from, int i, int number, int left) const
    {
        const int skip = shift(i);
        if (number * 16 >= left + skip)
            return gt_pack_vector();
        const char *at =
            reinterpret_cast<const char *>(first + i * ld - (unsigned)skip) + number * 16;
        return whole ? gt_pack_load(at) : gt_pack_load_edge<E>(from, at);
    }

    /* All lines of the lane, of which `rows` rows exist. whole: all rows exist, and so do the bytes
     * around them. */
    template <bool whole> GT_DEVICE void load_all(const gt_pack_source &from, int rows, int left)
    {
#pragma unroll
        for (int i = 0; i < lines; i++)
            line[i] = load<whole>(from, i, along(), whole || i < rows ? left : -16);
#pragma unroll
        for (int t = 0; t < rounds; t++) {
            const int i = t * side + along();
            const bool used = i < lines && shift(i) && (whole || i < rows);
            beyond[t] = load<whole>(from, i, side, used ? left : -16);
        }
    }

    /* Starts the loads of the lane's rows, from `row` on and from byte `column` of the row on. */
    GT_DEVICE void start(const gt_pack_source &from, long long row, long long column)
    {
        lane = (int)threadIdx.x % 32;
        ld = from.ld;
        first = reinterpret_cast<unsigned long long>(from.first) + row * ld + column;
        aligned = ((reinterpret_cast<unsigned long long>(from.first) | ld) & 15) == 0;

        const int left = (int)min(from.bytes - column, side * 16ll + 16);
        const char *low = reinterpret_cast<const char *>(first - 15);
        const char *high =
            reinterpret_cast<const char *>(first + (lines - 1) * ld) + side * 16 + 16;
        if (row + lines <= from.rows && low >= from.first && high <= from.end)
            load_all<true>(from, lines, left);
        else
            load_all<false>(from, (int)max(min(from.rows - row, (long long)lines), 0ll), left);
    }

    /* The lane's 16 bytes of row i. The whole warp calls it. */
    GT_DEVICE gt_pack_vector get(int i) const
    {
        gt_pack_vector next;
        if (aligned)
            return line[i];
#pragma unroll
        for (int w = 0; w < 4; w++) {
            const unsigned near = __shfl_sync(0xffffffffu, line[i].at[w], lane + 1);
            const unsigned far =
                __shfl_sync(0xffffffffu, beyond[i / side].at[w], lane / side * side + i % side);
            next.at[w] = along() == side - 1 ? far : near;
        }
        return gt_pack_shift(line[i], next, shift(i));
    }
};

#endif
