/* test_plan.c - plans and runs on the stub driver, whose device memory is this process's memory: a
 * user's way from gt_open to a product, checked against a plain loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "stub_fixture.h"

struct world {
    char cubins[64];
    struct gt *gt;
    struct gt_options options;
};

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof(*w));
    struct gt_err err;

    *state = w;
    if (!w || stub_folder(w->cubins, "plan"))
        return 1;
    w->options = (struct gt_options){.data_dir = ".", .cubin_dir = w->cubins, .allow_nvrtc = 1};
    if (!gt_open(&w->gt, &w->options, &err))
        return 0;
    print_error("%s\n", err.msg);
    return 1;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    int rc;

    gt_close(w->gt);
    rc = stub_folder_remove(w->cubins);
    free(w);
    return rc;
}

enum { M = 33, N = 20, K = 48 };

struct data {
    _Alignas(16) float a[M * K], b[K * N], c[M * N], d[M * N];
};

static void fill(float *to, int count, int salt)
{
    for (int i = 0; i < count; i++)
        to[i] = (float)((i * 7 + salt) % 11 - 5);
}

static struct data *new_data(void)
{
    struct data *data = NULL;

    assert_int_equal(posix_memalign((void **)&data, 16, sizeof(*data)), 0);
    fill(data->a, M * K, 1);
    fill(data->b, K * N, 2);
    fill(data->c, M * N, 3);
    fill(data->d, M * N, 4);
    return data;
}

static void check(const struct data *data, float alpha, float beta)
{
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;

            for (int k = 0; k < K; k++)
                sum += data->a[i * K + k] * data->b[k * N + j];
            sum = alpha * sum + (beta != 0 ? beta * data->c[i * N + j] : 0);
            if (data->d[i * N + j] != sum)
                fail_msg("(%d,%d) is %g, expected %g", i, j, (double)data->d[i * N + j],
                         (double)sum);
        }
}

static struct gt_plan *make_plan(const struct world *w, double beta)
{
    struct gt_problem problem;
    struct gt_plan *plan = NULL;
    struct gt_err err;

    gt_problem_init(&problem, M, N, K);
    problem.beta = beta;
    if (gt_plan(&plan, w->gt, 0, &problem, &err))
        fail_msg("%s", err.msg);
    return plan;
}

static struct gt_operands operands_of(struct data *data, float alpha, float beta)
{
    return (struct gt_operands){
        .a = data->a, .b = data->b, .c = data->c, .d = data->d, .alpha = alpha, .beta = beta};
}

static void test_run(void **state)
{
    struct world *w = *state;
    struct data *data = new_data();
    struct gt_plan *plan = make_plan(w, 1);
    struct gt_operands operands = operands_of(data, 2, -1);
    const struct gt_answer *answer = gt_plan_answer(plan);
    struct gt_err err;

    assert_non_null(answer->kernel);
    assert_true(answer->grid[0] > 0 && answer->block[0] > 0);
    if (answer->workspace_bytes)
        assert_int_equal(posix_memalign(&operands.workspace, 256, answer->workspace_bytes), 0);
    if (gt_run(plan, NULL, &operands, &err))
        fail_msg("%s", err.msg);
    check(data, 2, -1);
    operands.beta = 0;
    operands.c = NULL;
    if (gt_run(plan, NULL, &operands, &err))
        fail_msg("%s", err.msg);
    check(data, 2, 0);
    gt_plan_free(plan);
    free(operands.workspace);
    free(data);
}

/* What was compiled once is found again, by a program that has no compiler. */
static void test_stored_cubin(void **state)
{
    struct world *w = *state;
    struct gt_problem problem;
    struct gt_plan *plan;
    struct gt_err err;

    gt_plan_free(make_plan(w, 0));
    setenv("GEMMTUNE_LIBNVRTC", "/nonexistent", 1);
    gt_plan_free(make_plan(w, 0));
    /* Without either, the sentence says what is missing. */
    gt_close(w->gt);
    w->options.cubin_dir = "/nonexistent";
    w->options.allow_nvrtc = 0;
    assert_int_equal(gt_open(&w->gt, &w->options, &err), GT_OK);
    gt_problem_init(&problem, M, N, K);
    assert_int_equal(gt_plan(&plan, w->gt, 0, &problem, &err), GT_ENOTFOUND);
    assert_null(plan);
    assert_non_null(strstr(err.msg, "/nonexistent"));
    assert_non_null(strstr(err.msg, "allow_nvrtc"));
    stub_environment();
}

