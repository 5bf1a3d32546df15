/* queue_outbox.c - see queue_outbox.h. */
#include "cluster/queue_outbox.h"

#include "base/err.h"
#include "base/quiet.h"
#include "cuda/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RESULT  ".result.db"
#define PARTIAL ".partial.db" /* the result of a killed worker, which does not end the job */
#define TAKEN   ".taken"      /* holds the problem of a job that is being tuned */

/* Opens a file of the outbox for reading; NULL and errno on failure, also for a link, which would
 * lead to a file outside the outbox, and for a FIFO, which would make the worker wait. */
static FILE *open_file(const struct gt_queue_outbox *outbox, const char *file)
{
    const int fd = openat(outbox->fd, file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat status;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1 &&
        (status.st_uid == geteuid() || status.st_uid == 0))
        return fdopen(fd, "rb");
    close(fd);
    errno = EPERM;
    return NULL;
}

/* Reads a whole file; *bytes is malloc'ed, and ends with NUL. */
static int read_file(const struct gt_queue_outbox *outbox, const char *file, char **bytes,
                     size_t *size, struct gt_err *err)
{
    FILE *stream = open_file(outbox, file);
    struct stat status;
    int rc = GT_OK;

    *bytes = NULL;
    if (!stream && (errno == EPERM || errno == ELOOP))
        return gt_err_set(err, GT_EIO,
                          "%s/%s: a result must be a file with one name that belongs to this user, "
                          "and not a link, a pipe or a folder; remove it",
                          outbox->folder, file);
    if (!stream || fstat(fileno(stream), &status) != 0) {
        rc = gt_err_set(err, GT_EIO, "%s/%s: cannot read it: %s", outbox->folder, file,
                        strerror(errno));
    } else {
        *size = (size_t)status.st_size;
        *bytes = malloc(*size + 1);
        if (!*bytes)
            rc = gt_err_nomem(err);
        else if (fread(*bytes, 1, *size, stream) != *size)
            rc = gt_err_set(err, GT_EIO, "%s/%s: cannot read all of it", outbox->folder, file);
        if (*bytes)
            (*bytes)[*size] = '\0';
    }
    if (stream)
        fclose(stream);
    return rc;
}

static bool has_tail(const char *file, const char *tail)
{
    const size_t length = strlen(file);

    return length > strlen(tail) && strcmp(file + length - strlen(tail), tail) == 0;
}

/* Takes the name JOB,TRIALS,WORKER<tail> apart; false: the file has no such name. */
static bool read_name(const char *file, const char *tail, char job[24], long long *trials,
                      char *worker, size_t size)
{
    int at = 0;

    if (!has_tail(file, tail) || sscanf(file, "%20[0-9],%lld,%n", job, trials, &at) != 2 || !at)
        return false;
    snprintf(worker, size, "%.*s", (int)(strlen(file) - strlen(tail)) - at, file + at);
    return true;
}

/* Uploads a result.  If the job was cancelled or its queue removed, the server has no place for the
 * result. */
static int upload(const struct gt_queue_outbox *outbox, struct gt_queue_link *link,
                  const char *file, struct gt_err *err)
{
    const bool ends = has_tail(file, RESULT);
    char job[24], name[96], *bytes;
    bool known = true;
    long long trials;
    size_t size = 0;
    int rc;

    if (!read_name(file, ends ? RESULT : PARTIAL, job, &trials, name, sizeof(name)))
        return GT_OK;
    rc = read_file(outbox, file, &bytes, &size, err);
    GT_STEP(rc, gt_queue_put(link->pq, job, name, trials, bytes, size, ends, &known, err));
    free(bytes);
    if (!rc && !known && !link->cli->quiet)
        fprintf(link->cli->log, "job %s is not in the queue any more; its trials stay in %s\n", job,
                outbox->database);
    if (!rc)
        unlinkat(outbox->fd, file, 0);
    return rc;
}

/* Calls a function for each file of the outbox. */
static int each_file(const struct gt_queue_outbox *outbox, struct gt_queue_link *link,
                     int (*what)(const struct gt_queue_outbox *outbox, struct gt_queue_link *link,
                                 const char *file, struct gt_err *err),
                     struct gt_err *err)
{
    const int copy = openat(outbox->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = copy < 0 ? NULL : fdopendir(copy);
    struct dirent *entry;
    int rc = GT_OK;

    while (folder && !rc && (entry = readdir(folder)))
        rc = what(outbox, link, entry->d_name, err);
    if (folder)
        closedir(folder);
    else if (copy >= 0)
        close(copy);
    return rc;
}

/* Makes a database with the rows that the worker's database has of a problem. */
static int make_result(const char *path, const char *database, const char *problem, int64_t *rows,
                       struct gt_err *err)
{
    struct gt_store *store;
    int rc = gt_store_open(&store, path, GT_STORE_WRITE, err);

