/* test_lookup.c - look-ups: which tier, which row, repaired points, the log, many threads at once.
 */
#include "lookup_fixture.h"
#include "whole.h"

#include <pthread.h>

static void test_exact(void **state)
{
    struct world *w = *state;
    const struct gt_answer *answer;

    add_row(w, 90, "measured", "NVIDIA H200", "1024x1024x1024:f32:nn", "BM=128,VEC=4", 50);
    open_tables(w, NULL);
    answer = ask(w, 90, NULL, "1024x1024x1024");
    assert_int_equal(answer->tier, GT_TIER_EXACT);
    assert_string_equal(answer->kernel, "k");
    assert_string_equal(answer->point, "BM=128,VEC=4");
    assert_string_equal(answer->device, "NVIDIA H200");
    assert_string_equal(answer->tuned_for, "1024x1024x1024:f32:nn");
    assert_true(answer->us == 50 && answer->expected_loss == 0 && !answer->predicted);
    assert_true(answer->baseline_us == 100 && !answer->varies);
    assert_true(answer->grid[0] == 8 && answer->grid[1] == 8 && answer->grid[2] == 1);
    assert_true(answer->block[0] == 128 && answer->shared_bytes == 128 * 64);
    assert_ptr_equal(ask(w, 90, NULL, "1024x1024x1024"), answer);
    assert_ptr_equal(ask(w, 90, NULL, "1024x1024x1024:alpha=2"), answer);
    assert_int_equal(ask(w, 90, NULL, "1024x1024x1024:beta=1")->tier, GT_TIER_NEAR);
    assert_int_equal(ask(w, 90, "NVIDIA H200", "1024x1024x1024")->tier, GT_TIER_EXACT);
    assert_int_equal(ask(w, 90, "NVIDIA H100", "1024x1024x1024")->tier, GT_TIER_NEAR);
}

static void test_near(void **state)
{
    struct world *w = *state;
    const struct gt_answer *close, *far;

    add_row(w, 90, "measured", "A", "1024x1024x1024:f32:nn", "BM=128,VEC=4", 50);
    add_row(w, 90, "measured", "A", "1024x1024x1024:f32:nt", "BM=64,VEC=4", 50);
    add_row(w, 86, "measured", "B", "1000x1000x1000:f32:nn", "BM=32,VEC=4", 50);
    open_tables(w, NULL);
    close = ask(w, 90, NULL, "1000x1000x1000");
    far = ask(w, 90, NULL, "256x256x256");
    assert_int_equal(close->tier, GT_TIER_NEAR);
    assert_string_equal(close->tuned_for, "1024x1024x1024:f32:nn");
    assert_true(close->grid[0] == 8 && close->expected_loss > 0);
    assert_int_equal(far->tier, GT_TIER_NEAR);
    assert_true(far->expected_loss > close->expected_loss);
    assert_string_equal(ask(w, 90, NULL, "1000x1000x1000:f32:nt")->point, "BM=64,VEC=4");
}

/* Rows that are out of the question, here of a kernel that is gone, do not use up the tries. */
static void test_near_behind_rows_of_no_use(void **state)
{
    struct world *w = *state;

    for (int i = 0; i < 40; i++)
        gt_strbuf_addf(&w->rows,
                       "90,measured,A,%dx1000x1000:f32:nn,gone,%s,\"BM=64\",cold,9,8,10,0,3,13000,"
                       "13000,2026-01-01T00:00:00Z\n",
                       980 + i, w->signature);
    add_row(w, 90, "measured", "A", "2048x2048x2048:f32:nn", "BM=128,VEC=4", 50);
    open_tables(w, NULL);
    assert_int_equal(ask(w, 90, NULL, "1000x1000x1000")->tier, GT_TIER_NEAR);
}

static void test_a_point_that_does_not_fit_is_repaired(void **state)
{
    struct world *w = *state;
    const struct gt_answer *answer;

    add_row(w, 90, "measured", "A", "1024x1024x1024:f32:nn", "BM=128,VEC=4", 50);
    open_tables(w, NULL);
    answer = ask(w, 90, NULL, "1024x1024x1023"); /* rows of A are not 16-byte aligned */
    assert_int_equal(answer->tier, GT_TIER_NEAR);
    assert_string_equal(answer->point, "BM=128,VEC=1");
}

