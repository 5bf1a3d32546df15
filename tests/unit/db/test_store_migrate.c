/* test_store_migrate.c - databases of earlier schema versions: opened, only read, merged; backups;
 * a migration that fails or was killed. */
#include "store_fixture.h"

#include <sys/stat.h>

/* Runs the statements of a file on the database of a path. */
static void run_file(const char *path, const char *file, const char *more)
{
    struct gt_strbuf sql = GT_STRBUF_INIT;
    sqlite3 *db;

    assert_int_equal(gt_strbuf_add_file(&sql, file, NULL), GT_OK);
    gt_strbuf_add(&sql, more);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql.text, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s", sqlite3_errmsg(db));
    sqlite3_close(db);
    gt_strbuf_release(&sql);
}

static void add_schema(struct gt_strbuf *text, sqlite3 *db)
{
    sqlite3_stmt *s;

    assert_int_equal(
        sqlite3_prepare_v2(db,
                           "SELECT name || ': ' || coalesce(sql, '') FROM sqlite_schema"
                           " ORDER BY type, name",
                           -1, &s, NULL),
        SQLITE_OK);
    while (sqlite3_step(s) == SQLITE_ROW)
        gt_strbuf_addf(text, "%s\n", (const char *)sqlite3_column_text(s, 0));
    sqlite3_finalize(s);
}

static int collect(void *context, const struct gt_row *row, struct gt_err *err)
{
    (void)err;
    gt_strbuf_addf(context, "%s %s %g %s\n", row->device, row->point, row->us,
                   gt_provenance_name(row->provenance));
    return GT_OK;
}

/* A database as version 1 made it, with two trials, at f->path. */
static void make_version_1(struct fixture *f)
{
    snprintf(f->path, sizeof(f->path), "%s/old.db", f->folder);
    run_file(f->path, "tests/unit/data/schema_v1.sql",
             "INSERT INTO device VALUES (7, 'G', 'GPU-1', 90, 13000, 0, 132, 1, 1, 1);"
             "INSERT INTO toolchain VALUES (1, 13000);"
             "INSERT INTO kernel VALUES (1, 'simt', 's', '', '', 1);"
             "INSERT INTO problem VALUES (1, '1x1x1', 'f32', 'strict', 'nn', 1, 1, 1, 1);"
             "INSERT INTO sweep (id, command, started) VALUES (1, 'tune', 1);"
             "INSERT INTO trial VALUES (3, 7, 1, 1, 1, 'P=1', 0, 0, 1, 'ok', 1, 5, 5, 5, 0, 0, 0, "
             "0, 0, 0, 0, 0, 0, 0, 0, '', x'', 1), (4, 7, 1, 1, 1, 'P=2', 0, 1, 1, 'ok', 0, 4, 4, "
             "4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, '', x'', 1);"
             "PRAGMA application_id=1195724109; PRAGMA user_version=1;");
}

/* A database of version 1 keeps its rows, and ends with exactly the tables of a new one. */
static void test_from_version_1(void **state)
{
    struct gt_strbuf fresh = GT_STRBUF_INIT, text = GT_STRBUF_INIT;
    struct fixture *f = *state;
    int64_t value;

    add_schema(&fresh, f->store->db);
    fixture_close(f);
    make_version_1(f);
    OK(f, gt_store_open(&f->store, f->path, GT_STORE_WRITE, &f->err));
    OK(f, gt_store_rows(f->store, &(struct gt_row_filter){0}, collect, &text, &f->err));
    assert_string_equal(text.text, "G P=1 5 measured\nG P=2 4 predicted\n");
    OK(f, gt_store_integer(f->store, "PRAGMA foreign_keys", &value, &f->err));
    assert_int_equal(value, 1);
    gt_strbuf_reset(&text);
    add_schema(&text, f->store->db);
    assert_string_equal(text.text, fresh.text);
    gt_strbuf_release(&text);
    gt_strbuf_release(&fresh);
}

static void expect_version(const struct fixture *f, int expected)
{
    sqlite3 *db;
    int64_t value = 0;

    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    OK(f, gt_store_integer(&(struct gt_store){.db = db, .path = (char *)f->path},
                           "PRAGMA user_version", &value, NULL));
    assert_int_equal(value, expected);
    sqlite3_close(db);
}

