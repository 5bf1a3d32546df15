/* test_lock.c - two tuners never share a GPU, and a dead one does not keep it. */
#include "../../src/gemmtune.h"
#include "../../tuner/lock.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define GPU "GPU-00000000-test"

static int make_folder(void **state)
{
    char *folder = strdup("/tmp/gemmtune-lock-XXXXXX");

    assert_non_null(mkdtemp(folder));
    setenv("XDG_RUNTIME_DIR", folder, 1);
    *state = folder;
    return 0;
}

static int remove_folder(void **state)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -rf '%s'", (char *)*state);
    free(*state);
    return system(command);
}

static void one_at_a_time(void **state)
{
    struct gt_err err = {0};
    char pid[32];
    int first = -1, second = -1, other = -1;

    (void)state;
    snprintf(pid, sizeof(pid), "process %ld", (long)getpid());
    assert_int_equal(gt_lock_take(&first, GPU, &err), GT_OK);
    assert_int_equal(gt_lock_take(&second, GPU, &err), GT_EBUSY);
    assert_non_null(strstr(err.msg, GPU));
    assert_non_null(strstr(err.msg, pid));
    assert_int_equal(gt_lock_take(&other, "GPU-11111111-test", &err), GT_OK);
    gt_lock_release(first);
    assert_int_equal(gt_lock_take(&second, GPU, &err), GT_OK);
    gt_lock_release(second);
    gt_lock_release(other);
    gt_lock_release(-1);
}

static void killed_holders_let_go(void **state)
{
    int ready[2], fd = -1;
    char byte;
    pid_t pid;

    (void)state;
    assert_int_equal(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        if (gt_lock_take(&fd, GPU, NULL) || write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(gt_lock_take(&fd, GPU, NULL), GT_EBUSY);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_int_equal(gt_lock_take(&fd, GPU, NULL), GT_OK);
    gt_lock_release(fd);
    close(ready[0]);
    close(ready[1]);
}

/* A folder that others may write to could be theirs. */
static void foreign_folders_are_refused(void **state)
{
    struct gt_err err = {0};
    char path[128];
    int fd = -1;

    snprintf(path, sizeof(path), "%s/gemmtune", (char *)*state);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chmod(path, 0777), 0);
    assert_int_equal(gt_lock_take(&fd, GPU, &err), GT_EIO);
    assert_non_null(strstr(err.msg, path));
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(symlink("/tmp", path), 0);
    assert_int_equal(gt_lock_take(&fd, GPU, &err), GT_EIO);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(gt_lock_take(&fd, "../escape", &err), GT_ERANGE);
    assert_int_equal(gt_lock_take(&fd, "", &err), GT_ERANGE);
    setenv("XDG_RUNTIME_DIR", "/nonexistent", 1); /* a shell that lost its session */
    if (gt_lock_take(&fd, GPU, &err))
        fail_msg("%s", err.msg);
    gt_lock_release(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_at_a_time, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(killed_holders_let_go, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(foreign_folders_are_refused, make_folder, remove_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
