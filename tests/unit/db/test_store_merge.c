/* test_store_merge.c - the union of two databases; exported copies and what protects them. */
#include "store_fixture.h"

#include <sys/stat.h>

/* Rows of a database as "problem point status us ties", one a line. */
static int collect(void *context, const struct gt_row *row, struct gt_err *err)
{
    (void)err;
    gt_strbuf_addf(context, "%s %s %s %g %g\n", row->problem, row->point,
                   gt_status_name(row->status), row->us, row->baseline_us);
    if (row->baseline_us == 77 && strcmp(row->baseline, "theirs") == 0)
        assert_string_equal(row->algo, "13.0.0 0 7");
    return GT_OK;
}

/* The fixture's second database, "<folder>/other.db", filled by `fill`. */
static void make_other(struct fixture *f, char path[128], void (*fill)(struct fixture *other))
{
    struct fixture other = {0};
    struct gt_kernel extra = fixture_kernel((char *)"extra", "cccc");
    int64_t id;

    snprintf(path, 128, "%s/other.db", f->folder);
    snprintf(other.path, sizeof(other.path), "%s", path);
    OK(&other, gt_store_open(&other.store, path, GT_STORE_WRITE, &other.err));
    OK(&other, gt_store_kernel(other.store, &extra, &id, &other.err)); /* ids differ from ours */
    fixture_key(&other);
    fill(&other);
    gt_store_close(other.store);
}

static void expect_rows(struct fixture *f, const char *expected)
{
    struct gt_row_filter everything = {0};
    struct gt_strbuf text = GT_STRBUF_INIT;

    OK(f, gt_store_rows(f->store, &everything, collect, &text, &f->err));
    assert_string_equal(text.text, expected);
    gt_strbuf_release(&text);
}

static void fill_disputed(struct fixture *other)
{
    struct gt_trial trial = fixture_trial(30, 1);
    struct gt_baseline baseline = {.name = "theirs", .algo = "13.0.0 0 7", .answers = 1, .us = 77};
    struct gt_problem problem;

    fixture_put(other, "shallow", &trial);
    trial = fixture_trial(31, 3);
    fixture_put(other, "deep", &trial);
    trial = fixture_trial(32, 2);
    fixture_put(other, "same", &trial);
    trial = fixture_trial(33, 0);
    trial.status = GT_STATUS_WRONG;
    fixture_put(other, "wrong", &trial);
    OK(other, gt_store_baseline(other->store, &other->key, &baseline, &other->err));
    gt_problem_init(&problem, 512, 512, 512);
    OK(other, gt_store_problem(other->store, &problem, &other->key.problem, &other->err));
    trial = fixture_trial(34, 1);
    fixture_put(other, "new", &trial);
}

static void test_merge_rules(void **state)
{
    struct fixture *f = *state;
    struct gt_trial trial = fixture_trial(50, 2);
    char path[128];
    int64_t rows;

    fixture_put(f, "shallow", &trial);
    fixture_put(f, "deep", &trial);
    fixture_put(f, "same", &trial);
    fixture_put(f, "wrong", &trial);
    fixture_put(f, "ours", &trial);
    usleep(3000);
    make_other(f, path, fill_disputed);
    OK(f, gt_store_merge(f->store, path, &rows, &f->err));
    assert_int_equal(rows, 4); /* deep, same (newer), wrong (evidence of a fault), new */
    expect_rows(f, "256x128x64:f32:nn deep ok 31 77\n256x128x64:f32:nn same ok 32 77\n"
                   "256x128x64:f32:nn ours ok 50 77\n256x128x64:f32:nn shallow ok 50 77\n"
                   "256x128x64:f32:nn wrong wrong 33 77\n512x512x512:f32:nn new ok 34 0\n");
    OK(f, gt_store_merge(f->store, path, &rows, &f->err));
    assert_int_equal(rows, 0);
}

