/* test_bench.c - tests racing, sampling, finals, baseline and canary on the stub driver's virtual
 * clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <sys/wait.h>

#include "base/stats.h"
#include "stub_fixture.h"
#include "timing/bench_internal.h"

#define OK(call) assert_int_equal(call, GT_OK)

static struct gt_bench *open_bench(const struct stub_fixture *f, const char *text, bool warm,
                                   struct gt_problem *problem)
{
    const struct gt_bench_options options = {
        .seed = 7, .workspace_cap = 1 << 20, .timing = warm ? GT_TIMING_WARM : GT_TIMING_COLD};
    struct gt_bench *bench = NULL;
    struct gt_err err = {0};

    if (gt_problem_parse(problem, text, &err) ||
        gt_bench_open(&bench, f->gpu, f->nvrtc, ".", NULL, problem, &options, &err))
        fail_msg("%s: %s", text, err.msg);
    return bench;
}

static void trial_of(void **state, struct gt_bench *bench, const struct gt_problem *problem,
                     const char *fault, double best_us, struct gt_trial *trial)
{
    struct gt_err err = {0};

    if (stub_trial(*state, bench, problem, fault, best_us, trial, &err))
        fail_msg("%s", err.msg);
}

/* A candidate that takes more than 1.5 x the best + 3 us is given up after its first run. */
static void test_slow_is_given_up(void **state)
{
    struct gt_problem problem;
    struct gt_bench *bench = open_bench(*state, "128x128x128", false, &problem);
    struct gt_trial good, slow;

    trial_of(state, bench, &problem, NULL, 0, &good);
    assert_int_equal(good.status, GT_STATUS_OK);
    trial_of(state, bench, &problem, "slow", good.us, &slow);
    assert_int_equal(slow.status, GT_STATUS_SLOW);
    assert_int_equal(slow.samples, 1);
    assert_int_equal(slow.stage, 0);
    assert_true(slow.us > 1.5 * good.us);
    assert_true(slow.time_ms == 0);
    trial_of(state, bench, &problem, NULL, good.us / 1.4, &good);
    assert_int_equal(good.status, GT_STATUS_OK);
    /* A wrong result is not excused by being slow. */
    trial_of(state, bench, &problem, "wrong", good.us / 100, &slow);
    assert_int_equal(slow.status, GT_STATUS_WRONG);
    gt_bench_close(bench);
}

/* A candidate that ran at the low clock of an idle device is timed again and not called slow.  This
 * runs in a process of its own, because the stub device leaves its idle state only once. */
static int asleep_child(void)
{
    struct gt_bench_options options = {.workspace_cap = 1 << 20};
    struct stub_fixture f;
    struct gt_problem problem;
    struct gt_bench *bench = NULL;
    struct gt_trial trial;
    struct gt_err err;

    setenv("STUB_ASLEEP", "40", 1);
    gt_problem_init(&problem, 128, 128, 128);
    if (stub_open(&f, STUB_KERNEL, &err) ||
        gt_bench_open(&bench, f.gpu, f.nvrtc, ".", NULL, &problem, &options, &err) ||
        stub_trial(&f, bench, &problem, NULL, 9, &trial, &err))
        return 2;
    gt_bench_close(bench);
    stub_close(&f);
    return trial.status == GT_STATUS_OK && trial.us < 9 && trial.clock_mhz > 900 ? 0 : 3;
}

static void run_child(int (*child)(void))
{
    int status = -1;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (!pid)
        _exit(child());
    assert_true(waitpid(pid, &status, 0) == pid);
    assert_int_equal(status, 0);
}

static void test_sleeping_device(void **state)
{
    (void)state;
    run_child(asleep_child);
}

