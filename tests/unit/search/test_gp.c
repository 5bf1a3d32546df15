/* test_gp.c - the regression behind the model-based strategies: what it must get right on
 * spaces whose truth is known. */
#include "search_fixture.h"

#include "base/stats.h"
#include "search/auto/gp.h"

#include <math.h>

#define EIGHT "0, 1, 2, 3, 4, 5, 6, 7"
#define POOL  512

struct world {
    struct search *s;
    struct gt_kernel *kernel;
    struct gt_space space;
    struct gt_random random;
    size_t pool[POOL], seen[GT_GP_SEEN];
    float y[GT_GP_SEEN];
};

static int setup(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    void *search;

    assert_non_null(world);
    search_setup(&search);
    world->s = search;
    world->kernel = search_kernel(
        world->s, "cube", "+ P0 + P1 + P2 + P3 + P4",
        "\"params\": [" PARAM("P0", 0, EIGHT) "," PARAM("P1", 0, EIGHT) "," PARAM(
            "P2", 0, EIGHT) "," PARAM("P3", 0, "0, 1") "," PARAM("P4", 7, "7") "], " LAUNCH);
    OK(&world->s->err, gt_space_init(&world->space, world->kernel, &world->s->problem,
                                     &world->s->device, 0, &world->s->err));
    world->random.state = 1;
    *state = world;
    return 0;
}

static int teardown(void **state)
{
    struct world *world = *state;
    void *search = world->s;

    gt_space_release(&world->space);
    gt_kernel_free(world->kernel);
    free(world);
    return search_teardown(&search);
}

/* Smooth in two parameters that act together; P3 a step; P2 without effect. */
static float truth(const struct world *world, size_t i)
{
    struct gt_point point;
    double a, b;

    gt_space_point(&world->space, i, &point);
    a = (double)point.value[0] - 3;
    b = (double)(point.value[1] - point.value[0]) - 1;
    return (float)(5 + 0.02 * a * a + 0.03 * b * b + 0.2 * (double)point.value[3]);
}

static void draw(struct world *world, size_t seen)
{
    for (size_t i = 0; i < POOL; i++)
        world->pool[i] = gt_random_below(&world->random, world->space.count);
    for (size_t i = 0; i < seen; i++) {
        world->seen[i] = gt_random_below(&world->random, world->space.count);
        world->y[i] = truth(world, world->seen[i]);
    }
}

/* Root mean square error over the pool, and how much of it the deviations explain. */
static double error(struct world *world, struct gt_gp *gp, double *surprise)
{
    const float *mean, *sd;
    double sum = 0;

    *surprise = 0;
    gt_gp_predict(gp, &mean, &sd);
    for (size_t i = 0; i < POOL; i++) {
        double off = (double)mean[i] - (double)truth(world, world->pool[i]);

        assert_true(sd[i] > 0);
        sum += off * off / POOL;
        *surprise += off * off / ((double)sd[i] * (double)sd[i]) / POOL;
    }
    return sqrt(sum);
}

static void test_it_learns(void **state)
{
    struct world *world = *state;
    struct gt_gp *gp;
    double few, many, surprise;

    OK(&world->s->err, gt_gp_new(&gp, &world->space, 0, NULL, NULL, &world->s->err));
    draw(world, 120);
    for (int again = 0; again < 3; again++)
        gt_gp_fit(gp, world->pool, POOL, world->seen, world->y, 15, true);
    few = error(world, gp, &surprise);
    for (int again = 0; again < 3; again++)
        gt_gp_fit(gp, world->pool, POOL, world->seen, world->y, 120, true);
    many = error(world, gp, &surprise);
    assert_true(few < 0.4); /* the times differ by 0.55 (one deviation) */
    assert_true(many < 0.1);
    assert_true(surprise < 9); /* errors are of the size it expects */
    gt_gp_free(gp);
}

