/* test_export.c - every export format: its bytes, what it refuses, and that its readers can read it
 * (a C compiler, a C++ compiler, the library's own loader). */
#include "store_fixture.h"

#include "base/digest.h"
#include "lookup/table.h"
#include "exchange/export.h"

#include <cjson/cJSON.h>

static const struct gt_row_filter winners = {.winners_only = true};
static const struct gt_row_filter measured = {.winners_only = true,
                                              .provenance = 1u << GT_MEASURED};

/* The export as one malloc'ed text; dates, which change, become DATE. */
static char *export_text(struct fixture *f, enum gt_export_format format,
                         const struct gt_row_filter *filter)
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    OK(f, gt_export(file, &(struct gt_export_request){.format = format, .filter = *filter},
                    f->store, NULL, &f->err));
    fclose(file);
    for (char *at = text; format != GT_EXPORT_SHIPPED && (at = strstr(at, "202")) != NULL; at++)
        if (strlen(at) >= 20 && at[4] == '-' && at[10] == 'T' && at[19] == 'Z') {
            memcpy(at, "DATE", 4);
            memmove(at + 4, at + 20, strlen(at + 20) + 1);
        }
    return text;
}

static void expect_export(struct fixture *f, enum gt_export_format format,
                          const struct gt_row_filter *filter, const char *expected)
{
    char *text = export_text(f, format, filter);

    assert_string_equal(text, expected);
    free(text);
}

/* A measured winner beside cuBLAS, and a problem that has only a prediction. */
static void fill(struct fixture *f)
{
    struct gt_trial trial = fixture_trial(100, 3);
    struct gt_baseline baseline = {.name = "cublasLt", .answers = 8, .us = 110};
    struct gt_problem problem;

    trial.hi_us = 101.5;
    fixture_put(f, "BM=64,BN=32", &trial);
    OK(f, gt_store_baseline(f->store, &f->key, &baseline, &f->err));
    gt_problem_init(&problem, 512, 512, 512);
    problem.epilogue = GT_EPILOGUE_RELU;
    OK(f, gt_store_problem(f->store, &problem, &f->key.problem, &f->err));
    trial = fixture_trial(7, 0);
    trial.provenance = GT_PREDICTED;
    fixture_put(f, "BM=32,BN=32", &trial);
}

static void test_csv(void **state)
{
    struct fixture *f = *state;

    fill(f);
    expect_export(f, GT_EXPORT_CSV, &measured,
                  "device,dtype,accuracy,layout,m,n,k,batch,kernel,point,us,lo_us,hi_us,cublas_us,"
                  "ratio,err_u,l2,driver,nvrtc,date,problem\n"
                  "NVIDIA Test,f32,strict,nn,256,128,64,1,simt,\"BM=64,BN=32\",100.000,99.000,"
                  "101.500,110.000,1.1000,3.5,cold,13.0,13.0,DATE,256x128x64:f32:nn\n");
    expect_export(f, GT_EXPORT_CSV, &winners,
                  "device,dtype,accuracy,layout,m,n,k,batch,kernel,point,us,lo_us,hi_us,cublas_us,"
                  "ratio,err_u,l2,driver,nvrtc,date,problem,status\n"
                  "NVIDIA Test,f32,strict,nn,256,128,64,1,simt,\"BM=64,BN=32\",100.000,99.000,"
                  "101.500,110.000,1.1000,3.5,cold,13.0,13.0,DATE,256x128x64:f32:nn,measured\n"
                  "NVIDIA Test,f32,strict,nn,512,512,512,1,simt,\"BM=32,BN=32\",7.000,,,"
                  ",,,cold,13.0,13.0,DATE,512x512x512:f32:nn:epi=relu,predicted\n");
}

static void test_csv_defuses_formulas(void **state)
{
    struct fixture *f = *state;
    struct gt_device device = fixture_device();
    struct gt_trial trial = fixture_trial(1, 1);
    char *text;

    snprintf(device.name, sizeof(device.name), "=cmd|' /C calc'!\"A0\"");
    OK(f, gt_store_device(f->store, &device, &f->key.device, &f->err));
    fixture_put(f, "BM=64", &trial);
    text = export_text(f, GT_EXPORT_CSV, &winners);
    assert_non_null(strstr(text, "\n\"'=cmd|' /C calc'!\"\"A0\"\"\",f32,"));
    free(text);
}

