/* devices.c - the supervisor of `tune --devices`: starts a process for each GPU, hands problems
 * out, takes results, and replaces processes that end or fall silent.
 *
 * A process that is lost costs the GPU its turn: the problem goes to the next GPU that is free.  So
 * does a problem of which no candidate was valid, or no final could be held: a broken GPU would
 * otherwise be the fastest to take all of them.  A GPU that fails FAILURES times in a row is given
 * up. */
#include "cluster/devices_parts.h"

#include "base/clock.h"
#include "base/err.h"
#include "cuda/gpu.h"
#include "workers/processors.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FAILURES 3   /* of a GPU's processes in a row */
#define START_S  180 /* for a process to open driver, compiler and database */
#define SEND_MS  10000
#define POLL_MS  1000
#define GRACE_MS 5000 /* for a process that was told to end */

static bool interrupted(const struct gt_devices *devices)
{
    return *devices->cli->signals > 0;
}

/* ---- one GPU ---- */

static void start(struct gt_devices *devices, struct gt_device_process *gpu)
{
    struct gt_err err = {0};

    if (gt_device_process_start(devices, (size_t)(gpu - devices->gpu), &err)) {
        gpu->out = true;
        gpu->why = err;
    }
}

static void end_process(struct gt_device_process *gpu, int grace_ms, char *how, size_t size)
{
    int status;

    gt_wire_release(&gpu->wire);
    gpu->state = GT_PROCESS_NONE;
    if (gt_process_end(&gpu->process, grace_ms, &status, NULL))
        snprintf(how, size, "cannot be killed");
    else
        gt_process_describe(status, how, size);
}

/* The GPU's process is lost, or its device is: the turn is over. */
static void lose(struct gt_devices *devices, struct gt_device_process *gpu, const char *why)
{
    struct gt_task *task = gpu->task;
    char how[128] = "", sentence[512];

    end_process(gpu, 0, how, sizeof(how));
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
    if (!interrupted(devices))
        start(devices, gpu);
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
        lose(devices, gpu, "its process sent a malformed message");
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

        lose(devices, gpu, why.msg);
        return;
    }
    gpu->out = true;
    end_process(gpu, GRACE_MS, how, sizeof(how));
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
        lose(devices, gpu, "its process sent a malformed message");
        return;
    }
    gpu->busy_s += end.busy_s;
    devices->timed += end.timed;
    if (gt_devices_doubted(devices, gpu, &end)) {
        task->not_on = gpu;
        lose(devices, gpu,
             end.valid ? "no final could be held on it" : "no candidate was valid on it");
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
        lose(devices, gpu, sentence);
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
        lose(devices, gpu, "its process sent a malformed message");
    }
}

/* Takes everything that a process has sent, and notices its end and its silence. */
static void pump(struct gt_devices *devices, struct gt_device_process *gpu)
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
        lose(devices, gpu, NULL);
    } else if (gpu->state != GT_PROCESS_IDLE && gt_clock_ms() - gpu->heard > 1000 * silence) {
        snprintf(sentence, sizeof(sentence), "its process said nothing for %lld s and was killed",
                 (long long)silence);
        lose(devices, gpu, sentence);
    }
}

/* ---- all of them ---- */

static bool any(const struct gt_devices *devices, enum gt_process_state state)
{
    for (size_t i = 0; i < devices->gpus; i++)
        if (devices->gpu[i].state == state)
            return true;
    return false;
}

static void wait_for_messages(struct gt_devices *devices)
{
    struct pollfd fd[GT_DEVICES_MAX];
    nfds_t count = 0;

    for (size_t i = 0; i < devices->gpus; i++)
        if (devices->gpu[i].state != GT_PROCESS_NONE)
            fd[count++] = (struct pollfd){.fd = devices->gpu[i].process.fd, .events = POLLIN};
    poll(fd, count, POLL_MS);
}

/* Passes signals on to the processes, each once. */
static void pass_signals(struct gt_devices *devices)
{
    for (; devices->told < (int)*devices->cli->signals; devices->told++)
        for (size_t i = 0; i < devices->gpus; i++)
            if (devices->gpu[i].state == GT_PROCESS_BUSY)
                kill(devices->gpu[i].process.pid, SIGINT);
}

