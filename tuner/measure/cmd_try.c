/* cmd_try.c - tune try KERNEL [POINT]: whether one candidate is right and, on a GPU, how fast. */
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/place.h"
#include "base/strbuf.h"
#include "base/trust.h"
#include "console/cmd_compile.h"
#include "console/cmd_record.h"
#include "console/cmd_write.h"
#include "console/commands.h"
#include "console/gpu_names.h"
#include "console/terminal.h"
#include "cuda/cache.h"
#include "evaluate/evaluator.h"
#include "kernel/render.h"
#include "lookup/lookup_impl.h"
#include "measure/cmd_try.h"
#include "problem/problem.h"
#include "session/cmd_session.h"
#include "session/model_error.h"
#include "workers/process.h"

/* ---- what --keep asks for: source, PTX, cubin, SASS and the log ---- */

struct keeping {
    const struct gt_cli *cli;
    const struct gt_candidate *candidate;
    const char *folder;
};

/* Writes DIR/<kernel>.<suffix>; path may be NULL. */
static int write_part(const struct keeping *keeping, const char *suffix, const void *bytes,
                      size_t size, char *path, struct gt_err *err)
{
    char name[PATH_MAX];
    int rc;

    snprintf(name, sizeof(name), "%s/%s.%s", keeping->folder, keeping->candidate->kernel->name,
             suffix);
    rc = gt_cmd_write_bytes(name, bytes, size, err);
    if (path)
        snprintf(path, PATH_MAX, "%s", name);
    return rc;
}

/* Runs a disassembler with its output in `to`; false if it is not there or fails. */
static bool disassemble(const char *const *argv, const char *to)
{
    struct gt_cmd_output output;
    posix_spawn_file_actions_t actions;
    int status = -1;
    pid_t pid;

    if (gt_cmd_output_open(&output, to, NULL))
        return false;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fileno(output.file), 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    /* The cast: posix_spawn does not write to its arguments. */
    if (posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)argv, environ) == 0)
        waitpid(pid, &status, 0);
    posix_spawn_file_actions_destroy(&actions);
    return gt_cmd_output_close(&output, status ? GT_EIO : GT_OK, NULL) == GT_OK;
}

/* Disassembles with the tools of a folder, "" for tools on the path. */
static bool disassemble_with(const char *folder, const char *cubin, const char *to)
{
    char nvdisasm[PATH_MAX], cuobjdump[PATH_MAX];

    snprintf(nvdisasm, sizeof(nvdisasm), "%s%snvdisasm", folder, *folder ? "/bin/" : "");
    snprintf(cuobjdump, sizeof(cuobjdump), "%s%scuobjdump", folder, *folder ? "/bin/" : "");
    return disassemble((const char *const[]){nvdisasm, "-g", cubin, NULL}, to) ||
           disassemble((const char *const[]){nvdisasm, cubin, NULL}, to) ||
           disassemble((const char *const[]){cuobjdump, "-sass", cubin, NULL}, to);
}

/* Writes the SASS with nvdisasm or cuobjdump, wherever one of these tools is. */
static void keep_sass(const struct keeping *keeping, const char *cubin)
{
    const char *const folder[] = {"", secure_getenv("CUDA_HOME"), secure_getenv("CUDA_PATH"),
                                  "/usr/local/cuda"};
    char to[PATH_MAX];

    snprintf(to, sizeof(to), "%s/%s.sass", keeping->folder, keeping->candidate->kernel->name);
    for (size_t i = 0; i < sizeof(folder) / sizeof(*folder); i++)
        if (folder[i] && (*folder[i] || !i) && disassemble_with(folder[i], cubin, to))
            return;
    if (!keeping->cli->quiet)
        fprintf(keeping->cli->log,
                "no SASS is kept: neither nvdisasm nor cuobjdump of the CUDA toolkit is in the "
                "path, in $CUDA_HOME/bin or in /usr/local/cuda/bin\n");
}

