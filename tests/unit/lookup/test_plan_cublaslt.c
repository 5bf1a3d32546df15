/* test_plan_cublaslt.c - plans that may run an algorithm of cuBLASLt: on the stub library, whose
 * algorithm 1 is wrong in one element, so that a test sees which one ran.  Whatever stands in the
 * way of it (permission, version, library, malformed words), the kernel runs instead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cuda/cublaslt.h"
#include "db/store.h"
#include "stub_fixture.h"

enum { M = 33, N = 20, K = 48 };

#define HERE "13.1.2" /* the version that the stub tells */
#define ZERO ".0.0.0.0.0.0.0"

struct world {
    char folder[64], db[96];
    struct gt_problem problem;
    struct gt_err err;
};

#define OK(w, call)                                  \
    do {                                             \
        if (call)                                    \
            fail_msg("%s: %s", #call, (w)->err.msg); \
    } while (0)

static struct gt *open_gt(struct world *w, bool allow)
{
    const struct gt_options options = {
        GT_OPTIONS_INIT,  .user_db = access(w->db, F_OK) ? "" : w->db,
        .data_dir = ".",  .cubin_dir = w->folder,
        .allow_nvrtc = 1, .allow_cublaslt = allow};
    struct gt *gt;

    OK(w, gt_open(&gt, &options, &w->err));
    return gt;
}

/* Stores the kernel that serves the problem as its winner, and cuBLASLt's algorithm beside it. */
static void tune(struct world *w, double us, double baseline_us, const char *algo)
{
    struct gt_baseline baseline = {.name = "cuBLASLt", .answers = 1, .us = baseline_us};
    const struct gt_trial trial = {
        .status = GT_STATUS_OK, .stage = 3, .us = us, .lo_us = us, .hi_us = us};
    struct gt_kernels kernels = {0};
    struct gt_trial_key key = {0};
    struct gt_store *store;
    struct gt_plan *plan;
    struct gt_gpu *gpu;
    struct gt *gt;

    unlink(w->db);
    gt = open_gt(w, false);
    OK(w, gt_plan(&plan, gt, 0, &w->problem, &w->err));
    OK(w, gt_kernels_load(&kernels, ".", NULL, NULL, &w->err));
    OK(w, gt_gpu_open(&gpu, 0, true, &w->err));
    OK(w, gt_store_open(&store, w->db, GT_STORE_WRITE, &w->err));
    OK(w, gt_store_sweep_begin(store, "test", &key.sweep, &w->err));
    OK(w, gt_store_device(store, gt_gpu_device(gpu), &key.device, &w->err));
    OK(w, gt_store_toolchain(store, 13000, &key.toolchain, &w->err));
    OK(w, gt_store_kernel(store, gt_kernels_find(&kernels, gt_plan_answer(plan)->kernel, NULL),
                          &key.kernel, &w->err));
    OK(w, gt_store_problem(store, &w->problem, &key.problem, &w->err));
    key.point = gt_plan_answer(plan)->point;
    OK(w, gt_store_trial(store, &key, &trial, &w->err));
    snprintf(baseline.algo, sizeof(baseline.algo), "%s", algo);
    OK(w, gt_store_baseline(store, &key, &baseline, &w->err));
    gt_store_close(store);
    gt_gpu_close(gpu);
    gt_kernels_release(&kernels);
    gt_plan_free(plan);
    gt_close(gt);
}

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof(*w));

    *state = w;
    if (!w || stub_folder(w->folder, "vendor"))
        return 1;
    snprintf(w->db, sizeof(w->db), "%s/own.db", w->folder);
    gt_problem_init(&w->problem, M, N, K);
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    const int rc = stub_folder_remove(w->folder);

    free(w);
    return rc;
}

enum ran { KERNEL, RIGHT, WRONG };

/* Plans and runs the problem.  Which algorithm ran: of the kernel, or of cuBLASLt with a right or
 * with a wrong first element. */
