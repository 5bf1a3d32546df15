/* test_store_large.c - databases of many trials: the winners that are read through the index are
 * those of the view `winner`; reading them takes a small part of the time that the view takes;
 * opening can be interrupted. */
#include "store_fixture.h"

#include <signal.h>
#include <time.h>

/* Devices of one name, problems, kernels of which one was replaced, trials of all kinds and ties,
 * made of a fixed sequence of numbers. */
static const char many_sql[] =
    "DELETE FROM meta;"
    "INSERT INTO device SELECT 100 + value, 'G' || (value %% 3), 'U' || value, 80 + value %% 2, "
    "13000,"
    " 0, 10, 1, 1, 1 FROM generate(6);"
    "INSERT INTO toolchain SELECT 100 + value, 1 + value FROM generate(2);"
    "INSERT INTO kernel SELECT 100 + value, 'k' || (value %% 3), 's' || value, '', '', value"
    " FROM generate(5);"
    "INSERT INTO problem SELECT 1000 + value, value || 'x8x8:f32:nn', 'f32', 'strict', 'nn', value,"
    " 8, 8, 1 FROM generate(%d);"
    "INSERT OR IGNORE INTO trial SELECT NULL, 101 + a %% 6, 101 + a / 7 %% 2, 101 + a / 11 %% 5,"
    " 1001 + a %% %d, 'P=' || a, a / 5 %% 3,"
    " CASE a / 17 %% 5 WHEN 0 THEN 'predicted' WHEN 1 THEN 'replayed' ELSE 'measured' END, 1,"
    " CASE WHEN a %% 13 = 0 THEN 'wrong' ELSE 'ok' END, a / 19 %% 4,"
    " 10 + (a %% 991) * %s, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, '', zeroblob(%d), 5"
    " FROM (SELECT value * 2654435761 %% 4294967291 AS a FROM generate(%d));"
    "INSERT OR IGNORE INTO tie SELECT device, problem, timing, k.name, point, t.id %% 2"
    " FROM trial AS t JOIN kernel AS k ON k.id = kernel WHERE t.id %% 7 = 0 AND status = 'ok'";

static void fill(struct fixture *f, int problems, int trials, const char *step_us, int sample_bytes)
{
    char *sql = sqlite3_mprintf(many_sql, problems, problems, step_us, sample_bytes, trials), *made;
    struct gt_strbuf text = GT_STRBUF_INIT;

    assert_non_null(sql);
    /* generate(N): 1 to N; SQLite's own table function is not built in everywhere. */
    for (const char *at = sql; *at; at++) {
        if (strncmp(at, "generate(", 9) == 0) {
            gt_strbuf_addf(&text,
                           "(WITH RECURSIVE c(value) AS (VALUES(1) UNION ALL SELECT value + 1"
                           " FROM c WHERE value < %d) SELECT value FROM c)",
                           atoi(at + 9));
            at = strchr(at, ')');
        } else {
            gt_strbuf_add_char(&text, *at);
        }
    }
    made = gt_strbuf_detach(&text);
    fixture_close(f);
    fixture_sql(f, made);
    free(made);
    sqlite3_free(sql);
}

static int collect(void *context, const struct gt_row *row, struct gt_err *err)
{
    (void)err;
    gt_strbuf_addf(context, "%s %d %s %d %d %s %s %s %.9g\n", row->device, row->cc, row->problem,
                   row->timing, row->provenance, row->kernel, row->uuid, row->point, row->us);
    return GT_OK;
}

