/* lookup.c - gt_open, gt_lookup, gt_close: opens the tables and remembers answers.  How an answer
 * is found is in lookup_tiers.c; gt_plan takes it from there. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "lookup/lookup_impl.h"

#include "base/err.h"
#include "problem/problem.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GT_MAP_FIRST 256 /* slots; a power of two */

struct key {
    struct gt_problem_key problem;
    uint64_t device; /* hash of the name asked for and of the facts of a real GPU */
    int64_t arch;
};

/* An answer and what it answers.  Never changed once it is in a map. */
struct entry {
    struct gt_resolved resolved;
    struct key key;
    struct entry *next; /* all entries, to free them */
};

/* Open addressing.  Readers take no lock: a slot goes from NULL to an entry once, and a map that
 * has become too small stays alive beside its successor. */
struct map {
    size_t mask, used;
    struct map *older;
    _Atomic(struct entry *) slot[];
};

struct gt {
    struct gt_sources sources;
    struct gt_options options;
    char *data_dir, *cubin_dir;
    int log;              /* descriptor, or -1 */
    pthread_mutex_t lock; /* of everything below, against other writers */
    _Atomic(struct map *) map;
    struct entry *entries;
};

void gt_problem_key(struct gt_problem_key *key, const struct gt_problem *p)
{
    const bool batched = p->batch > 1;
    const int64_t size[10] = {p->m,
                              p->n,
                              p->k,
                              p->lda,
                              p->ldb,
                              p->ldc,
                              p->batch,
                              batched ? p->stride_a : 0,
                              batched ? p->stride_b : 0,
                              batched ? p->stride_c : 0};
    const unsigned char kind[16] = {(unsigned char)p->type,
                                    (unsigned char)p->out,
                                    (unsigned char)p->acc,
                                    p->trans_a,
                                    p->trans_b,
                                    p->epilogue,
                                    p->align,
                                    (unsigned char)p->accuracy,
                                    (unsigned char)(p->beta != 0)};

    memcpy(key->size, size, sizeof(size));
    memcpy(key->kind, kind, sizeof(kind));
}

static struct map *new_map(size_t slots)
{
    struct map *map = calloc(1, sizeof(*map) + slots * sizeof(map->slot[0]));

    if (map)
        map->mask = slots - 1;
    return map;
}

static struct entry *find(const struct map *map, const struct key *key, uint64_t hash)
{
    for (size_t i = hash & map->mask;; i = (i + 1) & map->mask) {
        struct entry *entry = atomic_load_explicit(&map->slot[i], memory_order_acquire);

        if (!entry || memcmp(&entry->key, key, sizeof(*key)) == 0)
            return entry;
    }
}

static void insert(struct map *map, struct entry *entry)
{
    size_t i = XXH3_64bits(&entry->key, sizeof(entry->key)) & map->mask;

    while (atomic_load_explicit(&map->slot[i], memory_order_relaxed))
        i = (i + 1) & map->mask;
    atomic_store_explicit(&map->slot[i], entry, memory_order_release);
    map->used++;
}

/* Makes the entry known; the caller holds the lock. */
static int publish(struct gt *gt, struct entry *entry, struct gt_err *err)
{
    struct map *map = atomic_load_explicit(&gt->map, memory_order_relaxed), *larger;

    if (2 * map->used > map->mask) {
        larger = new_map(2 * (map->mask + 1));
        if (!larger)
            return gt_err_nomem(err);
        larger->older = map;
        for (struct entry *e = gt->entries; e; e = e->next)
            insert(larger, e);
        atomic_store_explicit(&gt->map, larger, memory_order_release);
        map = larger;
    }
    insert(map, entry);
    entry->next = gt->entries;
    gt->entries = entry;
    return GT_OK;
}

static void free_entry(struct entry *entry)
{
    if (entry) {
        free((char *)entry->resolved.answer.point);
        free((char *)entry->resolved.answer.passed_over);
    }
    free(entry);
}

