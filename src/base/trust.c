/* trust.c - vocabulary: owners and modes of a file and of the folders above it (trust.h). */
#include "base/trust.h"

#include <errno.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"

static bool owner_is_trusted(uid_t owner, uid_t also)
{
    return owner == 0 || owner == geteuid() || owner == also;
}

static bool others_may_write(const struct stat *status, bool last)
{
    const bool sticky = S_ISDIR(status->st_mode) && (status->st_mode & S_ISVTX) && !last;
    const bool private_group = status->st_uid != 0 && status->st_gid == status->st_uid;

    if (sticky)
        return false;
    return (status->st_mode & S_IWOTH) || ((status->st_mode & S_IWGRP) && !private_group);
}

/* Checks one file or folder; the path has no links. */
static int check(const char *path, bool last, uid_t also, struct gt_err *err)
{
    struct stat status;

    if (lstat(path, &status))
        return gt_err_set(err, GT_ENOTFOUND, "%s: %s", path, strerror(errno));
    if (!owner_is_trusted(status.st_uid, also))
        return gt_err_set(err, GT_EIO, "%s belongs to another user (uid %u)", path,
                          (unsigned)status.st_uid);
    if (others_may_write(&status, last))
        return gt_err_set(err, GT_EIO, "%s may be written by other users (mode %04o)", path,
                          (unsigned)(status.st_mode & 07777));
    return GT_OK;
}

/* Checks the folders above a path without links, and the path itself.  last: whether nothing else
 * of the path is checked, so that its own mode decides. */
static int check_all(char *real, bool last, uid_t also, struct gt_err *err)
{
    int rc = check("/", last && real[1] == '\0', also, err);

    for (char *slash = strchr(real + 1, '/'); slash && !rc; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        rc = check(real, false, also, err);
        *slash = '/';
    }
    return rc ? rc : check(real, last, also, err);
}

/* Checks a path that is a link: who made it, and who may put another one in its place. */
static int check_link(const char *path, uid_t also, struct gt_err *err)
{
    char *copy = strdup(path), real[PATH_MAX];
    struct stat status;
    int rc = GT_OK;

    if (!copy)
        return gt_err_nomem(err);
    if (!lstat(path, &status) && S_ISLNK(status.st_mode)) {
        if (!owner_is_trusted(status.st_uid, also))
            rc = gt_err_set(err, GT_EIO, "the link %s belongs to another user (uid %u)", path,
                            (unsigned)status.st_uid);
        else if (realpath(dirname(copy), real))
            rc = check_all(real, false, also, err);
    }
    free(copy);
    return rc;
}

int gt_trust(const char *path, uid_t also, char real[PATH_MAX], struct gt_err *err)
{
    int rc;

    if (!realpath(path, real))
        return gt_err_set(err, GT_ENOTFOUND, "%s: %s", path, strerror(errno));
    rc = check_all(real, true, also, err);
    return rc ? rc : check_link(path, also, err);
}
