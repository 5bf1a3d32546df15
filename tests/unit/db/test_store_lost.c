/* test_store_lost.c - nothing that was measured is lost: a database that is moved, removed or
 * replaced under its writer, clocks that are ahead, behind or stand still, foreign code in the
 * schema, the lock of another writer, absurd times. */
#include "store_fixture.h"

#include <math.h>
#include <sys/stat.h>
#include <time.h>

/* Trials of the database at a path; -1: there is none. */
static int64_t count_trials(const char *path)
{
    int64_t count = -1;
    sqlite3 *db;

    if (access(path, F_OK) == 0 && sqlite3_open(path, &db) == SQLITE_OK) {
        gt_store_integer(&(struct gt_store){.db = db, .path = (char *)path},
                         "SELECT count(*) FROM trial", &count, NULL);
        sqlite3_close(db);
    }
    return count;
}

static void put_two(struct fixture *f)
{
    struct gt_trial trial = fixture_trial(50, 2);

    fixture_put(f, "BM=64", &trial);
    fixture_put(f, "BM=32", &trial);
}

/* The next write says where everything is, and so does every later one. */
static void expect_saved(struct fixture *f, const char *saved, int64_t trials)
{
    struct gt_trial trial = fixture_trial(40, 2);

    for (int i = 0; i < 2; i++) {
        f->err.msg[0] = '\0';
        f->key.point = "BM=16";
        assert_int_equal(gt_store_trial(f->store, &f->key, &trial, &f->err), GT_EDB);
        if (!strstr(f->err.msg, "moved, removed or replaced") || !strstr(f->err.msg, saved))
            fail_msg("'%s' should name %s", f->err.msg, saved);
    }
    gt_store_close(f->store);
    f->store = NULL;
    assert_int_equal(count_trials(saved), trials);
}

static void test_removed(void **state)
{
    struct fixture *f = *state;
    char saved[128], log[128];

    snprintf(saved, sizeof(saved), "%s.saved", f->path);
    snprintf(log, sizeof(log), "%s-wal", f->path);
    put_two(f);
    assert_int_equal(unlink(f->path), 0);
    expect_saved(f, saved, 3); /* the one that noticed it is saved, too */
    assert_int_not_equal(access(f->path, F_OK), 0);
    assert_int_not_equal(access(log, F_OK), 0);
}

static void test_removed_at_the_end_of_a_turn(void **state)
{
    struct fixture *f = *state;

    put_two(f);
    OK(f, gt_store_settle(f->store, &f->err));
    assert_int_equal(unlink(f->path), 0);
    assert_int_equal(gt_store_settle(f->store, &f->err), GT_EDB);
    assert_non_null(strstr(f->err.msg, ".saved"));
}

static void test_moved(void **state)
{
    struct fixture *f = *state;
    char saved[128], moved[128];

    snprintf(saved, sizeof(saved), "%s.saved", f->path);
    snprintf(moved, sizeof(moved), "%s/moved.db", f->folder);
    put_two(f);
    assert_int_equal(rename(f->path, moved), 0);
    expect_saved(f, saved, 3);
}

/* The log of the database that was there is not played into the one that is there now. */
static void test_replaced(void **state)
{
    struct fixture *f = *state;
    struct fixture other = *f;
    char saved[128];
    struct gt_trial trial = fixture_trial(9, 2);

    snprintf(saved, sizeof(saved), "%s.saved", f->path);
    put_two(f);
    snprintf(other.path, sizeof(other.path), "%s/other.db", f->folder);
    other.store = NULL;
    fixture_reopen(&other, GT_STORE_WRITE);
    fixture_key(&other);
    fixture_put(&other, "BM=8", &trial);
    gt_store_close(other.store);
    assert_int_equal(rename(other.path, f->path), 0);
    expect_saved(f, saved, 3);
    assert_int_equal(count_trials(f->path), 1);
}

/* A write that fails takes no trial along that was to be durable a little later. */
static void test_pending_beside_a_failure(void **state)
{
    struct fixture *f = *state;
    const struct gt_turn turn = {.kernels = "simt", .strategy = "auto", .known = -1};
    const struct gt_trial trial = fixture_trial(50, 2);

    f->key.point = "BM=64";
    OK(f, gt_store_trial_later(f->store, &f->key, &trial, &f->err));
    assert_int_equal(gt_store_put_turn(f->store, &f->key, &turn, &f->err), GT_EDB);
    f->key.point = "BM=32";
    OK(f, gt_store_trial_later(f->store, &f->key, &trial, &f->err));
    f->key.point = "BM=16";
    f->key.kernel += 100; /* no such row */
    assert_int_equal(gt_store_trial_later(f->store, &f->key, &trial, &f->err), GT_EDB);
    assert_int_equal(gt_store_attempt_later(f->store, &f->key, &f->err), GT_EDB);
    fixture_close(f);
    assert_int_equal(count_trials(f->path), 2);
}

