/* verify.c - stage: enqueues the checks of a candidate's results, and makes a status and a sentence
 * of the findings. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "proof/verify.h"

/* ---- the error that a right result may have ---- */

double gt_verify_unit(const struct gt_problem *problem)
{
    return gt_type_of(problem->acc == GT_F64 ? GT_F64 : GT_F32)->unit;
}

/* The error of the sum in units of u, relative to |A||B|; the operands of the proof have
 * random signs.  Measured figures are the largest of up to 4e7 elements on an H200.
 * - strict: 2 sqrt(k) u is the statistical bound of a sum of k products whose additions have an
 *   error of u (Higham and Mary); 4 u are for the roundings before and after.  The same of doubles,
 *   whose reference has twice their precision (templates/proof/reference_double.cu).
 * - f32: the error of FP32 on such operands, which does not grow with k.  FP32 FMA has 0.2 to 8 u
 *   (db/measured/h200-f32.csv), and tensor cores with promoted sums have the same.  Tensor cores
 *   that sum TF32 splits to the end have 50 u at k = 4096 and 146 u at 65536, already on 128 x 128
 *   elements.
 * - Others: tensor cores align the addends of a step to the largest one and truncate,
 *   which loses a bit or two against FP32 (Fasi, Higham, Mikaitis, Pranesh: Numerical behavior of
 *   NVIDIA tensor cores, 2021).  cuBLASLt with BF16 and FP16 has 4 u at k = 256 and 24 u at 16384;
 *   three TF32 products are as above.
 * - 8-bit floats: tensor cores keep 13 bits behind the point (DeepSeek-V3, section 3.3.2), of
 *   products and of sums, so that short sums have errors too.  cuBLASLt, which promotes, has
 *   1.7 x 2^-13 at k = 256 and 0.2 x 2^-13 at 4096.
 *   Promoted sums have such errors in each 128 of k alone, with random signs, and those of FP32
 *   between them: hopper_scaled has 1.5 x 2^-13 at k = 256, 0.8 at 512, 0.16 at 4096 and 0.07 at
 *   16384, with factors of blocks 2.2 at 256 and 0.14 at 7168.  The same kernel without promotion
 *   has 2.6 at 256, 4.6 at 512 and 3.6 to 5.8 from there on, and is refused from 512 on.
 * - acc=f16: its unit is 2^-11.  One sum has 4.6 of these, cuBLASLt 1.6.
 * - Sums of integers are exact. */
static double sum_error(const struct gt_problem *p)
{
    double root = sqrt(p->k > 1 ? (double)p->k : 1);

    if (p->acc == GT_S32)
        return 4;
    if (p->acc == GT_F16)
        return 20 * 0x1p13;
    if (p->accuracy == GT_ACCURACY_STRICT)
        return 2 * root + 4;
    if (p->accuracy == GT_ACCURACY_F32)
        return 20;
    if (gt_type_f8(p->type) && p->sums == GT_SUMS_PROMOTED && p->k > 128)
        return 6 * 0x1p11 / sqrt((double)p->k / 128) + (double)p->k / 128;
    if (gt_type_f8(p->type))
        return (16 + root / 8) * 0x1p11;
    return 2 * (2 * root + 4);
}

/* The error of operands of four bytes that are rounded to TF32's 11 bits of significand: each is
 * off by up to 2^-11, with random signs, so that their part of |A||B| falls with sqrt(k).  The
 * factor 6 covers five and a half standard deviations and the spread of |A||B|; cuBLASLt has 4.5.
 * For `low` they may be truncated to BF16's 8 bits: each is off by up to 2^-7, always towards zero,
 * by half of 2^-7 on average.  The average error is relative to the result; the rest of the error
 * is random. */
static struct gt_verify_bound input_error(const struct gt_problem *p)
{
    bool rounded = p->accuracy == GT_ACCURACY_TF32;
    double unit = rounded ? 0x1p-11 : 0x1p-7;
    double random = 6 / sqrt(p->k > 1 ? (double)p->k : 1);

    if (p->accuracy < GT_ACCURACY_TF32 || gt_dtype_size(p->type) < 4)
        return (struct gt_verify_bound){0, 0, 0};
    return random < 2 ? (struct gt_verify_bound){unit * random, rounded ? 0 : unit, 0}
                      : (struct gt_verify_bound){unit * 2, 0, 0};
}

