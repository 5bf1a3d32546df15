/* test_gpu_bench.c - timing on a GPU: stages agree with each other, with the device's peak and with
 * cuBLASLt's order of magnitude.  Prints what it saw. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "timing/bench_internal.h"
#include "base/clock.h"
#include "gpu_fixture.h"

#define KERNEL "configs/kernels/simt_warptile.json"

struct timed {
    struct gpu_fixture f;
    struct gt_kernel *kernel;
    struct gt_problem problem;
    struct gt_bench *bench;
    struct gt_candidate candidate;
    struct gt_binary binary;
};

static void begin(struct timed *t, const char *problem, bool warm)
{
    memset(t, 0, sizeof(*t));
    gpu_open(&t->f);
    t->kernel = gpu_kernel(KERNEL);
    t->bench = gpu_bench(&t->f, problem, warm, &t->problem);
    t->candidate = (struct gt_candidate){t->kernel, &t->problem, gt_gpu_device(t->f.gpu), {{0}}};
    gt_point_default(&t->candidate.point, t->kernel);
    gpu_compile(&t->f, &t->candidate, &t->binary);
}

static void end(struct timed *t)
{
    gt_binary_release(&t->binary);
    gt_bench_close(t->bench);
    gt_kernel_free(t->kernel);
    gpu_close(&t->f);
}

static double trial_us(struct timed *t, double best_us, enum gt_status expected)
{
    const struct gt_bench_entry entry = gpu_entry(&t->candidate, &t->binary);
    struct gt_trial trial = {0};
    struct gt_err err;

    if (gt_bench_trial(t->bench, &entry, best_us, &trial, &err))
        fail_msg("%s", err.msg);
    if (trial.status != expected)
        fail_msg("%s: %s", gt_status_name(trial.status), trial.detail);
    return trial.us;
}

static double sample_us(struct timed *t, struct gt_trial *trial)
{
    const struct gt_bench_entry entry = gpu_entry(&t->candidate, &t->binary);
    struct gt_err err;

    memset(trial, 0, sizeof(*trial));
    if (gt_bench_sample(t->bench, &entry, 100, trial, &err))
        fail_msg("%s", err.msg);
    if (trial->status != GT_STATUS_OK)
        fail_msg("%s: %s", gt_status_name(trial->status), trial->detail);
    return trial->us;
}

static void test_stages_agree(void **state)
{
    static const char *const problems[] = {"4096x4096x4096", "1024x1024x1024", "256x256x256"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct timed t;
        struct gt_trial trial;

        begin(&t, problems[i], false);
        double raced = trial_us(&t, 0, GT_STATUS_OK), sampled = sample_us(&t, &trial);

        print_message("%s: raced %.2f us, sampled %.2f us [%.2f, %.2f] of %d, %.0f MHz, %s\n",
                      problems[i], raced, sampled, trial.lo_us, trial.hi_us, trial.samples,
                      trial.clock_mhz, trial.detail);
        assert_true(fabs(raced / sampled - 1) < 0.35);
        assert_true((trial.hi_us - trial.lo_us) / sampled < 0.05);
        assert_true(trial_us(&t, sampled / 10, GT_STATUS_SLOW) > sampled / 2);
        end(&t);
    }
}

/* What one candidate costs, from image to verdict. */
static void test_candidates_per_second(void **state)
{
    enum { TRIALS = 40 };
    struct timed t;

    (void)state;
    begin(&t, "4096x4096x4096", false);
    double best = trial_us(&t, 0, GT_STATUS_OK), start = gt_clock_s();

    for (int i = 0; i < TRIALS; i++)
        trial_us(&t, best, GT_STATUS_OK);
    double each = 1e3 * (gt_clock_s() - start) / TRIALS;

    print_message("4096^3: %.1f ms a candidate (%.1f a second), of which four launches %.1f ms\n",
                  each, 1e3 / each, 4e-3 * best);
    assert_true(each < 8e-3 * best + 20);
    end(&t);
}

static void test_warm_is_not_slower(void **state)
{
    struct gt_trial trial;
    struct timed t;

    (void)state;
    begin(&t, "512x512x512", false);
    double cold = sample_us(&t, &trial), warm;
    end(&t);
    begin(&t, "512x512x512", true);
    warm = sample_us(&t, &trial);
    end(&t);
    print_message("512^3: cold %.2f us, warm %.2f us\n", cold, warm);
    assert_true(warm < 1.1 * cold);
}

static void test_baseline_and_final(void **state)
{
    static const char *const problems[] = {"2048x2048x2048", "1000x1000x1000:f32:tn:beta=0.5",
                                           "500x300x200:f32:tt:epi=bias+relu",
                                           "256x128x64:f32:nt:batch=8"};

    (void)state;
    for (size_t i = 0; i < sizeof(problems) / sizeof(*problems); i++) {
        struct gt_trial trial = {0}, yardstick = {0};
        struct gt_baseline baseline;
        struct gt_err err;
        struct timed t;
        int rc;

        begin(&t, problems[i], false);
        rc = gt_bench_baseline(t.bench, &baseline, &err);
        if (rc == GT_ENOLIB) {
            end(&t);
            print_message("skipped: %s\n", err.msg);
            skip();
        }
        if (rc)
            fail_msg("%s: %s", problems[i], err.msg);
        const struct gt_bench_entry entry = gpu_entry(&t.candidate, &t.binary);

        if (gt_bench_final(t.bench, &entry, 1, 30, &trial, &yardstick, &err))
            fail_msg("%s: %s", problems[i], err.msg);
        print_message("%s: %s %.2f us (first %.2f, %d right, err %.2f u); in the final: it %.2f "
                      "us, %s %.2f us\n",
                      problems[i], baseline.name, baseline.us, baseline.first_us, baseline.answers,
                      baseline.err_u, yardstick.us, t.kernel->name, trial.us);
        assert_int_equal(trial.status, GT_STATUS_OK);
        assert_int_equal(yardstick.status, GT_STATUS_OK);
        assert_true(fabs(yardstick.us / baseline.us - 1) < 0.3);
        end(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stages_agree),
        cmocka_unit_test(test_candidates_per_second),
        cmocka_unit_test(test_warm_is_not_slower),
        cmocka_unit_test(test_baseline_and_final),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
