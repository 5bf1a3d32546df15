/* baseline.c - stage: the vendor's library as the yardstick.  All heuristic answers of cuBLASLt are
 * proved against the same reference and timed like candidates; the best one goes into the finals.
 *
 * cuBLASLt thinks in columns: a row-major D = op(A) op(B) is the column-major D' = op(B)' op(A)',
 * so B comes first, and stored rows become columns. */
#include "bench_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_api.h"
#include "err.h"
#include "stats.h"

#define MAX_ANSWERS 64
#define SAMPLES     64
#define COMPUTE_32F 68 /* CUBLAS_COMPUTE_32F */
#define REAL_32F    0  /* CUDA_R_32F */

enum { DESC_TRANS_A = 3, DESC_TRANS_B = 4, DESC_EPILOGUE = 7, DESC_BIAS = 8 };
enum { LAYOUT_BATCH = 5, LAYOUT_STRIDE = 6 };
enum { PREF_WORKSPACE = 1, PREF_ALIGN_A = 5, PREF_ALIGN_D = 8 };

struct gt_lt {
    struct gt_cublaslt_api api;
    void *handle, *desc, *preference;
    void *b, *a, *c; /* layouts, in the order cuBLASLt has them; C and D share one */
    struct gt_lt_answer answer[MAX_ANSWERS];
    int answers, best;
    void *workspace, *stream;
    size_t workspace_bytes;
    float alpha, beta;
};

void gt_baseline_close(struct gt_lt *lt)
{
    if (!lt)
        return;
    if (lt->preference)
        lt->api.MatmulPreferenceDestroy(lt->preference);
    if (lt->c)
        lt->api.MatrixLayoutDestroy(lt->c);
    if (lt->a)
        lt->api.MatrixLayoutDestroy(lt->a);
    if (lt->b)
        lt->api.MatrixLayoutDestroy(lt->b);
    if (lt->desc)
        lt->api.MatmulDescDestroy(lt->desc);
    if (lt->handle)
        lt->api.Destroy(lt->handle);
    free(lt);
}

static int failed(int result, const char *call, struct gt_err *err)
{
    if (!result)
        return GT_OK;
    return gt_err_set(err, GT_ENOTFOUND, "%s failed with result %d", call, result);
}

/* A matrix that is stored as `rows` rows of `cols`, seen in columns. */
static int make_layout(struct gt_lt *lt, void **layout, const struct gt_problem *p,
                       enum gt_operand operand, struct gt_err *err)
{
    int64_t stride = gt_problem_stride(p, operand);
    int32_t batch = (int32_t)p->batch;
    int result = lt->api.MatrixLayoutCreate(layout, REAL_32F, (uint64_t)gt_problem_cols(p, operand),
                                            (uint64_t)gt_problem_rows(p, operand),
                                            gt_problem_ld(p, operand));

    if (!result && batch > 1)
        result = lt->api.MatrixLayoutSetAttribute(*layout, LAYOUT_BATCH, &batch, sizeof(batch));
    if (!result && batch > 1)
        result = lt->api.MatrixLayoutSetAttribute(*layout, LAYOUT_STRIDE, &stride, sizeof(stride));
    return failed(result, "cublasLtMatrixLayoutCreate", err);
}

static int make_desc(struct gt_lt *lt, const struct gt_resident *resident, struct gt_err *err)
{
    const struct gt_problem *p = &resident->problem;
    int32_t trans_first = p->trans_b, trans_second = p->trans_a;
    int32_t epilogue =
        (p->epilogue & GT_EPILOGUE_RELU ? 2 : 0) | (p->epilogue & GT_EPILOGUE_BIAS ? 4 : 0);
    const void *bias = resident->bias.span.data;
    int result = lt->api.MatmulDescCreate(&lt->desc, COMPUTE_32F, REAL_32F);

    if (!result)
        result = lt->api.MatmulDescSetAttribute(lt->desc, DESC_TRANS_A, &trans_first, 4);
    if (!result)
        result = lt->api.MatmulDescSetAttribute(lt->desc, DESC_TRANS_B, &trans_second, 4);
    if (!result && epilogue)
        result = lt->api.MatmulDescSetAttribute(lt->desc, DESC_EPILOGUE, &epilogue, 4);
    if (!result && epilogue & 4)
        result = lt->api.MatmulDescSetAttribute(lt->desc, DESC_BIAS, &bias, sizeof(bias));
    return failed(result, "cublasLtMatmulDescCreate", err);
}

