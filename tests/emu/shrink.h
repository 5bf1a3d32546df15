/* shrink.h - test: a problem that is small enough for the emulator, in place of the one asked for.
 */
#ifndef GT_EMU_SHRINK_H
#define GT_EMU_SHRINK_H

#include <stdbool.h>

#include "kernel/kernel.h"

#define GT_EMU_ASKED 4e6 /* multiply-adds of a problem that is run as it is */

/* What tells whether a candidate is valid: gt_candidate_valid, or gt_candidate_possible. */
typedef int gt_emu_check(const struct gt_candidate *candidate, int *failed, struct gt_err *err);

double gt_emu_multiply_adds(const struct gt_problem *problem);

/* Sets the candidate's problem to the one to run for the one asked: that one if it is small, else
 * the largest reduced one below GT_EMU_ASKED multiply-adds that the point is valid for, else the
 * smallest.  false: there is none, and *problem is the one asked.  candidate->problem must be
 * `problem`. */
bool gt_emu_shrink(struct gt_candidate *candidate, struct gt_problem *problem,
                   const struct gt_problem *asked, gt_emu_check *check);

/* The sentence for a candidate that is valid for no problem that the emulator could run. */
int gt_emu_none_fits(const struct gt_candidate *candidate, struct gt_err *err);

#endif
