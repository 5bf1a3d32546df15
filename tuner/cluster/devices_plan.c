/* devices_plan.c - which problem a GPU of `tune --devices` gets next, and for how long.
 *
 * Problems of larger weight come first, and among equal weights those of more work, so that no long
 * problem is left for the end.  Where more GPUs will soon be free than problems are left, several
 * GPUs share a problem: each searches with a seed of its own, and one of them holds the finals. */
#include "cluster/devices_parts.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ATTEMPTS      3   /* a problem may cost so many GPUs */
#define SEARCH_PART   0.7 /* part of the time for searches where several GPUs share a problem */
#define SHARED_S      2.0 /* a search of so many seconds is worth the start of a further GPU */
#define SHARED_TRIALS 8   /* likewise a search of so many trials */
#define SOON          0.5 /* part of a turn: a GPU that is free by then can share the problem */
#define OVER_MOST     5.0 /* times the budget: a turn may be short, and its problem large */
#define SECONDS_LEAST 1.0 /* least seconds of a turn, also if the time is up before it */
#define WEIGHT_LEAST  0.1 /* part of the mean weight, as in sweep/time_slices.c */
#define FOLLOW        0.3 /* how much of the estimate's error a new value corrects */

/* A turn takes so many times its budget, as assumed until the first turn has ended: finals have a
 * third of the budget (sweep/finals.c). */
#define OVER 1.33

static size_t gpus_of(const struct gt_devices *devices, int class_of)
{
    size_t count = 0;

    for (size_t i = 0; i < devices->gpus; i++)
        count += !devices->gpu[i].out && devices->gpu[i].class_of == class_of;
    return count;
}

/* The GPU of the class that tuned the problem in an earlier run, or NULL.  Times belong to a GPU,
 * so a problem goes where its trials are.  Trials of an older text of their kernel make no home. */
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

int gt_devices_plan(struct gt_devices *devices, struct gt_err *err)
{
    const size_t problems = devices->options.problems, gpus = devices->gpus;
    const int64_t seed = devices->options.session.seed;

    /* GPUs share problems only if there are more GPUs than problems, each problem among all GPUs at
     * most. */
    devices->task =
        calloc((size_t)devices->classes * (problems + gpus * gpus) + 1, sizeof(*devices->task));
    if (!devices->task)
        return gt_err_nomem(err);
    devices->over = OVER;
    for (int class_of = 0; class_of < devices->classes; class_of++)
        for (size_t i = 0; i < problems; i++)
            if (!devices->options.missing || !is_done(devices, class_of, i))
                devices->task[devices->tasks++] =
                    (struct gt_task){.kind = GT_TASK_WHOLE,
                                     .state = GT_TASK_READY,
                                     .problem = i,
                                     .class_of = class_of,
                                     .home = home_of(devices, class_of, i),
                                     .seed = seed ? (uint64_t)seed : GT_SEED_DEFAULT};
    return GT_OK;
}

/* ---- the time and the trials that a task gets ----
 *
 * The time that is left on all GPUs of the class is divided by weight among the problems that are
 * left.  So a lost or slow GPU costs all problems time, and not only the last ones. */

/* The weight of a problem, at least a tenth of the mean. */
static double weight_of(const struct gt_devices *devices, size_t problem)
{
    const struct gt_devices_options *options = &devices->options;
    double mean = 0;

    for (size_t i = 0; options->weight && i < options->problems; i++)
        mean += options->weight[i] / (double)options->problems;
    return mean > 0 ? fmax(options->weight[problem], WEIGHT_LEAST * mean) : 1;
}

/* Seconds for a whole problem: its share of the time that is left on the GPUs of the class. */
static double share_of_time(const struct gt_devices *devices, const struct gt_task *task)
{
    const double now = devices->now_s, end = devices->options.budget.seconds;
    double time = 0, weights = 0;

    for (size_t i = 0; i < devices->gpus; i++) {
        const struct gt_device_process *gpu = &devices->gpu[i];
        const double free_s = gpu->task ? gpu->task->begun_s + gpu->task->takes_s : now;

        if (!gpu->out && gpu->class_of == task->class_of)
            time += fmax(0, end - fmax(now, free_s));
    }
    for (size_t i = 0; i < devices->tasks; i++)
        if (devices->task[i].class_of == task->class_of && devices->task[i].state == GT_TASK_READY)
            weights += weight_of(devices, devices->task[i].problem);
    return fmin(time * weight_of(devices, task->problem) / weights, end - now);
}

