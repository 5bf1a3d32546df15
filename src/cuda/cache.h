/* cache.h - stage: content-addressed store of compiled kernels, one file per key.
 *
 * Key: digest of source, every included file, options and NVRTC version.  Files are written to a
 * temporary name, synced and renamed; the digest of the payload is checked on load and a damaged
 * file is a miss.  The folder is created 0700. */
#ifndef GT_CACHE_H
#define GT_CACHE_H

#include "cuda/compile.h"
#include "base/digest.h"

struct gt_kernel;

/* $GEMMTUNE_CACHE, else $XDG_CACHE_HOME/gemmtune, else ~/.cache/gemmtune; malloc'ed. */
int gt_cache_dir(char **path, struct gt_err *err);

/* kernel gives the digest of the includes (its signature). */
int gt_cache_key(char key[GT_DIGEST_HEX], const struct gt_kernel *kernel,
                 const struct gt_compile_request *request, int nvrtc_version, struct gt_err *err);

/* GT_OK: found and intact; GT_ENOTFOUND: compile it. */
int gt_cache_load(const char *dir, const char *key, struct gt_binary *binary, struct gt_err *err);
int gt_cache_save(const char *dir, const char *key, const struct gt_binary *binary,
                  struct gt_err *err);

/* Removes what writers that were killed left behind: temporary files of this cache, an hour old or
 * more.  Nothing is said of what cannot be removed, or of a folder that is not there. */
void gt_cache_tidy(const char *dir);

/* Path of a key's file: a GPU worker is handed this. */
void gt_cache_path(char *path, size_t size, const char *dir, const char *key);

#endif
