/* devices.c - the supervisor of `tune --devices`: starts a process for each GPU, hands problems
 * out, takes results (device_process.c), and replaces processes that end or fall silent. */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "cluster/devices_parts.h"
#include "cuda/gpu.h"
#include "problem/problem.h"
#include "workers/processors.h"

#define SEND_MS  10000
#define POLL_MS  200  /* a signal that comes just before a wait is seen after it */
#define GRACE_MS 5000 /* for a process that was told to end */
#define FAILURES 3    /* failures in a row of a GPU's processes */
#define START_S  180  /* for a process to open driver, compiler and database */

/* Whether the run was told to end. */
static bool interrupted(const struct gt_devices *devices)
{
    return *devices->cli->signals > 0;
}

/* ---- what is printed ---- */

static void note(const struct gt_devices *devices, int ordinal, const char *sentence)
{
    const int length = (int)strcspn(sentence, "\n");

    if (!devices->cli->quiet && length)
        fprintf(devices->cli->log, "GPU %d: %.*s\n", ordinal, length, sentence);
}

/* The documents of --json stand in one list. */
static void print_text(struct gt_devices *devices, const char *text)
{
    FILE *out = devices->cli->out;

    if (!devices->cli->json) {
        fputs(text, out);
        return;
    }
    fputs(devices->printed ? ",\n" : "{\"format\": \"gemmtune devices 1\", \"sweeps\": [\n", out);
    fprintf(out, "%.*s", (int)strlen(text) - (*text && text[strlen(text) - 1] == '\n'), text);
    devices->printed = true;
}

static void print_end(struct gt_devices *devices, const struct gt_device_process *gpu,
                      const struct gt_task_end *end, const char *text)
{
    const struct gt_task *task = gpu->task;
    char problem[GT_PROBLEM_TEXT_MAX], sentence[GT_PROBLEM_TEXT_MAX + 160];
    size_t at;

    gt_problem_format(&devices->options.problem[task->problem], problem);
    at = (size_t)snprintf(sentence, sizeof(sentence), "%s: ", problem);
    if (task->kind == GT_TASK_SEARCH)
        at += (size_t)snprintf(sentence + at, sizeof(sentence) - at, "searched, ");
    else
        print_text(devices, text);
    if (end->us > 0)
        at += (size_t)snprintf(sentence + at, sizeof(sentence) - at, "%.2f us, ", end->us);
    if (end->us > 0 && end->baseline_us > 0)
        at += (size_t)snprintf(sentence + at, sizeof(sentence) - at, "%.3f x cuBLAS, ",
                               end->baseline_us / end->us);
    snprintf(sentence + at, sizeof(sentence) - at, "%lld new trial%s in %.1f s",
             (long long)end->fresh, end->fresh == 1 ? "" : "s", end->wall_s);
    note(devices, gpu->ordinal, sentence);
}

/* ---- what the process of a GPU says, and what its loss costs ----
 *
 * A lost process costs the GPU its turn: the problem goes to the next free GPU.  A problem also
 * goes to the next free GPU if no candidate was valid or no final could be held, because a broken
 * GPU would otherwise take all problems, being the fastest.  A GPU that fails FAILURES times in a
 * row is given up. */

/* Starts the GPU's process; a GPU whose process cannot be started is out. */
static void begin(struct gt_device_process *gpu)
{
    struct gt_err err = {0};

    if (gt_device_process_start(gpu, &err)) {
        gpu->out = true;
        gpu->why = err;
    }
}

static void end_process(struct gt_device_process *gpu, int grace_ms)
{
    int status;

    gpu->state = GT_PROCESS_NONE;
    gt_process_end(&gpu->process, grace_ms, &status, NULL);
}

/* Ends the turn of a GPU whose process or device is lost.  why: the reason; NULL: the way in which
 * the process ended. */
static void lose(struct gt_devices *devices, struct gt_device_process *gpu, const char *why)
{
    struct gt_task *task = gpu->task;
    const bool out = ++gpu->failures >= FAILURES || gpu->class_of < 0;
    char said[304] = "";

    if (why) /* `why` may be a text of the last message, or gpu->why */
        snprintf(said, sizeof(said), "%.300s", why);
    end_process(gpu, 0);
    gpu->task = NULL;
    if (task)
        gt_devices_end(devices, task, true);
    gpu->out = out;
    gt_err_set(&gpu->why, GT_ELOST, "%s%s%s", why ? "" : "its process ",
               why ? said : gpu->process.how,
               out    ? ""
               : task ? "; the problem is handed out again"
                      : "; it is started again");
    note(devices, gpu->ordinal, gpu->why.msg);
    if (out)
        return;
    gpu->why = (struct gt_err){0};
    if (!interrupted(devices))
        begin(gpu);
}

