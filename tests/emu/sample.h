/* sample.h - test: valid points of a large space that together take every value of every parameter
 * that any valid point takes, each at least so many times. */
#ifndef GT_EMU_SAMPLE_H
#define GT_EMU_SAMPLE_H

#include "kernel/kernel.h"
#include "operands.h"

#define GT_EMU_SAMPLES 200

struct gt_emu_sample {
    struct gt_point point;
    struct gt_problem problem; /* for which it was found valid, */
    struct gt_device device;   /* and where */
    struct gt_emu_types types; /* of the problem */
    unsigned layouts;          /* the layout of the problem */
    struct gt_emu_scale scale; /* and how large some case was */
};

/* Fills sample[0 .. *count), *count <= GT_EMU_SAMPLES; always the same for the same description.
 * The known points are run anyway: they count once. */
int gt_emu_sample(struct gt_emu_sample *sample, size_t *count, const struct gt_kernel *kernel,
                  int times, const struct gt_point *known, size_t knowns, struct gt_err *err);

#endif