    if (rc)
        return rc;
    rc = gt_store_merge_problem(store, database, problem, rows, err);
    if (!rc)
        return gt_store_close_whole(store, err);
    gt_store_close(store);
    return rc;
}

static void remove_made(const char *path)
{
    static const char *const tail[] = {"", "-wal", "-shm"};
    char name[GT_QUEUE_PATH + 96];

    for (size_t i = 0; i < sizeof(tail) / sizeof(*tail); i++) {
        snprintf(name, sizeof(name), "%s%s", path, tail[i]);
        unlink(name);
    }
}

/* Writes the rows that the worker's database has of a job's problem into the outbox, as a whole or
 * not at all. */
static int put_result(const struct gt_queue_outbox *outbox, const char *job, const char *problem,
                      const char *name, const char *tail, struct gt_err *err)
{
    char made[GT_QUEUE_PATH + 64], named[GT_QUEUE_PATH + 256];
    int64_t rows = 0;
    int rc;

    snprintf(made, sizeof(made), "%s/making", outbox->folder);
    remove_made(made);
    rc = make_result(made, outbox->database, problem, &rows, err);
    snprintf(named, sizeof(named), "%s/%s,%lld,%s%s", outbox->folder, job, (long long)rows, name,
             tail);
    if (!rc && rename(made, named) != 0)
        rc = gt_err_set(err, GT_EIO, "%s: cannot be renamed: %s", made, strerror(errno));
    if (rc)
        remove_made(made);
    return rc;
}

static void name_taken(const struct gt_queue_outbox *outbox, const char *job, char file[160])
{
    snprintf(file, 160, "%s,0,%s" TAKEN, job, outbox->worker);
}

int gt_queue_outbox_take(const struct gt_queue_outbox *outbox, const struct gt_queue_job *job,
                         struct gt_err *err)
{
    const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    char file[160];
    int fd;
    bool written;

    name_taken(outbox, job->id, file);
    fd = openat(outbox->fd, file, flags, 0600);
    written = gt_write_quietly(fd, job->problem, strlen(job->problem));
    if (fd >= 0 && close(fd))
        written = false;
    return written ? GT_OK
                   : gt_err_set(err, GT_EIO, "%s/%s: cannot be written: %s", outbox->folder, file,
                                strerror(errno));
}

int gt_queue_outbox_put(const struct gt_queue_outbox *outbox, const struct gt_queue_job *job,
                        bool ends, struct gt_err *err)
{
    char file[160];
    const int rc =
        put_result(outbox, job->id, job->problem, outbox->worker, ends ? RESULT : PARTIAL, err);

    name_taken(outbox, job->id, file);
    if (!rc)
        unlinkat(outbox->fd, file, 0);
    return rc;
}

/* Puts the trials of an earlier worker that was killed into the outbox. */
static int save_taken(const struct gt_queue_outbox *outbox, struct gt_queue_link *link,
                      const char *file, struct gt_err *err)
{
    char job[24], name[96], *problem;
    long long none;
    size_t size = 0;
    int rc;

    (void)link;
    if (!read_name(file, TAKEN, job, &none, name, sizeof(name)))
        return GT_OK;
    rc = read_file(outbox, file, &problem, &size, err);
    GT_STEP(rc, put_result(outbox, job, problem, name, PARTIAL, err));
    free(problem);
    if (!rc)
        unlinkat(outbox->fd, file, 0);
    return rc;
}

int gt_queue_outbox_upload(const struct gt_queue_outbox *outbox, struct gt_queue_link *link,
                           struct gt_err *err)
{
    return each_file(outbox, link, upload, err);
}

int gt_queue_outbox_open(struct gt_queue_outbox *outbox, const char *database, const char *worker,
                         struct gt_err *err)
{
    struct stat status;

    outbox->database = database;
    outbox->worker = worker;
    outbox->fd = -1;
    snprintf(outbox->folder, sizeof(outbox->folder), "%s.outbox", database);
    if (mkdir(outbox->folder, 0700) != 0 && errno != EEXIST)
        return gt_err_set(err, GT_EIO, "%s: cannot be made: %s", outbox->folder, strerror(errno));
    outbox->fd = open(outbox->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (outbox->fd >= 0 && fstat(outbox->fd, &status) == 0 && gt_cache_owned(&status))
        return each_file(outbox, NULL, save_taken, err);
    if (outbox->fd >= 0)
        close(outbox->fd);
    outbox->fd = -1; /* somebody else's folder is not removed */
    return gt_err_set(err, GT_EIO,
                      "%s: must be a folder that belongs to this user and that no one else may "
                      "write to; remove it, or name another database with --db",
                      outbox->folder);
}

bool gt_queue_outbox_close(struct gt_queue_outbox *outbox)
{
    const bool own = outbox->fd >= 0;

    if (own)
        close(outbox->fd);
    outbox->fd = -1;
    return own && rmdir(outbox->folder) != 0;
}
