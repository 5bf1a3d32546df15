/* space.c - the set of valid points of a kernel; finds points and their neighbours.  space_walk.c
 * fills it. */
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "search/space.h"
#include "search/space_walk.h"

/* ---- walking through a large space in threads ---- */

/* A space of millions of points takes seconds of a core and, where only one problem is tuned,
 * everything waits for the space.  A space that a short walk cannot finish is therefore divided
 * by its prefixes into shares.  The number of shares is always the same, so that the points and
 * their order are the same on every machine.  If the shares take too many visits as well, one
 * walk samples the space.  A space of which the short walk covered next to nothing is sampled at
 * once. */

#define SHARES      4
#define LIMIT_LEAST 500000   /* points wanted from which on shares are worth their threads */
#define VISITS_ONE  4000000  /* visits of the short walk: 0.3 s */
#define VISITS_EACH 15000000 /* visits of a share: 1 s */
#define POINTS_ONE  8        /* for each point wanted, the short walk sees at most so many */

/* A space is not walked in shares if a walk of GT_WALK_VISITS would cover less of the space than
 * this.  The short walk estimates this part poorly: once it said .01 of a space that the shares
 * finished (simt, 1001x1003x1001).  Of simt without its bets it says 10^-4 and less. */
#define COVERED_LEAST 1e-3
#define JUDGED_FROM   100000 /* visits of a short walk; fewer visits show nothing about the space */

struct share {
    struct gt_space space;
    struct gt_walk_share share;
    size_t limit;
    pthread_t thread;
    bool running;
    int rc;
    struct gt_err err;
};

static void *walk(void *context)
{
    struct share *share = context;

    share->rc = gt_space_walk_share(&share->space, share->limit, &share->share, &share->err);
    return NULL;
}

/* Walks all shares at once; shares without a thread are walked here. */
static void walk_all(struct share *share, size_t shares)
{
    for (size_t i = 1; i < shares; i++)
        share[i].running = !pthread_create(&share[i].thread, NULL, walk, &share[i]);
    for (size_t i = 0; i < shares; i++)
        if (!share[i].running)
            walk(&share[i]);
    for (size_t i = 0; i < shares; i++)
        if (share[i].running)
            pthread_join(share[i].thread, NULL);
}

/* Makes one space of the shares' points. */
static int join(struct gt_space *space, const struct share *share, size_t shares, size_t points,
                struct gt_err *err)
{
    const size_t bytes = space->kernel->params;

    space->index = malloc(points * bytes + 1);
    if (!space->index)
        return gt_err_nomem(err);
    for (size_t i = 0; i < shares; i++) {
        const struct gt_space *from = &share[i].space;

        if (from->count)
            memcpy(space->index + space->count * bytes, from->index, from->count * bytes);
        space->count += from->count;
        space->valid += from->valid;
    }
    space->cross_product = share[0].space.cross_product;
    return GT_OK;
}

/* The outcome of the walks of the shares. */
struct outcome {
    bool whole;       /* the space holds the points of all shares; else the space is unchanged */
    bool given_up;    /* every share was given up */
    double covered;   /* the part of the space that a walk of GT_WALK_VISITS would cover */
    uint64_t visited; /* prefixes of all shares */
};

static void note(struct outcome *outcome, const struct gt_walk_share *share)
{
    outcome->whole &= share->covered == 1;
    outcome->given_up &= share->covered < 1;
    outcome->covered += share->covered / (double)share->of;
    outcome->visited += share->visited;
}

static int walk_shares(struct gt_space *space, size_t limit, const struct gt_walk_share *most,
                       struct outcome *outcome, struct gt_err *err)
{
    struct share share[SHARES];
    size_t points = 0;
    int rc = GT_OK;

    for (size_t i = 0; i < most->of; i++) {
        share[i] = (struct share){.space = *space, .share = *most, .limit = limit / most->of};
        share[i].share.number = i;
    }
    walk_all(share, most->of);
    *outcome = (struct outcome){.whole = true, .given_up = true};
    for (size_t i = 0; i < most->of; i++) {
        points += share[i].space.count;
        note(outcome, &share[i].share);
        if (share[i].rc && !rc) {
            rc = share[i].rc;
            if (err)
                *err = share[i].err;
        }
    }
    outcome->whole &= !rc && points; /* gt_space_walk explains why there is no point */
    outcome->covered *= GT_WALK_VISITS / (double)outcome->visited;
    if (outcome->whole)
        rc = join(space, share, most->of, points, err);
    for (size_t i = 0; i < most->of; i++)
        free(share[i].space.index);
    return rc;
}

