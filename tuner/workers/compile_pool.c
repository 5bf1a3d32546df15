/* compile_pool.c - hands jobs to the compile workers, in a thread of its own, so that no worker
 * waits while the caller is busy: a search that computes, a commit, a final on the GPU.
 *
 * A job is one cubin; candidates that need the same one wait for the same job.  Jobs that are
 * wanted now come before those ahead. */
#include <errno.h>
#include <search.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "cuda/cache.h"
#include "workers/compile_pool_internal.h"
#include "workers/compile_reason.h"
#include "workers/processors.h"

/* What the compile pool knows of a cubin: answers to be collected, failures
 * that are remembered, and what the cache holds. */

struct gt_compile_answer {
    struct gt_compiled compiled;
    struct gt_compile_answer *next;
};

/* A cubin that cannot be made; other candidates that need it are not compiled. */
struct failure {
    char key[GT_DIGEST_HEX]; /* first, for tsearch */
    enum gt_status status;
    char detail[512];
};

static int gt_compile_push(struct gt_compile_pool *pool, const struct gt_compiled *compiled,
                           struct gt_err *err)
{
    struct gt_compile_answer *answer = malloc(sizeof(*answer));

    if (!answer)
        return gt_err_nomem(err);
    answer->compiled = *compiled;
    answer->next = NULL;
    *pool->answer_end = answer;
    pool->answer_end = &answer->next;
    return GT_OK;
}

static bool gt_compile_pop(struct gt_compile_pool *pool, struct gt_compiled *compiled)
{
    struct gt_compile_answer *answer = pool->answer;

    if (!answer)
        return false;
    *compiled = answer->compiled;
    pool->answer = answer->next;
    if (!pool->answer)
        pool->answer_end = &pool->answer;
    free(answer);
    pool->pending--;
    return true;
}

/* Gives the caller a sentence with its next call. */
static void gt_compile_note(struct gt_compile_pool *pool, const char *sentence)
{
    gt_strbuf_addf(&pool->notices, "%s\n", sentence);
}

static int compare_keys(const void *x, const void *y)
{
    return strcmp(x, y);
}

/* Remembers a failure.  If memory is short, it does not, which costs a second compilation. */
static void remember_failure(struct gt_compile_pool *pool, const struct gt_compiled *compiled)
{
    struct failure *failure = malloc(sizeof(*failure));
    struct failure **found;

    if (!failure)
        return;
    memcpy(failure->key, compiled->key, sizeof(failure->key));
    failure->status = compiled->status;
    memcpy(failure->detail, compiled->detail, sizeof(failure->detail));
    found = tsearch(failure, &pool->failures, compare_keys);
    if (!found || *found != failure)
        free(failure);
}

bool gt_compile_made(enum gt_status status)
{
    return status == GT_STATUS_OK || status == GT_STATUS_SPILLS || status == GT_STATUS_SERIALIZED;
}

/* Gives a cubin that spills or is serialized that status; it is not worth a trial. */
static void judge_code(struct gt_compiled *compiled)
{
    if (compiled->status != GT_STATUS_OK)
        return;
    if (compiled->spill_bytes > GT_SPILL_LIMIT) {
        compiled->status = GT_STATUS_SPILLS;
        snprintf(compiled->detail, sizeof(compiled->detail),
                 "spills %d bytes with %d registers; at most %d are tried", compiled->spill_bytes,
                 compiled->registers, GT_SPILL_LIMIT);
    } else if (*compiled->serialized) {
        compiled->status = GT_STATUS_SERIALIZED;
        snprintf(compiled->detail, sizeof(compiled->detail),
                 "the compiler serializes its wgmma: %s", compiled->serialized);
    }
}

int gt_compile_finish(struct gt_compile_pool *pool, struct gt_job *job,
                      struct gt_compiled *compiled, struct gt_err *err)
{
    int rc = GT_OK;
    size_t i;

