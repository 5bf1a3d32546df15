/* cmd_preload.c - runs a program under libgemmtune_cublas.so; see cmd_preload.h. */
#include "commands/cmd_preload.h"

#include <dirent.h>
#include <fcntl.h>
#include <errno.h>
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
#include "serve/policy.h"

#define LIBRARY "libgemmtune_cublas.so"

static volatile sig_atomic_t running; /* the command's process, which the signal handler needs */

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

/* The file that the user names, as seen from any folder.  A link stays a link, because the path of
 * what it leads to may have a blank. */
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
    /* Without a folder, paths are those of where each program begins. */
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

int gt_preload_become(char **command, struct gt_err *err)
{
    fflush(NULL);
    execvp(command[0], command);
    return gt_err_set(err, errno == ENOENT ? GT_ENOTFOUND : GT_EIO, "%s: cannot be started: %s",
                      command[0], strerror(errno));
}

static void hand_on(int number)
{
    if (running > 0)
        kill(running, number);
}

/* Runs in the child and becomes the command; if it cannot, it writes the reason to the pipe. */
_Noreturn static void start(char **command, int fd)
{
    ssize_t written;

    execvp(command[0], command);
    written = write(fd, &errno, sizeof(errno));
    _exit(written == sizeof(errno) ? 127 : 126);
}

int gt_preload_run(char **command, int *status, struct gt_err *err)
{
    static const int handed_on[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
    struct sigaction action = {.sa_handler = hand_on, .sa_flags = SA_RESTART};
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
    /* The terminal sends these signals to the command, too. */
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
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
    prctl(PR_SET_DUMPABLE,
          0); /* the program's core file is not overwritten by one of this process */
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
    return 128 + WTERMSIG(status); /* as shells do, where the signal does not end this process */
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
