/* coverage.c - stage: which problems of a list have a tuned answer; see coverage.h. */
#include "session/coverage.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "problem/problem.h"

typedef char problem_text[GT_PROBLEM_TEXT_MAX];

/* The problems for which a winner is looked for, and which of these have a winner. */
struct looking {
    const struct gt_session *session; /* NULL: winners of any device and timing */
    problem_text *text;
    size_t count;
    bool *found;
};

static int note_winner(void *context, const struct gt_row *row, struct gt_err *err)
{
    const struct looking *looking = context;
    const struct gt_session *session = looking->session;

    (void)err;
    if ((session && (strcmp(row->device, session->evaluator->device.name) != 0 ||
                     row->timing != (int)session->evaluator->options.bench.timing)) ||
        (row->provenance == GT_MEASURED && row->stage < 3))
        return GT_OK;
    for (size_t i = 0; i < looking->count; i++)
        looking->found[i] = looking->found[i] || strcmp(looking->text[i], row->problem) == 0;
    return GT_OK;
}

/* *found: for each problem whether it has a winner; malloc'ed. */
static int find_winners(bool **found, const struct gt_session *session, struct gt_store *store,
                        const struct gt_problem *problem, size_t count, struct gt_err *err)
{
    const struct gt_row_filter filter = {
        .winners_only = true,
        .provenance = 1u << (session ? session->evaluator->ops->provenance : GT_MEASURED),
        .kernels = session && !session->replays ? &session->kernels : NULL,
    };
    struct looking looking = {session, calloc(count, sizeof(problem_text)), count,
                              calloc(count, sizeof(bool))};
    int rc = looking.text && looking.found ? GT_OK : gt_err_nomem(err);

    for (size_t i = 0; i < count && !rc; i++)
        gt_problem_format(&problem[i], looking.text[i]);
    GT_STEP(rc, gt_store_rows(store, &filter, note_winner, &looking, err));
    free(looking.text);
    *found = looking.found;
    return rc;
}

int gt_session_leave_out(const struct gt_session *session, struct gt_problem *problem,
                         double *weight, size_t *count, struct gt_err *err)
{
    size_t kept = 0;
    bool *found;
    int rc = find_winners(&found, session, session->store, problem, *count, err);

    for (size_t i = 0; i < *count && !rc; i++) {
        if (found[i])
            continue;
        problem[kept] = problem[i];
        weight[kept++] = weight[i];
    }
    if (!rc)
        *count = kept;
    free(found);
    return rc;
}

int gt_coverage_find(struct gt_coverage *coverage, const struct gt_session *session,
                     struct gt_store *store, const struct gt_problem *problem, const double *weight,
                     size_t count, struct gt_err *err)
{
    double all = 0, tuned = 0;
    bool *found;
    int rc = find_winners(&found, session, store, problem, count, err);

    *coverage = (struct gt_coverage){.problems = count};
    for (size_t i = 0; i < count && !rc; i++) {
        const double own = weight ? weight[i] : 1;

        all += own;
        tuned += found[i] ? own : 0;
        coverage->tuned += found[i];
    }
    coverage->share = all > 0 ? tuned / all : 0;
    free(found);
    return rc;
}

void gt_coverage_print(const struct gt_coverage *coverage, FILE *log)
{
    fprintf(log,
            "coverage: %.1f %% of the product time (%zu of %zu problem%s) has a tuned answer\n",
            100 * coverage->share, coverage->tuned, coverage->problems,
            coverage->problems == 1 ? "" : "s");
}
