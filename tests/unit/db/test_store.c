/* test_store.c - the tuning database: what is written comes back, which trial counts, resume. */
#include "store_fixture.h"

#include <sys/wait.h>

#include <math.h>

/* The rows of a query as "kernel point status us predicted", one a line. */
static int collect(void *context, const struct gt_row *row, struct gt_err *err)
{
    (void)err;
    gt_strbuf_addf(context, "%s %s %s %g%s%s\n", row->kernel, row->point,
                   gt_status_name(row->status), row->us, row->provenance == GT_MEASURED ? "" : " ",
                   row->provenance == GT_MEASURED ? "" : gt_provenance_name(row->provenance));
    return GT_OK;
}

static void expect_rows(struct fixture *f, const struct gt_row_filter *filter, const char *expected)
{
    struct gt_strbuf text = GT_STRBUF_INIT;

    OK(f, gt_store_rows(f->store, filter, collect, &text, &f->err));
    assert_string_equal(text.text, expected);
    gt_strbuf_release(&text);
}

static const struct gt_row_filter winners = {.winners_only = true};
static const struct gt_row_filter everything = {0};

static int keep(void *context, const struct gt_row *row, struct gt_err *err)
{
    (void)err;
    assert_string_equal(row->device, "NVIDIA Test");
    assert_string_equal(row->uuid, "GPU-0000");
    assert_string_equal(row->dtype, "f32");
    assert_string_equal(row->accuracy, "strict");
    assert_string_equal(row->layout, "nn");
    assert_string_equal(row->problem, "256x128x64:f32:nn");
    assert_string_equal(row->signature, "aaaa");
    assert_string_equal(row->baseline, "cublasLt 13, answer 1 of 8");
    assert_string_equal(row->algo, "13.0.0 0 1.2.3");
    assert_string_equal(row->detail, "why");
    assert_int_equal(strlen(row->date), strlen("2026-01-01T00:00:00Z"));
    assert_int_equal(row->cc, 90);
    assert_int_equal(row->driver, 13000);
    assert_int_equal(row->nvrtc, 13000);
    assert_true(row->m == 256 && row->n == 128 && row->k == 64 && row->batch == 1);
    assert_true(row->us == 100 && row->lo_us == 99 && row->hi_us == 101);
    assert_true(row->baseline_us == 110 && row->err_u == 3.5 && row->clock_mhz == 1980);
    assert_true(row->shared_bytes == 40000 && row->workspace_bytes == 1 << 20);
    assert_int_equal(row->registers, 128);
    assert_int_equal(row->stage, 3);
    assert_false(row->deterministic);
    assert_false(row->timing);
    (*(int *)context)++;
    return GT_OK;
}

static void test_a_row_comes_back_whole(void **state)
{
    struct fixture *f = *state;
    struct gt_trial trial = fixture_trial(100, 3);
    struct gt_baseline baseline = {.name = "cublasLt 13, answer 1 of 8", .answers = 8, .us = 110};
    int rows = 0;

    snprintf(baseline.algo, sizeof(baseline.algo), "13.0.0 0 1.2.3");

    trial.shared_bytes = 40000;
    trial.workspace_bytes = 1 << 20;
    trial.clock_mhz = 1980;
    trial.varies = true;
    snprintf(trial.detail, sizeof(trial.detail), "why");
    fixture_put(f, "BM=64", &trial);
    OK(f, gt_store_baseline(f->store, &f->key, &baseline, &f->err));
    fixture_reopen(f, GT_STORE_READ);
    OK(f, gt_store_rows(f->store, &winners, keep, &rows, &f->err));
    assert_int_equal(rows, 1);
}

static void test_same_names_have_the_same_id(void **state)
{
    struct fixture *f = *state;
    struct gt_trial_key first = f->key;

    fixture_key(f);
    assert_true(first.device == f->key.device && first.toolchain == f->key.toolchain &&
                first.kernel == f->key.kernel && first.problem == f->key.problem);
    assert_true(first.sweep != f->key.sweep);
}