static void fill_words(struct fixture *other)
{
    const struct gt_trial trial = fixture_trial(30, 3);
    struct gt_problem problem;

    OK(other, gt_problem_parse(
                  &problem, "512x128x256:e4m3:nt:b=e5m2:scale_a=1x128:scale_b=128x128/mn:groups=4",
                  &other->err));
    OK(other, gt_store_problem(other->store, &problem, &other->key.problem, &other->err));
    fixture_put(other, "words", &trial);
}

/* What is searched for in problems has columns, also in a database that got the problem from
 * another one. */
static void test_merge_words(void **state)
{
    static const char query[] =
        "SELECT count(*) FROM winner WHERE (type_b, scale_a, scale_b, groups)"
        " = ('e5m2', '1x128', '128x128/mn', 4)";
    struct fixture *f = *state;
    char path[128];
    int64_t rows;

    make_other(f, path, fill_words);
    OK(f, gt_store_integer(f->store, query, &rows, &f->err));
    assert_int_equal(rows, 0);
    OK(f, gt_store_merge(f->store, path, &rows, &f->err));
    OK(f, gt_store_integer(f->store, query, &rows, &f->err));
    assert_int_equal(rows, 1);
}

/* Times in which no device computes the problem, and those in which one may: 2048^3 in FP32 takes
 * 132 multiprocessors 169 us at 3 GHz. */
static void fill_impossible(struct fixture *other)
{
    struct gt_trial trial = fixture_trial(30, 3);
    struct gt_baseline baseline = {.name = "theirs", .answers = 1, .us = 0.02};
    struct gt_problem problem;

    fixture_put(other, "true", &trial);
    trial = fixture_trial(0.01, 3);
    fixture_put(other, "no launch", &trial);
    trial.provenance = GT_REPLAYED;
    fixture_put(other, "replayed", &trial);
    trial.provenance = GT_MEASURED;
    trial.status = GT_STATUS_WRONG;
    fixture_put(other, "wrong", &trial);
    OK(other, gt_store_baseline(other->store, &other->key, &baseline, &other->err));
    gt_problem_init(&problem, 2048, 2048, 2048);
    OK(other, gt_store_problem(other->store, &problem, &other->key.problem, &other->err));
    trial = fixture_trial(160, 3);
    fixture_put(other, "too fast", &trial);
    trial = fixture_trial(180, 3);
    fixture_put(other, "fast", &trial);
}

static void test_merged_times_are_judged(void **state)
{
    struct fixture *f = *state;
    char path[128];
    int64_t rows, refused, dated, ahead;

    make_other(f, path, fill_impossible);
    fixture_close(f);
    snprintf(f->path, sizeof(f->path), "%s", path);
    fixture_sql(f, "DELETE FROM meta; UPDATE trial SET at = at + 315360000000 WHERE point = 'true';"
                   "INSERT INTO trial SELECT NULL, device, toolchain, kernel, problem, 'tiny',"
                   " timing, 'predicted', sweep, status, stage, 1e-100, 0, 0, err_u, registers,"
                   " spill_bytes, static_shared, shared_bytes, workspace_bytes, clock_mhz,"
                   " compile_ms, prove_ms, time_ms, varies, detail, samples, at FROM trial"
                   " WHERE point = 'true'");
    snprintf(f->path, sizeof(f->path), "%s/t.db", f->folder);
    fixture_reopen(f, GT_STORE_WRITE);
    OK(f, gt_store_merge(f->store, path, &rows, &f->err));
    gt_store_merge_doubts(f->store, &refused, &dated);
    assert_int_equal(refused, 4); /* too fast, no launch, tiny and the baseline */
    assert_int_equal(dated, 1);   /* true; tiny has none */
    assert_int_equal(rows, 4);
    expect_rows(f, "256x128x64:f32:nn true ok 30 0\n256x128x64:f32:nn replayed ok 0.01 0\n"
                   "256x128x64:f32:nn wrong wrong 0.01 0\n"
                   "2048x2048x2048:f32:nn fast ok 180 0\n");
    OK(f, gt_store_integer(f->store,
                           "SELECT count(*) FROM trial WHERE at > 1000 * (strftime('%s') + 2)",
                           &ahead, &f->err));
    assert_int_equal(ahead, 0);
}

