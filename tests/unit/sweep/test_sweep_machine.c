/* test_sweep_machine.c - tests what a sweep makes of a machine of 16 cores and a GPU, on a made-up
 * one: what is compiled is tried, and no budget is exceeded. */
#include "sweep_machine.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include "lookup/predict.h"

#define PROBLEMS 10

static struct machine machine;
static struct gt_problem problem[PROBLEMS];
static struct gt_sweep_result result[PROBLEMS];

static void release_all(struct bench *bench)
{
    for (size_t i = 0; i < PROBLEMS; i++)
        gt_sweep_result_release(&result[i]);
    close_bench(bench);
}

/* In turns of 3 s, of which the finals take most, nearly all that is compiled is tried: 48 cubins
 * ahead of each problem, and more. */
static void test_what_is_compiled_is_tried(void **state)
{
    struct bench bench = open_bench(*state);
    int64_t timed = 0;

    machine_init(&machine, *state);
    machine_sweep(&machine, &bench, problem, result, PROBLEMS, 3);
    for (size_t i = 0; i < PROBLEMS; i++) {
        assert_in_range(result[i].timed, 50, 150);
        assert_int_equal(result[i].row[0].trial.stage, 3);
        timed += result[i].timed;
    }
    assert_true((double)timed > 0.9 * (double)machine.compiled);
    assert_true(machine.fake.clock_s < 3.01 * PROBLEMS);
    release_all(&bench);
}

/* Where a trial takes longer than a cubin, what is ready must not take the other problems' time. */
static void test_long_trials_stay_within_the_budget(void **state)
{
    struct bench bench = open_bench(*state);

    machine_init(&machine, *state);
    machine.trial_s = 0.1;
    machine_sweep(&machine, &bench, problem, result, PROBLEMS, 3);
    for (size_t i = 0; i < PROBLEMS; i++) {
        assert_in_range(result[i].timed, 5, 50);
        assert_int_equal(result[i].row[0].trial.stage, 3);
    }
    assert_true(machine.fake.clock_s < 3.05 * PROBLEMS);
    release_all(&bench);
}

static bool dropped;   /* the search has ended, and the finals have not begun */
static double last_us; /* predicted, of the candidate submitted before */
static size_t ordered;

static size_t note_drop(struct gt_evaluator *evaluator)
{
    dropped = true;
    last_us = 0;
    return machine_drop(evaluator);
}

static int note_open(struct gt_evaluator *evaluator, const struct gt_problem *opened,
                     struct gt_err *err)
{
    int rc = machine_open_problem(evaluator, opened, err);

    dropped = false;
    return rc;
}

static int note_submit(struct gt_evaluator *evaluator, uint64_t id,
                       const struct gt_candidate *candidate, struct gt_err *err)
{
    struct gt_geometry geometry;
    double us;

    OK(err, gt_candidate_geometry(candidate, &geometry, err));
    OK(err, gt_predict(candidate, &geometry, 0, 0, &us, err));
    if (dropped) {
        assert_int_equal(machine.state[machine_cubin(&machine, candidate)], CACHED);
        assert_true(us >= last_us);
        ordered += last_us > 0;
        last_us = us;
    }
    return machine_submit(evaluator, id, candidate, err);
}

/* The strategy expects nothing, so that the model's order counts. */
static void test_the_best_predicted_is_tried_first(void **state)
{
    struct bench bench = open_bench(*state);

    machine_init(&machine, *state);
    machine.trial_s = 0.03;
    machine.fake.ops.drop = note_drop;
    machine.fake.ops.open_problem = note_open;
    machine.fake.ops.submit = note_submit;
    bench.options.strategy = "random";
    machine_sweep(&machine, &bench, problem, result, PROBLEMS, 3);
    assert_true(ordered > 3 * PROBLEMS);
    release_all(&bench);
}

static int open_slowly(struct gt_evaluator *evaluator, const struct gt_problem *opened,
                       struct gt_err *err)
{
    const size_t before = machine.compiled;
    int rc;

    machine.open_s = opened == problem ? 2 : 0.15;
    rc = machine_open_problem(evaluator, opened, err);
    if (opened == problem)
        assert_in_range(machine.compiled - before, MACHINE_JOBS, 3 * MACHINE_JOBS);
    return rc;
}

