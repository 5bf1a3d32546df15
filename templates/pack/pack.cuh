/* pack.cuh - copies operands to the workspace before the product, both in one launch, for templates
 * that need rows at multiples of 16 bytes, or both operands along k. Rows of 512 bytes and more
 * begin at multiples of 128, because L2 gives TMA each line of 128 bytes that is touched as a whole.
 *
 *      stored, any ld                workspace
 *      +-------------+               +-------------+---+     PACK_A 1: rows as stored.
 *      |             | ...    ->     |             | 0 |     PACK_A 2: transposed, columns become
 *      |             | ...           |             | 0 |     rows. Rows are padded with zeros to
 *      +-------------+               +-------------+---+     whole 16 or 128 bytes. The matrices of
 *                                                            a batch follow each other, B's behind
 *                                                            A's.
 *
 * Include it in a template of tensor.cuh, behind the parameters PACK_A and PACK_B, and write the
 * entry:
 *
 *   #if PACK_A || PACK_B
 *   GT_KERNEL_BOUNDS(pack, GT_PACK_BLOCK, GT_PACK_BLOCKS) { gt_pack(args); }
 *   #endif
 *
 * In the description (for B likewise; its copy begins at PACK_BYTES_A):
 *
 *   params       PACK_A             0 no copy, 1 as stored, 2 transposed
 *   derive       PACK_COLS_A        TRANS_A != (PACK_A == 2) ? M : K
 *                PACK_ROWS_A        TRANS_A != (PACK_A == 2) ? K : M
 *                PACK_LDA           elements of a padded row (gt_packed_place_of)
 *                PACK_BYTES_A       PACK_A ? bytes of BATCH such copies, rounded up to 256 : 0
 *                PACK_GRID_A        blocks that copy A; as stored:
 *                                   cdiv(PACK_ROWS_A, 16) * cdiv(PACK_LDA * SIZE_IN, 512),
 *                                   transposed: cdiv(PACK_ROWS_A * SIZE_IN, 128) *
 *                                   cdiv(PACK_LDA, SIZE_IN == 1 ? 128 : 64)
 *   launches     {"entry": "pack", "when": "PACK_A + PACK_B > 0", "block": [128],
 *                "grid": ["max(1, PACK_GRID_A + PACK_GRID_B)", "min(BATCH, 65535)"]},
 *                then the product
 *   workspace    PACK_BYTES_A + PACK_BYTES_B + what the template itself needs
 *
 * Tensor maps say "operand": "workspace" with those offsets, PACK_LDA * SIZE_IN as the stride of
 * rows and PACK_ROWS_A times that as the stride of matrices. Templates that compute addresses call
 * gt_packed(args) and use its result instead of args, and GT_PACKED_TRANS_A, _B instead of
 * GT_TRANS_A, _B. Their own part of the workspace begins gt_packed_bytes(args) behind its start. If
 * alpha is 0 nothing is read and no copy is written.
 *
 * A block copies 16 rows of 512 bytes, or transposes 64 rows of 128 bytes (128 rows of bytes, so
 * that it writes whole lines) through static shared memory. */
#ifndef GT_PACK_CUH
#define GT_PACK_CUH

#include "pack/pack_reader.cuh"

#define GT_PACK_BLOCK 128 /* threads */

typedef typename gt_word<(int)sizeof(GT_IN)>::type gt_pack_element; /* only its bits matter */

/* Blocks of an SM, as many as registers allow without spills. */
constexpr bool GT_PACK_TRANSPOSES = PACK_A == 2 || PACK_B == 2;
constexpr int GT_PACK_BLOCKS = !GT_PACK_TRANSPOSES ? 8 : sizeof(gt_pack_element) > 1 ? 6 : 5;

/* The layout of the operands as the product finds them. */
#define GT_PACKED_TRANS_A (PACK_A == 2 ? !GT_TRANS_A : GT_TRANS_A)
#define GT_PACKED_TRANS_B (PACK_B == 2 ? !GT_TRANS_B : GT_TRANS_B)

