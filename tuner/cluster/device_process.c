/* device_process.c - the process of one GPU of `tune --devices`: the supervisor forks it, and it
 * opens a session of its own and runs a sweep for each problem that it gets.
 *
 * Its first message is READY with the device's facts, or the sentence that says why there is no
 * device.  Every line of its progress is a message, which shows the supervisor that the process is
 * alive. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "cluster/devices_parts.h"
#include "console/cmd_record.h"
#include "session/cmd_report.h"
#include "sweep/progress.h"

#define SEND_MS 60000 /* for the supervisor to read */

struct self {
    const struct gt_devices *devices;
    struct gt_cli cli;
    struct gt_session session;
    const struct gt_kernel **kernel;
    size_t kernels;
    struct gt_wire wire;
    struct gt_strbuf frame, line;
};

/* The stream for progress. */
static ssize_t send_line(void *cookie, const char *text, size_t size)
{
    struct self *self = cookie;

    gt_wire_begin(&self->line, GT_MSG_LINE);
    gt_wire_put_bytes(&self->line, text, size);
    return gt_wire_send(self->wire.fd, &self->line, SEND_MS, NULL) ? 0 : (ssize_t)size;
}

static int open_self(struct self *self, int ordinal, struct gt_err *err)
{
    const struct gt_devices *devices = self->devices;
    struct gt_session_options options = devices->options.session;
    char device[32];
    int rc;

    snprintf(device, sizeof(device), "cuda:%d", ordinal);
    options.device = device;
    options.shared = true;
    options.tokens = &devices->tokens;
    /* Twice the process's part of the compilers, for times when the other processes compile
     * nothing.  With a deeper queue the search would choose candidates earlier, knowing fewer
     * trials. */
    options.jobs =
        (2 * devices->tokens.count + (int64_t)devices->gpus - 1) / (int64_t)devices->gpus;
    if (options.jobs > devices->tokens.count)
        options.jobs = devices->tokens.count;
    options.lines = fopencookie(self, "w", (cookie_io_functions_t){.write = send_line});
    if (!options.lines)
        return gt_err_nomem(err);
    setvbuf(options.lines, NULL, _IOLBF, 4096);
    rc = gt_session_open(&self->session, &self->cli, &options, err);
    GT_STEP(rc, gt_session_kernels(&self->kernel, &self->kernels, &self->session.kernels,
                                   options.kernels, err));
    self->session.fallbacks = !options.kernels;
    return rc;
}

static int send_ready(struct self *self, int rc, const struct gt_err *why)
{
    gt_wire_begin(&self->frame, rc ? GT_MSG_FAILED : GT_MSG_READY);
    if (rc) {
        gt_wire_put_int(&self->frame, rc);
        gt_wire_put_text(&self->frame, why->msg);
    } else {
        gt_wire_put_bytes(&self->frame, &self->session.evaluator->device, sizeof(struct gt_device));
    }
    return gt_wire_send(self->wire.fd, &self->frame, SEND_MS, NULL);
}

/* Writes the table or the document of a result on cli.out, and does the work that follows the
 * finals. */
static int write_result(struct self *self, const struct gt_sweep_result *result, bool follows,
                        struct gt_err *err)
{
    const struct gt_session_after *after = &self->devices->options.after;
    struct cJSON *document = NULL;
    struct gt_err why = {0};
    int rc = GT_OK, printed = GT_OK;

    if (self->cli.json)
        document = gt_report_document(&self->session, result, 1);
    else
        gt_report_result(&self->session, result, self->devices->options.rows);
    if (follows && after->run)
        rc = after->run(after, &self->session, result->problem, document ? NULL : self->cli.out,
                        NULL, document, &why);
    if (rc == GT_EINTERRUPTED)
        gt_err_pass(err, &why, rc);
    else if (rc) /* the result stands in spite of the error */
        gt_progress_note(self->session.progress, why.msg);
    rc = rc == GT_EINTERRUPTED ? rc : GT_OK;
    if (document)
        printed = gt_cmd_print_json(&self->cli, document, rc ? NULL : err);
    return rc ? rc : printed;
}

/* Writes the result into *text, which is malloc'ed. */
static int write_report(struct self *self, const struct gt_sweep_result *result, bool follows,
                        char **text, struct gt_err *err)
{
    size_t size = 0;
    int rc;

    self->cli.out = open_memstream(text, &size);
    if (!self->cli.out)
        return gt_err_nomem(err);
    rc = write_result(self, result, follows, err);
    if (fclose(self->cli.out) && !rc)
        rc = gt_err_nomem(err);
    self->cli.out = NULL;
    return rc;
}

