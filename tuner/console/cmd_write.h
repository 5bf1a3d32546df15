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

#endif
