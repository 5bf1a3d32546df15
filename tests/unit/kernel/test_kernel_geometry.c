/* test_kernel_geometry.c - what a candidate comes to: launches and what CUDA would refuse of them,
 * constraints. */
#include "kernel_fixture.h"

static void test_geometry(void **state)
{
    struct gt_kernel *kernel = load();
    struct gt_device rtx3090 = device();
    struct gt_problem problem;
    struct gt_candidate candidate = {kernel, &problem, &rtx3090, {{0}}};
    struct gt_geometry geometry;
    struct gt_err err = {0};
    int failed;

    (void)state;
    gt_problem_init(&problem, 1000, 100, 512);
    assert_int_equal(gt_point_parse(&candidate.point, kernel, "SPLIT=2,BM=128", &err), GT_OK);
    assert_int_equal(gt_candidate_valid(&candidate, &failed, &err), GT_OK);
    assert_int_equal(failed, -1);
    if (gt_candidate_geometry(&candidate, &geometry, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(geometry.launches, 2);
    assert_string_equal(geometry.launch[0].entry, "gemm");
    assert_int_equal(geometry.launch[0].grid[0], 8 * 2);
    assert_int_equal(geometry.launch[0].grid[2], 2);
    assert_int_equal(geometry.launch[0].block[0], 128);
    assert_int_equal(geometry.launch[0].shared_bytes, 4 * 16 * 192);
    assert_int_equal(geometry.launch[0].carveout, 50);
    assert_int_equal(geometry.launch[1].grid[0], 391);
    assert_int_equal(geometry.workspace_bytes, 8 * 1000 * 100);
    assert_false(geometry.deterministic);
    assert_int_equal(geometry.max_registers, 128);
    assert_int_equal(geometry.code_arch, 86);
    assert_int_equal(geometry.launch_param[0], 4);
    assert_int_equal(geometry.launch_param[1], 2);
    gt_kernel_free(kernel);
}

/* ---- geometry that CUDA would refuse ---- */

static void test_geometry_refused(void **state)
{
    static const struct {
        const char *from, *to, *point, *words;
    } cases[] = {
        {"\"THREADS\"]", "\"THREADS*33\"]", "",
         "kernel tiny: launches[0].block[0] = \"THREADS*33\" is 2112; it must lie between 1 and"},
        {"\"THREADS\"]", "32, 32, 2]", "", "launches[0].block has 2048 threads; at most 1024"},
        {"\"THREADS\"]", "\"0*THREADS\"]", "", "launches[0].block[0] = \"0*THREADS\" is 0"},
        {"\"THREADS\"]", "1, 1, \"THREADS*2\"]", "", "block[2] = \"THREADS*2\" is 128"},
        {"\"cdiv(M,BM)*cdiv(N,64)\"", "\"M*N*1000\"", "", "launches[0].grid[0] = \"M*N*1000\" is"},
        {"*cdiv(N,64)\", 1", "*cdiv(N,64)\", 70000", "", "grid[1] = \"70000\" is 70000"},
        {"*cdiv(N,64)\", 1", "*cdiv(N,64)\", \"0\"", "", "launches[0].grid is 1024x0x1, without a"},
        {"\"workspace\": \"SPLIT", "\"workspace\": \"-SPLIT", "",
         NULL /* -SPLIT > 1 is false: no workspace */},
        {"4*SPLIT*M*N*BATCH : 0", "1 : -5", "",
         "kernel tiny: workspace = \"SPLIT > 1 ? 1 : -5\" is"},
        {"+PAD", "-PAD", "PAD=200000", "launches[0].shared"},
        {"+PAD", "+PAD", "PAD=200000", "is 208192; it must lie between 0 and 101376"},
        {"\"carveout\": 50", "\"carveout\": 101", "", "carveout = \"101\" is 101"},
        {"\"carveout\": 50", "\"cluster\": [2]", "", "launches[0].cluster needs sm_90"},
        {"\"carveout\": 50", "\"pdl\": 1", "",
         "launches[0].pdl = \"1\" is 1; it must lie between 0"},
        {"\"code_ptx\": 0", "\"arch_features\": 1", "",
         "compile.arch_features = \"1\" is 1; it must"},
        {"\"max_registers\": 128", "\"max_registers\": 256", "", "compile.max_registers"},
        {"\"code_arch\": \"CC\"", "\"code_arch\": 75", "",
         "machine code of sm_75 does not run on sm_86"},
        {"\"code_arch\": \"CC\", \"code_ptx\": 0", "\"code_arch\": 75, \"code_ptx\": 1", "", NULL},
        {"\"code_arch\": \"CC\"", "\"code_arch\": 80", "", NULL},
        {"\"code_arch\": \"CC\"", "\"code_arch\": 81", "", "is 81; there is no such arch"},
        {"\"code_arch\": \"CC\"", "\"code_arch\": 89", "", "it must lie between 75 and 86"},
        {"\"4*16*(BM+64)+PAD\"", "\"PAD/(TM-4)\"", "",
         "launches[0].shared: expression \"PAD/(TM-4)"},
        {"\"when\": \"SPLIT > 1\"", "\"when\": \"1/(SPLIT-1)\"", "",
         "launches[1].when: expression"},
        {"\"entry\": \"gemm\"", "\"entry\": \"gemm\", \"when\": 0", "",
         "kernel tiny: \"when\" of every launch is 0"},
    };
    struct gt_device rtx3090 = device();
    struct gt_problem problem;

    (void)state;
    gt_problem_init(&problem, 4096, 1024, 512);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct gt_kernel *kernel = load_changed(cases[i].from, cases[i].to);
        struct gt_candidate candidate = {kernel, &problem, &rtx3090, {{0}}};
        struct gt_geometry geometry;
        struct gt_err err = {0};
        int rc;

        assert_int_equal(gt_point_parse(&candidate.point, kernel, cases[i].point, &err), GT_OK);
        rc = gt_candidate_geometry(&candidate, &geometry, &err);
        if (!cases[i].words && rc)
            fail_msg("%s: %s", cases[i].to, err.msg);
        if (cases[i].words && (rc != GT_ERANGE || !strstr(err.msg, cases[i].words)))
            fail_msg("%s: \"%s\" lacks \"%s\"", cases[i].to, err.msg, cases[i].words);
        assert_int_equal(gt_candidate_geometry(&candidate, &geometry, NULL), rc);
        gt_kernel_free(kernel);
    }
}

/* sm_103 runs code of sm_100, but not of sm_100a. */
static void test_arch_features(void **state)
{
    struct gt_kernel *kernel = load_changed("\"code_arch\": \"CC\", \"code_ptx\": 0",
                                            "\"code_arch\": 100, \"arch_features\": \"K > 512\"");
    struct gt_device b300 = device();
    struct gt_problem problem;
    struct gt_candidate candidate = {kernel, &problem, &b300, {{0}}};
    struct gt_geometry geometry;
    struct gt_err err = {0};

    (void)state;
    gt_point_default(&candidate.point, kernel);
    b300.cc = 103;
    gt_problem_init(&problem, 512, 512, 512);
    assert_int_equal(gt_candidate_geometry(&candidate, &geometry, &err), GT_OK);
    assert_false(geometry.arch_features);
    gt_problem_init(&problem, 512, 512, 1024);
    assert_int_equal(gt_candidate_geometry(&candidate, &geometry, &err), GT_ERANGE);
    assert_non_null(strstr(err.msg, "runs on its own arch only, sm_100, and not on sm_103"));
    b300.cc = 100;
    assert_int_equal(gt_candidate_geometry(&candidate, &geometry, &err), GT_OK);
    assert_true(geometry.arch_features);
    gt_kernel_free(kernel);
}

static void test_cluster(void **state)
{
    static const struct {
        const char *cluster, *words;
    } cases[] = {
        {"[2, 1, 1]", NULL},
        {"[3]", "grid[0] is 1024, no multiple of cluster[0] = 3"},
        {"[8, 4]", "cluster has 32 blocks; at most 16"},
        {"[17]", "cluster[0] = \"17\" is 17; it must lie between 1 and 16"},
    };
    struct gt_problem problem;
    struct gt_device h200;

    (void)state;
    assert_int_equal(gt_device_profile(&h200, ".", 90, NULL), GT_OK);
    gt_problem_init(&problem, 4096, 1024, 512);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char to[64];
        struct gt_kernel *kernel;
        struct gt_candidate candidate = {NULL, &problem, &h200, {{0}}};
        struct gt_geometry geometry;
        struct gt_err err = {0};
        int rc;

        snprintf(to, sizeof(to), "\"cluster\": %s", cases[i].cluster);
        kernel = load_changed("\"carveout\": 50", to);
        candidate.kernel = kernel;
        gt_point_default(&candidate.point, kernel);
        rc = gt_candidate_geometry(&candidate, &geometry, &err);
        assert_int_equal(rc, cases[i].words ? GT_ERANGE : GT_OK);
        if (cases[i].words)
            assert_non_null(strstr(err.msg, cases[i].words));
        else
            assert_int_equal(geometry.launch[0].cluster[0], 2);
        gt_kernel_free(kernel);
    }
}

