/* test_processors.c - tests that a container's limit of processors is read, in both versions of
 * control groups. */
#include "workers/processors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static int make_folder(void **state)
{
    char *folder = strdup("/tmp/gemmtune-processors-XXXXXX");

    *state = folder;
    return folder && mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -rf '%s'", (char *)*state);
    free(*state);
    return system(command);
}

/* Makes the file root/name, its folders too. */
static void put(const char *root, const char *name, const char *text)
{
    char path[256];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", root, name);
    for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        mkdir(path, 0700);
        *at = '/';
    }
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static double quota(const char *root, const char *groups)
{
    char path[256];

    put(root, "groups", groups);
    snprintf(path, sizeof(path), "%s/groups", root);
    return gt_processors_quota(path, root);
}

static void the_tightest_group_counts(void **state)
{
    put(*state, "a/cpu.max", "250000 100000\n");
    put(*state, "a/b/cpu.max", "max 100000\n");
    put(*state, "a/b/c/cpu.max", "400000 100000\n");
    assert_float_equal(quota(*state, "0::/a/b/c\n"), 2.5, 1e-9);
    assert_float_equal(quota(*state, "0::/a/b/gone/deeper\n"), 2.5, 1e-9);
    put(*state, "a/b/c/cpu.max", "50000 100000\n");
    assert_float_equal(quota(*state, "0::/a/b/c\n"), 0.5, 1e-9);
}

static void a_containers_root_counts(void **state)
{
    put(*state, "cpu.max", "1600000 100000\n");
    assert_float_equal(quota(*state, "0::/\n"), 16, 1e-9);
}

static void the_older_form_is_read(void **state)
{
    put(*state, "cpu,cpuacct/x/cpu.cfs_quota_us", "300000\n");
    put(*state, "cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
    put(*state, "cpuset/x/cpu.cfs_quota_us", "100000\n"); /* another controller's folder */
    put(*state, "cpuset/x/cpu.cfs_period_us", "100000\n");
    assert_float_equal(quota(*state, "5:cpuset:/x\n4:cpu,cpuacct:/x\n0::/\n"), 3, 1e-9);
    put(*state, "cpu,cpuacct/x/cpu.cfs_quota_us", "-1\n");
    assert_float_equal(quota(*state, "4:cpu,cpuacct:/x\n"), 0, 0);
}

static void no_limit_is_no_limit(void **state)
{
    put(*state, "cpu.max", "max 100000\n");
    assert_float_equal(quota(*state, "0::/\n"), 0, 0);
    assert_float_equal(quota(*state, "nonsense\n\n"), 0, 0);
    assert_float_equal(gt_processors_quota("/nonexistent", *state), 0, 0);
    assert_true(gt_processors() >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_tightest_group_counts, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_containers_root_counts, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(the_older_form_is_read, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(no_limit_is_no_limit, make_folder, remove_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
