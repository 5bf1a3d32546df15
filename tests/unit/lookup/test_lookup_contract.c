/* test_lookup_contract.c - what gemmtune.h promises beside the answers: options of older and newer
 * programs, the default database, folders of own kernels, an err that is untouched on success,
 * refusals that do not depend on what was asked before, and fork(). */
#include "lookup_fixture.h"

#include "problem/problem.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

/* gt_open succeeds and leaves err as it was. */
static void open_with(struct world *w, const struct gt_options *options)
{
    struct gt_err err = {.code = 77, .msg = "as it was"};

    if (gt_open(&w->gt, options, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(err.code, 77);
    assert_string_equal(err.msg, "as it was");
}

static void reopen_with(struct world *w, const struct gt_options *options)
{
    gt_close(w->gt);
    open_with(w, options);
}

/* Options of a program of a later version: one member more. */
struct later {
    struct gt_options options;
    const char *more;
};

static void test_options_of_other_versions(void **state)
{
    struct world *w = *state;
    struct later later = {.options = {.data_dir = w->folder, .user_db = ""}};
    struct gt_options options = {GT_OPTIONS_INIT, .data_dir = w->folder, .user_db = ""};

    assert_int_equal(options.size, sizeof(options));
    open_with(w, &options);
    options.size = 0; /* a program that knows nothing of sizes */
    reopen_with(w, &options);
    later.options.size = sizeof(later);
    reopen_with(w, &later.options);
    gt_close(w->gt);
    w->gt = NULL;
    later.more = "set";
    assert_int_equal(gt_open(&w->gt, &later.options, &w->err), GT_ERANGE);
    assert_non_null(strstr(w->err.msg, "gt_options"));
    options.size = offsetof(struct gt_options, log_path); /* an older program: no such member */
    options.log_path = "/nowhere/log";
    open_with(w, &options);
}

static void test_default_database(void **state)
{
    struct world *w = *state;
    struct gt_options options = {.data_dir = w->folder, .system_db = w->table};
    char own[128];

    snprintf(own, sizeof(own), "%s/own.csv", w->folder);
    add_row(w, 90, "measured", "A", "512x512x512:f32:nn", "BM=128,VEC=4", 5);
    write_table(w, own);
    add_row(w, 90, "measured", "A", "64x64x64:f32:nn", "BM=32,VEC=4", 5);
    write_table(w, w->table);
    setenv("GEMMTUNE_DB", own, 1);
    open_with(w, &options);
    assert_int_equal(ask(w, 90, NULL, "512x512x512")->tier, GT_TIER_EXACT);
    assert_int_equal(ask(w, 90, NULL, "64x64x64")->tier, GT_TIER_EXACT);
    options.user_db = ""; /* none */
    reopen_with(w, &options);
    assert_int_equal(ask(w, 90, NULL, "512x512x512")->tier, GT_TIER_NEAR);
    options.user_db = NULL;
    setenv("GEMMTUNE_DB", "/nowhere/gemmtune.db", 1); /* that there is none is no error */
    reopen_with(w, &options);
    gt_close(w->gt);
    setenv("GEMMTUNE_DB", own, 1);
    assert_int_equal(chmod(own, 0666), 0);
    assert_int_equal(gt_open(&w->gt, &options, &w->err), GT_EDB);
    assert_non_null(strstr(w->err.msg, "other users may write"));
    unsetenv("GEMMTUNE_DB");
}

static void test_folders_of_own_kernels(void **state)
{
    struct world *w = *state;
    char from[160], to[160];
    const char *const folders[] = {to, NULL};
    struct gt_options options = {GT_OPTIONS_INIT, .data_dir = w->folder, .user_db = ""};

    snprintf(to, sizeof(to), "%s/mine", w->folder);
    make_folder(w, "mine");
    make_kernel(w, "own", "production", "");
    snprintf(from, sizeof(from), "%s/configs/kernels/own.json", w->folder);
    strcat(to, "/own.json");
    assert_int_equal(rename(from, to), 0);
    *strrchr(to, '/') = '\0';
    snprintf(from, sizeof(from), "rm %s/configs/kernels/k.json", w->folder);
    assert_int_equal(system(from), 0);
    open_with(w, &options);
    assert_string_equal(ask(w, 90, NULL, "64x64x64")->kernel, "rung");
    options.kernels_dirs = folders;
    reopen_with(w, &options);
    assert_string_equal(ask(w, 90, NULL, "64x64x64")->kernel, "own");
    gt_close(w->gt);
    snprintf(to, sizeof(to), "/nowhere/kernels");
    assert_int_not_equal(gt_open(&w->gt, &options, &w->err), GT_OK);
    assert_non_null(strstr(w->err.msg, "/nowhere/kernels"));
}

/* The problem is refused, and err says why. */
static void expect_refusal(struct world *w, const struct gt_problem *problem)
{
    const struct gt_answer *answer;

    assert_int_equal(gt_lookup(w->gt, 90, NULL, problem, &answer, &w->err), GT_ERANGE);
    assert_non_null(strstr(w->err.msg, "problem"));
}

/* Whether a problem of the same sizes was answered before makes no difference. */
static void test_invalid_problems_are_refused_again(void **state)
{
    struct world *w = *state;
    const struct gt_answer *answer;
    struct gt_err err = {.code = 77};
    struct gt_problem good, bad;

    open_tables(w, "");
    gt_problem_init(&good, 64, 64, 64);
    for (int known = 0; known < 2; known++) {
        bad = good;
        bad.alpha = NAN;
        expect_refusal(w, &bad);
        bad.alpha = 1;
        bad.beta = INFINITY;
        expect_refusal(w, &bad);
        bad = good;
        bad.type = (enum gt_dtype)256;
        expect_refusal(w, &bad);
        bad = good;
        bad.accuracy = (enum gt_accuracy)512;
        expect_refusal(w, &bad);
        bad = good;
        bad.stride_b = -1;
        expect_refusal(w, &bad);
        bad = good;
        bad.version = 3;
        expect_refusal(w, &bad);
        bad = good;
        bad.reserved[3] = 1;
        expect_refusal(w, &bad);
        assert_int_equal(gt_lookup(w->gt, 90, NULL, &good, &answer, &err), GT_OK);
        assert_int_equal(err.code, 77);
    }
    good.version = 0; /* filled by hand */
    assert_int_equal(gt_lookup(w->gt, 90, NULL, &good, &answer, &err), GT_OK);
}

/* Where D is s32, its factors are whole numbers, whether or not the sizes were answered before. */
static void test_factors_of_s32_are_refused_again(void **state)
{
    static const double factor[] = {0.5, -1e10, 2147483648.0, 2147483647.0, 1e40, 1e-50};
    struct world *w = *state;
    const struct gt_answer *answer;
    struct gt_problem good, bad;

    open_tables(w, "");
    assert_int_equal(gt_problem_parse(&good, "64x64x64:s8:tn", &w->err), GT_OK);
    for (int known = 0; known < 2; known++) {
        for (size_t i = 0; i < sizeof(factor) / sizeof(*factor); i++) {
            bad = good;
            bad.alpha = factor[i];
            expect_refusal(w, &bad);
            bad = good;
            bad.beta = factor[i];
            expect_refusal(w, &bad);
        }
        assert_int_equal(gt_lookup(w->gt, 90, NULL, &good, &answer, &w->err), GT_OK);
        bad = good;
        bad.beta = 3;
        assert_int_equal(gt_lookup(w->gt, 90, NULL, &bad, &answer, &w->err), GT_OK);
    }
}

static atomic_bool stop;

static void *ask_for_ever(void *context)
{
    struct world *w = context;
    const struct gt_answer *answer;
    struct gt_problem problem;

    for (int i = 0; !atomic_load(&stop); i++) {
        gt_problem_init(&problem, 1000 + i % 50000, 333, 77);
        if (gt_lookup(w->gt, 90, NULL, &problem, &answer, NULL))
            return NULL;
    }
    return w;
}

/* The allocator of GCC 12's AddressSanitizer does not hold its locks over a fork: a child that was
 * made while another thread allocated now and then waits for one of them for ever (in
 * libsanitizer's GetFromAllocator).  With it, up to five of 20 children may be lost, after a
 * shorter wait. */
#ifdef __SANITIZE_ADDRESS__
enum { MAY_BE_LOST = 5, PATIENCE = 5 };
#else
enum { MAY_BE_LOST = 0, PATIENCE = 60 };
#endif

/* Whether the child's own first look-up comes back within PATIENCE seconds, or the child is one of
 * those that may be lost, which `lost` counts. */
static bool child_comes_back(struct world *w, int round, int *lost)
{
    const struct gt_answer *answer;
    struct gt_problem problem;
    pid_t child = fork();
    int status;

    if (child == 0) {
        alarm(PATIENCE);
        gt_problem_init(&problem, 100000 + round, 64, 64);
        _exit(gt_lookup(w->gt, 90, NULL, &problem, &answer, NULL) ? 1 : 0);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        return ++*lost <= MAY_BE_LOST;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void test_fork_beside_a_first_lookup(void **state)
{
    struct world *w = *state;
    pthread_t thread;
    void *result;
    int lost = 0;

    add_row(w, 90, "measured", "A", "1024x1024x1024:f32:nn", "BM=128,VEC=4", 50);
    open_tables(w, "");
    assert_int_equal(pthread_create(&thread, NULL, ask_for_ever, w), 0);
    for (int round = 0; round < 20; round++)
        if (!child_comes_back(w, round, &lost))
            fail_msg("the child of round %d does not come back", round);
    atomic_store(&stop, true);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, w);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_options_of_other_versions),        TEST(test_default_database),
        TEST(test_folders_of_own_kernels),           TEST(test_invalid_problems_are_refused_again),
        TEST(test_factors_of_s32_are_refused_again), TEST(test_fork_beside_a_first_lookup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
