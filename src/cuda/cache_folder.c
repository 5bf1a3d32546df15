/* cache_folder.c - stage: the folder of the cubin cache: who owns it, how large it may become, and
 * where kernels go that it does not take.  Below cache.c. */
#include "cuda/cache_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/err.h"
#include "cuda/cache.h"

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

/* --- size ------------------------------------------------------------------------------------- */

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

/* Whether gt_cache_save gives such names to unfinished files: .KEY.XXXXXX. */
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

/* --- spill ------------------------------------------------------------------------------------ */

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