/* Puts the GPU into its class: GPUs that are alike in name, SMs, memory, driver and power limit. */
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

/* Takes the message of a process that could not open its GPU. */
static void take_failed(struct gt_devices *devices, struct gt_device_process *gpu,
                        struct gt_wire_in *in)
{
    const int code = (int)gt_wire_get_int(in);

    gt_err_set(&gpu->why, code, "%s", gt_wire_get_text(in));
    if (gpu->class_of >= 0 && code != GT_EDB) {
        lose(devices, gpu, gpu->why.msg);
        return;
    }
    gpu->out = true;
    end_process(gpu, GRACE_MS);
}

static void take_end(struct gt_devices *devices, struct gt_device_process *gpu,
                     struct gt_wire_in *in)
{
    struct gt_task_end end;
    struct gt_task *task = gpu->task;
    const char *sentence, *text; /* why the task failed; the text to print */

    gt_wire_get_struct(in, &end, sizeof(end));
    sentence = gt_wire_get_text(in);
    text = gt_wire_get_text(in);
    if (gt_wire_finish(in, NULL) || !task) {
        lose(devices, gpu, "its process sent a malformed message");
        return;
    }
    gpu->busy_s += end.busy_s;
    if (gt_devices_doubted(devices, gpu, &end)) {
        task->not_on = gpu;
        lose(devices, gpu,
             end.valid ? "no final could be held on it" : "no candidate was valid on it");
    } else if (!end.code || end.code == GT_EINTERRUPTED) {
        print_end(devices, gpu, &end, text);
        gpu->done += task->kind != GT_TASK_SEARCH && !end.code;
        devices->valid += task->kind != GT_TASK_SEARCH && end.valid;
        gpu->failures = 0;
        gpu->task = NULL;
        gpu->state = GT_PROCESS_IDLE;
        gt_devices_end(devices, task, false);
    } else if (end.code == GT_EDB || end.code == GT_ECONFIG || end.code == GT_ESTALE) {
        devices->code = gt_err_set(&devices->why, end.code, "%s", sentence);
    } else {
        lose(devices, gpu, sentence);
    }
}

/* Prints a line of the process's progress, without indent and without the name, which is put before
 * each line anyway. */