/* A kernel that reads its operands through tensor maps: they follow the pointers of each run. */
static void test_maps(void **state)
{
    const struct world *w = *state;
    struct gt_options options = w->options;
    struct data *data[2] = {new_data(), new_data()};
    struct gt_problem problem;
    struct gt_plan *plan = NULL;
    struct gt *gt = NULL;
    char command[512];
    struct gt_err err;

    fill(data[1]->a, M * K, 5);
    snprintf(command, sizeof(command),
             "mkdir -p %s/data/configs/kernels %s/data/templates && cp tests/unit/data/mapped/* "
             "%s/data/configs/kernels && cp -r configs/devices %s/data/configs",
             w->cubins, w->cubins, w->cubins, w->cubins);
    assert_int_equal(system(command), 0);
    snprintf(command, sizeof(command), "%s/data", w->cubins);
    options.data_dir = command;
    gt_problem_init(&problem, M, N, K);
    if (gt_open(&gt, &options, &err) || gt_plan(&plan, gt, 0, &problem, &err))
        fail_msg("%s", err.msg);
    assert_string_equal(gt_plan_answer(plan)->kernel, "mapped");
    for (int i = 0; i < 4; i++) {
        const struct gt_operands operands = operands_of(data[i % 2], 2, 0);

        if (gt_run(plan, NULL, &operands, &err))
            fail_msg("%s", err.msg);
        check(data[i % 2], 2, 0);
    }
    gt_plan_free(plan);
    problem.type = problem.out = GT_F16; /* the only kernel there is does not serve it */
    problem.accuracy = GT_ACCURACY_LOW;
    assert_int_equal(gt_plan(&plan, gt, 0, &problem, &err), GT_ENOTFOUND);
    assert_non_null(strstr(err.msg, "no kernel serves"));
    gt_close(gt);
    free(data[0]);
    free(data[1]);
}

/* Compiling what no cache holds goes through failures that are none to the program. */
static void test_err_is_untouched_on_success(void **state)
{
    struct world *w = *state;
    struct data *data = new_data();
    struct gt_operands operands = operands_of(data, 1, 0);
    struct gt_err err = {.code = 77, .msg = "as it was"};
    struct gt_problem problem;
    struct gt_plan *plan;

    gt_problem_init(&problem, M, N, K);
    assert_int_equal(gt_plan(&plan, w->gt, 0, &problem, &err), GT_OK);
    if (gt_plan_answer(plan)->workspace_bytes)
        assert_int_equal(
            posix_memalign(&operands.workspace, 256, gt_plan_answer(plan)->workspace_bytes), 0);
    assert_int_equal(gt_run(plan, NULL, &operands, &err), GT_OK);
    assert_int_equal(err.code, 77);
    assert_string_equal(err.msg, "as it was");
    gt_plan_free(plan);
    free(operands.workspace);
    free(data);
}

/* Operands of a program of another version: with one member more, with one less. */
static void test_operands_of_other_versions(void **state)
{
    struct world *w = *state;
    struct data *data = new_data();
    struct gt_plan *plan = make_plan(w, 0);
    struct {
        struct gt_operands operands;
        const void *more;
    } later = {.operands = operands_of(data, 1, 0)};
    struct gt_operands *operands = &later.operands;
    struct gt_err err = {0};

    if (gt_plan_answer(plan)->workspace_bytes)
        assert_int_equal(
            posix_memalign(&operands->workspace, 256, gt_plan_answer(plan)->workspace_bytes), 0);
    operands->size = sizeof(later);
    assert_int_equal(gt_run(plan, NULL, operands, &err), GT_OK);
    check(data, 1, 0);
    later.more = data;
    assert_int_equal(gt_run(plan, NULL, operands, &err), GT_ERANGE);
    assert_non_null(strstr(err.msg, "gt_operands"));
    operands->size = offsetof(struct gt_operands, workspace);
    assert_int_equal(gt_run(plan, NULL, operands, &err), GT_ERANGE);
    gt_plan_free(plan);
    free(operands->workspace);
    free(data);
}

