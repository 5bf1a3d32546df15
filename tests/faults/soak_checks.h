/* soak_checks.h - checks each sweep of the soak; every violation is printed and counted. */
#ifndef GT_SOAK_CHECKS_H
#define GT_SOAK_CHECKS_H

#include "results.h"
#include "run.h"

#include <stdbool.h>

#define SOAK_STATUSES 15 /* that a trial may have */
#define FAULTS        10 /* FAULT=0 is none */
#define GOOD          9  /* points with FAULT=0 */

struct soak {
    struct run_options run;
    struct results sound; /* of round 1 */
    unsigned random;
    int rounds, sweeps, trials, worker_kills, supervisor_kills, interrupts, orphans, violations;
    int count[SOAK_STATUSES];
};

extern const char *const soak_statuses[SOAK_STATUSES];

__attribute__((format(printf, 2, 3))) void soak_violation(struct soak *soak, const char *format,
                                                          ...);

/* Counts the trials of a sweep by status. */
void soak_count(struct soak *soak, const struct results *results);

/* No process may outlive its sweep; one that does is killed. */
void soak_check_orphans(struct soak *soak);

/* Whether a row has the expected status.  killed: it may also be `killed`, because the tuner may
 * have died each time that it was launched. */
bool soak_as_expected(const struct result *row, bool killed);

/* Checks a finished sweep over the faults; at most `harmed` rows may be `killed`. */
void soak_check_results(struct soak *soak, const struct results *results, int harmed);

/* Checks that the trials stored before a kill are still there; only those that may be tried again
 * may differ. */
void soak_check_kept(struct soak *soak, const struct results *before, const struct results *after);

#endif
