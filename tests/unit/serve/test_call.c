/* test_call.c - calls of cuBLAS as problems: which text a call has, and which calls have none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "serve/call.h"

static const float one = 1, zero = 0, half = 0.5f;
static char memory[64] __attribute__((aligned(64)));

static struct gt_gemm plain(void)
{
    return (struct gt_gemm){.m = 3,
                            .n = 5,
                            .k = 7,
                            .lda = 3,
                            .ldb = 7,
                            .ldc = 3,
                            .batch = 1,
                            .compute = GT_COMPUTE_32F,
                            .alpha = &one,
                            .beta = &zero,
                            .a = memory,
                            .b = memory,
                            .c = memory,
                            .d = memory};
}

static enum gt_reason key_of(struct gt_call_key *key, const struct gt_gemm *gemm, int math)
{
    const struct gt_scene scene = {.math = math};
    float alpha, beta;

    return gt_call_key(key, &alpha, &beta, gemm, &scene, memory);
}

/* text: of the problem; NULL: there is none, for `reason`. */
static void expect(const struct gt_gemm *gemm, int math, enum gt_accuracy accuracy,
                   const char *text, enum gt_reason reason)
{
    char found[GT_PROBLEM_TEXT_MAX] = "";
    struct gt_problem problem;
    struct gt_call_key key;
    enum gt_reason got = key_of(&key, gemm, math);

    if (!got)
        got = gt_call_problem(&problem, &key, accuracy, false);
    if (!got)
        gt_problem_format(&problem, found);
    if (got != reason || (text && strcmp(text, found) != 0))
        fail_msg("'%s' (%s), expected '%s' (%s)", found, gt_reason_text(got), text ? text : "",
                 gt_reason_text(reason));
}

#define STRICT GT_ACCURACY_STRICT

static void test_sides(void **state)
{
    struct gt_gemm g = plain();

    (void)state;
    expect(&g, 0, STRICT, "5x3x7:f32:nn", GT_SERVED);
    g.ta = GT_OP_T;
    g.lda = 7;
    expect(&g, 0, STRICT, "5x3x7:f32:nt", GT_SERVED);
    g.tb = GT_OP_C;
    g.ldb = 5;
    expect(&g, 0, STRICT, "5x3x7:f32:tt", GT_SERVED);
    for (int op = -1; op <= 3; op += 4) { /* for which cuBLAS has an error */
        g.ta = op;
        expect(&g, 0, STRICT, NULL, GT_PASS_TYPES);
        g.ta = GT_OP_T;
        g.tb = op;
        expect(&g, 0, STRICT, NULL, GT_PASS_TYPES);
        g.tb = GT_OP_C;
    }
    g.lda = 8;
    g.ldb = 9;
    g.ldc = 10;
    g.beta = &half;
    expect(&g, 0, STRICT, "5x3x7:f32:tt:lda=9:ldb=8:ldc=10:beta=1", GT_SERVED);
    g = plain();
    g.epilogue = GT_EPILOGUE_BIAS | GT_EPILOGUE_RELU;
    g.bias = memory;
    expect(&g, 0, STRICT, "5x3x7:f32:nn:epi=bias+relu", GT_SERVED);
    g.bias = memory + 8;
    expect(&g, 0, STRICT, "5x3x7:f32:nn:epi=bias+relu:align=8", GT_SERVED);
}

static void test_batches(void **state)
{
    struct gt_gemm g = plain();

    (void)state;
    g.sa = 1000; /* of no matter */
    expect(&g, 0, STRICT, "5x3x7:f32:nn", GT_SERVED);
    g.batch = 2;
    g.sb = 35;
    g.sc = 15;
    expect(&g, 0, STRICT, "5x3x7:f32:nn:batch=2:sb=1000", GT_SERVED);
    g.sa = 0; /* the same matrix for all */
    expect(&g, 0, STRICT, "5x3x7:f32:nn:batch=2:sb=0", GT_SERVED);
    g.sa = -1;
    expect(&g, 0, STRICT, NULL, GT_PASS_SHAPE);
    g.sa = 21;
    g.sc = 1; /* results on top of each other */
    expect(&g, 0, STRICT, NULL, GT_PASS_SHAPE);
    g.batch = 0;
    expect(&g, 0, STRICT, NULL, GT_PASS_EMPTY);
}

