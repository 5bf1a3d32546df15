/* compile_job.c - makes the compile job of a candidate: source, options, key; and queues of jobs.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "cuda/cache.h"
#include "kernel/render.h"
#include "workers/compile_job.h"
#include "workers/compile_reason.h"

void gt_job_free(struct gt_job *job)
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

int gt_job_add(struct gt_job *job, uint64_t id, struct gt_err *err)
{
    if (GT_ARRAY_RESERVE(&job->id, job->ids + 1, &job->capacity, err))
        return GT_ENOMEM;
    job->id[job->ids++] = id;
    return GT_OK;
}

int gt_job_new(struct gt_job **out, const struct gt_prepared *prepared, struct gt_err *err)
{
    const struct gt_kernel *kernel = prepared->candidate.kernel;
    struct gt_job *job = calloc(1, sizeof(*job));
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
        gt_job_free(job);
        return rc;
    }
    job->request = gt_prepared_request(prepared, job->source.text);
    job->request.name = job->name;
    job->request.include_dirs = job->include_dirs;
    memcpy(job->key, prepared->key, sizeof(job->key));
    *out = job;
    return GT_OK;
}

/* --- queues ----------------------------------------------------------------------------------- */

void gt_job_queue_init(struct gt_job_queue *queue)
{
    *queue = (struct gt_job_queue){.end = &queue->first};
}

void gt_job_queue_push(struct gt_job_queue *queue, struct gt_job *job)
{
    job->next = NULL;
    *queue->end = job;
    queue->end = &job->next;
    queue->count++;
}

void gt_job_queue_push_first(struct gt_job_queue *queue, struct gt_job *job)
{
    job->next = queue->first;
    if (!queue->first)
        queue->end = &job->next;
    queue->first = job;
    queue->count++;
}

struct gt_job *gt_job_queue_take(struct gt_job_queue *queue, struct gt_job *job)
{
    struct gt_job **at = &queue->first;

    if (!job)
        job = queue->first;
    while (*at && *at != job)
        at = &(*at)->next;
    if (!*at)
        return NULL;
    *at = job->next;
    if (!*at)
        queue->end = at;
    job->next = NULL;
    queue->count--;
    return job;
}

struct gt_job *gt_job_queue_find(const struct gt_job_queue *queue, const char *key)
{
    struct gt_job *job = queue->first;

    while (job && strcmp(job->key, key) != 0)
        job = job->next;
    return job;
}

/* Starts one compile worker, gives it jobs, watches and ends it.
 *
 * If a worker ends in the middle of a job, the reason becomes that job's status. */

#define RECYCLE_AFTER 500 /* compilations of one worker, because NVRTC does not free all memory */
#define START_MS      60000
#define SEND_MS       10000
#define GRACE_MS      2000 /* for a worker that closed its pipe to end by itself */

void gt_slot_init(struct gt_slot *slot)
{
    *slot = (struct gt_slot){.process.fd = -1};
    gt_strbuf_init(&slot->frame);
    gt_wire_init(&slot->wire, -1);
}

/* Ends the worker and describes how it ended.  One that does not die is abandoned. */
static int slot_end(struct gt_slot *slot, int grace_ms, char *how, size_t size)
{
    struct gt_err err = {0};
    int status = 0;

    gt_wire_release(&slot->wire);
    slot->state = GT_SLOT_EMPTY;
    slot->deadline = 0; /* another may start at once */
    if (gt_process_end(&slot->process, grace_ms, &status, &err))
        snprintf(how, size, "%.*s", (int)size - 1, err.msg);
    else
        gt_process_describe(status, how, size);
    return status;
}

void gt_slot_release(struct gt_slot *slot)
{
    char how[128];

    slot_end(slot, 0, how, sizeof(how));
    gt_strbuf_release(&slot->frame);
}

int gt_slot_start(struct gt_slot *slot, const struct gt_compile_pool_options *options,
                  struct gt_err *err)
{
    int rc = gt_process_start(&slot->process, GT_ROLE_COMPILE, err);

