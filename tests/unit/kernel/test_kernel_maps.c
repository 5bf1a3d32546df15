/* test_kernel_maps.c - tensor maps of a description: what they are for a candidate, and what is
 * refused before the driver sees it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "kernel/kernel.h"

#define DATA "tests/unit/data"
#define GOOD DATA "/mapped/mapped.json"

/* A copy of the description with `from` replaced by `to`, loaded. */
static int load_changed(struct gt_kernel **kernel, const char *from, const char *to,
                        struct gt_err *err)
{
    char dir[] = "/tmp/gt_maps_XXXXXX", path[64], template[64];
    struct gt_strbuf text = GT_STRBUF_INIT;
    const char *at;
    FILE *file;
    int rc;

    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof(path), "%s/mapped.json", dir);
    snprintf(template, sizeof(template), "%s/mapped.cu", dir);
    assert_int_equal(gt_strbuf_add_file(&text, GOOD, NULL), GT_OK);
    at = strstr(text.text, from);
    if (!at)
        fail_msg("the good description does not hold %s", from);
    file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%.*s%s%s", (int)(at - text.text), text.text, to, at + strlen(from));
    fclose(file);
    gt_strbuf_reset(&text);
    assert_int_equal(gt_strbuf_add_file(&text, DATA "/mapped/mapped.cu", NULL), GT_OK);
    file = fopen(template, "w");
    assert_non_null(file);
    fputs(text.text, file);
    fclose(file);
    gt_strbuf_release(&text);
    rc = gt_kernel_load(kernel, DATA, path, err);
    unlink(path);
    unlink(template);
    rmdir(dir);
    return rc;
}

/* The geometry of a problem and a point on a device. */
static int geometry_of(struct gt_geometry *geometry, const struct gt_kernel *kernel,
                       const char *problem_text, const char *point, int cc, struct gt_err *err)
{
    struct gt_device device;
    struct gt_problem problem;
    struct gt_candidate candidate = {kernel, &problem, &device, {{0}}};

    assert_int_equal(gt_device_profile(&device, ".", cc, err), GT_OK);
    if (gt_problem_parse(&problem, problem_text, err) ||
        gt_point_parse(&candidate.point, kernel, point, err))
        fail_msg("%s", err->msg);
    return gt_candidate_geometry(&candidate, geometry, err);
}

static struct gt_geometry good_geometry(const char *problem, const char *point)
{
    struct gt_geometry geometry;
    struct gt_kernel *kernel;
    struct gt_err err;

    if (gt_kernel_load(&kernel, DATA, GOOD, &err) ||
        geometry_of(&geometry, kernel, problem, point, 90, &err))
        fail_msg("%s", err.msg);
    geometry.launch[0].entry = NULL; /* the kernel's */
    gt_kernel_free(kernel);
    return geometry;
}

static void test_values(void **state)
{
    const struct gt_geometry g = good_geometry("100x96x200:bf16:nn:lda=208", "L2=64");
    const struct gt_map_geometry *a = &g.map[0], *b = &g.map[1], *d = &g.map[2], *w = &g.map[3];

    (void)state;
    assert_int_equal(g.maps, 4);
    assert_true(g.launch[0].maps && g.launch[0].pdl);
    assert_true(a->used && b->used && d->used && w->used);
    assert_int_equal(a->operand, GT_MAP_A);
    assert_int_equal(a->element, GT_BF16);
    assert_int_equal(a->rank, 3);
    assert_true(a->dims[0] == 200 && a->dims[1] == 100 && a->dims[2] == 1);
    assert_true(a->strides[0] == 2 && a->strides[1] == 416);
    assert_true(a->box[0] == 64 && a->box[1] == 64 && a->box[2] == 1);
    assert_int_equal(a->swizzle, 128);
    assert_int_equal(a->promotion, 64);
    assert_true(b->operand == GT_MAP_B && b->rank == 2 && b->swizzle == 0 && b->promotion == 0);
    assert_true(d->operand == GT_MAP_D && d->element == GT_BF16 && d->swizzle == 64);
    assert_true(w->operand == GT_MAP_WORKSPACE && w->element == GT_S32 && w->offset == 1024);
    assert_true(w->rank == 1 && w->dims[0] == 768 && w->strides[0] == 4);
}

