/* proof_types.c - test program: the kernels of templates/proof for elements of every type.  It
 * checks that they round once, guard every byte and compare every bit.  Prints TAP. */
#include "numbers.h"
#include "operands.h"
#include "problem/problem.h"
#include "proof/verify.h"
#include "proof_fixture.h"

/* Element of a span, counted densely, by the kernel that fetches it. */
static double look(const struct proof *proof, const struct gt_span *span, long long element)
{
    struct gt_proof_result result = {0};
    double expected = 0;
    struct gt_look_args args = {.d = *span, .at = element, .ref = &expected, .result = &result};
    args.ref -= element; /* the only one that is read */
    RUN(proof->check, proof_look, &args, 1, 1, 1);
    return result.got;
}

/* What each type makes of normal values: how far rounding moves one, and in which unit. */
static const struct type {
    enum gt_dtype type, out;
    double relative, absolute, unit;
} types[] = {
    {GT_TF32, GT_F32, 0, 0, 1},
    {GT_F16, GT_F16, 0x1p-11, 0x1p-25, 1},
    {GT_BF16, GT_BF16, 0x1p-8, 0, 1},
    {GT_E4M3, GT_BF16, 0x1p-4, 0x1p-10, 1},
    {GT_E4M3, GT_E4M3, 0x1p-4, 0x1p-10, 1},
    {GT_E5M2, GT_E5M2, 0x1p-3, 0x1p-17, 1},
    {GT_S8, GT_S32, 0, 0.5, 32},
    {GT_S8, GT_S8, 0, 0.5, 32},
    {GT_F64, GT_F64, 0x1p-25, 0, 1},
};

static void test_typed_fill(struct proof *proof, const struct type *t)
{
    enum { ROWS = 13, COLS = 31 };
    struct matrix as_float = filled(proof, matrix(ROWS, COLS, 0, 1, 0, 0), GT_FILL_NORMAL, 0, 5);
    struct matrix m = filled(proof, typed(t->type, ROWS, COLS, 3, 1, 0, 8), GT_FILL_NORMAL, 0, 5);
    int far = 0, fractions = 0, beyond = 0, floats = 0;
    for (long long e = 0; e < ROWS * COLS; e++) {
        double x = look(proof, &as_float.span, e) * t->unit, got = look(proof, &m.span, e);
        far += fabs(got - fmax(-127, fmin(127, x))) > fabs(x) * t->relative + t->absolute;
        floats += got == (float)got;
    }
    filled(proof, m, GT_FILL_INTEGERS, 8, 6);
    for (long long e = 0; e < ROWS * COLS; e++) {
        double got = look(proof, &m.span, e);
        fractions += got != rint(got);
        beyond += fabs(got) > 8;
    }
    test(proof, !far && !fractions && !beyond && !guard(proof, &m).guard,
         "%s: normal values are rounded once, integers are exact, padding stays",
         gt_dtype_name(t->type));
    if (t->type == GT_F64)
        test(proof, floats < ROWS * COLS / 20, "f64: %d of %d normal values are floats", floats,
             ROWS * COLS);
    free(as_float.base);
    free(m.base);
}

/* Doubles whose sum in double is 0, in every layout: 2^60 * 2^60 - 2^60 * 2^60, and between them
 * the product of two odd numbers of 53 bits, of which also the lower half counts.  alpha and beta
 * are no floats. */
static void test_twice_the_precision(struct proof *proof)
{
    enum { M = 2, N = 3, K = 5, LD = 7 };
    const double x = 0x1.fffffffffffffp-1, alpha = 1.0 / 3, beta = 0.1;
    for (int layout = 0; layout < 4; layout++) {
        int ta = layout / 2, tb = layout % 2;
        double a[LD * LD] = {0}, b[LD * LD] = {0}, c[M * N], ref[M * N];
        float bound[M * N];
        for (int i = 0; i < M; i++) {
            const double row[K] = {0x1p60, x, i, -0x1p60, 1};
            for (int k = 0; k < K; k++)
                a[ta ? k * LD + i : i * LD + k] = row[k];
        }
        for (int j = 0; j < N; j++) {
            const double column[K] = {0x1p60, x, j, 0x1p60, -1};
            for (int k = 0; k < K; k++)
                b[tb ? j * LD + k : k * LD + j] = column[k];
        }
        for (int e = 0; e < M * N; e++)
            c[e] = 7 + e;
        struct gt_reference_args args = {.a = a,
                                         .b = b,
                                         .c = c,
                                         .type = GT_F64,
                                         .type_b = GT_F64,
                                         .out = GT_F64,
                                         .type_bias = GT_F64,
                                         .m = M,
                                         .n = N,
                                         .k = K,
                                         .lda = LD,
                                         .ldb = LD,
                                         .ldc = N,
                                         .trans_a = ta,
                                         .trans_b = tb,
                                         .alpha = alpha,
                                         .beta = beta,
                                         .ref = ref,
                                         .bound = bound};
        RUN(proof->reference_double, proof_reference_double, &args, 1, 1, 1);
        bool right = true;
        for (int e = 0; e < M * N; e++) {
            long double sum = (long double)(x - 1) * (x + 1) + (long double)(e / N) * (e % N);
            sum = (long double)alpha * sum + (long double)beta * c[e];
            right = right && fabsl(sum - ref[e]) <= 0x1p-52L &&
                    fabsf(bound[e] / 0x1.555556p119f - 1) < 1e-6f;
        }
        test(proof, right, "f64, layout %d: the reference keeps what a sum in double loses",
             layout);
    }
}

