/* compile_pool.c - hands jobs to the compile workers, in a thread of its own, so that no worker
 * waits while the caller is busy: a search that computes, a commit, a final on the GPU.
 *
 * A job is one cubin; candidates that need the same cubin wait for the same job.  Jobs that are
 * wanted now come before jobs ahead.  Functions up to the section on the thread are called with the
 * lock held or before there is a thread, except the functions that make and free a job. */
#include "workers/compile_pool.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "cuda/cache.h"
#include "kernel/render.h"
#include "workers/compile_reason.h"
#include "workers/compile_slot.h"
#include "workers/processors.h"

#define MAX_JOBS       256
#define DOUBTS         16
#define SOUND_MS       10000 /* then the known source is compiled again: memory may be short */
#define KNOWN_MS       60000 /* for the known source, which takes a thousandth of that */
#define MAX_BAD_STARTS 3     /* in a row, after which the pool gives up */
#define MAX_NO_STARTS  20    /* refusals by the system in a row, while no worker is alive */
#define RETRY_MS       500   /* after such a refusal */
#define SIGNAL_MS      400   /* between two looks at the signals while the first worker starts */
#define TOKEN_MS       5  /* between two looks for a free token; compiling takes 100 times that */
#define MAX_KILLED     20 /* workers killed from outside before their job gets that status */

/* One cubin to be made. */
struct job {
    struct gt_compile_request request;
    struct gt_strbuf source;
    char *name, *include_dirs;
    char key[GT_DIGEST_HEX];
    uint64_t *id; /* the candidates that wait for the cubin */
    size_t ids, capacity;
    int crashes;                 /* crashes of workers that compiled this job */
    int killed;                  /* workers killed from outside while they compiled this job */
    struct doubt *doubt;         /* the doubt whose known source this is; NULL: a candidate's
                                    source */
    struct gt_compiled *failure; /* a failure that is not believed yet; NULL: none */
    TAILQ_ENTRY(job) link;
};

/* Jobs in the order in which workers take them. */
TAILQ_HEAD(queue, job);

/* A kind of failure, and whether the known source (compile_reason.h) fails so, too. */
struct doubt {
    enum gt_status status; /* NONE: this place is free */
    int result;            /* of NVRTC */
    int arch;              /* arch of the source; the next two members are also of the source */
    bool features, ptx;
    int64_t sound_until; /* the known source was compiled; by gt_clock_ms */
    struct job *job;     /* the job that compiles the known source; NULL: none */
    struct queue held;   /* jobs that failed in this way and wait for the known source */
};

struct worker {
    struct gt_slot slot;
    struct job *job; /* the job of a BUSY slot */
    int token;       /* the worker's token */
};

struct gt_compile_pool {
    struct gt_compile_pool_options options;
    char *cache_dir;
    pthread_mutex_t lock;
    pthread_t thread;
    bool threaded, closing; /* threaded: the thread runs; closing: the thread is to end */
    int wake, ready;        /* eventfds: for the thread; for the caller: gt_compile_pool_fd */
    int failed;             /* GT_OK, or the error that ended the thread */
    struct gt_err why;
    struct worker worker[MAX_JOBS];
    int workers, nvrtc, bad_starts, no_starts;
    struct queue now, ahead;
    struct gt_compiled *answer; /* answers; those from `taken` on are to be collected */
    size_t answers, taken, answer_capacity;
    struct gt_strbuf notices; /* sentences, each ended by a line feed */
    /* outcomes of cubins that cannot be made, a tsearch tree: others that need these are not
     * compiled */
    void *failures;
    struct doubt doubt[DOUBTS];
    size_t pending;
    bool held[GT_TOKENS_MAX];       /* tokens that workers of this pool hold */
    bool waiting;                   /* waiting for a token */
    bool spills;                    /* the notice that the cache refused a cubin was given */
    bool keeps;                     /* gt_compile_pool_keep was called */
    struct gt_preparing *preparing; /* the caller's alone */
    struct gt_compile_stats stats;
};

/* ---- jobs and their queues ---- */

static void job_free(struct job *job)
{
    if (!job)
        return;
    gt_strbuf_release(&job->source);
    free(job->name);
    free(job->include_dirs);
    free(job->id);
    free(job->failure);
    free(job);
}

static int job_add(struct job *job, uint64_t id, struct gt_err *err)
{
    if (GT_ARRAY_RESERVE(&job->id, job->ids + 1, &job->capacity, err))
        return GT_ENOMEM;
    job->id[job->ids++] = id;
    return GT_OK;
}

