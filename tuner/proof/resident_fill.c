/* resident_fill.c - stage: fills, poisons, hashes and restores the contents of a resident problem
 * (resident.h), and makes the arguments of launches. */
#include "proof/resident.h"

#include "base/err.h"

#include <math.h>
#include <string.h>

static int poison(const struct gt_resident *r, const struct gt_matrix *matrix, struct gt_err *err)
{
    return gt_gpu_fill32(r->gpu, matrix->base, gt_proof_poison((enum gt_dtype)matrix->span.type),
                         (size_t)matrix->words, err);
}

/* The seed of an operand of case or set number `of`. */
static uint64_t seed_of(const struct gt_resident *r, int of, int operand)
{
    return r->seed * 1000003u + (uint64_t)of * 16 + (uint64_t)operand;
}

/* The limit below which integer sums are exact in the accumulator, from its significand or its
 * range.  Tensor cores add products of 8-bit floats with at least 14 bits, whatever the
 * accumulator. That was measured on sm_89 and sm_90, also by others: DeepSeek-V3, arXiv 2412.19437,
 * section 3.3.2. */
static double exact_sums(const struct gt_problem *p)
{
    if (p->acc == GT_S32)
        return p->out == GT_S32 ? 0x1p31 : 0x1p24; /* another type is converted from a float */
    if (p->acc == GT_F16)
        return 0x1p11;
    return p->type == GT_E4M3 || p->type == GT_E5M2 ? 0x1p13 : 0x1p24;
}

/* The range of integers whose products, summed over k in any order, are exact in the accumulator
 * together with alpha, beta C and bias.  For long k the range is 1; sums of random signs are then
 * still far below the limit.  It is at most 8, up to which e5m2 has every integer. */
static int integer_range(const struct gt_problem *p)
{
    double room = exact_sums(p) / 8 / (double)(p->k > 0 ? p->k : 1);
    int range = (int)floor(sqrt(room)), most = p->type == GT_S8 ? 127 : 8;

    return range < 1 ? 1 : range > most ? most : range;
}

static void reference_args(const struct gt_problem *p, struct gt_reference_args *args,
                           const struct gt_set *in, const struct gt_matrix *bias)
{
    *args = (struct gt_reference_args){.a = in->a.span.data,
                                       .b = in->b.span.data,
                                       .c = in->c.span.data,
                                       .bias = bias->span.data,
                                       .type = (int)p->type,
                                       .out = (int)p->out,
                                       .m = p->m,
                                       .n = p->n,
                                       .k = p->k,
                                       .lda = p->lda,
                                       .ldb = p->ldb,
                                       .ldc = p->ldc,
                                       .stride_a = p->stride_a,
                                       .stride_b = p->stride_b,
                                       .stride_c = p->stride_c,
                                       .trans_a = p->trans_a,
                                       .trans_b = p->trans_b,
                                       .epilogue = p->epilogue,
                                       .alpha = (float)p->alpha,
                                       .beta = (float)p->beta};
}

/* Operands of TF32 are put beside the integers once the reference has their product. */
static int restore_case(struct gt_resident *r, int index, struct gt_err *err)
{
    struct gt_case *item = &r->exact[index];
    const struct gt_set in = {item->a, item->b, item->c};
    struct gt_matrix *list[4];
    size_t count = gt_case_inputs(item, list);
    int range = integer_range(&item->problem), rc = GT_OK;
    bool beside = item->problem.type == GT_TF32 && !item->unread;
    struct gt_reference_args args;

    for (size_t i = 0; i < count && !rc; i++) {
        rc = poison(r, list[i], err);
        if (!rc && !(item->unread && i < 2))
            rc = gt_proof_fill(r->proof, list[i], seed_of(r, index, (int)i), GT_FILL_INTEGERS,
                               range, err);
    }
    reference_args(&item->problem, &args, &in, &item->bias);
    args.exact = (void *)(uintptr_t)item->exact;
    GT_STEP(rc, gt_proof_reference(r->proof, &args, item->problem.batch, err));
    for (int i = 0; beside && i < 2 && !rc; i++)
        rc = gt_proof_fill(r->proof, list[i], seed_of(r, index, i), GT_FILL_BESIDE, range, err);
    return rc;
}

/* How a distribution is drawn; *range is for those that have one. */
static enum gt_fill fill_of(const struct gt_problem *p, enum gt_dist dist, int *range)
{
    *range = dist == GT_DIST_ZEROS ? 0 : dist == GT_DIST_INTEGERS ? integer_range(p) : 1;
    if (dist == GT_DIST_UNIFORM && p->type == GT_S8)
        *range = 127;
    return dist == GT_DIST_NORMAL    ? GT_FILL_NORMAL
           : dist == GT_DIST_UNIFORM ? GT_FILL_UNIFORM
                                     : GT_FILL_INTEGERS;
}

static int restore_set(struct gt_resident *r, int index, struct gt_err *err)
{
    const enum gt_dist dist = index < r->timed ? GT_DIST_NORMAL : r->dist;
    int range;
    const enum gt_fill fill = fill_of(&r->problem, dist, &range);
    struct gt_matrix *list[] = {&r->set[index].a, &r->set[index].b, &r->set[index].c};
    int rc = GT_OK;

    for (int i = 0; i < 3 && !rc; i++) {
        rc = poison(r, list[i], err);
        GT_STEP(rc, gt_proof_fill(r->proof, list[i], seed_of(r, 100, i), fill, range, err));
    }
    return rc;
}

