/* planted_wgmma_rs.cu - test: a product whose operand A comes from registers, with one fault at a
 * time, which the emulator must find.
 *
 * A block of 128 threads computes 64 x 64 of D in one stage, A stored along m, B along k; thread 0
 * loads. The second of two fragments is read while the product of the first runs.  FAULT 0 is
 * right. */
#ifndef FAULT
#define FAULT 0 /* which fault, see faults.txt */
#endif

#include "common/tensor.cuh"
#include "common/maps.cuh"
#include "common/hopper.cuh"
#include "common/wgmma_rs.cuh"

constexpr int STAGE_A = 2 * 32 * 128, STAGE = STAGE_A + 64 * 128;

GT_DEVICE void load(const gt_maps &maps, unsigned char *stage, gt_mbarrier *full, int k)
{
    const int row = (int)blockIdx.y * 64;
    gt_mbarrier_arrive_expect_tx(full, STAGE);
    gt_tma_load(stage, &maps.map[0], full, row, k, (int)blockIdx.z);
    gt_tma_load(stage + STAGE_A / 2, &maps.map[0], full, row + 32, k, (int)blockIdx.z);
    gt_tma_load(stage + STAGE_A, &maps.map[1], full, k, (int)blockIdx.x * 64, (int)blockIdx.z);
}

/* Eight of k, from `first` on, of the thread's two rows. */
GT_DEVICE void read(unsigned *fragment, const unsigned char *stage, int first)
{
    const int lane = (int)threadIdx.x % 32;
    for (int i = 0; i < 4; i++) {
        const int half = FAULT == 2 ? i % 2 : i / 2, lower = FAULT == 2 ? i / 2 : i % 2;
        const int row = (int)threadIdx.x / 32 * 16 + lane / 4 + lower * 8;
        const int k = first + lane % 4 + half * 4;
        const int at = k * 128 + ((row % 32 / 4 ^ k % 8) * 16) + row % 4 * 4;
        fragment[i] = *(const unsigned *)(stage + row / 32 * STAGE_A / 2 + at);
    }
}

GT_DEVICE void multiply(unsigned char *stage, float *sum, int step)
{
    const unsigned long long b = gt_smem_descriptor(stage + STAGE_A, 16, 1024, 128);
    unsigned fragment[2][4];
    if (FAULT == 6) /* without a fence */
        *(float *)(stage + STAGE_A + threadIdx.x * 64) = 0.0f;
    for (int k = 0; k < 4; k++) {
        unsigned *own = fragment[FAULT == 1 ? 0 : k % 2];
        read(own, stage, k * 8);
        if (FAULT != 3)
            gt_wgmma_fence();
        gt_wgmma_rs<GT_TF32, 64, 0>(sum, own, gt_smem_descriptor_advance(b, k * 2),
                            FAULT == 4 ? (int)threadIdx.x : step + k);
        gt_wgmma_commit();
        gt_wgmma_wait<1>();
    }
    gt_wgmma_wait<0>();
}

GT_KERNEL_MAPS_BOUNDS(gemm, 128, 1)
{
    GT_DYNAMIC_SHARED(unsigned char, shared);
    gt_mbarrier *full = (gt_mbarrier *)(shared + STAGE);
    const int steps = (int)gt_cdiv(gt_depth(args), 32), lane = (int)threadIdx.x % 32;
    float sum[32] = {};

    if (threadIdx.x == 0) {
        gt_mbarrier_init(full, 1);
        gt_mbarrier_publish();
    }
    gt_sync();
    for (int i = 0; i < steps; i++) {
        if (threadIdx.x == 0)
            load(maps, shared, full, i * 32);
        if (FAULT != 5)
            gt_mbarrier_wait(full, i % 2);
        multiply(shared, sum, i);
        gt_sync();
    }
    for (int i = 0; i < 32; i++)
        gt_typed_output_store<1>(gt_typed_output_of(args, blockIdx.z),
                                 blockIdx.y * 64LL + threadIdx.x / 32 * 16 + lane / 4 + i / 2 % 2 * 8,
                                 blockIdx.x * 64LL + i / 4 * 8 + lane % 4 * 2 + i % 2, sum + i);
}
