/* cache.h - stage: content-addressed store of compiled kernels, one file per key.
 *
 * Key: digest of source, every included file, options and NVRTC version.  Files are written to a
 * temporary name, synced and renamed; the digest of the payload is checked on load and a damaged
 * file is a miss.  The folder is created 0700.  It is opened once for each call, and neither read
 * nor written unless it belongs to this user or to root and nobody else may write there: whoever
 * puts a file there has a kernel run on this user's GPU. */
#ifndef GT_CACHE_H
#define GT_CACHE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/digest.h"
#include "cuda/compile.h"

struct gt_kernel;

/* $GEMMTUNE_CACHE, else $XDG_CACHE_HOME/gemmtune, else ~/.cache/gemmtune; malloc'ed. */
int gt_cache_dir(char **path, struct gt_err *err);

/* kernel gives the digest of the includes (its signature). */
int gt_cache_key(char key[GT_DIGEST_HEX], const struct gt_kernel *kernel,
                 const struct gt_compile_request *request, int nvrtc_version, struct gt_err *err);

/* GT_OK: found and intact, and now the most recently used; GT_ENOTFOUND: compile it (the sentence
 * says if the folder or file is not used because of its owner or mode). */
int gt_cache_load(const char *dir, const char *key, struct gt_binary *binary, struct gt_err *err);

/* GT_EIO: it cannot be stored. */
int gt_cache_save(const char *dir, const char *key, const struct gt_binary *binary,
                  struct gt_err *err);

/* What a cache holds. */
struct gt_cache_usage {
    int64_t entries, bytes;
};

/* Bytes that the cache may grow to: $GEMMTUNE_CACHE_LIMIT, else 2 GiB. */
int gt_cache_limit(int64_t *bytes, struct gt_err *err);

/* "500M", "2G", "1000000": bytes, or with K, M, G, T times 1024 once to four times. */
int gt_cache_parse_size(int64_t *bytes, const char *text, struct gt_err *err);

/* Removes what writers that were killed left behind (temporary files an hour old or more, with
 * limit 0 all of them) and, if the entries take more than `limit` bytes, those that were not used
 * for the longest time, until seven eighths of the limit are left.  What is left goes to *left (may
 * be NULL).  A folder that is not there is empty; GT_EIO: it is not one to read. */
int gt_cache_trim(const char *dir, int64_t limit, struct gt_cache_usage *left, struct gt_err *err);

/* Where a run keeps the kernels that the cache does not take (a full disk, a folder without
 * rights): a folder of $TMPDIR, /dev/shm or /tmp that is named after the process `run`, the one
 * that removes it in the end.  At most 256 MiB, the most recently used. */
int gt_cache_spill_save(pid_t run, const char *key, const struct gt_binary *binary,
                        struct gt_err *err);
int gt_cache_spill_load(pid_t run, const char *key, struct gt_binary *binary, struct gt_err *err);
void gt_cache_spill_remove(pid_t run);

struct stat;

/* Whether only root and this user can have written it. */
bool gt_cache_owned(const struct stat *status);

/* A descriptor of the folder, which belongs to this user or root and admits no other writer, or an
 * error code: GT_ENOTFOUND (there is none), GT_EIO.  `create` makes it and those above it, 0700. */
int gt_cache_folder(const char *dir, bool create, struct gt_err *err);

#endif
