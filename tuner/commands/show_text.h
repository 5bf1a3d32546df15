/* show_text.h - the parts of what tune show prints of a candidate, as text. */
#ifndef GT_SHOW_TEXT_H
#define GT_SHOW_TEXT_H

#include <stdio.h>

#include "cuda/compile.h"
#include "kernel/kernel.h"

/* Prints parameters and derived values.  slots: of gt_candidate_slots. */
void gt_show_params(FILE *out, const struct gt_candidate *candidate, const int64_t *slots);

/* Prints the constraints of one kind with their verdicts; *broken: how many do not hold. */
int gt_show_constraints(FILE *out, const struct gt_candidate *candidate, bool bets,
                        const int64_t *slots, int *broken, struct gt_err *err);

void gt_show_geometry(FILE *out, const struct gt_geometry *geometry);
void gt_show_maps(FILE *out, const struct gt_kernel *kernel, const struct gt_geometry *geometry);

/* Prints the compiler's figures, and the time that a model expects; the occupancy is that of the
 * first launch. */
void gt_show_binary(FILE *out, const struct gt_candidate *candidate,
                    const struct gt_geometry *geometry, const struct gt_binary *binary);

#endif
