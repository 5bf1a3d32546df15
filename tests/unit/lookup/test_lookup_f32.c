/* test_lookup_f32.c - tests that a look-up takes FP32 arithmetic where TF32 is allowed and FP32
 * costs at most 1 % more. */
#include "lookup_fixture.h"

#define IN_TF32 "1024x1024x1024:tf32:nn"
#define IN_F32  "1024x1024x1024:f32:nn"
#define DEVICE  "NVIDIA H200"

static void add(struct world *w, const char *problem, const char *point, double us,
                const char *contest)
{
    add_row(w, 90, "measured", DEVICE, problem, point, us);
    w->rows.text[--w->rows.length] = '\0'; /* the end of the line */
    gt_strbuf_addf(&w->rows, ",%s\n", contest);
}

/* The answer to the problem, where TF32 takes 100 us; us: FP32's time, 0 without such a row. */
static const struct gt_answer *answer_with(struct world *w, double us, const char *contest,
                                           const char *problem)
{
    gt_close(w->gt);
    w->gt = NULL;
    add(w, IN_TF32, "BM=64,VEC=4", 100, "3,90");
    add(w, IN_TF32 ":accuracy=low", "BM=64,VEC=4", 100, "3,90");
    if (us > 0)
        add(w, IN_F32, "BM=32,VEC=1", us, contest);
    w->contest = true;
    open_tables(w, "");
    return ask(w, 90, DEVICE, problem);
}

static void test_f32_is_taken_where_it_costs_nothing(void **state)
{
    struct world *w = *state;
    static const double times[] = {60, 100, 100.9};

    for (int i = 0; i < 3; i++) {
        const struct gt_answer *answer = answer_with(w, times[i], "3,40", IN_TF32);

        assert_int_equal(answer->in_f32, 1);
        assert_int_equal(answer->tier, GT_TIER_EXACT);
        assert_string_equal(answer->tuned_for, IN_F32);
        assert_string_equal(answer->point, "BM=32,VEC=1");
        assert_true(answer->us == times[i] && answer->contested);
        assert_true(answer->baseline_us == 200); /* of cuBLASLt in TF32, which it may take */
    }
}

static void test_f32_is_not_taken_where_it_costs_more_or_nobody_knows(void **state)
{
    struct world *w = *state;
    static const struct {
        double us;
        const char *contest;
    } cases[] = {{101.1, "3,40"}, {200, "3,40"}, {90, "1,4"} /* no final */, {0, ""}};

    for (int i = 0; i < 4; i++) {
        const struct gt_answer *answer = answer_with(w, cases[i].us, cases[i].contest, IN_TF32);

        assert_int_equal(answer->in_f32, 0);
        assert_string_equal(answer->tuned_for, IN_TF32);
        assert_true(answer->us == 100);
    }
}

/* Estimates are compared with each other. */
static void test_what_nobody_tuned(void **state)
{
    struct world *w = *state;
    const struct gt_answer *answer = answer_with(w, 100.9, "3,40", "64x64x64:tf32:nn");

    assert_true(answer->tier != GT_TIER_EXACT && answer->tier != GT_TIER_NONE);
    assert_int_equal(answer->in_f32, 1);
    assert_int_equal(answer_with(w, 100.9, "3,40", "64x64x64:f32:nn")->in_f32, 0);
}

/* What asks for more than TF32's accuracy is answered as ever. */
static void test_other_accuracies(void **state)
{
    struct world *w = *state;

    assert_int_equal(answer_with(w, 100.9, "3,40", IN_F32)->in_f32, 0);
    assert_int_equal(answer_with(w, 100.9, "3,40", IN_F32 ":accuracy=f32")->in_f32, 0);
    assert_int_equal(answer_with(w, 100.9, "3,40", IN_TF32 ":accuracy=low")->in_f32, 1);
}

/* A plan renders the kernel for the problem in FP32. */
static void test_the_problem_of_a_plan(void **state)
{
    struct world *w = *state;
    struct gt_resolved resolved;
    struct gt_problem problem;
    struct gt_device device;

    answer_with(w, 100.9, "3,40", IN_TF32);
    OK(w, gt_device_profile_of(&device, w->folder, 90, DEVICE, &w->err));
    snprintf(device.name, sizeof(device.name), "%s", DEVICE);
    OK(w, gt_problem_parse(&problem, IN_TF32, &w->err));
    for (int i = 0; i < 2; i++) { /* the second is remembered */
        OK(w, gt_lookup_device(w->gt, &device, &problem, &resolved, &w->err));
        assert_int_equal(resolved.answer.in_f32, 1);
        assert_int_equal(resolved.problem.type, GT_F32);
        assert_int_equal(resolved.problem.accuracy, GT_ACCURACY_STRICT);
        assert_int_equal(resolved.geometry.launches, 1);
        gt_resolved_release(&resolved);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_f32_is_taken_where_it_costs_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_f32_is_not_taken_where_it_costs_more_or_nobody_knows,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_nobody_tuned, setup, teardown),
        cmocka_unit_test_setup_teardown(test_other_accuracies, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_problem_of_a_plan, setup, teardown),
    };

    return cmocka_run_group_tests_name("lookup_f32", tests, NULL, NULL);
}
