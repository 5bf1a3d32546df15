/* costs.h - what trying a point costs, learned from those tried: for strategies that weigh gain
 * against cost. */
#ifndef GT_COSTS_H
#define GT_COSTS_H

#include "search/space.h"

struct gt_cost_model; /* of one kind of cost: a regression over the values of the parameters */

struct gt_costs {
    const struct gt_space *space;
    struct gt_cost_model *run, *compile;
    uint64_t *cubin; /* digests of the cubins made so far: a set */
    size_t cubins, room;
};

int gt_costs_init(struct gt_costs *costs, const struct gt_space *space, struct gt_err *err);
void gt_costs_release(struct gt_costs *costs); /* a zeroed one is accepted */

/* Seconds that a point took of what is scarce: once, to run; and to compile, which counts only if
 * no point with the same cubin was told before. */
void gt_costs_tell(struct gt_costs *costs, size_t point, double run_s, double compile_s);

/* By how much dearer than usual a point is; 1 while little is known. */
double gt_costs_of(const struct gt_costs *costs, size_t point);

#endif
