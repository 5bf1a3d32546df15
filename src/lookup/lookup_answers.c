/* lookup_answers.c - remembers answers, for any number of threads and in bounded memory.  Part of
 * the look-up: see lookup_impl.h.
 *
 * Answers live in generations of GT_ANSWERS_KEPT problems.  There are two: the present one and the
 * one before, from which an answer that is asked for again moves on.  When the present one is full,
 * it becomes the one before, and what is left in the oldest is freed.
 *
 * A reader takes no lock: it counts itself in, looks, and counts itself out.  Whoever frees a
 * generation has taken it out of the readers' sight before, and waits until each counter was seen
 * at zero; every reader that could still see it has then gone. */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "lookup/lookup_impl.h"

#include "base/err.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define PLACES (2 * GT_ANSWERS_KEPT) /* a power of two: one in two stays free */

/* A hash table with open addressing; each slot changes once, from NULL to an entry. */
struct gt_lookup_map {
    uint64_t generation;
    size_t used;
    _Atomic(struct gt_lookup_entry *) slot[PLACES];
};

static struct gt_lookup_map *new_map(uint64_t generation)
{
    struct gt_lookup_map *map = calloc(1, sizeof(*map));

    if (map)
        map->generation = generation;
    return map;
}

static struct gt_lookup_entry *find(const struct gt_lookup_map *map,
                                    const struct gt_lookup_key *key, uint64_t hash)
{
    if (!map)
        return NULL;
    for (size_t i = hash & (PLACES - 1);; i = (i + 1) & (PLACES - 1)) {
        struct gt_lookup_entry *entry = atomic_load_explicit(&map->slot[i], memory_order_acquire);

        if (!entry || memcmp(&entry->key, key, sizeof(*key)) == 0)
            return entry;
    }
}

uint64_t gt_lookup_hash(const struct gt_lookup_key *key)
{
    return XXH3_64bits(key, sizeof(*key));
}

void gt_lookup_free_entry(struct gt_lookup_entry *entry)
{
    if (entry) {
        free((char *)entry->answer.point);
        free((char *)entry->answer.passed_over);
    }
    free(entry);
}

/* Frees the map and those entries that no later map has. */
static void free_map(struct gt_lookup_map *map)
{
    for (size_t i = 0; map && i < PLACES; i++) {
        struct gt_lookup_entry *entry = atomic_load_explicit(&map->slot[i], memory_order_relaxed);

        if (entry && entry->generation == map->generation)
            gt_lookup_free_entry(entry);
    }
    free(map);
}

/* ---- readers ---- */

/* Counts this thread in.  Its counter is chosen by the address of a thread-local variable, which is
 * as good as random, so that few threads share a counter. */
static atomic_uint *count_in(struct gt_answers *answers)
{
    static _Thread_local char own;
    const size_t at = ((uintptr_t)&own >> 6) * 0x9e3779b9u >> 16 & (GT_READER_COUNTERS - 1);
    const unsigned phase = atomic_load(&answers->phase);
    atomic_uint *counter = &answers->readers[phase][at].count;

    atomic_fetch_add(counter, 1);
    return counter;
}

/* Waits until every earlier reader has gone.  New readers count in the other phase, so that the
 * counters of each phase come down to zero. */
static void wait_for_readers(struct gt_answers *answers)
{
    for (int flip = 0; flip < 2; flip++) {
        const unsigned phase = atomic_load(&answers->phase);

        atomic_store(&answers->phase, !phase);
        for (size_t i = 0; i < GT_READER_COUNTERS; i++)
            while (atomic_load(&answers->readers[phase][i].count))
                sched_yield();
    }
}

void gt_answers_forget_readers(struct gt_answers *answers)
{
    for (int phase = 0; phase < 2; phase++)
        for (size_t i = 0; i < GT_READER_COUNTERS; i++)
            atomic_store(&answers->readers[phase][i].count, 0);
}

/* ---- writers, who hold the lock ---- */

/* Begins a new generation and frees the oldest. */
static int begin_generation(struct gt_answers *answers, struct gt_lookup_map *present,
                            struct gt_err *err)
{
    struct gt_lookup_map *map = new_map(present->generation + 1), *oldest;

