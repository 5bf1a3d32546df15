/* cache_folder.h - stage: the folder of the cubin cache (cache_folder.c), for cache.c. */
#ifndef GT_CACHE_FOLDER_H
#define GT_CACHE_FOLDER_H

#include <stdbool.h>

struct gt_err;
struct stat;

/* Whether only root and this user can have written it. */
bool gt_cache_owned(const struct stat *status);

/* A descriptor of the folder, which belongs to this user or root and admits no other writer, or an
 * error code: GT_ENOTFOUND (there is none), GT_EIO.  `create` makes it and those above it, 0700. */
int gt_cache_folder(const char *dir, bool create, struct gt_err *err);

#endif
