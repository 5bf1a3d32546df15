/* test_gpu_proof.c - what everything else is judged by, judged by the CPU: operands, the float64
 * reference, checksums, the clock, the canary.  And every kernel there is, proved on the GPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "gpu_fixture.h"
#include "proof/verify.h"

/* gt_proof_mix and gt_proof_integer of templates/proof, once more. */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static float integer(uint64_t seed, uint64_t at, int range)
{
    uint64_t bits = mix(mix(seed) ^ at);

    return (float)((int)((uint32_t)(bits >> 33) % (2u * (unsigned)range + 1)) - range);
}

static float *download(struct gt_gpu *gpu, const void *from, size_t count)
{
    float *to = malloc(count * sizeof(*to));
    struct gt_err err;

    if (!to || gt_gpu_download(gpu, to, (gt_devptr)(uintptr_t)from, count * sizeof(*to), &err))
        fail_msg("download failed");
    return to;
}

static void test_fill(void **state)
{
    enum { ROWS = 37, COLS = 70, LD = 80, WORDS = 4096 };
    struct gpu_fixture f;
    struct gt_proof *proof;
    struct gt_matrix matrix = {.words = WORDS, .offset = 256};
    struct gt_err err;
    double sum = 0, squares = 0;
    float *got;

    (void)state;
    gpu_open(&f);
    assert_int_equal(gt_proof_open(&proof, f.gpu, f.nvrtc, ".", NULL, &err), GT_OK);
    assert_int_equal(gt_gpu_alloc(f.gpu, &matrix.base, 4 * WORDS, &err), GT_OK);
    matrix.span =
        (struct gt_span){(void *)(uintptr_t)(matrix.base + 256), ROWS, COLS, LD, 1, ROWS * LD, 0};
    assert_int_equal(gt_gpu_fill32(f.gpu, matrix.base, GT_POISON, WORDS, &err), GT_OK);
    assert_int_equal(gt_proof_fill(proof, &matrix, 5, GT_FILL_INTEGERS, 3, &err), GT_OK);
    assert_int_equal(gt_proof_clear(proof, &err), GT_OK);
    assert_int_equal(gt_proof_guard(proof, &matrix, 0, &err), GT_OK);
    assert_int_equal(gt_proof_fetch(proof, &err), GT_OK);
    assert_int_equal(gt_proof_result(proof, 0)->guard, 0);
    got = download(f.gpu, matrix.span.data, ROWS * LD);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLS; j++)
            if (got[i * LD + j] != integer(5, (uint64_t)(i * COLS + j), 3))
                fail_msg("integer (%d,%d) is %g", i, j, (double)got[i * LD + j]);
    free(got);
    assert_int_equal(gt_proof_fill(proof, &matrix, 5, GT_FILL_NORMAL, 0, &err), GT_OK);
    got = download(f.gpu, matrix.span.data, ROWS * LD);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLS; j++) {
            assert_true(isfinite(got[i * LD + j]));
            sum += (double)got[i * LD + j];
            squares += (double)got[i * LD + j] * (double)got[i * LD + j];
        }
    /* 2590 samples: the mean is within 5 standard errors of 0, the variance of 1. */
    assert_true(fabs(sum / (ROWS * COLS)) < 0.1);
    assert_true(fabs(squares / (ROWS * COLS) - 1) < 0.14);
    free(got);
    gt_gpu_free(f.gpu, matrix.base);
    gt_proof_close(proof);
    gpu_close(&f);
}

/* Element (i, j) of batch z in double, from the operands as they lie on the device. */
static double product(const struct gt_problem *p, const float *a, const float *b, const float *c,
                      const float *bias, int64_t z, int64_t i, int64_t j)
{
    double sum = 0;

    for (int64_t k = 0; k < p->k; k++)
        sum += (double)a[z * p->stride_a + (p->trans_a ? k * p->lda + i : i * p->lda + k)] *
               (double)b[z * p->stride_b + (p->trans_b ? j * p->ldb + k : k * p->ldb + j)];
    sum *= p->alpha;
    if (p->beta != 0)
        sum += p->beta * (double)c[z * p->stride_c + i * p->ldc + j];
    if (bias)
        sum += (double)bias[j];
    if (GT_ACTIVATION(p->epilogue) == GT_EPILOGUE_RELU && sum < 0)
        sum = 0;
    if (GT_ACTIVATION(p->epilogue) == GT_EPILOGUE_GELU)
        sum = 0.5 * sum * (1 + erf(sum * 0.70710678118654752440));
    return sum;
}

