/* fiber.h - test: threads of execution for the emulated GPU, which switch only on request.
 *
 * AddressSanitizer is told of each switch, so that it knows whose stack it looks at. */
#ifndef GT_FIBER_H
#define GT_FIBER_H

#include <stddef.h>

struct gt_fiber {
    void *sp;    /* saved stack pointer while it does not run */
    void *stack; /* lowest address; NULL for the one that main() runs on */
    size_t size;
    void *asan; /* AddressSanitizer's own stack of it */
};

/* Makes a fiber that starts in `start` on the given stack.  start must never return: it switches
 * away for good with gt_fiber_leave. */
void gt_fiber_init(struct gt_fiber *fiber, void *stack, size_t size, void (*start)(void));

/* The first call of `start`: from is where the switch came from. */
void gt_fiber_entered(struct gt_fiber *from);

/* Runs `to` until something switches back to `from`. */
void gt_fiber_switch(struct gt_fiber *from, struct gt_fiber *to);

/* Ends `from`, whose stack may be used again at once. */
void gt_fiber_leave(struct gt_fiber *from, struct gt_fiber *to);

/* Makes the stacks of fibers that never ended usable again. */
void gt_fiber_clean(void *stack, size_t size);

#endif
