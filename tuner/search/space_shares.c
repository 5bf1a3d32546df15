/* space_shares.c - walks through a large space in threads, for space.c.
 *
 * A space of millions of points takes a core seconds, and where one problem alone is tuned,
 * everything waits for it.  A space that a short walk cannot finish is therefore divided into
 * shares by its prefixes, always into as many, so that the points and their order are the same on
 * every machine.  If that takes too many visits as well, one walk samples it. */
#include "search/space_walk.h"

#include "base/err.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define SHARES      4
#define LIMIT_LEAST 500000   /* points wanted, from which on shares are worth their threads */
#define VISITS_ONE  4000000  /* of the short walk: 0.3 s */
#define VISITS_EACH 15000000 /* of a share: 1 s */

struct share {
    struct gt_space space;
    struct gt_walk_share share;
    size_t limit;
    pthread_t thread;
    bool running, whole;
    int rc;
    struct gt_err err;
};

static void *walk(void *context)
{
    struct share *share = context;

    share->rc =
        gt_space_walk_share(&share->space, share->limit, &share->share, &share->whole, &share->err);
    return NULL;
}

/* Walks all shares at once; those for which there is no thread are walked here. */
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

/* *whole: there is a point, and the space holds those of all shares; else it is as it was. */
static int walk_shares(struct gt_space *space, size_t limit, size_t shares, uint64_t visits,
                       bool *whole, struct gt_err *err)
{
    struct share share[SHARES];
    size_t points = 0;
    bool part = false;
    int rc = GT_OK;

    for (size_t i = 0; i < shares; i++)
        share[i] = (struct share){
            .space = *space, .share = {i, shares, visits, 0}, .limit = limit / shares};
    walk_all(share, shares);
    for (size_t i = 0; i < shares; i++) {
        points += share[i].space.count;
        part |= !share[i].whole;
        if (share[i].rc && !rc) {
            rc = share[i].rc;
            if (err)
                *err = share[i].err;
        }
    }
    *whole = !rc && !part && points;
    if (*whole)
        rc = join(space, share, shares, points, err);
    for (size_t i = 0; i < shares; i++)
        free(share[i].space.index);
    return rc;
}

int gt_space_walk_shared(struct gt_space *space, size_t limit, struct gt_err *err)
{
    bool whole = false;
    int rc = GT_OK;

    if (limit >= LIMIT_LEAST) {
        rc = walk_shares(space, limit, 1, VISITS_ONE, &whole, err);
        if (!rc && !whole)
            rc = walk_shares(space, limit, SHARES, VISITS_EACH, &whole, err);
    }
    return rc || whole ? rc : gt_space_walk(space, limit, err);
}
