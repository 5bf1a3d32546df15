/* compile_pool.c - hands jobs to the compile workers, and replaces workers that die or are late.
 *
 * A job is one cubin; candidates that need the same one wait for the same job.  Deadlines are read
 * from the monotonic clock.  A worker that misses one is killed, and its job gets a status. */
#include "workers/compile_pool.h"

#include "base/clock.h"
#include "base/err.h"
#include "cuda/cache.h"
#include "workers/compile_job.h"
#include "workers/compile_slot.h"
#include "workers/processors.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_JOBS       256
#define MAX_BAD_STARTS 3   /* in a row; then the pool gives up */
#define MAX_NO_STARTS  20  /* refusals by the system in a row, while no worker is alive */
#define RETRY_MS       500 /* after such a refusal */
#define MAX_KILLED     20 /* workers killed from outside under one job before it gets that status */

struct answer {
    struct gt_compiled compiled;
    struct answer *next;
};

/* A cubin that cannot be made; other candidates that need it are not compiled. */
struct failure {
    char key[GT_DIGEST_HEX]; /* first, for tsearch */
    enum gt_status status;
    char detail[512];
};

struct gt_compile_pool {
    struct gt_compile_pool_options options;
    char *cache_dir;
    struct worker {
        struct gt_slot slot;
        struct gt_job *job; /* while the slot is BUSY */
    } worker[MAX_JOBS];
    int workers, nvrtc, bad_starts, no_starts;
    struct gt_job *queue, **queue_end;
    size_t queued;
    struct answer *answer, **answer_end;
    void *failures; /* tsearch tree of struct failure */
    size_t pending;
    bool spills; /* the notice that the cache refused a cubin was given */
    struct gt_compile_stats stats;
};

static int push_answer(struct gt_compile_pool *pool, const struct gt_compiled *compiled,
                       struct gt_err *err)
{
    struct answer *answer = malloc(sizeof(*answer));

    if (!answer)
        return gt_err_nomem(err);
    answer->compiled = *compiled;
    answer->next = NULL;
    *pool->answer_end = answer;
    pool->answer_end = &answer->next;
    return GT_OK;
}

static void notice(const struct gt_compile_pool *pool, const char *sentence)
{
    if (pool->options.notice)
        pool->options.notice(pool->options.context, sentence);
}

/* --- answers ---------------------------------------------------------------------------------- */

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

/* Answers every candidate that waits for the job, and frees the job. */
static int finish_job(struct gt_compile_pool *pool, struct gt_job *job,
                      struct gt_compiled *compiled, struct gt_err *err)
{
    int rc = GT_OK;
    size_t i;

    memcpy(compiled->key, job->key, sizeof(compiled->key));
    if (compiled->status != GT_STATUS_OK && compiled->status != GT_STATUS_SPILLS &&
        compiled->status != GT_STATUS_SERIALIZED && compiled->status != GT_STATUS_KILLED)
        remember_failure(pool, compiled);
    for (i = 0; !rc && i < job->ids; i++) {
        compiled->id = job->id[i];
        compiled->cached = i > 0;
        rc = push_answer(pool, compiled, err);
    }
    gt_job_free(job);
    return rc;
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

/* --- workers ---------------------------------------------------------------------------------- */

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
    job->next = pool->queue;
    if (!pool->queue)
        pool->queue_end = &job->next;
    pool->queue = job;
    pool->queued++;
    return true;
}

/* Handles what a worker reports. */
static int take_report(struct gt_compile_pool *pool, struct worker *worker,
                       struct gt_slot_report *report, struct gt_err *err)
{
    struct gt_job *job = worker->job;
    char sentence[512];

    if (report->event >= GT_SLOT_LOST) {
        pool->stats.respawns++;
        snprintf(sentence, sizeof(sentence), "a compile worker %s", report->how);
        notice(pool, sentence);
    }
    if (*report->spilled && !pool->spills) {
        pool->spills = true;
        snprintf(sentence, sizeof(sentence),
                 "the cache does not take compiled kernels (%s); they are kept for this run only; "
                 "GEMMTUNE_CACHE may name another folder",
                 report->spilled);
        notice(pool, sentence);
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
        pool->stats.compiled++;
        worker->job = NULL;
        if (try_again(pool, job, report))
            return GT_OK;
        judge_code(&report->compiled);
        return finish_job(pool, job, &report->compiled, err);
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
        notice(pool, sentence);
    }
    return GT_OK;
}

