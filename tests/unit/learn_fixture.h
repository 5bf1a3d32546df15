/* learn_fixture.h - recorded trials of an H200 (tests/unit/data/h200-f32acc.csv) in a learning,
 * which every test leaves as it was; rankings that are written of it, and what they are off by. */
#ifndef GT_LEARN_FIXTURE_H
#define GT_LEARN_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "learn/learn.h"
#include "lookup/table.h"
#include "problem/problem.h"

#include <math.h>
#include <stdlib.h>

static struct gt_kernels kernels;
static struct gt_learning learning;

static inline int take_row(const struct gt_table_row *row, struct gt_err *err)
{
    struct gt_candidate candidate = {.problem = &row->problem, .device = &learning.device};

    candidate.kernel = gt_kernels_find(&kernels, row->kernel, err);
    if (!candidate.kernel || gt_point_parse(&candidate.point, candidate.kernel, row->point, err))
        return err->code;
    return gt_learn_add(&learning, &candidate, row->us, 1, err);
}

/* Takes all rows anew, onto a ranking if one is given. */
static inline int take_all(const struct gt_ranking *base, struct gt_err *err)
{
    const struct gt_device device = learning.device;
    struct gt_table table = {0};
    int rc = gt_table_load(&table, "tests/unit/data/h200-f32acc.csv", err);

    gt_learn_release(&learning);
    learning = (struct gt_learning){.kernels = &kernels, .device = device};
    if (!rc && base)
        rc = gt_learn_onto(&learning, base, err);
    for (size_t i = 0; i < table.rows && !rc; i++)
        rc = take_row(&table.row[i], err);
    gt_table_release(&table);
    return rc;
}

static inline int setup(void **state)
{
    struct gt_err err = {0};
    char *data;
    int rc = gt_data_dir(&data, &err);

    (void)state;
    if (!rc)
        rc = gt_kernels_load(&kernels, data, NULL, NULL, &err);
    if (!rc)
        rc = gt_device_profile(&learning.device, data, 90, &err);
    if (!rc)
        rc = take_all(NULL, &err);
    free(data);
    if (rc)
        print_error("%s\n", err.msg);
    return rc;
}

static inline int teardown(void **state)
{
    (void)state;
    gt_learn_release(&learning);
    gt_kernels_release(&kernels);
    return 0;
}

/* What choosing by the means loses on problems of a kind, on the learning's device. */
static inline int loss_of(enum gt_learn_means means, size_t kind, struct gt_learn_loss *loss,
                          struct gt_err *err)
{
    struct gt_learn_choice *choice = calloc(learning.problems + 1, sizeof(*choice));
    int rc = choice ? gt_learn_choose(&learning, means, choice, err) : GT_ENOMEM;

    if (!rc)
        rc = gt_learn_loss_of(&learning, choice, kind, learning.device.name, loss, err);
    free(choice);
    return rc;
}

/* The root of the mean square of what a ranking is off, as a logarithm, on all rows, but for what
 * all rows of a problem are off by: that decides nothing. */
static inline double off(const struct gt_ranking *ranking)
{
    double squares = 0, *sum = calloc(learning.problems, sizeof(*sum)), shared = 0;

    assert_non_null(sum);

    for (size_t i = 0; i < learning.rows; i++) {
        const struct gt_learn_row *row = &learning.row[i];
        const struct gt_candidate candidate = {kernels.kernel[row->kernel],
                                               &learning.problem[row->problem].problem,
                                               &learning.device, learning.point[row->point].point};
        struct gt_prediction prediction;
        struct gt_geometry geometry;
        double one;

        assert_int_equal(gt_candidate_geometry(&candidate, &geometry, NULL), GT_OK);
        one = log(gt_ranking_us(ranking, &candidate, &geometry, HUGE_VAL, &prediction) / row->us);
        squares += one * one / (double)learning.rows;
        sum[row->problem] += one;
        /* What is given up is never said to be better than the limit. */
        assert_true(gt_ranking_us(ranking, &candidate, &geometry, row->us / 3, &prediction) >=
                    row->us / 3);
    }
    for (size_t i = 0; i < learning.problems; i++)
        if (learning.problem[i].rows)
            shared += sum[i] * sum[i] / (double)learning.problem[i].rows / (double)learning.rows;
    free(sum);
    return sqrt(squares - shared);
}

static inline void written(struct gt_ranking *ranking)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    struct gt_err err = {0};

    *ranking = (struct gt_ranking){0};
    if (gt_learn_write(&learning, GT_LEARN_WHOLE, &text, &err) ||
        gt_ranking_parse(ranking, &kernels, "r", text.text, text.length, &err))
        fail_msg("%s", err.msg);
    gt_strbuf_release(&text);
}

#endif