void gt_verify_bound(const struct gt_problem *problem, struct gt_verify_bound *bound)
{
    const struct gt_type *out = gt_type_of(problem->out);
    const double unit = gt_verify_unit(problem);

    if (problem->out == GT_S32) {
        *bound = (struct gt_verify_bound){0, 0, 0};
        return;
    }
    *bound = input_error(problem);
    bound->tolerance += sum_error(problem) * unit;
    if (GT_ACTIVATION(problem->epilogue) ==
        GT_EPILOGUE_GELU) { /* 1.13 is the largest slope of GELU, 8 u the error of GELU itself */
        bound->tolerance = 1.13 * bound->tolerance + 8 * unit;
        bound->relative *= 1.13;
    }
    /* The result that is rounded to the type out is not the reference, but has the error so far. */
    bound->tolerance *= 1 + out->unit;
    bound->relative += out->unit;
    bound->absolute = out->absolute;
}

/* Result slots: first the small cases, then the whole integer problem, the results of reals and
 * single checks. */
enum {
    SLOT_WHOLE = GT_CASES,
    SLOT_REAL,
    SLOT_INPUTS = SLOT_REAL + GT_RESULTS,
    SLOT_WORKSPACE,
    SLOT_REFERENCE,
    SLOT_LOOK,
};
_Static_assert(SLOT_LOOK < GT_VERIFY_CLOCK_SLOT, "result slots overlap");

/* ---- enqueue ---- */

static int check_exact(const struct gt_resident *resident, const struct gt_case *item, int slot,
                       struct gt_err *err)
{
    struct gt_compare_args args = {.d = item->d.span,
                                   .exact = (const void *)(uintptr_t)item->exact};
    const struct gt_type *out = gt_type_of(item->problem.out);
    int rc;

    /* GELU is the only epilogue that is not exact on integers: kernel and reference may round
     * differently. */
    if (GT_ACTIVATION(item->problem.epilogue) == GT_EPILOGUE_GELU)
        args.slack = 8 * gt_verify_unit(&item->problem) + 2 * out->unit + out->absolute / 4;
    /* Operands of TF32 lie beside integers.  FP32 arithmetic, which also serves TF32, does not
     * round them; the kernel's sums, of at most 2^21, are then off by less than a quarter. */
    if (item->problem.type == GT_TF32) {
        args.slack += 2 * out->unit;
        args.absolute = 0.25;
    }
    rc = gt_proof_compare(resident->proof, &args, slot, err);
    return rc ? rc : gt_proof_guard(resident->proof, &item->d, slot, err);
}

static int run_case(struct gt_resident *resident, struct gt_module *module,
                    const struct gt_geometry *geometry, int index, struct gt_err *err)
{
    const struct gt_case *item = &resident->exact[index];
    size_t workspace = geometry->workspace_bytes;
    struct gt_args args;
    struct gt_more more;
    int rc = gt_module_geometry(module, geometry, err);

    gt_resident_case(resident, item, &args, &more);
    memcpy(args.launch, geometry->launch_param, sizeof(args.launch));
    if (!rc && workspace)
        rc = gt_resident_poison_workspace(resident, workspace, err);
    GT_STEP(rc, gt_module_run(module, NULL, &args, &more, err));
    if (!rc && workspace)
        rc = gt_verify_check_workspace(resident, err);
    return rc ? rc : check_exact(resident, item, index, err);
}

void gt_verify_prepare(const struct gt_resident *resident, const struct gt_candidate *candidate,
                       struct gt_cases *cases)
{
    struct gt_candidate small = *candidate;

    cases->served = 0;
    for (int i = 0; i < GT_CASES; i++) {
        struct gt_geometry *geometry = &cases->geometry[i];
        int failed = -1;

        small.problem = &resident->exact[i].problem;
        if (!gt_candidate_valid(&small, &failed, NULL) && failed < 0 &&
            !gt_candidate_geometry(&small, geometry, NULL) &&
            (int64_t)geometry->workspace_bytes <= resident->workspace_bytes)
            cases->served |= 1u << i;
    }
}

int gt_verify_run_cases(struct gt_resident *resident, struct gt_module *module,
                        const struct gt_cases *cases, struct gt_err *err)
{
    int rc = gt_resident_poison_cases(resident, err);

    for (int i = 0; i < GT_CASES && !rc; i++)
        if (cases->served >> i & 1)
            rc = run_case(resident, module, &cases->geometry[i], i, err);
    return rc;
}

int gt_verify_check_whole(const struct gt_resident *resident, struct gt_err *err)
{
    return check_exact(resident, &resident->exact[GT_CASES], SLOT_WHOLE, err);
}

int gt_verify_check_real(const struct gt_resident *resident, int results, double slack,
                         struct gt_err *err)
{
    struct gt_compare_args args = {.ref = (const double *)(uintptr_t)resident->ref,
                                   .bound = (const float *)(uintptr_t)resident->bound};
    struct gt_verify_bound allowed;
    int rc = GT_OK;

