/* reference.cu - the product in float64, and |A||B| beside it, by which errors are measured.
 *
 * A block of 16 x 16 threads computes 64 x 64 elements, a thread 4 x 4 of them, 16 apart, over
 * slices of 16 along k:
 *
 *            64 columns of op(B)
 *           +------------------+
 *        16 |        b         |     both slices are kept as doubles and as absolute floats, so
 * that
 *           +------------------+     the inner loop converts nothing
 *   +-----+ +------------------+
 *   |  a  | |  64 x 64 of ref  |
 *   +-----+ +------------------+
 */
#include "proof/device.cuh"

#define TILE  64
#define SLICE 16

/* Element (major, minor) of a matrix that begins at element `from` of data. */
GT_PROOF_DEVICE float gt_proof_load(const void *data, int type, long long from, long long major,
                                    long long minor, long long ld, bool inside)
{
    return inside ? (float)gt_proof_get(data, from + major * ld + minor, type) : 0.0f;
}

/* The factor of element (i, k); 1 without a scale. */
GT_PROOF_DEVICE double gt_proof_scale_of(const gt_proof_scale &scale, long long i, long long k,
                                         bool inside)
{
    if (!scale.at || !inside)
        return 1.0;
    const double tensor = scale.tensor ? *scale.tensor : 1.0;
    i /= scale.rows;
    k /= scale.depth;
    return tensor * gt_proof_get(scale.at,
                                 scale.step_mn ? i * scale.step_mn + k * scale.step_k
                                               : (i / 128 * scale.step_k + k / 4) * 512 +
                                                     i % 32 * 16 + i / 32 % 4 * 4 + k % 4,
                                 scale.type);
}

/* Not inlined: one copy of the error function is enough. */
__device__ __noinline__ void gt_proof_store(const gt_reference_args &args, long long batch,
                                            long long i, long long j, double sum, double bound)
{
    long long at = (batch * args.m + i) * args.n + j;
    double x = args.alpha * sum;

    bound *= fabs(args.alpha);
    if (args.beta != 0) {
        double c =
            args.beta * gt_proof_get(args.c, batch * args.stride_c + i * args.ldc + j, args.out);

        x += c;
        bound += fabs(c);
    }
    if (args.epilogue & 1) {
        double bias = gt_proof_get(args.bias, j, args.type_bias);

        x += bias;
        bound += fabs(bias);
    }
    x = gt_proof_saturate(gt_proof_activate(x, args.epilogue), args.out);
    if (args.ref)
        args.ref[at] = x;
    if (args.bound)
        args.bound[at] = (float)bound;
    if (args.exact)
        gt_proof_put(args.exact, at, args.out, x);
}

GT_PROOF_KERNEL(proof_reference, gt_reference_args)
{
    GT_PROOF_SHARED(double, a, [SLICE][TILE]);
    GT_PROOF_SHARED(double, b, [SLICE][TILE]);
    GT_PROOF_SHARED(float, abs_a, [SLICE][TILE]);
    GT_PROOF_SHARED(float, abs_b, [SLICE][TILE]);
    int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    long long row = args.row + (long long)blockIdx.y * TILE, col = (long long)blockIdx.x * TILE;
    long long batch = args.first + blockIdx.z;
    long long from_a = batch * args.stride_a, from_b = batch * args.stride_b;
    double sum[4][4] = {};
    float bound[4][4] = {};

    /* alpha == 0 must not look at A and B. */
    for (long long k = 0; k < (args.alpha != 0 ? args.k : 0); k += SLICE) {
        for (int at = threadIdx.x; at < SLICE * TILE; at += 256) {
            /* Neighbouring threads read neighbouring words, whichever way A and B are stored. */
            int ka = args.trans_a ? at / TILE : at % SLICE,
                ia = args.trans_a ? at % TILE : at / SLICE;
            int kb = args.trans_b ? at % SLICE : at / TILE,
                jb = args.trans_b ? at / SLICE : at % TILE;
            bool in_a = k + ka < args.k && row + ia < args.m;
            bool in_b = k + kb < args.k && col + jb < args.n;
            long long major_a = args.trans_a ? k + ka : row + ia;
            long long minor_a = args.trans_a ? row + ia : k + ka;
            long long major_b = args.trans_b ? col + jb : k + kb;
            long long minor_b = args.trans_b ? k + kb : col + jb;
            float x = gt_proof_load(args.a, args.type, from_a, major_a, minor_a, args.lda, in_a);
            float y = gt_proof_load(args.b, args.type_b, from_b, major_b, minor_b, args.ldb, in_b);

            a[ka][ia] = x * gt_proof_scale_of(args.scale_a, row + ia, k + ka, in_a);
            abs_a[ka][ia] = fabsf((float)a[ka][ia]);
            b[kb][jb] = y * gt_proof_scale_of(args.scale_b, col + jb, k + kb, in_b);
            abs_b[kb][jb] = fabsf((float)b[kb][jb]);
        }
        __syncthreads();
#pragma unroll 4
        for (int s = 0; s < SLICE; s++)
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) {
                    sum[i][j] = fma(a[s][ty + 16 * i], b[s][tx + 16 * j], sum[i][j]);
                    bound[i][j] = fmaf(abs_a[s][ty + 16 * i], abs_b[s][tx + 16 * j], bound[i][j]);
                }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++)
            if (row + ty + 16 * i < args.m && col + tx + 16 * j < args.n)
                gt_proof_store(args, batch, row + ty + 16 * i, col + tx + 16 * j, sum[i][j],
                               bound[i][j]);
}