/* Writes one image and the compiler's log. */
static int keep_image(const struct keeping *keeping, const struct gt_geometry *geometry,
                      const char *source, enum gt_image image, struct gt_err *err)
{
    struct gt_binary binary = {0};
    char path[PATH_MAX];
    int version;
    int rc = gt_cmd_compile(keeping->candidate, geometry, source, image, &binary, &version, err);

    if (rc == GT_ENOLIB) {
        if (!keeping->cli->quiet && image == GT_IMAGE_PTX)
            fprintf(keeping->cli->log, "no PTX, cubin and SASS are kept: %s\n",
                    err ? err->msg : "");
        rc = GT_OK;
    } else if (rc == GT_OK) {
        rc = write_part(keeping, image == GT_IMAGE_PTX ? "ptx" : "cubin", binary.image,
                        image == GT_IMAGE_PTX ? strlen(binary.image) : binary.size, path, err);
        if (!rc && image == GT_IMAGE_CUBIN)
            keep_sass(keeping, path);
    }
    if (binary.log && image == GT_IMAGE_CUBIN && (!rc || rc == GT_ENVRTC)) {
        int written =
            write_part(keeping, "log", binary.log, strlen(binary.log), NULL, rc ? NULL : err);
        rc = rc == GT_ENVRTC ? GT_OK
                             : written; /* the verdict reports a source that does not compile */
    }
    gt_binary_release(&binary);
    return rc == GT_ENVRTC ? GT_OK : rc;
}

int gt_keep_open(char **folder, const char *keep, struct gt_err *err)
{
    struct stat status;

    if (stat(keep, &status) == 0 && !S_ISDIR(status.st_mode))
        return gt_err_set(err, GT_EIO, "%s: --keep names a folder, and this is a file", keep);
    if (mkdir(keep, 0777) && (errno != EEXIST || access(keep, W_OK | X_OK)))
        return gt_err_set(err, GT_EIO, "%s: cannot make the folder: %s", keep, strerror(errno));
    *folder = realpath(keep, NULL);
    return *folder ? GT_OK : gt_err_set(err, GT_EIO, "%s: %s", keep, strerror(errno));
}

int gt_keep_candidate(const struct gt_cli *cli, const struct gt_candidate *candidate,
                      const char *folder, struct gt_err *err)
{
    const struct keeping keeping = {cli, candidate, folder};
    struct gt_strbuf source = GT_STRBUF_INIT;
    struct gt_geometry geometry;
    int rc = gt_render(&source, candidate, err);

    GT_STEP(rc, write_part(&keeping, "cu", source.text, source.length, NULL, err));
    GT_STEP(rc, gt_candidate_geometry(candidate, &geometry, err));
    GT_STEP(rc, keep_image(&keeping, &geometry, source.text, GT_IMAGE_PTX, err));
    GT_STEP(rc, keep_image(&keeping, &geometry, source.text, GT_IMAGE_CUBIN, err));
    gt_strbuf_release(&source);
    return rc;
}

/* ---- on the CPU: starts gemmtune-emulate and reads its verdict ---- */