    judge_code(compiled);
    memcpy(compiled->key, job->key, sizeof(compiled->key));
    if (!gt_compile_made(compiled->status) && compiled->status != GT_STATUS_KILLED)
        remember_failure(pool, compiled);
    for (i = 0; !rc && i < job->ids; i++) {
        compiled->id = job->id[i];
        compiled->cached = i > 0;
        rc = gt_compile_push(pool, compiled, err);
    }
    gt_job_free(job);
    return rc;
}

/* Answers from the cache or from a remembered failure; false: it has to be compiled. */
static bool gt_compile_known(struct gt_compile_pool *pool, const char *key,
                             struct gt_compiled *compiled)
{
    struct failure **failure = tfind(key, &pool->failures, compare_keys);
    struct gt_binary binary = {0};

    memcpy(compiled->key, key, GT_DIGEST_HEX);
    compiled->cached = true;
    if (failure) {
        compiled->status = (*failure)->status;
        memcpy(compiled->detail, (*failure)->detail, sizeof(compiled->detail));
        return true;
    }
    if (gt_cache_load(pool->cache_dir, key, &binary, NULL) &&
        gt_cache_spill_load(getpid(), key, &binary, NULL))
        return false;
    if (pool->keeps)
        gt_cache_spill_save(getpid(), key, &binary, NULL);
    compiled->registers = binary.registers;
    compiled->spill_bytes = binary.spill_bytes;
    compiled->static_shared = binary.static_shared;
    compiled->ms = binary.ms;
    compiled->status = GT_STATUS_OK;
    gt_log_serialized(binary.log, compiled->serialized);
    gt_log_static_shared(binary.log, compiled->shared_of);
    gt_binary_release(&binary);
    judge_code(compiled);
    return true;
}

static void gt_compile_forget(struct gt_compile_pool *pool)
{
    tdestroy(pool->failures, free);
    pool->failures = NULL;
}

/* Gives jobs to the compile workers, and replaces workers that die or are late.
 * Deadlines are read from the monotonic clock.  A worker that misses one is killed, and its job
 * gets a status. */

#define MAX_BAD_STARTS 3   /* in a row; then the pool gives up */
#define MAX_NO_STARTS  20  /* refusals by the system in a row, while no worker is alive */
#define RETRY_MS       500 /* after such a refusal */
#define TOKEN_MS       5 /* between two looks for a free token; compiling takes a hundred times that */
#define MAX_KILLED     20 /* workers killed from outside under one job before it gets that status */

/* Queues a lost job again if it is to have another try.  A first crash may have a cause outside the
 * job; a second one is the job's own fault.  A kill from outside is never the job's fault. */
static bool try_again(struct gt_compile_pool *pool, struct gt_job *job,
                      const struct gt_slot_report *report)
{
    if (report->event != GT_SLOT_LOST)
        return false;
    switch (report->compiled.status) {
    case GT_STATUS_COMPILE_CRASH:
        if (job->crashes++)
            return false;
        break;
    case GT_STATUS_KILLED:
        if (++job->killed > MAX_KILLED)
            return false;
        break;
    default:
        return false;
    }
    gt_job_queue_push_first(job->ids || job->doubt ? &pool->now : &pool->ahead, job);
    return true;
}

/* Handles what a worker reports. */
static int take_report(struct gt_compile_pool *pool, struct gt_compile_worker *worker,
                       struct gt_slot_report *report, struct gt_err *err)
{
    struct gt_job *job = worker->job;
    char sentence[512];

    if (report->event >= GT_SLOT_LOST) {
        pool->stats.respawns++;
        snprintf(sentence, sizeof(sentence), "a compile worker %s", report->how);
        gt_compile_note(pool, sentence);
    }
    if (*report->spilled && !pool->spills) {
        pool->spills = true;
        snprintf(sentence, sizeof(sentence),
                 "the cache does not take compiled kernels (%s); they are kept for this run only; "
                 "GEMMTUNE_CACHE may name another folder",
                 report->spilled);
        gt_compile_note(pool, sentence);
    }
    switch (report->event) {
    case GT_SLOT_READY:
        pool->nvrtc = report->nvrtc;
        pool->bad_starts = 0;
        return GT_OK;
    case GT_SLOT_BAD_START:
        if (++pool->bad_starts < MAX_BAD_STARTS)
            return GT_OK;
        return gt_err_set(err, GT_EIO, "compile workers do not start: %d in a row, the last one %s",
                          MAX_BAD_STARTS, report->how);
    case GT_SLOT_COMPILED:
    case GT_SLOT_LOST:
        pool->stats.compiled += !job->doubt;
        pool->stats.busy_s += (double)(gt_clock_ms() - worker->slot.began) / 1000;
        worker->job = NULL;
        gt_tokens_give(pool->options.tokens, pool->held, worker->token);
        if (try_again(pool, job, report))
            return GT_OK;
        return gt_compile_judge(pool, job, &report->compiled, err);
    default:
        return GT_OK;
    }
}

