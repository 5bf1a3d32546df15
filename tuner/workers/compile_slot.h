/* compile_slot.h - one compile worker as the pool sees it: its process, its limits, its deadline.
 * Part of compile_pool.c, which decides what it compiles. */
#ifndef GT_COMPILE_SLOT_H
#define GT_COMPILE_SLOT_H

#include "workers/compile_pool.h"
#include "workers/process.h"
#include "workers/wire.h"

#include "cuda/compile.h"

enum gt_slot_state { GT_SLOT_EMPTY, GT_SLOT_STARTING, GT_SLOT_IDLE, GT_SLOT_BUSY };

struct gt_slot {
    enum gt_slot_state state;
    struct gt_process process;
    struct gt_wire wire;
    struct gt_strbuf frame;
    int done;         /* compilations since it was started */
    bool unsent;      /* its job could not be handed over */
    int64_t began;    /* while BUSY, by gt_clock_ms */
    int64_t deadline; /* while STARTING or BUSY; while EMPTY: not started before */
};

enum gt_slot_event {
    GT_SLOT_NOTHING,
    GT_SLOT_READY,      /* started: nvrtc is known */
    GT_SLOT_COMPILED,   /* its job is done: compiled tells how it went */
    GT_SLOT_LOST,       /* its worker is gone; the job it had is done, too: compiled says why */
    GT_SLOT_LOST_EMPTY, /* its worker is gone; there was no job */
    GT_SLOT_BAD_START   /* its worker did not come up */
};

struct gt_slot_report {
    enum gt_slot_event event;
    int nvrtc;
    struct gt_compiled compiled; /* without id and key */
    char how[128];               /* LOST*, BAD_START: "was killed by signal 9 (Killed)" */
    char spilled[256];           /* COMPILED: why the cache did not take the cubin; "": it did */
};

/* Options must be complete (no zero stands for a default). */
void gt_slot_init(struct gt_slot *slot);
void gt_slot_release(struct gt_slot *slot); /* kills the worker */
int gt_slot_start(struct gt_slot *slot, const struct gt_compile_pool_options *options,
                  struct gt_err *err);

/* Hands an IDLE slot its job.  A worker that cannot be written to is noticed by the next pump. */
void gt_slot_send(struct gt_slot *slot, const struct gt_compile_pool_options *options,
                  const char *key, const struct gt_compile_request *request);

/* Reads at most one message and watches the deadline, without waiting.  Errors: what no other
 * worker would do better (no NVRTC, no folder for cubins that can be written to). */
int gt_slot_pump(struct gt_slot *slot, const struct gt_compile_pool_options *options,
                 struct gt_slot_report *report, struct gt_err *err);

#endif
