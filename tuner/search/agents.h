/* agents.h - the bookkeeping of strategies with many agents (chains, members of a population,
 * particles).  Each agent proposes points and absorbs their results at its own pace. */
#ifndef GT_AGENTS_H
#define GT_AGENTS_H

#include "search/strategy.h"

#define GT_AGENTS_MAX 256

/* The point that an agent wants to try, known already or not; SIZE_MAX: none. */
typedef size_t gt_agent_propose(struct gt_strategy *strategy, size_t agent);

/* The result of a point that the agent proposed.  agent SIZE_MAX: the point came from elsewhere (a
 * seed, an earlier run). */
typedef void gt_agent_absorb(struct gt_strategy *strategy, size_t agent, size_t point);

struct gt_agents {
    size_t count;
    bool turns; /* agents propose in turn; else the first that is not waiting proposes */
    size_t turn;
    size_t flying[GT_AGENTS_MAX]; /* the point that each waits for; SIZE_MAX: none */
    gt_agent_propose *propose;
    gt_agent_absorb *absorb;
};

void gt_agents_init(struct gt_agents *agents, size_t count, bool turns, gt_agent_propose *propose,
                    gt_agent_absorb *absorb);

/* `next` and `tell` of a strategy whose state begins with a struct gt_agents.  A proposal that is
 * known already is absorbed at once and costs nothing.  WAIT: all agents wait. */
enum gt_next gt_agents_next(struct gt_strategy *strategy, size_t *point);
void gt_agents_tell(struct gt_strategy *strategy, size_t point);

#endif
