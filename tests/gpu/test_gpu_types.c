/* test_gpu_types.c - the proof and the baseline on a GPU for operands of every type: a plain typed
 * kernel passes, its faults do not, and cuBLASLt's answers are right or said to be absent.  Prints
 * what it saw. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "timing/bench_internal.h"
#include "base/clock.h"
#include "gpu_fixture.h"

#define TYPED "tests/gpu/typed/typed.json"

static const char *const problems[] = {
    "255x257x300:f32:nn:accuracy=f32",
    "255x257x300:tf32",
    "255x257x300:f16:nt",
    "256x264x512:f16:nn:out=f32:acc=f16",
    "255x257x300:bf16:tn:beta=1:align=2",
    "130x260x400:bf16:tt:epi=bias+gelu:batch=2",
    "256x256x512:bf16:nn:out=f32",
    "256x256x512:e4m3:nt",
    "255x257x300:e5m2:nn:out=e5m2:epi=bias:align=1",
    "130x260x400:e4m3:nn:out=e4m3",
    "256x256x512:s8",
    "255x257x300:s8:nt:alpha=-2:beta=3",
    "255x257x300:s8:tn:out=s8:alpha=0.004:align=1",
    "255x257x300:s8:nn:out=f32:alpha=0.25:epi=bias+relu",
};

struct typed {
    struct gpu_fixture f;
    struct gt_kernel *kernel;
    struct gt_problem problem;
    struct gt_bench *bench;
};

static void begin(struct typed *t, const char *problem)
{
    memset(t, 0, sizeof(*t));
    gpu_open(&t->f);
    t->kernel = gpu_kernel(TYPED);
    t->bench = gpu_bench(&t->f, problem, false, &t->problem);
}

static void end(struct typed *t)
{
    gt_bench_close(t->bench);
    gt_kernel_free(t->kernel);
    gpu_close(&t->f);
}

static void try_fault(struct typed *t, int fault, struct gt_trial *trial)
{
    struct gt_candidate candidate = {t->kernel, &t->problem, gt_gpu_device(t->f.gpu), {{fault}}};

    gpu_trial(&t->f, t->bench, &candidate, 0, trial);
}

static void test_every_type_is_proved(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(problems) / sizeof(*problems); i++) {
        struct gt_trial trial;
        struct typed t;

        begin(&t, problems[i]);
        try_fault(&t, 0, &trial);
        print_message("%s: %s, %.3g u %s\n", problems[i], gt_status_name(trial.status), trial.err_u,
                      trial.detail);
        assert_int_equal(trial.status, GT_STATUS_OK);
        /* The last bit of one element; sums of TF32 may be off by a quarter (tuner/proof/verify.c).
         */
        try_fault(&t, 1, &trial);
        assert_int_equal(trial.status, t.problem.type == GT_TF32 ? GT_STATUS_OK : GT_STATUS_WRONG);
        try_fault(&t, 4, &trial);
        assert_int_equal(trial.status, GT_STATUS_OOB_WRITE);
        try_fault(&t, 5, &trial);
        assert_int_equal(trial.status, GT_STATUS_WRONG);
        end(&t);
    }
}

/* Operands or sums of fewer bits than the accuracy allows. */
static void test_precision_is_told(void **state)
{
    static const struct {
        const char *problem;
        int fault;
        enum gt_status status;
    } cases[] = {
        {"256x256x4096:tf32", 2, GT_STATUS_WRONG},
        {"256x256x512:f32:nn:accuracy=low", 2, GT_STATUS_OK},
        {"256x256x512:f32:nn:accuracy=f32", 2, GT_STATUS_WRONG},
        {"256x256x512:bf16:nn:out=f32", 3, GT_STATUS_WRONG},
        {"256x256x4096:f16:nn:out=f32", 3, GT_STATUS_WRONG},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct gt_trial trial;
        struct typed t;

        begin(&t, cases[i].problem);
        try_fault(&t, cases[i].fault, &trial);
        print_message("%s, fault %d: %s, %.3g u %s\n", cases[i].problem, cases[i].fault,
                      gt_status_name(trial.status), trial.err_u, trial.detail);
        assert_int_equal(trial.status, cases[i].status);
        end(&t);
    }
}

/* Whether cuBLASLt serves it and is right. */
static bool look_at_baseline(const char *problem)
{
    struct gt_baseline baseline;
    struct gt_verify_bound bound;
    double start = gt_clock_s(), opened;
    struct gt_err err;
    struct typed t;
    int rc;

    begin(&t, problem);
    opened = 1e3 * (gt_clock_s() - start);
    gt_verify_bound(&t.problem, &bound);
    rc = gt_bench_baseline(t.bench, &baseline, &err);
    if (rc)
        print_message("%s: %s\n", problem, err.msg);
    else
        print_message("%s: %s, %d right, %.2f us (first %.2f), %.1f TFLOP/s, %.4g u of %.4g + %.3g "
                      "|ref|; opened in %.0f ms\n",
                      problem, baseline.name, baseline.answers, baseline.us, baseline.first_us,
                      gt_problem_flops(&t.problem) / baseline.us * 1e-6, baseline.err_u,
                      bound.tolerance * 0x1p24, bound.relative, opened);
    end(&t);
    if (rc == GT_ENOLIB)
        skip();
    return rc == GT_OK;
}

static void test_baselines(void **state)
{
    static const char *const needed[] = {
        "4096x4096x4096:f16",
        "4096x4096x4096:bf16",
        "4096x4096x4096:tf32",
        "4096x4096x4096:s8:nt",
        "4096x4096x4096:e4m3:nt",
        "4096x4096x4096:f16:nn:acc=f16",
        "4096x4096x4096:f32:nn:accuracy=f32",
        "1031x1031x1031:bf16:tn",
        "1000x1000x1000:bf16:nt:epi=bias+relu",
        "512x512x512:f16:nn:beta=0.5:batch=4",
        "2048x2048x256:bf16:nn:out=f32",
        "2048x2048x16384:bf16:nn:out=f32",
        "2048x2048x16384:f16:nn:out=f32",
        "2048x2048x64:tf32",
        "2048x2048x16384:tf32",
    };
    static const char *const others[] = {
        "8192x8192x8192:bf16",
        "4096x4096x4096:s8",
        "4096x4096x4096:s8:nn:out=s8:alpha=0.001",
        "4096x4096x4096:e4m3:nt:out=f32",
        "2048x2048x256:e4m3:nt:out=f32",
        "2048x2048x16384:e4m3:nt:out=f32",
        "4096x4096x4096:e4m3:nn",
        "4096x4096x4096:e5m2:nt",
        "2048x2048x256:f16:nn:acc=f16",
        "2048x2048x16384:f16:nn:acc=f16",
        "1031x1031x1031:s8:nt",
        "1000x1000x1000:e4m3:nt",
        "2048x2048x2048:f16:nn:acc=f16:out=f32",
    };

    size_t served = 0, count = sizeof(needed) / sizeof(*needed);

    (void)state;
    for (size_t i = 0; i < count; i++)
        served += look_at_baseline(needed[i]);
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        look_at_baseline(others[i]);
    assert_int_equal(served, count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type_is_proved),
        cmocka_unit_test(test_precision_is_told),
        cmocka_unit_test(test_baselines),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
