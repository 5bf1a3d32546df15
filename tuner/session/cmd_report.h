/* cmd_report.h - prints the result of a sweep: as a ranked table, or as JSON. */
#ifndef GT_CMD_REPORT_H
#define GT_CMD_REPORT_H

#include "session/cmd_session.h"

struct cJSON;

/* Prints the ranked table of one problem on cli->out, with at most `rows` candidates.  Its heading
 * says PREDICTED where nothing was measured. */
void gt_report_result(const struct gt_session *session, const struct gt_sweep_result *result,
                      size_t rows);

/* Appends the text of a point without the parameters that have their default; other commands read
 * the shorter text as the same point.  All parameters are written where the defaults of the session
 * (which may be NULL) are not those of the description (--values, a recording). */
void gt_report_point(struct gt_strbuf *buf, const struct gt_session *session,
                     const struct gt_kernel *kernel, const struct gt_point *point);

/* Appends why the problem has no row: no kernel serves it, or what became of one that was tried. */
void gt_report_nothing(struct gt_strbuf *buf, const struct gt_session *session,
                       const struct gt_sweep_result *result);

/* Prints what the run did, in one or two sentences on cli->log. */
void gt_report_summary(const struct gt_session *session, const struct gt_sweep_result *result);

/* Prints why the first trial of each status that is the kernel's fault failed (compile errors,
 * faults, wrong results), of all `count` results together, on cli->log; nothing with --quiet. */
void gt_report_failures(const struct gt_session *session, const struct gt_sweep_result *result,
                        size_t count);

/* Prints how a run over several problems used the time of the GPU and of the compilers, on
 * cli->log. */
void gt_report_totals(const struct gt_session *session);

/* All results as a JSON document, which is the caller's; gt_cmd_print_json prints it, and finds out
 * whether memory sufficed. */
struct cJSON *gt_report_document(const struct gt_session *session,
                                 const struct gt_sweep_result *result, size_t count);

#endif
