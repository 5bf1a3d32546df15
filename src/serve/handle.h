/* handle.h - stage: the settings of cuBLAS's handles: stream, pointer mode, math mode, and the
 * workspace that the program has given to cuBLAS.
 *
 * Calling cuBLAS's getters costs about 80 ns each (0.5 us of a call on an H200 host).  So the
 * setters are hooked, and their values are remembered.  But a program may also set a handle past
 * the hooks.  So each call asks for the stream and the pointer mode, and for a math mode and
 * atomics that the program has allowed.  The first calls, and one in many later calls, ask for
 * everything.  If an answer differs from the remembered value, every further call with this handle
 * asks for everything.  The workspace has no getter, so the workspace of such a handle is not
 * used. */
#ifndef GT_HANDLE_H
#define GT_HANDLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "serve/real.h"
#include "serve/report.h"

/* Above 0: this thread is in a function of cuBLAS, and calls from there are cuBLAS's own, not the
 * program's. */
#define GT_FAST_TLS _Thread_local __attribute__((tls_model("initial-exec")))
extern GT_FAST_TLS int gt_inside;

#define GT_HANDLES 4096 /* a power of two */

struct gt_settings {
    void *stream;
    int pointers, math, atomics, sms;
};

struct gt_handle {
    _Atomic(void *) handle;
    _Atomic(void *) stream, workspace;
    _Atomic size_t workspace_bytes;
    _Atomic int pointers, math, atomics, sms;
    _Atomic unsigned calls;
    _Atomic bool known, ask;
};

struct gt_handles {
    struct gt_handle slot[GT_HANDLES];
};

/* The handle's slot, made if there is none; NULL: no room.  The search takes no lock. */
struct gt_handle *gt_handle_find(struct gt_handles *all, void *handle);

/* Gets the handle's settings; slot may be NULL.  false: cuBLAS does not tell them. */
bool gt_handle_settings(struct gt_handle *slot, const struct gt_real *real, void *handle,
                        struct gt_settings *settings);

/* To be called after a setter has succeeded.  Setting the stream takes the program's workspace away
 * from the handle. */
void gt_handle_set_stream(struct gt_handle *slot, void *stream);
void gt_handle_set_workspace(struct gt_handle *slot, void *workspace, size_t bytes);

/* To be called before a handle is destroyed and after one was made: the remembered settings of a
 * handle at this address are forgotten, and another handle may take the slot. */
void gt_handle_free(struct gt_handles *all, void *handle);

/* ---- workspaces, which winners may need beside their operands ----
 *
 * The workspace that the program gave to cuBLAS is used where it is large enough.  Otherwise this
 * library has one buffer for each pair of context and stream.  The background thread allocates the
 * buffer, and calls are left to cuBLAS until then.  The buffer is found without locks.  The size of
 * all buffers together is bounded, because the memory is the program's, which may make streams
 * without end.
 *
 * Threads that share a stream share its workspace.  A product of several launches (one that packs
 * an operand, say) leaves data in the workspace for its next launch, so threads take turns at a
 * stream. */

#define GT_OWN_SLOTS 256               /* pairs of context and stream; a power of two */
#define GT_OWN_BYTES ((size_t)2 << 30) /* most bytes of all these buffers in a process */

struct gt_workspaces {
    struct gt_own {
        _Atomic int state; /* 0: free, 1: being taken, 2: taken */
        void *context, *stream;
        _Atomic uint64_t buffer;
        _Atomic size_t bytes, wanted; /* size of the buffer; size of a larger buffer that is to be
                                         made */
        _Atomic size_t refused;       /* size for which there was no memory; 0: not refused yet */
        pthread_mutex_t turn;         /* held while a product's launches are enqueued */
    } own[GT_OWN_SLOTS];
    size_t held; /* bytes of all buffers; only the background thread uses it */
};

/* This library's workspace of that size for context and stream; NULL: there is none yet.  *ask is
 * set if the background thread is to make it. */
void *gt_workspace_own(struct gt_workspaces *all, void *context, void *stream, size_t bytes,
                       bool *ask);

/* Runs the entry's plan by gt_run; a call of cuBLASLt by the plan does not count as the program's.
 * If the plan has a workspace, no other thread launches a product with a workspace on that stream
 * meanwhile. */
int gt_workspace_run(struct gt_workspaces *all, const struct gt_entry *entry, void *stream,
                     const struct gt_operands *operands, struct gt_err *err);

/* Makes the wanted buffers; for the background thread. */
void gt_workspace_make(struct gt_workspaces *all, const struct gt_serve_driver *driver);

#endif
