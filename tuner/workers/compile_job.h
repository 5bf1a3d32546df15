/* compile_job.h - a cubin to be made, and the candidates that wait for it.  Only the compile pool
 * uses it. */
#ifndef GT_COMPILE_JOB_H
#define GT_COMPILE_JOB_H

#include "base/digest.h"
#include "cuda/compile.h"
#include "kernel/kernel.h"

struct gt_doubt;
struct gt_compiled;

/* One cubin to be made. */
struct gt_job {
    struct gt_compile_request request;
    struct gt_strbuf source;
    char *name, *include_dirs;
    char key[GT_DIGEST_HEX];
    uint64_t *id; /* the candidates that wait for it */
    size_t ids, capacity;
    int crashes;                 /* of workers that compiled it */
    int killed;                  /* workers that were killed from outside while they compiled it */
    struct gt_doubt *doubt;      /* whose small source this is; NULL: it is a candidate's */
    struct gt_compiled *failure; /* what is not believed yet (compile_doubt.c); NULL: nothing */
    struct gt_job *next;
};

/* Renders the candidate; nvrtc is part of the key.  No candidate waits for the job yet. */
int gt_job_new(struct gt_job **job, const struct gt_candidate *candidate, int nvrtc,
               struct gt_err *err);
void gt_job_free(struct gt_job *job); /* NULL accepted */
/* Adds a candidate that waits for the job. */
int gt_job_add(struct gt_job *job, uint64_t id, struct gt_err *err);

/* Jobs in the order in which workers take them.  A queue does not move, because it points at itself
 * while it is empty. */
struct gt_job_queue {
    struct gt_job *first, **end;
    size_t count;
};

void gt_job_queue_init(struct gt_job_queue *queue);
void gt_job_queue_push(struct gt_job_queue *queue, struct gt_job *job);       /* at the end */
void gt_job_queue_push_first(struct gt_job_queue *queue, struct gt_job *job); /* in front */
/* Takes the job out of the queue and returns it; job NULL: the first one.  NULL: it is not there.
 */
struct gt_job *gt_job_queue_take(struct gt_job_queue *queue, struct gt_job *job);
struct gt_job *gt_job_queue_find(const struct gt_job_queue *queue, const char *key); /* or NULL */

#endif
