/* test_store_migrate.c - databases of earlier schema versions: opened, only read, merged; backups;
 * a migration that fails or was killed. */
#include "store_fixture.h"

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
    OK(f, gt_store_integer(f->store->db, f->path, "PRAGMA foreign_keys", &value, &f->err));
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
    OK(f, gt_store_integer(db, f->path, "PRAGMA user_version", &value, NULL));
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
    OK(f, gt_store_integer(f->store->db, f->path, "SELECT sum(timing) FROM line", &value, &f->err));
    assert_int_equal(value, 1);
    fixture_reopen(f, GT_STORE_WRITE);
    OK(f, gt_store_integer(f->store->db, f->path, "SELECT sum(timing) FROM line", &value, &f->err));
    assert_int_equal(value, 1);
    f->key = (struct gt_trial_key){1, 7, 1, 1, 1, "P=3", GT_TIMING_GRAPH};
    OK(f, gt_store_trial(f->store, &f->key, &trial, &f->err));
    f->key.timing = GT_TIMING_COUNT;
    assert_int_equal(gt_store_trial(f->store, &f->key, &trial, &f->err), GT_EDB);
}

/* One made-up step: what happens when one fails. */
static void test_migration(void **state)
{
    static const struct gt_store_migration list[] = {
        {GT_STORE_VERSION, "ALTER TABLE sweep ADD COLUMN host TEXT NOT NULL DEFAULT ''"},
        {0, NULL}};
    static const struct gt_store_migration broken[] = {
        {GT_STORE_VERSION + 1, "ALTER TABLE sweep ADD COLUMN rack TEXT; CREATE TABLE sweep (x)"},
        {0, NULL}};
    struct fixture *f = *state;
    char backup[128];
    int64_t value;

    snprintf(backup, sizeof(backup), "%s-v%d.backup", f->path, GT_STORE_VERSION);
    OK(f, gt_store_migrate(f->store->db, f->path, list, GT_STORE_VERSION + 1, &f->err));
    OK(f, gt_store_integer(f->store->db, f->path, "PRAGMA user_version", &value, &f->err));
    assert_int_equal(value, GT_STORE_VERSION + 1);
    OK(f,
       gt_store_integer(f->store->db, f->path, "SELECT count(host) FROM sweep", &value, &f->err));
    assert_int_equal(value, 1);
    assert_int_equal(access(backup, F_OK), 0);
    assert_int_equal(gt_store_migrate(f->store->db, f->path, broken, GT_STORE_VERSION + 2, &f->err),
                     GT_EDB);
    OK(f, gt_store_integer(f->store->db, f->path, "PRAGMA user_version", &value, &f->err));
    assert_int_equal(value, GT_STORE_VERSION + 1);
    OK(f, gt_store_integer(f->store->db, f->path,
                           "SELECT count(*) FROM pragma_table_info('sweep') WHERE name = 'rack'",
                           &value, &f->err));
    assert_int_equal(value, 0);
    assert_int_equal(gt_store_migrate(f->store->db, f->path, list, GT_STORE_VERSION + 2, &f->err),
                     GT_ESTALE);
    assert_non_null(strstr(f->err.msg, "no way leads"));
}

/* Every version between the first and today's, with views of the same names but another text. */
static void test_from_every_version(void **state)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    struct fixture *f = *state;

    for (int version = 2; version < GT_STORE_VERSION; version++) {
        sqlite3 *db;

        fixture_close(f);
        unlink(f->path);
        make_version_1(f);
        assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
        OK(f, gt_store_migrate(db, f->path, gt_store_migrations, version, &f->err));
        sqlite3_close(db);
        fixture_sql(f, "CREATE VIEW line AS SELECT 1; CREATE VIEW winner AS SELECT 2");
        for (int write = 0; write < 2; write++) {
            fixture_reopen(f, write ? GT_STORE_WRITE : GT_STORE_READ);
            gt_strbuf_reset(&text);
            OK(f, gt_store_rows(f->store, &(struct gt_row_filter){0}, collect, &text, &f->err));
            assert_string_equal(text.text, "G P=1 5 measured\nG P=2 4 predicted\n");
        }
    }
    gt_strbuf_release(&text);
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

/* A database that cannot be brought forward says why, each time, and there is no backup of what has
 * not changed. */
static void test_refused_twice(void **state)
{
    struct fixture *f = *state;
    struct gt_store *store;

    fixture_close(f);
    make_version_1(f);
    fixture_sql(f, "CREATE TABLE foreign_table (x)");
    for (int time = 0; time < 2; time++) {
        assert_int_equal(gt_store_open(&store, f->path, GT_STORE_WRITE, &f->err), GT_EDB);
        assert_non_null(strstr(f->err.msg, "does not have the tables"));
        assert_false(is_there(f, "-v1.backup"));
        assert_false(is_there(f, "-v1.part"));
    }
    expect_version(f, 1);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_from_version_1), TEST(test_reading_version_1), TEST(test_merging_version_1),
        TEST(test_from_version_6), TEST(test_migration),         TEST(test_from_every_version),
        TEST(test_after_a_kill),   TEST(test_refused_twice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
