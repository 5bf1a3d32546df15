/* call.c - makes keys and problems of calls; see call.h. */
#include "serve/call.h"

#include <math.h>
#include <string.h>

#include "problem/problem.h"

const char *gt_reason_text(enum gt_reason reason)
{
#define REASON_TEXT(name, text) text,
    static const char *const texts[] = {"served", GT_REASON_MAP(REASON_TEXT)};
#undef REASON_TEXT

    return texts[reason];
}

/* Reads the scalars, which have the type of the sums; false if that type is not a float. */
static bool read_scalars(float *alpha, float *beta, const struct gt_gemm *gemm)
{
    int32_t whole[2];

    if (gemm->compute == GT_COMPUTE_32I) {
        memcpy(&whole[0], gemm->alpha, sizeof(whole[0]));
        memcpy(&whole[1], gemm->beta, sizeof(whole[1]));
        *alpha = (float)whole[0];
        *beta = (float)whole[1];
        return whole[0] >= -(1 << 24) && whole[0] <= 1 << 24 && whole[1] >= -(1 << 24) &&
               whole[1] <= 1 << 24;
    }
    memcpy(alpha, gemm->alpha, sizeof(*alpha));
    memcpy(beta, gemm->beta, sizeof(*beta));
    return isfinite(*alpha) && isfinite(*beta);
}

/* The largest of 16, 8, 4, 2, 1 that divides every base pointer. */
static int alignment(const struct gt_gemm *gemm, float beta)
{
    uintptr_t all = (uintptr_t)gemm->a | (uintptr_t)gemm->b | (uintptr_t)gemm->d | 16;

    if (beta != 0)
        all |= (uintptr_t)gemm->c;
    if (gemm->epilogue & GT_EPILOGUE_BIAS)
        all |= (uintptr_t)gemm->bias;
    return (int)(all & -all);
}

static bool is_op(int op)
{
    return op >= GT_OP_N && op <= GT_OP_C;
}

/* Whether the sums have a type whose scalars can be read. */
static bool computes(int compute)
{
    return compute == GT_COMPUTE_32F || compute == GT_COMPUTE_32I ||
           (compute >= GT_COMPUTE_32F_FAST_16F && compute <= GT_COMPUTE_32F_EMULATED_16BFX9);
}

/* Whether the key has room for values that have these bits. */
static bool fit(int bits)
{
    return bits >= 0 && bits <= INT16_MAX;
}

/* Writes four values with one store, so that a comparison of the key need not wait for four stores.
 */
static void put_four(int16_t to[4], int first, int second, int third, int fourth)
{
    const uint64_t word = (uint64_t)(uint16_t)first | (uint64_t)(uint16_t)second << 16 |
                          (uint64_t)(uint16_t)third << 32 | (uint64_t)(uint16_t)fourth << 48;

    memcpy(to, &word, sizeof(word));
}

enum gt_reason gt_call_key(struct gt_call_key *key, float *alpha, float *beta,
                           const struct gt_gemm *gemm, const struct gt_scene *scene,
                           const void *context)
{
    const bool batched = gemm->batch != 1;

    if (gemm->m <= 0 || gemm->n <= 0 || gemm->k <= 0 || gemm->batch <= 0)
        return GT_PASS_EMPTY;
    if (!computes(gemm->compute) || !is_op(gemm->ta) || !is_op(gemm->tb) ||
        !fit(gemm->at | gemm->bt | gemm->ct | scene->math))
        return GT_PASS_TYPES;
    if (!gemm->alpha || !gemm->beta)
        return GT_PASS_POINTERS;
    if (!read_scalars(alpha, beta, gemm) || *alpha == 0)
        return GT_PASS_ALPHA;
    if (!gemm->a || !gemm->b || !gemm->d || (*beta != 0 && !gemm->c))
        return GT_PASS_POINTERS;
    if (!context)
        return GT_PASS_CONTEXT;
    key->size[0] = gemm->m;
    key->size[1] = gemm->n;
    key->size[2] = gemm->k;
    key->size[3] = gemm->lda;
    key->size[4] = gemm->ldb;
    key->size[5] = gemm->ldc;
    key->batched[0] = gemm->batch;
    key->batched[1] = batched ? gemm->sa : 0;
    key->batched[2] = batched ? gemm->sb : 0;
    key->batched[3] = batched ? gemm->sc : 0;
    key->context = context;
    put_four(&key->kind[0], gemm->ta != GT_OP_N, gemm->tb != GT_OP_N, gemm->at, gemm->bt);
    put_four(&key->kind[4], gemm->ct, gemm->compute, scene->math, gemm->epilogue);
    put_four(&key->kind[8], alignment(gemm, *beta), *beta != 0, scene->varies, 0);
    return GT_SERVED;
}

