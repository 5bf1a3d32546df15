/* devices_plan.c - which problem a GPU of `tune --devices` gets next, and for how long.
 *
 * Problems of larger weight come first, so that no long one is left for the end.  The time that is
 * left on all GPUs of the class is divided among the problems that are left, by weight; so a GPU
 * that is lost or slow takes from all of them, not from the last ones. */
#include "cluster/devices_parts.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "problem/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ATTEMPTS      3   /* lost GPUs that a problem may cost */
#define SEARCH_PART   0.7 /* of the time, where several GPUs search one problem */
#define SECONDS_LEAST 1.0 /* of a turn, when the time is up but the problem has none yet */
#define WEIGHT_LEAST  0.1 /* of the mean weight, as in sweep/time_slices.c */

double gt_devices_now(const struct gt_devices *devices)
{
    return (double)(gt_clock_ms() - devices->began) / 1000;
}

static double weight_of(const struct gt_devices *devices, size_t problem)
{
    const struct gt_devices_options *options = &devices->options;
    double mean = 0;

    for (size_t i = 0; options->weight && i < options->problems; i++)
        mean += options->weight[i] / (double)options->problems;
    return mean > 0 ? fmax(options->weight[problem], WEIGHT_LEAST * mean) : 1;
}

static size_t gpus_of(const struct gt_devices *devices, int class_of)
{
    size_t count = 0;

    for (size_t i = 0; i < devices->gpus; i++)
        count += !devices->gpu[i].out && devices->gpu[i].class_of == class_of;
    return count;
}

static int take_home(void *context, const struct gt_row *row, struct gt_err *err)
{
    struct gt_devices *devices = context;
    char text[GT_PROBLEM_TEXT_MAX];

    for (size_t i = 0; i < devices->options.problems; i++) {
        struct gt_home *home;
        int rc;

        gt_problem_format(&devices->options.problem[i], text);
        if (strcmp(text, row->problem) != 0)
            continue;
        rc = GT_ARRAY_RESERVE(&devices->home, devices->homes + 1, &devices->home_capacity, err);
        if (rc)
            return rc;
        home = &devices->home[devices->homes++];
        *home = (struct gt_home){.problem = i, .final = row->stage == 3};
        snprintf(home->uuid, sizeof(home->uuid), "%s", row->uuid);
        snprintf(home->name, sizeof(home->name), "%s", row->device);
    }
    return GT_OK;
}

int gt_devices_find_homes(struct gt_devices *devices, struct gt_store *store, struct gt_err *err)
{
    const struct gt_row_filter filter = {.winners_only = true, .provenance = 1u << GT_MEASURED};

    return gt_store_rows(store, &filter, take_home, devices, err);
}

/* The GPU of the class that tuned the problem before, or NULL. */
static const struct gt_device_process *home_of(const struct gt_devices *devices, int class_of,
                                               size_t problem)
{
    for (size_t i = 0; i < devices->homes; i++)
        for (size_t j = 0; j < devices->gpus && devices->home[i].problem == problem; j++)
            if (devices->gpu[j].class_of == class_of &&
                strcmp(devices->gpu[j].device.uuid, devices->home[i].uuid) == 0)
                return &devices->gpu[j];
    return NULL;
}

/* Whether the class has a winner of the problem. */
static bool is_done(const struct gt_devices *devices, int class_of, size_t problem)
{
    const char *name = "";

    for (size_t i = 0; i < devices->gpus; i++)
        if (devices->gpu[i].class_of == class_of)
            name = devices->gpu[i].device.name;
    for (size_t i = 0; i < devices->homes; i++)
        if (devices->home[i].problem == problem && devices->home[i].final &&
            strcmp(devices->home[i].name, name) == 0)
            return true;
    return false;
}

static void add_task(struct gt_devices *devices, const struct gt_task *task)
{
    devices->task[devices->tasks++] = *task;
}

/* A problem's tasks: one, or the searches of several GPUs and a final. */
static void plan_problem(struct gt_devices *devices, int class_of, size_t problem, size_t searches)
{
    struct gt_task task = {.kind = GT_TASK_WHOLE,
                           .state = GT_TASK_READY,
                           .problem = problem,
                           .class_of = class_of,
                           .searches = searches,
                           .home = home_of(devices, class_of, problem),
                           .seed = devices->options.session.seed
                                       ? (uint64_t)devices->options.session.seed
                                       : GT_SEED_DEFAULT};

    if (searches > 1) {
        task.kind = GT_TASK_SEARCH;
        for (size_t i = 0; i < searches; i++, task.seed++)
            add_task(devices, &task);
        task.kind = GT_TASK_FINAL;
        task.state = GT_TASK_LATER;
        task.seed -= searches;
    }
    add_task(devices, &task);
}

int gt_devices_plan(struct gt_devices *devices, struct gt_err *err)
{
    const size_t problems = devices->options.problems;

    devices->task = calloc((size_t)devices->classes * (problems + 2 * GT_DEVICES_MAX) + 1,
                           sizeof(*devices->task));
    if (!devices->task)
        return gt_err_nomem(err);
    for (int class_of = 0; class_of < devices->classes; class_of++) {
        const size_t gpus = gpus_of(devices, class_of);
        size_t left = 0, place = 0;

        for (size_t i = 0; i < problems; i++)
            left += !devices->options.missing || !is_done(devices, class_of, i);
        for (size_t i = 0; i < problems; i++)
            if (!devices->options.missing || !is_done(devices, class_of, i)) {
                plan_problem(devices, class_of, i,
                             left < gpus ? (gpus - place + left - 1) / left : 1);
                place++;
            }
    }
    return GT_OK;
}

