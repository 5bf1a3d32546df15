/* test_energy.c - tests the energy of a product against a known load: the stub of NVML counts so
 * many watts, and renews its counter seldom; a product takes what the stub driver's clock says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "stub_fixture.h"
#include "timing/energy.h"

#define PRODUCT_US 2000 /* of cuBLASLt's answers */
#define WATTS      640
#define SECONDS    0.1

static struct gt_bench *open_bench(const struct stub_fixture *f, struct gt_problem *problem)
{
    const struct gt_bench_options options = {.seed = 7, .workspace_cap = 1 << 20};
    struct gt_baseline baseline;
    struct gt_bench *bench = NULL;
    struct gt_err err = {0};

    setenv("STUB_CUBLASLT_US", "2000", 1);
    setenv("STUB_WATTS", "640", 1);
    gt_problem_init(problem, 16, 16, 16);
    if (gt_bench_open(&bench, f->gpu, f->nvrtc, ".", NULL, problem, &options, &err) ||
        gt_bench_baseline(bench, &baseline, &err))
        fail_msg("%s", err.msg);
    return bench;
}

/* Measures cuBLASLt's answer; the figures are within the bound that stands beside them. */
static void expect(struct gt_bench *bench, bool counted, double bound)
{
    const double joules = WATTS * PRODUCT_US * 1e-6;
    struct gt_energy energy;
    struct gt_err err = {0};

    if (gt_bench_energy(bench, NULL, SECONDS, &energy, &err))
        fail_msg("%s", err.msg);
    assert_true(energy.counted == counted);
    assert_true(energy.error > 0 && energy.error <= bound);
    assert_true(fabs(energy.joules / joules - 1) <= energy.error);
    assert_true(fabs(energy.watts / WATTS - 1) <= energy.error);
    assert_float_equal(energy.us, PRODUCT_US, 1);
    assert_true(energy.launches > 0);
    assert_true(energy.clock_mhz > 900);
}

static void test_known_load(void **state)
{
    static const char *const renewed[] = {"5000", "20000", "7300"};
    struct gt_problem problem;
    struct gt_bench *bench = open_bench(*state, &problem);
    struct gt_energy energy;
    struct gt_err err = {0};

    for (size_t i = 0; i < sizeof(renewed) / sizeof(*renewed); i++) {
        setenv("STUB_RENEWED_US", renewed[i], 1);
        expect(bench, true, 0.5);
    }
    setenv("STUB_METER_US", "3000", 1); /* reading takes longer than a batch */
    expect(bench, true, 0.5);
    unsetenv("STUB_METER_US");
    setenv("STUB_RENEWED_US", "1e12", 1); /* it stands still: the power is read */
    expect(bench, false, 0.05);
    unsetenv("STUB_RENEWED_US");
    setenv("STUB_METER", "power", 1);
    expect(bench, false, 0.05);
    /* A machine that was busy elsewhere for longer than the time to measure. */
    assert_int_equal(gt_bench_energy(bench, NULL, 1e-9, &energy, &err), GT_OK);
    assert_true(energy.launches > 0);
    assert_true(fabs(energy.watts / WATTS - 1) <= energy.error);
    unsetenv("STUB_METER");
    gt_bench_close(bench);
}

/* A mean above the limit of 700 W is refused. */
static void test_more_than_the_limit(void **state)
{
    struct gt_problem problem;
    struct gt_bench *bench = open_bench(*state, &problem);
    struct gt_energy energy;
    struct gt_err err = {0};

    setenv("STUB_WATTS", "1500", 1);
    assert_int_equal(gt_bench_energy(bench, NULL, SECONDS, &energy, &err), GT_ERANGE);
    assert_non_null(strstr(err.msg, "the device's limit is 700 W"));
    gt_bench_close(bench);
}

static void test_no_meter(void **state)
{
    struct gt_problem problem;
    struct gt_bench *bench = open_bench(*state, &problem);
    struct gt_energy energy;
    struct gt_err err = {0};

    setenv("STUB_METER", "none", 1);
    assert_int_equal(gt_bench_energy(bench, NULL, SECONDS, &energy, &err), GT_ENOTFOUND);
    assert_non_null(strstr(err.msg, "neither the energy nor the power"));
    unsetenv("STUB_METER");
    gt_bench_close(bench);
}

/* Candidates: a right one, and one whose results are wrong, of which no energy is told. */
static void test_candidates(void **state)
{
    struct gt_problem problem;
    struct gt_bench *bench = open_bench(*state, &problem);
    struct gt_candidate candidate;
    struct gt_strbuf image;
    struct gt_energy energy;
    struct gt_err err = {0};

    setenv("STUB_RENEWED_US", "1000", 1);
    for (int wrong = 0; wrong < 2; wrong++) {
        struct gt_final_entry entry;

        assert_int_equal(
            stub_candidate(*state, &problem, wrong ? "wrong" : NULL, &candidate, &image, &err),
            GT_OK);
        entry = (struct gt_final_entry){&candidate, image.text, image.length + 1};
        assert_int_equal(gt_bench_energy(bench, &entry, 0.02, &energy, &err),
                         wrong ? GT_ERANGE : GT_OK);
        if (!wrong)
            assert_true(fabs(energy.joules / (WATTS * energy.us * 1e-6) - 1) <= energy.error);
        gt_strbuf_release(&image);
    }
    unsetenv("STUB_RENEWED_US");
    gt_bench_close(bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_known_load, stub_set_up, stub_tear_down),
        cmocka_unit_test_setup_teardown(test_more_than_the_limit, stub_set_up, stub_tear_down),
        cmocka_unit_test_setup_teardown(test_no_meter, stub_set_up, stub_tear_down),
        cmocka_unit_test_setup_teardown(test_candidates, stub_set_up, stub_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
