/* test_lookup_breaks.c - how many constraints a change of one parameter breaks: counted from what
 * the point broke before, it is what the whole check counts, wherever the point lies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/err.h"
#include "base/stats.h"
#include "lookup/lookup_impl.h"
#include "problem/problem.h"

#define POINTS 20 /* of each kernel and problem */
#define MOST   6

static size_t check_changes(struct gt_candidate *candidate)
{
    const struct gt_kernel *kernel = candidate->kernel;
    const struct gt_point start = candidate->point;
    struct gt_breaks before;
    size_t changes = 0;

    gt_lookup_find_breaks(candidate, &before);
    for (size_t i = 0; i < kernel->params; i++) {
        for (size_t v = 0; v < kernel->param[i].count; v++) {
            candidate->point.value[i] = kernel->param[i].value[v];
            assert_int_equal(gt_lookup_broken_after(candidate, &before, i, MOST),
                             gt_lookup_broken(candidate, MOST));
            changes += before.known;
        }
        candidate->point = start;
    }
    return changes;
}

static void test_changes_of_one_parameter(void **state)
{
    static const char *const text[] = {"267x52x76:f16:tn", "70x6490x6314:f32:nt",
                                       "1488x2616x5016:tf32:tn", "4096x4096x4096:bf16"};
    struct gt_kernels kernels = {0};
    struct gt_random random = {1};
    struct gt_device device;
    size_t changes = 0;

    (void)state;
    assert_int_equal(gt_kernels_load(&kernels, ".", NULL, NULL, NULL), GT_OK);
    assert_int_equal(gt_device_profile(&device, ".", 90, NULL), GT_OK);
    for (size_t k = 0; k < kernels.count; k++)
        for (size_t p = 0; p < sizeof(text) / sizeof(text[0]); p++) {
            struct gt_problem problem;
            struct gt_candidate candidate = {kernels.kernel[k], &problem, &device, {{0}}};

            assert_int_equal(gt_problem_parse(&problem, text[p], NULL), GT_OK);
            for (int i = 0; i < POINTS; i++) {
                gt_point_default(&candidate.point, candidate.kernel);
                for (size_t j = 0; j < candidate.kernel->params; j++)
                    if (i && gt_random_below(&random, 2))
                        candidate.point.value[j] =
                            candidate.kernel->param[j]
                                .value[gt_random_below(&random, candidate.kernel->param[j].count)];
                changes += check_changes(&candidate);
            }
        }
    assert_true(changes > 10000);
    gt_kernels_release(&kernels);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_changes_of_one_parameter)};

    return cmocka_run_group_tests_name("lookup_breaks", tests, NULL, NULL);
}
