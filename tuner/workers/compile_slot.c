/* compile_slot.c - starts one compile worker, gives it jobs, watches and ends it.
 *
 * If a worker ends in the middle of a job, the reason becomes that job's status. */
#include "workers/compile_slot.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/err.h"
#include "workers/compile_reason.h"

#define RECYCLE_AFTER 500 /* compilations of one worker, because NVRTC does not free all memory */
#define START_MS      60000
#define SEND_MS       10000
#define GRACE_MS      2000 /* for a worker that closed its pipe to end by itself */

void gt_slot_init(struct gt_slot *slot)
{
    *slot = (struct gt_slot){.process.fd = -1};
    gt_strbuf_init(&slot->frame);
}

/* Ends the worker and returns its wait status.  A worker that does not die is abandoned. */
static int slot_end(struct gt_slot *slot, int grace_ms)
{
    int status;

    slot->state = GT_SLOT_EMPTY;
    slot->deadline = 0; /* another worker may start at once */
    gt_process_end(&slot->process, grace_ms, &status, NULL);
    return status;
}

void gt_slot_release(struct gt_slot *slot)
{
    slot_end(slot, 0);
    gt_strbuf_release(&slot->frame);
}

int gt_slot_start(struct gt_slot *slot, const struct gt_compile_pool_options *options,
                  struct gt_err *err)
{
    int rc = gt_process_start(&slot->process, GT_ROLE_COMPILE, err);

    if (rc)
        return rc;
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
    gt_wire_put_bytes(&slot->frame, request, sizeof(*request)); /* the texts follow */
    gt_wire_put_text(&slot->frame, key);
    gt_wire_put_text(&slot->frame, request->source);
    gt_wire_put_text(&slot->frame, request->name);
    gt_wire_put_text(&slot->frame, request->include_dirs);
    gt_wire_put_int(&slot->frame, keeps);
    slot->state = GT_SLOT_BUSY;
    slot->began = gt_clock_ms();
    slot->deadline = slot->began + (int64_t)(3000 * options->cpu_s);
    slot->unsent = gt_wire_send(slot->process.fd, &slot->frame, SEND_MS, NULL) != GT_OK;
    if (slot->unsent)
        slot->deadline = slot->began; /* the worker does not read: it counts as lost at the next
                                         pump */
}

/* Results of NVRTC that concern the source and its options (nvrtc.h). */
#define RESULT_OPTION      5
#define RESULT_COMPILATION 6

/* Whether the memory limit stopped NVRTC.  The texts are from its front end and from ptxas. */
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

    gt_wire_get_struct(in, compiled, sizeof(*compiled));
    if (gt_wire_finish(in, err))
        return GT_ESYNTAX;
    if (code == GT_EIO) /* no folder takes the cubin, which is not the candidate's fault */
        return gt_err_set(err, code, "%s", sentence);
    slot->state = GT_SLOT_IDLE;
    report->event = GT_SLOT_COMPILED;
    snprintf(report->spilled, sizeof(report->spilled), "%s", code == GT_OK ? sentence : "");
    judge(compiled, code, sentence, log, options);
    if (++slot->done >= RECYCLE_AFTER || compiled->status == GT_STATUS_COMPILE_CRASH)
        slot_end(slot, 0);
    return GT_OK;
}

/* Reports a dead worker, or kills and reports a late worker. */
static void slot_lost(struct gt_slot *slot, const struct gt_compile_pool_options *options,
                      bool late, struct gt_slot_report *report)
{
    const enum gt_slot_state state = slot->state;
    const int64_t deadline = slot->deadline;
    struct gt_compiled *compiled = &report->compiled;
    const int status = slot_end(slot, late ? 0 : GRACE_MS);
    const bool cpu = WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU;

    report->event = state == GT_SLOT_BUSY       ? GT_SLOT_LOST
                    : state == GT_SLOT_STARTING ? GT_SLOT_BAD_START
                                                : GT_SLOT_LOST_EMPTY;
    if (late) /* as well as for a job: a compiler that does not even open */
        compiled->status = GT_STATUS_COMPILE_TIMEOUT;
    if (state != GT_SLOT_BUSY)
        return;
    compiled->ms = (double)(gt_clock_ms() - slot->began);
    if (slot->unsent || (!late && gt_process_killed(status))) {
        compiled->status = GT_STATUS_KILLED;
        snprintf(compiled->detail, sizeof(compiled->detail),
                 "the compile worker %s; this says nothing about the candidate", slot->process.how);
    } else if (late || cpu) {
        compiled->status = GT_STATUS_COMPILE_TIMEOUT;
        snprintf(compiled->detail, sizeof(compiled->detail),
                 "compiling took more than the %g s of %s allowed",
                 cpu ? options->cpu_s : (double)(deadline - slot->began) / 1000,
                 cpu ? "CPU time" : "time");
    } else {
        compiled->status = GT_STATUS_COMPILE_CRASH;
        snprintf(
            compiled->detail, sizeof(compiled->detail),
            "with this source the compiler %s (it may use %lld MiB of memory and %g s of CPU time)",
            slot->process.how, (long long)(options->memory >> 20), options->cpu_s);
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
    rc = gt_wire_receive(&slot->process.wire, &in, 0, NULL);
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
    slot_lost(slot, options, false, report); /* the worker's message is malformed */
    return GT_OK;
}
