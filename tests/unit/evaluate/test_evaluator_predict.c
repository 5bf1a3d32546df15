/* test_evaluator_predict.c - tests predictions end to end: worker processes compile, and every
 * trial is marked as predicted. */
#include "evaluate/evaluator.h"
#include "search_fixture.h"
#include "workers/process.h"

static struct gt_evaluator_options options_of(struct search *s, char cache[96])
{
    struct gt_evaluator_options options = {.data_dir = ".", .cache_dir = cache, .jobs = 1};

    snprintf(cache, 96, "%s/cache", s->folder);
    return options;
}

/* Opens the evaluator, or skips the test if there is no NVRTC. */
static struct gt_evaluator *open_evaluator(struct search *s)
{
    struct gt_evaluator *evaluator = NULL;
    struct gt_evaluator_options options;
    char cache[96];
    int rc;

    options = options_of(s, cache);
    rc = gt_evaluator_open(&evaluator, "predict:sm_86", &options, &s->err);
    if (rc == GT_ENOLIB) {
        print_message("skipped: %s\n", s->err.msg);
        skip();
    }
    OK(&s->err, rc);
    return evaluator;
}

static void collect(struct search *s, struct gt_evaluator *evaluator, uint64_t *id,
                    struct gt_trial *trial)
{
    int got = 0;

    for (int i = 0; i < 600 && !got; i++)
        got = evaluator->ops->collect(evaluator, 100, id, trial, &s->err);
    if (got < 0)
        fail_msg("%s", s->err.msg);
    assert_int_equal(got, 1);
}

static void test_trials_are_predicted(void **state)
{
    struct search *s = *state;
    struct gt_evaluator *evaluator = open_evaluator(s);
    struct gt_candidate candidate = {.problem = &s->problem, .device = &evaluator->device};
    struct gt_kernel *kernel, *broken;
    struct gt_trial trial;
    uint64_t id;

    OK(&s->err, gt_kernel_load(&kernel, ".", "configs/kernels/simt_thread2d.json", &s->err));
    broken = search_kernel(s, "broken", "+ NO_SUCH_NAME", "\"params\": [], " LAUNCH);
    assert_int_equal(evaluator->device.cc, 86);
    assert_true(evaluator->device.profile);
    assert_in_range(evaluator->nvrtc_version, 12000, 99000);
    assert_null(evaluator->ops->sample);
    assert_null(evaluator->ops->final);
    OK(&s->err, evaluator->ops->open_problem(evaluator, &s->problem, &s->err));
    assert_true(evaluator->ops->room(evaluator) > 0);

    candidate.kernel = kernel;
    gt_point_default(&candidate.point, kernel);
    OK(&s->err, evaluator->ops->submit(evaluator, 17, &candidate, &s->err));
    collect(s, evaluator, &id, &trial);
    assert_int_equal(id, 17);
    assert_int_equal(trial.status, GT_STATUS_OK);
    assert_true(trial.provenance == GT_PREDICTED && trial.stage == 0 && trial.samples == 0);
    assert_true(trial.us > 10 && trial.us < 10000); /* 1024^3 on an RTX 3090 */
    assert_in_range(trial.registers, 16, 255);
    assert_true(trial.shared_bytes > 0);
    assert_non_null(strstr(trial.detail, "not measured"));

    candidate.kernel = broken;
    gt_point_default(&candidate.point, broken);
    OK(&s->err, evaluator->ops->submit(evaluator, 18, &candidate, &s->err));
    collect(s, evaluator, &id, &trial);
    assert_int_equal(id, 18);
    assert_int_equal(trial.status, GT_STATUS_COMPILE_ERROR);
    assert_true(trial.provenance == GT_PREDICTED && !(trial.us > 0));
    assert_non_null(strstr(trial.detail, "NO_SUCH_NAME"));
    assert_int_equal(evaluator->stats.compiled, 2);
    gt_evaluator_close(evaluator);
    gt_kernel_free(kernel);
    gt_kernel_free(broken);
}

/* Static shared memory limits how many blocks an SM holds, like dynamic. */
static void test_static_shared_memory_counts(void **state)
{
    struct search *s = *state;
    struct gt_evaluator *evaluator = open_evaluator(s);
    struct gt_candidate candidate = {.problem = &s->problem, .device = &evaluator->device};
    struct gt_kernel *kernel;
    struct gt_trial trial;
    const char *blocks;
    uint64_t id;

    OK(&s->err, gt_kernel_load(&kernel, ".", "configs/kernels/simt_tiled.json", &s->err));
    candidate.kernel = kernel;
    OK(&s->err, gt_point_parse(&candidate.point, kernel, "BM=8,BN=8,BK=128", &s->err));
    OK(&s->err, evaluator->ops->open_problem(evaluator, &s->problem, &s->err));
    OK(&s->err, evaluator->ops->submit(evaluator, 1, &candidate, &s->err));
    collect(s, evaluator, &id, &trial);
    assert_int_equal(trial.status, GT_STATUS_OK);
    assert_in_range(trial.static_shared, 8192, 8400);
    blocks = strstr(trial.detail, "bound by");
    assert_non_null(blocks);
    blocks = strstr(blocks, ", ");
    assert_non_null(blocks);
    assert_int_equal(strtol(blocks + 2, NULL, 10), 11); /* in 100 KiB; else 16 */
    gt_evaluator_close(evaluator);
    gt_kernel_free(kernel);
}

