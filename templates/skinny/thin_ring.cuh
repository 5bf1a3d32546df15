/* thin_ring.cuh - part of thin_mma.cu, whose parameters it uses: operands of any alignment, by way
 * of shared memory.
 *
 * Tensor cores take the same columns of every row of B, but rows may begin anywhere within a word
 * of 16 bytes. So warps side by side together copy their tiles of both operands to shared memory,
 * in the aligned words that cover them, RING - 1 tiles ahead of the arithmetic. They read them
 * there by elements, or by the size that the addresses of all rows are multiples of (VEC, VEC_A):
 *
 *      memory          ..|.......*|********|********|***.....|..  words, * needed
 *      shared memory     |.......*|********|********|***.....|    the same, lines PITCH apart
 *
 * No byte outside of the operand is read. Warps that share k do not wait for each other here,
 * either. */
#ifndef GT_SKINNY_THIN_RING_CUH
#define GT_SKINNY_THIN_RING_CUH

#include "skinny/thin_operand.cuh"
#include "common/copy.cuh"
#include "common/named_barrier.cuh"

constexpr int SLOTS = RING > 2 ? RING : 2;

/* Starts a copy of 16 bytes, which brings whole lines into L2, as in stream.cuh. */
GT_DEVICE void copy_word(void *shared, const void *global)
{
#if defined(GT_EMULATE) || __CUDA_ARCH__ < 800
    gt_cp_async_whole<16>(shared, global);
#else
    asm volatile(
        "cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(gt_shared_address(shared)),
        "l"(global)
        : "memory");
#endif
}

/* The least power of two that is not less. */
GT_DEVICE constexpr int power_of_two(int value)
{
    int power = 1;
    while (power < value)
        power *= 2;
    return power;
}

/* A tile of an operand in shared memory: `across` rows of A or columns of B, WARP_K values of k, in
 * lines as they are stored. `read` bytes are read together. Of lines across k a lane needs VECTOR
 * neighbours, and each such group begins 32 bytes further on in the banks, so that lanes that read
 * the same line of their groups do not conflict. Whole words of lines along k do not conflict if
 * the pitch is 64 bytes and a multiple of 128. */
template <bool along_k, int across, int read, int warps> struct Staged {
    static constexpr int THREADS_OF = 32 * warps; /* that copy it together */
    static constexpr bool ALONG_K = along_k;
    static constexpr int ACROSS = across;
    static constexpr int READ = read;
    static constexpr int LINES = along_k ? across : WARP_K;
    static constexpr int LENGTH = (along_k ? WARP_K : across) * SIZE; /* bytes of a line */
    static constexpr int WORDS = (LENGTH + 15) / 16;
    static constexpr int SPAN = power_of_two(WORDS);  /* threads that copy a line */
    static constexpr int COVER = WORDS + (read < 16); /* words that cover it wherever it begins */
    static constexpr int PITCH = 16 * COVER + (along_k && read == 16 && CHUNKS > 1 ? 64 : 0);
    static constexpr int GROUP = along_k ? 1 : VECTOR;
    static constexpr int GROUP_PITCH = along_k ? PITCH : (VECTOR * PITCH + 95) / 128 * 128 + 32;
    static constexpr int BYTES = LINES / GROUP * GROUP_PITCH;

    static GT_DEVICE constexpr int place(int line)
    {
        return line / GROUP * GROUP_PITCH + line % GROUP * PITCH;
    }
};

typedef Staged<!GT_TRANS_A, ROWS, VEC_A, WARPS_N> StagedA;
typedef Staged<GT_TRANS_B, BLOCK_N, VEC, WARPS_N> StagedB;
constexpr int SLOT = StagedA::BYTES + StagedB::BYTES; /* bytes of a tile */

/* An operand in memory, as warps side by side take it. */
struct Source {
    const char *matrix; /* nothing before it is read */
    const char *first;  /* the warps' first byte in tile 0 */
    long long pitch;    /* bytes from line to line */
    long long across;   /* rows or columns that exist from the warps' first on */
    long long k;        /* the warps' first in tile 0 */
};

