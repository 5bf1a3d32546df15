/* sample.h - test: valid points of a large space that together take every value of every parameter
 * that any valid point takes, each at least so many times; and which points of a list do without
 * the others. */
#ifndef GT_EMU_SAMPLE_H
#define GT_EMU_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

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

/* A parameter of up to so many values chooses among ways of the code; one of more is a size. */
#define GT_EMU_CHOICES 4

/* A point of a list, and what it is run for: marks, a bit each. */
struct gt_emu_listed {
    const struct gt_kernel *kernel; /* NULL: nobody chooses this point */
    const struct gt_point *point;
    uint64_t marks;
};

/* taken[i]: point i is one of few that together have what all points of its kernel in the list
 * have: each mark, each value of a parameter that chooses, and a size's least and greatest value.
 * What is taken already stays so, and counts.  Of a kernel's points at most `few` are added, those
 * that bring most first.  Always the same for the same list. */
void gt_emu_choose(bool *taken, const struct gt_emu_listed *list, size_t count, int few);

#endif