/* A kernel whose parameter READ says whether C is read, as its constraint wants it; C may also be
 * added by another launch, which SPLIT asks for. */
static void make_reader_of_c(struct world *w)
{
    struct gt_kernels kernels = {0};
    char path[128];

    snprintf(path, sizeof(path), "%s/templates/k.cu", w->folder);
    write_file(path, "#define USED (BM + VEC + SPLIT + READ)\nGT_KERNEL(gemm)\n{\n}\n");
    snprintf(path, sizeof(path), "%s/configs/kernels/k.json", w->folder);
    write_file(
        path,
        "{\"kernel\": \"k\", \"doc\": \"made up\", \"template\": \"templates/k.cu\",\n"
        " \"role\": \"production\", \"serves\": {\"types\": [\"f32\"], \"out\": [\"f32\"],\n"
        "   \"layouts\": [\"nn\"], \"min_cc\": 75, \"max_cc\": 129, \"accuracy\": \"strict\",\n"
        "   \"epilogues\": [\"none\", \"bias\", \"relu\"], \"batch\": true},\n"
        " \"params\": [{\"name\": \"BM\", \"values\": [16, 32, 64, 128], \"default\": 64,\n"
        "     \"kind\": \"compile\", \"doc\": \"rows\"},\n"
        "   {\"name\": \"SPLIT\", \"values\": [0, 1], \"default\": 0, \"kind\": \"compile\",\n"
        "     \"doc\": \"parts\"},\n"
        "   {\"name\": \"READ\", \"values\": [0, 1], \"default\": 0, \"kind\": \"compile\",\n"
        "     \"doc\": \"C is read\"}],\n"
        " \"constraints\": [{\"if\": \"READ == (BETA && !SPLIT)\", \"why\": \"C is read\"}],\n"
        " \"launches\": [{\"entry\": \"gemm\", \"grid\": [\"cdiv(M,BM)\", \"cdiv(N,BM)\",\n"
        "   \"BATCH\"], \"block\": [\"128\", \"1\", \"1\"], \"shared\": \"BM * 64\"}],\n"
        " \"model\": {\"block_m\": \"BM\", \"block_n\": \"BM\", \"block_k\": \"16\",\n"
        "   \"splits\": \"1\", \"stages\": \"2\", \"registers\": \"64\",\n"
        "   \"fma\": \"BM * BM / 128\"}}\n");
    OK(w, gt_kernels_load(&kernels, w->folder, NULL, NULL, &w->err));
    strcpy(w->signature, gt_kernels_find(&kernels, "k", &w->err)->signature);
    gt_kernels_release(&kernels);
}

/* A winner without C serves with C, and back, by its description's rule and not by any change that
 * is valid; so does one with another epilogue.  One that read C comes first where C is read. */
static void test_near_winners_follow_c(void **state)
{
    struct world *w = *state;
    const struct gt_answer *answer;
    double with;

    make_reader_of_c(w);
    add_row(w, 90, "measured", "A", "1024x1024x1024:f32:nn", "BM=128,SPLIT=0,READ=0", 50);
    add_row(w, 90, "measured", "A", "4096x4096x512:f32:nn:beta=1", "BM=32,SPLIT=0,READ=1", 900);
    open_tables(w, NULL);
    answer = ask(w, 90, NULL, "1024x1024x1024:beta=1");
    assert_int_equal(answer->tier, GT_TIER_NEAR);
    assert_string_equal(answer->tuned_for, "1024x1024x1024:f32:nn");
    assert_string_equal(answer->point, "BM=128,SPLIT=0,READ=1");
    with = answer->expected_us; /* C is read: 4 MB more */
    answer = ask(w, 90, NULL, "1024x1024x1024:epi=bias");
    assert_int_equal(answer->tier, GT_TIER_NEAR);
    assert_string_equal(answer->point, "BM=128,SPLIT=0,READ=0");
    assert_true(with > answer->expected_us);
    answer = ask(w, 90, NULL, "4096x4096x512");
    assert_string_equal(answer->tuned_for, "4096x4096x512:f32:nn:beta=1");
    assert_string_equal(answer->point, "BM=32,SPLIT=0,READ=0");
}

