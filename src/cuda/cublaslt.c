/* cublaslt.c - stage: a problem as cuBLASLt sees it; see cublaslt.h. */
#include "cuda/cublaslt.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "cuda/gpu.h"
#include "cuda/gpu_internal.h"
#include "problem/problem.h"

/* cublasComputeType_t and cudaDataType_t. */
enum {
    COMPUTE_16F = 64,
    COMPUTE_32F = 68,
    COMPUTE_64F = 70,
    COMPUTE_32I = 72,
    COMPUTE_32F_FAST_16BF = 75,
    COMPUTE_32F_FAST_TF32 = 77,
};
enum { REAL_32F = 0, REAL_64F = 1, REAL_16F = 2, REAL_32I = 10 };

enum {
    DESC_TRANS_A = 3,
    DESC_TRANS_B = 4,
    DESC_EPILOGUE = 7,
    DESC_BIAS = 8,
    DESC_SCALE_A = 17,
    DESC_SCALE_B = 18,
    DESC_FAST_ACCUM = 25,
    DESC_BIAS_TYPE = 26,
    DESC_SCALE_MODE_A = 31,
    DESC_SCALE_MODE_B = 32,
};
/* Values of cublasLtEpilogue_t: an activation, and the bias beside it. */
enum { LT_RELU = 2, LT_BIAS = 4, LT_GELU_TANH = 32 };
enum { LAYOUT_BATCH = 5, LAYOUT_STRIDE = 6 };
enum { PREF_WORKSPACE = 1, PREF_ALIGN_A = 5, PREF_ALIGN_D = 8 };

void gt_cublaslt_close(struct gt_cublaslt *lt)
{
    bool pushed = false;

    if (!lt)
        return;
    if (lt->handle && gt_gpu_enter(lt->gpu, &pushed, NULL))
        return; /* the context is gone, and with it everything that the library had there */
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
    gt_gpu_leave(lt->gpu, pushed);
    free(lt);
}

static int failed(int result, const char *call, struct gt_err *err)
{
    if (!result)
        return GT_OK;
    return gt_err_set(err, GT_ENOTFOUND, "%s failed with result %d", call, result);
}

/* Makes the column-major layout of a matrix that is stored in rows. */
static int make_layout(struct gt_cublaslt *lt, void **layout, const struct gt_problem *p,
                       enum gt_operand operand, struct gt_err *err)
{
    int64_t stride = gt_problem_stride(p, operand);
    int32_t batch = (int32_t)p->batch;
    int result = lt->api.MatrixLayoutCreate(layout, gt_type_of(gt_problem_dtype(p, operand))->cuda,
                                            (uint64_t)gt_problem_cols(p, operand),
                                            (uint64_t)gt_problem_rows(p, operand),
                                            gt_problem_ld(p, operand));

    if (!result && batch > 1)
        result = lt->api.MatrixLayoutSetAttribute(*layout, LAYOUT_BATCH, &batch, sizeof(batch));
    if (!result && batch > 1)
        result = lt->api.MatrixLayoutSetAttribute(*layout, LAYOUT_STRIDE, &stride, sizeof(stride));
    return failed(result, "cublasLtMatrixLayoutCreate", err);
}

