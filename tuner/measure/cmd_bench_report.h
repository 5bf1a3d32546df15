/* cmd_bench_report.h - what tune bench prints: a table or a JSON document, and the CSV file. */
#ifndef GT_CMD_BENCH_REPORT_H
#define GT_CMD_BENCH_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "console/terminal.h"
#include "session/cmd_session.h"

/* The means that tune bench prints, over all problems and over those of each
 * type. */

struct gt_err;
struct gt_problem;

/* The figures of one problem that was compared. */
struct gt_bench_figures {
    char type[32]; /* "bf16"; "f32, accuracy f32" where it is not the type's default */
    double weight;
    double ratio;      /* cuBLASLt's time divided by the winner's */
    double best_ratio; /* cuBLASLt's time divided by the best of everything; 0: not known */
    double loss;       /* the untuned answer's time divided by the best known; 0: not timed */
    bool worse;        /* the winner is slower than the untuned answer */
    bool err_above;    /* the winner's error is above 1.25 times cuBLASLt's */
};

struct gt_bench_summary {
    struct gt_bench_figures *figures;
    size_t count, capacity;
};

/* The means over some of the problems. */
struct gt_bench_means {
    /* numbers of problems; below: with a ratio below 1; untuned: with a loss */
    size_t problems, below, untuned, worse, err_above;
    double ratio, worst, best_ratio, best_worst; /* weighted geometric means, and least; 0: none */
    double loss, loss_p90, loss_worst;           /* geometric mean without weights; 0: none */
};

/* Adds the figures of a problem; their `type` is set from the problem. */
int gt_bench_summary_add(struct gt_bench_summary *summary, const struct gt_problem *problem,
                         const struct gt_bench_figures *figures, struct gt_err *err);
void gt_bench_summary_release(struct gt_bench_summary *summary);

/* The means over the problems of a type (NULL: all). */
struct gt_bench_means gt_bench_summary_means(const struct gt_bench_summary *summary,
                                             const char *type);

/* Whether figures[i] is the first of its type. */
bool gt_bench_summary_first(const struct gt_bench_summary *summary, size_t i);

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
