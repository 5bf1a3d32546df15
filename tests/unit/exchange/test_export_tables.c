/* test_export_tables.c - the tables that others are made from: of comparisons (bench), of searches,
 * and of winners to ship, which keep rows of an earlier table. */
#include "export_fixture.h"

#include "base/digest.h"
#include "lookup/table.h"

static void put_comparison(struct fixture *f, const char *point, double us)
{
    const struct gt_comparison comparison = {.us = us,
                                             .lo_us = us,
                                             .hi_us = us,
                                             .err_u = 2,
                                             .baseline_us = 100,
                                             .copy_gbps = 1,
                                             .move_us = 19,
                                             .baseline_err_u = 1.5,
                                             .best_us = 95,
                                             .untuned = "simt BM=8,BN=4",
                                             .untuned_us = 80,
                                             .worse = true};

    f->key.point = point;
    OK(f, gt_store_put_comparison(f->store, &f->key, &comparison, &f->err));
}

/* Makes what was stored so far a minute older than what follows. */
static void grow_older(struct fixture *f)
{
    OK(f, gt_store_exec(f->store,
                        "UPDATE trial SET at = at - 60000; UPDATE comparison SET at = at - 60000;"
                        "UPDATE visit SET at = at - 60000",
                        &f->err));
}

/* The n-th comma-separated field of the text's second line; fields that hold no commas. */
static void expect_field(const char *text, int n, const char *expected)
{
    const char *at = strchr(text, '\n') + 1;

    while (n-- > 0)
        at = strchr(at, ',') + 1;
    if (strncmp(at, expected, strlen(expected)) != 0)
        fail_msg("%.40s... should begin with %s", at, expected);
}

static void test_bench_has_what_was_measured_last(void **state)
{
    struct fixture *f = *state;
    struct gt_trial trial = fixture_trial(90, 3);
    char *text;

    fixture_put(f, "BM=64", &trial);
    grow_older(f);
    put_comparison(f, "BM=64", 95);
    text = export_text(f, GT_EXPORT_BENCH, &winners);
    /* A, B and D, 256x64, 64x128 and 256x128 of 4 bytes, at 1 GB/s */
    assert_string_equal(
        text, "device,dtype,accuracy,layout,m,n,k,batch,kernel,point,us,lo_us,hi_us,"
              "cublas_us,ratio,err_u,l2,driver,nvrtc,date,problem,bound_us,memory,move_us,moved,"
              "cublas_err_u,err_above,best_us,best_ratio,untuned_us,untuned_ratio,worse_by_tuning,"
              "untuned\n"
              "NVIDIA Test,f32,strict,nn,256,128,64,1,simt,BM=64,95.000,95.000,"
              "95.000,100.000,1.0526,2,cold,13.0,13.0,DATE,256x128x64:f32:nn,229.376,2.4145,19.000,"
              "0.2000,1.5,1,95.000,1.0526,80.000,1.2500,1,\"simt BM=8,BN=4\"\n");
    free(text);
    grow_older(f);
    trial = fixture_trial(80, 3);
    fixture_put(f, "BM=32", &trial);
    text = export_text(f, GT_EXPORT_BENCH, &winners);
    expect_field(text, 9, "BM=32,80.000,");
    free(text);
    grow_older(f);
    put_comparison(f, "BM=64", 94);
    text = export_text(f, GT_EXPORT_BENCH, &winners);
    expect_field(text, 9, "BM=64,94.000,");
    free(text);
}

/* A later text of the template is no better for being later: it may have been taken back. */
static void test_only_current_kernels(void **state)
{
    struct fixture *f = *state;
    struct gt_kernel later = fixture_kernel((char *)"simt", "bbbb"),
                     now = fixture_kernel((char *)"simt", "aaaa"), *list[] = {&now};
    const struct gt_kernels kernels = {list, 1};
    const struct gt_row_filter current = {.winners_only = true, .kernels = &kernels};
    struct gt_trial trial = fixture_trial(90, 3);
    char *text;

    fixture_put(f, "BM=64", &trial);
    put_comparison(f, "BM=64", 95);
    grow_older(f);
    OK(f, gt_store_exec(f->store, "UPDATE kernel SET seen = seen - 60000", &f->err));
    OK(f, gt_store_kernel(f->store, &later, &f->key.kernel, &f->err));
    fixture_put(f, "BM=8", &trial);
    put_comparison(f, "BM=8", 96);
    for (enum gt_export_format format = GT_EXPORT_CSV; format <= GT_EXPORT_BENCH; format++) {
        if (format != GT_EXPORT_CSV && format != GT_EXPORT_BENCH)
            continue;
        text = export_text(f, format, &winners);
        expect_field(text, 9, "BM=8,");
        free(text);
        text = export_text(f, format, &current);
        expect_field(text, 9, "BM=64,");
        free(text);
    }
}

