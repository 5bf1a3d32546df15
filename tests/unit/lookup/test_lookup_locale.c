/* test_lookup_locale.c - the library in programs that called setlocale: descriptions, text tables,
 * exported databases and problem texts read the same with every decimal point. */
#include "lookup_fixture.h"

#include "cuda/cublaslt.h"
#include "db/store.h"
#include "problem/problem.h"

#include <locale.h>

/* A comma, and a decimal point of two bytes. */
static const char *const names[] = {"de_DE", "ps_AF"};

/* Makes the locale and chooses it; false: this machine cannot make one. */
static bool choose(struct world *w, const char *name)
{
    char command[256];

    snprintf(command, sizeof(command), "localedef -c -i %s -f UTF-8 '%s/%s.UTF-8' >'%s/log' 2>&1",
             name, w->folder, name, w->folder);
    if (system(command) == -1)
        return false;
    setenv("LOCPATH", w->folder, 1);
    snprintf(command, sizeof(command), "%s.UTF-8", name);
    return setlocale(LC_ALL, command) != NULL;
}

/* A database with one winner, exported by a program without a locale. */
static void export_database(struct world *w, char exported[128])
{
    struct gt_device device = {.name = "A", .uuid = "GPU-1", .cc = 90, .sms = 132, .driver = 13000};
    struct gt_trial trial = {
        .status = GT_STATUS_OK, .stage = 3, .us = 5.3, .lo_us = 5.1, .hi_us = 5.7, .err_u = 1.3};
    struct gt_kernel kernel = {.name = (char *)"k", .text = (char *)""};
    struct gt_trial_key key = {.point = "BM=64,VEC=4"};
    struct gt_problem problem;
    struct gt_store *store;
    char path[128];

    snprintf(path, sizeof(path), "%s/live.db", w->folder);
    snprintf(exported, 128, "%s/exported.db", w->folder);
    strcpy(kernel.signature, w->signature);
    OK(w, gt_problem_parse(&problem, "256x256x256:beta=0.5", &w->err));
    OK(w, gt_store_open(&store, path, GT_STORE_WRITE, &w->err));
    OK(w, gt_store_device(store, &device, &key.device, &w->err));
    OK(w, gt_store_toolchain(store, 13000, &key.toolchain, &w->err));
    OK(w, gt_store_kernel(store, &kernel, &key.kernel, &w->err));
    OK(w, gt_store_problem(store, &problem, &key.problem, &w->err));
    OK(w, gt_store_sweep_begin(store, "tune", &key.sweep, &w->err));
    OK(w, gt_store_trial(store, &key, &trial, &w->err));
    OK(w, gt_store_export(store, exported, &w->err));
    gt_store_close(store);
}

static void check_problem_texts(struct world *w)
{
    char text[GT_PROBLEM_TEXT_MAX];
    struct gt_problem problem;

    OK(w, gt_problem_parse(&problem, "64x64x64:alpha=1.25:beta=0.1", &w->err));
    assert_true(problem.alpha == 1.25 && problem.beta == 0.1);
    gt_problem_format(&problem, text);
    assert_string_equal(text, "64x64x64:f32:nn:alpha=1.25:beta=0.1");
    assert_int_equal(gt_problem_parse(&problem, "64x64x64:beta=0,1", &w->err), GT_ERANGE);
}

static void test_every_decimal_point(void **state)
{
    struct world *w = *state;
    struct gt_options options = {.data_dir = w->folder, .system_db = w->table};
    char exported[128];
    size_t made = 0;

    export_database(w, exported);
    add_row(w, 90, "measured", "A", "64x64x64:f32:nn:beta=0.5", "BM=32,VEC=4", 5.25);
    write_table(w, w->table);
    options.user_db = exported;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (!choose(w, names[i]))
            continue;
        made++;
        OK(w, gt_open(&w->gt, &options, &w->err));
        assert_true(ask(w, 90, "A", "256x256x256:beta=0.5")->us == 5.3);
        assert_true(ask(w, 90, "A", "64x64x64:beta=0.5")->us == 5.25);
        assert_int_equal(ask(w, 90, "A", "65x64x64")->tier, GT_TIER_NEAR);
        check_problem_texts(w);
        assert_true(gt_cublaslt_gain("13.1.0 4194304 2a.0.1 1.2500") == 1.25);
        gt_close(w->gt);
        OK(w, gt_open(&w->gt, &(struct gt_options){.user_db = ""}, &w->err)); /* all kernels */
        gt_close(w->gt);
        w->gt = NULL;
        setlocale(LC_ALL, "C");
    }
    if (made == 0) {
        print_message("localedef cannot make a locale here\n");
        skip();
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_every_decimal_point),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
