/* cache.h - stage: content-addressed store of compiled kernels, one file per key.
 *
 * The key is a digest of source, every included file, options and NVRTC version.  A file is written
 * under a temporary name, synced and renamed.  The digest of its payload is checked on load, and a
 * damaged file is a miss.  The folder is created 0700.  Each call opens the folder once, and
 * neither reads nor writes it unless it belongs to this user or to root and nobody else may write
 * there, because a file in the folder becomes a kernel that runs on this user's GPU. */
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

/* Makes the key.  kernel: its signature stands for the included files. */
int gt_cache_key(char key[GT_DIGEST_HEX], const struct gt_kernel *kernel,
                 const struct gt_compile_request *request, int nvrtc_version, struct gt_err *err);

/* GT_OK: the entry was found intact, and is now the most recently used.  GT_ENOTFOUND: the kernel
 * has to be compiled; the sentence says if the folder or file is not used because of its owner or
 * mode. */
int gt_cache_load(const char *dir, const char *key, struct gt_binary *binary, struct gt_err *err);

/* GT_EIO: the binary cannot be stored. */
int gt_cache_save(const char *dir, const char *key, const struct gt_binary *binary,
                  struct gt_err *err);

/* Size of a cache. */
struct gt_cache_usage {
    int64_t entries, bytes;
};

/* Bytes that the cache may grow to: $GEMMTUNE_CACHE_LIMIT, else 2 GiB. */
int gt_cache_limit(int64_t *bytes, struct gt_err *err);

/* "500M", "2G", "1000000": bytes, or with K, M, G, T times 1024 once to four times. */
int gt_cache_parse_size(int64_t *bytes, const char *text, struct gt_err *err);

/* Removes temporary files that killed writers left behind: those an hour old or more, or all of
 * them if limit is 0.  If the entries take more than `limit` bytes, it also removes the entries
 * that were not used for the longest time, until seven eighths of the limit are left.  *left (may
 * be NULL): the size of the cache afterwards.  A missing folder counts as empty.  GT_EIO: the
 * folder may not be read. */
int gt_cache_trim(const char *dir, int64_t limit, struct gt_cache_usage *left, struct gt_err *err);

/* A run's spill folder, for kernels that the cache cannot store (a full disk, a folder without
 * rights).  It lies in $TMPDIR, /dev/shm or /tmp and is named after the process `run`, which
 * removes it in the end.  It keeps at most 256 MiB, the most recently used kernels. */
int gt_cache_spill_save(pid_t run, const char *key, const struct gt_binary *binary,
                        struct gt_err *err);
int gt_cache_spill_load(pid_t run, const char *key, struct gt_binary *binary, struct gt_err *err);
void gt_cache_spill_remove(pid_t run);

struct stat;

/* Whether only root and this user can have written the file. */
bool gt_cache_owned(const struct stat *status);

/* A descriptor of the folder, which belongs to this user or root and admits no other writer, or an
 * error code: GT_ENOTFOUND (there is none), GT_EIO.  create: the folder and missing folders above
 * it are made, 0700. */
int gt_cache_folder(const char *dir, bool create, struct gt_err *err);

#endif
