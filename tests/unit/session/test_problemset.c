/* test_problemset.c - lists of problems from JSON and from plain text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "session/problemset.h"

/* Loads a set from a temporary file that holds text[0..length). */
static int load_bytes(struct gt_problemset *set, const char *text, size_t length,
                      struct gt_err *err)
{
    char path[] = "/tmp/gt_problemset_XXXXXX";
    int fd = mkstemp(path), rc;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, length), length);
    close(fd);
    rc = gt_problemset_load(set, path, err);
    unlink(path);
    return rc;
}

static void test_json(void **state)
{
    const char *text = "{\"set\": \"s\", \"doc\": \"d\", \"problems\": [\"1x2x3\","
                       "{\"name\": \"n\", \"problem\": \"4x5x6:tt\", \"weight\": 2.5}]}";
    struct gt_problemset set;

    (void)state;
    assert_int_equal(load_bytes(&set, text, strlen(text), NULL), GT_OK);
    assert_string_equal(set.name, "s");
    assert_string_equal(set.doc, "d");
    assert_int_equal(set.count, 2);
    assert_null(set.entry[0].name);
    assert_string_equal(set.entry[0].text, "1x2x3");
    assert_true(set.entry[0].weight == 1);
    assert_string_equal(set.entry[1].name, "n");
    assert_int_equal(set.entry[1].problem.trans_a, 1);
    assert_true(set.entry[1].weight == 2.5);
    gt_problemset_release(&set);
    gt_problemset_release(&set);
}

static void test_bare_list(void **state)
{
    const char *text =
        "\xef\xbb\xbf\n [{\"problem\": \"4x5x6:f32:nn\", \"weight\": 3e15}, \"1x2x3\"]\n";
    struct gt_problemset set;

    (void)state;
    assert_int_equal(load_bytes(&set, text, strlen(text), NULL), GT_OK);
    assert_int_equal(set.count, 2);
    assert_true(set.entry[0].problem.m == 4 && set.entry[0].weight == 3e15);
    assert_true(set.entry[1].problem.m == 1 && set.entry[1].weight == 1);
    gt_problemset_release(&set);
}

static void test_counts_and_weights(void **state)
{
    static const char *const wrong[][2] = {
        {"1x2x3 many", "'many' behind"},        {"1x2x3 times=3", "'times=3' behind"},
        {"1x2x3 count=", "not a whole number"}, {"1x2x3 count=1.5", "not a whole number"},
        {"1x2x3 weight=-1", "not a number"},    {"1x2x3 weight=nan", "not a number"}};
    const char *text = "1x2x3 count=7 weight=2.5\n4x5x6\tweight=0.5  count=3 # r\n7x8x9 count=4";
    struct gt_problemset set;
    struct gt_err err;

    (void)state;
    assert_int_equal(load_bytes(&set, text, strlen(text), NULL), GT_OK);
    assert_int_equal(set.count, 3);
    assert_string_equal(set.entry[0].text, "1x2x3");
    assert_true(set.entry[0].count == 7 && set.entry[0].weight == 2.5);
    assert_true(set.entry[1].count == 3 && set.entry[1].weight == 0.5);
    assert_true(set.entry[2].count == 4 && set.entry[2].weight == 4);
    gt_problemset_release(&set);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_not_equal(load_bytes(&set, wrong[i][0], strlen(wrong[i][0]), &err), GT_OK);
        if (!strstr(err.msg, wrong[i][1]) || !strstr(err.msg, "line 1"))
            fail_msg("%s", err.msg);
    }
}

static void test_ranges(void **state)
{
    static const char *const of_text[] = {"1x64x8:f16:nt", "1x64x16:f16:nt", "1x64x24:f16:nt",
                                          "4x64x8:f16:nt", "4x64x16:f16:nt", "4x64x24:f16:nt",
                                          "5x5x1",         "5x5x3",          "5x5x9"};
    static const char *const wrong[][2] = {
        {"1:8x2x3", "\"1:8\" is no range of sizes: write START:STOP:STEP"},
        {"1:8:0x2x3", "no range"},
        {"8:1:1x2x3", "from a smaller size to a larger"},
        {"0:8:x2x2x3", "no range"},
        {"1:8:x1x2x3", "factor of 2 or more"},
        {"1,x2x3", "\"\" is not a size"},
        {"1,2x-3x4", "\"-3\" is not a size"},
        {"1,2x3x4,", "is not a size"},
        {"1,2x3yx4", "is not a size"},
        {"1,2x3x4k", "\"k\" follows the sizes"},
        {"1,99999999999x2x3", "\"99999999999\" is outside the allowed sizes"},
        {"1:1000000:1x2x3", "one size has more than 10000 values"},
        {"1:101:1x1:100:1x1", "stands for 10100 problems; at most 10000 are allowed"},
        {"1,2x3x4:fp17", "\"fp17\" is neither"}};
    const char *text = "1,4x64x8:24:8:f16:nt weight=3 count=2\n5x5x1:10:x3\n";
    const char *json =
        "{\"problems\": [{\"name\": \"n\", \"problem\": \"1,2x3x4\", \"weight\": 5}]}";
    struct gt_problemset set;
    struct gt_err err;

    (void)state;
    assert_int_equal(load_bytes(&set, text, strlen(text), NULL), GT_OK);
    assert_int_equal(set.count, 9);
    for (size_t i = 0; i < set.count; i++) {
        assert_string_equal(set.entry[i].text, of_text[i]);
        assert_true(set.entry[i].weight == (i < 6 ? 3 : 1));
        assert_true(set.entry[i].count == (i < 6 ? 2 : 0));
    }
    gt_problemset_release(&set);
    assert_int_equal(load_bytes(&set, json, strlen(json), NULL), GT_OK);
    assert_int_equal(set.count, 2);
    assert_string_equal(set.entry[1].name, "n");
    assert_true(set.entry[1].weight == 5 && set.entry[1].problem.m == 2);
    gt_problemset_release(&set);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_not_equal(load_bytes(&set, wrong[i][0], strlen(wrong[i][0]), &err), GT_OK);
        if (!strstr(err.msg, wrong[i][1]) || !strstr(err.msg, "line 1"))
            fail_msg("%s: %s", wrong[i][0], err.msg);
    }
}

