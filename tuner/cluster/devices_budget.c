/* devices_budget.c - the time and the trials that a task of `tune --devices` gets.
 *
 * The time that is left on all GPUs of the class is divided among the problems that are left, by
 * weight; so a GPU that is lost or slow takes from all of them, not from the last ones. */
#include "cluster/devices_parts.h"

#include <math.h>

#define SECONDS_LEAST 1.0 /* of a turn, when the time is up but the problem has none yet */
#define WEIGHT_LEAST  0.1 /* of the mean weight, as in sweep/time_slices.c */

double gt_devices_weight(const struct gt_devices *devices, size_t problem)
{
    const struct gt_devices_options *options = &devices->options;
    double mean = 0;

    for (size_t i = 0; options->weight && i < options->problems; i++)
        mean += options->weight[i] / (double)options->problems;
    return mean > 0 ? fmax(options->weight[problem], WEIGHT_LEAST * mean) : 1;
}

/* Seconds for a whole problem: its part of the time that is left on the GPUs of the class. */
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
            weights += gt_devices_weight(devices, devices->task[i].problem);
    return fmin(time * gt_devices_weight(devices, task->problem) / weights, end - now);
}

double gt_devices_task_time(const struct gt_devices *devices, const struct gt_task *task)
{
    const struct gt_budget *budget = &devices->options.budget;

    if (!(budget->seconds > 0))
        return devices->turn_s;
    if (task->kind != GT_TASK_WHOLE)
        return task->until_s - devices->now_s;
    return budget->each ? budget->seconds : share_of_time(devices, task);
}

double gt_devices_task_seconds(const struct gt_devices *devices, const struct gt_task *task)
{
    const double over = task->kind == GT_TASK_SEARCH ? 1 : devices->over;

    if (!(devices->options.budget.seconds > 0))
        return 0;
    return fmax(task->takes_s / over, SECONDS_LEAST);
}

int64_t gt_devices_task_trials(const struct gt_devices *devices,
                               const struct gt_device_process *gpu, const struct gt_task *task)
{
    const int64_t trials = devices->options.budget.trials;
    const int64_t parts = (int64_t)task->searches + 1, part = (trials + parts - 1) / parts;
    int64_t others = 0;

    if (!trials || task->kind == GT_TASK_WHOLE)
        return trials;
    if (task->kind == GT_TASK_SEARCH)
        return part;
    for (size_t i = 0; i < devices->tasks; i++)
        others += gt_devices_is_search_of(&devices->task[i], task) &&
                  devices->task[i].state == GT_TASK_DONE && devices->task[i].by != gpu;
    return trials - others * part > 0 ? trials - others * part : part;
}