/* How long the task should take, with finals; 0: not known. */
static double task_time(const struct gt_devices *devices, const struct gt_task *task)
{
    const struct gt_budget *budget = &devices->options.budget;

    if (!(budget->seconds > 0))
        return devices->turn_s;
    if (task->kind != GT_TASK_WHOLE)
        return task->until_s - devices->now_s;
    return budget->each ? budget->seconds : share_of_time(devices, task);
}

/* The task's budget of time, beyond which a sweep of one problem holds its finals. */
static double task_seconds(const struct gt_devices *devices, const struct gt_task *task)
{
    const double over = task->kind == GT_TASK_SEARCH ? 1 : devices->over;

    if (!(devices->options.budget.seconds > 0))
        return 0;
    return fmax(task->takes_s / over, SECONDS_LEAST);
}

/* Whether the task is a search of the final's problem. */
static bool is_search_of(const struct gt_task *task, const struct gt_task *final)
{
    return task->kind == GT_TASK_SEARCH && task->problem == final->problem &&
           task->class_of == final->class_of;
}

/* The task's budget of trials.  Trials of earlier runs on the GPU count, so a final counts the
 * trials of its GPU's search.  A final also makes up for searches that no GPU came to. */
static int64_t task_trials(const struct gt_devices *devices, const struct gt_device_process *gpu,
                           const struct gt_task *task)
{
    const int64_t trials = devices->options.budget.trials;
    const int64_t parts = (int64_t)task->searches + 1, part = (trials + parts - 1) / parts;
    int64_t others = 0;

    if (!trials || task->kind == GT_TASK_WHOLE)
        return trials;
    if (task->kind == GT_TASK_SEARCH)
        return part;
    for (size_t i = 0; i < devices->tasks; i++)
        others += is_search_of(&devices->task[i], task) && devices->task[i].state == GT_TASK_DONE &&
                  devices->task[i].by != gpu;
    return trials - others * part > 0 ? trials - others * part : part;
}

/* ---- sharing ---- */

/* How many ready tasks of a kind the class has. */
static size_t count_ready(const struct gt_devices *devices, int class_of, enum gt_task_kind kind)
{
    size_t count = 0;

    for (size_t i = 0; i < devices->tasks; i++)
        count += devices->task[i].class_of == class_of && devices->task[i].kind == kind &&
                 devices->task[i].state == GT_TASK_READY;
    return count;
}

/* How many GPUs of the class will be free before the part SOON of takes_s has passed.  GPUs without
 * a task count as free. */
static size_t free_soon(const struct gt_devices *devices, int class_of, double takes_s)
{
    size_t count = 0;

    for (size_t i = 0; i < devices->gpus; i++) {
        const struct gt_device_process *gpu = &devices->gpu[i];
        const struct gt_task *task = gpu->task;

        count += !gpu->out && gpu->class_of == class_of &&
                 (!task || (task->takes_s > 0 &&
                            task->begun_s + task->takes_s < devices->now_s + SOON * takes_s));
    }
    return count;
}

/* Whether the class had fewer problems than GPUs from the beginning. */
static bool are_few(const struct gt_devices *devices, int class_of)
{
    size_t count = 0;

    for (size_t i = 0; i < devices->tasks; i++)
        count += devices->task[i].class_of == class_of && devices->task[i].kind != GT_TASK_SEARCH;
    return count < gpus_of(devices, class_of);
}

/* How many GPUs should search the problem.  A problem that an earlier run tuned stays where its
 * trials are, unless GPUs have nothing else to do from the beginning. */
