/* test_store_memory.c - the tuning database when SQLite's own allocations fail: what was
 * acknowledged is there afterwards, and a reader never gives less than there is.  (The store's
 * allocations fail in test_store_nomem.c.) */
#include "store_run.h"
#include "whole.h"

/* SQLite's allocator, failing at the planned allocation (and, if `forever`, at all later ones). */
static struct {
    sqlite3_mem_methods real;
    long at, count;
    int forever;
} memory;

static int memory_due(void)
{
    memory.count++;
    return memory.at && (memory.forever ? memory.count >= memory.at : memory.count == memory.at);
}

static void *failing_malloc(int size)
{
    return memory_due() ? NULL : memory.real.xMalloc(size);
}

static void *failing_realloc(void *old, int size)
{
    return memory_due() ? NULL : memory.real.xRealloc(old, size);
}

static void test_sqlite_without_memory(void **state)
{
    struct fixture *f = *state;
    struct run run = {f->path, 0, TRIALS, -1, 0};
    const long steps = gt_whole(150, 30);
    int failures = 0;
    long total;

    fixture_close(f);
    remove_database(f);
    memory.count = 0;
    assert_int_equal(sweep(&run, &f->err), GT_OK);
    total = memory.count;
    for (long step = 0; step < steps; step++) {
        long at = 1 + step * total / steps;
        int code;

        remove_database(f);
        memory.count = 0;
        memory.forever = step % 2;
        memory.at = at;
        code = sweep(&run, &f->err);
        memory.at = 0;
        if (code && code != GT_ENOMEM && code != GT_EDB)
            fail_msg("allocation %ld: code %d: %s", at, code, f->err.msg);
        failures += code != GT_OK;
        expect_kept(f, run.done, at);
    }
    print_message("%d of %ld failed allocations were errors, out of %ld\n", failures, steps, total);
    assert_true(failures > steps / 3);
}

static int add_row(void *context, const struct gt_row *row, struct gt_err *err)
{
    gt_strbuf_addf(context, "%s %s %s %s %s\n", row->device, row->problem, row->kernel, row->point,
                   row->date);
    return gt_strbuf_check(context, err);
}

static int add_trial(void *context, const struct gt_named_trial *named, struct gt_err *err)
{
    gt_strbuf_addf(context, "%s %s %s %s %g\n", named->device, named->problem, named->kernel,
                   named->point, named->trial.us);
    return gt_strbuf_check(context, err);
}

static int add_turn(void *context, const struct gt_turn *turn, struct gt_err *err)
{
    gt_strbuf_addf(context, "%s %s %s %s\n", turn->device, turn->problem, turn->kernels,
                   turn->strategy);
    return gt_strbuf_check(context, err);
}

/* Everything that readers are given, as text. */
static int read_all(const char *path, struct gt_strbuf *text, struct gt_err *err)
{
    const struct gt_row_filter all = {0};
    struct gt_store *store;
    int code = gt_store_winners(path, add_row, text, err);

    if (code)
        return code;
    code = gt_store_open(&store, path, GT_STORE_READ, err);
    if (!code)
        code = gt_store_rows(store, &all, add_row, text, err);
    if (!code)
        code = gt_store_trials(store, &all, add_trial, text, err);
    if (!code)
        code = gt_store_turns(store, &all, add_turn, text, err);
    if (!code)
        code = gt_store_description(store, "simt", "aaaa", text, err);
    gt_store_close(store);
    return code;
}

typedef int reading(const char *path, struct gt_strbuf *text, struct gt_err *err);

static int read_winners(const char *path, struct gt_strbuf *text, struct gt_err *err)
{
    return gt_store_winners(path, add_row, text, err);
}

/* Reads while allocation after allocation fails, `step` apart but more of the `last` ones (with
 * WHOLE=1 each): it is an error, or nothing is missing. */
static void fail_in_turn(struct fixture *f, reading *read, long step, long last)
{
    struct gt_strbuf sound = GT_STRBUF_INIT, text = GT_STRBUF_INIT;
    int failures = 0;
    long total;

    memory.count = 0;
    OK(f, read(f->path, &sound, &f->err));
    total = memory.count;
    step = step ? step : 1 + total / gt_whole(80, 20);
    for (memory.at = 1; memory.at <= total;
         memory.at += memory.at < total - last ? step : gt_whole(1, 12)) {
        int code;

        memory.count = 0;
        memory.forever = 0;
        gt_strbuf_reset(&text);
        code = read(f->path, &text, &f->err);
        if (code && code != GT_ENOMEM)
            fail_msg("allocation %ld: code %d: %s", memory.at, code, f->err.msg);
        if (!code && strcmp(text.text, sound.text) != 0)
            fail_msg("allocation %ld of %ld: %zu bytes were read instead of %zu: ...%s", memory.at,
                     total, text.length, sound.length,
                     text.length > 80 ? text.text + text.length - 80 : text.text);
        failures += code != GT_OK;
    }
    memory.at = 0;
    print_message("%d of %ld failed allocations were errors\n", failures, total);
    assert_true(failures > 10);
    gt_strbuf_release(&sound);
    gt_strbuf_release(&text);
}

/* A reader without memory says so, and never gives less than there is. */
static void test_reading_without_memory(void **state)
{
    const struct gt_turn turn = {.kernels = "simt", .strategy = "auto", .trials = 1, .us = 3};
    struct fixture *f = *state;
    struct gt_trial trial = fixture_trial(50, 2);
    char point[1200];

    snprintf(point, sizeof(point), "BM=%01100d", 64); /* longer than what fits a row's own memory */
    fixture_put(f, point, &trial);
    fixture_put(f, "BM=32", &trial);
    OK(f, gt_store_put_turn(f->store, &f->key, &turn, &f->err));
    fixture_close(f);
    fail_in_turn(f, read_all, gt_whole(100, 900), 700);
}

/* An older database is brought forward in memory, whole or not at all. */
static void test_forwarding_without_memory(void **state)
{
    struct fixture *f = *state;
    struct gt_trial trial = fixture_trial(50, 2);

    fixture_put(f, "BM=32", &trial);
    fixture_close(f);
    fixture_sql(f, "DROP VIEW objective; DROP TABLE energy; DELETE FROM meta;"
                   "ALTER TABLE tie RENAME timing TO warm_l2; PRAGMA user_version=6");
    fail_in_turn(f, read_winners, 0, 0);
}

/* A database that was moved is saved, or it is said that it could not be. */
static void test_saving_without_memory(void **state)
{
    struct fixture *f = *state;
    char elsewhere[160];

    snprintf(elsewhere, sizeof(elsewhere), "%s.elsewhere", f->path);
    assert_int_equal(rename(f->path, elsewhere), 0);
    for (memory.at = 1; memory.at <= 400; memory.at += gt_whole(1, 7)) {
        memory.count = 0;
        memory.forever = memory.at % 2;
        f->store->moved = false;
        free(f->store->saved);
        f->store->saved = NULL;
        assert_int_equal(gt_store_check_moved(f->store, &f->err), GT_EDB);
        if (f->store->saved)
            unlink(f->store->saved);
    }
    memory.at = 0;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_sqlite_without_memory),
        TEST(test_reading_without_memory),
        TEST(test_forwarding_without_memory),
        TEST(test_saving_without_memory),
    };
    sqlite3_mem_methods failing;

    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &memory.real);
    failing = memory.real;
    failing.xMalloc = failing_malloc;
    failing.xRealloc = failing_realloc;
    sqlite3_config(SQLITE_CONFIG_MALLOC, &failing);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
