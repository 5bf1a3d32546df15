/* shares.c - the share of a race's candidates that an arm deserves.  See shares.h. */
#include "sweep/shares.h"

#include <math.h>

#define WEIGHT_LEAST 0.02 /* the least share, of a slow arm; the fastest arm has 1 */
#define PROBE        6    /* candidates of an arm that count in full before it has a time */
#define MISPREDICTED 1.4  /* up to this times the least predicted time the model may be wrong; */
#define MISSED_POWER 12   /* beyond it an arm's share falls with this power of the ratio */

/* The share of an arm that has no time yet, by the least predicted time of its points.  Dozens of
 * candidates are drawn before a turn has its first time, and without this rule a kernel that
 * never wins gets as many candidates as the kernel that wins.  (Of 138 arms that were predicted
 * at more than MISPREDICTED times the least of their problem, one had the winner:
 * db/measured/README.md.) */
static double promised(const struct gt_arm_record *arm, double least)
{
    if (!(arm->predicted_us > 0) || arm->trusted || arm->drawn < PROBE)
        return 1;
    return fmax(WEIGHT_LEAST, fmin(1, pow(MISPREDICTED * least / arm->predicted_us, MISSED_POWER)));
}

/* The time that an arm reached counts also if the candidate was given up as slow; otherwise an arm
 * whose candidates are all slow would keep the share of an untried arm.  (Of 131 measured races
 * with several kernels, the winner's arm was within 15 % of the best after six candidates of each
 * in 128.) */
double gt_arm_share(const struct gt_arm_record *arm, double best_us, double least_predicted,
                    double power)
{
    if (!(arm->reached_us > 0))
        return promised(arm, least_predicted);
    if (!(best_us > 0) || !(arm->reached_us > best_us))
        return 1;
    return fmax(WEIGHT_LEAST, pow(best_us / arm->reached_us, power));
}
