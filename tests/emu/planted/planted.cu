/* planted.cu - test: a tiled product with one fault at a time, which the emulator must find.
 *
 * 8 x 8 threads, tiles of 8 x 8 in two buffers filled by asynchronous copies; FAULT 0 is right. */
#ifndef FAULT
#define FAULT 0 /* which fault, see faults.txt */
#endif

#include "common/gemm.cuh"

GT_DEVICE void fetch(const gt_args &args, float *tiles, long long row, long long column,
                     long long k0, int x, int y)
{
    const float *a = gt_matrix_a(args, blockIdx.z), *b = gt_matrix_b(args, blockIdx.z);
    bool in_a = row + y < args.m && k0 + x < args.k + (FAULT == 5);
    bool in_b = column + x < args.n && k0 + y < args.k;
    gt_cp_async_4(tiles + y * 8 + x, in_a ? a + gt_offset_a(args, row + y, k0 + x) : a, in_a);
    gt_cp_async_4(tiles + 64 + y * 8 + x + (FAULT == 10), in_b ? b + gt_offset_b(args, k0 + y, column + x) : b,
               in_b);
    gt_cp_async_commit();
}

GT_KERNEL_BOUNDS(gemm, 64, 1)
{
    GT_DYNAMIC_SHARED(float, tiles); /* of each buffer: A's tile, B's tile */
    int x = threadIdx.x % 8, y = threadIdx.x / 8;
    long long row = 8LL * blockIdx.y, column = 8LL * blockIdx.x, depth = gt_depth(args);
    gt_output output = gt_output_of(args, blockIdx.z);
    float acc = 0;

    if (FAULT == 7 && row + y >= args.m)
        return;
    if (FAULT == 11)
        acc = tiles[threadIdx.x] * 0;
    fetch(args, tiles, row, column, 0, x, y);
    for (long long k0 = 0; k0 < depth; k0 += 8) {
        float *now = tiles + k0 / 8 % 2 * 128, *next = tiles + (k0 / 8 + 1) % 2 * 128;
        fetch(args, next, row, column, k0 + 8, x, y);
        if (FAULT != 3)
            gt_cp_async_wait<(FAULT == 4 ? 2 : 1)>();
        if (FAULT != 1)
            gt_sync();
        for (int k = 0; k < 8; k++)
            acc = fmaf(now[y * 8 + k], now[64 + k * 8 + x], acc);
        if (FAULT == 8 && x == 3)
            continue;
        if (FAULT != 2)
            gt_sync();
    }
    if (FAULT == 6 && row + y == args.m - 1 && column + x == args.n - 1)
        output.d[(args.m - 1) * args.ldc + args.n] = acc;
    if (FAULT == 9)
        output.beta = output.beta == 0 ? 0 : output.beta + 1;
    if (FAULT == 12 && row + y == 0 && column + x == args.n - 1 && args.m > 1)
        output.d[args.n] = acc;
    gt_output_store<1>(output, row + y, column + x, &acc);
}
