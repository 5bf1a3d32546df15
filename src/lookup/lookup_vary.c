/* lookup_vary.c - looks for candidates around those that were measured by best-first search: the
 * best choice that was not yet varied is the next one whose neighbours are judged.  See
 * lookup_choosing.h.
 *
 * First come the neighbours that are valid as they are: a choice has ten of them and half a hundred
 * checks find them.  Those that need a repair cost twenty times as many checks, so they wait until
 * every choice within reach has been varied.
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
            candidate->point.value[i] = param->value[v];
            choosing->effort--;
            if (param->value[v] != start->point.value[i] &&
                gt_candidate_still_valid(candidate, changed | bit, before, choosing->slots,
                                         &choosing->likely[i]))
                gt_choosing_judge(choosing, start->row, true);
        }
        candidate->point.value[i] = start->point.value[i];
    }
}

/* repairs: only changes that need one; else only those that need none. */
static void vary_one(struct gt_choosing *choosing, const struct gt_choice *start, bool repairs)
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
            if (repairs) {
                if (gt_candidate_breaks(candidate, bit, before, choosing->slots, &broken))
                    repair_by_another(choosing, start, bit, broken, before);
            } else if (gt_candidate_still_valid(candidate, bit, before, choosing->slots,
                                                &choosing->likely[i])) {
                gt_choosing_judge(choosing, start->row, true);
            }
        }
        candidate->point.value[i] = start->point.value[i];
    }
}

/* The best choice within reach that was not yet varied so far; NULL: there is none. */
static struct gt_choice *next(struct gt_choices *choices, int varied)
{
    for (size_t i = 0;
         i < choices->count && choices->choice[i].score <= REACH * choices->choice[0].score; i++)
        if (choices->choice[i].varied < varied)
            return &choices->choice[i];
    return NULL;
}

void gt_choosing_vary(struct gt_choosing *choosing)
{
    while (choosing->effort > 0) {
        struct gt_choice *choice = NULL, start;

        for (int varied = 1; varied <= 2 && !choice; varied++)
            choice = next(choosing->choices, varied);
        if (!choice)
            return;
        start = *choice;
        choice->varied++;
        vary_one(choosing, &start, start.varied);
    }
}
