/* scratch.h - folders for files that nobody needs once a command has ended: in $TMPDIR, else /tmp.
 */
#ifndef GT_SCRATCH_H
#define GT_SCRATCH_H

#include "gemmtune.h"

struct gt_scratch {
    char *path; /* absolute, as processes of the command may work elsewhere; NULL: there is none */
    int fd;     /* of the folder, locked as long as it is in use */
};

/* Makes a new folder that only this user may enter.  Those that killed commands of this user left
 * behind an hour ago or earlier are removed before.  To be removed also after a failure. */
int gt_scratch_make(struct gt_scratch *scratch, struct gt_err *err);

/* Removes it with the files in it; a zeroed one is accepted. */
void gt_scratch_remove(struct gt_scratch *scratch);

#endif
