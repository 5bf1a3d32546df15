/* trust.h - vocabulary: whether code, a library or a table may be taken from a place.
 *
 * A file that a program finds without having been told where to look may be used only if nobody but
 * root, this user and the owner of the program can have put it there. */
#ifndef GT_TRUST_H
#define GT_TRUST_H

#include <limits.h>
#include <sys/types.h>

struct gt_err;

/* Writes the path of the file or folder that `path` leads to, without links, to `real`.
 *
 * GT_OK: it and every folder above it belong to root, to the effective user or to `also`, and
 * nobody else may write there.  A folder above it may be one like /tmp, where everybody may write
 * but only owners may rename (sticky); the last one may not.  A group whose number is its owner's
 * counts as the owner, because useradd makes such a group for each user, and Ubuntu lets it write.
 * GT_ENOTFOUND: there is nothing at `path`.  GT_EIO: somebody else may write there; the sentence
 * says where. */
int gt_trust(const char *path, uid_t also, char real[PATH_MAX], struct gt_err *err);

#endif