/* Each launch has its own shared memory: 8 KiB of the copy and 96 KiB of the product would not fit
 * together. */
static void test_launches_have_their_own_shared_memory(void **state)
{
    struct search *s = *state;
    struct gt_evaluator *evaluator = open_evaluator(s);
    struct gt_problem problem;
    struct gt_candidate candidate = {.problem = &problem, .device = &evaluator->device};
    struct gt_kernel *kernel;
    struct gt_trial trial;
    uint64_t id;

    OK(&s->err, gt_problem_parse(&problem, "4096x4096x4096:tf32:nn", &s->err));
    OK(&s->err, gt_kernel_load(&kernel, ".", "configs/kernels/mma.json", &s->err));
    candidate.kernel = kernel;
    OK(&s->err, gt_point_parse(&candidate.point, kernel,
                               "PACK_B=2,BM=128,BN=128,WM=64,WN=64,STAGES=6,REG_DOUBLE=0,GROUP_M=1",
                               &s->err));
    OK(&s->err, evaluator->ops->open_problem(evaluator, &problem, &s->err));
    OK(&s->err, evaluator->ops->submit(evaluator, 1, &candidate, &s->err));
    collect(s, evaluator, &id, &trial);
    assert_string_equal(gt_status_name(trial.status), "ok");
    assert_int_equal(trial.shared_bytes, 98304);
    gt_evaluator_close(evaluator);
    gt_kernel_free(kernel);
}

/* Candidates that were not begun are dropped; the next problem has room again. */
static void test_drop(void **state)
{
    struct search *s = *state;
    struct gt_evaluator *evaluator = open_evaluator(s);
    struct gt_candidate candidate = {.problem = &s->problem, .device = &evaluator->device};
    struct gt_kernel *kernel;
    struct gt_trial trial;
    size_t room, left;
    uint64_t id;

    OK(&s->err, gt_kernel_load(&kernel, ".", "configs/kernels/simt_thread2d.json", &s->err));
    candidate.kernel = kernel;
    OK(&s->err, evaluator->ops->open_problem(evaluator, &s->problem, &s->err));
    room = evaluator->ops->room(evaluator);
    gt_point_default(&candidate.point, kernel);
    for (size_t i = 0; i < room; i++) {
        candidate.point.value[0] = kernel->param[0].value[i % kernel->param[0].count];
        OK(&s->err, evaluator->ops->submit(evaluator, i, &candidate, &s->err));
    }
    assert_int_equal(evaluator->ops->room(evaluator), 0);
    assert_int_equal(evaluator->ops->submit(evaluator, 99, &candidate, &s->err), GT_EBUSY);
    left = evaluator->ops->drop(evaluator);
    assert_in_range(left, 0, room);
    while (left-- > 0)
        collect(s, evaluator, &id, &trial);
    assert_int_equal(evaluator->ops->collect(evaluator, 0, &id, &trial, &s->err), 0);
    OK(&s->err, evaluator->ops->open_problem(evaluator, &s->problem, &s->err));
    assert_int_equal(evaluator->ops->room(evaluator), room);
    gt_evaluator_close(evaluator);
    gt_kernel_free(kernel);
}

static void test_bad_specifications(void **state)
{
    struct search *s = *state;
    struct gt_evaluator *evaluator = NULL;
    struct gt_evaluator_options options;
    char cache[96];

    options = options_of(s, cache);
    assert_int_equal(gt_evaluator_open(&evaluator, "predict", &options, &s->err), GT_ENOTFOUND);
    assert_non_null(strstr(s->err.msg, "predict:sm_86"));
    assert_int_not_equal(gt_evaluator_open(&evaluator, "predict:sm_1", &options, &s->err), GT_OK);
    assert_non_null(strstr(s->err.msg, "sm_1"));
    assert_int_equal(gt_evaluator_open(&evaluator, "oracle:1", &options, &s->err), GT_ENOTFOUND);
    gt_evaluator_close(NULL);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, search_setup, search_teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(test_trials_are_predicted),
        WITH_FOLDER(test_static_shared_memory_counts),
        WITH_FOLDER(test_launches_have_their_own_shared_memory),
        WITH_FOLDER(test_drop),
        WITH_FOLDER(test_bad_specifications),
    };

    if (argc > 1 && !strcmp(argv[1], GT_ROLE_COMPILE))
        return gt_worker_compile_main(GT_WORKER_FD);
    return cmocka_run_group_tests_name("evaluator_predict", tests, NULL, NULL);
}
