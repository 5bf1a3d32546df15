/* queue_outbox.c - see queue_outbox.h. */
#include "cluster/queue_outbox.h"

#include "base/err.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RESULT  ".result.db"
#define PARTIAL ".partial.db" /* of a worker that was killed: does not end the job */
#define TAKEN   ".taken"      /* holds the problem of a job that is being tuned */

/* Reads a whole file; *bytes is malloc'ed, and ends with NUL. */
static int read_file(const char *path, char **bytes, size_t *size, struct gt_err *err)
{
    FILE *file = fopen(path, "rbe");
    struct stat status;
    int rc = GT_OK;

    *bytes = NULL;
    if (!file || fstat(fileno(file), &status) != 0) {
        rc = gt_err_set(err, GT_EIO, "%s: cannot read it: %s", path, strerror(errno));
    } else {
        *size = (size_t)status.st_size;
        *bytes = malloc(*size + 1);
        if (!*bytes)
            rc = gt_err_nomem(err);
        else if (fread(*bytes, 1, *size, file) != *size)
            rc = gt_err_set(err, GT_EIO, "%s: cannot read all of it", path);
        if (*bytes)
            (*bytes)[*size] = '\0';
    }
    if (file)
        fclose(file);
    return rc;
}

static bool has_tail(const char *file, const char *tail)
{
    const size_t length = strlen(file);

    return length > strlen(tail) && strcmp(file + length - strlen(tail), tail) == 0;
}

/* JOB,TRIALS,WORKER<tail> -> its parts; false: another file. */
static bool read_name(const char *file, const char *tail, char job[24], long long *trials,
                      char *worker, size_t size)
{
    int at = 0;

    if (!has_tail(file, tail) || sscanf(file, "%20[0-9],%lld,%n", job, trials, &at) != 2 || !at)
        return false;
    snprintf(worker, size, "%.*s", (int)(strlen(file) - strlen(tail)) - at, file + at);
    return true;
}

/* Brings a result home.  One of a job that was cancelled, or whose queue was removed, has no place
 * there. */
static int upload(const struct gt_queue_outbox *outbox, struct gt_queue_link *link,
                  const char *file, struct gt_err *err)
{
    const bool ends = has_tail(file, RESULT);
    char job[24], name[96], path[2 * GT_QUEUE_PATH], *bytes;
    bool known = true;
    long long trials;
    size_t size = 0;
    int rc;

    if (!read_name(file, ends ? RESULT : PARTIAL, job, &trials, name, sizeof(name)))
        return GT_OK;
    snprintf(path, sizeof(path), "%s/%s", outbox->folder, file);
    rc = read_file(path, &bytes, &size, err);
    GT_STEP(rc, gt_queue_put(link->pq, job, name, trials, bytes, size, ends, &known, err));
    free(bytes);
    if (!rc && !known && !link->cli->quiet)
        fprintf(link->cli->log, "job %s is not in the queue any more; its trials stay in %s\n", job,
                outbox->database);
    if (!rc)
        unlink(path);
    return rc;
}

/* Does something with each file of the outbox. */
static int each_file(const struct gt_queue_outbox *outbox, struct gt_queue_link *link,
                     int (*what)(const struct gt_queue_outbox *outbox, struct gt_queue_link *link,
                                 const char *file, struct gt_err *err),
                     struct gt_err *err)
{
    DIR *folder = opendir(outbox->folder);
    struct dirent *entry;
    int rc = GT_OK;

    while (folder && !rc && (entry = readdir(folder)))
        rc = what(outbox, link, entry->d_name, err);
    if (folder)
        closedir(folder);
    return rc;
}

/* Makes a database of what the worker's knows of a problem. */
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

/* Writes what the worker's database knows of a job's problem into the outbox; it is there as a
 * whole or not at all. */
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

static void name_taken(const struct gt_queue_outbox *outbox, const char *job, char *path,
                       size_t size)
{
    snprintf(path, size, "%s/%s,0,%s" TAKEN, outbox->folder, job, outbox->worker);
}

int gt_queue_outbox_take(const struct gt_queue_outbox *outbox, const struct gt_queue_job *job,
                         struct gt_err *err)
{
    char path[GT_QUEUE_PATH + 256];
    FILE *file;
    bool written;

    name_taken(outbox, job->id, path, sizeof(path));
    file = fopen(path, "we");
    written = file && fputs(job->problem, file) >= 0;
    if (file && fclose(file))
        written = false;
    return written ? GT_OK
                   : gt_err_set(err, GT_EIO, "%s: cannot be written: %s", path, strerror(errno));
}

int gt_queue_outbox_put(const struct gt_queue_outbox *outbox, const struct gt_queue_job *job,
                        bool ends, struct gt_err *err)
{
    char path[GT_QUEUE_PATH + 256];
    const int rc =
        put_result(outbox, job->id, job->problem, outbox->worker, ends ? RESULT : PARTIAL, err);

    name_taken(outbox, job->id, path, sizeof(path));
    if (!rc)
        unlink(path);
    return rc;
}

/* Puts into the outbox what a worker before this one had found when it was killed. */
static int save_taken(const struct gt_queue_outbox *outbox, struct gt_queue_link *link,
                      const char *file, struct gt_err *err)
{
    char job[24], name[96], path[2 * GT_QUEUE_PATH], *problem;
    long long none;
    size_t size = 0;
    int rc;

    (void)link;
    if (!read_name(file, TAKEN, job, &none, name, sizeof(name)))
        return GT_OK;
    snprintf(path, sizeof(path), "%s/%s", outbox->folder, file);
    rc = read_file(path, &problem, &size, err);
    GT_STEP(rc, put_result(outbox, job, problem, name, PARTIAL, err));
    free(problem);
    if (!rc)
        unlink(path);
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
    outbox->database = database;
    outbox->worker = worker;
    snprintf(outbox->folder, sizeof(outbox->folder), "%s.outbox", database);
    if (mkdir(outbox->folder, 0755) != 0 && errno != EEXIST)
        return gt_err_set(err, GT_EIO, "%s: cannot be made: %s", outbox->folder, strerror(errno));
    return each_file(outbox, NULL, save_taken, err);
}

bool gt_queue_outbox_close(const struct gt_queue_outbox *outbox)
{
    return rmdir(outbox->folder) != 0;
}
