/* queue_worker.c - a tuner that works off the queue.
 *
 * A result waits in the outbox, a folder beside the worker's database, until the server has it: a
 * server that is away, or a worker that is killed, loses none.  What lies there when a worker
 * starts is uploaded first, under the name of the worker that made it.  A worker that is killed
 * while it tunes leaves a file that names the job: the next one on its database uploads the trials
 * that it had, without ending the job. */
#include "cluster/queue_link.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "problem/problem.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LEASE_S    120
#define RENEWALS   3   /* in the time of a lease */
#define ANNOUNCE_S 600 /* between two words on which device this is */
#define RESULT     ".result.db"
#define PARTIAL    ".partial.db" /* of a worker that was killed: does not end the job */
#define TAKEN      ".taken"      /* holds the problem of a job that is being tuned */
#define PATH_SIZE  4096

struct worker {
    struct gt_session *session;
    const struct gt_queue_options *options;
    const struct gt_kernel *const *kernel;
    size_t kernels;
    const char *database;
    char outbox[PATH_SIZE], name[GT_QUEUE_NAME], class_of[GT_QUEUE_CLASS];
    int64_t lease_s;
    struct gt_queue_link link;
    double announced_s; /* by gt_clock_s; 0: not yet */
    int64_t done, found, compiled;
};

/* ---- the lease ---- */

/* The thread that renews a lease while the main one tunes.  It has a connection of its own, opened
 * for each renewal, so that a server that was away is found again. */
struct heart {
    const struct worker *worker;
    const struct gt_queue_job *job;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool over, beats;
};

static void renew(const struct heart *heart)
{
    struct gt_pq *pq;
    bool held;

    if (gt_pq_open(&pq, heart->worker->options->address, NULL, NULL))
        return;
    gt_queue_renew(pq, heart->job->id, heart->worker->name, heart->worker->lease_s, &held, NULL);
    gt_pq_close(pq);
}

static void *beat(void *context)
{
    struct heart *heart = context;
    struct timespec until;

    pthread_mutex_lock(&heart->lock);
    while (!heart->over) {
        clock_gettime(CLOCK_MONOTONIC, &until); /* the other one may be set back by minutes */
        until.tv_sec += heart->worker->lease_s / RENEWALS + 1;
        if (pthread_cond_timedwait(&heart->ended, &heart->lock, &until) != ETIMEDOUT)
            continue;
        pthread_mutex_unlock(&heart->lock);
        renew(heart);
        pthread_mutex_lock(&heart->lock);
    }
    pthread_mutex_unlock(&heart->lock);
    return NULL;
}

/* Without a thread the lease is not renewed; the job may then be done twice, which harms nothing.
 */
static void start_heart(struct heart *heart)
{
    sigset_t all, before;
    pthread_condattr_t clock;

    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&heart->lock, NULL);
    pthread_cond_init(&heart->ended, &clock);
    pthread_condattr_destroy(&clock);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the main thread's waits */
    heart->beats = pthread_create(&heart->thread, NULL, beat, heart) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void stop_heart(struct heart *heart)
{
    pthread_mutex_lock(&heart->lock);
    heart->over = true;
    pthread_cond_signal(&heart->ended);
    pthread_mutex_unlock(&heart->lock);
    if (heart->beats)
        pthread_join(heart->thread, NULL);
    pthread_cond_destroy(&heart->ended);
    pthread_mutex_destroy(&heart->lock);
}

/* ---- the outbox ---- */

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
static int upload(struct worker *worker, const char *file, struct gt_err *err)
{
    const bool ends = has_tail(file, RESULT);
    char job[24], name[96], path[2 * PATH_SIZE], *bytes;
    bool known = true;
    long long trials;
    size_t size = 0;
    int rc;

    if (!read_name(file, ends ? RESULT : PARTIAL, job, &trials, name, sizeof(name)))
        return GT_OK;
    snprintf(path, sizeof(path), "%s/%s", worker->outbox, file);
    rc = read_file(path, &bytes, &size, err);
    GT_STEP(rc, gt_queue_put(worker->link.pq, job, name, trials, bytes, size, ends, &known, err));
    free(bytes);
    if (!rc && !known && !worker->link.cli->quiet)
        fprintf(worker->link.cli->log,
                "job %s is not in the queue any more; its trials stay in %s\n", job,
                worker->database);
    if (!rc)
        unlink(path);
    return rc;
}

/* Does something with each file of the outbox. */
static int each_file(struct worker *worker,
                     int (*what)(struct worker *worker, const char *file, struct gt_err *err),
                     struct gt_err *err)
{
    DIR *folder = opendir(worker->outbox);
    struct dirent *entry;
    int rc = GT_OK;

    while (folder && !rc && (entry = readdir(folder)))
        rc = what(worker, entry->d_name, err);
    if (folder)
        closedir(folder);
    return rc;
}

/* Writes what the worker's database knows of a job's problem into the outbox; it is there as a
 * whole or not at all. */
