/* evaluator_cuda_entry.c - the entries of the cuda evaluator: their lists, their deadline, and how
 * the replies of the compiler and of the GPU worker become a trial. */
#include "base/err.h"
#include "evaluate/evaluator_cuda.h"
#include "problem/problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Deadlines.  A launch may take flops / SLOW_FLOPS + bytes / SLOW_BYTES seconds, which is far too
 * slow for any use.  Once a best time is known, it may take PATIENCE times that, if that is less.
 */
#define SLOW_FLOPS 2e11
#define SLOW_BYTES 1e10
#define PATIENCE   50
#define RUN_S      5e-3 /* the host's part of a launch, at most */

void gt_entries_push(struct gt_entry_list *list, struct gt_entry *entry)
{
    entry->next = NULL;
    if (list->last)
        list->last->next = entry;
    else
        list->first = entry;
    list->last = entry;
    list->count++;
}

void gt_entries_push_first(struct gt_entry_list *list, struct gt_entry *entry)
{
    entry->next = list->first;
    list->first = entry;
    if (!list->last)
        list->last = entry;
    list->count++;
}

struct gt_entry *gt_entries_pop(struct gt_entry_list *list)
{
    struct gt_entry *entry = list->first;

    if (!entry)
        return NULL;
    list->first = entry->next;
    if (!list->first)
        list->last = NULL;
    list->count--;
    return entry;
}

struct gt_entry *gt_entries_take(struct gt_entry_list *list, uint64_t ticket)
{
    struct gt_entry *entry, *before = NULL;

    for (entry = list->first; entry && entry->ticket != ticket; entry = entry->next)
        before = entry;
    if (!entry)
        return NULL;
    if (before)
        before->next = entry->next;
    else
        list->first = entry->next;
    if (list->last == entry)
        list->last = before;
    list->count--;
    return entry;
}

void gt_entries_clear(struct gt_entry_list *list)
{
    struct gt_entry *entry;

    while ((entry = gt_entries_pop(list)))
        free(entry);
}

double gt_cuda_launch_s(const struct gt_cuda *cuda)
{
    const struct gt_problem *problem = &cuda->gpu.problem;
    const double patient = PATIENCE * cuda->best_us / 1e6;
    double slow = gt_problem_flops(problem) / SLOW_FLOPS;
    int operand;

    for (operand = GT_OPERAND_A; operand <= GT_OPERAND_C; operand++)
        slow += (double)gt_problem_bytes(problem, (enum gt_operand)operand) / SLOW_BYTES;
    return gt_chain_launches(cuda->gpu.options.bench.timing) *
           (RUN_S + (cuda->best_us > 0 && patient < slow ? patient : slow));
}

/* Adds the facts that only the compiler knows, and those that the worker could not find out. */
static void complete_trial(const struct gt_entry *entry, struct gt_trial *trial)
{
    const struct gt_compiled *compiled = &entry->compiled;
    struct gt_geometry geometry;
    size_t i;

    if (!trial->registers)
        trial->registers = compiled->registers;
    if (!trial->spill_bytes)
        trial->spill_bytes = compiled->spill_bytes;
    if (!trial->static_shared)
        trial->static_shared = compiled->static_shared;
    trial->compile_ms = compiled->ms;
    if (gt_candidate_geometry(&entry->candidate, &geometry, NULL))
        return;
    trial->workspace_bytes = (int64_t)geometry.workspace_bytes;
    trial->varies = !geometry.deterministic;
    for (i = 0; i < geometry.launches; i++) {
        const int64_t shared = (int64_t)geometry.launch[i].shared_bytes + trial->static_shared;

        if (shared > trial->shared_bytes)
            trial->shared_bytes = shared;
    }
}

void gt_cuda_finish_with(struct gt_entry *entry, enum gt_status status, const char *detail)
{
    entry->trial = (struct gt_trial){.status = status};
    snprintf(entry->trial.detail, sizeof(entry->trial.detail), "%s", detail);
    complete_trial(entry, &entry->trial);
}

/* Turns a trial that no worker of this program can have written into a fault. */
static void check_trial(struct gt_trial *trial)
{
    trial->detail[sizeof(trial->detail) - 1] = '\0';
    if (trial->status > GT_STATUS_NONE && trial->status < GT_STATUS_COUNT && trial->samples >= 0 &&
        trial->samples <= GT_MAX_SAMPLES)
        return;
    *trial = (struct gt_trial){.status = GT_STATUS_FAULT};
    snprintf(trial->detail, sizeof(trial->detail), "the worker's answer has values out of range");
}

int gt_cuda_read_trial(struct gt_gpu_reply *reply, const struct gt_entry *entry,
                       struct gt_trial *trial)
{
    gt_wire_get_struct(&reply->in, trial, sizeof(*trial));
    if (reply->in.failed)
        return GT_ESYNTAX;
    check_trial(trial);
    complete_trial(entry, trial);
    return GT_OK;
}
