/* compile_pool_internal.h - what the files of the compile pool share: compile_pool.c (the interface
 * and the pool's thread), compile_pool.c (the workers), compile_pool.c (what is known of a
 * cubin), compile_reason.c (whom a failure is due to).  No other file includes this.
 *
 * Every function here is called with the lock held, but for those that open and close the pool. */
#ifndef GT_COMPILE_POOL_INTERNAL_H
#define GT_COMPILE_POOL_INTERNAL_H

#include "workers/compile_job.h"
#include "workers/compile_pool.h"

#include <poll.h>
#include <pthread.h>

#define GT_COMPILE_MAX_JOBS 256

struct gt_compile_answer; /* compile_pool.c */

struct gt_compile_worker {
    struct gt_slot slot;
    struct gt_job *job; /* while the slot is BUSY */
    int token;          /* that it works with */
};

/* A kind of failure, and whether a small source fails so, too (compile_reason.c). */
#define GT_DOUBTS 16
struct gt_doubt {
    enum gt_status status;    /* NONE: this place is free */
    int result, arch;         /* of NVRTC; of the source */
    bool features, ptx;       /* likewise */
    int64_t sound_until;      /* the small source was compiled; by gt_clock_ms */
    struct gt_job *job;       /* it is being compiled; NULL: it is not */
    struct gt_job_queue held; /* jobs that failed so and wait for that */
};

struct gt_compile_pool {
    struct gt_compile_pool_options options;
    char *cache_dir;
    pthread_mutex_t lock;
    pthread_t thread;
    bool threaded, closing; /* the thread runs; it is to end */
    int wake, ready;        /* eventfds: for the thread; for the caller: gt_compile_pool_fd */
    int failed;             /* GT_OK, or what ended the thread */
    struct gt_err why;
    struct gt_compile_worker worker[GT_COMPILE_MAX_JOBS];
    int workers, nvrtc, bad_starts, no_starts;
    struct gt_job_queue now, ahead;
    struct gt_compile_answer *answer, **answer_end;
    struct gt_strbuf notices; /* sentences, each ended by a line feed */
    void *failures;           /* tsearch tree */
    struct gt_doubt doubt[GT_DOUBTS];
    size_t pending;
    bool held[GT_TOKENS_MAX]; /* tokens that workers of this pool have */
    bool waiting;             /* for a token */
    bool spills;              /* the notice that the cache refused a cubin was given */
    bool keeps;               /* gt_compile_pool_keep was called */
    struct gt_compile_stats stats;
    struct gt_preparing *preparing; /* the caller's alone */
};

/* compile_pool.c */

/* Answers from the cache or from a remembered failure; false: it has to be compiled. */
/* Whether a cubin of this status was made; it is in the cache, also if it is not worth a trial. */
bool gt_compile_made(enum gt_status status);
/* Answers every candidate that waits for the job, and frees the job. */
int gt_compile_finish(struct gt_compile_pool *pool, struct gt_job *job,
                      struct gt_compiled *compiled, struct gt_err *err);

/* compile_reason.c */

/* Answers the candidates of a job that has ended, as gt_compile_finish does.  A failure waits until
 * the compiler has shown that it does not fail with a small source as well; GT_ENOLIB: it does, so
 * that the machine is to blame and nothing is said of the candidate. */
int gt_compile_judge(struct gt_compile_pool *pool, struct gt_job *job, struct gt_compiled *compiled,
                     struct gt_err *err);
/* The job of this key that waits for that, or NULL. */
struct gt_job *gt_doubt_find(const struct gt_compile_pool *pool, const char *key);
/* Drops the jobs that wait; returns how many candidates waited for them. */
size_t gt_doubt_drop(struct gt_compile_pool *pool);
void gt_doubt_init(struct gt_compile_pool *pool);

/* compile_pool.c */

/* Takes what the workers have sent, replaces lost ones and gives idle ones jobs. */

#endif
