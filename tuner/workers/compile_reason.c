/* compile_reason.c - the compiler's log, read for people (compile_reason.h).  The compile pool and
 * the commands that compile one candidate use it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "cuda/compile.h"
#include "cuda/cuda_api.h"
#include "workers/compile_pool_internal.h"
#include "workers/compile_reason.h"

#define STATIC_SHARED 49152 /* bytes that a block may have, on every arch */

/* The entry of the log with the most static shared memory, if that is more than there may be:
 * ptxas then fails, and NVRTC leaves its sentence out of the log. */
static int too_large(const char *log, char entry[GT_STATIC_SHARED_MAX])
{
    char all[GT_STATIC_SHARED_MAX];
    int bytes, most = STATIC_SHARED;

    gt_log_static_shared(log, all);
    for (const char *line = all; *line; line += strcspn(line, "\n") + 1) {
        const char *number = strchr(line, ' ');

        bytes = number ? (int)strtol(number, NULL, 10) : 0;
        if (bytes > most) {
            most = bytes;
            snprintf(entry, GT_STATIC_SHARED_MAX, "%.*s", (int)(number - line), line);
        }
    }
    return most > STATIC_SHARED ? most : 0;
}

void gt_compile_reason(char *text, size_t size, const char *log)
{
    char entry[GT_STATIC_SHARED_MAX];
    const char *at = strstr(log, "error"), *hint = "";
    size_t length;
    int bytes = at ? 0 : too_large(log, entry);

    if (bytes) {
        snprintf(text, size,
                 "%s has %d bytes of static shared memory, and a block may have %d; what is more "
                 "must be dynamic (GT_DYNAMIC_SHARED, \"shared\" of the launch)",
                 entry, bytes, STATIC_SHARED);
        return;
    }
    while (at && at > log && at[-1] != '\n')
        at--;
    if (!at)
        at = log;
    length = strcspn(at, "\n");
    if (memmem(at, length, "cannot open source file", strlen("cannot open source file")))
        hint = "; --include-dir (-I) names folders of headers";
    snprintf(text, size, "%.*s%s%s", (int)length, at, hint, at + length);
    length = strlen(text);
    while (length && strchr(" \t\r\n", text[length - 1]))
        text[--length] = '\0';
}

/* The source that tells a compiler that does not work from a candidate that does
 * not compile (compile_reason.h). */

/* Needs the compiler's built-in declarations and its library of mathematical functions, and nothing
 * of the data folder. */
const char gt_known_source[] = "extern \"C\" __global__ void known(float *x)\n"
                               "{\n"
                               "    __shared__ float s[32];\n"
                               "    s[threadIdx.x % 32] = x[blockIdx.x];\n"
                               "    __syncthreads();\n"
                               "    x[threadIdx.x] = expf(s[31 - threadIdx.x % 32]);\n"
                               "}\n";

/* What to do, by NVRTC's result (nvrtc.h) or its words. */
static const char *remedy(int result, const char *reason)
{
    if (result == 7 || strstr(reason, "builtin"))
        return "its library libnvrtc-builtins of the same version must lie beside it: install "
               "NVRTC anew, run tools/setup, or name another one with GEMMTUNE_LIBNVRTC";
    if (result == 1 || strstr(reason, "takes more than") || strstr(reason, "out of memory"))
        return "free memory, raise the limit (ulimit -v) or take fewer workers with --jobs";
    if (result == 5 || strstr(reason, "gpu-architecture"))
        return "a newer CUDA Toolkit knows that arch; GEMMTUNE_LIBNVRTC may name its NVRTC";
    if (strstr(reason, "allowed"))
        return "the machine is overloaded or the compiler hangs: take fewer workers with --jobs, "
               "or name another NVRTC with GEMMTUNE_LIBNVRTC";
    return "install NVRTC anew, run tools/setup, or name another one with GEMMTUNE_LIBNVRTC";
}

/* A sentence: this compiler does not work here, and what to do.  nvrtc: its version, 13000
 * for 13.0; result: NVRTC's, 0 if it had no say; reason: what it said of the known source. */
static void gt_known_complaint(char *text, size_t size, int nvrtc, int arch, int result,
                               const char *reason)
{
    static const char failed[] = "with this source: ";
    const char *words = strstr(reason, failed); /* behind a sentence about the candidate */
    char number[32] = "";

    if (words)
        reason = words + strlen(failed);
    if (result)
        snprintf(number, sizeof(number), "result %d, ", result);
    snprintf(text, size,
             "the compiler does not work here: NVRTC %d.%d does not even compile " GT_KNOWN_NAME
             " for sm_%d (%s%.300s); %s",
             nvrtc / 1000, nvrtc % 1000 / 10, arch, number, reason, remedy(result, reason));
}

int gt_known_check(struct gt_nvrtc *nvrtc, int cc, struct gt_err *err)
{
    const struct gt_compile_request request = {.source = gt_known_source,
                                               .name = GT_KNOWN_NAME,
                                               .include_dirs = "",
                                               .arch = cc,
                                               .device_cc = cc};
    struct gt_binary binary = {0};
    struct gt_err why = {0};
    char reason[512], text[sizeof(err->msg)];
    int rc = gt_compile(nvrtc, &request, &binary, &why);

    if (rc) {
        if (binary.log && *binary.log)
            gt_compile_reason(reason, sizeof(reason), binary.log);
        else
            snprintf(reason, sizeof(reason), "%.500s", why.msg);
        gt_known_complaint(text, sizeof(text), gt_nvrtc_version(nvrtc), cc, binary.result, reason);
        rc = gt_err_set(err, GT_ENOLIB, "%s", text);
    }
    gt_binary_release(&binary);
    return rc;
}