/* The GPU's worker takes two seconds to start and to open the first problem.  The compilers have
 * its first points then, no more of them than the race would ask for before it has a time. */
static void test_the_first_problem_is_compiled_while_it_is_opened(void **state)
{
    struct bench bench = open_bench(*state);

    machine_init(&machine, *state);
    machine.fake.ops.open_problem = open_slowly;
    machine_sweep(&machine, &bench, problem, result, PROBLEMS, 3);
    assert_int_equal(result[0].row[0].trial.stage, 3);
    assert_true(machine.fake.clock_s < 3.01 * PROBLEMS);
    release_all(&bench);
}

static size_t slow_drop(struct gt_evaluator *evaluator)
{
    machine_block(&machine, 0.8);
    return machine_drop(evaluator);
}

/* A search that ends late, for whatever reason, must not cost the last problems their turns. */
static void test_what_searches_take_beyond_their_time(void **state)
{
    struct bench bench = open_bench(*state);

    machine_init(&machine, *state);
    machine.fake.ops.drop = slow_drop;
    machine_sweep(&machine, &bench, problem, result, PROBLEMS, 3);
    for (size_t i = 0; i < PROBLEMS; i++)
        assert_true(result[i].timed > 20 && result[i].row[0].trial.stage == 3);
    assert_true(result[PROBLEMS - 1].wall_s > 2.4 && result[PROBLEMS / 2].wall_s < 3);
    assert_true(machine.fake.clock_s < 3.05 * PROBLEMS);
    release_all(&bench);
}

/* Up to 2.7 times the best. */
static double steep_bowl(const struct gt_candidate *candidate)
{
    return 9 * bowl(candidate) - 800;
}

/* Cubins that other problems left are tried while the compilers are slow, those that are expected
 * to take up to twice the best included: a trial takes milliseconds. */
static void test_a_starved_device_tries_what_is_at_hand(void **state)
{
    struct bench bench = open_bench(*state);

    machine_init(&machine, *state);
    machine.shared = true;
    machine.cubin_s = 5;
    machine.fake.us_of = steep_bowl;
    machine_sweep(&machine, &bench, problem, result, PROBLEMS, 3);
    assert_in_range(result[PROBLEMS - 1].timed, 58, 256); /* 53 with those of 1.3 times the best */
    release_all(&bench);
}

static size_t tried_of_other[PROBLEMS];

static int note_kernel(struct gt_evaluator *evaluator, uint64_t id,
                       const struct gt_candidate *candidate, struct gt_err *err)
{
    tried_of_other[candidate->problem->m / 100 - 1] +=
        strcmp(candidate->kernel->name, "other") == 0;
    return machine_submit(evaluator, id, candidate, err);
}

/* Kernel "other" takes OTHER_TIMES as long as "grid", and the model expects even more. */
#define OTHER_TIMES 1.7

static double other_is_slow(const struct gt_candidate *candidate)
{
    return (strcmp(candidate->kernel->name, "other") == 0 ? OTHER_TIMES : 1) * bowl(candidate);
}

/* The model is wrong: "other" is the faster one. */
static double other_is_fast(const struct gt_candidate *candidate)
{
    return (strcmp(candidate->kernel->name, "other") == 0 ? 1 : OTHER_TIMES) * bowl(candidate);
}

/* Sweeps over "grid" and over "other", of which the model expects little. */
static struct bench sweep_with_other(struct search *s,
                                     double (*truth)(const struct gt_candidate *candidate))
{
    struct bench bench = open_bench(s);

    bench.kernel[1] = modelled_kernel(s, "other", "\"model\": {\"issue\": \"2560000\"}, ");
    bench.options.kernels = 2;
    memset(tried_of_other, 0, sizeof(tried_of_other));
    machine_init(&machine, s);
    machine.fake.us_of = truth;
    machine.fake.ops.submit = note_kernel;
    machine_sweep(&machine, &bench, problem, result, PROBLEMS, 3);
    for (size_t i = 0; i < PROBLEMS; i++)
        print_message("%zu of other, %lld in all\n", tried_of_other[i], (long long)result[i].timed);
    return bench;
}