static void hand_out(struct gt_devices *devices, struct gt_device_process *gpu)
{
    struct gt_strbuf frame = GT_STRBUF_INIT;
    struct gt_budget budget;
    struct gt_task *task = gt_devices_next(devices, gpu, &budget);

    if (!task)
        return;
    gt_wire_begin(&frame, GT_MSG_TURN);
    gt_wire_put_int(&frame, (int64_t)task->problem);
    gt_wire_put_real(&frame, budget.seconds);
    gt_wire_put_int(&frame, budget.trials);
    gt_wire_put_int(&frame, budget.patience);
    gt_wire_put_int(&frame, (int64_t)task->seed);
    gt_wire_put_int(&frame, task->kind == GT_TASK_SEARCH);
    gt_wire_put_int(&frame, (int64_t)gt_devices_foresee(devices, gpu));
    gpu->state = GT_PROCESS_BUSY;
    gpu->heard = gt_clock_ms();
    if (gt_wire_send(gpu->process.fd, &frame, SEND_MS, NULL))
        lose(devices, gpu, NULL);
    gt_strbuf_release(&frame);
}

/* Whether no GPU was opened, each for the same reason. */
static bool all_failed_alike(const struct gt_devices *devices)
{
    const struct gt_err *first = &devices->gpu[0].why;

    for (size_t i = 0; i < devices->gpus; i++)
        if (!devices->gpu[i].out || strcmp(devices->gpu[i].why.msg, first->msg) != 0)
            return false;
    return true;
}

/* Waits until every GPU is ready or out. */
static int open_all(struct gt_devices *devices, struct gt_err *err)
{
    size_t ready = 0;

    while (any(devices, GT_PROCESS_STARTING) && !interrupted(devices)) {
        wait_for_messages(devices);
        for (size_t i = 0; i < devices->gpus; i++)
            pump(devices, &devices->gpu[i]);
    }
    for (size_t i = 0; i < devices->gpus; i++) {
        ready += devices->gpu[i].state == GT_PROCESS_IDLE;
        if (devices->gpu[i].out && !all_failed_alike(devices))
            gt_devices_note(devices, devices->gpu[i].ordinal, devices->gpu[i].why.msg);
    }
    if (interrupted(devices))
        return gt_err_set(err, GT_EINTERRUPTED, "interrupted before a GPU was open");
    return ready ? GT_OK : gt_err_set(err, devices->gpu[0].why.code, "%s", devices->gpu[0].why.msg);
}

static void read_clock(struct gt_devices *devices)
{
    devices->now_s = (double)(gt_clock_ms() - devices->began) / 1000;
}

/* Hands out and takes in until nothing is left to do, or nobody to do it. */
static void run_tasks(struct gt_devices *devices)
{
    while (!devices->code) {
        read_clock(devices);
        for (size_t i = 0; i < devices->gpus && !interrupted(devices); i++)
            if (devices->gpu[i].state == GT_PROCESS_IDLE)
                hand_out(devices, &devices->gpu[i]);
        if (!any(devices, GT_PROCESS_BUSY) && (interrupted(devices) || !gt_devices_left(devices) ||
                                               !any(devices, GT_PROCESS_STARTING)))
            return;
        wait_for_messages(devices);
        pass_signals(devices);
        read_clock(devices);
        for (size_t i = 0; i < devices->gpus; i++)
            pump(devices, &devices->gpu[i]);
    }
}

static void close_all(struct gt_devices *devices)
{
    char how[128];

    for (size_t i = 0; i < devices->gpus; i++)
        if (devices->gpu[i].state != GT_PROCESS_NONE)
            end_process(&devices->gpu[i], devices->code ? 0 : GRACE_MS, how, sizeof(how));
}

/* How many GPUs the driver sees, GT_DEVICES_MAX + 1 at most.  A process of its own asks, because
 * this one never uses a GPU. Where it finds none, GPU 0 is tried, so that its process says why. */
