/* ranges.h - vocabulary: lists and ranges of sizes in a problem's text.
 *
 * Where a text names several problems, each size may be a list, and each of its members a range:
 * `1,2,4,8x4096x4096`, `1024:8192:1024x4096x4096:bf16` (both ends belong to it),
 * `1:4096:x2x512x512` (each the double of the one before).  The problems are all combinations, the
 * last size changing fastest. */
#ifndef GT_RANGES_H
#define GT_RANGES_H

#include <stdbool.h>

#include "gemmtune.h"

#define GT_RANGES_MOST 10000 /* problems that one text may stand for */

/* Whether the text has a list or a range of sizes. */
bool gt_ranges_any(const char *text);

/* Calls visit with the text of each problem; a text without lists and ranges is handed on as it is.
 * Nothing is visited if the text is malformed. */
typedef int gt_ranges_visit(void *context, const char *text, struct gt_err *err);
int gt_ranges_expand(const char *text, gt_ranges_visit *visit, void *context, struct gt_err *err);

#endif