/* It gets a few candidates of a short turn, not half of those that are drawn before a race has a
 * time. */
static void test_a_kernel_that_is_predicted_to_lose(void **state)
{
    struct bench bench = sweep_with_other(*state, other_is_slow);

    for (size_t i = 0; i < PROBLEMS; i++)
        assert_in_range(tried_of_other[i], 4, 10); /* 19 to 24, as long as all arms drew alike */
    release_all(&bench);
}

/* It wins nevertheless where it is the faster one. */
static void test_a_kernel_that_is_predicted_to_lose_and_wins(void **state)
{
    struct bench bench = sweep_with_other(*state, other_is_fast);

    for (size_t i = 0; i < PROBLEMS; i++) {
        assert_string_equal(result[i].row[0].kernel->name, "other");
        assert_true(tried_of_other[i] > 20);
    }
    release_all(&bench);
}

/* ---- the pace of threads ---- */

static enum { AS_IT_COMES, AT_ONCE, LATE } pace; /* of every thread that is started */

struct paced {
    void *(*run)(void *context);
    void *context;
    sem_t ended;
};

static void *run_at_once(void *context)
{
    struct paced *paced = context;
    void *result = paced->run(paced->context);

    sem_post(&paced->ended);
    return result;
}

static void *run_late(void *context)
{
    const struct timespec time = {.tv_nsec = 50000000};
    const struct paced paced = *(struct paced *)context;

    free(context);
    nanosleep(&time, NULL);
    return paced.run(paced.context);
}

/* The C library's, but a thread has ended when it returns, or begins later. */
__attribute__((visibility("default"))) int pthread_create(pthread_t *thread,
                                                          const pthread_attr_t *attributes,
                                                          void *(*run)(void *), void *context)
{
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    struct paced *paced;
    int rc;

    *(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
    if (pace == AS_IT_COMES)
        return create(thread, attributes, run, context);
    paced = malloc(sizeof(*paced));
    assert_non_null(paced);
    paced->run = run;
    paced->context = context;
    if (pace == LATE)
        return create(thread, attributes, run_late, paced);
    assert_int_equal(sem_init(&paced->ended, 0, 0), 0);
    rc = create(thread, attributes, run_at_once, paced);
    assert_int_equal(rc, 0);
    while (sem_wait(&paced->ended))
        ;
    sem_destroy(&paced->ended);
    free(paced);
    return rc;
}

/* On the machine's clock the threads that look for points take no time: how fast they are by the
 * real one changes nothing of what the sweep does. */
static void test_the_pace_of_threads_changes_nothing(void **state)
{
    struct search *s = *state;
    size_t of_other[PROBLEMS];
    int64_t timed[PROBLEMS];
    struct bench bench;
    char path[128];

    pace = AT_ONCE;
    bench = sweep_with_other(s, other_is_fast);
    for (size_t i = 0; i < PROBLEMS; i++) {
        of_other[i] = tried_of_other[i];
        timed[i] = result[i].timed;
    }
    release_all(&bench);
    snprintf(path, sizeof(path), "%s/test.db", s->folder);
    assert_int_equal(unlink(path), 0);
    pace = LATE;
    bench = sweep_with_other(s, other_is_fast);
    pace = AS_IT_COMES;
    for (size_t i = 0; i < PROBLEMS; i++) {
        assert_int_equal(tried_of_other[i], of_other[i]);
        assert_int_equal(result[i].timed, timed[i]);
    }
    release_all(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(test_what_is_compiled_is_tried),
        WITH_FOLDER(test_long_trials_stay_within_the_budget),
        WITH_FOLDER(test_the_best_predicted_is_tried_first),
        WITH_FOLDER(test_the_first_problem_is_compiled_while_it_is_opened),
        WITH_FOLDER(test_a_kernel_that_is_predicted_to_lose),
        WITH_FOLDER(test_a_kernel_that_is_predicted_to_lose_and_wins),
        WITH_FOLDER(test_what_searches_take_beyond_their_time),
        WITH_FOLDER(test_a_starved_device_tries_what_is_at_hand),
        WITH_FOLDER(test_the_pace_of_threads_changes_nothing),
    };

    return cmocka_run_group_tests_name("sweep_machine", tests, NULL, NULL);
}
