/* scratch.c - see scratch.h. */
#include "base/scratch.h"

#include "base/err.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LETTERS "XXXXXX"
/* Seconds after which nobody writes there any more, not even a process of a killed `tune capture`.
 */
#define LEFT_OVER 3600

/* Whether a file or a folder belongs to this user, has not changed for an hour, and is not in
 * use. */
static bool is_left_over(int fd, mode_t type)
{
    struct stat status;

    return fstat(fd, &status) == 0 && (status.st_mode & S_IFMT) == type &&
           status.st_uid == geteuid() && time(NULL) - status.st_mtime > LEFT_OVER &&
           flock(fd, LOCK_EX | LOCK_NB) == 0;
}

/* Removes the files of a folder. */
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

static void remove_left_over(int folder, const char *name, mode_t type)
{
    const int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        return;
    if (is_left_over(fd, type)) {
        if (type == S_IFDIR)
            empty(fd);
        unlinkat(folder, name, type == S_IFDIR ? AT_REMOVEDIR : 0);
    }
    close(fd);
}

void gt_remove_left_overs(const char *template, mode_t type)
{
    const char *slash = strrchr(template, '/'), *name = slash ? slash + 1 : template;
    const size_t length = strlen(name);
    char *parent = slash ? strndup(template, (size_t)(name - template)) : strdup(".");
    DIR *folder = parent ? opendir(parent) : NULL;
    struct dirent *entry;

    while (folder && (entry = readdir(folder)))
        if (strlen(entry->d_name) == length &&
            strncmp(entry->d_name, name, length - strlen(LETTERS)) == 0)
            remove_left_over(dirfd(folder), entry->d_name, type);
    if (folder)
        closedir(folder);
    free(parent);
}

/* Makes the folder; `template` is malloc'ed, or NULL for want of memory, and becomes its path. */
static int make(struct gt_scratch *scratch, char *template, const char *path, const char *advice,
                struct gt_err *err)
{
    *scratch = (struct gt_scratch){.fd = -1};
    if (!template)
        return gt_err_nomem(err);
    gt_remove_left_overs(template, S_IFDIR);
    if (!mkdtemp(template)) {
        gt_err_set(err, GT_EIO, "%s: cannot %s: %s%s", path,
                   *advice ? "make a folder" : "create a folder beside it", strerror(errno),
                   advice);
        free(template);
        return GT_EIO;
    }
    scratch->path = template;
    /* Without a lock, as on some network file systems, the folder is safe for an hour after a
     * change. */
    scratch->fd = open(template, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    flock(scratch->fd, LOCK_EX | LOCK_NB);
    return GT_OK;
}

int gt_scratch_make(struct gt_scratch *scratch, struct gt_err *err)
{
    const char *wanted = secure_getenv("TMPDIR");
    char *parent = realpath(wanted && *wanted ? wanted : "/tmp", NULL), *template = NULL;
    int rc;

    *scratch = (struct gt_scratch){.fd = -1};
    if (!parent)
        return gt_err_set(err, GT_EIO, "$TMPDIR is \"%s\": %s", wanted ? wanted : "/tmp",
                          strerror(errno));
    if (asprintf(&template, "%s/gemmtune-run-" LETTERS, parent) < 0)
        template = NULL;
    rc = make(scratch, template, parent, "; TMPDIR may name another place", err);
    free(parent);
    return rc;
}

int gt_scratch_make_beside(struct gt_scratch *scratch, const char *path, struct gt_err *err)
{
    char *template;

    if (asprintf(&template, "%s" GT_PART, path) < 0)
        template = NULL;
    return make(scratch, template, path, "", err);
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
