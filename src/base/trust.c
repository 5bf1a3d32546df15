/* trust.c - vocabulary: owners and modes of a file and of the folders above it (trust.h). */
#include "base/trust.h"

#include <errno.h>
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

int gt_trust(const char *path, uid_t also, char real[PATH_MAX], struct gt_err *err)
{
    int rc;

    if (!realpath(path, real))
        return gt_err_set(err, GT_ENOTFOUND, "%s: %s", path, strerror(errno));
    rc = check("/", real[1] == '\0', also, err);
    for (char *slash = strchr(real + 1, '/'); slash && !rc; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        rc = check(real, false, also, err);
        *slash = '/';
    }
    return rc ? rc : check(real, true, also, err);
}
