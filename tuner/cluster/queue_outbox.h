/* queue_outbox.h - where a worker's results wait for the server.
 *
 * The outbox is a folder beside the worker's database: a server that is away, or a worker that is
 * killed, loses no result.  What lies there when a worker starts is uploaded first, under the name
 * of the worker that made it.  A worker that is killed while it tunes leaves a file that names the
 * job: the next one on its database uploads the trials that it had, without ending the job.  Only
 * queue_worker.c uses it. */
#ifndef GT_QUEUE_OUTBOX_H
#define GT_QUEUE_OUTBOX_H

#include "cluster/queue.h"

#define GT_QUEUE_PATH 4096

struct gt_queue_outbox {
    char folder[GT_QUEUE_PATH];
    int fd;                        /* of the folder; -1: it could not be opened */
    const char *database, *worker; /* its path; the worker's name */
};

/* Makes the folder, which only this user may enter; one that others can write to is refused
 * (GT_EIO), because what lies in it is uploaded in this user's name.  What a worker before this one
 * had found when it was killed is a result in it from now on.  The texts must outlive the outbox,
 * which is to be closed also after a failure. */
int gt_queue_outbox_open(struct gt_queue_outbox *outbox, const char *database, const char *worker,
                         struct gt_err *err);
/* Removes the folder; true: there is still something in it. */
bool gt_queue_outbox_close(struct gt_queue_outbox *outbox);

/* Notes that the job is being tuned. */
int gt_queue_outbox_take(const struct gt_queue_outbox *outbox, const struct gt_queue_job *job,
                         struct gt_err *err);
/* Puts in what the database knows of the job's problem, and drops the note; ends: the job is done.
 */
int gt_queue_outbox_put(const struct gt_queue_outbox *outbox, const struct gt_queue_job *job,
                        bool ends, struct gt_err *err);

/* Brings all of it home; the link is open. */
int gt_queue_outbox_upload(const struct gt_queue_outbox *outbox, struct gt_queue_link *link,
                           struct gt_err *err);

#endif
