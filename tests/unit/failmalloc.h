/* failmalloc.h - lets the N-th allocation fail, for tests of what happens then.
 *
 * Link the test with failmalloc.c and FAILMALLOC_LDFLAGS (Makefile): the linker then sends the
 * allocations of the program's own objects here; those inside shared libraries are not seen, except
 * cJSON's, which gt_failmalloc_start takes over. */
#ifndef GT_FAILMALLOC_H
#define GT_FAILMALLOC_H

#include <stdbool.h>

struct gt_err;

/* From now on, the n-th allocation (1 is the next) fails, and only that; 0: none. */
void gt_failmalloc_start(long n);

/* From here on no allocation fails, and blocks go on being counted: for what may fail in silence.
 */
void gt_failmalloc_relent(void);

/* Ends it; whether an allocation was made to fail. */
bool gt_failmalloc_stop(void);

/* Blocks allocated since the start and not freed. */
long gt_failmalloc_live(void);

/* Runs act again and again, each time with the next allocation failing, until none is left to fail:
 * it must answer GT_ENOMEM with a sentence and leak nothing, and succeed at last. There must have
 * been more than `least` allocations to fail. Fails the running test otherwise. Without WHOLE=1,
 * of many allocations not each fails: a step is an eighth of the way. */
void gt_failmalloc_every(const char *what, int (*act)(struct gt_err *), long least);

#endif
