/* queue_worker.c - a tuner that works off the queue, and the export of what all of them found.
 *
 * A result waits in the outbox, a folder beside the worker's database, until the server has it: a
 * server that is away, or a worker that is killed, loses none.  What lies there when a worker
 * starts is uploaded first, under the name of the worker that made it.  A worker that is killed
 * while it tunes leaves a file that names the job: the next one on its database uploads the trials
 * that it had, without ending the job. */
#include "cluster/queue.h"

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

#define LEASE_S      120
#define RENEWALS     3  /* in the time of a lease */
#define AWAY_FIRST_S 1  /* between two attempts to reach the server ... */
#define AWAY_MOST_S  30 /* ... which grow to this */
#define RESULT       ".result.db"
#define PARTIAL      ".partial.db" /* of a worker that was killed: does not end the job */
#define TAKEN        ".taken"      /* holds the problem of a job that is being tuned */
#define PATH_SIZE    4096

struct worker {
    struct gt_session *session;
    const struct gt_queue_options *options;
    const struct gt_kernel *const *kernel;
    size_t kernels;
    const char *database;
    char outbox[PATH_SIZE], name[96], class_of[192];
    int64_t lease_s;
    struct gt_pq *pq; /* NULL: the server is away */
    int64_t done;
};

static bool interrupted(const struct worker *worker)
{
    return *worker->session->cli->signals > 0;
}

static void note(const struct worker *worker, const char *sentence)
{
    if (!worker->session->cli->quiet)
        fprintf(worker->session->cli->log, "%s\n", sentence);
}

/* Waits, but not after a signal. */
static void wait_seconds(const struct worker *worker, double seconds)
{
    struct timespec step = {.tv_nsec = 100 * 1000 * 1000};

    for (double passed = 0; passed < seconds && !interrupted(worker); passed += 0.1)
        nanosleep(&step, NULL);
}

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

    if (gt_pq_open(&pq, heart->worker->options->address, NULL))
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
        clock_gettime(CLOCK_REALTIME, &until);
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

    pthread_mutex_init(&heart->lock, NULL);
    pthread_cond_init(&heart->ended, NULL);
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

/* Reads a whole file; *bytes is malloc'ed. */
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

static int upload(struct worker *worker, const char *file, struct gt_err *err)
{
    const bool ends = has_tail(file, RESULT);
    char job[24], name[96], path[2 * PATH_SIZE], *bytes;
    long long trials;
    size_t size = 0;
    int rc;

    if (!read_name(file, ends ? RESULT : PARTIAL, job, &trials, name, sizeof(name)))
        return GT_OK;
    snprintf(path, sizeof(path), "%s/%s", worker->outbox, file);
    rc = read_file(path, &bytes, &size, err);
    if (!rc)
        rc = gt_queue_put(worker->pq, job, name, trials, bytes, size, ends, err);
    free(bytes);
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
    if (!rc)
        rc = gt_store_merge_problem(store, worker->database, problem, &rows, err);
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

    name_taken(worker, job->id, path, sizeof(path));
    file = fopen(path, "we");
    if (!file || fputs(job->problem, file) < 0 || fclose(file))
        return gt_err_set(err, GT_EIO, "%s: cannot be written: %s", path, strerror(errno));
    return GT_OK;
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
    if (!rc) {
        problem[size] = '\0';
        rc = put_result(worker, job, problem, name, PARTIAL, err);
    }
    free(problem);
    if (!rc)
        unlink(path);
    return rc;
}

/* ---- the work ---- */

/* Opens the connection if there is none, and brings the outbox home; waits for a server that is
 * away.  GT_EINTERRUPTED: a signal came meanwhile. */
static int reach_server(struct worker *worker, struct gt_err *err)
{
    double pause = AWAY_FIRST_S;
    bool said = false;

    for (;;) {
        struct gt_err why = {0};
        int rc = worker->pq ? GT_OK : gt_pq_open(&worker->pq, worker->options->address, &why);

        if (!rc)
            rc = each_file(worker, upload, &why);
        if (rc != GT_EIO) {
            if (rc && err)
                *err = why;
            return rc;
        }
        gt_pq_close(worker->pq);
        worker->pq = NULL;
        if (!said)
            note(worker, why.msg);
        said = true;
        if (interrupted(worker))
            return gt_err_set(err, GT_EINTERRUPTED, "the server is away; results wait in %s",
                              worker->outbox);
        wait_seconds(worker, pause);
        pause = pause * 2 > AWAY_MOST_S ? AWAY_MOST_S : pause * 2;
    }
}