static enum ran run(struct world *w, bool allow)
{
    static _Alignas(256) float a[M * K], b[K * N], d[M * N];
    struct gt_operands operands = {GT_OPERANDS_INIT, .a = a, .b = b, .d = d, .alpha = 1};
    const struct gt_answer *answer;
    struct gt *gt = open_gt(w, allow);
    struct gt_plan *plan;
    enum ran ran;

    for (int i = 0; i < M * K; i++)
        a[i] = (float)(i % 5 + 1);
    for (int i = 0; i < K * N; i++)
        b[i] = (float)(i % 3 + 1);
    OK(w, gt_plan(&plan, gt, 0, &w->problem, &w->err));
    answer = gt_plan_answer(plan);
    assert_non_null(answer->kernel);
    if (answer->workspace_bytes)
        assert_int_equal(posix_memalign(&operands.workspace, 256, answer->workspace_bytes), 0);
    OK(w, gt_run(plan, NULL, &operands, &w->err));
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;

            for (int k = 0; k < K; k++)
                sum += a[i * K + k] * b[k * N + j];
            if (i + j > 0 && d[i * N + j] != sum)
                fail_msg("(%d,%d) is %g, expected %g", i, j, (double)d[i * N + j], (double)sum);
        }
    ran = !answer->cublaslt ? KERNEL : d[0] > 0 ? RIGHT : WRONG;
    if (ran == KERNEL)
        assert_true(d[0] > 0);
    free(operands.workspace);
    gt_plan_free(plan);
    gt_close(gt);
    return ran;
}

static void test_runs_the_algorithm(void **state)
{
    struct world *w = *state;

    tune(w, 100, 50, HERE " 0 2" ZERO);
    assert_int_equal(run(w, true), RIGHT);
    tune(w, 100, 50, HERE " 4096 1" ZERO);
    assert_int_equal(run(w, true), WRONG);
    assert_int_equal(run(w, false), KERNEL);
}

/* The answer names both; what is slower or no candidate is not named. */
static void test_look_up(void **state)
{
    static const struct {
        double baseline_us;
        const char *algo, *told;
    } row[] = {
        {50, HERE " 0 2" ZERO, HERE " 0 2" ZERO}, {150, HERE " 0 2" ZERO, NULL}, {50, "", NULL}};
    struct world *w = *state;

    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        const struct gt_answer *answer;
        struct gt *gt;

        tune(w, 100, row[i].baseline_us, row[i].algo);
        gt = open_gt(w, false);
        OK(w, gt_lookup(gt, 90, "Stub device", &w->problem, &answer, &w->err));
        assert_int_equal(answer->tier, GT_TIER_EXACT);
        assert_non_null(answer->kernel);
        assert_true(answer->baseline_us == row[i].baseline_us);
        if (row[i].told)
            assert_string_equal(answer->cublaslt, row[i].told);
        else
            assert_null(answer->cublaslt);
        gt_close(gt);
    }
}

static void test_falls_back(void **state)
{
    static const char *const algo[] = {
        "13.1.1 0 1" ZERO,        /* another version */
        HERE "3 0 1" ZERO,        /* a longer one */
        HERE " 0 1" ZERO ".0",    /* too many words */
        HERE " 0 1" ZERO " much", /* no gain */
        HERE " 0 1.0.0.0.0.0.0",  /* too few */
        HERE " -5 1" ZERO,        /* no number */
        HERE " 0 g.0" ZERO,       /* no digit */
        HERE,                     /* nothing */
    };
    struct world *w = *state;

    for (size_t i = 0; i < sizeof(algo) / sizeof(*algo); i++) {
        tune(w, 100, 50, algo[i]);
        assert_int_equal(run(w, true), KERNEL);
    }
    tune(w, 100, 50, HERE " 0 1" ZERO);
    setenv("GEMMTUNE_LIBCUBLASLT", "/nonexistent/libcublasLt.so", 1);
    assert_int_equal(run(w, true), KERNEL);
    stub_environment();
    assert_int_equal(run(w, true), WRONG);
}

