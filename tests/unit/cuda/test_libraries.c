/* test_libraries.c - where a CUDA library is found, and that those of other users are passed over.
 * The library looked for is a stub of the driver under another name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cuda/libraries.h"
#include "gemmtune.h"

#define NAME "libgemmtune-planted.so.1"

static const char *const names[] = {NAME, NULL};
static const struct gt_library planted = {"planted library", "GEMMTUNE_PLANTED", names,
                                          "this is a test", .in_toolkit = true};

struct fixture {
    char root[64], folder[PATH_MAX], file[PATH_MAX + 32];
};

static void run(const char *format, const char *one, const char *two)
{
    char command[2 * PATH_MAX + 64];

    snprintf(command, sizeof(command), format, one, two);
    assert_int_equal(system(command), 0);
}

/* Puts the library into the folder below the root. */
static void plant(struct fixture *f, const char *below)
{
    const char *build = getenv("BUILD");
    char stub[PATH_MAX];

    snprintf(stub, sizeof(stub), "%s/stub/libnvidia-ml.so.1", build ? build : "build");
    snprintf(f->folder, sizeof(f->folder), "%s/%s", f->root, below);
    snprintf(f->file, sizeof(f->file), "%s/" NAME, f->folder);
    run("umask 022; mkdir -p '%s'%s", f->folder, "");
    run("cp '%s' '%s'", stub, f->file);
    assert_int_equal(chmod(f->file, 0755), 0);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    *state = f;
    if (!f)
        return 1;
    strcpy(f->root, "/tmp/gemmtune-libraries-XXXXXX");
    unsetenv("VIRTUAL_ENV");
    unsetenv("CONDA_PREFIX");
    unsetenv("CUDA_PATH");
    unsetenv("CUDA_HOME");
    unsetenv("GEMMTUNE_PLANTED");
    setenv("HOME", "/nonexistent", 1);
    setenv("PATH", "/usr/bin:/bin", 1);
    return !mkdtemp(f->root);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    run("rm -rf '%s'%s", f->root, "");
    free(f);
    return 0;
}

/* Found where it lies; not once everybody may write there; not if it is another user's. */
static void check_found(const struct fixture *f, bool believed)
{
    struct gt_err err = {0};
    void *handle;

    if (gt_library_open(&handle, &planted, &err))
        fail_msg("%s: %s", f->file, err.msg);
    assert_string_equal(gt_library_file(handle), f->file);
    if (believed)
        return;
    assert_int_equal(chmod(f->folder, 0777), 0);
    assert_int_equal(gt_library_open(&handle, &planted, &err), GT_ENOLIB);
    assert_non_null(strstr(err.msg, "(not used: "));
    assert_non_null(strstr(err.msg, "mode 0777"));
    assert_int_equal(chmod(f->folder, 0755), 0);
    if (geteuid() != 0)
        return;
    assert_int_equal(chown(f->file, 65534, 65534), 0);
    assert_int_equal(gt_library_open(&handle, &planted, &err), GT_ENOLIB);
    assert_non_null(strstr(err.msg, "uid 65534"));
}

static void test_not_there(void **state)
{
    struct gt_err err = {0};
    void *handle;

    (void)state;
    assert_int_equal(gt_library_open(&handle, &planted, &err), GT_ENOLIB);
    assert_null(handle);
    assert_non_null(strstr(err.msg, "planted library not found: tried " NAME));
    assert_non_null(strstr(err.msg, "this is a test, or set GEMMTUNE_PLANTED to its path"));
    assert_string_equal(gt_library_file(NULL), "");
}

static void test_named(void **state)
{
    struct fixture *f = *state;

    plant(f, "anywhere");
    setenv("GEMMTUNE_PLANTED", f->file, 1);
    check_found(f, true);
    setenv("GEMMTUNE_PLANTED", f->folder, 1);
    check_found(f, true);
}

static void test_toolkits(void **state)
{
    struct fixture *f = *state;

    plant(f, "cuda/lib64");
    *strrchr(f->folder, '/') = '\0';
    setenv("CUDA_HOME", f->folder, 1);
    check_found(f, true);
    unsetenv("CUDA_HOME");
    plant(f, "other cuda/lib64");
    *strrchr(f->folder, '/') = '\0';
    setenv("CUDA_PATH", f->folder, 1);
    check_found(f, false);
}

static void test_virtual_environment(void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/my [venv]", f->root);
    plant(f, "my [venv]/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib");
    setenv("VIRTUAL_ENV", path, 1);
    check_found(f, false);
}

static void test_conda(void **state)
{
    struct fixture *f = *state;

    plant(f, "conda/lib");
    *strrchr(f->folder, '/') = '\0';
    setenv("CONDA_PREFIX", f->folder, 1);
    plant(f, "conda/lib");
    check_found(f, false);
}

/* Nothing is asked: python3 only has to lie on the path. */
static void test_python_on_path(void **state)
{
    struct fixture *f = *state;
    char path[PATH_MAX];

    plant(f, "venv/bin");
    snprintf(path, sizeof(path), "%s/python3", f->folder);
    assert_int_equal(symlink("/bin/sh", path), 0);
    snprintf(path, sizeof(path), "relative:/nonexistent:%s:/usr/bin:/bin", f->folder);
    setenv("PATH", path, 1);
    plant(f, "venv/lib/python3.9/site-packages/nvidia/cu13/lib");
    check_found(f, false);
}

static void test_users_packages(void **state)
{
    struct fixture *f = *state;

    setenv("HOME", f->root, 1);
    plant(f, ".local/lib/python3.12/site-packages/nvidia/cublas/lib");
    check_found(f, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_not_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_toolkits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_virtual_environment, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_conda, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_python_on_path, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_users_packages, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("libraries", tests, NULL, NULL);
}