static size_t searches_for(const struct gt_devices *devices, const struct gt_task *task)
{
    const struct gt_budget *budget = &devices->options.budget;
    const double takes_s = task_time(devices, task);
    const size_t problems = count_ready(devices, task->class_of, GT_TASK_WHOLE);
    const size_t taken = count_ready(devices, task->class_of, GT_TASK_SEARCH);
    size_t gpus = free_soon(devices, task->class_of, takes_s);
    size_t searches;

    gpus -= taken < gpus ? taken : gpus;
    searches = (gpus + problems - 1) / problems;
    if (task->attempts || task->not_on || problems >= gpus)
        return 1;
    if (are_few(devices, task->class_of))
        return searches;
    if (task->home || (budget->seconds > 0 && SEARCH_PART * takes_s < SHARED_S) ||
        (budget->trials && budget->trials < SHARED_TRIALS * ((int64_t)searches + 1)))
        return 1;
    return searches;
}

/* Divides a whole problem into searches for several GPUs and a final.  Returns the first search. */
static struct gt_task *share(struct gt_devices *devices, struct gt_task *task, size_t searches)
{
    const double takes_s = task_time(devices, task);
    struct gt_task search = *task;

    task->kind = GT_TASK_FINAL;
    task->state = GT_TASK_LATER;
    task->searches = searches;
    task->until_s = devices->now_s + takes_s;
    search.kind = GT_TASK_SEARCH;
    search.searches = searches;
    search.until_s = devices->now_s + SEARCH_PART * takes_s;
    search.home = NULL; /* any GPU may take the search */
    for (size_t i = 0; i < searches; i++, search.seed++)
        devices->task[devices->tasks++] = search;
    return &devices->task[devices->tasks - searches];
}

/* Makes the final READY once no GPU searches its problem, without waiting for searches that no GPU
 * came to. */
static void release_final(struct gt_devices *devices, struct gt_task *final)
{
    struct gt_task *last = devices->task + devices->tasks;
    size_t begun = 0, running = 0;

    for (struct gt_task *task = devices->task; task < last; task++)
        if (is_search_of(task, final)) {
            begun += task->state > GT_TASK_READY;
            running += task->state == GT_TASK_RUNNING;
        }
    if (!begun || running)
        return;
    final->state = GT_TASK_READY;
    for (struct gt_task *task = devices->task; task < last; task++)
        if (is_search_of(task, final) && task->state == GT_TASK_READY)
            task->state = GT_TASK_FAILED;
}

/* ---- the next task ---- */

/* Whether a task may not begin any more: a search beyond its own end, a problem beyond the end of
 * the run's budget. */
static bool is_too_late(const struct gt_devices *devices, const struct gt_task *task)
{
    const struct gt_budget *budget = &devices->options.budget;

    if (!(budget->seconds > 0) || task->kind == GT_TASK_FINAL)
        return false;
    if (task->kind == GT_TASK_SEARCH)
        return task->until_s <= devices->now_s;
    return !budget->each && devices->now_s >= budget->seconds;
}

/* Whether the GPU may take the task.  A GPU that found no valid candidate may not, if there is
 * another GPU.  If the GPU with the problem's earlier trials is here, only that GPU may, because
 * trials belong to a GPU and another GPU would begin anew.  No GPU may take a task that would begin
 * too late. */
static bool may_take(const struct gt_devices *devices, const struct gt_device_process *gpu,
                     const struct gt_task *task)
{
    const struct gt_device_process *home = task->home;

    return task->state == GT_TASK_READY && task->class_of == gpu->class_of &&
           (!home || home->out || home == gpu || task->not_on) && !is_too_late(devices, task) &&
           (task->not_on != gpu || gpus_of(devices, task->class_of) == 1);
}

/* 1: the GPU was told that the task is next; -1: another GPU was told so, and not long ago.  A GPU
 * that is busy with a large problem must not keep the next large problem to the end. */
static int foreseen(const struct gt_devices *devices, const struct gt_task *task,
                    const struct gt_device_process *gpu)
{
    if (!task->foreseen || devices->begun - task->told > 2 * gpus_of(devices, task->class_of))
        return 0;
    return task->foreseen == gpu ? 1 : -1;
}

