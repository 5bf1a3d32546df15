/* cmd_try_emulate.c - runs a candidate on the CPU: starts gemmtune-emulate and reads its verdict.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/place.h"
#include "base/strbuf.h"
#include "base/trust.h"
#include "measure/cmd_try.h"
#include "workers/process.h"

#define PROGRAM "gemmtune-emulate"
#define ROOM    (16 << 20) /* bytes that the compiler and what it builds may need */
#define RUN_S   60         /* of CPU time for a run in the emulator, which takes a second at most */

extern char **environ;

/* Finds the emulator: in the build tree beside `tune`, else in PREFIX/libexec/gemmtune, provided
 * that nobody else may have written it. */
static int find_program(char path[PATH_MAX], struct gt_err *err)
{
    char folder[PATH_MAX], tree[PATH_MAX];
    struct gt_strbuf at = GT_STRBUF_INIT;
    uid_t owner;
    int rc;

    if (!gt_code_folder(folder, &owner))
        return gt_err_set(err, GT_ENOLIB, "the system does not tell where this program lies");
    gt_strbuf_addf(&at, "%s/%s" PROGRAM, folder, gt_build_tree(tree) ? "" : "../libexec/gemmtune/");
    rc = gt_strbuf_check(&at, err);
    GT_STEP(rc, gt_trust(at.text, owner, path, err));
    if (rc == GT_ENOTFOUND)
        rc = gt_err_set(err, GT_ENOLIB,
                        "the emulator is not installed: there is no %s; `make` builds it", at.text);
    gt_strbuf_release(&at);
    return rc;
}

/* Waits for the emulator and ends it if this program gets a signal. */
static int wait_for(const struct gt_try *attempt, pid_t pid, int *status, struct gt_err *err)
{
    while (waitpid(pid, status, 0) != pid) {
        if (errno != EINTR || *attempt->cli->signals) {
            kill(pid, SIGKILL);
            waitpid(pid, status, 0);
            return gt_err_set(err, GT_EINTERRUPTED, "interrupted");
        }
    }
    return *attempt->cli->signals ? gt_err_set(err, GT_EINTERRUPTED, "interrupted") : GT_OK;
}

static int run_program(const struct gt_try *attempt, const char *program, const char *folder,
                       const char *log, int *status, struct gt_err *err)
{
    const struct gt_try_options *options = attempt->options;
    struct gt_strbuf point = GT_STRBUF_INIT, build = GT_STRBUF_INIT;
    char seconds[16], cc[16];
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int rc;

    gt_point_format(&point, attempt->candidate.kernel, &attempt->candidate.point);
    gt_strbuf_addf(&build, "%s/emulate", folder);
    snprintf(seconds, sizeof(seconds), "%d", options->deadline ? (int)options->deadline : RUN_S);
    snprintf(cc, sizeof(cc), "%d", attempt->device.cc);
    rc = gt_strbuf_check(&point, err);
    GT_STEP(rc, gt_strbuf_check(&build, err));
    if (rc)
        goto out;
    {
        const char *const argv[] = {program,
                                    attempt->cli->data_dir,
                                    options->kernels_dir ? options->kernels_dir : "",
                                    options->include_dirs ? options->include_dirs : "",
                                    attempt->candidate.kernel->name,
                                    point.text,
                                    attempt->problem_text,
                                    build.text,
                                    seconds,
                                    cc,
                                    NULL};

        setenv("ASAN_OPTIONS", "detect_leaks=0",
               1); /* a kernel cannot leak, so leaks would be the emulator's own */
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0644);
        posix_spawn_file_actions_adddup2(&actions, 1, 2);
        /* The cast: posix_spawn does not write to its arguments. */
        if (posix_spawn(&pid, program, &actions, NULL, (char *const *)argv, environ))
            rc = gt_err_set(err, GT_EIO, "cannot start %s", program);
        posix_spawn_file_actions_destroy(&actions);
    }
    GT_STEP(rc, wait_for(attempt, pid, status, err));
out:
    gt_strbuf_release(&point);
    gt_strbuf_release(&build);
    return rc;
}

/* Whether the folder takes the files of a compiler. */
static int check_room(const char *folder, const char *what, struct gt_err *err)
{
    char path[PATH_MAX];
    int fd, code = 0;

    snprintf(path, sizeof(path), "%s/gemmtune-room-XXXXXX", folder);
    fd = mkostemp(path, O_CLOEXEC);
    if (fd < 0)
        code = errno;
    else
        code = posix_fallocate(fd, 0, ROOM);
    if (fd >= 0) {
        close(fd);
        unlink(path);
    }
    if (!code || code == EINVAL || code == EOPNOTSUPP)
        return GT_OK;
    return gt_err_set(err, GT_EIO,
                      "%s: no room for the program of up to %d MiB that the emulator builds there "
                      "(%s); %s may name another folder",
                      folder, ROOM >> 20, strerror(code), what);
}