/* A comparison of "deep" and a visit with two improvements. */
static void fill_tables(struct fixture *other)
{
    static const struct gt_improvement improvement[] = {{1, 40, 1}, {2, 30, 5}};
    const struct gt_turn visit = {.kernels = "simt",
                                  .strategy = "auto",
                                  .seed = 3,
                                  .trials = 9,
                                  .improvement = improvement,
                                  .improvements = 2};
    const struct gt_comparison comparison = {.us = 31,
                                             .lo_us = 31,
                                             .hi_us = 31,
                                             .err_u = 1,
                                             .baseline_us = 77,
                                             .move_us = 9,
                                             .baseline_err_u = 2,
                                             .best_us = 31,
                                             .untuned = "simt BM=8",
                                             .untuned_us = 30,
                                             .worse = true};

    other->key.point = "deep";
    OK(other, gt_store_put_comparison(other->store, &other->key, &comparison, &other->err));
    OK(other, gt_store_put_turn(other->store, &other->key, &visit, &other->err));
}

static int collect_compared(void *context, const struct gt_row *row,
                            const struct gt_comparison *with, struct gt_err *err)
{
    gt_strbuf_addf(context, "%s, %g %g %g %g %d: ", with->untuned, with->untuned_us, with->best_us,
                   with->baseline_err_u, with->move_us, with->worse);
    return collect(context, row, err);
}

static int collect_visit(void *context, const struct gt_turn *visit, struct gt_err *err)
{
    (void)err;
    gt_strbuf_addf(context, "%s %s %zu %g\n", visit->problem, visit->strategy, visit->improvements,
                   visit->best_us);
    return GT_OK;
}

static void test_merge_of_tables(void **state)
{
    const struct gt_comparison older = {
        .us = 50, .lo_us = 50, .hi_us = 50, .err_u = 1, .baseline_us = 80};
    const struct gt_row_filter everything = {0};
    struct fixture *f = *state;
    struct gt_strbuf text = GT_STRBUF_INIT;
    char path[128];
    int64_t rows;

    f->key.point = "deep";
    OK(f, gt_store_put_comparison(f->store, &f->key, &older, &f->err));
    usleep(3000);
    make_other(f, path, fill_tables);
    for (int time = 0; time < 2; time++)
        OK(f, gt_store_merge(f->store, path, &rows, &f->err));
    OK(f, gt_store_compared(f->store, &everything, collect_compared, &text, &f->err));
    OK(f, gt_store_turns(f->store, &everything, collect_visit, &text, &f->err));
    assert_string_equal(text.text, "simt BM=8, 30 31 2 9 1: 256x128x64:f32:nn deep ok 31 77\n"
                                   "256x128x64:f32:nn auto 2 30\n");
    gt_strbuf_release(&text);
}

static void test_merge_refusals(void **state)
{
    struct fixture *f = *state;
    char path[128];
    int64_t rows;

    assert_int_equal(gt_store_merge(f->store, f->path, &rows, &f->err), GT_ERANGE);
    assert_non_null(strstr(f->err.msg, "itself"));
    snprintf(path, sizeof(path), "%s/none.db", f->folder);
    assert_int_equal(gt_store_merge(f->store, path, &rows, &f->err), GT_EDB);
    expect_rows(f, "");
}

/* What a reader of the copy would refuse must not come in by a merge either. */
static void test_a_changed_export_is_not_merged(void **state)
{
    struct fixture *f = *state;
    char other[128], path[128];
    struct gt_store *store;
    sqlite3 *db;
    int64_t rows;

    make_other(f, other, fill_disputed);
    snprintf(path, sizeof(path), "%s/export.db", f->folder);
    OK(f, gt_store_open(&store, other, GT_STORE_READ, &f->err));
    OK(f, gt_store_export(store, path, &f->err));
    gt_store_close(store);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db, "UPDATE trial SET us = 3.4, lo_us = 3 WHERE us = 34", NULL, NULL, NULL),
        0);
    assert_int_equal(sqlite3_changes(db), 1);
    sqlite3_close(db);
    assert_int_equal(gt_store_merge(f->store, path, &rows, &f->err), GT_EDB);
    assert_non_null(strstr(f->err.msg, "do not match its digest"));
    expect_rows(f, "");
    unlink(path);
    OK(f, gt_store_open(&store, other, GT_STORE_READ, &f->err));
    OK(f, gt_store_export(store, path, &f->err));
    gt_store_close(store);
    OK(f, gt_store_merge(f->store, path, &rows, &f->err));
    assert_int_equal(rows, 5);
}

