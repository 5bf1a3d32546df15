/* experts.c - stage "choose": of several ways to know where to look next, which one to trust. */
#include "search/auto/experts.h"

#include <math.h>
#include <string.h>

#define KEEP  0.95 /* of the past's weight with each point: about the last 20 count */
#define TRUST 8    /* points that a likelihood is made of, at most: errors come in groups */
#define LEAST 0.05 /* share of any expert: it may be right later on */
#define EXACT 1e-7 /* no error is less than the noise of timing, squared: 0.03 % */

/* Shares before anything is told, as seemed right for spaces of ordered values. */
static const double before[GT_EXPERTS] = {0.6, 0.3, 0.1};

void gt_experts_init(struct gt_experts *experts)
{
    *experts = (struct gt_experts){0};
    for (size_t i = 0; i < GT_EXPERTS_FLYING; i++)
        experts->flying[i].point = (size_t)-1;
    memcpy(experts->share, before, sizeof(before));
}

void gt_experts_note(struct gt_experts *experts, size_t point, double gauss, double trees)
{
    experts->flying[experts->noted++ % GT_EXPERTS_FLYING] =
        (struct gt_expectation){point, {gauss, trees, experts->usual}};
}

/* Shares by the likelihood of a normal error of each expert's own size. */
static void share_out(struct gt_experts *experts)
{
    double points = fmin(experts->judged, TRUST), sum = 0;

    for (size_t e = 0; e < GT_EXPERTS; e++) {
        experts->share[e] = before[e] * pow(experts->error[e] + EXACT, -0.5 * points);
        sum += experts->share[e];
    }
    for (size_t e = 0; e < GT_EXPERTS; e++)
        experts->share[e] = LEAST + (1 - GT_EXPERTS * LEAST) * experts->share[e] / sum;
}

static void judge(struct gt_experts *experts, const struct gt_expectation *expected, double y,
                  double most)
{
    experts->judged = experts->judged * KEEP + 1;
    for (size_t e = 0; e < GT_EXPERTS; e++) {
        double off = y - fmin(expected->y[e], most);

        experts->error[e] += (off * off - experts->error[e]) / experts->judged;
    }
    share_out(experts);
}

void gt_experts_tell(struct gt_experts *experts, size_t point, double y, double most)
{
    y = fmin(y, most);
    for (size_t i = 0; i < GT_EXPERTS_FLYING; i++)
        if (experts->flying[i].point == point) {
            judge(experts, &experts->flying[i], y, most);
            experts->flying[i].point = (size_t)-1;
            break;
        }
    experts->told = experts->told * KEEP + 1;
    experts->usual += (y - experts->usual) / experts->told;
}

bool gt_experts_pass(struct gt_experts *experts)
{
    bool pass;

    experts->due += experts->share[GT_EXPERT_NOBODY];
    pass = experts->due >= 1;
    experts->due -= pass;
    return pass;
}
