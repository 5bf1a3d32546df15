/* operands.h - test: problems for the emulator, their operands on the heap with exact extents, and
 * whether a kernel's D is the exact result. */
#ifndef GT_EMU_OPERANDS_H
#define GT_EMU_OPERANDS_H

#include <stdbool.h>
#include <stddef.h>

#include "gemmtune.h"
#include "problem/problem.h"
#include "templates/common/args.h"
#include "templates/common/more.h"

/* Leading dimensions in elements; where `multiple` is not 1, they and the pads are in units of 4
 * bytes instead, of as many elements as the type has in them: an alignment class is that of the
 * case whatever the type. */
struct gt_emu_case {
    int m, n, k;
    int multiple;            /* leading dimensions are rounded up to a multiple of this */
    int pad_a, pad_b, pad_c; /* and then lengthened by this */
    int batch;
    double alpha, beta;
    int align;     /* bytes that every base pointer is a multiple of, and no more; 4: an element */
    bool in_place; /* C is D */
    bool spoilt;   /* infinities and NaN in A and B, where their type has them */
};

extern const struct gt_emu_case gt_emu_cases[];
extern const size_t gt_emu_case_count;

/* A case `by` times as large: a kernel's point may serve no smaller one. */
struct gt_emu_scale {
    int m, n, k;
};

extern const struct gt_emu_scale gt_emu_scales[];
extern const size_t gt_emu_scale_count;

/* The types a problem is of, how accurate it is to be, its scales and its groups. */
struct gt_emu_types {
    enum gt_dtype type, out;
    enum gt_accuracy accuracy;
    struct gt_scale scale_a, scale_b;
    enum gt_sums sums;
    int groups; /* 0: none */
    enum gt_groups_by by;
    enum gt_gate gate; /* of gated epilogues */
};

/* The case as a problem. */
void gt_emu_case_problem(struct gt_problem *problem, const struct gt_emu_case *cases,
                         struct gt_emu_scale by, const struct gt_emu_types *types, bool trans_a,
                         bool trans_b, unsigned epilogue);

struct gt_emu_operands {
    void *a, *b;        /* of the problem's type */
    void *c, *d, *bias; /* of its out */
    bool c_given; /* C is passed to the kernel: where beta is not 0, unless somebody changes it */
    void *original_d;           /* D before the launch */
    void *scale_a, *scale_b;    /* factors, powers of two; NULL: the problem has none */
    int *sizes;                 /* the ends of the groups; NULL: the problem has none */
    float *tensor_a, *tensor_b; /* factors of whole operands beside blocks; NULL likewise */
    void *block[12];            /* what to free */
};

/* Where the factor of row (or column) i of the operand and of k is. */
int64_t gt_emu_factor_at(const struct gt_problem *problem, enum gt_operand operand, int64_t i,
                         int64_t k);

/* Small integers; poison (NaN, where the type has it) between rows, in C if beta is 0, in A and B
 * if alpha is 0, and in D and the workspace. */
void gt_emu_operands_init(struct gt_emu_operands *operands, const struct gt_problem *problem,
                          const struct gt_emu_case *cases, unsigned seed);
void gt_emu_operands_release(struct gt_emu_operands *operands);

void gt_emu_operands_args(struct gt_args *args, struct gt_more *more,
                          const struct gt_emu_operands *operands, const struct gt_problem *problem);

/* GT_OK, or GT_ERANGE with the first element of D that is not the exact result rounded once to the
 * type of D, or that was written beside D.  alpha and beta are taken as the floats, or of doubles
 * the doubles, that kernels get; where sums with them are not numbers that this type has, its
 * rounding of each step is allowed, too. */
int gt_emu_operands_check(const struct gt_emu_operands *operands, const struct gt_problem *problem,
                          struct gt_err *err);

#endif