/* Gives a worker the oldest job.  A worker is started when it is first needed. */
static int feed(struct gt_compile_pool *pool, struct worker *worker, struct gt_err *err)
{
    struct gt_job *job = pool->queue;

    if (!job || worker->slot.state == GT_SLOT_BUSY || worker->slot.state == GT_SLOT_STARTING)
        return GT_OK;
    if (worker->slot.state == GT_SLOT_EMPTY)
        return start(pool, worker, err);
    pool->queue = job->next;
    pool->queued--;
    if (!pool->queue)
        pool->queue_end = &pool->queue;
    job->next = NULL;
    worker->job = job;
    gt_slot_send(&worker->slot, &pool->options, job->key, &job->request);
    return GT_OK;
}

static int pump(struct gt_compile_pool *pool, struct gt_err *err)
{
    struct gt_slot_report report;
    int i, rc = GT_OK;

    for (i = 0; !rc && i < pool->workers; i++) {
        struct worker *worker = &pool->worker[i];

        do {
            rc = gt_slot_pump(&worker->slot, &pool->options, &report, err);
            if (!rc)
                rc = take_report(pool, worker, &report, err);
        } while (!rc && report.event != GT_SLOT_NOTHING);
        if (!rc)
            rc = feed(pool, worker, err);
    }
    return rc;
}

/* --- submitting ------------------------------------------------------------------------------- */

/* The job of this key that is queued or being compiled, or NULL. */
static struct gt_job *find_job(const struct gt_compile_pool *pool, const char *key)
{
    struct gt_job *job;
    int i;

    for (i = 0; i < pool->workers; i++) {
        job = pool->worker[i].job;
        if (job && !strcmp(job->key, key))
            return job;
    }
    for (job = pool->queue; job; job = job->next) {
        if (!strcmp(job->key, key))
            return job;
    }
    return NULL;
}

/* Answers from the cache or from a remembered failure; false: it has to be compiled. */
static bool known(struct gt_compile_pool *pool, const char *key, struct gt_compiled *compiled)
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
    compiled->registers = binary.registers;
    compiled->spill_bytes = binary.spill_bytes;
    compiled->static_shared = binary.static_shared;
    compiled->ms = binary.ms;
    compiled->status = GT_STATUS_OK;
    gt_log_serialized(binary.log, compiled->serialized);
    gt_log_static_shared(binary.log, compiled->shared_of);
    gt_binary_release(&binary);
    judge_code(compiled);
    pool->stats.cache_hits++;
    return true;
}

int gt_compile_pool_submit(struct gt_compile_pool *pool, uint64_t id,
                           const struct gt_candidate *candidate, struct gt_err *err)
{
    struct gt_compiled compiled = {.id = id};
    struct gt_err why = {0};
    struct gt_job *job = NULL, *same;
    int rc = gt_job_new(&job, candidate, pool->nvrtc, &why);

    if (rc == GT_ENOMEM)
        return gt_err_nomem(err);
    pool->pending++;
    if (rc) {
        compiled.status = GT_STATUS_LAUNCH_INVALID;
        snprintf(compiled.detail, sizeof(compiled.detail), "%.500s", why.msg);
        return push_answer(pool, &compiled, err);
    }
    same = find_job(pool, job->key);
    if (same || known(pool, job->key, &compiled)) {
        rc = same ? gt_job_add(same, id, err) : push_answer(pool, &compiled, err);
        gt_job_free(job);
        return rc;
    }
    rc = gt_job_add(job, id, err);
    if (rc) {
        gt_job_free(job);
        return rc;
    }
    *pool->queue_end = job;
    pool->queue_end = &job->next;
    pool->queued++;
    return pump(pool, err);
}

/* --- collecting ------------------------------------------------------------------------------- */

