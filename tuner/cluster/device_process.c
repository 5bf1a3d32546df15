/* device_process.c - the process that has one GPU of `tune --devices`: it is forked by the
 * supervisor, opens a session of its own, and runs one sweep for each problem it is given.
 *
 * Its first message is READY with the device's facts, or the sentence that says why there is none.
 * Every line of its progress is a message, by which the supervisor knows that it is alive. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "cluster/devices_parts.h"
#include "console/cmd_write.h"
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

/* The stream that the progress is written to. */
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
    /* Twice its part, for when the others compile nothing; a deeper queue would only make the
     * search choose earlier, with fewer trials known. */
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

/* Writes the table or the document of a result, and what follows its finals, on cli.out. */
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
    else if (rc) /* the problem has its result all the same */
        gt_progress_note(self->session.progress, why.msg);
    rc = rc == GT_EINTERRUPTED ? rc : GT_OK;
    if (document)
        printed = gt_cmd_print_json(&self->cli, document, rc ? NULL : err);
    return rc ? rc : printed;
}

/* The same as *text, which is malloc'ed. */
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

static void put_end(struct self *self, int rc, const struct gt_err *why, const char *text,
                    const struct gt_sweep_result *result)
{
    struct gt_strbuf *frame = &self->frame;

    gt_wire_begin(frame, GT_MSG_DONE);
    gt_wire_put_int(frame, rc);
    gt_wire_put_text(frame, rc ? why->msg : "");
    gt_wire_put_text(frame, text);
    gt_wire_put_int(frame, result->rows > 0);
    gt_wire_put_int(frame, result->nothing.code != 0);
    gt_wire_put_int(frame, result->rows > 0 && result->row[0].trial.stage == 3);
    gt_wire_put_int(frame, result->fresh);
    gt_wire_put_int(frame, result->timed);
    gt_wire_put_real(frame, result->rows ? result->row[0].trial.us : 0);
    gt_wire_put_real(frame, result->have_baseline ? result->baseline.us : 0);
    gt_wire_put_real(frame, result->busy_s);
    gt_wire_put_real(frame, result->wall_s);
}

/* One turn: a sweep of one problem.  < 0: the supervisor is gone, or this process cannot go on. */
static int turn(struct self *self, struct gt_wire_in *in)
{
    const struct gt_devices *devices = self->devices;
    const size_t i = (size_t)gt_wire_get_int(in);
    struct gt_sweep_result result = {0};
    struct gt_budget budget = {0};
    struct gt_err err = {0};
    char *text = NULL;
    size_t then;
    int rc, sent;

    budget.seconds = gt_wire_get_real(in);
    budget.trials = gt_wire_get_int(in);
    budget.patience = gt_wire_get_int(in);
    self->session.seed = (uint64_t)gt_wire_get_int(in);
    self->session.search_only = gt_wire_get_int(in) != 0;
    then = (size_t)gt_wire_get_int(in);
    self->session.then = then < devices->options.problems ? &devices->options.problem[then] : NULL;
    if (gt_wire_finish(in, NULL) || i >= devices->options.problems)
        return GT_ESYNTAX;
    rc = gt_session_sweep(&self->session, &devices->options.problem[i], 1, self->kernel,
                          self->kernels, &budget, &result, &err);
    if (rc && rc != GT_ECONFIG && result.nothing.code == rc)
        rc = GT_OK; /* served by no kernel: a result */
    if (!rc || rc == GT_EINTERRUPTED) {
        const bool follows = !rc && result.rows && !self->session.search_only;
        const int printed = write_report(self, &result, follows, &text, rc ? NULL : &err);

        rc = rc ? rc : printed;
    }
    put_end(self, rc, &err, text, &result);
    sent = gt_wire_send(self->wire.fd, &self->frame, SEND_MS, NULL);
    free(text);
    gt_sweep_result_release(&result);
    return rc ? rc : sent;
}

static void serve(struct self *self)
{
    struct gt_wire_in in;
    int rc;

    while ((rc = gt_wire_receive(&self->wire, &in, -1, NULL)) >= 0)
        if (rc > 0 && (in.type != GT_MSG_TURN || turn(self, &in)))
            return;
}

/* What the process does from the fork to its end. */
static void device_process_main(const struct gt_devices *devices, int ordinal, int fd)
{
    struct self self = {.devices = devices, .cli = *devices->cli};
    struct gt_err err = {0};
    int rc;

    gt_strbuf_init(&self.frame);
    gt_strbuf_init(&self.line);
    self.cli.quiet = true; /* what it has to say are lines of progress */
    self.cli.colored = false;
    self.cli.database = NULL;
    gt_wire_init(&self.wire, fd);
    rc = open_self(&self, ordinal, &err);
    if (!send_ready(&self, rc, &err) && !rc)
        serve(&self);
    gt_session_close(&self.session);
}

/* Between fork and the process's own work: a session of its own, so that a terminal's Ctrl-C goes
 * to the supervisor alone, and no descriptor of another process, whose end would go unseen. */
