/* compile_crew.c - gives jobs to the compile workers, and replaces workers that die or are late.
 * Deadlines are read from the monotonic clock.  A worker that misses one is killed, and its job
 * gets a status. */
#include "workers/compile_pool_internal.h"

#include "base/clock.h"
#include "base/err.h"

#include <stdio.h>

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

int gt_crew_pump(struct gt_compile_pool *pool, struct gt_err *err)
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

size_t gt_crew_poll(const struct gt_compile_pool *pool, struct pollfd *fd, int *timeout_ms)
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

int gt_crew_wait_first(struct gt_compile_pool *pool, struct gt_err *err)
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
