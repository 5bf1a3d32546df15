/* test_evaluator_replay.c - tests answers from a recording, which depend on the seed and come on a
 * virtual clock, and a whole sweep on them. */
#include "search_fixture.h"

#include <math.h>

#include "db/store.h"
#include "evaluate/evaluator.h"
#include "exchange/recording.h"
#include "sweep/sweep.h"

/* Two points that work and one that does not; each cost can be recognised on the clock. */
static const char recording[] =
    "{\"device_name\": \"A GPU\", \"kernel_name\": \"K\", \"gemmtune\": {\"problem\": "
    "\"1024x1024x1024:f32:nn\"}, \"tune_params_keys\": [\"P\"], \"tune_params\": {\"P\": [1, 2, "
    "3]}, \"cache\": {"
    "\"1\": {\"P\": 1, \"time\": 2, \"times\": [1, 2, 3], \"compile_time\": 1000, "
    "\"verification_time\": 100, \"benchmark_time\": 20, \"framework_time\": 3},"
    "\"2\": {\"P\": 2, \"time\": 5, \"times\": [4.5, 5, 5.5], \"compile_time\": 2000},"
    "\"3\": {\"P\": 3, \"time\": \"RuntimeFailedConfig\", \"compile_time\": 500, "
    "\"gemmtune_status\": \"wrong\"}}}";

static struct gt_evaluator *open_replay(struct search *s, uint64_t seed, int jobs)
{
    struct gt_evaluator_options options = {.jobs = jobs, .bench.seed = seed};
    struct gt_evaluator *evaluator;
    char device[128];

    write_file(s->folder, "r.json", recording);
    snprintf(device, sizeof(device), "replay:%s/r.json", s->folder);
    OK(&s->err, gt_evaluator_open(&evaluator, device, &options, &s->err));
    OK(&s->err, evaluator->ops->open_problem(evaluator, &s->problem, &s->err));
    return evaluator;
}

static struct gt_candidate candidate(const struct search *s, const struct gt_evaluator *evaluator,
                                     int64_t p)
{
    return (struct gt_candidate){
        evaluator->recording->kernel, &s->problem, &evaluator->device, {{p}}};
}

static struct gt_trial answer(struct search *s, struct gt_evaluator *evaluator, int64_t p)
{
    struct gt_candidate asked = candidate(s, evaluator, p);
    struct gt_trial trial;
    uint64_t id = 0;

    OK(&s->err, evaluator->ops->submit(evaluator, (uint64_t)p, &asked, &s->err));
    assert_int_equal(evaluator->ops->collect(evaluator, 1, &id, &trial, &s->err), 1);
    assert_int_equal(id, p);
    return trial;
}

static void test_answers(void **state)
{
    struct search *s = *state;
    struct gt_evaluator *evaluator = open_replay(s, 1, 0);
    struct gt_trial trial;
    bool seen[4] = {false};

    assert_string_equal(evaluator->device.name, "A GPU");
    assert_int_equal(strncmp(evaluator->device.uuid, "replay:", 7), 0);
    assert_string_equal(evaluator->recording->problem, "1024x1024x1024:f32:nn");
    for (int i = 0; i < 40; i++) {
        trial = answer(s, evaluator, 1);
        assert_int_equal(trial.status, GT_STATUS_OK);
        assert_int_equal(trial.provenance, GT_REPLAYED);
        assert_int_equal(trial.samples, 1);
        assert_true(trial.us == 1000 || trial.us == 2000 || trial.us == 3000);
        seen[(int)(trial.us / 1000)] = true;
    }
    assert_true(seen[1] && seen[2] && seen[3]);
    trial = answer(s, evaluator, 3);
    assert_int_equal(trial.status, GT_STATUS_WRONG);
    assert_int_equal(trial.provenance, GT_REPLAYED);
    assert_true(trial.us == 0);
    gt_evaluator_close(evaluator);
}