/* Where the copy of an operand lies; lengths in elements. */
struct gt_packed_place {
    long long rows, ld, stride; /* of a copy; between rows and between matrices of the batch */
    long long bytes;            /* of all copies, up to where something else may begin */
};

GT_DEVICE gt_packed_place gt_packed_place_of(bool used, long long rows, long long cols,
                                             long long batch)
{
    constexpr int size = (int)sizeof(GT_IN);
    const int whole = (cols * size < 512 ? 16 : 128) / size;
    gt_packed_place place;
    place.rows = rows;
    place.ld = gt_cdiv(cols, whole) * whole;
    place.stride = rows * place.ld;
    place.bytes = used ? gt_cdiv(batch * place.stride * size, 256) * 256 : 0;
    return place;
}

GT_DEVICE gt_packed_place gt_packed_a(const gt_args &args)
{
    return gt_packed_place_of(PACK_A, GT_PACKED_TRANS_A ? args.k : args.m,
                              GT_PACKED_TRANS_A ? args.m : args.k, args.batch);
}

GT_DEVICE gt_packed_place gt_packed_b(const gt_args &args)
{
    return gt_packed_place_of(PACK_B, GT_PACKED_TRANS_B ? args.n : args.k,
                              GT_PACKED_TRANS_B ? args.k : args.n, args.batch);
}

GT_DEVICE long long gt_packed_bytes(const gt_args &args)
{
    return gt_packed_a(args).bytes + gt_packed_b(args).bytes;
}

/* The argument with the copies in the place of the operands. */
GT_DEVICE gt_args gt_packed(const gt_args &args)
{
    const gt_packed_place a = gt_packed_a(args), b = gt_packed_b(args);
    char *workspace = static_cast<char *>(args.workspace);
    gt_args packed = args;
    if (PACK_A) {
        packed.a = workspace;
        packed.lda = a.ld;
        packed.stride_a = a.stride;
    }
    if (PACK_B) {
        packed.b = workspace + a.bytes;
        packed.ldb = b.ld;
        packed.stride_b = b.stride;
    }
    return packed;
}

/* ---- one block's part ---- */

/* Bytes of a line from `valid` on become zeros. */
GT_DEVICE void gt_pack_clear(gt_pack_vector &line, int valid)
{
#pragma unroll
    for (int w = 0; w < 4; w++) {
        const int bytes = valid - 4 * w;
        if (bytes < 4)
            line.at[w] = bytes <= 0 ? 0 : line.at[w] & ((1u << 8 * bytes) - 1);
    }
}

/* As stored: a warp takes four rows, a lane 16 bytes of each. */
template <class E> struct gt_pack_copy {
    static GT_DEVICE unsigned across(const gt_packed_place &place)
    {
        return (unsigned)gt_cdiv(place.ld * (int)sizeof(E), 512);
    }
    static GT_DEVICE unsigned blocks(const gt_packed_place &place)
    {
        return across(place) * (unsigned)gt_cdiv(place.rows, 16);
    }

    static GT_DEVICE void move(const gt_pack_source &from, char *to, const gt_packed_place &place,
                               unsigned block)
    {
        const int thread = (int)threadIdx.x;
        const long long row = (long long)(block / across(place)) * 16 + thread / 32 * 4;
        const long long column = (long long)(block % across(place)) * 512;
        const long long ld = place.ld * (int)sizeof(E), at = column + thread % 32 * 16;
        gt_pack_reader<E, 4, 32> reader;

        reader.start(from, row, column);
        to += row * ld + at;
#pragma unroll
        for (int i = 0; i < 4; i++, to += ld) {
            gt_pack_vector line = reader.get(i);
            if (row + i >= from.rows || at >= ld)
                continue;
            if (at + 16 > from.bytes)
                gt_pack_clear(line, (int)(from.bytes - at));
            gt_store_vec<unsigned, 4>(reinterpret_cast<unsigned *>(to), line);
        }
    }
};

/* Transposes as many words, each of another row, as a word has elements: each word is then of one
 * column. */
template <int size> struct gt_pack_transpose;

template <> struct gt_pack_transpose<4> {
    static GT_DEVICE void words(unsigned *to, const unsigned *from)
    {
        to[0] = from[0];
    }
};