static bool any_alive(const struct gt_compile_pool *pool)
{
    for (int i = 0; i < pool->workers; i++)
        if (pool->worker[i].slot.state != GT_SLOT_EMPTY)
            return true;
    return false;
}

/* Starts a worker.  If the system is short of processes, descriptors or memory, another try follows
 * after RETRY_MS; the other workers go on meanwhile. */
static int start(struct gt_compile_pool *pool, struct gt_compile_worker *worker, struct gt_err *err)
{
    struct gt_err why = {0};
    char sentence[256];
    int rc;

    if (gt_clock_ms() < worker->slot.deadline)
        return GT_OK;
    rc = gt_slot_start(&worker->slot, &pool->options, &why);
    if (!rc) {
        pool->no_starts = 0;
        return GT_OK;
    }
    if (!any_alive(pool) && ++pool->no_starts >= MAX_NO_STARTS)
        return gt_err_set(err, rc, "%s (%d times in a row)", why.msg, MAX_NO_STARTS);
    worker->slot.deadline = gt_clock_ms() + RETRY_MS;
    if (pool->no_starts <= 1) {
        snprintf(sentence, sizeof(sentence), "%.200s; it is tried again", why.msg);
        gt_compile_note(pool, sentence);
    }
    return GT_OK;
}

/* Gives a worker the oldest job; those that are wanted now come before those ahead.  A worker is
 * started when it is first needed. */
static int feed(struct gt_compile_pool *pool, struct gt_compile_worker *worker, struct gt_err *err)
{
    struct gt_job_queue *queue = pool->now.first ? &pool->now : &pool->ahead;

    if (!queue->first || worker->slot.state == GT_SLOT_BUSY ||
        worker->slot.state == GT_SLOT_STARTING)
        return GT_OK;
    if (worker->slot.state == GT_SLOT_EMPTY)
        return start(pool, worker, err);
    if (!pool->waiting)
        pool->waiting = !gt_tokens_take(pool->options.tokens, pool->held, &worker->token);
    if (pool->waiting)
        return GT_OK;
    worker->job = gt_job_queue_take(queue, NULL);
    gt_slot_send(&worker->slot, &pool->options, pool->keeps, worker->job->key,
                 &worker->job->request);
    return GT_OK;
}

/* Takes what the workers have sent, replaces lost ones and gives idle ones jobs. */
static int gt_crew_pump(struct gt_compile_pool *pool, struct gt_err *err)
{
    struct gt_slot_report report;
    int i, rc = GT_OK;

    pool->waiting = false;
    for (i = 0; !rc && i < pool->workers; i++) {
        struct gt_compile_worker *worker = &pool->worker[i];

        do {
            rc = gt_slot_pump(&worker->slot, &pool->options, &report, err);
            GT_STEP(rc, take_report(pool, worker, &report, err));
        } while (!rc && report.event != GT_SLOT_NOTHING);
        GT_STEP(rc, feed(pool, worker, err));
    }
    return rc;
}

/* The descriptors to poll, at most GT_COMPILE_MAX_JOBS, and the milliseconds after which pump is to
 * be called anyway (-1: no deadline). */
