/* worker_gpu.c - the process that uses the GPU: it proves and times the candidates it is sent.
 *
 * After a sticky CUDA error no result of this process can be trusted.  The process reports the
 * error and exits, and its supervisor starts another process. */
#include "base/err.h"
#include "cuda/cache.h"
#include "cuda/compile.h"
#include "timing/bench.h"
#include "timing/calibrate.h"
#include "timing/throttle.h"
#include "workers/gpu_client.h"
#include "workers/compile_reason.h"
#include "workers/process.h"
#include "workers/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REPLY_MS  60000
#define MAX_FINAL 64

struct worker {
    struct gt_wire wire;
    struct gt_strbuf reply;
    struct gt_gpu *gpu;
    struct gt_nvrtc *nvrtc;
    struct gt_kernels kernels;
    struct gt_bench *bench;
    struct gt_bench_options options;
    struct gt_problem problem;
    char *data_dir, *cache_dir;
};

/* A candidate that was received, with its image. */
struct request {
    struct gt_candidate candidate;
    struct gt_bench_entry entry; /* of candidate and binary */
    struct gt_binary binary;
};

/* Starts the answer; its fields follow if code is GT_OK.  A source that fails to compile here is
 * the project's own, so the compiler is first checked with the known source. */
static void begin_reply(struct worker *self, enum gt_message type, int code,
                        const struct gt_err *err)
{
    struct gt_err why = {0};
    char sentence[600];

    if (code == GT_ENVRTC && gt_known_check(self->nvrtc, gt_gpu_device(self->gpu)->cc, &why)) {
        code = why.code;
        err = &why;
    }
    snprintf(sentence, sizeof(sentence), "%s", code ? err->msg : "");
    gt_driver_answer(sentence, sizeof(sentence));
    gt_wire_begin(&self->reply, type);
    gt_wire_put_int(&self->reply, code);
    gt_wire_put_text(&self->reply, sentence);
    gt_wire_put_int(&self->reply, self->gpu && gt_gpu_poisoned(self->gpu));
}

/* Tells the supervisor whether the process is in NVRTC, where it may die. */
static void tell_compiling(void *context, bool compiles)
{
    struct worker *self = context;

    gt_wire_begin(&self->reply, GT_MSG_COMPILING);
    gt_wire_put_int(&self->reply, compiles);
    gt_wire_send(self->wire.fd, &self->reply, REPLY_MS, NULL);
}

static int open_nvrtc(struct worker *self, struct gt_err *err)
{
    int rc;

    tell_compiling(self, true);
    rc = gt_nvrtc_open(&self->nvrtc, err);
    tell_compiling(self, false);
    if (!rc)
        gt_nvrtc_tell(self->nvrtc, tell_compiling, self);
    return rc;
}

static int hello(struct worker *self, struct gt_wire_in *in, struct gt_err *err)
{
    const int ordinal = (int)gt_wire_get_int(in);
    const char *data_dir = gt_wire_get_text(in);
    const char *cache_dir = gt_wire_get_text(in);
    const char *kernels_dir = gt_wire_get_text(in);
    const char *include_dirs = gt_wire_get_text(in);
    int rc;

    gt_wire_get_struct(in, &self->options, sizeof(self->options));
    if (in->type != GT_MSG_HELLO || gt_wire_finish(in, err))
        return gt_err_set(err, GT_ESYNTAX, "the first message of the supervisor is not HELLO");
    self->data_dir = strdup(data_dir);
    self->cache_dir = strdup(cache_dir);
    if (!self->data_dir || !self->cache_dir)
        return gt_err_nomem(err);
    rc = gt_gpu_open(&self->gpu, ordinal, false, err);
    GT_STEP(rc, open_nvrtc(self, err));
    GT_STEP(rc, gt_known_pair(self->nvrtc, gt_gpu_device(self->gpu)->driver, err));
    GT_STEP(rc, gt_kernels_load(&self->kernels, data_dir, *kernels_dir ? kernels_dir : NULL,
                                include_dirs, err));
    return rc;
}

