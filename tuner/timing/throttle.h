/* throttle.h - stage: the reasons why the GPU's clocks are held down during timing, its power and
 * its energy, from the optional management library. */
#ifndef GT_THROTTLE_H
#define GT_THROTTLE_H

#include <stdbool.h>
#include <stddef.h>

struct gt_err;
struct gt_throttle;

/* Opens the device of this UUID ("GPU-...").  GT_ENOLIB: there is no library; GT_ENOTFOUND: the
 * library does not know the device. */
int gt_throttle_open(struct gt_throttle **throttle, const char *uuid, struct gt_err *err);
void gt_throttle_close(struct gt_throttle *throttle); /* NULL accepted */

/* Writes e.g. "power cap, hot"; "" if nothing holds the clocks down or nothing is known. */
void gt_throttle_reasons(const struct gt_throttle *throttle, char *text, size_t size);

/* The power limit in watts; 0: not known. */
double gt_throttle_power_limit(const struct gt_throttle *throttle);

/* The energy that the device has used since its driver was loaded, and its present power.  False,
 * with nothing set: the device does not say. */
bool gt_throttle_energy(const struct gt_throttle *throttle, double *joules);
bool gt_throttle_power(const struct gt_throttle *throttle, double *watts);

#endif