/* What others could not read they cannot read there. */
static void test_saved_for_the_same_people(void **state)
{
    struct fixture *f = *state;
    struct stat status;
    char saved[128];

    snprintf(saved, sizeof(saved), "%s.saved", f->path);
    gt_store_close(f->store);
    assert_int_equal(chmod(f->path, 0600), 0);
    f->store = NULL;
    fixture_reopen(f, GT_STORE_WRITE);
    put_two(f);
    assert_int_equal(unlink(f->path), 0);
    expect_saved(f, saved, 3);
    assert_int_equal(stat(saved, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
}

static void test_folder_removed(void **state)
{
    struct fixture *f = *state;
    char command[160], saved[160], before[512];
    const char *name = strrchr(f->path, '/') + 1;

    put_two(f);
    snprintf(command, sizeof(command), "rm -rf '%s' && mkdir '%s.cwd'", f->folder, f->folder);
    assert_int_equal(system(command), 0);
    assert_non_null(getcwd(before, sizeof(before)));
    snprintf(command, sizeof(command), "%s.cwd", f->folder);
    assert_int_equal(chdir(command), 0);
    snprintf(saved, sizeof(saved), "%s.saved", name);
    expect_saved(f, saved, 3);
    assert_int_equal(chdir(before), 0);
    snprintf(command, sizeof(command), "rm -rf '%s.cwd'", f->folder);
    assert_int_equal(system(command), 0);
}

static void run_sql(const char *path, const char *sql)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    sqlite3_close(db);
}

static int take_signature(void *context, const struct gt_row *row, struct gt_err *err)
{
    (void)err;
    snprintf(context, 40, "%s", row->signature);
    return GT_OK;
}

/* A sweep whose clock was ten years ahead does not outrank every later text of its kernel. */
static void test_a_clock_that_was_ahead(void **state)
{
    struct fixture *f = *state;
    struct gt_kernel kernel = fixture_kernel((char *)"simt", "bbbb");
    struct gt_trial trial = fixture_trial(60, 2);
    char sql[96], signature[40] = "";

    put_two(f);
    gt_store_close(f->store);
    snprintf(sql, sizeof(sql), "UPDATE kernel SET seen = %lld",
             (long long)(time(NULL) + 3600 * 24 * 3650LL) * 1000);
    run_sql(f->path, sql);
    f->store = NULL;
    fixture_reopen(f, GT_STORE_WRITE);
    OK(f, gt_store_kernel(f->store, &kernel, &f->key.kernel, &f->err)); /* its text has changed */
    fixture_put(f, "BM=64", &trial);
    gt_store_close(f->store);
    f->store = NULL;
    OK(f, gt_store_winners(f->path, take_signature, signature, &f->err));
    assert_string_equal(signature, "bbbb");
}

static int take_us(void *context, const struct gt_row *row, const struct gt_comparison *with,
                   struct gt_err *err)
{
    (void)with;
    (void)err;
    *(double *)context = row->us;
    return GT_OK;
}

/* A comparison or a final of such a day is not the latest for ever. */
static void test_a_measurement_of_tomorrow(void **state)
{
    const struct gt_comparison ahead = {
        .us = 50, .lo_us = 50, .hi_us = 50, .err_u = 1, .baseline_us = 80};
    const struct gt_comparison today = {
        .us = 40, .lo_us = 40, .hi_us = 40, .err_u = 1, .baseline_us = 80};
    const struct gt_row_filter everything = {0};
    struct gt_trial final = fixture_trial(60, 3), race = fixture_trial(70, 1);
    struct fixture *f = *state;
    bool last = true;
    double us = 0;

    f->key.point = "BM=8";
    OK(f, gt_store_put_comparison(f->store, &f->key, &ahead, &f->err));
    fixture_put(f, "BM=16", &final);
    gt_store_close(f->store);
    run_sql(f->path,
            "UPDATE comparison SET at = at + 1000000000; UPDATE trial SET at = at + 1000000000;"
            " DELETE FROM meta");
    f->store = NULL;
    fixture_reopen(f, GT_STORE_WRITE);
    f->key.point = "BM=32";
    OK(f, gt_store_put_comparison(f->store, &f->key, &today, &f->err));
    OK(f, gt_store_compared(f->store, &everything, take_us, &us, &f->err));
    assert_true(us == 40);
    fixture_put(f, "BM=64", &race);
    OK(f, gt_store_final_is_last(f->store, &f->key, &last, &f->err));
    assert_false(last);
}

/* Nor does one that comes with a merge. */
static void test_a_merged_clock_that_was_ahead(void **state)
{
    struct fixture *f = *state;
    struct fixture other = *f;
    int64_t ahead, rows;

    snprintf(other.path, sizeof(other.path), "%s/other.db", f->folder);
    other.store = NULL;
    fixture_reopen(&other, GT_STORE_WRITE);
    fixture_key(&other);
    gt_store_close(other.store);
    run_sql(other.path, "UPDATE kernel SET seen = 4000000000000");
    OK(f, gt_store_merge(f->store, other.path, &rows, &f->err));
    OK(f, gt_store_integer(f->store, "SELECT count(*) FROM kernel WHERE seen >= 4000000000000",
                           &ahead, &f->err));
    assert_int_equal(ahead, 0);
}

static void test_two_turns_in_one_millisecond(void **state)
{
    struct fixture *f = *state;
    const struct gt_turn turn = {.kernels = "simt", .strategy = "auto", .trials = 1, .us = 3};
    int64_t count;

    for (int i = 0; i < 3; i++) {
        OK(f, gt_store_put_turn(f->store, &f->key, &turn, &f->err));
        run_sql(f->path, "UPDATE visit SET at = at + 1000000"); /* as if the clock stood still */
    }
    OK(f, gt_store_integer(f->store, "SELECT count(DISTINCT at) FROM visit", &count, &f->err));
    assert_int_equal(count, 3);
}

/* Foreign code is refused for reading, writing and merging. */
static void test_foreign_code(void **state)
{
    static const char *const foreign[] = {
        "CREATE TRIGGER t AFTER UPDATE ON sweep BEGIN DELETE FROM trial; END",
        "CREATE VIEW mine AS SELECT * FROM trial",
        "ALTER TABLE trial RENAME TO real; CREATE VIEW trial AS SELECT * FROM real",
    };
    struct fixture *f = *state;
    struct gt_store *store;
    char path[128], command[256];
    int64_t rows;

    put_two(f);
    gt_store_close(f->store);
    f->store = NULL;
    snprintf(path, sizeof(path), "%s/foreign.db", f->folder);
    for (size_t i = 0; i < sizeof(foreign) / sizeof(*foreign); i++) {
        snprintf(command, sizeof(command), "cp '%s' '%s'", f->path, path);
        assert_int_equal(system(command), 0);
        run_sql(path, foreign[i]);
        for (int mode = GT_STORE_READ; mode <= GT_STORE_WRITE; mode++) {
            assert_int_equal(gt_store_open(&store, path, (enum gt_store_mode)mode, &f->err),
                             GT_EDB);
            assert_non_null(strstr(f->err.msg, "tables of a gemmtune database"));
        }
        fixture_reopen(f, GT_STORE_WRITE);
        assert_int_equal(gt_store_merge(f->store, path, &rows, &f->err), GT_EDB);
        gt_store_close(f->store);
        f->store = NULL;
        assert_int_equal(count_trials(f->path), 2);
    }
}

/* The folder was moved, and another writer holds the lock of this name now. */
static void test_the_lock_of_another_writer_stays(void **state)
{
    struct fixture *f = *state;
    char lock[128], moved[128];

    snprintf(lock, sizeof(lock), "%s-lock", f->path);
    snprintf(moved, sizeof(moved), "%s/moved-lock", f->folder);
    assert_int_equal(rename(lock, moved), 0);
    fclose(fopen(lock, "w"));
    gt_store_close(f->store);
    f->store = NULL;
    assert_int_equal(access(lock, F_OK), 0);
}

static void test_absurd_times(void **state)
{
    struct fixture *f = *state;
    struct gt_trial trial = fixture_trial(1e12, 1);

    trial.stage = 1;
    assert_int_equal(gt_store_trial(f->store, &f->key, &trial, &f->err), GT_ERANGE);
    assert_non_null(strstr(f->err.msg, "1e-6 to 1e12"));
    trial = fixture_trial(3, 1); /* and the store goes on */
    fixture_put(f, "BM=64", &trial);
    trial.status = GT_STATUS_TIMEOUT;
    trial.time_ms = 1e300;
    fixture_put(f, "BM=32", &trial);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_removed),
        TEST(test_removed_at_the_end_of_a_turn),
        TEST(test_moved),
        TEST(test_replaced),
        TEST(test_pending_beside_a_failure),
        TEST(test_saved_for_the_same_people),
        TEST(test_folder_removed),
        TEST(test_a_clock_that_was_ahead),
        TEST(test_a_measurement_of_tomorrow),
        TEST(test_a_merged_clock_that_was_ahead),
        TEST(test_two_turns_in_one_millisecond),
        TEST(test_foreign_code),
        TEST(test_the_lock_of_another_writer_stays),
        TEST(test_absurd_times),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