static int restore_reference(struct gt_resident *r, struct gt_err *err)
{
    struct gt_reference_args args;
    int rc = poison(r, &r->bias, err);

    GT_STEP(rc, gt_proof_fill(r->proof, &r->bias, seed_of(r, 100, 3), GT_FILL_NORMAL, 0, err));
    reference_args(&r->problem, &args, &r->set[0], &r->bias);
    args.ref = (double *)(uintptr_t)r->ref;
    args.bound = (float *)(uintptr_t)r->bound;
    return rc ? rc : gt_proof_reference(r->proof, &args, r->problem.batch, err);
}

int gt_resident_restore(struct gt_resident *resident, struct gt_err *err)
{
    int rc = GT_OK;

    for (int i = 0; i <= GT_CASES && !rc; i++)
        rc = restore_case(resident, i, err);
    for (int i = 0; i < resident->sets && !rc; i++)
        rc = restore_set(resident, i, err);
    GT_STEP(rc, restore_reference(resident, err));
    GT_STEP(rc, gt_proof_clear(resident->proof, err));
    GT_STEP(rc, gt_resident_hash_inputs(resident, 0, err));
    GT_STEP(rc, gt_resident_hash_reference(resident, 1, err));
    GT_STEP(rc, gt_proof_fetch(resident->proof, err));
    if (rc)
        return rc;
    resident->hash_in = gt_proof_result(resident->proof, 0)->hash;
    resident->hash_reference = gt_proof_result(resident->proof, 1)->hash;
    return GT_OK;
}

int gt_resident_hash_inputs(struct gt_resident *resident, int slot, struct gt_err *err)
{
    struct gt_matrix *list[GT_OWN_INPUTS];
    size_t count = gt_resident_inputs(resident, list);
    int rc =
        gt_proof_hash(resident->proof, resident->arena_in, resident->arena_in_words, slot, err);

    for (size_t i = 0; i < count && !rc; i++)
        if (list[i]->words)
            rc = gt_proof_hash(resident->proof, list[i]->base, list[i]->words, slot, err);
    return rc;
}

int gt_resident_hash_reference(const struct gt_resident *resident, int slot, struct gt_err *err)
{
    int64_t whole = gt_problem_results(&resident->problem);
    int rc = gt_proof_hash(resident->proof, resident->ref, 2 * whole, slot, err);

    GT_STEP(rc, gt_proof_hash(resident->proof, resident->bound, whole, slot, err));
    for (int i = 0; i <= GT_CASES && !rc; i++)
        rc = gt_proof_hash(resident->proof, resident->exact[i].exact,
                           gt_case_exact_words(&resident->exact[i]), slot, err);
    return rc;
}

int gt_resident_poison_cases(const struct gt_resident *resident, struct gt_err *err)
{
    int rc =
        gt_gpu_fill32(resident->gpu, resident->arena_out, gt_proof_poison(resident->problem.out),
                      (size_t)resident->arena_out_words, err);

    for (int i = 0; i < GT_CASES && !rc; i++) {
        const struct gt_case *item = &resident->exact[i];

        if (item->in_place)
            rc = gt_proof_fill(resident->proof, &item->d, seed_of(resident, i, 2), GT_FILL_INTEGERS,
                               integer_range(&item->problem), err);
    }
    return rc;
}

int gt_resident_poison(const struct gt_resident *resident, int result, struct gt_err *err)
{
    return poison(resident, &resident->result[result], err);
}

int gt_resident_poison_workspace(struct gt_resident *resident, size_t bytes, struct gt_err *err)
{
    struct gt_matrix *workspace = &resident->workspace;
    int64_t words = (int64_t)(bytes + 3) / 4;

    /* The memory behind the bytes asked for is guarded too. */
    workspace->span = gt_matrix_line(words, GT_F32);
    workspace->words = workspace->offset / 4 + words + GT_WORKSPACE_GUARD;
    gt_matrix_place(workspace, workspace->base);
    return poison(resident, workspace, err);
}

int gt_resident_flush(const struct gt_resident *resident, struct gt_err *err)
{
    return gt_gpu_fill32(resident->gpu, resident->scratch.base, 0, (size_t)resident->scratch.words,
                         err);
}

/* ---- arguments ---- */

void gt_resident_case(const struct gt_resident *resident, const struct gt_case *item,
                      struct gt_args *args)
{
    gt_module_args(args, &item->problem);
    args->a = item->a.span.data;
    args->b = item->b.span.data;
    args->d = item->d.span.data;
    /* If C must not be read, it is the poisoned D, so that reading it shows. */
    args->c = item->in_place || item->problem.beta == 0 ? item->d.span.data : item->c.span.data;
    args->bias = item->bias.words ? item->bias.span.data : NULL;
    args->workspace = resident->workspace.span.data;
}

void gt_resident_args(const struct gt_resident *resident, int set, int result, struct gt_args *args)
{
    const struct gt_set *in = &resident->set[set];

    gt_module_args(args, &resident->problem);
    args->a = in->a.span.data;
    args->b = in->b.span.data;
    args->d = resident->result[result].span.data;
    args->c = resident->problem.beta == 0 ? args->d : in->c.span.data;
    args->bias = resident->bias.words ? resident->bias.span.data : NULL;
    args->workspace = resident->workspace.span.data;
}
