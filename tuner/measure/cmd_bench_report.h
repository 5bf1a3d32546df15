/* cmd_bench_report.h - what tune bench prints: a table or a JSON document, and the CSV file. */
#ifndef GT_CMD_BENCH_REPORT_H
#define GT_CMD_BENCH_REPORT_H

#include "measure/cmd_bench_summary.h"
#include "session/cmd_session.h"
#include "console/columns.h"

struct cJSON;
struct gt_csv;

struct gt_bench_report {
    const struct gt_session *session;
    int timing;       /* enum gt_timing */
    double copy_gbps; /* bandwidth of a copy in this run; 0: not measured */
    /* set by gt_bench_report_open */
    struct gt_csv *csv;
    struct cJSON *json, *rows; /* the document and its list; NULL: a table is printed instead */
    size_t done;
    struct gt_bench_summary summary;
    struct gt_columns columns;
};

/* The winner of all kernels, where the row is the best of those that --kernels names. */
struct gt_bench_incumbent {
    const struct gt_kernel *kernel; /* NULL: it is one of those, or nothing else is stored */
    struct gt_point point;
    double us; /* in the same rounds, or as predicted; 0: it could not be timed */
};

/* A winner and what it was compared with. */
struct gt_bench_row {
    const struct gt_problem *problem;
    double weight;
    const struct gt_kernel *kernel;
    const struct gt_point *point;
    const struct gt_trial *trial;
    const struct gt_comparison *with; /* as stored; its time and error are those of the trial */
    const struct gt_bench_incumbent *incumbent;
};

/* Prints the heading and creates the CSV file (csv; NULL: none).  GT_ENOGPU: a CSV file is asked
 * for, but nothing can be measured here. */
int gt_bench_report_open(struct gt_bench_report *report, const char *csv, struct gt_err *err);
int gt_bench_report_row(struct gt_bench_report *report, const struct gt_bench_row *row,
                        struct gt_err *err);

/* Reports a problem without figures, with the reason. */
__attribute__((format(printf, 3, 4))) void
gt_bench_report_nothing(const struct gt_bench_report *report, const char *problem,
                        const char *format, ...);

/* Prints the means and ends the document, unless the run failed (rc), and frees everything. Returns
 * rc or, if that is GT_OK, the error of ending. */
int gt_bench_report_close(struct gt_bench_report *report, int rc, struct gt_err *err);

#endif
