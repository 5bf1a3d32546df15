/* test_lookup_h200.c - look-ups of untuned shapes in the shipped table of an H200: the answers are
 * what somebody who knows the GPU would call sensible. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "gemmtune.h"
#include "kernel/kernel.h"
#include "tests/serves.h"

#define OK(call)                                \
    do {                                        \
        if (call)                               \
            fail_msg("%s: %s", #call, err.msg); \
    } while (0)

/* The value of a parameter in a point's text; 1 if it has none such. */
static long value_of(const char *point, const char *name)
{
    const char *at = strstr(point, name);

    return at ? strtol(at + strlen(name), NULL, 10) : 1;
}

/* Whether the kernel is one of those for a few rows only. */
static bool for_few_rows(const char *name)
{
    struct gt_kernels kernels = {0};
    const struct gt_kernel *kernel;
    struct gt_err err;
    bool few;

    OK(gt_kernels_load(&kernels, ".", NULL, NULL, &err));
    kernel = gt_kernels_find(&kernels, name, &err);
    assert_non_null(kernel);
    few = gt_serves_any(kernel).max_m <= 64;
    gt_kernels_release(&kernels);
    return few;
}

struct expected {
    const char *problem, *kernel; /* NULL: any for a few rows */
    long blocks, splits;          /* at least, at most */
    long rows, columns;           /* of a tile, at most */
};

static void check(struct gt *gt, const struct expected *expected)
{
    const struct gt_answer *answer;
    struct gt_problem problem;
    struct gt_err err;
    long blocks;

    OK(gt_problem_parse(&problem, expected->problem, &err));
    OK(gt_lookup(gt, 90, NULL, &problem, &answer, &err));
    print_message("%s: %s, as for %s, %u x %u blocks, %s\n", expected->problem, answer->kernel,
                  answer->tuned_for ? answer->tuned_for : "(none)", answer->grid[0],
                  answer->grid[1], answer->point);
    blocks = (long)answer->grid[0] * answer->grid[1] * answer->grid[2];
    if (strstr(answer->point, "SPLIT_MODE=2")) /* the first launch clears D */
        blocks *= value_of(answer->point, "SPLIT_K=");
    assert_int_equal(answer->tier, GT_TIER_NEAR);
    assert_false(answer->predicted);
    if (expected->kernel && strcmp(answer->kernel, "simt_tma") != 0)
        assert_string_equal(answer->kernel, expected->kernel);
    else if (expected->kernel)
        assert_string_equal(expected->kernel, "simt"); /* for the same products */
    else
        assert_true(for_few_rows(answer->kernel));
    assert_in_range(blocks, expected->blocks, 1 << 20);
    assert_in_range(value_of(answer->point, "SPLIT_K="), 1, expected->splits);
    assert_in_range(value_of(answer->point, "BM="), 1, expected->rows);
    assert_in_range(value_of(answer->point, "BN="), 1, expected->columns);
    assert_true(answer->expected_loss > 0 && answer->expected_loss < 0.4);
}

/* Large products are hardly split along k, and are tiled so that 132 SMs are busy; small and long
 * ones are split instead of leaving SMs idle; tiles are no larger than twice the matrix. */
static void test_untuned_shapes(void **state)
{
    static const struct expected expected[] = {
        {"2000x3000x1500", "simt", 250, 4, 256, 256},
        {"2900x3100x3000", "simt", 264, 4, 256, 256},
        {"2500x2500x2500:f32:nt", "simt", 132, 4, 256, 256},
        {"6000x6000x500:f32:tn", "simt", 264, 4, 256, 256},
        {"2x4096x4096", NULL, 128, 16, 1, 1},
        {"1x8192x8192", NULL, 128, 16, 1, 1},
        {"100x5000x5000", "simt", 132, 16, 128, 256},
        {"5000x100x300", "simt", 64, 4, 256, 128},
        {"100x100x30000", "simt", 100, 128, 128, 128},
        {"16x1000x1000", "simt", 64, 16, 16, 128},
    };
    struct gt *gt;
    struct gt_err err;

    (void)state;
    OK(gt_open(&gt, &(struct gt_options){.data_dir = "."}, &err));
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
        check(gt, &expected[i]);
    gt_close(gt);
}

/* Winners of a product without C are taken where C is added or a bias, and bring their time. */
static void test_winners_of_the_product(void **state)
{
    static const struct {
        const char *problem, *tuned_for, *word;
        double least_us, most_us;
    } asked[] = {
        {"4096x4096x4096:f16:nt:beta=1", "4096x4096x4096:f16:nt", "READ_C=1", 206, 240},
        {"4096x4096x4096:f16:nn:epi=bias", "4096x4096x4096:f16:nn", "READ_C=0", 199, 230},
        {"4096x4096x4096:f32:nn:beta=0.5", "4096x4096x4096:f32:nn", "", 2500, 2700},
        {"16384x4096x32:bf16:tn:beta=1", "16384x4096x32:bf16:tn", "READ_C=1", 60, 90},
    };
    struct gt *gt;
    struct gt_err err;

    (void)state;
    OK(gt_open(&gt, &(struct gt_options){.data_dir = "."}, &err));
    for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
        const struct gt_answer *answer;
        struct gt_problem problem;

        OK(gt_problem_parse(&problem, asked[i].problem, &err));
        OK(gt_lookup(gt, 90, "NVIDIA H200", &problem, &answer, &err));
        print_message("%s: %s %s, %.1f us\n", asked[i].problem, answer->kernel, answer->point,
                      answer->expected_us);
        assert_int_equal(answer->tier, GT_TIER_NEAR);
        assert_string_equal(answer->tuned_for, asked[i].tuned_for);
        assert_non_null(strstr(answer->point, asked[i].word));
        assert_true(answer->expected_us >= asked[i].least_us);
        assert_true(answer->expected_us <= asked[i].most_us);
    }
    gt_close(gt);
}

