/* space_shares.c - walks through a large space in threads, for space.c.
 *
 * A space of millions of points takes a core seconds, and where one problem alone is tuned,
 * everything waits for it.  A space that a short walk cannot finish is therefore divided into
 * shares by its prefixes, always into as many, so that the points and their order are the same on
 * every machine.  If that takes too many visits as well, one walk samples it.  It samples at once a
 * space of which the short walk covered next to nothing. */
#include "search/space_walk.h"

#include "base/err.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define SHARES      4
#define LIMIT_LEAST 500000   /* points wanted, from which on shares are worth their threads */
#define VISITS_ONE  4000000  /* of the short walk: 0.3 s */
#define VISITS_EACH 15000000 /* of a share: 1 s */
#define POINTS_ONE  8        /* for each point wanted, the short walk sees at most so many */

/* A space is not walked in shares if a walk of GT_WALK_VISITS would cover less of it than this,
 * judged by the short walk.  That judges poorly: once it said .01 of a space that the shares
 * finished (simt, 1001x1003x1001).  Of simt without its bets it says 10^-4 and less. */
#define COVERED_LEAST 1e-3
#define JUDGED_FROM   100000 /* visits of a short walk: fewer say nothing of the space */

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

/* What walks of shares have found out. */
struct outcome {
    bool whole;       /* the space holds the points of all shares; else it is as it was */
    bool given_up;    /* every share was */
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

int gt_space_walk_shared(struct gt_space *space, size_t limit, struct gt_err *err)
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