/* Sets type and accuracy of a product of FP32 numbers; false if its arithmetic exists only in
 * cuBLAS. */
static bool take_float(struct gt_problem *problem, int compute, int math, enum gt_accuracy accuracy,
                       bool no_tf32)
{
    if (compute == GT_COMPUTE_32F_FAST_TF32)
        math = GT_MATH_TF32;
    else if (compute == GT_COMPUTE_32F_EMULATED_16BFX9)
        math = GT_MATH_BF16X9;
    else if (compute != GT_COMPUTE_32F)
        return false;
    if (math == GT_MATH_BF16X9)
        accuracy = accuracy == GT_ACCURACY_TF32 ? accuracy : GT_ACCURACY_F32;
    else if (math == GT_MATH_TF32)
        accuracy = no_tf32 ? accuracy : GT_ACCURACY_TF32;
    else if (math != GT_MATH_DEFAULT && math != GT_MATH_FP64_EMULATED)
        return false;
    gt_problem_retype(problem, accuracy == GT_ACCURACY_TF32 ? GT_TF32 : GT_F32);
    problem->accuracy = accuracy;
    return true;
}

static bool take_out(struct gt_problem *problem, int type)
{
    static const struct {
        int cuda;
        enum gt_dtype type;
    } outs[] = {{GT_CUDA_R_32F, GT_F32},      {GT_CUDA_R_16F, GT_F16},
                {GT_CUDA_R_16BF, GT_BF16},    {GT_CUDA_R_32I, GT_S32},
                {GT_CUDA_R_8F_E4M3, GT_E4M3}, {GT_CUDA_R_8F_E5M2, GT_E5M2}};

    for (size_t i = 0; i < sizeof(outs) / sizeof(*outs); i++)
        if (outs[i].cuda == type) {
            problem->out = outs[i].type;
            return true;
        }
    return false;
}

/* Sets the problem's types and accuracy. */
static bool take_types(struct gt_problem *problem, const struct gt_call_key *key,
                       enum gt_accuracy accuracy, bool no_tf32)
{
    const int at = key->kind[2], bt = key->kind[3], ct = key->kind[4], compute = key->kind[5];
    const int math = key->kind[6] & GT_MATH_MODE;
    const bool plain = compute != GT_COMPUTE_32I && math != 2 /* 2: a pedantic mode */;

    if (at != bt)
        return false;
    switch (at) {
    case GT_CUDA_R_32F:
        return ct == GT_CUDA_R_32F && take_float(problem, compute, math, accuracy, no_tf32);
    case GT_CUDA_R_8I:
        gt_problem_retype(problem, GT_S8);
        return compute == GT_COMPUTE_32I && ct == GT_CUDA_R_32I && take_out(problem, ct);
    case GT_CUDA_R_16F:
    case GT_CUDA_R_16BF:
        gt_problem_retype(problem, at == GT_CUDA_R_16F ? GT_F16 : GT_BF16);
        return plain && (ct == at || ct == GT_CUDA_R_32F) && take_out(problem, ct);
    case GT_CUDA_R_8F_E4M3:
    case GT_CUDA_R_8F_E5M2:
        gt_problem_retype(problem, at == GT_CUDA_R_8F_E4M3 ? GT_E4M3 : GT_E5M2);
        return plain && ct != GT_CUDA_R_32I && take_out(problem, ct);
    default:
        return false;
    }
}

enum gt_reason gt_call_problem(struct gt_problem *problem, const struct gt_call_key *key,
                               enum gt_accuracy accuracy, bool no_tf32)
{
    gt_problem_init(problem, key->size[1], key->size[0], key->size[2]);
    if (!take_types(problem, key, accuracy, no_tf32))
        return GT_PASS_TYPES;
    problem->trans_a = key->kind[1] != 0;
    problem->trans_b = key->kind[0] != 0;
    problem->lda = key->size[4];
    problem->ldb = key->size[3];
    problem->ldc = key->size[5];
    problem->batch = key->batched[0];
    if (problem->batch > 1) { /* without a batch, strides have no meaning */
        problem->stride_a = key->batched[2];
        problem->stride_b = key->batched[1];
        problem->stride_c = key->batched[3];
    }
    problem->epilogue = (unsigned char)key->kind[7];
    problem->align = (unsigned char)key->kind[8];
    problem->beta = key->kind[9] ? 1 : 0;
    if (problem->align < gt_dtype_size(problem->type) ||
        problem->align < gt_dtype_size(problem->out) || gt_problem_check(problem, NULL))
        return GT_PASS_SHAPE;
    return GT_SERVED;
}
