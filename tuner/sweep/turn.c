/* turn.c - the end of a turn: its totals, and the record that is kept of it: how long it took, how
 * busy the GPU was, and when its best improved.  `tune export --format search` makes a table of the
 * records. */
#include "base/err.h"
#include "sweep/sweep_parts.h"

#include <stdlib.h>
#include <string.h>

#define NEAR_BEST 1.02 /* times the best: from here on the best counts as reached */

void gt_sweep_sum_up(struct gt_race *race, const struct gt_evaluator_stats *before)
{
    struct gt_sweep_result *result = race->result;
    const struct gt_evaluator_stats *after = &race->evaluator->stats;

    result->wall_s = gt_evaluator_now(race->evaluator) - race->begin_s;
    result->busy_s = race->opened ? after->busy_s : 0;
    result->compiled = after->compiled - before->compiled;
    result->cache_hits = after->cache_hits - before->cache_hits;
    result->respawns = after->respawns - before->respawns;
    for (size_t i = 1; i < result->rows && !race->measures; i++)
        result->row[i].tie = result->row[i].trial.us == result->row[0].trial.us;
    for (size_t i = 0; i < race->bests && result->rows; i++) {
        result->to_best_s = race->history[i].at_s;
        if (race->history[i].us <= NEAR_BEST * result->row[0].trial.us)
            break;
    }
}

void gt_sweep_join(struct gt_sweep_result *result, struct gt_sweep_result *earlier)
{
    if (result->to_best_s > 0 || !(earlier->wall_s > 0))
        result->to_best_s += earlier->wall_s;
    else
        result->to_best_s = earlier->to_best_s;
    if (earlier->wall_s > 0)
        result->resumed = earlier->resumed;
    result->fresh += earlier->fresh;
    result->timed += earlier->timed;
    result->compiled += earlier->compiled;
    result->cache_hits += earlier->cache_hits;
    result->respawns += earlier->respawns;
    result->wall_s += earlier->wall_s;
    result->busy_s += earlier->busy_s;
    if (!result->rows && earlier->rows) { /* a signal, before the turn had the earlier trials */
        result->row = earlier->row;
        result->rows = earlier->rows;
        result->points = earlier->points;
        result->points_estimated = earlier->points_estimated;
        result->have_baseline = earlier->have_baseline;
        result->baseline = earlier->baseline;
        memcpy(result->status, earlier->status, sizeof(result->status));
        earlier->row = NULL;
    }
    if (!result->incumbent.kernel) { /* beaten in an earlier turn, or not timed in this one */
        result->incumbent = earlier->incumbent;
        result->stays = earlier->stays;
    }
    gt_sweep_result_release(earlier);
}

static int name_kernels(const struct gt_race *race, struct gt_strbuf *text, struct gt_err *err)
{
    for (size_t i = 0; i < race->arms && !race->arm[i].guest; i++) /* the guest is the last one */
        gt_strbuf_addf(text, "%s%s", i ? "," : "", race->arm[i].kernel->name);
    return gt_strbuf_check(text, err);
}

/* *list is malloc'ed. */
static int list_improvements(const struct gt_race *race, struct gt_improvement **list,
                             struct gt_err *err)
{
    *list = calloc(race->bests + 1, sizeof(**list));
    if (!*list)
        return gt_err_nomem(err);
    for (size_t i = 0; i < race->bests; i++)
        (*list)[i] = (struct gt_improvement){.seconds = race->history[i].at_s,
                                             .us = race->history[i].us,
                                             .trials = race->history[i].trials};
    return GT_OK;
}

int gt_sweep_put_turn(const struct gt_race *race, struct gt_err *err)
{
    const struct gt_sweep_options *options = race->options;
    const struct gt_sweep_result *result = race->result;
    struct gt_strbuf kernels = GT_STRBUF_INIT;
    struct gt_improvement *list = NULL;
    bool won = race->measures && result->rows > 0 && result->row[0].trial.stage == 3;
    int rc;

    if (!race->measures || !race->opened)
        return GT_OK;
    rc = name_kernels(race, &kernels, err);
    GT_STEP(rc, list_improvements(race, &list, err));
    GT_STEP(rc, gt_store_put_turn(
                    options->store, &race->arm[0].key,
                    &(struct gt_turn){
                        .kernels = kernels.text,
                        .strategy = options->strategy ? options->strategy : GT_STRATEGY_DEFAULT,
                        .seed = options->seed,
                        .known = result->resumed,
                        .trials = result->fresh,
                        .seconds = result->wall_s,
                        .race_s = race->end_s - race->begin_s,
                        .busy_s = race->busy_s,
                        .us = won ? result->row[0].trial.us : 0,
                        .baseline_us = won && result->have_baseline ? result->baseline.us : 0,
                        .improvement = list,
                        .improvements = race->bests,
                    },
                    err));
    free(list);
    gt_strbuf_release(&kernels);
    return rc;
}
