/* test_strategy_auto.c - the default strategy on a synthetic space: with failures, with times from
 * elsewhere, and when it ends. */
#include "strategy_fixture.h"

/* Model-based search stays the best where a third of the points fail, at random. */
static double patchy(const struct gt_point *point)
{
    int64_t sum = 0;

    for (int p = 0; p < 6; p++)
        sum = sum * 31 + point->value[p] * 7;
    return sum % 3 == 1 ? 0 : separable(point);
}

static void test_auto_lives_with_failures(void **state)
{
    struct search *s = *state;
    struct gt_kernel *kernel = big_kernel(s);
    struct gt_strategy *strategy;
    struct gt_space space;

    OK(&s->err, gt_space_init(&space, kernel, &s->problem, &s->device, 0, &s->err));
    OK(&s->err, gt_strategy_new(&strategy, "auto", &space, 1, NULL, &s->err));
    assert_true(drive(strategy, patchy, 300).best < 110);
    gt_strategy_free(strategy);
    gt_space_release(&space);
    gt_kernel_free(kernel);
}

/* Once nothing more is to be gained it says so, long before the space is exhausted. */
static void test_auto_ends(void **state)
{
    struct search *s = *state;
    struct gt_kernel *kernel = big_kernel(s);
    struct gt_strategy *strategy;
    struct gt_space space;
    struct run run;

    OK(&s->err, gt_space_init(&space, kernel, &s->problem, &s->device, 0, &s->err));
    OK(&s->err, gt_strategy_new(&strategy, "auto", &space, 1, NULL, &s->err));
    run = drive(strategy, separable, 5000);
    assert_true(run.done);
    assert_true(run.best == 100);
    assert_in_range(run.asked, 200, 2000);
    gt_strategy_free(strategy);
    gt_space_release(&space);
    gt_kernel_free(kernel);
}

/* "Every so many points" may be a part of 1, which counts as 1. */
static void test_auto_takes_fractions(void **state)
{
    struct search *s = *state;
    struct gt_kernel *kernel = big_kernel(s);
    struct gt_strategy *strategy;
    struct gt_space space;

    OK(&s->err, gt_space_init(&space, kernel, &s->problem, &s->device, 0, &s->err));
    OK(&s->err, gt_strategy_new(&strategy, "auto:local=0.5,climb=0.5", &space, 1, NULL, &s->err));
    assert_int_equal(drive(strategy, separable, 60).asked, 60);
    gt_strategy_free(strategy);
    gt_space_release(&space);
    gt_kernel_free(kernel);
}

/* Times of a like problem, for a tenth of the points; and a model that is only roughly right. */
static float rough(void *context, size_t i)
{
    struct gt_point point;

    gt_space_point(context, i, &point);
    return i % 7 ? (float)log(separable(&point) + 20) : NAN;
}

static void test_auto_learns_from_elsewhere(void **state)
{
    struct search *s = *state;
    struct gt_kernel *kernel = big_kernel(s);
    struct gt_space space;
    struct gt_transfer prior[2] = {{0}};
    size_t *point;
    float *us;

    OK(&s->err, gt_space_init(&space, kernel, &s->problem, &s->device, 0, &s->err));
    point = calloc(space.count, sizeof(*point));
    us = calloc(space.count, sizeof(*us));
    assert_true(point && us);
    for (size_t i = 0; i < space.count; i += 10) {
        struct gt_point at;

        gt_space_point(&space, i, &at);
        point[prior[1].count] = i;
        us[prior[1].count++] = (float)(3000 + 40 * separable(&at) + 11 * (double)(i % 13));
    }
    prior[1].point = point;
    prior[1].us = us;
    for (int with_model = 0; with_model < 2; with_model++) {
        const struct gt_seeds seeds = {.transfer = prior,
                                       .transfers = with_model ? 0 : 2,
                                       .expect = with_model ? rough : NULL,
                                       .context = &space};
        struct gt_strategy *strategy;

        OK(&s->err, gt_strategy_new(&strategy, "auto", &space, 1, &seeds, &s->err));
        assert_true(drive(strategy, separable, 60).best < 106);
        gt_strategy_free(strategy);
    }
    free(point);
    free(us);
    gt_space_release(&space);
    gt_kernel_free(kernel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(test_auto_lives_with_failures),
        WITH_FOLDER(test_auto_ends),
        WITH_FOLDER(test_auto_takes_fractions),
        WITH_FOLDER(test_auto_learns_from_elsewhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