static void test_the_deepest_then_the_fastest_wins(void **state)
{
    struct fixture *f = *state;
    struct gt_trial trial = fixture_trial(50, 1);

    fixture_put(f, "BM=32", &trial);
    trial = fixture_trial(70, 3);
    fixture_put(f, "BM=64", &trial);
    trial = fixture_trial(60, 3);
    fixture_put(f, "BM=128", &trial);
    expect_rows(f, &winners, "simt BM=128 ok 60\n");
    expect_rows(f, &(struct gt_row_filter){.limit = 2}, "simt BM=128 ok 60\nsimt BM=64 ok 70\n");
    expect_rows(f, &(struct gt_row_filter){.kernel = "other"}, "");
    expect_rows(f, &(struct gt_row_filter){.problem = "1x1x1:f32:nn"}, "");
    expect_rows(f, &(struct gt_row_filter){.cc = 86}, "");
}

static void test_predicted_never_beats_measured(void **state)
{
    struct fixture *f = *state;
    struct gt_trial trial = fixture_trial(10, 0);

    trial.provenance = GT_PREDICTED;
    fixture_put(f, "BM=32", &trial);
    fixture_put(f, "BM=64", &trial);
    expect_rows(f, &winners, "simt BM=32 ok 10 predicted\n");
    trial = fixture_trial(90, 1);
    fixture_put(f, "BM=64", &trial);
    expect_rows(f, &winners, "simt BM=64 ok 90\n");
    trial = fixture_trial(5, 0);
    trial.provenance = GT_PREDICTED;
    fixture_put(f, "BM=64", &trial);
    expect_rows(f, &everything,
                "simt BM=64 ok 90\nsimt BM=64 ok 5 predicted\nsimt BM=32 ok 10 predicted\n");
    expect_rows(f, &(struct gt_row_filter){.provenance = 1u << GT_MEASURED}, "simt BM=64 ok 90\n");
}

static void test_a_shallower_stage_does_not_replace_a_deeper(void **state)
{
    struct fixture *f = *state;
    struct gt_trial trial = fixture_trial(50, 3);

    fixture_put(f, "BM=64", &trial);
    trial = fixture_trial(40, 1);
    fixture_put(f, "BM=64", &trial);
    expect_rows(f, &everything, "simt BM=64 ok 50\n");
    trial = fixture_trial(0, 0);
    trial.status = GT_STATUS_DEVICE_LOST;
    fixture_put(f, "BM=64", &trial);
    expect_rows(f, &everything, "simt BM=64 ok 50\n");
    trial = fixture_trial(55, 3);
    fixture_put(f, "BM=64", &trial);
    expect_rows(f, &everything, "simt BM=64 ok 55\n");
    trial.status = GT_STATUS_WRONG;
    trial.stage = 0;
    fixture_put(f, "BM=64", &trial);
    expect_rows(f, &winners, "");
}

static void test_another_template_hides_the_rows_of_the_old(void **state)
{
    struct fixture *f = *state;
    struct gt_kernel changed = fixture_kernel((char *)"simt", "bbbb");
    struct gt_kernel same = fixture_kernel((char *)"simt", "aaaa");
    struct gt_trial trial = fixture_trial(50, 3);
    int64_t old = f->key.kernel;

    fixture_put(f, "BM=64", &trial);
    usleep(2000);
    OK(f, gt_store_kernel(f->store, &changed, &f->key.kernel, &f->err));
    assert_true(old != f->key.kernel);
    expect_rows(f, &winners, "");
    trial = fixture_trial(80, 1);
    fixture_put(f, "BM=64", &trial);
    expect_rows(f, &winners, "simt BM=64 ok 80\n");
    usleep(2000);
    OK(f, gt_store_kernel(f->store, &same, &f->key.kernel, &f->err));
    expect_rows(f, &winners, "simt BM=64 ok 50\n");
}

