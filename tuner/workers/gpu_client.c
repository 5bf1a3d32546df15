/* gpu_client.c - starts the GPU worker, sends it requests, and replaces it if it dies or is late.
 */
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "timing/calibrate.h"
#include "workers/compile_reason.h"
#include "workers/gpu_client.h"

#define MAX_ATTEMPTS  3   /* workers that fail to start in a row; then the device is lost */
#define MAX_KILLED    20  /* workers killed from outside while they start; counted separately */
#define MAX_NO_STARTS 20  /* refusals by the system to start a process, in a row */
#define RETRY_MS      500 /* after such a refusal */
#define HELLO_S       60  /* for driver, context and reading the kernels */
#define CANARY_S      30
#define CALIBRATE_S   60 /* most of it for compiling */
#define SEND_MS       10000
#define WAIT_MS       400           /* between two calls of `waiting` */
#define LONGEST_S     (7 * 86400.0) /* of a deadline, so that its milliseconds do not overflow */
#define GRACE_MS      2000          /* for a worker that closed its pipe to end by itself */

static void notice(const struct gt_gpu_client *client, const char *sentence)
{
    if (client->options.notice)
        client->options.notice(client->options.context, sentence);
}

/* Ends the worker, if any. */
static int end_worker(struct gt_gpu_client *client, int grace_ms, struct gt_err *err)
{
    int status, rc = gt_process_end(&client->process, grace_ms, &status, err);

    client->ready = client->baseline = false;
    client->killed = !rc && gt_process_killed(status);
    return rc;
}

void gt_gpu_client_put(struct gt_gpu_client *client, const struct gt_prepared *prepared)
{
    const struct gt_candidate *candidate = &prepared->candidate;
    const struct gt_kernel *kernel = candidate->kernel;
    const struct gt_geometry *geometry = &prepared->geometry;

    gt_wire_put_text(&client->frame, kernel->name);
    gt_wire_put_text(&client->frame, kernel->signature);
    gt_wire_put_text(&client->frame, prepared->key);
    gt_wire_put_bytes(&client->frame, candidate->point.value,
                      kernel->params * sizeof(candidate->point.value[0]));
    gt_wire_put_bytes(&client->frame, geometry, sizeof(*geometry));
    for (size_t i = 0, of = 0; i < geometry->launches; i++) { /* addresses mean nothing in the
                                                                 worker */
        while (kernel->launch[of].entry != geometry->launch[i].entry)
            of++;
        gt_wire_put_int(&client->frame, (int64_t)of);
    }
}

void gt_gpu_client_send(struct gt_gpu_client *client, double deadline_s)
{
    client->sent = gt_clock_ms();
    client->deadline = client->sent + (int64_t)(1000 * fmin(deadline_s, LONGEST_S));
    gt_wire_send(client->process.fd, &client->frame, SEND_MS, NULL);
}

/* Ends a worker that is gone or late, and describes its end in *reply and in a notice. */
static int worker_lost(struct gt_gpu_client *client, bool late, struct gt_gpu_reply *reply,
                       struct gt_err *err)
{
    const double waited = (double)(gt_clock_ms() - client->sent) / 1000;
    char sentence[256];
    int rc = end_worker(client, late ? 0 : GRACE_MS, err);

    if (rc)
        return rc;
    client->killed = client->killed && !late;
    reply->lost = late ? GT_STATUS_TIMEOUT : client->killed ? GT_STATUS_KILLED : GT_STATUS_FAULT;
    if (late)
        snprintf(reply->how, sizeof(reply->how), "the worker did not answer in %.1f s", waited);
    else
        snprintf(reply->how, sizeof(reply->how), "the worker %s", client->process.how);
    snprintf(sentence, sizeof(sentence), "GPU %d: %s", client->options.ordinal, reply->how);
    notice(client, sentence);
    return 1;
}

int gt_gpu_client_poll(struct gt_gpu_client *client, int timeout_ms, struct gt_gpu_reply *reply,
                       struct gt_err *err)
{
    const int64_t left = client->deadline - gt_clock_ms();
    bool poisoned;
    int rc;