    if (!map)
        return gt_err_nomem(err);
    oldest = atomic_load(&answers->before);
    atomic_store(&answers->before, present);
    atomic_store(&answers->present, map);
    if (oldest)
        wait_for_readers(answers);
    free_map(oldest);
    return GT_OK;
}

static int insert(struct gt_answers *answers, struct gt_lookup_entry *entry, struct gt_err *err)
{
    struct gt_lookup_map *map = atomic_load(&answers->present);
    const bool full = map->used == GT_ANSWERS_KEPT;
    const uint64_t before = entry->generation;
    size_t i = gt_lookup_hash(&entry->key) & (PLACES - 1);

    entry->generation = map->generation + full; /* so that it is not freed with the oldest */
    if (full && begin_generation(answers, map, err)) {
        entry->generation = before;
        return GT_ENOMEM;
    }
    map = atomic_load(&answers->present);
    while (atomic_load_explicit(&map->slot[i], memory_order_relaxed))
        i = (i + 1) & (PLACES - 1);
    atomic_store_explicit(&map->slot[i], entry, memory_order_release);
    map->used++;
    return GT_OK;
}

/* Finds the entry and moves it to the present generation; NULL if there is none. */
static int find_and_keep(struct gt_answers *answers, const struct gt_lookup_key *key,
                         struct gt_lookup_entry **entry, struct gt_err *err)
{
    const uint64_t hash = gt_lookup_hash(key);

    *entry = find(atomic_load(&answers->present), key, hash);
    if (*entry)
        return GT_OK;
    *entry = find(atomic_load(&answers->before), key, hash);
    return *entry ? insert(answers, *entry, err) : GT_OK;
}

/* ---- for lookup.c ---- */

bool gt_answers_begin(struct gt_answers *answers)
{
    struct gt_lookup_map *map = new_map(1);

    atomic_init(&answers->present, map);
    atomic_init(&answers->before, NULL);
    pthread_mutex_init(&answers->lock, NULL);
    return map;
}

void gt_answers_end(struct gt_answers *answers)
{
    free_map(atomic_load(&answers->before));
    free_map(atomic_load(&answers->present));
    pthread_mutex_destroy(&answers->lock);
}

int gt_answers_find(struct gt_answers *answers, const struct gt_lookup_key *key,
                    struct gt_lookup_entry **entry, struct gt_err *err)
{
    const uint64_t hash = gt_lookup_hash(key);
    atomic_uint *counter = count_in(answers);
    bool aged = false;
    int code = GT_OK;

    *entry = find(atomic_load(&answers->present), key, hash);
    if (!*entry)
        aged = find(atomic_load(&answers->before), key, hash) != NULL;
    atomic_fetch_sub(counter, 1);
    if (aged) {
        pthread_mutex_lock(&answers->lock);
        code = find_and_keep(answers, key, entry, err);
        pthread_mutex_unlock(&answers->lock);
    }
    return code;
}

int gt_answers_put(struct gt_answers *answers, struct gt_lookup_entry **entry, bool *first,
                   struct gt_err *err)
{
    struct gt_lookup_entry *other;
    int code;

    pthread_mutex_lock(&answers->lock);
    code = find_and_keep(answers, &(*entry)->key, &other, err);
    *first = !code && !other;
    if (*first)
        code = insert(answers, *entry, err);
    pthread_mutex_unlock(&answers->lock);
    if (!code && !other)
        return GT_OK;
    gt_lookup_free_entry(*entry);
    *entry = code ? NULL : other;
    return code;
}

int gt_answers_copy(struct gt_answers *answers, const struct gt_lookup_key *key,
                    struct gt_resolved *resolved, bool *found, struct gt_err *err)
{
    struct gt_lookup_entry *entry;
    int code;

    pthread_mutex_lock(&answers->lock);
    code = find_and_keep(answers, key, &entry, err);
    *found = !code && entry;
    if (*found) {
        resolved->answer = entry->answer;
        resolved->kernel = entry->kernel;
        code = gt_resolved_own_texts(resolved, err);
    }
    pthread_mutex_unlock(&answers->lock);
    return code;
}