/* Whether task a comes before task b for the GPU: first finals, then searches, whose problem was
 * begun; then the task that the GPU was told is next; then the problem of more weight or, among
 * equals, of more work. */
static bool comes_before(const struct gt_devices *devices, const struct gt_device_process *gpu,
                         const struct gt_task *a, const struct gt_task *b)
{
    const struct gt_problem *problem = devices->options.problem;
    const double more = weight_of(devices, a->problem) - weight_of(devices, b->problem);

    if (a->kind != b->kind)
        return a->kind > b->kind;
    if (foreseen(devices, a, gpu) != foreseen(devices, b, gpu))
        return foreseen(devices, a, gpu) > foreseen(devices, b, gpu);
    if (more != 0)
        return more > 0;
    return gt_problem_flops(&problem[a->problem]) > gt_problem_flops(&problem[b->problem]);
}

struct gt_task *gt_devices_next(struct gt_devices *devices, struct gt_device_process *gpu,
                                struct gt_budget *budget)
{
    struct gt_task *next = NULL;
    size_t searches;

    for (size_t i = 0; i < devices->tasks; i++) {
        struct gt_task *task = &devices->task[i];

        if (task->state == GT_TASK_LATER)
            release_final(devices, task);
        if (may_take(devices, gpu, task) && (!next || comes_before(devices, gpu, task, next)))
            next = task;
    }
    if (!next)
        return NULL;
    if (next->kind == GT_TASK_WHOLE && (searches = searches_for(devices, next)) > 1)
        next = share(devices, next, searches);
    next->begun_s = devices->now_s;
    next->takes_s = fmax(0, task_time(devices, next));
    next->search_s = task_seconds(devices, next);
    *budget = (struct gt_budget){.seconds = next->search_s,
                                 .trials = task_trials(devices, gpu, next),
                                 .patience = devices->options.budget.patience};
    next->state = GT_TASK_RUNNING;
    next->by = gpu;
    devices->begun++;
    gpu->task = next;
    return next;
}

size_t gt_devices_foresee(struct gt_devices *devices, const struct gt_device_process *gpu)
{
    struct gt_task *next = NULL;

    /* An idle GPU will take the next task. */
    for (size_t i = 0; i < devices->gpus; i++)
        if (!devices->gpu[i].out && !devices->gpu[i].task &&
            devices->gpu[i].class_of == gpu->class_of)
            return SIZE_MAX;
    for (size_t i = 0; i < devices->tasks; i++) {
        struct gt_task *task = &devices->task[i];

        if (task->kind == GT_TASK_WHOLE && may_take(devices, gpu, task) &&
            foreseen(devices, task, gpu) >= 0 && (!next || comes_before(devices, gpu, task, next)))
            next = task;
    }
    if (!next || gpu->task->kind != GT_TASK_WHOLE)
        return SIZE_MAX;
    next->foreseen = gpu;
    next->told = devices->begun;
    return next->problem;
}

/* Corrects the estimates of how long turns take by a turn that has ended. */
static void learn(struct gt_devices *devices, const struct gt_task *task)
{
    const double took = devices->now_s - task->begun_s;
    double over;

    if (task->kind != GT_TASK_WHOLE)
        return;
    devices->turns++;
    devices->turn_s += (took - devices->turn_s) / (double)devices->turns;
    if (!(task->search_s > 0))
        return;
    over = fmin(fmax(1, took / task->search_s), OVER_MOST);
    devices->over += (devices->turns > 1 ? FOLLOW : 1) * (over - devices->over);
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
    if (!lost)
        learn(devices, task);
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

size_t gt_devices_late(const struct gt_devices *devices)
{
    size_t late = 0;

    for (size_t i = 0; i < devices->tasks; i++)
        late += devices->task[i].kind == GT_TASK_WHOLE && devices->task[i].state == GT_TASK_READY &&
                is_too_late(devices, &devices->task[i]);
    return late;
}

bool gt_devices_left(const struct gt_devices *devices)
{
    size_t left = 0;

    for (size_t i = 0; i < devices->tasks; i++)
        left += devices->task[i].state < GT_TASK_DONE;
    return left > gt_devices_late(devices);
}
