/* queue.h - a list of problems in PostgreSQL that tuners on any machine work off.
 *
 * A job is a problem with a budget.  A worker takes a job by a lease.  The claim is committed at
 * once, the worker renews the lease while it tunes, and a job whose lease ran out is free for other
 * workers.  The worker tunes into its own database, as without a queue.  In the transaction that
 * ends the job it uploads a result: a small database with the problem's rows.  `tune queue export`
 * merges the results.
 *
 * A result belongs to a job and a worker.  A result that is uploaded twice is there once.  The
 * result of a worker whose lease ran out is kept beside the other worker's, because its trials are
 * as true. */
#ifndef GT_QUEUE_H
#define GT_QUEUE_H

#include <limits.h>

#include "cluster/pq.h"
#include "console/cmd_write.h"
#include "session/cmd_session.h"

#define GT_QUEUE_FORMAT   "gemmtune queue 1" /* format of the documents of --json */
#define GT_QUEUE_ATTEMPTS 4 /* a job has failed when so many of its leases ran out */

/* Endings of a worker's name, which say whether the worker predicts or measures.  The name goes
 * with a result through the worker's database to the server, so that a queue of any version can
 * tell. Programs before 2026-11-28 set neither mark; their results do not count as measured. */
#define GT_QUEUE_PREDICTS ".predicted"
#define GT_QUEUE_MEASURES ".measured"
#define GT_QUEUE_UNMARKED \
    "(worker NOT LIKE '%" GT_QUEUE_PREDICTS "' AND worker NOT LIKE '%" GT_QUEUE_MEASURES "')"

struct gt_queue_job {
    char id[24], problem[GT_PROBLEM_TEXT_MAX], budget[64];
};

/* Creates the missing tables (schema gemmtune).  The job numbers of a new queue differ from those
 * of every earlier queue, so that an old result that still waits in a worker's database is not
 * taken for a new job's. */
int gt_queue_create(struct gt_pq *pq, struct gt_err *err);

/* GT_EDB: the database has no queue. */
int gt_queue_check(struct gt_pq *pq, struct gt_err *err);

/* Adds a job; *added false: the same job is there already.  class_of: the job is for devices whose
 * class begins with this text; "": for all devices. */
int gt_queue_submit(struct gt_pq *pq, const char *problem, const char *class_of, double weight,
                    const char *budget, bool *added, struct gt_err *err);

/* Takes the heaviest ready job, for lease_s seconds.  *taken false: no job is ready; *left: jobs
 * that other workers have.  Longer texts in the table are cut to the members' sizes. */
int gt_queue_take(struct gt_pq *pq, struct gt_queue_job *job, const char *worker,
                  const char *class_of, int64_t lease_s, bool *taken, int64_t *left,
                  struct gt_err *err);

/* Renews a lease that this worker still has. */
int gt_queue_renew(struct gt_pq *pq, const char *job, const char *worker, int64_t lease_s,
                   struct gt_err *err);

/* Stores a result and, if `ends`, ends the job, in one transaction.  *known false: the job is gone,
 * and nothing is stored. */
int gt_queue_put(struct gt_pq *pq, const char *job, const char *worker, int64_t trials,
                 const void *database, size_t bytes, bool ends, bool *known, struct gt_err *err);

/* Gives a job back.  UNTOUCHED: it is as if it had not been taken; TRIED: it may be why the worker
 * failed, so one of its GT_QUEUE_ATTEMPTS attempts is used up; IMPOSSIBLE: no worker can do it. */
enum gt_queue_back { GT_QUEUE_UNTOUCHED, GT_QUEUE_TRIED, GT_QUEUE_IMPOSSIBLE };
int gt_queue_give_back(struct gt_pq *pq, const char *job, const char *worker,
                       enum gt_queue_back how, struct gt_err *err);

/* Makes failed jobs ready again; predicted: instead the jobs that ended with no measured result. */
int gt_queue_retry(struct gt_pq *pq, bool predicted, int64_t *jobs, struct gt_err *err);
/* Counts the jobs that ended with no measured result; *unmarked: how many of these have a result of
 * a worker without a mark. */
int gt_queue_count_predicted(struct gt_pq *pq, int64_t *jobs, int64_t *unmarked,
                             struct gt_err *err);

/* How many cancelled jobs are in each state. */
struct gt_queue_cancelled {
    int64_t gone;   /* ready, without a result: removed */
    int64_t failed; /* ready, with results of workers that did not end it: the results stay */
    int64_t taken;  /* a worker has the job and may end it; it is not handed out again */
};

/* Cancels all jobs that were submitted so far: no worker gets one any more. */
int gt_queue_cancel(struct gt_pq *pq, struct gt_queue_cancelled *cancelled, struct gt_err *err);

/* ---- queue_compile.c: compiling ahead ---- */

/* Announces that workers with this device and this version of NVRTC are at work; profile: that such
 * workers are to be expected. */
int gt_queue_announce(struct gt_pq *pq, const char *class_of, const struct gt_device *device,
                      int nvrtc, bool profile, struct gt_err *err);
/* Reads an announced device.  GT_EDB: a value is missing or out of bounds. */
int gt_queue_read_device(struct gt_device *device, const char *class_of, const char *facts,
                         struct gt_err *err);