/* What is left out, and sizes that make a stride or all of a map pointless. */
static void test_small_sizes(void **state)
{
    struct gt_geometry g = good_geometry("64x32x64:f32:nn:batch=3", "L2=128");

    (void)state;
    assert_true(g.map[0].used && !g.map[1].used && g.map[2].used && !g.map[3].used);
    assert_true(g.map[0].dims[2] == 3 && g.map[0].strides[2] == 4 * 64 * 64);
    /* One row of A: its leading dimension is nobody's business. */
    g = good_geometry("1x32x64:f32:nn:lda=67", "L2=128");
    assert_true(g.map[0].dims[1] == 1 && g.map[0].strides[1] == 16 && g.map[0].strides[2] == 16);
    /* Without K the maps are as small as the driver allows. */
    g = good_geometry("64x32x0:f32:nn", "L2=128");
    assert_true(g.launches == 1 && g.map[0].used && g.map[1].used);
    assert_true(g.map[0].dims[0] == 1 && g.map[0].dims[1] == 1 && g.map[1].dims[0] == 1);
    assert_int_equal(g.map[2].dims[0], 32);
}

/* Every limit of the driver, with the sentence that names the map. */
static void test_refused(void **state)
{
    static const struct {
        const char *from, *to, *problem, *point, *words;
    } cases[] = {
        {"", "", "64x64x64:f32:nn", "BM=512",
         "kernel mapped: tensor_maps[0].box[1] = \"BM\" is 512; it must lie between 1 and 256"},
        {"[\"BK\", \"BM\", 1]", "[\"2*BK\", \"BM\", 1]", "64x64x64:f32:nn", "",
         "kernel mapped: tensor_maps[0] (a): a row of the box has 256 bytes; the swizzle spans "
         "128"},
        {"\"box\": [16, 64]", "\"box\": [3, 64]", "64x64x64:f32:nn", "",
         "tensor_maps[1] (b): a row of the box has 12 bytes, no multiple of 16"},
        {"\"box\": [16, 64]", "\"box\": [0, 64]", "64x64x64:f32:nn", "",
         "tensor_maps[1].box[0] = \"0\" is 0; it must lie between 1 and 256"},
        {"\"box\": [16, 64]", "\"box\": [256, 256]", "64x64x64:f32:nn", "",
         "tensor_maps[1] (b): the box has 262144 bytes; a block has 232448 of shared memory"},
        {"\"swizzle\": 128", "\"swizzle\": 96", "64x64x64:f32:nn", "",
         "tensor_maps[0] (a): swizzle is 96; it must be 0, 32, 64 or 128"},
        {"\"promotion\": \"L2\"", "\"promotion\": 100", "64x64x64:f32:nn", "",
         "tensor_maps[0] (a): promotion is 100; it must be 0, 64, 128 or 256"},
        {"", "", "64x64x62:f32:nn", "",
         "tensor_maps[0] (a): strides[0] is 248, no multiple of 16 bytes"},
        {"\"LDB * SIZE_IN\"", "\"0x10000000000\"", "64x64x64:f32:nn", "",
         "tensor_maps[1].strides[0] = \"0x10000000000\" is 1099511627776; it must lie between 0"},
        {"[\"N\", \"K\"]", "[\"N\", \"-1\"]", "64x64x64:f32:nn", "",
         "tensor_maps[1].dims[1] = \"-1\" is -1; it must lie between 0 and 4294967296"},
        {"[\"N\", \"K\"]", "[\"N\", \"K + 1\"]", "64x64x64:f32:nn", "",
         "tensor_maps[1] (b): it reaches to byte 16640 of b, which has 16384"},
        {"\"offset\": 1024", "\"offset\": 1028", "64x64x64:f32:nn", "L2=64",
         "tensor_maps[3] (parts): offset is 1028, no multiple of 16 bytes"},
        {"\"offset\": 1024", "\"offset\": 1040", "64x64x64:f32:nn", "L2=64",
         "tensor_maps[3] (parts): it reaches to byte 4112 of workspace, which has 4096"},
    };
    struct gt_geometry geometry;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct gt_kernel *kernel;
        struct gt_err err;

        if (load_changed(&kernel, cases[i].from, cases[i].to, &err))
            fail_msg("%s", err.msg);
        assert_int_equal(geometry_of(&geometry, kernel, cases[i].problem, cases[i].point, 90, &err),
                         GT_ERANGE);
        if (!strstr(err.msg, cases[i].words))
            fail_msg("\"%s\" lacks \"%s\"", err.msg, cases[i].words);
        gt_kernel_free(kernel);
    }
}

