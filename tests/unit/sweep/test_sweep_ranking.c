/* test_sweep_ranking.c - what was learned of measured trials orders the first points of a race and
 * is what strategies expect; and the shares of a race's arms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/err.h"
#include "lookup/ranking.h"
#include "problem/problem.h"
#include "sweep/shares.h"
#include "sweep/sweep_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SEEDS 12

struct scene {
    struct gt_kernels kernels;
    struct gt_ranking ranking;
    struct gt_evaluator_ops ops;
    struct gt_evaluator evaluator;
    struct gt_problem problem;
    struct gt_sweep_options options;
    struct gt_race race;
    struct gt_arm arm;
    char path[64];
    struct gt_err err;
};

#define OK(scene, call)                                  \
    do {                                                 \
        if (call)                                        \
            fail_msg("%s: %s", #call, (scene)->err.msg); \
    } while (0)

/* The arm of a shipped kernel whose space has been scouted with the shipped ranking, or one of the
 * arch `cc`. */
static struct scene *open_scene(const char *problem, const char *kernel, int cc)
{
    struct scene *s = calloc(1, sizeof(*s));
    struct gt_scouts *scouts;
    struct gt_scouted found;
    const struct gt_kernel *one;
    char *data;

    assert_non_null(s);
    OK(s, gt_data_dir(&data, &s->err));
    OK(s, gt_kernels_load(&s->kernels, data, NULL, NULL, &s->err));
    OK(s, gt_device_profile(&s->evaluator.device, data, 90, &s->err));
    free(data);
    OK(s, gt_ranking_load(&s->ranking, &s->kernels, "db/shipped/h200.ranking", &s->err));
    s->ranking.cc = cc;
    OK(s, gt_problem_parse(&s->problem, problem, &s->err));
    one = gt_kernels_find(&s->kernels, kernel, &s->err);
    assert_non_null(one);
    s->evaluator.ops = &s->ops;
    s->options = (struct gt_sweep_options){.evaluator = &s->evaluator,
                                           .problem = &s->problem,
                                           .problems = 1,
                                           .kernel = &one,
                                           .kernels = 1,
                                           .ranking = &s->ranking};
    OK(s, gt_scouts_new(&scouts, &s->options, &s->problem, 1, &s->err));
    OK(s, gt_scouts_take(scouts, one, &found, &s->err));
    gt_scouts_free(scouts);
    s->race = (struct gt_race){
        .options = &s->options, .problem = &s->problem, .evaluator = &s->evaluator};
    s->arm = (struct gt_arm){.race = &s->race,
                             .kernel = one,
                             .space = found.space,
                             .list = found.list,
                             .listed = found.listed,
                             .learned = found.learned,
                             .described = found.described};
    return s;
}

static void close_scene(struct scene *s)
{
    gt_strategy_free(s->arm.strategy);
    gt_space_release(&s->arm.space);
    free(s->arm.list);
    free(s->arm.described);
    gt_ranking_release(&s->ranking);
    gt_kernels_release(&s->kernels);
    free(s);
}

/* What the ranking and, if `alone`, the model expects of a point. */
static double expected(const struct scene *s, size_t point, bool alone)
{
    struct gt_candidate candidate = {
        .kernel = s->arm.kernel, .problem = &s->problem, .device = &s->evaluator.device};
    struct gt_geometry geometry;
    struct gt_prediction prediction;
    double us;

    gt_space_point(&s->arm.space, point, &candidate.point);
    assert_int_equal(gt_candidate_geometry(&candidate, &geometry, NULL), GT_OK);
    us = gt_ranking_us(&s->ranking, &candidate, &geometry, HUGE_VAL, &prediction);
    return alone ? prediction.us : us;
}