static int open_problem(struct worker *self, struct gt_wire_in *in, void *found, struct gt_err *err)
{
    (void)found;
    gt_wire_get_struct(in, &self->problem, sizeof(self->problem));
    if (gt_wire_finish(in, err))
        return GT_ESYNTAX;
    gt_bench_close(self->bench);
    self->bench = NULL;
    return gt_bench_open(&self->bench, self->gpu, self->nvrtc, self->data_dir, self->cache_dir,
                         &self->problem, &self->options, err);
}

/* Reads the geometry that the supervisor computed.  The entries are taken from this process's
 * kernel. */
static int read_geometry(struct gt_wire_in *in, const struct gt_kernel *kernel,
                         struct gt_geometry *geometry, struct gt_err *err)
{
    gt_wire_get_struct(in, geometry, sizeof(*geometry));
    for (size_t i = 0; !in->failed && i < geometry->launches && i < GT_MAX_LAUNCHES; i++) {
        const int64_t of = gt_wire_get_int(in);

        if (of < 0 || of >= (int64_t)kernel->launches)
            in->failed = true;
        else
            geometry->launch[i].entry = kernel->launch[of].entry;
    }
    if (in->failed || geometry->launches > GT_MAX_LAUNCHES || geometry->maps > GT_MAX_MAPS)
        return gt_err_set(err, GT_ESYNTAX, "the launches of kernel %s are malformed", kernel->name);
    return GT_OK;
}

/* Reads a candidate and loads its image, for each request anew.  A worker that kept images would
 * save 0.3 ms for 120 KB on a busy machine, where a trial takes milliseconds of the GPU; but the
 * digest that is checked while an image is read would then not be that of the launch.  GT_ESTALE:
 * the kernel's files have changed since the sweep began.  GT_ENOTFOUND: the image is not in the
 * cache, or it is damaged. */
static int read_request(struct worker *self, struct gt_wire_in *in, struct request *request,
                        struct gt_err *err)
{
    const char *name = gt_wire_get_text(in);
    const char *signature = gt_wire_get_text(in);
    const char *key = gt_wire_get_text(in);
    size_t bytes;
    const char *values = gt_wire_get_bytes(in, &bytes);
    const struct gt_kernel *kernel;
    int rc;

    if (in->failed)
        return gt_err_set(err, GT_ESYNTAX, "a candidate is malformed");
    if (!self->bench)
        return gt_err_set(err, GT_ESYNTAX, "no problem is open");
    kernel = gt_kernels_find(&self->kernels, name, err);
    if (!kernel || strcmp(kernel->signature, signature) != 0)
        return gt_err_set(err, GT_ESTALE, "kernel %s has changed on disk since the sweep began",
                          name);
    if (bytes != kernel->params * sizeof(request->candidate.point.value[0]))
        return gt_err_set(err, GT_ESYNTAX, "a point of kernel %s is malformed", name);
    request->candidate.kernel = kernel;
    request->candidate.problem = &self->problem;
    request->candidate.device = gt_gpu_device(self->gpu);
    memcpy(request->candidate.point.value, values, bytes);
    rc = read_geometry(in, kernel, &request->entry.geometry, err);
    if (rc)
        return rc;
    rc = gt_cache_load(self->cache_dir, key, &request->binary, err);
    if (rc && gt_cache_spill_load(getppid(), key, &request->binary, NULL) == GT_OK)
        rc = GT_OK;
    request->entry.candidate = &request->candidate;
    request->entry.image = request->binary.image;
    request->entry.size = request->binary.size;
    return rc;
}

/* Answers TRIAL and SAMPLE. */
static int one_candidate(struct worker *self, struct gt_wire_in *in, void *found,
                         struct gt_err *err)
{
    const bool sample = in->type == GT_MSG_SAMPLE;
    const double best_us = sample ? 0 : gt_wire_get_real(in);
    const int max_samples = sample ? (int)gt_wire_get_int(in) : 0;
    struct request request = {0};
    int rc = read_request(self, in, &request, err);

    GT_STEP(rc, gt_wire_finish(in, err));
    if (!rc && sample)
        rc = gt_bench_sample(self->bench, &request.entry, max_samples, found, err);
    else if (!rc)
        rc = gt_bench_trial(self->bench, &request.entry, best_us, found, err);
    gt_binary_release(&request.binary);
    return rc;
}

