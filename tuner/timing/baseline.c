/* baseline.c - stage: times the vendor's library for comparison.  All algorithms that the heuristic
 * of cuBLASLt returns ("answers") are proved against the same reference and timed like candidates.
 * The best one takes part in the finals.
 *
 * Both sides have the same storage types and sum in the same type.  For 8-bit types cuBLASLt serves
 * few problems: k must run along the stored rows of both operands (layout nt here), and leading
 * dimensions must be multiples of 4 or 16.  If it has no answer, there is no ratio. */
#include "timing/bench_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/stats.h"
#include "cuda/cublaslt.h"
#include "timing/chain.h"

#define MAX_ANSWERS 64
#define SAMPLES     64
#define FINALISTS   2 /* of the race; they and the first answer get SAMPLES samples */

struct gt_lt {
    struct gt_cublaslt *lt;
    struct gt_lt_answer answer[MAX_ANSWERS];
    int answers, best;
    char why[600]; /* what is wrong with the first answer that ran and failed its proof */
    struct gt_cublaslt_operands operands; /* workspace and factors */
    void *stream;
};

void gt_baseline_close(struct gt_lt *lt)
{
    if (lt)
        gt_cublaslt_close(lt->lt);
    free(lt);
}

static int open_lt(struct gt_lt **opened, struct gt_bench *bench, struct gt_err *err)
{
    const struct gt_problem *p = &bench->resident.problem;
    struct gt_lt *lt = calloc(1, sizeof(*lt));
    int rc;

    *opened = NULL;
    if (!lt)
        return gt_err_nomem(err);
    lt->operands.workspace = bench->resident.workspace.span.data;
    lt->operands.workspace_bytes = (size_t)bench->resident.workspace_bytes;
    lt->stream = gt_gpu_stream(bench->gpu);
    rc = gt_cublaslt_open(&lt->lt, bench->gpu, p, bench->resident.bias.span.data, err);
    GT_STEP(rc, gt_cublaslt_factor(lt->lt, &lt->operands.alpha, p->alpha, err));
    GT_STEP(rc, gt_cublaslt_factor(lt->lt, &lt->operands.beta, p->beta, err));
    GT_STEP(rc, gt_cublaslt_ask(lt->lt, p, lt->operands.workspace_bytes, MAX_ANSWERS, lt->answer,
                                &lt->answers, err));
    if (rc) {
        gt_baseline_close(lt);
        return rc;
    }
    *opened = lt;
    return GT_OK;
}

static int run_lt(const struct gt_runner *runner, const struct gt_args *args, struct gt_err *err)
{
    const struct gt_lt *lt = runner->lt;
    struct gt_cublaslt_operands operands = lt->operands;

    operands.a = args->a;
    operands.b = args->b;
    operands.c = args->c;
    operands.d = args->d;
    return gt_cublaslt_run(lt->lt, &lt->answer[runner->answer].algo, &operands, lt->stream, err);
}

static struct gt_runner runner_of(struct gt_lt *lt, int answer)
{
    return (struct gt_runner){
        .run = run_lt, .lt = lt, .answer = answer, .workspace = lt->operands.workspace_bytes};
}

bool gt_baseline_runner(struct gt_bench *bench, struct gt_runner *runner)
{
    if (!bench->lt)
        return false;
    *runner = runner_of(bench->lt, bench->lt->best);
    return true;
}

/* An answer's race: the median of three proved samples (0: it is wrong or does not run), its error.
 */
struct race {
    double us, err_u;
};

/* Runs one answer: a warm-up and three proved samples. */
static int try_answer(struct gt_bench *bench, struct gt_runner *runner, struct race *race,
                      struct gt_err *err)
{
    struct gt_trial trial = {.status = GT_STATUS_NONE};
    float sample[GT_RESULTS];
    int rc = gt_chain_make(bench, runner, err);

    GT_STEP(rc, gt_bench_launch(bench, runner, 0, 0, err));

    GT_STEP(rc, gt_bench_poison(bench, runner, err));
    GT_STEP(rc, gt_bench_head_start(bench, GT_RESULTS, err));
    for (int i = 0; i < GT_RESULTS && !rc; i++)
        rc = gt_bench_launch(bench, runner, i, i, err);
    if (rc == GT_ERANGE)
        return GT_OK; /* this answer does not run */
    GT_STEP(rc, gt_bench_judge(bench, runner, GT_RESULTS, &trial, err));
    GT_STEP(rc, gt_bench_times(bench, 0, GT_RESULTS, sample, err));
    if (!rc && trial.status == GT_STATUS_NONE) {
        *race = (struct race){gt_median(sample, GT_RESULTS), trial.err_u};
    } else if (!rc && !runner->lt->why[0]) {
        snprintf(runner->lt->why, sizeof(runner->lt->why), "; answer %d is off by %.3g u: %s",
                 runner->answer + 1, trial.err_u, trial.detail);
    }
    return rc;
}