/* A winner for one row, taken for eight, reads B twice at most. */
static void test_rows_of_a_thin_product(void **state)
{
    const struct gt_answer *answer;
    struct gt_problem problem;
    const char *rows;
    struct gt *gt;
    struct gt_err err;

    (void)state;
    OK(gt_open(&gt, &(struct gt_options){.data_dir = "."}, &err));
    for (int m = 1; m <= 8; m *= 2) {
        gt_problem_init(&problem, m, 4096, 4096);
        OK(gt_lookup(gt, 90, NULL, &problem, &answer, &err));
        print_message("%d rows: %s\n", m, answer->point);
        rows = strstr(answer->point, "ROWS=") ? "ROWS=" : "BM=";
        assert_true(m <= 2 * value_of(answer->point, rows));
    }
    gt_close(gt);
}

/* Few tiles and an enormous k, as a gradient with respect to a vocabulary has them: k is divided
 * over as many blocks as there is work for, although winners of many parts are of smaller tiles or
 * of more SMs than are asked for here, and so break what is required of their parts.  (Such a
 * product of 197 rows once was computed without parts, in three and a half times the best time.) */
static void test_few_tiles_of_an_enormous_k(void **state)
{
    static const char *const few[] = {"212x1024x140000:bf16:nn", "197x768x151936:bf16:nn",
                                      "130x768x100000:bf16:nt", "256x1000x120000:f16:nn",
                                      "180x600x120000:bf16:tn"};
    struct gt *gt;
    struct gt_err err;

    (void)state;
    OK(gt_open(&gt, &(struct gt_options){.data_dir = "."}, &err));
    for (size_t i = 0; i < sizeof(few) / sizeof(few[0]); i++) {
        const struct gt_answer *answer;
        struct gt_problem problem;

        OK(gt_problem_parse(&problem, few[i], &err));
        OK(gt_lookup(gt, 90, NULL, &problem, &answer, &err));
        print_message("%s: %s, %u blocks, %s\n", few[i], answer->kernel, answer->grid[0],
                      answer->point);
        assert_int_equal(answer->tier, GT_TIER_NEAR);
        assert_in_range(value_of(answer->point, "SPLITS="), 4, 64);
    }
    gt_close(gt);
}

/* Small and odd products, like none that was tuned: a kernel that has valid points for one is found
 * with such a point. */
static void test_odd_products(void **state)
{
    static const struct {
        const char *problem;
        int arch;
    } odd[] = {
        {"2048x6x2:s8:nn", 120}, {"69x16x576:e4m3:nn:beta=1", 89},
        {"199x4x3:e5m2:nt", 90}, {"199x4x3:e5m2:nt:epi=bias+gelu:beta=1:align=2", 90},
        {"77x3x9:bf16:tn", 80},  {"1000x1x4096:f16:nn", 86},
        {"65x2x31:tf32:tt", 90}, {"513x5x7:s8:tn:batch=3", 75},
        {"129x9x1:f16:nt", 100}, {"300x7x50:f32:tt:accuracy=f32", 90},
    };
    const struct gt_answer *answer;
    struct gt_problem problem;
    struct gt *gt;
    struct gt_err err;

    (void)state;
    OK(gt_open(&gt, &(struct gt_options){.data_dir = "."}, &err));
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        OK(gt_problem_parse(&problem, odd[i].problem, &err));
        OK(gt_lookup(gt, odd[i].arch, NULL, &problem, &answer, &err));
        print_message("%s on sm_%d: %s %s\n", odd[i].problem, odd[i].arch,
                      answer->kernel ? answer->kernel : "no kernel",
                      answer->point ? answer->point : "");
        if (answer->tier == GT_TIER_NONE)
            fail_msg("%s on sm_%d has no answer", odd[i].problem, odd[i].arch);
    }
    gt_close(gt);
}

/* Winners that are older than the bet on early first loads answer for other short products with
 * them. */
static void test_short_products_begin_early(void **state)
{
    static const char *const problems[] = {"640x648x640:f16:nn", "448x1280x1288:bf16:nt",
                                           "80x209x93:f16:nn", "1000x1000x1008:bf16:nn"};
    const struct gt_answer *answer;
    struct gt_problem problem;
    struct gt *gt;
    struct gt_err err;

    (void)state;
    OK(gt_open(&gt, &(struct gt_options){.data_dir = "."}, &err));
    for (size_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++) {
        OK(gt_problem_parse(&problem, problems[i], &err));
        OK(gt_lookup(gt, 90, NULL, &problem, &answer, &err));
        print_message("%s: %s %s\n", problems[i], answer->kernel, answer->point);
        assert_int_equal(answer->tier, GT_TIER_NEAR);
        assert_int_equal(value_of(answer->point, "EARLY="), 1);
        assert_non_null(strstr(answer->point, "EARLY="));
    }
    gt_close(gt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_odd_products),
        cmocka_unit_test(test_short_products_begin_early),
        cmocka_unit_test(test_untuned_shapes),
        cmocka_unit_test(test_winners_of_the_product),
        cmocka_unit_test(test_rows_of_a_thin_product),
        cmocka_unit_test(test_few_tiles_of_an_enormous_k),
    };

    return cmocka_run_group_tests_name("lookup_h200", tests, NULL, NULL);
}