/* As gt_space_walk, in threads where the space is large and many points are wanted. */
static int walk_shared(struct gt_space *space, size_t limit, struct gt_err *err)
{
    const struct gt_walk_share one = {.of = 1, .visits = VISITS_ONE, .points = POINTS_ONE * limit};
    const struct gt_walk_share each = {.of = SHARES, .visits = VISITS_EACH};
    struct outcome outcome = {.whole = false};
    bool too_large = false;
    int rc = GT_OK;

    if (limit >= LIMIT_LEAST) {
        rc = walk_shares(space, limit, &one, &outcome, err);
        too_large =
            outcome.given_up && outcome.visited >= JUDGED_FROM && outcome.covered < COVERED_LEAST;
        if (!rc && !outcome.whole && !too_large) {
            rc = walk_shares(space, limit, &each, &outcome, err);
            too_large = outcome.given_up && outcome.visited >= GT_WALK_VISITS;
        }
    }
    return rc || outcome.whole ? rc
                               : gt_space_walk(space, limit, too_large ? outcome.covered : 1, err);
}

/* ---- the table of points ---- */

static uint64_t add_word(uint64_t hash, const uint8_t *from, size_t bytes)
{
    uint64_t word = 0;

    memcpy(&word, from, bytes);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
    return hash ^ hash >> 32; /* the high bits of a product do not reach its low ones */
}

/* Eight bytes at a time.  The last eight bytes overlap the bytes before them, because a copy of
 * fewer bytes is a call. */
static uint64_t hash_point(const uint8_t *point, size_t params)
{
    uint64_t hash = params;

    if (params < 8)
        return add_word(hash, point, params);
    for (size_t i = 0; i + 8 < params; i += 8)
        hash = add_word(hash, point + i, 8);
    return add_word(hash, point + params - 8, 8);
}

/* Where the search for a point begins. */
static size_t first_slot(const struct gt_space *space, const uint8_t *point)
{
    return hash_point(point, space->kernel->params) & (space->lookup_size - 1);
}

/* The slot of the table that holds the point, or the empty slot where the point belongs. */
static size_t table_slot(const struct gt_space *space, const uint8_t *point)
{
    size_t params = space->kernel->params, slot = first_slot(space, point);

    while (space->lookup[slot] &&
           memcmp(space->index + (space->lookup[slot] - 1) * params, point, params) != 0)
        slot = (slot + 1) & (space->lookup_size - 1);
    return slot;
}

/* The error for two equal points of a list. */
static int given_twice(const struct gt_space *space, size_t i, struct gt_err *err)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    struct gt_point point;
    int rc;

    gt_space_point(space, i, &point);
    gt_point_format(&text, space->kernel, &point);
    rc = gt_err_set(err, GT_ECONFIG, "point %s is there twice", text.text);
    gt_strbuf_release(&text);
    return rc;
}

/* Entries are 1 + the point's number; 0 is empty. */
static int make_table(struct gt_space *space, struct gt_err *err)
{
    space->lookup_size = 16;
    while (space->lookup_size < space->count + space->count / 2)
        space->lookup_size *= 2;
    space->lookup = calloc(space->lookup_size, sizeof(*space->lookup));
    return space->lookup ? GT_OK : gt_err_nomem(err);
}

/* Enters a list's points into the table; no two points may be the same. */
static int enter_list(struct gt_space *space, struct gt_err *err)
{
    for (size_t i = 0; i < space->count; i++) {
        size_t slot = table_slot(space, space->index + i * space->kernel->params);

        if (space->lookup[slot])
            return given_twice(space, i, err);
        space->lookup[slot] = (uint32_t)i + 1;
    }
    return GT_OK;
}

/* Enters the points of a walk into the table.  No two points of a walk are the same, so the points
 * in occupied slots, which lie all over the memory, need not be compared, and slots are fetched
 * ahead. */
static void enter_walked(struct gt_space *space)
{
    enum { AHEAD = 16 }; /* points; a power of two */
    const size_t params = space->kernel->params, mask = space->lookup_size - 1;
    size_t waiting[AHEAD] = {0};

    for (size_t i = 0; i < space->count + AHEAD; i++) {
        size_t slot = waiting[i % AHEAD];

        if (i >= AHEAD) {
            while (space->lookup[slot])
                slot = (slot + 1) & mask;
            space->lookup[slot] = (uint32_t)(i - AHEAD) + 1;
        }
        if (i < space->count) {
            waiting[i % AHEAD] = first_slot(space, space->index + i * params);
            __builtin_prefetch(&space->lookup[waiting[i % AHEAD]], 1);
        }
    }
}

/* ---- the interface ---- */

