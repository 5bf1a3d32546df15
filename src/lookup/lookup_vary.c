/* lookup_vary.c - looks for candidates around those that were measured by best-first search: the
 * best choice that was not yet varied is the next one whose neighbours are judged.  See
 * lookup_choosing.h.
 *
 * A tile that exactly fills the last wave often differs from a known one in two or more parameters:
 * one size is larger and another one smaller, or the number of warps changes with the tile.  So a
 * neighbour that breaks a constraint is repaired by one more parameter of that constraint, and a
 * neighbour that is valid but only as good is kept and varied, too. */
#include "lookup/lookup_choosing.h"

#define REACH 1.25 /* times the best that a choice may be expected to take if it is varied */

/* Tries to repair the candidate, whose parameters `changed` differ from start, by one of the
 * parameters in its broken constraint. */
static void repair_by_another(struct gt_choosing *choosing, const struct gt_choice *start,
                              uint64_t changed, uint64_t broken, const int64_t before[GT_MAX_SLOTS])
{
    struct gt_candidate *candidate = &choosing->candidate;
    const struct gt_kernel *kernel = start->kernel;

    for (size_t i = 0; i < kernel->params; i++) {
        const uint64_t bit = (uint64_t)1 << i;
        const struct gt_param *param = &kernel->param[i];

        if (!(broken & ~changed & bit))
            continue;
        for (size_t v = 0; v < param->count && choosing->effort > 0; v++) {
            uint64_t unused;

            candidate->point.value[i] = param->value[v];
            choosing->effort--;
            if (param->value[v] != start->point.value[i] &&
                gt_candidate_still_valid(candidate, changed | bit, before, &unused))
                gt_choosing_judge(choosing, start->row, true);
        }
        candidate->point.value[i] = start->point.value[i];
    }
}

static void vary_one(struct gt_choosing *choosing, const struct gt_choice *start)
{
    struct gt_candidate *candidate = &choosing->candidate;
    const struct gt_kernel *kernel = start->kernel;
    int64_t before[GT_MAX_SLOTS];

    candidate->kernel = kernel;
    candidate->point = start->point;
    if (gt_candidate_slots(candidate, before, NULL))
        return;
    for (size_t i = 0; i < kernel->params; i++) {
        const struct gt_param *param = &kernel->param[i];
        const uint64_t bit = (uint64_t)1 << i;

        for (size_t v = 0; v < param->count && choosing->effort > 0; v++) {
            uint64_t broken;

            candidate->point.value[i] = param->value[v];
            choosing->effort--;
            if (param->value[v] == start->point.value[i])
                continue;
            if (gt_candidate_still_valid(candidate, bit, before, &broken))
                gt_choosing_judge(choosing, start->row, true);
            else
                repair_by_another(choosing, start, bit, broken, before);
        }
        candidate->point.value[i] = start->point.value[i];
    }
}

void gt_choosing_vary(struct gt_choosing *choosing)
{
    struct gt_choices *choices = choosing->choices;
    size_t i = 0;

    while (i < choices->count && choosing->effort > 0 &&
           choices->choice[i].score <= REACH * choices->choice[0].score) {
        const struct gt_choice start = choices->choice[i];

        if (start.varied) {
            i++;
            continue;
        }
        choices->choice[i].varied = true;
        vary_one(choosing, &start);
        i = 0;
    }
}
