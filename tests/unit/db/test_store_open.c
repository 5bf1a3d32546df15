/* test_store_open.c - databases that cannot be used, each with one clear sentence; the writer's
 * lock; migration. */
#include "store_fixture.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* Opening fails with `code` and a sentence that holds the path and `words`. */
static void expect_refusal(struct fixture *f, enum gt_store_mode mode, int code, const char *words)
{
    struct gt_store *store = (struct gt_store *)f;

    f->err.msg[0] = '\0';
    assert_int_equal(gt_store_open(&store, f->path, mode, &f->err), code);
    assert_null(store);
    if (!strstr(f->err.msg, words) || !strstr(f->err.msg, f->path))
        fail_msg("'%s' should say '%s'", f->err.msg, words);
}

static void close_store(struct fixture *f)
{
    gt_store_close(f->store);
    f->store = NULL;
}

static void run_sql(struct fixture *f, const char *sql)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void write_file(struct fixture *f, const char *text)
{
    FILE *file = fopen(f->path, "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void test_missing(void **state)
{
    struct fixture *f = *state;

    close_store(f);
    unlink(f->path);
    expect_refusal(f, GT_STORE_READ, GT_EDB, "No such file");
    snprintf(f->path, sizeof(f->path), "%s/no/t.db", f->folder);
    expect_refusal(f, GT_STORE_WRITE, GT_EDB, "No such file");
}

static void test_not_a_database(void **state)
{
    struct fixture *f = *state;

    close_store(f);
    write_file(f, "point,us\nBM=64,3\nand some more text, so that it is longer than a header is\n");
    expect_refusal(f, GT_STORE_READ, GT_ESTALE, "not a SQLite database");
    expect_refusal(f, GT_STORE_WRITE, GT_ESTALE, "not a SQLite database");
}

static void test_of_another_program(void **state)
{
    struct fixture *f = *state;

    close_store(f);
    unlink(f->path);
    run_sql(f, "CREATE TABLE recipe (name TEXT); PRAGMA user_version = 1");
    expect_refusal(f, GT_STORE_WRITE, GT_ESTALE, "another program");
    run_sql(f, "SELECT name FROM recipe"); /* and it was left alone */
}

static void test_of_a_newer_version(void **state)
{
    struct fixture *f = *state;

    close_store(f);
    run_sql(f, "PRAGMA user_version = 99");
    expect_refusal(f, GT_STORE_READ, GT_ESTALE, "newer gemmtune (schema version 99");
    expect_refusal(f, GT_STORE_WRITE, GT_ESTALE, "newer gemmtune");
}

static void test_empty(void **state)
{
    struct fixture *f = *state;

    close_store(f);
    write_file(f, "");
    expect_refusal(f, GT_STORE_READ, GT_ESTALE, "is empty");
    fixture_reopen(f, GT_STORE_WRITE);
}

static void test_damaged(void **state)
{
    struct fixture *f = *state;
    struct stat status;
    int file;

    close_store(f);
    assert_int_equal(stat(f->path, &status), 0);
    file = open(f->path, O_RDWR);
    for (off_t at = 4096 + 100; at < status.st_size; at += 4096)
        assert_int_equal(pwrite(file, "damage damage damage damage", 27, at - 98), 27);
    close(file);
    expect_refusal(f, GT_STORE_READ, GT_EDB, "is damaged");
    expect_refusal(f, GT_STORE_WRITE, GT_EDB, "is damaged");
}

static void test_cut_off(void **state)
{
    struct fixture *f = *state;

    close_store(f);
    assert_int_equal(truncate(f->path, 8192), 0);
    expect_refusal(f, GT_STORE_WRITE, GT_EDB, "is damaged");
}

/* Permissions do not bind root: the check runs as nobody in a child. */
static void test_read_only(void **state)
{
    struct fixture *f = *state;
    int status;
    pid_t child;

    close_store(f);
    chmod(f->path, 0444);
    chmod(f->folder, 0555);
    child = fork();
    if (child == 0) {
        struct gt_store *store = NULL;
        int code;

        if (getuid() == 0 && setuid(65534) != 0)
            _exit(9);
        code = gt_store_open(&store, f->path, GT_STORE_WRITE, &f->err);
        if (code != GT_EDB || !strstr(f->err.msg, f->path))
            _exit(1);
        if (gt_store_open(&store, f->path, GT_STORE_READ, &f->err))
            _exit(2);
        gt_store_close(store);
        _exit(0);
    }
    waitpid(child, &status, 0);
    chmod(f->folder, 0755);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_read_only_file_in_a_writable_folder(void **state)
{
    struct fixture *f = *state;
    int status;
    pid_t child;

    close_store(f);
    chmod(f->path, 0444);
    chmod(f->folder, 0777);
    child = fork();
    if (child == 0) {
        struct gt_store *store = NULL;

        if (getuid() == 0 && setuid(65534) != 0)
            _exit(9);
        _exit(gt_store_open(&store, f->path, GT_STORE_WRITE, &f->err) == GT_EDB &&
                      strstr(f->err.msg, "is read-only")
                  ? 0
                  : 1);
    }
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_one_writer(void **state)
{
    struct fixture *f = *state;
    struct gt_store *reader;
    char words[64], lock[120];

    snprintf(words, sizeof(words), "written by process %ld", (long)getpid());
    expect_refusal(f, GT_STORE_WRITE, GT_EBUSY, words);
    OK(f, gt_store_open(&reader, f->path, GT_STORE_READ, &f->err));
    gt_store_close(reader);
    close_store(f);
    snprintf(lock, sizeof(lock), "%s-lock", f->path);
    assert_int_not_equal(access(lock, F_OK), 0);
    fixture_reopen(f, GT_STORE_WRITE);
}

/* Under another name it is the same database, with the same writer. */
static void test_one_writer_through_a_link(void **state)
{
    struct fixture *f = *state;
    struct gt_store *second = NULL;
    char link[128];

    snprintf(link, sizeof(link), "%s/link.db", f->folder);
    assert_int_equal(symlink(f->path, link), 0);
    assert_int_equal(gt_store_open(&second, link, GT_STORE_WRITE, &f->err), GT_EBUSY);
    assert_null(second);
    close_store(f);
    OK(f, gt_store_open(&second, link, GT_STORE_WRITE, &f->err));
    gt_store_close(second);
}

static void test_network_file_systems_by_name(void **state)
{
    (void)state;
    assert_string_equal(gt_store_network(0x6969), "NFS");
    assert_string_equal(gt_store_network((long)0xff534d42), "CIFS");
    assert_string_equal(gt_store_network((int)0xff534d42), "CIFS");
    assert_string_equal(gt_store_network(0x0bd00bd0), "Lustre");
    assert_string_equal(gt_store_network_fuse("fuse.sshfs"), "fuse.sshfs");
    assert_null(gt_store_network_fuse("fuse.fuse-overlayfs")); /* a container's root */
    assert_null(gt_store_network_fuse("virtiofs"));            /* a virtual machine's */
    assert_null(gt_store_network(0xef53));                     /* ext4 */
    assert_null(gt_store_network(0x9123683e));                 /* btrfs */
    assert_null(gt_store_network(0x794c7630));                 /* overlayfs */
}

static void test_a_path_is_only_a_path(void **state)
{
    struct fixture *f = *state;
    char before[256];

    close_store(f);
    assert_non_null(getcwd(before, sizeof(before)));
    assert_int_equal(chdir(f->folder), 0);
    OK(f, gt_store_open(&f->store, ":memory:", GT_STORE_WRITE, &f->err));
    assert_int_equal(access(":memory:", F_OK), 0);
    close_store(f);
    OK(f, gt_store_open(&f->store, "file:x?mode=memory", GT_STORE_WRITE, &f->err));
    assert_int_equal(access("file:x?mode=memory", F_OK), 0);
    assert_int_equal(chdir(before), 0);
}

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
    close_store(f);
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

    close_store(f);
    make_version_1(f);
    fixture_reopen(f, GT_STORE_READ);
    OK(f, gt_store_rows(f->store, &(struct gt_row_filter){0}, collect, &text, &f->err));
    assert_string_equal(text.text, "G P=1 5 measured\nG P=2 4 predicted\n");
    close_store(f);
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

    close_store(f);
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

    close_store(f);
    unlink(f->path);
    make_version_1(f);
    fixture_reopen(f, GT_STORE_WRITE);
    close_store(f);
    run_sql(f, "DROP VIEW objective; DROP TABLE energy;"
               "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = replace(replace(replace("
               "sql, 'timing IN (0, 1, 2)', 'warm_l2 IN (0, 1)'), '-- 0 cold, 1 warm, 2 graph',"
               " '-- 1: operands left in L2'), 'timing', 'warm_l2'); PRAGMA user_version=6");
    run_sql(f, "UPDATE trial SET warm_l2 = 1 WHERE point = 'P=2'; DELETE FROM meta");
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
                     GT_EDB);
    assert_non_null(strstr(f->err.msg, "exists already")); /* the backup */
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_missing),
        TEST(test_not_a_database),
        TEST(test_of_another_program),
        TEST(test_of_a_newer_version),
        TEST(test_empty),
        TEST(test_damaged),
        TEST(test_cut_off),
        TEST(test_read_only),
        TEST(test_read_only_file_in_a_writable_folder),
        TEST(test_one_writer),
        TEST(test_one_writer_through_a_link),
        TEST(test_network_file_systems_by_name),
        TEST(test_a_path_is_only_a_path),
        TEST(test_from_version_1),
        TEST(test_reading_version_1),
        TEST(test_merging_version_1),
        TEST(test_from_version_6),
        TEST(test_migration),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
