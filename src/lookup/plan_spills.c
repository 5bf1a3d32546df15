/* plan_spills.c - an answer whose registers spill gives way to the next candidate.  Part of
 * gt_plan: see plan_impl.h.
 *
 * A look-up only estimates what the compiler will do (`lacking` of a kernel's model).  A plan has
 * compiled the answer and knows; at the price of one more compilation it can do better. */
#include "lookup/plan_impl.h"

#include "lookup/lookup_impl.h"

#define SPILLED \
    1.5 /* times as long as expected: no candidate that is expected to be slower is taken */

/* Whether both are compiled to the same code: they differ at most in launch parameters. */
static bool same_code(const struct gt_choice *choice, const struct gt_resolved *resolved)
{
    const struct gt_kernel *kernel = resolved->kernel;
    bool same = choice->kernel == kernel;

    for (size_t i = 0; i < kernel->params && same; i++)
        same = kernel->param[i].launch || choice->point.value[i] == resolved->point.value[i];
    return same;
}

/* The best candidate of the ranking that is other code; NULL: none is expected to be as fast as
 * what spills. */
static const struct gt_choice *next_of(const struct gt_choices *choices,
                                       const struct gt_resolved *resolved)
{
    size_t i = 0;

    while (i < choices->count && same_code(&choices->choice[i], resolved))
        i++;
    return i < choices->count && choices->choice[i].us < SPILLED * resolved->answer.expected_us
               ? &choices->choice[i]
               : NULL;
}

void gt_plan_avoid_spills(struct gt *gt, struct gt_resolved *resolved, struct gt_binary *binary,
                          int *nvrtc)
{
    struct gt_binary other = {0};
    const struct gt_choice *next;
    int version;
    struct gt_resolved candidate;
    struct gt_choices choices;

    if (binary->spill_bytes <= GT_SPILL_LIMIT || resolved->answer.tier != GT_TIER_NEAR ||
        resolved->answer.measured ||
        gt_lookup_alternatives(&gt->sources, resolved, &choices, NULL) != GT_OK)
        return;
    next = next_of(&choices, resolved);
    if (!next)
        return;
    candidate = *resolved;
    candidate.kernel = next->kernel;
    candidate.point = next->point;
    if (gt_candidate_geometry(&(struct gt_candidate){next->kernel, &resolved->problem,
                                                     &resolved->device, next->point},
                              &candidate.geometry, NULL) == GT_OK &&
        gt_plan_binary(gt_lookup_options(gt), &candidate, NULL, &other, &version, NULL) == GT_OK &&
        other.spill_bytes <= GT_SPILL_LIMIT &&
        gt_lookup_take_choice(next, resolved, NULL) == GT_OK) {
        gt_binary_release(binary);
        *binary = other;
        *nvrtc = version;
        return;
    }
    gt_binary_release(&other);
}
