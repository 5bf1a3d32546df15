/* cache.c - stage: compiled kernels on disk, one file per key, shared by every process of the user.
 * Between compile.c, which fills it, and the GPU worker, which is handed a file of it.
 *
 * A file is a fixed header (what ptxas said, sizes, the digest of what follows), the image and the
 * log.  Names are never followed through symbolic links. */
#include "cuda/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "kernel/kernel.h"
#include "base/strbuf.h"

#define MAGIC "gtcubin1"
#define LIMIT (256u << 20) /* bytes of an image or log; more is damage */
#define STALE 3600         /* seconds without a write after which a temporary file has no writer */

struct header {
    char magic[8];
    char digest[GT_DIGEST_HEX]; /* of the header with this field zeroed, image and log */
    uint64_t image_bytes, log_bytes;
    int32_t registers, spill_bytes, static_shared;
    double ms;
};

int gt_cache_dir(char **path, struct gt_err *err)
{
    const char *own = secure_getenv("GEMMTUNE_CACHE"), *xdg = secure_getenv("XDG_CACHE_HOME");
    const char *home = secure_getenv("HOME");
    struct gt_strbuf buf = GT_STRBUF_INIT;

    *path = NULL;
    if (own && *own)
        gt_strbuf_add(&buf, own);
    else if (xdg && *xdg)
        gt_strbuf_addf(&buf, "%s/gemmtune", xdg);
    else if (home && *home)
        gt_strbuf_addf(&buf, "%s/.cache/gemmtune", home);
    else
        return gt_err_set(err, GT_EIO,
                          "no place for the cubin cache: none of GEMMTUNE_CACHE, XDG_CACHE_HOME "
                          "and HOME is set");
    *path = gt_strbuf_detach(&buf);
    return *path ? GT_OK : gt_err_nomem(err);
}

int gt_cache_key(char key[GT_DIGEST_HEX], const struct gt_kernel *kernel,
                 const struct gt_compile_request *request, int nvrtc_version, struct gt_err *err)
{
    struct gt_digest digest;
    char options[512];

    if (gt_digest_init(&digest))
        return gt_err_nomem(err);
    gt_compile_options(request, options, sizeof(options));
    gt_digest_add(&digest, request->source, strlen(request->source));
    gt_digest_add(&digest, kernel ? kernel->signature : "", kernel ? strlen(kernel->signature) : 0);
    gt_digest_add(&digest, options, strlen(options));
    gt_digest_add(&digest, &nvrtc_version, sizeof(nvrtc_version));
    if (request->ptx) /* of which a cubin for that device is made */
        gt_digest_add(&digest, &request->device_cc, sizeof(request->device_cc));
    gt_digest_final(&digest, key);
    return GT_OK;
}

void gt_cache_path(char *path, size_t size, const char *dir, const char *key)
{
    snprintf(path, size, "%s/%s.bin", dir, key);
}

static int payload_digest(char hex[GT_DIGEST_HEX], const struct header *header, const void *image,
                          const char *log)
{
    struct gt_digest digest;
    struct header plain;
    int rc = gt_digest_init(&digest);

    if (rc)
        return rc;
    memcpy(&plain, header, sizeof(plain)); /* with its padding, which an assignment may drop */
    memset(plain.digest, 0, sizeof(plain.digest));
    gt_digest_add(&digest, &plain, sizeof(plain));
    gt_digest_add(&digest, image, header->image_bytes);
    gt_digest_add(&digest, log, header->log_bytes);
    gt_digest_final(&digest, hex);
    return GT_OK;
}

/* Reads exactly `bytes`; 0 or -1. */
static int read_all(int fd, void *to, size_t bytes)
{
    char *at = to;

    while (bytes) {
        ssize_t got = read(fd, at, bytes);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return -1;
        at += got;
        bytes -= (size_t)got;
    }
    return 0;
}

static int write_all(int fd, const void *from, size_t bytes)
{
    const char *at = from;

    while (bytes) {
        ssize_t put = write(fd, at, bytes);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return -1;
        at += put;
        bytes -= (size_t)put;
    }
    return 0;
}

/* Fills binary from an open file; GT_ENOTFOUND if it is not whole. */
static int read_file(int fd, struct gt_binary *binary)
{
    char digest[GT_DIGEST_HEX];
    struct header header;

    if (read_all(fd, &header, sizeof(header)) || memcmp(header.magic, MAGIC, 8) != 0 ||
        !header.image_bytes || header.image_bytes > LIMIT || header.log_bytes > LIMIT)
        return GT_ENOTFOUND;
    binary->image = malloc(header.image_bytes);
    binary->log = malloc(header.log_bytes + 1);
    if (!binary->image || !binary->log)
        return GT_ENOMEM;
    if (read_all(fd, binary->image, header.image_bytes) ||
        read_all(fd, binary->log, header.log_bytes))
        return GT_ENOTFOUND;
    binary->log[header.log_bytes] = '\0';
    if (payload_digest(digest, &header, binary->image, binary->log))
        return GT_ENOMEM;
    if (memcmp(digest, header.digest, sizeof(digest)) != 0)
        return GT_ENOTFOUND;
    binary->size = header.image_bytes;
    binary->registers = header.registers;
    binary->spill_bytes = header.spill_bytes;
    binary->static_shared = header.static_shared;
    binary->ms = header.ms;
    return GT_OK;
}

