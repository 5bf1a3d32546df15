/* unpromoted.cu - test: FP32 products from two TF32 parts of each operand, three products, which
 * reach FP32's accuracy only where the tensor core's sums, which it truncates, are taken over by
 * FP32 additions now and then.  A warp computes 16 x 8 elements of D. */
#ifndef LOSS
#define LOSS 0 /* 0: sums are taken over every 32 k; 1: only at the end; 2: and one product only \
                */
#endif

#include "common/tensor.cuh"
#include "common/mma.cuh"

/* x = high + low, as TF32. */
GT_DEVICE void split(float x, unsigned &high, unsigned &low)
{
    high = gt_round_tf32(__float_as_uint(x));
    low = gt_round_tf32(__float_as_uint(x - __uint_as_float(high)));
}

GT_KERNEL_BOUNDS(gemm, 32, 1)
{
    const float *a = gt_matrix_a(args, blockIdx.z), *b = gt_matrix_b(args, blockIdx.z);
    const gt_typed_output output = gt_typed_output_of(args, blockIdx.z);
    const int group = threadIdx.x / 4, member = threadIdx.x % 4;
    const long long row = blockIdx.y * 16LL + group, column = blockIdx.x * 8LL + group;
    float sum[4] = {}, acc[4] = {};

    for (long long k0 = 0; k0 < gt_depth(args); k0 += 8) {
        unsigned a_high[4], a_low[4], b_high[2], b_low[2];
        for (int i = 0; i < 4; i++) {
            long long r = row + i % 2 * 8, k = k0 + member + i / 2 * 4;
            split(r < args.m && k < args.k ? a[gt_offset_a(args, r, k)] : 0.0f, a_high[i],
                  a_low[i]);
        }
        for (int i = 0; i < 2; i++) {
            long long k = k0 + member + i * 4;
            split(column < args.n && k < args.k ? b[gt_offset_b(args, k, column)] : 0.0f, b_high[i],
                  b_low[i]);
        }
        if (LOSS < 2) {
            gt_mma_m16n8k8_tf32_f32(acc, a_low, b_high);
            gt_mma_m16n8k8_tf32_f32(acc, a_high, b_low);
        }
        gt_mma_m16n8k8_tf32_f32(acc, a_high, b_high);
        if (LOSS == 0 && k0 % 32 == 24)
            for (int e = 0; e < 4; e++) {
                sum[e] += acc[e];
                acc[e] = 0.0f;
            }
    }
    for (int e = 0; e < 4; e++) {
        sum[e] += acc[e];
        gt_typed_output_store<1>(output, row + e / 2 * 8, blockIdx.x * 8LL + member * 2 + e % 2,
                                 sum + e);
    }
}
