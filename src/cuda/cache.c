/* cache.c - stage: compiled kernels on disk, one file per key, shared by all processes of the user.
 * Compilers fill the cache, and the GPU worker is given a file of it.
 *
 * A file is a fixed header (ptxas' figures, sizes, a digest), the image and the log.  The digest
 * finds damage.  It cannot keep out images that somebody else made, because whoever may write to
 * the folder can also compute the digest.  The checks of the owners of folder and file keep such
 * images out. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/quiet.h"
#include "base/strbuf.h"
#include "cuda/cache.h"
#include "kernel/kernel.h"

#define MAGIC "gtcubin1"
#define LIMIT (256u << 20) /* most bytes of an image or log; a larger size is damage */

struct header {
    char magic[8];
    char digest[GT_DIGEST_HEX]; /* digest of header (with this field zeroed), image and log */
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
    if (request->ptx) /* the device for which nvJitLink makes a cubin */
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
    memcpy(&plain, header, sizeof(plain)); /* copies the padding, too, which = may drop */
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
        futimens(fd, NULL); /* marks it as used: gt_cache_trim removes others first */
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

    memset(&header, 0, sizeof(header)); /* zeroes the padding, which is part of the digest */
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

/* Creates a new file; -1 and errno if that fails. */
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

/* ---- the folder: who owns it, and how large it may become ---- */

#define DEFAULT_LIMIT ((int64_t)2 << 30)
#define SPILL_LIMIT   ((int64_t)256 << 20)
#define STALE         3600 /* seconds without a write after which a temporary file has no writer */

bool gt_cache_owned(const struct stat *status)
{
    return (status->st_uid == geteuid() || status->st_uid == 0) && !(status->st_mode & 022);
}

/* mkdir -p with mode 0700. */
static int make_folder(const char *dir, struct gt_err *err)
{
    char path[PATH_MAX];
    int rc = 0;

    if ((size_t)snprintf(path, sizeof(path), "%s", dir) >= sizeof(path))
        return gt_err_set(err, GT_EIO, "%.200s...: path too long", dir);
    for (char *at = path + 1; *at && !rc; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        rc = mkdir(path, 0700) && errno != EEXIST;
        if (!rc)
            *at = '/';
    }
    GT_STEP(rc, mkdir(path, 0700) && errno != EEXIST);
    return rc ? gt_err_set(err, GT_EIO, "%s: cannot create the cache folder: %s", path,
                           strerror(errno))
              : GT_OK;
}

int gt_cache_folder(const char *dir, bool create, struct gt_err *err)
{
    struct stat status;
    int rc = create ? make_folder(dir, err) : GT_OK, fd;

    if (rc)
        return rc;
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno != ENOTDIR)
        return gt_err_set(err, errno == ENOENT ? GT_ENOTFOUND : GT_EIO, "%s: %s", dir,
                          strerror(errno));
    if (fd >= 0 && !fstat(fd, &status) && gt_cache_owned(&status))
        return fd;
    if (fd >= 0)
        close(fd);
    return gt_err_set(err, GT_EIO,
                      "%s: the cubin cache must be a folder that belongs to this user and that no "
                      "one else may write to",
                      dir);
}

/* ---- size ---- */

int gt_cache_parse_size(int64_t *bytes, const char *text, struct gt_err *err)
{
    static const char units[] = "KMGT";
    const char *unit;
    char *end;
    intmax_t value;
    int shift = 0;

    errno = 0;
    value = strtoimax(text, &end, 10);
    if (*end && (unit = strchr(units, *end & ~0x20)) != NULL) {
        shift = 10 * (int)(unit - units + 1);
        end++;
    }
    if (errno || *end || *text < '0' || *text > '9' || value > INT64_MAX >> shift)
        return gt_err_set(err, GT_ESYNTAX,
                          "\"%s\" is not a size: a whole number of bytes, or one with K, M, G or T "
                          "behind it, as 500M",
                          text);
    *bytes = (int64_t)value << shift;
    return GT_OK;
}

int gt_cache_limit(int64_t *bytes, struct gt_err *err)
{
    const char *text = secure_getenv("GEMMTUNE_CACHE_LIMIT");
    int rc;

    *bytes = DEFAULT_LIMIT;
    if (!text || !*text)
        return GT_OK;
    rc = gt_cache_parse_size(bytes, text, err);
    return rc ? gt_err_prefix(err, rc, "GEMMTUNE_CACHE_LIMIT") : GT_OK;
}

struct entry {
    char name[GT_DIGEST_HEX + 4]; /* KEY.bin */
    int64_t bytes;
    struct timespec used;
};

struct listing {
    struct entry *entry;
    size_t count, capacity;
    int64_t bytes;
};

static bool begins_with_key(const char *text)
{
    return strspn(text, "0123456789abcdef") == GT_DIGEST_HEX - 1;
}

