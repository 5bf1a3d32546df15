/* lookup_choose.c - chooses by a ranking (ranking.h) among its prototypes for the kind of problem
 * and the winners of near problems.  Part of the look-up: see lookup_impl.h.
 *
 * Each is checked against the problem, a few that are not valid for it are repaired, and the
 * shortest expected time wins; then the best one's neighbours are tried.  The work is bounded:
 * every check costs one unit of effort, an estimate GT_EFFORT_ESTIMATE. */
#include "lookup/lookup_impl.h"

#include <math.h>
#include <string.h>

#define REFINING     400  /* of the effort, kept for neighbours of the best */
#define ENOUGH       10   /* valid candidates; with fewer, others are repaired */
#define REPAIR_STEPS 8    /* changes of one parameter before a repair is given up */
#define REPAIR_MOST  6    /* broken constraints of a candidate that is repaired */
#define WORTH        0.94 /* a neighbour must be expected to take at most this share of the time */
#define REFINED      2    /* changes of one parameter that are made for time */

struct choosing {
    const struct gt_ranking *ranking;
    struct gt_choice *best;
    struct gt_candidate candidate;
    int effort;
    int valid;
};

/* Takes the candidate if it is the best so far. */
static void judge(struct choosing *choosing, const struct gt_table_row *row, bool adapted)
{
    struct gt_choice *best = choosing->best;
    struct gt_geometry geometry;
    double us;

    choosing->effort -= GT_EFFORT_ESTIMATE;
    if (gt_candidate_geometry(&choosing->candidate, &geometry, NULL))
        return;
    us = gt_ranking_us(choosing->ranking, &choosing->candidate, &geometry);
    if (!(us > 0) || !isfinite(us))
        return;
    choosing->valid++;
    if (best->kernel && us >= best->us)
        return;
    *best = (struct gt_choice){.kernel = choosing->candidate.kernel,
                               .point = choosing->candidate.point,
                               .geometry = geometry,
                               .row = row,
                               .us = us,
                               .adapted = adapted};
}

static bool is_valid(struct choosing *choosing)
{
    int failed;

    choosing->effort--;
    return gt_candidate_valid(&choosing->candidate, &failed, NULL) == GT_OK && failed < 0;
}

/* The change of one parameter of a broken constraint after which the fewest are broken. */
static bool repair_one(struct choosing *choosing, int *broken)
{
    struct gt_candidate *candidate = &choosing->candidate;
    const struct gt_point start = candidate->point;
    struct gt_point best = start;
    const uint64_t params = gt_lookup_broken_params(candidate);
    const int before = *broken;

    for (size_t i = 0; i < candidate->kernel->params; i++) {
        const struct gt_param *param = &candidate->kernel->param[i];

        if (!(params >> i & 1))
            continue;
        candidate->point = start;
        for (size_t v = 0; v < param->count && choosing->effort > 0; v++) {
            int now;

            candidate->point.value[i] = param->value[v];
            choosing->effort--;
            now = gt_lookup_broken(candidate, *broken);
            if (now < *broken) {
                *broken = now;
                best = candidate->point;
            }
        }
    }
    candidate->point = best;
    return *broken < before;
}

static bool repair(struct choosing *choosing)
{
    int broken = gt_lookup_broken(&choosing->candidate, GT_MAX_BROKEN);

    for (int step = 0; broken && step < REPAIR_STEPS && choosing->effort > 0; step++)
        if (!repair_one(choosing, &broken))
            return false;
    return !broken && is_valid(choosing);
}

/* Whether the prototype is one for the problem's type, at its accuracy or a better one: few rows of
 * FP32 at accuracy f32 are computed fastest by kernels that are strict. */
static bool is_of_kind(const struct gt_prototype *prototype, const struct gt_problem *problem)
{
    struct gt_problem kind = *problem;

    for (int accuracy = 0; accuracy <= (int)problem->accuracy; accuracy++) {
        kind.accuracy = (enum gt_accuracy)accuracy;
        if (prototype->kinds >> gt_ranking_kind(&kind) & 1)
            return true;
    }
    return false;
}