/* One byte at a time, everywhere outside the elements. */
static void test_typed_guard(struct proof *proof, enum gt_dtype type)
{
    enum { ROWS = 3, COLS = 5, LD = 7 };
    long long size = gt_dtype_size(type), before = size + (size > 4 ? size : 4);
    struct matrix m = filled(proof, typed(type, ROWS, COLS, LD - COLS, 1, 0, (size_t)before),
                             GT_FILL_NORMAL, 0, 7);
    long long bytes = 4 * (long long)m.words, missed = 0;
    for (long long i = 0; i < bytes; i++) {
        long long element = (i - before) / size;
        bool inside = i >= before && element < (ROWS - 1) * LD + COLS && element % LD < COLS;
        ((unsigned char *)m.base)[i] ^= 4;
        struct gt_proof_result result = guard(proof, &m);
        ((unsigned char *)m.base)[i] ^= 4;
        missed +=
            inside ? result.guard != 0 : result.guard != 1 || (long long)~result.first_guard != i;
    }
    test(proof, missed == 0, "%s: each byte outside the elements is guarded, and no other",
         gt_dtype_name(type));
    free(m.base);
}

/* A product of the type, from elements as stored; D is the exact one, then one of its bits off. */
static void test_typed_product(struct proof *proof, const struct type *t)
{
    enum { M = 9, N = 21, K = 19 };
    struct matrix a = filled(proof, typed(t->type, M, K, 2, 1, 0, 0), GT_FILL_NORMAL, 0, 21);
    struct matrix b = filled(proof, typed(t->type, K, N, 0, 1, 0, 0), GT_FILL_NORMAL, 0, 22);
    struct matrix bias = filled(proof, typed(t->out, 1, N, 0, 1, 0, 0), GT_FILL_NORMAL, 0, 23);
    struct matrix d = typed(t->out, M, N, 0, 1, 0, 0);
    double ref[M * N], worst = 0;
    float bound[M * N];
    struct gt_reference_args args = {.a = a.span.data,
                                     .b = b.span.data,
                                     .bias = bias.span.data,
                                     .type = (int)t->type,
                                     .type_b = (int)t->type,
                                     .out = (int)t->out,
                                     .type_bias = (int)t->out,
                                     .m = M,
                                     .n = N,
                                     .k = K,
                                     .lda = a.span.ld,
                                     .ldb = b.span.ld,
                                     .ldc = N,
                                     .epilogue = GT_EPILOGUE_BIAS,
                                     .alpha = 1,
                                     .ref = ref,
                                     .bound = bound,
                                     .exact = d.span.data};
    if (t->type == GT_F64)
        RUN(proof->reference_double, proof_reference_double, &args, 1, 1, 1);
    else
        RUN(proof->reference, proof_reference, &args, 1, 1, 1);
    bool rounded = true;
    for (int e = 0; e < M * N; e++) {
        long double sum = look(proof, &bias.span, e % N), got = look(proof, &d.span, e);
        for (int k = 0; k < K; k++)
            sum += (long double)look(proof, &a.span, e / N * K + k) *
                   look(proof, &b.span, k * N + e % N);
        if (t->out == GT_S8)
            sum = fmaxl(-128, fminl(127, sum));
        worst = fmax(worst, (double)fabsl(sum - ref[e]));
        struct gt_verify_bound allowed;
        struct gt_problem problem;
        gt_problem_init(&problem, M, N, 0);
        problem.out = t->out;
        gt_verify_bound(&problem, &allowed);
        rounded = rounded && fabsl(got - sum) <= fabsl(sum) * allowed.relative + allowed.absolute;
    }
    test(proof, worst < 1e-12 && rounded, "%s to %s: reference, and rounded once",
         gt_dtype_name(t->type), gt_dtype_name(t->out));
    struct gt_proof_result result = {0};
    struct gt_compare_args judge = {.d = d.span, .result = &result};
    size_t bytes = M * N * (size_t)gt_dtype_size(t->out);
    void *copy = malloc(bytes);
    if (!copy)
        abort();
    memcpy(copy, d.span.data, bytes);
    judge.exact = copy;
    RUN(proof->check, proof_compare, &judge, 1, 1, 1);
    unsigned long long before = result.bad;
    ((unsigned char *)d.span.data)[bytes / 2 / 4 * 4] ^= 1; /* the lowest bit of an element */
    RUN(proof->check, proof_compare, &judge, 1, 1, 1);
    test(proof, before == 0 && result.bad == 1, "%s: one bit off is not exact",
         gt_dtype_name(t->out));
    free(copy);
    free(a.base);
    free(b.base);
    free(bias.base);
    free(d.base);
}

