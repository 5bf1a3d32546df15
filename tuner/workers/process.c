/* process.c - starts, ends and describes worker processes. */
#include "workers/process.h"

#include "base/clock.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KILL_WAIT_MS 10000 /* a process in an uninterruptible driver call may never end */

/* Closes every descriptor from `first` on. */
static void close_from(int first)
{
    long limit, fd;

#ifdef SYS_close_range
    if (!syscall(SYS_close_range, (unsigned)first, ~0u, 0u))
        return;
#endif
    limit = sysconf(_SC_OPEN_MAX);
    for (fd = first; fd < (limit > 0 ? limit : 1024); fd++)
        close((int)fd);
}

/* Becomes a worker; only async-signal-safe calls are allowed, as the parent may have threads. */
static int become_worker(void *role, int fd)
{
    char *const argv[] = {(char *)"tune", role, NULL};
    sigset_t blocked;
    int null, signo;

    for (signo = 1; signo < NSIG; signo++)
        signal(signo, SIG_DFL);
    /* NVRTC handles SIGTERM itself and exits with a code that looks like NVRTC's own failure.  The
     * supervisor decides when a worker ends. */
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_SETMASK, &blocked, NULL);
    if (dup2(fd, GT_WORKER_FD) < 0 || (null = open("/dev/null", O_RDWR)) < 0)
        return GT_WORKER_SETUP;
    dup2(null, 0);
    dup2(null, 1);
    close_from(GT_WORKER_FD + 1);
    execv("/proc/self/exe", argv);
    return GT_WORKER_SETUP;
}

int gt_process_start(struct gt_process *process, const char *role, struct gt_err *err)
{
    return gt_process_fork(process, become_worker, (void *)role, "a worker's pipe", "a worker",
                           err);
}

int gt_process_fork(struct gt_process *process, int (*child)(void *context, int fd), void *context,
                    const char *pipe, const char *name, struct gt_err *err)
{
    const pid_t parent = getpid();
    int pair[2], rc;
    pid_t pid;

    *process = (struct gt_process){.fd = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        return gt_err_set(err, GT_EIO, "cannot make %s: %s", pipe, strerror(errno));
    if (pair[1] == GT_WORKER_FD) { /* dup2 to the same number would keep close-on-exec */
        int moved = fcntl(pair[1], F_DUPFD_CLOEXEC, GT_WORKER_FD + 1);

        close(pair[1]);
        pair[1] = moved;
    }
    pid = pair[1] < 0 ? -1 : fork();
    if (pid == 0) {
        setsid();
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) /* the parent died before the line above */
            _exit(GT_WORKER_DONE);
        close(pair[0]);
        _exit(child(context, pair[1]));
    }
    rc = pid < 0 ? gt_err_set(err, GT_EIO, "cannot start %s: %s", name, strerror(errno)) : GT_OK;
    if (pair[1] >= 0)
        close(pair[1]);
    if (rc) {
        close(pair[0]);
        return rc;
    }
    *process = (struct gt_process){.pid = pid, .fd = pair[0]};
    gt_wire_init(&process->wire, pair[0]);
    return GT_OK;
}

int gt_thread_start(pthread_t *thread, void *(*run)(void *context), void *context)
{
    sigset_t all, before;
    int code;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    code = pthread_create(thread, NULL, run, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

/* Whether the process ended within ms.  It is not reaped, so that its group keeps its number. */
static bool ended(pid_t pid, int ms)
{
    const int64_t deadline = gt_clock_ms() + ms;
    const struct timespec step = {.tv_nsec = 1000000};

    for (;;) {
        siginfo_t info = {0};

        if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid == pid)
            return true;
        if (gt_clock_ms() >= deadline)
            return false;
        nanosleep(&step, NULL);
    }
}

int gt_process_end(struct gt_process *process, int grace_ms, int *status, struct gt_err *err)
{
    const pid_t pid = process->pid;

    *status = 0;
    if (process->fd >= 0)
        close(process->fd);
    gt_wire_release(&process->wire);
    *process = (struct gt_process){.fd = -1, .how = "cannot be killed"};
    if (pid <= 0)
        return GT_OK;
    if (grace_ms > 0)
        ended(pid, grace_ms);
    kill(-pid, SIGKILL); /* also ends the processes that the worker has started */
    kill(pid, SIGKILL);  /* the worker may not have reached setsid yet */
    if (!ended(pid, KILL_WAIT_MS))
        return gt_err_set(err, GT_ELOST, "worker %d still exists %d s after SIGKILL", (int)pid,
                          KILL_WAIT_MS / 1000);
    waitpid(pid, status, 0);
    gt_process_describe(*status, process->how, sizeof(process->how));
    return GT_OK;
}

bool gt_process_killed(int status)
{
    return WIFSIGNALED(status) && (WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGTERM);
}

void gt_process_describe(int status, char *text, size_t size)
{
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    const char *meaning = code == GT_WORKER_PROTOCOL    ? " (malformed message)"
                          : code == GT_WORKER_SETUP     ? " (could not start)"
                          : code == GT_WORKER_POISONED  ? " (sticky CUDA error)"
                          : code == GT_WORKER_EXHAUSTED ? " (out of memory)"
                                                        : "";

    if (WIFSIGNALED(status))
        snprintf(text, size, "was killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(text, size, "exited with code %d%s", code, meaning);
}
