/* test_kernel.c - kernel descriptions: loading, what they serve, points, constraints, geometry. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load),
        cmocka_unit_test(test_depends),
        cmocka_unit_test(test_geometry),
    };

    return cmocka_run_group_tests_name("kernel", tests, NULL, NULL);
}