static void test_bench_of_some_problems(void **state)
{
    struct fixture *f = *state;
    struct gt_problem problem[3];
    struct gt_export_request request = {
        .format = GT_EXPORT_BENCH, .problem = problem, .problems = 3};
    char *text = NULL, *at;
    FILE *file;
    size_t size;
    int64_t rows;

    gt_problem_init(&problem[0], 512, 512, 512);
    gt_problem_init(&problem[1], 32, 32, 32); /* was never measured */
    gt_problem_init(&problem[2], 256, 128, 64);
    put_comparison(f, "BM=64", 95);
    OK(f, gt_store_problem(f->store, &problem[0], &f->key.problem, &f->err));
    put_comparison(f, "BM=32", 70);
    file = open_memstream(&text, &size);
    OK(f, gt_export(file, &request, f->store, &rows, &f->err));
    fclose(file);
    assert_int_equal(rows, 2);
    at = strstr(text, ",512,512,512,");
    assert_non_null(at);
    assert_non_null(strstr(at, ",256,128,64,"));
    free(text);
    request.format = GT_EXPORT_SEARCH;
    file = fopen("/dev/null", "w");
    assert_int_equal(gt_export(file, &request, f->store, NULL, &f->err), GT_ERANGE);
    fclose(file);
}

static void test_search(void **state)
{
    static const struct gt_improvement slow[] = {{1, 120, 2}, {4, 103, 30}},
                                       fast[] = {{2, 106, 1}, {3, 101, 9}, {8, 100, 70}};
    const struct gt_turn first = {.kernels = "simt",
                                  .strategy = "local",
                                  .seed = 7,
                                  .trials = 200,
                                  .seconds = 60,
                                  .race_s = 50,
                                  .busy_s = 25,
                                  .us = 104,
                                  .baseline_us = 110,
                                  .improvement = slow,
                                  .improvements = 2};
    const struct gt_turn second = {.kernels = "simt,gemv",
                                   .strategy = "auto",
                                   .seed = 8,
                                   .known = 200,
                                   .trials = 300,
                                   .seconds = 30,
                                   .race_s = 20,
                                   .busy_s = 18,
                                   .us = 102,
                                   .improvement = fast,
                                   .improvements = 3};
    struct fixture *f = *state;

    OK(f, gt_store_put_turn(f->store, &f->key, &first, &f->err));
    grow_older(f);
    OK(f, gt_store_put_turn(f->store, &f->key, &second, &f->err));
    expect_export(
        f, GT_EXPORT_SEARCH, &winners,
        "device,problem,kernels,strategy,seed,known,seconds,trials,us,cublas_us,race_us,best_us,"
        "s_5,s_2,s_1,trials_5,trials_2,trials_1,per_second,busy,l2,date\n"
        "NVIDIA Test,256x128x64:f32:nn,simt,local,7,0,60.0,200,104.000,110.000,103.000,100.000,"
        "4.0,,,30,,,4.0,0.50,cold,DATE\n"
        "NVIDIA Test,256x128x64:f32:nn,\"simt,gemv\",auto,8,200,30.0,300,102.000,,100.000,100.000,"
        "3.0,3.0,3.0,9,9,9,15.0,0.90,cold,DATE\n");
}