struct final {
    struct request request[MAX_FINAL];
    struct gt_bench_entry entry[MAX_FINAL];
    struct gt_trial trial[MAX_FINAL], baseline;
    size_t count;
};

static int run_final(struct worker *self, struct gt_wire_in *in, struct final *final,
                     struct gt_err *err)
{
    const int64_t count = gt_wire_get_int(in);
    const int rounds = (int)gt_wire_get_int(in);
    int rc = GT_OK;
    size_t i;

    if (count < 0 || count > MAX_FINAL)
        return gt_err_set(err, GT_ESYNTAX, "a final of %lld candidates; at most %d",
                          (long long)count, MAX_FINAL);
    for (; !rc && final->count < (size_t)count; final->count++)
        rc = read_request(self, in, &final->request[final->count], err);
    GT_STEP(rc, gt_wire_finish(in, err));
    for (i = 0; i < final->count; i++)
        final->entry[i] = final->request[i].entry;
    GT_STEP(rc, gt_bench_final(self->bench, final->entry, final->count, rounds, final->trial,
                               &final->baseline, err));
    return rc;
}

static int final_round(struct worker *self, struct gt_wire_in *in, struct gt_err *err)
{
    struct final *final = calloc(1, sizeof(*final));
    size_t i;
    int rc = final ? run_final(self, in, final, err) : gt_err_nomem(err);

    begin_reply(self, GT_MSG_DONE, rc, err);
    for (i = 0; final && i < final->count; i++) {
        if (!rc)
            gt_wire_put_bytes(&self->reply, &final->trial[i], sizeof(final->trial[i]));
        gt_binary_release(&final->request[i].binary);
    }
    if (!rc)
        gt_wire_put_bytes(&self->reply, &final->baseline, sizeof(final->baseline));
    free(final);
    return rc;
}

/* Ends the reading of a request that has no more fields and needs an open problem. */
static int finish_request(const struct worker *self, const struct gt_wire_in *in,
                          struct gt_err *err)
{
    int rc = gt_wire_finish(in, err);

    if (rc)
        return rc;
    return self->bench ? GT_OK : gt_err_set(err, GT_ESYNTAX, "no problem is open");
}

static int baseline(struct worker *self, struct gt_wire_in *in, void *found, struct gt_err *err)
{
    int rc = finish_request(self, in, err);

    return rc ? rc : gt_bench_baseline(self->bench, found, err);
}

static int move(struct worker *self, struct gt_wire_in *in, void *found, struct gt_err *err)
{
    int rc = finish_request(self, in, err);

    return rc ? rc
              : gt_bench_move(self->bench, self->nvrtc, self->data_dir, self->cache_dir, found,
                              err);
}

static int energy(struct worker *self, struct gt_wire_in *in, void *found, struct gt_err *err)
{
    struct request request = {0};
    struct gt_energy_wish wish;
    bool ours;
    int rc;

    gt_wire_get_struct(in, &wish, sizeof(wish));
    ours = gt_wire_get_int(in) != 0;
    rc = ours ? read_request(self, in, &request, err) : GT_OK;
    GT_STEP(rc, finish_request(self, in, err));
    GT_STEP(rc, gt_bench_energy(self->bench, ours ? &request.entry : NULL, &wish, found, err));
    gt_binary_release(&request.binary);
    return rc;
}

static int reference(struct worker *self, struct gt_wire_in *in, void *found, struct gt_err *err)
{
    int rc = finish_request(self, in, err);

    return rc ? rc : gt_bench_canary(self->bench, found, err);
}

/* Calibration needs the memory of the problem, so the problem is closed. */
static int calibrate(struct worker *self, struct gt_wire_in *in, void *found, struct gt_err *err)
{
    const bool only_copy = gt_wire_get_int(in) != 0;
    int rc = gt_wire_finish(in, err);

    gt_bench_close(self->bench);
    self->bench = NULL;
    GT_STEP(rc, gt_calibrate(found, only_copy, self->gpu, self->nvrtc, self->data_dir,
                             self->cache_dir, err));
    return rc;
}

