/* handle.h - stage: what cuBLAS's handles are set to: stream, pointer mode, math mode, and the
 * workspace that the program has given to cuBLAS.
 *
 * Calling cuBLAS's getters costs about 80 ns each (0.5 us of a call on an H200 host).  So the
 * setters are hooked, and their values are remembered.  A program may set a handle past the hooks,
 * too.  So the stream and the pointer mode are asked for at each call, as are a math mode and
 * atomics that the program has allowed; everything is at the first calls and at one in many later
 * ones.  If an answer is another one than what was remembered, everything is asked for at every
 * further call with this handle.  The workspace has no getter: such a handle's is not used. */
#ifndef GT_HANDLE_H
#define GT_HANDLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "serve/real.h"
#include "serve/report.h"

/* Above 0: this thread is in a function of cuBLAS, whose own calls are not the program's. */
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

/* The handle's slot, made if there is none; NULL: no room.  It holds no lock. */
struct gt_handle *gt_handle_find(struct gt_handles *all, void *handle);

/* Its settings; slot may be NULL.  false: cuBLAS does not tell. */
bool gt_handle_settings(struct gt_handle *slot, const struct gt_real *real, void *handle,
                        struct gt_settings *settings);

/* A setter has succeeded.  Setting the stream takes the program's workspace away. */
void gt_handle_set_stream(struct gt_handle *slot, void *stream);
void gt_handle_set_workspace(struct gt_handle *slot, void *workspace, size_t bytes);

/* The handle is destroyed after this, or was just made: what is remembered of one at its address is
 * forgotten, and the slot is another handle's from now on. */
void gt_handle_free(struct gt_handles *all, void *handle);

/* ---- workspaces: what a winner needs beside its operands ----
 *
 * The workspace that the program gave to cuBLAS is used where it is large enough.  Else
 * there is one buffer of ours for each pair of context and stream.  The background thread allocates
 * it, so calls are left to cuBLAS until then.  It is found without locks.  All of them together are
 * bounded: the memory is the program's, which may make streams without end.
 *
 * Threads that share a stream share its workspace.  A product of several launches (one that packs
 * an operand, say) leaves there what its next launch reads, so threads take turns at a stream. */

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

/* gt_run of the entry's plan, whose own call of cuBLASLt is not the program's.  Where it has a
 * workspace, no other thread launches one on that stream meanwhile. */
int gt_workspace_run(struct gt_workspaces *all, const struct gt_entry *entry, void *stream,
                     const struct gt_operands *operands, struct gt_err *err);

/* Makes what is wanted; for the background thread. */
void gt_workspace_make(struct gt_workspaces *all, const struct gt_serve_driver *driver);

#endif
