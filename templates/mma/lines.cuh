/* lines.cuh - copies a tile of an operand from global to shared memory, line by line as stored.
 *
 *        LENGTH bytes   pitch          Lines lie along k or along m and n, whichever is contiguous.
 *      +--------------+....+           The threads copy vectors v0, v1, ... of WIDTH bytes in turn.
 *      | v0 v1 v2 ... |    | LINES     Zeros replace what lies outside of the operand.
 *      +--------------+....+
 */
#ifndef GT_MMA_LINES_CUH
#define GT_MMA_LINES_CUH

template <int LINES, int LENGTH, int PITCH, int WIDTH, int THREADS> struct Lines {
    typedef gt_element<GT_TYPE>::type Element;
    static constexpr int PER_LINE = LENGTH / WIDTH;
    static constexpr int COPIES = PER_LINE * LINES;
    static constexpr int BYTES = LINES * PITCH;
    static_assert(LENGTH % WIDTH == 0, "whole vectors");

    /* Starts the copies of the tile whose first element is at `from`. From there on the operand has
     * `lines` and `length` elements (any number, also none). `inside`: any valid address, for
     * copies that read nothing. The tile is complete after gt_cp_async_wait and a barrier. */
    static GT_DEVICE void fill(char *tile, const Element *from, long long ld, long long lines,
                               long long length, const void *inside)
    {
        const char *bytes = reinterpret_cast<const char *>(from);
        const int line_count = lines < LINES ? (int)lines : LINES;
        const int byte_count = (length < LENGTH ? (int)length : LENGTH) * (int)sizeof(Element);
#pragma unroll
        for (int first = 0; first < COPIES; first += THREADS) {
            int index = first + (int)threadIdx.x;
            if (COPIES % THREADS != 0 && index >= COPIES)
                break;
            int line = index / PER_LINE, at = index % PER_LINE * WIDTH;
            int valid = line < line_count ? byte_count - at : 0;
            copy(tile + line * PITCH + at, bytes + line * ld * (int)sizeof(Element) + at, valid,
                 inside);
        }
    }

    static GT_DEVICE void copy(char *to, const char *from, int valid, const void *inside)
    {
        if constexpr (WIDTH >= 4) {
            gt_cp_async<WIDTH>(to, valid > 0 ? from : inside,
                               valid >= WIDTH ? WIDTH
                               : valid > 0    ? valid
                                              : 0);
        } else {
            constexpr int COUNT = WIDTH / (int)sizeof(Element);
            gt_store_vec<Element, COUNT>(
                reinterpret_cast<Element *>(to),
                gt_load_vec_masked<Element, COUNT>(
                    static_cast<const Element *>(valid > 0 ? (const void *)from : inside),
                    valid / (int)sizeof(Element)));
        }
    }
};

#endif
