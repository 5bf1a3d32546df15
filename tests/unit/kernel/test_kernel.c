/* test_kernel.c - kernel descriptions: loading, what they serve, points. */
#include "kernel_fixture.h"

static void test_load(void **state)
{
    struct gt_kernel *kernel = load();

    (void)state;
    assert_string_equal(kernel->name, "tiny");
    assert_int_equal(kernel->rung, 3);
    assert_false(kernel->production);
    assert_int_equal(kernel->params, 5);
    assert_int_equal(kernel->deriveds, 3);
    assert_int_equal(kernel->constraints, 4);
    assert_int_equal(kernel->launches, 2);
    assert_int_equal(kernel->entry[0].layouts, 3);
    assert_int_equal(kernel->entry[0].min_cc, 80);
    assert_true(kernel->param[2].launch);
    assert_int_equal(strlen(kernel->signature), 32);
    assert_true(gt_kernel_cross_product(kernel) == 3 * 4 * 2 * 3 * 3);
    gt_kernel_free(kernel);
    gt_kernel_free(NULL);
}

static void test_depends(void **state)
{
    struct gt_kernel *kernel = load();

    (void)state;
    assert_int_equal(gt_kernel_depends(kernel, kernel->constraint[0].expr), 3);
    assert_int_equal(gt_kernel_depends(kernel, kernel->constraint[2].expr), 3); /* through WARPS */
    assert_int_equal(gt_kernel_depends(kernel, kernel->launch[1].when), 8);
    assert_int_equal(gt_kernel_depends(kernel, NULL), 0);
    gt_kernel_free(kernel);
}

/* ---- points ---- */

static void test_points(void **state)
{
    static const struct {
        const char *text, *canonical;
    } cases[] = {
        {"", "BM=64,TM=4,GROUP_M=4,SPLIT=1,PAD=0"},
        {"TM=8", "BM=64,TM=8,GROUP_M=4,SPLIT=1,PAD=0"},
        {"PAD=1024,BM=128", "BM=128,TM=4,GROUP_M=4,SPLIT=1,PAD=1024"},
        {"BM=128,TM=48,GROUP_M=1,SPLIT=4,PAD=200000", "BM=128,TM=48,GROUP_M=1,SPLIT=4,PAD=200000"},
    };
    struct gt_kernel *kernel = load();

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct gt_strbuf text = GT_STRBUF_INIT;
        struct gt_point point, again;

        assert_int_equal(gt_point_parse(&point, kernel, cases[i].text, NULL), GT_OK);
        gt_point_format(&text, kernel, &point);
        assert_string_equal(text.text, cases[i].canonical);
        assert_int_equal(gt_point_parse(&again, kernel, text.text, NULL), GT_OK);
        assert_memory_equal(&point, &again, sizeof(point));
        gt_strbuf_release(&text);
    }
    gt_kernel_free(kernel);
}

static void test_points_refused(void **state)
{
    static const struct {
        const char *text;
        int code;
        const char *words;
    } cases[] = {
        {"BN=64", GT_ENOTFOUND,
         "kernel tiny has no parameter \"BN\" (did you mean BM?); its parameters are: BM TM "
         "GROUP_M"},
        {"WOBBLE=1", GT_ENOTFOUND, "no parameter \"WOBBLE\"; its parameters are: BM"},
        {"bm=64", GT_ENOTFOUND, "(did you mean BM?)"},
        {"BM=63", GT_ERANGE, "kernel tiny: BM cannot be \"63\"; its values are: 32 64 128"},
        {"BM=", GT_ERANGE, "BM cannot be \"\""},
        {"BM=64x", GT_ERANGE, "BM cannot be \"64x\""},
        {"BM=99999999999999999999", GT_ERANGE, "BM cannot be"},
        {"BM=6,4", GT_ERANGE, "BM cannot be \"6\""},
        {"BM", GT_ESYNTAX, "\"BM\" is not NAME=value"},
        {"BM=64,", GT_ESYNTAX, "ends with a comma"},
        {",BM=64", GT_ESYNTAX, "\"\" is not NAME=value"},
        {"BM=64,,TM=4", GT_ESYNTAX, "\"\" is not NAME=value"},
        {"BM=64,BM=64", GT_ESYNTAX, "BM is given twice"},
        {"=64", GT_ENOTFOUND, "no parameter \"\""},
    };
    struct gt_kernel *kernel = load();

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct gt_point point;
        struct gt_err err = {0};

        assert_int_equal(gt_point_parse(&point, kernel, cases[i].text, NULL), cases[i].code);
        assert_int_equal(gt_point_parse(&point, kernel, cases[i].text, &err), cases[i].code);
        if (!strstr(err.msg, cases[i].words))
            fail_msg("%s: \"%s\" lacks \"%s\"", cases[i].text, err.msg, cases[i].words);
    }
    gt_kernel_free(kernel);
}