static int sample(void **state, struct gt_bench *bench, const struct gt_problem *problem,
                  const char *fault, int most, struct gt_trial *trial)
{
    struct gt_candidate candidate;
    struct gt_strbuf image;
    struct gt_err err = {0};
    int rc = stub_candidate(*state, problem, fault, &candidate, &image, &err);

    if (!rc)
        rc = gt_bench_sample(bench, &candidate, image.text, image.length + 1, most, trial, &err);
    gt_strbuf_release(&image);
    return rc;
}

static void test_sampling(void **state)
{
    struct gt_problem problem;
    struct gt_bench *bench = open_bench(*state, "96x96x96", false, &problem);
    struct gt_trial trial = {0}, raced;

    trial_of(state, bench, &problem, NULL, 0, &raced);
    assert_int_equal(sample(state, bench, &problem, NULL, 100, &trial), GT_OK);
    assert_int_equal(trial.status, GT_STATUS_OK);
    assert_int_equal(trial.stage, 2);
    assert_true(trial.samples >= 9 && trial.samples <= 100);
    assert_true(trial.hi_us - trial.lo_us < 0.005 * trial.us);
    assert_true(fabs(trial.us / raced.us - 1) < 0.01);
    assert_true(fabs(trial.clock_mhz - 1000) < 1);
    assert_true(trial.err_u > 0);
    assert_string_equal(trial.detail, "clocks held down: power cap");
    /* No more than asked for. */
    assert_int_equal(sample(state, bench, &problem, NULL, 5, &trial), GT_OK);
    assert_int_equal(trial.samples, 5);
    gt_bench_close(bench);
}

/* A candidate that is right in the race and wrong later is found, because the proof is repeated
 * after timing. */
static void test_proved_again_after_timing(void **state)
{
    struct gt_problem problem;
    struct gt_bench *bench = open_bench(*state, "64x64x64", true, &problem);
    struct gt_trial trial;

    trial_of(state, bench, &problem, "wrong_later", 0, &trial);
    assert_int_equal(trial.status, GT_STATUS_OK);
    assert_int_equal(sample(state, bench, &problem, "wrong_later", 200, &trial), GT_OK);
    assert_int_equal(trial.status, GT_STATUS_WRONG);
    assert_int_equal(trial.stage, 0);
    gt_bench_close(bench);
}

/* The ends of what A of a set holds, and whether all of it is whole numbers. */
static void look_at(const struct stub_fixture *f, const struct gt_set *set, float *least,
                    float *greatest, bool *whole)
{
    float value[64 * 64];
    struct gt_err err = {0};

    OK(gt_gpu_download(f->gpu, value, (gt_devptr)(uintptr_t)set->a.span.data, sizeof(value), &err));
    *least = *greatest = value[0];
    *whole = true;
    for (int i = 0; i < 64 * 64; i++) {
        *least = fminf(*least, value[i]);
        *greatest = fmaxf(*greatest, value[i]);
        *whole &= value[i] == rintf(value[i]);
    }
}

/* Timing with other numbers: the timed sets hold them, the proof's set does not, and the proof
 * finds what it finds otherwise. */
