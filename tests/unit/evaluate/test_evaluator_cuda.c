/* test_evaluator_cuda.c - tests the supervisor of GPU workers: samples and finals, lost images,
 * dropped candidates, signals, devices that cannot be opened. */
#include "evaluator_cuda_fixture.h"

#include <sys/resource.h>
#include <sys/time.h>

static void sample_and_final(void **state)
{
    struct fixture *f = *state;
    struct gt_candidate list[4];
    struct gt_trial trial[4], baseline;
    struct gt_calibration reached;
    struct gt_baseline cublas;
    struct gt_err err = {0};
    double us, busy_s;

    open_evaluator(f);
    list[0] = candidate_of(f, GOOD, 3);
    list[1] = candidate_of(f, STICKY, 0);
    list[2] = candidate_of(f, ENDLESS, 0);
    list[3] = candidate_of(f, COMPILE_FAILS, 0);
    assert_int_equal(gt_evaluator_cuda.baseline(&f->evaluator, &cublas, &err), GT_OK);
    assert_true(cublas.us == 99);
    gt_evaluator_cuda.set_best(&f->evaluator, 1); /* deadlines of 0.5 s */
    busy_s = f->evaluator.stats.busy_s;
    for (int i = 0; i < 4; i++)
        assert_int_equal(gt_evaluator_cuda.sample(&f->evaluator, &list[i], &trial[i], &err), GT_OK);
    assert_int_equal(trial[0].status, GT_STATUS_OK);
    assert_int_equal(trial[0].stage, 2);
    assert_false(trial[0].varies);
    assert_int_equal(trial[1].status, GT_STATUS_FAULT);
    assert_int_equal(trial[2].status, GT_STATUS_TIMEOUT);
    assert_true(f->evaluator.stats.busy_s > busy_s + 0.3); /* sampling is work, too */
    assert_int_equal(trial[3].status, GT_STATUS_COMPILE_ERROR);
    assert_int_equal(gt_evaluator_cuda.reference(&f->evaluator, &us, &err), GT_OK);
    assert_true(us == 7);
    /* Calibration closes the problem, which is opened again when it is next needed. */
    assert_int_equal(gt_evaluator_cuda.calibrate(&f->evaluator, true, &reached, &err), GT_OK);
    assert_true(reached.value[GT_CALIBRATION_MEMORY_COPY] == 3900 &&
                !reached.value[GT_CALIBRATION_FMA]);
    /* Two of them kill the final; those that remain are held against cuBLAS, which the new worker
     * had to open again. */
    list[1] = candidate_of(f, CRASH, 0);
    list[2] = candidate_of(f, GOOD, 5);
    if (gt_evaluator_cuda.final(&f->evaluator, list, 4, 9, trial, &baseline, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(trial[0].status, GT_STATUS_OK);
    assert_int_equal(trial[0].stage, 3);
    assert_int_equal(trial[0].samples, 9);
    assert_int_equal(trial[1].status, GT_STATUS_FAULT);
    assert_true(trial[2].us == 105);
    assert_int_equal(trial[3].status, GT_STATUS_COMPILE_ERROR);
    assert_true(baseline.us == 99);
    list[0] = candidate_of(f, FINAL_CRASH, 0); /* passes alone: its samples stand in */
    list[1] = candidate_of(f, GOOD, 1);
    f->notices = 0;
    assert_int_equal(gt_evaluator_cuda.final(&f->evaluator, list, 2, 9, trial, NULL, &err), GT_OK);
    assert_int_equal(trial[0].status, GT_STATUS_OK);
    assert_int_equal(trial[0].stage, 2);
    assert_true(trial[1].us == 101 && trial[1].stage == 2);
    assert_true(f->notices > 3);
    list[0] = candidate_of(f, FINAL_REFUSED, 0); /* the same without a death */
    if (gt_evaluator_cuda.final(&f->evaluator, list, 2, 9, trial, NULL, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(trial[0].status, GT_STATUS_OK);
    assert_int_equal(trial[0].stage, 2);
    assert_true(trial[1].us == 101 && trial[1].stage == 2);
    list[0] = candidate_of(f, GOOD, 6); /* one with atomics, as its description says */
    assert_int_equal(gt_evaluator_cuda.final(&f->evaluator, list, 2, 9, trial, NULL, &err), GT_OK);
    assert_true(trial[0].varies && !trial[1].varies);
}

/* A candidate's geometry and key are computed once, by the supervisor: its worker, whose own
 * description says something else, is sent them, and what the description says later does not
 * count. */
static void a_candidate_is_prepared_once(void **state)
{
    struct fixture *f = *state;
    const struct gt_candidate candidate = candidate_of(f, GOOD, 2);
    struct gt_expr *from_disk = f->kernel->workspace;
    struct gt_trial trial, baseline;
    struct gt_err err = {0};
    struct gt_evaluator *evaluator = &f->evaluator;

    open_evaluator(f);
    assert_int_equal(gt_expr_parse(&f->kernel->workspace, "M * 100", &f->kernel->names, &err),
                     GT_OK);
    submit(f, 0, GOOD, 2);
    collect(f, &trial, 1);
    assert_int_equal(trial.status, GT_STATUS_OK);
    assert_int_equal(trial.workspace_bytes, 6400);
    assert_true(trial.prove_ms == 6400); /* as the worker was told */
    gt_expr_free(f->kernel->workspace);
    assert_int_equal(gt_expr_parse(&f->kernel->workspace, "M / 0", &f->kernel->names, &err), GT_OK);
    assert_true(gt_evaluator_cuda.at_hand(evaluator, &candidate));
    assert_int_equal(gt_evaluator_cuda.ahead(evaluator, &candidate, &err), GT_OK);
    assert_int_equal(gt_evaluator_cuda.sample(evaluator, &candidate, &trial, &err), GT_OK);
    assert_true(trial.status == GT_STATUS_OK && trial.prove_ms == 6400);
    assert_int_equal(gt_evaluator_cuda.final(evaluator, &candidate, 1, 9, &trial, &baseline, &err),
                     GT_OK);
    assert_true(trial.status == GT_STATUS_OK && trial.prove_ms == 6400);
    submit(f, 0, GOOD, 3); /* another candidate is prepared anew, and refused */
    collect(f, &trial, 1);
    assert_int_equal(trial.status, GT_STATUS_LAUNCH_INVALID);
    gt_expr_free(f->kernel->workspace);
    f->kernel->workspace = from_disk;
}

/* The worker times moving the data alone; its failure and its death are reported. */
static void what_memory_takes(void **state)
{
    struct fixture *f = *state;
    struct gt_move move;
    struct gt_err err = {0};

    open_evaluator(f);
    assert_int_equal(gt_evaluator_cuda.move(&f->evaluator, &move, &err), GT_OK);
    assert_true(move.us == 55 && move.lo_us == 54 && move.hi_us == 56);
    assert_string_equal(move.form, "played");
    tell(f, "move_fails", true);
    assert_int_equal(gt_evaluator_cuda.move(&f->evaluator, &move, &err), GT_ECONFIG);
    assert_string_equal(err.msg, "planted: nothing moves");
    tell(f, "move_fails", false);
    tell(f, "move_dies", true);
    assert_int_equal(gt_evaluator_cuda.move(&f->evaluator, &move, &err), GT_ELOST);
    tell(f, "move_dies", false); /* a new worker opens the problem again */
    assert_int_equal(gt_evaluator_cuda.move(&f->evaluator, &move, &err), GT_OK);
}

/* The worker measures an energy.  Its failure is an error; what kills it, or faults, cannot be
 * measured, and a new worker goes on.  One that hangs is ended soon where there is little time. */
static void what_a_product_costs(void **state)
{
    struct gt_energy_wish wish = {.seconds = 0.5};
    struct fixture *f = *state;
    struct gt_energy energy;
    struct gt_err err = {0};

    open_evaluator(f);
    assert_int_equal(gt_evaluator_cuda.energy(&f->evaluator, NULL, &wish, &energy, &err), GT_OK);
    assert_true(energy.us == 99 && energy.joules == 0.5);
    tell(f, "energy_fails", true);
    assert_int_equal(gt_evaluator_cuda.energy(&f->evaluator, NULL, &wish, &energy, &err),
                     GT_ENOTFOUND);
    assert_string_equal(err.msg, "planted: no meter");
    tell(f, "energy_fails", false);
    tell(f, "energy_dies", true);
    assert_int_equal(gt_evaluator_cuda.energy(&f->evaluator, NULL, &wish, &energy, &err),
                     GT_ERANGE);
    tell(f, "energy_dies", false);
    tell(f, "energy_faults", true);
    assert_int_equal(gt_evaluator_cuda.energy(&f->evaluator, NULL, &wish, &energy, &err),
                     GT_ERANGE);
    assert_string_equal(err.msg, "planted: a fault");
    tell(f, "energy_faults", false);
    wish = (struct gt_energy_wish){.seconds = 0.01, .most_s = 0.1};
    tell(f, "energy_hangs", true);
    assert_int_equal(gt_evaluator_cuda.energy(&f->evaluator, NULL, &wish, &energy, &err), GT_ELOST);
    assert_non_null(strstr(err.msg, "the worker did not answer in 4."));
    tell(f, "energy_hangs", false);
    assert_int_equal(gt_evaluator_cuda.energy(&f->evaluator, NULL, &wish, &energy, &err), GT_OK);
}

static void baselines_that_are_not_there(void **state)
{
    struct fixture *f = *state;
    struct gt_baseline cublas;
    struct gt_trial trial;
    struct gt_err err = {0};

    open_evaluator(f);
    tell(f, "no-cublas", true);
    assert_int_equal(gt_evaluator_cuda.baseline(&f->evaluator, &cublas, &err), GT_ENOLIB);
    tell(f, "no-cublas", false);
    tell(f, "bad-cublas", true);
    assert_int_equal(gt_evaluator_cuda.baseline(&f->evaluator, &cublas, &err), GT_ENOTFOUND);
    assert_non_null(strstr(err.msg, "signal 6"));
    submit(f, 0, GOOD, 0);
    collect(f, &trial, 1);
    assert_int_equal(trial.status, GT_STATUS_OK);
}

/* An image that somebody removed from the cache is compiled again, without a second attempt. */
static void a_lost_image_is_compiled_again(void **state)
{
    struct fixture *f = *state;
    const struct gt_candidate candidate = candidate_of(f, GOOD, 2);
    struct gt_trial trial;
    struct gt_err err = {0};
    char command[160];

    open_evaluator(f);
    submit(f, 0, GOOD, 2);
    collect(f, &trial, 1);
    assert_int_equal(trial.status, GT_STATUS_OK);
    snprintf(command, sizeof(command), "truncate -s 100 '%s'/*", f->cache);
    assert_int_equal(system(command), 0);
    submit(f, 0, GOOD, 2);
    collect(f, &trial, 1);
    assert_int_equal(trial.status, GT_STATUS_OK);
    assert_int_equal(gt_evaluator_cuda.sample(&f->evaluator, &candidate, &trial, &err), GT_OK);
    assert_int_equal(trial.status, GT_STATUS_OK);
}

/* A cache that keeps nothing, or that another process empties all the time: the second miss of an
 * image is not the GPU's fault either, and a final is held with all its rounds. */
static void a_cache_that_keeps_nothing(void **state)
{
    struct fixture *f = *state;
    struct gt_candidate list[4];
    struct gt_trial trial[4];
    struct gt_err err = {0};
    char command[160];

    setenv("GEMMTUNE_CACHE_LIMIT", "1", 1);
    open_evaluator(f);
    for (int i = 0; i < 4; i++) {
        list[i] = candidate_of(f, GOOD, i);
        submit(f, (uint64_t)i, GOOD, i);
    }
    collect(f, trial, 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(trial[i].status, GT_STATUS_OK);
    snprintf(command, sizeof(command), "rm -f '%s'/*", f->cache);
    assert_int_equal(system(command), 0);
    assert_int_equal(gt_evaluator_cuda.sample(&f->evaluator, &list[0], &trial[0], &err), GT_OK);
    assert_int_equal(trial[0].status, GT_STATUS_OK);
    assert_int_equal(gt_evaluator_cuda.final(&f->evaluator, list, 4, 9, trial, NULL, &err), GT_OK);
    unsetenv("GEMMTUNE_CACHE_LIMIT");
    for (int i = 0; i < 4; i++)
        assert_true(trial[i].status == GT_STATUS_OK && trial[i].stage == 3 &&
                    trial[i].samples == 9);
    assert_int_equal(f->notices, 0);
}

static void dropped_candidates(void **state)
{
    struct fixture *f = *state;
    struct gt_trial trial;
    uint64_t id;
    size_t left, i;
    int rc;

    open_evaluator(f);
    for (i = 0; i < 8; i++)
        submit(f, i, GOOD, (int)i);
    left = gt_evaluator_cuda.drop(&f->evaluator);
    assert_true(left <= 8);
    for (i = 0; i < left;) {
        rc = take(f, 5000, &id, &trial, NULL);
        assert_true(rc >= 0);
        i += (size_t)rc;
    }
    assert_int_equal(take(f, 300, &id, &trial, NULL), 0);
}

/* The attempt of the next candidate is durable before the GPU has finished the one before. */
static void the_next_is_announced_ahead(void **state)
{
    struct fixture *f = *state;
    struct gt_trial trial[2];
    struct gt_err err = {0};
    uint64_t id;
    double us;

    open_evaluator(f);
    submit(f, 0, ENDLESS, 1); /* its cubin and that of the next are in the cache afterwards */
    submit(f, 1, GOOD, 0);
    collect(f, trial, 2);
    f->launched[1] = 0;
    assert_int_equal(gt_evaluator_cuda.reference(&f->evaluator, &us, &err), GT_OK);
    assert_true(gt_evaluator_cuda.starved(&f->evaluator));
    f->evaluator.options.launch_deadline_s = 3; /* in which the next one comes on any machine */
    assert_int_equal(gt_evaluator_cuda.open_problem(&f->evaluator, &f->problem, &err), GT_OK);
    submit(f, 0, ENDLESS, 1);
    submit(f, 1, GOOD, 0);
    while (!f->launched[1])
        assert_int_equal(take(f, 10, &id, &trial[0], NULL), 0);
    assert_false(gt_evaluator_cuda.starved(&f->evaluator));
    collect(f, trial, 2);
    assert_int_equal(trial[0].status, GT_STATUS_TIMEOUT);
    assert_int_equal(trial[1].status, GT_STATUS_OK);
    assert_true(gt_evaluator_cuda.starved(&f->evaluator));
}

/* What needs more workspace than there is ends without a compilation. */
static void too_much_workspace_is_not_compiled(void **state)
{
    struct fixture *f = *state;
    struct gt_trial trial;
    struct gt_err err = {0};
    struct gt_candidate candidate;

    open_evaluator(f);
    candidate = candidate_of(f, GOOD, 8);
    assert_int_equal(gt_evaluator_cuda.ahead(&f->evaluator, &candidate, &err), GT_OK);
    submit(f, 0, GOOD, 8);
    collect(f, &trial, 1);
    assert_int_equal(trial.status, GT_STATUS_LAUNCH_INVALID);
    assert_string_equal(trial.detail, "needs 300000000 bytes of workspace, 268435456 are allowed");
    assert_int_equal(f->evaluator.stats.compiled, 0);
}

/* A candidate that was in doubt before has the only open attempt; `launching` checks that. */
static void suspects_are_alone(void **state)
{
    struct fixture *f = *state;
    struct gt_trial trial[6];

    open_evaluator(f);
    f->suspect[1] = f->suspect[2] = f->suspect[4] = true;
    for (int i = 0; i < 6; i++)
        submit(f, (uint64_t)i, i == 2 ? ENDLESS : GOOD, i);
    collect(f, trial, 6);
    for (int i = 0; i < 6; i++)
        assert_int_equal(f->launched[i], 1);
}

/* There is room for what the compilers can begin and a little more, and again once they have begun.
 */
static void room_is_what_keeps_compilers_busy(void **state)
{
    struct fixture *f = *state;
    struct gt_trial trial[64];
    int i = 0;

    open_evaluator(f);
    while (gt_evaluator_cuda.room(&f->evaluator) && i < 64) {
        submit(f, (uint64_t)i, i % 8 == 7 ? WRONG : GOOD, i % 8);
        i++;
    }
    assert_true(i >= 3 && i <= 8); /* at work, or about to be, and two more */
    collect(f, trial, (size_t)i);
    assert_true(gt_evaluator_cuda.room(&f->evaluator) > 0);
}

static void ignore_alarm(int number)
{
    (void)number;
}

/* A signal makes collect return at once; a second one ends blocking calls. */
static void signals_are_noticed(void **state)
{
    /* Again and again: a busy machine may begin to wait after the first one. */
    const struct itimerval soon = {{.tv_usec = 200000}, {.tv_usec = 200000}}, never = {{0}, {0}};
    const struct sigaction action = {.sa_handler = ignore_alarm};
    volatile sig_atomic_t signals = 2;
    struct fixture *f = *state;
    struct gt_candidate hanging;
    struct gt_trial trial;
    struct gt_err err = {0};
    struct timespec from, to;
    uint64_t id;

    open_evaluator(f);
    sigaction(SIGALRM, &action, NULL);
    clock_gettime(CLOCK_MONOTONIC, &from);
    setitimer(ITIMER_REAL, &soon, NULL);
    assert_int_equal(take(f, 20000, &id, &trial, &err), 0);
    clock_gettime(CLOCK_MONOTONIC, &to);
    setitimer(ITIMER_REAL, &never, NULL);
    assert_true(to.tv_sec - from.tv_sec < 5);
    f->evaluator.options.signals = &signals;
    f->evaluator.options.launch_deadline_s = 60;
    assert_int_equal(gt_evaluator_cuda.open_problem(&f->evaluator, &f->problem, &err), GT_OK);
    hanging = candidate_of(f, ENDLESS, 0);
    setitimer(ITIMER_REAL, &soon, NULL);
    assert_int_equal(gt_evaluator_cuda.sample(&f->evaluator, &hanging, &trial, &err),
                     GT_EINTERRUPTED);
    setitimer(ITIMER_REAL, &never, NULL);
}

/* While the GPU works, the supervisor sleeps. */
static void the_supervisor_idles(void **state)
{
    struct fixture *f = *state;
    struct gt_trial trial;
    struct rusage before, after;
    double used;

    open_evaluator(f);
    submit(f, 0, ENDLESS, 0);
    getrusage(RUSAGE_SELF, &before);
    collect(f, &trial, 1);
    getrusage(RUSAGE_SELF, &after);
    used = (double)(after.ru_utime.tv_sec - before.ru_utime.tv_sec) +
           (double)(after.ru_utime.tv_usec - before.ru_utime.tv_usec) / 1e6;
    assert_true(used < 0.1);
}

static void devices_that_cannot_be_opened(void **state)
{
    struct fixture *f = *state;
    const struct gt_evaluator_options options = {.data_dir = f->folder, .cache_dir = f->cache};
    struct gt_evaluator second, *other = NULL;
    struct gt_err err = {0};

    assert_int_equal(gt_evaluator_open(&other, "vulkan:0", &options, &err), GT_ENOTFOUND);
    assert_non_null(strstr(err.msg, "vulkan:0"));
    assert_int_equal(gt_evaluator_open(&other, "cud", &options, &err), GT_ENOTFOUND);
    assert_int_equal(gt_evaluator_open(&other, "cuda:-1", &options, &err), GT_ENOTFOUND);
    assert_null(other);
    assert_int_equal(try_open(f, &second, "x", &err), GT_ENOTFOUND);
    assert_int_equal(try_open(f, &second, "3", &err), GT_ENOGPU);
    assert_string_equal(err.msg, "device 3: there is 1 device");
    open_evaluator(f);
    assert_int_equal(try_open(f, &second, "0", &err), GT_EBUSY);
    assert_non_null(strstr(err.msg, "process"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(sample_and_final),
        TEST(a_candidate_is_prepared_once),
        TEST(what_memory_takes),
        TEST(what_a_product_costs),
        TEST(baselines_that_are_not_there),
        TEST(a_lost_image_is_compiled_again),
        TEST(a_cache_that_keeps_nothing),
        TEST(dropped_candidates),
        TEST(the_next_is_announced_ahead),
        TEST(too_much_workspace_is_not_compiled),
        TEST(suspects_are_alone),
        TEST(room_is_what_keeps_compilers_busy),
        TEST(signals_are_noticed),
        TEST(the_supervisor_idles),
        TEST(devices_that_cannot_be_opened),
    };
    const int worked = work(argc, argv);

    return worked < 0 ? cmocka_run_group_tests_name("evaluator_cuda", tests, NULL, NULL) : worked;
}
