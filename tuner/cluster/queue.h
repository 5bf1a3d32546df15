/* queue.h - a list of problems in PostgreSQL that tuners on any machine work off.
 *
 * A job is a problem with a budget.  A worker takes one by a lease: claimed and committed at once,
 * renewed while it tunes, free for others when it ran out.  It tunes into its own database, as
 * ever, and uploads what it then knows of the problem - a small database with the problem's rows -
 * in the transaction that ends the job.  `tune queue export` merges those.
 *
 * A result belongs to a job and a worker: uploaded twice it is there once, and what a worker whose
 * lease ran out brings later is kept beside the other's, because its trials are as true. */
#ifndef GT_QUEUE_H
#define GT_QUEUE_H

#include "cluster/pq.h"
#include "console/cmd_session.h"

#define GT_QUEUE_ATTEMPTS 4 /* leases that may run out before a job has failed */

struct gt_queue_job {
    char id[24], problem[GT_PROBLEM_TEXT_MAX], budget[64];
};

/* Creates what is missing of the tables (schema gemmtune). */
int gt_queue_create(struct gt_pq *pq, struct gt_err *err);

/* Adds a job; false in *added: the same is there already.  class_of: it is for devices whose class
 * begins so; "": for all. */
int gt_queue_submit(struct gt_pq *pq, const char *problem, const char *class_of, double weight,
                    const char *budget, bool *added, struct gt_err *err);

/* Takes the heaviest job that is ready, for lease_s seconds.  *taken false: there is none; *left:
 * jobs that others have. */
int gt_queue_take(struct gt_pq *pq, struct gt_queue_job *job, const char *worker,
                  const char *class_of, int64_t lease_s, bool *taken, int64_t *left,
                  struct gt_err *err);

/* Renews a lease; *held false: it is not this worker's any more. */
int gt_queue_renew(struct gt_pq *pq, const char *job, const char *worker, int64_t lease_s,
                   bool *held, struct gt_err *err);

/* Stores a result and, if it is whole, ends the job, in one transaction. */
int gt_queue_put(struct gt_pq *pq, const char *job, const char *worker, int64_t trials,
                 const void *database, size_t bytes, bool ends, struct gt_err *err);

/* Gives a job back, as if it had not been taken. */
int gt_queue_give_back(struct gt_pq *pq, const char *job, const char *worker, struct gt_err *err);

/* Makes failed jobs ready again. */
int gt_queue_retry(struct gt_pq *pq, int64_t *jobs, struct gt_err *err);

/* ---- queue_worker.c ---- */

struct gt_queue_options {
    const char *address;
    int64_t lease_s; /* 0: 120 */
    bool stay;       /* wait for more jobs when all have ended */
};

/* Takes and tunes until no job is left, or a signal comes.  The session is open. */
int gt_queue_work(struct gt_session *session, const struct gt_kernel *const *kernel, size_t kernels,
                  const char *database, const struct gt_queue_options *options, struct gt_err *err);

/* Merges all results into a database. */
int gt_queue_export(struct gt_pq *pq, struct gt_store *store, int64_t *results, struct gt_err *err);

#endif
