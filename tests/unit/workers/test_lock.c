/* test_lock.c - tests that two tuners never use a GPU at once, and that a dead one releases it. */
#include "gemmtune.h"
#include "workers/process.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
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
    setenv("GEMMTUNE_LOCKS", folder, 1);
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

/* Whether a process in another session finds the GPU in use.  It runs as `uid` if this process may
 * change its user. */
static bool busy_elsewhere(const char *uuid, uid_t uid)
{
    pid_t pid = fork();
    int status = 0, fd;

    if (pid == 0) {
        setenv("XDG_RUNTIME_DIR", "/nonexistent", 1);
        setenv("TMPDIR", "/nonexistent", 1);
        umask(0077);
        if (!geteuid() && setresuid(uid, uid, uid))
            _exit(1);
        _exit(gt_lock_take(&fd, uuid, NULL) == GT_EBUSY ? 0 : 1);
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* A user's shell, the same user's cron job and another user exclude each other. */
static void one_place_for_everybody(void **state)
{
    char uuid[64];
    int fd = -1;

    (void)state;
    snprintf(uuid, sizeof(uuid), "GPU-lock-test-%ld", (long)getpid());
    unsetenv("GEMMTUNE_LOCKS");
    setenv("XDG_RUNTIME_DIR", *state, 1);
    umask(0077); /* others must be able to open the file all the same */
    assert_int_equal(gt_lock_take(&fd, uuid, NULL), GT_OK);
    assert_true(busy_elsewhere(uuid, geteuid()));
    assert_true(busy_elsewhere(uuid, 65534));
    gt_lock_release(fd);
    unsetenv("XDG_RUNTIME_DIR");
    for (size_t i = 0; i < 2; i++) {
        char path[128];

        snprintf(path, sizeof(path), "%s/gemmtune-%s.lock", i ? "/tmp" : "/run/lock", uuid);
        unlink(path);
    }
}

/* A lock whose file was removed excludes nobody, because the next tuner locks a new file. */
static void a_file_that_was_removed_locks_again(void **state)
{
    int first = -1, second = -1, third = -1;
    char path[160];

    snprintf(path, sizeof(path), "%s/gemmtune-" GPU ".lock", (char *)*state);
    assert_int_equal(gt_lock_take(&first, GPU, NULL), GT_OK);
    gt_lock_release(first);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(gt_lock_take(&second, GPU, NULL), GT_OK);
    assert_int_equal(gt_lock_take(&third, GPU, NULL), GT_EBUSY);
    gt_lock_release(second);
}

/* The error names the reason why a file cannot be opened; root can open any. */
static void a_lock_that_is_closed_says_so(void **state)
{
    struct gt_err err = {0};
    char path[160];
    int status = 0, fd;
    pid_t pid;

    snprintf(path, sizeof(path), "%s/gemmtune-" GPU ".lock", (char *)*state);
    fd = creat(path, 0);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(chmod(*state, 0755), 0);
    pid = fork();
    if (pid == 0) {
        if (!geteuid() && setresuid(65534, 65534, 65534))
            _exit(2);
        _exit(gt_lock_take(&fd, GPU, &err) != GT_EIO || !strstr(err.msg, path) ||
              !strstr(err.msg, strerror(EACCES)) || !strstr(err.msg, "GEMMTUNE_LOCKS"));
    }
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* All users may write to the folder, so anything may be under the file's name; it is never written
 * to. */
static void what_is_no_lock_file_is_refused(void **state)
{
    const char *victim = "/dev/null";
    struct gt_err err = {0};
    char path[160], other[160], text[8] = "";
    FILE *file;
    int fd = -1;

    snprintf(path, sizeof(path), "%s/gemmtune-" GPU ".lock", (char *)*state);
    snprintf(other, sizeof(other), "%s/other", (char *)*state);
    assert_int_equal(symlink(victim, path), 0);
    assert_int_equal(gt_lock_take(&fd, GPU, &err), GT_EIO);
    assert_non_null(strstr(err.msg, path));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0666), 0); /* must not wait for a writer */
    assert_int_equal(gt_lock_take(&fd, GPU, &err), GT_EIO);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0777), 0);
    assert_int_equal(gt_lock_take(&fd, GPU, &err), GT_EIO);
    assert_int_equal(rmdir(path), 0);
    file = fopen(other, "w");
    assert_non_null(file);
    assert_true(fputs("theirs", file) >= 0 && fclose(file) == 0);
    assert_int_equal(link(other, path), 0); /* another file by a second name */
    assert_int_equal(gt_lock_take(&fd, GPU, &err), GT_EIO);
    file = fopen(other, "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof(text), file));
    fclose(file);
    assert_string_equal(text, "theirs");
    assert_int_equal(gt_lock_take(&fd, "../escape", &err), GT_ERANGE);
    assert_int_equal(gt_lock_take(&fd, "", &err), GT_ERANGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_at_a_time, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(killed_holders_let_go, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(one_place_for_everybody, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_file_that_was_removed_locks_again, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(a_lock_that_is_closed_says_so, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_is_no_lock_file_is_refused, make_folder,
                                        remove_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