/* The types in which cuBLASLt sums products and scales sums. */
static void compute_of(const struct gt_problem *p, int *compute, int *scale)
{
    *compute = COMPUTE_32F;
    *scale = REAL_32F;
    if (p->acc == GT_F64) {
        *compute = COMPUTE_64F;
        *scale = REAL_64F;
    } else if (p->acc == GT_F16) {
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

int gt_cublaslt_factor(const struct gt_cublaslt *lt, union gt_lt_factor *to, double factor,
                       struct gt_err *err)
{
    uint32_t bits, exponent;

    *to = (union gt_lt_factor){.f64 = factor};
    if (lt->scale == REAL_64F)
        return GT_OK;
    if (lt->scale == REAL_32I)
        to->s32 = (int32_t)factor;
    else
        to->f32 = (float)factor;
    if (lt->scale != REAL_16F || to->f32 == 0)
        return GT_OK;
    bits = to->bits;
    exponent = bits >> 23 & 255;
    if (bits & 0x1fff || exponent < 113 || exponent > 142)
        return gt_err_set(err, GT_ENOTFOUND,
                          "cuBLASLt takes alpha and beta as f16 here, and %g is not a normal f16",
                          factor);
    to->bits = (bits >> 16 & 0x8000) | (exponent - 112) << 10 | (bits >> 13 & 0x3ff);
    return GT_OK;
}

/* The cublasLtMatmulMatrixScale_t of a scale; -1: the library has no such scale. */
static int32_t scale_mode(const struct gt_scale *scale)
{
    const int rows = scale->rows, depth = scale->depth;

    if (scale->type || scale->tensor)
        return -1;
    if (scale->kind != GT_SCALE_BLOCK)
        return scale->kind == GT_SCALE_VECTOR ? 3 : 0;
    if (depth == 128 && rows == 1 && scale->order == GT_SCALE_MN)
        return 4;
    return depth == 128 && rows == 128 && scale->order == GT_SCALE_K ? 5 : -1;
}

/* Whether the factors of blocks lie as the library takes them: lines of a multiple of four (CUDA
 * 13; it reads behind shorter ones), without more between them. */
static bool lines_fit(const struct gt_problem *p, enum gt_operand operand)
{
    const int64_t line = gt_problem_line(p, operand),
                  ls = operand == GT_OPERAND_A ? p->lsa : p->lsb;

    return ls == (line + 3) / 4 * 4;
}

static int set_scale(struct gt_cublaslt *lt, int pointer, int mode, const struct gt_scale *scale,
                     const void *factors, struct gt_err *err)
{
    const int32_t value = scale_mode(scale);
    int result;

    if (!scale->kind)
        return GT_OK;
    if (value < 0)
        return gt_err_set(err, GT_ENOTFOUND, "cuBLASLt has no such scale");
    result = lt->api.MatmulDescSetAttribute(lt->desc, pointer, &factors, sizeof(factors));
    if (!result && value) /* versions before 12.9 have the factor of a tensor only */
        result = lt->api.MatmulDescSetAttribute(lt->desc, mode, &value, sizeof(value));
    return failed(result, "cublasLtMatmulDescSetAttribute of a scale", err);
}

/* The cublasLtEpilogue_t without a bias; -1: the library has no such activation. */
static int32_t activation_of(const struct gt_problem *p, const struct gt_cublaslt_recipe *recipe)
{
    switch (GT_ACTIVATION(p->epilogue)) {
    case GT_EPILOGUE_NONE:
        return 0;
    case GT_EPILOGUE_RELU:
        return LT_RELU;
    case GT_EPILOGUE_GELU_TANH:
        return LT_GELU_TANH;
    case GT_EPILOGUE_GELU:
        return recipe->gelu_tanh ? LT_GELU_TANH : -1;
    default:
        return -1;
    }
}

/* cuBLASLt's A is our B. */
static int make_desc(struct gt_cublaslt *lt, const struct gt_problem *p,
                     const struct gt_cublaslt_recipe *recipe, struct gt_err *err)
{
    int32_t trans_first = p->trans_b, trans_second = p->trans_a;
    const int32_t epilogue =
        activation_of(p, recipe) | (p->epilogue & GT_EPILOGUE_BIAS ? LT_BIAS : 0);
    const int32_t bias_type = gt_type_of(gt_problem_bias(p))->cuda;
    const int8_t fast = 1;
    int compute, result, rc;

    compute_of(p, &compute, &lt->scale);
    result = lt->api.MatmulDescCreate(&lt->desc, compute, lt->scale);
    GT_STEP(result, lt->api.MatmulDescSetAttribute(lt->desc, DESC_TRANS_A, &trans_first, 4));
    GT_STEP(result, lt->api.MatmulDescSetAttribute(lt->desc, DESC_TRANS_B, &trans_second, 4));
    if (!result && epilogue)
        result = lt->api.MatmulDescSetAttribute(lt->desc, DESC_EPILOGUE, &epilogue, 4);
    if (!result && epilogue & LT_BIAS)
        result = lt->api.MatmulDescSetAttribute(lt->desc, DESC_BIAS, &recipe->bias,
                                                sizeof(recipe->bias));
    if (!result && epilogue & LT_BIAS && gt_problem_bias(p) != p->out)
        result = lt->api.MatmulDescSetAttribute(lt->desc, DESC_BIAS_TYPE, &bias_type, 4);
    if (!result && recipe->fast)
        result = lt->api.MatmulDescSetAttribute(lt->desc, DESC_FAST_ACCUM, &fast, sizeof(fast));
    rc = failed(result, "cublasLtMatmulDescCreate", err);
    GT_STEP(rc, set_scale(lt, DESC_SCALE_A, DESC_SCALE_MODE_A, &p->scale_b, recipe->scale_b, err));
    GT_STEP(rc, set_scale(lt, DESC_SCALE_B, DESC_SCALE_MODE_B, &p->scale_a, recipe->scale_a, err));
    return rc;
}

/* What the library does not compute, whatever its version. */
static int check(const struct gt_problem *p, const struct gt_cublaslt_recipe *recipe,
                 struct gt_err *err)
{
    struct gt_problem known = *p;
    char word[GT_WORD_TEXT_MAX];

    known.scale_a = known.scale_b = (struct gt_scale){0};
    known.type_b = known.bias = GT_DTYPE_SAME;
    known.sums = gt_problem_default_sums(&known);
    known.conj_a = known.conj_b = 0;
    if (gt_problem_word(&known, 0, word))
        return gt_err_set(err, GT_ENOTFOUND, "cuBLASLt has no product with %s", word);
    if (!lines_fit(p, GT_OPERAND_A) || !lines_fit(p, GT_OPERAND_B))
        return gt_err_set(err, GT_ENOTFOUND,
                          "cuBLASLt takes lines of factors padded to a multiple of 4: lsa and lsb");
    if (gt_type_of(p->type)->cuda < 0 || gt_dtype_bits(p->type) < 8 || gt_type_complex(p->type))
        return gt_err_set(err, GT_ENOTFOUND, "cuBLASLt is not asked for products of %s",
                          gt_dtype_name(p->type));
    if (activation_of(p, recipe) < 0)
        return gt_err_set(err, GT_ENOTFOUND, "cuBLASLt has no epilogue %s",
                          gt_epilogue_name(p->epilogue));
    return GT_OK;
}

/* Fills the descriptors, in the GPU's context. */
static int fill(struct gt_cublaslt *lt, const struct gt_problem *p,
                const struct gt_cublaslt_recipe *recipe, struct gt_err *err)
{
    int version[3] = {0, 0, 0};
    int rc = failed(lt->api.Create(&lt->handle), "cublasLtCreate", err);

    for (int i = 0; i < 3 && !rc; i++)
        rc = failed(lt->api.GetProperty(i, &version[i]), "cublasLtGetProperty", err);
    snprintf(lt->version, sizeof(lt->version), "%d.%d.%d", version[0], version[1], version[2]);
    GT_STEP(rc, make_desc(lt, p, recipe, err));
    GT_STEP(rc, make_layout(lt, &lt->b, p, GT_OPERAND_B, err));
    GT_STEP(rc, make_layout(lt, &lt->a, p, GT_OPERAND_A, err));
    return rc ? rc : make_layout(lt, &lt->c, p, GT_OPERAND_C, err);
}

int gt_cublaslt_open(struct gt_cublaslt **opened, struct gt_gpu *gpu,
                     const struct gt_problem *problem, const struct gt_cublaslt_recipe *recipe,
                     struct gt_err *err)
{
    struct gt_cublaslt *lt = calloc(1, sizeof(*lt));
    bool pushed;
    int rc = lt ? check(problem, recipe, err) : gt_err_nomem(err);

    *opened = NULL;
    GT_STEP(rc, gt_cublaslt_api_load(&lt->api, err));
    if (!rc) {
        lt->gpu = gpu;
        rc = gt_gpu_enter(gpu, &pushed, err);
    }
    if (rc) {
        free(lt);
        return rc;
    }
    rc = fill(lt, problem, recipe, err);
    gt_gpu_leave(gpu, pushed);
    if (rc)
        gt_cublaslt_close(lt);
    else
        *opened = lt;
    return rc;
}

uint32_t gt_cublaslt_alignment(const struct gt_problem *p)
{
    /* The memory of problems with 16-byte alignment comes from the driver, which aligns to 256. */
    const uint32_t size = (uint32_t)gt_dtype_size(p->type);

    return p->align >= 16 ? 256 : p->align > size ? p->align : size;
}

static int make_preference(const struct gt_cublaslt *lt, const struct gt_problem *p,
                           size_t workspace_bytes, void **preference, struct gt_err *err)
{
    uint32_t align = gt_cublaslt_alignment(p);
    uint64_t workspace = workspace_bytes;
    int result = lt->api.MatmulPreferenceCreate(preference);

    GT_STEP(result, lt->api.MatmulPreferenceSetAttribute(*preference, PREF_WORKSPACE, &workspace,
                                                         sizeof(workspace)));
    for (int id = PREF_ALIGN_A; id <= PREF_ALIGN_D && !result; id++)
        result = lt->api.MatmulPreferenceSetAttribute(*preference, id, &align, sizeof(align));
    return failed(result, "cublasLtMatmulPreferenceCreate", err);
}

int gt_cublaslt_ask(const struct gt_cublaslt *lt, const struct gt_problem *problem,
                    size_t workspace_bytes, int most, struct gt_lt_answer *answer, int *answers,
                    struct gt_err *err)
{
    void *preference = NULL;
    int result, rc = make_preference(lt, problem, workspace_bytes, &preference, err);

    if (!rc) {
        result = lt->api.MatmulAlgoGetHeuristic(lt->handle, lt->desc, lt->b, lt->a, lt->c, lt->c,
                                                preference, most, answer, answers);
        if (result || *answers == 0)
            rc = gt_err_set(err, GT_ENOTFOUND,
                            "cuBLASLt has no answer for this problem (result %d)", result);
    }
    if (preference)
        lt->api.MatmulPreferenceDestroy(preference);
    return rc;
}

int gt_cublaslt_run(const struct gt_cublaslt *lt, const struct gt_lt_algo *algo,
                    const struct gt_cublaslt_operands *o, void *stream, struct gt_err *err)
{
    bool pushed;
    int result, rc = gt_gpu_enter(lt->gpu, &pushed, err);

    if (rc)
        return rc;
    result =
        lt->api.Matmul(lt->handle, lt->desc, &o->alpha, o->b, lt->b, o->a, lt->a, &o->beta, o->c,
                       lt->c, o->d, lt->c, algo, o->workspace, o->workspace_bytes, stream);
    gt_gpu_leave(lt->gpu, pushed);
    return result ? gt_err_set(err, GT_ERANGE, "cublasLtMatmul failed with result %d", result)
                  : GT_OK;
}

/* ---- an algorithm as text ---- */

#define WORDS (sizeof(struct gt_lt_algo) / sizeof(uint64_t))

void gt_cublaslt_format(char text[GT_CUBLASLT_ALGO_MAX], const char *version,
                        const struct gt_lt_answer *answer, double gain)
{
    int at = snprintf(text, GT_CUBLASLT_ALGO_MAX, "%s %zu ", version, answer->workspace);

    for (size_t i = 0; i < WORDS; i++)
        at += snprintf(text + at, (size_t)(GT_CUBLASLT_ALGO_MAX - at), "%s%" PRIx64, i ? "." : "",
                       answer->algo.data[i]);
    if (gain > 0 && gain < 1e6)
        snprintf(text + at, (size_t)(GT_CUBLASLT_ALGO_MAX - at), " %.4f", gain);
}

/* Whether the text ends at `at`, or a gain is all that follows. */
static bool ends_well(const char *at)
{
    return !*at || (*at == ' ' && at[1] && !at[1 + strspn(at + 1, "0123456789.")]);
}

double gt_cublaslt_gain(const char *text)
{
    const locale_t before = gt_locale_enter(); /* the program may have chosen another locale */
    const char *at = text;
    double gain;

    for (int word = 0; word < 3 && at; word++) {
        at = strchr(at, ' ');
        if (at)
            at++;
    }
    gain = at ? strtod(at, NULL) : 0;
    gt_locale_leave(before);
    return gain;
}

/* Reads a number in `base`, and the character `behind` after it. */
static bool read_number(const char **at, int base, char behind, uint64_t *value)
{
    const char *digits = base == 16 ? "0123456789abcdef" : "0123456789";
    const size_t length = strspn(*at, digits);

    if (length < 1 || length > 16 || (*at)[length] != behind)
        return false;
    *value = strtoull(*at, NULL, base);
    *at += length + (behind != '\0');
    return true;
}

int gt_cublaslt_parse(struct gt_lt_answer *answer, const char *version, const char *text,
                      struct gt_err *err)
{
    const size_t length = strlen(version);
    const char *at;
    uint64_t workspace = 0;
    bool read;

    *answer = (struct gt_lt_answer){0};
    if (strncmp(text, version, length) != 0 || text[length] != ' ')
        return gt_err_set(err, GT_ENOTFOUND,
                          "the algorithm \"%.64s\" is of another version of cuBLASLt; here is %s",
                          text, version);
    at = text + length + 1;
    read = read_number(&at, 10, ' ', &workspace);
    for (size_t i = 0; i < WORDS && read; i++)
        read =
            read_number(&at, 16, i + 1 < WORDS ? '.' : at[strcspn(at, " ")], &answer->algo.data[i]);
    if (!read || !ends_well(at[-1] == ' ' ? at - 1 : at))
        return gt_err_set(err, GT_ENOTFOUND,
                          "the algorithm \"%.160s\" is not VERSION WORKSPACE and %zu words", text,
                          WORDS);
    answer->workspace = (size_t)workspace;
    return GT_OK;
}