template <> struct gt_pack_transpose<2> {
    static GT_DEVICE void words(unsigned *to, const unsigned *from)
    {
        to[0] = __byte_perm(from[0], from[1], 0x5410);
        to[1] = __byte_perm(from[0], from[1], 0x7632);
    }
};

template <> struct gt_pack_transpose<1> {
    static GT_DEVICE void words(unsigned *to, const unsigned *from)
    {
        const unsigned low_01 = __byte_perm(from[0], from[1], 0x5140);
        const unsigned low_23 = __byte_perm(from[2], from[3], 0x5140);
        const unsigned high_01 = __byte_perm(from[0], from[1], 0x7362);
        const unsigned high_23 = __byte_perm(from[2], from[3], 0x7362);
        to[0] = __byte_perm(low_01, low_23, 0x5410);
        to[1] = __byte_perm(low_01, low_23, 0x7632);
        to[2] = __byte_perm(high_01, high_23, 0x5410);
        to[3] = __byte_perm(high_01, high_23, 0x7632);
    }
};

/* Transposed: a lane reads 16 bytes of four rows, and 8 lanes lie along a row. It transposes them
 * in registers and stores them in shared memory, which has a row for each column. There the four
 * elements of a column are a unit; an XOR of its place keeps the units of lanes with different
 * columns in different banks. */
template <class E> struct gt_pack_transposed {
    static constexpr int size = (int)sizeof(E), count = 16 / size, per_word = 4 / size;
    static constexpr int readers = size == 1 ? 2 : 1;              /* of a lane, 64 rows apart */
    static constexpr int rows = 64 * readers, columns = 8 * count; /* of the stored matrix */
    static constexpr int words = rows * size / 4;                  /* of a row of the tile */
    typedef unsigned tile_type[columns * words];

    static GT_DEVICE unsigned across(const gt_packed_place &place)
    {
        return (unsigned)gt_cdiv(place.rows, columns);
    }
    static GT_DEVICE unsigned blocks(const gt_packed_place &place)
    {
        return across(place) * (unsigned)gt_cdiv(place.ld, rows);
    }

    /* Stores what reader number `number` of the lane has read in the tile. */
    static GT_DEVICE void put(unsigned *tile, const gt_pack_reader<E, 4, 8> &reader, int number)
    {
        const int along = (int)threadIdx.x % 8, unit = number * 16 + (int)threadIdx.x / 8;
        unsigned *const to = tile + along * count * words + (unit ^ along * per_word) * size;
        gt_pack_vector line[4];

#pragma unroll
        for (int i = 0; i < 4; i++)
            line[i] = reader.get(i);
#pragma unroll
        for (int w = 0; w < 4; w++) {
            gt_vec<unsigned, size> column[per_word];
#pragma unroll
            for (int i = 0; i < size; i++) {
                unsigned in[per_word], out[per_word];
#pragma unroll
                for (int j = 0; j < per_word; j++)
                    in[j] = line[i * per_word + j].at[w];
                gt_pack_transpose<size>::words(out, in);
#pragma unroll
                for (int j = 0; j < per_word; j++)
                    column[j].at[i] = out[j];
            }
#pragma unroll
            for (int j = 0; j < per_word; j++)
                gt_store_vec<unsigned, size>(to + (w * per_word + j) * words, column[j]);
        }
    }

    /* Stores the tile in the copy, from `row` and `column` on. */
    static GT_DEVICE void take(const unsigned *tile, char *to, const gt_packed_place &place,
                               long long row, long long column)
    {
        constexpr int across = words / 4; /* vectors of 16 bytes of a row */
        to += (row * place.ld + column) * size;
#pragma unroll
        for (int i = 0; i < columns * across / GT_PACK_BLOCK; i++) {
            const int number = i * GT_PACK_BLOCK + (int)threadIdx.x;
            const int r = number / across, c = number % across;
            const gt_pack_vector line =
                gt_load_vec<unsigned, 4>(tile + r * words + (c ^ r / count) * 4);
            if (row + r < place.rows && column + c * count < place.ld)
                gt_store_vec<unsigned, 4>(
                    reinterpret_cast<unsigned *>(to + r * place.ld * size + c * 16), line);
        }
    }

    static GT_DEVICE void move(const gt_pack_source &from, char *to, const gt_packed_place &place,
                               unsigned block)
    {
        GT_STATIC_SHARED(tile_type, tile, );
        const long long row = (long long)(block / across(place)) * rows;
        const long long column = (long long)(block % across(place)) * columns;
        gt_pack_reader<E, 4, 8> reader[readers];

#pragma unroll
        for (int i = 0; i < readers; i++)
            reader[i].start(from, row + i * 64 + threadIdx.x / 8 * 4, column * size);
        gt_sync(); /* the tile of the previous matrix has been stored */
#pragma unroll
        for (int i = 0; i < readers; i++)
            put(tile, reader[i], i);
        gt_sync();
        take(tile, to, place, column, row);
    }
};

