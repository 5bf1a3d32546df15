/* queue_worker.c - a tuner that works off the queue: takes a job, renews its lease while it tunes,
 * and uploads its rows before the next job.
 *
 * No result is lost when the server is away or the worker is killed: a note in the worker's
 * database (gt_store_note_job) says whose rows have to be uploaded, from before the sweep until the
 * server has them.  When a worker starts, it first uploads what the notes name, each under the name
 * of the worker that made it.  The rows of a worker that was killed while it tuned are uploaded
 * without ending the job. */
#include "cluster/queue.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/stats.h"
#include "base/strbuf.h"
#include "problem/problem.h"
#include "session/cmd_report.h"
#include "workers/process.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "session/older.h"

#define LEASE_S    120
#define RENEWALS   3     /* renewals in the time of a lease */
#define MOST_S     86400 /* seconds between two renewals, at most */
#define ANNOUNCE_S 600   /* seconds between two announcements of the device */

struct worker {
    struct gt_session *session;
    const struct gt_queue_options *options;
    const struct gt_kernel *const *kernel;
    size_t kernels;
    char name[GT_QUEUE_NAME], class_of[GT_QUEUE_CLASS];
    const char *database;
    int64_t lease_s;
    struct gt_queue_link link;
    double announced_s; /* by gt_clock_s; 0: not yet */
    int64_t done, found, compiled;
};

/* ---- the lease ---- */

/* The thread that renews a lease while the main thread tunes.  It opens a connection of its own for
 * each renewal, so that it finds a server again that was away. */
struct heart {
    const struct worker *worker;
    const struct gt_queue_job *job;
    pthread_t thread;
    int over; /* an eventfd that ends the thread */
    bool beats;
};

static void renew(const struct heart *heart)
{
    struct gt_pq *pq;

    if (gt_pq_open(&pq, heart->worker->options->address, NULL, NULL))
        return;
    gt_queue_renew(pq, heart->job->id, heart->worker->name, heart->worker->lease_s, NULL);
    gt_pq_close(pq);
}

static void *beat(void *context)
{
    const struct heart *heart = context;
    const int64_t pause_s = heart->worker->lease_s / RENEWALS + 1;
    struct pollfd over = {.fd = heart->over, .events = POLLIN};

    while (poll(&over, 1, (int)(pause_s < MOST_S ? pause_s : MOST_S) * 1000) == 0)
        renew(heart);
    return NULL;
}

/* If the thread cannot be started, the lease is not renewed; the job may then be done twice, which
 * is harmless. */
static void start_heart(struct heart *heart)
{
    heart->over = eventfd(0, EFD_CLOEXEC);
    heart->beats = heart->over >= 0 && gt_thread_start(&heart->thread, beat, heart) == 0;
}

static void stop_heart(struct heart *heart)
{
    if (heart->beats && eventfd_write(heart->over, 1) == 0)
        pthread_join(heart->thread, NULL);
    if (heart->over >= 0)
        close(heart->over);
}

/* ---- the work ---- */

/* Announces from time to time for which device to compile ahead.  A server that is away gets the
 * announcement when it is back; a server that refuses it keeps nobody from tuning. */
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

/* Uploads the rows of a job.  If the job was cancelled or its queue removed, the server has no
 * place for them. */
static int upload(struct worker *worker, const struct gt_store_job *job, struct gt_err *err)
{
    struct gt_strbuf file = GT_STRBUF_INIT;
    bool known = true;
    int64_t rows;
    int rc = gt_store_pack_problem(worker->session->store, job->problem, &file, &rows, err);

    GT_STEP(rc, gt_queue_put(worker->link.pq, job->id, job->worker, rows, file.text, file.length,
                             job->ends, &known, err));
    gt_strbuf_release(&file);
    if (!rc && !known && !worker->link.cli->quiet)
        fprintf(worker->link.cli->log,
                "job %s is not in the queue any more; its trials stay in %s\n", job->id,
                worker->database);
    GT_STEP(rc, gt_store_drop_job(worker->session->store, job, err));
    return rc;
}

/* Uploads the rows of all jobs that are noted. */
static int upload_all(struct worker *worker, struct gt_err *err)
{
    struct gt_store_job job;
    bool found = true;
    int rc = GT_OK;

    while (!rc && found) {
        rc = gt_store_next_job(worker->session->store, &job, &found, err);
        if (!rc && found)
            rc = upload(worker, &job, err);
    }
    return rc;
}

static int bring_home(void *context, struct gt_err *err)
{
    struct worker *worker = context;
    int rc = upload_all(worker, err);

    return rc ? rc : announce(worker, err);
}

/* Notes that the worker has begun the job; ends: that it is done. */
static int note(const struct worker *worker, const struct gt_queue_job *job, bool ends,
                struct gt_err *err)
{
    struct gt_store_job noted = {.ends = ends};

    snprintf(noted.id, sizeof(noted.id), "%s", job->id);
    snprintf(noted.worker, sizeof(noted.worker), "%s", worker->name);
    snprintf(noted.problem, sizeof(noted.problem), "%s", job->problem);
    return gt_store_note_job(worker->session->store, &noted, err);
}

/* Does the work that follows the finals of a job.  If that work fails, the job still has its
 * result. */
