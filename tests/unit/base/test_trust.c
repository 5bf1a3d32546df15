/* test_trust.c - whose files may be believed: owners, modes, links, folders like /tmp. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/place.h"
#include "base/trust.h"
#include "gemmtune.h"

#define SOMEBODY 65534

struct fixture {
    char root[64], folder[80], file[96], link[80];
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    FILE *file;

    *state = f;
    if (!f)
        return 1;
    strcpy(f->root, "/tmp/gemmtune-trust-XXXXXX");
    if (!mkdtemp(f->root))
        return 1;
    snprintf(f->folder, sizeof(f->folder), "%s/folder", f->root);
    snprintf(f->file, sizeof(f->file), "%s/file", f->folder);
    snprintf(f->link, sizeof(f->link), "%s/link", f->root);
    if (mkdir(f->folder, 0755) || symlink(f->folder, f->link))
        return 1;
    file = fopen(f->file, "w");
    return !file || fclose(file) || chmod(f->file, 0644);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    int rc = unlink(f->file) | rmdir(f->folder) | unlink(f->link) | rmdir(f->root);

    free(f);
    return rc;
}

static int trust(const char *path, struct gt_err *err)
{
    char real[PATH_MAX];

    return gt_trust(path, geteuid(), real, err);
}

/* /tmp itself lets everybody write, which is of no consequence for what others own there. */
static void test_own_files(void **state)
{
    const struct fixture *f = *state;
    char path[128], real[PATH_MAX];
    struct gt_err err = {0};

    assert_int_equal(trust(f->file, &err), GT_OK);
    snprintf(path, sizeof(path), "%s/file", f->link);
    assert_int_equal(gt_trust(path, geteuid(), real, &err), GT_OK);
    assert_string_equal(real, f->file);
    assert_int_equal(trust("/nonexistent", &err), GT_ENOTFOUND);
    assert_int_equal(trust("/usr", &err), GT_OK);
}

static void test_modes(void **state)
{
    const struct fixture *f = *state;
    struct gt_err err = {0};

    assert_int_equal(chmod(f->file, 0666), 0);
    assert_int_equal(trust(f->file, &err), GT_EIO);
    assert_non_null(strstr(err.msg, f->file));
    assert_non_null(strstr(err.msg, "mode 0666"));
    assert_int_equal(chmod(f->file, 0644), 0);
    assert_int_equal(chmod(f->folder, 0757), 0);
    assert_int_equal(trust(f->file, &err), GT_EIO);
    assert_int_equal(chmod(f->folder, 01777), 0);
    assert_int_equal(trust(f->file, &err), GT_OK);    /* others cannot rename what is ours */
    assert_int_equal(trust(f->folder, &err), GT_EIO); /* but they can put their own beside it */
    assert_int_equal(chmod(f->folder, 0755), 0);
}

static void test_groups(void **state)
{
    const struct fixture *f = *state;
    struct stat status;

    assert_int_equal(chmod(f->folder, 0775), 0);
    assert_int_equal(stat(f->folder, &status), 0);
    if (status.st_uid != 0 && status.st_gid == status.st_uid)
        assert_int_equal(trust(f->file, NULL), GT_OK); /* the group that useradd made for us */
    else
        assert_int_equal(trust(f->file, NULL), GT_EIO);
    assert_int_equal(chmod(f->folder, 0755), 0);
}

static void test_owners(void **state)
{
    const struct fixture *f = *state;
    char real[PATH_MAX];
    struct gt_err err = {0};

    if (geteuid() != 0) {
        print_message("only root can give a file to another user\n");
        skip();
    }
    assert_int_equal(chown(f->file, SOMEBODY, SOMEBODY), 0);
    assert_int_equal(trust(f->file, &err), GT_EIO);
    assert_non_null(strstr(err.msg, "uid 65534"));
    assert_int_equal(gt_trust(f->file, SOMEBODY, real, &err), GT_OK);
    assert_int_equal(chown(f->file, 0, 0), 0);
    assert_int_equal(chown(f->folder, SOMEBODY, SOMEBODY), 0);
    assert_int_equal(trust(f->file, &err), GT_EIO);
    assert_int_equal(chmod(f->folder, 0775), 0); /* the group of its owner */
    assert_int_equal(gt_trust(f->file, SOMEBODY, real, &err), GT_OK);
    assert_int_equal(chown(f->folder, 0, 0), 0);
    assert_int_equal(chmod(f->folder, 0755), 0);
}

/* This program lies in the build tree. */
static void test_place(void **state)
{
    char *here = realpath(".", NULL), folder[PATH_MAX], tree[PATH_MAX];
    uid_t owner;

    (void)state;
    assert_true(gt_code_folder(folder, &owner));
    assert_true(gt_build_tree(tree));
    assert_string_equal(tree, here);
    assert_memory_equal(folder, here, strlen(here));
    free(here);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_own_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_modes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_groups, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_owners, set_up, tear_down),
        cmocka_unit_test(test_place),
    };

    return cmocka_run_group_tests_name("trust", tests, NULL, NULL);
}
