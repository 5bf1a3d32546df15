/* baseline.c - stage: times the vendor's library for comparison.  All algorithms that the heuristic
 * of cuBLASLt returns ("answers") are proved against the same reference and timed like candidates.
 * The best one takes part in the finals.
 *
 * cuBLASLt has column-major matrices.  A row-major D = op(A) op(B) is the column-major
 * D' = op(B)' op(A)', so B comes first, and stored rows become columns.
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
#include "cuda/cuda_api.h"

#define MAX_ANSWERS 64
#define SAMPLES     64
#define FINALISTS   2 /* of the race; they and the first answer get SAMPLES samples */

/* cublasComputeType_t and cudaDataType_t. */
enum {
    COMPUTE_16F = 64,
    COMPUTE_32F = 68,
    COMPUTE_32I = 72,
    COMPUTE_32F_FAST_16BF = 75,
    COMPUTE_32F_FAST_TF32 = 77,
};
enum { REAL_32F = 0, REAL_16F = 2, REAL_32I = 10 };
static const int data_types[GT_DTYPE_COUNT] = {
    [GT_F32] = REAL_32F, [GT_TF32] = REAL_32F, [GT_F16] = REAL_16F, [GT_BF16] = 14,
    [GT_E4M3] = 28,      [GT_E5M2] = 29,       [GT_S8] = 3,         [GT_S32] = REAL_32I,
};

enum { DESC_TRANS_A = 3, DESC_TRANS_B = 4, DESC_EPILOGUE = 7, DESC_BIAS = 8 };
enum { LAYOUT_BATCH = 5, LAYOUT_STRIDE = 6 };
enum { PREF_WORKSPACE = 1, PREF_ALIGN_A = 5, PREF_ALIGN_D = 8 };

struct gt_lt {
    struct gt_cublaslt_api api;
    void *handle, *desc, *preference;
    void *b, *a, *c; /* layouts, in cuBLASLt's order; C and D share one */
    struct gt_lt_answer answer[MAX_ANSWERS];
    int answers, best;
    char why[600]; /* what is wrong with the first answer that ran and failed its proof */
    void *workspace, *stream;
    size_t workspace_bytes;
    uint32_t alpha, beta; /* bits in the type of the scaling, lowest first */
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

/* Makes the column-major layout of a matrix that is stored in rows. */
static int make_layout(struct gt_lt *lt, void **layout, const struct gt_problem *p,
                       enum gt_operand operand, struct gt_err *err)
{
    int64_t stride = gt_problem_stride(p, operand);
    int32_t batch = (int32_t)p->batch;
    int result = lt->api.MatrixLayoutCreate(
        layout, data_types[gt_problem_dtype(p, operand)], (uint64_t)gt_problem_cols(p, operand),
        (uint64_t)gt_problem_rows(p, operand), gt_problem_ld(p, operand));

