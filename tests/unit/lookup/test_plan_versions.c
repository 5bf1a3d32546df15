/* test_plan_versions.c - gt_plan on the stub driver, where the cache has cubins of several versions
 * of NVRTC: machines with other drivers share it, or the driver was a newer one once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "stub_fixture.h"

struct world {
    char cubins[64];
    struct gt_err err;
};

/* The versions of the compiler ("": there is none) and of the driver; refused: a version of the
 * compiler, NULL: none. */
static void use_versions(const char *nvrtc, const char *driver, const char *refused)
{
    stub_environment();
    if (!*nvrtc)
        setenv("GEMMTUNE_LIBNVRTC", "/nonexistent", 1);
    setenv("STUB_NVRTC", nvrtc, 1);
    setenv("STUB_DRIVER", driver, 1);
    setenv("STUB_REFUSES", refused ? refused : "", 1);
}

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof(*w));

    *state = w;
    return !w || stub_folder(w->cubins, "versions");
}

static int tear_down(void **state)
{
    struct world *w = *state;
    int rc;

    unsetenv("STUB_NVRTC");
    unsetenv("STUB_DRIVER");
    unsetenv("STUB_REFUSES");
    rc = stub_folder_remove(w->cubins);
    free(w);
    return rc;
}

/* Plans a problem, and runs it to see that code was loaded. */
static int plan(struct world *w, int allow_nvrtc)
{
    static _Alignas(16) float a[64 * 64], d[64 * 64];
    const struct gt_options options = {GT_OPTIONS_INIT, .data_dir = ".", .user_db = "",
                                       .cubin_dir = w->cubins, .allow_nvrtc = allow_nvrtc};
    struct gt_operands operands = {GT_OPERANDS_INIT, .a = a, .b = a, .d = d, .alpha = 1};
    struct gt_problem problem;
    struct gt_plan *made;
    struct gt *gt;
    int rc;

    for (int i = 0; i < 64 * 64; i++)
        a[i] = 1;
    gt_problem_init(&problem, 64, 64, 64);
    if (gt_open(&gt, &options, &w->err))
        fail_msg("%s", w->err.msg);
    rc = gt_plan(&made, gt, 0, &problem, &w->err);
    if (!rc) {
        const size_t bytes = gt_plan_answer(made)->workspace_bytes;

        if (bytes)
            assert_int_equal(posix_memalign(&operands.workspace, 256, bytes), 0);
        if (gt_run(made, NULL, &operands, &w->err))
            fail_msg("%s", w->err.msg);
        assert_true(d[0] == 64);
        free(operands.workspace);
    }
    gt_plan_free(made);
    gt_close(gt);
    return rc;
}

#define PLANS(w, allow)                   \
    do {                                  \
        if (plan(w, allow))               \
            fail_msg("%s", (w)->err.msg); \
    } while (0)

/* A cubin of a later major version is left for drivers that take it. */
static void test_an_older_driver(void **state)
{
    struct world *w = *state;

    use_versions("13000", "13000", NULL);
    PLANS(w, 1);
    use_versions("12080", "12080", NULL);
    assert_int_equal(plan(w, 0), GT_ENOTFOUND);
    assert_non_null(strstr(w->err.msg, "allow_nvrtc"));
    PLANS(w, 1);
    use_versions("", "12080", NULL);
    PLANS(w, 0);
    use_versions("", "13000", NULL); /* takes either */
    PLANS(w, 0);
}

/* Whatever the reason for which the driver refuses a cubin, another version's is tried. */
static void test_a_refused_cubin(void **state)
{
    struct world *w = *state;

    use_versions("13050", "13000", NULL);
    PLANS(w, 1);
    use_versions("13050", "13000", "13050");
    assert_int_equal(plan(w, 1), GT_ERANGE);
    assert_non_null(strstr(w->err.msg, "cuModuleLoadDataEx"));
    use_versions("13020", "13000", "13050");
    assert_int_equal(plan(w, 0), GT_ERANGE);
    PLANS(w, 1);
    use_versions("", "13000", "13050");
    PLANS(w, 0);
    use_versions("", "13000", "13020");
    PLANS(w, 0);
}

/* Where the only compiler is newer than the driver, the sentence says so. */
static void test_a_newer_compiler(void **state)
{
    struct world *w = *state;

    use_versions("13000", "12080", NULL);
    assert_int_equal(plan(w, 1), GT_ERANGE);
    assert_non_null(strstr(w->err.msg, "compiled by NVRTC 13.0, which this driver of CUDA 12.8"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_an_older_driver, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_refused_cubin, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_newer_compiler, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("plan_versions", tests, NULL, NULL);
}