    if (rc)
        return rc;
    gt_wire_init(&slot->wire, slot->process.fd);
    slot->state = GT_SLOT_STARTING;
    slot->done = 0;
    slot->deadline = gt_clock_ms() + START_MS;
    gt_wire_begin(&slot->frame, GT_MSG_HELLO);
    gt_wire_put_text(&slot->frame, options->cache_dir);
    gt_wire_put_int(&slot->frame, options->memory);
    gt_wire_put_real(&slot->frame, options->cpu_s);
    gt_wire_send(slot->process.fd, &slot->frame, SEND_MS, NULL); /* pump notices a failure */
    return GT_OK;
}

void gt_slot_send(struct gt_slot *slot, const struct gt_compile_pool_options *options, bool keeps,
                  const char *key, const struct gt_compile_request *request)
{
    gt_wire_begin(&slot->frame, GT_MSG_COMPILE);
    gt_wire_put_text(&slot->frame, key);
    gt_wire_put_text(&slot->frame, request->source);
    gt_wire_put_text(&slot->frame, request->name);
    gt_wire_put_text(&slot->frame, request->include_dirs);
    gt_wire_put_int(&slot->frame, request->arch);
    gt_wire_put_int(&slot->frame, request->device_cc);
    gt_wire_put_int(&slot->frame, request->features);
    gt_wire_put_int(&slot->frame, request->ptx);
    gt_wire_put_int(&slot->frame, request->max_registers);
    gt_wire_put_int(&slot->frame, keeps);
    slot->state = GT_SLOT_BUSY;
    slot->began = gt_clock_ms();
    slot->deadline = slot->began + (int64_t)(3000 * options->cpu_s);
    slot->unsent = gt_wire_send(slot->process.fd, &slot->frame, SEND_MS, NULL) != GT_OK;
    if (slot->unsent)
        slot->deadline = slot->began; /* it does not read: it counts as lost at the next pump */
}

/* Results of NVRTC that are about the source and the options that it was given (nvrtc.h). */
#define RESULT_OPTION      5
#define RESULT_COMPILATION 6

/* Whether the memory limit stopped NVRTC.  The texts are those of its front end and of ptxas. */
static bool out_of_memory(int code, int result, const char *log)
{
    return code == GT_ENOMEM || result == 1 || strstr(log, "catastrophic error: out of memory") ||
           strstr(log, "Memory allocation failure");
}

/* Decides the status from a worker's error code and log. */
static void judge(struct gt_compiled *compiled, int code, const char *sentence, const char *log,
                  const struct gt_compile_pool_options *options)
{
    char *detail = compiled->detail;
    const size_t size = sizeof(compiled->detail);
    const int result = compiled->result;

    if (code == GT_OK) {
        compiled->status = GT_STATUS_OK;
    } else if (out_of_memory(code, result, log)) {
        compiled->status = GT_STATUS_COMPILE_CRASH;
        snprintf(detail, size,
                 "this source takes more than the %lld MiB of memory that the compiler may use",
                 (long long)(options->memory >> 20));
    } else if (code == GT_ENVRTC && log[0] &&
               (result == RESULT_OPTION || result == RESULT_COMPILATION)) {
        compiled->status = GT_STATUS_COMPILE_ERROR;
        gt_compile_reason(detail, size, log);
    } else {
        compiled->status = GT_STATUS_COMPILE_CRASH;
        snprintf(detail, size, "the compiler failed with this source: %.440s", sentence);
    }
}

/* Reads a worker's answer to a job. */
static int read_compiled(struct gt_slot *slot, const struct gt_compile_pool_options *options,
                         struct gt_wire_in *in, struct gt_slot_report *report, struct gt_err *err)
{
    struct gt_compiled *compiled = &report->compiled;
    const int code = (int)gt_wire_get_int(in);
    const char *sentence = gt_wire_get_text(in);
    const char *log = gt_wire_get_text(in);

    compiled->registers = (int)gt_wire_get_int(in);
    compiled->spill_bytes = (int)gt_wire_get_int(in);
    compiled->static_shared = (int)gt_wire_get_int(in);
    snprintf(compiled->serialized, sizeof(compiled->serialized), "%s", gt_wire_get_text(in));
    snprintf(compiled->shared_of, sizeof(compiled->shared_of), "%s", gt_wire_get_text(in));
    compiled->ms = gt_wire_get_real(in);
    compiled->result = (int)gt_wire_get_int(in);
    if (gt_wire_finish(in, err))
        return GT_ESYNTAX;
    if (code == GT_EIO) /* no folder takes the cubin, which is not the candidate's fault */
        return gt_err_set(err, code, "%s", sentence);
    slot->state = GT_SLOT_IDLE;
    report->event = GT_SLOT_COMPILED;
    snprintf(report->spilled, sizeof(report->spilled), "%s", code == GT_OK ? sentence : "");
    judge(compiled, code, sentence, log, options);
    if (++slot->done >= RECYCLE_AFTER || compiled->status == GT_STATUS_COMPILE_CRASH)
        slot_end(slot, 0, report->how, sizeof(report->how));
    return GT_OK;
}

