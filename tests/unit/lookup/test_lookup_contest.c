/* test_lookup_contest.c - tests how far a look-up trusts a row of the very problem that never won a
 * final: it is weighed against the answer that there would be without it. */
#include "lookup_fixture.h"

#define PROBLEM "1024x1024x1024:f32:nn"
#define NEAR    "1024x1024x2048:f32:nn"

/* As add_row, with the columns of the contest. */
static void add_contest(struct world *w, const char *problem, const char *point, double us,
                        const char *contest)
{
    add_row(w, 90, "measured", "NVIDIA H200", problem, point, us);
    w->rows.text[--w->rows.length] = '\0'; /* the end of the line */
    gt_strbuf_addf(&w->rows, ",%s\n", contest);
}

/* The near winner's time is twice what 1024 deep takes, so the model expects about 100 us of it. */
static void add_near(struct world *w)
{
    add_contest(w, NEAR, "BM=64,VEC=4", 200, "3,90");
}

static const struct gt_answer *answer_with(struct world *w, const char *point, double us,
                                           const char *contest)
{
    gt_close(w->gt);
    w->gt = NULL;
    if (*contest)
        add_contest(w, PROBLEM, point, us, contest);
    add_near(w);
    w->contest = true;
    open_tables(w, "");
    return ask(w, 90, "NVIDIA H200", PROBLEM);
}

static void test_a_row_of_few_trials_is_weaker_than_a_near_winner(void **state)
{
    struct world *w = *state;
    const struct gt_answer *answer = answer_with(w, "BM=32,VEC=1", 300, "1,2");

    assert_int_equal(answer->tier, GT_TIER_NEAR);
    assert_string_equal(answer->tuned_for, NEAR);
    assert_non_null(strstr(answer->passed_over, "kernel k, 300.00 us measured on NVIDIA H200"));
    assert_non_null(strstr(answer->passed_over, "the best of 2 trials, it was never timed in turns "
                                                "with another answer, and the model expects "));
    assert_non_null(strstr(answer->passed_over, " us of this one, made from the winner of " NEAR));
    answer = answer_with(w, "BM=32,VEC=1", 300, "2,1");
    assert_int_equal(answer->tier, GT_TIER_NEAR);
    assert_non_null(strstr(answer->passed_over, "the best of 1 trial, "));
}

/* Up to half of the model's estimate the model may be wrong: the untuned answer stands. */
static void test_it_must_be_clearly_faster_than_the_model_expects(void **state)
{
    struct world *w = *state;
    const double expected = answer_with(w, "", 0, "")->expected_us;
    const struct gt_answer *answer;

    assert_true(expected > 50 && expected < 150);
    answer = answer_with(w, "BM=32,VEC=1", expected / 1.9, "1,2");
    assert_int_equal(answer->tier, GT_TIER_NEAR);
    answer = answer_with(w, "BM=32,VEC=1", expected / 2.1, "1,2");
    assert_int_equal(answer->tier, GT_TIER_EXACT);
    assert_string_equal(answer->point, "BM=32,VEC=1");
    assert_true(!answer->contested && answer->trials == 2 && answer->expected_loss > 0);
}

/* A winner of a final is the answer whatever the model expects, and so is a row of a table that has
 * no such columns, or an empty field. */
static void test_a_winner_of_a_final_is_trusted(void **state)
{
    struct world *w = *state;
    const char *const contest[] = {"3,40", ",", "4,7"};

    for (int i = 0; i < 3; i++) {
        const struct gt_answer *answer = answer_with(w, "BM=32,VEC=1", 300, contest[i]);

        assert_int_equal(answer->tier, GT_TIER_EXACT);
        assert_true(answer->contested && answer->us == 300 && answer->expected_loss == 0);
        assert_int_equal(answer->trials, i == 0 ? 40 : i == 1 ? 0 : 7);
    }
    gt_close(w->gt);
    add_row(w, 90, "measured", "NVIDIA H200", PROBLEM, "BM=32,VEC=1", 300);
    add_row(w, 90, "measured", "NVIDIA H200", NEAR, "BM=64,VEC=4", 200);
    w->contest = false;
    open_tables(w, "");
    assert_int_equal(ask(w, 90, "NVIDIA H200", PROBLEM)->tier, GT_TIER_EXACT);
    assert_true(ask(w, 90, "NVIDIA H200", PROBLEM)->contested);
}

