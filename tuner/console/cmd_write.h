/* cmd_write.h - files that commands write: whole or not at all. */
#ifndef GT_CMD_WRITE_H
#define GT_CMD_WRITE_H

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

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

/* GT_EIO: a database is there, which holds what was measured, and nothing is written over it. */
int gt_cmd_keep_database(const char *path, struct gt_err *err);

/* Whether gt_cmd_write_file is likely to succeed later: told before work of hours begins. */
int gt_cmd_may_write(const char *path, struct gt_err *err);

#endif