/* Who only reads sees an older database as it would be, and leaves the file as it is. */
static void test_reading_version_1(void **state)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    struct fixture *f = *state;
    char backup[128];

    fixture_close(f);
    make_version_1(f);
    fixture_reopen(f, GT_STORE_READ);
    OK(f, gt_store_rows(f->store, &(struct gt_row_filter){0}, collect, &text, &f->err));
    assert_string_equal(text.text, "G P=1 5 measured\nG P=2 4 predicted\n");
    fixture_close(f);
    gt_strbuf_reset(&text);
    OK(f, gt_store_winners(f->path, collect, &text, &f->err));
    assert_string_equal(text.text, "G P=1 5 measured\n");
    expect_version(f, 1);
    snprintf(backup, sizeof(backup), "%s-v1.backup", f->path);
    assert_int_not_equal(access(backup, F_OK), 0);
    gt_strbuf_release(&text);
}

/* The other database of a merge may be an older one; it is only read. */
static void test_merging_version_1(void **state)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    struct fixture *f = *state;
    char old[128];
    int64_t rows;

    fixture_close(f);
    make_version_1(f);
    snprintf(old, sizeof(old), "%s", f->path);
    snprintf(f->path, sizeof(f->path), "%s/new.db", f->folder);
    fixture_reopen(f, GT_STORE_WRITE);
    for (int time = 0; time < 2; time++) {
        OK(f, gt_store_merge(f->store, old, &rows, &f->err));
        assert_int_equal(rows, time ? 0 : 2);
    }
    OK(f, gt_store_rows(f->store, &(struct gt_row_filter){0}, collect, &text, &f->err));
    assert_string_equal(text.text, "G P=1 5 measured\nG P=2 4 predicted\n");
    gt_strbuf_release(&text);
}

/* A database of version 6, whose times were cold or warm: it keeps its rows, takes chains, and
 * refuses what is no way of timing. */
static void test_from_version_6(void **state)
{
    struct fixture *f = *state;
    struct gt_trial trial = {.status = GT_STATUS_OK, .us = 5, .lo_us = 5, .hi_us = 5};
    int64_t value;

    fixture_close(f);
    unlink(f->path);
    make_version_1(f);
    fixture_reopen(f, GT_STORE_WRITE);
    fixture_close(f);
    fixture_sql(f,
                "DROP VIEW objective; DROP TABLE energy;"
                "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = replace(replace(replace("
                "sql, 'timing IN (0, 1, 2)', 'warm_l2 IN (0, 1)'), '-- 0 cold, 1 warm, 2 graph',"
                " '-- 1: operands left in L2'), 'timing', 'warm_l2'); PRAGMA user_version=6");
    fixture_sql(f, "UPDATE trial SET warm_l2 = 1 WHERE point = 'P=2'; DELETE FROM meta");
    fixture_reopen(f, GT_STORE_READ); /* a copy in memory goes the same way */
    OK(f, gt_store_integer(f->store, "SELECT sum(timing) FROM line", &value, &f->err));
    assert_int_equal(value, 1);
    fixture_reopen(f, GT_STORE_WRITE);
    OK(f, gt_store_integer(f->store, "SELECT sum(timing) FROM line", &value, &f->err));
    assert_int_equal(value, 1);
    f->key = (struct gt_trial_key){1, 7, 1, 1, 1, "P=3", GT_TIMING_GRAPH};
    OK(f, gt_store_trial(f->store, &f->key, &trial, &f->err));
    f->key.timing = GT_TIMING_COUNT;
    assert_int_equal(gt_store_trial(f->store, &f->key, &trial, &f->err), GT_EDB);
}

/* Statements of the steps that earlier versions of this program took, from one schema to the next:
 * what their databases look like. */
static void step_to(struct fixture *f, int version)
{
    for (int from = 1; from < version; from++) {
        char file[64], more[64];

        snprintf(file, sizeof(file), "tests/unit/data/migrate_%d.sql", from);
        snprintf(more, sizeof(more), "PRAGMA user_version=%d", from + 1);
        run_file(f->path, file, more);
    }
}

