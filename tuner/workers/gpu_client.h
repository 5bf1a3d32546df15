/* gpu_client.h - the supervisor's side of the GPU worker: starts it, sends it requests, watches and
 * replaces it.
 *
 * The client stands between the evaluator "cuda", which chooses the requests, and worker_gpu.c,
 * which answers them.  If the worker ends, the caller of the request gets the reason.  The next
 * request goes to a new worker, which has opened the same problem and has shown with a canary
 * kernel that the device still computes. */
#ifndef GT_GPU_CLIENT_H
#define GT_GPU_CLIENT_H

#include <signal.h>
#include <stddef.h>

#include "problem/trial.h"
#include "timing/bench.h"
#include "workers/prepared.h"
#include "workers/process.h"
#include "workers/wire.h"

struct gt_gpu_client_options {
    int ordinal;
    const char *data_dir, *cache_dir;
    const char *kernels_dir, *include_dirs; /* may be NULL; as in gt_kernels_load */
    struct gt_bench_options bench;
    void (*notice)(void *context, const char *sentence); /* NULL: no notices */
    /* Called again and again while an answer takes longer than 0.4 s; may be NULL.  seconds: since
     * the request. */
    void (*waiting)(void *context, double seconds);
    void *context;
    const volatile sig_atomic_t
        *signals; /* a second signal ends waits with GT_EINTERRUPTED; may be NULL */
};

struct gt_gpu_client {
    struct gt_gpu_client_options options;
    struct gt_device device; /* known after open */
    struct gt_process process;
    struct gt_strbuf frame; /* the request being built */
    int lock;               /* the device's lock; -1: not held */
    bool ready;             /* a worker has the problem open, and its canary kernel ran */
    bool begun;             /* one had: attempts of the problem's candidates may be open */
    bool baseline;          /* the worker has cuBLASLt open for the problem */
    bool compiling;         /* the worker is in NVRTC, or ended there */
    bool killed;            /* the last worker was killed from outside (gt_process_killed) */
    struct gt_problem problem;
    double prepare_s; /* deadline of opening the problem */
    int64_t sent, deadline;
    int respawns;
    double busy_s; /* seconds that workers spent on requests */
};

/* How a request ended. */
struct gt_gpu_reply {
    enum gt_status lost; /* NONE: the request was answered; FAULT: the worker died; TIMEOUT: the
                            answer was late, so the worker was killed; KILLED: the worker was killed
                            from outside */
    char how[160];       /* if lost: "the worker was killed by signal 11 (Segmentation fault)" */
    int code;            /* if answered: GT_OK or an error */
    char sentence[512];  /* the sentence of the error in `code` */
    struct gt_wire_in
        in; /* if answered with GT_OK: the other fields of the answer, valid until the next call */
};

/* Starts a first worker, reads its device and takes the device's lock.  GT_EBUSY: another process
 * holds the lock. */
int gt_gpu_client_open(struct gt_gpu_client *client, const struct gt_gpu_client_options *options,
                       struct gt_err *err);
void gt_gpu_client_close(struct gt_gpu_client *client); /* kills the worker */

/* The worker opens the problem, now and after every respawn, within prepare_s. */
int gt_gpu_client_problem(struct gt_gpu_client *client, const struct gt_problem *problem,
                          double prepare_s, struct gt_err *err);

/* Makes sure that a worker is ready.  GT_ELOST: three attempts have failed. */
int gt_gpu_client_ready(struct gt_gpu_client *client, struct gt_err *err);

/* Puts a candidate's fields into the frame, between begin and send. */
void gt_gpu_client_put(struct gt_gpu_client *client, const struct gt_prepared *prepared);

/* Ends the worker, so that a new worker opens the next problem. */
int gt_gpu_client_renew(struct gt_gpu_client *client, struct gt_err *err);

/* Measures the rates that the device reaches, or only its copy rate (tuner/timing/calibrate.h).  An
 * open problem is closed. */
struct gt_calibration;
int gt_gpu_client_calibrate(struct gt_gpu_client *client, bool only_copy,
                            struct gt_calibration *calibration, struct gt_err *err);

/* Sends the frame; the answer is due in deadline_s seconds.  If the worker does not take the frame,
 * poll reports the worker as lost. */
void gt_gpu_client_send(struct gt_gpu_client *client, double deadline_s);

/* Waits at most timeout_ms for the answer.  1: *reply is set; 0: there is none yet; GT_ELOST: the
 * worker cannot be killed. */
int gt_gpu_client_poll(struct gt_gpu_client *client, int timeout_ms, struct gt_gpu_reply *reply,
                       struct gt_err *err);

/* Calls send, and poll until there is an answer.  GT_EINTERRUPTED: a second signal came (while a
 * worker starts, the first one is enough). */
int gt_gpu_client_call(struct gt_gpu_client *client, double deadline_s, struct gt_gpu_reply *reply,
                       struct gt_err *err);

/* Replaces the driver's words behind "cuInit answers N", in a sentence of gt_gpu_open or
 * gt_gpu_count, by the error's name and a remedy.  Other sentences, and sentences with an unknown
 * N, do not change. */
void gt_driver_answer(char *text, size_t size);

#endif
