/* interrupted.c - is preloaded: answers EINTR to every second call of open, openat, fopen, opendir,
 * scandir and flock, as file systems do that a signal reaches. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/types.h>

static bool interrupts(void)
{
    static __thread unsigned calls;

    errno = EINTR;
    return calls++ % 2 == 0;
}

/* The next definition, in the C library. */
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static mode_t mode_of(int flags, va_list args)
{
    return flags & O_CREAT ? (mode_t)va_arg(args, unsigned) : 0;
}

int open(const char *path, int flags, ...)
{
    va_list args;
    mode_t mode;

    va_start(args, flags);
    mode = mode_of(flags, args);
    va_end(args);
    return interrupts() ? -1 : NEXT(open)(path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...)
{
    va_list args;
    mode_t mode;

    va_start(args, flags);
    mode = mode_of(flags, args);
    va_end(args);
    return interrupts() ? -1 : NEXT(openat)(folder, path, flags, mode);
}

FILE *fopen(const char *path, const char *mode)
{
    return interrupts() ? NULL : NEXT(fopen)(path, mode);
}

DIR *opendir(const char *path)
{
    return interrupts() ? NULL : NEXT(opendir)(path);
}

int scandir(const char *path, struct dirent ***list, int (*filter)(const struct dirent *),
            int (*compare)(const struct dirent **, const struct dirent **))
{
    return interrupts() ? -1 : NEXT(scandir)(path, list, filter, compare);
}

int flock(int fd, int operation)
{
    return interrupts() ? -1 : NEXT(flock)(fd, operation);
}
