/* evaluator_cuda_entries.c - moves candidates along: compile workers ahead, one GPU worker.
 *
 * A candidate goes through compiling -> ready -> announced -> running (on the GPU) -> done.  While
 * a candidate is running, the attempt of the next candidate is made durable, so that the next
 * candidate is sent as soon as the worker has answered.  The death of a worker is charged to the
 * candidate that was running. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "evaluate/evaluator_cuda.h"
#include "problem/problem.h"

/* Deadlines.  A launch may take flops / SLOW_FLOPS + bytes / SLOW_BYTES seconds, which is far too
 * slow for any use.  Once a best time is known, a launch may take PATIENCE times the best time, if
 * that is less. */
#define SLOW_FLOPS 2e11
#define SLOW_BYTES 1e10
#define PATIENCE   50
#define RUN_S      5e-3 /* the host's part of a launch, at most */

#define MISSES 3 /* misses of one image before the run ends */

/* ---- lists ---- */

struct gt_entry *gt_entries_pop(struct gt_entries *list)
{
    struct gt_entry *entry = TAILQ_FIRST(list);

    if (entry)
        TAILQ_REMOVE(list, entry, link);
    return entry;
}

/* Takes the entry with this ticket out of the list; NULL: it is not there. */
static struct gt_entry *take(struct gt_entries *list, uint64_t ticket)
{
    struct gt_entry *entry = TAILQ_FIRST(list);

    while (entry && entry->ticket != ticket)
        entry = TAILQ_NEXT(entry, link);
    if (entry)
        TAILQ_REMOVE(list, entry, link);
    return entry;
}

/* ---- deadlines and trials ---- */

double gt_cuda_launch_s(const struct gt_cuda *cuda)
{
    const struct gt_problem *problem = &cuda->gpu.problem;
    const double patient = PATIENCE * cuda->best_us / 1e6;
    double slow = gt_problem_flops(problem) / SLOW_FLOPS;
    int operand;

    for (operand = GT_OPERAND_A; operand <= GT_OPERAND_C; operand++)
        slow += (double)gt_problem_bytes(problem, (enum gt_operand)operand) / SLOW_BYTES;
    return gt_chain_launches(cuda->gpu.options.bench.timing) *
           (RUN_S + (cuda->best_us > 0 && patient < slow ? patient : slow));
}

void gt_cuda_update_stats(struct gt_evaluator *evaluator)
{
    const struct gt_cuda *cuda = evaluator->state;
    struct gt_evaluator_stats *stats = &evaluator->stats;
    struct gt_compile_stats compile;

    gt_compile_pool_stats(cuda->pool, &compile);
    stats->busy_s = cuda->gpu.busy_s - cuda->busy_before;
    stats->wall_s = (double)(gt_clock_ms() - cuda->opened) / 1000;
    stats->lead_s = cuda->lead_s;
    stats->compile_s = compile.busy_s;
    stats->compiled = compile.compiled;
    stats->cache_hits = compile.cache_hits;
    stats->respawns = compile.respawns + cuda->gpu.respawns;
}

/* Adds the facts that only the compiler knows, and the facts that the worker could not find out. */
static void complete_trial(const struct gt_entry *entry, struct gt_trial *trial)
{
    const struct gt_compiled *compiled = &entry->compiled;
    const struct gt_geometry *geometry = &entry->prepared.geometry;

    if (!trial->registers)
        trial->registers = compiled->registers;
    if (!trial->spill_bytes)
        trial->spill_bytes = compiled->spill_bytes;
    if (!trial->static_shared)
        trial->static_shared = compiled->static_shared;
    trial->compile_ms = compiled->ms;
    if (entry->prepared.why.code)
        return;
    trial->workspace_bytes = (int64_t)geometry->workspace_bytes;
    trial->varies = !geometry->deterministic;
    for (size_t i = 0; i < geometry->launches; i++) {
        const int64_t shared = (int64_t)geometry->launch[i].shared_bytes + trial->static_shared;

        if (shared > trial->shared_bytes)
            trial->shared_bytes = shared;
    }
}