static void test_learned_order(void **state)
{
    struct scene *s = open_scene("52x3870x2148:f16:nn", "mma", 90);
    size_t corrected = 0;

    (void)state;
    assert_true(s->arm.learned);
    assert_true(s->arm.listed > 10000);
    for (size_t i = 0; i < 1000; i++) {
        const double us = expected(s, s->arm.list[i].point, false);

        assert_true(fabs(us / (double)s->arm.list[i].us - 1) < 1e-5);
        assert_true(!i || s->arm.list[i].us >= s->arm.list[i - 1].us);
        assert_true(fabs(log(us) - (double)gt_sweep_expect(&s->arm, s->arm.list[i].point)) < 1e-5);
        corrected += fabs(us / expected(s, s->arm.list[i].point, true) - 1) > 0.01;
    }
    assert_true(corrected > 500);
    close_scene(s);
}

/* A ranking of another arch says nothing: the order and the expectation are the model's. */
static void test_another_arch(void **state)
{
    struct scene *s = open_scene("52x3870x2148:f16:nn", "mma", 86);

    (void)state;
    assert_false(s->arm.learned);
    for (size_t i = 0; i < 1000; i++)
        assert_true(fabs(expected(s, s->arm.list[i].point, true) / (double)s->arm.list[i].us - 1) <
                    1e-5);
    close_scene(s);
}

static size_t differ(const struct gt_space *space, size_t x, size_t y)
{
    const size_t params = space->kernel->params;
    size_t count = 0;

    for (size_t p = 0; p < params; p++)
        count += space->index[x * params + p] != space->index[y * params + p];
    return count;
}

/* On an empty database the first points are those of which most is expected, no two of them alike;
 * what the description calls good comes after them. */
static void test_first_points(void **state)
{
    struct scene *s = open_scene("52x3870x2148:f16:nn", "mma", 90);
    struct gt_store *store;
    size_t first = s->arm.list[0].point, described = 0;
    char path[] = "/tmp/gt-ranking-XXXXXX", file[64];
    float last = 0;

    (void)state;
    assert_non_null(mkdtemp(path));
    snprintf(file, sizeof(file), "%s/t.db", path);
    OK(s, gt_store_open(&store, file, GT_STORE_WRITE, &s->err));
    s->options.store = store;
    OK(s, gt_sweep_seed(&s->race, &s->arm, SEEDS, &s->err));
    assert_int_equal(s->arm.strategy->seeds, SEEDS);
    assert_int_equal(s->arm.strategy->seed[0], first);
    for (size_t i = 0; i < 6; i++) {
        const size_t *seed = s->arm.strategy->seed;
        const float us = gt_sweep_expect(&s->arm, seed[i]);

        for (size_t j = 0; j < i; j++)
            assert_true(differ(&s->arm.space, seed[i], seed[j]) >= 3);
        assert_true(!i || us >= last);
        last = us;
    }
    for (size_t i = 6; i < SEEDS; i++)
        described += (double)gt_sweep_expect(&s->arm, s->arm.strategy->seed[i]) > (double)last;
    assert_true(described > 0);
    gt_store_close(store);
    unlink(file);
    rmdir(path);
    close_scene(s);
}

static double share(int64_t drawn, double reached_us, double predicted_us, bool trusted)
{
    const struct gt_arm_record record = {drawn, reached_us, predicted_us, trusted};

    return gt_arm_share(&record, 100, 50, GT_SHARE_POWER);
}

static void test_shares(void **state)
{
    (void)state;
    assert_true(share(0, 0, 0, false) == 1);    /* nothing is known of it */
    assert_true(share(5, 0, 500, false) == 1);  /* the first six count in full */
    assert_true(share(6, 0, 69, false) == 1);   /* predicted 38 % behind */
    assert_true(share(6, 0, 500, false) < 0.1); /* ten times as slow */
    assert_true(share(6, 0, 500, true) == 1);
    assert_true(share(6, 100, 500, false) == 1); /* the best one, whatever was predicted */
    assert_true(fabs(share(6, 120, 50, false) - 1 / 3.) < 0.01);
    assert_true(share(6, 1000, 50, false) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_learned_order),
        cmocka_unit_test(test_another_arch),
        cmocka_unit_test(test_first_points),
        cmocka_unit_test(test_shares),
    };

    return cmocka_run_group_tests_name("sweep_ranking", tests, NULL, NULL);
}
