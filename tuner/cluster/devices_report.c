/* devices_report.c - what `tune --devices` prints: each problem's table as it ends, a line for the
 * log, and the totals of each GPU. */
#include "cluster/devices_parts.h"

#include "base/err.h"
#include "problem/problem.h"

#include <string.h>

void gt_devices_note(const struct gt_devices *devices, int ordinal, const char *sentence)
{
    const int length = (int)strcspn(sentence, "\n");

    if (!devices->cli->quiet && length)
        fprintf(devices->cli->log, "GPU %d: %.*s\n", ordinal, length, sentence);
}

void gt_devices_warn_of_budget(const struct gt_devices *devices)
{
    const struct gt_budget *budget = &devices->options.budget;
    char warning[GT_BUDGET_TEXT];
    size_t least = 0; /* GPUs of a class */

    for (size_t i = 0; i < devices->gpus; i++) {
        size_t equal = 0;

        for (size_t j = 0; j < devices->gpus && devices->gpu[i].class_of >= 0; j++)
            equal += devices->gpu[j].class_of == devices->gpu[i].class_of;
        if (equal && (!least || equal < least))
            least = equal;
    }
    if (!devices->cli->quiet && least &&
        gt_session_warn_of_budget(
            warning, budget->seconds * (double)(budget->each ? devices->options.problems : least),
            devices->options.problems))
        fprintf(devices->cli->log, "%s\n", warning);
}

/* The documents of --json stand in one list. */
static void print_text(struct gt_devices *devices, const char *text)
{
    FILE *out = devices->cli->out;

    if (!devices->cli->json) {
        fputs(text, out);
        return;
    }
    fputs(devices->printed ? ",\n" : "{\"format\": \"gemmtune devices 1\", \"sweeps\": [\n", out);
    fprintf(out, "%.*s", (int)strlen(text) - (*text && text[strlen(text) - 1] == '\n'), text);
    devices->printed = true;
}

void gt_devices_print(struct gt_devices *devices, const struct gt_device_process *gpu,
                      const struct gt_task_end *end)
{
    const struct gt_task *task = gpu->task;
    char problem[GT_PROBLEM_TEXT_MAX], sentence[GT_PROBLEM_TEXT_MAX + 160];
    size_t at;

    gt_problem_format(&devices->options.problem[task->problem], problem);
    at = (size_t)snprintf(sentence, sizeof(sentence), "%s: ", problem);
    if (task->kind == GT_TASK_SEARCH)
        at += (size_t)snprintf(sentence + at, sizeof(sentence) - at, "searched, ");
    else
        print_text(devices, end->text);
    if (end->us > 0)
        at += (size_t)snprintf(sentence + at, sizeof(sentence) - at, "%.2f us, ", end->us);
    if (end->us > 0 && end->baseline_us > 0)
        at += (size_t)snprintf(sentence + at, sizeof(sentence) - at, "%.3f x cuBLAS, ",
                               end->baseline_us / end->us);
    snprintf(sentence + at, sizeof(sentence) - at, "%lld new trial%s in %.1f s",
             (long long)end->fresh, end->fresh == 1 ? "" : "s", end->wall_s);
    gt_devices_note(devices, gpu->ordinal, sentence);
}

void gt_devices_close_report(struct gt_devices *devices)
{
    const double seconds = devices->now_s;
    const size_t late = gt_devices_late(devices);

    if (devices->cli->json)
        fputs(devices->printed ? "]}\n" : "{\"format\": \"gemmtune devices 1\", \"sweeps\": []}\n",
              devices->cli->out);
    for (size_t i = 0; i < devices->gpus; i++) {
        const struct gt_device_process *gpu = &devices->gpu[i];
        char sentence[400];

        if (gpu->class_of >= 0)
            snprintf(sentence, sizeof(sentence), "%lld problem%s, busy %.0f %% of %.0f s%s%.250s",
                     (long long)gpu->done, gpu->done == 1 ? "" : "s",
                     seconds > 0 ? 100 * gpu->busy_s / seconds : 0, seconds,
                     gpu->out && gpu->why.code ? "; given up: " : "", gpu->out ? gpu->why.msg : "");
        else
            snprintf(sentence, sizeof(sentence), "no part: %.350s", gpu->why.msg);
        gt_devices_note(devices, gpu->ordinal, sentence);
    }
    if (!devices->tasks && !devices->cli->quiet)
        fputs("nothing is missing: every problem has a winner\n", devices->cli->log);
    if (late && !devices->cli->quiet)
        fprintf(
            devices->cli->log,
            "%zu of %zu problems had no turn; the same command with --missing goes on with them\n",
            late, devices->options.problems);
}
