/* test_export_space.c - whole spaces for other tuners: every status mapped, the community's schemas
 * (where they lie beside the repository, ../shared/schemas or $GEMMTUNE_SCHEMAS) satisfied, and
 * what was written read back. */
#include "store_fixture.h"

#include <stdint.h>
#include <sys/stat.h>

#include "exchange/export.h"
#include "exchange/recording.h"

#include <cjson/cJSON.h>

static const struct gt_row_filter all = {0};

/* The export; malloc'ed. */
static char *export_text(struct fixture *f, enum gt_export_format format)
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    OK(f, gt_export(file, &(struct gt_export_request){.format = format, .filter = all}, f->store,
                    NULL, &f->err));
    fclose(file);
    return text;
}

/* One point of every status, P being the status; two with times. */
static void fill(struct fixture *f)
{
    for (int status = GT_STATUS_NONE + 1; status < GT_STATUS_COUNT; status++) {
        struct gt_trial trial = fixture_trial(1000.0 + status, 1);
        char point[32];

        trial.status = (enum gt_status)status;
        if (status != GT_STATUS_OK && status != GT_STATUS_SLOW) {
            trial.us = trial.lo_us = trial.hi_us = 0;
            trial.samples = 0;
        }
        trial.compile_ms = 100 + status;
        trial.prove_ms = 10;
        trial.time_ms = 5;
        snprintf(point, sizeof(point), "P=%d,Q=7", status);
        fixture_put(f, point, &trial);
    }
}

static void read_back(struct fixture *f, enum gt_export_format format,
                      struct gt_recording *recording)
{
    char *text = export_text(f, format), path[128];
    FILE *file;

    snprintf(path, sizeof(path), "%s/exported.json", f->folder);
    file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
    free(text);
    OK(f, gt_recording_load(recording, path, &f->err));
}

static void test_round_trip(void **state)
{
    static const enum gt_export_format format[] = {GT_EXPORT_KT_CACHE, GT_EXPORT_T4};
    struct fixture *f = *state;

    fill(f);
    for (int i = 0; i < 2; i++) {
        struct gt_recording recording;

        read_back(f, format[i], &recording);
        assert_string_equal(recording.device, "NVIDIA Test");
        assert_string_equal(recording.kernel->name, "simt");
        assert_string_equal(recording.problem, "256x128x64:f32:nn");
        assert_int_equal(recording.cc, 90);
        assert_false(recording.predicted);
        assert_int_equal(recording.kernel->params, 2);
        assert_int_equal(recording.points, GT_STATUS_COUNT - 1);
        for (size_t p = 0; p < recording.points; p++) {
            const struct gt_recorded *point = &recording.point[p];
            int64_t status = recording.kernel->param[0].value[recording.index[2 * p]];

            if (status == GT_STATUS_SLOW) /* its one run is a time */
                status = GT_STATUS_OK;
            assert_int_equal(point->status, status);
            assert_float_equal(point->compile_ms, 100 + p + 1, 1e-3);
            assert_float_equal(point->prove_ms, 10, 1e-5);
            assert_float_equal(point->time_ms, 5, 1e-5);
            assert_float_equal(point->us, status == GT_STATUS_OK ? 1000 + p + 1 : 0, 1e-3);
        }
        gt_recording_release(&recording);
    }
}

/* What other programs see of each status. */
static void test_statuses(void **state)
{
    static const struct {
        enum gt_status status;
        const char *kernel_tuner, *t4;
    } expected[] = {
        {GT_STATUS_OK, NULL, "correct"},
        {GT_STATUS_COMPILE_ERROR, "CompilationFailedConfig", "compile"},
        {GT_STATUS_COMPILE_TIMEOUT, "CompilationFailedConfig", "compile"},
        {GT_STATUS_COMPILE_CRASH, "CompilationFailedConfig", "compile"},
        {GT_STATUS_SPILLS, "InvalidConfig", "constraints"},
        {GT_STATUS_SERIALIZED, "InvalidConfig", "constraints"},
        {GT_STATUS_LAUNCH_INVALID, "InvalidConfig", "constraints"},
        {GT_STATUS_FAULT, "RuntimeFailedConfig", "runtime"},
        {GT_STATUS_TIMEOUT, "RuntimeFailedConfig", "timeout"},
        {GT_STATUS_WRONG, "RuntimeFailedConfig", "correctness"},
        {GT_STATUS_OOB_WRITE, "RuntimeFailedConfig", "correctness"},
        {GT_STATUS_NONDETERMINISTIC, "RuntimeFailedConfig", "correctness"},
        {GT_STATUS_SLOW, NULL, "correct"}, /* with the time of its first run */
        {GT_STATUS_DEVICE_LOST, "RuntimeFailedConfig", "runtime"},
        {GT_STATUS_KILLED, "RuntimeFailedConfig", "runtime"},
    };

    struct fixture *f = *state;
    cJSON *cache, *results;
    char *text;

    assert_int_equal(sizeof(expected) / sizeof(expected[0]), GT_STATUS_COUNT - 1); /* none */
    fill(f);
    text = export_text(f, GT_EXPORT_KT_CACHE);
    cache = cJSON_Parse(text);
    free(text);
    text = export_text(f, GT_EXPORT_T4);
    results = cJSON_Parse(text);
    free(text);
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        const enum gt_status status = expected[i].status;
        const cJSON *result =
            cJSON_GetArrayItem(cJSON_GetObjectItem(results, "results"), (int)status - 1);
        char point[16];
        const cJSON *entry;

        snprintf(point, sizeof(point), "%d,7", status);
        entry = cJSON_GetObjectItem(cJSON_GetObjectItem(cache, "cache"), point);
        assert_int_equal(cJSON_IsNumber(cJSON_GetObjectItem(entry, "time")),
                         !expected[i].kernel_tuner);
        if (expected[i].kernel_tuner)
            assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(entry, "__error__")),
                                expected[i].kernel_tuner);
        assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(result, "invalidity")),
                            expected[i].t4);
    }
    cJSON_Delete(cache);
    cJSON_Delete(results);
}

