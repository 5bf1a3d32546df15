/* cmd_serve.c - tune serve: runs a program with winners in place of cuBLAS where they are faster;
 * also tune doctor --program, which reports on a program. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/place.h"
#include "base/strbuf.h"
#include "base/trust.h"
#include "commands/cmd_serve.h"
#include "console/cmd_write.h"
#include "console/commands.h"
#include "serve/policy.h"

struct options {
    const char *db, *accuracy, *policy, *report, *library;
    double margin;
    int64_t check;
    bool wait, compile, cublaslt;
};

static const struct gt_option option_table[] = {
    GT_TEXT(options, db, "db", 0, "FILE",
            "tuned tables, before the shipped one (default: your database)"),
    GT_CHOICE(options, accuracy, "accuracy", 0, "CLASS", "strict|f32|tf32",
              "what strict FP32 products may be computed with (default: strict)"),
    GT_REAL(options, margin, "margin", 0, "RATIO", 0.001, 100,
            "serve what was at least so many times as fast as cuBLAS (default: 1.03)"),
    GT_INTEGER(options, check, "check", 0, "N", 0, 1000000000,
               "compare every N-th served call of a problem with cuBLAS (default: none)"),
    GT_FLAG(options, wait, "wait", 0,
            "decide on the first call of a problem, so that all calls have the same bits"),
    GT_FLAG(options, compile, "compile", 0,
            "compile kernels that the cache lacks, in a thread of the program"),
    GT_FLAG(options, cublaslt, "cublaslt", 0,
            "serve cuBLASLt's own algorithms, too, where one was faster than cuBLAS's choice"),
    GT_TEXT(options, report, "report", 0, "FILE",
            "write what was served and what was not, at the end and on SIGUSR2; %p: process"),
    GT_TEXT(options, policy, "policy", 0, "FILE", "a file with any of these settings"),
    GT_TEXT(options, library, "library", 0, "FILE",
            "libgemmtune_cublas.so, if it is not beside this program"),
    GT_OPTIONS_END,
};

static int set_policy(const struct options *options, struct gt_err *err)
{
    char check[24], margin[32];
    const struct {
        const char *variable, *value;
    } settings[] = {{"GEMMTUNE_SERVE", getenv("GEMMTUNE_SERVE") ? NULL : "1"},
                    {"GEMMTUNE_DB", options->db},
                    {"GEMMTUNE_ACCURACY", options->accuracy},
                    {"GEMMTUNE_MARGIN", options->margin > 0 ? margin : NULL},
                    {"GEMMTUNE_CHECK", options->check ? check : NULL},
                    {"GEMMTUNE_WAIT", options->wait ? "1" : NULL},
                    {"GEMMTUNE_COMPILE", options->compile ? "1" : NULL},
                    {"GEMMTUNE_CUBLASLT", options->cublaslt ? "1" : NULL},
                    {"GEMMTUNE_REPORT", options->report},
                    {"GEMMTUNE_POLICY", options->policy}};
    int rc = gt_preload(options->library, err);

    snprintf(check, sizeof(check), "%" PRId64, options->check);
    snprintf(margin, sizeof(margin), "%.17g", options->margin);
    for (size_t i = 0; !rc && i < sizeof(settings) / sizeof(settings[0]); i++)
        rc = gt_preload_set(settings[i].variable, settings[i].value, err);
    return rc;
}

/* Reads the environment variables as the program would, so that a mistake is reported before
 * anything has begun.  Only the file of --db must exist now: GEMMTUNE_DB may stand in the
 * environment of a user who has not tuned yet. */
static int check_policy(const struct options *options, struct gt_err *err)
{
    struct gt_policy policy;
    int rc = gt_policy_read(&policy, NULL, err);

    if (!rc && options->db && access(policy.db, R_OK))
        rc = gt_err_set(err, GT_EDB, "%.1000s: cannot read the database: %s", policy.db,
                        strerror(errno));
    if (!rc && options->report)
        rc = gt_cmd_may_write(policy.report, err);
    return rc;
}

static int run(struct gt_cli *cli, const void *fields, struct gt_err *err)
{
    int rc = set_policy(fields, err);

    GT_STEP(rc, check_policy(fields, err));
    if (rc)
        return rc;
    fflush(NULL);
    execvp(cli->argument[0], cli->argument); /* returns only on failure */
    return gt_err_set(err, errno == ENOENT ? GT_ENOTFOUND : GT_EIO, "%s: cannot be started: %s",
                      cli->argument[0], strerror(errno));
}

static int print_report(void *context, const char *path, struct gt_err *err)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    int rc = gt_strbuf_add_file(&text, path, err);

    if (!rc)
        fputs(text.text, context);
    gt_strbuf_release(&text);
    return rc;
}