/* Renders the candidate.  No candidate waits for the job yet. */
static int job_new(struct job **out, const struct gt_prepared *prepared, struct gt_err *err)
{
    const struct gt_kernel *kernel = prepared->candidate.kernel;
    struct job *job = calloc(1, sizeof(*job));
    int rc;

    if (!job)
        return gt_err_nomem(err);
    gt_strbuf_init(&job->source);
    rc = gt_render(&job->source, &prepared->candidate, err);
    job->name = strdup(kernel->name);
    job->include_dirs = strdup(kernel->include_dirs);
    if (!rc && (!job->name || !job->include_dirs))
        rc = gt_err_nomem(err);
    if (rc) {
        job_free(job);
        return rc;
    }
    job->request = gt_prepared_request(prepared, job->source.text);
    job->request.name = job->name;
    job->request.include_dirs = job->include_dirs;
    memcpy(job->key, prepared->key, sizeof(job->key));
    *out = job;
    return GT_OK;
}

/* Takes the first job out of a queue; NULL: the queue is empty. */
static struct job *queue_take(struct queue *queue)
{
    struct job *job = TAILQ_FIRST(queue);

    if (job)
        TAILQ_REMOVE(queue, job, link);
    return job;
}

static size_t queue_count(const struct queue *queue)
{
    size_t count = 0;

    for (const struct job *job = TAILQ_FIRST(queue); job; job = TAILQ_NEXT(job, link))
        count++;
    return count;
}

/* Drops all jobs; returns how many candidates waited for them. */
static size_t queue_drop(struct queue *queue)
{
    struct job *job;
    size_t ids = 0;

    while ((job = queue_take(queue))) {
        ids += job->ids;
        if (job->doubt)
            job->doubt->job = NULL;
        job_free(job);
    }
    return ids;
}

static struct job *queue_find(const struct queue *queue, const char *key)
{
    struct job *job;

    for (job = TAILQ_FIRST(queue); job && strcmp(job->key, key) != 0;)
        job = TAILQ_NEXT(job, link);
    return job;
}

/* ---- known cubins: answers, remembered failures, the cache ---- */

static int push_answer(struct gt_compile_pool *pool, const struct gt_compiled *compiled,
                       struct gt_err *err)
{
    int rc;

    if (pool->taken > pool->answers / 2) { /* an array that is never empty must not grow for ever */
        pool->answers -= pool->taken;
        memmove(pool->answer, pool->answer + pool->taken, pool->answers * sizeof(*pool->answer));
        pool->taken = 0;
    }
    rc = GT_ARRAY_RESERVE(&pool->answer, pool->answers + 1, &pool->answer_capacity, err);
    if (!rc)
        pool->answer[pool->answers++] = *compiled;
    return rc;
}

static bool pop_answer(struct gt_compile_pool *pool, struct gt_compiled *compiled)
{
    if (pool->taken == pool->answers)
        return false;
    *compiled = pool->answer[pool->taken++];
    if (pool->taken == pool->answers)
        pool->taken = pool->answers = 0;
    pool->pending--;
    return true;
}

static int compare_keys(const void *x, const void *y)
{
    return strcmp(((const struct gt_compiled *)x)->key, ((const struct gt_compiled *)y)->key);
}

/* Remembers a failure.  If memory is short, the failure is forgotten, which costs a second
 * compilation. */
static void remember_failure(struct gt_compile_pool *pool, const struct gt_compiled *compiled)
{
    struct gt_compiled *failure = malloc(sizeof(*failure));
    void *found;

    if (!failure)
        return;
    *failure = *compiled;
    failure->ms = 0; /* the first candidate has taken this time */
    found = tsearch(failure, &pool->failures, compare_keys);
    if (!found || *(struct gt_compiled **)found != failure)
        free(failure);
}

/* Whether a cubin was made.  A cubin is in the cache even if it is not worth a trial. */
static bool is_made(enum gt_status status)
{
    return status == GT_STATUS_OK || status == GT_STATUS_SPILLS || status == GT_STATUS_SERIALIZED;
}

/* Sets the status of a cubin that spills or is serialized, and so is not worth a trial. */
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

/* Answers every candidate that waits for the job, and frees the job. */
static int finish(struct gt_compile_pool *pool, struct job *job, struct gt_compiled *compiled,
                  struct gt_err *err)
{
    int rc = GT_OK;
    size_t i;

