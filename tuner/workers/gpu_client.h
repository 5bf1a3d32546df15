/* gpu_client.h - the supervisor's side of the GPU worker: started, asked, watched, replaced.
 *
 * Between evaluator_cuda.c, which decides what is asked, and worker_gpu.c, which answers.  Whatever
 * ends the worker is told to the caller of the request it was working on; the next request finds a
 * new worker with the same problem open, after it has proved on a canary kernel that the device
 * still computes. */
#ifndef GT_GPU_CLIENT_H
#define GT_GPU_CLIENT_H

#include "timing/bench.h"
#include "base/digest.h"
#include "problem/trial.h"
#include "workers/process.h"
#include "workers/wire.h"

#include <signal.h>

struct gt_gpu_client_options {
    int ordinal;
    const char *data_dir, *cache_dir, *kernels_dir; /* kernels_dir may be NULL */
    struct gt_bench_options bench;
    void (*notice)(void *context, const char *sentence); /* NULL: nobody listens */
    void *context;
    const volatile sig_atomic_t *signals; /* more than 1 ends waits with GT_EINTERRUPTED; or NULL */
};

struct gt_gpu_client {
    struct gt_gpu_client_options options;
    struct gt_device device; /* known after open */
    struct gt_process process;
    struct gt_wire wire;
    struct gt_strbuf frame; /* the request being built */
    int lock;               /* of the device; -1: not held */
    bool ready;             /* a worker is up, its problem open, its canary alive */
    bool baseline;          /* the worker has cuBLASLt open for the problem */
    bool killed;            /* the last worker was ended from outside (gt_process_killed) */
    struct gt_problem problem;
    double prepare_s; /* deadline of opening the problem */
    int64_t sent, deadline;
    int respawns;
    double busy_s; /* worker at work on requests */
};

/* How a request ended. */
struct gt_gpu_reply {
    enum gt_status lost; /* GT_STATUS_NONE: answered; FAULT: the worker died; TIMEOUT: it was late
                            and we ended it; KILLED: somebody else did */
    char how[160];       /* lost: "the worker was killed by signal 11 (Segmentation fault)" */
    int code;            /* answered: GT_OK or the error, with its sentence */
    char sentence[512];
    struct gt_wire_in in; /* answered with GT_OK: what follows; valid until the next call */
};

/* Starts a first worker, learns the device, takes its lock (GT_EBUSY). */
int gt_gpu_client_open(struct gt_gpu_client *client, const struct gt_gpu_client_options *options,
                       struct gt_err *err);
void gt_gpu_client_close(struct gt_gpu_client *client); /* kills the worker */

/* The worker opens the problem, now and after every respawn, within prepare_s. */
int gt_gpu_client_problem(struct gt_gpu_client *client, const struct gt_problem *problem,
                          double prepare_s, struct gt_err *err);

/* Makes sure that a worker is ready; GT_ELOST after three attempts that failed. */
int gt_gpu_client_ready(struct gt_gpu_client *client, struct gt_err *err);

/* Fields of a candidate, in the frame between begin and send. */
void gt_gpu_client_put(struct gt_gpu_client *client, const struct gt_candidate *candidate,
                       const char *key);

/* Ends the worker: the next problem is opened by a new one. */
int gt_gpu_client_renew(struct gt_gpu_client *client, struct gt_err *err);

/* What the device reaches, or only its copy (tuner/timing/calibrate.h).  Whatever problem was open
 * is not any more. */
struct gt_calibration;
int gt_gpu_client_calibrate(struct gt_gpu_client *client, bool only_copy,
                            struct gt_calibration *calibration, struct gt_err *err);

/* Sends the frame; the answer is due in deadline_s.  A worker that cannot be written to is found
 * dead by poll. */
void gt_gpu_client_send(struct gt_gpu_client *client, double deadline_s);

/* Waits at most timeout_ms for the answer: 1 and *reply, 0: not yet, GT_ELOST: the worker cannot be
 * killed. */
int gt_gpu_client_poll(struct gt_gpu_client *client, int timeout_ms, struct gt_gpu_reply *reply,
                       struct gt_err *err);

/* send, then poll until there is an answer; GT_EINTERRUPTED if a second signal came. */
int gt_gpu_client_call(struct gt_gpu_client *client, double deadline_s, struct gt_gpu_reply *reply,
                       struct gt_err *err);

#endif
