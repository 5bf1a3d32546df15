/* args.h - arguments and results of the project's own device kernels (templates/proof), read by the
 * host (tuner/proof/proof.c, src/serve/check.c) and by the kernels.
 *
 * These kernels fill operands, compute the float64 reference and judge results, so that only a
 * struct gt_proof_result comes back to the host.  Elements are of any type: its code (enum
 * gt_dtype) travels with them at run time, because these kernels wait for memory, not for a switch.
 */
#ifndef GT_PROOF_ARGS_H
#define GT_PROOF_ARGS_H

/* What words of memory hold where nothing may be read or written: NaN in every element, but not the
 * NaN that arithmetic gives.  Integers have none: four different bytes. */
#define GT_POISON       0x7fbadbadu
#define GT_POISON_2BYTE 0x7fba7fbau
#define GT_POISON_1BYTE 0xffffffffu
#define GT_POISON_8BYTE 0x7ffbadbdu

/* A batch of row-major matrices: element (b, i, j) is at data[b * stride + i * ld + j]. */
struct gt_span {
    void *data;
    long long rows, cols, ld, batch, stride; /* elements */
    int type;                                /* code of the elements' type */
};

/* GT_FILL_BESIDE: the same integers, but in FP32 and TF32 each is replaced by the float before or
 * after it. Rounding to TF32 brings the integers back; cutting the lower bits off does not.
 * GT_FILL_UNIFORM: reals of [-range, range); in integer types the same as GT_FILL_INTEGERS.
 * Factors of scales: GT_FILL_POWERS: 2^-range to 2^range; GT_FILL_FACTORS: reals of [0.5, 2). */
enum gt_fill {
    GT_FILL_NORMAL,
    GT_FILL_INTEGERS,
    GT_FILL_BESIDE,
    GT_FILL_UNIFORM,
    GT_FILL_POWERS,
    GT_FILL_FACTORS
};

struct gt_fill_args {
    struct gt_span to; /* its type: also GT_PROOF_UE8M0 */
    unsigned long long seed;
    int kind;  /* enum gt_fill */
    int range; /* numbers are drawn from -range .. range */
};

/* The code of factors that are exponents alone, ue8m0: 2^(byte - 127). */
#define GT_PROOF_UE8M0 64

/* Factors of an operand: element (i, k) of op(A), or (k, i) of op(B), is multiplied by
 * at[i / rows * step_mn + k / depth * step_k], unless `at` is null. Where step_mn is 0, blocks lie
 * in tiles of 128 x 4, which follow each other along k: the words of rows 0, 32, 64, 96, 1, 33, ...
 */
struct gt_proof_scale {
    const void *at;
    const float *tensor; /* a factor of all elements beside them, or null */
    int type;            /* code of a type, or GT_PROOF_UE8M0 */
    long long rows, depth, step_mn, step_k;
};

/* ref = epilogue(alpha * op(A) op(B) + beta * C) in float64, of doubles in twice its precision and
 * then rounded, for rows [row, row + gridDim.y * 64) of
 * batches [first, first + gridDim.z), held to the range of out where conversions to it saturate;
 * bound = |alpha| |A||B| + |beta C| + |bias|. */
struct gt_reference_args {
    const void *a, *b, *c, *bias;
    struct gt_proof_scale scale_a, scale_b;
    int type, type_b, out, type_bias; /* of a; of b; of c and exact; of bias */
    long long m, n, k, lda, ldb, ldc, stride_a, stride_b, stride_c;
    long long row, first;
    int trans_a, trans_b, epilogue;
    double alpha, beta; /* as kernels get them: floats, unless the sums are doubles */
    double *ref;        /* dense m x n x batch, or null */
    float *bound;       /* the same, or null */
    void *exact;        /* the same, ref rounded to the type out, or null */
};

/* Zeroed before use.  A "first" is stored as ~index, so that a maximum finds the least. */
struct gt_proof_result {
    unsigned long long bad, first_bad;             /* elements out of tolerance */
    unsigned long long nonfinite, first_nonfinite; /* elements that are NaN or infinite */
    unsigned long long error;                      /* bits of the float max |d-ref|/bound */
    unsigned long long different, first_different; /* elements that differ between two results */
    unsigned long long guard, first_guard;         /* words that are poison no longer; a byte */
    unsigned long long hash;
    unsigned long long cycles, nanoseconds; /* of the clock kernel */
    double got, expected;                   /* of the look kernel */
};