/* Rows of the tables that `version` has, each with something in every column that came or went. */
static void fill_version(struct fixture *f, int version)
{
    if (version >= 3)
        fixture_sql(f, "INSERT INTO calibration VALUES (7, 'copy_gbps', 4000, 1)");
    fixture_sql(f, version < 6 ? "INSERT INTO baseline VALUES (7, 1, 1, 1, 'L', 2, 0, 3, 3, 3, 4,"
                                 " 0, x'', 1)"
                               : "INSERT INTO baseline VALUES (7, 1, 1, 1, 'L', 'word', 2, 0, 3, 3,"
                                 " 3, 4, 0, x'', 1)");
    if (version >= 10) /* problems had more words by then, in their texts alone */
        fixture_sql(f, "INSERT INTO problem VALUES (2, '1x2x3:e4m3:nt:b=e5m2:scale_a=1x128/ue8m0:'"
                       " || 'scale_b=128x128:groups=12:by=k', 'e4m3', 'low', 'nt', 1, 2, 3, 1)");
    fixture_sql(f, "INSERT INTO attempt VALUES (7, 1, 1, 1, 'P=1', 1, 1, 2, 1, 1);"
                   "INSERT INTO tie VALUES (7, 1, 1, 'simt', 'P=1', 1)");
    if (version == 4)
        fixture_sql(f, "INSERT INTO comparison VALUES (7, 1, 1, 1, 'P=1', 1, 5, 5, 5, 0, 6, 7, 1)");
    if (version == 5)
        fixture_sql(f,
                    "INSERT INTO comparison VALUES (7, 1, 1, 1, 'P=1', 1, 5, 5, 5, 0, 6, 7, 8, 1)");
    if (version >= 6)
        fixture_sql(f, "INSERT INTO comparison VALUES (7, 1, 1, 1, 'P=1', 1, 5, 5, 5, 0, 6, 7, 8,"
                       " 9, 10, 'u', 11, 1, 1)");
    if (version >= 4)
        fixture_sql(f, "INSERT INTO visit VALUES (1, 7, 1, 1, 1, 'simt', 'auto', 1, 2, 3, 4, 5, 6,"
                       " 7, 8, 9); INSERT INTO improvement VALUES (1, 0, 1, 2, 3)");
    if (version >= 8)
        fixture_sql(f, "INSERT INTO energy VALUES (7, 1, 'simt', 's', 'P=1', 1, 2, 3, 4, 5, 6, 1,"
                       " 1)");
}

/* What the rows of fill_version are today. */
static void expect_filled(struct fixture *f, int version)
{
    const struct {
        int since;
        const char *query;
    } row[] = {
        {1,
         "SELECT (device, problem, timing, sweep, name, answers, best, us, lo_us, hi_us, first_us,"
         " at) = (7, 1, 1, 1, 'L', 2, 0, 3, 3, 3, 4, 1) FROM baseline"},
        {6, "SELECT algo = 'word' FROM baseline"},
        {1, "SELECT (timing, count, open) = (1, 2, 1) FROM attempt"},
        {1, "SELECT (timing, kernel, chosen) = (1, 'simt', 1) FROM tie"},
        {3, "SELECT (figure, value) = ('copy_gbps', 4000) FROM calibration"},
        {4, "SELECT (timing, us, baseline_us, copy_gbps, at) = (1, 5, 6, 7, 1) FROM comparison"},
        {5, "SELECT move_us = 8 FROM comparison"},
        {6, "SELECT (baseline_err_u, best_us, untuned, untuned_us, worse) = (9, 10, 'u', 11, 1)"
            " FROM comparison"},
        {4, "SELECT (id, timing, seed, at) = (1, 1, 1, 9) FROM visit"},
        {4, "SELECT (visit, us) = (1, 3) FROM improvement"},
        {1, "SELECT (type_b, scale_a, scale_b, groups) = ('f32', '', '', 0) FROM problem WHERE id "
            "= 1"},
        {10, "SELECT (type_b, scale_a, scale_b, groups) = ('e5m2', '1x128/ue8m0', '128x128', 12)"
             " FROM problem WHERE id = 2"},
        {8, "SELECT (joules, counted) = (2, 1) FROM energy"},
    };

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        int64_t same = 0;

        if (version < row[i].since)
            continue;
        OK(f, gt_store_integer(f->store, row[i].query, &same, &f->err));
        if (!same)
            fail_msg("from version %d: %s", version, row[i].query);
    }
}

/* Every version between the first and today's, with views of the same names but another text. */
static void test_from_every_version(void **state)
{
    struct gt_strbuf text = GT_STRBUF_INIT, fresh = GT_STRBUF_INIT;
    struct fixture *f = *state;

    add_schema(&fresh, f->store->db);
    for (int version = 1; version < GT_STORE_VERSION; version++) {
        fixture_close(f);
        unlink(f->path);
        make_version_1(f);
        fixture_sql(f, "DROP VIEW line; DROP VIEW winner");
        step_to(f, version);
        fill_version(f, version);
        fixture_sql(f, "CREATE VIEW line AS SELECT 1; CREATE VIEW winner AS SELECT 2");
        for (int write = 0; write < 2; write++) {
            fixture_reopen(f, write ? GT_STORE_WRITE : GT_STORE_READ);
            gt_strbuf_reset(&text);
            OK(f, gt_store_rows(f->store, &(struct gt_row_filter){0}, collect, &text, &f->err));
            assert_string_equal(text.text, "G P=1 5 measured\nG P=2 4 predicted\n");
            gt_strbuf_reset(&text);
            add_schema(&text, f->store->db);
            assert_string_equal(text.text, fresh.text);
            expect_filled(f, version);
        }
    }
    gt_strbuf_release(&text);
    gt_strbuf_release(&fresh);
}

