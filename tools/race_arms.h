/* race_arms.h - the arms of a race on recorded trials: of each kernel the points that were timed
 * for a problem.  race_replay.c runs the race. */
#ifndef RACE_ARMS_H
#define RACE_ARMS_H

#include "learn/learn.h"
#include "search/strategy.h"
#include "sweep/shares.h"

#define ARMS_MAX 16

enum { MODEL, TREES, ORDERS };

/* A kernel's points that were timed for the problem. */
struct arm {
    const struct gt_kernel *kernel;
    struct gt_space space;
    float *us;             /* of each point; 0: it spilled */
    float *expect[ORDERS]; /* logarithms */
    float *column;         /* one of these */
    struct gt_strategy *strategy;
    struct gt_arm_record record;
    bool done, waiting;
};

struct race {
    struct arm arm[ARMS_MAX];
    size_t arms, points;
    double best_us;
};

/* Fills the race of a problem from all that was learned of it, with expectations of its fold left
 * out.  To be closed also after a failure. */
int gt_race_arms_open(struct race *race, const struct gt_learning *learning, size_t problem,
                      struct gt_err *err);
void gt_race_arms_close(struct race *race);

#endif