    *reply = (struct gt_gpu_reply){.lost = GT_STATUS_NONE};
    if (left < timeout_ms)
        timeout_ms = left > 0 ? (int)left : 0;
    rc = gt_wire_receive(&client->process.wire, &reply->in, timeout_ms, NULL);
    if (rc == 0 && gt_clock_ms() < client->deadline)
        return 0;
    if (rc > 0 && reply->in.type == GT_MSG_COMPILING) {
        client->compiling = gt_wire_get_int(&reply->in) != 0;
        return gt_gpu_client_poll(client, timeout_ms, reply, err); /* what was asked comes yet */
    }
    client->busy_s += (double)(gt_clock_ms() - client->sent) / 1000;
    if (rc <= 0)
        return worker_lost(client, rc == 0, reply, err);
    reply->code = (int)gt_wire_get_int(&reply->in);
    gt_wire_get_string(&reply->in, reply->sentence, sizeof(reply->sentence));
    poisoned = gt_wire_get_int(&reply->in) != 0;
    if (reply->in.failed || (reply->in.type != GT_MSG_DONE && reply->in.type != GT_MSG_READY))
        return worker_lost(client, false, reply, err);
    if (poisoned) /* the worker exits after this answer, which is valid */
        client->ready = false;
    return 1;
}

/* Sends the request and waits for the answer, or until more than `patience` signals have come. */
static int call(struct gt_gpu_client *client, double deadline_s, int patience,
                struct gt_gpu_reply *reply, struct gt_err *err)
{
    const struct gt_gpu_client_options *options = &client->options;
    int rc;

    gt_gpu_client_send(client, deadline_s);
    for (;;) {
        rc = gt_gpu_client_poll(client, WAIT_MS, reply, err);
        if (rc)
            return rc < 0 ? rc : GT_OK;
        if (options->waiting)
            options->waiting(options->context, (double)(gt_clock_ms() - client->sent) / 1000);
        if (options->signals && *options->signals > patience)
            return gt_err_set(err, GT_EINTERRUPTED, "%s",
                              patience ? "stopped at once"
                                       : "interrupted before the GPU was ready");
    }
}

int gt_gpu_client_call(struct gt_gpu_client *client, double deadline_s, struct gt_gpu_reply *reply,
                       struct gt_err *err)
{
    return call(client, deadline_s, 1, reply, err);
}

/* Calls the worker before it can serve candidates: the first signal ends that, because nothing is
 * lost, and a driver or compiler that hangs may hang for minutes.  A worker that takes another's
 * place finds attempts open, which the first signal lets end.  A lost worker is an error, and so is
 * the worker's own error, with its sentence. */
static int must_answer(struct gt_gpu_client *client, double deadline_s, struct gt_gpu_reply *reply,
                       struct gt_err *err)
{
    int rc = call(client, deadline_s, client->begun, reply, err);

    if (rc)
        return rc;
    if (reply->lost && client->compiling && !client->killed)
        return gt_known_dead(reply->how, err);
    if (reply->lost)
        return gt_err_set(err, GT_ELOST, "%s", reply->how);
    return reply->code ? gt_err_set(err, reply->code, "%s", reply->sentence) : GT_OK;
}

/* Starts the process, after RETRY_MS again if the system is short of processes, descriptors or
 * memory. */
static int start_process(struct gt_gpu_client *client, struct gt_err *err)
{
    int rc = gt_process_start(&client->process, GT_ROLE_GPU, err);

    for (int try = 1; rc && try < MAX_NO_STARTS; try++) {
        poll(NULL, 0, RETRY_MS);
        rc = gt_process_start(&client->process, GT_ROLE_GPU, err);
    }
    return rc;
}

/* Replaces the worker, if any, by a new one, and reads its device. */
static int start_worker(struct gt_gpu_client *client, struct gt_err *err)
{
    const struct gt_gpu_client_options *options = &client->options;
    struct gt_gpu_reply reply;
    int rc = end_worker(client, GRACE_MS, err);

    client->killed = client->compiling = false; /* from now on they tell about the new worker */
    GT_STEP(rc, start_process(client, err));
    if (rc)
        return rc;
    gt_wire_begin(&client->frame, GT_MSG_HELLO);
    gt_wire_put_int(&client->frame, options->ordinal);
    gt_wire_put_text(&client->frame, options->data_dir);
    gt_wire_put_text(&client->frame, options->cache_dir);
    gt_wire_put_text(&client->frame, options->kernels_dir);
    gt_wire_put_text(&client->frame, options->include_dirs);
    gt_wire_put_bytes(&client->frame, &options->bench, sizeof(options->bench));
    rc = must_answer(client, HELLO_S, &reply, err);
    if (rc)
        return rc;
    gt_wire_get_struct(&reply.in, &client->device, sizeof(client->device));
    return gt_wire_finish(&reply.in, err);
}