/* Factors of blocks of k of A, stored in each type and order, which are drawn as powers of two: the
 * sum of a row of ones is that of its factors. */
static void test_factors(struct proof *proof, const char *scale, int code, enum gt_dtype stored)
{
    enum { M = 131, K = 300 };
    const float whole = 4;
    char text[100];
    struct gt_problem p;
    struct gt_err err;
    snprintf(text, sizeof text, "%dx1x%d:%s%s", M, K, scale,
             strstr(scale, "tiled") ? "" : ":lsa=140");
    if (gt_problem_parse(&p, text, &err)) {
        printf("Bail out! %s\n", err.msg);
        exit(1);
    }
    const bool pairs = p.type == GT_E2M1;
    struct matrix a = typed(GT_E4M3, M, K, 0, 1, 0, 0), b = typed(GT_E4M3, K, 1, 0, 1, 0, 0);
    struct matrix factors = typed(stored, 1, gt_problem_factors(&p, GT_OPERAND_A), 0, 1, 0, 0);
    double ref[M], sums[M] = {0};
    memset(a.base, pairs ? 0x22 : 0x38, M * K); /* ones */
    memset(b.base, pairs ? 0x22 : 0x38, K);
    factors.span.type = code;
    filled(proof, factors, GT_FILL_POWERS, 2, 31);
    struct gt_reference_args args = {
        .a = a.span.data,
        .b = b.span.data,
        .scale_a = {factors.span.data, p.scale_a.tensor ? &whole : NULL, code, 1, p.scale_a.depth,
                    p.scale_a.order == GT_SCALE_K ? p.lsa : p.scale_a.order == GT_SCALE_MN,
                    p.scale_a.order == GT_SCALE_K    ? 1
                    : p.scale_a.order == GT_SCALE_MN ? p.lsa
                                                     : (K - 1) / (4 * p.scale_a.depth) + 1},
        .type = (int)p.type,
        .type_b = (int)p.type,
        .out = GT_F32,
        .m = M,
        .n = 1,
        .k = K,
        .lda = K,
        .ldb = 1,
        .alpha = 1,
        .ref = ref};
    RUN(proof->reference, proof_reference, &args, 1, 3, 1);
    bool right = true, ranged = true;
    for (int i = 0; i < M; i++) {
        for (int k = 0; k < K; k++) {
            const double factor = gt_emu_factor_get(p.scale_a.type, factors.span.data,
                                                    gt_emu_factor_at(&p, GT_OPERAND_A, i, k));
            sums[i] += p.scale_a.tensor ? factor * whole : factor;
            ranged = ranged && factor >= 0.25 && factor <= 4;
        }
        right = right && sums[i] == ref[i];
    }
    test(proof, right && ranged && sums[0] != sums[1], "factors of %s: those of the reference",
         scale);
    free(a.base);
    free(b.base);
    free(factors.base);
}

/* Two numbers in a byte: each is the one of e2m1 that is nearest to the value. */
static void test_pairs(struct proof *proof)
{
    enum { ROWS = 13, COLS = 31, LD = 34 };
    struct matrix as_float = filled(proof, matrix(ROWS, COLS, 0, 1, 0, 0), GT_FILL_NORMAL, 0, 5);
    struct matrix m =
        filled(proof, typed(GT_E2M1, ROWS, COLS, LD - COLS, 1, 0, 0), GT_FILL_NORMAL, 0, 5);
    int far = 0, other = 0;
    for (int e = 0; e < ROWS * COLS; e++) {
        const double x = look(proof, &as_float.span, e), got = look(proof, &m.span, e);
        for (double y = 0; y <= 6; y += y < 2 ? 0.5 : y < 4 ? 1 : 2)
            far += fabs(y - fabs(x)) < fabs(fabs(got) - fabs(x)) || got * x < 0;
        other += got != gt_emu_get(GT_E2M1, m.span.data, (int64_t)(e / COLS) * LD + e % COLS);
    }
    test(proof, !far && !other, "e2m1: %d of %d numbers are not the nearest, %d read otherwise",
         far, ROWS * COLS, other);
    free(as_float.base);
    free(m.base);
}

int main(void)
{
    struct proof proof = {0};

    proof_begin(&proof, "proof_types");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        test_typed_fill(&proof, &types[i]);
        test_typed_guard(&proof, types[i].out);
        test_typed_product(&proof, &types[i]);
    }
    test_twice_the_precision(&proof);
    test_pairs(&proof);
    test_factors(&proof, "e4m3:scale_a=1x32/f32/mn", GT_F32, GT_F32);
    test_factors(&proof, "e4m3:scale_a=1x32/ue8m0/k", GT_PROOF_UE8M0, GT_E4M3);
    test_factors(&proof, "e4m3:scale_a=1x32/ue8m0/tiled", GT_PROOF_UE8M0, GT_E4M3);
    test_factors(&proof, "e2m1:scale_a=1x16/ue4m3/tiled+tensor", GT_E4M3, GT_E4M3);
    test_factors(&proof, "e4m3:scale_a=1x32/bf16/mn", GT_BF16, GT_BF16);
    return proof_end(&proof);
}
