/* queue_link.h - what the workers of a queue share: a connection that outlives a server that is
 * away, waits that a signal ends, and names.  Only queue_worker.c, queue_outbox.c and
 * queue_compile.c use it. */
#ifndef GT_QUEUE_LINK_H
#define GT_QUEUE_LINK_H

#include "cluster/queue.h"

#define GT_QUEUE_NAME  96  /* bytes of a worker's name */
#define GT_QUEUE_CLASS 192 /* bytes of a device's class */

struct gt_queue_link {
    struct gt_cli *cli;
    const char *address;
    struct gt_pq *pq; /* NULL: the server is away */
    bool known;       /* it has let this worker in */
    int refused;      /* how often it has not, before */
};

/* Opens the connection if there is none, and then does something with it; tries again, ever more
 * rarely, as long as that says GT_EIO.  GT_EINTERRUPTED: a signal came meanwhile.  GT_EIO: a server
 * that has never let this worker in has refused it several times. */
int gt_queue_reach(struct gt_queue_link *link, int (*then)(void *context, struct gt_err *err),
                   void *context, struct gt_err *err);
/* Closes the connection, so that gt_queue_reach opens another one. */
void gt_queue_leave(struct gt_queue_link *link);

bool gt_queue_interrupted(const struct gt_queue_link *link);
void gt_queue_note(const struct gt_queue_link *link, const char *sentence);
/* Waits, but not after a signal. */
void gt_queue_wait(const struct gt_queue_link *link, double seconds);

/* The document of a worker's run: jobs it ended, cubins it compiled and those that were there. */
int gt_queue_print_work(const struct gt_cli *cli, int64_t jobs, int64_t compiled, int64_t found,
                        struct gt_err *err);

/* HOST-PID-TIME, without the characters that part names of files; to the nanosecond, because
 * containers of one host may all be process 1.  predicts: ends with GT_QUEUE_PREDICTS. */
void gt_queue_name(char name[GT_QUEUE_NAME], bool predicts);
/* What --class is compared with. */
void gt_queue_class(char class_of[GT_QUEUE_CLASS], const struct gt_device *device);

#endif