static void become_process(struct gt_devices *devices, size_t i, int fd, pid_t parent)
{
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(GT_WORKER_DONE);
    for (size_t other = 0; other < devices->gpus; other++)
        if (devices->gpu[other].state != GT_PROCESS_NONE)
            close(devices->gpu[other].process.fd);
    device_process_main(devices, devices->gpu[i].ordinal, fd);
    _exit(GT_WORKER_DONE);
}

/* device_process.c: forks the process of gpu[i]; device_process_main is what it runs. */
static int gt_device_process_start(struct gt_devices *devices, size_t i, struct gt_err *err)
{
    struct gt_device_process *gpu = &devices->gpu[i];
    const pid_t parent = getpid();
    int pair[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        return gt_err_set(err, GT_EIO, "cannot make the pipe of a GPU's process: %s",
                          strerror(errno));
    fflush(NULL); /* the child must not print again what is buffered here */
    pid = fork();
    if (pid == 0) {
        close(pair[0]);
        become_process(devices, i, pair[1], parent);
    }
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        return gt_err_set(err, GT_EIO, "cannot start a GPU's process: %s", strerror(errno));
    }
    gpu->process = (struct gt_process){.pid = pid, .fd = pair[0]};
    gt_wire_init(&gpu->wire, pair[0]);
    gpu->state = GT_PROCESS_STARTING;
    gpu->heard = gt_clock_ms();
    return GT_OK;
}

/* What the process of one GPU says to the supervisor of `tune --devices`, and
 * what its loss costs.
 *
 * A process that is lost costs the GPU its turn: the problem goes to the next GPU that is free.  So
 * does a problem of which no candidate was valid, or no final could be held: a broken GPU would
 * otherwise be the fastest to take all of them.  A GPU that fails FAILURES times in a row is given
 * up. */

#define FAILURES 3   /* of a GPU's processes in a row */
#define START_S  180 /* for a process to open driver, compiler and database */

void gt_device_process_begin(struct gt_devices *devices, struct gt_device_process *gpu)
{
    struct gt_err err = {0};

    if (gt_device_process_start(devices, (size_t)(gpu - devices->gpu), &err)) {
        gpu->out = true;
        gpu->why = err;
    }
}

void gt_device_process_end(struct gt_device_process *gpu, int grace_ms, char *how, size_t size)
{
    int status;

    gt_wire_release(&gpu->wire);
    gpu->state = GT_PROCESS_NONE;
    if (gt_process_end(&gpu->process, grace_ms, &status, NULL))
        snprintf(how, size, "cannot be killed");
    else
        gt_process_describe(status, how, size);
}

void gt_device_process_lose(struct gt_devices *devices, struct gt_device_process *gpu,
                            const char *why)
{
    struct gt_task *task = gpu->task;
    char how[128] = "", sentence[512];

    gt_device_process_end(gpu, 0, how, sizeof(how));
    snprintf(sentence, sizeof(sentence), "%.300s", why ? why : how);
    gpu->task = NULL;
    if (task)
        gt_devices_end(devices, task, true);
    if (++gpu->failures >= FAILURES || gpu->class_of < 0) {
        gpu->out = true;
        gt_err_set(&gpu->why, GT_ELOST, "%s%s", why ? "" : "its process ", sentence);
        gt_devices_note(devices, gpu->ordinal, gpu->why.msg);
        return;
    }
    gt_err_set(&gpu->why, GT_ELOST, "%s%s; %s", why ? "" : "its process ", sentence,
               task ? "the problem is handed out again" : "it is started again");
    gt_devices_note(devices, gpu->ordinal, gpu->why.msg);
    gpu->why = (struct gt_err){0};
    if (!gt_devices_interrupted(devices))
        gt_device_process_begin(devices, gpu);
}

/* GPUs that are alike in name, SMs, memory, driver and power limit. */
static void classify(struct gt_devices *devices, struct gt_device_process *gpu)
{
    const struct gt_device *own = &gpu->device;

    for (size_t i = 0; i < devices->gpus && gpu->class_of < 0; i++) {
        const struct gt_device *other = &devices->gpu[i].device;

        if (devices->gpu[i].class_of >= 0 && strcmp(own->name, other->name) == 0 &&
            own->cc == other->cc && own->sms == other->sms && own->driver == other->driver &&
            own->memory_bytes == other->memory_bytes && own->power_w == other->power_w)
            gpu->class_of = devices->gpu[i].class_of;
    }
    if (gpu->class_of < 0)
        gpu->class_of = devices->classes++;
}

static void take_ready(struct gt_devices *devices, struct gt_device_process *gpu,
                       struct gt_wire_in *in)
{
    gt_wire_get_struct(in, &gpu->device, sizeof(gpu->device));
    if (gt_wire_finish(in, NULL)) {
        gt_device_process_lose(devices, gpu, "its process sent a malformed message");
        return;
    }
    gpu->state = GT_PROCESS_IDLE;
    if (gpu->class_of < 0)
        classify(devices, gpu);
}

