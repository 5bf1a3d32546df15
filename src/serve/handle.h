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

#include <stdatomic.h>
#include <stdbool.h>

#include "serve/real.h"

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

#endif
