/* test_store_nomem.c - store, exports, tables and look-ups when memory runs out: whichever of their
 * allocations fails, the answer is GT_ENOMEM with its sentence, and nothing is lost or leaks.
 * (SQLite's own allocations fail in test_store_memory.c.) */
#include "store_fixture.h"

#include "lookup/table.h"
#include "exchange/export.h"
#include "failmalloc.h"

#include <stdlib.h>

/* What the actions below work on; made once. */
static struct {
    struct fixture *f;
    char data[96], text[128], copy[128], other[128];
    int number; /* of the next file to write */
} at;

static int do_open(struct gt_err *err)
{
    struct gt_store *store;
    int code = gt_store_open(&store, at.other, GT_STORE_WRITE, err);

    if (!code) {
        store->seal = NULL; /* closing keeps its failure to itself */
        code = gt_store_seal(store, err);
    }
    gt_store_close(store);
    return code;
}

static int do_write(struct gt_err *err)
{
    struct gt_kernel kernel = fixture_kernel((char *)"simt", "aaaa");
    const struct gt_comparison comparison = {.us = 50,
                                             .lo_us = 49,
                                             .hi_us = 51,
                                             .err_u = 1,
                                             .baseline_us = 60,
                                             .copy_gbps = 4000,
                                             .move_us = 20};
    const struct gt_improvement improvement = {1, 50, 1};
    const struct gt_turn visit = {
        .kernels = "simt", .strategy = "auto", .improvement = &improvement, .improvements = 1};
    struct gt_trial trial = fixture_trial(50, 1);
    struct gt_store *store = at.f->store;
    int64_t id;
    int code;

    kernel.path = at.text; /* any file: its text is kept */
    code = gt_store_kernel(store, &kernel, &id, err);
    if (!code)
        code = gt_store_attempt(store, &at.f->key, err);
    if (!code)
        code = gt_store_trial(store, &at.f->key, &trial, err);
    if (!code)
        code = gt_store_put_comparison(store, &at.f->key, &comparison, err);
    return code ? code : gt_store_put_turn(store, &at.f->key, &visit, err);
}

static int do_merge(struct gt_err *err)
{
    int64_t rows;

    return gt_store_merge(at.f->store, at.other, &rows, err);
}

static int do_copy(struct gt_err *err)
{
    char path[160];

    snprintf(path, sizeof(path), "%s.%d", at.copy, at.number++);
    return gt_store_export(at.f->store, path, err);
}

static int do_exports(struct gt_err *err)
{
    struct gt_kernel kernel = fixture_kernel((char *)"simt", "aaaa"), *list[] = {&kernel};
    const struct gt_kernels kernels = {list, 1};
    const struct gt_row_filter filter = {.winners_only = true, .kernels = &kernels};
    int code = GT_OK;

    for (int format = 0; !code && format < GT_EXPORT_COUNT; format++) {
        FILE *file = fopen("/dev/null", "w");

        code = gt_export(file,
                         &(struct gt_export_request){.format = (enum gt_export_format)format,
                                                     .filter = filter,
                                                     .keep = at.text},
                         at.f->store, NULL, err);
        fclose(file);
    }
    return code;
}

static int do_tables(struct gt_err *err)
{
    struct gt_table table = {0};
    int code = gt_table_load(&table, at.text, err);

    if (!code)
        code = gt_table_load(&table, at.f->path, err);
    gt_table_release(&table);
    return code;
}

static int do_lookup(struct gt_err *err)
{
    const struct gt_options options = {
        .user_db = at.f->path, .system_db = at.text, .data_dir = at.data, .cubin_dir = at.data};
    const struct gt_answer *answer;
    struct gt_problem problem;
    struct gt *gt;
    int code = gt_open(&gt, &options, err);

    for (int i = 0; !code && i < 3; i++) {
        gt_problem_init(&problem, 64 + 4 * i, 64, 64);
        code = gt_lookup(gt, 86, NULL, &problem, &answer, err);
    }
    gt_close(gt);
    return code;
}

static void test_every_allocation(void **state)
{
    (void)state;
    gt_failmalloc_every("open", do_open, 2);
    gt_failmalloc_every("write", do_write, 1);
    gt_failmalloc_every("merge", do_merge, 3);
    gt_failmalloc_every("copy", do_copy, 1);
    gt_failmalloc_every("exports", do_exports, 50);
    gt_failmalloc_every("tables", do_tables, 5);
    gt_failmalloc_every("lookup", do_lookup, 100);
}

/* A data folder with the unit tests' kernel; a text table and a second database beside the first.
 */
static int setup(void **state)
{
    const struct gt_row_filter winners = {.winners_only = true};
    struct gt_trial trial = fixture_trial(50, 1);
    char command[512];
    struct fixture *f;
    FILE *file;

    if (fixture_setup(state))
        return -1;
    f = at.f = *state;
    snprintf(at.data, sizeof(at.data), "%s/data", f->folder);
    snprintf(at.text, sizeof(at.text), "%s/t.csv", f->folder);
    snprintf(at.copy, sizeof(at.copy), "%s/copy", f->folder);
    snprintf(at.other, sizeof(at.other), "%s/other.db", f->folder);
    snprintf(
        command, sizeof(command),
        "r=$PWD && mkdir -p '%s/configs' && cd '%s' && ln -s \"$r/tests/unit/data/templates\" . &&"
        " ln -s \"$r/tests/unit/data/configs/kernels\" \"$r/configs/devices\" configs",
        at.data, at.data);
    assert_int_equal(system(command), 0);
    fixture_put(f, "BM=64", &trial);
    file = fopen(at.text, "w");
    OK(f,
       gt_export(file, &(struct gt_export_request){.format = GT_EXPORT_SHIPPED, .filter = winners},
                 f->store, NULL, &f->err));
    fclose(file);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_allocation, setup, fixture_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
