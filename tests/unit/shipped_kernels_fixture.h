/* shipped_kernels_fixture.h - the descriptions of configs/kernels, loaded once for a group of
 * tests, which run in the source tree's folder.  *state is a struct gt_kernels. */
#ifndef GT_SHIPPED_KERNELS_FIXTURE_H
#define GT_SHIPPED_KERNELS_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "kernel/kernel.h"

static int set_up(void **state)
{
    struct gt_kernels *kernels = calloc(1, sizeof(*kernels));
    struct gt_err err = {0};

    *state = kernels;
    if (!kernels || !gt_kernels_load(kernels, ".", NULL, NULL, &err))
        return !kernels;
    print_error("%s\n", err.msg);
    return -1;
}

static int tear_down(void **state)
{
    gt_kernels_release(*state);
    free(*state);
    return 0;
}

#endif
