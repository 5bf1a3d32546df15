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

static bool is_to_repeat(int folder, const char *path, int tries)
{
    struct stat status;

    if (errno != EINTR || tries >= TRIES)
        return false;
    if (fstatat(folder, path, &status, 0) == 0 && S_ISFIFO(status.st_mode)) {
        errno = EINTR;
        return false;
    }
    return true;
}

static mode_t mode_of(int flags, va_list args)
{
    return flags & (O_CREAT | __O_TMPFILE) ? (mode_t)va_arg(args, unsigned) : 0;
}

WRAP(int, open, const char *path, int flags, ...)
{
    va_list args;
    mode_t mode;
    int fd, tries = 0;

    va_start(args, flags);
    mode = mode_of(flags, args);
    va_end(args);
    do
        fd = __real_open(path, flags, mode);
    while (fd < 0 && is_to_repeat(AT_FDCWD, path, ++tries));
    return fd;
}

WRAP(int, openat, int folder, const char *path, int flags, ...)
{
    va_list args;
    mode_t mode;
    int fd, tries = 0;

    va_start(args, flags);
    mode = mode_of(flags, args);
    va_end(args);
    do
        fd = __real_openat(folder, path, flags, mode);
    while (fd < 0 && is_to_repeat(folder, path, ++tries));
    return fd;
}

WRAP(FILE *, fopen, const char *path, const char *mode)
{
    FILE *file;
    int tries = 0;

    do
        file = __real_fopen(path, mode);
    while (!file && is_to_repeat(AT_FDCWD, path, ++tries));
    return file;
}

WRAP(DIR *, opendir, const char *path)
{
    DIR *folder;
    int tries = 0;

    do
        folder = __real_opendir(path);
    while (!folder && is_to_repeat(AT_FDCWD, path, ++tries));
    return folder;
}

WRAP(int, scandir, const char *path, struct dirent ***list,
     int (*filter)(const struct dirent *entry),
     int (*compare)(const struct dirent **one, const struct dirent **other))
{
    int entries, tries = 0;

    do
        entries = __real_scandir(path, list, filter, compare);
    while (entries < 0 && is_to_repeat(AT_FDCWD, path, ++tries));
    return entries;
}

/* The program waits only for the lock of a file to which others save, too (db/store_open.c). */
WRAP(int, flock, int fd, int operation)
{
    int result, tries = 0;

    do
        result = __real_flock(fd, operation);
    while (result < 0 && errno == EINTR && ++tries < TRIES);
    return result;
}

WRAP(int, fsync, int fd)
{
    int result, tries = 0;

    do
        result = __real_fsync(fd);
    while (result < 0 && errno == EINTR && ++tries < TRIES);
    return result;
}
