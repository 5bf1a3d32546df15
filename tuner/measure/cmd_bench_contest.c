/* cmd_bench_contest.c - tune bench: the stored winner of a problem in turns with the untuned answer
 * and with cuBLASLt; see cmd_bench_contest.h. */
#include "measure/cmd_bench_contest.h"

#include <string.h>

#include "base/err.h"
#include "base/stats.h"
#include "base/strbuf.h"
#include "problem/problem.h"
#include "sweep/progress.h"

static const struct gt_rounds default_rounds = {41, 200, 2e6};

/* A winner counts as slower than the untuned answer if the 95 % interval of the paired ratio lies
 * above this: gaps scatter by 0.2 to 0.6 % from contest to contest (db/measured/README.md). */
#define NOISE 1.01

static int take_winner(void *context, const struct gt_row *row, struct gt_err *err)
{
    struct gt_bench_winner *winner = context;
    const struct gt_session *session = &winner->bench->session;
    const struct gt_kernel *kernel;

    if (winner->kernel || row->timing != winner->bench->report.timing ||
        strcmp(row->device, session->evaluator->device.name) != 0 ||
        row->provenance != session->evaluator->ops->provenance)
        return GT_OK;
    kernel = gt_kernels_find(&session->kernels, row->kernel, NULL);
    if (!kernel || strcmp(kernel->signature, row->signature) != 0)
        return GT_OK; /* measured with another text of the template */
    winner->kernel = kernel;
    winner->vendor = *row->algo && row->baseline_us > 0 && row->baseline_us < row->us;
    winner->trial = (struct gt_trial){.status = row->status,
                                      .provenance = row->provenance,
                                      .us = row->us,
                                      .lo_us = row->lo_us,
                                      .hi_us = row->hi_us,
                                      .err_u = row->err_u};
    return gt_point_parse(&winner->point, kernel, row->point, err);
}

static bool is_named(const struct gt_bench_run *bench, const struct gt_kernel *kernel)
{
    for (size_t i = 0; i < bench->kernels; i++)
        if (bench->kernel[i] == kernel)
            return true;
    return false;
}

/* Finds the winner of all kernels, unless that is of one of those that are named. */
static int find_incumbent(struct gt_bench_winner *winner, const struct gt_row_filter *filter,
                          struct gt_err *err)
{
    const struct gt_bench_run *bench = winner->bench;
    struct gt_bench_winner best = {.bench = bench};
    int rc = gt_store_rows(bench->session.store, filter, take_winner, &best, err);

    if (!rc && best.kernel && !is_named(bench, best.kernel))
        winner->incumbent = (struct gt_bench_incumbent){best.kernel, best.point, best.trial.us};
    return rc;
}

int gt_bench_find_winner(struct gt_bench_winner *winner, const struct gt_problem *problem,
                         struct gt_err *err)
{
    const struct gt_session *session = &winner->bench->session;
    const struct gt_bench_run *bench = winner->bench;
    const struct gt_kernels named = {(struct gt_kernel **)bench->kernel, bench->kernels};
    char text[GT_PROBLEM_TEXT_MAX];
    struct gt_row_filter filter = {.winners_only = true,
                                   .problem = text,
                                   .cc = session->evaluator->device.cc,
                                   .kernels = bench->named ? &named : NULL};
    int rc;

    gt_problem_format(problem, text);
    rc = gt_store_rows(session->store, &filter, take_winner, winner, err);
    filter.kernels = NULL;
    if (!rc && winner->kernel && bench->named)
        rc = find_incumbent(winner, &filter, err);
    if (!rc && winner->kernel && session->measures)
        rc = gt_snapshot_lookup(&winner->bench->untuned, &session->evaluator->device, problem,
                                &winner->untuned, err);
    return rc;
}

/* Whether the untuned answer is the winner itself. */
static bool same_answer(const struct gt_bench_winner *winner)
{
    const struct gt_kernel *kernel = winner->kernel;

    return winner->untuned.kernel == kernel &&
           memcmp(winner->untuned.point.value, winner->point.value,
                  kernel->params * sizeof(winner->point.value[0])) == 0;
}

/* Judges the untuned answer by the rounds of the contest. */
static void judge_untuned(const struct gt_bench_winner *winner, const struct gt_trial *untuned,
                          struct gt_comparison *with)
{
    const struct gt_trial *tuned = &winner->trial;
    double lo, hi;

    with->untuned_us = untuned->us;
    if (untuned == tuned)
        return;
    gt_paired_interval(tuned->sample, untuned->sample,
                       tuned->samples < untuned->samples ? tuned->samples : untuned->samples, &lo,
                       &hi);
    with->worse = lo > NOISE;
}