    gt_verify_bound(&resident->problem, &allowed);
    args.tolerance = allowed.tolerance;
    args.relative = allowed.relative;
    args.absolute = allowed.absolute + slack;

    for (int i = 0; i < results && !rc; i++) {
        const struct gt_matrix *d = &resident->result[i];

        args.d = d->span;
        rc = gt_proof_compare(resident->proof, &args, SLOT_REAL + i, err);
        GT_STEP(rc, gt_proof_guard(resident->proof, d, SLOT_REAL + i, err));
        if (!rc && i)
            rc = gt_proof_equal(resident->proof, &resident->result[0], d, SLOT_REAL + i, err);
    }
    return rc;
}

int gt_verify_check_inputs(struct gt_resident *resident, struct gt_err *err)
{
    return gt_resident_hash_inputs(resident, SLOT_INPUTS, err);
}

int gt_verify_check_workspace(const struct gt_resident *resident, struct gt_err *err)
{
    return gt_proof_guard(resident->proof, &resident->workspace, SLOT_WORKSPACE, err);
}

/* ---- judge ---- */

/* A result to be judged. */
struct judged {
    const struct gt_problem *problem;
    const struct gt_matrix *d;
    gt_devptr exact; /* of the type out; 0: the doubles of ref */
    gt_devptr ref;
    const char *data; /* "integers" or "reals" */
};

__attribute__((format(printf, 3, 4))) static void
verdict(struct gt_trial *trial, enum gt_status status, const char *format, ...)
{
    va_list args;

    if (trial->status != GT_STATUS_NONE)
        return; /* the first finding is kept */
    trial->status = status;
    va_start(args, format);
    vsnprintf(trial->detail, sizeof(trial->detail), format, args);
    va_end(args);
}

static void format_shape(char text[128], const struct judged *judged)
{
    const struct gt_problem *p = judged->problem;

    snprintf(text, 128, "%lldx%lldx%lld%s, %s, alpha %g, beta %g", (long long)p->m, (long long)p->n,
             (long long)p->k, p->batch > 1 ? " batched" : "", judged->data, p->alpha, p->beta);
}

/* Fetches element `at` and its expected value.  Fetching also reads all other slots again. */
static int look_up(const struct gt_resident *resident, const struct judged *judged, uint64_t at,
                   double *got, double *expected, struct gt_err *err)
{
    const struct gt_look_args args = {.d = judged->d->span,
                                      .at = (long long)at,
                                      .ref = (const double *)(uintptr_t)judged->ref,
                                      .exact = (const void *)(uintptr_t)judged->exact};
    int rc = gt_proof_look(resident->proof, &args, SLOT_LOOK, err);

    GT_STEP(rc, gt_proof_fetch(resident->proof, err));
    *got = gt_proof_result(resident->proof, SLOT_LOOK)->got;
    *expected = gt_proof_result(resident->proof, SLOT_LOOK)->expected;
    return rc;
}

static int wrong_element(const struct gt_resident *resident, const struct judged *judged,
                         unsigned long long count, uint64_t at, const char *how,
                         struct gt_trial *trial, struct gt_err *err)
{
    const struct gt_problem *p = judged->problem;
    int64_t row = (int64_t)at / p->n;
    int digits = p->out == GT_F64 ? 17 : p->out == GT_S32 ? 10 : 9;
    double got, expected;
    char shape[128];
    int rc = look_up(resident, judged, at, &got, &expected, err);

    if (rc)
        return rc;
    format_shape(shape, judged);
    verdict(trial, GT_STATUS_WRONG,
            "%s: %llu of %lld elements are %s; the first, (%lld,%lld) of matrix %lld, is %.*g, "
            "expected %.*g",
            shape, count, (long long)gt_problem_results(p), how, (long long)(row % p->m),
            (long long)((int64_t)at % p->n), (long long)(row / p->m), digits, got, digits,
            expected);
    return GT_OK;
}

/* Reports a write outside D, with its place relative to D. */
static void out_of_bounds(const struct judged *judged, const struct gt_proof_result *found,
                          struct gt_trial *trial)
{
    const struct gt_matrix *d = judged->d;
    int64_t size = gt_dtype_size((enum gt_dtype)d->span.type);
    int64_t bytes = (int64_t)~found->first_guard - d->offset;
    int64_t at = bytes < 0 ? -((size - 1 - bytes) / size) : bytes / size;
    int64_t end =
        (d->span.batch - 1) * d->span.stride + (d->span.rows - 1) * d->span.ld + d->span.cols;
    char shape[128], place[96];

