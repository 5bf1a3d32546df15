/* test_predict_h200.c - the model against the winners measured on an H200 (db/shipped/h200.csv, the
 * points of db/measured/h200-f32.csv): how far off it is, and whether it ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "kernel.h"
#include "predict.h"
#include "table.h"

#define OK(call)                             \
    do {                                     \
        if (call)                            \
            fail_msg("%s: %s", #call, w->err.msg); \
    } while (0)

#define MOST 256 /* rows of the table that are looked at */

struct world {
    struct gt_kernels kernels;
    struct gt_table table;
    struct gt_device device;
    struct gt_err err;
};

static int setup(void **state)
{
    struct world *w = calloc(1, sizeof(*w));

    assert_non_null(w);
    OK(gt_kernels_load(&w->kernels, ".", NULL, &w->err));
    OK(gt_table_load(&w->table, "db/shipped/h200.csv", &w->err));
    OK(gt_device_profile(&w->device, ".", 90, &w->err));
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;

    gt_table_release(&w->table);
    gt_kernels_release(&w->kernels);
    free(w);
    return 0;
}

static double predict(struct world *w, const char *kernel, const char *point,
                      const struct gt_problem *problem, struct gt_prediction *prediction)
{
    struct gt_candidate candidate = {.problem = problem, .device = &w->device};
    struct gt_geometry geometry;

    candidate.kernel = gt_kernels_find(&w->kernels, kernel, &w->err);
    assert_non_null(candidate.kernel);
    OK(gt_point_parse(&candidate.point, candidate.kernel, point, &w->err));
    OK(gt_candidate_geometry(&candidate, &geometry, &w->err));
    OK(gt_predict_explain(&candidate, &geometry, 0, 0, prediction, &w->err));
    return prediction->us;
}

/* Ranks of value[0..count), no two of which are equal. */
static void rank(const double *value, size_t count, double *ranks)
{
    for (size_t i = 0; i < count; i++) {
        ranks[i] = 0;
        for (size_t j = 0; j < count; j++)
            ranks[i] += value[j] < value[i];
    }
}

/* Spearman's coefficient. */
static double rank_correlation(const double *x, const double *y, size_t count)
{
    double ranks_x[MOST] = {0}, ranks_y[MOST] = {0}, squares = 0, n = (double)count;

    rank(x, count, ranks_x);
    rank(y, count, ranks_y);
    for (size_t i = 0; i < count; i++)
        squares += (ranks_x[i] - ranks_y[i]) * (ranks_x[i] - ranks_y[i]);
    return 1 - 6 * squares / (n * (n * n - 1));
}

static void test_winners(void **state)
{
    struct world *w = *state;
    double measured[MOST] = {0}, predicted[MOST] = {0}, coefficient;
    size_t count = 0;

    for (size_t i = 0; i < w->table.rows && count < MOST; i++) {
        const struct gt_table_row *row = &w->table.row[i];
        struct gt_prediction p;
        double ratio;

        measured[count] = row->us;
        predicted[count] = predict(w, row->kernel, row->point, &row->problem, &p);
        ratio = predicted[count] / measured[count];
        print_message("%-28s %-9s measured %9.1f predicted %9.1f ratio %.2f (%s; compute %.1f l2 %.1f memory %.1f red %.1f, %d blocks, %.2f waves)\n", row->text,
                      row->kernel, measured[count], predicted[count], ratio, p.bound, p.compute_us, p.l2_us, p.memory_us, p.reduction_us, p.blocks_sm, p.waves);
        count++;
    }
    coefficient = rank_correlation(measured, predicted, count);
    print_message("rank correlation of %zu winners: %.3f\n", count, coefficient);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_winners, setup, teardown),
    };

    return cmocka_run_group_tests_name("predict_h200", tests, NULL, NULL);
}
