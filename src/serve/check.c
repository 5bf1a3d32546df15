/* check.c - runs a served product and cuBLAS's product, and compares the results; see check.h.
 *
 * The winner is wrong if an element of its result is off by more than its accuracy allows, while
 * cuBLAS's element is not.  The bound is twice as wide as that of the proof (tuner/proof/verify.c),
 * which the kernel has already passed.  So a check looks for errors that a proof cannot find, such
 * as a driver that computes something else. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cuda/cache.h"
#include "cuda/compile.h"
#include "cuda/sources.h"
#include "kernel/kernel.h"
#include "problem/problem.h"
#include "serve/check.h"
#include "templates/proof/args.h"

#define FINDINGS      4096 /* bytes before cuBLAS's result, in the same piece of memory */
#define KEPT          ((size_t)64 << 20) /* most bytes that are kept for the next check */
#define WORST         16                 /* elements that the host checks against the exact value */
#define LEAST_STEPS   4                  /* least steps along k that a thread takes */
#define BLOCK_THREADS 256

/* Allowed error of a result, in three parts: relative to |alpha||A||B| + |beta C| + |bias|,
 * relative to the exact result, and absolute. */
struct bound {
    double sums, result, absolute;
};

static void find_bound(const struct gt_problem *p, struct bound *bound)
{
    const struct gt_type *out = gt_type_of(p->out);
    const double root = sqrt(p->k > 1 ? (double)p->k : 1);

    *bound = (struct bound){0, 0, 0};
    if (p->out == GT_S32) /* sums of integers are exact */
        return;
    bound->result = (p->out == GT_F32 ? 4 : 2) * out->unit;
    bound->absolute = fmax(2 * out->absolute, 0x1p-24);
    if (p->type == GT_S8)
        return;
    bound->sums = 4 * (root + 8) * 0x1p-24;
    if (p->accuracy >= GT_ACCURACY_TF32)
        bound->sums *= 4;
    if (p->type == GT_TF32)
        bound->sums += 2 * 0x1p-10;
    if (gt_type_f8(p->type))
        bound->sums += (16 + root / 8) * 0x1p-12;
}

/* The state of checking in a context: its kernels, and the memory of the last check. */
struct gt_checker {
    void *compare, *exact; /* CUfunction; NULL: results are compared on the host */
    unsigned blocks;       /* number of blocks that fill the device */
    pthread_mutex_t lock;
    uint64_t kept; /* memory that no check uses; 0: none */
    size_t kept_bytes;
};

/* The memory of both results of a product.  The served result is in D. */
struct both {
    uint64_t findings; /* room for the findings of the kernels */
    uint64_t theirs;   /* cuBLAS's D */
    uint64_t before;   /* copy of C; 0: beta is 0 */
};

enum verdict { RIGHT, WRONG, NOT_COMPARED };

/* ---- memory ---- */

/* Takes the kept memory, or allocates memory; *bytes becomes its size.  0: there is none. */
static uint64_t take(const struct gt_serve_driver *driver, struct gt_checker *checker,
                     size_t *bytes)
{
    uint64_t taken = 0;

    pthread_mutex_lock(&checker->lock);
    if (checker->kept_bytes >= *bytes) {
        taken = checker->kept;
        *bytes = checker->kept_bytes;
        checker->kept = checker->kept_bytes = 0;
    }
    pthread_mutex_unlock(&checker->lock);
    return taken || driver->MemAlloc(&taken, *bytes) == 0 ? taken : 0;
}

/* Keeps the memory, or frees it. */
static void put(const struct gt_serve_driver *driver, struct gt_checker *checker, uint64_t memory,
                size_t bytes)
{
    uint64_t unused = memory;

    pthread_mutex_lock(&checker->lock);
    if (bytes <= KEPT && bytes > checker->kept_bytes) {
        unused = checker->kept;
        checker->kept = memory;
        checker->kept_bytes = bytes;
    }
    pthread_mutex_unlock(&checker->lock);
    if (unused)
        driver->MemFree(unused);
}