/* |d - ref| <= bound * tolerance + |ref| * relative + absolute, every element finite; or, without
 * bound, |d - exact| <= slack * max(|exact|, 8) + absolute, where zeros ask for equality. */
struct gt_compare_args {
    struct gt_span d;
    const double *ref;
    const float *bound;
    const void *exact; /* of d's type */
    double tolerance, relative, absolute, slack;
    struct gt_proof_result *result;
};

/* Element `at` of d, counted densely, and what it should be: of exact, or else of ref. */
struct gt_look_args {
    struct gt_span d;
    long long at;
    const double *ref;
    const void *exact;
    struct gt_proof_result *result;
};

struct gt_equal_args {
    struct gt_span x, y; /* of the same shape */
    struct gt_proof_result *result;
};

/* Every byte of base[0 .. words) outside the elements of `inside` must be poison. */
struct gt_guard_args {
    const unsigned *base;
    unsigned poison;         /* the word */
    long long words, offset; /* offset: bytes from base to inside.data */
    struct gt_span inside;
    struct gt_proof_result *result;
};

struct gt_hash_args {
    const unsigned *base;
    long long words;
    struct gt_proof_result *result;
};

struct gt_clock_args {
    long long nanoseconds;          /* how long to look */
    struct gt_proof_result *result; /* null: only pass the time */
};

/* out[i] = the value of a chain of `steps` dependent FMAs that starts from i % 8. */
struct gt_canary_args {
    float *out;
    long long count;
    int steps;
};

/* Every device kernel once: name in the enum, entry, argument. */
#define GT_PROOF_MAP(X)                                                   \
    X(FILL, proof_fill, struct gt_fill_args)                              \
    X(REFERENCE, proof_reference, struct gt_reference_args)               \
    X(REFERENCE_DOUBLE, proof_reference_double, struct gt_reference_args) \
    X(COMPARE, proof_compare, struct gt_compare_args)                     \
    X(LOOK, proof_look, struct gt_look_args)                              \
    X(EQUAL, proof_equal, struct gt_equal_args)                           \
    X(GUARD, proof_guard, struct gt_guard_args)                           \
    X(HASH, proof_hash, struct gt_hash_args)                              \
    X(CLOCK, proof_clock, struct gt_clock_args)                           \
    X(CANARY, proof_canary, struct gt_canary_args)

/* ---- served products (served.cu, src/serve/check.c) ---- */

#define GT_SERVED_LOOKED_AT 16 /* elements that are computed in float64 */

/* The low bits of `worst` that name an element's place, counted densely: 2^40 elements are a
 * TiB at least.  The bits above are those of the difference, a float, but for its sign and its last
 * eight. */
#define GT_SERVED_PLACE 40

/* One of the elements that differ most.  Zeroed before use. */
struct gt_served_finding {
    unsigned long long worst; /* difference and place; 0: no element of its share differs */
    unsigned long long done;  /* threads that have added their parts of the two sums */
    double sum, sums;         /* of a * b and of |a * b| */
    double ours, theirs, exact, allowed;
    unsigned long long wrong; /* ours is off by more than allowed, and theirs is not */
};

/* ours and theirs have the same shape.  The exact element is epilogue(alpha * sum + beta * c), held
 * to the range of ours.type where conversions to it saturate; it may be off by
 * sums * (|alpha||A||B| + |beta c| + |bias|) + result * |exact| + absolute. */
struct gt_served_args {
    struct gt_span ours;
    const void *theirs, *a, *b;
    const void *c, *bias; /* c as it was before the product; null: there is none */
    long long k, lda, ldb, ldc, stride_a, stride_b, stride_c;
    int type, trans_a, trans_b, epilogue; /* type: of a and b */
    int wide;                             /* every row of both begins at a multiple of 16 bytes */
    float alpha, beta;
    double of_sums, of_result, absolute;
    struct gt_served_finding *finding; /* GT_SERVED_LOOKED_AT of them */
};

#endif