/* Whether all searches of the final's problem have ended. */
static bool searched(const struct gt_devices *devices, const struct gt_task *final)
{
    for (size_t i = 0; i < devices->tasks; i++) {
        const struct gt_task *task = &devices->task[i];

        if (task->kind == GT_TASK_SEARCH && task->problem == final->problem &&
            task->class_of == final->class_of && task->state < GT_TASK_DONE)
            return false;
    }
    return true;
}

/* Seconds for a whole problem: its part of the time that is left on the GPUs of the class. */
static double share_of_time(const struct gt_devices *devices, const struct gt_task *task)
{
    const double now = gt_devices_now(devices), end = devices->options.budget.seconds;
    double time = 0, weights = 0;

    for (size_t i = 0; i < devices->gpus; i++) {
        const struct gt_device_process *gpu = &devices->gpu[i];

        if (!gpu->out && gpu->class_of == task->class_of)
            time += fmax(0, end - (gpu->state == GT_PROCESS_BUSY ? fmax(now, gpu->free_s) : now));
    }
    for (size_t i = 0; i < devices->tasks; i++)
        if (devices->task[i].class_of == task->class_of && devices->task[i].state == GT_TASK_READY)
            weights += weight_of(devices, devices->task[i].problem);
    return fmin(time * weight_of(devices, task->problem) / weights, end - now);
}

static double seconds_of(const struct gt_devices *devices, const struct gt_task *task)
{
    const struct gt_budget *budget = &devices->options.budget;
    double seconds = share_of_time(devices, task);

    if (!(budget->seconds > 0))
        return 0;
    if (task->kind == GT_TASK_WHOLE && budget->each)
        seconds = budget->seconds;
    else if (task->kind == GT_TASK_SEARCH)
        seconds = SEARCH_PART * budget->seconds - gt_devices_now(devices);
    else if (task->kind == GT_TASK_FINAL)
        seconds = budget->seconds - gt_devices_now(devices);
    return fmax(seconds, SECONDS_LEAST);
}

/* Trials of earlier runs on the GPU count, so those of its search count in its final. */
static int64_t trials_of(const struct gt_devices *devices, const struct gt_task *task)
{
    const int64_t trials = devices->options.budget.trials;
    const int64_t parts = (int64_t)task->searches + 1;

    if (!trials || task->kind == GT_TASK_WHOLE)
        return trials;
    return (trials + parts - 1) / parts * (task->kind == GT_TASK_FINAL ? 2 : 1);
}

/* Whether the GPU may take the task: not the one that found nothing valid, while there is another;
 * and only the one that has its earlier trials, while that is here, because trials belong to a GPU
 * and another would begin anew.  Searches of one problem are for any GPU. */
static bool may_take(const struct gt_devices *devices, const struct gt_device_process *gpu,
                     const struct gt_task *task)
{
    const struct gt_device_process *home = task->kind == GT_TASK_SEARCH ? NULL : task->home;

    return task->state == GT_TASK_READY && task->class_of == gpu->class_of &&
           (!home || home->out || home == gpu || task->not_on) &&
           (task->not_on != gpu || gpus_of(devices, task->class_of) == 1);
}

struct gt_task *gt_devices_next(struct gt_devices *devices, const struct gt_device_process *gpu,
                                struct gt_budget *budget)
{
    struct gt_task *next = NULL;

    for (size_t i = 0; i < devices->tasks; i++) {
        struct gt_task *task = &devices->task[i];

        if (task->state == GT_TASK_LATER && searched(devices, task))
            task->state = GT_TASK_READY;
        if (may_take(devices, gpu, task) &&
            (!next || weight_of(devices, task->problem) > weight_of(devices, next->problem)))
            next = task;
    }
    if (next)
        *budget = (struct gt_budget){.seconds = seconds_of(devices, next),
                                     .trials = trials_of(devices, next),
                                     .patience = devices->options.budget.patience};
    return next;
}

void gt_devices_end(struct gt_devices *devices, struct gt_task *task, bool lost)
{
    task->attempts += lost;
    if (!lost)
        task->state = GT_TASK_DONE;
    else if (task->kind == GT_TASK_SEARCH || task->attempts >= ATTEMPTS)
        task->state = GT_TASK_FAILED;
    else
        task->state = GT_TASK_READY;
    if (task->kind != GT_TASK_SEARCH && task->state >= GT_TASK_DONE)
        devices->ended++;
}

bool gt_devices_doubted(const struct gt_devices *devices, const struct gt_device_process *gpu,
                        const struct gt_task_end *end)
{
    const struct gt_task *task = gpu->task;

    return !end->code && !end->decided && !end->nothing && !task->not_on &&
           task->kind != GT_TASK_SEARCH && gpus_of(devices, task->class_of) > 1;
}

bool gt_devices_left(const struct gt_devices *devices)
{
    for (size_t i = 0; i < devices->tasks; i++)
        if (devices->task[i].state < GT_TASK_DONE)
            return true;
    return false;
}
