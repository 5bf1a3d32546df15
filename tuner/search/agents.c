/* agents.c - agents that propose points and absorb their results. */
#include "search/agents.h"

#include <string.h>

#define REPEATS 100 /* proposals in a row that are known already, before a random point */

void gt_agents_init(struct gt_agents *agents, size_t count, bool turns, gt_agent_propose *propose,
                    gt_agent_absorb *absorb)
{
    agents->propose = propose;
    agents->absorb = absorb;
    agents->count = count;
    agents->turns = turns;
    memset(agents->flying, 0xff, sizeof(agents->flying));
}

/* An agent that does not wait, or SIZE_MAX. */
static size_t idle(struct gt_agents *agents)
{
    for (size_t i = 0; i < agents->count; i++) {
        size_t agent = (agents->turn + i) % agents->count;

        if (agents->flying[agent] == SIZE_MAX) {
            if (agents->turns)
                agents->turn = agent + 1;
            return agent;
        }
    }
    return SIZE_MAX;
}

enum gt_next gt_agents_next(struct gt_strategy *strategy, size_t *point)
{
    struct gt_agents *agents = strategy->state;
    size_t agent = idle(agents);

    if (agent == SIZE_MAX)
        return GT_NEXT_WAIT;
    for (int repeats = 0; repeats < REPEATS; repeats++) {
        *point = agents->propose(strategy, agent);
        if (*point == SIZE_MAX)
            break;
        if (strategy->known[*point] == GT_POINT_NEW) {
            agents->flying[agent] = *point;
            return GT_NEXT_POINT;
        }
        if (strategy->known[*point] != GT_POINT_ASKED)
            agents->absorb(strategy, agent, *point);
        if (agents->turns)
            agent = idle(agents); /* there is one: this agent does not wait */
    }
    *point = agents->flying[agent] = gt_strategy_draw(strategy);
    return GT_NEXT_POINT;
}

void gt_agents_tell(struct gt_strategy *strategy, size_t point)
{
    struct gt_agents *agents = strategy->state;
    bool mine = false;

    for (size_t i = 0; i < agents->count; i++)
        if (agents->flying[i] == point) {
            agents->flying[i] = SIZE_MAX;
            agents->absorb(strategy, i, point);
            mine = true;
        }
    if (!mine)
        agents->absorb(strategy, SIZE_MAX, point);
}