int gt_known_pair(const struct gt_nvrtc *nvrtc, int driver, struct gt_err *err)
{
    const int version = gt_nvrtc_version(nvrtc);

    if (driver <= 0 || version / 1000 <= driver / 1000)
        return GT_OK;
    return gt_err_set(err, GT_ECUDA,
                      "the driver is for CUDA %d.%d and does not run what NVRTC %d.%d compiles: "
                      "update the driver, or install NVRTC %d, which GEMMTUNE_LIBNVRTC may name",
                      driver / 1000, driver % 1000 / 10, version / 1000, version % 1000 / 10,
                      driver / 1000);
}

void gt_known_tell_driver(void)
{
    struct gt_driver_api driver;
    char text[16];
    int version = 0;

    if (!gt_driver_api_load(&driver, NULL))
        driver.DriverGetVersion(&version);
    snprintf(text, sizeof(text), "%d", version);
    setenv("GEMMTUNE_DRIVER", text, 1);
}

/* Whom a failure to compile is due to.  The first failure of a kind makes the
 * compiler show whether it compiles a source of a few lines (compile_reason.h) for the same arch.
 * If it does, the failure is the candidate's, as are those of its kind for a while; if it does not,
 * the machine is to blame and the pool gives up. */

#define SOUND_MS 10000 /* a machine that works may stop working, e.g. for lack of memory */

void gt_doubt_init(struct gt_compile_pool *pool)
{
    for (int i = 0; i < GT_DOUBTS; i++)
        gt_job_queue_init(&pool->doubt[i].held);
}

static bool is_doubtful(enum gt_status status)
{
    return status == GT_STATUS_COMPILE_ERROR || status == GT_STATUS_COMPILE_CRASH ||
           status == GT_STATUS_COMPILE_TIMEOUT;
}

/* The place of failures of this kind; NULL: there is none left. */
static struct gt_doubt *doubt_of(struct gt_compile_pool *pool, const struct gt_job *job,
                                 const struct gt_compiled *compiled)
{
    const struct gt_compile_request *request = &job->request;
    struct gt_doubt *unused = NULL;

    for (int i = 0; i < GT_DOUBTS; i++) {
        struct gt_doubt *doubt = &pool->doubt[i];

        if (doubt->status == compiled->status && doubt->result == compiled->result &&
            doubt->arch == request->arch && doubt->features == request->features &&
            doubt->ptx == request->ptx)
            return doubt;
        if (!doubt->job && (!unused || doubt->sound_until < unused->sound_until))
            unused = doubt;
    }
    if (unused) {
        unused->status = compiled->status;
        unused->result = compiled->result;
        unused->arch = request->arch;
        unused->features = request->features;
        unused->ptx = request->ptx;
        unused->sound_until = 0;
    }
    return unused;
}

/* Queues the known source, with what the job asks of the compiler. */
static bool ask(struct gt_compile_pool *pool, struct gt_doubt *doubt,
                const struct gt_compile_request *request)
{
    struct gt_job *job = calloc(1, sizeof(*job));

    if (!job)
        return false;
    gt_strbuf_init(&job->source);
    job->request = *request;
    job->request.source = gt_known_source;
    job->request.name = GT_KNOWN_NAME;
    job->request.include_dirs = "";
    job->request.max_registers = 0;
    job->doubt = doubt;
    doubt->job = job;
    gt_job_queue_push_first(&pool->now, job);
    return true;
}

/* Takes what became of the known source. */
static int take_verdict(struct gt_compile_pool *pool, struct gt_job *job,
                        const struct gt_compiled *compiled, struct gt_err *err)
{
    struct gt_doubt *doubt = job->doubt;
    const int arch = job->request.arch;
    int rc = GT_OK;

    doubt->job = NULL;
    gt_job_free(job);
    if (!gt_compile_made(compiled->status)) {
        char text[sizeof(err->msg)];

        gt_known_complaint(text, sizeof(text), pool->nvrtc, arch, compiled->result,
                           compiled->detail);
        return gt_err_set(err, GT_ENOLIB, "%s", text);
    }
    doubt->sound_until = gt_clock_ms() + SOUND_MS;
    while (!rc && (job = gt_job_queue_take(&doubt->held, NULL))) {
        struct gt_compiled failure = *job->failure;

        rc = gt_compile_finish(pool, job, &failure, err);
    }
    return rc;
}

int gt_compile_judge(struct gt_compile_pool *pool, struct gt_job *job, struct gt_compiled *compiled,
                     struct gt_err *err)
{
    struct gt_doubt *doubt;

    if (job->doubt)
        return take_verdict(pool, job, compiled, err);
    doubt = is_doubtful(compiled->status) ? doubt_of(pool, job, compiled) : NULL;
    if (!doubt || gt_clock_ms() < doubt->sound_until)
        return gt_compile_finish(pool, job, compiled, err);
    job->failure = malloc(sizeof(*job->failure));
    if (!job->failure || (!doubt->job && !ask(pool, doubt, &job->request))) {
        gt_job_free(job);
        return gt_err_nomem(err);
    }
    *job->failure = *compiled;
    gt_job_queue_push(&doubt->held, job);
    return GT_OK;
}

struct gt_job *gt_doubt_find(const struct gt_compile_pool *pool, const char *key)
{
    struct gt_job *job = NULL;

    for (int i = 0; i < GT_DOUBTS && !job; i++)
        job = gt_job_queue_find(&pool->doubt[i].held, key);
    return job;
}

size_t gt_doubt_drop(struct gt_compile_pool *pool)
{
    struct gt_job *job;
    size_t ids = 0;

    for (int i = 0; i < GT_DOUBTS; i++)
        while ((job = gt_job_queue_take(&pool->doubt[i].held, NULL))) {
            ids += job->ids;
            gt_job_free(job);
        }
    return ids;
}
