/* boxed.cu - test: a naive product of operands that TMA brings box by box, for the tensor maps of
 * a description: on a GPU (tests/gpu/test_gpu_maps.c) and in the emulator.
 *
 *          COLS
 *      +----------+     a box of A and one of B, as they are stored, in the pattern of SWIZZLE
 * ROWS |   box    |     bytes.  Each step multiplies the first DEPTH values of k, as many as the
 *      +----------+     shallower box holds.
 */
#ifndef ROWS
#define ROWS 32 /* rows of a box */
#endif
#ifndef SWIZZLE
#define SWIZZLE 128 /* bytes of the boxes' pattern, and of their rows unless 0 */
#endif

#ifndef OFFSET
#define OFFSET 0 /* bytes from where a pattern begins to where the boxes do */
#endif

#include "common/tensor.cuh"
#include "common/maps.cuh"

typedef gt_element<GT_TYPE>::type Element;

constexpr int ROW_BYTES = SWIZZLE ? SWIZZLE : 64;
constexpr int COLS = ROW_BYTES / (int)sizeof(Element);
constexpr int BOX_BYTES = ROWS * ROW_BYTES;
constexpr int DEPTH_A = GT_TRANS_A ? ROWS : COLS, TILE_M = GT_TRANS_A ? COLS : ROWS;
constexpr int DEPTH_B = GT_TRANS_B ? COLS : ROWS, TILE_N = GT_TRANS_B ? ROWS : COLS;
constexpr int DEPTH = DEPTH_A < DEPTH_B ? DEPTH_A : DEPTH_B;
constexpr int THREADS = 128, SUMS = TILE_M * TILE_N / THREADS;

/* Where a byte of a box lies: pieces of 16 bytes are mixed by the address, wherever the box begins. */
GT_DEVICE int place(int byte)
{
    constexpr int pieces = SWIZZLE ? SWIZZLE / 16 - 1 : 0;
    return ((byte + OFFSET) ^ ((byte + OFFSET) >> 7 & pieces) << 4) - OFFSET;
}

GT_DEVICE float value(const unsigned char *box, int row, int column)
{
    int byte = row * ROW_BYTES + column * (int)sizeof(Element);
    return gt_to_float<GT_TYPE>(*(const Element *)(box + place(byte)));
}

#ifdef GT_EMULATE

struct Arrivals {
    int unused;
};

GT_DEVICE void begin(Arrivals *)
{
}

GT_DEVICE void load(unsigned char *box, const gt_map &map, Arrivals *, long long column,
                    long long row, long long batch)
{
    if (map.rank != 3 || map.box[0] != COLS || map.box[1] != ROWS || map.swizzle != SWIZZLE)
        return;
    for (int i = 0; i < ROWS * COLS; i++) {
        const long long at[3] = {column + i % COLS, row + i / COLS, batch};
        const unsigned char *from = map.base;
        bool inside = true;
        for (int j = 0; j < 3; j++) {
            inside = inside && at[j] < map.dims[j];
            from += at[j] * map.strides[j];
        }
        Element *to = (Element *)(box + place(i * (int)sizeof(Element)));
        if (inside)
            *to = *(const Element *)from;
        else
            *to = Element();
    }
}

GT_DEVICE void wait(Arrivals *, int)
{
    gt_sync();
}

#else

typedef unsigned long long Arrivals; /* an mbarrier */

GT_DEVICE unsigned shared_address(const void *at)
{
    return (unsigned)__cvta_generic_to_shared(at);
}

GT_DEVICE void begin(Arrivals *arrivals)
{
    asm volatile("griddepcontrol.wait;" ::: "memory");
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 2;" ::"r"(shared_address(arrivals)));
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    gt_sync();
}

/* One thread's; the second box of a step ends the expectation. */
GT_DEVICE void load(unsigned char *box, const gt_map &map, Arrivals *arrivals, long long column,
                    long long row, long long batch)
{
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(arrivals)),
        "r"(BOX_BYTES)
        : "memory");
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3, %4}], [%5];" ::"r"(shared_address(box)),
                 "l"(&map), "r"((int)column), "r"((int)row), "r"((int)batch),
                 "r"(shared_address(arrivals))
                 : "memory");
}

GT_DEVICE void wait(Arrivals *arrivals, int step)
{
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n"
                 "}" ::"r"(shared_address(arrivals)),
                 "r"(step & 1)
                 : "memory");
}

#endif

GT_KERNEL_MAPS_BOUNDS(gemm, THREADS, 1)
{
    GT_DYNAMIC_SHARED(unsigned char, memory);
    /* Patterns begin at multiples of 1024 bytes. */
    unsigned char *box = memory + (1024 - (unsigned long long)memory % 1024) % 1024 + OFFSET;
    Arrivals *arrivals = (Arrivals *)(box + 2 * BOX_BYTES);
    const long long first_m = (long long)blockIdx.x * TILE_M, batch = blockIdx.z;
    const long long first_n = (long long)blockIdx.y * TILE_N;
    gt_element<GT_ACC>::type sum[SUMS] = {};

    begin(arrivals);
    for (long long k = 0; k < gt_depth(args); k += DEPTH) {
        if (threadIdx.x == 0) {
            load(box, maps.map[1], arrivals, GT_TRANS_A ? first_m : k, GT_TRANS_A ? k : first_m,
                 batch);
            load(box + BOX_BYTES, maps.map[2], arrivals, GT_TRANS_B ? k : first_n,
                 GT_TRANS_B ? first_n : k, batch);
        }
        wait(arrivals, (int)(k / DEPTH));
        for (int i = 0; i < SUMS; i++) {
            int m = ((int)threadIdx.x + i * THREADS) / TILE_N, n = (int)threadIdx.x + i * THREADS;
            n %= TILE_N;
            for (int depth = 0; depth < DEPTH; depth++)
                sum[i] += value(box, GT_TRANS_A ? depth : m, GT_TRANS_A ? m : depth) *
                          value(box + BOX_BYTES, GT_TRANS_B ? n : depth, GT_TRANS_B ? depth : n);
        }
        gt_sync();
    }
    for (int i = 0; i < SUMS; i++) {
        int at = (int)threadIdx.x + i * THREADS;
        gt_typed_output_store<1>(gt_typed_output_of(args, batch), first_m + at / TILE_N,
                                 first_n + at % TILE_N, &sum[i]);
    }
}