static int count_ties(void *context, const struct gt_row *row, struct gt_err *err)
{
    (void)err;
    *(int *)context = row->ties;
    return GT_OK;
}

static void test_a_tie_is_decided_by_its_choice(void **state)
{
    static const char *const kernels[] = {"simt", "simt"}, *const points[] = {"BM=64", "BM=32"};
    struct fixture *f = *state;
    struct gt_trial trial = fixture_trial(50, 3);
    int ties = -1;

    fixture_put(f, "BM=32", &trial);
    trial = fixture_trial(50.1, 3);
    fixture_put(f, "BM=64", &trial);
    OK(f, gt_store_tie(f->store, &f->key, kernels, points, 2, &f->err));
    expect_rows(f, &winners, "simt BM=64 ok 50.1\n");
    OK(f, gt_store_rows(f->store, &winners, count_ties, &ties, &f->err));
    assert_int_equal(ties, 1);
    f->key.point = "BM=32";
    OK(f, gt_store_tie(f->store, &f->key, NULL, NULL, 0, &f->err));
    expect_rows(f, &winners, "simt BM=32 ok 50\n");
    OK(f, gt_store_rows(f->store, &winners, count_ties, &ties, &f->err));
    assert_int_equal(ties, 0);
}

/* Resume as "point status attempts samples", one a line. */
static int collect_resume(void *context, const char *point, const struct gt_trial *trial,
                          int attempts, struct gt_err *err)
{
    (void)err;
    gt_strbuf_addf(context, "%s %d %d %d\n", point, (int)trial->status, attempts, trial->samples);
    if (trial->status == GT_STATUS_OK)
        assert_true(trial->sample[2] == (float)trial->us && trial->lo_us < trial->us);
    return GT_OK;
}

static void expect_resume(struct fixture *f, enum gt_provenance provenance, const char *expected)
{
    struct gt_strbuf text = GT_STRBUF_INIT;

    OK(f, gt_store_resume(f->store, &f->key, provenance, collect_resume, &text, &f->err));
    assert_string_equal(text.text, expected);
    gt_strbuf_release(&text);
}

static void test_an_attempt_without_a_trial_blames_its_candidate(void **state)
{
    struct fixture *f = *state;
    struct gt_trial trial = fixture_trial(50, 2);
    char expected[80];

    f->key.point = "BM=16";
    OK(f, gt_store_attempt(f->store, &f->key, &f->err));
    OK(f, gt_store_attempt(f->store, &f->key, &f->err));
    f->key.point = "BM=64";
    OK(f, gt_store_attempt(f->store, &f->key, &f->err));
    fixture_put(f, "BM=64", &trial);
    trial.status = GT_STATUS_TIMEOUT;
    f->key.point = "BM=8";
    OK(f, gt_store_attempt(f->store, &f->key, &f->err));
    fixture_put(f, "BM=8", &trial);
    OK(f, gt_store_attempt(f->store, &f->key, &f->err));
    fixture_reopen(f, GT_STORE_WRITE);
    snprintf(expected, sizeof(expected), "BM=16 0 2 0\nBM=64 %d 0 3\nBM=8 %d 2 3\n", GT_STATUS_OK,
             GT_STATUS_TIMEOUT);
    expect_resume(f, GT_MEASURED, expected);
    f->key.timing = GT_TIMING_WARM;
    expect_resume(f, GT_MEASURED, "");
}

/* In a process that dies without a word: stores two trials for later, then perhaps one more thing.
 */
