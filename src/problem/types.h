/* types.h - vocabulary: what is known of each element type, in one table.
 *
 * A new type is a line of GT_DTYPE_MAP (gemmtune.h) and a row here; tables by type elsewhere are
 * made from these rows, or assert that none is missing. */
#ifndef GT_TYPES_H
#define GT_TYPES_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "gemmtune.h"

/* Parts of an element's kind. */
enum { GT_TYPE_INTEGER = 1, GT_TYPE_COMPLEX = 2 };

/* Which rate of a device profile bounds products of the type. */
enum gt_rate {
    GT_RATE_NONE,
    GT_RATE_TF32,
    GT_RATE_F16,
    GT_RATE_BF16,
    GT_RATE_F8,
    GT_RATE_S8,
    GT_RATE_F64,
    GT_RATE_COUNT
};

struct gt_type {
    const char *arithmetic; /* in sentences: "BF16" */
    unsigned char kind;     /* GT_TYPE_INTEGER, GT_TYPE_COMPLEX */
    unsigned char out, acc; /* enum gt_dtype: the defaults of D and of sums */
    unsigned char accuracy; /* enum gt_accuracy: the default */
    unsigned char rate;     /* enum gt_rate, of tensor cores */
    signed char cuda;       /* cudaDataType (library_types.h); -1: CUDA has none */
    signed char tma;        /* CUtensorMapDataType; -1: TMA cannot load it */
    double unit;     /* half the spacing of its numbers, relative: unit roundoff; 0: integers */
    double absolute; /* half the spacing next to 0, where it is wider than float32's: subnormals,
                        integers */
    double largest;  /* largest finite number of a component */
};

/* X(type, arithmetic, kind, out, acc, accuracy, rate, cuda, tma, unit, absolute, largest).
 * FP8: OCP 8-bit Floating Point Specification 1.0; e2m1: OCP Microscaling Formats 1.0.  TMA loads
 * TF32 as TFLOAT32, which rounds floats to TF32, while wgmma would cut off the lower bits; 8-bit
 * types travel as bytes. */
#define GT_TYPE_TABLE(X)                                                                         \
    X(F32, "FP32", 0, F32, F32, STRICT, TF32, 0, 7, 0x1p-24, 0, FLT_MAX)                         \
    X(TF32, "TF32", 0, F32, F32, TF32, TF32, 0, 11, 0x1p-24, 0, FLT_MAX)                         \
    X(F16, "FP16", 0, F16, F32, LOW, F16, 2, 6, 0x1p-11, 0x1p-25, 65504)                         \
    X(BF16, "BF16", 0, BF16, F32, LOW, BF16, 14, 9, 0x1p-8, 0, 0x1.fep+127)                      \
    X(E4M3, "FP8", 0, BF16, F32, LOW, F8, 28, 0, 0x1p-4, 0x1p-10, 448)                           \
    X(E5M2, "FP8", 0, BF16, F32, LOW, F8, 29, 0, 0x1p-3, 0x1p-17, 57344)                         \
    X(S8, "INT8", GT_TYPE_INTEGER, S32, S32, LOW, S8, 3, 0, 0, 0.5, 127)                         \
    X(S32, "INT32", GT_TYPE_INTEGER, S32, S32, LOW, NONE, 10, 3, 0, 0, INT32_MAX)                \
    X(F64, "FP64", 0, F64, F64, STRICT, F64, 1, 8, 0x1p-53, 0, DBL_MAX)                          \
    X(C64, "complex FP32", GT_TYPE_COMPLEX, C64, F32, STRICT, TF32, 4, 8, 0x1p-24, 0, FLT_MAX)   \
    X(C128, "complex FP64", GT_TYPE_COMPLEX, C128, F64, STRICT, F64, 5, -1, 0x1p-53, 0, DBL_MAX) \
    X(S4, "INT4", GT_TYPE_INTEGER, S32, S32, LOW, NONE, 16, -1, 0, 0.5, 7)                       \
    X(U4, "INT4", GT_TYPE_INTEGER, S32, S32, LOW, NONE, 18, -1, 0, 0.5, 15)                      \
    X(E2M1, "FP4", 0, BF16, F32, LOW, F8, 33, -1, 0x1p-2, 0x1p-2, 6)

/* The row of a type; for a number that is no type, a row called "unknown". */
const struct gt_type *gt_type_of(enum gt_dtype type);

static inline bool gt_type_complex(enum gt_dtype type)
{
    return gt_type_of(type)->kind & GT_TYPE_COMPLEX;
}

/* Bits of a float's fraction, or of a component's: its unit is half of the last one's weight. */
static inline int gt_type_fraction(enum gt_dtype type)
{
    return -ilogb(gt_type_of(type)->unit) - 1;
}

static inline bool gt_type_integer(enum gt_dtype type)
{
    return gt_type_of(type)->kind & GT_TYPE_INTEGER;
}

/* Floats of at most 8 bits, which tensor cores sum with fewer bits than float32 has. */
static inline bool gt_type_f8(enum gt_dtype type)
{
    return type == GT_E4M3 || type == GT_E5M2 || type == GT_E2M1;
}

/* Whether alpha and beta are doubles. */
static inline bool gt_type_double(enum gt_dtype type)
{
    return type == GT_F64 || type == GT_C128;
}

#endif
