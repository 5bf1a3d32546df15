/* lock.c - the advisory lock per GPU. */
#include "lock.h"

#include "../src/err.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* $XDG_RUNTIME_DIR/gemmtune where there is such a folder, else /tmp/gemmtune-<uid>. */
static void lock_path(char *path, size_t size)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");

    if (runtime && runtime[0] == '/' && !access(runtime, W_OK | X_OK))
        snprintf(path, size, "%s/gemmtune", runtime);
    else
        snprintf(path, size, "/tmp/gemmtune-%lu", (unsigned long)geteuid());
}

/* Makes the folder and makes sure that nobody else prepared it for us: /tmp is everybody's. */
static int lock_folder(char *path, size_t size, struct gt_err *err)
{
    struct stat st;

    lock_path(path, size);
    if (mkdir(path, 0700) && errno != EEXIST)
        return gt_err_set(err, GT_EIO, "%s: cannot make the folder of GPU locks: %s", path,
                          strerror(errno));
    if (lstat(path, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
        (st.st_mode & 0077) != 0)
        return gt_err_set(err, GT_EIO,
                          "%s: the folder of GPU locks must be a folder of yours with mode 0700",
                          path);
    return GT_OK;
}

/* The sentence for a lock that somebody holds. */
static int busy(int fd, const char *uuid, struct gt_err *err)
{
    char text[32] = "";
    const ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
    const long pid = n > 0 ? strtol(text, NULL, 10) : 0;

    if (pid > 0)
        return gt_err_set(err, GT_EBUSY, "GPU %s is in use by another tuner, process %ld", uuid,
                          pid);
    return gt_err_set(err, GT_EBUSY, "GPU %s is in use by another tuner", uuid);
}

int gt_lock_take(int *out, const char *uuid, struct gt_err *err)
{
    char folder[PATH_MAX - 128], path[PATH_MAX];
    int fd, length, rc = lock_folder(folder, sizeof(folder), err);

    if (rc)
        return rc;
    if (!uuid[0] || strlen(uuid) > 64 || strchr(uuid, '/'))
        return gt_err_set(err, GT_ERANGE, "'%.64s' cannot be the UUID of a GPU", uuid);
    snprintf(path, sizeof(path), "%s/%s.lock", folder, uuid);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return gt_err_set(err, GT_EIO, "%s: cannot open: %s", path, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB)) {
        rc = errno == EWOULDBLOCK
                 ? busy(fd, uuid, err)
                 : gt_err_set(err, GT_EIO, "%s: cannot lock: %s", path, strerror(errno));
        goto out;
    }
    length = snprintf(folder, sizeof(folder), "%ld\n", (long)getpid());
    if (ftruncate(fd, 0) || pwrite(fd, folder, (size_t)length, 0) != length)
        rc = gt_err_set(err, GT_EIO, "%s: cannot write: %s", path, strerror(errno));
out:
    if (rc)
        close(fd);
    else
        *out = fd;
    return rc;
}

void gt_lock_release(int fd)
{
    if (fd >= 0)
        close(fd);
}
