/* report.h - stage: what a process asked for and what became of it, for people (GEMMTUNE_REPORT)
 * and as a set of problems to tune (GEMMTUNE_CAPTURE). */
#ifndef GT_REPORT_H
#define GT_REPORT_H

struct gt_session;
struct gt_strbuf;

/* Writes both files, as far as the policy names them: beside the file first, and then in its place.
 * A file that cannot be written is said once and costs nothing else. */
void gt_report_write(struct gt_session *session);

/* The texts of both. */
void gt_report_text(struct gt_strbuf *text, struct gt_session *session);
void gt_capture_text(struct gt_strbuf *text, struct gt_session *session);

#endif
