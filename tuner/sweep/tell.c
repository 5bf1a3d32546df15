/* tell.c - shows the user what a race does: sentences, and the progress line. */
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "problem/problem.h"
#include "sweep/progress.h"
#include "sweep/sweep_parts.h"

int gt_sweep_signals(const struct gt_race *race)
{
    return race->options->signals ? (int)*race->options->signals : 0;
}

void gt_sweep_note(struct gt_race *race, const char *sentence)
{
    if (race->begun)
        gt_progress_note(race->options->progress, sentence);
    else
        gt_strbuf_addf(&race->early, "%s\n", sentence);
}

/* Seconds until all problems have had their turns; 0: not known. */
static double all_left_s(const struct gt_race *race)
{
    const struct gt_run *run = race->run;
    const struct gt_sweep_options *options = race->options;
    double elapsed = gt_evaluator_now(race->evaluator) - run->slices.begin_s;
    size_t begun = gt_time_slices_begun(&run->slices);

    if (options->problems < 2)
        return 0;
    if (options->budget.seconds > 0)
        return options->budget.seconds - elapsed;
    return begun > 1 ? elapsed / (double)(begun - 1) * (double)(options->problems - begun + 1) : 0;
}

static struct gt_progress_state state_of(const struct gt_race *race, const char *phase)
{
    const struct gt_sweep_result *result = race->result;
    struct gt_progress_state state = {
        .done = race->tried,
        .fresh = race->result->fresh,
        .trials_limit = race->options->budget.trials,
        .elapsed_s = gt_evaluator_now(race->evaluator) - race->begin_s,
        .seconds_limit = race->deadline_s > 0 ? race->deadline_s - race->begin_s : 0,
        .best_us = race->best_us,
        .flops = gt_problem_flops(race->problem),
        .predicted = !race->measures,
        .points = result->points_estimated ? 0 : result->points,
        .all_left_s = all_left_s(race),
        .searched = race->closing || race->end_s > 0,
        .phase = phase,
    };

    memcpy(state.status, result->status, sizeof(state.status));
    return state;
}

void gt_sweep_show(struct gt_race *race, const char *phase, bool force)
{
    struct gt_progress_state state;

    if (!race->begun)
        return;
    if (phase != race->phase)
        snprintf(race->phase, sizeof(race->phase), "%s", phase ? phase : "");
    state = state_of(race, phase);
    gt_progress_show(race->options->progress, &state, force);
}

void gt_sweep_show_end(struct gt_race *race)
{
    const struct gt_sweep_result *result = race->result;
    struct gt_progress_state state = state_of(race, NULL);

    if (race->options->given) { /* the caller shows what became of the candidates */
        gt_progress_clear(race->options->progress);
        return;
    }
    state.searched = state.ended = true;
    if (result->rows) /* the time of the finals, as in the table */
        state.best_us = result->row[0].trial.us;
    if (result->have_baseline && result->rows)
        state.ratio = result->baseline.us / result->row[0].trial.us;
    gt_progress_end(race->options->progress, &state);
}

void gt_sweep_show_begin(struct gt_race *race)
{
    const struct gt_sweep_options *options = race->options;
    char text[GT_PROBLEM_TEXT_MAX], title[GT_PROBLEM_TEXT_MAX + 80], *rest, *sentence;
    const struct gt_time_slices *slices = &race->run->slices;
    size_t turn = gt_time_slices_turn(slices, race->run->now);

    race->begun = true;
    gt_problem_format(race->problem, text);
    if (options->problems > 1 && turn > 1)
        snprintf(title, sizeof(title), "again, turn %zu: %s", turn, text);
    else if (options->problems > 1)
        snprintf(title, sizeof(title), "%zu of %zu: %s", gt_time_slices_begun(slices),
                 options->problems, text);
    else
        snprintf(title, sizeof(title), "%s%s", options->label ? options->label : "", text);
    if (options->given)
        gt_progress_now(options->progress, text);
    else
        gt_progress_title(options->progress, title);
    rest = gt_strbuf_check(&race->early, NULL) ? NULL : race->early.text;
    while (rest && (sentence = strsep(&rest, "\n")) && *sentence)
        gt_sweep_note(race, sentence);
}
