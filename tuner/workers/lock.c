/* lock.c - the advisory lock per GPU: an empty file that all users may open and nobody writes to.
 *
 * All users may write to the folder, so anything may have the lock file's name.  The file is
 * therefore opened for reading only, symbolic links are not followed, and anything but a regular
 * file with a single name is refused. */
#include "workers/process.h"

#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#define TRIES   20       /* to open a file that another process is just making or removing */
#define WAIT_NS 10000000 /* between two tries */

/* Whether all users may write to a folder.  The folder's mode decides and not the rights of this
 * user, because root, who may write anywhere, must choose the same folder. */
static bool is_world_writable(const char *folder)
{
    struct stat st;

    return !lstat(folder, &st) && S_ISDIR(st.st_mode) && (st.st_mode & S_ISVTX) &&
           (st.st_mode & S_IWOTH);
}

static const char *lock_folder(void)
{
    const char *own = getenv("GEMMTUNE_LOCKS");

    if (own && *own)
        return own;
    return is_world_writable("/run/lock") ? "/run/lock" : "/tmp";
}

/* Opens the file, and makes it if it does not exist; -1 with errno on failure.  An existing file is
 * opened without O_CREAT, because systems forbid that for other users' files in such folders. */
static int open_or_make(const char *path)
{
    const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    const struct timespec wait = {.tv_nsec = WAIT_NS};
    int fd = -1, reason;

    for (int i = 0; fd < 0 && i < TRIES; i++) {
        if (i)
            nanosleep(&wait, NULL);
        fd = open(path, flags);
        reason = errno;
        if (fd >= 0 || (reason != ENOENT && reason != EACCES))
            break;
        fd = open(path, flags | O_CREAT | O_EXCL, 0444);
        if (fd >= 0)
            fchmod(fd, 0444); /* the umask does not count */
        else if (errno != EEXIST)
            break;
        else
            errno = reason; /* EEXIST is not the reason why the file cannot be opened */
    }
    return fd;
}

/* The process that holds a lock on the file, from the system's list; 0: not known. */
static long holder_of(const struct stat *file)
{
    FILE *locks = fopen("/proc/locks", "re");
    char line[256];
    long found = 0;

    while (locks && !found && fgets(line, sizeof(line), locks)) {
        unsigned major, minor;
        unsigned long long inode;
        long pid;

        if (sscanf(line, "%*s FLOCK %*s WRITE %ld %x:%x:%llu", &pid, &major, &minor, &inode) == 4 &&
            makedev(major, minor) == file->st_dev && inode == file->st_ino)
            found = pid;
    }
    if (locks)
        fclose(locks);
    return found;
}

/* Sets the error for a lock that another process holds. */
static int busy(const struct stat *file, const char *uuid, struct gt_err *err)
{
    const long pid = holder_of(file);

    if (pid > 0)
        return gt_err_set(err, GT_EBUSY, "GPU %s is in use by another tuner, process %ld", uuid,
                          pid);
    return gt_err_set(err, GT_EBUSY, "GPU %s is in use by another tuner", uuid);
}

/* Opens and locks the file.  *stale: the file was removed meanwhile, so that the lock excludes no
 * other process. */
static int lock_file(int *out, const char *path, const char *uuid, bool *stale, struct gt_err *err)
{
    struct stat st, now;
    int fd = open_or_make(path), rc = GT_OK;

    *stale = false;
    if (fd < 0)
        return gt_err_set(err, GT_EIO,
                          "%s: cannot open the lock of a GPU: %s; GEMMTUNE_LOCKS may name another "
                          "folder, the same for all who tune on it",
                          path, strerror(errno));
    if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_nlink > 1)
        rc = gt_err_set(err, GT_EIO,
                        "%s: is not the lock file of a GPU; remove it, or name "
                        "another folder with GEMMTUNE_LOCKS",
                        path);
    else if (flock(fd, LOCK_EX | LOCK_NB))
        rc = errno == EWOULDBLOCK
                 ? busy(&st, uuid, err)
                 : gt_err_set(err, GT_EIO, "%s: cannot lock: %s", path, strerror(errno));
    else
        *stale = lstat(path, &now) || now.st_ino != st.st_ino || now.st_dev != st.st_dev;
    if (rc || *stale)
        close(fd);
    else
        *out = fd;
    return rc;
}

int gt_lock_take(int *fd, const char *uuid, struct gt_err *err)
{
    char path[PATH_MAX];
    bool stale = true;
    int rc = GT_OK;

    if (!uuid[0] || strlen(uuid) > 64 || strchr(uuid, '/'))
        return gt_err_set(err, GT_ERANGE, "\"%.64s\" cannot be the UUID of a GPU", uuid);
    if (snprintf(path, sizeof(path), "%s/gemmtune-%s.lock", lock_folder(), uuid) >=
        (int)sizeof(path))
        return gt_err_set(err, GT_EIO, "%.200s...: path too long", path);
    for (int i = 0; !rc && stale && i < TRIES; i++)
        rc = lock_file(fd, path, uuid, &stale, err);
    if (!rc && stale)
        rc = gt_err_set(err, GT_EIO, "%s: the lock file of a GPU disappears each time it is locked",
                        path);
    return rc;
}

void gt_lock_release(int fd)
{
    if (fd >= 0)
        close(fd);
}
