/* test_devices_plan.c - who gets which problem of `tune --devices`, and for how long: the plan
 * alone, with GPUs, durations and a clock that are made up, so that the same run comes out
 * everywhere. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/stats.h"
#include "cluster/devices_parts.h"
#include "problem/problem.h"

#define GPUS     4
#define PROBLEMS 50
#define TRIALS   100
#define NEVER    1e30

/* A run in which each task takes what the tables say. */
struct run {
    struct gt_devices devices;
    struct gt_problem problem[PROBLEMS];
    double weight[PROBLEMS];
    double search_s[PROBLEMS], rest_s[PROBLEMS]; /* of TRIALS trials, or of a second of budget;
                                                    opening, and finals */
    double given_s[PROBLEMS];                    /* of search, to whole problems */
    int64_t trials[PROBLEMS], own[PROBLEMS][GPUS];
    int finals[PROBLEMS];
    size_t order[PROBLEMS], ordered, shared; /* problems as they were begun */
    size_t then[GPUS], foreseen;             /* what a GPU was told; how often that was right */
    double ends[GPUS], busy_s;
    double lost_at;     /* GPU 1 is gone from then on; 0: never */
    bool short_of_time; /* problems may be left */
};

static void set_up(struct run *run, size_t problems, size_t gpus)
{
    *run = (struct run){.devices = {.gpus = gpus, .classes = 1}};
    for (size_t i = 0; i < problems; i++) {
        gt_problem_init(&run->problem[i], 64, 64, 64);
        run->weight[i] = 1;
        run->search_s[i] = 3;
        run->rest_s[i] = 2;
    }
    run->devices.options.problem = run->problem;
    run->devices.options.problems = problems;
    run->devices.options.weight = run->weight;
    run->devices.options.budget.trials = TRIALS;
    for (size_t i = 0; i < gpus; i++) {
        run->devices.gpu[i].state = GT_PROCESS_IDLE;
        run->ends[i] = NEVER;
        run->then[i] = SIZE_MAX;
    }
}

/* Seconds of a task on a GPU. */
static double duration(struct run *run, size_t gpu, const struct gt_task *task,
                       const struct gt_budget *budget)
{
    const size_t p = task->problem;
    const double rest_s = task->kind == GT_TASK_SEARCH ? 0.2 : run->rest_s[p];
    const int64_t fresh = budget->trials - run->own[p][gpu];

    if (task->kind == GT_TASK_WHOLE)
        run->given_s[p] = budget->seconds;
    if (budget->seconds > 0)
        return budget->seconds * (task->kind == GT_TASK_SEARCH ? 1 : 1.3) + rest_s;
    assert_true(fresh >= 0);
    run->own[p][gpu] += fresh;
    run->trials[p] += fresh;
    return run->search_s[p] * (double)fresh / TRIALS + rest_s;
}

static void hand_out(struct run *run)
{
    for (size_t i = 0; i < run->devices.gpus; i++) {
        struct gt_device_process *gpu = &run->devices.gpu[i];
        struct gt_budget budget;
        struct gt_task *task;

        if (gpu->task || gpu->out || !(task = gt_devices_next(&run->devices, gpu, &budget)))
            continue;
        assert_ptr_equal(gpu->task, task);
        run->ends[i] = run->devices.now_s + duration(run, i, task, &budget);
        run->shared += task->kind == GT_TASK_FINAL;
        run->finals[task->problem] += task->kind != GT_TASK_SEARCH;
        if (task->kind != GT_TASK_WHOLE)
            continue;
        run->order[run->ordered++] = task->problem;
        run->foreseen += run->then[i] == task->problem;
        run->then[i] = gt_devices_foresee(&run->devices, gpu);
    }
}

static void end(struct run *run, size_t i, bool lost)
{
    struct gt_device_process *gpu = &run->devices.gpu[i];
    struct gt_task *task = gpu->task;

    run->busy_s += run->devices.now_s - task->begun_s;
    run->finals[task->problem] -= lost && task->kind != GT_TASK_SEARCH;
    run->ends[i] = NEVER;
    gpu->task = NULL;
    gt_devices_end(&run->devices, task, lost);
}

/* Runs to the end; returns when that is. */
static double play(struct run *run)
{
    struct gt_devices *devices = &run->devices;

    assert_int_equal(gt_devices_plan(devices, NULL), GT_OK);
    for (;;) {
        size_t next = 0;

        hand_out(run);
        for (size_t i = 1; i < devices->gpus; i++)
            if (run->ends[i] < run->ends[next])
                next = i;
        if (run->ends[next] >= NEVER)
            break;
        devices->now_s = run->ends[next];
        if (run->lost_at > 0 && devices->now_s >= run->lost_at && devices->gpu[1].task) {
            devices->gpu[1].out = true;
            end(run, 1, true);
            continue;
        }
        end(run, next, false);
    }
    assert_false(gt_devices_left(devices));
    assert_int_equal(gt_devices_late(devices) > 0, run->short_of_time);
    for (size_t i = 0; i < devices->options.problems && !run->short_of_time; i++)
        assert_int_equal(run->finals[i], 1);
    free(devices->task);
    devices->task = NULL;
    return devices->now_s;
}