static void test_family_and_none(void **state)
{
    struct world *w = *state;
    const struct gt_answer *answer;

    open_tables(w, NULL);
    answer = ask(w, 90, NULL, "512x512x512");
    assert_int_equal(answer->tier, GT_TIER_FAMILY);
    assert_string_equal(answer->kernel, "k"); /* not the rung */
    assert_string_equal(answer->point, "BM=64,VEC=4");
    assert_null(answer->tuned_for);
    assert_true(answer->us == 0 && answer->expected_loss > 0.2);
    assert_string_equal(ask(w, 90, NULL, "512x512x511")->point, "BM=64,VEC=1");
    answer = ask(w, 90, NULL, "512x512x512:f32:tn"); /* no kernel serves tn */
    assert_int_equal(answer->tier, GT_TIER_NONE);
    assert_null(answer->kernel);
}

static void test_rows_that_no_longer_hold_are_not_trusted(void **state)
{
    struct world *w = *state;

    add_row(w, 90, "measured", "A", "64x64x64:f32:nn", "BM=96,VEC=4", 5);
    add_row(w, 90, "measured", "A", "65x64x64:f32:nn", "BM=64,BK=4", 5);
    add_row(w, 90, "measured", "A", "66x64x64:f32:nn", "BM=64,VEC=4);x(", 5);
    open_tables(w, NULL);
    assert_int_equal(ask(w, 90, NULL, "64x64x64")->tier, GT_TIER_FAMILY);
    gt_close(w->gt);
    w->gt = NULL;
    strcpy(w->signature, "00000000000000000000000000000000"); /* of a template since changed */
    add_row(w, 90, "measured", "A", "64x64x64:f32:nn", "BM=128,VEC=4", 5);
    open_tables(w, NULL);
    assert_int_equal(ask(w, 90, NULL, "64x64x64")->tier, GT_TIER_NEAR);
    assert_true(ask(w, 90, NULL, "64x64x64")->expected_loss > 0);
}

static void test_errors(void **state)
{
    struct world *w = *state;
    const struct gt_answer *answer;
    struct gt_options options = {.system_db = "/nowhere/t.csv", .data_dir = w->folder};
    struct gt_problem problem;

    assert_int_equal(gt_open(&w->gt, &options, &w->err), GT_EDB);
    assert_non_null(strstr(w->err.msg, "/nowhere/t.csv"));
    assert_null(w->gt);
    write_file(w->table, "nothing of ours\n");
    options.system_db = w->table;
    assert_int_equal(gt_open(&w->gt, &options, &w->err), GT_ESTALE);
    options = (struct gt_options){.data_dir = w->folder, .log_path = "/nowhere/log"};
    assert_int_equal(gt_open(&w->gt, &options, &w->err), GT_EIO);
    options.log_path = NULL; /* without any table at all */
    OK(w, gt_open(&w->gt, &options, &w->err));
    gt_problem_init(&problem, 64, 64, 64);
    assert_int_equal(gt_lookup(w->gt, 17, NULL, &problem, &answer, &w->err), GT_ENOTFOUND);
    problem.lda = 3;
    assert_int_equal(gt_lookup(w->gt, 90, NULL, &problem, &answer, &w->err), GT_ERANGE);
}

static void test_log_names_each_untuned_problem_once(void **state)
{
    struct world *w = *state;
    struct gt_strbuf log = GT_STRBUF_INIT;
    char path[128];
    struct gt_options options = {.system_db = w->table, .data_dir = w->folder, .log_path = path};

    snprintf(path, sizeof(path), "%s/log", w->folder);
    add_row(w, 90, "measured", "A", "64x64x64:f32:nn", "BM=64,VEC=4", 5);
    write_table(w, w->table);
    OK(w, gt_open(&w->gt, &options, &w->err));
    for (int i = 0; i < 3; i++) {
        ask(w, 90, NULL, "64x64x64");
        ask(w, 90, NULL, "128x64x64");
        ask(w, 90, NULL, "64x64x64:f32:tn");
    }
    OK(w, gt_strbuf_add_file(&log, path, &w->err));
    assert_string_equal(log.text, "128x64x64:f32:nn\n64x64x64:f32:tn\n");
    gt_strbuf_release(&log);
}

