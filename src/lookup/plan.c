/* plan.c - stage: gt_plan, the part of the library that programs run: makes a loaded module of an
 * answer of lookup.c, on the device's primary context, beside the program's own work; gt_run is in
 * plan_run.c. */
#include "gemmtune.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/compile.h"
#include "cuda/cublaslt.h"
#include "base/err.h"
#include "cuda/gpu.h"
#include "lookup/deployed.h"
#include "lookup/lookup.h"
#include "lookup/plan_impl.h"
#include "problem/problem.h"

/* The alignment that the plan was made for, which is at least the size of an element, and what
 * cuBLASLt's algorithm was chosen for. */
static uintptr_t alignment_of(const struct gt_plan *plan, enum gt_dtype type)
{
    const struct gt_problem *p = &plan->resolved.problem;
    const uintptr_t size = (uintptr_t)gt_dtype_size(type);
    const uintptr_t align = plan->vendor ? gt_cublaslt_alignment(p) : p->align;

    return align > size ? align : size;
}

static void fill_args(struct gt_plan *plan)
{
    const struct gt_problem *p = &plan->resolved.problem;

    plan->empty = !p->m || !p->n || !p->k;
    gt_module_args(&plan->args, p);
    memcpy(plan->args.launch, plan->resolved.geometry.launch_param, sizeof(plan->args.launch));
    plan->misaligned_in = alignment_of(plan, p->type) - 1;
    plan->misaligned_out = alignment_of(plan, p->out) - 1;
    plan->misaligned_workspace = (plan->vendor ? GT_CUBLASLT_WORKSPACE : 16) - 1;
}

/* Adds to the driver's words who compiled the code, if that tells why it is refused. */
static int explain(const struct gt_plan *plan, int nvrtc, int rc, struct gt_err *err)
{
    const struct gt_device *device = gt_gpu_device(plan->gpu);

    if (rc != GT_ERANGE || gt_device_takes_code(device, nvrtc))
        return rc;
    return gt_err_prefix(err, rc,
                         "kernel %s was compiled by NVRTC %d.%d, which this driver of CUDA %d.%d "
                         "does not take; it needs NVRTC %d or a newer driver",
                         plan->resolved.kernel->name, nvrtc / 1000, nvrtc % 1000 / 10,
                         device->driver / 1000, device->driver % 1000 / 10, device->driver / 1000);
}

/* Gets the code, unless the binary has it already, and loads it.  Where the driver refuses it, code
 * of another version of NVRTC is tried; if there is none, the first refusal is the error. */
static int load_code(struct gt_plan *plan, struct gt *gt, struct gt_binary *binary,
                     struct gt_err *err)
{
    struct gt_refused refused = {.count = 0};
    int nvrtc = 0, rc, first = GT_OK;
    struct gt_err why;

    do {
        if (first)
            gt_binary_release(binary);
        rc = binary->size ? GT_OK
                          : gt_plan_binary(gt_lookup_options(gt), &plan->resolved, &refused, binary,
                                           &nvrtc, &why);
        if (!rc) {
            gt_plan_avoid_spills(gt, &plan->resolved, binary, &nvrtc);
            rc = explain(plan, nvrtc,
                         gt_module_load(&plan->module, plan->gpu, binary->image, binary->size,
                                        &plan->resolved.geometry, &why),
                         &why);
        }
        if (rc && !first)
            first = gt_err_pass(err, &why, rc);
    } while (rc == GT_ERANGE && gt_refused_add(&refused, nvrtc));
    return rc ? first : GT_OK;
}

/* Loads the module; binary is empty unless the code is already at hand. */
static int load(struct gt_plan *plan, struct gt *gt, struct gt_binary *binary, struct gt_err *err)
{
    return plan->shared ? gt_deployed_module(gt_lookup_deployed(gt), plan->gpu, plan->resolved.item,
                                             &plan->module, err)
                        : load_code(plan, gt, binary, err);
}

/* Prepares cuBLASLt's algorithm if the answer has one that may be run.  It may not if the library
 * takes factors as f16, or if it must be told the bias before each run, which threads could not do
 * at the same time.  Without the algorithm, for whatever reason, the kernel runs. */
static void prefer_vendor(struct gt_plan *plan, const struct gt_options *options)
{
    const struct gt_problem *p = &plan->resolved.problem;
    struct gt_answer *answer = &plan->resolved.answer;

    if (answer->cublaslt && options->allow_cublaslt && !(p->epilogue & GT_EPILOGUE_BIAS) &&
        p->acc != GT_F16 && gt_cublaslt_open(&plan->vendor, plan->gpu, p, NULL, NULL) == GT_OK &&
        gt_cublaslt_parse(&plan->algo, plan->vendor->version, answer->cublaslt, NULL) == GT_OK) {
        answer->workspace_bytes = plan->algo.workspace;
        return;
    }
    gt_cublaslt_close(plan->vendor);
    plan->vendor = NULL;
    answer->cublaslt = NULL;
}