static void follow(struct worker *worker, const struct gt_problem *problem)
{
    const struct gt_session_after *after = &worker->options->after;
    struct gt_cli *cli = worker->session->cli;
    struct gt_err why = {0};

    if (after->run &&
        after->run(after, worker->session, problem, NULL, cli->quiet ? NULL : cli->log, NULL, &why))
        gt_queue_note(&worker->link, why.msg);
}

/* Prints the final line of a job. */
static void tell(const struct worker *worker, const struct gt_queue_job *job,
                 const struct gt_sweep_result *result)
{
    struct gt_strbuf found = GT_STRBUF_INIT;
    char us[GT_ROUGH_MAX];

    if (result->rows && worker->session->measures)
        gt_strbuf_addf(&found, "%.2f us", result->row[0].trial.us);
    else if (result->rows)
        gt_strbuf_addf(&found, "predicted, %s us", gt_rough(us, result->row[0].trial.us));
    else
        gt_report_nothing(&found, worker->session, result);
    fprintf(worker->session->cli->log,
            "%s: %s, %lld new trials; %lld cubins compiled, %lld found\n", job->problem, found.text,
            (long long)result->fresh, (long long)result->compiled, (long long)result->cache_hits);
    gt_strbuf_release(&found);
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
        rc = GT_OK; /* no kernel serves the problem: a result */
    if (!rc && !worker->session->cli->quiet)
        tell(worker, job, &result);
    worker->compiled += result.compiled;
    worker->found += result.cache_hits;
    gt_sweep_result_release(&result);
    return rc;
}

/* Fails a job that somebody wrote into the table without `tune queue submit`: every worker fails at
 * it, so it must not stay for the next worker. */
static int refuse(struct worker *worker, const struct gt_queue_job *job, const struct gt_err *why,
                  struct gt_err *err)
{
    char text[sizeof(why->msg) + 64];

    snprintf(text, sizeof(text), "job %s has failed: %s", job->id, why->msg);
    gt_copy_clean(text, sizeof(text), text);
    gt_queue_note(&worker->link, text);
    return gt_queue_give_back(worker->link.pq, job->id, worker->name, GT_QUEUE_IMPOSSIBLE, err);
}

/* Uploads its rows and gives the job back.  counts: as an attempt, and without the rows. */
static int hand_back(struct worker *worker, const struct gt_queue_job *job, bool counts)
{
    int rc = counts ? GT_OK : upload_all(worker, NULL);

    if (gt_pq_is_open(worker->link.pq))
        rc = gt_queue_give_back(worker->link.pq, job->id, worker->name,
                                counts ? GT_QUEUE_TRIED : GT_QUEUE_UNTOUCHED, NULL);
    return rc;
}

/* Leaves a job that was not ended.  Its trials are uploaded now or, if that fails, by the next
 * worker on this database, and other workers may take the job.  If this worker failed, and no
 * signal came, the job may be the reason.  A server that was away while the worker tuned has cut
 * the connection; when it is back, a new connection reaches it. */
static void leave(struct worker *worker, const struct gt_queue_job *job, int why)
{
    const bool told = why == GT_EINTERRUPTED;

    if (gt_pq_is_open(worker->link.pq) && hand_back(worker, job, !told) != GT_EIO)
        return;
    gt_queue_leave(&worker->link);
    if (!gt_pq_open(&worker->link.pq, worker->link.address, NULL, NULL))
        hand_back(worker, job, !told);
}

/* Does one job; *taken false: there was no job. */
static int work(void *context, bool *taken, int64_t *left, struct gt_err *err)
{
    struct worker *worker = context;
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
    rc = note(worker, &job, false, err);
    GT_STEP(rc, tune(worker, &job, &problem, &budget, err));
    if (rc) {
        leave(worker, &job, rc);
        return rc;
    }
    rc = note(worker, &job, true, err);
    worker->done += !rc;
    return rc;
}

int gt_queue_work(struct gt_session *session, const struct gt_kernel *const *kernel, size_t kernels,
                  const char *database, const struct gt_queue_options *options, struct gt_err *err)
{
    struct worker *worker = calloc(1, sizeof(*worker));
    const struct gt_queue_duty duty = {.greet = bring_home,
                                       .work = work,
                                       .stay = options->stay,
                                       .interrupted = "interrupted; other workers go on"};
    struct gt_store_job job;
    bool waits = false;
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
    gt_queue_name(worker->name, session->measures ? GT_QUEUE_MEASURES : GT_QUEUE_PREDICTS);
    gt_queue_class(worker->class_of, &session->evaluator->device);
    gt_older_tell_session(session, NULL, 0);
    rc = gt_queue_serve(&worker->link, &duty, worker, err);
    if (!session->cli->quiet)
        fprintf(session->cli->log, "%lld jobs done by %s; of %lld cubins %lld were found\n",
                (long long)worker->done, worker->name,
                (long long)(worker->compiled + worker->found), (long long)worker->found);
    if (!rc && session->cli->json)
        rc = gt_queue_print_work(session->cli, worker->done, worker->compiled, worker->found, err);
    gt_queue_leave(&worker->link);
    if (rc == GT_EINTERRUPTED && !gt_store_next_job(session->store, &job, &waits, NULL) && waits)
        gt_err_prefix(err, rc, "results wait in %s", database);
    free(worker);
    return rc;
}