static int count_report(void *context, const char *path, struct gt_err *err)
{
    (void)path, (void)err;
    ++*(int *)context;
    return GT_OK;
}

int gt_cmd_doctor_program(struct gt_cli *cli, const char *db, char **command, struct gt_err *err)
{
    struct gt_scratch folder = {0};
    int status = 0, reports = 0;
    int rc = gt_preload(NULL, err);

    GT_STEP(rc, gt_preload_folder(&folder, "GEMMTUNE_REPORT", err));
    GT_STEP(rc, gt_preload_set("GEMMTUNE_SERVE", "0", err));
    GT_STEP(rc, gt_preload_set("GEMMTUNE_WAIT", "1", err));
    GT_STEP(rc, gt_preload_set("GEMMTUNE_DB", db, err));
    GT_STEP(rc, gt_preload_run(command, &status, err));
    GT_STEP(rc, gt_preload_files(folder.path, count_report, &reports, err));
    if (!rc && reports)
        rc = gt_preload_files(folder.path, print_report, cli->out, err);
    else if (!rc)
        fputs("no process asked cuBLAS for a product through a symbol that is taken\n", cli->out);
    gt_scratch_remove(&folder);
    return rc ? rc : gt_preload_end(status);
}

const struct gt_command gt_command_serve = {
    .name = "serve",
    .doc = "run a program with tuned kernels in place of cuBLAS",
    .usage = "serve [--db FILE] [--accuracy CLASS] [--report FILE] -- COMMAND [ARGUMENT]...",
    .about =
        "Becomes COMMAND, with libgemmtune_cublas.so before its cuBLAS. A product is served if a\n"
        "row of this very problem was measured on a GPU of this name, and was faster than\n"
        "cuBLAS by the margin; everything else is left to cuBLAS. The environment says the same\n"
        "without this command: LD_PRELOAD=libgemmtune_cublas.so and GEMMTUNE_... variables.\n"
        "\n"
        "  tune serve --report report.txt -- python3 train.py\n"
        "  tune serve --db mine.db --accuracy f32 --check 1000 -- ./solver\n",
    .group = {{option_table, 0, NULL}},
    .size = sizeof(struct options),
    .min_args = 1,
    .max_args = GT_WORDS_OF_A_PROGRAM,
    .needs_no_data = true,
    .run = run,
};

/* ---- a program under libgemmtune_cublas.so ---- */

#define LIBRARY "libgemmtune_cublas.so"

static volatile sig_atomic_t running; /* the command's process, for the signal handler */

/* Finds the library's file beside this program, where nobody else may have put it; the caller frees
 * *path. */
static int find_library(char **path, struct gt_err *err)
{
    static const char *const places[] = {"", "../lib/", "../lib64/", "../lib/x86_64-linux-gnu/",
                                         "../lib/aarch64-linux-gnu/"};
    struct gt_err refused = {0};
    char folder[PATH_MAX], real[PATH_MAX];
    uid_t owner;

    *path = NULL;
    if (!gt_code_folder(folder, &owner))
        return gt_err_set(err, GT_EIO, "cannot tell where this program is; --library names %s",
                          LIBRARY);
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        char *there;
        int rc;

        if (asprintf(&there, "%s/%s%s", folder, places[i], LIBRARY) < 0)
            return gt_err_nomem(err);
        rc = gt_trust(there, owner, real, refused.code == GT_EIO ? NULL : &refused);
        free(there);
        if (!rc && !access(real, R_OK))
            return (*path = strdup(real)) ? GT_OK : gt_err_nomem(err);
    }
    if (refused.code == GT_EIO)
        return gt_err_set(err, GT_EIO, "%s is not used: %s; --library names another", LIBRARY,
                          refused.msg);
    return gt_err_set(err, GT_ENOTFOUND,
                      "%s is neither beside this program (%s) nor in a lib folder beside that; "
                      "--library names it",
                      LIBRARY, folder);
}

/* The path of the library that the user names, valid in any folder.  A link is not followed,
 * because the path of its target may have a blank. */
static int name_library(char **path, const char *library, const char *folder, struct gt_err *err)
{
    if (access(library, R_OK))
        return gt_err_set(err, GT_ENOTFOUND, "%s: %s", library, strerror(errno));
    if (*library == '/' || !folder)
        *path = strdup(library);
    else if (asprintf(path, "%s/%s", folder, library) < 0)
        *path = NULL;
    return *path ? GT_OK : gt_err_nomem(err);
}