/* One by one, corrected later, or all at once: the same. */
static void test_one_by_one_is_all_at_once(void **state)
{
    struct world *world = *state;
    struct gt_gp *gp;
    const float *mean, *sd;
    float mean_before[POOL], sd_before[POOL];

    OK(&world->s->err, gt_gp_new(&gp, &world->space, 0, NULL, NULL, &world->s->err));
    draw(world, 40);
    for (size_t i = 0; i < 10; i++) { /* the last ten are of the pool */
        world->seen[30 + i] = world->pool[17 * i];
        world->y[30 + i] = truth(world, world->pool[17 * i]);
    }
    gt_gp_fit(gp, world->pool, POOL, world->seen, world->y, 40, false);
    gt_gp_predict(gp, &mean, &sd);
    memcpy(mean_before, mean, sizeof(mean_before));
    memcpy(sd_before, sd, sizeof(sd_before));
    gt_gp_fit(gp, world->pool, POOL, world->seen, world->y, 30, false);
    for (size_t i = 0; i < 10; i++) {
        assert_true(isfinite(gt_gp_mean(gp, world->pool[i])));
        assert_true(gt_gp_add(gp, 17 * i, 9));
    }
    for (size_t i = 0; i < 10; i++) {
        assert_true(isfinite(gt_gp_mean(gp, world->pool[i])));
        gt_gp_correct(gp, 30 + i, world->y[30 + i]);
    }
    assert_int_equal(gt_gp_count(gp), 40);
    gt_gp_predict(gp, &mean, &sd);
    for (size_t i = 0; i < POOL; i++) {
        assert_true(fabs((double)mean[i] - (double)mean_before[i]) < 1e-3);
        assert_true(fabs((double)sd[i] - (double)sd_before[i]) < 1e-3);
        assert_true(fabs((double)mean[i] - (double)gt_gp_mean(gp, world->pool[i])) < 1e-3);
    }
    gt_gp_free(gp);
}

/* A prior that is the truth but for a factor and an offset, beside a useless one. */
static float prior(void *context, size_t which, size_t point)
{
    return which ? 0.1f * (float)(point % 5) : 2 * truth(context, point) - 9;
}

static void test_prior_means_help(void **state)
{
    struct world *world = *state;
    struct gt_gp *without, *with;
    double surprise, blind;

    OK(&world->s->err, gt_gp_new(&without, &world->space, 0, NULL, NULL, &world->s->err));
    OK(&world->s->err, gt_gp_new(&with, &world->space, 2, prior, world, &world->s->err));
    draw(world, 10);
    for (int again = 0; again < 3; again++) {
        gt_gp_fit(without, world->pool, POOL, world->seen, world->y, 10, true);
        gt_gp_fit(with, world->pool, POOL, world->seen, world->y, 10, true);
    }
    blind = error(world, without, &surprise);
    assert_true(error(world, with, &surprise) < 0.5 * blind);
    gt_gp_free(without);
    gt_gp_free(with);
}

/* More than it holds, the same point many times, equal times: no trouble. */
static void test_hard_cases(void **state)
{
    struct world *world = *state;
    struct gt_gp *gp;
    const float *mean, *sd;

    OK(&world->s->err, gt_gp_new(&gp, &world->space, 0, NULL, NULL, &world->s->err));
    draw(world, GT_GP_SEEN);
    for (size_t i = 0; i < GT_GP_SEEN; i++) {
        world->seen[i] = i % 3;
        world->y[i] = 5;
    }
    gt_gp_fit(gp, world->pool, POOL, world->seen, world->y, GT_GP_SEEN + 7, true);
    assert_int_equal(gt_gp_count(gp), GT_GP_SEEN);
    assert_false(gt_gp_add(gp, 0, 1));
    gt_gp_predict(gp, &mean, &sd);
    for (size_t i = 0; i < POOL; i++)
        assert_true(fabs((double)mean[i] - 5) < 0.01 && sd[i] > 0 && sd[i] < 1);
    gt_gp_fit(gp, NULL, 0, NULL, NULL, 0, true);
    assert_int_equal(gt_gp_count(gp), 0);
    gt_gp_free(gp);
}

#define IN_A_WORLD(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_WORLD(test_it_learns),
        IN_A_WORLD(test_one_by_one_is_all_at_once),
        IN_A_WORLD(test_prior_means_help),
        IN_A_WORLD(test_hard_cases),
    };

    return cmocka_run_group_tests_name("gp", tests, NULL, NULL);
}
