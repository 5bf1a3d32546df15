/* devices.c - the supervisor of `tune --devices`: starts a process for each GPU, hands problems
 * out, takes results (device_process.c), and replaces processes that end or fall silent. */
#include <math.h>
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
#include "cluster/devices.h"
#include "cluster/devices_parts.h"
#include "cuda/gpu.h"
#include "problem/problem.h"
#include "workers/processors.h"

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

/* How many GPUs the driver sees, GT_DEVICES_MAX + 1 at most; 0: none, or it does not work.  A
 * process of its own asks, because this one never uses a GPU. */
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
    return ready ? GT_OK : explain_none(devices, err);
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

/* One part: "3" or "0-3".  *text moves behind it; false: it is none. */
static bool read_part(const char **text, unsigned *first, unsigned *last)
{
    int length = 0;

    if (sscanf(*text, "%4u%n", first, &length) != 1 || strspn(*text, "0123456789") < (size_t)length)
        return false;
    *text += length;
    *last = *first;
    if (**text == '-') {
        if (sscanf(*text + 1, "%4u%n", last, &length) != 1 || !strchr("0123456789", (*text)[1]))
            return false;
        *text += 1 + length;
    }
    return *first <= *last;
}

/* Reads "0-3,6" into ordinal[GT_DEVICES_MAX], ascending, each once; "all": *count is 0. */
static int gt_devices_parse(int *ordinal, size_t *count, const char *text, struct gt_err *err)
{
    bool named[GT_DEVICES_MAX] = {false};
    const char *at = text;
    unsigned first, last;

    *count = 0;
    if (strcmp(text, "all") == 0)
        return GT_OK;
    for (;;) {
        if (!read_part(&at, &first, &last) || last >= GT_DEVICES_MAX || (*at && *at != ','))
            return gt_err_set(err, GT_ESYNTAX,
                              "--devices \"%s\": expected \"all\" or numbers of GPUs from 0 to %d, "
                              "such as 0-3 or 0,2",
                              text, GT_DEVICES_MAX - 1);
        for (unsigned i = first; i <= last; i++)
            named[i] = true;
        if (!*at)
            break;
        at++;
    }
    for (int i = 0; i < GT_DEVICES_MAX; i++)
        if (named[i])
            ordinal[(*count)++] = i;
    return GT_OK;
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
        count += !count; /* the process of GPU 0 says why there is none */
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

/* The totals; closes the list of JSON documents. */
static void gt_devices_close_report(struct gt_devices *devices)
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
        gt_devices_note(devices, gpu->ordinal, sentence);
    }
    if (!devices->tasks && !devices->cli->quiet)
        fputs("nothing is missing: every problem has a winner\n", devices->cli->log);
    if (late && !devices->cli->quiet)
        fprintf(
            devices->cli->log,
            "%zu of %zu problems had no turn; the same command with --missing goes on with them\n",
            late, devices->options.problems);
}

