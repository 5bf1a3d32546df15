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

#include <limits.h>

#include "cluster/pq.h"
#include "console/cmd_write.h"
#include "session/cmd_session.h"

#define GT_QUEUE_FORMAT   "gemmtune queue 1" /* of the documents that --json prints */
#define GT_QUEUE_ATTEMPTS 4                  /* leases that may run out before a job has failed */

/* How the name of a worker ends whose results are predictions, or are measured.  The name goes with
 * a result through the outbox to the server, so that a queue of any version can tell.  Programs
 * before 2026-11-28 set no mark, whatever they did: their results do not count as measured. */
#define GT_QUEUE_PREDICTS ".predicted"
#define GT_QUEUE_MEASURES ".measured"
#define GT_QUEUE_UNMARKED \
    "(worker NOT LIKE '%" GT_QUEUE_PREDICTS "' AND worker NOT LIKE '%" GT_QUEUE_MEASURES "')"

struct gt_queue_job {
    char id[24], problem[GT_PROBLEM_TEXT_MAX], budget[64];
};

/* Creates what is missing of the tables (schema gemmtune).  Jobs of a new queue have other numbers
 * than those of any before it, so that a result that still waits somewhere is not taken for theirs.
 */
int gt_queue_create(struct gt_pq *pq, struct gt_err *err);

/* GT_EDB: the database has no queue. */
int gt_queue_check(struct gt_pq *pq, struct gt_err *err);

/* Adds a job; false in *added: the same is there already.  class_of: it is for devices whose class
 * begins so; "": for all. */
int gt_queue_submit(struct gt_pq *pq, const char *problem, const char *class_of, double weight,
                    const char *budget, bool *added, struct gt_err *err);

/* Takes the heaviest job that is ready, for lease_s seconds.  *taken false: there is none; *left:
 * jobs that others have.  What others wrote into the table is cut to the members' sizes. */
int gt_queue_take(struct gt_pq *pq, struct gt_queue_job *job, const char *worker,
                  const char *class_of, int64_t lease_s, bool *taken, int64_t *left,
                  struct gt_err *err);

/* Renews a lease, if it is still this worker's. */
int gt_queue_renew(struct gt_pq *pq, const char *job, const char *worker, int64_t lease_s,
                   struct gt_err *err);

/* Stores a result and, if it is whole, ends the job, in one transaction.  *known false: there is no
 * such job any more, and nothing is stored. */
int gt_queue_put(struct gt_pq *pq, const char *job, const char *worker, int64_t trials,
                 const void *database, size_t bytes, bool ends, bool *known, struct gt_err *err);

/* Gives a job back.  counts: as an attempt, of which a job has GT_QUEUE_ATTEMPTS, because the job
 * may be what the worker failed at; else as if it had not been taken. */
int gt_queue_give_back(struct gt_pq *pq, const char *job, const char *worker, bool counts,
                       struct gt_err *err);

/* Ends a job that no worker can do. */
int gt_queue_fail(struct gt_pq *pq, const char *job, const char *worker, struct gt_err *err);

/* Makes failed jobs ready again; predicted: instead those that ended with no measured result. */
int gt_queue_retry(struct gt_pq *pq, bool predicted, int64_t *jobs, struct gt_err *err);
/* How many jobs ended with no measured result; *unmarked: those that have one without a mark. */
int gt_queue_count_predicted(struct gt_pq *pq, int64_t *jobs, int64_t *unmarked,
                             struct gt_err *err);

/* What became of the jobs that were cancelled. */
struct gt_queue_cancelled {
    int64_t gone;   /* ready, without a result: removed */
    int64_t failed; /* ready, with results of workers that did not end it: those stay */
    int64_t taken;  /* a worker has it, and may end it; it is not handed out again */
};

/* Hands out no job any more that was submitted so far. */
int gt_queue_cancel(struct gt_pq *pq, struct gt_queue_cancelled *cancelled, struct gt_err *err);

/* ---- queue_compile.c: compiling ahead ---- */

/* Says that workers with this device, and this version of NVRTC, are at work; profile: that they
 * are to be expected. */
int gt_queue_announce(struct gt_pq *pq, const char *class_of, const struct gt_device *device,
                      int nvrtc, bool profile, struct gt_err *err);
/* Reads what was announced.  GT_EDB: a value is missing or out of bounds. */
int gt_queue_read_device(struct gt_device *device, const char *class_of, const char *facts,
                         struct gt_err *err);
/* How many problems were compiled ahead, each for one device, and how many cubins that made. */
int gt_queue_count_ahead(struct gt_pq *pq, int64_t *problems, int64_t *cubins, struct gt_err *err);

/* ---- queue_worker.c ---- */

