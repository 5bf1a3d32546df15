/* cmd_write.c - files that commands write; see cmd_write.h. */
#include "console/cmd_write.h"

#include "base/err.h"
#include "base/special.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Syncs the file's folder: only then is the rename durable. */
static void sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path + 1)) : strdup(".");
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

/* Writes the contents; a failure of the file names it. */
static int write_contents(const char *path, FILE *file, const struct gt_cmd_writing *writing,
                          struct gt_err *err)
{
    const int rc = writing->write(writing->context, file, err);

    return rc && ferror(file) ? gt_err_prefix(err, rc, "%s", path) : rc;
}

/* Writes to a device or a pipe (/dev/stdout), which must not be replaced. */
static int write_direct(const char *path, const struct gt_cmd_writing *writing, struct gt_err *err)
{
    const int fd = gt_open_special(path, 0);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    int rc;

    if (!file) {
        rc = fail(path, err);
        if (fd >= 0)
            close(fd);
        return rc;
    }
    fflush(stdout); /* which may be the same file */
    rc = write_contents(path, file, writing, err);
    if (fclose(file) && !rc)
        rc = fail(path, err);
    return rc;
}

int gt_cmd_keep_database(const char *path, struct gt_err *err)
{
    static const char magic[] = "SQLite format 3"; /* with its NUL: how SQLite's files begin */
    char head[sizeof(magic)] = {0};
    const int fd = gt_is_special(path) ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    const bool found = fd >= 0 && read(fd, head, sizeof(head)) == (ssize_t)sizeof(head) &&
                       memcmp(head, magic, sizeof(magic)) == 0;

    if (fd >= 0)
        close(fd);
    return found ? gt_err_set(err, GT_EIO,
                              "%s is a database, and nothing is written over it; name another file",
                              path)
                 : GT_OK;
}

int gt_cmd_write_file(const char *path, const struct gt_cmd_writing *writing, struct gt_err *err)
{
    const mode_t mask = umask(0);
    char fresh[PATH_MAX];
    FILE *file = NULL;
    int fd, rc = GT_OK;

    umask(mask);
    if (strcmp(path, "-") == 0)
        return writing->write(writing->context, stdout, err); /* main() checks and closes it */
    if (gt_is_special(path))
        return write_direct(path, writing, err);
    rc = gt_cmd_keep_database(path, err);
    if (rc)
        return rc;
    if ((size_t)snprintf(fresh, sizeof(fresh), "%s.XXXXXX", path) >= sizeof(fresh))
        return gt_err_set(err, GT_EIO, "%s: the name is too long", path);
    fd = mkostemp(fresh, O_CLOEXEC); /* O_EXCL: follows no link */
    if (fd >= 0)
        file = fdopen(fd, "w");
    if (!file) {
        rc = fail(path, err);
        if (fd >= 0) {
            close(fd);
            unlink(fresh);
        }
        return rc;
    }
    rc = write_contents(path, file, writing, err);
    if (!rc && (fflush(file) || fchmod(fd, writing->mode & ~mask) || fsync(fd) || ferror(file)))
        rc = fail(path, err);
    if (fclose(file) && !rc)
        rc = fail(path, err);
    if (!rc && writing->check && writing->check(writing->context, fresh, err))
        rc = gt_err_prefix(err, GT_EDB, "what was exported cannot be read back");
    if (!rc && rename(fresh, path))
        rc = gt_err_set(err, GT_EIO, "%s: cannot replace it: %s", path, strerror(errno));
    if (rc)
        unlink(fresh);
    else
        sync_folder(path);
    return rc;
}

int gt_cmd_may_write(const char *path, struct gt_err *err)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path + 1)) : strdup(".");
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
        rc = gt_cmd_keep_database(path, err);
    }
    free(folder);
    return rc;
}
