/* cmd_report.h - prints the result of a sweep: as a ranked table, or as JSON. */
#ifndef GT_CMD_REPORT_H
#define GT_CMD_REPORT_H

#include "session/cmd_session.h"

struct cJSON;

/* Prints the ranked table of one problem on cli->out, with at most `rows` candidates.  The heading
 * says PREDICTED if nothing was measured. */
void gt_report_result(const struct gt_session *session, const struct gt_sweep_result *result,
                      size_t rows);

/* Appends the text of a point without the parameters that have their default; other commands read
 * the shorter text as the same point.  All parameters are written if the defaults of the session
 * (which may be NULL) differ from the defaults of the description (--values, a recording). */
void gt_report_point(struct gt_strbuf *buf, const struct gt_session *session,
                     const struct gt_kernel *kernel, const struct gt_point *point);

/* Appends why the problem has no row: no kernel serves the problem, or the failure of a candidate
 * that was tried. */
void gt_report_nothing(struct gt_strbuf *buf, const struct gt_session *session,
                       const struct gt_sweep_result *result);

/* Prints a summary of the run, in one or two sentences on cli->log. */
void gt_report_summary(const struct gt_session *session, const struct gt_sweep_result *result);

/* Prints on cli->log, for each status that is the kernel's fault (compile errors, faults, wrong
 * results), why the first trial with this status in all `count` results failed; nothing with
 * --quiet. */
void gt_report_failures(const struct gt_session *session, const struct gt_sweep_result *result,
                        size_t count);

/* Prints how a run over several problems used the time of the GPU and of the compilers, on
 * cli->log. */
void gt_report_totals(const struct gt_session *session);

/* All results as a JSON document, which the caller owns.  gt_cmd_print_json prints the document,
 * and reports if memory did not suffice. */
struct cJSON *gt_report_document(const struct gt_session *session,
                                 const struct gt_sweep_result *result, size_t count);

#endif
