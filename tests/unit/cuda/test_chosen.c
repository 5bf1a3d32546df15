/* test_chosen.c - test: which points of a list do without the others (gt_emu_choose). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "kernel/kernel.h"
#include "tests/emu/sample.h"

#define POINTS 6

static struct gt_kernels kernels;

static int setup(void **state)
{
    char *data_dir = NULL;
    int status;

    (void)state;
    status = gt_data_dir(&data_dir, NULL) || gt_kernels_load(&kernels, data_dir, NULL, NULL, NULL);
    free(data_dir);
    return status;
}

static int teardown(void **state)
{
    (void)state;
    gt_kernels_release(&kernels);
    return 0;
}

/* The points of the kernel, with these marks each; taken: those of them that are chosen. */
static void choose(bool taken[POINTS], const char *name, const char *const text[POINTS],
                   const uint64_t marks[POINTS], int few)
{
    const struct gt_kernel *kernel = gt_kernels_find(&kernels, name, NULL);
    struct gt_emu_listed list[POINTS] = {{0}};
    struct gt_point point[POINTS];

    assert_non_null(kernel);
    for (int i = 0; i < POINTS; i++) {
        assert_int_equal(gt_point_parse(&point[i], kernel, text[i], NULL), 0);
        list[i] = (struct gt_emu_listed){kernel, &point[i], marks[i]};
    }
    gt_emu_choose(taken, list, POINTS, few);
}

/* simt_tiled: BM has 3 values, which choose; BN has 5 and BK has 6, which are sizes. */
static void test_values(void **state)
{
    static const char *const text[POINTS] = {
        "BM=32,BN=32,BK=32",  /* brings nothing that another one does not */
        "BM=8,BN=8,BK=8",     /* an end of both sizes */
        "BM=16,BN=128,BK=16", /* the other end of BN */
        "BM=32,BN=64,BK=256", /* the other end of BK */
        "BM=32,BN=64,BK=64",  /* between the ends */
        "BM=32,BN=32,BK=128", /* between the ends */
    };
    static const uint64_t none[POINTS] = {0};
    static const bool wanted[POINTS] = {false, true, true, true, false, false};
    bool taken[POINTS] = {false};

    (void)state;
    choose(taken, "simt_tiled", text, none, POINTS);
    assert_memory_equal(taken, wanted, sizeof wanted);
}

/* Points alike: a mark that one alone has brings it, what is taken already counts, and of few the
 * first is the point which brings most. */
static void test_marks(void **state)
{
    static const char *const text[POINTS] = {"BM=8", "BM=8", "BM=8", "BM=8", "BM=8", "BM=8"};
    static const uint64_t marks[POINTS] = {1, 1, 2, 1, 12, 4};
    static const bool wanted[POINTS] = {false, false, true, true, true, false};
    static const bool given[POINTS] = {[3] = true}, few[POINTS] = {[3] = true, [4] = true};
    bool taken[POINTS] = {[3] = true};

    (void)state;
    choose(taken, "simt_tiled", text, marks, POINTS);
    assert_memory_equal(taken, wanted, sizeof wanted);
    memcpy(taken, given, sizeof taken);
    choose(taken, "simt_tiled", text, marks, 1);
    assert_memory_equal(taken, few, sizeof few);
}

/* Each kernel has its own, and a point of none stays as it is. */
static void test_kernels(void **state)
{
    const struct gt_kernel *one = gt_kernels_find(&kernels, "simt_tiled", NULL);
    const struct gt_kernel *other = gt_kernels_find(&kernels, "simt_naive", NULL);
    struct gt_point of_one, of_other;
    bool taken[POINTS] = {[4] = true};
    static const bool wanted[POINTS] = {true, true, false, false, true, false};

    (void)state;
    gt_point_default(&of_one, one);
    gt_point_default(&of_other, other);
    gt_emu_choose(
        taken,
        (const struct gt_emu_listed[POINTS]){
            {one, &of_one, 1}, {other, &of_other, 1}, {one, &of_one, 1}, {other, &of_other, 1}},
        POINTS, POINTS);
    assert_memory_equal(taken, wanted, sizeof wanted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_kernels),
    };

    return cmocka_run_group_tests_name("chosen points", tests, setup, teardown);
}