/* At the start: a sentence if the budget is small for the problems. */
static void gt_devices_warn_of_budget(const struct gt_devices *devices)
{
    const struct gt_budget *budget = &devices->options.budget;
    char warning[GT_BUDGET_TEXT];
    size_t least = 0; /* GPUs of a class */

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
static int gt_devices_find_homes(struct gt_devices *devices, struct gt_store *store,
                                 struct gt_err *err)
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

/* Reads the list of GPUs that --devices names. */

/* The time and the trials that a task of `tune --devices` gets.
 *
 * The time that is left on all GPUs of the class is divided among the problems that are left, by
 * weight; so a GPU that is lost or slow takes from all of them, not from the last ones. */

#define SECONDS_LEAST 1.0 /* of a turn, when the time is up but the problem has none yet */
#define WEIGHT_LEAST  0.1 /* of the mean weight, as in sweep/time_slices.c */

double gt_devices_weight(const struct gt_devices *devices, size_t problem)
{
    const struct gt_devices_options *options = &devices->options;
    double mean = 0;

    for (size_t i = 0; options->weight && i < options->problems; i++)
        mean += options->weight[i] / (double)options->problems;
    return mean > 0 ? fmax(options->weight[problem], WEIGHT_LEAST * mean) : 1;
}

/* Seconds for a whole problem: its part of the time that is left on the GPUs of the class. */
static double share_of_time(const struct gt_devices *devices, const struct gt_task *task)
{
    const double now = devices->now_s, end = devices->options.budget.seconds;
    double time = 0, weights = 0;

    for (size_t i = 0; i < devices->gpus; i++) {
        const struct gt_device_process *gpu = &devices->gpu[i];
        const double free_s = gpu->task ? gpu->task->begun_s + gpu->task->takes_s : now;

        if (!gpu->out && gpu->class_of == task->class_of)
            time += fmax(0, end - fmax(now, free_s));
    }
    for (size_t i = 0; i < devices->tasks; i++)
        if (devices->task[i].class_of == task->class_of && devices->task[i].state == GT_TASK_READY)
            weights += gt_devices_weight(devices, devices->task[i].problem);
    return fmin(time * gt_devices_weight(devices, task->problem) / weights, end - now);
}

double gt_devices_task_time(const struct gt_devices *devices, const struct gt_task *task)
{
    const struct gt_budget *budget = &devices->options.budget;

    if (!(budget->seconds > 0))
        return devices->turn_s;
    if (task->kind != GT_TASK_WHOLE)
        return task->until_s - devices->now_s;
    return budget->each ? budget->seconds : share_of_time(devices, task);
}

double gt_devices_task_seconds(const struct gt_devices *devices, const struct gt_task *task)
{
    const double over = task->kind == GT_TASK_SEARCH ? 1 : devices->over;

    if (!(devices->options.budget.seconds > 0))
        return 0;
    return fmax(task->takes_s / over, SECONDS_LEAST);
}

int64_t gt_devices_task_trials(const struct gt_devices *devices,
                               const struct gt_device_process *gpu, const struct gt_task *task)
{
    const int64_t trials = devices->options.budget.trials;
    const int64_t parts = (int64_t)task->searches + 1, part = (trials + parts - 1) / parts;
    int64_t others = 0;

    if (!trials || task->kind == GT_TASK_WHOLE)
        return trials;
    if (task->kind == GT_TASK_SEARCH)
        return part;
    for (size_t i = 0; i < devices->tasks; i++)
        others += gt_devices_is_search_of(&devices->task[i], task) &&
                  devices->task[i].state == GT_TASK_DONE && devices->task[i].by != gpu;
    return trials - others * part > 0 ? trials - others * part : part;
}

/* Which GPUs tuned the problems of `tune --devices` in earlier runs: times belong
 * to a GPU, so a problem goes where its trials are (devices_plan.c).  Those of an older text of
 * their kernel are of no use to this run. */

const struct gt_device_process *gt_devices_home_of(const struct gt_devices *devices, int class_of,
                                                   size_t problem)
{
    for (size_t i = 0; i < devices->homes; i++)
        for (size_t j = 0; j < devices->gpus && devices->home[i].problem == problem; j++)
            if (devices->gpu[j].class_of == class_of &&
                strcmp(devices->gpu[j].device.uuid, devices->home[i].uuid) == 0)
                return &devices->gpu[j];
    return NULL;
}

bool gt_devices_is_done(const struct gt_devices *devices, int class_of, size_t problem)
{
    const char *name = "";

    for (size_t i = 0; i < devices->gpus; i++)
        if (devices->gpu[i].class_of == class_of)
            name = devices->gpu[i].device.name;
    for (size_t i = 0; i < devices->homes; i++)
        if (devices->home[i].problem == problem && devices->home[i].final &&
            strcmp(devices->home[i].name, name) == 0)
            return true;
    return false;
}

/* What `tune --devices` prints: each problem's table as it ends, a line for the
 * log, and the totals of each GPU. */

void gt_devices_note(const struct gt_devices *devices, int ordinal, const char *sentence)
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

void gt_devices_print(struct gt_devices *devices, const struct gt_device_process *gpu,
                      const struct gt_task_end *end)
{
    const struct gt_task *task = gpu->task;
    char problem[GT_PROBLEM_TEXT_MAX], sentence[GT_PROBLEM_TEXT_MAX + 160];
    size_t at;

    gt_problem_format(&devices->options.problem[task->problem], problem);
    at = (size_t)snprintf(sentence, sizeof(sentence), "%s: ", problem);
    if (task->kind == GT_TASK_SEARCH)
        at += (size_t)snprintf(sentence + at, sizeof(sentence) - at, "searched, ");
    else
        print_text(devices, end->text);
    if (end->us > 0)
        at += (size_t)snprintf(sentence + at, sizeof(sentence) - at, "%.2f us, ", end->us);
    if (end->us > 0 && end->baseline_us > 0)
        at += (size_t)snprintf(sentence + at, sizeof(sentence) - at, "%.3f x cuBLAS, ",
                               end->baseline_us / end->us);
    snprintf(sentence + at, sizeof(sentence) - at, "%lld new trial%s in %.1f s",
             (long long)end->fresh, end->fresh == 1 ? "" : "s", end->wall_s);
    gt_devices_note(devices, gpu->ordinal, sentence);
}