    if (!result && batch > 1)
        result = lt->api.MatrixLayoutSetAttribute(*layout, LAYOUT_BATCH, &batch, sizeof(batch));
    if (!result && batch > 1)
        result = lt->api.MatrixLayoutSetAttribute(*layout, LAYOUT_STRIDE, &stride, sizeof(stride));
    return failed(result, "cublasLtMatrixLayoutCreate", err);
}

/* The types in which products are summed and sums are scaled. */
static void compute_of(const struct gt_problem *p, int *compute, int *scale)
{
    *compute = COMPUTE_32F;
    *scale = REAL_32F;
    if (p->acc == GT_F16) {
        *compute = COMPUTE_16F;
        *scale = REAL_16F;
    } else if (p->acc == GT_S32) {
        *compute = COMPUTE_32I;
        *scale = p->out == GT_S32 ? REAL_32I : REAL_32F;
    } else if (gt_dtype_size(p->type) == 4 && p->accuracy == GT_ACCURACY_TF32) {
        *compute = COMPUTE_32F_FAST_TF32;
    } else if (gt_dtype_size(p->type) == 4 && p->accuracy == GT_ACCURACY_LOW) {
        *compute = COMPUTE_32F_FAST_16BF;
    }
}

/* Converts a factor to the type in which cuBLASLt scales.  As f16 it must be exact and normal. */
static int factor_bits(uint32_t *bits, double factor, int scale, struct gt_err *err)
{
    float value = (float)factor;
    int32_t whole = scale == REAL_32I ? (int32_t)factor : 0;
    uint32_t exponent;

    memcpy(bits, scale == REAL_32I ? (const void *)&whole : &value, sizeof(*bits));
    if (scale != REAL_16F || value == 0)
        return GT_OK;
    exponent = *bits >> 23 & 255;
    if (*bits & 0x1fff || exponent < 113 || exponent > 142)
        return gt_err_set(err, GT_ENOTFOUND,
                          "cuBLASLt takes alpha and beta as f16 here, and %g is not a normal f16",
                          factor);
    *bits = (*bits >> 16 & 0x8000) | (exponent - 112) << 10 | (*bits >> 13 & 0x3ff);
    return GT_OK;
}

static int make_factors(struct gt_lt *lt, const struct gt_problem *p, struct gt_err *err)
{
    int compute, scale, rc;

    compute_of(p, &compute, &scale);
    rc = factor_bits(&lt->alpha, p->alpha, scale, err);
    return rc ? rc : factor_bits(&lt->beta, p->beta, scale, err);
}

static int make_desc(struct gt_lt *lt, const struct gt_resident *resident, struct gt_err *err)
{
    const struct gt_problem *p = &resident->problem;
    int32_t trans_first = p->trans_b, trans_second = p->trans_a;
    int32_t epilogue =
        (p->epilogue & GT_EPILOGUE_RELU ? 2 : 0) | (p->epilogue & GT_EPILOGUE_BIAS ? 4 : 0);
    const void *bias = resident->bias.span.data;
    int compute, scale, result;

    compute_of(p, &compute, &scale);
    result = lt->api.MatmulDescCreate(&lt->desc, compute, scale);
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
    /* The memory of problems with 16-byte alignment comes from the driver, which aligns to 256. */
    uint32_t size = (uint32_t)gt_dtype_size(p->type);
    uint32_t align = p->align >= 16 ? 256 : p->align > size ? p->align : size;
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
    lt->workspace = bench->resident.workspace.span.data;
    lt->workspace_bytes = (size_t)bench->resident.workspace_bytes;
    lt->stream = gt_gpu_stream(bench->gpu);
    rc = make_factors(lt, p, err);
    if (!rc)
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

/* An answer's race: the median of three proved samples (0: it is wrong or does not run), its error.
 */
struct race {
    double us, err_u;
};

/* Runs one answer: a warm-up and three proved samples. */
static int try_answer(struct gt_bench *bench, const struct gt_runner *runner, struct race *race,
                      struct gt_err *err)
{
    struct gt_trial trial = {.status = GT_STATUS_NONE};
    float sample[GT_RESULTS];
    int rc = gt_bench_launch(bench, runner, 0, 0, err);

    if (!rc)
        rc = gt_bench_poison(bench, runner, err);
    if (!rc)
        rc = gt_bench_head_start(bench, GT_RESULTS, err);
    for (int i = 0; i < GT_RESULTS && !rc; i++)
        rc = gt_bench_launch(bench, runner, i, i, err);
    if (rc == GT_ERANGE)
        return GT_OK; /* this answer does not run */
    if (!rc)
        rc = gt_bench_judge(bench, runner, GT_RESULTS, &trial, err);
    if (!rc)
        rc = gt_bench_times(bench, 0, GT_RESULTS, sample, err);
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
    int rc = gt_bench_series(bench, &runner, SAMPLES, &series, err);

    *us = series.us;
    if (rc || (baseline->samples && series.us >= baseline->us))
        return rc;
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
    int version[3] = {0, 0, 0};
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
    for (int i = 0; i < 3; i++)
        lt->api.GetProperty(i, &version[i]);
    snprintf(baseline->name, sizeof(baseline->name), "cuBLASLt %d.%d.%d, answer %d of %d",
             version[0], version[1], version[2], lt->best + 1, lt->answers);
    return rc;
}

int gt_bench_baseline(struct gt_bench *bench, struct gt_baseline *baseline, struct gt_err *err)
{
    struct race race[MAX_ANSWERS];
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
    rc = try_answers(bench, lt, baseline, race, &first_right, err);
    if (!rc)
        rc = measure(bench, lt, race, first_right, baseline, err);
    if (rc) {
        gt_baseline_close(lt);
        return rc;
    }
    bench->lt = lt;
    return GT_OK;
}