/* Whether a program can be built and run in the folder; if not, that is the machine's doing and
 * nothing is said of the kernel.  what: the variable or option that names another folder. */
static int check_folder(const char *folder, const char *what, struct gt_err *err)
{
    struct statvfs system;

    if (!statvfs(folder, &system) && system.f_flag & ST_NOEXEC)
        return gt_err_set(
            err, GT_EIO,
            "%s: its file system is mounted noexec, and the emulator builds and runs a "
            "program there; %s may name another folder",
            folder, what);
    return check_room(folder, what, err);
}

int gt_try_emulate(struct gt_try *attempt, const char *folder, struct gt_err *err)
{
    const char *what = attempt->keep ? "--keep" : "TMPDIR", *tmp = getenv("TMPDIR");
    char program[PATH_MAX], path[PATH_MAX];
    struct gt_strbuf log = GT_STRBUF_INIT;
    int status = 0;
    int rc = find_program(program, err);

    snprintf(path, sizeof(path), "%s/emulate.log", folder);
    GT_STEP(rc, check_folder(folder, what, err));
    if (!rc && attempt->keep) /* the C++ compiler has its own files there */
        rc = check_room(tmp && *tmp ? tmp : "/tmp", "TMPDIR", err);
    GT_STEP(rc, run_program(attempt, program, folder, path, &status, err));
    GT_STEP(rc, gt_strbuf_add_file(&log, path, err));
    GT_STEP(rc, gt_try_read_log(attempt, log.text, status, err));
    if (log.text && attempt->cli->verbose)
        fputs(log.text, attempt->cli->log);
    gt_strbuf_release(&log);
    return rc;
}

/* ---- the log ---- */

/* What a sanitizer reported, at the first frame that lies in a template. */
struct report {
    char kind[128];  /* "heap-buffer-overflow" */
    char access[64]; /* "READ of size 4" */
    char place[400]; /* "rows.cu:34" */
};

/* "#1 0x7f.. in gt_gemm(gt_args) rows.cu:34": the last word, if it is a CUDA file. */
static bool read_frame(struct report *report, const char *line, size_t length)
{
    size_t from = length;

    while (from && line[from - 1] != ' ')
        from--;
    if (!memmem(line + from, length - from, ".cu", 3))
        return false;
    snprintf(report->place, sizeof(report->place), "%.*s", (int)(length - from), line + from);
    return true;
}

static void read_report(struct report *report, const char *line, size_t length)
{
    static const char asan[] = "ERROR: AddressSanitizer: ";
    const char *found = memmem(line, length, asan, strlen(asan));
    const char *error = memmem(line, length, ": runtime error: ", 17);

    if (found && !*report->kind) {
        found += strlen(asan);
        snprintf(report->kind, sizeof(report->kind), "%.*s", (int)strcspn(found, " \n"), found);
    } else if (error && !*report->kind) {
        snprintf(report->place, sizeof(report->place), "%.*s", (int)(error - line), line);
        snprintf(report->kind, sizeof(report->kind), "%.*s",
                 (int)(length - (size_t)(error - line)) - 17, error + 17);
    } else if (*report->kind && !*report->access &&
               (!strncmp(line, "READ of size", 12) || !strncmp(line, "WRITE of size", 13))) {
        snprintf(report->access, sizeof(report->access), "%.*s",
                 (int)strcspn(line + 14, " \n") + 14, line);
    } else if (*report->kind && !*report->place && length > 4 && !strncmp(line, "    #", 5)) {
        read_frame(report, line, length);
    }
}

/* Corrects the path: the compiler puts the working folder before a template's name, but the file
 * lies beside its description or in the data folder. */
