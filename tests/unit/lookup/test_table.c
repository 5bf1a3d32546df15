/* test_table.c - deployed tables: loading, and that no single flipped bit, in a database or a text
 * table, ever gives a wrong row. */
#include "store_fixture.h"

#include "base/digest.h"
#include "lookup/table.h"
#include "exchange/export.h"
#include "whole.h"

#include <fcntl.h>
#include <locale.h>
#include <sys/stat.h>

/* A recording's winner says nothing of a device that is here: neither form of a table has it. */
static void add_replayed(struct fixture *f)
{
    struct gt_trial trial = fixture_trial(1, 3);

    trial.provenance = GT_REPLAYED;
    fixture_put(f, "BM=16,BN=16", &trial);
}

static void fill(struct fixture *f)
{
    struct gt_trial trial = fixture_trial(100, 3);
    struct gt_problem problem;

    fixture_put(f, "BM=64,BN=32", &trial);
    gt_problem_init(&problem, 512, 512, 512);
    OK(f, gt_store_problem(f->store, &problem, &f->key.problem, &f->err));
    trial = fixture_trial(7, 0);
    trial.provenance = GT_PREDICTED;
    fixture_put(f, "BM=32,BN=32", &trial);
    add_replayed(f);
}

/* Everything of a table's rows that a look-up uses. */
static char *describe(const struct gt_table *table)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    char problem[GT_PROBLEM_TEXT_MAX];

    for (const struct gt_table_row *row = table->row; row < table->row + table->rows; row++) {
        gt_problem_format(&row->problem, problem);
        gt_strbuf_addf(&text, "%s %s %s %s %s %s %d %d %d %a\n", problem, row->text, row->device,
                       row->kernel, row->signature, row->point, row->cc, row->predicted,
                       row->timing, row->us);
    }
    return gt_strbuf_detach(&text);
}

static char *load(const char *path, struct gt_err *err)
{
    struct gt_table table = {0};
    char *text = gt_table_load(&table, path, err) ? NULL : describe(&table);

    gt_table_release(&table);
    return text;
}