/* One write, so that lines of several programs do not mix.  A log that cannot be written costs no
 * answer. */
static void log_untuned(const struct gt *gt, const struct gt_problem *problem)
{
    char line[GT_PROBLEM_TEXT_MAX + 1];
    size_t length;
    ssize_t written;

    if (gt->log < 0)
        return;
    gt_problem_format(problem, line);
    length = strlen(line);
    line[length] = '\n';
    do
        written = write(gt->log, line, length + 1);
    while (written < 0 && errno == EINTR);
}

/* Finds the answer for a key that is not known yet; the caller holds the lock. */
static int answer_new(struct gt *gt, const struct key *key, const struct gt_device *device,
                      const char *device_name, const struct gt_problem *problem,
                      struct entry **answered, struct gt_err *err)
{
    struct entry *entry = calloc(1, sizeof(*entry));
    int code = entry ? gt_problem_check(problem, err) : gt_err_nomem(err);

    if (!code) {
        entry->key = *key;
        entry->resolved.problem = *problem;
        if (device)
            entry->resolved.device = *device;
        else
            code = gt_device_profile(&entry->resolved.device, gt->data_dir, (int)key->arch, err);
    }
    if (!code)
        code = gt_lookup_resolve(&gt->sources, device_name, &entry->resolved, err);
    if (!code)
        code = publish(gt, entry, err);
    if (code) {
        free_entry(entry);
        return code;
    }
    if (entry->resolved.answer.tier != GT_TIER_EXACT)
        log_untuned(gt, problem);
    *answered = entry;
    return GT_OK;
}

static int look_up(struct gt *gt, const struct key *key, const struct gt_device *device,
                   const char *device_name, const struct gt_problem *problem, struct entry **entry,
                   struct gt_err *err)
{
    const uint64_t hash = XXH3_64bits(key, sizeof(*key));
    int code = GT_OK;

    *entry = find(atomic_load_explicit(&gt->map, memory_order_acquire), key, hash);
    if (*entry)
        return GT_OK;
    pthread_mutex_lock(&gt->lock);
    *entry = find(atomic_load_explicit(&gt->map, memory_order_relaxed), key, hash);
    if (!*entry)
        code = answer_new(gt, key, device, device_name, problem, entry, err);
    pthread_mutex_unlock(&gt->lock);
    return code;
}

int gt_lookup(struct gt *gt, int arch, const char *device, const struct gt_problem *problem,
              const struct gt_answer **answer, struct gt_err *err)
{
    struct entry *entry;
    struct key key;
    int code;

    gt_problem_key(&key.problem, problem);
    key.arch = arch;
    key.device = device ? XXH3_64bits(device, strlen(device)) : 0;
    code = look_up(gt, &key, NULL, device, problem, &entry, err);
    if (!code)
        *answer = &entry->resolved.answer;
    return code;
}

int gt_lookup_device(struct gt *gt, const struct gt_device *device,
                     const struct gt_problem *problem, const struct gt_resolved **resolved,
                     struct gt_err *err)
{
    const int64_t facts[] = {device->sms,      device->smem_block,     device->smem_sm,
                             device->regs_sm,  device->max_threads_sm, device->max_blocks_sm,
                             device->l2_bytes, device->smem_reserved};
    struct entry *entry;
    struct key key;
    int code;

    gt_problem_key(&key.problem, problem);
    key.arch = device->cc;
    key.device =
        XXH3_64bits_withSeed(device->name, strlen(device->name), XXH3_64bits(facts, sizeof(facts)));
    code = look_up(gt, &key, device, device->name, problem, &entry, err);
    if (!code)
        *resolved = &entry->resolved;
    return code;
}

const struct gt_options *gt_lookup_options(const struct gt *gt)
{
    return &gt->options;
}

