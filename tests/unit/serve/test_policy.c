/* test_policy.c - settings of serving: from a file, from the environment, wrong ones; and the table
 * of them in tuner/SERVE.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "serve/policy.h"

static const char *const variables[] = {
#define VARIABLE(key, variable, values) variable,
    GT_POLICY_MAP(VARIABLE)
#undef VARIABLE
};

static int set_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
        unsetenv(variables[i]);
    unsetenv(GT_POLICY_FILE);
    unsetenv(GT_POLICY_FOLDER);
    return 0;
}

static void test_defaults(void **state)
{
    struct gt_policy policy;

    (void)state;
    assert_int_equal(gt_policy_read(&policy, NULL, NULL), GT_OK);
    assert_int_equal(policy.serve, GT_SERVE_TUNED);
    assert_int_equal(policy.accuracy, GT_ACCURACY_STRICT);
    assert_true(policy.margin == 1.03 && !policy.compile && !policy.wait && !policy.check);
    assert_false(policy.cublaslt);
    assert_true(!*policy.db && !*policy.report && !*policy.capture);
}

/* Who captures wants the program as it is, unless serving was asked for. */
static void test_capturing(void **state)
{
    struct gt_policy policy;

    (void)state;
    setenv("GEMMTUNE_CAPTURE", "c-%p.txt", 1);
    assert_int_equal(gt_policy_read(&policy, NULL, NULL), GT_OK);
    assert_int_equal(policy.serve, GT_SERVE_RECORD);
    assert_string_equal(policy.capture, "c-%p.txt");
    setenv("GEMMTUNE_SERVE", "1", 1);
    assert_int_equal(gt_policy_read(&policy, NULL, NULL), GT_OK);
    assert_int_equal(policy.serve, GT_SERVE_TUNED);
}

static void test_file(void **state)
{
    static const char text[] = "# mine\n\n db=/a b/c.db \naccuracy = tf32\nmargin=1.5 # much\n"
                               "serve = any\ncublaslt=1\ncompile=1\nwait=1\ncheck=1000\nreport=r";
    struct gt_policy policy;
    struct gt_err err;

    (void)state;
    assert_int_equal(gt_policy_read(&policy, NULL, NULL), GT_OK);
    assert_int_equal(gt_policy_parse(&policy, "p",
                                     "\xef\xbb\xbf"
                                     "margin=3\r\n",
                                     &err),
                     GT_OK);
    assert_true(policy.margin == 3);
    assert_int_equal(gt_policy_parse(&policy, "p", text, &err), GT_OK);
    assert_string_equal(policy.db, "/a b/c.db");
    assert_int_equal(policy.accuracy, GT_ACCURACY_TF32);
    assert_int_equal(policy.serve, GT_SERVE_ANY);
    assert_true(policy.cublaslt);
    assert_true(policy.margin == 1.5 && policy.compile && policy.wait && policy.check == 1000);
}

/* The environment comes after the file. */
static void test_order(void **state)
{
    char path[] = "/tmp/gt_policy_XXXXXX";
    int fd = mkstemp(path);
    struct gt_policy policy;
    struct gt_err err;

    (void)state;
    assert_int_equal(write(fd, "margin = 2\nwait = 1\n", 20), 20);
    close(fd);
    setenv(GT_POLICY_FILE, path, 1);
    setenv("GEMMTUNE_MARGIN", "3", 1);
    assert_int_equal(gt_policy_read(&policy, NULL, &err), GT_OK);
    assert_true(policy.margin == 3 && policy.wait);
    unlink(path);
    assert_int_equal(gt_policy_read(&policy, NULL, &err), GT_EIO);
    assert_non_null(strstr(err.msg, path));
}

