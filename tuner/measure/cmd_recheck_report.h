/* cmd_recheck_report.h - prints what tune recheck found, as a table or a JSON document, and writes
 * it as CSV. */
#ifndef GT_CMD_RECHECK_REPORT_H
#define GT_CMD_RECHECK_REPORT_H

#include "console/columns.h"
#include "kernel/kernel.h"
#include "problem/problem.h"
#include "problem/trial.h"

struct cJSON;
struct gt_cli;
struct gt_csv;

#define GT_RECHECK_RUNNERS   16   /* candidates that a winner is timed against, at most */
#define GT_RECHECK_TOLERANCE 0.01 /* times of the same kernel in two runs differ by as much */

/* What became of a winner: it is still the fastest, it is not, it failed, or it was alone: there
 * was nothing to time it against. */
enum gt_verdict { GT_HELD, GT_LOST, GT_FAILED, GT_ALONE, GT_VERDICT_COUNT };

/* A problem whose winner is timed again: its candidates, the winner first. */
struct gt_contest {
    struct gt_problem problem;
    char text[GT_PROBLEM_TEXT_MAX];
    struct gt_candidate candidate[1 + GT_RECHECK_RUNNERS];
    struct gt_trial trial[1 + GT_RECHECK_RUNNERS];
    size_t count, wanted;
    size_t best; /* the fastest of the others; 0: none could be timed */
    double stored_us;
    /* How much longer that one takes than the winner, as a share of the winner's time: the median
     * of the paired ratios and its 95 % interval, in the last contest.  Only set if the verdict is
     * held or lost. */
    double margin, margin_lo, margin_hi;
    int contests; /* how many there were: a winner that loses the first gets a second one */
    enum gt_verdict verdict;
};

/* Where the rows go, and how many there are of each verdict. */
struct gt_recheck_report {
    const struct gt_cli *cli;
    const struct gt_device *device;
    int timing;                /* enum gt_timing */
    struct gt_csv *csv;        /* NULL: none */
    struct cJSON *json, *rows; /* the document and its list; NULL: a table is printed */
    size_t tally[GT_VERDICT_COUNT];
    double worst; /* the least margin */
    struct gt_columns columns;
};

/* csv_path: NULL for no CSV. */
int gt_recheck_report_open(struct gt_recheck_report *report, const struct gt_cli *cli,
                           const struct gt_device *device, int timing, const char *csv_path,
                           struct gt_err *err);
int gt_recheck_report_row(struct gt_recheck_report *report, const struct gt_contest *contest,
                          struct gt_err *err);

/* Ends the table or the document, unless the run failed (rc), and frees everything.  Returns rc or,
 * if that is GT_OK, the error of ending.  A zeroed report is accepted. */
int gt_recheck_report_close(struct gt_recheck_report *report, int rc, struct gt_err *err);

#endif