static size_t count_gpus(void)
{
    int status = 0, count = 0;
    pid_t pid = fork();

    if (pid == 0) {
        const int rc = gt_gpu_count(&count, NULL);

        _exit(rc ? 0 : count < GT_DEVICES_MAX + 1 ? count : GT_DEVICES_MAX + 1); /* fits a status */
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || !WEXITSTATUS(status))
        return 1;
    return (size_t)WEXITSTATUS(status);
}

static int start_gpus(struct gt_devices *devices, struct gt_err *err)
{
    int ordinal[GT_DEVICES_MAX];
    size_t count;
    int rc = gt_devices_parse(ordinal, &count, devices->options.devices, err);

    if (rc)
        return rc;
    if (!count) {
        count = count_gpus();
        if (count > GT_DEVICES_MAX)
            return gt_err_set(err, GT_ERANGE,
                              "there are more than %d GPUs: name those to use, e.g. --devices 0-%d",
                              GT_DEVICES_MAX, GT_DEVICES_MAX - 1);
        for (size_t i = 0; i < count; i++)
            ordinal[i] = (int)i;
    }
    devices->gpus = count;
    for (size_t i = 0; i < count; i++)
        devices->gpu[i] = (struct gt_device_process){.ordinal = ordinal[i], .class_of = -1};
    for (size_t i = 0; i < count; i++)
        start(devices, &devices->gpu[i]);
    return open_all(devices, err);
}

/* How the run ended. */
static int outcome(const struct gt_devices *devices, struct gt_err *err)
{
    size_t left = 0;

    for (size_t i = 0; i < devices->tasks; i++)
        left += devices->task[i].kind != GT_TASK_SEARCH && devices->task[i].state != GT_TASK_DONE;
    if (devices->code)
        return gt_err_set(err, devices->code, "%s", devices->why.msg);
    if (interrupted(devices))
        return gt_err_set(err, GT_EINTERRUPTED, "interrupted; the same command resumes");
    left -= gt_devices_late(devices);
    if (left)
        return gt_err_set(err, GT_ELOST,
                          "%zu of %zu problems are left: their GPUs were lost; the same command "
                          "resumes",
                          left, devices->ended + left);
    return devices->valid || !devices->tasks
               ? GT_OK
               : gt_err_set(err, GT_EXIT_NOTHING, "no problem has a valid candidate");
}

static int run_all(struct gt_devices *devices, struct gt_err *err)
{
    int rc = gt_tokens_open(
        &devices->tokens,
        devices->options.session.jobs ? (int)devices->options.session.jobs : gt_processors(), err);

    GT_STEP(rc, start_gpus(devices, err));
    GT_STEP(rc, gt_devices_plan(devices, err));
    if (!rc) {
        devices->began = gt_clock_ms();
        gt_devices_warn_of_budget(devices);
        run_tasks(devices);
        gt_devices_close_report(devices);
        rc = outcome(devices, err);
    }
    close_all(devices);
    gt_tokens_close(&devices->tokens);
    return rc;
}

int gt_devices_run(struct gt_cli *cli, const struct gt_devices_options *options, struct gt_err *err)
{
    struct gt_devices *devices = calloc(1, sizeof(*devices));
    struct gt_store *store = NULL;
    const char *path = NULL;
    bool handed_over;
    int rc;

    if (!devices)
        return gt_err_nomem(err);
    devices->cli = cli;
    devices->options = *options;
    rc = gt_session_database(&path, cli, options->session.db, true, err);
    devices->options.session.db = path;
    GT_STEP(rc, gt_session_store(&store, path, GT_STORE_WRITE, err));
    GT_STEP(rc, gt_devices_find_homes(devices, store, err));
    handed_over = !rc;
    if (handed_over) {
        rc = gt_store_hand_over(store, err);
        GT_STEP(rc, run_all(devices, err));
    }
    gt_store_close(store);
    if (handed_over) { /* opened and closed by its one writer, it gets its digest again */
        const int sealed = gt_session_store(&store, path, GT_STORE_WRITE, rc ? NULL : err);

        if (!sealed)
            gt_store_close(store);
        rc = rc ? rc : sealed;
    }
    free(devices->home);
    free(devices->task);
    free(devices);
    return rc;
}
