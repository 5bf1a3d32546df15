/* cmd_recheck_report.h - prints what tune recheck found, as a table or a JSON document, and writes
 * it as CSV. */
#ifndef GT_CMD_RECHECK_REPORT_H
#define GT_CMD_RECHECK_REPORT_H

#include "console/columns.h"
#include "recheck/cmd_recheck_contest.h"

struct cJSON;
struct gt_cli;
struct gt_csv;

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
