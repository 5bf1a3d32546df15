/* served.cu - compares a served product with cuBLAS's where both lie (src/serve/check.c).
 * The first kernel finds the elements that differ most, the second computes these in float64.
 *
 * Both wait for memory.  So 16 bytes whose bits are the same are not looked at any further, and no
 * thread waits for another one. */
#include "proof/device.cuh"

/* How far ours is from theirs, beyond what rounding the two results explains: without that the
 * largest elements of a D in BF16 would hide all others.  0: nothing is wrong with ours. */
GT_PROOF_DEVICE float gt_served_difference(const gt_served_args &args, long long at)
{
    double ours = gt_proof_get(args.ours.data, at, args.ours.type);
    double theirs = gt_proof_get(args.theirs, at, args.ours.type);
    double difference = fabs(ours - theirs) - args.of_result * fabs(theirs);

    if (!gt_proof_finite(theirs))
        return 0.0f;
    if (!gt_proof_finite(ours))
        return 3e38f;
    return difference > 0 ? (float)min(difference, 3e38) : 0.0f;
}

GT_PROOF_DEVICE bool gt_served_same(const gt_served_args &args, long long at, int bytes)
{
    const char *ours = static_cast<const char *>(args.ours.data);
    const char *theirs = static_cast<const char *>(args.theirs);
    uint4 x = *reinterpret_cast<const uint4 *>(ours + at * bytes);
    uint4 y = *reinterpret_cast<const uint4 *>(theirs + at * bytes);

    return x.x == y.x && x.y == y.y && x.z == y.z && x.w == y.w;
}

/* x / y of numbers that are not negative; a division of 64 bits is a function, and seldom needed.
 */
GT_PROOF_DEVICE long long gt_served_divide(long long x, long long y)
{
    return (x | y) >> 32 ? x / y : (long long)((unsigned)x / (unsigned)y);
}

/* Threads take pieces of rows, of 16 bytes or of one element, in turns.  Each thread reports the
 * worst of its elements to one of the findings. */
GT_PROOF_KERNEL(served_compare, gt_served_args)
{
    int bytes = gt_proof_bytes(args.ours.type), most = args.wide ? 16 / bytes : 1;
    long long pieces = gt_cdiv(args.ours.cols, most);
    gt_served_finding *to = &args.finding[gt_proof_first() % GT_SERVED_LOOKED_AT];
    float worst = 0.0f;
    gt_u64 place = 0, found;

    for (long long piece = gt_proof_first(); piece < args.ours.batch * args.ours.rows * pieces;
         piece += gt_proof_step()) {
        long long row = gt_served_divide(piece, pieces), j = (piece - row * pieces) * most;
        long long batch = gt_served_divide(row, args.ours.rows);
        long long count = min(args.ours.cols - j, (long long)most);
        long long at = batch * args.ours.stride + (row - batch * args.ours.rows) * args.ours.ld + j;

        if (args.wide && count == most && gt_served_same(args, at, bytes))
            continue;
        for (long long e = 0; e < count; e++) {
            float difference = gt_served_difference(args, at + e);

            if (difference > worst) {
                worst = difference;
                place = (gt_u64)(row * args.ours.cols + j + e);
            }
        }
    }
    if (!(worst > 0))
        return;
    found = (gt_u64)(__float_as_uint(worst) >> 8 | 1) << GT_SERVED_PLACE | place;
    if (found > *static_cast<volatile gt_u64 *>(&to->worst))
        atomicMax(&to->worst, found);
}

/* The last thread that has added to the sums judges both results. */
GT_PROOF_DEVICE void gt_served_judge(const gt_served_args &args, gt_served_finding *to,
                                     long long batch, long long i, long long j)
{
    long long at = batch * args.ours.stride + i * args.ours.ld + j;
    double exact = (double)args.alpha * atomicAdd(&to->sum, 0.0);
    double sums = fabs((double)args.alpha) * atomicAdd(&to->sums, 0.0);

    if (args.c) {
        double c = (double)args.beta *
                   gt_proof_get(args.c, batch * args.stride_c + i * args.ldc + j, args.ours.type);

        exact += c;
        sums += fabs(c);
    }
    if (args.bias) {
        double bias = gt_proof_get(args.bias, j, args.ours.type);

        exact += bias;
        sums += fabs(bias);
    }
    if (args.epilogue & 2)
        exact = exact > 0 ? exact : exact - exact; /* NaN stays */
    exact = gt_proof_saturate(exact, args.ours.type);
    to->ours = gt_proof_get(args.ours.data, at, args.ours.type);
    to->theirs = gt_proof_get(args.theirs, at, args.ours.type);
    to->exact = exact;
    to->allowed = args.of_sums * sums + args.of_result * fabs(exact) + args.absolute;
    to->wrong = gt_proof_finite(exact) && gt_proof_finite(sums) &&
                !(fabs(to->ours - exact) <= to->allowed) && fabs(to->theirs - exact) <= to->allowed;
}

/* Row blockIdx.y of blocks computes the element of that finding. */
GT_PROOF_KERNEL(served_exact, gt_served_args)
{
    gt_served_finding *to = &args.finding[blockIdx.y];
    long long at = (long long)(to->worst & ((1ull << GT_SERVED_PLACE) - 1));
    long long row = at / args.ours.cols, j = at % args.ours.cols;
    long long batch = row / args.ours.rows, i = row % args.ours.rows;
    double sum = 0, sums = 0;

    if (!to->worst)
        return;
    for (long long k = gt_proof_first(); k < args.k; k += gt_proof_step()) {
        double a = gt_proof_get(
            args.a, batch * args.stride_a + (args.trans_a ? k * args.lda + i : i * args.lda + k),
            args.type);
        double b = gt_proof_get(
            args.b, batch * args.stride_b + (args.trans_b ? j * args.ldb + k : k * args.ldb + j),
            args.type);

        sum += a * b;
        sums += fabs(a * b);
    }
    atomicAdd(&to->sum, sum);
    atomicAdd(&to->sums, sums);
    __threadfence();
    if (atomicAdd(&to->done, 1ull) + 1 == (gt_u64)gt_proof_step())
        gt_served_judge(args, to, batch, i, j);
}
