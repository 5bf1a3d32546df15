/* check_host.c - compares a served product with cuBLAS's on the host, where the kernels of
 * check_device.c cannot be had; see check.h.  Copying the operands and computing 16 elements in one
 * thread takes a hundred times as long as the products. */
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

static double e4m3(unsigned bits)
{
    const int exponent = bits >> 3 & 15, fraction = bits & 7;
    const double value = exponent ? ldexp(8 + fraction, exponent - 10) : ldexp(fraction, -9);

    if ((bits & 127) == 127)
        return (double)NAN;
    return bits & 128 ? -value : value;
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
    case GT_E4M3:
        return e4m3(((const unsigned char *)from)[at]);
    case GT_E5M2: /* the upper half of an FP16 number */
        return half((uint16_t)(((const unsigned char *)from)[at] << 8));
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

/* ---- the exact element ---- */

/* The place of an element of D. */
static int64_t place_of(const struct gt_problem *p, const struct worst *at)
{
    return at->matrix * gt_problem_stride(p, GT_OPERAND_C) + at->row * p->ldc + at->column;
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

/* How far ours is off beyond what rounding the two results explains; 0 where cuBLAS has no number
 * either. */
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

/* Whether our result is wrong and cuBLAS's is right.  With an epilogue only the two results are
 * compared, because the value before it is not known. */
static bool wrong(const struct gt_checking *c, const struct host *host,
                  const struct gt_check_bound *bound, const struct worst *at)
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

static enum gt_verdict judge(const struct gt_checking *c, const struct host *host)
{
    struct worst worst[WORST] = {{0, 0, 0, 0}};
    struct gt_check_bound bound;

    gt_check_bound(&c->entry->problem, &bound);
    find_worst(&c->entry->problem, host, bound.result, worst);
    for (int i = 0; i < WORST && worst[i].difference > 0; i++)
        if (wrong(c, host, &bound, &worst[i]))
            return GT_WRONG;
    return GT_RIGHT;
}

/* Downloads what there is to compare, and waits for it. */
static bool download(const struct gt_checking *c, const struct gt_both *both, struct host *host)
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

enum gt_verdict gt_check_on_host(const struct gt_checking *c, const struct gt_both *both)
{
    struct host host = {NULL, NULL, NULL, NULL, NULL};
    enum gt_verdict verdict = GT_NOT_COMPARED;

    if (download(c, both, &host))
        verdict = judge(c, &host);
    free(host.a);
    free(host.b);
    free(host.before);
    free(host.ours);
    free(host.theirs);
    return verdict;
}