static void test_types(void **state)
{
    static const struct {
        int at, bt, ct, compute, math;
        const char *text;
    } types[] = {
        {GT_CUDA_R_16F, GT_CUDA_R_16F, GT_CUDA_R_16F, GT_COMPUTE_32F, 0, "5x3x7:f16:nn:align=2"},
        {GT_CUDA_R_16BF, GT_CUDA_R_16BF, GT_CUDA_R_16BF, GT_COMPUTE_32F, 16,
         "5x3x7:bf16:nn:align=2"},
        {GT_CUDA_R_16BF, GT_CUDA_R_16BF, GT_CUDA_R_32F, GT_COMPUTE_32F, 0, NULL},
        {GT_CUDA_R_16F, GT_CUDA_R_16BF, GT_CUDA_R_32F, GT_COMPUTE_32F, 0, NULL},
        {GT_CUDA_R_16F, GT_CUDA_R_16F, GT_CUDA_R_16BF, GT_COMPUTE_32F, 0, NULL},
        {GT_CUDA_R_16F, GT_CUDA_R_16F, GT_CUDA_R_16F, GT_COMPUTE_16F, 0, NULL},
        {GT_CUDA_R_16F, GT_CUDA_R_16F, GT_CUDA_R_16F, GT_COMPUTE_32F, 2, NULL},
        {GT_CUDA_R_8I, GT_CUDA_R_8I, GT_CUDA_R_8I, GT_COMPUTE_32I, 0, NULL},
        {1 /* FP64 */, 1, 1, 70, 0, NULL},
        {4 /* complex */, 4, 4, GT_COMPUTE_32F, 0, NULL},
    };
    static const int32_t whole = 1;
    struct gt_gemm g = plain();

    (void)state;
    g.a = memory + 2;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        g.at = types[i].at;
        g.bt = types[i].bt;
        g.ct = types[i].ct;
        g.compute = types[i].compute;
        g.alpha = g.compute == GT_COMPUTE_32I ? (const void *)&whole : &one;
        expect(&g, types[i].math, STRICT, types[i].text,
               types[i].text ? GT_SERVED
               : i == 2      ? GT_PASS_SHAPE /* 2 bytes for FP32 */
                             : GT_PASS_TYPES);
    }
}

/* Types of which 16 bits are those of a type that there is. */
static void test_no_types(void **state)
{
    static const int beyond[] = {1 << 16, -(1 << 16), 2 << 16, INT32_MIN, 1 << 15, -(1 << 15)};

    (void)state;
    for (size_t i = 0; i < sizeof(beyond) / sizeof(beyond[0]); i++) {
        struct gt_gemm g = plain();
        int *const places[] = {&g.at, &g.bt, &g.ct, &g.compute, &g.ta, &g.tb};

        for (size_t at = 0; at < sizeof(places) / sizeof(places[0]); at++) {
            g = plain();
            *places[at] += beyond[i];
            expect(&g, 0, STRICT, NULL, GT_PASS_TYPES);
        }
        g = plain();
        g.at += beyond[i];
        g.bt += beyond[i];
        g.ct += beyond[i];
        expect(&g, 0, STRICT, NULL, GT_PASS_TYPES);
        g = plain();
        expect(&g, beyond[i], STRICT, NULL, GT_PASS_TYPES);
    }
}