static void test_markdown_says_predicted_in_words(void **state)
{
    struct fixture *f = *state;
    char *text;

    fill(f);
    text = export_text(f, GT_EXPORT_MD, &winners);
    assert_non_null(strstr(text, "| NVIDIA Test | 256x128x64:f32:nn | simt | BM=64,BN=32 | 100.00 |"
                                 " 0.04 | 110.00 | 1.100 | 3.5 | cold | measured |\n"));
    assert_non_null(strstr(text, "| 7.00 | 38.35 | - | - | - | - | predicted, not measured |\n"));
    free(text);
}

static void test_json(void **state)
{
    struct fixture *f = *state;
    struct gt_trial trial = fixture_trial(0, 0);
    const cJSON *rows, *row;
    cJSON *root;
    char *text;

    fill(f);
    trial.status = GT_STATUS_FAULT;
    snprintf(trial.detail, sizeof(trial.detail), "bad \xff \"bytes\"\n\xc3\xa9");
    fixture_put(f, "BM=1,BN=1", &trial);
    text = export_text(f, GT_EXPORT_JSON, &(struct gt_row_filter){0});
    root = cJSON_Parse(text);
    assert_non_null(root);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(root, "format")), "gemmtune-rows");
    assert_int_equal(strlen(cJSON_GetStringValue(cJSON_GetObjectItem(root, "digest"))), 32);
    rows = cJSON_GetObjectItem(root, "rows");
    assert_int_equal(cJSON_GetArraySize(rows), 3);
    row = cJSON_GetArrayItem(rows, 1);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(row, "result")), "predicted");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(row, "problem")),
                        "512x512x512:f32:nn:epi=relu");
    assert_non_null(cJSON_GetObjectItem(row, "us"));
    assert_null(cJSON_GetObjectItem(row, "err_u")); /* nothing ran */
    row = cJSON_GetArrayItem(rows, 2);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(row, "status")), "fault");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(row, "detail")),
                        "bad ? \"bytes\"\n\xc3\xa9");
    cJSON_Delete(root);
    free(text);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void test_c_header_compiles_and_finds(void **state)
{
    static const char program[] =
        "#include \"winners.h\"\n"
        "int main(void)\n"
        "{\n"
        "    const struct gemmtune_winner *w =\n"
        "        gemmtune_find(90, \"f32\", \"strict\", \"nn\", 256, 128, 64, 1);\n"
        "    return w && w->measured && w->contested && w->ns == 100000 && !strcmp(w->kernel, "
        "\"simt\") &&\n"
        "                   !strcmp(w->param[1].name, \"BN\") && w->param[1].value == 32 &&\n"
        "                   !w->param[2].name &&\n"
        "                   !gemmtune_find(90, \"f32\", \"strict\", \"nn\", 512, 512, 512, 1) &&\n"
        "                   !gemmtune_winners[1].measured && !gemmtune_winners[1].plain\n"
        "               ? 0 : 1;\n"
        "}\n";
    static const char *const compile[] = {
        "cc -std=c11 -Wall -Wextra -Werror -o p p.c",
        "c++ -x c++ -std=c++17 -Wall -Wextra -Werror -o p p.c",
    };
    struct fixture *f = *state;
    char path[128], command[256], *text;

    fill(f);
    text = export_text(f, GT_EXPORT_C, &winners);
    snprintf(path, sizeof(path), "%s/winners.h", f->folder);
    write_file(path, text);
    free(text);
    snprintf(path, sizeof(path), "%s/p.c", f->folder);
    write_file(path, program);
    for (size_t i = 0; i < 2; i++) {
        snprintf(command, sizeof(command), "cd '%s' && %s && ./p", f->folder, compile[i]);
        assert_int_equal(system(command), 0);
    }
}

