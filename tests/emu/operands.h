/* operands.h - test: problems for the emulator, their operands on the heap with exact extents, and
 * whether a kernel's D is the exact result. */
#ifndef GT_EMU_OPERANDS_H
#define GT_EMU_OPERANDS_H

#include <stdbool.h>
#include <stddef.h>

#include "gemmtune.h"
#include "../../templates/common/args.h"

struct gt_emu_case {
    int m, n, k;
    int multiple;            /* leading dimensions are rounded up to a multiple of this */
    int pad_a, pad_b, pad_c; /* and then lengthened by this */
    int batch;
    double alpha, beta;
    int align;     /* bytes that every base pointer is a multiple of, and no more */
    bool in_place; /* C is D */
};

extern const struct gt_emu_case gt_emu_cases[];
extern const size_t gt_emu_case_count;

/* A case `by` times as large: a kernel's point may serve no smaller one. */
struct gt_emu_scale {
    int m, n, k;
};

extern const struct gt_emu_scale gt_emu_scales[];
extern const size_t gt_emu_scale_count;

/* The case as a problem. */
void gt_emu_case_problem(struct gt_problem *problem, const struct gt_emu_case *cases,
                         struct gt_emu_scale by, bool trans_a, bool trans_b, unsigned epilogue);

struct gt_emu_operands {
    float *a, *b, *c, *d, *bias;
    float *original_d; /* D before the launch */
    void *block[7];    /* what to free */
};

/* Small integers; NaN between rows, in C if beta is 0, in A and B if alpha is 0, and in D and the
 * workspace. */
void gt_emu_operands_init(struct gt_emu_operands *operands, const struct gt_problem *problem,
                          bool in_place, unsigned seed);
void gt_emu_operands_release(struct gt_emu_operands *operands);

void gt_emu_operands_args(struct gt_args *args, const struct gt_emu_operands *operands,
                          const struct gt_problem *problem);

/* GT_OK, or GT_ERANGE with the first element of D that is wrong, or was written beside D. */
int gt_emu_operands_check(const struct gt_emu_operands *operands, const struct gt_problem *problem,
                          struct gt_err *err);

#endif
