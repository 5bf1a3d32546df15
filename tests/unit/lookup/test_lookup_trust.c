/* test_lookup_trust.c - which of several rows is believed, what is said of the others, and that no
 * time is shown for a problem that it was not measured on. */
#include "lookup_fixture.h"

#include "db/store.h"
#include "problem/problem.h"

/* Closes the table of the user's rows collected so far, for open_tables. */
static char *own_table(struct world *w, char path[128])
{
    snprintf(path, 128, "%s/user.csv", w->folder);
    write_table(w, path);
    return path;
}

/* The name of a device decides nothing between a measurement and a prediction. */
static void test_a_measured_row_comes_before_a_predicted_one(void **state)
{
    struct world *w = *state;
    const struct gt_answer *answer;
    char user[128];

    add_row(w, 90, "predicted", "H200 (profile)", "4096x4096x4096:f32:nn", "BM=32,VEC=4", 103748);
    add_row(w, 90, "predicted", "H200 (profile)", "512x512x512:f32:nt", "BM=32,VEC=4", 7);
    own_table(w, user);
    add_row(w, 90, "measured", "NVIDIA H200", "4096x4096x4096:f32:nn", "BM=128,VEC=4", 2659);
    open_tables(w, user);
    for (int i = 0; i < 4; i++) {
        const char *const device[] = {NULL, "NVIDIA H200", "NVIDIA H100 80GB HBM3", "NVIDIA H20"};

        answer = ask(w, 90, device[i], "4096x4096x4096");
        assert_int_equal(answer->tier, i < 2 ? GT_TIER_EXACT : GT_TIER_NEAR);
        assert_false(answer->predicted);
        assert_string_equal(answer->device, "NVIDIA H200");
        assert_non_null(answer->passed_over);
        assert_non_null(strstr(answer->passed_over, "predicted"));
        assert_non_null(strstr(answer->passed_over, " 100000 us"));
    }
    answer = ask(w, 90, "NVIDIA H20", "512x512x512:f32:nt"); /* nothing of the kind was measured */
    assert_int_not_equal(answer->tier, GT_TIER_EXACT);       /* what was predicted is of an H200 */
    assert_true(answer->predicted && answer->us == 0 && answer->expected_us == 0);
    assert_string_equal(answer->device, "H200 (profile)");
}

/* A sweep of a textbook kernel without a GPU must not make the answer of every program slower. */
static void test_a_slow_prediction_gives_way_to_what_the_model_expects_to_be_faster(void **state)
{
    struct world *w = *state;
    const struct gt_answer *answer;
    double expected;

    open_tables(w, NULL);
    expected = ask(w, 86, NULL, "512x512x512")->expected_us;
    assert_true(expected > 0);
    gt_close(w->gt);
    add_row(w, 86, "predicted", "P (profile)", "512x512x512:f32:nn", "BM=32,VEC=1", 10 * expected);
    add_row(w, 86, "predicted", "P (profile)", "512x512x512:f32:nt", "BM=32,VEC=1", 1.1 * expected);
    open_tables(w, NULL);
    answer = ask(w, 86, NULL, "512x512x512");
    assert_int_equal(answer->tier, GT_TIER_FAMILY);
    assert_true(answer->expected_us == expected);
    assert_non_null(strstr(answer->passed_over, "predicted"));
    assert_non_null(strstr(answer->passed_over, ": the model expects"));
    answer = ask(w, 86, NULL, "512x512x512:f32:nt"); /* as good as the estimate: it was compiled */
    assert_int_equal(answer->tier, GT_TIER_EXACT);
    assert_true(answer->predicted && answer->expected_loss > 0.1);
}

static void test_a_near_measured_row_comes_before_a_predicted_one(void **state)
{
    struct world *w = *state;
    const struct gt_answer *answer;

    add_row(w, 90, "measured", "NVIDIA H200", "1024x1024x1024:f32:nn", "BM=128,VEC=4", 50);
    add_row(w, 90, "predicted", "H200 (profile)", "1100x1024x1024:f32:nn", "BM=32,VEC=4", 9);
    open_tables(w, NULL);
    answer = ask(w, 90, "NVIDIA H100", "1100x1024x1024");
    assert_int_equal(answer->tier, GT_TIER_NEAR);
    assert_false(answer->predicted);
    assert_non_null(strstr(answer->passed_over, " 9.0 us"));
}