/* The process could not open its GPU. */
static void take_failed(struct gt_devices *devices, struct gt_device_process *gpu,
                        struct gt_wire_in *in)
{
    const int code = (int)gt_wire_get_int(in);
    char how[128];

    gt_err_set(&gpu->why, code, "%s", gt_wire_get_text(in));
    if (gpu->class_of >= 0 && code != GT_EDB) {
        struct gt_err why = gpu->why;

        gt_device_process_lose(devices, gpu, why.msg);
        return;
    }
    gpu->out = true;
    gt_device_process_end(gpu, GT_DEVICES_GRACE_MS, how, sizeof(how));
}

static void take_end(struct gt_devices *devices, struct gt_device_process *gpu,
                     struct gt_wire_in *in)
{
    struct gt_task_end end = {.code = (int)gt_wire_get_int(in)};
    struct gt_task *task = gpu->task;

    end.sentence = gt_wire_get_text(in);
    end.text = gt_wire_get_text(in);
    end.valid = gt_wire_get_int(in) != 0;
    end.nothing = gt_wire_get_int(in) != 0;
    end.decided = gt_wire_get_int(in) != 0;
    end.fresh = gt_wire_get_int(in);
    end.timed = gt_wire_get_int(in);
    end.us = gt_wire_get_real(in);
    end.baseline_us = gt_wire_get_real(in);
    end.busy_s = gt_wire_get_real(in);
    end.wall_s = gt_wire_get_real(in);
    if (gt_wire_finish(in, NULL) || !task) {
        gt_device_process_lose(devices, gpu, "its process sent a malformed message");
        return;
    }
    gpu->busy_s += end.busy_s;
    devices->timed += end.timed;
    if (gt_devices_doubted(devices, gpu, &end)) {
        task->not_on = gpu;
        gt_device_process_lose(devices, gpu,
                               end.valid ? "no final could be held on it"
                                         : "no candidate was valid on it");
    } else if (!end.code || end.code == GT_EINTERRUPTED) {
        gt_devices_print(devices, gpu, &end);
        gpu->done += task->kind != GT_TASK_SEARCH && !end.code;
        devices->valid += task->kind != GT_TASK_SEARCH && end.valid;
        gpu->failures = 0;
        gpu->task = NULL;
        gpu->state = GT_PROCESS_IDLE;
        gt_devices_end(devices, task, false);
    } else if (end.code == GT_EDB || end.code == GT_ECONFIG || end.code == GT_ESTALE) {
        devices->code = gt_err_set(&devices->why, end.code, "%s", end.sentence);
    } else {
        char sentence[512];

        snprintf(sentence, sizeof(sentence), "%.500s", end.sentence);
        gt_device_process_lose(devices, gpu, sentence);
    }
}

/* A line of the process's progress, without its indent and the name that is put before it anyway.
 */
static void take_line(const struct gt_devices *devices, const struct gt_device_process *gpu,
                      const char *line)
{
    char name[24];
    int length = snprintf(name, sizeof(name), "GPU %d: ", gpu->ordinal);

    line += strspn(line, " ");
    gt_devices_note(devices, gpu->ordinal,
                    strncmp(line, name, (size_t)length) == 0 ? line + length : line);
}

static void take_message(struct gt_devices *devices, struct gt_device_process *gpu,
                         struct gt_wire_in *in)
{
    gpu->heard = gt_clock_ms();
    switch (in->type) {
    case GT_MSG_READY:
        take_ready(devices, gpu, in);
        break;
    case GT_MSG_FAILED:
        take_failed(devices, gpu, in);
        break;
    case GT_MSG_DONE:
        take_end(devices, gpu, in);
        break;
    case GT_MSG_LINE:
        take_line(devices, gpu, gt_wire_get_text(in));
        break;
    default:
        gt_device_process_lose(devices, gpu, "its process sent a malformed message");
    }
}

void gt_device_process_pump(struct gt_devices *devices, struct gt_device_process *gpu)
{
    const int64_t silence = gpu->state == GT_PROCESS_STARTING ? START_S
                            : devices->options.silence_s      ? devices->options.silence_s
                                                              : GT_DEVICES_SILENCE_S;
    struct gt_wire_in in;
    char sentence[96];
    int rc = 0;

    while (gpu->state != GT_PROCESS_NONE && !devices->code &&
           (rc = gt_wire_receive(&gpu->wire, &in, 0, NULL)) > 0)
        take_message(devices, gpu, &in);
    if (gpu->state == GT_PROCESS_NONE || devices->code)
        return;
    if (rc < 0) {
        gt_device_process_lose(devices, gpu, NULL);
    } else if (gpu->state != GT_PROCESS_IDLE && gt_clock_ms() - gpu->heard > 1000 * silence) {
        snprintf(sentence, sizeof(sentence), "its process said nothing for %lld s and was killed",
                 (long long)silence);
        gt_device_process_lose(devices, gpu, sentence);
    }
}