/* The n-th measurement of a point depends on the seed and not on what was measured before. */
static void test_same_seed_same_answers(void **state)
{
    struct search *s = *state;
    struct gt_evaluator *one = open_replay(s, 7, 0), *two = open_replay(s, 7, 0);
    struct gt_evaluator *other = open_replay(s, 8, 0);
    int differ = 0;

    for (int i = 0; i < 20; i++) {
        double us = answer(s, one, 1).us;

        answer(s, one, 2);
        assert_true(answer(s, two, 1).us == us);
        differ += answer(s, other, 1).us != us;
    }
    assert_true(differ > 0);
    gt_evaluator_close(one);
    gt_evaluator_close(two);
    gt_evaluator_close(other);
}

static void test_clock(void **state)
{
    struct search *s = *state;
    struct gt_evaluator *evaluator = open_replay(s, 1, 0);
    struct gt_candidate first;
    struct gt_trial trial;

    assert_true(gt_evaluator_now(evaluator) == 0);
    answer(s, evaluator, 1);
    assert_float_equal(gt_evaluator_now(evaluator), 1.123, 1e-6);
    answer(s, evaluator, 1); /* its cubin is there */
    assert_float_equal(gt_evaluator_now(evaluator), 1.246, 1e-6);
    answer(s, evaluator, 2); /* only its samples tell what it took */
    assert_float_equal(gt_evaluator_now(evaluator), 3.261, 1e-6);
    assert_int_equal(evaluator->stats.compiled, 2);
    assert_int_equal(evaluator->stats.cache_hits, 1);
    first = candidate(s, evaluator, 1);
    OK(&s->err, evaluator->ops->sample(evaluator, &first, &trial, &s->err));
    assert_int_equal(trial.stage, 2);
    assert_true(trial.samples > 5 && trial.lo_us <= trial.us && trial.us <= trial.hi_us);
    assert_true(gt_evaluator_now(evaluator) > 3.261 + trial.samples * 1e-3 - 1e-9);
    gt_evaluator_close(evaluator);

    evaluator = open_replay(s, 1, 2); /* two compile at once */
    assert_int_equal(evaluator->ops->room(evaluator), 3);
    for (int64_t p = 1; p <= 2; p++) {
        struct gt_candidate asked = candidate(s, evaluator, p);

        OK(&s->err, evaluator->ops->submit(evaluator, (uint64_t)p, &asked, &s->err));
    }
    for (int64_t p = 1; p <= 2; p++) {
        uint64_t id;

        assert_int_equal(evaluator->ops->collect(evaluator, 1, &id, &trial, &s->err), 1);
        assert_int_equal(id, p);
    }
    assert_float_equal(gt_evaluator_now(evaluator), 2.015, 1e-6);
    gt_evaluator_close(evaluator);
}

static void test_refusals(void **state)
{
    static const struct {
        const char *device, *says;
        int code;
    } wrong[] = {{"replay", "expected the recording", GT_ENOTFOUND},
                 {"replay:", "needs a number, an arch or a file", GT_ENOTFOUND},
                 {"replay:/nowhere/r.json", "/nowhere/r.json: No such file", GT_EIO},
                 {"replay:README.md", "an object is expected", GT_ECONFIG}};
    struct search *s = *state;
    struct gt_evaluator *evaluator = open_replay(s, 1, 0);
    struct gt_candidate unknown = candidate(s, evaluator, 9);
    struct gt_problem other;

    gt_problem_init(&other, 8, 8, 8);
    assert_int_equal(evaluator->ops->open_problem(evaluator, &other, &s->err), GT_ERANGE);
    assert_non_null(strstr(s->err.msg, "recording is of problem 1024x1024x1024:f32:nn, not of"));
    assert_int_equal(evaluator->ops->submit(evaluator, 1, &unknown, &s->err), GT_ERANGE);
    assert_non_null(strstr(s->err.msg, "has no point P=9"));
    gt_evaluator_close(evaluator);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct gt_evaluator_options options = {0};

        assert_int_equal(gt_evaluator_open(&evaluator, wrong[i].device, &options, &s->err),
                         wrong[i].code);
        if (!strstr(s->err.msg, wrong[i].says))
            fail_msg("\"%s\" does not say: %s", s->err.msg, wrong[i].says);
    }
}