static void test_c_header_refuses_what_could_be_code(void **state)
{
    static const char *const points[] = {"BM=64\"}; int x", "BM=1;2", "BM", "1=2",
                                         "B M=1",           "BM=1,,"};
    struct fixture *f = *state;
    struct gt_trial trial = fixture_trial(1, 1);
    FILE *file = fopen("/dev/null", "w");

    for (size_t i = 0; i < sizeof(points) / sizeof(*points); i++) {
        trial.us *= 0.9; /* the newest is the winner */
        trial.lo_us = trial.us;
        fixture_put(f, points[i], &trial);
        assert_int_equal(
            gt_export(file, &(struct gt_export_request){.format = GT_EXPORT_C, .filter = winners},
                      f->store, NULL, &f->err),
            GT_ERANGE);
        assert_non_null(strstr(f->err.msg, points[i]));
    }
    fclose(file);
}

static void test_shipped_is_read_back(void **state)
{
    struct fixture *f = *state;
    struct gt_table table = {0};
    char *text;
    int64_t rows;
    FILE *null = fopen("/dev/null", "w");

    fill(f);
    text = export_text(f, GT_EXPORT_SHIPPED, &winners);
    OK(f, gt_table_parse(&table, "t.csv", text, strlen(text), &f->err));
    assert_int_equal(table.rows, 2);
    assert_string_equal(table.row[0].device, "NVIDIA Test");
    assert_string_equal(table.row[0].kernel, "simt");
    assert_string_equal(table.row[0].point, "BM=64,BN=32");
    assert_string_equal(table.row[0].signature, "aaaa");
    assert_true(table.row[0].us == 100 && !table.row[0].predicted && table.row[0].cc == 90);
    assert_true(table.row[0].contested && table.row[0].trials == 1);
    assert_true(table.row[1].us == 7 && table.row[1].predicted);
    assert_int_equal(table.row[1].problem.epilogue, GT_EPILOGUE_RELU);
    gt_table_release(&table);
    free(text);
    OK(f,
       gt_export(null, &(struct gt_export_request){.format = GT_EXPORT_SHIPPED, .filter = winners},
                 f->store, &rows, &f->err));
    assert_int_equal(rows, 2);
    fclose(null);
}

static void test_the_same_database_gives_the_same_bytes(void **state)
{
    struct fixture *f = *state;

    fill(f);
    for (int format = 0; format < GT_EXPORT_COUNT; format++) {
        /* The formats from here on hold one space. */
        const struct gt_row_filter *filter = format < GT_EXPORT_KT_CACHE ? &winners : &measured;
        char *once = export_text(f, format, filter), *again;

        fixture_reopen(f, GT_STORE_WRITE);
        again = export_text(f, format, filter);
        assert_string_equal(once, again);
        free(once);
        free(again);
    }
}

static void test_a_full_disk_is_reported(void **state)
{
    struct fixture *f = *state;
    FILE *full = fopen("/dev/full", "w");

    fill(f);
    assert_non_null(full);
    assert_int_equal(
        gt_export(full, &(struct gt_export_request){.format = GT_EXPORT_CSV, .filter = winners},
                  f->store, NULL, &f->err),
        GT_EIO);
    assert_non_null(strstr(f->err.msg, "No space left"));
    fclose(full);
}

static void test_names(void **state)
{
    enum gt_export_format format;
    struct fixture *f = *state;

    for (int i = 0; i < GT_EXPORT_COUNT; i++) {
        OK(f, gt_export_parse(gt_export_name(i), &format, &f->err));
        assert_int_equal(format, i);
    }
    assert_int_equal(gt_export_parse("xml", &format, &f->err), GT_ENOTFOUND);
}

/* ---- tables of measurements ---- */

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
        TEST(test_csv),
        TEST(test_csv_defuses_formulas),
        TEST(test_markdown_says_predicted_in_words),
        TEST(test_json),
        TEST(test_c_header_compiles_and_finds),
        TEST(test_c_header_refuses_what_could_be_code),
        TEST(test_shipped_is_read_back),
        TEST(test_the_same_database_gives_the_same_bytes),
        TEST(test_a_full_disk_is_reported),
        TEST(test_names),
        TEST(test_bench_has_what_was_measured_last),
        TEST(test_only_current_kernels),
        TEST(test_bench_of_some_problems),
        TEST(test_search),
        TEST(test_shipped_keeps_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