static int put_result(struct worker *worker, const char *job, const char *problem, const char *name,
                      const char *tail, struct gt_err *err)
{
    char made[PATH_SIZE + 64], named[PATH_SIZE + 256];
    struct gt_store *store = NULL;
    int64_t rows = 0;
    int rc;

    snprintf(made, sizeof(made), "%s/making", worker->outbox);
    unlink(made);
    rc = gt_store_open(&store, made, GT_STORE_WRITE, err);
    GT_STEP(rc, gt_store_merge_problem(store, worker->database, problem, &rows, err));
    gt_store_close(store);
    snprintf(named, sizeof(named), "%s/%s,%lld,%s%s", worker->outbox, job, (long long)rows, name,
             tail);
    if (!rc && rename(made, named) != 0)
        rc = gt_err_set(err, GT_EIO, "%s: cannot be renamed: %s", made, strerror(errno));
    return rc;
}

static void name_taken(const struct worker *worker, const char *job, char *path, size_t size)
{
    snprintf(path, size, "%s/%s,0,%s" TAKEN, worker->outbox, job, worker->name);
}

/* Notes that the job is being tuned. */
static int note_taken(const struct worker *worker, const struct gt_queue_job *job,
                      struct gt_err *err)
{
    char path[PATH_SIZE + 256];
    FILE *file;
    bool written;

    name_taken(worker, job->id, path, sizeof(path));
    file = fopen(path, "we");
    written = file && fputs(job->problem, file) >= 0;
    if (file && fclose(file))
        written = false;
    return written ? GT_OK
                   : gt_err_set(err, GT_EIO, "%s: cannot be written: %s", path, strerror(errno));
}

static void drop_taken(const struct worker *worker, const struct gt_queue_job *job)
{
    char path[PATH_SIZE + 256];

    name_taken(worker, job->id, path, sizeof(path));
    unlink(path);
}

/* Puts into the outbox what a worker before this one had found when it was killed. */
static int save_taken(struct worker *worker, const char *file, struct gt_err *err)
{
    char job[24], name[96], path[2 * PATH_SIZE], *problem;
    long long none;
    size_t size = 0;
    int rc;

    if (!read_name(file, TAKEN, job, &none, name, sizeof(name)))
        return GT_OK;
    snprintf(path, sizeof(path), "%s/%s", worker->outbox, file);
    rc = read_file(path, &problem, &size, err);
    GT_STEP(rc, put_result(worker, job, problem, name, PARTIAL, err));
    free(problem);
    if (!rc)
        unlink(path);
    return rc;
}

/* ---- the work ---- */

/* Says for which device to compile ahead, once in a while.  A server that is away will be told when
 * it is back; one that refuses to be told keeps nobody from tuning. */
static int announce(struct worker *worker, struct gt_err *err)
{
    const struct gt_evaluator *evaluator = worker->session->evaluator;
    struct gt_err why;
    int rc;

    if (worker->announced_s > 0 && gt_clock_s() - worker->announced_s < ANNOUNCE_S)
        return GT_OK;
    rc = gt_queue_announce(worker->link.pq, worker->class_of, &evaluator->device,
                           evaluator->nvrtc_version, false, &why);
    if (rc && !gt_pq_is_open(worker->link.pq))
        return gt_err_pass(err, &why, rc);
    if (rc && !(worker->announced_s > 0))
        gt_queue_note(&worker->link, why.msg);
    worker->announced_s = gt_clock_s();
    return GT_OK;
}

/* Brings the outbox home. */
static int bring_home(void *context, struct gt_err *err)
{
    struct worker *worker = context;
    int rc = each_file(worker, upload, err);

    return rc ? rc : announce(worker, err);
}

/* What follows the finals of a job.  Where that fails the job has its result all the same. */
static void follow(struct worker *worker, const struct gt_problem *problem)
{
    const struct gt_session_after *after = &worker->options->after;
    struct gt_cli *cli = worker->session->cli;
    struct gt_err why = {0};

    if (after->run &&
        after->run(after, worker->session, problem, NULL, cli->quiet ? NULL : cli->log, NULL, &why))
        gt_queue_note(&worker->link, why.msg);
}

/* Tunes a job's problem into the worker's database. */
static int tune(struct worker *worker, const struct gt_queue_job *job,
                const struct gt_problem *problem, const struct gt_budget *budget,
                struct gt_err *err)
{
    struct heart heart = {.worker = worker, .job = job};
    struct gt_sweep_result result = {0};
    int rc;

    start_heart(&heart);
    rc = gt_session_sweep(worker->session, problem, 1, worker->kernel, worker->kernels, budget,
                          &result, err);
    if (!rc && result.rows)
        follow(worker, problem);
    stop_heart(&heart);
    if (rc && rc != GT_ECONFIG && result.nothing.code == rc)
        rc = GT_OK; /* no kernel serves it: a result */
    if (!rc && !worker->session->cli->quiet)
        fprintf(worker->session->cli->log,
                "%s: %s%.2f us, %lld new trials; %lld cubins compiled, %lld found\n", job->problem,
                result.rows ? "" : "no valid candidate, ", result.rows ? result.row[0].trial.us : 0,
                (long long)result.fresh, (long long)result.compiled, (long long)result.cache_hits);
    worker->compiled += result.compiled;
    worker->found += result.cache_hits;
    gt_sweep_result_release(&result);
    return rc;
}

