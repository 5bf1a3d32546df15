/* doctor_checks.h - what tuning needs: whether it is there, and what to do if it is not. */
#ifndef GT_DOCTOR_CHECKS_H
#define GT_DOCTOR_CHECKS_H

#include "console/options.h"

#define GT_DOCTOR_CHECKS 8

/* Optional: it is not there, and tuning can do without; broken: it is there and cannot be used. */
enum gt_doctor_verdict { GT_FOUND_OK, GT_FOUND_OPTIONAL, GT_FOUND_MISSING, GT_FOUND_BROKEN };

struct gt_finding {
    enum gt_doctor_verdict verdict;
    char text[600];
};

/* What the checks are given. */
struct gt_checking {
    const struct gt_cli *cli;
    const char *named; /* the database of --db; NULL: the default one */
};

/* The database that doctor looks at; also names it where it could not be used. */
const char *gt_doctor_database(const struct gt_cli *cli, const char *named);

/* What a check looks at, such as "NVRTC"; check: below GT_DOCTOR_CHECKS. */
const char *gt_doctor_check_name(size_t check);

/* Runs one check in its own process, because a library that crashes or hangs is a finding, too.
 * Whatever the check leaves open ends with that process. */
void gt_doctor_probe(size_t check, const struct gt_checking *checking, struct gt_finding *finding);

#endif
