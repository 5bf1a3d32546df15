/* plan_run.c - gt_run: checks the operands and launches the plan's kernel or cuBLASLt's algorithm.
 * It is called for every product and is compiled for speed, while plan.c is compiled for size. */
#include "gemmtune.h"

#include "base/err.h"
#include "lookup/lookup.h"
#include "lookup/plan_impl.h"
#include "problem/problem.h"

/* Whether the program has set members of later versions, which this version would ignore. */
static int beyond(const struct gt_operands *o)
{
    for (size_t i = sizeof(*o); i < o->size; i++)
        if (((const unsigned char *)o)[i] != 0)
            return 1;
    return 0;
}

/* Operands without an element may be NULL, as cudaMalloc gives it for no bytes: kernels, which do
 * not read them, get another address. */
static struct gt_operands without_depth(const struct gt_operands *o)
{
    const void *const anywhere = (const void *)(uintptr_t)4096;
    struct gt_operands filled = *o;

    filled.a = o->a ? o->a : anywhere;
    filled.b = o->b ? o->b : anywhere;
    return filled;
}

/* Whether an operand that the problem names is there. */
static bool has_words(const struct gt_plan *plan, const struct gt_operands *o)
{
    const struct gt_problem *p = &plan->resolved.problem;

    return gt_problem_plain(p) ||
           (o->size && (o->scale_a || !p->scale_a.kind) && (o->scale_b || !p->scale_b.kind) &&
            (o->scale_d || !p->scale_d.kind) && (o->zero_a || !p->zero_a) &&
            (o->zero_b || !p->zero_b) && (o->sizes || !p->groups) &&
            (o->scale_a_tensor || !p->scale_a.tensor) && (o->scale_b_tensor || !p->scale_b.tensor));
}

static int acceptable(const struct gt_plan *plan, const struct gt_operands *o)
{
    const struct gt_resolved *r = &plan->resolved;
    uintptr_t in = (uintptr_t)o->a | (uintptr_t)o->b;
    uintptr_t out = (uintptr_t)o->d | (uintptr_t)o->bias;

    const bool reads_c = o->beta != 0 || o->beta_im != 0;

    if (reads_c)
        out |= (uintptr_t)o->c;
    return o->a && o->b && o->d && (!reads_c || (o->c && gt_problem_reads_c(&r->problem))) &&
           has_words(plan, o) && (o->bias || !(r->problem.epilogue & GT_EPILOGUE_BIAS)) &&
           (!r->answer.workspace_bytes ||
            (o->workspace && !((uintptr_t)o->workspace & plan->misaligned_workspace))) &&
           !(in & plan->misaligned_in) && !(out & plan->misaligned_out) &&
           (r->problem.out != GT_S32 || gt_operands_whole(o));
}

static int run_vendor(const struct gt_plan *plan, void *stream, const struct gt_operands *o,
                      struct gt_err *err)
{
    struct gt_cublaslt_operands operands = {.a = o->a,
                                            .b = o->b,
                                            .c = o->c ? o->c : o->d,
                                            .d = o->d,
                                            .workspace = o->workspace,
                                            .workspace_bytes = plan->algo.workspace};
    int rc = gt_cublaslt_factor(plan->vendor, &operands.alpha, (double)o->alpha, err);

    GT_STEP(rc, gt_cublaslt_factor(plan->vendor, &operands.beta, (double)o->beta, err));
    return rc ? rc : gt_cublaslt_run(plan->vendor, &plan->algo.algo, &operands, stream, err);
}

static void take_more(struct gt_more *more, const struct gt_plan *plan, const struct gt_operands *o)
{
    gt_module_more(more, &plan->resolved.problem);
    more->alpha = o->alpha;
    more->alpha_im = o->alpha_im;
    more->beta = o->beta;
    more->beta_im = o->beta_im;
    if (!o->size)
        return;
    more->scale_a = o->scale_a;
    more->scale_b = o->scale_b;
    more->scale_a_tensor = o->scale_a_tensor;
    more->scale_b_tensor = o->scale_b_tensor;
    more->zero_a = o->zero_a;
    more->zero_b = o->zero_b;
    more->scale_d = o->scale_d;
    more->sizes = o->sizes;
}

int gt_run(const struct gt_plan *plan, void *stream, const struct gt_operands *operands,
           struct gt_err *err)
{
    /* The legacy default stream, for which CUDA also takes NULL. */
    void *const default_stream = (void *)(uintptr_t)1;
    struct gt_args args = plan->args;
    struct gt_operands filled;
    struct gt_more more;

    if (operands->size && operands->size != sizeof(*operands) &&
        (operands->size < sizeof(*operands) || beyond(operands)))
        return gt_err_set(err, GT_ERANGE,
                          "gt_operands has %zu bytes, of which this library knows %zu; begin with "
                          "GT_OPERANDS_INIT, and set no member that the library does not know",
                          operands->size, sizeof(*operands));
    if (plan->empty) {
        if (!args.m || !args.n)
            return GT_OK;
        filled = without_depth(operands);
        operands = &filled;
    }
    if (!acceptable(plan, operands))
        return gt_plan_refuse(plan, operands, err);
    if (plan->vendor)
        return run_vendor(plan, stream ? stream : default_stream, operands, err);
    args.a = operands->a;
    args.b = operands->b;
    args.c = operands->c ? operands->c : operands->d;
    args.d = operands->d;
    args.bias = operands->bias;
    args.workspace = operands->workspace;
    args.alpha = (float)operands->alpha;
    args.beta = (float)operands->beta;
    if (plan->more)
        take_more(&more, plan, operands);
    return gt_module_run(plan->module, stream ? stream : default_stream, &args,
                         plan->more ? &more : NULL, err);
}
