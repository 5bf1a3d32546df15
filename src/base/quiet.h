/* quiet.h - vocabulary: file work that cannot end the program.  A pipe without a reader and a file
 * beyond the limit of its size raise signals (SIGPIPE, SIGXFSZ) that do, unless the program handles
 * them. */
#ifndef GT_QUIET_H
#define GT_QUIET_H

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The signal masks that gt_quiet_end needs. */
struct gt_quiet {
    sigset_t before, ours;
};

/* From begin to end this thread gets neither signal: a call that would raise one only fails with
 * EPIPE or EFBIG.  end, on the same thread, removes a signal that was raised in between (raised
 * false: no signal can have been raised), leaves a signal that was pending before to the program,
 * and keeps errno. */
void gt_quiet_begin(struct gt_quiet *quiet);
void gt_quiet_end(const struct gt_quiet *quiet, bool raised);

/* Writes all of the text to an open file; file < 0: opening it failed.  false: errno says why.  The
 * write raises no SIGPIPE or SIGXFSZ in the program, on any thread. */
bool gt_write_quietly(int file, const void *text, size_t length);

/* ---- files that must be written to directly, because a new file must not take their place, and
 * databases, over which nothing is written ---- */

/* Whether the path is a device, a pipe, a folder, or one of the system's names of an open file
 * (/dev/stdout, /proc/self/fd/1), even if that is a plain file.  Other plain files below /dev, such
 * as files of /dev/shm, are not special. */
static inline bool gt_is_special(const char *path)
{
    static const char *const open_file[] = {"/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/"};
    struct stat status;
    bool found;

    if (stat(path, &status) != 0)
        return false;
    found = !S_ISREG(status.st_mode);
    for (size_t i = 0; i < sizeof(open_file) / sizeof(*open_file) && !found; i++)
        found = !strncmp(path, open_file[i], strlen(open_file[i]));
    return found;
}

/* Whether a file of SQLite is there. */
static inline bool gt_is_database(const char *path)
{
    static const char magic[] = "SQLite format 3"; /* with its NUL: how SQLite's files begin */
    char head[sizeof(magic)] = {0};
    const int fd = gt_is_special(path) ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    const bool found = fd >= 0 && read(fd, head, sizeof(head)) == (ssize_t)sizeof(head) &&
                       memcmp(head, magic, sizeof(magic)) == 0;

    if (fd >= 0)
        close(fd);
    return found;
}

/* Opens a special file for writing at its end; -1 and errno: it cannot be opened.  A file that is
 * already open is duplicated and not opened again, because two positions in a plain file would
 * write over each other. */
static inline int gt_open_special(const char *path, int flags)
{
    int number = -1;

    if (!strcmp(path, "/dev/stdout"))
        number = 1;
    else if (!strcmp(path, "/dev/stderr"))
        number = 2;
    else if (sscanf(path, "/dev/fd/%d", &number) != 1)
        sscanf(path, "/proc/self/fd/%d", &number);
    if (number >= 0)
        return fcntl(number, F_DUPFD_CLOEXEC, 0);
    return open(path, flags | O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
}

#endif