/* Sums in s32 are scaled by whole numbers that an int32 holds, and by nothing else. */
static void test_factors_of_s32(void **state)
{
    static const float refused[] = {INFINITY, -INFINITY, NAN, 0.5f, 2147483648.0f, -4294967296.0f};
    struct world *w = *state;
    _Alignas(16) static int8_t a[M * K], b[K * N];
    _Alignas(16) static int32_t c[M * N], d[M * N];
    struct gt_operands o = {.a = a, .b = b, .c = c, .d = d, .alpha = 1};
    struct gt_problem problem;
    struct gt_plan *plan;
    struct gt_err err;

    memset(a, 1, sizeof(a));
    memset(b, 1, sizeof(b));
    gt_problem_init(&problem, M, N, K);
    problem.type = GT_S8;
    problem.out = problem.acc = GT_S32;
    problem.accuracy = GT_ACCURACY_LOW;
    problem.beta = 1;
    if (gt_plan(&plan, w->gt, 0, &problem, &err))
        fail_msg("%s", err.msg);
    if (gt_plan_answer(plan)->workspace_bytes)
        assert_int_equal(posix_memalign(&o.workspace, 256, gt_plan_answer(plan)->workspace_bytes),
                         0);
    for (size_t i = 0; i < 2 * sizeof(refused) / sizeof(*refused); i++) {
        o.alpha = i % 2 ? 1 : refused[i / 2];
        o.beta = i % 2 ? refused[i / 2] : 1;
        d[0] = 77;
        assert_int_equal(gt_run(plan, NULL, &o, &err), GT_ERANGE);
        assert_non_null(strstr(err.msg, "whole numbers from -2147483648 to 2147483647"));
        assert_int_equal(d[0], 77);
    }
    o.alpha = -3;
    o.beta = 2;
    assert_int_equal(gt_run(plan, NULL, &o, &err), GT_OK);
    assert_int_equal(d[0], -3 * K);
    gt_plan_free(plan);
    free(o.workspace);
}

/* cudaMalloc gives NULL for no bytes. */
static void test_empty_products(void **state)
{
    static const struct {
        const char *text;
        bool has_d;
    } empty[] = {{"0x20x48", false},         {"33x0x48", false},
                 {"0x0x0", false},           {"33x20x0", true},
                 {"33x20x0:epi=bias", true}, {"0x20x48:bf16", false},
                 {"33x24x0:bf16", true},     {"33x24x0:bf16:nt:beta=1", true}};
    struct world *w = *state;
    struct data *data = new_data();

    for (size_t i = 0; i < sizeof(empty) / sizeof(*empty); i++) {
        struct gt_operands o = {.d = empty[i].has_d ? data->d : NULL, .alpha = 1};
        struct gt_problem problem;
        struct gt_plan *plan;
        struct gt_err err;

        assert_int_equal(gt_problem_parse(&problem, empty[i].text, &err), GT_OK);
        if (gt_plan(&plan, w->gt, 0, &problem, &err))
            fail_msg("%s", err.msg);
        o.beta = (float)problem.beta;
        o.bias = problem.epilogue ? data->a : NULL;
        o.c = problem.beta != 0 ? data->c : NULL;
        if (empty[i].has_d && gt_plan_answer(plan)->workspace_bytes)
            assert_int_equal(
                posix_memalign(&o.workspace, 256, gt_plan_answer(plan)->workspace_bytes), 0);
        fill(data->d, M * N, 4);
        if (gt_run(plan, NULL, &o, &err))
            fail_msg("%s: %s", empty[i].text, err.msg);
        if (problem.type == GT_F32 && empty[i].has_d)
            for (int j = 0; j < M * N; j++)
                assert_true(data->d[j] == (o.bias ? data->a[j % N] : 0));
        o.d = NULL;
        if (empty[i].has_d)
            assert_int_equal(gt_run(plan, NULL, &o, &err), GT_ERANGE);
        gt_plan_free(plan);
        free(o.workspace);
    }
    free(data);
}

static void test_refusals(void **state)
{
    struct world *w = *state;
    struct data *data = new_data();
    struct gt_plan *plan = make_plan(w, 0);
    struct gt_operands good = operands_of(data, 1, 0), bad;
    struct gt_problem problem;
    struct gt_err err;

    if (gt_plan_answer(plan)->workspace_bytes)
        assert_int_equal(
            posix_memalign(&good.workspace, 256, gt_plan_answer(plan)->workspace_bytes), 0);
    bad = good;
    bad.beta = 1;
    assert_int_equal(gt_run(plan, NULL, &bad, &err), GT_ERANGE);
    assert_string_equal(err.msg, "beta is 1; the plan was made for beta 0");
    bad = good;
    bad.b = NULL;
    assert_int_equal(gt_run(plan, NULL, &bad, &err), GT_ERANGE);
    assert_string_equal(err.msg, "operand b is NULL");
    bad = good;
    bad.a = data->a + 1;
    assert_int_equal(gt_run(plan, NULL, &bad, &err), GT_ERANGE);
    assert_non_null(strstr(err.msg, "operand a is at 0x"));
    assert_non_null(strstr(err.msg, "; the plan was made for multiples of 16 bytes"));
    bad.a = data->a;
    assert_int_equal(gt_run(plan, NULL, &good, &err), GT_OK);
    gt_plan_free(plan);
    gt_plan_free(NULL);

    gt_problem_init(&problem, M, N, K);
    assert_int_equal(gt_plan(&plan, w->gt, 3, &problem, &err), GT_ENOGPU);
    free(good.workspace);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_run, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_stored_cubin, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_maps, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_err_is_untouched_on_success, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_operands_of_other_versions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_factors_of_s32, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_empty_products, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refusals, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
