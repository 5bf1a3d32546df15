/* check.c - compares served products with cuBLAS's; see check.h.
 *
 * Both results are compared element by element.  For the elements that differ most, the exact value
 * is computed here in float64.  The winner is wrong if it is off by more than its accuracy allows
 * while cuBLAS is not.
 *
 * The bound is twice as wide as that of the proof (tuner/proof/verify_bound.c), which the kernel
 * has already passed.  So this check looks for what a proof cannot find, such as a driver that
 * computes something else. */
#include "serve/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "problem/problem.h"

#define WORST 16 /* elements that are checked against the exact value */

/* The copies on the host; all malloc'ed. */
struct host {
    void *a, *b, *before, *ours, *theirs;
};

struct worst {
    double difference;
    int64_t matrix, row, column;
};

/* ---- numbers ---- */

static double half(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, sign = bits >> 15;
    const double fraction = bits & 1023;
    double value;

    if (exponent == 31)
        value = fraction != 0 ? (double)NAN : (double)INFINITY;
    else
        value = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    return sign ? -value : value;
}

static bool readable(enum gt_dtype type)
{
    return type != GT_E4M3 && type != GT_E5M2;
}

static double number(const void *from, int64_t at, enum gt_dtype type)
{
    uint32_t word;
    uint16_t bits;
    int32_t whole;
    float value;

    switch (type) {
    case GT_F16:
        memcpy(&bits, (const char *)from + 2 * at, 2);
        return half(bits);
    case GT_BF16:
        memcpy(&bits, (const char *)from + 2 * at, 2);
        word = (uint32_t)bits << 16;
        memcpy(&value, &word, 4);
        return value;
    case GT_S8:
        return ((const signed char *)from)[at];
    case GT_S32:
        memcpy(&whole, (const char *)from + 4 * at, 4);
        return whole;
    default:
        memcpy(&value, (const char *)from + 4 * at, 4);
        return value;
    }
}

/* ---- the bound ---- */

/* The allowed error, relative to |A||B| and to the result. */
static void bound(const struct gt_problem *p, double *sums, double *result)
{
    const double root = sqrt(p->k > 1 ? (double)p->k : 1);

    *sums = 4 * (root + 8) * 0x1p-24;
    if (p->accuracy >= GT_ACCURACY_TF32 && p->type != GT_S8)
        *sums *= 4;
    if (p->type == GT_TF32)
        *sums += 2 * 0x1p-10;
    *result = p->out == GT_F16 ? 0x1p-10 : p->out == GT_BF16 ? 0x1p-7 : 0x1p-22;
}

/* Computes the exact element and the sum of |a||b|. */
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
    result = alpha * sum;
    if (beta != 0)
        result += beta * number(host->before,
                                at->matrix * gt_problem_stride(p, GT_OPERAND_C) + at->row * p->ldc +
                                    at->column,
                                p->out);
    return result;
}

/* ---- the comparison ---- */

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

static void find_worst(const struct gt_problem *p, const struct host *host,
                       struct worst worst[WORST])
{
    for (int64_t matrix = 0; matrix < p->batch; matrix++)
        for (int64_t row = 0; row < p->m; row++)
            for (int64_t column = 0; column < p->n; column++) {
                const int64_t at =
                    matrix * gt_problem_stride(p, GT_OPERAND_C) + row * p->ldc + column;
                const double ours = number(host->ours, at, p->out);
                const double theirs = number(host->theirs, at, p->out);
                const struct worst found = {
                    isfinite(theirs) && !isfinite(ours) ? (double)INFINITY : fabs(ours - theirs),
                    matrix, row, column};

                if (found.difference > worst[WORST - 1].difference)
                    keep_worst(worst, &found);
            }
}

/* Whether our result is wrong and cuBLAS's is right.  With an epilogue only the two results are
 * compared, because the value before it is not known. */
static bool wrong(const struct gt_checking *c, const struct host *host, const struct worst *at)
{
    const struct gt_problem *p = &c->entry->problem;
    const int64_t place =
        at->matrix * gt_problem_stride(p, GT_OPERAND_C) + at->row * p->ldc + at->column;
    const double ours = number(host->ours, place, p->out);
    const double theirs = number(host->theirs, place, p->out);
    double sums, of_sums, of_result, value, allowed;

    bound(p, &of_sums, &of_result);
    value = exact(c, host, at, &sums);
    if (!isfinite(value) || !isfinite(sums))
        return false;
    allowed = of_sums * sums + of_result * fabs(value) + 0x1p-24;
    if (p->epilogue)
        return !(fabs(ours - theirs) <= 2 * allowed + of_result * fabs(theirs));
    return !(fabs(ours - value) <= allowed) && fabs(theirs - value) <= allowed;
}