/* Opens the problem in the worker and runs the canary kernel. */
static int prepare(struct gt_gpu_client *client, struct gt_err *err)
{
    struct gt_gpu_reply reply;
    int rc;

    gt_wire_begin(&client->frame, GT_MSG_PROBLEM);
    gt_wire_put_bytes(&client->frame, &client->problem, sizeof(client->problem));
    rc = must_answer(client, client->prepare_s, &reply, err);
    if (rc)
        return rc;
    gt_wire_begin(&client->frame, GT_MSG_REFERENCE);
    rc = must_answer(client, CANARY_S, &reply, err);
    client->ready = !rc;
    return rc;
}

/* Whether to try again after a worker did not start.  *failed counts workers that failed or were
 * late.  *killed counts workers killed from outside, because a kill is no sign of a lost device. */
static bool try_again(struct gt_gpu_client *client, int *failed, int *killed)
{
    *(client->killed ? killed : failed) += 1;
    return *failed < MAX_ATTEMPTS && *killed < MAX_KILLED;
}

/* Whether every other worker would have this error, too. */
static bool is_permanent(int rc)
{
    return rc == GT_EINTERRUPTED || rc == GT_ETOOBIG || rc == GT_ENOLIB || rc == GT_ENVRTC ||
           rc == GT_ECONFIG || rc == GT_ERANGE || rc == GT_EIO;
}

int gt_gpu_client_ready(struct gt_gpu_client *client, struct gt_err *err)
{
    struct gt_err why = {0};
    char sentence[256];
    int failed = 0, killed = 0, rc;

    while (!client->ready) {
        rc = start_worker(client, &why);
        client->respawns++;
        GT_STEP(rc, prepare(client, &why));
        if (is_permanent(rc))
            return gt_err_set(err, rc, "%s", why.msg);
        snprintf(sentence, sizeof(sentence), "GPU %d: a new worker %s%.150s",
                 client->options.ordinal, rc ? "failed: " : "is ready", rc ? why.msg : "");
        notice(client, sentence);
        if (rc && !try_again(client, &failed, &killed))
            return gt_err_set(
                err, GT_ELOST, "GPU %d (%s) is lost: %d new workers failed, the last: %s",
                client->options.ordinal, client->device.name, failed + killed, why.msg);
    }
    return GT_OK;
}

int gt_gpu_client_problem(struct gt_gpu_client *client, const struct gt_problem *problem,
                          double prepare_s, struct gt_err *err)
{
    int rc;

    client->problem = *problem;
    client->prepare_s = prepare_s;
    client->baseline = client->begun = false;
    if (client->process.pid) { /* the present worker opens the problem; if the worker dies of it, a
                                  new worker tries */
        rc = prepare(client, err);
        client->begun = !rc;
        if (!rc || is_permanent(rc))
            return rc;
    }
    client->ready = false;
    rc = gt_gpu_client_ready(client, err);
    client->begun = !rc;
    return rc;
}

int gt_gpu_client_renew(struct gt_gpu_client *client, struct gt_err *err)
{
    return end_worker(client, GRACE_MS, err);
}

int gt_gpu_client_calibrate(struct gt_gpu_client *client, bool only_copy,
                            struct gt_calibration *calibration, struct gt_err *err)
{
    struct gt_gpu_reply reply;
    int rc = client->process.pid ? GT_OK : start_worker(client, err);

    client->ready = false;
    client->baseline = false;
    if (rc)
        return rc;
    gt_wire_begin(&client->frame, GT_MSG_CALIBRATE);
    gt_wire_put_int(&client->frame, only_copy);
    rc = must_answer(client, CALIBRATE_S, &reply, err);
    if (rc)
        return rc;
    gt_wire_get_struct(&reply.in, calibration, sizeof(*calibration));
    return gt_wire_finish(&reply.in, err);
}

int gt_gpu_client_open(struct gt_gpu_client *client, const struct gt_gpu_client_options *options,
                       struct gt_err *err)
{
    int failed = 0, killed = 0, rc;

    *client = (struct gt_gpu_client){.options = *options, .lock = -1, .process.fd = -1};
    gt_strbuf_init(&client->frame);
    do /* a worker may be killed from outside before its first message */
        rc = start_worker(client, err);
    while (rc == GT_ELOST && try_again(client, &failed, &killed));
    GT_STEP(rc, gt_lock_take(&client->lock, client->device.uuid, err));
    if (rc)
        gt_gpu_client_close(client);
    return rc;
}