/* A table that somebody named; a folder without any is a slip. */
static int load_named(struct gt *gt, const char *path, struct gt_err *err)
{
    size_t before = gt->sources.table.rows;
    int code = gt_table_load(&gt->sources.table, path, err);
    struct stat status;

    if (!code && gt->sources.table.rows == before && stat(path, &status) == 0 &&
        S_ISDIR(status.st_mode))
        return gt_err_set(err, GT_EDB, "%s: no table (*.csv, *.db) with a row in this folder",
                          path);
    return code;
}

/* The user's table, then the system's; only the default one may be missing. */
static int load_tables(struct gt *gt, struct gt_err *err)
{
    const struct gt_options *options = &gt->options;
    char *shipped = NULL;
    int code = GT_OK;

    if (options->user_db)
        code = load_named(gt, options->user_db, err);
    gt->sources.user_rows = gt->sources.table.rows;
    if (code)
        return code;
    if (options->system_db)
        return load_named(gt, options->system_db, err);
    if (asprintf(&shipped, "%s/db/shipped", gt->data_dir) < 0)
        return gt_err_nomem(err);
    if (access(shipped, F_OK) == 0)
        code = gt_table_load(&gt->sources.table, shipped, err);
    free(shipped);
    return code;
}

/* Copies what outlives the call; the paths of tables and log are used only in it. */
static int take_options(struct gt *gt, const struct gt_options *options, struct gt_err *err)
{
    if (options)
        gt->options = *options;
    if (gt->options.cubin_dir) {
        gt->cubin_dir = strdup(gt->options.cubin_dir);
        if (!gt->cubin_dir)
            return gt_err_nomem(err);
        gt->options.cubin_dir = gt->cubin_dir;
    }
    if (gt->options.data_dir) {
        gt->data_dir = strdup(gt->options.data_dir);
        if (!gt->data_dir)
            return gt_err_nomem(err);
    } else {
        int code = gt_data_dir(&gt->data_dir, err);

        if (code)
            return code;
    }
    gt->options.data_dir = gt->data_dir;
    return GT_OK;
}

static int open_log(struct gt *gt, struct gt_err *err)
{
    const char *path = gt->options.log_path;

    if (!path)
        return GT_OK;
    gt->log = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (gt->log < 0)
        return gt_err_set(err, GT_EIO, "%s: cannot open the log of untuned problems: %s", path,
                          strerror(errno));
    return GT_OK;
}

int gt_open(struct gt **gt, const struct gt_options *options, struct gt_err *err)
{
    struct gt *opened = calloc(1, sizeof(*opened));
    struct map *map = new_map(GT_MAP_FIRST);
    int code = GT_OK;

    *gt = NULL;
    if (!opened || !map) {
        free(opened);
        free(map);
        return gt_err_nomem(err);
    }
    opened->log = -1;
    atomic_init(&opened->map, map);
    pthread_mutex_init(&opened->lock, NULL);
    code = take_options(opened, options, err);
    if (!code)
        code = gt_kernels_load(&opened->sources.kernels, opened->data_dir, NULL, err);
    if (!code)
        code = load_tables(opened, err);
    if (!code)
        code = open_log(opened, err);
    opened->options.user_db = opened->options.system_db = opened->options.log_path = NULL;
    if (code)
        gt_close(opened);
    else
        *gt = opened;
    return code;
}

void gt_close(struct gt *gt)
{
    struct map *map, *older;
    struct entry *next;

    if (!gt)
        return;
    for (struct entry *entry = gt->entries; entry; entry = next) {
        next = entry->next;
        free_entry(entry);
    }
    for (map = atomic_load(&gt->map); map; map = older) {
        older = map->older;
        free(map);
    }
    if (gt->log >= 0)
        close(gt->log);
    pthread_mutex_destroy(&gt->lock);
    gt_table_release(&gt->sources.table);
    gt_kernels_release(&gt->sources.kernels);
    free(gt->data_dir);
    free(gt->cubin_dir);
    free(gt);
}