    judge_code(compiled);
    memcpy(compiled->key, job->key, sizeof(compiled->key));
    if (!is_made(compiled->status) && compiled->status != GT_STATUS_KILLED)
        remember_failure(pool, compiled);
    for (i = 0; !rc && i < job->ids; i++) {
        compiled->id = job->id[i];
        compiled->cached = i > 0;
        rc = push_answer(pool, compiled, err);
    }
    job_free(job);
    return rc;
}

/* Answers from the cache or from a remembered failure; false: it has to be compiled.  The whole
 * cubin is read although only its facts are needed: its digest tells whether the GPU worker, which
 * reads it again, will find it intact. */
static bool find_known(struct gt_compile_pool *pool, const char *key, struct gt_compiled *compiled)
{
    const uint64_t id = compiled->id;
    struct gt_compiled **failure;
    struct gt_binary binary = {0};

    memcpy(compiled->key, key, GT_DIGEST_HEX);
    failure = tfind(compiled, &pool->failures, compare_keys);
    if (failure)
        *compiled = **failure;
    compiled->id = id;
    compiled->cached = true;
    if (failure)
        return true;
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

/* ---- whom a failure to compile is due to ----
 *
 * After the first failure of a kind, the compiler compiles the known source for the same arch.  If
 * the known source compiles, the failure is the candidate's, and so are further failures of this
 * kind for a while.  If the known source fails, too, the machine is to blame and the pool gives
 * up. */

static bool is_doubtful(enum gt_status status)
{
    return status == GT_STATUS_COMPILE_ERROR || status == GT_STATUS_COMPILE_CRASH ||
           status == GT_STATUS_COMPILE_TIMEOUT || status == GT_STATUS_KILLED;
}

/* The place of failures of this kind; NULL: there is none left. */
static struct doubt *doubt_of(struct gt_compile_pool *pool, const struct job *job,
                              const struct gt_compiled *compiled)
{
    const struct gt_compile_request *request = &job->request;
    struct doubt *unused = NULL;

    for (int i = 0; i < DOUBTS; i++) {
        struct doubt *doubt = &pool->doubt[i];

        if (doubt->status == compiled->status && doubt->result == compiled->result &&
            doubt->arch == request->arch && doubt->features == request->features &&
            doubt->ptx == request->ptx)
            return doubt;
        if (!doubt->job && (!unused || doubt->sound_until < unused->sound_until))
            unused = doubt;
    }
    if (unused) {
        unused->status = compiled->status;
        unused->result = compiled->result;
        unused->arch = request->arch;
        unused->features = request->features;
        unused->ptx = request->ptx;
        unused->sound_until = 0;
    }
    return unused;
}

/* Queues the known source, with the job's options for the compiler. */
static bool ask(struct gt_compile_pool *pool, struct doubt *doubt,
                const struct gt_compile_request *request)
{
    struct job *job = calloc(1, sizeof(*job));

    if (!job)
        return false;
    gt_strbuf_init(&job->source);
    job->request = *request;
    job->request.source = gt_known_source;
    job->request.name = GT_KNOWN_NAME;
    job->request.include_dirs = "";
    job->request.max_registers = 0;
    job->doubt = doubt;
    doubt->job = job;
    TAILQ_INSERT_HEAD(&pool->now, job, link);
    return true;
}

/* Takes the outcome of the known source. */
static int take_verdict(struct gt_compile_pool *pool, struct job *job,
                        const struct gt_compiled *compiled, struct gt_err *err)
{
    struct doubt *doubt = job->doubt;
    const int arch = job->request.arch;
    int rc = GT_OK;

    doubt->job = NULL;
    job_free(job);
    if (!is_made(compiled->status)) {
        char text[sizeof(err->msg)];

        gt_known_complaint(text, sizeof(text), pool->nvrtc, arch, compiled->result,
                           compiled->detail);
        return gt_err_set(err, GT_ENOLIB, "%s", text);
    }
    doubt->sound_until = gt_clock_ms() + SOUND_MS;
    while (!rc && (job = queue_take(&doubt->held))) {
        struct gt_compiled failure = *job->failure;

        rc = finish(pool, job, &failure, err);
    }
    return rc;
}

/* Answers the candidates of a job that has ended, as finish does.  A failure waits until the
 * compiler has compiled the known source; GT_ENOLIB: the known source fails as well. */
static int judge(struct gt_compile_pool *pool, struct job *job, struct gt_compiled *compiled,
                 struct gt_err *err)
{
    struct doubt *doubt;

    if (job->doubt)
        return take_verdict(pool, job, compiled, err);
    doubt = is_doubtful(compiled->status) ? doubt_of(pool, job, compiled) : NULL;
    if (!doubt || gt_clock_ms() < doubt->sound_until)
        return finish(pool, job, compiled, err);
    job->failure = malloc(sizeof(*job->failure));
    if (!job->failure || (!doubt->job && !ask(pool, doubt, &job->request))) {
        job_free(job);
        return gt_err_nomem(err);
    }
    *job->failure = *compiled;
    TAILQ_INSERT_TAIL(&doubt->held, job, link);
    return GT_OK;
}

/* The job of this key that waits for the known source, or NULL. */
static struct job *find_held(const struct gt_compile_pool *pool, const char *key)
{
    struct job *job = NULL;

    for (int i = 0; i < DOUBTS && !job; i++)
        job = queue_find(&pool->doubt[i].held, key);
    return job;
}

/* ---- the workers ---- */

/* Queues a lost job again if it is to be tried once more.  A first crash may have a cause outside
 * the job; a second crash is the job's own fault.  A kill from outside is never the job's fault. */
static bool try_again(struct gt_compile_pool *pool, struct job *job,
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
    TAILQ_INSERT_HEAD(job->ids || job->doubt ? &pool->now : &pool->ahead, job, link);
    return true;
}

/* Handles a worker's report. */
static int take_report(struct gt_compile_pool *pool, struct worker *worker,
                       struct gt_slot_report *report, struct gt_err *err)
{
    struct job *job = worker->job;
    char how[sizeof(worker->slot.process.how) + 16];

    if (report->event >= GT_SLOT_LOST) {
        pool->stats.respawns++;
        gt_strbuf_addf(&pool->notices, "a compile worker %s\n", worker->slot.process.how);
    }
    if (*report->spilled && !pool->spills) {
        pool->spills = true;
        gt_strbuf_addf(
            &pool->notices,
            "the cache does not take compiled kernels (%s); they are kept for this run only; "
            "GEMMTUNE_CACHE may name another folder\n",
            report->spilled);
    }
    switch (report->event) {
    case GT_SLOT_READY:
        pool->nvrtc = report->nvrtc;
        pool->bad_starts = 0;
        return GT_OK;
    case GT_SLOT_BAD_START:
        if (report->compiled.status == GT_STATUS_COMPILE_TIMEOUT)
            return gt_known_dead("a process hung", err);
        if (++pool->bad_starts < MAX_BAD_STARTS)
            return GT_OK;
        snprintf(how, sizeof(how), "a process %s", worker->slot.process.how);
        return gt_known_dead(how, err);
    case GT_SLOT_COMPILED:
    case GT_SLOT_LOST:
        pool->stats.compiled += !job->doubt;
        pool->stats.busy_s += (double)(gt_clock_ms() - worker->slot.began) / 1000;
        worker->job = NULL;
        gt_tokens_give(pool->options.tokens, pool->held, worker->token);
        if (try_again(pool, job, report))
            return GT_OK;
        return judge(pool, job, &report->compiled, err);
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
static int start(struct gt_compile_pool *pool, struct worker *worker, struct gt_err *err)
{
    struct gt_err why = {0};
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
    if (pool->no_starts <= 1)
        gt_strbuf_addf(&pool->notices, "%.200s; it is tried again\n", why.msg);
    return GT_OK;
}

/* Gives a worker the oldest job; jobs that are wanted now come before jobs ahead.  A worker is
 * started when it is first needed. */
static int feed(struct gt_compile_pool *pool, struct worker *worker, struct gt_err *err)
{
    struct queue *queue = TAILQ_EMPTY(&pool->now) ? &pool->ahead : &pool->now;

    if (TAILQ_EMPTY(queue) || worker->slot.state == GT_SLOT_BUSY ||
        worker->slot.state == GT_SLOT_STARTING)
        return GT_OK;
    if (worker->slot.state == GT_SLOT_EMPTY)
        return start(pool, worker, err);
    if (!pool->waiting)
        pool->waiting = !gt_tokens_take(pool->options.tokens, pool->held, &worker->token);
    if (pool->waiting)
        return GT_OK;
    worker->job = queue_take(queue);
    gt_slot_send(&worker->slot, &pool->options, pool->keeps, worker->job->key,
                 &worker->job->request);
    if (worker->job->doubt && worker->slot.deadline > worker->slot.began + KNOWN_MS)
        worker->slot.deadline = worker->slot.began + KNOWN_MS;
    return GT_OK;
}

/* Takes the workers' messages, replaces lost workers and gives idle workers jobs. */
static int pump(struct gt_compile_pool *pool, struct gt_err *err)
{
    struct gt_slot_report report;
    int i, rc = GT_OK;

    pool->waiting = false;
    for (i = 0; !rc && i < pool->workers; i++) {
        struct worker *worker = &pool->worker[i];

        do {
            rc = gt_slot_pump(&worker->slot, &pool->options, &report, err);
            GT_STEP(rc, take_report(pool, worker, &report, err));
        } while (!rc && report.event != GT_SLOT_NOTHING);
        GT_STEP(rc, feed(pool, worker, err));
    }
    return rc;
}

/* The descriptors to poll, at most MAX_JOBS, and the milliseconds after which pump is to
 * be called anyway (-1: no deadline). */
static size_t list_waits(const struct gt_compile_pool *pool, struct pollfd *fd, int *timeout_ms)
{
    const int64_t now = gt_clock_ms();
    int64_t least = INT64_MAX;
    size_t count = 0;
    int i;

    for (i = 0; i < pool->workers; i++) {
        const struct gt_slot *slot = &pool->worker[i].slot;

        if (slot->state == GT_SLOT_EMPTY) {
            if (!(TAILQ_EMPTY(&pool->now) && TAILQ_EMPTY(&pool->ahead)) && slot->deadline < least)
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
static int wait_first(struct gt_compile_pool *pool, struct gt_err *err)
{
    struct worker *worker = &pool->worker[0];
    struct gt_slot *slot = &worker->slot;
    int rc = GT_OK;

    while (!rc && slot->state != GT_SLOT_IDLE) {
        struct pollfd fd = {.fd = slot->process.fd, .events = POLLIN};

        if (slot->state == GT_SLOT_EMPTY) {
            rc = start(pool, worker, err);
            if (slot->state == GT_SLOT_EMPTY)
                poll(NULL, 0, RETRY_MS);
        } else if (poll(&fd, 1, SIGNAL_MS) >= 0)
            rc = pump(pool, err);
        if (!rc && pool->options.signals && *pool->options.signals)
            rc = gt_err_set(err, GT_EINTERRUPTED, "interrupted before a compiler was ready");
    }
    return rc;
}

/* ---- the thread ---- */

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
        return; /* the event was not up */
}

/* Tells the caller if there is something to collect. */
static void announce(const struct gt_compile_pool *pool)
{
    if (pool->answers || pool->failed || pool->notices.length)
        raise_event(pool->ready);
}

static void *serve(void *context)
{
    struct gt_compile_pool *pool = context;
    struct pollfd fd[MAX_JOBS + 1];

    pthread_mutex_lock(&pool->lock);
    while (!pool->closing && !pool->failed) {
        int wait = -1;
        size_t count;

        lower_event(pool->wake);
        pool->failed = pump(pool, &pool->why);
        announce(pool);
        count = list_waits(pool, fd, &wait);
        fd[count++] = (struct pollfd){.fd = pool->wake, .events = POLLIN};
        pthread_mutex_unlock(&pool->lock);
        poll(fd, count, pool->failed ? 0 : wait);
        pthread_mutex_lock(&pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static int start_thread(struct gt_compile_pool *pool, struct gt_err *err)
{
    const int code = gt_thread_start(&pool->thread, serve, pool);

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

/* ---- submitting ---- */

/* The job of this key that is being compiled, or NULL. */
static struct job *job_at_work(const struct gt_compile_pool *pool, const char *key)
{
    for (int i = 0; i < pool->workers; i++)
        if (pool->worker[i].job && !strcmp(pool->worker[i].job->key, key))
            return pool->worker[i].job;
    return NULL;
}

/* The job of this key that is queued or being compiled, or NULL.  wanted: a job ahead becomes a job
 * that is wanted now. */
static struct job *find_job(struct gt_compile_pool *pool, const char *key, bool wanted)
{
    struct job *job = job_at_work(pool, key);

    if (!job)
        job = queue_find(&pool->now, key);
    if (!job)
        job = find_held(pool, key);
    if (job)
        return job;
    job = queue_find(&pool->ahead, key);
    if (job && wanted) {
        TAILQ_REMOVE(&pool->ahead, job, link);
        TAILQ_INSERT_TAIL(&pool->now, job, link);
    }
    return job;
}

/* Adds the candidate to the job that makes its cubin, or answers it from the cache or a remembered
 * failure; false: the cubin has to be compiled.  id NULL: nobody waits for an answer. */
static bool served(struct gt_compile_pool *pool, const char *key, const uint64_t *id, int *rc,
                   struct gt_err *err)
{
    struct gt_compiled compiled = {.id = id ? *id : 0};
    struct job *same;
    bool known = false;

    pthread_mutex_lock(&pool->lock);
    same = find_job(pool, key, id != NULL);
    if (same && id)
        *rc = job_add(same, *id, err);
    if (!same)
        known = find_known(pool, key, &compiled);
    if (known && id) {
        pool->stats.cache_hits += is_made(compiled.status);
        *rc = push_answer(pool, &compiled, err);
    }
    announce(pool);
    pthread_mutex_unlock(&pool->lock);
    return same || known;
}

/* Hands the notices to the caller. */
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
    struct job *job = NULL;
    int rc = GT_OK;

    if (served(pool, prepared->key, id, &rc, err))
        return rc;
    rc = job_new(&job, prepared, err);
    if (!rc && id)
        rc = job_add(job, *id, err);
    if (rc) {
        job_free(job);
        return rc;
    }
    pthread_mutex_lock(&pool->lock);
    TAILQ_INSERT_TAIL(id ? &pool->now : &pool->ahead, job, link);
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
    rc = push_answer(pool, &compiled, err);
    announce(pool);
    pthread_mutex_unlock(&pool->lock);
    return rc;
}

int gt_compile_pool_ahead(struct gt_compile_pool *pool, const struct gt_prepared *prepared,
                          struct gt_err *err)
{
    int rc = prepared->why.code ? GT_OK : queue_job(pool, NULL, prepared, err);

    return rc == GT_ENOMEM ? rc : GT_OK; /* any other failure is the trial's, if there will be a
                                            trial */
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
    known = find_known(pool, prepared->key, &compiled);
    pthread_mutex_unlock(&pool->lock);
    return known && compiled.status == GT_STATUS_OK;
}

/* ---- collecting ---- */

/* 1: *compiled is set; 0: there is nothing. */
static int take_answer(struct gt_compile_pool *pool, struct gt_compiled *compiled,
                       struct gt_err *err)
{
    int rc;

    pthread_mutex_lock(&pool->lock);
    rc = pop_answer(pool, compiled);
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
    *load = (struct gt_compile_load){0};
    pthread_mutex_lock(&pool->lock);
    load->now = queue_count(&pool->now);
    load->ahead = queue_count(&pool->ahead);
    for (int i = 0; i < pool->workers; i++)
        load->idle += !pool->worker[i].job;
    pthread_mutex_unlock(&pool->lock);
}

void gt_compile_pool_drop(struct gt_compile_pool *pool)
{
    struct gt_compiled ignored;

    pthread_mutex_lock(&pool->lock);
    pool->pending -= queue_drop(&pool->now);
    for (int i = 0; i < DOUBTS; i++)
        pool->pending -= queue_drop(&pool->doubt[i].held);
    while (pop_answer(pool, &ignored))
        continue;
    pthread_mutex_unlock(&pool->lock);
}

void gt_compile_pool_drop_ahead(struct gt_compile_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    queue_drop(&pool->ahead);
    pthread_mutex_unlock(&pool->lock);
}

/* ---- opening and closing ---- */

static void set_options(struct gt_compile_pool *pool, const struct gt_compile_pool_options *options)
{
    pool->options = *options;
    pool->workers = options->jobs > 0 ? options->jobs : gt_processors();
    if (pool->workers > MAX_JOBS)
        pool->workers = MAX_JOBS;
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
    TAILQ_INIT(&pool->now);
    TAILQ_INIT(&pool->ahead);
    for (int i = 0; i < DOUBTS; i++)
        TAILQ_INIT(&pool->doubt[i].held);
    gt_strbuf_init(&pool->notices);
    pool->wake = pool->ready = -1;
    for (int i = 0; i < pool->workers; i++)
        gt_slot_init(&pool->worker[i].slot);
    pool->cache_dir = strdup(options->cache_dir);
    pool->options.cache_dir = pool->cache_dir;
    pool->preparing = calloc(1, sizeof(*pool->preparing));
    rc = pool->cache_dir && pool->preparing ? open_events(pool, err) : gt_err_nomem(err);
    GT_STEP(rc, wait_first(pool, err));
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
        job_free(pool->worker[i].job);
    }
    tdestroy(pool->failures, free);
    free(pool->answer);
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
