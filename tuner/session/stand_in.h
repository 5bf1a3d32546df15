/* stand_in.h - a device that somebody names: whose numbers stand for it where it has no profile,
 * and which rows of a database are its. */
#ifndef GT_STAND_IN_H
#define GT_STAND_IN_H

#include <stdbool.h>
#include <stddef.h>

#include "problem/device.h"

#define GT_STAND_IN_MAX 512

/* Writes "there is no profile of L20 (92 SMs, ...): it is computed as RTX 4090 (profile) (...)";
 * false, and nothing is written: nobody asked for a device (NULL), or `device` is that one. */
bool gt_stand_in(char text[GT_STAND_IN_MAX], const struct gt_device *device, const char *asked);

struct gt_row_filter;

/* Lets a filter have only the rows of what --arch names: an arch, or a device ("h100").  data_dir
 * NULL: no profile is known. */
int gt_filter_arch(struct gt_row_filter *filter, const char *data_dir, const char *arch,
                   struct gt_err *err);

#endif
