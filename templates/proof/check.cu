/* check.cu - judges results where they lie: against the reference, against each other, and whether
 * guards and inputs are untouched. A thread collects its findings and reports them once. */
#include "proof/device.cuh"

/* Largest value of the warp's lanes, in lane 0 at least. */
GT_PROOF_DEVICE float gt_proof_warp_max(float value)
{
    for (int by = 16; by; by /= 2)
        value = max(value, __shfl_xor_sync(0xffffffffu, value, by));
    return value;
}

/* Error of one element in units of its bound; adds to `bad` if it is out of tolerance. */
GT_PROOF_DEVICE float gt_proof_judge(const gt_compare_args &args, long long at, double d, bool *bad)
{
    if (args.bound) {
        double error = fabs(d - args.ref[at]), bound = args.bound[at];

        *bad =
            !(error <= bound * args.tolerance + fabs(args.ref[at]) * args.relative + args.absolute);
        return bound > 0 ? (float)(error / bound) : 0.0f;
    }
    double exact = gt_proof_get(args.exact, at, args.d.type);
    *bad = !(fabs(d - exact) <= args.slack * max(fabs(exact), 8.0) + args.absolute);
    return 0.0f;
}

GT_PROOF_KERNEL(proof_compare, gt_compare_args)
{
    gt_walk walk = gt_proof_walk();
    gt_u64 bad = 0, first_bad = ~0ull, nonfinite = 0, first_nonfinite = ~0ull;
    float worst = 0.0f;

    for (long long row = walk.row; row < args.d.rows * args.d.batch; row += walk.row_step) {
        long long from = row / args.d.rows * args.d.stride + row % args.d.rows * args.d.ld;

        for (long long j = walk.col; j < args.d.cols; j += walk.col_step) {
            long long at = row * args.d.cols + j;
            double d = gt_proof_get(args.d.data, from + j, args.d.type);
            bool is_bad = false;
            float error = gt_proof_judge(args, at, d, &is_bad);

            /* NaN must not hide in a maximum: it is counted by itself. */
            if (!gt_proof_finite(d)) {
                nonfinite++;
                first_nonfinite = min(first_nonfinite, (gt_u64)at);
            } else if (error > worst) {
                worst = error;
            }
            if (is_bad) {
                bad++;
                first_bad = min(first_bad, (gt_u64)at);
            }
        }
    }
    gt_proof_note(&args.result->bad, &args.result->first_bad, bad, first_bad);
    gt_proof_note(&args.result->nonfinite, &args.result->first_nonfinite, nonfinite,
                  first_nonfinite);
    worst = gt_proof_warp_max(worst);
    if (threadIdx.x % 32 == 0 && worst > 0)
        atomicMax(&args.result->error, (gt_u64)__float_as_uint(worst));
}

/* One thread: fetches an element for a sentence. */
GT_PROOF_KERNEL(proof_look, gt_look_args)
{
    long long row = args.at / args.d.cols, j = args.at % args.d.cols;

    if (threadIdx.x != 0)
        return;
    args.result->got = gt_proof_get(
        args.d.data, row / args.d.rows * args.d.stride + row % args.d.rows * args.d.ld + j,
        args.d.type);
    args.result->expected =
        args.exact ? gt_proof_get(args.exact, args.at, args.d.type) : args.ref[args.at];
}

/* Bits of element `at`, of so many bytes. */
GT_PROOF_DEVICE gt_u64 gt_proof_bits(const void *data, long long at, int bytes)
{
    return bytes == 8   ? static_cast<const gt_u64 *>(data)[at]
           : bytes == 4 ? static_cast<const unsigned *>(data)[at]
           : bytes == 2 ? static_cast<const unsigned short *>(data)[at]
                        : static_cast<const unsigned char *>(data)[at];
}

GT_PROOF_KERNEL(proof_equal, gt_equal_args)
{
    gt_walk walk = gt_proof_walk();
    int bytes = gt_proof_bytes(args.x.type);
    gt_u64 different = 0, first = ~0ull;

    for (long long row = walk.row; row < args.x.rows * args.x.batch; row += walk.row_step) {
        long long b = row / args.x.rows, i = row % args.x.rows;
        long long x = b * args.x.stride + i * args.x.ld, y = b * args.y.stride + i * args.y.ld;

        for (long long j = walk.col; j < args.x.cols; j += walk.col_step)
            if (gt_proof_bits(args.x.data, x + j, bytes) !=
                gt_proof_bits(args.y.data, y + j, bytes)) {
                different++;
                first = min(first, (gt_u64)(row * args.x.cols + j));
            }
    }
    gt_proof_note(&args.result->different, &args.result->first_different, different, first);
}

/* What one thread found: words that are no longer poison, and the first byte of them. */
struct gt_broken {
    gt_u64 words, first;
};

/* Looks at bytes [from, to), a word at a time. */
GT_PROOF_DEVICE void gt_proof_guard_range(const gt_guard_args &args, long long from, long long to,
                                          long long start, long long step, gt_broken *broken)
{
    for (long long word = from / 4 + start; 4 * word < to; word += step) {
        unsigned changed = args.base[word] ^ args.poison;
        int byte = 0;

        if (4 * word < from)
            changed &= ~0u << 8 * (from - 4 * word);
        if (4 * word + 4 > to)
            changed &= ~0u >> 8 * (4 * word + 4 - to);
        if (!changed)
            continue;
        while (!(changed >> 8 * byte & 0xff))
            byte++;
        broken->words++;
        broken->first = min(broken->first, (gt_u64)(4 * word + byte));
    }
}

GT_PROOF_KERNEL(proof_guard, gt_guard_args)
{
    const gt_span &in = args.inside;
    long long size = gt_proof_bytes(in.type);
    long long span = in.rows && in.cols && in.batch
                         ? (in.batch - 1) * in.stride + (in.rows - 1) * in.ld + in.cols
                         : 0;
    long long thread = gt_proof_first(), threads = gt_proof_step();
    gt_broken broken = {0, ~0ull};

    gt_proof_guard_range(args, 0, args.offset, thread, threads, &broken);
    gt_proof_guard_range(args, args.offset + size * span, 4 * args.words, thread, threads, &broken);
    /* Between the rows, and between the matrices of a batch. */
    if (span && (in.ld > in.cols || in.stride > in.rows * in.ld))
        for (long long row = thread / 32; row + 1 < in.rows * in.batch; row += threads / 32) {
            long long b = row / in.rows, i = row % in.rows;
            long long from = b * in.stride + i * in.ld + in.cols;
            long long to = i + 1 < in.rows ? b * in.stride + (i + 1) * in.ld : (b + 1) * in.stride;

            gt_proof_guard_range(args, args.offset + size * from, args.offset + size * to,
                                 thread % 32, 32, &broken);
        }
    gt_proof_note(&args.result->guard, &args.result->first_guard, broken.words, broken.first);
}

/* A sum of words mixed with their places: order does not matter, any change does. */
GT_PROOF_KERNEL(proof_hash, gt_hash_args)
{
    gt_u64 sum = 0;

    for (long long at = gt_proof_first(); at < args.words; at += gt_proof_step())
        sum += gt_proof_mix((gt_u64)at << 32 ^ args.base[at]);
    if (sum)
        atomicAdd(&args.result->hash, sum);
}
