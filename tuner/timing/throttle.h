/* throttle.h - stage: why the GPU's clocks are held down while we time, where the management
 * library (optional) can tell. */
#ifndef GT_THROTTLE_H
#define GT_THROTTLE_H

#include <stddef.h>

struct gt_err;
struct gt_throttle;

/* The device of this UUID ("GPU-..."); GT_ENOLIB, or GT_ENOTFOUND if the library does not know it.
 */
int gt_throttle_open(struct gt_throttle **throttle, const char *uuid, struct gt_err *err);
void gt_throttle_close(struct gt_throttle *throttle); /* NULL accepted */

/* "power cap, hot" or "" if nothing holds the clocks down (or nothing is known). */
void gt_throttle_reasons(const struct gt_throttle *throttle, char *text, size_t size);

#endif
