/* compile_slot.h - one compile worker as the pool sees it: its process, its limits, its deadline.
 * Only the compile pool uses slots, and it decides what they compile. */
#ifndef GT_COMPILE_SLOT_H
#define GT_COMPILE_SLOT_H

#include "cuda/compile.h"
#include "workers/compile_pool.h"
#include "workers/process.h"

enum gt_slot_state { GT_SLOT_EMPTY, GT_SLOT_STARTING, GT_SLOT_IDLE, GT_SLOT_BUSY };

struct gt_slot {
    enum gt_slot_state state;
    struct gt_process process;
    struct gt_strbuf frame;
    int done;         /* compilations since the worker was started */
    bool unsent;      /* the job could not be sent to the worker */
    int64_t began;    /* BUSY: since when, by gt_clock_ms */
    int64_t deadline; /* of the start or the job; EMPTY: the earliest time of the next start */
};

enum gt_slot_event {
    GT_SLOT_NOTHING,
    GT_SLOT_READY,      /* the worker has started; nvrtc is set */
    GT_SLOT_COMPILED,   /* its job is done; compiled has the outcome */
    GT_SLOT_LOST,       /* the worker is gone (process.how), and its job with it; compiled says
                           why */
    GT_SLOT_LOST_EMPTY, /* the worker is gone; it had no job */
    GT_SLOT_BAD_START   /* the worker did not start */
};

struct gt_slot_report {
    enum gt_slot_event event;
    int nvrtc;
    struct gt_compiled compiled; /* without id and key */
    char spilled[256];           /* COMPILED: why the cache refused the cubin; "": the cache took
                                    it */
};

/* The options must be complete: no zero stands for a default. */
void gt_slot_init(struct gt_slot *slot);
void gt_slot_release(struct gt_slot *slot); /* kills the worker */
int gt_slot_start(struct gt_slot *slot, const struct gt_compile_pool_options *options,
                  struct gt_err *err);

/* Sends a job to an IDLE slot.  If the worker does not take the job, the next pump reports the
 * failure.  keeps: the cubin is also kept in the folder of this run. */
void gt_slot_send(struct gt_slot *slot, const struct gt_compile_pool_options *options, bool keeps,
                  const char *key, const struct gt_compile_request *request);

/* Reads at most one message and checks the deadline, without waiting.  Only a failure that every
 * worker would have is an error: no NVRTC, or no writable folder for cubins. */
int gt_slot_pump(struct gt_slot *slot, const struct gt_compile_pool_options *options,
                 struct gt_slot_report *report, struct gt_err *err);

#endif
