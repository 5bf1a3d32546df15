/* elites.h - elites: the fastest points told and the latest failures, from which models learn; and
 * pools of points, from which models choose. */
#ifndef GT_ELITES_H
#define GT_ELITES_H

#include "search/strategy.h"

#define GT_ELITES_MAX 4096 /* points with a time kept: the fastest */
#define GT_FAILED_MAX 64   /* points without a time kept: the latest */
#define GT_POOL_MAX   1024

struct gt_elites {
    size_t point[GT_ELITES_MAX]; /* fastest first */
    size_t count;
    size_t failed[GT_FAILED_MAX]; /* a ring */
    size_t failures;              /* failures in total, also those no longer kept */
    size_t told;                  /* calls of gt_elites_tell */
};

/* Records a point after known[point] was set. */
void gt_elites_tell(const struct gt_strategy *strategy, struct gt_elites *elites, size_t point);

/* Puts at most `max` points with a time into list and returns how many.  Any first part of the list
 * mixes the fastest points with an even choice of the others. */
size_t gt_elites_mix(const struct gt_elites *elites, size_t *list, size_t max);

/* NEW points, each once. */
struct gt_pool {
    size_t point[GT_POOL_MAX];
    size_t count;
    uint8_t *taken; /* per point of the space */
};

int gt_pool_init(struct gt_pool *pool, const struct gt_space *space, struct gt_err *err);
void gt_pool_release(struct gt_pool *pool); /* a zeroed one is accepted */
void gt_pool_clear(struct gt_pool *pool);

/* Adds a NEW point, unless the pool has it or is full. */
void gt_pool_add(const struct gt_strategy *strategy, struct gt_pool *pool, size_t point);

/* Fills the pool.  A space of at most GT_POOL_MAX points gives every NEW point.  Otherwise the pool
 * gets neighbours of the elites, offspring of the elites (crossed, or changed in a few parameters)
 * and, unless `near` is set, random points. */
void gt_pool_fill(struct gt_strategy *strategy, struct gt_pool *pool,
                  const struct gt_elites *elites, bool near);

/* The first points of a search that has no seeds.  These points lie away from each other, and near
 * the middle of the space, because extreme values are seldom fast. */

/* The next point of a design.  The first point is the nearest to the middle among many points drawn
 * at random.  Each later point is chosen from a few random points, so that it is far from the
 * earlier points of the design and near the middle. */
size_t gt_spread(struct gt_strategy *strategy, const size_t *start, size_t starts);

#endif
