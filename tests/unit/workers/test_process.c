/* test_process.c - tests the start and the end of workers.  The test program is its own worker: it
 * starts itself again with a role. */
#include "base/err.h"
#include "workers/process.h"
#include "workers/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define ROLE_ECHO  "__test-echo"  /* answers each message; ends when the pipe does */
#define ROLE_DEAF  "__test-deaf"  /* ignores its pipe and every signal it can */
#define ROLE_CRASH "__test-crash" /* reads one message, then dies of it */
#define ROLE_PAIR  "__test-pair"  /* has a child of its own */

static int echo(void)
{
    struct gt_strbuf reply = GT_STRBUF_INIT;
    struct gt_wire wire;
    struct gt_wire_in in;
    int fd, open_fds = 0;

    gt_wire_init(&wire, GT_WORKER_FD);
    while (gt_wire_receive(&wire, &in, -1, NULL) == 1) {
        for (fd = GT_WORKER_FD + 1, open_fds = 0; fd < 256; fd++)
            open_fds += fcntl(fd, F_GETFD) != -1;
        gt_wire_begin(&reply, GT_MSG_DONE);
        gt_wire_put_int(&reply, getsid(0));
        gt_wire_put_int(&reply, open_fds);
        gt_wire_send(GT_WORKER_FD, &reply, 1000, NULL);
    }
    gt_strbuf_release(&reply);
    gt_wire_release(&wire);
    return GT_WORKER_DONE;
}

static void deaf(bool with_child)
{
    int signo;

    for (signo = 1; signo < 32; signo++)
        signal(signo, SIG_IGN);
    if (with_child && fork() == 0)
        prctl(PR_SET_PDEATHSIG, 0);
    for (;;)
        pause();
}

static int crash(void)
{
    char byte;

    if (read(GT_WORKER_FD, &byte, 1) != 1)
        return GT_WORKER_PROTOCOL;
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
    return GT_WORKER_DONE;
}

static void nap(int ms)
{
    const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1000000L};

    nanosleep(&time, NULL);
}

/* Whether pid is gone (or only waits to be reaped by somebody else) within a minute. */
static bool goes_away(pid_t pid)
{
    int i;

    for (i = 0; i < 6000; i++) {
        char path[64], line[256] = "";
        int fd;

        snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
        fd = open(path, O_RDONLY);
        if (fd < 0)
            return true;
        if (read(fd, line, sizeof(line) - 1) < 0 || strstr(line, ") Z"))
            line[0] = 'Z';
        close(fd);
        if (line[0] == 'Z')
            return true;
        nap(10);
    }
    return false;
}

static void a_worker_answers_and_ends(void **state)
{
    struct gt_strbuf frame = GT_STRBUF_INIT;
    struct gt_process process;
    struct gt_wire wire;
    struct gt_wire_in in;
    int status;

    (void)state;
    assert_int_equal(gt_process_start(&process, ROLE_ECHO, NULL), GT_OK);
    gt_wire_init(&wire, process.fd);
    gt_wire_begin(&frame, GT_MSG_HELLO);
    assert_int_equal(gt_wire_send(process.fd, &frame, 60000, NULL), GT_OK);
    assert_int_equal(gt_wire_receive(&wire, &in, 60000, NULL), 1);
    assert_int_equal(gt_wire_get_int(&in), process.pid); /* a session of its own */
    assert_int_equal(gt_wire_get_int(&in), 0);           /* and no descriptor but its pipe */
    assert_int_equal(gt_process_end(&process, 60000, &status, NULL), GT_OK);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(process.pid, 0);
    gt_wire_release(&wire);
    gt_strbuf_release(&frame);
}

static void a_deaf_worker_is_killed(void **state)
{
    struct gt_process process;
    char how[128];
    int status;

    (void)state;
    assert_int_equal(gt_process_start(&process, ROLE_DEAF, NULL), GT_OK);
    assert_int_equal(gt_process_end(&process, 20, &status, NULL), GT_OK);
    gt_process_describe(status, how, sizeof(how));
    assert_string_equal(how, "was killed by signal 9 (Killed)");
    assert_int_equal(gt_process_end(&process, 20, &status, NULL), GT_OK); /* nothing left */
}

static void a_crash_is_described(void **state)
{
    struct gt_process process;
    char how[128];
    int status;

    (void)state;
    assert_int_equal(gt_process_start(&process, ROLE_CRASH, NULL), GT_OK);
    assert_int_equal(write(process.fd, "x", 1), 1);
    assert_int_equal(gt_process_end(&process, 60000, &status, NULL), GT_OK);
    gt_process_describe(status, how, sizeof(how));
    assert_string_equal(how, "was killed by signal 11 (Segmentation fault)");
    gt_process_describe(GT_WORKER_POISONED << 8, how, sizeof(how));
    assert_string_equal(how, "exited with code 66 (sticky CUDA error)");
}

/* A supervisor that is killed without warning takes deaf workers with it. */
static void no_orphans(void **state)
{
    int report[2], i;

    (void)state;
    for (i = 0; i < 20; i++) {
        struct gt_process process;
        pid_t supervisor, worker = 0;

        assert_int_equal(pipe(report), 0);
        supervisor = fork();
        if (supervisor == 0) {
            gt_process_start(&process, ROLE_DEAF, NULL);
            if (write(report[1], &process.pid, sizeof(process.pid)) < 0)
                _exit(1);
            for (;;)
                pause();
        }
        assert_int_equal(read(report[0], &worker, sizeof(worker)), sizeof(worker));
        nap(i % 5); /* before and after its exec */
        kill(supervisor, SIGKILL);
        waitpid(supervisor, NULL, 0);
        assert_true(worker > 0);
        assert_true(goes_away(worker));
        close(report[0]);
        close(report[1]);
    }
}

/* The processes that a worker has started end with its group. */
static void the_group_goes_too(void **state)
{
    struct gt_process process;
    pid_t group;
    int status, i;

    (void)state;
    assert_int_equal(gt_process_start(&process, ROLE_PAIR, NULL), GT_OK);
    group = process.pid;
    nap(200);
    assert_int_equal(gt_process_end(&process, 0, &status, NULL), GT_OK);
    for (i = 0; i < 6000 && kill(-group, 0) == 0; i++)
        nap(10);
    assert_int_equal(errno, ESRCH);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_answers_and_ends), cmocka_unit_test(a_deaf_worker_is_killed),
        cmocka_unit_test(a_crash_is_described),      cmocka_unit_test(no_orphans),
        cmocka_unit_test(the_group_goes_too),
    };

    if (argc > 1 && !strcmp(argv[1], ROLE_ECHO))
        return echo();
    if (argc > 1 && !strcmp(argv[1], ROLE_DEAF))
        deaf(false);
    if (argc > 1 && !strcmp(argv[1], ROLE_PAIR))
        deaf(true);
    if (argc > 1 && !strcmp(argv[1], ROLE_CRASH))
        return crash();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
