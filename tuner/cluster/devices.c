/* devices.c - the supervisor of `tune --devices`: starts a process for each GPU, hands problems
 * out, takes results (devices_messages.c), and replaces processes that end or fall silent. */
#include "cluster/devices_parts.h"

#include "base/clock.h"
#include "base/err.h"
#include "cuda/gpu.h"
#include "workers/processors.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SEND_MS 10000
#define POLL_MS 1000

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
        gt_device_process_lose(devices, gpu, NULL);
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

    while (any(devices, GT_PROCESS_STARTING) && !gt_devices_interrupted(devices)) {
        wait_for_messages(devices);
        for (size_t i = 0; i < devices->gpus; i++)
            gt_device_process_pump(devices, &devices->gpu[i]);
    }
    for (size_t i = 0; i < devices->gpus; i++) {
        ready += devices->gpu[i].state == GT_PROCESS_IDLE;
        if (devices->gpu[i].out && !all_failed_alike(devices))
            gt_devices_note(devices, devices->gpu[i].ordinal, devices->gpu[i].why.msg);
    }
    if (gt_devices_interrupted(devices))
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
        for (size_t i = 0; i < devices->gpus && !gt_devices_interrupted(devices); i++)
            if (devices->gpu[i].state == GT_PROCESS_IDLE)
                hand_out(devices, &devices->gpu[i]);
        if (!any(devices, GT_PROCESS_BUSY) &&
            (gt_devices_interrupted(devices) || !gt_devices_left(devices) ||
             !any(devices, GT_PROCESS_STARTING)))
            return;
        wait_for_messages(devices);
        pass_signals(devices);
        read_clock(devices);
        for (size_t i = 0; i < devices->gpus; i++)
            gt_device_process_pump(devices, &devices->gpu[i]);
    }
}

/* Ends all processes.  After an error one may be in a turn, and even saving a database that was
 * moved: it is interrupted, and none is killed before it had time to end by itself. */
static void close_all(struct gt_devices *devices)
{
    char how[128];

    for (size_t i = 0; i < devices->gpus; i++)
        if (devices->code && devices->gpu[i].state == GT_PROCESS_BUSY)
            kill(devices->gpu[i].process.pid, SIGINT);
    for (size_t i = 0; i < devices->gpus; i++)
        if (devices->gpu[i].state != GT_PROCESS_NONE)
            gt_device_process_end(&devices->gpu[i], GT_DEVICES_GRACE_MS, how, sizeof(how));
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
        gt_device_process_begin(devices, &devices->gpu[i]);
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
    if (gt_devices_interrupted(devices))
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

/* Opened and closed by its one writer, the database gets its digest again; what took its place is
 * left alone. */
static int seal(const char *path, const struct stat *file, struct gt_err *err)
{
    struct gt_store *store;
    struct stat now;
    int rc;

    if (stat(path, &now) != 0 || now.st_dev != file->st_dev || now.st_ino != file->st_ino)
        return gt_err_set(err, GT_EDB, "%s was moved, removed or replaced while it was in use",
                          path);
    rc = gt_session_store(&store, path, GT_STORE_WRITE, err);
    if (!rc)
        gt_store_close(store);
    return rc;
}

int gt_devices_run(struct gt_cli *cli, const struct gt_devices_options *options, struct gt_err *err)
{
    struct gt_devices *devices = calloc(1, sizeof(*devices));
    struct gt_store *store = NULL;
    const char *path = NULL;
    struct stat file = {0};
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
        stat(path, &file);
        rc = gt_store_hand_over(store, err);
        GT_STEP(rc, run_all(devices, err));
    }
    gt_store_close(store);
    if (handed_over) {
        const int sealed = seal(path, &file, rc ? NULL : err);

        rc = rc ? rc : sealed;
    }
    free(devices->home);
    free(devices->task);
    free(devices);
    return rc;
}