/* ---- both products ---- */

static enum gt_reason run_ours(const struct gt_checking *c)
{
    return gt_workspace_run(&c->session->workspaces, c->entry, c->stream, c->operands, NULL)
               ? GT_PASS_REFUSED
               : GT_SERVED;
}

static int64_t bytes_of(const struct gt_checking *c)
{
    return gt_problem_bytes(&c->entry->problem, GT_OPERAND_C);
}

static bool in_place(const struct gt_checking *c)
{
    return c->operands->beta != 0 && c->gemm->c == c->gemm->d;
}

static bool copy(const struct gt_checking *c, uint64_t to, const void *from)
{
    return c->session->driver.MemcpyDtoDAsync(to, (uint64_t)(uintptr_t)from, (size_t)bytes_of(c),
                                              c->stream) == 0;
}

/* Copies the bytes that the products overwrite: C if it is D, and the bytes between the rows of D,
 * which come back with cuBLAS's result. */
static bool save(const struct gt_checking *c, struct both *both)
{
    const struct gt_problem *p = &c->entry->problem;
    const bool dense = bytes_of(c) == p->m * p->n * p->batch * gt_dtype_size(p->out);

    if (in_place(c))
        return copy(c, both->before, c->operands->d) && copy(c, both->theirs, c->operands->d);
    if (c->operands->beta != 0)
        both->before = (uint64_t)(uintptr_t)c->operands->c;
    return dense || copy(c, both->theirs, c->operands->d);
}

/* Runs cuBLAS's product into memory beside D, and the served product into D; *comparable: cuBLAS's
 * result is there. */
static enum gt_reason run_both(const struct gt_checking *c, struct both *both, bool *comparable)
{
    void *const theirs = (void *)(uintptr_t)both->theirs;

    *comparable =
        save(c, both) &&
        c->reference->run(c->reference, in_place(c) ? theirs : c->gemm->c, theirs) == GT_BLAS_OK;
    return run_ours(c);
}

/* ---- the comparison on the host, in one thread, which takes a hundred times as long ---- */

/* The copies on the host; all malloc'ed. */
struct host {
    void *a, *b, *before, *ours, *theirs;
};

/* Downloads both results and the operands, and waits for them. */
static bool download(const struct gt_checking *c, const struct both *both, struct host *host)
{
    const struct gt_serve_driver *driver = &c->session->driver;
    const struct gt_problem *p = &c->entry->problem;
    const struct {
        void **to;
        uint64_t from;
        enum gt_operand operand;
    } all[] = {
        {&host->a, (uint64_t)(uintptr_t)c->operands->a, GT_OPERAND_A},
        {&host->b, (uint64_t)(uintptr_t)c->operands->b, GT_OPERAND_B},
        {&host->ours, (uint64_t)(uintptr_t)c->operands->d, GT_OPERAND_C},
        {&host->theirs, both->theirs, GT_OPERAND_C},
        {&host->before, both->before, GT_OPERAND_C},
    };

    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        const size_t bytes = (size_t)gt_problem_bytes(p, all[i].operand);

        if (!all[i].from)
            continue;
        *all[i].to = malloc(bytes ? bytes : 1);
        if (!*all[i].to || driver->MemcpyDtoHAsync(*all[i].to, all[i].from, bytes, c->stream))
            return false;
    }
    return driver->StreamSynchronize(c->stream) == 0;
}

/* An element that is checked against the exact value. */
struct worst {
    double difference;
    int64_t matrix, row, column;
};

/* The place of an element of D. */
static int64_t place_of(const struct gt_problem *p, const struct worst *at)
{
    return at->matrix * gt_problem_stride(p, GT_OPERAND_C) + at->row * p->ldc + at->column;
}

/* Element `at` of a matrix, of whole bytes.  A pattern beyond the type's largest number is an
 * infinity, or NaN. */
