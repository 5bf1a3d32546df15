/* cmd_write.h - files that commands write as a whole or not at all. */
#ifndef GT_CMD_WRITE_H
#define GT_CMD_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/scratch.h"
#include "gemmtune.h"

struct gt_err;

struct gt_cmd_writing {
    int (*write)(void *context, FILE *file, struct gt_err *err);
    int (*check)(void *context, const char *path,
                 struct gt_err *err); /* checks the new file before it gets its name; or NULL */
    void *context;
    mode_t mode; /* less the umask */
};

/* Writes to a new file beside `path`, which nobody can have planted, and renames that file, so that
 * a failure leaves the old one.  A device or a pipe (/dev/stdout) is written to directly, and not
 * checked; "-" is standard output. */
int gt_cmd_write_file(const char *path, const struct gt_cmd_writing *writing, struct gt_err *err);

/* Writes the bytes as such a file, mode 0666. */
int gt_cmd_write_bytes(const char *path, const void *bytes, size_t size, struct gt_err *err);

/* A file that is written over a longer time. close with rc 0 gives the file its name and returns
 * whether that succeeded; with another rc the file is dropped, and rc is returned.  A killed
 * process leaves PATH.part-XXXXXX, which the next process that writes to PATH removes if it is an
 * hour old. */
struct gt_cmd_output {
    FILE *file; /* NULL: not open, and close does nothing */
    char *path;
    char *fresh; /* the new file beside `path`; NULL: `path` is written to directly */
};
int gt_cmd_output_open(struct gt_cmd_output *output, const char *path, struct gt_err *err);
int gt_cmd_output_close(struct gt_cmd_output *output, int rc, struct gt_err *err);

/* Whether gt_cmd_write_file is likely to succeed later: asked before hours of work. */
int gt_cmd_may_write(const char *path, struct gt_err *err);

/* CSV files that commands write beside what they print (RFC 4180, with LF at line ends).  A CSV
 * file is written beside the path and gets its name when it is closed, also by a run that was
 * interrupted.  A record is in the file when gt_csv_end returns: a killed process leaves its
 * records in PATH.part-XXXXXX. */

struct cJSON;
struct gt_err;
struct gt_csv;

/* Creates the file anew and writes the heading. */
int gt_csv_new(struct gt_csv **csv, const char *path, const char *heading, struct gt_err *err);

/* Syncs and closes; NULL accepted.  GT_EIO if any record could not be written. err NULL: the
 * command has failed; if no record was written, an older file stays. */
int gt_csv_close(struct gt_csv *csv, struct gt_err *err);

/* These write a record field by field; fields are quoted where necessary.  All of them accept NULL
 * for csv and then do nothing. */
void gt_csv_text(struct gt_csv *csv, const char *text);
__attribute__((format(printf, 2, 3))) void gt_csv_format(struct gt_csv *csv, const char *format,
                                                         ...);
void gt_csv_real(struct gt_csv *csv, double value, int digits, bool known); /* empty if unknown */
void gt_csv_end(struct gt_csv *csv);                                        /* ends the record */
void gt_csv_line(struct gt_csv *csv, const char *record); /* a whole record, quoted by the caller */

/* A row that commands print with --json and write with --csv.  In the object each field has its
 * key, in the file its place.  An unknown value has no key in the object, and an empty field in the
 * file. */
struct gt_record {
    struct cJSON *json; /* an object; NULL: none is printed */
    struct gt_csv *csv; /* NULL: no file is written */
};
void gt_record_text(const struct gt_record *record, const char *key,
                    const char *text); /* NULL: not known */
void gt_record_bool(const struct gt_record *record, const char *key, bool value); /* "0" or "1" */
void gt_record_real(const struct gt_record *record, const char *key, double value, int digits,
                    bool known); /* digits: in the file; the object has all digits */

/* How commands print a JSON document. */

struct cJSON;
struct gt_cli;
struct gt_err;

/* From now on a failed allocation of cJSON is remembered.  gt_cmd_print_json then reports a member
 * that could not be added, so that the lines that add members need no check.  Forgets earlier
 * failures. */
void gt_cmd_json_watch(void);

/* Prints the document on cli->out and deletes it; GT_ENOMEM if the document or a part of it is
 * missing.  Bytes of names that are not UTF-8 become question marks. */
int gt_cmd_print_json(const struct gt_cli *cli, struct cJSON *json, struct gt_err *err);

/* Adds members to an object: "name=%s size=%g count=%d known=%i" takes a text, a number as a double
 * or an int (%u: unsigned), and a truth value.  A text that is NULL is not added. */
__attribute__((format(printf, 2, 3))) void gt_json_add(struct cJSON *json, const char *members,
                                                       ...);

/* Adds a list of three numbers. */
void gt_json_add_triple(struct cJSON *json, const char *key, const unsigned value[3]);

/* Appends a new object with such members to a list. */
__attribute__((format(printf, 2, 3))) struct cJSON *gt_json_append(struct cJSON *list,
                                                                   const char *members, ...);

/* Prints a document that has such members only; GT_ENOMEM. */
__attribute__((format(printf, 3, 4))) int
gt_cmd_print_members(const struct gt_cli *cli, struct gt_err *err, const char *members, ...);

/* Prints the failure of a command as one line: {"error": "SENTENCE", "code": EXIT CODE}.  false:
 * memory did not suffice, and nothing is printed. */
bool gt_cmd_json_error(FILE *out, const char *sentence, int code);

#endif
