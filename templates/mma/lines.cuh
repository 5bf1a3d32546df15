/* lines.cuh - a tile of an operand from global to shared memory, line by line as it lies there.
 *
 *        LENGTH bytes   pitch          Lines lie along k or along m and n, whichever is contiguous.
 *      +--------------+....+           Threads take pieces of WIDTH bytes in turn; what lies outside
 *      | p0 p1 p2 ... |    | LINES     of the operand becomes zeros.
 *      +--------------+....+
 */
#ifndef GT_MMA_LINES_CUH
#define GT_MMA_LINES_CUH

template <int LINES, int LENGTH, int PITCH, int WIDTH, int THREADS> struct Lines {
    typedef gt_element<GT_TYPE>::type Element;
    static constexpr int PER_LINE = LENGTH / WIDTH;
    static constexpr int PIECES = PER_LINE * LINES;
    static constexpr int BYTES = LINES * PITCH;
    static_assert(LENGTH % WIDTH == 0, "whole pieces");

    /* Starts the copies of the tile whose first element is at `from`; `lines` and `length` elements
     * of the operand remain from there on (any number, also none). `inside`: an address that may be
     * named where nothing is read. Complete after gt_cp_async_wait and a barrier. */
    static GT_DEVICE void fill(char *tile, const Element *from, long long ld, long long lines,
                               long long length, const void *inside)
    {
        const char *bytes = reinterpret_cast<const char *>(from);
        const int line_count = lines < LINES ? (int)lines : LINES;
        const int byte_count =
            (length < LENGTH ? (int)length : LENGTH) * (int)sizeof(Element);
#pragma unroll
        for (int first = 0; first < PIECES; first += THREADS) {
            int piece = first + (int)threadIdx.x;
            if (PIECES % THREADS != 0 && piece >= PIECES)
                break;
            int line = piece / PER_LINE, at = piece % PER_LINE * WIDTH;
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
                           : valid > 0   ? valid
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