static void test_lines(void **state)
{
    const char *text = "# a list\n\n  1x2x3:f32:nt  # first\r\n\t4x5x6\n7x8x9";
    struct gt_problemset set;

    (void)state;
    assert_int_equal(load_bytes(&set, text, strlen(text), NULL), GT_OK);
    assert_int_equal(set.count, 3);
    assert_string_equal(set.entry[0].text, "1x2x3:f32:nt");
    assert_string_equal(set.entry[1].text, "4x5x6");
    assert_int_equal(set.entry[2].problem.k, 9);
    gt_problemset_release(&set);
}

/* Some editors begin a file with the mark of UTF-8. */
static void test_byte_order_mark(void **state)
{
    static const char *const text[] = {"\xef\xbb\xbf"
                                       "1x2x3\r\n",
                                       "\xef\xbb\xbf{\"problems\": [\"1x2x3\"]}"};
    struct gt_problemset set;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(load_bytes(&set, text[i], strlen(text[i]), NULL), GT_OK);
        assert_int_equal(set.count, 1);
        assert_string_equal(set.entry[0].text, "1x2x3");
        gt_problemset_release(&set);
    }
}

static void test_refused(void **state)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"", "no problem in it"},
        {"# nothing\n", "no problem in it"},
        {"{\"problems\": []}", "no problem in it"},
        {"{}", "key \"problems\" is missing"},
        {"{\"problems\": 3}", "\"problems\" must be a list"},
        {"[]", "no problem in it"},
        {" [3]", "problems[0] must be a problem text"},
        {"[\n\"1x1x1\"", "line 2: malformed JSON"},
        {"[\"1x1x1\"] 3", "malformed JSON"},
        {"{\"problems\": [3]}", "problems[0] must be a problem text"},
        {"{\"problems\": [\"1x2\"]}", "problems[0]: problem \"1x2\""},
        {"{\"problems\": [{\"name\": \"n\"}]}", "problems[0]: key \"problem\" is missing"},
        {"{\"problems\": [{\"problem\": \"1x1x1\", \"wait\": 1}]}", "unknown key \"wait\""},
        {"{\"problems\": [{\"problem\": \"1x1x1\", \"weight\": -1}]}", "\"weight\" is -1"},
        {"{\"problem\": []}", "unknown key \"problem\" (did you mean \"problems\"?)"},
        {"{\"set\": 1, \"problems\": [\"1x1x1\"]}", "\"set\" must be a string"},
        {"{\n\"problems\": [\n}", "line 3: malformed JSON"},
        {"1x2x3\n\n1x2\n", "line 3: problem \"1x2\""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct gt_problemset set;
        struct gt_err err = {0};

        assert_true(load_bytes(&set, cases[i].text, strlen(cases[i].text), &err) < 0);
        assert_null(set.entry);
        if (!strstr(err.msg, cases[i].words))
            fail_msg("\"%s\" lacks \"%s\"", err.msg, cases[i].words);
    }
}

static void test_unreadable(void **state)
{
    struct gt_problemset set;
    struct gt_err err = {0};

    (void)state;
    assert_int_equal(gt_problemset_load(&set, "/nonexistent/x.json", &err), GT_EIO);
    assert_non_null(strstr(err.msg, "/nonexistent/x.json"));
    assert_int_equal(load_bytes(&set, "1x2x3\0", 7, &err), GT_ECONFIG);
    assert_non_null(strstr(err.msg, "NUL byte"));
    assert_int_equal(load_bytes(&set, "{\"a\": 1\0}", 9, &err), GT_ECONFIG);
    assert_non_null(strstr(err.msg, "NUL byte"));
}

/* The shipped set: 19 FP32 shapes, three other layouts of four of them, two batched problems. */
static void test_bench(void **state)
{
    struct gt_problemset set;
    struct gt_err err = {0};
    int layouts[4] = {0}, batched = 0;

    (void)state;
    if (gt_problemset_load(&set, "configs/problems/bench.json", &err))
        fail_msg("%s", err.msg);
    for (size_t i = 0; i < set.count; i++) {
        const struct gt_problem *problem = &set.entry[i].problem;
        char text[GT_PROBLEM_TEXT_MAX];

        gt_problem_format(problem, text);
        assert_string_equal(text, set.entry[i].text);
        if (problem->batch > 1)
            batched++;
        else
            layouts[problem->trans_a * 2 + problem->trans_b]++;
    }
    assert_int_equal(batched, 2);
    assert_int_equal(layouts[0], 19);
    for (int i = 1; i < 4; i++)
        assert_int_equal(layouts[i], 4);
    gt_problemset_release(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),      cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_lines),     cmocka_unit_test(test_byte_order_mark),
        cmocka_unit_test(test_bare_list), cmocka_unit_test(test_counts_and_weights),
        cmocka_unit_test(test_refused),   cmocka_unit_test(test_unreadable),
        cmocka_unit_test(test_bench),
    };

    return cmocka_run_group_tests_name("problemset", tests, NULL, NULL);
}
