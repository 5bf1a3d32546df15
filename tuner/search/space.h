/* space.h - the valid points of a kernel for a problem on a device.
 *
 * Points are kept as one byte per parameter (the index of its value), so that 10^6 of them with 24
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
    bool estimated;       /* too many to count: `valid` is about right */
    uint8_t *index;       /* count x kernel->params */
    size_t count;
    uint32_t *lookup; /* hash table over the points, for gt_space_find */
    size_t lookup_size;
    const volatile sig_atomic_t
        *signals;   /* count of those that end the listing; NULL: nothing does */
    double seconds; /* of processor time that the listing may take; 0: any */
};

/* Enumerates with prefix pruning.  A constraint that no point satisfies is an error (GT_ERANGE)
 * that quotes it and its why.  `limit` bounds the points kept (0: GT_SPACE_LIMIT); beyond it a
 * uniform sample is kept, always the same one, and so it is of a space of which only a part can be
 * looked at in a few seconds.  Kernel, problem and device must outlive the space.
 */
#define GT_SPACE_LIMIT 4000000
int gt_space_init(struct gt_space *space, const struct gt_kernel *kernel,
                  const struct gt_problem *problem, const struct gt_device *device, size_t limit,
                  struct gt_err *err);

/* The same, but GT_EINTERRUPTED soon after *signals is no longer 0.  seconds: of processor time of
 * a thread, after which those points that were found are the sample; 0: there is no such end. */
int gt_space_init_until(struct gt_space *space, const struct gt_kernel *kernel,
                        const struct gt_problem *problem, const struct gt_device *device,
                        size_t limit, double seconds, const volatile sig_atomic_t *signals,
                        struct gt_err *err);

/* The space of exactly the points of a list (a recording's): index is count x kernel->params, which
 * value of each parameter, and is copied.  GT_ECONFIG if two of them are the same, GT_ERANGE if
 * there are none or more than GT_SPACE_LIMIT.  Problem and device may be NULL for a caller that has
 * none. */
int gt_space_list(struct gt_space *space, const struct gt_kernel *kernel,
                  const struct gt_problem *problem, const struct gt_device *device,
                  const uint8_t *index, size_t count, struct gt_err *err);

void gt_space_release(struct gt_space *space); /* a zeroed space is accepted */

void gt_space_point(const struct gt_space *space, size_t i, struct gt_point *point);

/* Index of a point, or SIZE_MAX if it is not valid here. */
size_t gt_space_find(const struct gt_space *space, const struct gt_point *point);

/* The same, of indices of values, one per parameter. */
size_t gt_space_find_index(const struct gt_space *space, const uint8_t *index);

/* Whether points x and y of a list like gt_space.index need the same cubin: they differ in launch
 * parameters alone. */
bool gt_space_same_cubin(const struct gt_kernel *kernel, const uint8_t *index, size_t x, size_t y);

/* Neighbours of point i into list[0..max): adjacent: one parameter moved to the next or previous
 * value; otherwise Hamming: one parameter changed to any value.  Returns how many there are. */
size_t gt_space_neighbours(const struct gt_space *space, size_t i, bool adjacent, size_t *list,
                           size_t max);

#endif
