/* test_store_faults.c - the tuning database under failing disks, power cuts and kill -9: what was
 * acknowledged is there afterwards, and every failure is an error with a sentence. */
#include "fault_vfs.h"
#include "store_run.h"
#include "whole.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#define STEP gt_whole(1, 5) /* from one operation at which something fails to the next */

/* Shared memory does not survive a power cut. */
static void lose_shared_memory(const struct fixture *f)
{
    char path[128];

    snprintf(path, sizeof(path), "%s-shm", f->path);
    unlink(path);
}

/* A disk that fails is not a damaged database, and its error is not called a success. */
static void expect_a_disk_at_fault(const struct gt_err *err)
{
    if (strstr(err->msg, "Success") || strstr(err->msg, "No such file") ||
        strstr(err->msg, "damaged"))
        fail_msg("%s", err->msg);
}

static void fail_at_every_operation(struct fixture *f, enum fault_kind kind)
{
    struct run run = {f->path, 0, TRIALS, -1, 0};
    int failures = 0;

    for (long at = 1; run.done < TRIALS; at += STEP) {
        int code;

        remove_database(f);
        f->err.msg[0] = '\0';
        fault_plan(kind, at);
        code = sweep(&run, &f->err);
        fault_plan(GT_FAULT_NONE, 0);
        if (code) {
            if (code != GT_EDB && code != GT_ENOMEM && code != GT_ESTALE)
                fail_msg("operation %ld: code %d: %s", at, code, f->err.msg);
            assert_non_null(strstr(f->err.msg, f->path));
            if (kind == GT_FAULT_FULL)
                assert_non_null(strstr(f->err.msg, "disk is full"));
            expect_a_disk_at_fault(&f->err);
            failures++;
        }
        expect_kept(f, run.done, at);
    }
    print_message("%d operations failed\n", failures);
    assert_true(failures > 20);
}

static void test_io_error_at_every_operation(void **state)
{
    fixture_close(*state);
    fail_at_every_operation(*state, GT_FAULT_IO);
}

/* A sound database on a disk that fails for good: opening it never says that it is damaged, and
 * does not quote the error of a call that had nothing to do with it. */
static void test_io_error_while_opening(void **state)
{
    struct fixture *f = *state;
    struct run run = {f->path, 0, TRIALS, -1, 0};
    bool reached = true;
    int failures = 0;

    fixture_close(f);
    remove_database(f);
    OK(f, sweep(&run, &f->err));
    for (long at = 1; reached; at++) {
        int code;

        f->err = (struct gt_err){0};
        errno = at % 2 ? 0 : ENOENT; /* of an earlier call: SQLite asks for it */
        fault_plan(GT_FAULT_DEAD, at);
        code = gt_store_open(&f->store, f->path, GT_STORE_READ, &f->err);
        reached = fault.count >= at;
        fault_plan(GT_FAULT_NONE, 0);
        fixture_close(f);
        failures += code != GT_OK;
        expect_a_disk_at_fault(&f->err);
        if (code)
            assert_non_null(strstr(f->err.msg, "disk"));
    }
    print_message("%d operations failed\n", failures);
    assert_true(failures > 3);
}

static void test_disk_full_from_every_operation_on(void **state)
{
    fixture_close(*state);
    fail_at_every_operation(*state, GT_FAULT_FULL);
}

/* Runs the sweep in a child that loses power at operation `at`; returns trials acknowledged, or -1
 * if the child came to its end before. */