void gt_gpu_client_close(struct gt_gpu_client *client)
{
    end_worker(client, 0, NULL);
    gt_lock_release(client->lock);
    client->lock = -1;
    gt_strbuf_release(&client->frame);
}

/* ---- the errors of a CUDA driver that does not start ---- */

/* The answers of cuInit by name, with remedies.  Many drivers have no words for these errors before
 * they have started. */
static const struct {
    int result;
    const char *name, *meaning; /* the name without CUDA_ERROR_ */
} answers[] = {
    {1, "INVALID_VALUE",
     "the driver library is not that of the kernel's module: install both anew"},
    {2, "OUT_OF_MEMORY",
     "the GPU's or the host's memory is full: nvidia-smi shows whose processes hold it"},
    {3, "NOT_INITIALIZED",
     "the driver did not start: look at nvidia-smi and dmesg; in a container pass the GPU on "
     "(docker run --gpus all)"},
    {34, "STUB_LIBRARY",
     "the driver library is the toolkit's stub for linking: let LD_LIBRARY_PATH lead to the "
     "driver's own libcuda.so.1"},
    {46, "DEVICE_UNAVAILABLE",
     "another process has the GPU for itself, or its compute mode is \"prohibited\": nvidia-smi -q "
     "-d COMPUTE tells, nvidia-smi -c 0 makes it shared"},
    {100, "NO_DEVICE",
     "the driver sees no GPU: CUDA_VISIBLE_DEVICES may be empty or name none, the job may have "
     "none, or the container was started without --gpus"},
    {101, "INVALID_DEVICE",
     "CUDA_VISIBLE_DEVICES names a GPU that is not here: nvidia-smi -L lists those that are"},
    {304, "OPERATING_SYSTEM",
     "the system refuses the driver's device files: /dev/nvidia* must exist and this user must be "
     "allowed to open them"},
    {800, "NOT_PERMITTED",
     "this process may not use the GPU: look at the limits of the container or job"},
    {801, "NOT_SUPPORTED",
     "this system does not support the GPU's driver: nvidia-smi and dmesg tell more"},
    {802, "SYSTEM_NOT_READY",
     "the system is not ready: the fabric manager of GPUs with NVSwitch does not run yet, or "
     "failed; systemctl start nvidia-fabricmanager, of the driver's version"},
    {803, "SYSTEM_DRIVER_MISMATCH",
     "the driver library and the kernel's module are of different versions: reboot after an "
     "update, or install the container's or the host's one anew"},
    {804, "COMPAT_NOT_SUPPORTED_ON_DEVICE",
     "the forward compatibility library (cuda-compat) does not work on this GPU: take it out of "
     "LD_LIBRARY_PATH or update the driver"},
    {805, "MPS_CONNECTION_FAILED",
     "the MPS server does not answer: start it, or unset CUDA_MPS_PIPE_DIRECTORY"},
    {806, "MPS_RPC_FAILURE", "the MPS server failed: restart it (nvidia-cuda-mps-control)"},
    {807, "MPS_SERVER_NOT_READY",
     "the MPS server is not ready: wait, or restart it (nvidia-cuda-mps-control)"},
    {808, "MPS_MAX_CLIENTS_REACHED", "the MPS server has all its clients: end another one"},
    {809, "MPS_MAX_CONNECTIONS_REACHED",
     "the MPS server has all its connections: end another client"},
    {999, "UNKNOWN",
     "the driver failed without a reason: after a suspend or an update reload the module "
     "nvidia_uvm or reboot; dmesg tells more"},
};

void gt_driver_answer(char *text, size_t size)
{
    static const char words[] = "cuInit answers ";
    char *at = strstr(text, words), *end, *rest;
    long result;

    if (!at)
        return;
    at += strlen(words);
    result = strtol(at, &end, 10);
    if (end == at || !strncmp(end, ", CUDA_", 7)) /* the name is there already */
        return;
    for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++)
        if (answers[i].result == result) {
            rest = strdup(end + strcspn(end, ";"));
            snprintf(end, size - (size_t)(end - text), ", CUDA_ERROR_%s: %s%s", answers[i].name,
                     answers[i].meaning, rest ? rest : "");
            free(rest);
            return;
        }
}