int gt_cache_load(const char *dir, const char *key, struct gt_binary *binary, struct gt_err *err)
{
    char path[PATH_MAX];
    int fd, rc;

    memset(binary, 0, sizeof(*binary));
    gt_cache_path(path, sizeof(path), dir, key);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return gt_err_set(err, GT_ENOTFOUND, "%s: %s", path, strerror(errno));
    rc = read_file(fd, binary);
    close(fd);
    if (rc)
        gt_binary_release(binary);
    if (rc == GT_ENOMEM)
        return gt_err_nomem(err);
    if (rc)
        return gt_err_set(err, rc, "%s: damaged, to be compiled again", path);
    return GT_OK;
}

/* mkdir -p with mode 0700; the last folder must belong to this user and admit no other writer. */
static int make_folder(const char *dir, struct gt_err *err)
{
    struct stat status;
    char path[PATH_MAX];

    if ((size_t)snprintf(path, sizeof(path), "%s", dir) >= sizeof(path))
        return gt_err_set(err, GT_EIO, "%.200s...: path too long", dir);
    for (char *at = path + 1; *at; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        if (mkdir(path, 0700) && errno != EEXIST)
            return gt_err_set(err, GT_EIO, "%s: cannot create the cache folder: %s", path,
                              strerror(errno));
        *at = '/';
    }
    if (mkdir(path, 0700) && errno != EEXIST)
        return gt_err_set(err, GT_EIO, "%s: cannot create the cache folder: %s", path,
                          strerror(errno));
    if (stat(path, &status))
        return gt_err_set(err, GT_EIO, "%s: %s", path, strerror(errno));
    if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid() || (status.st_mode & 022))
        return gt_err_set(err, GT_EIO,
                          "%s: the cubin cache must be a folder that belongs to this user and that "
                          "no one else may write to",
                          path);
    return GT_OK;
}

/* Writes header, image and log to the open file and makes them durable. */
static int write_file(int fd, const struct gt_binary *binary)
{
    const char *log = binary->log ? binary->log : "";
    struct header header;

    memset(&header, 0, sizeof(header)); /* padding is part of the digest */
    memcpy(header.magic, MAGIC, sizeof(header.magic));
    header.image_bytes = binary->size;
    header.log_bytes = strlen(log);
    header.registers = binary->registers;
    header.spill_bytes = binary->spill_bytes;
    header.static_shared = binary->static_shared;
    header.ms = binary->ms;
    if (payload_digest(header.digest, &header, binary->image, log)) {
        errno = ENOMEM;
        return -1;
    }
    if (write_all(fd, &header, sizeof(header)) || write_all(fd, binary->image, binary->size) ||
        write_all(fd, log, header.log_bytes))
        return -1;
    return fsync(fd);
}

int gt_cache_save(const char *dir, const char *key, const struct gt_binary *binary,
                  struct gt_err *err)
{
    char path[PATH_MAX], temporary[PATH_MAX];
    int rc = make_folder(dir, err), fd;

    if (rc)
        return rc;
    gt_cache_path(path, sizeof(path), dir, key);
    if ((size_t)snprintf(temporary, sizeof(temporary), "%s/.%s.XXXXXX", dir, key) >=
        sizeof(temporary))
        return gt_err_set(err, GT_EIO, "%.200s...: path too long", dir);
    fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return gt_err_set(err, GT_EIO, "%s: %s", temporary, strerror(errno));
    rc = write_file(fd, binary);
    if (rc)
        rc = gt_err_set(err, GT_EIO, "%s: %s", temporary, strerror(errno));
    if (close(fd) && !rc)
        rc = gt_err_set(err, GT_EIO, "%s: %s", temporary, strerror(errno));
    if (!rc && rename(temporary, path))
        rc = gt_err_set(err, GT_EIO, "%s: %s", path, strerror(errno));
    if (rc)
        unlink(temporary);
    return rc;
}

/* Whether gt_cache_save gives such a name to what it has not finished: .KEY.XXXXXX. */
static bool is_temporary(const char *name)
{
    return name[0] == '.' && strspn(name + 1, "0123456789abcdef") == GT_DIGEST_HEX - 1 &&
           name[GT_DIGEST_HEX] == '.' && strlen(name + GT_DIGEST_HEX + 1) == 6;
}

void gt_cache_tidy(const char *dir)
{
    DIR *folder = opendir(dir);
    const struct dirent *entry;

    if (!folder)
        return;
    while ((entry = readdir(folder)) != NULL) {
        struct stat status;

        if (is_temporary(entry->d_name) &&
            fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            status.st_mtime < time(NULL) - STALE)
            unlinkat(dirfd(folder), entry->d_name, 0);
    }
    closedir(folder);
}