/* A job that somebody wrote into the table without `tune queue submit`: whoever takes it fails, so
 * that it must not stay for the next one. */
static int refuse(struct worker *worker, const struct gt_queue_job *job, const struct gt_err *why,
                  struct gt_err *err)
{
    char text[sizeof(why->msg) + 64];

    snprintf(text, sizeof(text), "job %s has failed: %s", job->id, why->msg);
    gt_copy_clean(text, sizeof(text), text);
    gt_queue_note(&worker->link, text);
    return gt_queue_fail(worker->link.pq, job->id, worker->name, err);
}

/* A job that was not ended: what was found of it is brought home if that can be done now, else by
 * the next worker on this database, and others may take it.  Where it was this worker that failed,
 * and not a signal that came, the job may be why. */
static void leave(struct worker *worker, const struct gt_queue_job *job, int why)
{
    const bool told = why == GT_EINTERRUPTED;

    if (told && !put_result(worker, job->id, job->problem, worker->name, PARTIAL, NULL)) {
        drop_taken(worker, job);
        if (gt_pq_is_open(worker->link.pq))
            each_file(worker, upload, NULL);
    }
    if (gt_pq_is_open(worker->link.pq))
        gt_queue_give_back(worker->link.pq, job->id, worker->name, !told, NULL);
}

/* One job; *taken false: there was none. */
static int work_once(struct worker *worker, bool *taken, int64_t *left, struct gt_err *err)
{
    struct gt_queue_job job;
    struct gt_problem problem;
    struct gt_budget budget;
    struct gt_err why;
    int rc = gt_queue_take(worker->link.pq, &job, worker->name, worker->class_of, worker->lease_s,
                           taken, left, err);

    if (rc || !*taken)
        return rc;
    if (gt_problem_parse(&problem, job.problem, &why) || gt_budget_parse(&budget, job.budget, &why))
        return refuse(worker, &job, &why, err);
    rc = note_taken(worker, &job, err);
    GT_STEP(rc, tune(worker, &job, &problem, &budget, err));
    if (rc) {
        leave(worker, &job, rc);
        return rc;
    }
    rc = put_result(worker, job.id, job.problem, worker->name, RESULT, err);
    if (!rc)
        drop_taken(worker, &job);
    worker->done += !rc;
    return rc;
}

static int name_worker(struct worker *worker, struct gt_err *err)
{
    gt_queue_name(worker->name);
    gt_queue_class(worker->class_of, &worker->session->evaluator->device);
    snprintf(worker->outbox, sizeof(worker->outbox), "%s.outbox", worker->database);
    if (mkdir(worker->outbox, 0755) != 0 && errno != EEXIST)
        return gt_err_set(err, GT_EIO, "%s: cannot be made: %s", worker->outbox, strerror(errno));
    return GT_OK;
}

static int work(struct worker *worker, struct gt_err *err)
{
    for (;;) {
        int64_t left = 0;
        bool taken = false;
        int rc = gt_queue_reach(&worker->link, bring_home, worker, err);

        if (rc)
            return rc;
        if (gt_queue_interrupted(&worker->link))
            return gt_err_set(err, GT_EINTERRUPTED, "interrupted; other workers go on");
        rc = work_once(worker, &taken, &left, err);
        if (rc == GT_EIO && !gt_pq_is_open(worker->link.pq)) { /* it is reached again above */
            gt_queue_leave(&worker->link);
            gt_queue_wait(&worker->link, 1);
            continue;
        }
        if (rc)
            return rc;
        if (!taken && !left && !worker->options->stay)
            return GT_OK;
        if (!taken)
            gt_queue_wait(&worker->link, 1);
    }
}

int gt_queue_work(struct gt_session *session, const struct gt_kernel *const *kernel, size_t kernels,
                  const char *database, const struct gt_queue_options *options, struct gt_err *err)
{
    struct worker *worker = calloc(1, sizeof(*worker));
    int rc;

    if (!worker)
        return gt_err_nomem(err);
    *worker = (struct worker){.session = session,
                              .options = options,
                              .kernel = kernel,
                              .kernels = kernels,
                              .database = database,
                              .link = {.cli = session->cli, .address = options->address},
                              .lease_s = options->lease_s ? options->lease_s : LEASE_S};
    rc = name_worker(worker, err);
    GT_STEP(rc, each_file(worker, save_taken, err));
    GT_STEP(rc, work(worker, err));
    if (!session->cli->quiet)
        fprintf(session->cli->log, "%lld jobs done by %s; of %lld cubins %lld were found\n",
                (long long)worker->done, worker->name,
                (long long)(worker->compiled + worker->found), (long long)worker->found);
    gt_queue_leave(&worker->link);
    if (rmdir(worker->outbox) && rc == GT_EINTERRUPTED) /* it is not empty */
        gt_err_prefix(err, rc, "results wait in %s", worker->outbox);
    free(worker);
    return rc;
}