GT_DEVICE unsigned long long address_of(const char *pointer)
{
    return reinterpret_cast<unsigned long long>(pointer);
}

/* The word of 16 bytes that a byte lies in. */
GT_DEVICE const char *word_around(const char *byte)
{
    return byte - address_of(byte) % 16;
}

/* row: the warps' first row of op(A) or column of op(B), of which `end` exist. */
template <class S>
GT_DEVICE Source make_source(const GT_IN *matrix, long long ld, long long row, long long end)
{
    const int warp = (int)threadIdx.x / 32;
    Source source;
    source.matrix = reinterpret_cast<const char *>(matrix);
    source.k = warp / WARPS_N * WARP_K;
    source.pitch = ld * SIZE;
    source.across = end - row;
    source.first = source.matrix + (S::ALONG_K ? row * source.pitch + source.k * SIZE
                                               : source.k * source.pitch + row * SIZE);
    return source;
}

/* Bytes of a word that a line has: `left` bytes from the word's first on. */
GT_DEVICE int bytes_of_word(int left)
{
    return left >= 16 ? 16 : left > 0 ? left : 0;
}

/* Starts the copy of a tile of which `lines` lines of `length` bytes each exist. If the tile is not
 * WHOLE, zeros replace what does not exist. Else lines of rows or columns that do not exist stay as
 * they were, because only elements that D does not have depend on them. */
template <class S, bool WHOLE>
GT_DEVICE void copy_lines(const char *from, long long pitch, int lines, int length, char *to)
{
    constexpr int TOGETHER = S::THREADS_OF / S::SPAN; /* lines by one instruction */
    constexpr bool ALL = !S::ALONG_K && S::LINES % TOGETHER == 0;
    const int thread = (int)threadIdx.x % S::THREADS_OF;
    const int line = thread / S::SPAN, word = thread % S::SPAN * 16;
    const char *begin = from + line * pitch;
    char *const own = to + S::place(line) + word;
#pragma unroll
    for (int i = 0; i < S::LINES; i += TOGETHER) {
        const int before = (int)(address_of(begin) % 16); /* bytes of the word before the line */
        const bool mine = (S::LINES % TOGETHER == 0 || line + i < S::LINES) && word < S::WORDS * 16;
        if (!WHOLE && mine)
            gt_cp_async<16>(own + S::place(i), begin - before + word,
                            line + i < lines ? bytes_of_word(length + before - word) : 0);
        else if (WHOLE && mine && (ALL || line + i < lines))
            copy_word(own + S::place(i), begin - before + word);
        begin += TOGETHER * pitch;
    }
    if (S::COVER > S::WORDS)
#pragma unroll
        for (int i = thread; i < S::LINES; i += S::THREADS_OF) {
            const char *last = from + i * pitch;
            const int before = (int)(address_of(last) % 16);
            const int left = WHOLE ? before : bytes_of_word(length + before - 16 * S::WORDS);
            if (i < lines && left > 0)
                gt_cp_async<16>(to + S::place(i) + 16 * S::WORDS, last - before + 16 * S::WORDS,
                                left);
            else if (!WHOLE)
                gt_cp_async<16>(to + S::place(i) + 16 * S::WORDS, last - before, 0);
        }
}

/* The same for the first tile of an operand that begins within a word of 16 bytes. */
template <class S>
__device__ __noinline__ void copy_first(const char *from, long long pitch, int lines, int length,
                                        char *to)
{
#pragma unroll 1
    for (int e = (int)threadIdx.x % S::THREADS_OF; e < S::LINES * S::COVER; e += S::THREADS_OF) {
        const int line = e / S::COVER, word = e % S::COVER * 16;
        const char *begin = from + line * pitch, *at = word_around(begin) + word;
        const int valid = line < lines ? bytes_of_word(length - (int)(at - begin)) : 0;
        char *const place = to + S::place(line) + word;
        if (valid == 0 || address_of(at) >= address_of(from))
            gt_cp_async<16>(place, valid ? at : word_around(from), valid);
        else
            for (int i = 0; i < 16; i++)
                place[i] = i < valid && address_of(at + i) >= address_of(from) ? at[i] : (char)0;
    }
}

