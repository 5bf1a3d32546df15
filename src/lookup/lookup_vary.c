/* lookup_vary.c - looks for candidates around those that were measured: best-first search, in which
 * the best choice so far is the next one whose neighbours are judged.  See lookup_choosing.h.
 *
 * A tile that just fills the last wave often differs from what is known in two parameters or more:
 * one is wider and another one narrower, or another number of warps fits the tile.  What breaks a
 * constraint is repaired by one more parameter of that constraint; what is valid after the first
 * change, but only as good, is kept and varied in its turn. */
#include "lookup/lookup_choosing.h"

#define REACH 1.25 /* times the best that a choice may be expected to take, to be varied */

/* Tries to repair the candidate, in which the parameters `changed` have other values than in start,
 * by one of the parameters that its broken constraint asks about. */
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
