/* scratch.c - folders for files that nobody needs once a command has ended; see scratch.h. */
#include "console/scratch.h"

#include "base/err.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PREFIX    "gemmtune-run-"
#define LETTERS   "XXXXXX"
#define LEFT_OVER 3600 /* seconds; the processes of a killed `tune capture` may still write */

/* Removes the files in the folder, but not the folder itself. */
static void empty(int fd)
{
    const int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = copy < 0 ? NULL : fdopendir(copy);
    struct dirent *entry;

    while (folder && (entry = readdir(folder)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(fd, entry->d_name, 0);
    if (folder)
        closedir(folder);
    else if (copy >= 0)
        close(copy);
}

/* Whether the folder is this user's, has not changed for an hour, and no running command uses it.
 */
static bool is_left_over(int fd)
{
    struct stat status;

    return fstat(fd, &status) == 0 && status.st_uid == geteuid() &&
           time(NULL) - status.st_mtime > LEFT_OVER && flock(fd, LOCK_EX | LOCK_NB) == 0;
}

static void remove_left_overs(const char *parent)
{
    DIR *folder = opendir(parent);
    struct dirent *entry;

    while (folder && (entry = readdir(folder))) {
        int fd;

        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0 ||
            strlen(entry->d_name) != strlen(PREFIX LETTERS))
            continue;
        fd = openat(dirfd(folder), entry->d_name,
                    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0)
            continue;
        if (is_left_over(fd)) {
            empty(fd);
            unlinkat(dirfd(folder), entry->d_name, AT_REMOVEDIR);
        }
        close(fd);
    }
    if (folder)
        closedir(folder);
}

int gt_scratch_make(struct gt_scratch *scratch, struct gt_err *err)
{
    const char *wanted = getenv("TMPDIR");
    char *parent = realpath(wanted && *wanted ? wanted : "/tmp", NULL);
    int rc = GT_OK;

    *scratch = (struct gt_scratch){.fd = -1};
    if (!parent)
        return gt_err_set(err, GT_EIO, "$TMPDIR is \"%s\": %s", wanted ? wanted : "/tmp",
                          strerror(errno));
    remove_left_overs(parent);
    if (asprintf(&scratch->path, "%s/" PREFIX LETTERS, parent) < 0) {
        scratch->path = NULL;
        rc = gt_err_nomem(err);
    } else if (!mkdtemp(scratch->path)) {
        rc = gt_err_set(err, GT_EIO, "%s: cannot make a folder: %s; TMPDIR may name another place",
                        scratch->path, strerror(errno));
        free(scratch->path);
        scratch->path = NULL;
    } else {
        /* Without a lock, as on some network file systems, it is safe for an hour after a change.
         */
        scratch->fd = open(scratch->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        flock(scratch->fd, LOCK_EX | LOCK_NB);
    }
    free(parent);
    return rc;
}

void gt_scratch_remove(struct gt_scratch *scratch)
{
    if (!scratch->path)
        return;
    if (scratch->fd >= 0) {
        empty(scratch->fd);
        close(scratch->fd);
    }
    rmdir(scratch->path);
    free(scratch->path);
    *scratch = (struct gt_scratch){NULL, -1};
}
