/* cmd_write.c - files that commands write; see cmd_write.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/quiet.h"
#include "base/scratch.h"
#include "console/cmd_write.h"

static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? strndup(path, (size_t)(slash - path + 1)) : strdup(".");
}

/* Syncs the file's folder: only then is the rename durable. */
static void sync_folder(const char *path)
{
    char *folder = folder_of(path);
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(folder);
}

static int fail(const char *path, struct gt_err *err)
{
    return gt_err_set(err, GT_EIO, "%s: cannot write: %s", path, strerror(errno));
}

/* GT_EIO: the path is a database, which holds measurements and must not be overwritten. */
static int keep_database(const char *path, struct gt_err *err)
{
    return gt_is_database(path)
               ? gt_err_set(err, GT_EIO,
                            "%s is a database, and nothing is written over it; name another file",
                            path)
               : GT_OK;
}

/* ---- new files ---- */

/* Opens a new file beside the path. */
static int open_fresh(struct gt_cmd_output *output, struct gt_err *err)
{
    int fd, rc = keep_database(output->path, err);

    if (rc)
        return rc;
    if (asprintf(&output->fresh, "%s" GT_PART, output->path) < 0) {
        output->fresh = NULL;
        return gt_err_nomem(err);
    }
    gt_remove_left_overs(output->fresh, S_IFREG);
    fd = mkostemp(output->fresh, O_CLOEXEC); /* O_EXCL: follows no link */
    if (fd >= 0)
        output->file = fdopen(fd, "w");
    if (!output->file) {
        rc = fail(output->path, err);
        if (fd >= 0) {
            close(fd);
            unlink(output->fresh);
        }
        return rc;
    }
    flock(fd, LOCK_EX | LOCK_NB); /* without locks the file is safe for an hour */
    return GT_OK;
}

/* Opens a device or a pipe (/dev/stdout), which must not be replaced. */
static int open_direct(struct gt_cmd_output *output, struct gt_err *err)
{
    const int fd = gt_open_special(output->path, 0);
    int rc;

    output->file = fd < 0 ? NULL : fdopen(fd, "w");
    if (output->file) {
        fflush(stdout); /* stdout may be the same file */
        return GT_OK;
    }
    rc = fail(output->path, err);
    if (fd >= 0)
        close(fd);
    return rc;
}

static void release(struct gt_cmd_output *output)
{
    free(output->path);
    free(output->fresh);
    *output = (struct gt_cmd_output){NULL, NULL, NULL};
}

int gt_cmd_output_open(struct gt_cmd_output *output, const char *path, struct gt_err *err)
{
    int rc;

    *output = (struct gt_cmd_output){.path = strdup(path)};
    if (!output->path)
        return gt_err_nomem(err);
    rc = gt_is_special(path) ? open_direct(output, err) : open_fresh(output, err);
    if (rc)
        release(output);
    return rc;
}

/* Gives the file its mode and its name. */
static int finish(struct gt_cmd_output *output, const struct gt_cmd_writing *writing, int rc,
                  struct gt_err *err)
{
    const mode_t mask = umask(0);

    umask(mask);
    errno = 0;
    if (!rc && output->fresh &&
        (fflush(output->file) || fchmod(fileno(output->file), writing->mode & ~mask) ||
         fsync(fileno(output->file))))
        rc = fail(output->path, err);
    if (!rc && ferror(output->file))
        rc = errno ? fail(output->path, err)
                   : gt_err_set(err, GT_EIO, "%s: cannot write all of it", output->path);
    if (fclose(output->file) && !rc)
        rc = fail(output->path, err);
    if (!rc && output->fresh && writing->check &&
        writing->check(writing->context, output->fresh, err))
        rc = gt_err_prefix(err, GT_EDB, "what was exported cannot be read back");
    if (!rc && output->fresh && rename(output->fresh, output->path))
        rc = gt_err_set(err, GT_EIO, "%s: cannot replace it: %s", output->path, strerror(errno));
    if (rc && output->fresh)
        unlink(output->fresh);
    else if (output->fresh)
        sync_folder(output->path);
    release(output);
    return rc;
}

int gt_cmd_output_close(struct gt_cmd_output *output, int rc, struct gt_err *err)
{
    const struct gt_cmd_writing plain = {.mode = 0666};

    return output->file ? finish(output, &plain, rc, err) : rc;
}

int gt_cmd_write_file(const char *path, const struct gt_cmd_writing *writing, struct gt_err *err)
{
    struct gt_cmd_output output;
    int rc;

    if (strcmp(path, "-") == 0)
        return writing->write(writing->context, stdout, err); /* main() checks and closes stdout */
    rc = gt_cmd_output_open(&output, path, err);
    if (rc)
        return rc;
    rc = writing->write(writing->context, output.file, err);
    if (rc && ferror(output.file))
        gt_err_prefix(err, rc, "%s", path);
    return finish(&output, writing, rc, err);
}

struct bytes {
    const void *bytes;
    size_t size;
};

static int put_bytes(void *context, FILE *file, struct gt_err *err)
{
    const struct bytes *text = context;

    if (fwrite(text->bytes, 1, text->size, file) == text->size)
        return GT_OK;
    return gt_err_set(err, GT_EIO, "cannot write: %s", strerror(errno));
}

int gt_cmd_write_bytes(const char *path, const void *bytes, size_t size, struct gt_err *err)
{
    struct bytes text = {bytes, size};
    const struct gt_cmd_writing writing = {.write = put_bytes, .context = &text, .mode = 0666};

    return gt_cmd_write_file(path, &writing, err);
}

int gt_cmd_may_write(const char *path, struct gt_err *err)
{
    char *folder = folder_of(path);
    struct stat status;
    int rc = GT_OK;

    if (!folder)
        return gt_err_nomem(err);
    if (strcmp(path, "-") == 0) {
        ; /* standard output */
    } else if (gt_is_special(path)) {
        errno = stat(path, &status) == 0 && S_ISDIR(status.st_mode) ? EISDIR : 0;
        if (errno || access(path, W_OK))
            rc = fail(path, err);
    } else if (access(folder, W_OK | X_OK)) {
        rc = fail(path, err);
    } else {
        rc = keep_database(path, err);
    }
    free(folder);
    return rc;
}