static double number(const void *from, int64_t at, enum gt_dtype type)
{
    const int bits = gt_dtype_bits(type);
    uint64_t word = 0, fraction, exponent;
    int fractions, least; /* least: the exponent of subnormal numbers */
    double value;

    memcpy(&word, (const char *)from + bits / 8 * at, (size_t)bits / 8);
    if (gt_type_integer(type))
        return (double)((int64_t)(word << (64 - bits)) >> (64 - bits));
    fractions = gt_type_fraction(type);
    least = 2 - (1 << (bits - fractions - 2)) - fractions;
    fraction = word & ((UINT64_C(1) << fractions) - 1);
    exponent = word << (65 - bits) >> (65 - bits) >> fractions;
    value = ldexp((double)(fraction + (exponent ? UINT64_C(1) << fractions : 0)),
                  least + (int)exponent - (exponent != 0));
    if (value > gt_type_of(type)->largest)
        value = fraction ? (double)NAN : (double)INFINITY;
    return word >> (bits - 1) ? -value : value;
}

/* Computes the element without its epilogue, and the sum of |a||b|. */
static double exact(const struct gt_checking *c, const struct host *host, const struct worst *at,
                    double *sums)
{
    const struct gt_problem *p = &c->entry->problem;
    const double alpha = (double)c->operands->alpha, beta = (double)c->operands->beta;
    double sum = 0, result;

    *sums = 0;
    for (int64_t k = 0; k < p->k; k++) {
        const int64_t ia = p->trans_a ? k * p->lda + at->row : at->row * p->lda + k;
        const int64_t ib = p->trans_b ? at->column * p->ldb + k : k * p->ldb + at->column;
        const double a =
            number(host->a, at->matrix * gt_problem_stride(p, GT_OPERAND_A) + ia, p->type);
        const double b =
            number(host->b, at->matrix * gt_problem_stride(p, GT_OPERAND_B) + ib, p->type);

        sum += a * b;
        *sums += fabs(a * b);
    }
    *sums *= fabs(alpha);
    result = beta != 0 ? beta * number(host->before, place_of(p, at), p->out) : 0;
    *sums += fabs(result);
    return alpha * sum + result;
}

/* Whether the served result is wrong and cuBLAS's is right.  With an epilogue only the two results
 * are compared, because the value before the epilogue is not known. */
static bool wrong(const struct gt_checking *c, const struct host *host, const struct bound *bound,
                  const struct worst *at)
{
    const struct gt_problem *p = &c->entry->problem;
    const double ours = number(host->ours, place_of(p, at), p->out);
    const double theirs = number(host->theirs, place_of(p, at), p->out);
    double sums, value, allowed;

    value = exact(c, host, at, &sums);
    if (!isfinite(value) || !isfinite(sums))
        return false;
    allowed = bound->sums * sums + bound->result * fabs(value) + bound->absolute;
    if (p->epilogue)
        return !(fabs(ours - theirs) <= 2 * allowed + bound->result * fabs(theirs));
    return !(fabs(ours - value) <= allowed) && fabs(theirs - value) <= allowed;
}

static void keep_worst(struct worst worst[WORST], const struct worst *found)
{
    int at = WORST;

    while (at > 0 && worst[at - 1].difference < found->difference)
        at--;
    if (at == WORST)
        return;
    memmove(&worst[at + 1], &worst[at], (size_t)(WORST - 1 - at) * sizeof(*worst));
    worst[at] = *found;
}

/* The difference of the two results beyond the rounding of both; 0 where cuBLAS's result is no
 * number. */
static double difference(double ours, double theirs, double of_result)
{
    if (!isfinite(theirs))
        return 0;
    return isfinite(ours) ? fabs(ours - theirs) - of_result * fabs(theirs) : (double)INFINITY;
}