/* ---- serving ---- */

static bool unserved(char why[GT_UNSERVED_MAX], const char *who, const struct gt_kernel *kernel,
                     const struct gt_problem *problem, const struct gt_device *on)
{
    return gt_unserved(why, who, &kernel, 1, problem, on);
}

static void test_serves(void **state)
{
    static const struct {
        const char *problem;
        int cc;
        const char *why;
    } cases[] = {
        {"8x8x8", 86, NULL},
        {"8x8x8:nt:batch=3:epi=bias", 90, NULL},
        {"8x8x8:accuracy=tf32", 86, NULL},
        {"8x8x8:f16", 86, "kernel k can multiply f32, not f16"},
        {"8x8x8:out=f16", 86, "kernel k can write D of f32 with FP32, not f16"},
        {"8x8x8:tn", 86, "kernel k can take layout nn or nt with FP32, not tn"},
        {"8x8x8:epi=relu", 86, "kernel k can compute epilogue none or bias with FP32, not relu"},
        {"8x8x8", 75, "FP32 with kernel k needs sm_80 or later, and this is sm_75"},
        {"8x8x8", 100, "FP32 with kernel k is served up to sm_90, and this is sm_100"},
    };
    struct gt_kernel *kernel = load();

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct gt_problem problem;
        struct gt_device profile;
        char why[GT_UNSERVED_MAX];

        assert_int_equal(gt_problem_parse(&problem, cases[i].problem, NULL), GT_OK);
        assert_int_equal(gt_device_profile(&profile, ".", cases[i].cc, NULL), GT_OK);
        assert_int_equal(gt_kernel_serves(kernel, &problem, &profile), !cases[i].why);
        assert_int_equal(unserved(why, "kernel k", kernel, &problem, &profile), !!cases[i].why);
        if (cases[i].why)
            assert_string_equal(why, cases[i].why);
    }
    gt_kernel_free(kernel);
}

static void test_serves_batch_and_accuracy(void **state)
{
    struct gt_kernel *single = load_changed("\"batch\": true", "\"batch\": false");
    struct gt_kernel *tf32 = load_changed("\"strict\"", "\"tf32\"");
    struct gt_device rtx3090 = device();
    struct gt_problem problem;
    char why[GT_UNSERVED_MAX];

    (void)state;
    assert_int_equal(gt_problem_parse(&problem, "8x8x8:batch=2", NULL), GT_OK);
    single->production = tf32->production = true;
    assert_true(unserved(why, NULL, single, &problem, &rtx3090));
    assert_string_equal(why, "the kernels cannot take batches of FP32");
    assert_true(unserved(why, "it", tf32, &problem, &rtx3090));
    assert_string_equal(why, "it can reach accuracy tf32 at best with FP32, not strict");
    problem.accuracy = GT_ACCURACY_LOW;
    assert_false(unserved(why, NULL, tf32, &problem, &rtx3090));
    gt_kernel_free(tf32);
    tf32 = load_changed("\"min_cc\": 80", "\"min_cc\": 89");
    problem.batch = 1;
    tf32->production = true;
    assert_true(unserved(why, NULL, tf32, &problem, &rtx3090));
    assert_string_equal(why, "FP32 needs sm_89 or later, and this is sm_86");
    /* Another entry serves it: it need not be the first one, nor the one that comes closest. */
    tf32->entry[1] = tf32->entry[2] = tf32->entry[0];
    tf32->entries = 3;
    tf32->entry[0].types = 1u << GT_F16;
    assert_true(unserved(why, NULL, tf32, &problem, &rtx3090));
    assert_string_equal(why, "FP32 needs sm_89 or later, and this is sm_86");
    tf32->entry[2].min_cc = 86;
    assert_false(unserved(why, NULL, tf32, &problem, &rtx3090));
    gt_kernel_free(single);
    gt_kernel_free(tf32);
}

