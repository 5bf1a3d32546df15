/* workspace.h - stage: memory that winners need beside their operands.
 *
 * A handle's own workspace (cublasSetWorkspace) is noted when it is set, since cuBLAS has no
 * function that tells it, and forgotten where cuBLAS forgets it.  Where it is absent or too small,
 * there is one buffer of our own for each context and stream.  It is made by the background thread,
 * so the calls until then go to cuBLAS.  All of it is looked up without locks. */
#ifndef GT_WORKSPACE_H
#define GT_WORKSPACE_H

#include <stdatomic.h>

#include "serve/driver.h"

#define GT_GIVEN_SLOTS 4096 /* handles; a power of two */
#define GT_OWN_SLOTS   256  /* pairs of context and stream; a power of two */

struct gt_workspaces {
    struct gt_given {
        _Atomic(void *) handle, buffer;
        _Atomic size_t bytes;
    } given[GT_GIVEN_SLOTS];
    struct gt_own {
        _Atomic int state; /* 0: free, 1: being taken, 2: taken */
        void *context, *stream;
        _Atomic uint64_t buffer;
        _Atomic size_t bytes, wanted; /* there is one; a larger one is to be made */
        _Atomic size_t refused;       /* the driver has no memory for so many; 0: not refused yet */
    } own[GT_OWN_SLOTS];
};

/* The program has set (or, with NULL, lost) a handle's workspace. */
void gt_workspace_note(struct gt_workspaces *all, void *handle, void *buffer, size_t bytes);

/* The handle's, if it has one. */
void gt_workspace_given(struct gt_workspaces *all, void *handle, void **buffer, size_t *bytes);

/* Our own of that size; NULL: there is none yet.  *ask is set if the background thread is to make
 * it. */
void *gt_workspace_own(struct gt_workspaces *all, void *context, void *stream, size_t bytes,
                       bool *ask);

/* Makes what is wanted; for the background thread. */
void gt_workspace_make(struct gt_workspaces *all, const struct gt_serve_driver *driver);

#endif
