/* compile_pool.c - hands jobs to the compile workers, in a thread of its own, so that no worker
 * waits while the caller is busy: a search that computes, a commit, a final on the GPU.
 *
 * A job is one cubin; candidates that need the same one wait for the same job.  Jobs that are
 * wanted now come before those ahead. */
#include "workers/compile_pool_internal.h"

#include "base/clock.h"
#include "base/err.h"
#include "cuda/cache.h"
#include "workers/known_source.h"
#include "workers/processors.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* --- the thread ------------------------------------------------------------------------------- */

static void raise_event(int fd)
{
    const uint64_t one = 1;

    if (write(fd, &one, sizeof(one)) < 0)
        return; /* the counter is full: the event is up already */
}

static void lower_event(int fd)
{
    uint64_t count;

    if (read(fd, &count, sizeof(count)) < 0)
        return; /* it was not up */
}

/* Tells the caller if there is something to collect. */
static void announce(const struct gt_compile_pool *pool)
{
    if (pool->answer || pool->failed || pool->notices.length)
        raise_event(pool->ready);
}

static void *serve(void *context)
{
    struct gt_compile_pool *pool = context;
    struct pollfd fd[GT_COMPILE_MAX_JOBS + 1];

    pthread_mutex_lock(&pool->lock);
    while (!pool->closing && !pool->failed) {
        int wait = -1;
        size_t count;

        lower_event(pool->wake);
        pool->failed = gt_crew_pump(pool, &pool->why);
        announce(pool);
        count = gt_crew_poll(pool, fd, &wait);
        fd[count++] = (struct pollfd){.fd = pool->wake, .events = POLLIN};
        pthread_mutex_unlock(&pool->lock);
        poll(fd, count, pool->failed ? 0 : wait);
        pthread_mutex_lock(&pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* Starts the thread.  Signals are for the caller, whose waits they end. */
static int start_thread(struct gt_compile_pool *pool, struct gt_err *err)
{
    sigset_t all, before;
    int code;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    code = pthread_create(&pool->thread, NULL, serve, pool);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pool->threaded = !code;
    return code ? gt_err_set(err, GT_EIO, "cannot start the thread of the compile workers: %s",
                             strerror(code))
                : GT_OK;
}

static void end_thread(struct gt_compile_pool *pool)
{
    if (!pool->threaded)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->closing = true;
    pthread_mutex_unlock(&pool->lock);
    raise_event(pool->wake);
    pthread_join(pool->thread, NULL);
    pool->threaded = false;
}

/* --- submitting ------------------------------------------------------------------------------- */

/* The job of this key that is being compiled, or NULL. */
static struct gt_job *job_at_work(const struct gt_compile_pool *pool, const char *key)
{
    for (int i = 0; i < pool->workers; i++)
        if (pool->worker[i].job && !strcmp(pool->worker[i].job->key, key))
            return pool->worker[i].job;
    return NULL;
}

/* The job of this key that is queued or being compiled, or NULL.  wanted: if it was ahead, it is
 * wanted now. */
static struct gt_job *find_job(struct gt_compile_pool *pool, const char *key, bool wanted)
{
    struct gt_job *job = job_at_work(pool, key);

    if (!job)
        job = gt_job_queue_find(&pool->now, key);
    if (!job)
        job = gt_doubt_find(pool, key);
    if (job)
        return job;
    job = gt_job_queue_find(&pool->ahead, key);
    if (job && wanted)
        gt_job_queue_push(&pool->now, gt_job_queue_take(&pool->ahead, job));
    return job;
}

/* Adds the candidate to the job that makes its cubin, or answers it from what is known; false: it
 * has to be compiled.  id NULL: nobody waits for an answer. */
static bool served(struct gt_compile_pool *pool, const char *key, const uint64_t *id, int *rc,
                   struct gt_err *err)
{
    struct gt_compiled compiled = {.id = id ? *id : 0};
    struct gt_job *same;
    bool known = false;

    pthread_mutex_lock(&pool->lock);
    same = find_job(pool, key, id != NULL);
    if (same && id)
        *rc = gt_job_add(same, *id, err);
    if (!same)
        known = gt_compile_known(pool, key, &compiled);
    if (known && id) {
        pool->stats.cache_hits += gt_compile_made(compiled.status);
        *rc = gt_compile_push(pool, &compiled, err);
    }
    announce(pool);
    pthread_mutex_unlock(&pool->lock);
    return same || known;
}

/* Gives the caller's notices to the caller. */
static void give_notices(struct gt_compile_pool *pool)
{
    struct gt_strbuf taken;
    char *rest, *sentence;

    pthread_mutex_lock(&pool->lock);
    taken = pool->notices;
    gt_strbuf_init(&pool->notices);
    pthread_mutex_unlock(&pool->lock);
    rest = taken.length && !gt_strbuf_check(&taken, NULL) ? taken.text : NULL;
    while (rest && (sentence = strsep(&rest, "\n")) && *sentence)
        if (pool->options.notice)
            pool->options.notice(pool->options.context, sentence);
    gt_strbuf_release(&taken);
}

/* Makes the candidate's job and queues it, unless its cubin is known or already on its way. */
static int queue_job(struct gt_compile_pool *pool, const uint64_t *id,
                     const struct gt_candidate *candidate, struct gt_err *err)
{
    struct gt_job *job = NULL;
    int rc = gt_job_new(&job, candidate, pool->nvrtc, err);

    if (rc || served(pool, job->key, id, &rc, err)) {
        gt_job_free(job);
        return rc;
    }
    if (id)
        rc = gt_job_add(job, *id, err);
    if (rc) {
        gt_job_free(job);
        return rc;
    }
    pthread_mutex_lock(&pool->lock);
    gt_job_queue_push(id ? &pool->now : &pool->ahead, job);
    pthread_mutex_unlock(&pool->lock);
    raise_event(pool->wake);
    return GT_OK;
}

int gt_compile_pool_submit(struct gt_compile_pool *pool, uint64_t id,
                           const struct gt_candidate *candidate, struct gt_err *err)
{
    struct gt_compiled compiled = {.id = id, .status = GT_STATUS_LAUNCH_INVALID};
    struct gt_err why = {0};
    int rc;

    pthread_mutex_lock(&pool->lock);
    pool->pending++;
    pthread_mutex_unlock(&pool->lock);
    rc = queue_job(pool, &id, candidate, &why);
    if (rc == GT_ENOMEM)
        return gt_err_nomem(err);
    if (!rc)
        return GT_OK;
    snprintf(compiled.detail, sizeof(compiled.detail), "%.500s", why.msg);
    pthread_mutex_lock(&pool->lock);
    rc = gt_compile_push(pool, &compiled, err);
    announce(pool);
    pthread_mutex_unlock(&pool->lock);
    return rc;
}

int gt_compile_pool_ahead(struct gt_compile_pool *pool, const struct gt_candidate *candidate,
                          struct gt_err *err)
{
    int rc = queue_job(pool, NULL, candidate, err);

    return rc == GT_ENOMEM ? rc : GT_OK; /* another reason is the trial's, if there will be one */
}

void gt_compile_pool_keep(struct gt_compile_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->keeps = true;
    pthread_mutex_unlock(&pool->lock);
}

bool gt_compile_pool_has(struct gt_compile_pool *pool, const struct gt_candidate *candidate)
{
    struct gt_compiled compiled = {.status = GT_STATUS_COMPILE_ERROR};
    struct gt_job *job;
    bool known;

    if (gt_job_new(&job, candidate, pool->nvrtc, NULL))
        return false;
    pthread_mutex_lock(&pool->lock);
    known = gt_compile_known(pool, job->key, &compiled);
    pthread_mutex_unlock(&pool->lock);
    gt_job_free(job);
    return known && compiled.status == GT_STATUS_OK;
}

/* --- collecting ------------------------------------------------------------------------------- */

/* 1: *compiled is set; 0: there is nothing. */
static int take_answer(struct gt_compile_pool *pool, struct gt_compiled *compiled,
                       struct gt_err *err)
{
    int rc;

    pthread_mutex_lock(&pool->lock);
    rc = gt_compile_pop(pool, compiled);
    if (!rc && pool->failed)
        rc = gt_err_set(err, pool->failed, "%s", pool->why.msg);
    if (!rc)
        lower_event(pool->ready);
    pthread_mutex_unlock(&pool->lock);
    return rc;
}

int gt_compile_pool_collect(struct gt_compile_pool *pool, int timeout_ms,
                            struct gt_compiled *compiled, struct gt_err *err)
{
    const int64_t deadline = gt_clock_ms() + timeout_ms;

    for (;;) {
        struct pollfd fd = {.fd = pool->ready, .events = POLLIN};
        int64_t left;
        int rc;

        give_notices(pool);
        rc = take_answer(pool, compiled, err);
        left = deadline - gt_clock_ms();
        if (rc)
            return rc;
        if (left <= 0 || poll(&fd, 1, (int)left) < 0)
            return 0;
    }
}

int gt_compile_pool_fd(const struct gt_compile_pool *pool)
{
    return pool->ready;
}

size_t gt_compile_pool_pending(struct gt_compile_pool *pool)
{
    size_t pending;

    pthread_mutex_lock(&pool->lock);
    pending = pool->pending;
    pthread_mutex_unlock(&pool->lock);
    return pending;
}

void gt_compile_pool_load(struct gt_compile_pool *pool, struct gt_compile_load *load)
{
    pthread_mutex_lock(&pool->lock);
    *load = (struct gt_compile_load){.now = pool->now.count, .ahead = pool->ahead.count};
    for (int i = 0; i < pool->workers; i++)
        load->idle += !pool->worker[i].job;
    pthread_mutex_unlock(&pool->lock);
}

void gt_compile_pool_drop(struct gt_compile_pool *pool)
{
    struct gt_compiled ignored;
    struct gt_job *job;

    pthread_mutex_lock(&pool->lock);
    while ((job = gt_job_queue_take(&pool->now, NULL))) {
        pool->pending -= job->ids;
        if (job->doubt)
            job->doubt->job = NULL;
        gt_job_free(job);
    }
    pool->pending -= gt_doubt_drop(pool);
    while (gt_compile_pop(pool, &ignored))
        continue;
    pthread_mutex_unlock(&pool->lock);
}

void gt_compile_pool_drop_ahead(struct gt_compile_pool *pool)
{
    struct gt_job *job;

    pthread_mutex_lock(&pool->lock);
    while ((job = gt_job_queue_take(&pool->ahead, NULL)))
        gt_job_free(job);
    pthread_mutex_unlock(&pool->lock);
}

/* --- opening and closing ---------------------------------------------------------------------- */

static void set_options(struct gt_compile_pool *pool, const struct gt_compile_pool_options *options)
{
    pool->options = *options;
    pool->workers = options->jobs > 0 ? options->jobs : gt_processors();
    if (pool->workers > GT_COMPILE_MAX_JOBS)
        pool->workers = GT_COMPILE_MAX_JOBS;
    if (pool->options.memory <= 0)
        pool->options.memory = (int64_t)2 << 30;
    if (!(pool->options.cpu_s > 0))
        pool->options.cpu_s = 60;
}

static int open_events(struct gt_compile_pool *pool, struct gt_err *err)
{
    pool->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pool->ready = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (pool->wake >= 0 && pool->ready >= 0)
        return GT_OK;
    return gt_err_set(err, GT_EIO, "cannot make an event of the compile workers: %s",
                      strerror(errno));
}

int gt_compile_pool_open(struct gt_compile_pool **out,
                         const struct gt_compile_pool_options *options, struct gt_err *err)
{
    struct gt_compile_pool *pool = calloc(1, sizeof(*pool));
    int rc;

    if (!pool)
        return gt_err_nomem(err);
    set_options(pool, options);
    gt_known_tell_driver();
    pthread_mutex_init(&pool->lock, NULL);
    gt_job_queue_init(&pool->now);
    gt_job_queue_init(&pool->ahead);
    gt_doubt_init(pool);
    gt_strbuf_init(&pool->notices);
    pool->answer_end = &pool->answer;
    pool->wake = pool->ready = -1;
    for (int i = 0; i < pool->workers; i++)
        gt_slot_init(&pool->worker[i].slot);
    pool->cache_dir = strdup(options->cache_dir);
    pool->options.cache_dir = pool->cache_dir;
    rc = pool->cache_dir ? open_events(pool, err) : gt_err_nomem(err);
    GT_STEP(rc, gt_crew_wait_first(pool, err));
    GT_STEP(rc, start_thread(pool, err));
    if (rc)
        gt_compile_pool_close(pool);
    else
        *out = pool;
    return rc;
}

void gt_compile_pool_close(struct gt_compile_pool *pool)
{
    if (!pool)
        return;
    end_thread(pool);
    gt_compile_pool_drop(pool);
    gt_compile_pool_drop_ahead(pool);
    for (int i = 0; i < pool->workers; i++) {
        gt_slot_release(&pool->worker[i].slot);
        gt_job_free(pool->worker[i].job);
    }
    gt_compile_forget(pool);
    gt_cache_spill_remove(getpid());
    gt_strbuf_release(&pool->notices);
    if (pool->wake >= 0)
        close(pool->wake);
    if (pool->ready >= 0)
        close(pool->ready);
    pthread_mutex_destroy(&pool->lock);
    free(pool->cache_dir);
    free(pool);
}

int gt_compile_pool_jobs(const struct gt_compile_pool *pool)
{
    return pool->workers;
}

int gt_compile_pool_nvrtc(const struct gt_compile_pool *pool)
{
    return pool->nvrtc;
}

void gt_compile_pool_stats(struct gt_compile_pool *pool, struct gt_compile_stats *stats)
{
    pthread_mutex_lock(&pool->lock);
    *stats = pool->stats;
    pthread_mutex_unlock(&pool->lock);
}
