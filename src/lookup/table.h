/* table.h - stage: tuned tables, read into memory from a database (live, or an exported copy) or a
 * text table of db/shipped.  No file stays open.
 *
 * A table may be damaged or come from elsewhere.  So it is only data of a known form, its digest is
 * checked, and its kernels and points are checked against the kernels that are there. */
#ifndef GT_TABLE_H
#define GT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "gemmtune.h"
#include "kernel/kernel.h"
#include "lookup/lookup.h"
#include "lookup/ranking.h"

/* The text table.  Its first line is this text and a digest of everything after that line.  The
 * second line names the columns.  Each further line is a winner, comma-separated and quoted as RFC
 * 4180 says. */
#define GT_TABLE_MAGIC "# gemmtune winners 1 "
#define GT_TABLE_COLUMNS                                                                        \
    "cc,result,device,problem,kernel,signature,point,l2,us,lo_us,hi_us,cublas_us,err_u,driver," \
    "nvrtc,date"

/* Two more columns: the deepest timing stage of the row (3: a final), and the number of trials that
 * the row is the best of.  Tables of earlier versions lack both columns, and either field may be
 * empty: such rows count as winners of finals. */
#define GT_TABLE_CONTEST ",stage,trials"

struct gt_store;

/* A winner.  The texts belong to the table. */
struct gt_table_row {
    struct gt_problem problem;
    const char *text; /* text of the problem */
    const char *device, *kernel, *signature, *point;
    int cc;
    bool predicted;
    int timing; /* enum gt_timing */
    double us;
    double baseline_us; /* cuBLASLt's time, taken beside the row's; 0: there is none */
    const char *algo;   /* cuBLASLt's algorithm (cuda/cublaslt.h); "": it is no candidate */
    bool limited;       /* timed at another power limit than the device's other rows */
    int sms;            /* SMs of the device; 0: the table does not say (a text table) */
    int64_t l2_bytes;   /* likewise */
    bool contested;     /* the row won a final, or is predicted: see README.md */
    int64_t trials;     /* number of trials that the row is the best of; 0: the table does not
                           say */
};

/* The same as a row of a store (db/store.h), which points to the texts of this one. */
struct gt_row;
struct gt_row gt_table_line(const struct gt_table_row *row);

struct gt_table {
    struct gt_table_row *row;
    size_t rows, capacity;
    struct gt_table_chunk *chunk; /* the memory of the texts */
    char **ranking;               /* paths of the rankings (ranking.h) beside tables */
    size_t rankings, ranking_capacity;
};

/* Adds the winners of a database or text table, or of every *.csv and *.db of a folder (in the
 * order of their names), to a table (zeroed at first).  On failure the table is as it was. */
int gt_table_load(struct gt_table *table, const char *path, struct gt_err *err);

/* As gt_table_load, for a text table in memory; path: for sentences. */
int gt_table_parse(struct gt_table *table, const char *path, const char *text, size_t length,
                   struct gt_err *err);
/* Whether the column line, with which the text after the first line begins, has
 * GT_TABLE_CONTEST. */
bool gt_table_has_contest(const char *body);
void gt_table_release(struct gt_table *table); /* a zeroed one is accepted */

/* A snapshot of the tables, from which look-ups answer as at that moment.  A sweep takes a snapshot
 * before its first trial, so that it can time the answers that its own rows are to replace.  `tune
 * bench` takes a snapshot to show the untuned answer beside the tuned one. */

struct gt_snapshot {
    const struct gt_kernels *kernels; /* not owned */
    struct gt_table table;            /* the user's rows, then the system's */
    size_t user_rows;
    struct gt_rankings rankings;
};

/* store: the user's database (NULL: as if there were none); shipped: the system's table (NULL:
 * none).  kernels and the texts of shipped must outlive the snapshot; the store may change or
 * close.  The snapshot is to be released also after a failure. */
int gt_snapshot_take(struct gt_snapshot *snapshot, const struct gt_kernels *kernels,
                     struct gt_store *store, const struct gt_table *shipped, struct gt_err *err);
void gt_snapshot_release(struct gt_snapshot *snapshot); /* a zeroed one is accepted */

/* The answer of gt_lookup for the problem on the device; a profile stands for every device of its
 * arch.  resolved->kernel is one of the snapshot's kernels, or NULL if the tier is NONE.  The texts
 * of the answer belong to the snapshot, except those that gt_resolved_release frees.  On failure
 * resolved is zeroed. */
int gt_snapshot_lookup(const struct gt_snapshot *snapshot, const struct gt_device *device,
                       const struct gt_problem *problem, struct gt_resolved *resolved,
                       struct gt_err *err);

#endif