static void take_line(const struct gt_devices *devices, const struct gt_device_process *gpu,
                      const char *line)
{
    char name[24];
    int length = snprintf(name, sizeof(name), "GPU %d: ", gpu->ordinal);

    line += strspn(line, " ");
    note(devices, gpu->ordinal, strncmp(line, name, (size_t)length) == 0 ? line + length : line);
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

/* Takes all messages of a process, and notices its end and its silence. */
static void pump(struct gt_devices *devices, struct gt_device_process *gpu)
{
    const int64_t silence = gpu->state == GT_PROCESS_STARTING ? START_S
                            : devices->options.silence_s      ? devices->options.silence_s
                                                              : GT_DEVICES_SILENCE_S;
    struct gt_wire_in in;
    char sentence[96];
    int rc = 0;

    while (gpu->state != GT_PROCESS_NONE && !devices->code &&
           (rc = gt_wire_receive(&gpu->process.wire, &in, 0, NULL)) > 0)
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

/* ---- the run ---- */

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

/* Passes each signal on to the processes once. */
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
    struct gt_device_turn turn = {0};
    const struct gt_task *task = gt_devices_next(devices, gpu, &turn.budget);

    if (!task)
        return;
    turn.problem = task->problem;
    turn.then = gt_devices_foresee(devices, gpu);
    turn.seed = task->seed;
    turn.search_only = task->kind == GT_TASK_SEARCH;
    gt_wire_begin(&frame, GT_MSG_TURN);
    gt_wire_put_bytes(&frame, &turn, sizeof(turn));
    gpu->state = GT_PROCESS_BUSY;
    gpu->heard = gt_clock_ms();
    if (gt_wire_send(gpu->process.fd, &frame, SEND_MS, NULL))
        lose(devices, gpu, NULL);
    gt_strbuf_release(&frame);
}

/* Whether no GPU was opened, and all for the same reason. */
static bool all_failed_alike(const struct gt_devices *devices)
{
    const struct gt_err *first = &devices->gpu[0].why;

    for (size_t i = 0; i < devices->gpus; i++)
        if (!devices->gpu[i].out || strcmp(devices->gpu[i].why.msg, first->msg) != 0)
            return false;
    return true;
}

/* How many GPUs the driver sees, GT_DEVICES_MAX + 1 at most; 0: none, or the driver does not work.
 * A child process asks the driver, because this process never uses a GPU. */
static size_t count_gpus(void)
{
    int status = 0, count = 0;
    pid_t pid = fork();

    if (pid == 0) {
        const int rc = gt_gpu_count(&count, NULL);

        _exit(rc ? 0 : count < GT_DEVICES_MAX + 1 ? count : GT_DEVICES_MAX + 1); /* fits a status */
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return 0;
    return (size_t)WEXITSTATUS(status);
}

/* Why no GPU is open. */
static int explain_none(const struct gt_devices *devices, struct gt_err *err)
{
    const struct gt_err *why = &devices->gpu[0].why;

    gt_err_set(err, why->code, "%s", why->msg);
    if ((why->code == GT_ENOGPU || why->code == GT_ENOLIB) && !count_gpus())
        gt_err_prefix(err, why->code,
                      "--devices measures on GPUs; without one, --arch in its place says what to "
                      "predict for, e.g. sm_86");
    return why->code;
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
            note(devices, devices->gpu[i].ordinal, devices->gpu[i].why.msg);
    }
    if (interrupted(devices))
        return gt_err_set(err, GT_EINTERRUPTED, "interrupted before a GPU was open");
    return ready ? GT_OK : explain_none(devices, err);
}

static void read_clock(struct gt_devices *devices)
{
    devices->now_s = (double)(gt_clock_ms() - devices->began) / 1000;
}

/* Hands out tasks and takes in results until no task, or no GPU, is left. */
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

/* Ends all processes.  After an error a process may be in a turn, and may even be saving a database
 * that was moved.  Such a process is interrupted, and no process is killed before it had time to
 * end by itself. */
static void close_all(struct gt_devices *devices)
{
    for (size_t i = 0; i < devices->gpus; i++)
        if (devices->code && devices->gpu[i].state == GT_PROCESS_BUSY)
            kill(devices->gpu[i].process.pid, SIGINT);
    for (size_t i = 0; i < devices->gpus; i++)
        if (devices->gpu[i].state != GT_PROCESS_NONE) /* a driver may start for minutes */
            end_process(&devices->gpu[i],
                        devices->gpu[i].state == GT_PROCESS_STARTING ? 0 : GRACE_MS);
}

/* Reads "0-3,6" into ordinal[GT_DEVICES_MAX], ascending and without repeats; "all": *count is 0. */
static int parse_list(int *ordinal, size_t *count, const char *text, struct gt_err *err)
{
    bool named[GT_DEVICES_MAX] = {false}, sound = false;
    int length = 0;

    *count = 0;
    if (strcmp(text, "all") == 0)
        return GT_OK;
    for (const char *at = text;; at += length + 1) {
        unsigned first, last = GT_DEVICES_MAX;

        if (sscanf(at, "%4u%n-%4u%n", &first, &length, &last, &length) == 1)
            last = first;
        sound = last < GT_DEVICES_MAX && first <= last && (!at[length] || at[length] == ',') &&
                strspn(at, "0123456789-") == (size_t)length;
        for (unsigned i = first; sound && i <= last; i++)
            named[i] = true;
        if (!sound || !at[length])
            break;
    }
    if (!sound)
        return gt_err_set(err, GT_ESYNTAX,
                          "--devices \"%s\": expected \"all\" or numbers of GPUs from 0 to %d, "
                          "such as 0-3 or 0,2",
                          text, GT_DEVICES_MAX - 1);
    for (int i = 0; i < GT_DEVICES_MAX; i++)
        if (named[i])
            ordinal[(*count)++] = i;
    return GT_OK;
}

static int start_gpus(struct gt_devices *devices, struct gt_err *err)
{
    int ordinal[GT_DEVICES_MAX];
    size_t count;
    int rc = parse_list(ordinal, &count, devices->options.devices, err);

    if (rc)
        return rc;
    if (!count) {
        count = count_gpus();
        count += !count; /* the process of GPU 0 says why there is no GPU */
        if (count > GT_DEVICES_MAX)
            return gt_err_set(err, GT_ERANGE,
                              "there are more than %d GPUs: name those to use, e.g. --devices 0-%d",
                              GT_DEVICES_MAX, GT_DEVICES_MAX - 1);
        for (size_t i = 0; i < count; i++)
            ordinal[i] = (int)i;
    }
    devices->gpus = count;
    for (size_t i = 0; i < count; i++)
        devices->gpu[i] =
            (struct gt_device_process){.devices = devices, .ordinal = ordinal[i], .class_of = -1};
    for (size_t i = 0; i < count; i++)
        begin(&devices->gpu[i]);
    return open_all(devices, err);
}

/* The error code of the run, with its sentence. */
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

/* Prints the totals; closes the list of JSON documents. */
static void close_report(struct gt_devices *devices)
{
    const double seconds = devices->now_s;
    const size_t late = gt_devices_late(devices);

    if (devices->cli->json)
        fputs(devices->printed ? "]}\n" : "{\"format\": \"gemmtune devices 1\", \"sweeps\": []}\n",
              devices->cli->out);
    for (size_t i = 0; i < devices->gpus; i++) {
        const struct gt_device_process *gpu = &devices->gpu[i];
        char sentence[400];

        if (gpu->class_of >= 0)
            snprintf(sentence, sizeof(sentence), "%lld problem%s, busy %.0f %% of %.0f s%s%.250s",
                     (long long)gpu->done, gpu->done == 1 ? "" : "s",
                     seconds > 0 ? 100 * gpu->busy_s / seconds : 0, seconds,
                     gpu->out && gpu->why.code ? "; given up: " : "", gpu->out ? gpu->why.msg : "");
        else
            snprintf(sentence, sizeof(sentence), "no part: %.350s", gpu->why.msg);
        note(devices, gpu->ordinal, sentence);
    }
    if (!devices->tasks && !devices->cli->quiet)
        fputs("nothing is missing: every problem has a winner\n", devices->cli->log);
    if (late && !devices->cli->quiet)
        fprintf(
            devices->cli->log,
            "%zu of %zu problems had no turn; the same command with --missing goes on with them\n",
            late, devices->options.problems);
}

/* Says at the start if the budget is small for the problems. */
static void warn_of_budget(const struct gt_devices *devices)
{
    const struct gt_budget *budget = &devices->options.budget;
    char warning[GT_BUDGET_TEXT];
    size_t least = 0; /* GPUs of the smallest class */

    for (size_t i = 0; i < devices->gpus; i++) {
        size_t equal = 0;

        for (size_t j = 0; j < devices->gpus && devices->gpu[i].class_of >= 0; j++)
            equal += devices->gpu[j].class_of == devices->gpu[i].class_of;
        if (equal && (!least || equal < least))
            least = equal;
    }
    if (!devices->cli->quiet && least &&
        gt_session_warn_of_budget(
            warning, budget->seconds * (double)(budget->each ? devices->options.problems : least),
            devices->options.problems))
        fprintf(devices->cli->log, "%s\n", warning);
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
        if (!devices->cli->quiet)
            gt_older_tell(devices->cli->log, &devices->older, GT_OLDER_OF_SWEEP);
        warn_of_budget(devices);
        run_tasks(devices);
        close_report(devices);
        rc = outcome(devices, err);
    }
    close_all(devices);
    gt_tokens_close(&devices->tokens);
    return rc;
}

