/* table.h - stage: tuned tables as deployed, read into memory: a database (live, or an exported
 * copy) or a text table of db/shipped.  Nothing of the file stays open.
 *
 * A table may be damaged or come from elsewhere: it is data of a known form, its digest is checked,
 * and what it says about kernels is checked again against the kernels that are there. */
#ifndef GT_TABLE_H
#define GT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "gemmtune.h"
#include "kernel/kernel.h"
#include "lookup/lookup.h"
#include "lookup/ranking.h"

/* The text table: this and a digest of everything after the first line; then the columns; then one
 * winner a line, comma-separated, quoted as RFC 4180 says. */
#define GT_TABLE_MAGIC "# gemmtune winners 1 "
#define GT_TABLE_COLUMNS                                                                        \
    "cc,result,device,problem,kernel,signature,point,l2,us,lo_us,hi_us,cublas_us,err_u,driver," \
    "nvrtc,date"

/* Two more columns: the deepest timing stage of the row (3: a final), and how many trials it is the
 * best of.  Tables of earlier versions do not have them, and either field may be empty: their rows
 * count as those of finals. */
#define GT_TABLE_CONTEST ",stage,trials"

struct gt_store;

/* A winner.  The texts belong to the table. */
struct gt_table_row {
    struct gt_problem problem;
    const char *text; /* of the problem */
    const char *device, *kernel, *signature, *point;
    int cc;
    bool predicted;
    int timing; /* enum gt_timing */
    double us;
    double baseline_us; /* of cuBLASLt, timed beside it; 0: there is none */
    const char *algo;   /* its algorithm (cuda/cublaslt.h); "": it is no candidate */
    bool limited;       /* timed at another power limit than the device's others */
    int sms;            /* of the device; 0: the table does not say (a text table) */
    int64_t l2_bytes;   /* likewise */
    bool contested;     /* it won a final, or it is predicted: see README.md */
    int64_t trials;     /* that it is the best of; 0: the table does not say */
};

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

/* The same for a text table in memory; path: for sentences. */
int gt_table_parse(struct gt_table *table, const char *path, const char *text, size_t length,
                   struct gt_err *err);
/* Whether the text after the first line begins with columns that include the contest's. */
bool gt_table_has_contest(const char *body);
void gt_table_release(struct gt_table *table); /* a zeroed one is accepted */

/* What a look-up would hand out from tables as they are at one moment.  A sweep takes a snapshot
 * before its first trial, so that it can time the answers that its own rows are to replace; `tune
 * bench` takes one to show the untuned answer beside the tuned one. */

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

/* What gt_lookup would answer for the problem on the device; a profile stands for every device of
 * its arch.  resolved->kernel is one of the snapshot's kernels, or NULL if the tier is NONE.  The
 * texts of the answer are those of the snapshot; gt_resolved_release frees the others.  On failure
 * resolved is zeroed. */
int gt_snapshot_lookup(const struct gt_snapshot *snapshot, const struct gt_device *device,
                       const struct gt_problem *problem, struct gt_resolved *resolved,
                       struct gt_err *err);

#endif