static void test_a_real_gpu_has_its_own_answer(void **state)
{
    struct world *w = *state;
    struct gt_resolved resolved;
    struct gt_device device;
    struct gt_problem problem;

    add_row(w, 90, "measured", "NVIDIA H200", "256x256x256:f32:nn", "BM=128,VEC=4", 5);
    open_tables(w, NULL);
    OK(w, gt_device_profile(&device, w->folder, 90, &w->err));
    snprintf(device.name, sizeof(device.name), "NVIDIA H200");
    gt_problem_init(&problem, 256, 256, 256);
    OK(w, gt_lookup_device(w->gt, &device, &problem, &resolved, &w->err));
    assert_int_equal(resolved.answer.tier, GT_TIER_EXACT);
    assert_string_equal(resolved.kernel->name, "k");
    assert_int_equal(resolved.point.value[0], 128);
    assert_int_equal(resolved.geometry.launches, 1);
    gt_resolved_release(&resolved);
    device.smem_block = 1024; /* where the winner's shared memory does not fit */
    OK(w, gt_lookup_device(w->gt, &device, &problem, &resolved, &w->err));
    assert_int_not_equal(resolved.answer.tier, GT_TIER_EXACT);
    gt_resolved_release(&resolved);
    assert_string_equal(gt_lookup_options(w->gt)->data_dir, w->folder);
}

#define THREADS  4
#define PROBLEMS gt_whole(1500, 300)

static void *ask_many(void *context)
{
    struct world *w = context;
    const struct gt_answer **answer = calloc((size_t)PROBLEMS, sizeof(*answer));

    for (int round = 0; answer && round < 2; round++)
        for (int i = 0; i < PROBLEMS; i++) {
            const struct gt_answer *got = NULL;
            struct gt_problem problem;

            gt_problem_init(&problem, 64 + i, 64, 64);
            if (gt_lookup(w->gt, 90, NULL, &problem, &got, NULL) || (round && got != answer[i]) ||
                got->grid[0] != (unsigned)((64 + i + 63) / 64)) {
                free(answer);
                return NULL;
            }
            answer[i] = got;
        }
    free(answer);
    return w;
}

static void test_many_threads(void **state)
{
    struct world *w = *state;
    pthread_t thread[THREADS];
    void *result;

    add_row(w, 90, "measured", "A", "64x64x64:f32:nn", "BM=64,VEC=4", 5);
    open_tables(w, NULL);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, ask_many, w), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], &result);
        assert_non_null(result);
    }
}

/* The tables in the repository serve the kernels in it: every row (each seventh without WHOLE=1)
 * still leads to an answer made from tuned rows. */
static void test_shipped_tables(void **state)
{
    struct gt_table table = {0};
    struct gt_err err = {0};
    char *data, path[512];
    size_t stale = 0;
    struct gt *gt;

    (void)state;
    assert_int_equal(gt_data_dir(&data, &err), GT_OK);
    snprintf(path, sizeof(path), "%s/db/shipped", data);
    free(data);
    if (access(path, F_OK) != 0 || (gt_table_load(&table, path, &err) == GT_OK && !table.rows)) {
        print_message("no table is shipped\n");
        skip();
    }
    if (err.code || gt_open(&gt, NULL, &err))
        fail_msg("%s", err.msg);
    for (const struct gt_table_row *row = table.row; row < table.row + table.rows;
         row += gt_whole(1, 7)) {
        const struct gt_answer *answer = NULL;

        if (gt_lookup(gt, row->cc, row->device, &row->problem, &answer, &err))
            fail_msg("%s: %s", row->text, err.msg);
        if (answer->tier > GT_TIER_NEAR)
            fail_msg("%s: %s %s is of no use any more", row->text, row->kernel, row->point);
        stale += answer->tier == GT_TIER_NEAR;
    }
    print_message("%zu rows, %zu of a template changed since\n", table.rows, stale);
    gt_close(gt);
    gt_table_release(&table);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_exact),
        TEST(test_near),
        TEST(test_near_behind_rows_of_no_use),
        TEST(test_a_point_that_does_not_fit_is_repaired),
        TEST(test_near_winners_follow_c),
        TEST(test_family_and_none),
        TEST(test_rows_that_no_longer_hold_are_not_trusted),
        TEST(test_errors),
        TEST(test_log_names_each_untuned_problem_once),
        TEST(test_a_real_gpu_has_its_own_answer),
        TEST(test_many_threads),
        cmocka_unit_test(test_shipped_tables),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