static void test_operands_of_timing(void **state)
{
    static const struct {
        enum gt_dist dist;
        bool warm, whole;
        float most; /* about the ends of A's values */
    } cases[] = {{GT_DIST_ZEROS, false, true, 0},
                 {GT_DIST_ZEROS, true, true, 0},
                 {GT_DIST_UNIFORM, false, false, 1},
                 {GT_DIST_INTEGERS, false, true, 8}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct gt_bench_options options = {.seed = 7,
                                                 .workspace_cap = 1 << 20,
                                                 .timing = cases[i].warm ? GT_TIMING_WARM
                                                                         : GT_TIMING_COLD,
                                                 .dist = cases[i].dist};
        struct stub_fixture *f = *state;
        struct gt_problem problem;
        struct gt_bench *bench;
        struct gt_trial trial;
        struct gt_err err = {0};
        float least, greatest;
        bool whole;

        gt_problem_init(&problem, 64, 64, 64);
        OK(gt_bench_open(&bench, f->gpu, f->nvrtc, ".", NULL, &problem, &options, &err));
        assert_true(bench->resident.timed == 1 && bench->resident.sets >= 2);
        look_at(f, &bench->resident.set[0], &least, &greatest, &whole);
        assert_true(least < -2.5F && greatest > 2.5F && !whole); /* normal numbers */
        look_at(f, &bench->resident.set[1], &least, &greatest, &whole);
        assert_true(whole == cases[i].whole);
        assert_true(least >= -cases[i].most && least <= -0.99F * cases[i].most);
        assert_true(greatest <= cases[i].most && greatest >= 0.99F * cases[i].most);
        trial_of(state, bench, &problem, NULL, 0, &trial);
        assert_int_equal(trial.status, GT_STATUS_OK);
        assert_true(trial.err_u > 0);
        OK(sample(state, bench, &problem, "wrong_later", 200, &trial));
        assert_int_equal(trial.status, GT_STATUS_WRONG);
        gt_bench_close(bench);
    }
}

static void test_baseline(void **state)
{
    struct gt_problem problem;
    struct gt_bench *bench =
        open_bench(*state, "70x50x60:f32:tn:beta=0.5:epi=bias+relu", false, &problem);
    struct gt_baseline baseline;
    struct gt_err err = {0};

    if (gt_bench_baseline(bench, &baseline, &err))
        fail_msg("%s", err.msg);
    /* The stub's second answer is the fastest, and wrong. */
    assert_int_equal(baseline.answers, 2);
    assert_int_equal(baseline.best, 2);
    assert_true(fabs(baseline.us - 80) < 0.1);
    assert_true(fabs(baseline.first_us - 100) < 0.1);
    assert_string_equal(baseline.name, "cuBLASLt 13.1.2, answer 3 of 3");
    assert_true(baseline.samples >= 9);
    gt_bench_close(bench);
}

static void test_baseline_layouts(void **state)
{
    static const char *const problems[] = {"40x50x60:f32:nn:lda=64:ldb=52:ldc=55",
                                           "40x50x60:f32:nt:batch=3",
                                           "40x50x60:f32:tt:beta=2",
                                           "40x50x60:f32:nn:epi=bias",
                                           "40x50x60:f16:nn:epi=bias",
                                           "40x50x60:f16:tn:acc=f16:alpha=0.5:beta=-1",
                                           "40x50x60:bf16:nt:ldc=57:batch=2",
                                           "40x50x60:tf32",
                                           "40x48x64:e4m3:nt",
                                           "40x48x64:s8:nt:alpha=3:beta=-1",
                                           "40x48x64:s8:nt:out=s8:alpha=0.01"};
    struct gt_baseline baseline;
    struct gt_err err = {0};

    for (size_t i = 0; i < sizeof(problems) / sizeof(*problems); i++) {
        struct gt_problem problem;
        struct gt_bench *bench = open_bench(*state, problems[i], false, &problem);

        if (gt_bench_baseline(bench, &baseline, &err))
            fail_msg("%s: %s", problems[i], err.msg);
        assert_int_equal(baseline.answers, 2);
        gt_bench_close(bench);
    }
}

/* If cuBLASLt computes something else or serves no answer, there is no baseline, and a sentence
 * says why. */
static void test_no_baseline(void **state)
{
    static const struct {
        const char *problem, *words;
    } cases[] = {{"40x50x60:f32:nn:epi=gelu", "another function"},
                 {"40x48x64:e4m3:nn", "no answer"},
                 {"40x48x64:f16:nn:acc=f16:alpha=0.1", "alpha and beta as f16"}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct gt_problem problem;
        struct gt_bench *bench = open_bench(*state, cases[i].problem, false, &problem);
        struct gt_baseline baseline;
        struct gt_err err = {0};

        assert_int_equal(gt_bench_baseline(bench, &baseline, &err), GT_ENOTFOUND);
        assert_non_null(strstr(err.msg, cases[i].words));
        gt_bench_close(bench);
    }
}

