/* numbers.h - test: elements of every type as numbers, by the definition of their formats and by
 * nothing that the templates use. */
#ifndef GT_EMU_NUMBERS_H
#define GT_EMU_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "gemmtune.h"

/* A binary floating-point format; an exponent field of 0 is zero or subnormal. */
struct gt_emu_format {
    int exponent, mantissa; /* bits */
    bool infinite;          /* overflow becomes infinity, else, and infinity too, the greatest */
    bool dense;             /* of the largest exponent field only the last mantissa is NaN */
};

/* NULL for the integer types, and for e2m1.  The functions of a pattern below are for formats of up
 * to 32 bits; a double is what this machine has. */
const struct gt_emu_format *gt_emu_format(enum gt_dtype type);

unsigned gt_emu_sign_bit(const struct gt_emu_format *format);
unsigned gt_emu_greatest(const struct gt_emu_format *format); /* pattern of the greatest number */

/* What the pattern of a magnitude means, were there numbers beyond the greatest. */
double gt_emu_magnitude(const struct gt_emu_format *format, unsigned magnitude);

/* Element `at` of an array; NaN for every pattern that is one. */
double gt_emu_get(enum gt_dtype type, const void *base, int64_t at);

/* Stores a number, infinity or NaN that the type has. */
void gt_emu_set(enum gt_dtype type, void *base, int64_t at, double number);

/* A factor of a scale, as it is stored; what is stored is a power of two. */
double gt_emu_factor_get(enum gt_scale_type type, const void *base, int64_t at);
void gt_emu_factor_set(enum gt_scale_type type, void *base, int64_t at, int power);

/* The number of the type nearest to `number`, ties to even; beyond the greatest, and of infinities
 * and NaN, what types.cuh says. */
double gt_emu_round(enum gt_dtype type, double number);

/* The TF32 number nearest to a float, ties to even, as TMA rounds; infinities and NaN stay. */
float gt_emu_tf32(float number);

/* The byte that, repeated, is NaN in each floating-point type and a number far from the operands'
 * in the integer types. */
int gt_emu_poison(enum gt_dtype type);

/* What wgmma, and mma.sync of sm_89, add up of products of 8-bit floats: sum and products are
 * aligned to the largest of them and cut off behind 13 bits, and so is the result (DeepSeek-V3,
 * arXiv 2412.19437, section 3.3.2).  (mma.sync of an H200 has FP32's error.) */
float gt_emu_f8_sum(float sum, const double *products, int count);

#endif
