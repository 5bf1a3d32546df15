/* cmd_write.h - files that commands write: whole or not at all. */
#ifndef GT_CMD_WRITE_H
#define GT_CMD_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "gemmtune.h"

struct gt_err;

struct gt_cmd_writing {
    int (*write)(void *context, FILE *file, struct gt_err *err);
    int (*check)(void *context, const char *path,
                 struct gt_err *err); /* of what was written, before
                                         it gets its name; or NULL */
    void *context;
    mode_t mode; /* less the umask */
};

/* Writes to a new file beside `path`, which nobody can have planted, and renames it, so that a
 * failure leaves the old file.  What is no file (/dev/stdout, a pipe) is written to, and not
 * checked; "-" is standard output. */
int gt_cmd_write_file(const char *path, const struct gt_cmd_writing *writing, struct gt_err *err);

/* The same for a file whose contents are at hand, mode 0666. */
int gt_cmd_write_bytes(const char *path, const void *bytes, size_t size, struct gt_err *err);

/* The same for what is written over a longer time.  close with rc 0 gives the file its name and
 * returns whether that succeeded; else it is dropped, and rc is returned.  A process that is killed
 * leaves PATH.part-XXXXXX, which the next one that writes to PATH removes after an hour. */
struct gt_cmd_output {
    FILE *file; /* NULL: not open, and close does nothing */
    char *path;
    char *fresh; /* beside it; NULL: what is written to directly */
};
int gt_cmd_output_open(struct gt_cmd_output *output, const char *path, struct gt_err *err);
int gt_cmd_output_close(struct gt_cmd_output *output, int rc, struct gt_err *err);

/* Whether gt_cmd_write_file is likely to succeed later: told before work of hours begins. */
int gt_cmd_may_write(const char *path, struct gt_err *err);

/* Folders for files that nobody needs once a command has ended: in $TMPDIR, else /tmp.
 */

struct gt_scratch {
    char *path; /* absolute, as processes of the command may work elsewhere; NULL: there is none */
    int fd;     /* of the folder, locked as long as it is in use */
};

/* Makes a new folder that only this user may enter.  Those that killed commands of this user left
 * behind an hour ago or earlier are removed before.  To be removed also after a failure. */
int gt_scratch_make(struct gt_scratch *scratch, struct gt_err *err);

/* Removes it with the files in it; a zeroed one is accepted. */
void gt_scratch_remove(struct gt_scratch *scratch);

/* CSV files that commands write beside what they print (RFC 4180, with LF at line
 * ends).  They are written beside the path and get their name when they are closed, also by a run
 * that was interrupted.  A record is in the file when gt_csv_end returns: a process that is killed
 * leaves it in PATH.part-XXXXXX (console/cmd_write.h). */

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

/* How commands print a JSON document. */

struct cJSON;
struct gt_cli;
struct gt_err;

/* From now on an allocation of cJSON that fails is remembered: a member that could not be added is
 * missed by gt_cmd_print_json, not by each of the lines that add one.  Forgets earlier failures. */
void gt_cmd_json_watch(void);

/* Prints the document on cli->out and deletes it; GT_ENOMEM if it (or a part of it) is missing.
 * Bytes of names that are not UTF-8 become question marks. */
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

/* Prints a document that has no more than such members; GT_ENOMEM. */
__attribute__((format(printf, 3, 4))) int
gt_cmd_print_members(const struct gt_cli *cli, struct gt_err *err, const char *members, ...);

/* Prints how a command failed as a line of its own: {"error": "SENTENCE", "code": EXIT CODE}.
 * false: memory did not suffice, and nothing is printed. */
bool gt_cmd_json_error(FILE *out, const char *sentence, int code);

#endif