/* Says why a candidate has no time in a contest, which the table shows as an empty field. */
static void note_lost(const struct gt_bench_run *bench, const char *who,
                      const struct gt_candidate *candidate, const struct gt_trial *trial)
{
    char problem[GT_PROBLEM_TEXT_MAX];
    struct gt_strbuf sentence = GT_STRBUF_INIT;

    gt_problem_format(candidate->problem, problem);
    gt_strbuf_addf(&sentence, "%s: %s, %s ", problem, who, candidate->kernel->name);
    gt_point_format(&sentence, candidate->kernel, &candidate->point);
    gt_strbuf_addf(&sentence, ", has no time: %s%s%s", gt_status_name(trial->status),
                   *trial->detail ? ": " : "", trial->detail);
    gt_progress_note(bench->session.progress, sentence.text);
    gt_strbuf_release(&sentence);
}

/* Adds a candidate to a contest of so many. */
static void enter(struct gt_candidate *candidate, size_t *count, const struct gt_kernel *kernel,
                  const struct gt_point *point, const struct gt_candidate *like)
{
    candidate[*count] = *like;
    candidate[*count].kernel = kernel;
    candidate[(*count)++].point = *point;
}

/* Times the winner, the untuned answer, the incumbent and cuBLASLt's best one in turns. */
static int hold_contest(const struct gt_bench_run *bench, struct gt_bench_winner *winner,
                        const struct gt_problem *problem, bool baseline, struct gt_comparison *with,
                        struct gt_err *err)
{
    struct gt_evaluator *evaluator = bench->session.evaluator;
    const bool both = winner->untuned.kernel && !same_answer(winner);
    struct gt_bench_incumbent *incumbent = &winner->incumbent;
    struct gt_candidate candidate[3] = {
        {winner->kernel, problem, &evaluator->device, winner->point}};
    struct gt_trial trial[3] = {winner->trial}, vendor = {0};
    size_t count = 1;
    double round_us;
    int rounds, rc;

    if (both)
        enter(candidate, &count, winner->untuned.kernel, &winner->untuned.point, candidate);
    if (incumbent->kernel)
        enter(candidate, &count, incumbent->kernel, &incumbent->point, candidate);
    round_us = (double)(count + baseline) * winner->trial.us;
    rounds = bench->rounds ? bench->rounds : gt_rounds_for(&default_rounds, 2, round_us);
    rc = evaluator->ops->final(evaluator, candidate, count, rounds, trial,
                               baseline ? &vendor : NULL, err);
    if (rc)
        return rc;
    if (incumbent->kernel)
        incumbent->us = trial[count - 1].status == GT_STATUS_OK ? trial[count - 1].us : 0;
    if (incumbent->kernel && !(incumbent->us > 0))
        note_lost(bench, "the incumbent", &candidate[count - 1], &trial[count - 1]);
    winner->trial = trial[0];
    if (trial[0].status != GT_STATUS_OK) {
        note_lost(bench, "the winner", &candidate[0], &trial[0]);
        return GT_OK;
    }
    if (both && trial[1].status == GT_STATUS_OK)
        judge_untuned(winner, &trial[1], with);
    else if (both)
        note_lost(bench, "the untuned answer", &candidate[1], &trial[1]);
    else if (winner->untuned.kernel)
        judge_untuned(winner, &winner->trial, with);
    if (vendor.status == GT_STATUS_OK && vendor.us > 0) {
        with->baseline_us = vendor.us;
        with->baseline_err_u = vendor.err_u;
        with->best_us = winner->vendor ? vendor.us : trial[0].us;
    }
    return GT_OK;
}

int gt_bench_compare(const struct gt_bench_run *bench, struct gt_bench_winner *winner,
                     const struct gt_problem *problem, struct gt_comparison *with,
                     struct gt_err *err)
{
    struct gt_evaluator *evaluator = bench->session.evaluator;
    struct gt_move move = {0};
    struct gt_baseline best;
    int rc = evaluator->ops->open_problem(evaluator, problem, err);

    if (!rc && bench->report.timing == GT_TIMING_COLD)
        rc = evaluator->ops->move(evaluator, &move, err);
    if (rc)
        return rc;
    with->move_us = move.us;
    rc = evaluator->ops->baseline(evaluator, &best, err);
    if (rc && rc != GT_ENOLIB && rc != GT_ENOTFOUND)
        return rc;
    if (rc && err)
        gt_progress_note(bench->session.progress, err->msg); /* says why there is no baseline */
    rc = hold_contest(bench, winner, problem, !rc, with, err);
    with->us = winner->trial.us;
    with->lo_us = winner->trial.lo_us;
    with->hi_us = winner->trial.hi_us;
    with->err_u = winner->trial.err_u;
    return rc;
}
