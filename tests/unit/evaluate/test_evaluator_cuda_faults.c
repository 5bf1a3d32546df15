/* test_evaluator_cuda_faults.c - tests the supervisor with GPU workers that crash, hang and send
 * wrong answers. */
#include "evaluator_cuda_fixture.h"

static void each_fault_is_its_own(void **state)
{
    static const enum gt_status expected[FAULTS] = {
        GT_STATUS_OK,
        GT_STATUS_COMPILE_ERROR,
        GT_STATUS_FAULT,
        GT_STATUS_TIMEOUT,
        GT_STATUS_FAULT,
        GT_STATUS_FAULT,
        GT_STATUS_WRONG,
        GT_STATUS_DEVICE_LOST,
        GT_STATUS_OK /* only the final kills it */,
        GT_STATUS_FAULT,
        GT_STATUS_OK /* refused in the final only */,
    };
    struct fixture *f = *state;
    struct gt_trial trial[2 * FAULTS];
    int i;

    open_evaluator(f);
    for (i = 0; i < 2 * FAULTS; i++)
        submit(f, (uint64_t)i, i % 2 ? GOOD : i / 2, i / 2 % 8);
    collect(f, trial, (size_t)i);
    while (--i >= 0) {
        const enum gt_status want = i % 2 ? GT_STATUS_OK : expected[i / 2];

        if (trial[i].status != want)
            fail_msg("candidate %d: %s instead of %s (%s)", i, gt_status_name(trial[i].status),
                     gt_status_name(want), trial[i].detail);
        assert_int_equal(f->launched[i], i / 2 == COMPILE_FAILS && i % 2 == 0 ? 0 : 1);
        if (want == GT_STATUS_OK)
            assert_true(trial[i].us == 100 + i / 2 % 8 && trial[i].registers > 0);
    }
    assert_non_null(strstr(trial[2 * STICKY].detail, "ILLEGAL_ADDRESS"));
    assert_non_null(strstr(trial[2 * ENDLESS].detail, "did not answer in"));
    assert_non_null(strstr(trial[2 * CRASH].detail, "signal 11"));
    assert_non_null(strstr(trial[2 * EXITS].detail, "code 3"));
    assert_non_null(strstr(trial[2 * ERROR].detail, "cuMemsetD32"));
    assert_non_null(strstr(trial[2 * COMPILE_FAILS].detail, "planted by the test"));
    assert_true(f->evaluator.stats.respawns >= 4); /* the last one to die is not replaced */
    assert_true(f->evaluator.stats.busy_s > 0.5);
    assert_true(f->evaluator.stats.wall_s >= f->evaluator.stats.busy_s);
    assert_true(f->notices > 0);
}

/* Where launches take the host so long that a final misses its deadline, though each candidate
 * passes alone, the final is held again with fewer rounds: the problem gets its answer. */
static void a_final_too_long_for_its_deadline(void **state)
{
    struct fixture *f = *state;
    struct gt_candidate list[2];
    struct gt_trial trial[2];
    struct gt_err err = {0};

    open_evaluator(f);
    gt_evaluator_cuda.set_best(&f->evaluator, 1); /* deadlines of 0.5 s and 5 ms for a launch */
    list[0] = candidate_of(f, GOOD, 1);
    list[1] = candidate_of(f, GOOD, 2);
    tell(f, "slow launches", true);
    if (gt_evaluator_cuda.final(&f->evaluator, list, 2, 100, trial, NULL, &err))
        fail_msg("%s", err.msg);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(trial[i].status, GT_STATUS_OK);
        assert_int_equal(trial[i].stage, 3);
        assert_int_equal(trial[i].samples, 25);
    }
}

/* The pid of a GPU worker, a child of ours whose command line says so; 0: none. */
static pid_t gpu_worker(void)
{
    char path[64], text[512] = "", line[256];
    char *at = text;
    FILE *file;
    pid_t pid;

    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    file = fopen(path, "r");
    assert_non_null(file);
    if (!fgets(text, sizeof(text), file))
        text[0] = '\0';
    fclose(file);
    while ((pid = (pid_t)strtol(at, &at, 10)) > 0) {
        size_t n;

        snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
        file = fopen(path, "r");
        if (!file)
            continue;
        n = fread(line, 1, sizeof(line) - 1, file);
        fclose(file);
        if (n > 5 && memmem(line, n, GT_ROLE_GPU, strlen(GT_ROLE_GPU)))
            return pid;
    }
    return 0;
}