/* Tries all answers.  race[i] is that of answer i, *first_right the first answer that is right. */
static int try_answers(struct gt_bench *bench, struct gt_lt *lt, struct gt_baseline *baseline,
                       struct race *race, int *first_right, struct gt_err *err)
{
    int rc = GT_OK;

    *first_right = -1;
    for (int i = 0; i < lt->answers && !rc; i++) {
        struct gt_runner runner = runner_of(lt, i);

        race[i] = (struct race){0, 0};
        if (!lt->answer[i].state)
            rc = try_answer(bench, &runner, &race[i], err);
        gt_runner_release(&runner);
        if (!(race[i].us > 0))
            continue;
        if (*first_right < 0)
            *first_right = i;
        baseline->answers++;
    }
    if (!rc && *first_right < 0)
        rc = gt_err_set(err, GT_ENOTFOUND,
                        "none of cuBLASLt's %d answers for this problem runs and is right%s",
                        lt->answers, lt->why);
    return rc;
}

/* Takes up to SAMPLES samples of an answer, and keeps it if it is the best so far. */
static int sample_answer(struct gt_bench *bench, struct gt_lt *lt, int answer, double err_u,
                         struct gt_baseline *baseline, double *us, struct gt_err *err)
{
    struct gt_runner runner = runner_of(lt, answer);
    struct gt_series series;
    int rc = gt_chain_make(bench, &runner, err);

    GT_STEP(rc, gt_bench_series(bench, &runner, SAMPLES, &series, err));
    gt_runner_release(&runner);
    if (rc)
        return rc;

    *us = series.us;
    if (baseline->samples && series.us >= baseline->us)
        return GT_OK;
    memcpy(baseline->sample, series.sample, sizeof(baseline->sample));
    baseline->samples = series.samples;
    baseline->us = series.us;
    baseline->lo_us = series.lo_us;
    baseline->hi_us = series.hi_us;
    baseline->err_u = err_u;
    baseline->best = lt->best = answer;
    return GT_OK;
}

/* Samples the first answer and the fastest ones of the race, because three samples alone may favour
 * a slower one. */
static int measure(struct gt_bench *bench, struct gt_lt *lt, struct race *race, int first_right,
                   struct gt_baseline *baseline, struct gt_err *err)
{
    double us;
    int rc = sample_answer(bench, lt, first_right, race[first_right].err_u, baseline,
                           &baseline->first_us, err);

    race[first_right].us = 0;
    for (int i = 0; i < FINALISTS && !rc; i++) {
        int next = -1;

        for (int j = 0; j < lt->answers; j++)
            if (race[j].us > 0 && (next < 0 || race[j].us < race[next].us))
                next = j;
        if (next < 0)
            break;
        rc = sample_answer(bench, lt, next, race[next].err_u, baseline, &us, err);
        race[next].us = 0;
    }
    snprintf(baseline->name, sizeof(baseline->name), "cuBLASLt %s, answer %d of %d",
             lt->lt->version, lt->best + 1, lt->answers);
    gt_cublaslt_format(baseline->algo, lt->lt->version, &lt->answer[lt->best],
                       baseline->us > 0 ? baseline->first_us / baseline->us : 0);
    return rc;
}

int gt_bench_baseline(struct gt_bench *bench, struct gt_baseline *baseline, struct gt_err *err)
{
    struct race race[MAX_ANSWERS];
    struct gt_lt *lt;
    int first_right, rc;

    memset(baseline, 0, sizeof(*baseline));
    if (GT_ACTIVATION(bench->resident.problem.epilogue) == GT_EPILOGUE_GELU)
        return gt_err_set(err, GT_ENOTFOUND,
                          "cuBLASLt's GELU is the tanh approximation, another function than ours");
    gt_baseline_close(bench->lt);
    bench->lt = NULL;
    rc = open_lt(&lt, bench, err);
    if (rc)
        return rc;
    rc = try_answers(bench, lt, baseline, race, &first_right, err);
    GT_STEP(rc, measure(bench, lt, race, first_right, baseline, err));
    if (rc) {
        gt_baseline_close(lt);
        return rc;
    }
    bench->lt = lt;
    return GT_OK;
}