static int make_preference(struct gt_lt *lt, const struct gt_problem *p, struct gt_err *err)
{
    /* Memory of 16-byte problems comes from the driver and is aligned to 256, as is usual. */
    uint32_t align = p->align >= 16 ? 256 : p->align > 4 ? p->align : 4;
    uint64_t workspace = lt->workspace_bytes;
    int result = lt->api.MatmulPreferenceCreate(&lt->preference);

    if (!result)
        result = lt->api.MatmulPreferenceSetAttribute(lt->preference, PREF_WORKSPACE, &workspace,
                                                      sizeof(workspace));
    for (int id = PREF_ALIGN_A; id <= PREF_ALIGN_D && !result; id++)
        result = lt->api.MatmulPreferenceSetAttribute(lt->preference, id, &align, sizeof(align));
    return failed(result, "cublasLtMatmulPreferenceCreate", err);
}

static int ask(struct gt_lt *lt, struct gt_err *err)
{
    int result =
        lt->api.MatmulAlgoGetHeuristic(lt->handle, lt->desc, lt->b, lt->a, lt->c, lt->c,
                                       lt->preference, MAX_ANSWERS, lt->answer, &lt->answers);

    if (result || lt->answers == 0)
        return gt_err_set(err, GT_ENOTFOUND, "cuBLASLt has no answer for this problem (result %d)",
                          result);
    return GT_OK;
}

static int open_lt(struct gt_lt **opened, struct gt_bench *bench, struct gt_err *err)
{
    const struct gt_problem *p = &bench->resident.problem;
    struct gt_lt *lt = calloc(1, sizeof(*lt));
    int rc;

    *opened = NULL;
    if (!lt)
        return gt_err_nomem(err);
    lt->alpha = (float)p->alpha;
    lt->beta = (float)p->beta;
    lt->workspace = bench->resident.workspace.span.data;
    lt->workspace_bytes = (size_t)bench->resident.workspace_bytes;
    lt->stream = gt_gpu_stream(bench->gpu);
    rc = gt_cublaslt_api_load(&lt->api, err);
    if (!rc)
        rc = failed(lt->api.Create(&lt->handle), "cublasLtCreate", err);
    if (!rc)
        rc = make_desc(lt, &bench->resident, err);
    if (!rc)
        rc = make_layout(lt, &lt->b, p, GT_OPERAND_B, err);
    if (!rc)
        rc = make_layout(lt, &lt->a, p, GT_OPERAND_A, err);
    if (!rc)
        rc = make_layout(lt, &lt->c, p, GT_OPERAND_C, err);
    if (!rc)
        rc = make_preference(lt, p, err);
    if (!rc)
        rc = ask(lt, err);
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
    int result =
        lt->api.Matmul(lt->handle, lt->desc, &lt->alpha, args->b, lt->b, args->a, lt->a, &lt->beta,
                       args->c, lt->c, args->d, lt->c, &lt->answer[runner->answer].algo,
                       lt->workspace, lt->workspace_bytes, lt->stream);

    return result ? gt_err_set(err, GT_ERANGE, "cublasLtMatmul failed with result %d", result)
                  : GT_OK;
}

static struct gt_runner runner_of(struct gt_lt *lt, int answer)
{
    return (struct gt_runner){
        .run = run_lt, .lt = lt, .answer = answer, .workspace = lt->workspace_bytes};
}

bool gt_baseline_runner(struct gt_bench *bench, struct gt_runner *runner)
{
    if (!bench->lt)
        return false;
    *runner = runner_of(bench->lt, bench->lt->best);
    return true;
}

