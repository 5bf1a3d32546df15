/* cmd_recheck.h - what the files of tune recheck share: its options, the fitting of a stored point
 * to a text of its kernel, and the report. --adopt takes winners that belong to an older text of
 * their kernel, or come from another table, and proves and times them with today's text.
 * --same-code carries rows of an older text over where both texts give the same machine code and
 * the same launches.  This needs NVRTC and a folder with the older templates and descriptions, but
 * no GPU. */
#ifndef GT_CMD_RECHECK_H
#define GT_CMD_RECHECK_H

#include "console/cmd_record.h"
#include "console/terminal.h"
#include "session/cmd_session.h"

struct gt_recheck_options {
    struct gt_session_options session;
    struct gt_problem_options problem;
    const char *csv, *system_db, *same_code, *output; /* NULL: not given */
    int64_t limit, runners, rounds;                   /* 0: not given */
    bool adopt;
};

/* The form of a report of winners. */
struct gt_recheck_form {
    const char *format, *title, *csv_heading, *winner;
    const struct gt_column *column;
    size_t columns;
    bool dated; /* the document has a date */
};

/* A report that is being written.  The caller sets the first two members. */
struct gt_recheck_report {
    const struct gt_session *session;
    int timing;                /* enum gt_timing */
    struct gt_records records; /* list NULL: a table is printed */
    struct gt_columns columns;
};

int gt_recheck_report_open(struct gt_recheck_report *report, const struct gt_recheck_form *form,
                           const char *csv, struct gt_err *err);

/* Ends the document with the number of rows of each verdict from `first` to count - 1, unless the
 * run failed (rc), and frees everything.  Returns rc or, if rc is GT_OK, the error of ending the
 * document.  A report that was not opened is accepted. */
int gt_recheck_report_close(struct gt_recheck_report *report, const char *const *verdict,
                            const size_t *tally, int first, int count, int rc, struct gt_err *err);

/* Copies the fields that identify a row, its device and its time.  The copied texts are in *memory,
 * which is malloc'ed. */
int gt_recheck_keep(struct gt_row *to, char **memory, const struct gt_row *from,
                    struct gt_err *err);

/* Completes the candidate, whose problem and device are set, with today's or another text of the
 * kernel.  Positive: the kernel does not serve the problem, or a constraint does not hold;
 * negative: there is no such kernel or point.  *why has the reason. */
int gt_recheck_fit(struct gt_candidate *candidate, const struct gt_kernels *kernels,
                   const char *kernel, const char *point, struct gt_geometry *geometry,
                   struct gt_err *why);

/* Exit code 8 if `bad` is not 0; the sentence counts the winners and says how they failed: `words`
 * ("not adopted"). */
int gt_recheck_bad(size_t bad, const char *words, struct gt_err *err);

/* The command with --adopt, once the session is open.  Positive: an exit code. */
int gt_adopt(struct gt_session *session, const struct gt_recheck_options *options,
             struct gt_err *err);

/* The command with --same-code.  Positive: an exit code. */
int gt_carry(struct gt_cli *cli, const struct gt_recheck_options *options, struct gt_err *err);

#endif