static void find_worst(const struct gt_problem *p, const struct host *host, double of_result,
                       struct worst worst[WORST])
{
    for (int64_t matrix = 0; matrix < p->batch; matrix++)
        for (int64_t row = 0; row < p->m; row++)
            for (int64_t column = 0; column < p->n; column++) {
                struct worst found = {0, matrix, row, column};
                const int64_t at = place_of(p, &found);

                found.difference = difference(number(host->ours, at, p->out),
                                              number(host->theirs, at, p->out), of_result);
                if (found.difference > worst[WORST - 1].difference)
                    keep_worst(worst, &found);
            }
}

static enum verdict find_wrong(const struct gt_checking *c, const struct host *host)
{
    struct worst worst[WORST] = {{0, 0, 0, 0}};
    struct bound bound;

    find_bound(&c->entry->problem, &bound);
    find_worst(&c->entry->problem, host, bound.result, worst);
    for (int i = 0; i < WORST && worst[i].difference > 0; i++)
        if (wrong(c, host, &bound, &worst[i]))
            return WRONG;
    return RIGHT;
}

static enum verdict compare_on_host(const struct gt_checking *c, const struct both *both)
{
    struct host host = {NULL, NULL, NULL, NULL, NULL};
    enum verdict verdict = NOT_COMPARED;

    if (download(c, both, &host))
        verdict = find_wrong(c, &host);
    free(host.a);
    free(host.b);
    free(host.before);
    free(host.ours);
    free(host.theirs);
    return verdict;
}

/* ---- the comparison on the device ----
 *
 * Two launches of templates/proof/served.cu on the program's stream: the first reads both results
 * and finds the elements that differ most, the second computes these elements in float64. */

/* Whether the rows of both results begin at multiples of 16 bytes: the served result in D, and
 * cuBLAS's. */
static bool is_wide(const struct gt_problem *p, const struct gt_operands *operands, uint64_t theirs)
{
    const int64_t size = gt_dtype_size(p->out);

    return ((uint64_t)(uintptr_t)operands->d | theirs | (uint64_t)(p->ldc * size) |
            (uint64_t)(gt_problem_stride(p, GT_OPERAND_C) * size)) %
               16 ==
           0;
}

