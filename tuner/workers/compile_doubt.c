/* compile_doubt.c - whom a failure to compile is due to.  The first failure of a kind makes the
 * compiler show whether it compiles a source of a few lines (known_source.h) for the same arch.  If
 * it does, the failure is the candidate's, as are those of its kind for a while; if it does not,
 * the machine is to blame and the pool gives up. */
#include "workers/compile_pool_internal.h"

#include "base/clock.h"
#include "base/err.h"
#include "workers/known_source.h"

#include <stdlib.h>
#include <string.h>

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