/* Makes the table one of a version without the columns of the contest. */
static void forget_contest(const char *path)
{
    struct gt_strbuf text = GT_STRBUF_INIT, old = GT_STRBUF_INIT;
    char digest[GT_DIGEST_HEX];
    struct gt_err err;
    FILE *file;

    assert_int_equal(gt_strbuf_add_file(&text, path, &err), GT_OK);
    strtok(text.text, "\n"); /* the digest */
    for (char *line; (line = strtok(NULL, "\n"));) {
        for (int i = 0; i < 2; i++)
            *strrchr(line, ',') = '\0';
        gt_strbuf_addf(&old, "%s\n", line);
    }
    gt_digest_bytes(old.text, old.length, digest);
    file = fopen(path, "w");
    fprintf(file, GT_TABLE_MAGIC "%s\n%s", digest, old.text);
    fclose(file);
    gt_strbuf_release(&text);
    gt_strbuf_release(&old);
}

/* An earlier table: one row of the problem that the database knows better, one of another, one of a
 * text of the kernel that is gone. */
static void test_shipped_keeps_rows(void **state)
{
    struct fixture *f = *state;
    struct gt_kernel now = fixture_kernel((char *)"simt", "aaaa"), *list[] = {&now};
    const struct gt_kernels kernels = {list, 1};
    struct gt_trial trial = fixture_trial(90, 3);
    struct gt_export_request request = {.format = GT_EXPORT_SHIPPED,
                                        .filter = {.winners_only = true, .kernels = &kernels}};
    struct gt_kernel gone = fixture_kernel((char *)"simt", "0000");
    struct gt_problem problem;
    struct gt_table table = {0};
    char old[128], new[128];
    int64_t rows;
    FILE *file;

    snprintf(old, sizeof(old), "%s/old.csv", f->folder);
    snprintf(new, sizeof(new), "%s/new.csv", f->folder);
    fixture_put(f, "BM=64", &trial);
    gt_problem_init(&problem, 32, 32, 32);
    OK(f, gt_store_problem(f->store, &problem, &f->key.problem, &f->err));
    fixture_put(f, "BM=32", &trial);
    gt_problem_init(&problem, 512, 512, 512);
    OK(f, gt_store_problem(f->store, &problem, &f->key.problem, &f->err));
    OK(f, gt_store_kernel(f->store, &gone, &f->key.kernel, &f->err));
    fixture_put(f, "BM=16", &trial);
    OK(f, gt_store_exec(f->store, "UPDATE kernel SET seen = 1", &f->err));
    file = fopen(old, "w");
    request.filter.kernels = &(struct gt_kernels){(struct gt_kernel *[]){&now, &gone}, 2};
    OK(f, gt_export(file, &request, f->store, &rows, &f->err));
    assert_int_equal(rows, 3);
    fclose(file);
    OK(f, gt_store_exec(f->store,
                        "DELETE FROM trial WHERE point <> 'BM=64'; UPDATE trial SET us = 89,"
                        " lo_us = 88",
                        &f->err));
    file = fopen(new, "w");
    request.filter.kernels = &kernels;
    request.keep = old;
    OK(f, gt_export(file, &request, f->store, &rows, &f->err));
    assert_int_equal(rows, 2);
    fclose(file);
    OK(f, gt_table_load(&table, new, &f->err));
    assert_int_equal(table.rows, 2);
    assert_string_equal(table.row[0].text, "256x128x64:f32:nn");
    assert_true(table.row[0].us == 89);
    assert_string_equal(table.row[1].text, "32x32x32:f32:nn");
    assert_true(table.row[1].us == 90);
    gt_table_release(&table);
    /* A row that won no final is added, and does not take the place of one that did.  The old table
     * is of a version that did not tell them apart. */
    OK(f, gt_store_exec(f->store, "UPDATE trial SET stage = 1", &f->err));
    forget_contest(old);
    file = fopen(new, "w");
    OK(f, gt_export(file, &request, f->store, &rows, &f->err));
    assert_int_equal(rows, 3);
    fclose(file);
    OK(f, gt_table_load(&table, new, &f->err));
    assert_int_equal(table.rows, 3);
    for (size_t i = 0; i < 3; i++)
        assert_true(table.row[i].contested == (table.row[i].us == 90));
    gt_table_release(&table);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_bench_has_what_was_measured_last),
        TEST(test_only_current_kernels),
        TEST(test_bench_of_some_problems),
        TEST(test_search),
        TEST(test_shipped_keeps_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
