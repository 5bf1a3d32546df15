/* lookup.c - gt_lookup: remembers answers.  How an answer is found is in lookup_tiers.c, what is
 * opened in lookup_open.c; gt_plan takes the answer from here. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "lookup/lookup_impl.h"

#include "base/err.h"
#include "problem/problem.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GT_MAP_FIRST 256 /* slots; a power of two */

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
    const int32_t kind[8] = {(int32_t)p->type,     (int32_t)p->out, (int32_t)p->acc,
                             (int32_t)p->accuracy, p->trans_a,      p->trans_b,
                             p->epilogue,          p->align};

    key->has_beta = p->beta != 0;
    memcpy(key->size, size, sizeof(size));
    memcpy(key->kind, kind, sizeof(kind));
}

static struct gt_lookup_map *new_map(size_t slots)
{
    struct gt_lookup_map *map = calloc(1, sizeof(*map) + slots * sizeof(map->slot[0]));

    if (map)
        map->mask = slots - 1;
    return map;
}

static struct gt_lookup_entry *find(const struct gt_lookup_map *map,
                                    const struct gt_lookup_key *key, uint64_t hash)
{
    for (size_t i = hash & map->mask;; i = (i + 1) & map->mask) {
        struct gt_lookup_entry *entry = atomic_load_explicit(&map->slot[i], memory_order_acquire);

        if (!entry || memcmp(&entry->key, key, sizeof(*key)) == 0)
            return entry;
    }
}

static void insert(struct gt_lookup_map *map, struct gt_lookup_entry *entry)
{
    size_t i = XXH3_64bits(&entry->key, sizeof(entry->key)) & map->mask;

    while (atomic_load_explicit(&map->slot[i], memory_order_relaxed))
        i = (i + 1) & map->mask;
    atomic_store_explicit(&map->slot[i], entry, memory_order_release);
    map->used++;
}

/* Makes the entry known; the caller holds the lock. */
static int publish(struct gt *gt, struct gt_lookup_entry *entry, struct gt_err *err)
{
    struct gt_lookup_map *map = atomic_load_explicit(&gt->map, memory_order_relaxed), *larger;

    if (2 * map->used > map->mask) {
        larger = new_map(2 * (map->mask + 1));
        if (!larger)
            return gt_err_nomem(err);
        larger->older = map;
        for (struct gt_lookup_entry *e = gt->entries; e; e = e->next)
            insert(larger, e);
        atomic_store_explicit(&gt->map, larger, memory_order_release);
        map = larger;
    }
    insert(map, entry);
    entry->next = gt->entries;
    gt->entries = entry;
    return GT_OK;
}

bool gt_lookup_begin(struct gt *gt)
{
    struct gt_lookup_map *map = new_map(GT_MAP_FIRST);

    atomic_init(&gt->map, map);
    pthread_mutex_init(&gt->lock, NULL);
    return map;
}

static void free_entry(struct gt_lookup_entry *entry)
{
    if (entry) {
        free((char *)entry->resolved.answer.point);
        free((char *)entry->resolved.answer.passed_over);
    }
    free(entry);
}

void gt_lookup_end(struct gt *gt)
{
    struct gt_lookup_map *map, *older;
    struct gt_lookup_entry *next;

    for (struct gt_lookup_entry *entry = gt->entries; entry; entry = next) {
        next = entry->next;
        free_entry(entry);
    }
    for (map = atomic_load(&gt->map); map; map = older) {
        older = map->older;
        free(map);
    }
    pthread_mutex_destroy(&gt->lock);
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
static int answer_new(struct gt *gt, const struct gt_lookup_key *key,
                      const struct gt_device *device, const char *device_name,
                      const struct gt_problem *problem, struct gt_lookup_entry **answered,
                      struct gt_err *err)
{
    struct gt_lookup_entry *entry = calloc(1, sizeof(*entry));
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

/* Whether what the key of an answer leaves out is in order, so that a problem that cannot be
 * computed is refused even if one of the same sizes was answered before.  What is left out: alpha,
 * the size of beta, strides without a batch, and fields of later versions. */
static bool rest_valid(const struct gt_problem *p)
{
    return isfinite(p->alpha) && isfinite(p->beta) &&
           (p->stride_a | p->stride_b | p->stride_c) >= 0 && p->version <= GT_PROBLEM_VERSION &&
           !(p->reserved[0] | p->reserved[1] | p->reserved[2] | p->reserved[3]);
}

static int look_up(struct gt *gt, const struct gt_lookup_key *key, const struct gt_device *device,
                   const char *device_name, const struct gt_problem *problem,
                   struct gt_lookup_entry **entry, struct gt_err *err)
{
    const uint64_t hash = XXH3_64bits(key, sizeof(*key));
    struct gt_err inner;
    int code;

    if (!rest_valid(problem))
        return gt_problem_check(problem, err);
    *entry = find(atomic_load_explicit(&gt->map, memory_order_acquire), key, hash);
    if (*entry)
        return GT_OK;
    pthread_mutex_lock(&gt->lock);
    *entry = find(atomic_load_explicit(&gt->map, memory_order_relaxed), key, hash);
    code = *entry ? GT_OK : answer_new(gt, key, device, device_name, problem, entry, &inner);
    pthread_mutex_unlock(&gt->lock);
    return gt_err_pass(err, &inner, code);
}

int gt_lookup(struct gt *gt, int arch, const char *device, const struct gt_problem *problem,
              const struct gt_answer **answer, struct gt_err *err)
{
    struct gt_lookup_entry *entry;
    struct gt_lookup_key key;
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
    struct gt_lookup_entry *entry;
    struct gt_lookup_key key;
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