#define PROGRAM "gemmtune-emulate"
#define ROOM    (16 << 20) /* bytes that the compiler and its output may need */
#define RUN_S   60         /* of CPU time for a run in the emulator, which takes a second at most */

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
    pid_t pid = 0;
    int rc;

    gt_point_format(&point, attempt->candidate.kernel, &attempt->candidate.point);
    gt_strbuf_addf(&build, "%s/emulate", folder);
    snprintf(seconds, sizeof(seconds), "%d", options->deadline ? (int)options->deadline : RUN_S);
    snprintf(cc, sizeof(cc), "%d", attempt->device.cc);
    rc = gt_strbuf_check(&point, err);
    GT_STEP(rc, gt_strbuf_check(&build, err));
    if (!rc) {
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

/* Whether a program can be built and run in the folder; if not, the machine is at fault, which says
 * nothing about the kernel.  what: the variable or option that names another folder. */
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

/* ---- the log ---- */

/* A sanitizer's report, at the first frame that lies in a template. */
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

/* Runs the candidate in the emulator, the program gemmtune-emulate that is installed with this one.
 * `folder`: where it writes source, object and log.  Fills the verdict; an error means that the
 * candidate could not be run. */
static int emulate_in(struct gt_try *attempt, const char *folder, struct gt_err *err)
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

/* ---- the point ---- */

/* A copy of a kernel with fewer values and constraints. */
struct narrowed {
    struct gt_kernel kernel;
    struct gt_point held;
};

static void narrow(struct narrowed *to, const struct gt_candidate *from, uint64_t held, bool bets,
                   struct gt_constraint *constraint)
{
    to->kernel = *from->kernel;
    to->held = from->point;
    for (size_t i = 0; i < to->kernel.params; i++)
        if (held >> i & 1) {
            to->kernel.param[i].value = &to->held.value[i];
            to->kernel.param[i].count = 1;
            to->kernel.param[i].standard = 0;
        }
    to->kernel.constraint = constraint;
    to->kernel.constraints = 0;
    for (size_t i = 0; i < from->kernel->constraints; i++)
        if (bets || !from->kernel->constraint[i].bet)
            constraint[to->kernel.constraints++] = from->kernel->constraint[i];
}

/* Makes the candidate valid without a change of the parameters in `held`; false: no such point was
 * found, and the candidate is unchanged. */
static bool repair(struct gt_candidate *candidate, uint64_t held, bool bets)
{
    struct gt_constraint *constraint =
        calloc(candidate->kernel->constraints + 1, sizeof(*constraint));
    struct narrowed *narrowed = calloc(1, sizeof(*narrowed));
    struct gt_candidate copy = *candidate;
    struct gt_geometry geometry;
    bool found = false;

    if (narrowed && constraint) {
        narrow(narrowed, candidate, held, bets, constraint);
        copy.kernel = &narrowed->kernel;
        found = gt_lookup_repair(&copy, &geometry);
        if (!found) {
            copy.point = candidate->point;
            found = gt_lookup_walk(&copy, &geometry);
        }
    }
    for (size_t i = 0; i < candidate->kernel->params; i++)
        found &= !(held >> i & 1) || copy.point.value[i] == candidate->point.value[i];
    if (found)
        candidate->point = copy.point;
    free(constraint);
    free(narrowed);
    return found;
}

/* Writes the values of `now` that differ from those of `before`. */
static void list_changes(char text[GT_TRY_CHANGED_MAX], const struct gt_kernel *kernel,
                         const struct gt_point *before, const struct gt_point *now)
{
    size_t used = 0;

    for (size_t i = 0; i < kernel->params && used < GT_TRY_CHANGED_MAX; i++)
        if (before->value[i] != now->value[i])
            used += (size_t)snprintf(text + used, GT_TRY_CHANGED_MAX - used, "%s%s=%" PRId64,
                                     used ? "," : "", kernel->param[i].name, now->value[i]);
}

/* Takes the nearest valid point; named parameters keep their values if possible. */
static bool take_nearest(struct gt_try *attempt, struct gt_candidate *candidate)
{
    const struct gt_point before = candidate->point;

    if (!repair(candidate, attempt->named, true) && !repair(candidate, attempt->named, false) &&
        (!attempt->named || !repair(candidate, 0, false)))
        return false;
    attempt->candidate.point = candidate->point;
    list_changes(attempt->changed, candidate->kernel, &before, &candidate->point);
    return true;
}

/* Checks the point's constraints on the device.  A point that is not valid on this device becomes
 * the nearest valid point, with a remark on cli->log; if no valid point is found, the point is
 * refused.  A point that a sweep would leave out as slow is allowed, with a remark. */
static int check_point(struct gt_try *attempt, struct gt_device device, struct gt_err *err)
{
    struct gt_candidate candidate = attempt->candidate;
    const struct gt_kernel *kernel = candidate.kernel;
    const struct gt_constraint *constraint = kernel->constraint;
    FILE *log = attempt->cli->quiet ? NULL : attempt->cli->log;
    int failed = -1, rc;

    candidate.device = &device;
    device.chained = attempt->on_cpu; /* on the CPU, points for chains alone are tried, too */
    rc = gt_candidate_possible(&candidate, &failed, err);
    if ((rc || failed >= 0) && take_nearest(attempt, &candidate)) {
        if (log && failed >= 0)
            fprintf(log, "the point is not valid on sm_%d: \"%s\" does not hold: %s\n", device.cc,
                    gt_expr_text(constraint[failed].expr), constraint[failed].why);
        if (log)
            fprintf(log, "the nearest valid point is tried, with %s\n", attempt->changed);
        rc = GT_OK;
    } else if (!rc && failed >= 0) {
        return gt_err_set(err, GT_ERANGE,
                          "the point is not valid on sm_%d: \"%s\" does not hold: %s", device.cc,
                          gt_expr_text(constraint[failed].expr), constraint[failed].why);
    }
    GT_STEP(rc, gt_candidate_valid(&candidate, &failed, err));
    if (!rc && failed >= 0 && log)
        fprintf(log, "a sweep on sm_%d leaves this point out: \"%s\" does not hold: %s\n",
                device.cc, gt_expr_text(constraint[failed].expr), constraint[failed].why);
    return rc;
}

#define DEFAULT_ARCH 86

/* Sets the device if there is no GPU: the profile of --arch, or of the nearest arch that the kernel
 * supports. */
static int find_device(struct gt_try *attempt, struct gt_err *err)
{
    const struct gt_kernel *kernel = attempt->candidate.kernel;
    const struct gt_serves *entry = &kernel->entry[0]; /* or that of the problem's type */
    const char *name = NULL;
    char text[GT_STAND_IN_MAX];
    int rc, cc = DEFAULT_ARCH;

    for (size_t i = kernel->entries; i-- > 0;)
        if (kernel->entry[i].types >> attempt->problem.type & 1)
            entry = &kernel->entry[i];

    if (attempt->options->arch && gt_gpu_parse(attempt->options->arch, &cc, &name, err))
        return err ? err->code : GT_ESYNTAX;
    if (!attempt->options->arch && cc < entry->min_cc)
        cc = entry->min_cc;
    if (!attempt->options->arch && cc > entry->max_cc)
        cc = entry->max_cc;
    rc = gt_device_profile_of(&attempt->device, attempt->cli->data_dir, cc, name, err);
    if (!rc && !attempt->cli->quiet && gt_stand_in(text, &attempt->device, name))
        fprintf(attempt->cli->log, "%s\n", text);
    return rc;
}

static int open_candidate(struct gt_try *attempt, struct gt_err *err)
{
    const struct gt_try_options *options = attempt->options;
    const struct gt_cli *cli = attempt->cli;
    struct gt_candidate *candidate = &attempt->candidate;
    struct gt_pattern point = {.named = 0};
    int rc;

    if (!options->problem)
        return gt_err_set(err, GT_ESYNTAX,
                          "name the problem: tune try KERNEL [POINT] --problem 512x512x512");
    rc = gt_session_complete(&attempt->problem, options->problem, &options->parts, err);
    GT_STEP(rc, gt_kernels_load(&attempt->kernels, cli->data_dir, options->kernels_dir,
                                options->include_dirs, err));
    if (rc)
        return rc;
    gt_problem_format(&attempt->problem, attempt->problem_text);
    candidate->problem = &attempt->problem;
    candidate->device = &attempt->device;
    candidate->kernel = gt_kernels_find(&attempt->kernels, cli->argument[0], err);
    rc = candidate->kernel ? GT_OK : GT_ENOTFOUND;
    GT_STEP(rc, gt_pattern_parse(&point, candidate->kernel,
                                 cli->arguments > 1 ? cli->argument[1] : "", err));
    candidate->point = point.point;
    attempt->named = point.named;
    if (!rc && (attempt->on_cpu || options->arch))
        rc = find_device(attempt, err);
    /* The emulator has a few SMs and runs smaller problems; the constraints are checked for the
     * problem as asked for.  The emulator says which problems the kernel does not serve. */
    if (!rc && attempt->on_cpu &&
        gt_kernel_serves(candidate->kernel, &attempt->problem, &attempt->device))
        rc = check_point(attempt, attempt->device, err);
    return rc;
}

/* Runs the emulator in the folder of --keep or, without --keep, in a folder that is removed
 * afterwards. */
static int emulate(struct gt_try *attempt, struct gt_err *err)
{
    struct gt_scratch folder = {0};
    int rc;

    if (attempt->keep)
        return emulate_in(attempt, attempt->keep, err);
    rc = gt_scratch_make(&folder, err);
    GT_STEP(rc, emulate_in(attempt, folder.path, err));
    gt_scratch_remove(&folder);
    return rc;
}

/* ---- the report ---- */

static int print_json(const struct gt_try *attempt, const char *point, struct gt_err *err)
{
    const struct gt_trial *trial = &attempt->trial;
    const struct gt_baseline *baseline = &attempt->baseline;
    const bool timed = !attempt->on_cpu && trial->status == GT_STATUS_OK;
    cJSON *json = cJSON_CreateObject();

    gt_json_add(json,
                "format=%s kernel=%s point=%s changed=%s problem=%s on=%s status=%s detail=%s",
                "gemmtune try 1", attempt->candidate.kernel->name, point,
                *attempt->changed ? attempt->changed : NULL, attempt->problem_text,
                attempt->on_cpu ? "cpu" : "cuda", gt_status_name(trial->status), trial->detail);
    if (attempt->on_cpu)
        gt_json_add(json, "run_as=%s problems=%d runs=%d wrong=%d", attempt->run_as,
                    attempt->problems, attempt->runs, attempt->wrong);
    if (timed)
        gt_json_add(json, "device=%s us=%g lo_us=%g hi_us=%g err_u=%g registers=%d shared_bytes=%g",
                    attempt->device.name, trial->us, trial->lo_us, trial->hi_us, trial->err_u,
                    trial->registers, (double)trial->shared_bytes);
    if (timed && baseline->us > 0)
        gt_json_add(json, "baseline=%s baseline_us=%g ratio=%g", baseline->name, baseline->us,
                    baseline->us / trial->us);
    return gt_cmd_print_json(attempt->cli, json, err);
}

static void print_measured(const struct gt_try *attempt)
{
    const struct gt_trial *trial = &attempt->trial;
    FILE *out = attempt->cli->out;

    if (trial->status != GT_STATUS_OK)
        return;
    fprintf(out, "  error      %.1f u, u = 2^-%d\n", trial->err_u,
            attempt->problem.acc == GT_F64 ? 53 : 24);
    fprintf(out, "  time       %.2f us [%.2f, %.2f], %.2f TFLOP/s\n", trial->us, trial->lo_us,
            trial->hi_us, gt_problem_flops(&attempt->problem) / trial->us * 1e-6);
    if (attempt->baseline.us > 0)
        fprintf(out, "  cuBLAS     %.2f us, ratio %.3f (%s)\n", attempt->baseline.us,
                attempt->baseline.us / trial->us, attempt->baseline.name);
    fprintf(out, "  uses       %d registers, %d bytes spilled, %lld bytes of shared memory\n",
            trial->registers, trial->spill_bytes, (long long)trial->shared_bytes);
}

static void print_emulated(const struct gt_try *attempt)
{
    FILE *out = attempt->cli->out;

    if (*attempt->run_as && strcmp(attempt->run_as, attempt->problem_text) != 0)
        fprintf(out, "  run as     %s: the problem is too large for an emulator\n",
                attempt->run_as);
    if (attempt->problems)
        fprintf(out,
                "  checked    %d problem%s of this type, layout and epilogue, ragged ones too: "
                "%d of %d runs right\n",
                attempt->problems, attempt->problems == 1 ? "" : "s",
                attempt->runs - attempt->wrong, attempt->runs);
}

static const char *verdict(const struct gt_try *attempt)
{
    return attempt->trial.status == GT_STATUS_OK      ? "right"
           : attempt->trial.status == GT_STATUS_WRONG ? "WRONG"
                                                      : gt_status_name(attempt->trial.status);
}

static void print_report(const struct gt_try *attempt, const char *point)
{
    FILE *out = attempt->cli->out;

    fprintf(out, "%s%s%s on %s, ", attempt->candidate.kernel->name, *point ? " " : "", point,
            attempt->problem_text);
    gt_columns_put(out, attempt->on_cpu ? "in the emulator" : attempt->device.name);
    fputc('\n', out);
    if (attempt->on_cpu)
        print_emulated(attempt);
    else
        print_measured(attempt);
    fprintf(out,
            attempt->trial.status == GT_STATUS_OK && *attempt->trial.detail
                ? "  verdict    %s (%s)\n"
            : *attempt->trial.detail ? "  verdict    %s: %s\n"
                                     : "  verdict    %s%s\n",
            verdict(attempt), attempt->trial.detail);
    if (attempt->keep)
        fprintf(out, "  kept in    %s\n", attempt->keep);
}

static int report_verdict(struct gt_try *attempt, struct gt_err *err)
{
    struct gt_strbuf point = GT_STRBUF_INIT;
    int rc;

    gt_point_format(&point, attempt->candidate.kernel, &attempt->candidate.point);
    rc = gt_strbuf_check(&point, err);
    if (!rc && attempt->cli->json)
        rc = print_json(attempt, point.text, err);
    else if (!rc)
        print_report(attempt, point.text);
    if (!rc && attempt->trial.status != GT_STATUS_OK)
        rc = gt_err_set(err, GT_EXIT_NOTHING, "%s is not right for %s: %s",
                        attempt->candidate.kernel->name, attempt->problem_text,
                        gt_status_name(attempt->trial.status));
    gt_strbuf_release(&point);
    return rc;
}

/* ---- on a GPU: the evaluator proves the candidate and times it, beside cuBLASLt ---- */

static int open_evaluator(struct gt_evaluator **evaluator, const struct gt_try *attempt,
                          const char *cache_dir, struct gt_err *err)
{
    const struct gt_try_options *options = attempt->options;
    const struct gt_evaluator_options wanted = {
        .data_dir = attempt->cli->data_dir,
        .cache_dir = cache_dir,
        .kernels_dir = options->kernels_dir,
        .include_dirs = options->include_dirs,
        .jobs = 1,
        .launch_deadline_s = (double)options->deadline,
        .baseline = true,
        .bench = {.seed = options->seed ? (uint64_t)options->seed : 1},
        .signals = attempt->cli->signals,
    };
    const char *device = options->device ? options->device : "cuda";
    int rc;

    if (strncmp(device, "cuda", strlen("cuda")) != 0)
        return gt_err_set(err, GT_ESYNTAX,
                          "--device %s: `tune try` measures; it takes cuda or cuda:N", device);
    rc = gt_evaluator_open(evaluator, device, &wanted, err);
    if (rc == GT_ENOGPU || rc == GT_ENOLIB)
        return gt_err_prefix(err, rc, "--on cpu tries it without a GPU");
    return rc;
}

static const struct gt_rounds rounds = {41, 200, 2e6};

/* Times the candidate in alternation with cuBLASLt's best answer, if there is one. */
static int compare(struct gt_try *attempt, struct gt_evaluator *evaluator, struct gt_err *err)
{
    struct gt_trial baseline;
    int rc = evaluator->ops->baseline(evaluator, &attempt->baseline, err);

    if (rc == GT_ENOLIB || rc == GT_ENOTFOUND)
        attempt->baseline.us = 0;
    else if (rc)
        return rc;
    rc = evaluator->ops->final(evaluator, &attempt->candidate, 1,
                               gt_rounds_for(&rounds, 2, 2 * attempt->trial.us), &attempt->trial,
                               rc ? NULL : &baseline, err);
    if (!rc && attempt->baseline.us > 0)
        attempt->baseline.us = baseline.us;
    return rc;
}

/* Compiles, proves and times the candidate once. */
static int race(struct gt_try *attempt, struct gt_evaluator *evaluator, struct gt_err *err)
{
    uint64_t id;
    int rc = evaluator->ops->submit(evaluator, 1, &attempt->candidate, err);

    while (!rc) {
        rc = evaluator->ops->collect(evaluator, 1000, &id, &attempt->trial, err);
        if (rc == 0 && *attempt->cli->signals)
            return gt_err_set(err, GT_EINTERRUPTED, "interrupted");
    }
    return rc > 0 ? GT_OK : rc;
}

/* Proves and times the candidate in a GPU worker; attempt->device is then that GPU. */
static int measure(struct gt_try *attempt, struct gt_err *err)
{
    struct gt_evaluator *evaluator = NULL;
    char why[GT_UNSERVED_MAX];
    char *cache_dir = NULL;
    int rc = gt_session_cache(&cache_dir, err);

    GT_STEP(rc, open_evaluator(&evaluator, attempt, cache_dir, err));
    if (!rc)
        attempt->device = evaluator->device;
    if (!rc &&
        gt_unserved(why, "it", &attempt->candidate.kernel, 1, &attempt->problem, &attempt->device))
        rc = gt_err_set(err, GT_ERANGE, "kernel %s does not serve this problem on sm_%d: %s",
                        attempt->candidate.kernel->name, attempt->device.cc, why);
    GT_STEP(rc, check_point(attempt, attempt->device, err));
    GT_STEP(rc, evaluator->ops->open_problem(evaluator, &attempt->problem, err));
    GT_STEP(rc, race(attempt, evaluator, err));
    if (!rc && attempt->trial.status == GT_STATUS_OK)
        rc = compare(attempt, evaluator, err);
    gt_evaluator_close(evaluator);
    free(cache_dir);
    return rc;
}

/* ---- the command ---- */

static int run(struct gt_cli *cli, const void *fields, struct gt_err *err)
{
    struct gt_try attempt = {.cli = cli, .options = fields};
    int rc;

    attempt.on_cpu = attempt.options->on && strcmp(attempt.options->on, "cpu") == 0;
    rc = open_candidate(&attempt, err);
    if (!rc && attempt.options->keep)
        rc = gt_keep_open(&attempt.keep, attempt.options->keep, err);
    GT_STEP(rc, attempt.on_cpu ? emulate(&attempt, err) : measure(&attempt, err));
    if (!rc && attempt.keep)
        rc = gt_keep_candidate(cli, &attempt.candidate, attempt.keep, err);
    GT_STEP(rc, report_verdict(&attempt, err));
    gt_kernels_release(&attempt.kernels);
    free(attempt.keep);
    return rc;
}

static const struct gt_option option_table[] = {
    GT_TEXT(gt_try_options, problem, "problem", 'p', "PROBLEM",
            "what to compute, e.g. 512x512x512:f32:nt (needed)"),
    GT_CHOICE(gt_try_options, on, "on", 0, "WHERE", "cuda|cpu",
              "cuda (default): proves and times it on a GPU; cpu: runs it in the emulator, under "
              "AddressSanitizer and UndefinedBehaviorSanitizer"),
    GT_TEXT(gt_try_options, keep, "keep", 0, "DIR",
            "leave source, PTX, cubin, SASS and logs in this folder"),
    GT_TEXT(gt_try_options, kernels_dir, "kernels-dir", 0, "DIR",
            "a folder with descriptions of your own kernels"),
    GT_TEXT(gt_try_options, include_dirs, "include-dir", 'I', "DIR",
            "where templates of --kernels-dir also find headers: DIR[:DIR...]"),
    GT_TEXT(gt_try_options, device, "device", 'd', "DEVICE",
            "the GPU: cuda (default, the first one) or cuda:N"),
    GT_ARCH(
        gt_try_options, arch,
        "with --on cpu: the GPU whose constraints hold, and what --keep makes PTX and cubin for "
        "(default: sm_86, or the nearest "
        "that the kernel is for)"),
    GT_INTEGER(gt_try_options, deadline, "deadline", 0, "SECONDS", 1, 3600,
               "the candidate is killed on the GPU after this time, more for large problems "
               "(default: 10); in the emulator, after this CPU time of a run (default: 60)"),
    GT_INTEGER(gt_try_options, seed, "seed", 0, "N", 1, INT64_MAX,
               "seed of the operands' values on the GPU (default: 1)"),
    GT_OPTIONS_END,
};

const struct gt_command gt_command_try = {
    .name = "try",
    .doc = "whether one candidate is right and, on a GPU, how fast",
    .usage = "try KERNEL [POINT] --problem P [--on cuda|cpu] [OPTION]...",
    .about =
        "Proves one candidate (default: the kernel's default point) and times it beside "
        "cuBLASLt's\n"
        "best answer. Where the point is not valid for the problem the nearest valid one is "
        "tried,\n"
        "and what was changed is said: first of the parameters that were not named. Nothing is "
        "stored. With --on cpu it runs in an emulator instead, which "
        "needs\n"
        "a C++ compiler (g++, or the one that CXX names) but no GPU: the threads of a block run "
        "in\n"
        "two different orders, and with each warp as late as can be; every access is checked, and\n"
        "every element of D is compared with the exact result in float64, for the problem (made\n"
        "smaller where it is large) and for some thirty ragged ones. Exit code 4: the candidate "
        "is\n"
        "not right.\n"
        "\n"
        "  tune try simt_naive --problem 512x512x512 --on cpu\n"
        "  tune try rows BM=8 --kernels-dir mykernels --problem 512x512x512 --on cpu\n"
        "  tune try simt_thread2d --problem 4096x4096x4096 --keep kept\n",
    .argument = "KERNEL",
    .group = {{option_table, 0, NULL},
              {gt_problem_part_table, offsetof(struct gt_try_options, parts), NULL}},
    .size = sizeof(struct gt_try_options),
    .min_args = 1,
    .max_args = 2,
    .finishes = true,
    .run = run,
};
