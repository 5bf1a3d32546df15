/* verify.h - stage: proves that a candidate's results are right.  No time is recorded without a
 * proof.
 *
 * Checks are enqueued after the launches that they judge; after gt_proof_fetch the verdict is read.
 * 1. Results, workspace and guards are poisoned before every candidate; inputs must not change.
 * 2. Integers: equal to the exact product, on small ragged shapes and on the problem itself. For
 *    TF32 the operands are the floats next to integers, so that a kernel must round them.
 * 3. Normal reals: every element finite and within gt_verify_bound; for FP32 arithmetic
 *    |d-ref| <= (2 sqrt(k) + 4) u (|A||B|) + u |ref|, where u is gt_verify_unit.
 * 4. Repeated launches agree in every bit, unless the kernel is declared nondeterministic.
 * 5. The same checks again after timing.
 * This uses resident.c, and bench.c uses this. */
#ifndef GT_VERIFY_H
#define GT_VERIFY_H

#include "kernel/kernel.h"
#include "problem/trial.h"
#include "proof/resident.h"

/* A candidate's geometry for each small case that its point serves. */
struct gt_cases {
    struct gt_geometry geometry[GT_CASES];
    unsigned served; /* bit i: case i */
};
void gt_verify_prepare(const struct gt_resident *resident, const struct gt_candidate *candidate,
                       struct gt_cases *cases);

/* Enqueues the candidate for its small cases.  The module keeps the geometry of the last case. */
int gt_verify_run_cases(struct gt_resident *resident, struct gt_module *module,
                        const struct gt_cases *cases, struct gt_err *err);

/* Enqueues the checks of the integer product of the whole problem, which is in result[0]. */
int gt_verify_check_whole(const struct gt_resident *resident, struct gt_err *err);

/* Enqueues the checks of result[0 .. results) against the float64 reference, against each other and
 * of their guards.  slack: an absolute error that is allowed beside gt_verify_bound. */
int gt_verify_check_real(const struct gt_resident *resident, int results, double slack,
                         struct gt_err *err);

/* Enqueues the checks of the workspace's guard and of the inputs. */
int gt_verify_check_inputs(struct gt_resident *resident, struct gt_err *err);
int gt_verify_check_workspace(const struct gt_resident *resident, struct gt_err *err);

/* Judge the findings in the order of the list above.  The first finding sets trial->status and
 * detail; without one they do not change.  gt_verify_judge_real also sets err_u.  These functions
 * read slots that were fetched, and download single elements for the sentence. */
int gt_verify_judge_cases(const struct gt_resident *resident, const struct gt_cases *cases,
                          struct gt_trial *trial, struct gt_err *err);
int gt_verify_judge_real(const struct gt_resident *resident, int results, bool deterministic,
                         struct gt_trial *trial, struct gt_err *err);

/* Sets the status oob_write if the inputs or the workspace's guard were written to; *damaged:
 * whether the inputs were. */
void gt_verify_judge_inputs(const struct gt_resident *resident, struct gt_trial *trial,
                            bool *damaged);

/* Whether the references are unchanged; if not, a verdict against them is void.  Waits for the
 * device. */
int gt_verify_reference_intact(const struct gt_resident *resident, bool *intact,
                               struct gt_err *err);

/* The error that a right result may have, from the problem's accuracy, accumulator and types:
 * |d-ref| <= tolerance (|A||B|) + relative |ref| + absolute. */
struct gt_verify_bound {
    double tolerance, relative, absolute;
};
void gt_verify_bound(const struct gt_problem *problem, struct gt_verify_bound *bound);

/* The unit of errors, u: 2^-24, the unit roundoff of float, or 2^-53 where the sums are doubles. */
double gt_verify_unit(const struct gt_problem *problem);

#define GT_VERIFY_CLOCK_SLOT (GT_PROOF_SLOTS - 1) /* only the stage of timing uses it */

#endif