/* One answer: a warm-up, three proved samples.  *us is 0 if it is wrong or does not run. */
static int try_answer(struct gt_bench *bench, const struct gt_runner *runner, double *us,
                      double *err_u, struct gt_err *err)
{
    struct gt_trial trial = {.status = GT_STATUS_NONE};
    float sample[GT_RESULTS];
    int rc = gt_bench_launch(bench, runner, 0, 0, err);

    *us = 0;
    if (!rc)
        rc = gt_bench_poison(bench, runner, err);
    if (!rc)
        rc = gt_bench_head_start(bench, GT_RESULTS, err);
    for (int i = 0; i < GT_RESULTS && !rc; i++)
        rc = gt_bench_launch(bench, runner, i, i, err);
    if (rc == GT_ERANGE)
        return GT_OK; /* not served after all */
    if (!rc)
        rc = gt_bench_judge(bench, runner, GT_RESULTS, &trial, err);
    if (!rc)
        rc = gt_bench_times(bench, 0, GT_RESULTS, sample, err);
    if (!rc && trial.status == GT_STATUS_NONE) {
        *us = gt_median(sample, GT_RESULTS);
        *err_u = trial.err_u;
    }
    return rc;
}

/* Tries all answers; lt->best is the fastest, first_right the first that is right. */
static int try_answers(struct gt_bench *bench, struct gt_lt *lt, struct gt_baseline *baseline,
                       int *first_right, struct gt_err *err)
{
    double best_us = 0;
    int rc = GT_OK;

    *first_right = -1;
    for (int i = 0; i < lt->answers && !rc; i++) {
        struct gt_runner runner = runner_of(lt, i);
        double us = 0, err_u = 0;

        if (lt->answer[i].state)
            continue;
        rc = try_answer(bench, &runner, &us, &err_u, err);
        if (rc || !(us > 0))
            continue;
        if (*first_right < 0)
            *first_right = i;
        if (!(best_us > 0) || us < best_us) {
            best_us = us;
            lt->best = i;
            baseline->err_u = err_u;
        }
        baseline->answers++;
    }
    if (!rc && *first_right < 0)
        rc = gt_err_set(err, GT_ENOTFOUND,
                        "none of cuBLASLt's %d answers for this problem runs and is right",
                        lt->answers);
    return rc;
}

static int measure(struct gt_bench *bench, struct gt_lt *lt, int first_right,
                   struct gt_baseline *baseline, struct gt_err *err)
{
    struct gt_runner best = runner_of(lt, lt->best), first = runner_of(lt, first_right);
    struct gt_series series;
    int version[3] = {0, 0, 0};
    int rc = gt_bench_series(bench, &first, SAMPLES, &series, err);

    baseline->first_us = series.us;
    if (!rc && lt->best != first_right)
        rc = gt_bench_series(bench, &best, SAMPLES, &series, err);
    if (rc)
        return rc;
    memcpy(baseline->sample, series.sample, sizeof(baseline->sample));
    baseline->samples = series.samples;
    baseline->us = series.us;
    baseline->lo_us = series.lo_us;
    baseline->hi_us = series.hi_us;
    baseline->best = lt->best;
    for (int i = 0; i < 3; i++)
        lt->api.GetProperty(i, &version[i]);
    snprintf(baseline->name, sizeof(baseline->name), "cuBLASLt %d.%d.%d, answer %d of %d",
             version[0], version[1], version[2], lt->best + 1, lt->answers);
    return GT_OK;
}

int gt_bench_baseline(struct gt_bench *bench, struct gt_baseline *baseline, struct gt_err *err)
{
    struct gt_lt *lt;
    int first_right, rc;

    memset(baseline, 0, sizeof(*baseline));
    if (bench->resident.problem.epilogue & GT_EPILOGUE_GELU)
        return gt_err_set(err, GT_ENOTFOUND,
                          "cuBLASLt's GELU is the tanh approximation, another function than ours");
    gt_baseline_close(bench->lt);
    bench->lt = NULL;
    rc = open_lt(&lt, bench, err);
    if (rc)
        return rc;
    rc = try_answers(bench, lt, baseline, &first_right, err);
    if (!rc)
        rc = measure(bench, lt, first_right, baseline, err);
    if (rc) {
        gt_baseline_close(lt);
        return rc;
    }
    bench->lt = lt;
    return GT_OK;
}