static void fill(struct gt_served_args *args, const struct gt_checking *c, const struct both *both)
{
    const struct gt_problem *p = &c->entry->problem;
    const struct gt_operands *operands = c->operands;
    const int64_t stride = gt_problem_stride(p, GT_OPERAND_C);
    struct bound bound;

    find_bound(p, &bound);
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

/* The number of blocks for so many pieces of work, at least one piece for each thread. */
static unsigned blocks_for(int64_t pieces, unsigned most)
{
    const int64_t blocks = (pieces + BLOCK_THREADS - 1) / BLOCK_THREADS;

    return blocks < most ? (unsigned)blocks : most;
}

static bool launch(const struct gt_checking *c, void *function, unsigned x, unsigned y,
                   struct gt_served_args *args)
{
    void *parameters[] = {args};

    return c->session->driver.LaunchKernel(function, x, y, 1, BLOCK_THREADS, 1, 1, 0, c->stream,
                                           parameters, NULL) == 0;
}

static enum verdict compare_on_device(const struct gt_checking *c, const struct both *both)
{
    const struct gt_serve_driver *driver = &c->session->driver;
    const struct gt_checker *checker = c->entry->checker;
    const struct gt_problem *p = &c->entry->problem;
    struct gt_served_finding finding[GT_SERVED_LOOKED_AT];
    struct gt_served_args args;
    int64_t elements = p->m * p->n * p->batch;

    if (!checker->compare || elements >> GT_SERVED_PLACE)
        return NOT_COMPARED;
    fill(&args, c, both);
    if (args.wide)
        elements = elements / (16 / gt_dtype_size(p->out)) + p->m * p->batch;
    if (driver->MemsetD32Async(both->findings, 0, sizeof(finding) / 4, c->stream) ||
        !launch(c, checker->compare, blocks_for(elements, checker->blocks), 1, &args) ||
        !launch(c, checker->exact, blocks_for((p->k + LEAST_STEPS - 1) / LEAST_STEPS, 16),
                GT_SERVED_LOOKED_AT, &args) ||
        driver->MemcpyDtoHAsync(finding, both->findings, sizeof(finding), c->stream) ||
        driver->StreamSynchronize(c->stream))
        return NOT_COMPARED;
    for (int i = 0; i < GT_SERVED_LOOKED_AT; i++)
        if (finding[i].wrong)
            return WRONG;
    return RIGHT;
}

/* ---- a check ---- */

static void count(const struct gt_checking *c, enum gt_compared compared)
{
    atomic_fetch_add_explicit(&c->session->compared[compared], 1, memory_order_relaxed);
}

static enum verdict judge(const struct gt_checking *c, const struct both *both)
{
    enum gt_compared compared = GT_COMPARED_ON_DEVICE;
    enum verdict verdict = compare_on_device(c, both);

    if (verdict == NOT_COMPARED) {
        compared = GT_COMPARED_ON_HOST;
        verdict = compare_on_host(c, both);
    }
    count(c, verdict == NOT_COMPARED ? GT_COMPARED_NOT : compared);
    return verdict;
}

/* Copies cuBLAS's result to D, and leaves the problem to cuBLAS from now on. */
static void give_back(const struct gt_checking *c, const struct both *both)
{
    char text[GT_PROBLEM_TEXT_MAX];

    c->session->driver.MemcpyDtoDAsync((uint64_t)(uintptr_t)c->operands->d, both->theirs,
                                       (size_t)bytes_of(c), c->stream);
    gt_problem_format(&c->entry->problem, text);
    gt_say_once(c->session, GT_SAID_DIFFERED,
                "the result of %s differed from cuBLAS's; cuBLAS has it again", text);
    gt_book_decide(c->entry, GT_PASS_DIFFERED);
}

static enum gt_reason check(const struct gt_checking *c)
{
    const struct gt_serve_driver *driver = &c->session->driver;
    struct gt_checker *checker = c->entry->checker;
    const size_t one = ((size_t)bytes_of(c) + 255) / 256 * 256;
    size_t bytes = FINDINGS + (in_place(c) ? 2 * one : one);
    const uint64_t memory = checker ? take(driver, checker, &bytes) : 0;
    struct both both = {memory, memory + FINDINGS, 0};
    enum verdict verdict = NOT_COMPARED;
    enum gt_reason reason;
    bool comparable;

    if (!memory) {
        count(c, GT_COMPARED_NOT);
        return run_ours(c);
    }
    if (in_place(c))
        both.before = both.theirs + one;
    reason = run_both(c, &both, &comparable);
    if (!reason && !comparable)
        count(c, GT_COMPARED_NOT);
    else if (!reason)
        verdict = judge(c, &both);
    if (verdict == WRONG)
        give_back(c, &both);
    if (verdict != RIGHT) /* the memory is used again */
        driver->StreamSynchronize(c->stream);
    put(driver, checker, memory, bytes);
    return reason;
}

enum gt_reason gt_check(const struct gt_checking *c)
{
    const struct gt_serve_driver *driver = &c->session->driver;
    int mode = GT_CAPTURE_RELAXED;
    enum gt_reason reason;

    driver->ExchangeCaptureMode(&mode);
    reason = check(c);
    driver->ExchangeCaptureMode(&mode);
    return reason;
}

/* ---- the kernels ---- */

static const struct gt_program_sources sources = {
    .name = "templates/proof/served.cu",
    .file = {"common/args.h", "common/platform.cuh", "common/types.cuh", "proof/args.h",
             "proof/device.cuh", "proof/served.cu"},
};

static int compile(struct gt_binary *binary, int arch, struct gt_nvrtc *nvrtc, struct gt_err *err)
{
    char *data = NULL, *cubins = NULL;
    int rc = gt_data_dir(&data, err);

    gt_cache_dir(&cubins, NULL); /* without a cache the kernels are compiled each time */
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
