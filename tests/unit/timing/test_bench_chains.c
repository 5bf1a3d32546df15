/* test_bench_chains.c - tests chains of launches in a graph, and drivers that refuse to make them,
 * on the stub driver's virtual clock. */
#include "bench_fixture.h"

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
    struct gt_bench_entry entry;
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
    entry = stub_entry(&candidate, &image);
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

/* A driver that makes no graph of cuBLASLt's answer any more leaves the final without it. */
static void test_final_without_the_baseline(void **state)
{
    const struct gt_bench_options options = {.workspace_cap = 1 << 20, .timing = GT_TIMING_GRAPH};
    struct stub_fixture *f = *state;
    struct gt_problem problem;
    struct gt_bench *bench;
    struct gt_baseline baseline;
    struct gt_trial trial, vendor;
    struct gt_bench_entry entry;
    struct gt_candidate candidate;
    struct gt_strbuf image;
    struct gt_err err = {0};

    gt_problem_init(&problem, 32, 32, 32);
    OK(gt_bench_open(&bench, f->gpu, f->nvrtc, ".", NULL, &problem, &options, &err));
    OK(gt_bench_baseline(bench, &baseline, &err));
    OK(stub_candidate(f, &problem, NULL, &candidate, &image, &err));
    entry = stub_entry(&candidate, &image);
    setenv("STUB_GRAPH_FAILS", "begin once", 1);
    OK(gt_bench_final(bench, &entry, 1, 11, &trial, &vendor, &err));
    unsetenv("STUB_GRAPH_FAILS");
    assert_int_equal(vendor.status, GT_STATUS_LAUNCH_INVALID);
    assert_int_equal(vendor.samples, 0);
    assert_int_equal(trial.status, GT_STATUS_OK);
    assert_int_equal(trial.samples, 11);
    OK(gt_bench_final(bench, &entry, 1, 11, &trial, &vendor, &err));
    assert_int_equal(vendor.status, GT_STATUS_OK);
    gt_strbuf_release(&image);
    gt_bench_close(bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_chains, stub_set_up, stub_tear_down),
        cmocka_unit_test_setup_teardown(test_chains_refused, stub_set_up, stub_tear_down),
        cmocka_unit_test_setup_teardown(test_final_without_the_baseline, stub_set_up,
                                        stub_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
