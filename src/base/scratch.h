/* scratch.h - vocabulary: folders for files that nobody needs once a command has ended, and what
 * killed commands left behind. */
#ifndef GT_SCRATCH_H
#define GT_SCRATCH_H

#include "gemmtune.h"

#include <sys/types.h>

#define GT_PART ".part-XXXXXX" /* behind a path: the new file, or its folder, beside that path */

struct gt_scratch {
    char *path; /* absolute in $TMPDIR: the command's processes may work elsewhere; NULL: none */
    int fd;     /* the folder's, locked as long as the folder is in use */
};

/* Makes a new folder that only this user may enter: in $TMPDIR, or else in /tmp.  Folders that
 * killed commands of this user left behind at least an hour ago are removed first.  The new folder
 * is to be removed also after a failure. */
int gt_scratch_make(struct gt_scratch *scratch, struct gt_err *err);

/* As gt_scratch_make, but the folder lies beside the path: PATH.part-XXXXXX. */
int gt_scratch_make_beside(struct gt_scratch *scratch, const char *path, struct gt_err *err);

/* Removes the folder with its files; a zeroed structure is accepted. */
void gt_scratch_remove(struct gt_scratch *scratch);

/* Removes files (S_IFREG) or folders with their files (S_IFDIR) whose names fit the template, which
 * ends with XXXXXX, if they belong to this user, have not changed for an hour and are not in use,
 * which a lock tells. */
void gt_remove_left_overs(const char *template, mode_t type);

#endif