static int cut_power(struct fixture *f, long at)
{
    char bytes[64];
    int pipes[2], status, done = 0;
    ssize_t count;
    pid_t child;

    assert_int_equal(pipe(pipes), 0);
    child = fork();
    if (child == 0) {
        struct run run = {f->path, 0, TRIALS, pipes[1], 0};

        close(pipes[0]);
        fault_plan(GT_FAULT_CRASH, at);
        sweep(&run, NULL);
        _exit(0);
    }
    close(pipes[1]);
    while ((count = read(pipes[0], bytes, sizeof(bytes))) > 0)
        done += (int)count;
    close(pipes[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    lose_shared_memory(f);
    return WEXITSTATUS(status) == FAULT_EXIT ? done : -1;
}

static void test_power_cut_at_every_operation(void **state)
{
    struct fixture *f = *state;
    long at, cuts = 0;
    int done = 0;

    fixture_close(f);
    for (at = 1; done >= 0; at += STEP) {
        remove_database(f);
        done = cut_power(f, at);
        cuts += done >= 0;
        expect_kept(f, done >= 0 ? done : TRIALS, at);
    }
    print_message("%ld power cuts\n", cuts);
    assert_true(cuts > gt_whole(100, 20));
}

/* The harness has teeth: with a disk that lies about syncs, something is lost. */
static void test_power_cut_on_a_lying_disk_is_noticed(void **state)
{
    struct fixture *f = *state;
    int lost = 0, done = 0;

    fixture_close(f);
    fault.lying = 1;
    for (long at = 40; !lost && done >= 0; at++) {
        int64_t trials = -1;

        remove_database(f);
        done = cut_power(f, at);
        if (gt_store_open(&f->store, f->path, GT_STORE_WRITE, NULL) ||
            gt_store_integer(f->store, "SELECT count(*) FROM trial", &trials, NULL) ||
            trials < done)
            lost++;
        fixture_close(f);
    }
    fault.lying = 0;
    assert_true(lost > 0);
}

/* kill -9 at random moments: the next run goes on from what was acknowledged. */
static void test_killed_writer(void **state)
{
    struct fixture *f = *state;
    struct gt_random random = {7};
    int acknowledged = 0;

    fixture_close(f);
    for (int round = 0; round < gt_whole(25, 8); round++) {
        struct timespec pause = {0, 1000000 + (long)gt_random_below(&random, 20000000)};
        char bytes[4096];
        int pipes[2], status, done = 0;
        ssize_t count;
        pid_t child;

        assert_int_equal(pipe(pipes), 0);
        child = fork();
        if (child == 0) {
            struct run run = {f->path, round * 10000, 10000, pipes[1], 0};

            close(pipes[0]);
            sweep(&run, NULL);
            _exit(0);
        }
        close(pipes[1]);
        if (round % 2) /* every other kill comes after a trial was acknowledged */
            done = read(pipes[0], bytes, 1) == 1;
        nanosleep(&pause, NULL);
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, &status, 0), child);
        while ((count = read(pipes[0], bytes, sizeof(bytes))) > 0)
            done += (int)count;
        close(pipes[0]);
        acknowledged += done;
        expect_kept(f, acknowledged, round);
    }
    print_message("%d trials acknowledged before a kill\n", acknowledged);
    assert_true(acknowledged > 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)

/* Trials that are pending when the file is closed for other processes, on a full disk: that is an
 * error, and what was acknowledged before is there. */
static void test_handing_over_on_a_full_disk(void **state)
{
    struct fixture *f = *state;
    struct gt_trial trial = fixture_trial(50, 1);

    f->key.point = "BM=1";
    OK(f, gt_store_attempt(f->store, &f->key, &f->err));
    OK(f, gt_store_trial(f->store, &f->key, &trial, &f->err));
    f->key.point = "BM=2";
    OK(f, gt_store_attempt_later(f->store, &f->key, &f->err));
    OK(f, gt_store_trial_later(f->store, &f->key, &trial, &f->err));
    fault_plan(GT_FAULT_FULL, 1);
    assert_int_equal(gt_store_hand_over(f->store, &f->err), GT_EDB);
    fault_plan(GT_FAULT_NONE, 0);
    assert_non_null(strstr(f->err.msg, "disk is full"));
    fixture_close(f);
    expect_kept(f, 1, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_io_error_at_every_operation),          TEST(test_io_error_while_opening),
        TEST(test_disk_full_from_every_operation_on),    TEST(test_power_cut_at_every_operation),
        TEST(test_power_cut_on_a_lying_disk_is_noticed), TEST(test_killed_writer),
        TEST(test_handing_over_on_a_full_disk),
    };

    fault_register();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
