/* test_plan_measure.c - GT_PLAN_MEASURE on the stub driver: the fastest candidate is taken and
 * remembered, also by threads at once; what fails leaves the answer that there is without it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <pthread.h>

#include "lookup/plan_impl.h"
#include "problem/problem.h"
#include "stub_fixture.h"

struct world {
    char cubins[64];
    struct gt_options options;
};

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof(*w));

    *state = w;
    if (!w)
        return 1;
    w->options =
        (struct gt_options){GT_OPTIONS_INIT,        .data_dir = ".",  .user_db = "",
                            .cubin_dir = w->cubins, .allow_nvrtc = 1, .plan_mode = GT_PLAN_MEASURE};
    return stub_folder(w->cubins, "measure");
}

static int tear_down(void **state)
{
    struct world *w = *state;
    int rc;

    unsetenv("STUB_MEMORY");
    rc = stub_folder_remove(w->cubins);
    free(w);
    return rc;
}

static struct gt *open_tables(const struct gt_options *options)
{
    struct gt *gt = NULL;
    struct gt_err err;

    if (gt_open(&gt, options, &err))
        fail_msg("%s", err.msg);
    return gt;
}

static struct gt_plan *plan_of(struct gt *gt, const char *text)
{
    struct gt_plan *plan = NULL;
    struct gt_problem problem;
    struct gt_err err;

    if (gt_problem_parse(&problem, text, &err) || gt_plan(&plan, gt, 0, &problem, &err))
        fail_msg("%s: %s", text, err.msg);
    return plan;
}

/* Contestants of one kernel: as it is, ten times as slow, refused by the driver, not compiled. */
static void test_times(void **state)
{
    static const char *const fault[] = {NULL, "slow", "launch_invalid"};
    struct gt_contestant contestant[4] = {{0}};
    struct gt_binary binary[4] = {{0}};
    struct gt_strbuf image[3];
    struct gt_geometry geometry;
    struct gt_problem problem;
    struct stub_fixture f;
    struct gt_err err;

    (void)state;
    gt_problem_init(&problem, 48, 40, 56);
    assert_int_equal(stub_open(&f, STUB_KERNEL, &err), GT_OK);
    for (int i = 0; i < 4; i++) {
        struct gt_candidate candidate;

        if (i < 3) {
            assert_int_equal(stub_candidate(&f, &problem, fault[i], &candidate, &image[i], &err),
                             GT_OK);
            assert_int_equal(gt_candidate_geometry(&candidate, &geometry, &err), GT_OK);
            binary[i] = (struct gt_binary){.image = image[i].text, .size = image[i].length + 1};
        }
        contestant[i] = (struct gt_contestant){&geometry, &binary[i], 0};
    }
    if (gt_plan_time(0, &problem, contestant, 4, &err))
        fail_msg("%s", err.msg);
    assert_true(contestant[0].us > 0);
    assert_true(fabs(contestant[1].us / contestant[0].us - 10) < 4); /* the images differ */
    assert_true(contestant[2].us == 0 && contestant[3].us == 0);
    setenv("STUB_MEMORY", "100000", 1);
    assert_int_equal(gt_plan_time(0, &problem, contestant, 4, &err), GT_ETOOBIG);
    for (int i = 0; i < 3; i++)
        gt_strbuf_release(&image[i]);
    stub_close(&f);
}

/* It takes at most the time of the answer without it; the second plan knows without timing. */
static void test_the_fastest_is_taken(void **state)
{
    static const char *const text[] = {"65x130x70:f32:nn", "65x130x70:bf16:nt",
                                       "3x512x80:f32:nt:accuracy=f32"};
    struct world *w = *state;
    struct gt *gt = open_tables(&w->options);
    int others = 0;

    for (size_t i = 0; i < sizeof(text) / sizeof(*text); i++) {
        struct gt_plan *plan = plan_of(gt, text[i]), *again = plan_of(gt, text[i]);
        const struct gt_answer *answer = gt_plan_answer(plan), *same = gt_plan_answer(again);
        const struct gt_answer *without;
        struct gt_problem problem;
        struct gt_err err;

        assert_int_equal(gt_problem_parse(&problem, text[i], &err), GT_OK);
        assert_int_equal(gt_lookup(gt, 90, "Stub device", &problem, &without, &err), GT_OK);
        print_message("%s: %d candidates, %s in %.2f us; without times %s\n", text[i],
                      answer->measured, answer->point, answer->expected_us, without->point);
        assert_in_range(answer->measured, 4, GT_PLAN_TIMED);
        assert_int_equal(answer->tier, GT_TIER_NEAR);
        assert_true(answer->expected_us > 0 && answer->us == 0);
        assert_int_equal(same->measured, answer->measured);
        assert_string_equal(same->point, answer->point);
        assert_true(same->expected_us == answer->expected_us);
        assert_int_equal(without->measured, 0);
        others += strcmp(without->point, answer->point) != 0;
        gt_plan_free(plan);
        gt_plan_free(again);
    }
    assert_true(others > 0); /* the stub's times are drawn: the model cannot always be right */
    gt_close(gt);
}

