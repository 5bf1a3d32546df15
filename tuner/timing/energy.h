/* energy.h - stage: the energy that a product takes, by the GPU's own meter (NVML).
 *
 * Launches follow each other without a gap for a while, on rotating operands, after the device has
 * got hot in the same way.  Where the device counts its energy
 * (nvmlDeviceGetTotalEnergyConsumption: whole GPU, in millijoules, renewed every 20 to 100 ms), the
 * count is read after each batch of about 1 ms.  The mean power is that from one renewal to another
 * on the host's clock; a product's time is the device's own; their product is its energy.
 *
 * An H200's counter is renewed every 100 ms and seems to count the mean power of the last second:
 * the halves of readings that began 0.7 s after a pause differed by 10 to 20 %, as they then would.
 * So the device is heated for longer than that, and the count goes on until a stretch of it has a
 * small bound of its error.
 *
 * The bound of the error is the sum of what each cause can do: the renewals fell somewhere between
 * two looks at the counter; the counter has steps (the common divisor of those seen); its lag may
 * change, or the power (the halves of the stretch differ); launches left gaps because the host was
 * late (told by when each batch was queued and the one before had ended), in which the device draws
 * less; the other meter (nvmlDeviceGetPowerUsage, a mean of a second) disagrees by more than its
 * own error.  What is wrong with the sensor itself, for which NVIDIA gives 5 %, is the same for
 * all.
 *
 * Where the device does not count, its power is read instead.  L2 is not emptied: that would be
 * most of the energy of a short product.  Products of a few microseconds are limited by the host,
 * which the gaps tell. */
#ifndef GT_ENERGY_H
#define GT_ENERGY_H

#include "timing/bench.h"

/* Measures a candidate or, if entry is NULL, cuBLASLt's best answer (gt_bench_baseline came before)
 * as `wish` has it.  Its results are proved.  GT_ENOLIB: there is no NVML, or it has no meter of
 * the device; GT_ERANGE: the candidate cannot be launched or its results are wrong. */
int gt_bench_energy(struct gt_bench *bench, const struct gt_bench_entry *entry,
                    const struct gt_energy_wish *wish, struct gt_energy *energy,
                    struct gt_err *err);

#endif