/* Whoever measured it, and wherever it stands; the own one if it is but little slower, because GPUs
 * of one name differ. */
static void test_the_faster_of_two_measured_rows_wins(void **state)
{
    struct world *w = *state;
    const struct gt_answer *answer;
    char user[128];

    add_row(w, 90, "measured", "A", "64x64x64:f32:nn", "BM=128,VEC=4", 3.99);
    add_row(w, 90, "measured", "A", "128x64x64:f32:nn", "BM=128,VEC=4", 3.31);
    add_row(w, 90, "measured", "A", "192x64x64:f32:nn", "BM=128,VEC=4", 3.40);
    own_table(w, user);
    add_row(w, 90, "measured", "A", "64x64x64:f32:nn", "BM=32,VEC=4", 3.31);
    add_row(w, 90, "measured", "A", "128x64x64:f32:nn", "BM=32,VEC=4", 3.99);
    add_row(w, 90, "measured", "A", "192x64x64:f32:nn", "BM=32,VEC=4", 3.31);
    add_row(w, 90, "measured", "B", "64x64x64:f32:nn", "BM=64,VEC=4", 9);
    open_tables(w, user);
    answer = ask(w, 90, "A", "192x64x64");
    assert_string_equal(answer->point, "BM=128,VEC=4");
    assert_non_null(strstr(answer->passed_over, "3.31 us measured on A (system's table): own"));
    answer = ask(w, 90, "A", "64x64x64");
    assert_string_equal(answer->point, "BM=32,VEC=4");
    assert_true(answer->us == 3.31);
    assert_non_null(strstr(answer->passed_over, "3.99 us"));
    assert_non_null(strstr(answer->passed_over, "own"));
    answer = ask(w, 90, "A", "128x64x64");
    assert_string_equal(answer->point, "BM=128,VEC=4");
    assert_non_null(strstr(answer->passed_over, "3.99 us"));
    assert_string_equal(ask(w, 90, "B", "64x64x64")->point, "BM=64,VEC=4"); /* its own device's */
    assert_string_equal(ask(w, 90, NULL, "64x64x64")->device, "A");
}

static void test_cold_comes_before_warm(void **state)
{
    struct world *w = *state;

    gt_strbuf_addf(&w->rows,
                   "90,measured,A,64x64x64:f32:nn,k,%s,\"BM=32,VEC=4\",warm,2,1,2,0,3,13000,13000,"
                   "2026-01-01T00:00:00Z\n",
                   w->signature);
    add_row(w, 90, "measured", "A", "64x64x64:f32:nn", "BM=128,VEC=4", 3);
    open_tables(w, NULL);
    assert_string_equal(ask(w, 90, "A", "64x64x64")->point, "BM=128,VEC=4");
    assert_non_null(strstr(ask(w, 90, "A", "64x64x64")->passed_over, "warm"));
}

static void test_a_tuned_row_that_cannot_serve_is_named(void **state)
{
    struct world *w = *state;
    const struct gt_answer *answer;

    gt_strbuf_addf(&w->rows,
                   "90,measured,A,64x64x64:f32:nn,rows,%s,\"BM=32\",cold,2,1,2,0,3,13000,13000,"
                   "2026-01-01T00:00:00Z\n",
                   w->signature);
    open_tables(w, NULL);
    answer = ask(w, 90, "A", "64x64x64");
    assert_int_equal(answer->tier, GT_TIER_FAMILY);
    assert_non_null(strstr(answer->passed_over, "kernel rows"));
    assert_non_null(strstr(answer->passed_over, "not loaded"));
}

