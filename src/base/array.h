/* array.h - vocabulary: arrays that grow, and elements put into their middle.
 *
 * An array is a pointer, a count and a capacity of its owner's struct, all zero at first, and freed
 * with free:
 *     rc = GT_ARRAY_RESERVE(&list->row, list->rows + 1, &list->capacity, err);
 *     if (!rc)
 *         list->row[list->rows++] = row; */
#ifndef GT_ARRAY_H
#define GT_ARRAY_H

#include <stddef.h>
#include <string.h>

struct gt_err;

/* Makes room for `needed` elements of `size` (at least 1) bytes in all; the capacity doubles, so
 * that appending n elements copies fewer than 2 n.  `array` is the address of the pointer.
 * GT_ENOMEM leaves array and capacity as they are. */
int gt_array_reserve(void *array, size_t needed, size_t *capacity, size_t size, struct gt_err *err);

#define GT_ARRAY_RESERVE(array, needed, capacity, err) \
    gt_array_reserve((array), (needed), (capacity), sizeof(**(array)), (err))

/* Moves the elements from `at` on one place up; there must be room for count + 1. */
#define GT_ARRAY_OPEN(array, at, count) \
    memmove(&(array)[(at) + 1], &(array)[at], ((count) - (at)) * sizeof(*(array)))

#endif
