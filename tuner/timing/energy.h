/* energy.h - stage: the energy that a product takes, by the GPU's own meter (NVML).
 *
 * Launches follow each other without a gap for a while, on rotating operands, after the device has
 * got hot in the same way.  Where the device counts its energy
 * (nvmlDeviceGetTotalEnergyConsumption: whole GPU, in millijoules, renewed every 20 to 100 ms), the
 * count is read after each batch of about 1 ms: launches and time are counted from one renewal to
 * another, so that only the batch in which a renewal falls is uncertain.  Where it does not, the
 * power (nvmlDeviceGetPowerUsage, a mean of up to a second) is read instead, and the device is
 * heated for longer.  L2 is not emptied: that would be most of the energy of a short product. */
#ifndef GT_ENERGY_H
#define GT_ENERGY_H

#include "timing/bench.h"

/* Measures a candidate or, if entry is NULL, cuBLASLt's best answer (gt_bench_baseline came before)
 * for `seconds` after warming up.  Its results are proved.  GT_ENOLIB: there is no NVML;
 * GT_ENOTFOUND: the device has no meter; GT_ERANGE: the candidate cannot be launched or its results
 * are wrong. */
int gt_bench_energy(struct gt_bench *bench, const struct gt_final_entry *entry, double seconds,
                    struct gt_energy *energy, struct gt_err *err);

#endif
