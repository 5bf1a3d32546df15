/* doctor_checks.h - checks whether the things that tuning needs are there, and says what to do
 * about a missing one. */
#ifndef GT_DOCTOR_CHECKS_H
#define GT_DOCTOR_CHECKS_H

#include "console/options.h"

#define GT_DOCTOR_CHECKS 8

/* Optional: missing, and tuning can do without; broken: there, but unusable. */
enum gt_doctor_verdict { GT_FOUND_OK, GT_FOUND_OPTIONAL, GT_FOUND_MISSING, GT_FOUND_BROKEN };

struct gt_finding {
    enum gt_doctor_verdict verdict;
    char text[600];
};

/* The input of the checks. */
struct gt_checking {
    const struct gt_cli *cli;
    const char *named; /* the database of --db; NULL: the default one */
};

/* The path of the database that doctor looks at, also of an unusable one. */
const char *gt_doctor_database(const struct gt_cli *cli, const char *named);

/* The name of a check's object, such as "NVRTC"; check: below GT_DOCTOR_CHECKS. */
const char *gt_doctor_check_name(size_t check);

/* Runs one check in its own process, because a library that crashes or hangs is a finding, too.
 * Everything that the check leaves open ends with that process. */
void gt_doctor_probe(size_t check, const struct gt_checking *checking, struct gt_finding *finding);

#endif