void gt_cuda_finish_with(struct gt_entry *entry, enum gt_status status, const char *detail)
{
    entry->trial = (struct gt_trial){.status = status};
    snprintf(entry->trial.detail, sizeof(entry->trial.detail), "%s", detail);
    complete_trial(entry, &entry->trial);
}

/* Turns a trial that no worker of this program can have written into a fault. */
static void check_trial(struct gt_trial *trial)
{
    trial->detail[sizeof(trial->detail) - 1] = '\0';
    if (trial->status > GT_STATUS_NONE && trial->status < GT_STATUS_COUNT && trial->samples >= 0 &&
        trial->samples <= GT_MAX_SAMPLES)
        return;
    *trial = (struct gt_trial){.status = GT_STATUS_FAULT};
    snprintf(trial->detail, sizeof(trial->detail), "the worker's answer has values out of range");
}

int gt_cuda_read_trial(struct gt_gpu_reply *reply, const struct gt_entry *entry,
                       struct gt_trial *trial)
{
    gt_wire_get_struct(&reply->in, trial, sizeof(*trial));
    if (reply->in.failed)
        return GT_ESYNTAX;
    check_trial(trial);
    complete_trial(entry, trial);
    return GT_OK;
}

/* ---- compiled candidates ---- */

int gt_cuda_compile(struct gt_cuda *cuda, struct gt_entry *entry, struct gt_err *err)
{
    entry->ticket = ++cuda->tickets;
    entry->submitted = gt_clock_ms();
    return gt_compile_pool_submit(cuda->pool, entry->ticket, &entry->prepared, err);
}

int gt_cuda_miss(struct gt_cuda *cuda, struct gt_entry *entry, const char *sentence,
                 struct gt_err *err)
{
    gt_compile_pool_keep(cuda->pool);
    if (++entry->recompiled <= MISSES)
        return GT_OK;
    return gt_err_set(err, GT_EIO,
                      "%s; compiled kernels leave the cache before they are run, and no temporary "
                      "folder keeps them",
                      sentence);
}

#define FOLLOW 0.1 /* how much of the estimate's error a new compile latency corrects */

/* Updates the estimated compile latency by the entry's wait for its cubin, if the cubin was
 * compiled. */
static void note_lead(struct gt_cuda *cuda, const struct gt_entry *entry,
                      const struct gt_compiled *compiled)
{
    const double waited = (double)(gt_clock_ms() - entry->submitted) / 1000;

    if (!compiled->cached)
        cuda->lead_s += (cuda->lead_s > 0 ? FOLLOW : 1) * (waited - cuda->lead_s);
}

int gt_cuda_pump_pool(struct gt_cuda *cuda, struct gt_err *err)
{
    struct gt_compiled compiled;
    int rc;

    while ((rc = gt_compile_pool_collect(cuda->pool, 0, &compiled, err)) == 1) {
        struct gt_entry *entry = take(&cuda->compiling, compiled.id);

        if (!entry)
            continue; /* the entry was dropped meanwhile */
        note_lead(cuda, entry, &compiled);
        entry->compiled = compiled;
        if (compiled.status == GT_STATUS_OK && entry->launched) {
            TAILQ_INSERT_HEAD(&cuda->ready, entry, link); /* the entry's attempt is open already */
        } else if (compiled.status == GT_STATUS_OK) {
            TAILQ_INSERT_TAIL(&cuda->ready, entry, link);
        } else {
            gt_cuda_finish_with(entry, compiled.status, compiled.detail);
            TAILQ_INSERT_TAIL(&cuda->done, entry, link);
        }
    }
    return rc;
}

/* ---- the GPU ---- */

/* Open attempts other than that of `next`: the running candidate, and candidates that wait for
 * their images once more. */
struct others {
    const struct gt_evaluator_events *events;
    const struct gt_entry *next;
    size_t count;
    bool doubt; /* one of these candidates was in doubt before */
};

