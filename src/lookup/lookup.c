/* lookup.c - gt_lookup: returns a remembered answer, else finds one (lookup_tiers.c).
 * lookup_open.c opens the tables; gt_plan takes the answer from here. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/err.h"
#include "base/quiet.h"
#include "lookup/deployed.h"
#include "lookup/lookup_impl.h"
#include "problem/problem.h"

/* Runs once for each problem, and is compiled for size. */
#define ONCE __attribute__((cold))

/* ---- answers that are remembered: for any number of threads, in bounded memory ----
 *
 * Answers live in generations of GT_ANSWERS_KEPT problems.  There are two generations: the present
 * one and the one before.  An answer of the one before that is asked for again moves to the present
 * one.  When the present generation is full, it becomes the one before, and the answers left in the
 * oldest generation are freed.
 *
 * A reader takes no lock: it counts itself in, looks, and counts itself out.  Before a thread frees
 * a generation, it takes the generation out of the readers' sight and waits until each counter was
 * seen at zero.  By then every reader that could still see the generation has gone. */

#define PLACES (2 * GT_ANSWERS_KEPT) /* a power of two: one in two stays free */

/* A hash table with open addressing; each slot changes once, from NULL to an entry. */
struct gt_lookup_map {
    uint64_t generation;
    size_t used;
    _Atomic(struct gt_lookup_entry *) slot[PLACES];
};

static void free_entry(struct gt_lookup_entry *entry)
{
    if (entry) {
        free((char *)entry->answer.point);
        free((char *)entry->answer.passed_over);
    }
    free(entry);
}

