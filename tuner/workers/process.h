/* process.h - worker processes: this program, started again with a hidden first argument.
 *
 * A worker has its own session, so that a terminal's Ctrl-C does not reach it.  It dies with its
 * supervisor (PR_SET_PDEATHSIG, and the end of its pipe).  The supervisor ends it by SIGKILL to its
 * group and in no other way. */
#ifndef GT_PROCESS_H
#define GT_PROCESS_H

#include "gemmtune.h"
#include "workers/wire.h"

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

/* The hidden first arguments, and where a worker finds its end of the socket pair. */
#define GT_ROLE_COMPILE "__worker-compile"
#define GT_ROLE_GPU     "__worker-gpu"
#define GT_WORKER_FD    3

/* The workers' main functions; they return the exit code. */
int gt_worker_compile_main(int fd);
int gt_worker_gpu_main(int fd);

/* Exit codes of workers. */
enum gt_worker_exit {
    GT_WORKER_DONE = 0,       /* the supervisor closed the pipe */
    GT_WORKER_PROTOCOL = 64,  /* a malformed message */
    GT_WORKER_SETUP = 65,     /* the worker could not start and has said why */
    GT_WORKER_POISONED = 66,  /* a sticky CUDA error: only a new process helps */
    GT_WORKER_EXHAUSTED = 67, /* out of memory */
};

struct gt_process {
    pid_t pid;           /* 0: none */
    int fd;              /* the supervisor's end of the pair */
    struct gt_wire wire; /* its receiving side */
    char how[128];       /* how the process ended, in words that follow "the worker":
                            gt_process_describe */
};

int gt_process_start(struct gt_process *process, const char *role, struct gt_err *err);

/* Forks a process that runs `child` with its end of the pair and exits with the value that `child`
 * returns.  pipe, name: for sentences such as "cannot make a worker's pipe", "cannot start a
 * worker". */
int gt_process_fork(struct gt_process *process, int (*child)(void *context, int fd), void *context,
                    const char *pipe, const char *name, struct gt_err *err);

/* Closes fd, gives the process grace_ms to end by itself, and sends SIGKILL to its group.  *status
 * is the wait status, which process->how describes.  GT_ELOST: the process still exists 10 s after
 * SIGKILL.  A process that was never started is accepted. */
int gt_process_end(struct gt_process *process, int grace_ms, int *status, struct gt_err *err);

/* Whether a wait status is a kill from outside: SIGTERM, or SIGKILL from a person or from a system
 * short of memory.  A kill from outside is no sign of an error in the process's work. */
bool gt_process_killed(int status);

/* Starts a thread in which all signals are blocked, so that signals reach the caller and end its
 * waits.  Returns an errno. */
int gt_thread_start(pthread_t *thread, void *(*run)(void *context), void *context);

/* "was killed by signal 11 (Segmentation fault)" or "exited with code 66 (sticky CUDA error)". */
void gt_process_describe(int status, char *text, size_t size);

/* ---- lock.c: one tuner per GPU ----
 *
 * An advisory lock named by the GPU's UUID, held until it is released or its process has ended.
 * All users of a machine use the same folder, however they logged in: /run/lock if all users may
 * write to it, else /tmp.  $GEMMTUNE_LOCKS names another folder. */

/* Takes the lock; *fd is to be handed to gt_lock_release.  GT_EBUSY: another process holds the
 * lock; the sentence names the process if it is known.  GT_EIO: the file cannot be opened or is not
 * a lock file. */
int gt_lock_take(int *fd, const char *uuid, struct gt_err *err);
void gt_lock_release(int fd); /* -1 accepted */

#endif