/* The i-th candidate to be looked at: near winners first, then prototypes; false: there is no such
 * one, or its kernel does not serve the problem. */
static bool take(struct choosing *choosing, const struct gt_near_rows *near,
                 const struct gt_kernels *kernels, size_t i, const struct gt_table_row **row)
{
    struct gt_candidate *candidate = &choosing->candidate;
    const struct gt_prototype *prototype;

    *row = NULL;
    if (i < near->count) {
        *row = near->row[i];
        candidate->kernel = gt_lookup_kernel(kernels, (*row)->kernel);
        choosing->effort--;
        return candidate->kernel &&
               gt_point_parse(&candidate->point, candidate->kernel, (*row)->point, NULL) == GT_OK &&
               gt_kernel_serves(candidate->kernel, candidate->problem, candidate->device, NULL);
    }
    prototype = &choosing->ranking->prototype[i - near->count];
    candidate->kernel = prototype->kernel;
    candidate->point = prototype->point;
    return is_of_kind(prototype, candidate->problem) &&
           gt_kernel_serves(candidate->kernel, candidate->problem, candidate->device, NULL);
}

/* Tries every change of one parameter of the best. */
static bool refine(struct choosing *choosing)
{
    const struct gt_choice start = *choosing->best;
    struct gt_choice *best = choosing->best;
    const double most = WORTH * start.us;

    best->us = most;
    choosing->candidate.kernel = start.kernel;
    for (size_t i = 0; i < start.kernel->params; i++) {
        const struct gt_param *param = &start.kernel->param[i];

        choosing->candidate.point = start.point;
        for (size_t v = 0; v < param->count && choosing->effort > 0; v++) {
            choosing->candidate.point.value[i] = param->value[v];
            if (param->value[v] != start.point.value[i] && is_valid(choosing))
                judge(choosing, start.row, true);
        }
    }
    if (best->us < most)
        return true;
    *best = start;
    return false;
}

/* Repairs candidates until enough are valid, those that break the fewest constraints first. */
static void repair_some(struct choosing *choosing, const struct gt_near_rows *near,
                        const struct gt_kernels *kernels, const unsigned char *broken, size_t count)
{
    const struct gt_table_row *row;

    for (int most = 1; most <= REPAIR_MOST; most++)
        for (size_t i = 0; i < count && choosing->effort > 0 && choosing->valid < ENOUGH; i++)
            if (broken[i] == most && take(choosing, near, kernels, i, &row) && repair(choosing))
                judge(choosing, row, true);
}

bool gt_lookup_choose(const struct gt_sources *sources, const struct gt_problem *problem,
                      const struct gt_device *device, const struct gt_near_rows *near,
                      struct gt_choice *choice)
{
    struct choosing choosing = {.ranking = &sources->ranking,
                                .best = choice,
                                .candidate = {.problem = problem, .device = device},
                                .effort = GT_EFFORT_MOST - REFINING};
    unsigned char broken[GT_NEAR_MOST + GT_RANKING_PROTOTYPES] = {0};
    const size_t count = near->count + sources->ranking.prototypes;
    const struct gt_table_row *row;
    int refined = 0;

    *choice = (struct gt_choice){.us = 0};
    for (size_t i = 0; i < count && choosing.effort > 0; i++) {
        if (!take(&choosing, near, &sources->kernels, i, &row))
            continue;
        choosing.effort--;
        broken[i] = (unsigned char)gt_lookup_broken(&choosing.candidate, REPAIR_MOST + 1);
        if (!broken[i])
            judge(&choosing, row, false);
    }
    repair_some(&choosing, near, &sources->kernels, broken, count);
    choosing.effort += REFINING;
    while (choice->kernel && refined < REFINED && choosing.effort > 0 && refine(&choosing))
        refined++;
    choice->effort = GT_EFFORT_MOST - choosing.effort;
    return choice->kernel;
}
