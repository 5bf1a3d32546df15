/* verify.h - stage: is a candidate's result right?  Nothing is timed that these checks do not hold
 * for.
 *
 * Checks are enqueued behind the launches they judge; after gt_proof_fetch the verdict is read.
 * 1. Results, workspace and guards are poisoned before every candidate; inputs must not change.
 * 2. Integers: equal to the exact product, on small ragged shapes and on the problem itself.
 * 3. Normal reals: every element finite and within gt_verify_bound; for FP32 arithmetic
 *    |d-ref| <= (2 sqrt(k) + 4) u (|A||B|) + u |ref|.
 * 4. Repeated launches agree bit by bit, unless the candidate says that they need not.
 * 5. The same again after timing.
 * Between resident.c and bench.c. */
#ifndef GT_VERIFY_H
#define GT_VERIFY_H

#include "kernel/kernel.h"
#include "problem/trial.h"
#include "proof/resident.h"

/* Enqueues the candidate at every small case where its point is valid; sets the bits of those in
 * *ran.  The module keeps the geometry of the last one. */
int gt_verify_run_cases(struct gt_resident *resident, struct gt_module *module,
                        const struct gt_candidate *candidate, unsigned *ran, struct gt_err *err);

/* Enqueues the checks of the integer product of the whole problem, which lies in result[0]. */
int gt_verify_check_whole(const struct gt_resident *resident, struct gt_err *err);

/* Enqueues the checks of result[0 .. results) against the float64 reference, against each other and
 * of their guards. */
int gt_verify_check_real(const struct gt_resident *resident, int results, struct gt_err *err);

/* Enqueues the checks of the workspace's guard and of the inputs. */
int gt_verify_check_inputs(const struct gt_resident *resident, struct gt_err *err);
int gt_verify_check_workspace(const struct gt_resident *resident, struct gt_err *err);

/* What was found, in the order of the header's list: sets trial->status and detail at the first
 * finding, otherwise leaves them; judge_real also sets err_u.  They read fetched slots only, and
 * download single elements for the sentence. */
int gt_verify_judge_cases(const struct gt_resident *resident, unsigned ran, struct gt_trial *trial,
                          struct gt_err *err);
int gt_verify_judge_real(const struct gt_resident *resident, int results, bool deterministic,
                         struct gt_trial *trial, struct gt_err *err);

/* Whether the inputs or the workspace's guard were written to: oob_write, and *damaged. */
void gt_verify_judge_inputs(const struct gt_resident *resident, struct gt_trial *trial,
                            bool *damaged);

/* Whether someone wrote to the references, so that a verdict against them means nothing.  Waits. */
int gt_verify_reference_intact(const struct gt_resident *resident, bool *intact,
                               struct gt_err *err);

/* |d-ref| <= tolerance (|A||B|) + relative |ref| + absolute: how far a right result may be off by
 * what the problem allows in its accuracy, accumulator and types. */
struct gt_verify_bound {
    double tolerance, relative, absolute;
};
void gt_verify_bound(const struct gt_problem *problem, struct gt_verify_bound *bound);

/* Half of the spacing of a type's numbers: relative to a number and, where it is subnormal or an
 * integer, absolute. */
struct gt_rounding {
    double relative, absolute;
};
struct gt_rounding gt_verify_rounding(enum gt_dtype out);

#define GT_VERIFY_CLOCK_SLOT (GT_PROOF_SLOTS - 1) /* left to bench.c */

#endif
