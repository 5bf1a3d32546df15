/* check.c - runs a served product and cuBLAS's, and has them compared; see check.h.
 *
 * The winner is wrong if an element of it is off by more than its accuracy allows while cuBLAS's is
 * not. The bound is twice as wide as that of the proof (tuner/proof/verify_bound.c), which the
 * kernel has already passed.  So a check looks for what a proof cannot find, such as a driver that
 * computes something else. */
#include "serve/check.h"

#include <math.h>

#include "problem/problem.h"

#define FINDINGS 4096               /* bytes before cuBLAS's result, in the same piece of memory */
#define KEPT     ((size_t)64 << 20) /* bytes that are kept for the next check */

void gt_check_bound(const struct gt_problem *p, struct gt_check_bound *bound)
{
    static const struct gt_check_bound rounding[] = {
        [GT_F16] = {0, 0x1p-10, 0x1p-24}, [GT_BF16] = {0, 0x1p-7, 0x1p-24},
        [GT_E4M3] = {0, 0x1p-3, 0x1p-9},  [GT_E5M2] = {0, 0x1p-2, 0x1p-16},
        [GT_F32] = {0, 0x1p-22, 0x1p-24}, [GT_S32] = {0, 0, 0},
    };
    const double root = sqrt(p->k > 1 ? (double)p->k : 1);

    *bound = rounding[p->out];
    if (p->type == GT_S8) /* sums of integers are exact */
        return;
    bound->sums = 4 * (root + 8) * 0x1p-24;
    if (p->accuracy >= GT_ACCURACY_TF32)
        bound->sums *= 4;
    if (p->type == GT_TF32)
        bound->sums += 2 * 0x1p-10;
    if (p->type == GT_E4M3 || p->type == GT_E5M2)
        bound->sums += (16 + root / 8) * 0x1p-12;
}

/* ---- memory ---- */

/* Takes the memory that was kept, or allocates some; *bytes becomes its size.  0: there is none. */
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
    return gt_serve_run(c->session, c->entry, c->stream, c->operands, NULL) ? GT_PASS_REFUSED
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

/* Copies what the products overwrite: C where it is D, and what lies between the rows of D, which
 * cuBLAS's result brings back. */
static bool save(const struct gt_checking *c, struct gt_both *both)
{
    const struct gt_problem *p = &c->entry->problem;
    const bool dense = bytes_of(c) == p->m * p->n * p->batch * gt_dtype_size(p->out);

    if (in_place(c))
        return copy(c, both->before, c->operands->d) && copy(c, both->theirs, c->operands->d);
    if (c->operands->beta != 0)
        both->before = (uint64_t)(uintptr_t)c->operands->c;
    return dense || copy(c, both->theirs, c->operands->d);
}

/* Runs cuBLAS's product beside D, and ours in D; *comparable: cuBLAS's is there. */
static enum gt_reason run_both(const struct gt_checking *c, struct gt_both *both, bool *comparable)
{
    void *const theirs = (void *)(uintptr_t)both->theirs;

    *comparable =
        save(c, both) &&
        c->reference->run(c->reference, in_place(c) ? theirs : c->gemm->c, theirs) == GT_BLAS_OK;
    return run_ours(c);
}

/* ---- the comparison ---- */

static void count(const struct gt_checking *c, enum gt_compared compared)
{
    atomic_fetch_add_explicit(&c->session->compared[compared], 1, memory_order_relaxed);
}

static enum gt_verdict judge(const struct gt_checking *c, const struct gt_both *both)
{
    enum gt_compared compared = GT_COMPARED_ON_DEVICE;
    enum gt_verdict verdict = gt_check_on_device(c, both);

    if (verdict == GT_NOT_COMPARED) {
        compared = GT_COMPARED_ON_HOST;
        verdict = gt_check_on_host(c, both);
    }
    count(c, verdict == GT_NOT_COMPARED ? GT_COMPARED_NOT : compared);
    return verdict;
}

/* Gives D back to cuBLAS, and the problem. */
static void give_back(const struct gt_checking *c, const struct gt_both *both)
{
    char text[GT_PROBLEM_TEXT_MAX];

    c->session->driver.MemcpyDtoDAsync((uint64_t)(uintptr_t)c->operands->d, both->theirs,
                                       (size_t)bytes_of(c), c->stream);
    gt_problem_format(&c->entry->problem, text);
    gt_say_once(GT_SAID_DIFFERED, "the result of %s differed from cuBLAS's; cuBLAS has it again",
                text);
    atomic_store(&c->entry->reason, GT_PASS_DIFFERED);
    atomic_store_explicit(&c->entry->state, GT_ENTRY_PASS, memory_order_release);
}

static enum gt_reason check(const struct gt_checking *c)
{
    const struct gt_serve_driver *driver = &c->session->driver;
    struct gt_checker *checker = c->entry->checker;
    const size_t one = ((size_t)bytes_of(c) + 255) / 256 * 256;
    size_t bytes = FINDINGS + (in_place(c) ? 2 * one : one);
    const uint64_t memory = checker ? take(driver, checker, &bytes) : 0;
    struct gt_both both = {memory, memory + FINDINGS, 0};
    enum gt_verdict verdict = GT_NOT_COMPARED;
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
    if (verdict == GT_WRONG)
        give_back(c, &both);
    if (verdict != GT_RIGHT) /* the memory is used again */
        driver->StreamSynchronize(c->stream);
    put(driver, checker, memory, bytes);
    return reason;
}

bool gt_check_due(const struct gt_session *session, const struct gt_entry *entry)
{
    const uint64_t served = atomic_load_explicit(&entry->count[GT_SERVED], memory_order_relaxed);

    return served % (uint64_t)session->policy.check == 0;
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