/* Two images of one kernel (the fault makes one slower) and the baseline. */
static void test_final(void **state)
{
    static const char *const faults[] = {NULL, "slow", "wrong_later"};
    struct gt_problem problem;
    struct gt_bench *bench = open_bench(*state, "64x64x64", false, &problem);
    struct gt_candidate candidate[3];
    struct gt_strbuf image[3];
    struct gt_final_entry entry[3];
    struct gt_trial trial[3], baseline;
    struct gt_baseline measured;
    struct gt_err err = {0};

    assert_int_equal(gt_bench_baseline(bench, &measured, &err), GT_OK);
    memset(trial, 0, sizeof(trial));
    memset(&baseline, 0, sizeof(baseline));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(
            stub_candidate(*state, &problem, faults[i], &candidate[i], &image[i], &err), GT_OK);
        entry[i] = (struct gt_final_entry){&candidate[i], image[i].text, image[i].length + 1};
    }
    assert_int_equal(gt_bench_final(bench, entry, 3, 50, trial, &baseline, &err), GT_OK);
    assert_int_equal(trial[0].status, GT_STATUS_OK);
    assert_int_equal(trial[1].status, GT_STATUS_OK);
    assert_int_equal(trial[2].status, GT_STATUS_WRONG);
    assert_int_equal(baseline.status, GT_STATUS_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(trial[i].stage, 3);
        assert_int_equal(trial[i].samples, i ? 21 : 50); /* the slow one left when it had lost */
        assert_true(trial[i].err_u > 0);
    }
    assert_true(trial[1].us > 5 * trial[0].us);
    assert_int_equal(baseline.samples, 50);
    assert_true(fabs(baseline.us - 80) < 0.1);
    for (int i = 0; i < 3; i++)
        gt_strbuf_release(&image[i]);
    gt_bench_close(bench);
}

static double part_median(const struct gt_trial *trial, int first, int count)
{
    return gt_median(trial->sample + first, count);
}

/* A final begins when the device has reached its steady state. */
static void test_a_final_on_a_device_that_gets_hot(void **state)
{
    struct gt_problem problem;
    struct gt_bench *bench = open_bench(*state, "64x64x64", false, &problem);
    struct gt_candidate candidate[2];
    struct gt_strbuf image[2];
    struct gt_final_entry entry[2];
    struct gt_trial trial[2];
    struct gt_err err = {0};

    setenv("STUB_HEAT", "700", 1);
    memset(trial, 0, sizeof(trial));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(stub_candidate(*state, &problem, NULL, &candidate[i], &image[i], &err),
                         GT_OK);
        entry[i] = (struct gt_final_entry){&candidate[i], image[i].text, image[i].length + 1};
    }
    assert_int_equal(gt_bench_final(bench, entry, 2, 40, trial, NULL, &err), GT_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(trial[i].status, GT_STATUS_OK);
        assert_true(part_median(&trial[i], 30, 10) < 1.005 * part_median(&trial[i], 0, 10));
        gt_strbuf_release(&image[i]);
    }
    unsetenv("STUB_HEAT");
    gt_bench_close(bench);
}

/* All entries take part in the rounds, so these do not show which one writes to the inputs.  Only
 * an entry that does so again in its own proof is blamed. */