static bool agrees(const struct gt_checking *c, const struct host *host)
{
    struct worst worst[WORST] = {{0, 0, 0, 0}};

    find_worst(&c->entry->problem, host, worst);
    for (int i = 0; i < WORST && worst[i].difference > 0; i++)
        if (wrong(c, host, &worst[i]))
            return false;
    return true;
}

/* ---- both products ---- */

static bool download(const struct gt_checking *c, void **to, const void *from, int64_t bytes)
{
    *to = malloc((size_t)(bytes ? bytes : 1));
    return *to && !c->session->driver.MemcpyDtoHAsync(*to, (uint64_t)(uintptr_t)from, (size_t)bytes,
                                                      c->stream);
}

/* Runs both products; cuBLAS's result goes to scratch, which holds a copy of D. */
static enum gt_reason run_both(const struct gt_checking *c, void *scratch, bool *comparable)
{
    const void *old = c->gemm->c == c->gemm->d ? scratch : c->gemm->c;
    struct gt_err err;

    *comparable = c->reference->run(c->reference, old, scratch) == GT_BLAS_OK;
    if (gt_serve_run(c->session, c->entry, c->stream, c->operands, &err))
        return GT_PASS_REFUSED;
    return GT_SERVED;
}

static enum gt_reason compare(const struct gt_checking *c, void *scratch, struct host *host)
{
    const struct gt_problem *p = &c->entry->problem;
    const struct gt_serve_driver *driver = &c->session->driver;
    const int64_t bytes = gt_problem_bytes(p, GT_OPERAND_C);
    const uint64_t d = (uint64_t)(uintptr_t)c->operands->d;
    const uint64_t copy = (uint64_t)(uintptr_t)scratch;
    bool comparable = false;
    enum gt_reason reason;
    char text[GT_PROBLEM_TEXT_MAX];

    if (driver->MemcpyDtoDAsync(copy, d, (size_t)bytes, c->stream) ||
        !download(c, &host->before, c->gemm->c ? c->gemm->c : c->gemm->d, bytes))
        return gt_serve_run(c->session, c->entry, c->stream, c->operands, NULL) ? GT_PASS_REFUSED
                                                                                : GT_SERVED;
    reason = run_both(c, scratch, &comparable);
    if (reason || !comparable || !download(c, &host->ours, c->operands->d, bytes) ||
        !download(c, &host->theirs, scratch, bytes) ||
        !download(c, &host->a, c->operands->a, gt_problem_bytes(p, GT_OPERAND_A)) ||
        !download(c, &host->b, c->operands->b, gt_problem_bytes(p, GT_OPERAND_B)) ||
        driver->StreamSynchronize(c->stream) || agrees(c, host))
        return reason;
    driver->MemcpyDtoDAsync(d, copy, (size_t)bytes, c->stream);
    driver->StreamSynchronize(c->stream);
    gt_problem_format(p, text);
    gt_say_once(GT_SAID_DIFFERED, "the result of %s differed from cuBLAS's; cuBLAS has it again",
                text);
    atomic_store(&c->entry->reason, GT_PASS_DIFFERED);
    atomic_store_explicit(&c->entry->state, GT_ENTRY_PASS, memory_order_release);
    return GT_SERVED;
}

bool gt_check_due(const struct gt_session *session, struct gt_entry *entry)
{
    const uint64_t served = atomic_load_explicit(&entry->count[GT_SERVED], memory_order_relaxed);

    return served % (uint64_t)session->policy.check == 0 && readable(entry->problem.type) &&
           readable(entry->problem.out);
}

static enum gt_reason check(const struct gt_checking *c)
{
    const size_t bytes = (size_t)gt_problem_bytes(&c->entry->problem, GT_OPERAND_C);
    const struct gt_serve_driver *driver = &c->session->driver;
    struct host host = {NULL, NULL, NULL, NULL, NULL};
    enum gt_reason reason;
    uint64_t scratch;

    if (driver->MemAlloc(&scratch, bytes))
        return gt_serve_run(c->session, c->entry, c->stream, c->operands, NULL) ? GT_PASS_REFUSED
                                                                                : GT_SERVED;
    reason = compare(c, (void *)(uintptr_t)scratch, &host);
    driver->StreamSynchronize(c->stream); /* before the memory is freed */
    driver->MemFree(scratch);
    free(host.a);
    free(host.b);
    free(host.before);
    free(host.ours);
    free(host.theirs);
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
