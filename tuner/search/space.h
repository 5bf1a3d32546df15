/* space.h - the valid points of a kernel for a problem on a device.
 *
 * A point is kept as one byte per parameter (the index of its value), so that 10^6 points with 24
 * parameters take 24 MB. */
#ifndef GT_SPACE_H
#define GT_SPACE_H

#include <signal.h>

#include "kernel/kernel.h"

struct gt_space {
    const struct gt_kernel *kernel;
    const struct gt_problem *problem;
    const struct gt_device *device;
    double cross_product; /* points before any constraint */
    double valid;         /* points that satisfy every constraint; more than count if sampled */
    bool estimated;       /* there are too many points to count: `valid` is an estimate */
    uint8_t *index;       /* count x kernel->params */
    size_t count;
    uint32_t *lookup; /* hash table over the points, for gt_space_find */
    size_t lookup_size;
    const volatile sig_atomic_t
        *signals;   /* signals received; a signal ends the listing.  NULL: nothing does */
    double seconds; /* processor time that the listing may take; 0: no limit */
};

/* Enumerates with prefix pruning.  A constraint that no point satisfies is an error (GT_ERANGE)
 * that quotes it and its why.  `limit` bounds the points kept (0: GT_SPACE_LIMIT).  Of a space with
 * more points, or one too large to walk in a few seconds, a uniform sample is kept, which is the
 * same in every run.  Kernel, problem and device must outlive the space. */
#define GT_SPACE_LIMIT 4000000
int gt_space_init(struct gt_space *space, const struct gt_kernel *kernel,
                  const struct gt_problem *problem, const struct gt_device *device, size_t limit,
                  struct gt_err *err);

/* gt_space_init that returns GT_EINTERRUPTED soon after *signals is no longer 0.  seconds:
 * processor time of a thread, after which the points found so far are the sample; 0: no limit. */
int gt_space_init_until(struct gt_space *space, const struct gt_kernel *kernel,
                        const struct gt_problem *problem, const struct gt_device *device,
                        size_t limit, double seconds, const volatile sig_atomic_t *signals,
                        struct gt_err *err);

/* Makes a space of exactly the points of a list (a recording's).  index: count x kernel->params
 * indices of values, which are copied.  GT_ECONFIG if two points are the same, GT_ERANGE if there
 * is no point or more than GT_SPACE_LIMIT.  Problem and device may be NULL. */
int gt_space_list(struct gt_space *space, const struct gt_kernel *kernel,
                  const struct gt_problem *problem, const struct gt_device *device,
                  const uint8_t *index, size_t count, struct gt_err *err);

void gt_space_release(struct gt_space *space); /* a zeroed space is accepted */

void gt_space_point(const struct gt_space *space, size_t i, struct gt_point *point);

/* The index of a point, or SIZE_MAX if the point is not in the space. */
size_t gt_space_find(const struct gt_space *space, const struct gt_point *point);

/* gt_space_find for a point given as the index of each parameter's value. */
size_t gt_space_find_index(const struct gt_space *space, const uint8_t *index);

/* Whether points x and y of a list like gt_space.index need the same cubin, because they differ in
 * launch parameters alone. */
bool gt_space_same_cubin(const struct gt_kernel *kernel, const uint8_t *index, size_t x, size_t y);

/* Writes the neighbours of point i, which differ from it in one parameter, to list[0..max) and
 * returns how many there are. */
size_t gt_space_neighbours(const struct gt_space *space, size_t i, size_t *list, size_t max);

/* ---- narrow.c ---- */

/* Keeps, in every kernel of the list, only those values of parameters that `text` names:
 * "TM=4|8,STAGES=2".  A kernel without such a parameter stays as it is.  Signatures do not change,
 * because a point of the narrowed space is a point of the whole space.  If a default is removed,
 * the first value left becomes the default.  GT_ESYNTAX, also if a parameter is named twice;
 * GT_ENOTFOUND if no kernel has the parameter, or if a kernel with the parameter has none of the
 * values. */
int gt_narrow(struct gt_kernel *const *kernel, size_t kernels, const char *text,
              struct gt_err *err);

#endif
