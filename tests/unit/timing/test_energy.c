/* test_energy.c - tests the energy of a product against a known load, on the stub driver with the
 * pace of a device (stub_power.c) and meters with the habits of NVML's (stub_nvml.c).
 *
 * Time is this test's own: the driver, its meters and the code that is tested ask clock_gettime and
 * wait by usleep, which are defined here.  So nothing depends on how busy the machine is, and the
 * host can be late on purpose. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <time.h>
#include <unistd.h>

#include "stub_fixture.h"

#define PRODUCT_US 2000 /* of cuBLASLt's answers */
#define WATTS      480
#define SECONDS    0.5
#define MOST_US    20e6 /* that a reading may take */

/* ---- the clock ---- */

#define EXPORTED __attribute__((visibility("default"))) /* to the stubs, too */

/* Every asking takes a microsecond; every `late_every_us` the host is away for `late_us`. */
static double clock_us = 1e6, late_us, late_every_us = 1e12, last_late_us;

EXPORTED int clock_gettime(clockid_t which, struct timespec *now)
{
    (void)which;
    clock_us += 1;
    if (late_us > 0 && clock_us > last_late_us + late_every_us) {
        clock_us += late_us;
        last_late_us = clock_us;
    }
    now->tv_sec = (time_t)(clock_us * 1e-6);
    now->tv_nsec = (long)(1e3 * (clock_us - 1e6 * (double)now->tv_sec));
    return 0;
}

EXPORTED int usleep(useconds_t us)
{
    clock_us += us;
    return 0;
}

/* ---- fixture ---- */

static const struct gt_energy_wish wish = {.seconds = SECONDS, .error = 0.03};

/* Habits of a device and its meters; what is not named is as in stub_nvml.c. */
#define SETTINGS 4
struct habits {
    const char *what;
    struct {
        const char *name, *value;
    } set[SETTINGS];
    double late_us, late_every_us;
    double bound; /* of the error that is told */
    bool by_power;
    int product_us; /* of cuBLASLt's answers; 0: PRODUCT_US */
    double idle_us; /* before */
};

static void set_habits(const struct habits *habits, bool on)
{
    for (int i = 0; i < SETTINGS && habits->set[i].name; i++)
        if (on)
            setenv(habits->set[i].name, habits->set[i].value, 1);
        else
            unsetenv(habits->set[i].name);
    late_us = on ? habits->late_us : 0;
    late_every_us = habits->late_every_us;
    last_late_us = clock_us;
}

static int set_up(void **state)
{
    setenv("STUB_PACED", "1", 1);
    setenv("STUB_CUBLASLT_US", "2000", 1);
    setenv("STUB_WATTS", "480", 1);
    return stub_set_up(state);
}

static struct gt_bench *open_bench(const struct stub_fixture *f, struct gt_problem *problem)
{
    const struct gt_bench_options options = {.seed = 7, .workspace_cap = 1 << 20};
    struct gt_baseline baseline;
    struct gt_bench *bench = NULL;
    struct gt_err err = {0};

    gt_problem_init(problem, 4, 4, 4);
    if (gt_bench_open(&bench, f->gpu, f->nvrtc, ".", NULL, problem, &options, &err) ||
        gt_bench_baseline(bench, &baseline, &err))
        fail_msg("%s", err.msg);
    return bench;
}

/* ---- tests ---- */

/* Measures cuBLASLt's answer; the figures are within the bound that stands beside them. */
static void expect(struct gt_bench *bench, const struct habits *habits)
{
    const double product_us = habits->product_us ? habits->product_us : PRODUCT_US;
    const double joules = WATTS * product_us * 1e-6, began_us = clock_us;
    struct gt_energy energy;
    struct gt_err err = {0};
    char us[16];

    clock_us += habits->idle_us;
    snprintf(us, sizeof(us), "%g", product_us);
    setenv("STUB_CUBLASLT_US", us, 1);
    set_habits(habits, true);
    if (gt_bench_energy(bench, NULL, &wish, &energy, &err))
        fail_msg("%s: %s", habits->what, err.msg);
    set_habits(habits, false);
    printf("%-50s %6.1f W %7.1f us %6.4f J, off by %5.2f %%, bound %5.2f %%\n", habits->what,
           energy.watts, energy.us, energy.joules, 100 * (energy.joules / joules - 1),
           100 * energy.error);
    assert_true(energy.counted == !habits->by_power);
    assert_true(energy.error > 0 && energy.error <= habits->bound);
    assert_true(fabs(energy.joules / joules - 1) <= energy.error);
    assert_true(fabs(energy.watts / WATTS - 1) <= energy.error);
    assert_true(fabs(energy.us / product_us - 1) <= fmax(energy.error, 0.001));
    assert_true(energy.launches > 0);
    assert_true(energy.clock_mhz > 900);
    assert_true(clock_us - habits->idle_us < began_us + MOST_US);
}

