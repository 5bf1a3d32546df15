/* cmd_carry.h - tune recheck --adopt --same-code: rows of an older text of their kernel become rows
 * of today's where both texts give the same machine code and the same launches.  It takes NVRTC and
 * a folder with the older templates and descriptions, no GPU. */
#ifndef GT_CMD_CARRY_H
#define GT_CMD_CARRY_H

#include "base/digest.h"
#include "kernel/kernel.h"
#include "lookup/table.h"
#include "problem/device.h"

struct gt_cli;
struct gt_compiled;
struct gt_store;
struct gt_strbuf;

struct gt_carry_options {
    const char *older;  /* data folder with the templates and configs that the rows belong to */
    const char *table;  /* text table; NULL: a database */
    const char *output; /* where the table goes */
    const char *db;     /* NULL: the default one */
    const char *kernels_dir, *include_dirs; /* of the user's own kernels as they are today; NULL */
    int jobs;                               /* compile workers; 0: one for each core */
};

/* What became of a row: it is of today's text; taken over; its code or launches are others today;
 * there is no such point today, or nothing to compare with. */
enum gt_carry_verdict {
    GT_CARRY_OPEN,
    GT_CARRY_CURRENT,
    GT_CARRY_SAME,
    GT_CARRY_OTHER,
    GT_CARRY_UNFIT,
    GT_CARRY_COUNT
};

enum { GT_CARRY_OLDER, GT_CARRY_TODAY, GT_CARRY_TEXTS };

/* A row on its way. */
struct gt_carry_row {
    const char *device, *uuid, *text, *kernel, *signature,
        *point;                    /* as stored; text: the problem */
    char *memory;                  /* of these, malloc'ed */
    int cc, driver, nvrtc, timing; /* enum gt_timing */
    int sms;                       /* 0: the table does not say */
    int64_t l2_bytes;              /* likewise */
    struct gt_problem problem;
    struct gt_device on; /* what the expressions of the description see */
    struct gt_candidate candidate[GT_CARRY_TEXTS];
    char key[GT_CARRY_TEXTS][GT_DIGEST_HEX]; /* of the cubin; "": not compiled yet */
    enum gt_carry_verdict verdict;
    char detail[512]; /* why it was not taken over */
};

struct gt_carrying {
    struct gt_cli *cli;
    const struct gt_carry_options *options;
    struct gt_kernels kernels[GT_CARRY_TEXTS];
    struct gt_carry_row *row; /* of a table: its lines, in their order */
    size_t rows, capacity;
    size_t tally[GT_CARRY_COUNT];
    size_t current; /* rows of a database that were not listed because they are of today's text */
};

/* The command.  Positive: an exit code. */
int gt_carry(struct gt_cli *cli, const struct gt_carry_options *options, struct gt_err *err);

#endif
