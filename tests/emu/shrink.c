/* shrink.c - test: a problem that is small enough for the emulator, in place of the one asked for
 * (shrink.h). */
#include "shrink.h"

#include "base/err.h"
#include "problem/problem.h"

#define MOST 3e8 /* multiply-adds of a problem, where no smaller one will do */

double gt_emu_multiply_adds(const struct gt_problem *problem)
{
    return (double)problem->m * (double)problem->n * (double)problem->k * (double)problem->batch;
}

/* Sizes of at least `modulus` that leave the same remainder by it, so that edges and alignment stay
 * those of the problem. */
static int64_t reduced(int64_t size, int64_t modulus)
{
    return size < 2 * modulus ? size : size % modulus + modulus;
}

/* The problem with smaller sizes; what a row or a matrix is longer than its contents stays by
 * `modulus` as well. */
static void reduce(struct gt_problem *to, const struct gt_problem *from, int64_t modulus)
{
    struct gt_problem packed = *from;

    gt_problem_pack(&packed);
    *to = *from;
    to->m = reduced(from->m, modulus);
    to->n = reduced(from->n, modulus);
    to->k = reduced(from->k, modulus);
    to->batch = from->batch < 2 ? from->batch : 2;
    gt_problem_pack(to);
    to->lda += (from->lda - packed.lda) % modulus;
    to->ldb += (from->ldb - packed.ldb) % modulus;
    to->ldc += (from->ldc - packed.ldc) % modulus;
    to->stride_a = from->stride_a ? to->lda * gt_problem_rows(to, GT_OPERAND_A) : 0;
    to->stride_b = from->stride_b ? to->ldb * gt_problem_rows(to, GT_OPERAND_B) : 0;
    to->stride_c = to->ldc * to->m;
}

/* Whether the candidate is valid for its problem and no larger than `most` multiply-adds. */
static bool fits_within(const struct gt_candidate *candidate, double most, gt_emu_check *check)
{
    int failed = 0;

    return gt_emu_multiply_adds(candidate->problem) <= most &&
           gt_problem_check(candidate->problem, NULL) == GT_OK &&
           gt_kernel_serves(candidate->kernel, candidate->problem, candidate->device) &&
           check(candidate, &failed, NULL) == GT_OK && failed < 0;
}

bool gt_emu_shrink(struct gt_candidate *candidate, struct gt_problem *problem,
                   const struct gt_problem *asked, gt_emu_check *check)
{
    *problem = *asked;
    if (fits_within(candidate, GT_EMU_ASKED, check))
        return true;
    for (int64_t modulus = 1024; modulus >= 16; modulus /= 2) {
        reduce(problem, asked, modulus);
        if (fits_within(candidate, GT_EMU_ASKED, check))
            return true;
    }
    for (int64_t modulus = 16; modulus <= 1024; modulus *= 2) {
        reduce(problem, asked, modulus);
        if (fits_within(candidate, MOST, check))
            return true;
    }
    *problem = *asked;
    return false;
}

int gt_emu_none_fits(const struct gt_candidate *candidate, struct gt_err *err)
{
    const struct gt_kernel *kernel = candidate->kernel;
    char why[GT_UNSERVED_MAX];
    int failed = -1;

    if (gt_unserved(why, "it", &kernel, 1, candidate->problem, candidate->device))
        return gt_err_set(err, GT_ERANGE, "kernel %s does not serve this problem: %s", kernel->name,
                          why);
    if (gt_candidate_possible(candidate, &failed, err))
        return GT_ERANGE;
    if (failed >= 0)
        return gt_err_set(err, GT_ERANGE, "the point is not valid here: \"%s\" does not hold: %s",
                          gt_expr_text(kernel->constraint[failed].expr),
                          kernel->constraint[failed].why);
    return gt_err_set(err, GT_ETOOBIG,
                      "the point is valid for no smaller problem like this one, and this one is "
                      "too large for the emulator");
}