static void test_known_load(void **state)
{
    static const struct habits habits[] = {
        {"renewed every 20 ms", {{0}}, .bound = 0.03},
        {"renewed every 100 ms", {{"STUB_RENEWED_US", "100000"}}, .bound = 0.03},
        {"renewed at odd times", {{"STUB_RENEWED_US", "73100"}}, .bound = 0.03},
        {"renewed more often than it is read", {{"STUB_RENEWED_US", "500"}}, .bound = 0.03},
        {"a renewal late",
         {{"STUB_RENEWED_US", "100000"}, {"STUB_LAG_US", "100000"}},
         .bound = 0.1},
        {"steps of 4 J", {{"STUB_STEP_MJ", "4000"}}, .bound = 0.1},
        {"steps of 30 J", {{"STUB_STEP_MJ", "30000"}}, .bound = 0.5},
        {"stands still for 20 renewals at first", {{"STUB_STANDS", "20"}}, .bound = 0.03},
        {"reading takes longer than a product", {{"STUB_METER_US", "3000"}}, .bound = 0.05},
        {"reading takes longer than the queue lasts", {{"STUB_METER_US", "90000"}}, .bound = 1.2},
        {"the host is late by less than the queue lasts",
         {{0}},
         .late_us = 15000,
         .late_every_us = 100000,
         .bound = 0.15},
        {"the host leaves gaps now and then",
         {{0}},
         .late_us = 90000,
         .late_every_us = 250000,
         .bound = 0.8},
        {"the counter counts a quarter too much", {{"STUB_SKEW", "25"}}, .bound = 0.3},
        {"the counter counts a fifth too little", {{"STUB_SKEW", "-20"}}, .bound = 0.3},
        {"the counter stands still for ever",
         {{"STUB_STEP_MJ", "1e12"}},
         .bound = 0.06,
         .by_power = true},
        {"products of 20 us", {{0}}, .bound = 0.03, .product_us = 20},
        {"products of 20 us, 300 are queued",
         {{"STUB_QUEUED", "300"}},
         .bound = 0.05,
         .product_us = 20},
        {"products of 6 us", {{0}}, .bound = 0.05, .product_us = 6},
        {"the counter counts the mean of a second, after idling",
         {{"STUB_RENEWED_US", "100000"}, {"STUB_COUNT_MEAN_US", "1000000"}},
         .idle_us = 5e6,
         .bound = 0.03},
        {"there is no counter", {{"STUB_METER", "power"}}, .bound = 0.06, .by_power = true},
        {"there is no counter, the power is late",
         {{"STUB_METER", "power"}, {"STUB_LAG_US", "100000"}},
         .bound = 0.06,
         .by_power = true},
    };
    struct gt_problem problem;
    struct gt_bench *bench = open_bench(*state, &problem);

    for (size_t i = 0; i < sizeof(habits) / sizeof(*habits); i++)
        expect(bench, &habits[i]);
    gt_bench_close(bench);
}

static int measure(struct gt_bench *bench, const struct habits *habits, struct gt_err *err)
{
    struct gt_energy energy;
    int rc;

    set_habits(habits, true);
    rc = gt_bench_energy(bench, NULL, &wish, &energy, err);
    set_habits(habits, false);
    return rc;
}

/* A mean above the limit of 700 W is refused, and so is one of launches that left gaps of more than
 * half of the time: a product's energy is not known then. */
static void test_refused(void **state)
{
    const struct habits much = {"counts too much", {{"STUB_SKEW", "70"}}, .late_us = 0};
    const struct habits away = {
        "away most of the time", {{0}}, .late_us = 900000, .late_every_us = 200000};
    const struct habits none = {"no meter", {{"STUB_METER", "none"}}, .late_us = 0};
    struct gt_problem problem;
    struct gt_bench *bench = open_bench(*state, &problem);
    struct gt_err err = {0};

    assert_int_equal(measure(bench, &much, &err), GT_ERANGE);
    assert_non_null(strstr(err.msg, "the device's limit is 700 W"));
    assert_int_equal(measure(bench, &away, &err), GT_ERANGE);
    assert_non_null(strstr(err.msg, "gaps"));
    assert_int_equal(measure(bench, &none, &err), GT_ENOLIB);
    assert_non_null(strstr(err.msg, "neither the energy nor the power"));
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

    setenv("STUB_PRODUCT_US", "300", 1);
    for (int wrong = 0; wrong < 2; wrong++) {
        struct gt_bench_entry entry;

        assert_int_equal(
            stub_candidate(*state, &problem, wrong ? "wrong" : NULL, &candidate, &image, &err),
            GT_OK);
        entry = stub_entry(&candidate, &image);
        assert_int_equal(gt_bench_energy(bench, &entry, &wish, &energy, &err),
                         wrong ? GT_ERANGE : GT_OK);
        if (!wrong)
            assert_true(fabs(energy.joules / (WATTS * energy.us * 1e-6) - 1) <= energy.error);
        gt_strbuf_release(&image);
    }
    unsetenv("STUB_PRODUCT_US");
    gt_bench_close(bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_known_load, set_up, stub_tear_down),
        cmocka_unit_test_setup_teardown(test_refused, set_up, stub_tear_down),
        cmocka_unit_test_setup_teardown(test_candidates, set_up, stub_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
