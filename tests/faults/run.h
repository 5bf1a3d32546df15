/* run.h - starts `tune` for the fault tests, kills it or its workers, and finds processes that are
 * left. */
#ifndef GT_TEST_RUN_H
#define GT_TEST_RUN_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* Where and how sweeps run. */
struct run_options {
    const char *program; /* build/tune */
    const char *kernels; /* the folder of planted.json and planted.cu */
    char sound[128];     /* a copy of that folder, without the faults */
    const char *device, *shape;
    const char *stub; /* folder with the stub libraries; NULL: the real ones */
    char folder[96];  /* scratch: databases, caches, logs */
    char mark[64];    /* "GT_SOAK=<unique>", in the environment of everything started */
};

/* Starts a sweep of the kernel `planted` of a folder, over its whole space, in a process group of
 * its own. */
pid_t run_start(const struct run_options *options, const char *kernels, const char *db);

/* Makes this process and its children load the stub libraries, if there is a folder of them. */
void run_use_stub(const struct run_options *options);

/* Waits at most this long; returns the wait status, or -1 after it has killed the process. */
int run_wait(pid_t pid, double seconds);

/* Counts the marked processes other than `except`; those waiting to be reaped do not count. */
int run_count(const struct run_options *options, pid_t except);

/* Sends signo to one process chosen by `random` among the marked ones whose command line has
 * `role`; false: there is none. */
bool run_kill_worker(const struct run_options *options, const char *role, unsigned random,
                     int signo);

/* Sends SIGKILL to every marked process at once. */
void run_kill_all(const struct run_options *options);

/* Waits at most this long for all marked processes to end; returns how many are left. */
int run_orphans(const struct run_options *options, double seconds);

double run_now(void); /* seconds, monotonic */
void run_nap(double seconds);

/* Prints the last lines of the log of a sweep. */
void run_print_log(const struct run_options *options, FILE *out);

#endif
