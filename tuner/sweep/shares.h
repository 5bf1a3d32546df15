/* shares.h - the share of a race's candidates that an arm (a kernel) deserves.  choose.c and
 * tools/race_replay.c ask. */
#ifndef GT_SHARES_H
#define GT_SHARES_H

#include <stdbool.h>
#include <stdint.h>

#define GT_SHARE_POWER 6 /* of the ratio of best times: an arm 20 % behind gets a third */

struct gt_arm_record {
    int64_t drawn;       /* candidates, those in flight included */
    double reached_us;   /* the least time; 0: none yet */
    double predicted_us; /* the least that is expected of its points; 0: nothing is known */
    bool trusted;        /* it is known to be good, whatever is predicted */
};

/* best_us: of the race, 0: none yet.  least_predicted: of all arms.  power: GT_SHARE_POWER.
 * Between 0 and 1. */
double gt_arm_share(const struct gt_arm_record *arm, double best_us, double least_predicted,
                    double power);

#endif