static void test_wrong(void **state)
{
    static const struct {
        const char *text, *words;
        int code;
    } wrong[] = {
        {"maargin=1", "line 1: unknown key 'maargin' (did you mean 'margin'?)", GT_ENOTFOUND},
        {"\nmargin", "line 2: 'margin' should be key = value", GT_ESYNTAX},
        {"margin=-1", "margin is '-1', not a number from 0 to 100", GT_ERANGE},
        {"margin=nan", "not a number", GT_ERANGE},
        {"margin=1.0x", "not a number", GT_ERANGE},
        {"serve=yes", "serve is 'yes', not 0, 1 or any", GT_ERANGE},
        {"accuracy=low", "strict, f32 or tf32", GT_ERANGE},
        {"check=1.5", "whole number", GT_ERANGE},
        {"check=-1", "whole number", GT_ERANGE},
        {"wait=", "wait is '', not 0 or 1", GT_ERANGE},
    };
    char *path = NULL;
    struct gt_policy policy;
    struct gt_err err;

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(gt_policy_parse(&policy, "p", wrong[i].text, &err), wrong[i].code);
        if (!strstr(err.msg, wrong[i].words))
            fail_msg("%s", err.msg);
    }
    path = calloc(1, GT_POLICY_TEXT + 1);
    memset(path, 'x', GT_POLICY_TEXT);
    assert_int_equal(gt_policy_set(&policy, "db", path, &err), GT_ERANGE);
    path[GT_POLICY_TEXT - 1] = '\0';
    assert_int_equal(gt_policy_set(&policy, "db", path, &err), GT_OK);
    free(path);
    setenv("GEMMTUNE_CHECK", "often", 1);
    assert_int_equal(gt_policy_read(&policy, NULL, &err), GT_ERANGE);
    assert_non_null(strstr(err.msg, "GEMMTUNE_CHECK: check is 'often'"));
}

static void check_path(const struct gt_policy *policy, const char *path, const char *whole)
{
    char *found = gt_policy_path(policy, path);

    assert_string_equal(found, whole);
    free(found);
}

/* Relative paths are those of the folder in which the process began, or of the one that is named.
 */
static void test_folder(void **state)
{
    char parent[] = "/tmp/gt_policy_XXXXXX", path[64];
    struct gt_policy policy;
    FILE *file;

    (void)state;
    assert_non_null(mkdtemp(parent));
    snprintf(path, sizeof(path), "%s/p", parent);
    file = fopen(path, "w");
    assert_true(file && fputs("report = r%p\n", file) >= 0 && fclose(file) == 0);
    setenv(GT_POLICY_FILE, "p", 1);
    assert_int_equal(gt_policy_read(&policy, NULL, NULL), GT_EIO);
    check_path(&policy, "r", "r");
    assert_int_equal(gt_policy_read(&policy, parent, NULL), GT_OK);
    assert_string_equal(policy.report, "r%p");
    check_path(&policy, "p", path);
    check_path(&policy, "/p", "/p");
    check_path(&policy, "postgresql://h/d", "postgresql://h/d");
    setenv(GT_POLICY_FOLDER, parent, 1);
    assert_int_equal(gt_policy_read(&policy, "/tmp", NULL), GT_OK);
    check_path(&policy, "p", path);
    setenv(GT_POLICY_FOLDER, "relative", 1);
    assert_int_equal(gt_policy_read(&policy, parent, NULL), GT_OK);
    check_path(&policy, "p", path);
    unlink(path);
    rmdir(parent);
}

/* Each setting has a row of the page: key, variable and values. */
static void test_page(void **state)
{
    struct gt_strbuf page = GT_STRBUF_INIT;
    char row[256];

    (void)state;
    assert_int_equal(gt_strbuf_add_file(&page, "tuner/SERVE.md", NULL), GT_OK);
#define LOOK(key, variable, values)                                             \
    snprintf(row, sizeof(row), "| `%s` | `%s` | %s |", #key, variable, values); \
    if (!strstr(page.text, row))                                                \
        fail_msg("tuner/SERVE.md has no row '%s'", row);
    GT_POLICY_MAP(LOOK)
#undef LOOK
    gt_strbuf_release(&page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_defaults, set_up),
        cmocka_unit_test_setup(test_capturing, set_up),
        cmocka_unit_test_setup(test_file, set_up),
        cmocka_unit_test_setup(test_order, set_up),
        cmocka_unit_test_setup(test_wrong, set_up),
        cmocka_unit_test_setup(test_folder, set_up),
        cmocka_unit_test_setup(test_page, set_up),
    };

    return cmocka_run_group_tests_name("policy", tests, NULL, NULL);
}