static void add_view(struct gt_strbuf *text, sqlite3 *db, const char *where)
{
    char *sql = sqlite3_mprintf(
        "SELECT device, cc, problem, timing, provenance, kernel, uuid, point, us FROM winner"
        " WHERE %s ORDER BY device, cc, m, problem, timing, provenance = 'replayed'",
        where);
    sqlite3_stmt *s;

    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
    while (sqlite3_step(s) == SQLITE_ROW) {
        enum gt_provenance provenance;

        assert_true(gt_provenance_parse(&provenance, (const char *)sqlite3_column_text(s, 4)));
        gt_strbuf_addf(text, "%s %d %s %d %d %s %s %s %.9g\n", sqlite3_column_text(s, 0),
                       sqlite3_column_int(s, 1), sqlite3_column_text(s, 2),
                       sqlite3_column_int(s, 3), provenance, sqlite3_column_text(s, 5),
                       sqlite3_column_text(s, 6), sqlite3_column_text(s, 7),
                       sqlite3_column_double(s, 8));
    }
    sqlite3_finalize(s);
    sqlite3_free(sql);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The lines in the order of their letters: two winners of a problem, one replayed, have none. */
static char *sorted(struct gt_strbuf *text)
{
    struct gt_strbuf out = GT_STRBUF_INIT;
    char *line[4096], *rest = NULL;
    size_t lines = 0;

    for (char *at = strtok_r(text->text, "\n", &rest); at; at = strtok_r(NULL, "\n", &rest)) {
        assert_true(lines < 4096);
        line[lines++] = at;
    }
    qsort(line, lines, sizeof(*line), by_text);
    for (size_t i = 0; i < lines; i++)
        gt_strbuf_addf(&out, "%s\n", line[i]);
    gt_strbuf_release(text);
    return gt_strbuf_detach(&out);
}

static void test_winners_are_those_of_the_view(void **state)
{
    struct fixture *f = *state;
    const struct gt_row_filter filter[] = {
        {.winners_only = true},
        {.winners_only = true, .cc = 81},
        {.winners_only = true, .problem = "7x8x8:f32:nn"},
        {.winners_only = true, .provenance = 1u << GT_MEASURED},
    };
    const char *const where[] = {"true", "cc = 81", "problem = '7x8x8:f32:nn'",
                                 "provenance = 'measured'"};

    fill(f, 20, 6000, "0.001", 0);
    fixture_reopen(f, GT_STORE_READ);
    for (size_t i = 0; i < sizeof(where) / sizeof(*where); i++) {
        struct gt_strbuf ours = GT_STRBUF_INIT, theirs = GT_STRBUF_INIT;
        char *our_lines, *their_lines;

        OK(f, gt_store_rows(f->store, &filter[i], collect, &ours, &f->err));
        add_view(&theirs, f->store->db, where[i]);
        assert_true(ours.length > 0);
        our_lines = sorted(&ours);
        their_lines = sorted(&theirs);
        assert_string_equal(our_lines, their_lines);
        free(our_lines);
        free(their_lines);
    }
}

static int count_row(void *context, const struct gt_row *row, struct gt_err *err)
{
    (void)err;
    *(int64_t *)context += row->trials;
    return GT_OK;
}

static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A million trials took 12.7 s of a look-up that opened the database; the index takes a tenth. */
static void test_winners_are_read_through_the_index(void **state)
{
    struct fixture *f = *state;
    int64_t view, trials = 0;
    double begin, by_view, by_index;

    fill(f, 30, 60000, "0.1", 400);
    OK(f, gt_store_open(&f->store, f->path, GT_STORE_WRITE, &f->err)); /* which seals it */
    fixture_reopen(f, GT_STORE_READ);
    begin = cpu_seconds();
    OK(f, gt_store_integer(f->store, "SELECT count(*) FROM winner", &view, &f->err));
    by_view = cpu_seconds() - begin;
    begin = cpu_seconds();
    OK(f, gt_store_winners(f->path, count_row, &trials, &f->err));
    by_index = cpu_seconds() - begin;
    assert_true(view > 0 && trials > 10 * view);
    if (by_index > by_view / 2)
        fail_msg("%.3f s by the index, %.3f s by the view", by_index, by_view);
}

static void test_opening_is_interrupted(void **state)
{
    volatile sig_atomic_t signals = 0;
    struct fixture *f = *state;

    fill(f, 30, 20000, "0.1", 400);
    OK(f, gt_store_open_watched(&f->store, f->path, GT_STORE_WRITE, &signals, &f->err));
    fixture_close(f);
    signals = 1;
    assert_int_equal(gt_store_open_watched(&f->store, f->path, GT_STORE_WRITE, &signals, &f->err),
                     GT_EINTERRUPTED);
    assert_non_null(strstr(f->err.msg, "interrupted"));
    signals = 0;
    OK(f, gt_store_open_watched(&f->store, f->path, GT_STORE_WRITE, &signals, &f->err));
    signals = 1; /* what is written later is not interrupted */
    fixture_key(f);
    fixture_put(f, "BM=64", &(struct gt_trial){.status = GT_STATUS_SPILLS});
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_winners_are_those_of_the_view),
        TEST(test_winners_are_read_through_the_index),
        TEST(test_opening_is_interrupted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