static size_t gt_crew_poll(const struct gt_compile_pool *pool, struct pollfd *fd, int *timeout_ms)
{
    const int64_t now = gt_clock_ms();
    int64_t least = INT64_MAX;
    size_t count = 0;
    int i;

    for (i = 0; i < pool->workers; i++) {
        const struct gt_slot *slot = &pool->worker[i].slot;

        if (slot->state == GT_SLOT_EMPTY) {
            if ((pool->now.first || pool->ahead.first) && slot->deadline < least)
                least = slot->deadline;
            continue;
        }
        fd[count++] = (struct pollfd){.fd = slot->process.fd, .events = POLLIN};
        if (slot->state != GT_SLOT_IDLE && slot->deadline < least)
            least = slot->deadline;
    }
    if (pool->waiting && now + TOKEN_MS < least)
        least = now + TOKEN_MS;
    if (least == INT64_MAX)
        *timeout_ms = -1;
    else
        *timeout_ms = least < now ? 0 : (int)(least - now) + 1;
    return count;
}

/* Waits until the first worker reports whether there is a compiler, and its version. */
static int gt_crew_wait_first(struct gt_compile_pool *pool, struct gt_err *err)
{
    struct gt_compile_worker *worker = &pool->worker[0];
    struct gt_slot *slot = &worker->slot;
    int rc = GT_OK;

    while (!rc && slot->state != GT_SLOT_IDLE) {
        struct pollfd fd = {.fd = slot->process.fd, .events = POLLIN};

        if (slot->state == GT_SLOT_EMPTY) {
            rc = start(pool, worker, err);
            if (slot->state == GT_SLOT_EMPTY)
                poll(NULL, 0, RETRY_MS);
        } else if (poll(&fd, 1, 1000) >= 0)
            rc = gt_crew_pump(pool, err);
    }
    return rc;
}

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

int gt_compile_pool_prepare(struct gt_compile_pool *pool, const struct gt_candidate *candidate,
                            struct gt_prepared *prepared, struct gt_err *err)
{
    return gt_prepare(pool->preparing, candidate, prepared, err);
}

/* Makes the candidate's job and queues it, unless its cubin is known or already on its way. */
static int queue_job(struct gt_compile_pool *pool, const uint64_t *id,
                     const struct gt_prepared *prepared, struct gt_err *err)
{
    struct gt_job *job = NULL;
    int rc = GT_OK;

    if (served(pool, prepared->key, id, &rc, err))
        return rc;
    rc = gt_job_new(&job, prepared, err);
    if (!rc && id)
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
                           const struct gt_prepared *prepared, struct gt_err *err)
{
    struct gt_compiled compiled = {.id = id, .status = GT_STATUS_LAUNCH_INVALID};
    struct gt_err why = prepared->why;
    int rc;

    pthread_mutex_lock(&pool->lock);
    pool->pending++;
    pthread_mutex_unlock(&pool->lock);
    rc = why.code ? why.code : queue_job(pool, &id, prepared, &why);
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

int gt_compile_pool_ahead(struct gt_compile_pool *pool, const struct gt_prepared *prepared,
                          struct gt_err *err)
{
    int rc = prepared->why.code ? GT_OK : queue_job(pool, NULL, prepared, err);

    return rc == GT_ENOMEM ? rc : GT_OK; /* another reason is the trial's, if there will be one */
}

void gt_compile_pool_keep(struct gt_compile_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    pool->keeps = true;
    pthread_mutex_unlock(&pool->lock);
}

bool gt_compile_pool_has(struct gt_compile_pool *pool, const struct gt_prepared *prepared)
{
    struct gt_compiled compiled = {.status = GT_STATUS_COMPILE_ERROR};
    bool known;

    if (prepared->why.code)
        return false;
    pthread_mutex_lock(&pool->lock);
    known = gt_compile_known(pool, prepared->key, &compiled);
    pthread_mutex_unlock(&pool->lock);
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
    pool->preparing = calloc(1, sizeof(*pool->preparing));
    rc = pool->cache_dir && pool->preparing ? open_events(pool, err) : gt_err_nomem(err);
    GT_STEP(rc, gt_crew_wait_first(pool, err));
    if (!rc)
        pool->preparing->nvrtc = pool->nvrtc;
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
    free(pool->preparing);
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
