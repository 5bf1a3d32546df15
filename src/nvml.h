/* nvml.h - stage: why the GPU's clocks are held down while we time, where the management library
 * (optional) can tell. */
#ifndef GT_NVML_H
#define GT_NVML_H

#include <stddef.h>

struct gt_err;
struct gt_nvml;

/* The device of this UUID ("GPU-..."); GT_ENOLIB, or GT_ENOTFOUND if the library does not know it.
 */
int gt_nvml_open(struct gt_nvml **nvml, const char *uuid, struct gt_err *err);
void gt_nvml_close(struct gt_nvml *nvml); /* NULL accepted */

/* "power cap, hot" or "" if nothing holds the clocks down (or nothing is known). */
void gt_nvml_throttle(const struct gt_nvml *nvml, char *text, size_t size);

#endif
