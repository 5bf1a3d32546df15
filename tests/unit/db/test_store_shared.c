/* test_store_shared.c - several processes of one tuner write a database whose lock their parent
 * holds; the rows of one problem are taken out of a database. */
#include "store_fixture.h"

#include <sys/wait.h>

#define WRITERS 4
#define EACH    40 /* trials of each writer */

/* What a process of a tuner does: its own points, with attempts that stay pending elsewhere. */
static int write_trials(const struct fixture *parent, int who)
{
    struct fixture own = {.key = parent->key};
    const struct gt_trial trial = fixture_trial(10 + who, 1);
    char point[32];
    int rc = gt_store_open(&own.store, parent->path, GT_STORE_SHARED, &own.err);

    for (int i = 0; i < EACH && !rc; i++) {
        snprintf(point, sizeof(point), "BM=%d,BN=%d", who, i);
        own.key.point = point;
        rc = gt_store_attempt(own.store, &own.key, &own.err);
        if (!rc)
            rc = gt_store_trial_later(own.store, &own.key, &trial, &own.err);
    }
    gt_store_close(own.store);
    return rc ? 1 : 0;
}

static int count_row(void *context, const struct gt_row *row, struct gt_err *err)
{
    (void)row, (void)err;
    ++*(int *)context;
    return GT_OK;
}

static int count_rows(struct fixture *f, const char *problem)
{
    const struct gt_row_filter filter = {.problem = problem};
    int count = 0;

    OK(f, gt_store_rows(f->store, &filter, count_row, &count, &f->err));
    return count;
}

static void test_several_writers_lose_nothing(void **state)
{
    struct fixture *f = *state;
    struct gt_store *second = NULL;
    pid_t pid[WRITERS];
    int status, winners = 0;

    OK(f, gt_store_hand_over(f->store, &f->err));
    for (int i = 0; i < WRITERS; i++) {
        pid[i] = fork();
        if (pid[i] == 0)
            _exit(write_trials(f, i));
    }
    for (int i = 0; i < WRITERS; i++) {
        assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    /* Look-ups meanwhile, or after all of them were killed, do not take it for damaged. */
    OK(f, gt_store_winners(f->path, count_row, &winners, &f->err));
    assert_true(winners > 0);
    /* The lock is still held: another tuner is refused. */
    assert_int_equal(gt_store_open(&second, f->path, GT_STORE_WRITE, &f->err), GT_EBUSY);
    gt_store_close(f->store);
    OK(f, gt_store_open(&f->store, f->path, GT_STORE_WRITE, &f->err));
    assert_int_equal(count_rows(f, NULL), WRITERS * EACH);
}

/* One of several writers notices that the database was moved as its only writer does, and leaves no
 * log behind for what comes to the place. */
static void test_moved_while_shared(void **state)
{
    struct fixture *f = *state, first = {.key = f->key}, second = {.key = f->key};
    const struct gt_trial trial = fixture_trial(20, 3);
    char moved[160], saved[160], log[160];

    snprintf(moved, sizeof(moved), "%s/moved.db", f->folder);
    snprintf(saved, sizeof(saved), "%s.saved", f->path);
    snprintf(log, sizeof(log), "%s-wal", f->path);
    OK(f, gt_store_hand_over(f->store, &f->err));
    OK(&first, gt_store_open(&first.store, f->path, GT_STORE_SHARED, &first.err));
    OK(&second, gt_store_open(&second.store, f->path, GT_STORE_SHARED, &second.err));
    fixture_put(&first, "BM=1", &trial);
    assert_int_equal(rename(f->path, moved), 0);
    second.key.point = "BM=2";
    assert_int_equal(gt_store_trial(second.store, &second.key, &trial, &second.err), GT_EDB);
    assert_non_null(strstr(second.err.msg, saved));
    assert_int_not_equal(access(log, F_OK), 0);
    /* Another, which notices it later, saves what it has stored since to the same file. */
    first.key.point = "BM=3";
    assert_int_equal(gt_store_trial(first.store, &first.key, &trial, &first.err), GT_EDB);
    assert_string_equal(first.err.msg, second.err.msg);
    snprintf(log, sizeof(log), "%s.2", saved);
    assert_int_not_equal(access(log, F_OK), 0);
    gt_store_close(second.store);
    gt_store_close(first.store);
    OK(f, gt_store_open(&first.store, saved, GT_STORE_WRITE, &f->err));
    assert_int_equal(count_rows(&first, NULL), 3);
    gt_store_close(first.store);
    /* Nobody makes an empty database in its place. */
    assert_int_equal(gt_store_open(&first.store, f->path, GT_STORE_SHARED, &first.err), GT_EDB);
    assert_int_not_equal(access(f->path, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_several_writers_lose_nothing, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_moved_while_shared, fixture_setup, fixture_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
