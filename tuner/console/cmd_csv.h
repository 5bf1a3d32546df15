/* cmd_csv.h - CSV files that commands write beside what they print (RFC 4180, with LF at line
 * ends).  They are written beside the path and get their name when they are closed, also by a run
 * that was interrupted.  A record is in the file when gt_csv_end returns: a process that is killed
 * leaves it in PATH.part-XXXXXX (console/cmd_write.h). */
#ifndef GT_CMD_CSV_H
#define GT_CMD_CSV_H

#include <stdbool.h>

struct cJSON;
struct gt_err;
struct gt_csv;

/* Creates the file anew and writes the heading. */
int gt_csv_new(struct gt_csv **csv, const char *path, const char *heading, struct gt_err *err);

/* Syncs and closes; NULL accepted.  GT_EIO if any record could not be written.  err NULL: the
 * command has failed, and without a record an older file stays. */
int gt_csv_close(struct gt_csv *csv, struct gt_err *err);

/* Write a record field by field; fields that need it are quoted.  All of these accept NULL for csv
 * and then do nothing. */
void gt_csv_text(struct gt_csv *csv, const char *text);
__attribute__((format(printf, 2, 3))) void gt_csv_format(struct gt_csv *csv, const char *format,
                                                         ...);
void gt_csv_real(struct gt_csv *csv, double value, int digits, bool known); /* empty if unknown */
void gt_csv_end(struct gt_csv *csv);                                        /* ends the record */
void gt_csv_line(struct gt_csv *csv, const char *record); /* a whole record, quoted by the caller */

/* A row that goes to both, as the commands print it with --json and write it with --csv: each field
 * under its key and at its place.  What is not known has no key, and an empty field. */
struct gt_record {
    struct cJSON *json; /* an object; NULL: none is printed */
    struct gt_csv *csv; /* NULL: no file is written */
};
void gt_record_text(const struct gt_record *record, const char *key,
                    const char *text); /* NULL: not known */
void gt_record_bool(const struct gt_record *record, const char *key, bool value); /* "0" or "1" */
void gt_record_real(const struct gt_record *record, const char *key, double value, int digits,
                    bool known); /* digits: in the file; the object has all */

#endif
