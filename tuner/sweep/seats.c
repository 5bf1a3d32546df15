/* seats.c - who takes part in the first contest of the finals: the best of the race, and of long
 * products the best of each shape.
 *
 * Of long products, every second seat of the first contest is for the best of a shape that has
 * none yet: a way in which a kernel divides the problem (gt_predict_same_way).  Of one
 * shape a race knows dozens of launch variants within a hundredth.  A power cap slows them all
 * alike, but not other shapes: on an H200 it took 4 to 16 % from what had been within a fiftieth of
 * each other in a race. */
#include "base/array.h"
#include "base/err.h"
#include "lookup/predict.h"
#include "sweep/contest.h"

#include <stdlib.h>

#define SHAPE_WITHIN 1.1 /* a shape's best time is at most this times the best of all */
#define LONG_US      40  /* what takes less is over before a power cap holds clocks down */

/* The first row from `from` on that was sampled, or was not, and may still win; `rows`: none. */
static size_t find_row(const struct gt_sweep_result *result, size_t from, bool sampled,
                       double limit)
{
    size_t i = from;

    while (i < result->rows && ((result->row[i].trial.stage >= 2) != sampled ||
                                (!sampled && result->row[i].trial.us > limit)))
        i++;
    return i;
}

/* What candidates share whose clocks a power cap holds down alike. */
struct shape {
    const struct gt_kernel *kernel; /* NULL: not known */
    struct gt_prediction way;
};

/* A kernel of a recorded space says nothing of its launches. */
static struct shape shape_of(const struct gt_race *race, const struct gt_sweep_row *row)
{
    const struct gt_candidate candidate = gt_sweep_candidate(race, row);
    struct shape shape = {.kernel = row->kernel};
    struct gt_geometry geometry;

    if (!row->kernel->launches || gt_candidate_geometry(&candidate, &geometry, NULL) ||
        gt_predict_explain(&candidate, &geometry, 0, 0, &shape.way, NULL))
        shape.kernel = NULL;
    return shape;
}

/* The first row from `from` on whose shape none of those before it has; `rows`: none. */
static size_t find_shape(const struct gt_sweep_result *result, const struct shape *shape,
                         size_t from, size_t shapes)
{
    for (size_t i = from; i < shapes; i++) {
        size_t at = 0;

        while (at < from && (shape[at].kernel != shape[i].kernel ||
                             !gt_predict_same_way(&shape[at].way, &shape[i].way)))
            at++;
        if (at == from && shape[i].kernel)
            return i;
    }
    return result->rows;
}

/* The time of the first row of what is searched, or of the incumbent if there is no other. */
static double first_us(const struct gt_race *race)
{
    const struct gt_sweep_result *result = race->result;

    return result->row[result->rows > 1 && gt_sweep_is_guest(race, &result->row[0])].trial.us;
}

/* The shapes of the rows that are fast enough for one to take part for its shape's sake, the first
 * *count: none where shapes do not matter.  `shape` has room for all rows. */
static void find_shapes(const struct gt_race *race, struct shape *shape, size_t *count)
{
    const struct gt_sweep_result *result = race->result;
    const double best = first_us(race);

    *count = 0;
    while (best >= LONG_US && *count < result->rows &&
           result->row[*count].trial.us <= SHAPE_WITHIN * best) {
        shape[*count] = shape_of(race, &result->row[*count]);
        (*count)++;
    }
}

/* Keeps shapes beside their rows when row number `from` becomes number `to`. */
static void move_shape(struct shape *shape, size_t *shapes, size_t to, size_t from)
{
    const bool known = from < *shapes;
    const struct shape moved = known ? shape[from] : (struct shape){.kernel = NULL};

    if (to >= *shapes)
        return;
    GT_ARRAY_OPEN(shape, to, known ? from : *shapes);
    shape[to] = moved;
    *shapes += !known;
}

/* The row for the next seat; `rows`: none.  Where the time is limited, the sampled ones were
 * sampled in earlier turns, and the others are of this turn: they then come in turns, because times
 * of the two kinds cannot be compared. */
static size_t find_next(const struct gt_race *race, size_t count, double limit)
{
    const struct gt_sweep_result *result = race->result;
    const bool sampled = !(race->finals_s > 0) || count / 2 % 2 == 0;
    const size_t i = find_row(result, count, sampled, limit);

    return i < result->rows ? i : find_row(result, count, !sampled, limit);
}

int gt_contest_seats(struct gt_race *race, size_t most, size_t *seats, struct gt_err *err)
{
    struct gt_sweep_result *result = race->result;
    struct gt_sweep_row *row = result->row;
    double limit = GT_SWEEP_TOO_SLOW * first_us(race);
    struct shape *shape = calloc(result->rows, sizeof(*shape));
    size_t count = 0, shapes = 0;

    if (!shape)
        return gt_err_nomem(err);
    find_shapes(race, shape, &shapes);
    for (; count < most; count++) {
        size_t i = count % 2 ? find_shape(result, shape, count, shapes) : result->rows;
        struct gt_sweep_row moved;

        if (i == result->rows)
            i = find_next(race, count, limit);
        if (i == result->rows)
            break;
        moved = row[i];
        GT_ARRAY_OPEN(row, count, i);
        row[count] = moved;
        move_shape(shape, &shapes, count, i);
    }
    free(shape);
    *seats = gt_sweep_seat_incumbent(race, count, most);
    return GT_OK;
}
