/* test_bets.c - which points of the shipped descriptions are searched: mma's copies under masks for
 * the products alone that they are meant for; f32acc_fused not where ptxas refuses it or its
 * registers spill; of hopper, tiles that the blocks of a cluster share in parts of any length,
 * narrow last boxes for tiles that have time for them, and D^T where it takes a round less. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "kernel/kernel.h"
#include "problem/problem.h"
#include "shipped_kernels_fixture.h"

static bool is_searched(const struct gt_kernels *kernels, const char *kernel, const char *text,
                        const char *point)
{
    struct gt_problem problem;
    struct gt_device device;
    struct gt_candidate candidate = {
        gt_kernels_find(kernels, kernel, NULL), &problem, &device, {{0}}};
    int failed;

    assert_int_equal(gt_device_profile(&device, ".", 90, NULL), GT_OK);
    assert_int_equal(gt_problem_parse(&problem, text, NULL), GT_OK);
    assert_int_equal(gt_point_parse(&candidate.point, candidate.kernel, point, NULL), GT_OK);
    assert_int_equal(gt_candidate_valid(&candidate, &failed, NULL), GT_OK);
    return failed < 0;
}

static bool masks_are_searched(const struct gt_kernels *kernels, const char *text,
                               const char *copies)
{
    char point[256];

    snprintf(point, sizeof(point),
             "%s,BM=16,BN=32,WM=16,WN=16,BK_BYTES=256,WARPS_K=4,STAGES=2,SWIZZLE=0,REG_DOUBLE=0,"
             "EARLY=1,GROUP_M=1",
             copies);
    return is_searched(kernels, "mma", text, point);
}

static void test_masks_of_mma(void **state)
{
    const char *odd = "COPY_A=2,COPY_B=2,COPY_C=2,PATH_A=3,PATH_B=3";

    assert_true(masks_are_searched(*state, "80x209x83:f16:nn", odd));
    assert_true(masks_are_searched(*state, "81x209x83:bf16:tn", odd));
    assert_true(masks_are_searched(*state, "80x208x83:f16:nn",
                                   "COPY_A=2,COPY_C=16,PATH_A=3")); /* B goes by cp.async */
    assert_false(masks_are_searched(*state, "80x208x88:f16:nn", "PATH_A=3,PATH_B=3")); /* aligned */
    assert_false(masks_are_searched(*state, "81x209x583:f16:tn", odd));   /* five tiles along k */
    assert_false(masks_are_searched(*state, "1031x1031x83:f16:tn", odd)); /* not tiny */
}

/* ptxas 13.0 refuses the first of these points (C7406): its setmaxnreg.dec leaves 80 registers, and
 * the compiler has used 72. The last one spills 560 bytes. */
static void test_exchange_of_fused(void **state)
{
    const char *problem = "2232x152x49:f32:tt:accuracy=f32",
               *rest = "STAGES=2,LATE_LOADS=0,VEC_A=4,VEC_B=1,VEC_C=2";
    static const struct {
        const char *point;
        bool searched;
    } row[] = {{"CONSUMERS=1,SPLITTERS=2,BN=32,MIN_BLOCKS=2,BK=32,BUFFERS=1", false},
               {"CONSUMERS=1,SPLITTERS=1,BN=32,MIN_BLOCKS=2,BK=32,BUFFERS=1", true},
               {"CONSUMERS=1,SPLITTERS=2,BN=128,MIN_BLOCKS=1,BK=32,BUFFERS=1", true},
               {"CONSUMERS=1,SPLITTERS=1,BN=32,MIN_BLOCKS=2,BK=64,BUFFERS=2", false}};
    char point[256];

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        snprintf(point, sizeof(point), "%s,%s", row[i].point, rest);
        assert_int_equal(is_searched(*state, "f32acc_fused", problem, point), row[i].searched);
    }
}

/* db/measured has what speaks for each (templates/README.md). */
static void test_boxes_of_hopper(void **state)
{
    static const struct {
        const char *problem, *point;
        bool searched;
    } row[] = {
        /* four blocks load 18 of 72 rows each, which cost a third of them twice before */
        {"1000x1000x1000:bf16:nn",
         "EARLY=1,SWAP_AB=1,BM=128,BN=72,CLUSTER_M=4,CLUSTER_N=2,STORE=1,STAGES=7", true},
        {"1176x888x3464:bf16:tn",
         "EARLY=1,CONSUMERS=1,BM=64,BN=160,WIDE_BOXES=2,CLUSTER_M=4,CLUSTER_N=2,STORE=1,STAGES=6",
         true},
        {"520x2968x3752:bf16:tn",
         "EARLY=1,SWAP_AB=1,BM=128,BN=144,WIDE_BOXES=2,CLUSTER_M=4,CLUSTER_N=2,STORE=1,STAGES=6",
         true},
        {"712x3112x5640:bf16:tn",
         "EARLY=1,BM=128,BN=160,WIDE_BOXES=2,CLUSTER_M=2,CLUSTER_N=4,STORE=1,STAGES=5", false},
        {"712x3112x5640:bf16:tn",
         "EARLY=1,BM=128,BN=160,WIDE_BOXES=1,CLUSTER_M=2,CLUSTER_N=4,STORE=1,STAGES=5", true},
        {"712x3112x5640:bf16:tn",
         "EARLY=1,BM=128,BN=128,WIDE_BOXES=1,CLUSTER_M=2,CLUSTER_N=4,STORE=1,STAGES=6", false},
        /* three rounds in place of four, and as many */
        {"3520x3072x2048:f16:tt", "SWAP_AB=1,BM=256,BN=160,STORE=1,STAGES=3,GROUP=1", true},
        {"4096x4096x2048:f16:tt", "SWAP_AB=1,BM=256,BN=128,STORE=1,STAGES=4,GROUP=1", false},
    };
    char point[256];

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        snprintf(point, sizeof(point), "%s,SPREAD=%d", row[i].point, row[i].point[0] != 'E');
        if (is_searched(*state, "hopper", row[i].problem, point) != row[i].searched)
            fail_msg("%s: %s is%s searched", row[i].problem, point, row[i].searched ? " not" : "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_masks_of_mma),
        cmocka_unit_test(test_exchange_of_fused),
        cmocka_unit_test(test_boxes_of_hopper),
    };

    return cmocka_run_group_tests_name("bets", tests, set_up, tear_down);
}
