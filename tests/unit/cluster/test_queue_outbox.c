/* test_queue_outbox.c - results that wait for the server, on disks that are full or fail: a result
 * that has its name is whole.  What others may have put there is refused. */
#include "fault_vfs.h"
#include "store_fixture.h"

#include "cluster/queue_outbox.h"

#include <sys/stat.h>

#define TRIALS 8

static void put_trials(struct fixture *f)
{
    struct gt_trial trial = fixture_trial(50, 2);
    char point[16];

    for (int i = 0; i < TRIALS; i++) {
        snprintf(point, sizeof(point), "BM=%d", i);
        fixture_put(f, point, &trial);
    }
    OK(f, gt_store_settle(f->store, &f->err));
}

/* The trials of a result that is read as it will be uploaded: without what may lie beside it. */
static int64_t trials_of(const char *path)
{
    int64_t count = -1;
    sqlite3 *db = NULL;
    char *uri = sqlite3_mprintf("file:%s?immutable=1", path);

    assert_int_equal(sqlite3_open_v2(uri, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL), 0);
    gt_store_integer(db, path, "SELECT count(*) FROM trial", &count, NULL);
    sqlite3_close(db);
    sqlite3_free(uri);
    return count;
}

static void fail_at_every_operation(struct fixture *f, enum fault_kind kind)
{
    struct gt_queue_job job = {.id = "7"};
    struct gt_queue_outbox outbox;
    struct gt_problem problem;
    bool reached = true;
    int failures = 0;
    char path[160];

    gt_problem_init(&problem, 256, 128, 64);
    gt_problem_format(&problem, job.problem);
    OK(f, gt_queue_outbox_open(&outbox, f->path, "me", &f->err));
    snprintf(path, sizeof(path), "%s.outbox/7,%d,me.result.db", f->path, TRIALS);
    for (long at = 1; reached; at++) {
        int rc;

        f->err = (struct gt_err){0};
        fault_plan(kind, at);
        rc = gt_queue_outbox_put(&outbox, &job, true, &f->err);
        reached = fault.count >= at;
        fault_plan(GT_FAULT_NONE, 0);
        failures += rc != GT_OK;
        assert_int_equal(rc != GT_OK, *f->err.msg != '\0');
        assert_int_equal(access(path, F_OK) == 0, rc == GT_OK);
        if (!rc && trials_of(path) != TRIALS)
            fail_msg("operation %ld: the result has %lld trials", at, (long long)trials_of(path));
        unlink(path);
    }
    print_message("%d operations failed\n", failures);
    assert_true(failures > 20);
    assert_false(gt_queue_outbox_close(&outbox)); /* what failed leaves nothing */
}

static void test_disk_full(void **state)
{
    put_trials(*state);
    fail_at_every_operation(*state, GT_FAULT_FULL);
}

static void test_io_errors(void **state)
{
    put_trials(*state);
    fail_at_every_operation(*state, GT_FAULT_IO);
}

/* Opens the outbox and uploads what is in it without a server; the first error. */
static int open_and_upload(struct fixture *f, struct gt_queue_outbox *outbox)
{
    struct gt_cli cli = {.quiet = true};
    struct gt_queue_link link = {.cli = &cli};
    int rc;

    f->err = (struct gt_err){0};
    rc = gt_queue_outbox_open(outbox, f->path, "me", &f->err);
    return rc ? rc : gt_queue_outbox_upload(outbox, &link, &f->err);
}

/* Whoever else may write to the folder chooses what is uploaded in this user's name. */
static void test_folder_of_others(void **state)
{
    struct fixture *f = *state;
    struct gt_queue_outbox outbox;
    struct stat status;
    char folder[128], other[128];

    snprintf(folder, sizeof(folder), "%s.outbox", f->path);
    snprintf(other, sizeof(other), "%s.mine", f->path);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(chmod(folder, 0777), 0);
    assert_int_equal(open_and_upload(f, &outbox), GT_EIO);
    assert_non_null(strstr(f->err.msg, "no one else may write"));
    gt_queue_outbox_close(&outbox);
    assert_int_equal(access(folder, F_OK), 0); /* another's is not removed */
    assert_int_equal(chmod(folder, 0700), 0);
    if (geteuid() == 0 && chown(folder, 65534, 65534) == 0) {
        assert_int_equal(open_and_upload(f, &outbox), GT_EIO);
        gt_queue_outbox_close(&outbox);
    }
    assert_int_equal(rename(folder, other), 0);
    assert_int_equal(symlink(other, folder), 0);
    assert_int_equal(open_and_upload(f, &outbox), GT_EIO);
    gt_queue_outbox_close(&outbox);
    assert_int_equal(unlink(folder), 0);
    OK(f, open_and_upload(f, &outbox));
    assert_int_equal(stat(folder, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    assert_false(gt_queue_outbox_close(&outbox));
}

/* Links lead elsewhere, and a pipe would be waited for. */
static void test_no_links(void **state)
{
    static const char *const file[] = {"1,1,me.taken", "1,1,me.result.db", "1,1,me.partial.db"};
    struct fixture *f = *state;
    struct gt_queue_outbox outbox;
    char secret[128], path[192];
    FILE *stream;

    snprintf(secret, sizeof(secret), "%s.secret", f->path);
    stream = fopen(secret, "w");
    assert_non_null(stream);
    fputs("secret", stream);
    fclose(stream);
    for (size_t i = 0; i < sizeof(file) / sizeof(*file); i++)
        for (int kind = 0; kind < 4; kind++) {
            OK(f, gt_queue_outbox_open(&outbox, f->path, "me", &f->err));
            snprintf(path, sizeof(path), "%s/%s", outbox.folder, file[i]);
            gt_queue_outbox_close(&outbox);
            mkdir(outbox.folder, 0700);
            assert_int_equal(kind == 0   ? symlink(secret, path)
                             : kind == 1 ? link(secret, path)
                             : kind == 2 ? mkfifo(path, 0600)
                                         : mkdir(path, 0700),
                             0);
            alarm(60); /* for a worker that would wait */
            assert_int_equal(open_and_upload(f, &outbox), GT_EIO);
            alarm(0);
            assert_non_null(strstr(f->err.msg, file[i]));
            assert_true(gt_queue_outbox_close(&outbox));
            assert_int_equal(remove(path), 0);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_disk_full, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_io_errors, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_folder_of_others, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_no_links, fixture_setup, fixture_teardown),
    };

    fault_register();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
