/* queue_outbox.h - where a worker's results wait for the server.
 *
 * The outbox is a folder beside the worker's database: no result is lost when the server is away or
 * the worker is killed.  When a worker starts, it first uploads the results in the outbox, each
 * under the name of the worker that made it.  A worker that is killed while it tunes leaves a file
 * that names the job.  The next worker on that database uploads the trials of the killed worker,
 * without ending the job.  Only queue_worker.c uses it. */
#ifndef GT_QUEUE_OUTBOX_H
#define GT_QUEUE_OUTBOX_H

#include "cluster/queue.h"

#define GT_QUEUE_PATH 4096

struct gt_queue_outbox {
    char folder[GT_QUEUE_PATH];
    int fd;                        /* the folder's; -1: the folder could not be opened */
    const char *database, *worker; /* the database's path; the worker's name */
};

/* Makes the folder, which only this user may enter.  GT_EIO: other users can write to an existing
 * folder, whose files would be uploaded in this user's name.  The trials of an earlier worker that
 * was killed become a result in the outbox.  The texts must outlive the outbox, which is to be
 * closed also after a failure. */
int gt_queue_outbox_open(struct gt_queue_outbox *outbox, const char *database, const char *worker,
                         struct gt_err *err);
/* Removes the folder; true: the folder is not empty and stays. */
bool gt_queue_outbox_close(struct gt_queue_outbox *outbox);

/* Notes that the job is being tuned. */
int gt_queue_outbox_take(const struct gt_queue_outbox *outbox, const struct gt_queue_job *job,
                         struct gt_err *err);
/* Puts the database's rows of the job's problem into the outbox as a result, and drops the note;
 * ends: the job is done. */
int gt_queue_outbox_put(const struct gt_queue_outbox *outbox, const struct gt_queue_job *job,
                        bool ends, struct gt_err *err);

/* Uploads all results of the outbox; the link is open. */
int gt_queue_outbox_upload(const struct gt_queue_outbox *outbox, struct gt_queue_link *link,
                           struct gt_err *err);

#endif