/* Whether the name is one that gt_cache_save gives to unfinished files: .KEY.XXXXXX. */
static bool is_temporary(const char *name)
{
    return name[0] == '.' && begins_with_key(name + 1) && name[GT_DIGEST_HEX] == '.' &&
           strlen(name + GT_DIGEST_HEX + 1) == 6;
}

static bool is_entry(const char *name)
{
    return begins_with_key(name) && !strcmp(name + GT_DIGEST_HEX - 1, ".bin");
}

static int add_entry(struct listing *list, const char *name, const struct stat *status)
{
    if (GT_ARRAY_RESERVE(&list->entry, list->count + 1, &list->capacity, NULL))
        return GT_ENOMEM;
    snprintf(list->entry[list->count].name, sizeof(list->entry->name), "%s", name);
    list->entry[list->count].bytes = status->st_size;
    list->entry[list->count++].used = status->st_mtim;
    list->bytes += status->st_size;
    return GT_OK;
}

/* Lists the entries and removes temporary files that are `stale` seconds old. */
static int list_entries(struct listing *list, DIR *folder, time_t stale)
{
    const struct dirent *found;
    int rc = GT_OK;

    while (!rc && (found = readdir(folder)) != NULL) {
        const bool temporary = is_temporary(found->d_name);
        struct stat status;

        if ((!temporary && !is_entry(found->d_name)) ||
            fstatat(dirfd(folder), found->d_name, &status, AT_SYMLINK_NOFOLLOW))
            continue;
        if (!temporary)
            rc = add_entry(list, found->d_name, &status);
        else if (status.st_mtime <= time(NULL) - stale)
            unlinkat(dirfd(folder), found->d_name, 0);
    }
    return rc;
}

static int compare_use(const void *one, const void *other)
{
    const struct timespec *x = &((const struct entry *)one)->used;
    const struct timespec *y = &((const struct entry *)other)->used;

    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

static void evict(struct listing *list, int folder, int64_t limit)
{
    const int64_t goal = limit - limit / 8;
    size_t kept = 0;

    if (list->bytes <= limit && limit > 0)
        return;
    qsort(list->entry, list->count, sizeof(*list->entry), compare_use);
    for (size_t i = 0; i < list->count; i++) {
        if ((list->bytes > goal || limit == 0) && !unlinkat(folder, list->entry[i].name, 0))
            list->bytes -= list->entry[i].bytes;
        else
            kept++;
    }
    list->count = kept;
}

int gt_cache_trim(const char *dir, int64_t limit, struct gt_cache_usage *left, struct gt_err *err)
{
    struct listing list = {0};
    int fd = gt_cache_folder(dir, false, err), rc;
    DIR *folder;

    if (left)
        *left = (struct gt_cache_usage){0};
    if (fd < 0)
        return fd == GT_ENOTFOUND ? GT_OK : fd;
    folder = fdopendir(fd);
    if (!folder) {
        close(fd);
        return gt_err_set(err, GT_EIO, "%s: %s", dir, strerror(errno));
    }
    rc = list_entries(&list, folder, limit ? STALE : 0);
    if (!rc && list.count)
        evict(&list, fd, limit);
    closedir(folder);
    free(list.entry);
    if (left && !rc)
        *left = (struct gt_cache_usage){(int64_t)list.count, list.bytes};
    return rc ? gt_err_nomem(err) : GT_OK;
}

/* ---- the folder for kernels that the cache cannot store ---- */

#define SPILL_PLACES 3

/* Names the folder for spilled kernels; false if there is none. */
static bool spill_folder(char path[PATH_MAX], int place, pid_t run)
{
    const char *const folder[SPILL_PLACES] = {secure_getenv("TMPDIR"), "/dev/shm", "/tmp"};

    return folder[place] && *folder[place] == '/' &&
           (size_t)snprintf(path, PATH_MAX, "%s/gemmtune-%u-%ld", folder[place],
                            (unsigned)geteuid(), (long)run) < PATH_MAX;
}

int gt_cache_spill_save(pid_t run, const char *key, const struct gt_binary *binary,
                        struct gt_err *err)
{
    char path[PATH_MAX];
    int rc = GT_EIO;

    for (int place = 0; place < SPILL_PLACES && rc; place++) {
        if (!spill_folder(path, place, run))
            continue;
        gt_cache_trim(path, SPILL_LIMIT, NULL, NULL);
        rc = gt_cache_save(path, key, binary, err);
    }
    return rc;
}

int gt_cache_spill_load(pid_t run, const char *key, struct gt_binary *binary, struct gt_err *err)
{
    char path[PATH_MAX];
    int rc = GT_ENOTFOUND;

    for (int place = 0; place < SPILL_PLACES && rc == GT_ENOTFOUND; place++)
        if (spill_folder(path, place, run))
            rc = gt_cache_load(path, key, binary, err);
    return rc;
}

void gt_cache_spill_remove(pid_t run)
{
    char path[PATH_MAX];

    for (int place = 0; place < SPILL_PLACES; place++)
        if (spill_folder(path, place, run) && !gt_cache_trim(path, 0, NULL, NULL))
            rmdir(path);
}