static void count_other(struct others *others, const struct gt_entry *entry)
{
    const struct gt_evaluator_events *events = others->events;

    if (!entry || entry == others->next || !entry->launched)
        return;
    others->count++;
    others->doubt |= events->in_doubt && events->in_doubt(events->context, entry->id);
}

/* Whether the attempt of the first ready candidate may be announced now.  At most two attempts may
 * be open, so the caller must first have recorded the trial before the running candidate's.  The
 * attempt of a candidate that was in doubt before must be the only open one, so that no other
 * candidate is blamed again. */
static bool may_announce(struct gt_evaluator *evaluator)
{
    const struct gt_evaluator_events *events = &evaluator->options.events;
    const struct gt_cuda *cuda = evaluator->state;
    const struct gt_entries *const list[] = {&cuda->compiling, &cuda->ready, &cuda->done};
    struct others others = {events, TAILQ_FIRST(&cuda->ready), 0, false};

    if (cuda->announced || cuda->unrecorded || !others.next)
        return false;
    count_other(&others, cuda->running);
    for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++)
        for (const struct gt_entry *at = TAILQ_FIRST(list[i]); at; at = TAILQ_NEXT(at, link))
            count_other(&others, at);
    if (!others.count || !events->in_doubt)
        return others.count < 2;
    return others.count < 2 && !others.doubt && !events->in_doubt(events->context, others.next->id);
}

#define TRIAL_RUNS 24 /* launches of a proof and a race, for the deadline */

/* Sends the announced candidate to the GPU worker, if the worker is free. */
static int send_announced(struct gt_cuda *cuda, struct gt_err *err)
{
    struct gt_entry *entry = cuda->announced;
    int rc;

    if (cuda->running || !entry)
        return GT_OK;
    rc = gt_gpu_client_ready(&cuda->gpu, err);
    if (rc)
        return rc;
    cuda->announced = NULL;
    cuda->running = entry;
    gt_wire_begin(&cuda->gpu.frame, GT_MSG_TRIAL);
    gt_wire_put_real(&cuda->gpu.frame, cuda->best_us);
    gt_gpu_client_put(&cuda->gpu, &entry->prepared);
    gt_gpu_client_send(&cuda->gpu, cuda->floor_s + TRIAL_RUNS * gt_cuda_launch_s(cuda));
    return GT_OK;
}

int gt_cuda_feed_gpu(struct gt_evaluator *evaluator, struct gt_err *err)
{
    const struct gt_evaluator_events *events = &evaluator->options.events;
    struct gt_cuda *cuda = evaluator->state;
    struct gt_entry *entry;
    int rc = GT_OK;

    if (may_announce(evaluator)) {
        if (!cuda->running)
            rc = gt_gpu_client_ready(&cuda->gpu, err);
        if (rc)
            return rc;
        entry = gt_entries_pop(&cuda->ready);
        if (events->launching && !entry->launched)
            rc = events->launching(events->context, entry->id, err);
        if (rc) {
            free(entry);
            return rc;
        }
        entry->launched = true;
        cuda->announced = entry;
    }
    return cuda->unrecorded && !cuda->gpu.ready ? GT_OK : send_announced(cuda, err);
}

int gt_cuda_take_reply(struct gt_cuda *cuda, struct gt_entry *entry, struct gt_gpu_reply *reply,
                       bool *again, struct gt_err *err)
{
    *again = false;
    if (reply->lost) {
        gt_cuda_finish_with(entry, reply->lost, reply->how);
    } else if (reply->code == GT_ENOTFOUND) {
        *again = true;
        return gt_cuda_miss(cuda, entry, reply->sentence, err);
    } else if (reply->code == GT_ESTALE || reply->code == GT_ESYNTAX) {
        return gt_err_set(err, reply->code, "%s", reply->sentence);
    } else if (reply->code) { /* an error of the worker itself: another try may succeed */
        gt_cuda_finish_with(entry, GT_STATUS_DEVICE_LOST, reply->sentence);
    } else if (gt_cuda_read_trial(reply, entry, &entry->trial)) {
        gt_cuda_finish_with(entry, GT_STATUS_FAULT, "the worker's answer is malformed");
    }
    return GT_OK;
}