static void test_a_final_blames_who_did_it(void **state)
{
    static const char *const faults[] = {NULL, "input_modified"};
    struct gt_problem problem;
    struct gt_bench *bench = open_bench(*state, "64x64x64", false, &problem);
    struct gt_candidate candidate[2];
    struct gt_strbuf image[2];
    struct gt_final_entry entry[2];
    struct gt_trial trial[2];
    struct gt_err err = {0};

    memset(trial, 0, sizeof(trial));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            stub_candidate(*state, &problem, faults[i], &candidate[i], &image[i], &err), GT_OK);
        entry[i] = (struct gt_final_entry){&candidate[i], image[i].text, image[i].length + 1};
    }
    assert_int_equal(gt_bench_final(bench, entry, 2, 5, trial, NULL, &err), GT_OK);
    assert_int_equal(trial[0].status, GT_STATUS_OK);
    assert_int_equal(trial[1].status, GT_STATUS_OOB_WRITE);
    for (int i = 0; i < 2; i++)
        gt_strbuf_release(&image[i]);
    gt_bench_close(bench);
}

static void test_canary(void **state)
{
    struct gt_problem problem;
    struct gt_bench *bench = open_bench(*state, "16x16x16", false, &problem);
    struct gt_err err = {0};
    double us = 0;

    assert_int_equal(gt_bench_canary(bench, &us, &err), GT_OK);
    assert_true(us > 0);
    gt_bench_close(bench);
}

static void test_problems_refused(void **state)
{
    const struct gt_bench_options options = {.workspace_cap = 1 << 20};
    struct stub_fixture *f = *state;
    struct gt_bench *bench;
    struct gt_problem problem;
    struct gt_err err;

    gt_problem_init(&problem, 65536, 65536, 16);
    assert_int_equal(gt_bench_open(&bench, f->gpu, f->nvrtc, ".", NULL, &problem, &options, &err),
                     GT_ETOOBIG);
    assert_null(bench);
    assert_non_null(strstr(err.msg, "65536x65536x16"));
    assert_non_null(strstr(err.msg, "bytes of device memory"));
    gt_problem_init(&problem, 0, 16, 16);
    assert_int_equal(gt_bench_open(&bench, f->gpu, f->nvrtc, ".", NULL, &problem, &options, &err),
                     GT_ERANGE);
    gt_problem_init(&problem, 16, 16, 16);
    problem.type = GT_S8; /* which FP32 sums do not serve */
    assert_int_equal(gt_bench_open(&bench, f->gpu, f->nvrtc, ".", NULL, &problem, &options, &err),
                     GT_ERANGE);
}

/* 16384^3 must fit a card of 24 GB; the refusal of a tiny device tells how much it needs. */
static void test_large_problem_fits(void **state)
{
    const struct gt_bench_options options = {.seed = 1};
    struct stub_fixture *f = *state;
    struct gt_problem problem;
    struct gt_bench *bench;
    struct gt_err err;

    setenv("STUB_MEMORY", "100000000", 1);
    for (int beta = 0; beta < 2; beta++) {
        const char *need;

        gt_problem_init(&problem, 16384, 16384, 16384);
        problem.beta = beta;
        assert_int_equal(
            gt_bench_open(&bench, f->gpu, f->nvrtc, ".", NULL, &problem, &options, &err),
            GT_ETOOBIG);
        need = strstr(err.msg, "need ");
        assert_non_null(need);
        assert_true(strtod(need + 5, NULL) > 9e9);
        assert_true(strtod(need + 5, NULL) < 22e9);
    }
    unsetenv("STUB_MEMORY");
}

/* A candidate that needs more workspace than is allowed is not launched. */
static void test_workspace_cap(void **state)
{
    struct stub_fixture *f = *state;
    struct gt_problem problem;
    struct gt_bench *bench = open_bench(f, "64x64x64", false, &problem);
    struct gt_kernel kernel = *f->kernel; /* whose workspace is another expression */
    struct gt_candidate candidate;
    struct gt_strbuf image;
    struct gt_trial trial = {0};
    struct gt_err err;

    assert_int_equal(stub_candidate(f, &problem, NULL, &candidate, &image, &err), GT_OK);
    assert_int_equal(gt_expr_parse(&kernel.workspace, "M * 1000000", &kernel.names, &err), GT_OK);
    candidate.kernel = &kernel;
    assert_int_equal(
        gt_bench_trial(bench, &candidate, image.text, image.length + 1, 0, &trial, &err), GT_OK);
    assert_int_equal(trial.status, GT_STATUS_LAUNCH_INVALID);
    assert_non_null(strstr(trial.detail, "64000000 bytes of workspace"));
    gt_expr_free(kernel.workspace);
    gt_strbuf_release(&image);
    gt_bench_close(bench);
}