/* Reports a worker that is dead, or that is late and is killed here. */
static void slot_lost(struct gt_slot *slot, const struct gt_compile_pool_options *options,
                      bool late, struct gt_slot_report *report)
{
    const enum gt_slot_state state = slot->state;
    struct gt_compiled *compiled = &report->compiled;
    const int status = slot_end(slot, late ? 0 : GRACE_MS, report->how, sizeof(report->how));
    const bool cpu = WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU;

    report->event = state == GT_SLOT_BUSY       ? GT_SLOT_LOST
                    : state == GT_SLOT_STARTING ? GT_SLOT_BAD_START
                                                : GT_SLOT_LOST_EMPTY;
    if (state != GT_SLOT_BUSY)
        return;
    compiled->ms = (double)(gt_clock_ms() - slot->began);
    if (slot->unsent || (!late && gt_process_killed(status))) {
        compiled->status = GT_STATUS_KILLED;
        snprintf(compiled->detail, sizeof(compiled->detail),
                 "the compile worker %s; this says nothing about the candidate", report->how);
    } else if (late || cpu) {
        compiled->status = GT_STATUS_COMPILE_TIMEOUT;
        snprintf(compiled->detail, sizeof(compiled->detail),
                 "compiling took more than the %g s of %s allowed",
                 cpu ? options->cpu_s : 3 * options->cpu_s, cpu ? "CPU time" : "time");
    } else {
        compiled->status = GT_STATUS_COMPILE_CRASH;
        snprintf(
            compiled->detail, sizeof(compiled->detail),
            "with this source the compiler %s (it may use %lld MiB of memory and %g s of CPU time)",
            report->how, (long long)(options->memory >> 20), options->cpu_s);
    }
}

static int slot_message(struct gt_slot *slot, const struct gt_compile_pool_options *options,
                        struct gt_wire_in *in, struct gt_slot_report *report, struct gt_err *err)
{
    if (slot->state == GT_SLOT_STARTING && in->type == GT_MSG_READY) {
        report->nvrtc = (int)gt_wire_get_int(in);
        report->event = GT_SLOT_READY;
        slot->state = GT_SLOT_IDLE;
        return gt_wire_finish(in, err);
    }
    if (slot->state == GT_SLOT_STARTING && in->type == GT_MSG_FAILED) {
        const int code = (int)gt_wire_get_int(in);
        const char *sentence = gt_wire_get_text(in);

        return code < 0 && code != GT_ESYNTAX ? gt_err_set(err, code, "%s", sentence) : GT_ESYNTAX;
    }
    if (slot->state == GT_SLOT_BUSY && in->type == GT_MSG_COMPILED)
        return read_compiled(slot, options, in, report, err);
    return GT_ESYNTAX;
}

int gt_slot_pump(struct gt_slot *slot, const struct gt_compile_pool_options *options,
                 struct gt_slot_report *report, struct gt_err *err)
{
    struct gt_wire_in in;
    int rc;

    *report = (struct gt_slot_report){.event = GT_SLOT_NOTHING};
    if (slot->state == GT_SLOT_EMPTY)
        return GT_OK;
    rc = gt_wire_receive(&slot->wire, &in, 0, NULL);
    if (rc < 0) {
        slot_lost(slot, options, false, report);
        return GT_OK;
    }
    if (rc == 0) {
        if (slot->state != GT_SLOT_IDLE && gt_clock_ms() >= slot->deadline)
            slot_lost(slot, options, true, report);
        return GT_OK;
    }
    rc = slot_message(slot, options, &in, report, err);
    if (rc != GT_ESYNTAX)
        return rc;
    slot_lost(slot, options, false, report); /* its message is malformed */
    return GT_OK;
}