/* Starts the copy of the warps' part of the tile that begins at `k`. */
template <class S>
GT_DEVICE void copy_tile(const Source &source, long long depth, long long k, char *to)
{
    const char *from = source.first + k * (S::ALONG_K ? SIZE : source.pitch);
    const long long left = depth - source.k - k;
    const long long across = source.across < S::ACROSS ? source.across : S::ACROSS;
    const int depth_left = left < WARP_K ? left > 0 ? (int)left : 0 : WARP_K;
    const int across_left = across > 0 ? (int)across : 0;
    const int length = (S::ALONG_K ? depth_left : across_left) * SIZE;
    const int lines = length == 0 ? 0 : S::ALONG_K ? across_left : depth_left;

    if (from == source.matrix && address_of(from) % 16 != 0)
        copy_first<S>(from, source.pitch, lines, length, to);
    else if (S::LENGTH % 16 == 0 && length == S::LENGTH && (S::ALONG_K || lines == S::LINES))
        copy_lines<S, true>(from, source.pitch, lines, length, to);
    else
        copy_lines<S, false>(from, source.pitch, lines, length, to);
}

/* An element of `width` bytes. */
template <int width> GT_DEVICE unsigned read_bits(const char *from)
{
    return gt_load_vec<unsigned char, width>(reinterpret_cast<const unsigned char *>(from)).word;
}

/* Elements as one word, the first lowest. */
template <int width> GT_DEVICE unsigned join(const unsigned (&element)[4 / width])
{
    if constexpr (width == 4)
        return element[0];
    else if constexpr (width == 2)
        return __byte_perm(element[0], element[1], 0x5410);
    else
        return __byte_perm(__byte_perm(element[0], element[1], 0x0040),
                           __byte_perm(element[2], element[3], 0x0040), 0x5410);
}

/* Where a lane's vectors of a tile are. */
struct Reader {
    int begin;      /* byte of the first vector's line */
    unsigned low;   /* address in memory of the lane's first line, */
    unsigned pitch; /* and from line to line: their last four bits count */
};

/* A lane's vector, VECTOR values of k of a chunk, of the row or column that lies `across` behind
 * the lane's first. Lines that are 16 of a lane's bytes apart begin at the same place within a
 * word. */
template <class S>
GT_DEVICE uint4 read_vector(const char *tile, const Reader &reader, int chunk, int across)
{
    constexpr int WIDTH = S::ALONG_K ? S::READ < 4 ? S::READ : 4 : SIZE;
    gt_vec<unsigned, 4> vector;

    if constexpr (S::ALONG_K) {
        const char *from = tile + reader.begin + S::place(across) + chunk * 64 +
                           (S::READ < 16 ? (reader.low + across * reader.pitch) % 16 : 0);
        if constexpr (S::READ == 16)
            vector = gt_load_vec<unsigned, 4>(reinterpret_cast<const unsigned *>(from));
        else
#pragma unroll
            for (int q = 0; q < 4; q++) {
                unsigned element[4 / WIDTH];
#pragma unroll
                for (int i = 0; i < 4 / WIDTH; i++)
                    element[i] = read_bits<WIDTH>(from + 4 * q + i * WIDTH);
                vector.at[q] = join<WIDTH>(element);
            }
    } else {
        const char *from = tile + reader.begin + chunk * 4 * S::GROUP_PITCH + across * SIZE;
#pragma unroll
        for (int q = 0; q < 4; q++) {
            unsigned element[4 / WIDTH];
#pragma unroll
            for (int i = 0; i < 4 / WIDTH; i++) {
                const int line = q * (4 / WIDTH) + i;
                const unsigned shift = S::READ < 16 ? (reader.low + line * reader.pitch) % 16 : 0;
                element[i] = read_bits<WIDTH>(from + line * S::PITCH + shift);
            }
            vector.at[q] = join<WIDTH>(element);
        }
    }
    return vector.word;
}