/* A chain is timed as a whole, and a product takes its share of it: without the gap that a launch
 * by itself has.  cuBLASLt's answer is timed likewise, and both are proved. */
static void test_chains(void **state)
{
    const struct gt_bench_options options = {.workspace_cap = 1 << 20, .timing = GT_TIMING_GRAPH};
    struct stub_fixture *f = *state;
    struct gt_problem problem;
    struct gt_bench *bench = open_bench(f, "32x32x32", false, &problem);
    struct gt_baseline baseline;
    struct gt_trial single, chained, vendor, wrong;
    struct gt_final_entry entry;
    struct gt_candidate candidate;
    struct gt_strbuf image;
    struct gt_err err = {0};

    trial_of(state, bench, &problem, NULL, 0, &single);
    gt_bench_close(bench);
    setenv("STUB_GRAPH_GAP_US", "2", 1);
    assert_int_equal(gt_bench_open(&bench, f->gpu, f->nvrtc, ".", NULL, &problem, &options, &err),
                     GT_OK);
    trial_of(state, bench, &problem, NULL, 0, &chained);
    assert_int_equal(chained.status, GT_STATUS_OK);
    assert_float_equal(chained.us, single.us - 2, 0.02 * single.us);
    trial_of(state, bench, &problem, "wrong", 0, &wrong);
    assert_int_equal(wrong.status, GT_STATUS_WRONG);
    assert_int_equal(gt_bench_baseline(bench, &baseline, &err), GT_OK);
    assert_float_equal(baseline.us, 78, 1e-3); /* the third answer, 80 us */
    assert_int_equal(stub_candidate(f, &problem, NULL, &candidate, &image, &err), GT_OK);
    entry = (struct gt_final_entry){&candidate, image.text, image.length + 1};
    assert_int_equal(gt_bench_final(bench, &entry, 1, 11, &chained, &vendor, &err), GT_OK);
    assert_int_equal(chained.status, GT_STATUS_OK);
    assert_int_equal(chained.stage, 3);
    assert_float_equal(chained.us, single.us - 2, 0.02 * single.us);
    assert_float_equal(vendor.us, 78, 1e-3);
    assert_int_equal(sample(state, bench, &problem, NULL, 20, &chained), GT_OK);
    assert_float_equal(chained.us, single.us - 2, 0.02 * single.us);
    gt_strbuf_release(&image);
    gt_bench_close(bench);
    unsetenv("STUB_GRAPH_GAP_US");
}

/* Each call that makes or launches a graph fails once: the candidate cannot be launched, and
 * nothing else is the worse for it. */
static void test_chains_refused(void **state)
{
    static const struct {
        const char *call, *words;
    } row[] = {{"begin", "cuStreamBeginCapture: "},
               {"end", "cuStreamEndCapture: "},
               {"instantiate", "cuGraphInstantiateWithFlags: "},
               {"launch", "cuGraphLaunch: "}};
    const struct gt_bench_options options = {.workspace_cap = 1 << 20, .timing = GT_TIMING_GRAPH};
    struct stub_fixture *f = *state;
    struct gt_problem problem;
    struct gt_bench *bench;
    struct gt_baseline baseline;
    struct gt_trial trial;
    struct gt_err err = {0};

    gt_problem_init(&problem, 32, 32, 32);
    assert_int_equal(gt_bench_open(&bench, f->gpu, f->nvrtc, ".", NULL, &problem, &options, &err),
                     GT_OK);
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        setenv("STUB_GRAPH_FAILS", row[i].call, 1);
        trial_of(state, bench, &problem, NULL, 0, &trial);
        assert_int_equal(trial.status, GT_STATUS_LAUNCH_INVALID);
        assert_non_null(strstr(trial.detail, row[i].words));
        assert_int_equal(gt_bench_baseline(bench, &baseline, &err), GT_ENOTFOUND);
        unsetenv("STUB_GRAPH_FAILS");
        trial_of(state, bench, &problem, NULL, 0, &trial);
        assert_int_equal(trial.status, GT_STATUS_OK);
        trial_of(state, bench, &problem, "launch_invalid", 0, &trial);
        assert_int_equal(trial.status, GT_STATUS_LAUNCH_INVALID);
    }
    gt_bench_close(bench);
}

