/* stub_gemm.h - part of the stub driver: a GEMM on the CPU, with planted faults. */
#ifndef STUB_GEMM_H
#define STUB_GEMM_H

#include "stub_image.h"
#include "templates/common/args.h"
#include "templates/common/more.h"
#include "templates/proof/args.h"

/* The outcome of a launch. */
enum stub_outcome { STUB_DONE, STUB_ILLEGAL_ADDRESS = 700, STUB_MISALIGNED = 716, STUB_HUNG = -1 };

/* How the elements of an operand are read: as stored, rounded to TF32 or cut to its bits. */
enum stub_reading { STUB_READ_WHOLE, STUB_READ_ROUNDED, STUB_READ_CUT };

/* Runs the product as the source's defines and planted faults have it; more: NULL, or the factors
 * of a product of doubles; reading: of A and of B; launches: of this module so far. */
enum stub_outcome stub_gemm(const char *source, const struct stub_faults *faults,
                            const struct gt_args *args, const struct gt_more *more,
                            const enum stub_reading reading[2], unsigned long launches);

/* The float64 reference (templates/proof/reference.cu, of doubles reference_double.cu) for a grid.
 */
void stub_reference(const struct gt_reference_args *args, const unsigned grid[3]);

#endif
