/* fill.cu - operands: reals rounded to their type, or small integers. Each is a function of
 * seed and place alone, so that copies of an operand agree and a damaged one can be restored. */
#include "proof/device.cuh"

/* Box and Muller's transform of two uniforms cut out of one hash. */
GT_PROOF_DEVICE float gt_proof_normal(gt_u64 bits)
{
    float u = ((float)(unsigned)(bits >> 40) + 0.5f) * (1.0f / 16777216.0f);
    float v = (float)(unsigned)(bits & 0xffffffu) * (2.0f / 16777216.0f);

    return GT_PROOF_SQRT(-2.0f * GT_PROOF_LOG(u)) * GT_PROOF_COSPI(v);
}

/* Reals of the integer types: a normal value in units of a quarter of their range, so that few are
 * beyond it, rounded.  S32 holds C and bias of products of S8: the same. */
#define INTEGER_UNIT 32.0f

GT_PROOF_DEVICE float gt_proof_real(gt_u64 bits, int type)
{
    float value = gt_proof_normal(bits);

    if (type != GT_S8 && type != GT_S32)
        return value;
    value = (float)(int)(value * INTEGER_UNIT + (value < 0 ? -0.5f : 0.5f));
    return max(-127.0f, min(127.0f, value));
}

GT_PROOF_DEVICE int gt_proof_integer(gt_u64 bits, int range)
{
    unsigned span = 2u * (unsigned)range + 1u;

    return (int)((unsigned)(bits >> 33) % span) - range;
}

GT_PROOF_DEVICE float gt_proof_uniform(gt_u64 bits, int range)
{
    return ((float)(unsigned)(bits >> 40) * (2.0f / 16777216.0f) - 1.0f) * (float)range;
}

/* The float before or after that integer; 0 stays. */
GT_PROOF_DEVICE float gt_proof_beside(gt_u64 bits, int range)
{
    unsigned word = __float_as_uint((float)gt_proof_integer(bits, range));

    return word & 0x7fffffffu ? __uint_as_float(bits & 1 ? word + 1 : word - 1) : 0.0f;
}

/* A factor: a power of two, or a real of [0.5, 2). */
GT_PROOF_DEVICE float gt_proof_factor(gt_u64 bits, int kind, int range)
{
    return kind == GT_FILL_POWERS
               ? __uint_as_float((unsigned)(127 + gt_proof_integer(bits, range)) << 23)
               : 0.5f + (float)(unsigned)(bits >> 40) * (1.5f / 16777216.0f);
}

/* A real of doubles: the float, with digits below its last one, so that no float is next to it. */
GT_PROOF_DEVICE double gt_proof_double(gt_u64 bits, int kind, int range)
{
    double value = kind == GT_FILL_NORMAL ? gt_proof_normal(bits) : gt_proof_uniform(bits, range);
    double below = (double)(gt_proof_mix(bits) >> 11) * (1.0 / 4503599627370496.0) - 1;

    return fma(value * (1.0 / 33554432.0), below, value);
}

GT_PROOF_DEVICE double gt_proof_drawn(gt_u64 bits, const gt_fill_args &args)
{
    bool whole = args.to.type != GT_F32 && args.to.type != GT_TF32;

    if (args.to.type == GT_F64 && (args.kind == GT_FILL_NORMAL || args.kind == GT_FILL_UNIFORM))
        return gt_proof_double(bits, args.kind, args.range);
    if (args.kind >= GT_FILL_POWERS)
        return gt_proof_factor(bits, args.kind, args.range);
    if (args.kind == GT_FILL_NORMAL)
        return gt_proof_real(bits, args.to.type);
    if (args.kind == GT_FILL_UNIFORM && args.to.type != GT_S8 && args.to.type != GT_S32)
        return gt_proof_uniform(bits, args.range);
    return args.kind == GT_FILL_BESIDE && !whole ? gt_proof_beside(bits, args.range)
                                                 : gt_proof_integer(bits, args.range);
}

GT_PROOF_KERNEL(proof_fill, gt_fill_args)
{
    gt_walk walk = gt_proof_walk();
    gt_u64 seed = gt_proof_mix(args.seed);

    for (long long row = walk.row; row < args.to.rows * args.to.batch; row += walk.row_step) {
        long long b = row / args.to.rows, i = row % args.to.rows;
        long long to = b * args.to.stride + i * args.to.ld;

        for (long long j = walk.col; j < args.to.cols; j += walk.col_step) {
            gt_u64 bits = gt_proof_mix(seed ^ (gt_u64)(row * args.to.cols + j));

            if (args.to.type == GT_E2M1) { /* a byte, by the thread of its first number */
                gt_u64 other = gt_proof_mix(seed ^ (gt_u64)(row * args.to.cols + j + 1));
                int upper =
                    j + 1 < args.to.cols ? gt_proof_to_e2m1(gt_proof_drawn(other, args)) : 7;

                if (j % 2 == 0)
                    static_cast<unsigned char *>(args.to.data)[(to + j) / 2] =
                        (unsigned char)(gt_proof_to_e2m1(gt_proof_drawn(bits, args)) | upper << 4);
                continue;
            }
            gt_proof_put(args.to.data, to + j, args.to.type, gt_proof_drawn(bits, args));
        }
    }
}
