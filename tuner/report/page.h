/* page.h - one HTML file that shows what a database holds: ratios to cuBLASLt, a roofline, the
 * course of each search, parameters, failures.  It needs no network, no server and no other file.
 */
#ifndef GT_PAGE_H
#define GT_PAGE_H

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdio.h>

struct gt_err;
struct gt_problem;
struct gt_row_filter;
struct gt_store;

struct gt_report_request {
    const struct gt_row_filter *filter; /* its members problem, kernel and cc are used */
    const struct gt_problem *problem;   /* only these problems; `problems` 0: all */
    const double *weight;               /* of each problem; NULL: all weights are equal */
    size_t problems;
    const char *const *recheck; /* files that tune recheck --json printed */
    size_t rechecks;
    int reload_s; /* the page reloads after so many seconds; 0: never */
};

/* The counts of a page: problems with a measured time; trials that were predicted or replayed;
 * problems, turns and trials for which the page has no room. */
struct gt_report_counts {
    size_t measured, guessed, left;
};

/* Writes the page.  Errors: GT_EIO, GT_ENOMEM, and the errors of the store. */
int gt_report_write(FILE *file, const struct gt_report_request *request, struct gt_store *store,
                    struct gt_report_counts *counts, struct gt_err *err);

/* A page of any kind: a title, data, and the scripts that draw the data with the shapes of
 * charts.js. */
#define GT_PAGE_SCRIPTS 3
struct gt_page {
    const char *title, *script[GT_PAGE_SCRIPTS]; /* NULL ends them */
    int reload_s;                                /* as above */
};
int gt_page_write(FILE *file, const struct gt_page *page, const cJSON *data, struct gt_err *err);

#endif
