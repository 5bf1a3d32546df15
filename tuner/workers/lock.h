/* lock.h - one tuner per GPU: an advisory lock named by the GPU's UUID, held until it is closed or
 * its process is gone.
 *
 * One place for everybody on the machine, whoever they are and however they logged in: /run/lock
 * where all users may write to it, else /tmp; $GEMMTUNE_LOCKS names another folder. */
#ifndef GT_LOCK_H
#define GT_LOCK_H

#include "gemmtune.h"

/* Takes the lock: *fd is to be handed to gt_lock_release.  GT_EBUSY names the process that holds
 * it, if the system tells; GT_EIO: what lies in its place is no file of ours. */
int gt_lock_take(int *fd, const char *uuid, struct gt_err *err);
void gt_lock_release(int fd); /* -1 accepted */

#endif
