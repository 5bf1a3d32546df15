/* cmd_adopt.h - tune recheck --adopt: winners that hang on an older text of their kernel, or come
 * from another table, proved and timed again with today's text. */
#ifndef GT_CMD_ADOPT_H
#define GT_CMD_ADOPT_H

#include "console/terminal.h"
#include "session/cmd_session.h"

struct cJSON;
struct gt_csv;

struct gt_adopt_options {
    const struct gt_problem_options *problem; /* only winners of these; none named: all */
    const char *table; /* whose winners are taken beside the database's; NULL: none */
    const char *csv;   /* NULL: no CSV */
    size_t limit;      /* problems of this run; 0: all */
    int rounds;        /* of a final; 0: as many as take about half a second */
    int timing;        /* enum gt_timing */
};

/* What became of a winner: stored as a trial of today's text; so by an earlier run; its kernel or
 * point is not possible today; tried, and its trial is not ok. */
enum gt_adoption {
    GT_ADOPT_OPEN,
    GT_ADOPT_DONE,
    GT_ADOPT_KNOWN,
    GT_ADOPT_UNFIT,
    GT_ADOPT_FAILED,
    GT_ADOPT_COUNT
};

/* A winner on its way.  The texts are malloc'ed. */
struct gt_adoptee {
    char *text, *kernel_name, *point; /* as stored: the problem, the kernel, the point */
    double stored_us;
    struct gt_problem problem;
    struct gt_candidate candidate; /* of today's text, unless unfit */
    enum gt_adoption verdict;
    double us, lo_us, hi_us, baseline_us; /* as timed; 0: not */
    char detail[512];                     /* why not */
};

struct gt_adopting {
    struct gt_session *session;
    const struct gt_adopt_options *options;
    struct gt_adoptee *item; /* those of a problem follow each other */
    size_t items, capacity;
    struct gt_trial_key key; /* sweep, device, toolchain and L2 mode */
    size_t tally[GT_ADOPT_COUNT];
    struct gt_csv *csv;
    struct cJSON *json, *rows; /* NULL: a table is printed */
    struct gt_columns columns;
};

/* The command, once the session is open.  Positive: an exit code. */
int gt_adopt(struct gt_session *session, const struct gt_adopt_options *options,
             struct gt_err *err);

#endif
