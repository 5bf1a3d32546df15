/* space_sample.c - the points that are kept of a walk, for space_walk.c.
 *
 * Of more points than are wanted a uniform sample is kept, by a reservoir that knows how many
 * points it may skip (algorithm L of Li, ACM TOMS 20(4), 1994).  A point that enters a full
 * reservoir replaces another at a random place of hundreds of megabytes: about 60 ns, with 6.7
 * million points kept, and of 100 times as many 4.6 times as many (ln 100) enter.  Where only a
 * part of a space is walked anyway, fewer need to be seen: each is with the same chance, and the
 * others are passed over. */
#include "search/space_walk.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLE_SEED 0x67656d6d74756e65ull

/* Writes the walked parameters and the `offset`-th combination of the free ones as point `at`. */
static void put_point(struct gt_sample *sample, const uint8_t *index, size_t at, uint64_t offset)
{
    const struct gt_kernel *kernel = sample->space->kernel;
    uint8_t *point = sample->space->index + at * kernel->params;

    memcpy(point, index, kernel->params);
    for (size_t i = kernel->params; i-- > sample->plan->depth;) {
        size_t count = kernel->param[sample->plan->order[i]].count;

        point[sample->plan->order[i]] = (uint8_t)(offset % count);
        offset /= count;
    }
}

static int grow(struct gt_sample *sample, struct gt_err *err)
{
    struct gt_space *space = sample->space;
    size_t capacity = sample->capacity ? sample->capacity * 2 : 1024;
    uint8_t *index;

    if (capacity > sample->limit)
        capacity = sample->limit;
    index = realloc(space->index, capacity * (space->kernel->params ? space->kernel->params : 1));
    if (!index)
        return gt_err_nomem(err);
    space->index = index;
    sample->capacity = capacity;
    return GT_OK;
}

/* Draws how many points are skipped before the next one is taken. */
static void skip(struct gt_sample *sample)
{
    double k = (double)sample->limit, gap;

    sample->weight *= exp(log1p(-gt_random_unit(&sample->random)) / k);
    gap = floor(log1p(-gt_random_unit(&sample->random)) / log1p(-sample->weight));
    sample->next += gap < 0x1p61 ? (uint64_t)gap + 1 : 1ull << 61;
}

/* Puts a point in the place of another. */
static void replace(struct gt_sample *sample, const uint8_t *index, uint64_t offset)
{
    put_point(sample, index, gt_random_below(&sample->random, sample->limit), offset);
    skip(sample);
}

/* Adds a point to a sample that is not yet full. */
static int append(struct gt_sample *sample, const uint8_t *index, uint64_t offset,
                  struct gt_err *err)
{
    struct gt_space *space = sample->space;

    if (space->count == sample->capacity) {
        int rc = grow(sample, err);

        if (rc)
            return rc;
    }
    put_point(sample, index, space->count++, offset);
    if (space->count == sample->limit) {
        sample->next = sample->limit - 1;
        skip(sample);
    }
    return GT_OK;
}

/* Takes all of a prefix's points. */
static int take_all(struct gt_sample *sample, const uint8_t *index, struct gt_err *err)
{
    const struct gt_space *space = sample->space;
    const uint64_t first = sample->seen, end = first + sample->free_points;
    uint64_t offset = 0;

    for (; space->count < sample->limit && first + offset < end; offset++) {
        int rc = append(sample, index, offset, err);

        if (rc)
            return rc;
    }
    while (space->count == sample->limit && sample->next < end)
        replace(sample, index, sample->next - first);
    sample->seen = end;
    return GT_OK;
}

/* How many points are passed over before one that is seen. */
static uint64_t passed_over(struct gt_sample *sample)
{
    const double gap = floor(log1p(-gt_random_unit(&sample->random)) / log1p(-sample->chance));

    return gap < 0x1p60 ? (uint64_t)gap : 1ull << 60;
}

/* Takes those of a prefix's points that are seen, if each is with a chance. */
static int take_some(struct gt_sample *sample, const uint8_t *index, struct gt_err *err)
{
    int rc = GT_OK;

    for (; !rc && sample->gap < sample->free_points; sample->gap += 1 + passed_over(sample)) {
        if (sample->space->count < sample->limit)
            rc = append(sample, index, sample->gap, err);
        else if (sample->next == sample->seen)
            replace(sample, index, sample->gap);
        sample->seen++;
    }
    sample->gap -= sample->free_points;
    return rc;
}

void gt_sample_begin(struct gt_sample *sample)
{
    sample->random.state = SAMPLE_SEED;
    sample->weight = 1;
    sample->seen = 0;
    sample->space->count = 0;
    sample->gap = sample->chance < 1 ? passed_over(sample) : 0;
}

int gt_sample_take(struct gt_sample *sample, const uint8_t *index, struct gt_err *err)
{
    return sample->chance < 1 ? take_some(sample, index, err) : take_all(sample, index, err);
}
