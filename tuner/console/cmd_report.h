/* cmd_report.h - how a sweep's result is shown: the ranked table, or JSON. */
#ifndef GT_CMD_REPORT_H
#define GT_CMD_REPORT_H

#include "console/cmd_session.h"

/* The ranked table of one problem on cli->out, at most `rows` candidates; PREDICTED in its heading
 * where nothing was measured. */
void gt_report_result(const struct gt_session *session, const struct gt_sweep_result *result,
                      size_t rows);

/* Appends the parameters that do not have their default: a point text all the same, only shorter.
 * All of them where the session's (which may be NULL) defaults are not those of the description
 * (--values, a recording), so that the text means the same point to other commands. */
void gt_report_point(struct gt_strbuf *buf, const struct gt_session *session,
                     const struct gt_kernel *kernel, const struct gt_point *point);

/* Appends why the problem has no row: no kernel serves it, or what became of one that was tried. */
void gt_report_nothing(struct gt_strbuf *buf, const struct gt_session *session,
                       const struct gt_sweep_result *result);

/* What the run did, in one or two sentences on cli->log. */
void gt_report_summary(const struct gt_session *session, const struct gt_sweep_result *result);

/* What a run over several problems made of the GPU's and the compilers' time, on cli->log. */
void gt_report_totals(const struct gt_session *session);

/* All results as one JSON document on cli->out. */
int gt_report_json(const struct gt_session *session, const struct gt_sweep_result *result,
                   size_t count, struct gt_err *err);

#endif
