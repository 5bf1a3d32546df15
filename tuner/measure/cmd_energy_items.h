/* cmd_energy_items.h - which candidates of a problem are measured by tune energy. */
#ifndef GT_CMD_ENERGY_ITEMS_H
#define GT_CMD_ENERGY_ITEMS_H

#include "kernel/kernel.h"

struct gt_err;
struct gt_session;

#define GT_ENERGY_ITEMS 64 /* at most */

struct gt_energy_item {
    const struct gt_kernel *kernel; /* of the session */
    struct gt_point point;
    double us;
};

/* Sorted by their times. */
struct gt_energy_items {
    struct gt_energy_item item[GT_ENERGY_ITEMS];
    size_t count, most; /* most: set by the caller, 1 to GT_ENERGY_ITEMS */
};

/* Finds the fastest candidates that were measured on the session's device (cold L2) with the
 * kernels of today, of the database and of the shipped tables; not those that are slower than the
 * first one by more than `within` per cent. */
int gt_energy_items_find(struct gt_energy_items *items, const struct gt_session *session,
                         const char *problem, double within, struct gt_err *err);

#endif
