/* elites.h - what strategies with a model keep of the points told, and the pools of points their
 * models choose from. */
#ifndef GT_ELITES_H
#define GT_ELITES_H

#include "search/strategy.h"

#define GT_ELITES_MAX 4096 /* the fastest points kept */
#define GT_FAILED_MAX 64   /* the latest points without a time kept */

struct gt_elites {
    size_t point[GT_ELITES_MAX]; /* fastest first */
    size_t count;
    size_t failed[GT_FAILED_MAX]; /* a ring */
    size_t failures;              /* ever */
    size_t told;                  /* calls of gt_elites_tell */
};

/* After known[point] was set. */
void gt_elites_tell(const struct gt_strategy *strategy, struct gt_elites *elites, size_t point);

/* Puts at most `max` of the points told into list, such that any first part of it is a mix of the
 * fastest and of an even choice of the others; returns how many. */
size_t gt_elites_mix(const struct gt_elites *elites, size_t *list, size_t max);

/* NEW points, each once. */
struct gt_pool {
    size_t *point;
    size_t count, max;
    uint8_t *taken; /* per point of the space */
};

int gt_pool_init(struct gt_pool *pool, const struct gt_space *space, size_t max,
                 struct gt_err *err);
void gt_pool_release(struct gt_pool *pool); /* a zeroed one is accepted */
void gt_pool_clear(struct gt_pool *pool);
/* Left out if it is not NEW, there already, or the pool is full. */
void gt_pool_add(const struct gt_strategy *strategy, struct gt_pool *pool, size_t point);

/* Fills up: neighbours of the elites, their offspring (crossed, or changed in a few parameters),
 * and, unless it is to stay near them, random points; every NEW point where the space is small. */
void gt_pool_fill(struct gt_strategy *strategy, struct gt_pool *pool,
                  const struct gt_elites *elites, bool near);

#endif
