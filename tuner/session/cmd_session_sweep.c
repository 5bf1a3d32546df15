/* cmd_session_sweep.c - a sweep with what a session has open; see cmd_session.h. */
#include "session/cmd_session.h"

#include <stdlib.h>

#include "base/err.h"
#include "problem/problem.h"
#include "sweep/progress.h"

/* About what a turn takes, with 16 compile workers on an H200: of 418 problems with 2.6 s each, 40
 * had none, and the others took 2.9 s. */
#define TURN_S 3.0

bool gt_session_warn_of_budget(char text[GT_BUDGET_TEXT], double seconds, size_t problems)
{
    const double each = seconds / (double)problems;

    if (problems < 2 || !(each > 0) || each >= TURN_S)
        return false;
    snprintf(text, GT_BUDGET_TEXT,
             "%.1f s a problem: a turn takes about %.0f s, so the problems of least "
             "weight may get no turn",
             each, TURN_S);
    return true;
}

/* What the session knows goes into the options of a sweep; *fallback is malloc'ed. */
static int fill_sweep(struct gt_session *session, struct gt_sweep_options *options,
                      const struct gt_kernel ***fallback, struct gt_err *err)
{
    const struct gt_kernels *all = &session->kernels;

    *fallback = calloc(all->count + 1, sizeof(**fallback));
    if (!*fallback)
        return gt_err_nomem(err);
    options->fallback = *fallback;
    for (size_t i = 0; i < all->count && session->fallbacks; i++)
        if (!all->kernel[i]->production)
            (*fallback)[options->fallbacks++] = all->kernel[i];
    options->weight = session->weight;
    options->evaluator = session->evaluator;
    options->store = session->store;
    options->shipped = &session->shipped;
    options->ranking = gt_rankings_for(&session->rankings, &session->evaluator->device,
                                       session->evaluator->device.name);
    options->vendor = session->vendor;
    if (!session->alone)
        options->known = session->whole.count ? &session->whole : all;
    options->strategy = session->strategy;
    options->seed = session->seed;
    options->command = session->cli->words;
    options->progress = session->progress;
    options->label = session->label;
    options->totals = &session->totals;
    options->signals = session->cli->signals;
    options->verbose = session->cli->verbose;
    options->search_only = session->search_only;
    options->then = session->then;
    options->foresight = &session->foresight;
    return GT_OK;
}

int gt_session_sweep(struct gt_session *session, const struct gt_problem *problem, size_t problems,
                     const struct gt_kernel *const *kernel, size_t kernels,
                     const struct gt_budget *budget, struct gt_sweep_result *result,
                     struct gt_err *err)
{
    struct gt_sweep_options options = {.problem = problem,
                                       .problems = problems,
                                       .kernel = kernel,
                                       .kernels = kernels,
                                       .budget = *budget};
    const struct gt_kernel **fallback;
    char warning[GT_BUDGET_TEXT];
    int rc = fill_sweep(session, &options, &fallback, err);

    if (rc)
        return rc;
    if (budget->each)
        options.budget.seconds *= (double)problems;
    if (session->measures &&
        gt_session_warn_of_budget(warning, options.budget.seconds, options.problems))
        gt_progress_note(session->progress, warning);
    rc = gt_sweep_run(&options, result, err);
    free(fallback);
    return rc;
}

int gt_session_compile(struct gt_session *session, const struct gt_problem *problem,
                       const struct gt_kernel *const *kernel, size_t kernels,
                       const struct gt_budget *budget, size_t most, struct gt_sweep_ahead *ahead,
                       struct gt_err *err)
{
    struct gt_sweep_options options = {.problem = problem,
                                       .problems = 1,
                                       .kernel = kernel,
                                       .kernels = kernels,
                                       .budget = {.trials = budget->trials}};
    const struct gt_kernel **fallback;
    int rc = fill_sweep(session, &options, &fallback, err);

    GT_STEP(rc, gt_sweep_compile(&options, most, ahead, err));
    free(fallback);
    return rc;
}