template <class E, int pack> struct gt_pack_way : gt_pack_copy<E> {
};
template <class E> struct gt_pack_way<E, 2> : gt_pack_transposed<E> {
};

typedef gt_pack_way<gt_pack_element, PACK_A> gt_pack_way_a;
typedef gt_pack_way<gt_pack_element, PACK_B> gt_pack_way_b;

/* ---- the launch ---- */

/* What is copied to where; rows, cols, ld and stride as stored, in elements. */
struct gt_pack_job {
    const void *operand;
    long long rows, cols, ld, stride;
    char *to;
    gt_packed_place place;
};

GT_DEVICE gt_pack_job gt_pack_job_a(const gt_args &args)
{
    const gt_pack_job job = {args.a,
                             GT_TRANS_A ? args.k : args.m,
                             GT_TRANS_A ? args.m : args.k,
                             args.lda,
                             args.stride_a,
                             static_cast<char *>(args.workspace),
                             gt_packed_a(args)};
    return job;
}

GT_DEVICE gt_pack_job gt_pack_job_b(const gt_args &args)
{
    const gt_pack_job job = {args.b,
                             GT_TRANS_B ? args.n : args.k,
                             GT_TRANS_B ? args.k : args.n,
                             args.ldb,
                             args.stride_b,
                             static_cast<char *>(args.workspace) + gt_packed_a(args).bytes,
                             gt_packed_b(args)};
    return job;
}

/* Copies part `block` of every matrix of the batch. */
template <class way>
GT_DEVICE void gt_pack_operand(const gt_pack_job &job, long long batch, unsigned block)
{
    constexpr int size = (int)sizeof(gt_pack_element);
    const char *first = static_cast<const char *>(job.operand);
    const long long span = ((job.rows - 1) * job.ld + job.cols) * size;

    if (block >= way::blocks(job.place)) /* the one block of operands without elements */
        return;
    for (long long matrix = blockIdx.y; matrix < batch; matrix += gridDim.y) {
        const char *stored = first + matrix * job.stride * size;
        const gt_pack_source from = {stored, stored + span, job.rows, job.cols * size,
                                     job.ld * size};
        way::move(from, job.to + matrix * job.place.stride * size, job.place, block);
    }
}

/* What the entry does; every thread of its blocks takes part. The same code copies two operands
 * that are copied in the same way, because a launch that takes 4 us waits for its code as much as
 * for its data. */
GT_DEVICE void gt_pack(const gt_args &args)
{
    const unsigned blocks_a = PACK_A ? gt_pack_way_a::blocks(gt_packed_a(args)) : 0;
    const bool is_a = blockIdx.x < blocks_a;
    const unsigned block = is_a ? blockIdx.x : blockIdx.x - blocks_a;

    if (args.alpha == 0.0f)
        return;
    if (PACK_A == PACK_B)
        gt_pack_operand<gt_pack_way_a>(is_a ? gt_pack_job_a(args) : gt_pack_job_b(args), args.batch,
                                       block);
    else if (PACK_A && is_a)
        gt_pack_operand<gt_pack_way_a>(gt_pack_job_a(args), args.batch, block);
    else if (PACK_B)
        gt_pack_operand<gt_pack_way_b>(gt_pack_job_b(args), args.batch, block);
}

#endif