/* Nothing to compute: nothing to launch. */
static void test_empty_problem(void **state)
{
    struct gt_kernel *kernel = load();
    struct gt_device rtx3090 = device();
    struct gt_problem problem;
    struct gt_candidate candidate = {kernel, &problem, &rtx3090, {{0}}};
    struct gt_geometry geometry;

    (void)state;
    gt_point_default(&candidate.point, kernel);
    gt_problem_init(&problem, 0, 64, 64);
    assert_int_equal(gt_candidate_geometry(&candidate, &geometry, NULL), GT_OK);
    assert_int_equal(geometry.launches, 0);
    gt_problem_init(&problem, 64, 64, 0); /* beta * C is still to be computed */
    assert_int_equal(gt_candidate_geometry(&candidate, &geometry, NULL), GT_OK);
    assert_int_equal(geometry.launches, 1);
    gt_kernel_free(kernel);
}

/* ---- constraints ---- */

static void test_valid(void **state)
{
    static const struct {
        const char *point;
        int failed;
    } cases[] = {
        {"", -1},           {"BM=32,TM=48", 0}, /* ROWS is 0 and WARPS divides by it: the first
                                                   constraint rules it out */
        {"BM=64,TM=48", 1}, {"BM=128,TM=1", -1}, {"SPLIT=2", 3},
    };
    struct gt_kernel *kernel = load();
    struct gt_device rtx3090 = device();
    struct gt_problem problem;
    struct gt_candidate candidate = {kernel, &problem, &rtx3090, {{0}}};

    (void)state;
    gt_problem_init(&problem, 128, 128, 128);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct gt_err err = {0};
        int failed = 99;

        assert_int_equal(gt_point_parse(&candidate.point, kernel, cases[i].point, NULL), GT_OK);
        if (gt_candidate_valid(&candidate, &failed, &err))
            fail_msg("%s: %s", cases[i].point, err.msg);
        assert_int_equal(failed, cases[i].failed);
    }
    gt_kernel_free(kernel);
}