/* Tunes a job's problem into the worker's database. */
static int tune(struct worker *worker, const struct gt_queue_job *job, struct gt_err *err)
{
    struct heart heart = {.worker = worker, .job = job};
    struct gt_sweep_result result = {0};
    struct gt_problem problem;
    struct gt_budget budget;
    int rc = gt_problem_parse(&problem, job->problem, err);

    if (!rc)
        rc = gt_budget_parse(&budget, job->budget, err);
    if (rc)
        return rc;
    start_heart(&heart);
    rc = gt_session_sweep(worker->session, &problem, 1, worker->kernel, worker->kernels, &budget,
                          &result, err);
    stop_heart(&heart);
    if (rc && rc != GT_ECONFIG && result.nothing.code == rc)
        rc = GT_OK; /* no kernel serves it: a result */
    if (!rc && !worker->session->cli->quiet)
        fprintf(worker->session->cli->log, "%s: %s%.2f us, %lld new trials\n", job->problem,
                result.rows ? "" : "no valid candidate, ", result.rows ? result.row[0].trial.us : 0,
                (long long)result.fresh);
    gt_sweep_result_release(&result);
    return rc;
}

/* One job; *taken false: there was none. */
static int work_once(struct worker *worker, bool *taken, int64_t *left, struct gt_err *err)
{
    struct gt_queue_job job;
    int rc = gt_queue_take(worker->pq, &job, worker->name, worker->class_of, worker->lease_s, taken,
                           left, err);

    if (rc || !*taken)
        return rc;
    rc = note_taken(worker, &job, err);
    if (!rc)
        rc = tune(worker, &job, err);
    if (rc) { /* this worker's trouble, not the job's */
        gt_queue_give_back(worker->pq, job.id, worker->name, NULL);
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
    const struct gt_device *device = &worker->session->evaluator->device;
    char host[48] = "host";
    struct timespec now;

    gethostname(host, sizeof(host) - 1);
    clock_gettime(CLOCK_REALTIME, &now);
    for (char *at = host; *at; at++)
        if (*at == '/' || *at == ',')
            *at = '-';
    snprintf(worker->name, sizeof(worker->name), "%s-%ld-%lld", host, (long)getpid(),
             (long long)now.tv_sec);
    snprintf(worker->class_of, sizeof(worker->class_of), "%s/%d SMs/%.0f W/driver %d", device->name,
             device->sms, device->power_w, device->driver);
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
        int rc = reach_server(worker, err);

        if (!rc && interrupted(worker))
            rc = gt_err_set(err, GT_EINTERRUPTED, "interrupted; other workers go on");
        if (!rc)
            rc = work_once(worker, &taken, &left, err);
        if (rc == GT_EIO && worker->pq) { /* it is reached again above */
            gt_pq_close(worker->pq);
            worker->pq = NULL;
            continue;
        }
        if (rc)
            return rc;
        if (!taken && !left && !worker->options->stay)
            return GT_OK;
        if (!taken)
            wait_seconds(worker, 1);
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
                              .lease_s = options->lease_s ? options->lease_s : LEASE_S};
    rc = name_worker(worker, err);
    if (!rc)
        rc = each_file(worker, save_taken, err);
    if (!rc)
        rc = work(worker, err);
    if (!session->cli->quiet)
        fprintf(session->cli->log, "%lld jobs done by %s\n", (long long)worker->done, worker->name);
    gt_pq_close(worker->pq);
    rmdir(worker->outbox); /* if it is empty */
    free(worker);
    return rc;
}

/* ---- the export ---- */

/* Merges one result, by way of a file. */
static int merge_bytes(struct gt_store *store, const char *path, const void *bytes, size_t size,
                       struct gt_err *err)
{
    FILE *file = fopen(path, "wbe");
    int64_t rows;
    int rc = GT_OK;

    if (!file || fwrite(bytes, 1, size, file) != size)
        rc = gt_err_set(err, GT_EIO, "%s: cannot be written: %s", path, strerror(errno));
    if (file && fclose(file) && !rc)
        rc = gt_err_set(err, GT_EIO, "%s: cannot be written: %s", path, strerror(errno));
    if (!rc)
        rc = gt_store_merge(store, path, &rows, err);
    unlink(path);
    return rc;
}

int gt_queue_export(struct gt_pq *pq, struct gt_store *store, int64_t *results, struct gt_err *err)
{
    static const char next[] =
        "SELECT job::text AS id, worker, database FROM gemmtune.result"
        " WHERE (job, worker) > ($1::bigint, $2) ORDER BY job, worker LIMIT 1";
    char path[64], job[24] = "-1", worker[96] = "";
    int rc;

    *results = 0;
    snprintf(path, sizeof(path), "/tmp/gemmtune-export-XXXXXX");
    rc = mkstemp(path);
    if (rc < 0)
        return gt_err_set(err, GT_EIO, "cannot make a file in /tmp: %s", strerror(errno));
    close(rc);
    for (;;) {
        const struct gt_pq_value value[] = {{.data = job}, {.data = worker}};
        const char *bytes;
        size_t size;

        rc = gt_pq_run(pq, next, value, 2, true, err);
        if (rc || !gt_pq_rows(pq))
            break;
        snprintf(job, sizeof(job), "%s", gt_pq_get(pq, 0, 0, NULL));
        snprintf(worker, sizeof(worker), "%s", gt_pq_get(pq, 0, 1, NULL));
        bytes = gt_pq_get(pq, 0, 2, &size);
        rc = merge_bytes(store, path, bytes, size, err);
        if (rc)
            break;
        ++*results;
    }
    unlink(path);
    return rc;
}
