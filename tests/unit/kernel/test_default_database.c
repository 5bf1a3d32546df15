/* test_default_database.c - which database is used where none is named, and whose it may be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/err.h"
#include "kernel/kernel.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int set_up(void **state)
{
    char folder[64];

    snprintf(folder, sizeof(folder), "%s/gt-default-XXXXXX",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    assert_non_null(mkdtemp(folder));
    *state = strdup(folder);
    unsetenv("GEMMTUNE_DB");
    unsetenv("XDG_DATA_HOME");
    setenv("HOME", folder, 1);
    return *state ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -rf '%s'", (char *)*state);
    free(*state);
    return system(command) == 0 ? 0 : -1;
}

/* The default is this file of the folder. */
static void expect(const char *folder, const char *name, bool create)
{
    char wanted[256], *path = NULL;
    struct gt_err err;

    snprintf(wanted, sizeof(wanted), "%s%s", folder, name);
    if (gt_default_database(&path, create, &err))
        fail_msg("%s", err.msg);
    assert_string_equal(path, wanted);
    free(path);
}

static void test_order_of_the_variables(void **state)
{
    const char *folder = *state;

    expect(folder, "/.local/share/gemmtune/gemmtune.db", false);
    setenv("XDG_DATA_HOME", "data", 1); /* a relative one does not count */
    expect(folder, "/.local/share/gemmtune/gemmtune.db", false);
    setenv("XDG_DATA_HOME", "/data", 1);
    expect("", "/data/gemmtune/gemmtune.db", false);
    setenv("GEMMTUNE_DB", "own.db", 1);
    expect("", "own.db", false);
}

static void test_nowhere(void **state)
{
    struct gt_err err = {0};
    char *path;

    (void)state;
    unsetenv("HOME");
    assert_int_equal(gt_default_database(&path, false, &err), GT_ENOTFOUND);
    assert_null(path);
    assert_non_null(strstr(err.msg, "GEMMTUNE_DB"));
}

static void test_folders_are_made_for_this_user(void **state)
{
    const char *folder = *state;
    struct gt_err err = {0};
    struct stat status;
    char path[256], *made;

    snprintf(path, sizeof(path), "%s/.local/share/gemmtune", folder);
    expect(folder, "/.local/share/gemmtune/gemmtune.db", false);
    assert_int_not_equal(stat(path, &status), 0);
    expect(folder, "/.local/share/gemmtune/gemmtune.db", true);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    setenv("XDG_DATA_HOME", "/proc/no", 1);
    assert_int_equal(gt_default_database(&made, true, &err), GT_EDB);
    assert_non_null(strstr(err.msg, "/proc/no"));
    snprintf(path, sizeof(path), "%s/named/x.db", folder); /* a slip in a name makes no folder */
    setenv("GEMMTUNE_DB", path, 1);
    expect(path, "", true);
    *strrchr(path, '/') = '\0';
    assert_int_not_equal(stat(path, &status), 0);
}

/* A file of the folder, named as the default. */
static void make_file(const char *folder, char path[256])
{
    int file;

    snprintf(path, 256, "%s/x.db", folder);
    setenv("GEMMTUNE_DB", path, 1);
    file = open(path, O_WRONLY | O_CREAT, 0644);
    assert_true(file >= 0);
    close(file);
}

static void test_a_file_that_others_may_write_is_refused(void **state)
{
    struct gt_err err = {0};
    char path[256], *found;

    make_file(*state, path);
    expect(path, "", false);
    assert_int_equal(chmod(path, 0664), 0);
    assert_int_equal(gt_default_database(&found, false, &err), GT_EDB);
    assert_null(found);
    assert_non_null(strstr(err.msg, path));
}

static void test_a_file_of_another_user_is_refused(void **state)
{
    struct gt_err err = {0};
    char path[256], *found;

    make_file(*state, path);
    if (chown(path, 12345, 12345) != 0) {
        print_message("only root can give a file away\n");
        skip();
    }
    assert_int_equal(gt_default_database(&found, false, &err), GT_EDB);
    assert_non_null(strstr(err.msg, "another user (id 12345)"));
    assert_non_null(strstr(err.msg, "--db"));
    assert_null(strstr(err.msg, "GEMMTUNE_DB")); /* which is set, and names this file */
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_order_of_the_variables),
        TEST(test_nowhere),
        TEST(test_folders_are_made_for_this_user),
        TEST(test_a_file_that_others_may_write_is_refused),
        TEST(test_a_file_of_another_user_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