/* What Kernel Tuner and its readers ask of an entry. */
static void test_kernel_tuner_entry(void **state)
{
    struct fixture *f = *state;
    const cJSON *cache, *entry;
    char wrong[16], *text;
    cJSON *root;

    fill(f);
    text = export_text(f, GT_EXPORT_KT_CACHE);
    root = cJSON_Parse(text);
    assert_non_null(root);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(root, "schema_version")), "1.1.0");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(root, "objective")), "time");
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(root, "problem_size")), 3);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(root, "tune_params_keys")), 2);
    cache = cJSON_GetObjectItem(root, "cache");
    assert_int_equal(cJSON_GetArraySize(cache), GT_STATUS_COUNT - 1);
    for (entry = cache->child; entry; entry = entry->next) { /* what its schema requires */
        static const char *const number[] = {"compile_time", "verification_time", "benchmark_time",
                                             "strategy_time", "framework_time"};

        assert_true(cJSON_HasObjectItem(entry, "time"));
        assert_true(cJSON_IsString(cJSON_GetObjectItem(entry, "timestamp")));
        for (size_t i = 0; i < 5; i++)
            assert_true(cJSON_IsNumber(cJSON_GetObjectItem(entry, number[i])));
    }
    entry = cJSON_GetObjectItem(cache, "1,7");
    assert_float_equal(cJSON_GetNumberValue(cJSON_GetObjectItem(entry, "P")), 1, 0);
    assert_float_equal(cJSON_GetNumberValue(cJSON_GetObjectItem(entry, "time")), 1.001, 1e-9);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(entry, "times")), 3);
    assert_float_equal(cJSON_GetNumberValue(cJSON_GetObjectItem(entry, "GFLOP/s")),
                       2.0 * 256 * 128 * 64 / 1001 * 1e-3, 1e-6);
    assert_null(cJSON_GetObjectItem(entry, "gemmtune_status"));
    snprintf(wrong, sizeof(wrong), "%d,7", GT_STATUS_WRONG);
    entry = cJSON_GetObjectItem(cache, wrong);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(entry, "time")),
                        "RuntimeFailedConfig");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(entry, "gemmtune_status")),
                        "wrong");
    cJSON_Delete(root);
    free(text);
}

/* ---- the schemas ---- */

static bool has_type(const cJSON *value, const char *type)
{
    return strcmp(type, "object") == 0   ? cJSON_IsObject(value)
           : strcmp(type, "array") == 0  ? cJSON_IsArray(value)
           : strcmp(type, "string") == 0 ? cJSON_IsString(value)
           : strcmp(type, "number") == 0 ? cJSON_IsNumber(value)
                                         : false;
}

static void check(const cJSON *value, const cJSON *schema, const char *where);

static void check_type(const cJSON *value, const cJSON *type, const char *where)
{
    const cJSON *one;
    bool any = false;

    if (cJSON_IsString(type) && !has_type(value, type->valuestring))
        fail_msg("%s is no %s", where, type->valuestring);
    cJSON_ArrayForEach(one, type) any |= has_type(value, one->valuestring);
    if (cJSON_IsArray(type) && !any)
        fail_msg("%s is of no allowed type", where);
}

static void check_members(const cJSON *value, const cJSON *schema, const char *where)
{
    const cJSON *item;
    char inner[512];

    cJSON_ArrayForEach(item, cJSON_GetObjectItem(schema, "required"))
    {
        if (!cJSON_GetObjectItemCaseSensitive(value, item->valuestring))
            fail_msg("%s lacks %s", where, item->valuestring);
    }
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(schema, "properties"))
    {
        const cJSON *member = cJSON_GetObjectItemCaseSensitive(value, item->string);

        snprintf(inner, sizeof(inner), "%s.%s", where, item->string);
        if (member)
            check(member, item, inner);
    }
}

