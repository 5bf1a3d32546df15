/* cutlog.c - a library to be preloaded that logs, in order, what a program writes into a folder.
 *
 * Writes, truncations, syncs, removals and renames of files below $GT_CUTLOG_FOLDER are appended to
 * $GT_CUTLOG_FILE as struct cut_record, each followed by its bytes.  From these powercut.c computes
 * what a disk holds after a power cut at any moment.  The calls themselves go to libc unchanged. */
#include "cutlog.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int log_fd = -1;
static const char *folder;

/* The function of libc that this library replaces. */
static void *next(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);

    if (!function)
        abort();
    return function;
}

static void open_log(void)
{
    const char *file = getenv("GT_CUTLOG_FILE");
    int (*real)(const char *, int, ...) = next("open");

    folder = getenv("GT_CUTLOG_FOLDER");
    if (file && folder)
        log_fd = real(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

__attribute__((constructor)) static void start(void)
{
    open_log();
}

static int logged(const char *path)
{
    return log_fd >= 0 && folder && strncmp(path, folder, strlen(folder)) == 0;
}

/* Appends a record in one write, so that those of two processes do not mix. */
static void put(int op, const char *path, const char *other, int64_t offset, const void *bytes,
                size_t size)
{
    struct cut_record record = {.op = op, .offset = offset, .size = (uint32_t)size};
    struct iovec part[3] = {{&record, sizeof(record)}, {NULL, 0}, {(void *)(uintptr_t)bytes, size}};

    snprintf(record.path, sizeof(record.path), "%s", path + strlen(folder));
    if (other)
        snprintf(record.other, sizeof(record.other), "%s", other + strlen(folder));
    part[1] = part[2];
    pthread_mutex_lock(&lock);
    if (writev(log_fd, part, 2) < 0)
        abort();
    pthread_mutex_unlock(&lock);
}

/* Finds the path of a descriptor; whether it is to be logged. */
static int path_of(int fd, char path[PATH_MAX])
{
    char link[64];
    ssize_t length;

    if (log_fd < 0 || fd == log_fd)
        return 0;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    length = readlink(link, path, PATH_MAX - 1);
    if (length <= 0)
        return 0;
    path[length] = '\0';
    return logged(path);
}

#define LOG_WRITE(name, offset_type)                                           \
    ssize_t name(int fd, const void *bytes, size_t size, offset_type offset)   \
    {                                                                          \
        ssize_t (*real)(int, const void *, size_t, offset_type) = next(#name); \
        ssize_t done = real(fd, bytes, size, offset);                          \
        char path[PATH_MAX];                                                   \
                                                                               \
        if (done > 0 && path_of(fd, path))                                     \
            put(CUT_WRITE, path, NULL, (int64_t)offset, bytes, (size_t)done);  \
        return done;                                                           \
    }

LOG_WRITE(pwrite, off_t)
LOG_WRITE(pwrite64, off64_t)

ssize_t write(int fd, const void *bytes, size_t size)
{
    ssize_t (*real)(int, const void *, size_t) = next("write");
    char path[PATH_MAX];
    int ours = path_of(fd, path);
    int64_t offset = ours ? (int64_t)lseek(fd, 0, SEEK_CUR) : 0;
    ssize_t done = real(fd, bytes, size);

    if (done > 0 && ours)
        put(CUT_WRITE, path, NULL, offset, bytes, (size_t)done);
    return done;
}

#define LOG_TRUNCATE(name, offset_type)                          \
    int name(int fd, offset_type size)                           \
    {                                                            \
        int (*real)(int, offset_type) = next(#name);             \
        int rc = real(fd, size);                                 \
        char path[PATH_MAX];                                     \
                                                                 \
        if (!rc && path_of(fd, path))                            \
            put(CUT_TRUNCATE, path, NULL, (int64_t)size, "", 0); \
        return rc;                                               \
    }

LOG_TRUNCATE(ftruncate, off_t)
LOG_TRUNCATE(ftruncate64, off64_t)

#define LOG_SYNC(name)                           \
    int name(int fd)                             \
    {                                            \
        int (*real)(int) = next(#name);          \
        int rc = real(fd);                       \
        char path[PATH_MAX];                     \
                                                 \
        if (!rc && path_of(fd, path))            \
            put(CUT_SYNC, path, NULL, 0, "", 0); \
        return rc;                               \
    }

LOG_SYNC(fsync)
LOG_SYNC(fdatasync)

int unlink(const char *path)
{
    int (*real)(const char *) = next("unlink");
    char full[PATH_MAX];
    int ours = realpath(path, full) && logged(full), rc = real(path);

    if (!rc && ours)
        put(CUT_UNLINK, full, NULL, 0, "", 0);
    return rc;
}

int rename(const char *from, const char *to)
{
    int (*real)(const char *, const char *) = next("rename");
    char before[PATH_MAX], after[PATH_MAX];
    int ours = realpath(from, before) && logged(before), rc = real(from, to);

    if (!rc && ours && realpath(to, after) && logged(after))
        put(CUT_RENAME, before, after, 0, "", 0);
    return rc;
}
