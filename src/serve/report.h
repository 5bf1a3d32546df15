/* report.h - stage: writes which products a process asked for and what became of them: a report for
 * people (GEMMTUNE_REPORT), and a set of problems to tune (GEMMTUNE_CAPTURE). */
#ifndef GT_REPORT_H
#define GT_REPORT_H

struct gt_session;
struct gt_strbuf;

/* Writes the files that the policy names.  Each is written under another name first and then
 * renamed, so that no reader sees half of it.  Where that fails, one sentence on standard error
 * says so, and the program goes on. */
void gt_report_write(struct gt_session *session);

/* The texts of both files. */
void gt_report_text(struct gt_strbuf *text, struct gt_session *session);
void gt_capture_text(struct gt_strbuf *text, struct gt_session *session);

#endif