int gt_preload(const char *library, struct gt_err *err)
{
    const char *before = getenv("LD_PRELOAD");
    struct gt_strbuf value = GT_STRBUF_INIT;
    char *path = NULL, *folder = getcwd(NULL, 0);
    int rc = library ? name_library(&path, library, folder, err) : find_library(&path, err);

    if (!rc && strpbrk(path, " :"))
        rc = gt_err_set(err, GT_ERANGE,
                        "%s: LD_PRELOAD takes no path with a blank or a colon; --library names a "
                        "copy or a link elsewhere",
                        path);
    if (!rc) {
        gt_strbuf_addf(&value, "%s%s%s", path, before && *before ? ":" : "", before ? before : "");
        rc = gt_strbuf_check(&value, err);
    }
    GT_STEP(rc, gt_preload_set("LD_PRELOAD", value.text, err));
    /* Without a folder, paths are relative to the folder in which each program starts. */
    GT_STEP(rc, gt_preload_set(GT_POLICY_FOLDER, folder, err));
    gt_strbuf_release(&value);
    free(folder);
    free(path);
    return rc;
}

int gt_preload_set(const char *variable, const char *value, struct gt_err *err)
{
    return value && setenv(variable, value, 1) ? gt_err_nomem(err) : GT_OK;
}

/* Hands a signal of another process on; those of the terminal the command gets, too. */
static void hand_on(int number, siginfo_t *from, void *context)
{
    (void)context;
    if (running > 0 && from->si_code != SI_KERNEL)
        kill(running, number);
}

/* Runs in the child and becomes the command, or writes to the pipe why it cannot. */
_Noreturn static void start(char **command, int fd)
{
    ssize_t written;

    execvp(command[0], command);
    written = write(fd, &errno, sizeof(errno));
    _exit(written == sizeof(errno) ? 127 : 126);
}

int gt_preload_run(char **command, int *status, struct gt_err *err)
{
    static const int handed_on[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
    struct sigaction action = {.sa_sigaction = hand_on, .sa_flags = SA_RESTART | SA_SIGINFO};
    int fd[2], why = 0;
    pid_t child;

    fflush(NULL);
    if (pipe2(fd, O_CLOEXEC))
        return gt_err_set(err, GT_EIO, "cannot start a process: %s", strerror(errno));
    child = fork();
    if (child == 0)
        start(command, fd[1]);
    close(fd[1]);
    running = child;
    for (size_t i = 0; child > 0 && i < sizeof(handed_on) / sizeof(handed_on[0]); i++)
        sigaction(handed_on[i], &action, NULL);
    if (child > 0 && read(fd[0], &why, sizeof(why)) != sizeof(why))
        why = 0;
    close(fd[0]);
    if (child < 0)
        return gt_err_set(err, GT_EIO, "cannot start a process: %s", strerror(errno));
    while (waitpid(child, status, 0) < 0 && errno == EINTR)
        ;
    running = 0;
    if (why)
        return gt_err_set(err, why == ENOENT ? GT_ENOTFOUND : GT_EIO, "%s: cannot be started: %s",
                          command[0], strerror(why));
    return GT_OK;
}

int gt_preload_end(int status)
{
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    fflush(NULL);
    prctl(PR_SET_DUMPABLE, 0); /* a core file of this process would overwrite the program's */
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
    return 128 + WTERMSIG(status); /* as shells do, if the signal does not end this process */
}

int gt_preload_folder(struct gt_scratch *folder, const char *variable, struct gt_err *err)
{
    char *pattern = NULL;
    int rc = gt_scratch_make(folder, err);

    if (rc)
        return rc;
    if (asprintf(&pattern, "%s/%%p.txt", folder->path) < 0)
        return gt_err_nomem(err);
    rc = gt_preload_set(variable, pattern, err);
    free(pattern);
    return rc;
}

static int is_file(const struct dirent *entry)
{
    const size_t length = strlen(entry->d_name);

    return *entry->d_name != '.' && !(length > 4 && !strcmp(entry->d_name + length - 4, ".new"));
}

int gt_preload_files(const char *folder, gt_preload_visit *visit, void *context, struct gt_err *err)
{
    struct dirent **entry;
    int rc = GT_OK, entries = scandir(folder, &entry, is_file, alphasort);

    if (entries < 0)
        return gt_err_set(err, GT_EIO, "%s: cannot read the folder: %s", folder, strerror(errno));
    for (int i = 0; i < entries; i++) {
        char *path = NULL;

        if (!rc && asprintf(&path, "%s/%s", folder, entry[i]->d_name) < 0) {
            path = NULL;
            rc = gt_err_nomem(err);
        }
        GT_STEP(rc, visit(context, path, err));
        free(path);
        free(entry[i]);
    }
    free(entry);
    return rc;
}