static void find_template(const struct gt_try *attempt, struct report *report)
{
    const char *const folder[] = {attempt->options->kernels_dir, attempt->cli->data_dir};
    char here[PATH_MAX], path[PATH_MAX], *name = report->place;
    size_t length = getcwd(here, sizeof(here)) ? strlen(here) : 0;

    if (!length || strncmp(name, here, length) != 0 || name[length] != '/')
        return;
    name += length + 1;
    for (size_t i = 0; i < sizeof(folder) / sizeof(folder[0]); i++) {
        snprintf(path, sizeof(path), "%s/%.*s", folder[i] ? folder[i] : ".",
                 (int)strcspn(name, ":"), name);
        if (folder[i] && access(path, F_OK) == 0) {
            snprintf(path, sizeof(path), "%s/%s", folder[i], name);
            snprintf(report->place, sizeof(report->place), "%s", path);
            return;
        }
    }
}

/* Takes a run whose D was not right; the first such run becomes the verdict. */
static void take_failure(struct gt_try *attempt, const char *words, const char *run)
{
    struct gt_trial *trial = &attempt->trial;

    attempt->wrong++;
    if (trial->status != GT_STATUS_NONE)
        return;
    trial->status = !strncmp(words, "D[", 2)                  ? GT_STATUS_WRONG
                    : !strncmp(words, "written beside D", 16) ? GT_STATUS_OOB_WRITE
                                                              : GT_STATUS_FAULT;
    snprintf(trial->detail, sizeof(trial->detail), "%s, for %s", words, run);
}

/* Takes the compiler's first error message. */
static void take_complaint(struct gt_try *attempt, const char *log)
{
    const char *at = strstr(log, "error: "), *line = at;

    while (line && line > log && line[-1] != '\n')
        line--;
    attempt->trial.status = GT_STATUS_COMPILE_ERROR;
    snprintf(attempt->trial.detail, sizeof(attempt->trial.detail), "%.*s",
             line ? (int)strcspn(line, "\n") : 0, line ? line : "");
}

/* Records why the process died: a sanitizer's report, or a signal.  A wrong result that was seen
 * before stays the verdict. */
static void take_death(struct gt_try *attempt, const struct report *report, const char *run,
                       int wait_status)
{
    struct gt_trial *trial = &attempt->trial;
    bool first = trial->status == GT_STATUS_NONE;
    char how[sizeof(trial->detail)];
    size_t used = first ? 0 : strlen(trial->detail);

    if (*report->kind) {
        snprintf(how, sizeof(how), "%s%s%s%s%s", report->kind, *report->access ? ": " : "",
                 report->access, *report->place ? " at " : "", report->place);
    } else {
        gt_process_describe(wait_status, how, sizeof(how));
    }
    if (first)
        trial->status = WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGXCPU
                            ? GT_STATUS_TIMEOUT
                            : GT_STATUS_FAULT;
    snprintf(trial->detail + used, sizeof(trial->detail) - used, "%s%s%s, for %s",
             first ? "" : "; then ", *report->kind ? "" : "the emulator ", how, run);
}

int gt_try_read_log(struct gt_try *attempt, const char *log, int wait_status, struct gt_err *err)
{
    char run[GT_PROBLEM_TEXT_MAX] = "the first problem", words[400];
    struct report report = {{0}, {0}, {0}};
    int code = 0, done = 0, right = 0;

    for (const char *line = log, *next; *line; line = next) {
        size_t length = strcspn(line, "\n");
        const char *schedule = memmem(line, length, ", schedule ", 11);

        next = line + length + (line[length] == '\n');
        snprintf(words, sizeof(words), "%.*s", (int)length, line);
        if (schedule) {
            snprintf(run, sizeof(run), "%.*s", (int)(schedule - line), line);
            if (!*attempt->run_as)
                snprintf(attempt->run_as, sizeof(attempt->run_as), "%s", run);
        } else if (!strncmp(words, "FAILED: ", 8)) {
            take_failure(attempt, words + 8, run);
        } else if (!strncmp(words, "error ", 6) && strchr(words, ':')) {
            code = (int)strtol(words + 6, NULL, 10);
            if (code != GT_ENVRTC)
                return gt_err_set(err, code < 0 ? code : GT_EIO, "%s", strchr(words, ':') + 2);
        } else if (sscanf(words, "done: %d right, %*d wrong, %d problems", &right,
                          &attempt->problems) == 2) {
            done = 1;
        } else {
            read_report(&report, line, length);
        }
    }
    attempt->runs = right + attempt->wrong;
    if (code == GT_ENVRTC)
        take_complaint(attempt, log);
    else if (!done && *report.place && attempt->options)
        find_template(attempt, &report);
    if (code != GT_ENVRTC && !done)
        take_death(attempt, &report, run, wait_status);
    if (attempt->trial.status == GT_STATUS_NONE)
        attempt->trial.status = GT_STATUS_OK;
    return GT_OK;
}
