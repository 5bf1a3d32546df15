/* check_device.c - compares a served product with cuBLAS's on the device; see check.h.
 *
 * Two launches of templates/proof/served.cu on the program's stream: one reads both results and
 * finds the elements that differ most, one computes these in float64. */
#include "serve/check.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cuda/cache.h"
#include "cuda/compile.h"
#include "cuda/sources.h"
#include "kernel/kernel.h"
#include "problem/problem.h"
#include "templates/proof/args.h"

#define BLOCK_THREADS 256
#define LEAST_STEPS   4 /* of k that a thread takes at least */

static const struct gt_program_sources sources = {
    .name = "templates/proof/served.cu",
    .file = {"common/args.h", "common/platform.cuh", "common/types.cuh", "proof/args.h",
             "proof/device.cuh", "proof/served.cu"},
};

/* ---- the kernels ---- */

static int compile(struct gt_binary *binary, int arch, struct gt_nvrtc *nvrtc, struct gt_err *err)
{
    char *data = NULL, *cubins = NULL;
    int rc = gt_data_dir(&data, err);

    gt_cache_dir(&cubins, NULL); /* without one they are compiled each time */
    GT_STEP(rc, gt_sources_compile(binary, arch, nvrtc, data, cubins, &sources, err));
    free(cubins);
    free(data);
    return rc;
}

static int load(struct gt_checker *checker, const struct gt_serve_driver *driver, void *context,
                const struct gt_binary *binary, struct gt_err *err)
{
    void *module, *compare, *exact, *popped;
    int result = driver->CtxPushCurrent(context);

    if (result)
        return gt_err_set(err, GT_ECUDA, "cuCtxPushCurrent answers %d", result);
    result = driver->ModuleLoadDataEx(&module, binary->image, 0, NULL, NULL);
    if (!result)
        result = driver->ModuleGetFunction(&compare, module, "served_compare");
    if (!result)
        result = driver->ModuleGetFunction(&exact, module, "served_exact");
    driver->CtxPopCurrent(&popped);
    if (result)
        return gt_err_set(err, GT_ECUDA,
                          "the driver does not load the kernels of %s: it answers %d", sources.name,
                          result);
    checker->compare = compare;
    checker->exact = exact;
    return GT_OK;
}

struct gt_checker *gt_checker_new(const struct gt_serve_driver *driver, void *context, int ordinal,
                                  int arch, struct gt_nvrtc *nvrtc, struct gt_err *err)
{
    struct gt_checker *checker = calloc(1, sizeof(*checker));
    struct gt_binary binary = {0};
    int sms = 0, rc;

    if (!checker)
        return NULL;
    pthread_mutex_init(&checker->lock, NULL);
    driver->DeviceGetAttribute(&sms, 16 /* multiprocessors */, ordinal);
    checker->blocks = (unsigned)(sms > 0 ? 8 * sms : 256);
    if (nvrtc) {
        rc = compile(&binary, arch, nvrtc, err);
        GT_STEP(rc, load(checker, driver, context, &binary, err));
        gt_binary_release(&binary);
    }
    return checker;
}

/* ---- the comparison ---- */

/* Whether rows of both results begin at multiples of 16 bytes: ours in D, and theirs. */
static bool is_wide(const struct gt_problem *p, const struct gt_operands *operands, uint64_t theirs)
{
    const int64_t size = gt_dtype_size(p->out);

    return ((uint64_t)(uintptr_t)operands->d | theirs | (uint64_t)(p->ldc * size) |
            (uint64_t)(gt_problem_stride(p, GT_OPERAND_C) * size)) %
               16 ==
           0;
}

static void fill(struct gt_served_args *args, const struct gt_checking *c,
                 const struct gt_both *both)
{
    const struct gt_problem *p = &c->entry->problem;
    const struct gt_operands *operands = c->operands;
    const int64_t stride = gt_problem_stride(p, GT_OPERAND_C);
    struct gt_check_bound bound;

    gt_check_bound(p, &bound);
    *args = (struct gt_served_args){
        .ours = {operands->d, p->m, p->n, p->ldc, p->batch, stride, (int)p->out},
        .theirs = (const void *)(uintptr_t)both->theirs,
        .a = operands->a,
        .b = operands->b,
        .c = (const void *)(uintptr_t)both->before,
        .bias = p->epilogue & GT_EPILOGUE_BIAS ? operands->bias : NULL,
        .k = p->k,
        .lda = p->lda,
        .ldb = p->ldb,
        .ldc = p->ldc,
        .stride_a = gt_problem_stride(p, GT_OPERAND_A),
        .stride_b = gt_problem_stride(p, GT_OPERAND_B),
        .stride_c = stride,
        .type = (int)p->type,
        .trans_a = p->trans_a,
        .trans_b = p->trans_b,
        .epilogue = p->epilogue,
        .wide = is_wide(p, operands, both->theirs),
        .alpha = operands->alpha,
        .beta = operands->beta,
        .of_sums = bound.sums,
        .of_result = bound.result,
        .absolute = bound.absolute,
        .finding = (struct gt_served_finding *)(uintptr_t)both->findings,
    };
}

static bool launch(const struct gt_checking *c, void *function, unsigned x, unsigned y,
                   struct gt_served_args *args)
{
    void *parameters[] = {args};

    return c->session->driver.LaunchKernel(function, x, y, 1, BLOCK_THREADS, 1, 1, 0, c->stream,
                                           parameters, NULL) == 0;
}

/* The blocks that take so many pieces of work, one each thread at least. */
static unsigned blocks_for(int64_t pieces, unsigned most)
{
    const int64_t blocks = (pieces + BLOCK_THREADS - 1) / BLOCK_THREADS;

    return blocks < most ? (unsigned)blocks : most;
}

enum gt_verdict gt_check_on_device(const struct gt_checking *c, const struct gt_both *both)
{
    const struct gt_serve_driver *driver = &c->session->driver;
    const struct gt_checker *checker = c->entry->checker;
    const struct gt_problem *p = &c->entry->problem;
    struct gt_served_finding finding[GT_SERVED_LOOKED_AT];
    struct gt_served_args args;
    int64_t elements = p->m * p->n * p->batch;

    if (!checker->compare || elements >> GT_SERVED_PLACE)
        return GT_NOT_COMPARED;
    fill(&args, c, both);
    if (args.wide)
        elements = elements / (16 / gt_dtype_size(p->out)) + p->m * p->batch;
    if (driver->MemsetD32Async(both->findings, 0, sizeof(finding) / 4, c->stream) ||
        !launch(c, checker->compare, blocks_for(elements, checker->blocks), 1, &args) ||
        !launch(c, checker->exact, blocks_for((p->k + LEAST_STEPS - 1) / LEAST_STEPS, 16),
                GT_SERVED_LOOKED_AT, &args) ||
        driver->MemcpyDtoHAsync(finding, both->findings, sizeof(finding), c->stream) ||
        driver->StreamSynchronize(c->stream))
        return GT_NOT_COMPARED;
    for (int i = 0; i < GT_SERVED_LOOKED_AT; i++)
        if (finding[i].wrong)
            return GT_WRONG;
    return GT_RIGHT;
}