/* A product through a plan that was chosen by time. */
static void test_its_product_is_right(void **state)
{
    enum { M = 65, N = 132, K = 72 };
    static _Alignas(16) float a[M * K], b[K * N], d[M * N];
    struct world *w = *state;
    struct gt *gt = open_tables(&w->options);
    struct gt_plan *plan = plan_of(gt, "65x132x72:f32:nn");
    struct gt_operands operands = {.a = a, .b = b, .d = d, .alpha = 1};
    struct gt_err err;

    for (int i = 0; i < M * K; i++)
        a[i] = (float)(i % 7 - 3);
    for (int i = 0; i < K * N; i++)
        b[i] = (float)(i % 5 - 2);
    assert_true(gt_plan_answer(plan)->measured > 1);
    if (gt_plan_answer(plan)->workspace_bytes)
        assert_int_equal(
            posix_memalign(&operands.workspace, 256, gt_plan_answer(plan)->workspace_bytes), 0);
    if (gt_run(plan, NULL, &operands, &err))
        fail_msg("%s", err.msg);
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;

            for (int k = 0; k < K; k++)
                sum += a[i * K + k] * b[k * N + j];
            assert_true(d[i * N + j] == sum);
        }
    free(operands.workspace);
    gt_plan_free(plan);
    gt_close(gt);
}

/* Without memory, or without a compiler for more than the answer itself, the plan is the answer. */
static void test_what_fails_changes_nothing(void **state)
{
    struct world *w = *state;
    struct gt_options plain = w->options;
    struct gt_plan *plan;
    struct gt_err err;
    struct gt *gt;

    plain.plan_mode = GT_PLAN_ANSWER;
    gt = open_tables(&plain);
    plan = plan_of(gt, "65x130x70:f32:nn");
    assert_int_equal(gt_plan_answer(plan)->measured, 0);
    gt_plan_free(plan);
    gt_close(gt);

    setenv("GEMMTUNE_LIBNVRTC", "/nonexistent", 1); /* one cubin is stored, and no other */
    gt = open_tables(&w->options);
    plan = plan_of(gt, "65x130x70:f32:nn");
    assert_int_equal(gt_plan_answer(plan)->measured, 0);
    gt_plan_free(plan);
    stub_environment();
    setenv("STUB_MEMORY", "100000", 1);
    plan = plan_of(gt, "65x130x70:f32:nn");
    assert_int_equal(gt_plan_answer(plan)->measured, 0);
    gt_plan_free(plan);
    unsetenv("STUB_MEMORY"); /* what failed is tried again */
    plan = plan_of(gt, "65x130x70:f32:nn");
    assert_true(gt_plan_answer(plan)->measured > 1);
    gt_plan_free(plan);
    plan = plan_of(gt, "64x64x0:f32:nn"); /* nothing to time */
    assert_int_equal(gt_plan_answer(plan)->measured, 0);
    gt_plan_free(plan);
    gt_close(gt);

    plain.plan_mode = 2;
    assert_int_equal(gt_open(&gt, &plain, &err), GT_ERANGE);
    assert_non_null(strstr(err.msg, "plan_mode is 2"));
}

static void *plan_in_a_thread(void *gt)
{
    return plan_of(gt, "70x200x90:f32:nt");
}

static void test_threads(void **state)
{
    struct world *w = *state;
    struct gt *gt = open_tables(&w->options);
    struct gt_plan *plan[4];
    pthread_t thread[4];

    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, plan_in_a_thread, gt), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_join(thread[i], (void **)&plan[i]), 0);
    for (int i = 0; i < 4; i++) {
        const struct gt_answer *answer = gt_plan_answer(plan[i]);

        assert_string_equal(answer->point, gt_plan_answer(plan[0])->point);
        assert_true(answer->expected_us == gt_plan_answer(plan[0])->expected_us);
        assert_true(answer->measured > 1);
    }
    for (int i = 0; i < 4; i++)
        gt_plan_free(plan[i]);
    gt_close(gt);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_times),
        TEST(test_the_fastest_is_taken),
        TEST(test_its_product_is_right),
        TEST(test_what_fails_changes_nothing),
        TEST(test_threads),
    };

    return cmocka_run_group_tests_name("plan_measure", tests, NULL, NULL);
}