static bool pop_answer(struct gt_compile_pool *pool, struct gt_compiled *compiled)
{
    struct answer *answer = pool->answer;

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

size_t gt_compile_pool_poll(const struct gt_compile_pool *pool, struct pollfd *fd, size_t max,
                            int *timeout_ms)
{
    const int64_t now = gt_clock_ms();
    int64_t least = INT64_MAX;
    size_t count = 0;
    int i;

    for (i = 0; i < pool->workers; i++) {
        const struct gt_slot *slot = &pool->worker[i].slot;

        if (slot->state == GT_SLOT_EMPTY) {
            if (pool->queue && slot->deadline < least)
                least = slot->deadline;
            continue;
        }
        if (count == max)
            continue;
        fd[count++] = (struct pollfd){.fd = slot->process.fd, .events = POLLIN};
        if (slot->state != GT_SLOT_IDLE && slot->deadline < least)
            least = slot->deadline;
    }
    if (pool->answer)
        *timeout_ms = 0;
    else if (least == INT64_MAX)
        *timeout_ms = -1;
    else
        *timeout_ms = least < now ? 0 : (int)(least - now) + 1;
    return count;
}

int gt_compile_pool_collect(struct gt_compile_pool *pool, int timeout_ms,
                            struct gt_compiled *compiled, struct gt_err *err)
{
    const int64_t deadline = gt_clock_ms() + timeout_ms;

    for (;;) {
        struct pollfd fd[MAX_JOBS];
        int64_t left;
        size_t count;
        int wait, rc = pump(pool, err);

        if (rc)
            return rc;
        if (pop_answer(pool, compiled))
            return 1;
        left = deadline - gt_clock_ms();
        if (left <= 0)
            return 0;
        count = gt_compile_pool_poll(pool, fd, MAX_JOBS, &wait);
        if (wait < 0 || wait > left)
            wait = (int)left;
        if (poll(fd, count, wait) < 0)
            return 0;
    }
}

size_t gt_compile_pool_pending(const struct gt_compile_pool *pool)
{
    return pool->pending;
}

size_t gt_compile_pool_queued(const struct gt_compile_pool *pool)
{
    return pool->queued;
}

void gt_compile_pool_drop(struct gt_compile_pool *pool)
{
    struct gt_compiled ignored;
    struct gt_job *job;

    while ((job = pool->queue)) {
        pool->queue = job->next;
        pool->pending -= job->ids;
        gt_job_free(job);
    }
    pool->queue_end = &pool->queue;
    pool->queued = 0;
    while (pop_answer(pool, &ignored))
        continue;
}

/* --- opening and closing ---------------------------------------------------------------------- */

/* Starts the first worker, which reports whether there is a compiler, and its version. */
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
        } else if (poll(&fd, 1, 1000) >= 0)
            rc = pump(pool, err);
    }
    return rc;
}

int gt_compile_pool_open(struct gt_compile_pool **out,
                         const struct gt_compile_pool_options *options, struct gt_err *err)
{
    struct gt_compile_pool *pool = calloc(1, sizeof(*pool));
    int i, rc;

    if (!pool)
        return gt_err_nomem(err);
    pool->options = *options;
    pool->workers = options->jobs > 0 ? options->jobs : gt_processors();
    if (pool->workers > MAX_JOBS)
        pool->workers = MAX_JOBS;
    if (pool->options.memory <= 0)
        pool->options.memory = (int64_t)2 << 30;
    if (!(pool->options.cpu_s > 0))
        pool->options.cpu_s = 60;
    pool->queue_end = &pool->queue;
    pool->answer_end = &pool->answer;
    for (i = 0; i < pool->workers; i++)
        gt_slot_init(&pool->worker[i].slot);
    pool->cache_dir = strdup(options->cache_dir);
    pool->options.cache_dir = pool->cache_dir;
    rc = pool->cache_dir ? wait_first(pool, err) : gt_err_nomem(err);
    if (rc)
        gt_compile_pool_close(pool);
    else
        *out = pool;
    return rc;
}

void gt_compile_pool_close(struct gt_compile_pool *pool)
{
    int i;

    if (!pool)
        return;
    gt_compile_pool_drop(pool);
    for (i = 0; i < pool->workers; i++) {
        gt_slot_release(&pool->worker[i].slot);
        gt_job_free(pool->worker[i].job);
    }
    tdestroy(pool->failures, free);
    gt_cache_spill_remove(getpid());
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

void gt_compile_pool_stats(const struct gt_compile_pool *pool, struct gt_compile_stats *stats)
{
    *stats = pool->stats;
}