int gt_space_init(struct gt_space *space, const struct gt_kernel *kernel,
                  const struct gt_problem *problem, const struct gt_device *device, size_t limit,
                  struct gt_err *err)
{
    return gt_space_init_until(space, kernel, problem, device, limit, 0, NULL, err);
}

int gt_space_init_until(struct gt_space *space, const struct gt_kernel *kernel,
                        const struct gt_problem *problem, const struct gt_device *device,
                        size_t limit, double seconds, const volatile sig_atomic_t *signals,
                        struct gt_err *err)
{
    int rc;

    *space = (struct gt_space){.kernel = kernel,
                               .problem = problem,
                               .device = device,
                               .signals = signals,
                               .seconds = seconds};
    for (size_t i = 0; i < kernel->params; i++)
        if (kernel->param[i].count > UINT8_MAX + 1)
            return gt_err_set(err, GT_ERANGE, "%s: parameter %s has %zu values; at most 256",
                              kernel->path, kernel->param[i].name, kernel->param[i].count);
    rc = walk_shared(space, limit ? limit : GT_SPACE_LIMIT, err);
    GT_STEP(rc, make_table(space, err));
    if (!rc)
        enter_walked(space);
    if (rc)
        gt_space_release(space);
    return rc;
}

int gt_space_list(struct gt_space *space, const struct gt_kernel *kernel,
                  const struct gt_problem *problem, const struct gt_device *device,
                  const uint8_t *index, size_t count, struct gt_err *err)
{
    int rc;

    *space = (struct gt_space){.kernel = kernel, .problem = problem, .device = device};
    if (!count || count > GT_SPACE_LIMIT)
        return gt_err_set(err, GT_ERANGE, "%zu points; a space has 1 to %d", count, GT_SPACE_LIMIT);
    space->count = count;
    space->valid = (double)count;
    space->cross_product = gt_kernel_cross_product(kernel);
    space->index = malloc(count * kernel->params);
    if (!space->index)
        return gt_err_nomem(err);
    memcpy(space->index, index, count * kernel->params);
    rc = make_table(space, err);
    GT_STEP(rc, enter_list(space, err));
    if (rc)
        gt_space_release(space);
    return rc;
}

void gt_space_release(struct gt_space *space)
{
    free(space->index);
    free(space->lookup);
    *space = (struct gt_space){0};
}

void gt_space_point(const struct gt_space *space, size_t i, struct gt_point *point)
{
    const struct gt_kernel *kernel = space->kernel;
    const uint8_t *index = space->index + i * kernel->params;

    assert(i < space->count);
    memset(point, 0, sizeof(*point));
    for (size_t p = 0; p < kernel->params; p++)
        point->value[p] = kernel->param[p].value[index[p]];
}

size_t gt_space_find_index(const struct gt_space *space, const uint8_t *index)
{
    uint32_t entry = space->lookup[table_slot(space, index)];

    return entry ? entry - 1 : SIZE_MAX;
}

size_t gt_space_find(const struct gt_space *space, const struct gt_point *point)
{
    const struct gt_kernel *kernel = space->kernel;
    uint8_t index[GT_MAX_PARAMS] = {0};

    for (size_t p = 0; p < kernel->params; p++) {
        size_t i = 0;

        while (i < kernel->param[p].count && kernel->param[p].value[i] != point->value[p])
            i++;
        if (i == kernel->param[p].count)
            return SIZE_MAX;
        index[p] = (uint8_t)i;
    }
    return gt_space_find_index(space, index);
}

bool gt_space_same_cubin(const struct gt_kernel *kernel, const uint8_t *index, size_t x, size_t y)
{
    const uint8_t *a = index + x * kernel->params, *b = index + y * kernel->params;

    for (size_t p = 0; p < kernel->params; p++)
        if (!kernel->param[p].launch && a[p] != b[p])
            return false;
    return true;
}

size_t gt_space_neighbours(const struct gt_space *space, size_t i, size_t *list, size_t max)
{
    const struct gt_kernel *kernel = space->kernel;
    uint8_t index[GT_MAX_PARAMS];
    size_t count = 0;

    memcpy(index, space->index + i * kernel->params, kernel->params);
    for (size_t p = 0; p < kernel->params; p++) {
        size_t here = index[p];

        for (size_t value = 0; value < kernel->param[p].count; value++) {
            size_t found;

            if (value == here)
                continue;
            index[p] = (uint8_t)value;
            found = gt_space_find_index(space, index);
            if (found == SIZE_MAX)
                continue;
            if (count < max)
                list[count] = found;
            count++;
        }
        index[p] = (uint8_t)here;
    }
    return count;
}
