/* shares.h - the share of a race's candidates that an arm (a kernel) deserves.  choose.c and
 * tools/race_replay.c ask. */
#ifndef GT_SHARES_H
#define GT_SHARES_H

#include <stdbool.h>
#include <stdint.h>

#define GT_SHARE_POWER 6 /* exponent of the times' ratio: an arm 20 % behind gets a third \ */

struct gt_arm_record {
    int64_t drawn;       /* candidates tried and in flight */
    double reached_us;   /* the least time of its candidates; 0: none yet */
    double predicted_us; /* the least predicted time of its points; 0: not known */
    bool trusted;        /* the arm is known to be good, whatever is predicted */
};

/* Returns a share between 0 and 1.  best_us: the race's best time, 0: none yet.  least_predicted:
 * the least predicted time of all arms.  power: GT_SHARE_POWER. */
double gt_arm_share(const struct gt_arm_record *arm, double best_us, double least_predicted,
                    double power);

#endif