/* Takes the running candidate's reply, if there is a reply, and sends the announced candidate. */
static int pump_gpu(struct gt_cuda *cuda, int timeout_ms, struct gt_err *err)
{
    struct gt_entry *entry = cuda->running;
    struct gt_gpu_reply reply;
    bool again;
    int rc;

    if (!entry)
        return send_announced(cuda, err);
    rc = gt_gpu_client_poll(&cuda->gpu, timeout_ms, &reply, err);
    if (rc <= 0)
        return rc;
    cuda->running = NULL;
    if (reply.lost || reply.code)
        cuda->gpu.ready = false;
    rc = gt_cuda_take_reply(cuda, entry, &reply, &again, err);
    if (rc) {
        free(entry);
    } else if (again) {
        cuda->gpu.ready = true; /* the worker is sound: only a file was missing */
        TAILQ_INSERT_TAIL(&cuda->compiling, entry, link);
        rc = gt_cuda_compile(cuda, entry, err);
    } else {
        if (entry->trial.status == GT_STATUS_FAULT || entry->trial.status == GT_STATUS_DEVICE_LOST)
            cuda->gpu.ready = false;
        TAILQ_INSERT_HEAD(&cuda->done, entry, link);
        cuda->unrecorded = entry;
    }
    /* Replacing a dead worker takes a while, so the caller gets the trial first. */
    return rc || !cuda->gpu.ready ? rc : send_announced(cuda, err);
}

int gt_cuda_pump(struct gt_evaluator *evaluator, struct gt_err *err)
{
    struct gt_cuda *cuda = evaluator->state;
    int rc = pump_gpu(cuda, 0, err);

    GT_STEP(rc, gt_cuda_pump_pool(cuda, err));
    return rc ? rc : gt_cuda_feed_gpu(evaluator, err);
}

bool gt_cuda_wait_for_workers(const struct gt_cuda *cuda, int64_t timeout_ms)
{
    struct pollfd fd[2] = {{.fd = gt_compile_pool_fd(cuda->pool), .events = POLLIN}};
    int wait = (int)timeout_ms;
    nfds_t count = 1;

    if (cuda->running) {
        const int64_t left = cuda->gpu.deadline - gt_clock_ms();

        fd[count++] = (struct pollfd){.fd = cuda->gpu.process.fd, .events = POLLIN};
        if (left < wait)
            wait = left > 0 ? (int)left : 0;
    }
    return poll(fd, count, wait) >= 0;
}

int gt_cuda_settle(struct gt_cuda *cuda, struct gt_err *err)
{
    int rc = GT_OK;

    while (!rc && (cuda->running || cuda->announced))
        rc = pump_gpu(cuda, 1000, err);
    return rc;
}

int gt_cuda_wait_compiled(struct gt_cuda *cuda, struct gt_entry *entry, struct gt_err *err)
{
    const volatile sig_atomic_t *signals = cuda->gpu.options.signals;
    const uint64_t ticket = entry->ticket;

    for (;;) {
        int rc = gt_cuda_pump_pool(cuda, err);

        if (rc)
            return rc;
        if (take(&cuda->ready, ticket) || take(&cuda->done, ticket))
            return GT_OK;
        if (signals && *signals > 1)
            return gt_err_set(err, GT_EINTERRUPTED, "stopped at once");
        gt_cuda_wait_for_workers(cuda, 1000);
    }
}

void gt_cuda_take_back(struct gt_cuda *cuda, const struct gt_entry *entry)
{
    const uint64_t ticket = entry->ticket;

    if (!take(&cuda->compiling, ticket) && !take(&cuda->ready, ticket))
        take(&cuda->done, ticket);
}