struct gt_queue_options {
    const char *address;
    int64_t lease_s;               /* 0: 120 */
    bool predict;                  /* take jobs without a GPU, too */
    bool stay;                     /* wait for more jobs when all have ended */
    bool compile;                  /* only compile, ahead of the others */
    int64_t ahead;                 /* then: candidates of a problem; 0: 64 */
    struct gt_session_after after; /* of each job; its rows are uploaded with the others */
};

/* Takes and tunes until no job is left, or a signal comes.  The session is open. */
int gt_queue_work(struct gt_session *session, const struct gt_kernel *const *kernel, size_t kernels,
                  const char *database, const struct gt_queue_options *options, struct gt_err *err);

/* ---- queue_compile.c ---- */

/* Compiles what the workers with GPUs will try first, until no job is ready, or a signal comes.
 * session->arch: devices of that arch only, and its profile until a worker with one comes. */
int gt_queue_compile(struct gt_cli *cli, const struct gt_session_options *session,
                     const struct gt_queue_options *options, struct gt_err *err);

/* ---- queue_export.c ---- */

/* What became of the results that the server has. */
struct gt_queue_merged {
    int64_t merged, refused; /* refused: somebody wrote what is no sound database */
    int64_t predicted;       /* of those that were merged ... */
    int64_t unmarked;        /* ... and those of programs that do not say */
    struct gt_err why;       /* of the first that was refused */
    int64_t rows, dated;     /* of those that were merged, as of gt_store_merge_doubts */
};

/* Merges all results that can be into a database.  The kernels' texts of today come first, because
 * results are uploaded without. */
int gt_queue_export(struct gt_cli *cli, struct gt_pq *pq, struct gt_store *store,
                    struct gt_queue_merged *merged, struct gt_err *err);

/* GT_OK if none was refused, else the sentence that says how many and why. */
int gt_queue_refused(const struct gt_queue_merged *merged, struct gt_err *err);

/* A database that a command reads: a file, or a copy of what a queue holds, made in $TMPDIR and
 * removed when it is closed. */
struct gt_queue_copy {
    const char *path;    /* to be read */
    const char *address; /* of the queue; NULL: path is the file that was named */
    struct gt_scratch folder;
    char file[PATH_MAX];
};

/* named: a file, postgresql://HOST/DATABASE, or NULL for the default database. */
int gt_queue_copy_open(struct gt_queue_copy *copy, struct gt_cli *cli, const char *named,
                       struct gt_err *err);
/* err (may be NULL): of the command; where its sentence names the copy it names the address then.
 */
void gt_queue_copy_close(struct gt_queue_copy *copy,
                         struct gt_err *err); /* a zeroed one: nothing */

/* ---- what the workers of a queue share ----
 *
 * A connection that outlives a server that is away, the loop of their work, and names.  Only
 * queue_worker.c, queue_outbox.c and queue_compile.c use it. */

#define GT_QUEUE_NAME  96  /* bytes of a worker's name */
#define GT_QUEUE_CLASS 192 /* bytes of a device's class */

struct gt_queue_link {
    struct gt_cli *cli;
    const char *address;
    struct gt_pq *pq; /* NULL: the server is away */
    bool known;       /* it has let this worker in */
    int refused;      /* how often it has not, before */
};

/* What a worker does again and again. */
struct gt_queue_duty {
    /* With the connection, before each piece of work. */
    int (*greet)(void *context, struct gt_err *err);
    /* One piece of work; *taken false: there was none; *left: those that may come yet. */
    int (*work)(void *context, bool *taken, int64_t *left, struct gt_err *err);
    bool stay;               /* wait for more work when all of it has ended */
    const char *interrupted; /* the sentence after a signal */
};

/* Works until nothing is left.  A server that is away is waited for.  GT_EINTERRUPTED: a signal
 * came.  GT_EIO: a server that has never let this worker in has refused it several times. */
int gt_queue_serve(struct gt_queue_link *link, const struct gt_queue_duty *duty, void *context,
                   struct gt_err *err);
/* Closes the connection; gt_queue_serve opens another one. */
void gt_queue_leave(struct gt_queue_link *link);

void gt_queue_note(const struct gt_queue_link *link, const char *sentence);

/* The document of a worker's run: jobs it ended, cubins it compiled and those that were there. */
int gt_queue_print_work(const struct gt_cli *cli, int64_t jobs, int64_t compiled, int64_t found,
                        struct gt_err *err);

/* HOST-PID-TIME, without the characters that part names of files; to the nanosecond, because
 * containers of one host may all be process 1.  mark: how it ends. */
void gt_queue_name(char name[GT_QUEUE_NAME], const char *mark);
/* What --class is compared with. */
void gt_queue_class(char class_of[GT_QUEUE_CLASS], const struct gt_device *device);

#endif