/* Frees the map and its entries that no later map holds. */
static void free_map(struct gt_lookup_map *map)
{
    for (size_t i = 0; map && i < PLACES; i++) {
        struct gt_lookup_entry *entry = atomic_load_explicit(&map->slot[i], memory_order_relaxed);

        if (entry && entry->generation == map->generation)
            free_entry(entry);
    }
    free(map);
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

static struct gt_lookup_map *new_map(uint64_t generation)
{
    struct gt_lookup_map *map = calloc(1, sizeof(*map));

    if (map)
        map->generation = generation;
    return map;
}

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

    entry->generation = map->generation + full; /* protects it from the next freeing */
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

/* Finds the key's entry and moves the entry to the present generation; NULL if there is none. */
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

/* Remembers the entry, which then belongs to answers.  If another thread was faster, *entry is
 * freed and becomes that thread's entry.  *first: the key was not remembered before. */
static int put(struct gt_answers *answers, struct gt_lookup_entry **entry, bool *first,
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
    free_entry(*entry);
    *entry = code ? NULL : other;
    return code;
}

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

/* *entry: the entry remembered for the key; NULL: none.  It stays until GT_ANSWERS_KEPT further
 * problems were remembered. */
static int find_remembered(struct gt_answers *answers, const struct gt_lookup_key *key,
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

/* Sets answer and kernel of resolved, with texts of its own, if the key is remembered. */
static int copy_remembered(struct gt_answers *answers, const struct gt_lookup_key *key,
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

void gt_answers_forget_readers(struct gt_answers *answers)
{
    for (int phase = 0; phase < 2; phase++)
        for (size_t i = 0; i < GT_READER_COUNTERS; i++)
            atomic_store(&answers->readers[phase][i].count, 0);
}

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

/* ---- asking ---- */

/* Logs the problem with a single write, so that lines of several programs do not mix.  A log that
 * cannot be written does not cost the answer. */
ONCE static void log_untuned(const struct gt *gt, const struct gt_problem *problem)
{
    char line[GT_PROBLEM_TEXT_MAX + 1];
    size_t length;

    if (gt->log < 0)
        return;
    gt_problem_format(problem, line);
    length = strlen(line);
    line[length] = '\n';
    gt_write_quietly(gt->log, line, length + 1);
}

/* Looks in the deployed file or, if there is none, in the tables. */
ONCE static int resolve(struct gt *gt, int arch, const struct gt_device *device,
                        const char *device_name, struct gt_resolved *resolved, struct gt_err *err)
{
    int code = GT_OK;

    if (device)
        resolved->device = *device;
    else if (gt->deployed)
        resolved->device.cc = arch;
    else
        code = gt_device_profile_of(&resolved->device, gt->data_dir, arch, device_name, err);
    if (code)
        return code;
    if (!device && !gt->deployed && device_name &&
        gt_device_called(resolved->device.name, device_name))
        device_name = resolved->device.name;
    code = gt->deployed ? gt_deployed_resolve(gt->deployed, device_name, resolved, err)
                        : gt_lookup_resolve_exactly(&gt->sources, device_name, resolved, err);
    if (!device && resolved->elsewhere)
        resolved->answer.expected_us = 0; /* a guess upon a guess: the device is absent */
    return code;
}

/* Finds the answer for a new key.  No lock is held: threads that ask for the same problem at the
 * same moment each find the answer, and the answer of the first thread is kept. */
ONCE static int answer_new(struct gt *gt, const struct gt_lookup_key *key,
                           const struct gt_device *device, const char *device_name,
                           const struct gt_problem *problem, struct gt_lookup_entry **answered,
                           struct gt_err *err)
{
    struct gt_resolved resolved = {.problem = *problem};
    struct gt_lookup_entry *entry = calloc(1, sizeof(*entry));
    bool first = false;
    int code = entry ? gt_problem_check(problem, err) : gt_err_nomem(err);

    GT_STEP(code, resolve(gt, (int)key->arch, device, device_name, &resolved, err));
    if (code) {
        gt_resolved_release(&resolved);
        free(entry);
        return code;
    }
    entry->key = *key;
    entry->answer = resolved.answer;
    entry->kernel = resolved.kernel;
    code = put(&gt->answers, &entry, &first, err);
    if (first && entry->answer.tier != GT_TIER_EXACT)
        log_untuned(gt, problem);
    *answered = entry;
    return code;
}

/* Whether the members that an answer's key leaves out are valid: alpha, the size of beta, strides
 * without a batch, and members of later versions.  So a problem that cannot be computed is refused
 * even if one of the same sizes was answered before. */
static bool rest_valid(const struct gt_problem *p)
{
    return gt_factor_valid(p->alpha, p->out, p->acc) && gt_factor_valid(p->beta, p->out, p->acc) &&
           gt_factor_valid(p->alpha_im, p->out, p->acc) &&
           gt_factor_valid(p->beta_im, p->out, p->acc) &&
           (p->stride_a | p->stride_b | p->stride_c) >= 0 && p->version <= GT_PROBLEM_VERSION &&
           !(p->reserved[0] | p->reserved[1] | p->reserved[2] | p->reserved[3]);
}

static int look_up(struct gt *gt, const struct gt_lookup_key *key, const struct gt_device *device,
                   const char *device_name, const struct gt_problem *problem,
                   struct gt_lookup_entry **entry, struct gt_err *err)
{
    struct gt_err inner;
    int code;

    if (!rest_valid(problem))
        return gt_problem_check(problem, err);
    code = find_remembered(&gt->answers, key, entry, &inner);
    if (!code && !*entry)
        code = answer_new(gt, key, device, device_name, problem, entry, &inner);
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
    key.device = device ? gt_digest_number(device, strlen(device), 0) : 0;
    code = look_up(gt, &key, NULL, device, problem, &entry, err);
    if (!code)
        *answer = &entry->answer;
    return code;
}

/* Computes the parts of an answer that are not remembered. */
ONCE static int complete(struct gt_resolved *resolved, struct gt_err *err)
{
    int code;

    if (!resolved->kernel)
        return GT_OK;
    if (resolved->answer.in_f32)
        gt_lookup_in_f32(&resolved->problem);
    code = gt_point_parse(&resolved->point, resolved->kernel, resolved->answer.point, err);
    return code ? code : gt_resolved_geometry(resolved, err);
}

ONCE int gt_lookup_device(struct gt *gt, const struct gt_device *device,
                          const struct gt_problem *problem, struct gt_resolved *resolved,
                          struct gt_err *err)
{
    struct gt_lookup_entry *entry;
    struct gt_lookup_key key;
    struct gt_err inner;
    bool found = false;
    int code = GT_OK;

    gt_lookup_device_key(&key, device, problem);
    *resolved = (struct gt_resolved){.problem = *problem, .device = *device};
    while (!code && !found) { /* repeats only beside thousands of other first look-ups */
        code = look_up(gt, &key, device, device->name, problem, &entry, &inner);
        if (gt->deployed)
            break; /* the deployed file's item is found as fast as an answer is copied */
        GT_STEP(code, copy_remembered(&gt->answers, &key, resolved, &found, &inner));
    }
    GT_STEP(code, gt->deployed ? gt_deployed_resolve(gt->deployed, device->name, resolved, &inner)
                               : complete(resolved, &inner));
    if (code)
        gt_resolved_release(resolved);
    return gt_err_pass(err, &inner, code);
}

struct gt_deployed *gt_lookup_deployed(const struct gt *gt)
{
    return gt->deployed;
}

void gt_lookup_unserved(char text[GT_UNSERVED_MAX], const struct gt *gt,
                        const struct gt_problem *problem, const struct gt_device *device)
{
    const struct gt_kernels *all = &gt->sources.kernels;

    if (!gt_unserved(text, NULL, (const struct gt_kernel *const *)all->kernel, all->count, problem,
                     device))
        snprintf(text, GT_UNSERVED_MAX, "no point of the kernels that serve it is valid for it");
}

const struct gt_options *gt_lookup_options(const struct gt *gt)
{
    return &gt->options;
}
