/* test_kernel.c - kernel descriptions: loading, what they serve, points, constraints, geometry. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "err.h"
#include "kernel.h"
#include "problem.h"

#define DATA "tests/unit/data"

static struct gt_kernel *load(void)
{
    struct gt_kernel *kernel;
    struct gt_err err = {0};

    if (gt_kernel_load(&kernel, DATA, DATA "/configs/kernels/tiny.json", &err))
        fail_msg("%s", err.msg);
    return kernel;
}

static struct gt_device device(void)
{
    struct gt_device device;
    struct gt_err err = {0};

    if (gt_device_profile(&device, ".", 86, &err))
        fail_msg("%s", err.msg);
    return device;
}

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
    assert_int_equal(kernel->layouts, 3);
    assert_int_equal(kernel->min_cc, 80);
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

/* Reads the description with `from` replaced by `to`. */
static struct gt_kernel *load_changed(const char *from, const char *to)
{
    char dir[] = "/tmp/gt_kernel_XXXXXX", path[64];
    struct gt_strbuf text = GT_STRBUF_INIT;
    struct gt_kernel *kernel;
    struct gt_err err = {0};
    const char *at;
    FILE *file;

    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/tiny.json", dir);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(gt_strbuf_add_file(&text, DATA "/configs/kernels/tiny.json", NULL), GT_OK);
    at = strstr(text.text, from);
    assert_non_null(at);
    fprintf(file, "%.*s%s%s", (int)(at - text.text), text.text, to, at + strlen(from));
    fclose(file);
    gt_strbuf_release(&text);
    if (gt_kernel_load(&kernel, DATA, path, &err))
        fail_msg("%s", err.msg);
    unlink(path);
    rmdir(dir);
    return kernel;
}

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
        {"8x8x8:f16", 86, "type of A and B"},
        {"8x8x8:out=f16", 86, "type of D"},
        {"8x8x8:tn", 86, "layout"},
        {"8x8x8:epi=relu", 86, "epilogue"},
        {"8x8x8", 75, "older"},
        {"8x8x8", 100, "newer"},
    };
    struct gt_kernel *kernel = load();

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct gt_problem problem;
        struct gt_device profile;
        const char *why = NULL;

        assert_int_equal(gt_problem_parse(&problem, cases[i].problem, NULL), GT_OK);
        assert_int_equal(gt_device_profile(&profile, ".", cases[i].cc, NULL), GT_OK);
        assert_int_equal(gt_kernel_serves(kernel, &problem, &profile, &why), !cases[i].why);
        assert_int_equal(gt_kernel_serves(kernel, &problem, &profile, NULL), !cases[i].why);
        if (cases[i].why)
            assert_non_null(strstr(why, cases[i].why));
    }
    gt_kernel_free(kernel);
}

static void test_serves_batch_and_accuracy(void **state)
{
    struct gt_kernel *single = load_changed("\"batch\": true", "\"batch\": false");
    struct gt_kernel *tf32 = load_changed("\"strict\"", "\"tf32\"");
    struct gt_device rtx3090 = device();
    struct gt_problem problem;
    const char *why;

    (void)state;
    assert_int_equal(gt_problem_parse(&problem, "8x8x8:batch=2", NULL), GT_OK);
    assert_false(gt_kernel_serves(single, &problem, &rtx3090, &why));
    assert_string_equal(why, "it does not serve batches");
    assert_false(gt_kernel_serves(tf32, &problem, &rtx3090, &why));
    assert_string_equal(why, "it is less accurate than the problem asks for");
    problem.accuracy = GT_ACCURACY_LOW;
    assert_true(gt_kernel_serves(tf32, &problem, &rtx3090, &why));
    gt_kernel_free(tf32);
    tf32 = load_changed("\"max_cc\": 90", "\"type_cc\": {\"f32\": 89}");
    problem.batch = 1;
    assert_false(gt_kernel_serves(tf32, &problem, &rtx3090, &why));
    assert_string_equal(why, "the device is older than the kernel needs for this type");
    gt_kernel_free(single);
    gt_kernel_free(tf32);
}

/* ---- many kernels ---- */

static void test_find(void **state)
{
    struct gt_kernels kernels;
    struct gt_err err = {0};

    (void)state;
    if (gt_kernels_load(&kernels, DATA, NULL, &err))
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
    assert_int_equal(gt_kernels_load(&kernels, "/nonexistent", NULL, &err), GT_EIO);
    assert_non_null(strstr(err.msg, "/nonexistent/configs/kernels: cannot read the folder"));
    assert_int_equal(gt_kernels_load(&kernels, DATA, dir, &err), GT_ECONFIG);
    assert_non_null(strstr(err.msg, "no kernel descriptions"));
    assert_int_equal(gt_kernels_load(&kernels, DATA, DATA "/configs/kernels", &err), GT_ECONFIG);
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
        cmocka_unit_test(test_load),          cmocka_unit_test(test_depends),
        cmocka_unit_test(test_geometry),      cmocka_unit_test(test_geometry_refused),
        cmocka_unit_test(test_arch_features), cmocka_unit_test(test_cluster),
        cmocka_unit_test(test_empty_problem), cmocka_unit_test(test_valid),
        cmocka_unit_test(test_undefined),     cmocka_unit_test(test_types_in_expressions),
        cmocka_unit_test(test_points),        cmocka_unit_test(test_points_refused),
        cmocka_unit_test(test_serves),        cmocka_unit_test(test_serves_batch_and_accuracy),
        cmocka_unit_test(test_find),          cmocka_unit_test(test_load_all_refused),
        cmocka_unit_test(test_data_dir),
    };

    return cmocka_run_group_tests_name("kernel", tests, NULL, NULL);
}
