/* test_plan_spills.c - gt_plan on the stub driver, where the answer's registers spill: the next
 * candidate takes its place, unless that spills, too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lookup/plan_impl.h"
#include "stub_fixture.h"
#include "whole.h"

#define PROBLEM "65x130x70:f32:nn"

static int set_up(void **state)
{
    static char cubins[64];

    *state = cubins;
    return stub_folder(cubins, "spills");
}

static int tear_down(void **state)
{
    unsetenv("STUB_SPILLS");
    return stub_folder_remove(*state);
}

/* Makes a plan and copies its point. */
static void plan_point(const char *cubins, const char *spills, char point[512])
{
    const struct gt_options options = {GT_OPTIONS_INIT, .data_dir = ".", .user_db = "",
                                       .cubin_dir = cubins, .allow_nvrtc = 1};
    struct gt_problem problem;
    struct gt_plan *plan;
    struct gt_err err;
    struct gt *gt;

    if (spills)
        setenv("STUB_SPILLS", spills, 1);
    else
        unsetenv("STUB_SPILLS");
    if (gt_open(&gt, &options, &err) || gt_problem_parse(&problem, PROBLEM, &err) ||
        gt_plan(&plan, gt, 0, &problem, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(gt_plan_answer(plan)->tier, GT_TIER_NEAR);
    assert_true(strlen(gt_plan_answer(plan)->point) < 512);
    strcpy(point, gt_plan_answer(plan)->point);
    gt_plan_free(plan);
    gt_close(gt);
}

/* Whether the point has the parameter "NAME=VALUE". */
static bool has(const char *point, const char *assignment)
{
    char list[600], word[80];

    snprintf(list, sizeof(list), ",%s,", point);
    snprintf(word, sizeof(word), ",%s,", assignment);
    return strstr(list, word);
}

/* Whichever of its values (without WHOLE=1 the first that does) makes the answer spill, what takes
 * its place does not have that value. */
static void test_the_next_takes_its_place(void **state)
{
    char first[512], list[512], *rest = list, *word;
    int replaced = 0;

    (void)state;
    plan_point(NULL, NULL, first);
    strcpy(list, first);
    while (replaced < gt_whole(1000, 1) && (word = strsep(&rest, ",")) != NULL) {
        char define[80], point[512];

        snprintf(define, sizeof(define), "#define %s\n", word);
        *strchr(define, '=') = ' ';
        plan_point(NULL, define, point);
        if (strcmp(point, first) != 0) {
            assert_false(has(point, word));
            replaced++;
        }
    }
    print_message("%d values make another candidate the plan's\n", replaced);
    assert_true(replaced > 0);
}

static void test_all_spill(void **state)
{
    char first[512], point[512];

    (void)state;
    plan_point(NULL, NULL, first);
    plan_point(NULL, "#define", point);
    assert_string_equal(point, first);
}

/* The cubins of both are kept, with what they spill: a program without a compiler has the same
 * plan.
 */
static void test_it_is_remembered(void **state)
{
    char first[512], define[80], point[512], again[512], *end;

    plan_point(NULL, NULL, first);
    for (char *word = first; word; word = end ? end + 1 : NULL) {
        end = strchr(word, ',');
        snprintf(define, sizeof(define), "#define %.*s\n", end ? (int)(end - word) : 60, word);
        *strchr(define, '=') = ' ';
        plan_point(*state, define, point);
        if (strcmp(point, first) != 0)
            break;
        assert_int_equal(tear_down(state), 0); /* the cubin says what it spilled then */
        assert_int_equal(set_up(state), 0);
    }
    assert_string_not_equal(point, first);
    setenv("GEMMTUNE_LIBNVRTC", "/nonexistent", 1);
    plan_point(*state, NULL, again);
    assert_string_equal(again, point);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_next_takes_its_place),
        TEST(test_all_spill),
        TEST(test_it_is_remembered),
    };

    return cmocka_run_group_tests_name("plan_spills", tests, NULL, NULL);
}
