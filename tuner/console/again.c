/* again.c - repeats calls that were interrupted by a file system in user space or on a network.
 *
 * The program is linked with --wrap (Makefile): its calls of these names come here, also the calls
 * of its libraries.  The opening of a pipe is not repeated: the user may interrupt a program that
 * waits for the other end of a pipe. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>

#define TRIES 1000 /* of a call; a call that is interrupted more often has another trouble */

/* clang-format off */
#define WRAP(type, name, ...) type __real_##name(__VA_ARGS__); type __wrap_##name(__VA_ARGS__); type __wrap_##name(__VA_ARGS__)
/* clang-format on */

/* path NULL: the call opens nothing. */
static bool is_to_repeat(int folder, const char *path, int tries)
{
    struct stat status;

    if (errno != EINTR || tries >= TRIES)
        return false;
    if (path && fstatat(folder, path, &status, 0) == 0 && S_ISFIFO(status.st_mode)) {
        errno = EINTR;
        return false;
    }
    return true;
}

/* The body of a wrapper: the call, repeated while its result `has_failed` by an interruption. */
#define REPEAT(type, call, has_failed, folder, path)             \
    type result;                                                 \
    int tries = 0;                                               \
                                                                 \
    do                                                           \
        result = call;                                           \
    while ((has_failed) && is_to_repeat(folder, path, ++tries)); \
    return result

static mode_t mode_of(int flags, va_list args)
{
    return flags & (O_CREAT | __O_TMPFILE) ? (mode_t)va_arg(args, unsigned) : 0;
}

WRAP(int, open, const char *path, int flags, ...)
{
    va_list args;
    mode_t mode;

    va_start(args, flags);
    mode = mode_of(flags, args);
    va_end(args);
    REPEAT(int, __real_open(path, flags, mode), result < 0, AT_FDCWD, path);
}

WRAP(int, openat, int folder, const char *path, int flags, ...)
{
    va_list args;
    mode_t mode;

    va_start(args, flags);
    mode = mode_of(flags, args);
    va_end(args);
    REPEAT(int, __real_openat(folder, path, flags, mode), result < 0, folder, path);
}

WRAP(FILE *, fopen, const char *path, const char *mode)
{
    REPEAT(FILE *, __real_fopen(path, mode), !result, AT_FDCWD, path);
}

WRAP(DIR *, opendir, const char *path)
{
    REPEAT(DIR *, __real_opendir(path), !result, AT_FDCWD, path);
}

WRAP(int, scandir, const char *path, struct dirent ***list,
     int (*filter)(const struct dirent *entry),
     int (*compare)(const struct dirent **one, const struct dirent **other))
{
    REPEAT(int, __real_scandir(path, list, filter, compare), result < 0, AT_FDCWD, path);
}

/* The program waits only for the lock of a file to which others save, too (db/store_open.c). */
WRAP(int, flock, int fd, int operation)
{
    REPEAT(int, __real_flock(fd, operation), result < 0, -1, NULL);
}

WRAP(int, fsync, int fd)
{
    REPEAT(int, __real_fsync(fd), result < 0, -1, NULL);
}