/* Opens and closes the database as its only writer, which gives it its digest again.  A file that
 * has taken the database's place is left alone. */
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

static int take_home(void *context, const struct gt_row *row, struct gt_err *err)
{
    struct gt_devices *devices = context;
    char text[GT_PROBLEM_TEXT_MAX];

    for (size_t i = 0; i < devices->options.problems; i++) {
        struct gt_home *home;
        int rc;

        gt_problem_format(&devices->options.problem[i], text);
        if (strcmp(text, row->problem) != 0)
            continue;
        rc = GT_ARRAY_RESERVE(&devices->home, devices->homes + 1, &devices->home_capacity, err);
        if (rc)
            return rc;
        home = &devices->home[devices->homes++];
        *home = (struct gt_home){.problem = i,
                                 .final = row->stage == 3 &&
                                          row->timing ==
                                              (int)gt_session_timing(&devices->options.session)};
        snprintf(home->uuid, sizeof(home->uuid), "%s", row->uuid);
        snprintf(home->name, sizeof(home->name), "%s", row->device);
    }
    return GT_OK;
}

/* Reads from the database which GPUs tuned the problems before. */
static int find_homes(struct gt_devices *devices, struct gt_store *store, struct gt_err *err)
{
    const struct gt_session_options *session = &devices->options.session;
    struct gt_kernels kernels = {0};
    const struct gt_row_filter filter = {
        .winners_only = true, .provenance = 1u << GT_MEASURED, .kernels = &kernels};
    const struct gt_devices_options *options = &devices->options;
    int rc = gt_kernels_load(&kernels, devices->cli->data_dir, session->kernels_dir,
                             session->include_dirs, err);

    GT_STEP(rc, gt_store_rows(store, &filter, take_home, devices, err));
    GT_STEP(rc, gt_older_count(&devices->older, store, &kernels, &filter, options->problem,
                               options->problems, err));
    gt_kernels_release(&kernels);
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
    GT_STEP(rc, find_homes(devices, store, err));
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