/* Of JSON Schema what the T4 schemas use, but "pattern". */
static void check(const cJSON *value, const cJSON *schema, const char *where)
{
    const cJSON *items = cJSON_GetObjectItem(schema, "items");
    const cJSON *allowed = cJSON_GetObjectItem(schema, "enum"), *item;
    bool any = false;

    check_type(value, cJSON_GetObjectItem(schema, "type"), where);
    if (cJSON_IsObject(value))
        check_members(value, schema, where);
    if (items)
        cJSON_ArrayForEach(item, value) check(item, items, where);
    cJSON_ArrayForEach(item, allowed) any |= cJSON_Compare(item, value, 1);
    if (allowed && !any)
        fail_msg("%s is not one of the allowed values", where);
}

static cJSON *schema(const char *name)
{
    const char *folder = getenv("GEMMTUNE_SCHEMAS");
    struct gt_strbuf text = GT_STRBUF_INIT;
    char path[512];
    cJSON *root = NULL;

    snprintf(path, sizeof(path), "%s/%s", folder ? folder : "../shared/schemas", name);
    if (gt_strbuf_add_file(&text, path, NULL) == GT_OK)
        root = cJSON_Parse(text.text);
    gt_strbuf_release(&text);
    return root;
}

static void test_schemas(void **state)
{
    struct fixture *f = *state;
    cJSON *results = schema("T4_results-schema_kernel_tuner_1.0.0.json"), *root;
    cJSON *metadata = schema("T4_metadata-schema_kernel_tuner_1.0.0.json");
    char *text;

    if (!results || !metadata) {
        cJSON_Delete(results);
        cJSON_Delete(metadata);
        print_message("# the schemas of T4 are not in ../shared/schemas\n");
        skip();
    }
    fill(f);
    text = export_text(f, GT_EXPORT_T4);
    root = cJSON_Parse(text);
    check(root, results, "results");
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(root, "results")), GT_STATUS_COUNT - 1);
    cJSON_Delete(root);
    free(text);
    text = export_text(f, GT_EXPORT_T4_METADATA);
    root = cJSON_Parse(text);
    check(root, metadata, "metadata");
    assert_non_null(strstr(text, "\"device_name\":\"NVIDIA Test\""));
    cJSON_Delete(root);
    free(text);
    cJSON_Delete(results);
    cJSON_Delete(metadata);
}

/* One file, one space. */
static void test_several_spaces(void **state)
{
    const struct gt_row_filter measured = {.provenance = 1u << GT_MEASURED};
    struct fixture *f = *state;
    struct gt_trial trial = fixture_trial(10, 1);
    FILE *null = fopen("/dev/null", "w");
    int64_t rows;

    assert_int_equal(gt_export(null,
                               &(struct gt_export_request){.format = GT_EXPORT_T4, .filter = all},
                               f->store, NULL, &f->err),
                     GT_ENOTFOUND);
    assert_string_equal(f->err.msg, "there is no trial to export");
    fixture_put(f, "P=1", &trial);
    trial.provenance = GT_PREDICTED;
    fixture_put(f, "P=1", &trial);
    assert_int_equal(
        gt_export(null, &(struct gt_export_request){.format = GT_EXPORT_KT_CACHE, .filter = all},
                  f->store, NULL, &f->err),
        GT_ERANGE);
    assert_non_null(strstr(f->err.msg, "measured on NVIDIA Test"));
    assert_non_null(strstr(f->err.msg, "predicted on NVIDIA Test"));
    assert_non_null(strstr(f->err.msg, "--kernel, --problem, --arch or --measured"));
    OK(f, gt_export(null,
                    &(struct gt_export_request){.format = GT_EXPORT_KT_CACHE, .filter = measured},
                    f->store, &rows, &f->err));
    assert_int_equal(rows, 1);
    fclose(null);
}

/* Which parameters no cubin depends on is in the kernel's description. */
static void test_launch_params(void **state)
{
    struct fixture *f = *state;
    struct gt_kernel kernel = fixture_kernel((char *)"described", "bbbb");
    struct gt_trial trial = fixture_trial(10, 1);
    struct gt_recording recording;
    char path[128], *text;
    FILE *file;

    snprintf(path, sizeof(path), "%s/described.json", f->folder);
    file = fopen(path, "w");
    fputs("{\"params\": [{\"name\": \"P\", \"kind\": \"compile\"}, {\"name\": \"Q\", \"kind\": "
          "\"launch\"}]}",
          file);
    fclose(file);
    kernel.path = path;
    OK(f, gt_store_kernel(f->store, &kernel, &f->key.kernel, &f->err));
    fixture_put(f, "P=1,Q=7", &trial);
    text = export_text(f, GT_EXPORT_KT_CACHE);
    assert_non_null(strstr(text, ",\"launch\":[\"Q\"]}"));
    free(text);
    read_back(f, GT_EXPORT_T4, &recording);
    assert_false(recording.kernel->param[0].launch);
    assert_true(recording.kernel->param[1].launch);
    gt_recording_release(&recording);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_round_trip), TEST(test_statuses),       TEST(test_kernel_tuner_entry),
        TEST(test_schemas),    TEST(test_several_spaces), TEST(test_launch_params),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
