/* test_store_jobs.c - the rows of a queue's job that have to be uploaded: the note of the job stays
 * until it is dropped, and a packed problem is whole, also on disks that are full or fail. */
#include "fault_vfs.h"
#include "store_fixture.h"

#define TRIALS  8
#define PROBLEM "256x128x64:f32:nn"

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

/* The trials of a packed problem, which is read as a file of these bytes alone. */
static int64_t trials_of(struct fixture *f, const struct gt_strbuf *bytes)
{
    char path[128];
    struct gt_store *store;
    struct fixture all = {0};
    int64_t count = -1, rows;
    FILE *file;

    snprintf(path, sizeof(path), "%s/packed.db", f->folder);
    file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes->text, 1, bytes->length, file), bytes->length);
    assert_int_equal(fclose(file), 0);
    OK(&all, gt_store_open(&store, path, GT_STORE_READ, &all.err)); /* with its digest */
    gt_store_close(store);
    snprintf(all.path, sizeof(all.path), "%s/all.db", f->folder);
    OK(&all, gt_store_open(&all.store, all.path, GT_STORE_WRITE, &all.err));
    OK(&all, gt_store_merge(all.store, path, &rows, &all.err));
    OK(&all, gt_store_merge(all.store, path, &rows, &all.err)); /* again: nothing changes */
    gt_store_integer(all.store, "SELECT count(*) FROM trial", &count, NULL);
    gt_store_close(all.store);
    unlink(all.path);
    return count;
}

static void fail_at_every_operation(struct fixture *f, enum fault_kind kind)
{
    bool reached = true;
    int failures = 0;

    for (long at = 1; reached; at++) {
        struct gt_strbuf bytes = GT_STRBUF_INIT;
        int64_t rows = 0;
        int rc;

        f->err = (struct gt_err){0};
        fault_plan(kind, at);
        rc = gt_store_pack_problem(f->store, PROBLEM, &bytes, &rows, &f->err);
        reached = fault.count >= at;
        fault_plan(GT_FAULT_NONE, 0);
        failures += rc != GT_OK;
        assert_int_equal(rc != GT_OK, *f->err.msg != '\0');
        assert_int_equal(rc ? 0 : trials_of(f, &bytes), rc ? 0 : TRIALS);
        gt_strbuf_release(&bytes);
    }
    print_message("%d operations failed\n", failures);
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

static void test_one_problem_is_packed(void **state)
{
    struct fixture *f = *state;
    const struct gt_trial trial = fixture_trial(20, 3);
    struct gt_strbuf bytes = GT_STRBUF_INIT, none = GT_STRBUF_INIT;
    struct gt_problem problem;
    int64_t rows = 0;

    put_trials(f);
    gt_problem_init(&problem, 512, 512, 512);
    OK(f, gt_store_problem(f->store, &problem, &f->key.problem, &f->err));
    OK(f, gt_store_trial_later(f->store, &f->key, &trial, &f->err)); /* pending */
    OK(f, gt_store_pack_problem(f->store, PROBLEM, &bytes, &rows, &f->err));
    assert_int_equal(rows, TRIALS);
    assert_int_equal(trials_of(f, &bytes), TRIALS);
    OK(f, gt_store_pack_problem(f->store, "it's none", &none, &rows, &f->err));
    assert_int_equal(rows, 0);
    assert_int_equal(trials_of(f, &none), 0);
    gt_strbuf_release(&none);
    gt_strbuf_reset(&bytes);
    OK(f, gt_store_pack_problem(f->store, "512x512x512:f32:nn", &bytes, &rows, &f->err));
    assert_int_equal(rows, 1);
    gt_strbuf_release(&bytes);
}

static void expect_note(struct fixture *f, const struct gt_store_job *expected)
{
    struct gt_store_job job;
    bool found;

    OK(f, gt_store_next_job(f->store, &job, &found, &f->err));
    assert_int_equal(found, expected != NULL);
    if (!expected)
        return;
    assert_string_equal(job.id, expected->id);
    assert_string_equal(job.worker, expected->worker);
    assert_string_equal(job.problem, expected->problem);
    assert_int_equal(job.ends, expected->ends);
}

/* Notes stay when the database is closed and written again; an exported copy has none. */
static void test_notes(void **state)
{
    struct fixture *f = *state;
    struct gt_store_job a = {"17", "host-1,2", PROBLEM, false}, b = {"4", "it's me", "x y", true};
    char copy[128];

    put_trials(f);
    expect_note(f, NULL);
    OK(f, gt_store_note_job(f->store, &a, &f->err));
    expect_note(f, &a);
    a.ends = true; /* in place of the first note */
    OK(f, gt_store_note_job(f->store, &a, &f->err));
    OK(f, gt_store_note_job(f->store, &b, &f->err));
    snprintf(copy, sizeof(copy), "%s/copy.db", f->folder);
    OK(f, gt_store_export(f->store, copy, &f->err));
    for (int i = 0; i < 2; i++) {
        gt_store_close(f->store);
        OK(f, gt_store_open(&f->store, f->path, GT_STORE_WRITE, &f->err));
    }
    expect_note(f, &a);
    OK(f, gt_store_drop_job(f->store, &a, &f->err));
    expect_note(f, &b);
    OK(f, gt_store_drop_job(f->store, &b, &f->err));
    /* What others may have written there is no note. */
    OK(f, gt_store_exec(f->store,
                        "INSERT INTO meta VALUES ('job 1;x,me', '1 x'), ('job x', '1 x'),"
                        " ('job 7,' || printf('%0200d', 1), '1 x'),"
                        " ('job ' || printf('%0100d', 1) || ',me', '1 x')",
                        &f->err));
    expect_note(f, NULL);
    gt_store_close(f->store);
    OK(f, gt_store_open(&f->store, copy, GT_STORE_WRITE, &f->err));
    expect_note(f, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_disk_full, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_io_errors, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_one_problem_is_packed, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test_setup_teardown(test_notes, fixture_setup, fixture_teardown),
    };

    fault_register();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