/* The worker is killed at random moments; no trial is lost or comes twice. */
static void killed_at_random_moments(void **state)
{
    struct fixture *f = *state;
    struct gt_trial one;
    struct gt_err err = {0};
    uint64_t seen = 0, id;
    int next = 0, done = 0, kills = 0, aborts = 0, faults = 0;
    unsigned random = 1;

    open_evaluator(f);
    while (done < 60) {
        while (next < 60 && gt_evaluator_cuda.room(&f->evaluator)) {
            submit(f, (uint64_t)next, GOOD, next % 8);
            next++;
        }
        random = random * 1103515245u + 12345u;
        if (random >> 16 & 1 && kills < 12) {
            const pid_t pid = gpu_worker();

            const int signo = random >> 17 & 1 ? SIGKILL : SIGABRT;

            if (pid && kill(pid, signo) == 0) {
                kills++;
                aborts += signo == SIGABRT;
            }
        }
        switch (take(f, (int)(random >> 20) % 6, &id, &one, &err)) {
        case 1:
            assert_true(id < 60 && !(seen >> id & 1));
            seen |= (uint64_t)1 << id;
            done++;
            if (one.status == GT_STATUS_FAULT) {
                assert_non_null(strstr(one.detail, "signal"));
                faults++;
            } else if (one.status == GT_STATUS_KILLED) { /* from outside: no verdict */
                assert_non_null(strstr(one.detail, "signal 9"));
            } else {
                assert_int_equal(one.status, GT_STATUS_OK);
            }
            break;
        case 0:
            break;
        default:
            fail_msg("%s", err.msg);
        }
    }
    assert_true(kills > 3);
    assert_true(faults <= aborts);
    for (id = 0; id < 60; id++)
        assert_int_equal(f->launched[id], 1);
}

static void a_sick_device_is_lost(void **state)
{
    struct fixture *f = *state;
    struct gt_trial trial;
    struct gt_err err = {0};
    uint64_t id;
    int rc;

    open_evaluator(f);
    tell(f, "sick", true);
    submit(f, 0, CRASH, 0);
    do
        rc = take(f, 1000, &id, &trial, &err);
    while (rc == 0);
    assert_int_equal(rc, 1); /* the crash is reported first */
    assert_int_equal(id, 0);
    submit(f, 1, GOOD, 0);
    do
        rc = take(f, 1000, &id, &trial, &err);
    while (rc == 0);
    assert_int_equal(rc, GT_ELOST);
    assert_non_null(strstr(err.msg, "the canary is wrong"));
    assert_int_equal(f->launched[1], 0); /* nobody is charged with the device's state */
    tell(f, "sick", false);
    submit(f, 2, GOOD, 1); /* it may come back */
    do
        rc = take(f, 1000, &id, &trial, &err);
    while (rc == 0);
    assert_int_equal(rc, 1);
    assert_int_equal(trial.status, GT_STATUS_OK);
}

static void problems_that_do_not_fit_or_kill(void **state)
{
    struct fixture *f = *state;
    struct gt_problem large;
    struct gt_err err = {0};

    open_evaluator(f);
    gt_problem_init(&large, 4096, 64, 64);
    assert_int_equal(gt_evaluator_cuda.open_problem(&f->evaluator, &large, &err), GT_ETOOBIG);
    assert_string_equal(err.msg, "needs 9 bytes of 8");
    large.n = large.k = 1 << 30; /* its deadline in milliseconds is beyond any integer */
    large.m = INT32_MAX;
    assert_int_equal(gt_evaluator_cuda.open_problem(&f->evaluator, &large, &err), GT_ETOOBIG);
    tell(f, "dead", true);
    assert_int_equal(gt_evaluator_cuda.open_problem(&f->evaluator, &f->problem, &err), GT_ELOST);
    assert_non_null(strstr(err.msg, "signal 6"));
    tell(f, "dead", false);
    assert_int_equal(gt_evaluator_cuda.open_problem(&f->evaluator, &f->problem, &err), GT_OK);
}

/* A worker that is killed before its first message is replaced like any other. */
static void killed_while_starting(void **state)
{
    struct fixture *f = *state;
    struct gt_evaluator second;
    struct gt_trial trial;
    struct gt_err err = {0};
    uint64_t id;

    write_file(f->folder, "stillborn at first", "five.");
    open_evaluator(f);
    submit(f, 1, GOOD, 0);
    assert_int_equal(take(f, 20000, &id, &trial, &err), 1);
    assert_int_equal(trial.status, GT_STATUS_OK);
    write_file(f->folder, "stillborn at first", "seven..");
    kill(gpu_worker(), SIGKILL);
    submit(f, 2, GOOD, 1);
    assert_int_equal(take(f, 20000, &id, &trial, &err), 1);
    gt_evaluator_cuda.close(&f->evaluator);
    f->open = false;
    write_file(f->folder, "stillborn", "");
    assert_int_equal(try_open(f, &second, "0", &err), GT_ELOST);
    assert_non_null(strstr(err.msg, "killed by signal 9"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(each_fault_is_its_own),
        TEST(a_final_too_long_for_its_deadline),
        TEST(killed_at_random_moments),
        TEST(a_sick_device_is_lost),
        TEST(problems_that_do_not_fit_or_kill),
        TEST(killed_while_starting),
    };
    const int worked = work(argc, argv);

    return worked < 0 ? cmocka_run_group_tests_name("evaluator_cuda_faults", tests, NULL, NULL)
                      : worked;
}
