/* experts.h - stage "choose": of several ways to know where to look next, which one to trust.
 *
 * Improvements are too rare to tell who earned them, but every time told says which model had
 * expected it, whoever asked for the point.  So each expert's squared error of logarithms of times
 * is followed, with the past forgotten slowly, and trust goes by the likelihoods these make of what
 * was told lately (the exponentially weighted forecaster; Cesa-Bianchi, Lugosi, Prediction,
 * Learning, and Games, 2006, chapter 2).  The last expert expects what is usual: models that know
 * no better than that are passed by as often, for a search without a model. */
#ifndef GT_EXPERTS_H
#define GT_EXPERTS_H

#include <stdbool.h>
#include <stddef.h>

enum { GT_EXPERT_GAUSS, GT_EXPERT_TREES, GT_EXPERT_NOBODY, GT_EXPERTS };

#define GT_EXPERTS_FLYING 256 /* expectations kept at most; the oldest are dropped */

struct gt_expectation {
    size_t point; /* SIZE_MAX: none */
    double y[GT_EXPERTS];
};

struct gt_experts {
    struct gt_expectation flying[GT_EXPERTS_FLYING]; /* a ring */
    size_t noted;
    double error[GT_EXPERTS]; /* mean square, the past forgotten */
    double judged;            /* what the memory of these amounts to, in points */
    double usual, told;       /* mean of what was told, the past forgotten; and its memory */
    double share[GT_EXPERTS]; /* of trust; they sum up to 1 */
    double due;               /* turns that nobody is behind with */
};

void gt_experts_init(struct gt_experts *experts);

/* A point is given out, of which the models expect these logarithms of its time. */
void gt_experts_note(struct gt_experts *experts, size_t point, double gauss, double trees);

/* It was told, noted before or not.  y: logarithm of its time; what is above `most`, or failed,
 * counts as that. */
void gt_experts_tell(struct gt_experts *experts, size_t point, double y, double most);

/* Whether to look where no model says this time: as often as nobody's share is, at even distances.
 */
bool gt_experts_pass(struct gt_experts *experts);

#endif
