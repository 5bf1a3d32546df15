/* export.h - writes the rows of a database as text, for people and other programs.
 *
 * Every format is sorted and contains only stored facts, so that the same database gives the same
 * bytes.  In every format a row says whether it was measured or predicted. */
#ifndef GT_EXPORT_H
#define GT_EXPORT_H

#include <stdio.h>

#include "db/store.h"

/* All formats: X(name in the enum, name on the command line, name of its gt_export_ops). */
#define GT_EXPORT_MAP(X)                                                                         \
    X(CSV, "csv", csv)                /* comma-separated values, for spreadsheets and plots */   \
    X(JSON, "json", json)             /* one JSON document, one row a line, with a digest */     \
    X(MD, "md", md)                   /* a Markdown table */                                     \
    X(C, "c", c)                      /* a C header: a static table and a function that looks */ \
    X(SHIPPED, "shipped", shipped)    /* a table that libgemmtune reads, winners only */         \
    X(BENCH, "bench", bench)          /* winners beside cuBLAS: the table of tune bench */       \
    X(SEARCH, "search", search)       /* how each turn of each problem went */                   \
    X(ENERGY, "energy", energy)       /* joules, as tune energy measured them */                 \
    X(TRIALS, "trials", trials)       /* measured trials in short, to learn rankings from */     \
    X(KT_CACHE, "kt-cache", kt_cache) /* one space as a Kernel Tuner cache file */               \
    X(T4, "t4", t4)                   /* the same in T4, the autotuning community's format */    \
    X(T4_METADATA, "t4-metadata", t4_metadata) /* T4's second file: the trials' devices */

enum gt_export_format {
#define GT_EXPORT_ENUM(name, text, ops) GT_EXPORT_##name,
    GT_EXPORT_MAP(GT_EXPORT_ENUM)
#undef GT_EXPORT_ENUM
        GT_EXPORT_COUNT
};

const char *gt_export_name(enum gt_export_format format);

/* The format of that name.  GT_ENOTFOUND: there is no such format; the sentence lists the names. */
int gt_export_parse(const char *text, enum gt_export_format *format, struct gt_err *err);

struct gt_export_request {
    enum gt_export_format format;
    struct gt_row_filter filter;
    const struct gt_problem *problem; /* only rows of these problems, in their order; search,
                                         kt-cache and t4 take one problem at most (GT_ERANGE) */
    size_t problems;                  /* 0: rows of all problems */
    /* For the format shipped: an earlier table, whose rows stay where the database has no winner of
     * the problem, if they are of filter.kernels (NULL: of any kernel).  NULL: no earlier table. */
    const char *keep;
    /* For the format energy.  json: JSON instead of comma-separated values; objective (enum
     * gt_objective): for each problem and device only the rows that are the best by it; -1: all
     * rows. */
    bool json;
    int objective;
    /* For csv, json and md of all trials: the kernels as they are today, so that rows of an older
     * text of a kernel are marked.  NULL: no row is marked. */
    const struct gt_kernels *today;
};

/* Writes the rows that the request asks for; *rows (which may be NULL): their number.  Whatever the
 * filter says, c, shipped and bench write winners only, bench and search measured rows only, trials
 * every trial that can be learned from, and kt-cache and t4 every trial of one space (GT_ERANGE:
 * the trials are of several spaces; GT_ENOTFOUND: there are no trials). */
int gt_export(FILE *file, const struct gt_export_request *request, struct gt_store *store,
              int64_t *rows, struct gt_err *err);

/* The heading of tune bench's table and the fields of a row of it, both without an end of line.
 * Values that both `row` and `with` have are taken from `row`. */
struct gt_strbuf;
void gt_export_bench_heading(struct gt_strbuf *text);
void gt_export_bench_fields(struct gt_strbuf *text, const struct gt_row *row,
                            const struct gt_problem *problem, const struct gt_comparison *with);

/* The time in microseconds for moving the operands at the bandwidth of a copy; 0: not known. */
double gt_export_bound_us(const struct gt_problem *problem, const struct gt_comparison *with,
                          int timing);

/* Whether an error is above 1.25 times the baseline's error (0: not known). */
bool gt_export_err_above(double err_u, double baseline_err_u);

#endif
