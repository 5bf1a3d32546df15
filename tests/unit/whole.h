/* whole.h - what a test does in `make check`, and what it does with WHOLE=1 in the environment, as
 * a part of `make check-release`, where every test that asks runs once more (Makefile, LONGER). */
#ifndef GT_WHOLE_H
#define GT_WHOLE_H

#include <stdlib.h>

/* `all` of a test's rounds, steps or cases, or `few` of them. */
static inline long gt_whole(long all, long few)
{
    return getenv("WHOLE") ? all : few;
}

#endif
