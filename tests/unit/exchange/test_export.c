/* test_export.c - every export format: its bytes, what it refuses, and that its readers can read it
 * (a C compiler, a C++ compiler, the library's own loader). */
#include "export_fixture.h"

#include "lookup/table.h"

#include <cjson/cJSON.h>

static const struct gt_row_filter measured = {.winners_only = true,
                                              .provenance = 1u << GT_MEASURED};

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
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