/* Operands that a caller may place anywhere, and devices without TMA. */
static void test_wrong_place(void **state)
{
    struct gt_geometry geometry;
    struct gt_kernel *kernel;
    struct gt_device device;
    struct gt_problem problem;
    struct gt_candidate candidate;
    struct gt_err err;

    (void)state;
    assert_int_equal(gt_kernel_load(&kernel, DATA, GOOD, &err), GT_OK);
    assert_int_equal(geometry_of(&geometry, kernel, "64x64x64:f32:nn", "", 86, &err), GT_ERANGE);
    assert_non_null(strstr(err.msg, "tensor maps need sm_90; the device is sm_86"));
    assert_int_equal(gt_device_profile(&device, ".", 90, &err), GT_OK);
    gt_problem_init(&problem, 64, 64, 64);
    problem.align = 8;
    candidate = (struct gt_candidate){kernel, &problem, &device, {{0}}};
    gt_point_default(&candidate.point, kernel);
    assert_int_equal(gt_candidate_geometry(&candidate, &geometry, &err), GT_ERANGE);
    assert_non_null(strstr(err.msg, "operands are aligned to 8 bytes; a tensor map needs 16"));
    gt_kernel_free(kernel);
}

/* Slips in the description itself. */
static void test_malformed(void **state)
{
    static const struct {
        const char *from, *to, *words;
    } cases[] = {
        {"\"operand\": \"b\"", "\"operand\": \"e\"",
         "tensor_maps[1]: \"operand\" is \"e\"; it must be a, b, c, d or workspace"},
        {"\"element\": \"out\"", "\"element\": \"f17\"",
         "tensor_maps[2]: \"element\" is \"f17\"; it must be in, out or a type"},
        {"\"strides\": [\"LDB * SIZE_IN\"], ", "", "tensor_maps[1]: key \"strides\" is missing"},
        {"[\"LDB * SIZE_IN\"]", "[1, 2]",
         "tensor_maps[1]: \"strides\" lists 2; with 2 dims it must list 1"},
        {"\"box\": [16, 64]", "\"box\": [16]",
         "tensor_maps[1]: \"box\" lists 1; it must be as many as \"dims\", 2"},
        {"[\"N\", \"K\"]", "[1,2,3,4,5,6]", "tensor_maps[1]: \"dims\" must list 1 to 5"},
        {"\"promotion\": \"L2\"", "\"promotion\": \"L3\"", "unknown name \"L3\""},
        {"\"promotion\": \"L2\"", "\"demotion\": 0", "tensor_maps[0]: unknown key \"demotion\""},
        {"{\"name\": \"b\", ", "{", "tensor_maps[1]: key \"name\" is missing"},
        {"\"maps\": true", "\"maps\": 1", "launches[0]: \"maps\" must be"},
        {"\"maps\": true", "\"maps\": false", "no launch takes the \"tensor_maps\""},
        {"\"tensor_maps\": [", "\"tensor_maps\": [3, ", "tensor_maps[0] must be an object"},
        {"\"tensor_maps\"", "\"tensor_map\"", "unknown key \"tensor_map\""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct gt_kernel *kernel = NULL;
        struct gt_err err = {0};

        assert_int_equal(load_changed(&kernel, cases[i].from, cases[i].to, &err), GT_ECONFIG);
        if (!strstr(err.msg, cases[i].words))
            fail_msg("\"%s\" lacks \"%s\"", err.msg, cases[i].words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),    cmocka_unit_test(test_small_sizes),
        cmocka_unit_test(test_refused),   cmocka_unit_test(test_wrong_place),
        cmocka_unit_test(test_malformed),
    };

    return cmocka_run_group_tests_name("kernel_maps", tests, NULL, NULL);
}
