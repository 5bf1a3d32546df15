/* cmd_record.h - the printer of records: what commands print as lines of text or, with --json, as
 * JSON, and what they write as CSV beside that.
 *
 * A printf format describes the fields of a record and is followed by their values:
 *
 *     "kernel=%-18s us=%10.2f lo_us=%+.3f .registers=%d"
 *
 * Each field has a key and one conversion: %s (a text), %i (a truth value), %d, %u, %zu, %lld
 * (whole numbers), %f or %g (a real number).  JSON has all digits of a number, CSV the digits of
 * the conversion, a line the digits and the width.  A text that is NULL, a number that is NAN and,
 * with the flag '+', a number that is not above 0 are not known: JSON then has no such key, CSV an
 * empty field, a line a "-".  A point in front of the key keeps the field out of lines; a field
 * without a key stands in lines only; other characters around a conversion, too ("cc=sm_%-5d"),
 * and further blanks between fields. */
#ifndef GT_CMD_RECORD_H
#define GT_CMD_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/stats.h"

struct cJSON;
struct gt_cli;
struct gt_columns;
struct gt_err;

#define GT_FIELDS(fields) __attribute__((format(printf, fields, fields + 1)))

/* ---- CSV files (RFC 4180, with LF at line ends) ----
 *
 * A CSV file is written beside the path and gets its name when it is closed, also by a run that was
 * interrupted.  A record is in the file when gt_csv_end returns: a killed process leaves its
 * records in PATH.part-XXXXXX. */

struct gt_csv;

/* Creates the file anew and writes the heading. */
int gt_csv_new(struct gt_csv **csv, const char *path, const char *heading, struct gt_err *err);

/* Syncs and closes; NULL accepted.  GT_EIO if any record could not be written. err NULL: the
 * command has failed; if no record was written, an older file stays. */
int gt_csv_close(struct gt_csv *csv, struct gt_err *err);

/* These write a record field by field; fields are quoted where necessary.  All of them accept NULL
 * for csv and then do nothing. */
void gt_csv_text(struct gt_csv *csv, const char *text);
void gt_csv_end(struct gt_csv *csv);                      /* ends the record */
void gt_csv_line(struct gt_csv *csv, const char *record); /* a whole record, quoted by the caller */

/* ---- JSON documents ---- */

/* From now on a failed allocation of cJSON is remembered.  gt_cmd_print_json then reports a member
 * that could not be added, so that the lines that add members need no check.  Forgets earlier
 * failures. */
void gt_cmd_json_watch(void);

/* GT_ENOMEM if an allocation of cJSON has failed. */
int gt_cmd_json_check(struct gt_err *err);

/* Prints the document on cli->out and deletes it; GT_ENOMEM if the document or a part of it is
 * missing.  Bytes of names that are not UTF-8 become question marks. */
int gt_cmd_print_json(const struct gt_cli *cli, struct cJSON *json, struct gt_err *err);

/* Adds the fields to an object. */
GT_FIELDS(2) void gt_json_add(struct cJSON *json, const char *fields, ...);

/* Adds a new object with the fields to a list, or to an object under the key, and returns it. */
GT_FIELDS(2) struct cJSON *gt_json_append(struct cJSON *list, const char *fields, ...);
GT_FIELDS(3)
struct cJSON *gt_json_object(struct cJSON *json, const char *key, const char *fields, ...);

/* Adds a list of three numbers. */
void gt_json_add_triple(struct cJSON *json, const char *key, const unsigned value[3]);

/* Prints a document that has the fields only; GT_ENOMEM. */
GT_FIELDS(3)
int gt_cmd_print_members(const struct gt_cli *cli, struct gt_err *err, const char *fields, ...);

/* Prints the failure of a command as one line: {"error": "SENTENCE", "code": EXIT CODE}.  false:
 * memory did not suffice, and nothing is printed. */
bool gt_cmd_json_error(FILE *out, const char *sentence, int code);

/* ---- records ---- */

/* A record that is made in several steps; the caller ends its CSV record. */
struct gt_record {
    struct cJSON *json; /* an object; NULL: none is printed */
    struct gt_csv *csv; /* NULL: no file is written */
};
GT_FIELDS(2) void gt_record_add(const struct gt_record *record, const char *fields, ...);

/* The records of a command: lines of text, or a document in JSON. */
struct gt_records {
    struct cJSON *root, *list; /* the document and its list of records; NULL: lines are printed */
    FILE *out;                 /* for lines; NULL: none are printed */
    struct gt_csv *csv;        /* gets the records, too; NULL: no file is written */
};

/* Begins a document that is a list, or prints the heading of the lines (NULL: none). */
void gt_records_open(struct gt_records *records, const struct gt_cli *cli, const char *heading);

/* Begins a document that has the fields and, under the key `list`, the list.  Lines get no heading.
 */
GT_FIELDS(4)
void gt_records_document(struct gt_records *records, const struct gt_cli *cli, const char *list,
                         const char *fields, ...);

/* Adds a record to the list, prints its line, and writes it to the CSV file.  Returns the record's
 * object; NULL: there is no document. */
GT_FIELDS(2)
struct cJSON *gt_records_add(const struct gt_records *records, const char *fields, ...);

/* Prints the document, unless rc is a failure, and closes the CSV file; the first failure. */
int gt_records_close(struct gt_records *records, const struct gt_cli *cli, int rc,
                     struct gt_err *err);

/* gt_columns_row with the cells "%.2f|%+.3f|%s|%.1f %%", which are conversions as above, each with
 * the text behind it; a cell whose value is not known is "-". */
GT_FIELDS(5)
void gt_columns_print(const struct gt_columns *columns, FILE *out, const char *lead,
                      const char *tail, const char *cells, ...);

#endif