static void store_and_die(struct fixture *f, void (*last)(struct fixture *f))
{
    const struct gt_trial trial = fixture_trial(50, 1);
    pid_t pid;
    int status;

    gt_store_close(f->store);
    f->store = NULL;
    pid = fork();
    if (pid == 0) {
        int rc = gt_store_open(&f->store, f->path, GT_STORE_WRITE, NULL);

        for (int i = 0; !rc && i < 2; i++) {
            f->key.point = i ? "BM=16" : "BM=8";
            rc = gt_store_trial_later(f->store, &f->key, &trial, NULL);
        }
        if (!rc)
            last(f);
        _exit(rc != 0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    OK(f, gt_store_open(&f->store, f->path, GT_STORE_WRITE, &f->err));
}

static void nothing_more(struct fixture *f)
{
    (void)f;
}

static void settle(struct fixture *f)
{
    gt_store_settle(f->store, NULL);
}

static void attempt(struct fixture *f)
{
    f->key.point = "BM=64";
    gt_store_attempt(f->store, &f->key, NULL);
}

static void test_later_trials_come_with_the_next_attempt(void **state)
{
    struct fixture *f = *state;
    char expected[80];

    OK(f, gt_store_settle(f->store, &f->err)); /* nothing is pending */
    store_and_die(f, nothing_more);
    expect_resume(f, GT_MEASURED, "");
    store_and_die(f, settle);
    snprintf(expected, sizeof(expected), "BM=16 %d 0 3\nBM=8 %d 0 3\n", GT_STATUS_OK, GT_STATUS_OK);
    expect_resume(f, GT_MEASURED, expected);
    store_and_die(f, attempt);
    snprintf(expected, sizeof(expected), "BM=16 %d 0 3\nBM=64 0 1 0\nBM=8 %d 0 3\n", GT_STATUS_OK,
             GT_STATUS_OK);
    expect_resume(f, GT_MEASURED, expected);
}

static void test_impossible_times_are_refused(void **state)
{
    static const double bad[] = {0, -1, 1e-100, 9e-7, 1e12, NAN, INFINITY};
    struct fixture *f = *state;
    struct gt_trial trial;

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        trial = fixture_trial(bad[i], 1);
        assert_int_equal(gt_store_trial(f->store, &f->key, &trial, &f->err), GT_ERANGE);
        assert_non_null(strstr(f->err.msg, "BM=64"));
    }
    trial = fixture_trial(1, 1);
    trial.status = GT_STATUS_NONE;
    assert_int_equal(gt_store_trial(f->store, &f->key, &trial, &f->err), GT_ERANGE);
    trial = fixture_trial(NAN, 1);
    trial.status = GT_STATUS_WRONG;
    trial.err_u = INFINITY;
    fixture_put(f, "BM=64", &trial);
    expect_rows(f, &everything, "simt BM=64 wrong 0\n");
}

static int count_trial(void *context, const struct gt_named_trial *named, struct gt_err *err)
{
    (void)err;
    assert_true(named->trial.us >= 1e-6);
    ++*(int *)context;
    return GT_OK;
}

static int count_resumed(void *context, const char *point, const struct gt_trial *trial,
                         int attempts, struct gt_err *err)
{
    (void)err;
    (void)attempts;
    assert_string_equal(point, "BM=16");
    assert_int_equal(trial->samples, 0);
    ++*(int *)context;
    return GT_OK;
}

static int check_numbers(void *context, const struct gt_row *row, struct gt_err *err)
{
    const double all = row->lo_us + row->hi_us + row->baseline_us + row->clock_mhz + row->err_u;

    (void)err;
    assert_true(isfinite(all) && all >= 0 && row->us >= 1e-6);
    ++*(int *)context;
    return GT_OK;
}

/* Numbers that the schema lets pass, and that no measurement gave. */
static void test_impossible_numbers_are_not_read(void **state)
{
    struct fixture *f = *state;
    struct gt_trial trial = fixture_trial(50, 3);
    struct gt_baseline baseline = {.name = "theirs", .answers = 1, .us = 77};
    int trials = 0, rows = 0, resumed = 0;

    OK(f, gt_store_baseline(f->store, &f->key, &baseline, &f->err));
    fixture_put(f, "BM=8", &trial);
    fixture_put(f, "BM=16", &trial);
    fixture_close(f);
    fixture_sql(f, "DELETE FROM meta;"
                   "UPDATE trial SET us = 1e-100, lo_us = 0, hi_us = 0 WHERE point = 'BM=8';"
                   "UPDATE trial SET err_u = 9e999, clock_mhz = 9e999, registers = 1 << 40,"
                   " lo_us = 1e-300, compile_ms = 9e999, samples = x'0000807f000000000000c0ff'"
                   " WHERE point = 'BM=16'; UPDATE baseline SET us = 1e-300, hi_us = 9e999");
    fixture_reopen(f, GT_STORE_WRITE);
    expect_rows(f, &winners, "simt BM=16 ok 50\n");
    OK(f, gt_store_rows(f->store, &everything, check_numbers, &rows, &f->err));
    assert_int_equal(rows, 1);
    OK(f, gt_store_trials(f->store, &everything, count_trial, &trials, &f->err));
    assert_int_equal(trials, 1);
    OK(f, gt_store_resume(f->store, &f->key, GT_MEASURED, count_resumed, &resumed, &f->err));
    assert_int_equal(resumed, 1);
    trial = fixture_trial(60, 1); /* a shallower stage, and yet it takes the place */
    fixture_put(f, "BM=8", &trial);
    expect_rows(f, &everything, "simt BM=16 ok 50\nsimt BM=8 ok 60\n");
}

static void test_foreign_ids_are_refused(void **state)
{
    struct fixture *f = *state;
    struct gt_trial trial = fixture_trial(1, 1);

    f->key.kernel = 999;
    assert_int_equal(gt_store_trial(f->store, &f->key, &trial, &f->err), GT_EDB);
    expect_rows(f, &everything, "");
}

static void test_a_sweep_ends(void **state)
{
    struct fixture *f = *state;
    struct gt_store_sweep_stats stats = {.wall_s = 60, .busy_s = 54, .trials = 1000};
    int64_t trials;

    OK(f, gt_store_sweep_end(f->store, f->key.sweep, "done", &stats, &f->err));
    OK(f, gt_store_integer(f->store, "SELECT trials FROM sweep WHERE outcome = 'done'", &trials,
                           &f->err));
    assert_int_equal(trials, 1000);
    assert_int_equal(gt_store_sweep_end(f->store, 12345, "done", &stats, &f->err), GT_EDB);
}

/* A recording's rows are winners of their own: they neither beat measured ones nor hide them. */
static void test_replayed_stay_apart(void **state)
{
    const struct gt_row_filter winners = {.winners_only = true};
    const struct gt_row_filter measured = {.provenance = 1u << GT_MEASURED};
    struct fixture *f = *state;
    struct gt_trial trial = fixture_trial(90, 1);

    fixture_put(f, "BM=64", &trial);
    trial = fixture_trial(80, 3);
    trial.provenance = GT_REPLAYED;
    fixture_put(f, "BM=64", &trial);
    trial = fixture_trial(70, 2);
    trial.provenance = GT_REPLAYED;
    fixture_put(f, "BM=32", &trial);
    expect_rows(f, &winners, "simt BM=64 ok 90\nsimt BM=64 ok 80 replayed\n");
    expect_rows(f, &measured, "simt BM=64 ok 90\n");
    expect_resume(f, GT_REPLAYED, "BM=32 1 0 3\nBM=64 1 0 3\n");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_row_comes_back_whole),
        TEST(test_same_names_have_the_same_id),
        TEST(test_the_deepest_then_the_fastest_wins),
        TEST(test_predicted_never_beats_measured),
        TEST(test_replayed_stay_apart),
        TEST(test_a_shallower_stage_does_not_replace_a_deeper),
        TEST(test_another_template_hides_the_rows_of_the_old),
        TEST(test_a_tie_is_decided_by_its_choice),
        TEST(test_an_attempt_without_a_trial_blames_its_candidate),
        TEST(test_later_trials_come_with_the_next_attempt),
        TEST(test_impossible_times_are_refused),
        TEST(test_impossible_numbers_are_not_read),
        TEST(test_foreign_ids_are_refused),
        TEST(test_a_sweep_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
