/* agents.h - the book-keeping of strategies in which a number of agents (chains, members of a
 * population, particles) propose points and take in what became of them, each at its own pace. */
#ifndef GT_AGENTS_H
#define GT_AGENTS_H

#include "search/strategy.h"

#define GT_AGENTS_MAX 256

struct gt_agents {
    size_t count;
    bool turns; /* agents propose in turn; else the first that is not waiting */
    size_t turn;
    size_t flying[GT_AGENTS_MAX]; /* what each waits for; SIZE_MAX: nothing */
    /* Where agent i would go, a point of the space, known or not; SIZE_MAX: nowhere. */
    size_t (*propose)(struct gt_strategy *strategy, size_t agent);
    /* What became of a point: of one the agent proposed, or, with agent SIZE_MAX, of one that came
     * from elsewhere (a seed, an earlier run). */
    void (*absorb)(struct gt_strategy *strategy, size_t agent, size_t point);
};

void gt_agents_init(struct gt_agents *agents, size_t count, bool turns);

/* `next` and `tell` of a strategy whose state begins with a struct gt_agents.  Proposals that are
 * known already are absorbed at once, at no cost.  WAIT: all agents wait. */
enum gt_next gt_agents_next(struct gt_strategy *strategy, size_t *point);
void gt_agents_tell(struct gt_strategy *strategy, size_t point);

#endif