static bool is_there(const struct fixture *f, const char *tail)
{
    char path[128];

    snprintf(path, sizeof(path), "%s%s", f->path, tail);
    return access(path, F_OK) == 0;
}

/* What a migration leaves that was killed: half a backup, or a whole one beside a database that
 * stayed as it was.  The next one is not held up by either, and overwrites no backup. */
static void test_after_a_kill(void **state)
{
    static const char *const left[] = {"-v1.part", "-v1.backup", "-v1.backup.2"};
    struct fixture *f = *state;
    struct gt_store *backup;
    char path[128], was[8];

    fixture_close(f);
    make_version_1(f);
    for (size_t i = 0; i < sizeof(left) / sizeof(left[0]); i++) {
        FILE *file;

        snprintf(path, sizeof(path), "%s%s", f->path, left[i]);
        file = fopen(path, "w");
        assert_non_null(file);
        fprintf(file, "left %zu", i);
        fclose(file);
    }
    fixture_reopen(f, GT_STORE_WRITE);
    assert_false(is_there(f, left[0]));
    for (size_t i = 1; i < sizeof(left) / sizeof(left[0]); i++) {
        FILE *file;

        snprintf(path, sizeof(path), "%s%s", f->path, left[i]);
        file = fopen(path, "r");
        assert_non_null(fgets(was, sizeof(was), file));
        assert_int_equal(was[5], '0' + (int)i);
        fclose(file);
    }
    snprintf(path, sizeof(path), "%s-v1.backup.3", f->path);
    OK(f, gt_store_open(&backup, path, GT_STORE_READ, &f->err));
    gt_store_close(backup);
}

/* A database that cannot be brought forward says why, each time, stays as it was, and leaves no
 * backup of what has not changed: with a table or a column that is not ours, which would be lost,
 * and with a row that today's checks refuse. */
static void test_refused_twice(void **state)
{
    static const struct {
        const char *sql, *why;
    } wrong[] = {
        {"CREATE TABLE foreign_table (x)", "does not have the tables"},
        {"ALTER TABLE trial ADD COLUMN host TEXT", "does not have the tables"},
        {"ALTER TABLE trial ADD COLUMN host TEXT AS (point)", "does not have the tables"},
        {"ALTER TABLE trial DROP COLUMN clock_mhz", "does not have the tables"},
        {"PRAGMA ignore_check_constraints=1; UPDATE trial SET us = 1e13 WHERE id = 4", "CHECK"},
        {"DELETE FROM problem", "would lose"},
    };
    struct fixture *f = *state;
    struct gt_store *store;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        fixture_close(f);
        unlink(f->path);
        make_version_1(f);
        fixture_sql(f, "DROP VIEW line; DROP VIEW winner");
        fixture_sql(f, wrong[i].sql);
        for (int time = 0; time < 2; time++) {
            assert_int_equal(gt_store_open(&store, f->path, GT_STORE_WRITE, &f->err), GT_EDB);
            if (!strstr(f->err.msg, wrong[i].why))
                fail_msg("%s: %s", wrong[i].sql, f->err.msg);
            assert_false(is_there(f, "-v1.backup"));
            assert_false(is_there(f, "-v1.part"));
        }
        expect_version(f, 1);
    }
}

/* The backup may be read by whom the database may be read by, and by nobody else. */
static void test_backup_is_private(void **state)
{
    struct fixture *f = *state;
    struct stat status;
    char path[128];

    fixture_close(f);
    make_version_1(f);
    assert_int_equal(chmod(f->path, 0600), 0);
    fixture_reopen(f, GT_STORE_WRITE);
    snprintf(path, sizeof(path), "%s-v1.backup", f->path);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_from_version_1), TEST(test_reading_version_1),  TEST(test_merging_version_1),
        TEST(test_from_version_6), TEST(test_from_every_version), TEST(test_backup_is_private),
        TEST(test_after_a_kill),   TEST(test_refused_twice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
