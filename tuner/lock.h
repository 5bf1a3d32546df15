/* lock.h - one tuner per GPU: an advisory lock named by the GPU's UUID, held until it is closed or
 * its process is gone. */
#ifndef GT_LOCK_H
#define GT_LOCK_H

#include "../src/gemmtune.h"

/* Takes the lock: *fd is to be handed to gt_lock_release.  GT_EBUSY names the process that holds
 * it.  The folder is $XDG_RUNTIME_DIR/gemmtune or /tmp/gemmtune-<uid>, 0700 and ours. */
int gt_lock_take(int *fd, const char *uuid, struct gt_err *err);
void gt_lock_release(int fd); /* -1 accepted */

#endif