/* Fills a plan that gt_plan has calloc'ed and frees after a failure. */
static int make(struct gt_plan *made, struct gt *gt, int ordinal, const struct gt_problem *problem,
                struct gt_err *err)
{
    struct gt_deployed *deployed = gt_lookup_deployed(gt);
    const struct gt_options *options = gt_lookup_options(gt);
    const struct gt_answer *answer = &made->resolved.answer;
    struct gt_binary binary = {0};
    char text[GT_PROBLEM_TEXT_MAX];
    int rc = deployed ? gt_deployed_gpu(deployed, ordinal, &made->gpu, err)
                      : gt_gpu_open(&made->gpu, ordinal, true, err);

    made->shared = deployed;
    GT_STEP(rc, gt_lookup_device(gt, gt_gpu_device(made->gpu), problem, &made->resolved, err));
    if (!rc && answer->tier == GT_TIER_NONE) {
        gt_problem_format(problem, text);
        rc = gt_err_set(err, GT_ENOTFOUND, "%s %s on %s%s%.400s",
                        deployed ? "no answer for" : "no kernel serves", text,
                        gt_gpu_device(made->gpu)->name, answer->passed_over ? ": " : "",
                        answer->passed_over ? answer->passed_over : "");
    }
    if (!rc)
        prefer_vendor(made, options);
    if (!rc && !made->vendor && !deployed && options->plan_mode == GT_PLAN_MEASURE)
        gt_plan_measure(gt, ordinal, &made->resolved, &binary);
    if (!rc && !made->vendor)
        rc = load(made, gt, &binary, err);
    if (!rc)
        fill_args(made);
    gt_binary_release(&binary);
    return rc;
}

int gt_plan(struct gt_plan **plan, struct gt *gt, int ordinal, const struct gt_problem *problem,
            struct gt_err *err)
{
    struct gt_plan *made = calloc(1, sizeof(*made));
    struct gt_err inner;
    int rc;

    *plan = NULL;
    if (!made)
        return gt_err_nomem(err);
    rc = make(made, gt, ordinal, problem, &inner);
    if (rc)
        gt_plan_free(made);
    else
        *plan = made;
    return gt_err_pass(err, &inner, rc);
}

void gt_plan_free(struct gt_plan *plan)
{
    if (!plan)
        return;
    gt_cublaslt_close(plan->vendor);
    if (!plan->shared) {
        gt_module_free(plan->module);
        gt_gpu_close(plan->gpu);
    }
    gt_resolved_release(&plan->resolved);
    free(plan);
}

const struct gt_answer *gt_plan_answer(const struct gt_plan *plan)
{
    return &plan->resolved.answer;
}

/* Sets the sentence for the first pointer that is not aligned as the plan needs it. */
static int refuse_alignment(const struct gt_plan *plan, const struct gt_operands *o,
                            struct gt_err *err)
{
    const struct {
        const char *name;
        const void *at;
        uintptr_t misaligned;
    } pointer[] = {{"operand a", o->a, plan->misaligned_in},
                   {"operand b", o->b, plan->misaligned_in},
                   {"operand c", o->beta != 0 ? o->c : NULL, plan->misaligned_out},
                   {"operand d", o->d, plan->misaligned_out},
                   {"bias", o->bias, plan->misaligned_out},
                   {"workspace", o->workspace, plan->misaligned_workspace}};
    size_t i = 0;

    while (i < sizeof(pointer) / sizeof(*pointer) - 1 &&
           !((uintptr_t)pointer[i].at & pointer[i].misaligned))
        i++;
    return gt_err_set(err, GT_ERANGE, "%s is at %p; the plan %s multiples of %d bytes",
                      pointer[i].name, pointer[i].at,
                      plan->vendor ? "runs an algorithm of cuBLASLt, which needs" : "was made for",
                      (int)pointer[i].misaligned + 1);
}

int gt_plan_refuse(const struct gt_plan *plan, const struct gt_operands *o, struct gt_err *err)
{
    const struct gt_problem *p = &plan->resolved.problem;

    if (o->beta != 0 && p->beta == 0)
        return gt_err_set(err, GT_ERANGE, "beta is %g; the plan was made for beta 0",
                          (double)o->beta);
    if (!o->a || !o->b || !o->d || (!o->c && o->beta != 0))
        return gt_err_set(err, GT_ERANGE, "operand %s is NULL",
                          !o->a   ? "a"
                          : !o->b ? "b"
                          : !o->d ? "d"
                                  : "c, with beta not 0,");
    if (!o->bias && p->epilogue & GT_EPILOGUE_BIAS)
        return gt_err_set(err, GT_ERANGE, "bias is NULL; the plan adds one");
    if (!o->workspace && plan->resolved.answer.workspace_bytes)
        return gt_err_set(err, GT_ERANGE, "workspace is NULL; the plan needs %zu bytes",
                          plan->resolved.answer.workspace_bytes);
    if (p->out == GT_S32 && !gt_operands_whole(o))
        return gt_err_set(err, GT_ERANGE,
                          "alpha is %g, beta %g; where D is s32 they must be whole numbers from "
                          "%d to %d",
                          (double)o->alpha, (double)o->beta, INT32_MIN, INT32_MAX);
    return refuse_alignment(plan, o, err);
}
