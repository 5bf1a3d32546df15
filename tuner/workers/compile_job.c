/* compile_job.c - makes the compile job of a candidate: source, options, key; and queues of jobs.
 */
#include "workers/compile_job.h"

#include "base/array.h"
#include "base/err.h"
#include "cuda/cache.h"
#include "kernel/render.h"

#include <stdlib.h>
#include <string.h>

void gt_job_free(struct gt_job *job)
{
    if (!job)
        return;
    gt_strbuf_release(&job->source);
    free(job->name);
    free(job->include_dirs);
    free(job->id);
    free(job->failure);
    free(job);
}

int gt_job_add(struct gt_job *job, uint64_t id, struct gt_err *err)
{
    if (GT_ARRAY_RESERVE(&job->id, job->ids + 1, &job->capacity, err))
        return GT_ENOMEM;
    job->id[job->ids++] = id;
    return GT_OK;
}

int gt_job_new(struct gt_job **out, const struct gt_candidate *candidate, int nvrtc,
               struct gt_err *err)
{
    struct gt_job *job = calloc(1, sizeof(*job));
    struct gt_geometry geometry;
    int rc;

    if (!job)
        return gt_err_nomem(err);
    gt_strbuf_init(&job->source);
    rc = gt_candidate_geometry(candidate, &geometry, err);
    GT_STEP(rc, gt_render(&job->source, candidate, err));
    if (rc)
        goto out;
    job->name = strdup(candidate->kernel->name);
    job->include_dirs = strdup(candidate->kernel->include_dirs);
    if (!job->name || !job->include_dirs) {
        rc = gt_err_nomem(err);
        goto out;
    }
    job->request = (struct gt_compile_request){
        .source = job->source.text,
        .name = job->name,
        .include_dirs = job->include_dirs,
        .arch = geometry.code_arch,
        .device_cc = candidate->device->cc,
        .features = geometry.arch_features,
        .ptx = geometry.code_ptx,
        .max_registers = geometry.max_registers,
    };
    rc = gt_cache_key(job->key, candidate->kernel, &job->request, nvrtc, err);
out:
    if (rc)
        gt_job_free(job);
    else
        *out = job;
    return rc;
}

/* --- queues ----------------------------------------------------------------------------------- */

void gt_job_queue_init(struct gt_job_queue *queue)
{
    *queue = (struct gt_job_queue){.end = &queue->first};
}

void gt_job_queue_push(struct gt_job_queue *queue, struct gt_job *job)
{
    job->next = NULL;
    *queue->end = job;
    queue->end = &job->next;
    queue->count++;
}

void gt_job_queue_push_first(struct gt_job_queue *queue, struct gt_job *job)
{
    job->next = queue->first;
    if (!queue->first)
        queue->end = &job->next;
    queue->first = job;
    queue->count++;
}

struct gt_job *gt_job_queue_take(struct gt_job_queue *queue, struct gt_job *job)
{
    struct gt_job **at = &queue->first;

    if (!job)
        job = queue->first;
    while (*at && *at != job)
        at = &(*at)->next;
    if (!*at)
        return NULL;
    *at = job->next;
    if (!*at)
        queue->end = at;
    job->next = NULL;
    queue->count--;
    return job;
}

struct gt_job *gt_job_queue_find(const struct gt_job_queue *queue, const char *key)
{
    struct gt_job *job = queue->first;

    while (job && strcmp(job->key, key) != 0)
        job = job->next;
    return job;
}
