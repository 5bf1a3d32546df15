/* planted_hopper.cu - test: a product by TMA and wgmma with one fault at a time, which the emulator
 * must find.
 *
 * A cluster of two blocks computes 64 rows and 2 x 64 columns of D; each loads half of A for both.
 * Threads 0..127 multiply and store, thread 128 loads; two stages, FAULT 0 is right. */
#ifndef FAULT
#define FAULT 0 /* which fault, see faults.txt */
#endif

#include "common/tensor.cuh"
#include "common/maps.cuh"
#include "common/hopper.cuh"
#include "common/wgmma.cuh"

constexpr int STAGES = 2, STAGE = 2 * 64 * 128, SLICE = 64 * 128;

struct barriers {
    gt_mbarrier full[STAGES], empty[STAGES], turn[2];
};

GT_DEVICE void make(barriers *own)
{
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            gt_mbarrier_init(own->full + s, 1);
            gt_mbarrier_init(own->empty + s, FAULT == 1 ? 1 : 2);
        }
        for (int i = 0; i < 2; i++)
            gt_mbarrier_init(own->turn + i, 1);
        if (FAULT != 2)
            gt_mbarrier_publish();
    }
    gt_cluster_sync();
}

/* FAULT 26: two warps take turns and the others look on, though nobody waits for them: one that is late
 * misses a turn, and that one's parity is the next one's but one. */
GT_DEVICE void take_turns(barriers *own)
{
    const int warp = (int)threadIdx.x / 32;
    for (unsigned i = 0; i < 4; i++) {
        if (warp != 0)
            gt_mbarrier_wait(own->turn, i % 2);
        if (threadIdx.x == 0 || threadIdx.x == 32)
            gt_mbarrier_arrive(own->turn + warp);
        if (warp == 0)
            gt_mbarrier_wait(own->turn + 1, i % 2);
    }
}

/* FAULT 22 and above: the launch may begin while another one still runs. */
GT_DEVICE void begin(const gt_args &args)
{
    if (FAULT == 23 && threadIdx.x == 0 && args.beta == 0)
        *(volatile char *)args.d = 0;
    if (FAULT != 22)
        gt_pdl_wait();
}

GT_DEVICE void load(const gt_maps &maps, unsigned char *shared, barriers *own, int steps)
{
    const int rank = (int)gt_cluster_rank(), column = (int)blockIdx.x * 64;
    for (int i = 0; i < steps; i++) {
        unsigned char *stage = shared + i % STAGES * STAGE + (FAULT == 3 ? 64 : 0);
        gt_mbarrier *full = own->full + i % STAGES;
        if (FAULT != 4)
            gt_mbarrier_wait(own->empty + i % STAGES, (i / STAGES + 1) % 2);
        gt_mbarrier_arrive_expect_tx(full, FAULT == 5   ? STAGE + 16
                                           : FAULT == 6 ? STAGE / 2
                                                        : STAGE);
        gt_tma_load_multicast(stage + rank * 32 * 128, &maps.map[0], full, i * 64,
                              (int)blockIdx.y * 64 + rank * 32, (int)blockIdx.z,
                              FAULT == 7 ? 1u << rank : 3u);
        gt_tma_load(stage + 64 * 128, &maps.map[1], full, i * 64, column, (int)blockIdx.z);
    }
}

GT_DEVICE void leave(barriers *own, int stage)
{
    if (threadIdx.x < 2 && FAULT != 8)
        gt_mbarrier_arrive_at(own->empty + stage, threadIdx.x);
}

GT_DEVICE void multiply(unsigned char *shared, barriers *own, int steps, float *sum)
{
    constexpr int swizzle = FAULT == 9 ? 64 : 128, next = FAULT == 10 ? 512 : 1024;
    for (int i = 0; i < steps; i++) {
        unsigned char *stage = shared + i % STAGES * STAGE;
        unsigned long long a = gt_smem_descriptor(stage, 16, next, swizzle);
        unsigned long long b = gt_smem_descriptor(stage + 64 * 128, 16, next, swizzle);
        if (FAULT != 11)
            gt_mbarrier_wait(own->full + i % STAGES, i / STAGES % 2);
        if (FAULT != 12)
            gt_wgmma_fence();
        for (int k = 0; k < 4; k++)
            gt_wgmma<GT_BF16, 64, 0, 0>(
                sum, gt_smem_descriptor_advance(a, k * (FAULT == 13 ? 1 : 2)),
                gt_smem_descriptor_advance(b, k * 2), FAULT == 14 ? (int)threadIdx.x : i + k);
        gt_wgmma_commit();
        if (FAULT == 15)
            leave(own, i % STAGES);
        if (FAULT != 16)
            gt_wgmma_wait<0>();
        if (FAULT == 25)
            stage[threadIdx.x] ^= 1;
        if (FAULT != 15)
            leave(own, i % STAGES);
    }
}

/* Two elements of D, as words hold them; outside of it zeros. */
GT_DEVICE unsigned finish(const gt_typed_output &output, long long row, long long column,
                          const float *sum)
{
    unsigned word = 0;
    for (int i = 0; i < 2; i++) {
        gt_bf16 c = {};
        if (row >= output.m || column + i >= output.n)
            break;
        if (output.beta != 0.0f)
            c = output.c[row * output.ldc + column + i];
        word |= (unsigned)gt_typed_finish(output, sum[i], c, column + i).bits << 16 * i;
    }
    return word;
}

GT_DEVICE void store(const gt_args &args, const gt_maps &maps, unsigned char *slice,
                     const float *sum)
{
    const gt_typed_output output = gt_typed_output_of(args, blockIdx.z);
    const int lane = threadIdx.x % 32, first = (int)threadIdx.x / 32 * 16, row = first + lane % 16;
    for (int c = 0; c < 4; c++) {
        unsigned word[4];
        for (int i = 0; i < 4; i++)
            word[i] =
                finish(output, blockIdx.y * 64LL + first + lane / 4 + i % 2 * 8,
                       blockIdx.x * 64LL + c * 16 + i / 2 * 8 + lane % 4 * 2, sum + c * 8 + i * 2);
        gt_stmatrix_x4(slice + row * 128 + ((c * 2 + lane / 16) ^ row % 8) * 16, word);
    }
    if (FAULT != 17)
        gt_tma_fence();
    gt_named_barrier_sync(1, FAULT == 18 ? 160 : 128);
    if (threadIdx.x == 0) {
        gt_tma_store(&maps.map[2], slice, (int)blockIdx.x * 64, (int)blockIdx.y * 64,
                     (int)blockIdx.z);
        gt_tma_store_commit();
        if (FAULT != 19)
            gt_tma_store_wait_read<0>();
    }
}

GT_KERNEL_MAPS_BOUNDS(gemm, 160, 1)
{
    GT_DYNAMIC_SHARED(unsigned char, shared);
    barriers *own = (barriers *)(shared + STAGES * STAGE + SLICE);
    const int steps = (int)gt_cdiv(gt_depth(args), 64);

    if (FAULT == 24 && blockIdx.y * 64LL >= args.m)
        return;
    make(own);
    if (FAULT == 26)
        take_turns(own);
    begin(args);
    if (threadIdx.x < 128) {
        float sum[32] = {};
        multiply(shared, own, steps, sum);
        store(args, maps, shared + STAGES * STAGE, sum);
    } else if (threadIdx.x == 128) {
        load(maps, shared, own, steps);
    }
    if (FAULT != 20)
        gt_cluster_sync();
}