/* Runs the plan with one pointer at a multiple of 16 bytes, but not of 256; 0: it took it. */
static int run_off(const struct gt_plan *plan, const char *name, struct gt_err *err)
{
    static _Alignas(256) float a[M * K + 4], b[K * N + 4], c[M * N + 4], d[M * N + 4], space[4096];
    struct gt_operands o = {GT_OPERANDS_INIT,   .a = a,     .b = b,   .c = c, .d = d,
                            .workspace = space, .alpha = 1, .beta = 1};

    o.a = strcmp(name, "operand a") ? a : a + 4;
    o.b = strcmp(name, "operand b") ? b : b + 4;
    o.c = strcmp(name, "operand c") ? c : c + 4;
    o.d = strcmp(name, "operand d") ? d : d + 4;
    o.workspace = strcmp(name, "workspace") ? space : space + 4;
    return gt_run(plan, NULL, &o, err);
}

/* The heuristic chose the algorithm for operands of the driver's own alignment, and its workspace
 * must have that, too.  A kernel takes what the problem says. */
static void test_alignment(void **state)
{
    static const char *const name[] = {"operand a", "operand b", "operand c", "operand d",
                                       "workspace"};
    struct world *w = *state;

    w->problem.beta = 1;
    tune(w, 100, 50, HERE " 4096 2" ZERO);
    for (int turn = 0; turn < 3; turn++) {
        const bool allow = turn > 0, refused = turn == 1;
        struct gt_plan *plan;
        struct gt *gt;

        if (turn == 2) { /* the heuristic is told so */
            w->problem.align = 4;
            tune(w, 100, 50, HERE " 0 2" ZERO);
        }
        gt = open_gt(w, allow);

        OK(w, gt_plan(&plan, gt, 0, &w->problem, &w->err));
        assert_int_equal(gt_plan_answer(plan)->cublaslt != NULL, allow);
        assert_true(gt_plan_answer(plan)->workspace_bytes <= 4 * 4092);
        OK(w, run_off(plan, "none", &w->err));
        for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++) {
            assert_int_equal(run_off(plan, name[i], &w->err), refused ? GT_ERANGE : GT_OK);
            if (refused)
                assert_int_equal(strncmp(w->err.msg, name[i], strlen(name[i])), 0);
        }
        gt_plan_free(plan);
        gt_close(gt);
    }
}

static void test_text(void **state)
{
    struct gt_lt_answer answer = {.workspace = 4194304}, back;
    char text[GT_CUBLASLT_ALGO_MAX];

    (void)state;
    for (int i = 0; i < 8; i++)
        answer.algo.data[i] = i % 2 ? UINT64_MAX - (uint64_t)i : (uint64_t)i;
    gt_cublaslt_format(text, "13.1.0", &answer, 0);
    assert_string_equal(text, "13.1.0 4194304 0.fffffffffffffffe.2.fffffffffffffffc.4."
                              "fffffffffffffffa.6.fffffffffffffff8");
    assert_int_equal(gt_cublaslt_parse(&back, "13.1.0", text, NULL), GT_OK);
    assert_memory_equal(&back.algo, &answer.algo, sizeof(back.algo));
    assert_int_equal(back.workspace, answer.workspace);
    assert_true(gt_cublaslt_gain(text) == 0 && gt_cublaslt_gain("") == 0);
    gt_cublaslt_format(text, "13.1.0", &answer, 1.25);
    assert_int_equal(gt_cublaslt_parse(&back, "13.1.0", text, NULL), GT_OK);
    assert_memory_equal(&back.algo, &answer.algo, sizeof(back.algo));
    assert_true(gt_cublaslt_gain(text) == 1.25);
    strcpy(strrchr(text, ' '), " 1.2x");
    assert_int_equal(gt_cublaslt_parse(&back, "13.1.0", text, NULL), GT_ENOTFOUND);
    strcpy(strrchr(text, ' '), " ");
    assert_int_equal(gt_cublaslt_parse(&back, "13.1.0", text, NULL), GT_ENOTFOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_runs_the_algorithm, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_look_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_falls_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_alignment, set_up, tear_down),
        cmocka_unit_test(test_text),
    };

    return cmocka_run_group_tests_name("plan_cublaslt", tests, NULL, NULL);
}