static int send_end(struct self *self, int rc, const struct gt_err *why, const char *text,
                    const struct gt_sweep_result *result)
{
    const struct gt_sweep_row *best = result->rows ? result->row : NULL;
    const struct gt_task_end end = {
        .code = rc,
        .valid = best != NULL,
        .nothing = result->nothing.code != 0,
        .decided = best && best->trial.stage == 3,
        .fresh = result->fresh,
        .us = best ? best->trial.us : 0,
        .baseline_us = result->have_baseline ? result->baseline.us : 0,
        .busy_s = result->busy_s,
        .wall_s = result->wall_s,
    };

    gt_wire_begin(&self->frame, GT_MSG_DONE);
    gt_wire_put_bytes(&self->frame, &end, sizeof(end));
    gt_wire_put_text(&self->frame, rc ? why->msg : "");
    gt_wire_put_text(&self->frame, text);
    return gt_wire_send(self->wire.fd, &self->frame, SEND_MS, NULL);
}

/* Serves one turn: a sweep of one problem.  < 0: the supervisor is gone, or this process cannot
 * go on. */
static int serve_turn(struct self *self, struct gt_wire_in *in)
{
    const struct gt_devices *devices = self->devices;
    const size_t problems = devices->options.problems;
    const struct gt_problem *problem = devices->options.problem;
    struct gt_sweep_result result = {0};
    struct gt_err err = {0};
    struct gt_device_turn turn;
    char *text = NULL;
    int rc, sent;

    gt_wire_get_struct(in, &turn, sizeof(turn));
    if (gt_wire_finish(in, NULL) || turn.problem >= problems)
        return GT_ESYNTAX;
    self->session.seed = turn.seed;
    self->session.search_only = turn.search_only;
    self->session.then = turn.then < problems ? &problem[turn.then] : NULL;
    rc = gt_session_sweep(&self->session, &problem[turn.problem], 1, self->kernel, self->kernels,
                          &turn.budget, &result, &err);
    if (rc && rc != GT_ECONFIG && result.nothing.code == rc)
        rc = GT_OK; /* no kernel serves the problem: a result */
    if (!rc || rc == GT_EINTERRUPTED) {
        const bool follows = !rc && result.rows && !turn.search_only;
        const int printed = write_report(self, &result, follows, &text, rc ? NULL : &err);

        rc = rc ? rc : printed;
    }
    sent = send_end(self, rc, &err, text, &result);
    free(text);
    gt_sweep_result_release(&result);
    return rc ? rc : sent;
}

/* The process from the fork to its end. */
static int run_process(void *context, int fd)
{
    const struct gt_device_process *gpu = context;
    struct self self = {.devices = gpu->devices, .cli = *gpu->devices->cli};
    struct gt_err err = {0};
    struct gt_wire_in in;
    int rc;

    /* The supervisor could not see the end of another process while this process has its
     * descriptor. */
    for (size_t i = 0; i < self.devices->gpus; i++)
        if (self.devices->gpu[i].state != GT_PROCESS_NONE)
            close(self.devices->gpu[i].process.fd);
    gt_strbuf_init(&self.frame);
    gt_strbuf_init(&self.line);
    self.cli.quiet = true; /* its only output is lines of progress */
    self.cli.colored = false;
    self.cli.database = NULL;
    gt_wire_init(&self.wire, fd);
    rc = open_self(&self, gpu->ordinal, &err);
    if (!send_ready(&self, rc, &err) && !rc)
        while (gt_wire_receive(&self.wire, &in, -1, NULL) > 0)
            if (in.type != GT_MSG_TURN || serve_turn(&self, &in))
                break;
    gt_session_close(&self.session);
    return GT_WORKER_DONE;
}

int gt_device_process_start(struct gt_device_process *gpu, struct gt_err *err)
{
    int rc;

    fflush(NULL); /* the child must not print again what is buffered here */
    rc = gt_process_fork(&gpu->process, run_process, gpu, "the pipe of a GPU's process",
                         "a GPU's process", err);
    if (rc)
        return rc;
    gpu->state = GT_PROCESS_STARTING;
    gpu->heard = gt_clock_ms();
    return GT_OK;
}
