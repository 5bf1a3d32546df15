/* workspace.h - stage: finds the workspace that a winner needs beside its operands.
 *
 * The workspace that the program gave to cuBLAS (handle.h) is used where it is large enough.  Else
 * there is one buffer of ours for each pair of context and stream.  The background thread allocates
 * it, so calls are left to cuBLAS until then.  It is found without locks.  All of them together are
 * bounded: the memory is the program's, which may make streams without end.
 *
 * Threads that share a stream share its workspace.  A product of several launches (one that packs
 * an operand, say) leaves there what its next launch reads, so threads take turns at a stream. */
#ifndef GT_WORKSPACE_H
#define GT_WORKSPACE_H

#include <pthread.h>
#include <stdatomic.h>

#include "serve/driver.h"

#define GT_OWN_SLOTS 256               /* pairs of context and stream; a power of two */
#define GT_OWN_BYTES ((size_t)2 << 30) /* of all buffers of ours in a process */

struct gt_workspaces {
    struct gt_own {
        _Atomic int state; /* 0: free, 1: being taken, 2: taken */
        void *context, *stream;
        _Atomic uint64_t buffer;
        _Atomic size_t bytes, wanted; /* there is one; a larger one is to be made */
        _Atomic size_t refused;       /* there is no memory for so many; 0: not refused yet */
        pthread_mutex_t turn;         /* of a product's launches */
    } own[GT_OWN_SLOTS];
    size_t held; /* bytes of all buffers; the background thread's */
};

/* Our own of that size; NULL: there is none yet.  *ask is set if the background thread is to make
 * it. */
void *gt_workspace_own(struct gt_workspaces *all, void *context, void *stream, size_t bytes,
                       bool *ask);

/* What a thread holds while it launches a product that has a workspace; NULL: nothing, because the
 * stream is another one in each thread, or there are too many streams, which have no workspace of
 * ours either. */
pthread_mutex_t *gt_workspace_turn(struct gt_workspaces *all, void *context, void *stream);

/* Makes what is wanted; for the background thread. */
void gt_workspace_make(struct gt_workspaces *all, const struct gt_serve_driver *driver);

#endif