/* A time is that of the problem asked for, or has another name. */
static void test_times_of_other_problems_have_names_of_their_own(void **state)
{
    struct world *w = *state;
    const struct gt_answer *answer;

    add_row(w, 90, "measured", "A", "1024x1024x1024:f32:nn", "BM=128,VEC=4", 50);
    open_tables(w, NULL);
    answer = ask(w, 90, NULL, "1024x1024x1024");
    assert_true(answer->us == 50 && answer->tuned_us == 50 && answer->expected_us == 50);
    answer = ask(w, 90, NULL, "2048x2048x2048");
    assert_true(answer->us == 0 && answer->tuned_us == 50);
    assert_true(answer->expected_us > 0 && answer->expected_us != 50);
    answer = ask(w, 90, "B", "1024x1024x1024"); /* nor is it a time of another device */
    assert_true(answer->us == 0 && answer->tuned_us == 50 && answer->expected_us == 0);
    answer = ask(w, 86, NULL, "512x512x512"); /* family */
    assert_true(answer->us == 0 && answer->expected_us > 0);
    assert_non_null(strstr(answer->point, "BM="));
}

/* Tunes 256x256x256 on a GPU with 16 SMs, to BM=16, which needs just that many. */
static void tune_small(struct world *w, const char *path)
{
    struct gt_device device = {
        .name = "Tiny", .uuid = "GPU-1", .cc = 90, .sms = 16, .l2_bytes = 1 << 20, .driver = 13000};
    struct gt_trial trial = {.status = GT_STATUS_OK, .stage = 3, .us = 5, .lo_us = 4, .hi_us = 6};
    struct gt_kernel kernel = {.name = (char *)"k", .text = (char *)""};
    struct gt_trial_key key = {.point = "BM=16,VEC=4"};
    struct gt_store *store;
    struct gt_problem problem;

    strcpy(kernel.signature, w->signature);
    gt_problem_init(&problem, 256, 256, 256);
    OK(w, gt_store_open(&store, path, GT_STORE_WRITE, &w->err));
    OK(w, gt_store_device(store, &device, &key.device, &w->err));
    OK(w, gt_store_toolchain(store, 13000, &key.toolchain, &w->err));
    OK(w, gt_store_kernel(store, &kernel, &key.kernel, &w->err));
    OK(w, gt_store_problem(store, &problem, &key.problem, &w->err));
    OK(w, gt_store_sweep_begin(store, "tune", &key.sweep, &w->err));
    OK(w, gt_store_trial(store, &key, &trial, &w->err));
    gt_store_close(store);
}

/* The database knows how many SMs the device has; the profile of the arch has 132. */
static void test_constraints_are_those_of_the_tuned_device(void **state)
{
    struct world *w = *state;
    const struct gt_answer *answer;
    char user[128];

    snprintf(user, sizeof(user), "%s/user.db", w->folder);
    tune_small(w, user);
    open_tables(w, user);
    for (int named = 0; named < 2; named++) {
        answer = ask(w, 90, named ? "Tiny" : NULL, "256x256x256");
        assert_int_equal(answer->tier, GT_TIER_EXACT);
        assert_string_equal(answer->point, "BM=16,VEC=4");
    }
    answer = ask(w, 90, "Tiny", "255x256x256"); /* an untuned problem on that device */
    assert_non_null(strstr(answer->point, "BM=16,"));
    answer = ask(w, 90, "NVIDIA H200", "256x256x256"); /* another device does not become tiny */
    assert_int_equal(answer->tier, GT_TIER_NEAR);
    assert_null(strstr(answer->point, "BM=16,"));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_measured_row_comes_before_a_predicted_one),
        TEST(test_a_slow_prediction_gives_way_to_what_the_model_expects_to_be_faster),
        TEST(test_a_near_measured_row_comes_before_a_predicted_one),
        TEST(test_the_faster_of_two_measured_rows_wins),
        TEST(test_cold_comes_before_warm),
        TEST(test_a_tuned_row_that_cannot_serve_is_named),
        TEST(test_times_of_other_problems_have_names_of_their_own),
        TEST(test_constraints_are_those_of_the_tuned_device),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
