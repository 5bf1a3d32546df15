/* cache.c - stage: compiled kernels on disk, one file per key, shared by all processes of the user.
 * compile.c fills it, and the GPU worker is given a file of it.
 *
 * A file is a fixed header (what ptxas reported, sizes, the digest of what follows), the image and
 * the log.  The digest finds damage.  It cannot keep out images that somebody else made, because
 * whoever may write to the folder can also compute the digest: the owners of folder and file do
 * that (cache_folder.c). */
#include "cuda/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/quiet.h"
#include "base/strbuf.h"
#include "cuda/cache_folder.h"
#include "kernel/kernel.h"

#define MAGIC "gtcubin1"
#define LIMIT (256u << 20) /* bytes of an image or log; more is damage */

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
        return gt_err_set(
            err, GT_EIO,
            "no folder for compiled kernels: set GEMMTUNE_CACHE, XDG_CACHE_HOME or HOME");
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
    if (request->ptx) /* from which a cubin for that device is made */
        gt_digest_add(&digest, &request->device_cc, sizeof(request->device_cc));
    gt_digest_final(&digest, key);
    return GT_OK;
}

#define NAME_MAX_BYTES (GT_DIGEST_HEX + 16)

/* KEY.bin */
static void entry_name(char name[NAME_MAX_BYTES], const char *key)
{
    snprintf(name, NAME_MAX_BYTES, "%s.bin", key);
}

static int payload_digest(char hex[GT_DIGEST_HEX], const struct header *header, const void *image,
                          const char *log)
{
    struct gt_digest digest;
    struct header plain;
    int rc = gt_digest_init(&digest);

    if (rc)
        return rc;
    memcpy(&plain, header, sizeof(plain)); /* with the padding, which = may drop */
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

/* Fills binary from an open file; GT_ENOTFOUND if the file is not complete. */
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

/* Opens the entry for reading.  It must be a regular file that nobody else can have written;
 * opening does not block on a FIFO of that name and does not follow a link. */
static int open_entry(int folder, const char *name)
{
    const int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat status;

    if (fd < 0)
        return -1;
    if (!fstat(fd, &status) && S_ISREG(status.st_mode) && gt_cache_owned(&status))
        return fd;
    close(fd);
    errno = EACCES;
    return -1;
}

int gt_cache_load(const char *dir, const char *key, struct gt_binary *binary, struct gt_err *err)
{
    char name[NAME_MAX_BYTES];
    struct gt_err why = {0};
    int folder, fd, rc;

    memset(binary, 0, sizeof(*binary));
    entry_name(name, key);
    folder = gt_cache_folder(dir, false, &why);
    if (folder < 0)
        return gt_err_set(err, GT_ENOTFOUND, "%s", why.msg);
    fd = open_entry(folder, name);
    if (fd < 0)
        rc = gt_err_set(err, GT_ENOTFOUND, "%s/%s: %s", dir, name, strerror(errno));
    close(folder);
    if (fd < 0)
        return rc;
    rc = read_file(fd, binary);
    if (!rc)
        futimens(fd, NULL); /* marks it as used now, so that gt_cache_trim removes others first */
    close(fd);
    if (rc)
        gt_binary_release(binary);
    if (rc == GT_ENOMEM)
        return gt_err_nomem(err);
    if (rc)
        return gt_err_set(err, rc, "%s/%s: damaged, to be compiled again", dir, name);
    return GT_OK;
}

/* Writes header, image and log to the open file and syncs it. */
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
    if (!gt_write_quietly(fd, &header, sizeof(header)) ||
        !gt_write_quietly(fd, binary->image, binary->size) ||
        !gt_write_quietly(fd, log, header.log_bytes))
        return -1;
    return fsync(fd);
}

/* Creates a new file and puts its name into `name`; -1 and errno if that fails. */
static int create_temporary(int folder, char name[NAME_MAX_BYTES], const char *key)
{
    for (int attempt = 0; attempt < 100; attempt++) {
        unsigned number;
        int fd;

        if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
            return -1;
        snprintf(name, NAME_MAX_BYTES, ".%s.%06x", key, number & 0xffffff);
        fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return -1;
}

int gt_cache_save(const char *dir, const char *key, const struct gt_binary *binary,
                  struct gt_err *err)
{
    char name[NAME_MAX_BYTES], temporary[NAME_MAX_BYTES] = "";
    int folder = gt_cache_folder(dir, true, err), fd, rc;

    if (folder < 0)
        return GT_EIO;
    entry_name(name, key);
    fd = create_temporary(folder, temporary, key);
    rc = fd < 0 || write_file(fd, binary);
    if (rc)
        rc = gt_err_set(err, GT_EIO, "%s/%s: %s", dir, temporary, strerror(errno));
    if (fd >= 0 && close(fd) && !rc)
        rc = gt_err_set(err, GT_EIO, "%s/%s: %s", dir, temporary, strerror(errno));
    if (!rc && renameat(folder, temporary, folder, name))
        rc = gt_err_set(err, GT_EIO, "%s/%s: %s", dir, name, strerror(errno));
    if (rc && fd >= 0)
        unlinkat(folder, temporary, 0);
    close(folder);
    return rc;
}