/* The requests whose answer is one structure, or nothing. */
static const struct {
    int (*run)(struct worker *self, struct gt_wire_in *in, void *found, struct gt_err *err);
    size_t size; /* of the structure */
} requests[GT_MSG_COUNT] = {
    [GT_MSG_PROBLEM] = {open_problem, 0},
    [GT_MSG_TRIAL] = {one_candidate, sizeof(struct gt_trial)},
    [GT_MSG_SAMPLE] = {one_candidate, sizeof(struct gt_trial)},
    [GT_MSG_BASELINE] = {baseline, sizeof(struct gt_baseline)},
    [GT_MSG_MOVE] = {move, sizeof(struct gt_move)},
    [GT_MSG_ENERGY] = {energy, sizeof(struct gt_energy)},
    [GT_MSG_REFERENCE] = {reference, sizeof(double)},
    [GT_MSG_CALIBRATE] = {calibrate, sizeof(struct gt_calibration)},
};

/* Handles one message; the answer is in self->reply. */
static int work(struct worker *self, struct gt_wire_in *in)
{
    union {
        struct gt_trial trial;
        struct gt_baseline baseline;
        struct gt_move move;
        struct gt_energy energy;
        struct gt_calibration calibration;
        double us;
    } found;
    const enum gt_message type = in->type;
    struct gt_err err = {0};
    int rc;

    if (type == GT_MSG_FINAL)
        return final_round(self, in, &err);
    if (!requests[type].run)
        return GT_ESYNTAX;
    memset(&found, 0, sizeof(found));
    rc = requests[type].run(self, in, &found, &err);
    begin_reply(self, GT_MSG_DONE, rc, &err);
    if (!rc && requests[type].size)
        gt_wire_put_bytes(&self->reply, &found, requests[type].size);
    return rc;
}

/* The device's facts, with the power limit, by which GPUs of one name may differ. */
static void put_device(struct worker *self)
{
    struct gt_device device = *gt_gpu_device(self->gpu);
    struct gt_throttle *throttle = NULL;

    if (gt_throttle_open(&throttle, device.uuid, NULL) == GT_OK)
        device.power_w = gt_throttle_power_limit(throttle);
    gt_throttle_close(throttle);
    gt_wire_put_bytes(&self->reply, &device, sizeof(device));
}

/* Answers requests until the supervisor closes the pipe; returns the exit code. */
static int serve(struct worker *self)
{
    struct gt_wire_in in;
    int rc;

    while ((rc = gt_wire_receive(&self->wire, &in, -1, NULL)) > 0) {
        rc = work(self, &in);
        if (rc == GT_ESYNTAX)
            return GT_WORKER_PROTOCOL;
        if (gt_wire_send(self->wire.fd, &self->reply, REPLY_MS, NULL))
            return GT_WORKER_DONE;
        if (gt_gpu_poisoned(self->gpu))
            return GT_WORKER_POISONED;
        if (rc == GT_ENOMEM)
            return GT_WORKER_EXHAUSTED;
    }
    return rc == GT_ESYNTAX ? GT_WORKER_PROTOCOL : GT_WORKER_DONE;
}

int gt_worker_gpu_main(int fd)
{
    struct worker self = {.reply = GT_STRBUF_INIT};
    struct gt_err err = {0};
    struct gt_wire_in in;
    int rc, code = GT_WORKER_DONE;

    gt_wire_init(&self.wire, fd);
    rc = gt_wire_receive(&self.wire, &in, -1, NULL);
    if (rc < 0)
        goto out;
    rc = hello(&self, &in, &err);
    begin_reply(&self, GT_MSG_READY, rc, &err);
    if (!rc)
        put_device(&self);
    if (gt_wire_send(fd, &self.reply, REPLY_MS, NULL) || rc) {
        code = GT_WORKER_SETUP;
        goto out;
    }
    code = serve(&self);
    if (code == GT_WORKER_POISONED) /* a driver in that state may crash in its own clean-up */
        _Exit(code);
out:
    gt_bench_close(self.bench);
    gt_kernels_release(&self.kernels);
    gt_nvrtc_close(self.nvrtc);
    gt_gpu_close(self.gpu);
    free(self.data_dir);
    free(self.cache_dir);
    gt_strbuf_release(&self.reply);
    gt_wire_release(&self.wire);
    return code;
}