static char *export_text(struct fixture *f)
{
    const struct gt_row_filter winners = {.winners_only = true};
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    OK(f,
       gt_export(file, &(struct gt_export_request){.format = GT_EXPORT_SHIPPED, .filter = winners},
                 f->store, NULL, &f->err));
    fclose(file);
    return text;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void test_a_folder_of_tables(void **state)
{
    struct fixture *f = *state;
    char path[128], *text, *loaded;
    struct gt_table table = {0};

    fill(f);
    text = export_text(f);
    snprintf(path, sizeof(path), "%s/tables", f->folder);
    assert_int_equal(mkdir(path, 0755), 0);
    loaded = load(path, &f->err);
    assert_string_equal(loaded, ""); /* no table is no error */
    free(loaded);
    snprintf(path, sizeof(path), "%s/tables/a.csv", f->folder);
    write_file(path, text);
    snprintf(path, sizeof(path), "%s/tables/README", f->folder);
    write_file(path, "not a table");
    snprintf(path, sizeof(path), "%s/tables/b.db", f->folder);
    OK(f, gt_store_export(f->store, path, &f->err));
    snprintf(path, sizeof(path), "%s/tables", f->folder);
    OK(f, gt_table_load(&table, path, &f->err));
    assert_int_equal(table.rows, 4);
    assert_string_equal(table.row[0].point, table.row[2].point);
    assert_true(table.row[1].predicted && table.row[3].predicted);
    snprintf(path, sizeof(path), "%s/tables/c.csv", f->folder);
    write_file(path, "# gemmtune winners 1 0\n");
    snprintf(path, sizeof(path), "%s/tables", f->folder);
    assert_int_equal(gt_table_load(&table, path, &f->err), GT_EDB);
    assert_non_null(strstr(f->err.msg, "c.csv"));
    assert_int_equal(table.rows, 4); /* as it was */
    gt_table_release(&table);
    free(text);
}

/* Nobody writes into the pipe: a loader that opened it would wait for ever. */
static void test_a_pipe_in_a_folder(void **state)
{
    struct fixture *f = *state;
    char path[128];

    snprintf(path, sizeof(path), "%s/tables", f->folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/tables/a.csv", f->folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    snprintf(path, sizeof(path), "%s/tables", f->folder);
    alarm(60);
    assert_null(load(path, &f->err));
    alarm(0);
    assert_int_equal(f->err.code, GT_EDB);
    assert_non_null(strstr(f->err.msg, "a.csv: neither a file nor a folder"));
}

static void test_missing_and_foreign(void **state)
{
    struct fixture *f = *state;
    char path[128];

    snprintf(path, sizeof(path), "%s/none.csv", f->folder);
    assert_null(load(path, &f->err));
    assert_int_equal(f->err.code, GT_EDB);
    write_file(path, "");
    assert_null(load(path, &f->err));
    assert_int_equal(f->err.code, GT_ESTALE);
    write_file(path, "SQLite format 3 is not enough");
    assert_null(load(path, &f->err));
    assert_non_null(strstr(f->err.msg, path));
}

/* A body with a right digest, as who writes tables by hand might make it. */
static void expect_malformed(struct fixture *f, const char *body, int code, const char *words)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    struct gt_table table = {0};
    char digest[GT_DIGEST_HEX];

    gt_digest_bytes(body, strlen(body), digest);
    gt_strbuf_addf(&text, "%s%s\n%s", GT_TABLE_MAGIC, digest, body);
    assert_int_equal(gt_table_parse(&table, "t.csv", text.text, text.length, &f->err), code);
    if (!strstr(f->err.msg, words))
        fail_msg("'%s' should say '%s'", f->err.msg, words);
    assert_int_equal(table.rows, 0);
    gt_table_release(&table);
    gt_strbuf_release(&text);
}

static void test_malformed_text(void **state)
{
    static const char good[] = "90,measured,A,64x64x64:f32:nn,k,s,p,cold,5,4,6,0,3,1,1,d\n";
    struct fixture *f = *state;
    char body[512];

    expect_malformed(f, "", GT_ESTALE, "t.csv:2: the columns");
    expect_malformed(f, GT_TABLE_COLUMNS "\n90,measured\n", GT_EDB, "t.csv:3: not 16");
    snprintf(body, sizeof(body), GT_TABLE_COLUMNS "\n%s90,\"open\n", good);
    expect_malformed(f, body, GT_EDB, "t.csv:4: not 16");
    expect_malformed(f, GT_TABLE_COLUMNS "\n90,guessed,A,64x64x64,k,s,p,cold,5,4,6,0,3,1,1,d\n",
                     GT_EDB, "neither measured nor predicted: \"guessed\"");
    expect_malformed(f, GT_TABLE_COLUMNS "\n90,measured,A,64x64x64,k,s,p,tepid,5,4,6,0,3,1,1,d\n",
                     GT_EDB, "\"tepid\"");
    expect_malformed(f, GT_TABLE_COLUMNS "\nx,measured,A,64x64x64,k,s,p,cold,5,4,6,0,3,1,1,d\n",
                     GT_EDB, "no arch: \"x\"");
    expect_malformed(f, GT_TABLE_COLUMNS "\n4294967386,measured,A,64x64x64,k,s,p,cold,5,,,,,,,d\n",
                     GT_EDB, "no arch: \"4294967386\"");
    expect_malformed(f, GT_TABLE_COLUMNS "\n90,measured,A,64x64x64,k,s,p,cold,nan,4,6,0,3,1,1,d\n",
                     GT_EDB, "no number: \"nan\"");
    expect_malformed(f, GT_TABLE_COLUMNS "\n90,measured,A,64x64x64,k,s,p,cold,-5,4,6,0,3,1,1,d\n",
                     GT_EDB, "not above zero");
    expect_malformed(f, GT_TABLE_COLUMNS "\n90,measured,A,64x64x64,k,s,p,cold,5,4,6,-1,3,1,1,d\n",
                     GT_EDB, "less than nothing");
    expect_malformed(f, GT_TABLE_COLUMNS "\n90,measured,A,64xx64,k,s,p,cold,5,4,6,0,3,1,1,d\n",
                     GT_EDB, "t.csv");
}

/* A program may have set its locale; a table is written with points all the same. */
static void test_a_locale_with_a_decimal_comma(void **state)
{
    struct fixture *f = *state;
    char path[128], command[256], *text, *loaded;

    snprintf(command, sizeof(command), "localedef -i de_DE -f UTF-8 '%s/de_DE.UTF-8' >&2",
             f->folder);
    setenv("LOCPATH", f->folder, 1);
    if (system(command) != 0 || !setlocale(LC_NUMERIC, "de_DE.UTF-8"))
        skip(); /* this machine has no sources of locales */
    setlocale(LC_NUMERIC, "C");
    fill(f);
    text = export_text(f);
    snprintf(path, sizeof(path), "%s/t.csv", f->folder);
    write_file(path, text);
    setlocale(LC_NUMERIC, "de_DE.UTF-8");
    loaded = load(path, &f->err);
    setlocale(LC_NUMERIC, "C");
    if (!loaded)
        fail_msg("%s", f->err.msg);
    free(loaded);
    free(text);
}

static void test_every_flipped_bit_of_a_text_table_is_refused(void **state)
{
    struct fixture *f = *state;
    char *text;
    size_t length;

    fill(f);
    text = export_text(f);
    length = strlen(text);
    for (size_t bit = 0; bit < 8 * length; bit += (size_t)gt_whole(1, 11)) {
        struct gt_table table = {0};

        text[bit / 8] = (char)(text[bit / 8] ^ 1 << bit % 8);
        f->err.msg[0] = '\0';
        if (gt_table_parse(&table, "t.csv", text, length, &f->err) == GT_OK)
            fail_msg("bit %zu: accepted", bit);
        assert_true(*f->err.msg && !table.rows);
        gt_table_release(&table);
        text[bit / 8] = (char)(text[bit / 8] ^ 1 << bit % 8);
    }
    free(text);
}

/* Small pages, so that most bits mean something. */
static void make_small_export(struct fixture *f, const char *path)
{
    sqlite3 *db;

    gt_store_close(f->store);
    unlink(f->path);
    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA page_size=512; VACUUM", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    OK(f, gt_store_open(&f->store, f->path, GT_STORE_WRITE, &f->err));
    fixture_key(f);
    fill(f);
    OK(f, gt_store_export(f->store, path, &f->err));
}

struct flips {
    long refused, harmless;
};

/* One bit flipped in place: the rows are refused, or the same as `expected`. */
static void flip(const char *path, int file, long bit, const char *expected, struct flips *flips)
{
    struct gt_err err = {0};
    unsigned char byte, flipped;
    char *loaded;

    assert_int_equal(pread(file, &byte, 1, bit / 8), 1);
    flipped = byte ^ (unsigned char)(1 << bit % 8);
    assert_int_equal(pwrite(file, &flipped, 1, bit / 8), 1);
    loaded = load(path, &err);
    if (loaded && strcmp(loaded, expected) != 0)
        fail_msg("bit %ld: wrong rows:\n%s", bit, loaded);
    if (!loaded && !*err.msg)
        fail_msg("bit %ld: refused without a word", bit);
    flips->refused += !loaded;
    flips->harmless += loaded != NULL;
    free(loaded);
    assert_int_equal(pwrite(file, &byte, 1, bit / 8), 1);
}

static void test_no_flipped_bit_of_a_database_gives_a_wrong_row(void **state)
{
    struct fixture *f = *state;
    const char *all = getenv("GT_FLIP_ALL"); /* each bit */
    struct flips flips = {0, 0};
    struct stat status;
    char path[128], *expected;
    long bits, most, step = 1;
    int file;

    snprintf(path, sizeof(path), "%s/export.db", f->folder);
    make_small_export(f, path);
    assert_int_equal(stat(path, &status), 0);
    expected = load(path, &f->err);
    assert_non_null(expected);
    file = open(path, O_RDWR);
    bits = 8 * (long)status.st_size;
    /* A stride without a factor in common with the number of bits visits each of them once. */
    while (!all && (step < 10007 || bits % step == 0))
        step = step < 10007 ? 10007 : step + 2;
    most = all ? bits : gt_whole(6000, 600);
    for (long i = 0, bit = 0; i < bits && i < most; i++, bit = (bit + step) % bits)
        flip(path, file, bit, expected, &flips);
    close(file);
    print_message("%ld bits of %ld: %ld refused, %ld harmless\n", flips.refused + flips.harmless,
                  bits, flips.refused, flips.harmless);
    assert_true(flips.refused > 50 && flips.harmless > 50);
    free(expected);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_folder_of_tables),
        TEST(test_a_pipe_in_a_folder),
        TEST(test_missing_and_foreign),
        TEST(test_malformed_text),
        TEST(test_a_locale_with_a_decimal_comma),
        TEST(test_every_flipped_bit_of_a_text_table_is_refused),
        TEST(test_no_flipped_bit_of_a_database_gives_a_wrong_row),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
