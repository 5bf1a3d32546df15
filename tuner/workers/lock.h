/* lock.h - allows one tuner per GPU: an advisory lock named by the GPU's UUID.  The lock is held
 * until it is released or its process has ended.
 *
 * All users of a machine use the same folder, however they logged in: /run/lock if all users may
 * write to it, else /tmp.  $GEMMTUNE_LOCKS names another folder. */
#ifndef GT_LOCK_H
#define GT_LOCK_H

#include "gemmtune.h"

/* Takes the lock; *fd is to be handed to gt_lock_release.  GT_EBUSY: another process holds the
 * lock; the sentence names the process if it is known.  GT_EIO: the file cannot be opened or is not
 * a lock file. */
int gt_lock_take(int *fd, const char *uuid, struct gt_err *err);
void gt_lock_release(int fd); /* -1 accepted */

#endif