static void check_reference(const struct gpu_fixture *f, const char *text)
{
    const struct gt_resident_request request = {.seed = 3, .workspace = 1 << 16, .most_sets = 16};
    struct gt_resident_request asked = request;
    struct gt_resident r;
    struct gt_proof *proof;
    struct gt_problem p;
    struct gt_err err;

    if (gt_problem_parse(&p, text, &err))
        fail_msg("%s", err.msg);
    asked.problem = &p;
    if (gt_proof_open(&proof, f->gpu, f->nvrtc, ".", NULL, &err) ||
        gt_resident_open(&r, f->gpu, proof, &asked, &err))
        fail_msg("%s: %s", text, err.msg);
    float *a =
        download(f->gpu, r.set[0].a.span.data, (size_t)gt_problem_elements(&p, GT_OPERAND_A));
    float *b =
        download(f->gpu, r.set[0].b.span.data, (size_t)gt_problem_elements(&p, GT_OPERAND_B));
    float *c = p.beta != 0 ? download(f->gpu, r.set[0].c.span.data,
                                      (size_t)gt_problem_elements(&p, GT_OPERAND_C))
                           : NULL;
    float *bias =
        p.epilogue & GT_EPILOGUE_BIAS ? download(f->gpu, r.bias.span.data, (size_t)p.n) : NULL;
    double *ref =
        (double *)download(f->gpu, (void *)(uintptr_t)r.ref, 2 * (size_t)gt_problem_results(&p));

    for (int64_t at = 0; at < gt_problem_results(&p); at++) {
        double expected = product(&p, a, b, c, bias, at / (p.m * p.n), at / p.n % p.m, at % p.n);

        if (!(fabs(ref[at] - expected) <= 1e-10))
            fail_msg("%s: reference %lld is %.17g, expected %.17g", text, (long long)at, ref[at],
                     expected);
    }
    free(ref);
    free(bias);
    free(c);
    free(b);
    free(a);
    gt_resident_release(&r);
    gt_proof_close(proof);
}

static void test_reference(void **state)
{
    static const char *const problems[] = {
        "70x130x50",
        "65x64x17:f32:nt:beta=0.5",
        "64x65x200:f32:tn:epi=bias+relu:lda=80",
        "129x70x33:f32:tt:batch=3:epi=bias+gelu:beta=-1:alpha=2:ldc=75",
    };
    struct gpu_fixture f;

    (void)state;
    gpu_open(&f);
    for (size_t i = 0; i < sizeof(problems) / sizeof(*problems); i++)
        check_reference(&f, problems[i]);
    gpu_close(&f);
}

static void test_clock_and_canary(void **state)
{
    struct gpu_fixture f;
    struct gt_problem problem;
    struct gt_bench *bench;
    struct gt_proof *proof;
    const struct gt_proof_result *result;
    struct gt_err err;
    double us = 0, mhz;

    (void)state;
    gpu_open(&f);
    bench = gpu_bench(&f, "64x64x64", true, &problem);
    if (gt_bench_canary(bench, &us, &err))
        fail_msg("%s", err.msg);
    assert_true(us > 5 && us < 20000);
    gt_bench_close(bench);
    assert_int_equal(gt_proof_open(&proof, f.gpu, f.nvrtc, ".", NULL, &err), GT_OK);
    assert_int_equal(gt_proof_clear(proof, &err), GT_OK);
    assert_int_equal(gt_proof_clock(proof, 200000, 0, &err), GT_OK);
    assert_int_equal(gt_proof_fetch(proof, &err), GT_OK);
    result = gt_proof_result(proof, 0);
    mhz = 1e3 * (double)result->cycles / (double)result->nanoseconds;
    print_message("canary %.1f us; SM clock %.0f MHz, rated %.0f\n", us, mhz,
                  gt_gpu_device(f.gpu)->clock_mhz);
    assert_true(mhz > 100 && mhz < 1.1 * gt_gpu_device(f.gpu)->clock_mhz);
    gt_proof_close(proof);
    gpu_close(&f);
}

/* Every kernel of configs/kernels at its default point, where it serves the problem. */
static void test_every_kernel(void **state)
{
    static const char *const problems[] = {"512x512x512",
                                           "300x200x100:f32:nt:beta=0.5",
                                           "129x257x65:f32:tn",
                                           "128x96x200:f32:tt:batch=3:epi=bias+gelu",
                                           "1x512x1000:f32:nn:epi=bias+relu",
                                           "100x100x0:f32:nn:beta=2"};
    struct gt_kernels kernels = {0};
    struct gpu_fixture f;
    struct gt_err err;
    int tried = 0;

    (void)state;
    gpu_open(&f);
    if (gt_kernels_load(&kernels, ".", NULL, NULL, &err))
        fail_msg("%s", err.msg);
    for (size_t p = 0; p < sizeof(problems) / sizeof(*problems); p++) {
        struct gt_problem problem;
        struct gt_bench *bench = gpu_bench(&f, problems[p], false, &problem);

        for (size_t i = 0; i < kernels.count; i++) {
            struct gt_candidate candidate = {
                kernels.kernel[i], &problem, gt_gpu_device(f.gpu), {{0}}};
            struct gt_trial trial;
            int failed = -1;

            gt_point_default(&candidate.point, candidate.kernel);
            if (!gt_kernel_serves(candidate.kernel, &problem, candidate.device) ||
                gt_candidate_valid(&candidate, &failed, NULL) || failed >= 0)
                continue;
            gpu_trial(&f, bench, &candidate, 0, &trial);
            print_message("%s, %s: %.2f us, err %.2f u\n", problems[p], candidate.kernel->name,
                          trial.us, trial.err_u);
            if (trial.status != GT_STATUS_OK)
                fail_msg("%s, %s: %s: %s", problems[p], candidate.kernel->name,
                         gt_status_name(trial.status), trial.detail);
            tried++;
        }
        gt_bench_close(bench);
    }
    assert_true(tried > 10);
    gt_kernels_release(&kernels);
    gpu_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fill),
        cmocka_unit_test(test_reference),
        cmocka_unit_test(test_clock_and_canary),
        cmocka_unit_test(test_every_kernel),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