static void test_accuracy(void **state)
{
    struct gt_gemm g = plain();

    (void)state;
    expect(&g, GT_MATH_DEFAULT, GT_ACCURACY_F32, "5x3x7:f32:nn:accuracy=f32", GT_SERVED);
    expect(&g, GT_MATH_DEFAULT, GT_ACCURACY_TF32, "5x3x7:tf32:nn", GT_SERVED);
    expect(&g, GT_MATH_TF32, STRICT, "5x3x7:tf32:nn", GT_SERVED);
    expect(&g, GT_MATH_BF16X9, STRICT, "5x3x7:f32:nn:accuracy=f32", GT_SERVED);
    expect(&g, GT_MATH_TENSOR_OP, STRICT, NULL, GT_PASS_TYPES);
    expect(&g, 2 /* pedantic */, GT_ACCURACY_TF32, NULL, GT_PASS_TYPES);
    g.compute = GT_COMPUTE_32F_FAST_TF32;
    expect(&g, GT_MATH_DEFAULT, STRICT, "5x3x7:tf32:nn", GT_SERVED);
    g.compute = GT_COMPUTE_32F_EMULATED_16BFX9;
    expect(&g, GT_MATH_DEFAULT, STRICT, "5x3x7:f32:nn:accuracy=f32", GT_SERVED);
    g.compute = GT_COMPUTE_32F_FAST_16BF;
    expect(&g, GT_MATH_DEFAULT, STRICT, NULL, GT_PASS_TYPES);
    g.compute = 69; /* FP32, pedantic */
    expect(&g, GT_MATH_DEFAULT, STRICT, NULL, GT_PASS_TYPES);
}

/* A call without a matrix is cuBLAS's to refuse, and takes nothing from the calls after it. */
static void test_null(void **state)
{
    struct gt_gemm g = plain();

    (void)state;
    g.c = NULL;
    expect(&g, 0, STRICT, "5x3x7:f32:nn", GT_SERVED);
    g.beta = &one;
    expect(&g, 0, STRICT, NULL, GT_PASS_POINTERS);
    g = plain();
    g.a = NULL;
    expect(&g, 0, STRICT, NULL, GT_PASS_POINTERS);
    g = plain();
    g.b = NULL;
    expect(&g, 0, STRICT, NULL, GT_PASS_POINTERS);
    g = plain();
    g.d = NULL;
    expect(&g, 0, STRICT, NULL, GT_PASS_POINTERS);
}

static void test_scalars(void **state)
{
    static const float infinite = INFINITY, not_a_number = NAN;
    static const int32_t whole = 3, large = (1 << 24) + 1;
    struct gt_gemm g = plain();

    (void)state;
    g.alpha = &zero;
    expect(&g, 0, STRICT, NULL, GT_PASS_ALPHA);
    g.alpha = &infinite;
    expect(&g, 0, STRICT, NULL, GT_PASS_ALPHA);
    g.alpha = &one;
    g.beta = &not_a_number;
    expect(&g, 0, STRICT, NULL, GT_PASS_ALPHA);
    g.beta = NULL;
    expect(&g, 0, STRICT, NULL, GT_PASS_POINTERS);
    g.at = g.bt = GT_CUDA_R_8I;
    g.ct = GT_CUDA_R_32I;
    g.compute = GT_COMPUTE_32I;
    g.alpha = g.beta = &whole;
    expect(&g, 0, STRICT, "5x3x7:s8:nn:beta=1", GT_SERVED);
    g.alpha = &large;
    expect(&g, 0, STRICT, NULL, GT_PASS_ALPHA);
}

/* What differs makes another key, and what does not matter makes none. */
static void test_keys(void **state)
{
    struct gt_call_key key, other;
    struct gt_gemm g = plain();

    (void)state;
    assert_int_equal(key_of(&key, &g, 0), GT_SERVED);
    g.alpha = &half;
    g.sa = 77;
    g.c = NULL; /* not read where beta is 0 */
    assert_int_equal(key_of(&other, &g, 0), GT_SERVED);
    assert_memory_equal(&key, &other, sizeof(key));
    g.beta = &half;
    g.c = memory;
    assert_int_equal(key_of(&other, &g, 0), GT_SERVED);
    assert_memory_not_equal(&key, &other, sizeof(key));
    g = plain();
    assert_int_equal(key_of(&other, &g, GT_MATH_TF32), GT_SERVED);
    assert_memory_not_equal(&key, &other, sizeof(key));
    g.m = 0;
    assert_int_equal(key_of(&other, &g, 0), GT_PASS_EMPTY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sides),   cmocka_unit_test(test_batches),
        cmocka_unit_test(test_types),   cmocka_unit_test(test_accuracy),
        cmocka_unit_test(test_scalars), cmocka_unit_test(test_keys),
        cmocka_unit_test(test_null),    cmocka_unit_test(test_no_types),
    };

    return cmocka_run_group_tests_name("call", tests, NULL, NULL);
}