/* The own table's row of a killed sweep is faster than the shipped winner, by a time that was
 * not taken beside it. */
static void test_a_winner_of_a_final_comes_before_a_faster_row(void **state)
{
    struct world *w = *state;
    const struct gt_answer *answer;

    add_contest(w, PROBLEM, "BM=128,VEC=4", 95, "3,200");
    answer = answer_with(w, "BM=32,VEC=1", 70, "1,3");
    assert_int_equal(answer->tier, GT_TIER_EXACT);
    assert_true(answer->us == 95 && answer->contested);
    assert_non_null(strstr(answer->passed_over, "70.00 us measured"));
    assert_non_null(strstr(answer->passed_over, "the best of 3 trials, it was never timed in turns "
                                                "with another answer, and the row taken won a "
                                                "final"));
}

/* The untuned answer is the row's own point: it is known how long that takes. */
static void test_the_untuned_answer_itself_was_timed(void **state)
{
    struct world *w = *state;
    char point[32];
    const struct gt_answer *answer;

    snprintf(point, sizeof(point), "%s", answer_with(w, "", 0, "")->point);
    answer = answer_with(w, point, 300, "1,1");
    assert_int_equal(answer->tier, GT_TIER_EXACT);
    assert_true(answer->us == 300 && !answer->contested);
}

/* Where nothing near was tuned, the row need not be that much faster. */
static void test_without_a_near_winner(void **state)
{
    struct world *w = *state;
    double expected;

    w->contest = true;
    add_contest(w, "64x64x64:e4m3:nt", "BM=64,VEC=4", 5, "3,1"); /* of another kind */
    open_tables(w, "");
    expected = ask(w, 90, "NVIDIA H200", PROBLEM)->expected_us;
    assert_int_equal(ask(w, 90, "NVIDIA H200", PROBLEM)->tier, GT_TIER_FAMILY);
    for (int slow = 0; slow < 2; slow++) {
        gt_close(w->gt);
        w->gt = NULL;
        add_contest(w, PROBLEM, "BM=32,VEC=1", expected / (slow ? 1.2 : 1.3), "1,2");
        open_tables(w, "");
        assert_int_equal(ask(w, 90, "NVIDIA H200", PROBLEM)->tier,
                         slow ? GT_TIER_FAMILY : GT_TIER_EXACT);
    }
}

static void test_a_field_that_is_no_count(void **state)
{
    struct world *w = *state;
    const char *const wrong[] = {"x,1", "1,-2", "1,2.5", "1,9999999999"};
    struct gt_table table = {0};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        add_contest(w, PROBLEM, "BM=32,VEC=1", 1, wrong[i]);
        w->contest = true;
        write_table(w, w->table);
        assert_int_equal(gt_table_load(&table, w->table, &w->err), GT_EDB);
        assert_non_null(strstr(w->err.msg, "t.csv:3: no count: \""));
    }
    add_contest(w, PROBLEM, "BM=32,VEC=1", 1, "1");
    write_table(w, w->table);
    assert_int_equal(gt_table_load(&table, w->table, &w->err), GT_EDB);
    assert_non_null(strstr(w->err.msg, "t.csv:3: not 18 comma-separated fields"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_row_of_few_trials_is_weaker_than_a_near_winner,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_it_must_be_clearly_faster_than_the_model_expects,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_winner_of_a_final_is_trusted, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_winner_of_a_final_comes_before_a_faster_row, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_the_untuned_answer_itself_was_timed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_without_a_near_winner, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_field_that_is_no_count, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