/* How many times as fast the GPUs are as one. */
static double speed_up(const char *what, struct run *run)
{
    double one_s = 0, s;

    for (size_t i = 0; i < run->devices.options.problems; i++)
        one_s += run->search_s[i] + run->rest_s[i];
    s = play(run);
    print_message("%s: %.1f s, %.2f times as fast as one GPU; %zu problems shared\n", what, s,
                  one_s / s, run->shared);
    return one_s / s;
}

static void test_speed_up(void **state)
{
    struct gt_random random = {7};
    static struct run run;

    (void)state;
    set_up(&run, 24, GPUS);
    assert_true(speed_up("24 alike", &run) > 3.99);
    assert_int_equal(run.shared, 0);
    set_up(&run, 25, GPUS); /* 3.57 with nothing shared */
    assert_true(speed_up("25 alike", &run) > 3.7);
    assert_int_equal(run.shared, 1);
    set_up(&run, PROBLEMS, GPUS);
    for (size_t i = 0; i < PROBLEMS; i++)
        run.rest_s[i] = 1 + 5 * gt_random_unit(&random); /* finals of one to three contests */
    assert_true(speed_up("50 of chance", &run) > 3.6);
    print_message("%zu of 50 problems came to a GPU that was told so\n", run.foreseen);
    assert_true(run.foreseen >= 38); /* not the first two of a GPU, nor some of the last */
    set_up(&run, 20, GPUS);
    for (size_t i = 0; i < 20; i++) { /* the largest last: 3.17 in the order of the list */
        gt_problem_init(&run.problem[i], 64 << i / 4, 64 << i / 4, 64);
        run.search_s[i] = 1 + (double)(i * i) / 20;
    }
    run.search_s[19] = 40;
    assert_true(speed_up("20, the largest last", &run) > 3.6);
    assert_true(gt_problem_flops(&run.problem[run.order[0]]) >
                gt_problem_flops(&run.problem[run.order[10]]));
}

/* Of a problem that several search each trial is counted once. */
static void test_trials_are_kept(void **state)
{
    static struct run run;

    (void)state;
    for (size_t problems = 1; problems < 12; problems++) {
        set_up(&run, problems, GPUS);
        play(&run);
        for (size_t i = 0; i < problems; i++)
            assert_in_range(run.trials[i], TRIALS, TRIALS + GPUS);
    }
    set_up(&run, 9, GPUS); /* too few trials for two */
    run.devices.options.budget.trials = 10;
    play(&run);
    assert_int_equal(run.shared, 0);
}

/* A GPU that is lost at any time, also while it searches what others search. */
static void test_lost(void **state)
{
    static struct run run;

    (void)state;
    for (double at = 0.1; at < 20; at += 0.1) {
        set_up(&run, 9, GPUS);
        run.lost_at = at;
        play(&run);
        set_up(&run, 2, GPUS);
        run.lost_at = at;
        play(&run);
    }
}

/* A budget of time is what the run takes, finals and all, and problems of one weight get as much
 * search: a turn's finals do not come on top, and at the cost of the last ones. */
static void test_time(void **state)
{
    static struct run run;
    double s, least = NEVER, most = 0;

    (void)state;
    set_up(&run, 40, GPUS);
    run.devices.options.budget = (struct gt_budget){.seconds = 50};
    for (size_t i = 0; i < 40; i++)
        run.rest_s[i] = 0.5;
    s = play(&run);
    for (size_t i = 0; i < 40; i++) {
        least = run.given_s[i] > 0 && run.given_s[i] < least ? run.given_s[i] : least;
        most = fmax(most, run.given_s[i]);
    }
    print_message("40 in 50 s: %.1f s, searches of %.2f to %.2f s\n", s, least, most);
    assert_true(s > 47 && s < 53);
    assert_true(most < 1.35 * least);
    set_up(&run, 40, GPUS);
    for (size_t i = 0; i < 40; i++)
        run.rest_s[i] = 0.5;
    run.devices.options.budget = (struct gt_budget){.seconds = 5, .each = true};
    s = play(&run);
    print_message("40 of 5 s each: %.1f s\n", s);
    assert_true(s > 47 && s < 53);
    /* Too little time for all: no problem begins after it. */
    set_up(&run, 40, GPUS);
    run.devices.options.budget = (struct gt_budget){.seconds = 6};
    run.short_of_time = true;
    s = play(&run);
    print_message("40 in 6 s: %.1f s, %zu begun\n", s, run.ordered);
    assert_true(s > 6 && s < 10);
    assert_true(run.ordered < 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_speed_up),
        cmocka_unit_test(test_trials_are_kept),
        cmocka_unit_test(test_lost),
        cmocka_unit_test(test_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