/* first: the warp's first row or column of those that are copied together. */
template <class S> GT_DEVICE Reader make_reader(const Source &source, int first)
{
    const int group = first + (int)threadIdx.x % 32 / 4, member = (int)threadIdx.x % 4;
    Reader reader;
    reader.pitch = (unsigned)source.pitch;
    reader.low = (unsigned)address_of(source.matrix) + (S::ALONG_K ? group * reader.pitch : 0);
    reader.begin =
        S::ALONG_K ? S::place(group) + member * 16 : member * S::GROUP_PITCH + group * SIZE;
    return reader;
}

/* A lane's part of a chunk of B, by columns. */
struct Columns {
    unsigned word[LANE_COLUMNS][4];
};

GT_DEVICE void words_of(const Columns &columns, int q, unsigned (&word)[LANE_COLUMNS])
{
#pragma unroll
    for (int i = 0; i < LANE_COLUMNS; i++)
        word[i] = columns.word[i][q];
}

/* The ring of warps side by side: SLOTS tiles of both operands. */
struct Ring {
    Source a, b;
    Reader read_a, read_b;
    char *tiles;
    int part; /* the warps: its number */
};

GT_DEVICE Ring make_ring(const gt_args &args, long long batch, char *shared)
{
    const int warp = (int)threadIdx.x / 32;
    Ring ring;
    ring.a = make_source<StagedA>(gt_typed_a(args, batch), args.lda, block_row(args), args.m);
    ring.b = make_source<StagedB>(gt_typed_b(args, batch), args.ldb, block_column(args), args.n);
    ring.read_a = make_reader<StagedA>(ring.a, 0);
    ring.read_b = make_reader<StagedB>(ring.b, warp % WARPS_N * WARP_N);
    ring.part = warp / WARPS_N;
    ring.tiles = shared + ring.part * (SLOTS * SLOT);
    return ring;
}

/* Waits until the oldest tile is complete and all lanes have read the one before it. */
GT_DEVICE void await_tile(const Ring &ring)
{
    gt_cp_async_wait<SLOTS - 2>();
    if (WARPS_N > 1)
        gt_named_barrier_sync(1 + ring.part, 32 * WARPS_N);
    else
        __syncwarp();
}

/* Starts the copy of a tile to a slot. Behind the last tile the group of copies is empty, so that
 * groups can be counted. */
GT_DEVICE void copy_tiles(const gt_args &args, const Ring &ring, long long tile, long long last,
                          int slot)
{
    char *to = ring.tiles + slot * SLOT;
    if (tile < last) {
        copy_tile<StagedB>(ring.b, gt_depth(args), tile * TILE_K, to + StagedA::BYTES);
        copy_tile<StagedA>(ring.a, gt_depth(args), tile * TILE_K, to);
    }
    gt_cp_async_commit();
}

/* A lane's part of a chunk of both operands. */
GT_DEVICE void read_chunk(const Ring &ring, int slot, int chunk, Columns &b, uint4 (&a)[EIGHTS])
{
    const char *tile = ring.tiles + slot * SLOT;
#pragma unroll
    for (int i = 0; i < LANE_COLUMNS; i++) {
        gt_vec<unsigned, 4> vector;
        vector.word = read_vector<StagedB>(tile + StagedA::BYTES, ring.read_b, chunk, 8 * i);
#pragma unroll
        for (int q = 0; q < 4; q++)
            b.word[i][q] = vector.at[q];
    }
#pragma unroll
    for (int x = 0; x < EIGHTS; x++)
        a[x] = read_vector<StagedA>(tile, ring.read_a, chunk, 8 * x);
}

#endif