/* A value that cannot be computed is an error where no earlier constraint rules the point out. */
static void test_undefined(void **state)
{
    static const struct {
        const char *from, *to, *words;
    } cases[] = {
        {"\"if\": \"TM <= BM\"", "\"if\": \"WARPS > 0\"",
         "kernel tiny: derive[1] (WARPS): expression \"128/ROWS\" divides by zero"},
        {"\"if\": \"TM <= BM\"", "\"if\": \"1/(TM-48)\"", NULL},
        {"{\"if\": \"TM <= BM\", \"why\": \"a thread has at most the rows of its block\"},\n"
         "    {\"if\": \"BM % TM == 0\", \"why\": \"a thread owns whole rows\"},\n",
         "", "derive[1] (WARPS)"},
    };
    struct gt_device rtx3090 = device();
    struct gt_problem problem;

    (void)state;
    gt_problem_init(&problem, 128, 128, 128);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct gt_kernel *kernel = load_changed(cases[i].from, cases[i].to);
        struct gt_candidate candidate = {kernel, &problem, &rtx3090, {{0}}};
        int64_t slots[GT_MAX_SLOTS];
        struct gt_err err = {0};
        int failed;

        assert_int_equal(gt_point_parse(&candidate.point, kernel, "BM=32,TM=48", NULL), GT_OK);
        assert_int_equal(gt_candidate_valid(&candidate, &failed, &err), GT_ERANGE);
        if (cases[i].words)
            assert_non_null(strstr(err.msg, cases[i].words));
        assert_int_equal(gt_candidate_slots(&candidate, slots, &err), GT_ERANGE);
        gt_kernel_free(kernel);
    }
}

/* A description may ask for the types by name. */
static void test_types_in_expressions(void **state)
{
    static const struct {
        const char *problem, *expression;
        bool holds;
    } cases[] = {
        {"64x64x64", "TYPE == F32 && OUT == F32 && ACC == F32 && ACCURACY == 0", true},
        {"64x64x64:bf16", "TYPE == BF16 && OUT == BF16 && ACC == F32 && ACCURACY == 3", true},
        {"64x64x64:s8", "TYPE == S8 && OUT == S32 && ACC == S32", true},
        {"64x64x64:e4m3", "TYPE == E4M3 && TYPE != E5M2 && OUT != F16", true},
        {"64x64x64:tf32", "TYPE == TF32 && ACCURACY == 2 && OUT == F32", true},
        {"64x64x64:f16:acc=f16", "ACC == F32", false},
    };
    struct gt_device rtx3090 = device();

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char to[128];
        struct gt_kernel *kernel;
        struct gt_problem problem;
        struct gt_candidate candidate = {.problem = &problem, .device = &rtx3090};
        int failed;

        assert_int_equal(gt_problem_parse(&problem, cases[i].problem, NULL), GT_OK);
        snprintf(to, sizeof(to), "\"if\": \"%s\"", cases[i].expression);
        candidate.kernel = kernel = load_changed("\"if\": \"TM <= BM\"", to);
        gt_point_default(&candidate.point, kernel);
        assert_int_equal(gt_candidate_valid(&candidate, &failed, NULL), GT_OK);
        if ((failed < 0) != cases[i].holds)
            fail_msg("%s: %s", cases[i].problem, cases[i].expression);
        gt_kernel_free(kernel);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_geometry),      cmocka_unit_test(test_geometry_refused),
        cmocka_unit_test(test_arch_features), cmocka_unit_test(test_cluster),
        cmocka_unit_test(test_empty_problem), cmocka_unit_test(test_valid),
        cmocka_unit_test(test_undefined),     cmocka_unit_test(test_types_in_expressions),
    };

    return cmocka_run_group_tests_name("kernel_geometry", tests, NULL, NULL);
}
