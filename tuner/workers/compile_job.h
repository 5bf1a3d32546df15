/* compile_job.h - a cubin to be made, and the candidates that wait for it.  Only the compile pool
 * uses it. */
#ifndef GT_COMPILE_JOB_H
#define GT_COMPILE_JOB_H

#include "base/digest.h"
#include "cuda/compile.h"
#include "kernel/kernel.h"
#include "workers/compile_pool.h"
#include "workers/process.h"
#include "workers/wire.h"

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
    struct gt_compiled *failure; /* what is not believed yet (compile_reason.c); NULL: nothing */
    struct gt_job *next;
};

/* Renders the candidate.  No candidate waits for the job yet. */
int gt_job_new(struct gt_job **job, const struct gt_prepared *prepared, struct gt_err *err);
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

/* One compile worker as the pool sees it: its process, its limits, its deadline.
 * Only the compile pool uses it, and decides what it compiles. */

enum gt_slot_state { GT_SLOT_EMPTY, GT_SLOT_STARTING, GT_SLOT_IDLE, GT_SLOT_BUSY };

struct gt_slot {
    enum gt_slot_state state;
    struct gt_process process;
    struct gt_wire wire;
    struct gt_strbuf frame;
    int done;         /* compilations since it was started */
    bool unsent;      /* its job could not be sent */
    int64_t began;    /* BUSY: since when, by gt_clock_ms */
    int64_t deadline; /* STARTING, BUSY: of that; EMPTY: the earliest time of the next start */
};

enum gt_slot_event {
    GT_SLOT_NOTHING,
    GT_SLOT_READY,      /* the worker has started; nvrtc is set */
    GT_SLOT_COMPILED,   /* its job is done; compiled has the outcome */
    GT_SLOT_LOST,       /* the worker is gone, and its job is done; compiled says why */
    GT_SLOT_LOST_EMPTY, /* the worker is gone; it had no job */
    GT_SLOT_BAD_START   /* the worker did not start */
};

struct gt_slot_report {
    enum gt_slot_event event;
    int nvrtc;
    struct gt_compiled compiled; /* without id and key */
    char how[128];               /* LOST*, BAD_START: "was killed by signal 9 (Killed)" */
    char spilled[256];           /* COMPILED: why the cache refused the cubin; "": it took it */
};

/* The options must be complete: no zero stands for a default. */
void gt_slot_init(struct gt_slot *slot);
void gt_slot_release(struct gt_slot *slot); /* kills the worker */
int gt_slot_start(struct gt_slot *slot, const struct gt_compile_pool_options *options,
                  struct gt_err *err);

/* Sends a job to an IDLE slot.  If the worker does not take it, the next pump reports that.  keeps:
 * the cubin is also kept in the folder of this run. */
void gt_slot_send(struct gt_slot *slot, const struct gt_compile_pool_options *options, bool keeps,
                  const char *key, const struct gt_compile_request *request);

/* Reads at most one message and checks the deadline, without waiting.  An error is one that any
 * other worker would have too: no NVRTC, or no folder for cubins that can be written to. */
int gt_slot_pump(struct gt_slot *slot, const struct gt_compile_pool_options *options,
                 struct gt_slot_report *report, struct gt_err *err);

#endif