    if (at < 0)
        snprintf(place, sizeof(place), "%lld elements before D", (long long)-at);
    else if (at >= end)
        snprintf(place, sizeof(place), "%lld elements behind the last one of D",
                 (long long)(at - end + 1));
    else
        snprintf(place, sizeof(place), "between the rows of D, at element %lld", (long long)at);
    format_shape(shape, judged);
    verdict(trial, GT_STATUS_OOB_WRITE, "%s: %llu words outside D were written, the first %s",
            shape, found->guard, place);
}

static int judge(const struct gt_resident *resident, const struct judged *judged, int slot,
                 struct gt_trial *trial, struct gt_err *err)
{
    const struct gt_proof_result *found = gt_proof_result(resident->proof, slot);

    if (found->guard)
        out_of_bounds(judged, found, trial);
    else if (found->nonfinite)
        return wrong_element(resident, judged, found->nonfinite, ~found->first_nonfinite,
                             "NaN or infinite", trial, err);
    else if (found->bad)
        return wrong_element(resident, judged, found->bad, ~found->first_bad, "wrong", trial, err);
    return GT_OK;
}

int gt_verify_judge_cases(const struct gt_resident *resident, const struct gt_cases *cases,
                          struct gt_trial *trial, struct gt_err *err)
{
    int rc = GT_OK;

    for (int i = 0; i <= GT_CASES && !rc && trial->status == GT_STATUS_NONE; i++) {
        const struct gt_case *item = &resident->exact[i];
        const struct judged judged = {&item->problem, &item->d, item->exact, 0, "integers"};

        if (i == GT_CASES || cases->served >> i & 1)
            rc = judge(resident, &judged, i, trial, err);
    }
    return rc;
}

/* Reports two launches with different results. */
static void nondeterministic(const struct gt_resident *resident, const struct judged *judged,
                             int launch, struct gt_trial *trial)
{
    const struct gt_proof_result *found = gt_proof_result(resident->proof, SLOT_REAL + launch);
    const struct gt_problem *p = judged->problem;
    int64_t at = (int64_t)~found->first_different;
    char shape[128];

    format_shape(shape, judged);
    verdict(trial, GT_STATUS_NONDETERMINISTIC,
            "%s: launches 1 and %d differ in %llu of %lld elements, the first (%lld,%lld) of "
            "matrix %lld",
            shape, launch + 1, found->different, (long long)gt_problem_results(p),
            (long long)(at / p->n % p->m), (long long)(at % p->n), (long long)(at / p->n / p->m));
}

int gt_verify_judge_real(const struct gt_resident *resident, int results, bool deterministic,
                         struct gt_trial *trial, struct gt_err *err)
{
    struct judged judged = {&resident->problem, NULL, 0, resident->ref, "reals"};
    double worst = 0;
    int rc = GT_OK;

    for (int i = 0; i < results && !rc; i++) {
        const struct gt_proof_result *found = gt_proof_result(resident->proof, SLOT_REAL + i);
        uint32_t bits = (uint32_t)found->error;
        float error;

        judged.d = &resident->result[i];
        if (found->different && deterministic && !found->guard)
            nondeterministic(resident, &judged, i, trial);
        rc = judge(resident, &judged, SLOT_REAL + i, trial, err);
        memcpy(&error, &bits, sizeof(error));
        worst = error > worst ? error : worst;
    }
    trial->err_u = worst / gt_verify_unit(&resident->problem);
    return rc;
}

void gt_verify_judge_inputs(const struct gt_resident *resident, struct gt_trial *trial,
                            bool *damaged)
{
    const struct gt_proof_result *workspace = gt_proof_result(resident->proof, SLOT_WORKSPACE);

    *damaged = gt_proof_result(resident->proof, SLOT_INPUTS)->hash != resident->hash_in;
    if (*damaged)
        verdict(trial, GT_STATUS_OOB_WRITE, "A, B, C, bias or memory beside them was written to");
    else if (workspace->guard)
        verdict(trial, GT_STATUS_OOB_WRITE,
                "%llu words outside the %zu bytes of workspace asked for were written",
                workspace->guard, 4 * (size_t)resident->workspace.span.cols);
}

int gt_verify_reference_intact(const struct gt_resident *resident, bool *intact, struct gt_err *err)
{
    int rc = gt_proof_clear(resident->proof, err);

    GT_STEP(rc, gt_resident_hash_reference(resident, SLOT_REFERENCE, err));
    GT_STEP(rc, gt_proof_fetch(resident->proof, err));
    if (!rc)
        *intact =
            gt_proof_result(resident->proof, SLOT_REFERENCE)->hash == resident->hash_reference;
    return rc;
}