/* Counts the problems that were compiled ahead, once for each device, and the cubins that came of
 * them. */
int gt_queue_count_ahead(struct gt_pq *pq, int64_t *problems, int64_t *cubins, struct gt_err *err);

/* ---- queue_worker.c ---- */

struct gt_queue_options {
    const char *address;
    int64_t lease_s;               /* 0: 120 */
    bool predict;                  /* take jobs without a GPU, too */
    bool stay;                     /* wait for more jobs when all have ended */
    bool compile;                  /* only compile, ahead of the workers that tune */
    int64_t ahead;                 /* with `compile`: candidates of each problem; 0: 64 */
    struct gt_session_after after; /* after each job's finals; its rows are uploaded, too */
};

/* Takes and tunes jobs until none is left, or a signal comes.  The session is open. */
int gt_queue_work(struct gt_session *session, const struct gt_kernel *const *kernel, size_t kernels,
                  const char *database, const struct gt_queue_options *options, struct gt_err *err);

/* ---- queue_compile.c ---- */

/* Compiles the candidates that workers with GPUs will try first, until no job is ready, or a signal
 * comes.  session->arch: compiles for devices of that arch only, and for the arch's profile until a
 * worker with such a device comes. */
int gt_queue_compile(struct gt_cli *cli, const struct gt_session_options *session,
                     const struct gt_queue_options *options, struct gt_err *err);

/* ---- queue_export.c ---- */

/* How many of the server's results were merged, and why the others were not. */
struct gt_queue_merged {
    int64_t merged, refused; /* refused: the result is no sound database */
    int64_t predicted;       /* merged results of workers that predict */
    int64_t unmarked;        /* merged results of workers without a mark */
    struct gt_err why;       /* why the first refused result was refused */
    int64_t rows, dated;     /* of the merged results, as gt_store_merge_doubts counts them */
};

/* Merges all sound results into a database.  The kernels' texts of today are stored first, because
 * results are uploaded without kernel texts. */
int gt_queue_export(struct gt_cli *cli, struct gt_pq *pq, struct gt_store *store,
                    struct gt_queue_merged *merged, struct gt_err *err);

/* GT_OK if no result was refused, else an error whose sentence says how many were refused, and
 * why. */
int gt_queue_refused(const struct gt_queue_merged *merged, struct gt_err *err);

/* A database that a command reads: a file, or a copy of what a queue holds, made in $TMPDIR and
 * removed when it is closed. */
struct gt_queue_copy {
    const char *path;    /* the file to read */
    const char *address; /* the queue's; NULL: path is the file that was named */
    struct gt_scratch folder;
    char file[PATH_MAX];
};

/* named: a file, postgresql://HOST/DATABASE, or NULL for the default database. */
int gt_queue_copy_open(struct gt_queue_copy *copy, struct gt_cli *cli, const char *named,
                       struct gt_err *err);
/* err (may be NULL): the command's error.  If its sentence names the copy, the address takes the
 * place of that name. */
void gt_queue_copy_close(struct gt_queue_copy *copy,
                         struct gt_err *err); /* a zeroed copy is accepted */

/* ---- what the workers of a queue share ----
 *
 * These are a connection that survives an absent server, the loop of the work, and names.  Only
 * queue_worker.c and queue_compile.c use them. */

#define GT_QUEUE_NAME  96  /* bytes of a worker's name */
#define GT_QUEUE_CLASS 192 /* bytes of a device's class */

struct gt_queue_link {
    struct gt_cli *cli;
    const char *address;
    struct gt_pq *pq; /* NULL: the server is away */
    bool known;       /* the server has let this worker in */
    int refused;      /* how often the server refused this worker before that */
};

/* The repeated work of a worker. */
struct gt_queue_duty {
    /* Called with the open connection, before each piece of work. */
    int (*greet)(void *context, struct gt_err *err);
    /* Does one piece of work; *taken false: there was none; *left: pieces that may become ready
     * later. */
    int (*work)(void *context, bool *taken, int64_t *left, struct gt_err *err);
    bool stay;               /* wait for more work when all of it has ended */
    const char *interrupted; /* the sentence after a signal */
};

/* Works until nothing is left, and waits for an absent server.  GT_EINTERRUPTED: a signal came.
 * GT_EIO: a server that has never let this worker in has refused it several times. */
int gt_queue_serve(struct gt_queue_link *link, const struct gt_queue_duty *duty, void *context,
                   struct gt_err *err);
/* Closes the connection; gt_queue_serve opens a new one. */
void gt_queue_leave(struct gt_queue_link *link);

void gt_queue_note(const struct gt_queue_link *link, const char *sentence);

/* Prints the document of a worker's run: jobs ended, cubins compiled, cubins that were already in
 * the cache. */
int gt_queue_print_work(const struct gt_cli *cli, int64_t jobs, int64_t compiled, int64_t found,
                        struct gt_err *err);

/* HOST-PID-TIME, without the characters that separate the parts of file names.  TIME is in
 * nanoseconds, because containers of one host may all be process 1.  mark: the name's ending. */
void gt_queue_name(char name[GT_QUEUE_NAME], const char *mark);
/* The class of a device, with which --class is compared. */
void gt_queue_class(char class_of[GT_QUEUE_CLASS], const struct gt_device *device);

#endif