/* ---- many kernels ---- */

static void test_find(void **state)
{
    struct gt_kernels kernels;
    struct gt_err err = {0};

    (void)state;
    if (gt_kernels_load(&kernels, DATA, NULL, NULL, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(kernels.count, 1);
    assert_ptr_equal(gt_kernels_find(&kernels, "tiny", &err), kernels.kernel[0]);
    assert_null(gt_kernels_find(&kernels, "tyni", NULL));
    assert_null(gt_kernels_find(&kernels, "tinny", &err));
    assert_int_equal(err.code, GT_ENOTFOUND);
    assert_string_equal(err.msg, "unknown kernel \"tinny\"; did you mean \"tiny\"?");
    assert_null(gt_kernels_find(&kernels, "warptile", &err));
    assert_string_equal(err.msg, "unknown kernel \"warptile\"; there are: tiny");
    gt_kernels_release(&kernels);
    assert_int_equal(kernels.count, 0);
    gt_kernels_release(&kernels);
}

static void test_load_all_refused(void **state)
{
    char dir[] = "/tmp/gt_kernels_XXXXXX";
    struct gt_kernels kernels;
    struct gt_err err = {0};

    (void)state;
    assert_non_null(mkdtemp(dir));
    assert_int_equal(gt_kernels_load(&kernels, "/nonexistent", NULL, NULL, &err), GT_EIO);
    assert_non_null(strstr(err.msg, "/nonexistent/configs/kernels: cannot read the folder"));
    assert_int_equal(gt_kernels_load(&kernels, DATA, dir, NULL, &err), GT_ECONFIG);
    assert_non_null(strstr(err.msg, "no kernel descriptions"));
    assert_int_equal(gt_kernels_load(&kernels, DATA, DATA "/configs/kernels", NULL, &err),
                     GT_ECONFIG);
    assert_non_null(strstr(err.msg, "kernel \"tiny\" is already described in"));
    assert_int_equal(kernels.count, 0);
    rmdir(dir);
}

/* ---- the data folder ---- */

static void test_data_dir(void **state)
{
    char *before = getenv("GEMMTUNE_DATA") ? strdup(getenv("GEMMTUNE_DATA")) : NULL;
    char *here = realpath(".", NULL), *dir = NULL;
    struct gt_err err = {0};

    (void)state;
    setenv("GEMMTUNE_DATA", DATA, 1);
    assert_int_equal(gt_data_dir(&dir, &err), GT_OK);
    assert_string_equal(dir, DATA);
    free(dir);
    setenv("GEMMTUNE_DATA", "/nonexistent", 1);
    assert_int_equal(gt_data_dir(&dir, &err), GT_EIO);
    assert_non_null(strstr(err.msg, "$GEMMTUNE_DATA is \"/nonexistent\""));
    assert_null(dir);
    unsetenv("GEMMTUNE_DATA");
    if (gt_data_dir(&dir, &err)) /* beside this program: build/tests/unit lies in the tree */
        fail_msg("%s", err.msg);
    assert_string_equal(dir, here);
    free(dir);
    free(here);
    if (before)
        setenv("GEMMTUNE_DATA", before, 1);
    free(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load),     cmocka_unit_test(test_depends),
        cmocka_unit_test(test_points),   cmocka_unit_test(test_points_refused),
        cmocka_unit_test(test_serves),   cmocka_unit_test(test_serves_batch_and_accuracy),
        cmocka_unit_test(test_find),     cmocka_unit_test(test_load_all_refused),
        cmocka_unit_test(test_data_dir),
    };

    return cmocka_run_group_tests_name("kernel", tests, NULL, NULL);
}