static void test_export_holds_the_winners(void **state)
{
    struct fixture *f = *state;
    struct gt_strbuf text = GT_STRBUF_INIT;
    struct gt_trial trial = fixture_trial(50, 2);
    char path[128];
    struct stat status;

    fixture_put(f, "slower", &trial);
    trial = fixture_trial(40, 2);
    fixture_put(f, "faster", &trial);
    snprintf(path, sizeof(path), "%s/export?#%%.db", f->folder);
    OK(f, gt_store_export(f->store, path, &f->err));
    OK(f, gt_store_winners(path, collect, &text, &f->err));
    assert_string_equal(text.text, "256x128x64:f32:nn faster ok 40 0\n");
    assert_int_equal(gt_store_export(f->store, path, &f->err), GT_EIO);
    assert_non_null(strstr(f->err.msg, "exists already"));
    gt_strbuf_reset(&text);
    OK(f, gt_store_winners(f->path, collect, &text, &f->err)); /* a live database, being written */
    assert_string_equal(text.text, "256x128x64:f32:nn faster ok 40 0\n");
    gt_strbuf_add(&text, path);
    gt_strbuf_add(&text, "-wal");
    assert_int_not_equal(stat(text.text, &status), 0);
    gt_strbuf_release(&text);
}

static void test_an_export_changed_by_hand_is_refused(void **state)
{
    struct fixture *f = *state;
    struct gt_strbuf text = GT_STRBUF_INIT;
    struct gt_trial trial = fixture_trial(50, 2);
    struct gt_store *again;
    char path[128];
    sqlite3 *db;

    fixture_put(f, "slower", &trial);
    snprintf(path, sizeof(path), "%s/export.db", f->folder);
    OK(f, gt_store_export(f->store, path, &f->err));
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "UPDATE trial SET us = 51, hi_us = 60", NULL, NULL, NULL), 0);
    sqlite3_close(db);
    assert_int_equal(gt_store_winners(path, collect, &text, &f->err), GT_EDB);
    assert_non_null(strstr(f->err.msg, "do not match its digest"));
    /* Nobody writes into it either, because that would end with a digest of what is damaged. */
    assert_int_equal(gt_store_open(&again, path, GT_STORE_READ, &f->err), GT_EDB);
    assert_int_equal(gt_store_open(&again, path, GT_STORE_WRITE, &f->err), GT_EDB);
    assert_non_null(strstr(f->err.msg, "DELETE FROM meta"));
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "DELETE FROM meta", NULL, NULL, NULL), 0);
    sqlite3_close(db);
    OK(f, gt_store_open(&again, path, GT_STORE_WRITE, &f->err));
    gt_store_close(again);
    OK(f, gt_store_winners(path, collect, &text, &f->err));
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE stowaway (x)", NULL, NULL, NULL), 0);
    sqlite3_close(db);
    assert_int_equal(gt_store_winners(path, collect, &text, &f->err), GT_EDB);
    assert_non_null(strstr(f->err.msg, "tables of a gemmtune database"));
    gt_strbuf_release(&text);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_merge_rules),
        TEST(test_merge_words),
        TEST(test_merged_times_are_judged),
        TEST(test_merge_of_tables),
        TEST(test_merge_refusals),
        TEST(test_a_changed_export_is_not_merged),
        TEST(test_export_holds_the_winners),
        TEST(test_an_export_changed_by_hand_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