/* What follows a sticky error, in a process of its own. */
static int fault_child(const char *fault)
{
    struct stub_fixture f;
    struct gt_problem problem;
    struct gt_bench *bench = NULL;
    struct gt_bench_options options = {.workspace_cap = 1 << 20};
    struct gt_trial trial;
    struct gt_err err;

    if (stub_open(&f, STUB_KERNEL, &err))
        return 2;
    gt_problem_init(&problem, 32, 32, 32);
    if (gt_bench_open(&bench, f.gpu, f.nvrtc, ".", NULL, &problem, &options, &err))
        return 3;
    if (stub_trial(&f, bench, &problem, fault, 0, &trial, &err))
        return 4;
    if (trial.status != GT_STATUS_FAULT || !strstr(trial.detail, "CUDA_ERROR_"))
        return 5;
    if (!gt_gpu_poisoned(f.gpu))
        return 6;
    gt_bench_close(bench); /* even now */
    stub_close(&f);
    return 0;
}

static int illegal_address_child(void)
{
    return fault_child("illegal_address");
}

static int misaligned_child(void)
{
    return fault_child("misaligned");
}

static void test_sticky_faults(void **state)
{
    (void)state;
    run_child(illegal_address_child);
    run_child(misaligned_child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_slow_is_given_up, stub_set_up, stub_tear_down),
        cmocka_unit_test_setup_teardown(test_sampling, stub_set_up, stub_tear_down),
        cmocka_unit_test_setup_teardown(test_proved_again_after_timing, stub_set_up,
                                        stub_tear_down),
        cmocka_unit_test_setup_teardown(test_operands_of_timing, stub_set_up, stub_tear_down),
        cmocka_unit_test_setup_teardown(test_baseline, stub_set_up, stub_tear_down),
        cmocka_unit_test_setup_teardown(test_baseline_layouts, stub_set_up, stub_tear_down),
        cmocka_unit_test_setup_teardown(test_no_baseline, stub_set_up, stub_tear_down),
        cmocka_unit_test_setup_teardown(test_final, stub_set_up, stub_tear_down),
        cmocka_unit_test_setup_teardown(test_a_final_on_a_device_that_gets_hot, stub_set_up,
                                        stub_tear_down),
        cmocka_unit_test_setup_teardown(test_a_final_blames_who_did_it, stub_set_up,
                                        stub_tear_down),
        cmocka_unit_test_setup_teardown(test_canary, stub_set_up, stub_tear_down),
        cmocka_unit_test_setup_teardown(test_problems_refused, stub_set_up, stub_tear_down),
        cmocka_unit_test_setup_teardown(test_large_problem_fits, stub_set_up, stub_tear_down),
        cmocka_unit_test_setup_teardown(test_workspace_cap, stub_set_up, stub_tear_down),
        cmocka_unit_test_setup_teardown(test_chains, stub_set_up, stub_tear_down),
        cmocka_unit_test_setup_teardown(test_chains_refused, stub_set_up, stub_tear_down),
        cmocka_unit_test(test_sleeping_device),
        cmocka_unit_test(test_sticky_faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