/* Points that differ only in how they are launched share a cubin. */
static void test_shared_cubins(void **state)
{
    struct search *s = *state;
    struct gt_evaluator_options options = {.jobs = 0};
    struct gt_evaluator *evaluator;
    struct gt_trial trial;
    char device[128];
    uint64_t id;

    write_file(s->folder, "l.json",
               "{\"gemmtune\": {\"launch\": [\"L\"]}, \"tune_params_keys\": [\"P\", \"L\"], "
               "\"tune_params\": {\"P\": [1, 2], \"L\": [1, 2]}, \"cache\": {"
               "\"1,1\": {\"P\": 1, \"L\": 1, \"time\": 1, \"compile_time\": 1000}, "
               "\"1,2\": {\"P\": 1, \"L\": 2, \"time\": 1, \"compile_time\": 1000}, "
               "\"2,2\": {\"P\": 2, \"L\": 2, \"time\": 1, \"compile_time\": 1000}}}");
    snprintf(device, sizeof(device), "replay:%s/l.json", s->folder);
    OK(&s->err, gt_evaluator_open(&evaluator, device, &options, &s->err));
    for (int64_t i = 0; i < 3; i++) {
        struct gt_candidate asked = {evaluator->recording->kernel,
                                     &s->problem,
                                     &evaluator->device,
                                     {{1 + (i > 1), 1 + (i > 0)}}};

        OK(&s->err, evaluator->ops->submit(evaluator, (uint64_t)i, &asked, &s->err));
        assert_int_equal(evaluator->ops->collect(evaluator, 1, &id, &trial, &s->err), 1);
    }
    assert_int_equal(evaluator->stats.compiled, 2);
    assert_int_equal(evaluator->stats.cache_hits, 1);
    assert_float_equal(gt_evaluator_now(evaluator), 2.003, 1e-6);
    gt_evaluator_close(evaluator);
}

/* The whole sweep, and a second one that finds everything done. */
static void test_sweep(void **state)
{
    struct search *s = *state;
    struct gt_evaluator *evaluator = open_replay(s, 1, 0);
    const struct gt_kernel *kernel = evaluator->recording->kernel;
    struct gt_sweep_options options = {.problem = &s->problem,
                                       .problems = 1,
                                       .kernel = &kernel,
                                       .kernels = 1,
                                       .evaluator = evaluator};
    struct gt_sweep_result result;
    char path[128];

    snprintf(path, sizeof(path), "%s/replay.db", s->folder);
    OK(&s->err, gt_store_open(&options.store, path, GT_STORE_WRITE, &s->err));
    OK(&s->err, gt_sweep_run(&options, &result, &s->err));
    assert_int_equal(result.fresh, 3);
    assert_int_equal(result.rows, 2);
    assert_int_equal(result.row[0].point.value[0], 1);
    assert_int_equal(result.row[0].trial.stage, 3);
    assert_int_equal(result.status[GT_STATUS_WRONG], 1);
    assert_true(result.wall_s > 3.5 && result.wall_s < 6); /* of the virtual clock */
    gt_sweep_result_release(&result);
    OK(&s->err, gt_sweep_run(&options, &result, &s->err));
    assert_int_equal(result.fresh, 0);
    assert_int_equal(result.resumed, 3);
    gt_sweep_result_release(&result);
    gt_store_close(options.store);
    gt_evaluator_close(evaluator);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, search_setup, search_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_answers), TEST(test_same_seed_same_answers),
        TEST(test_clock),   TEST(test_refusals),
        TEST(test_sweep),   TEST(test_shared_cubins),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
