/* strategy_fixture.h - what the tests of strategies share: a space, a time for each of its points,
 * and a caller that drives a strategy. */
#ifndef GT_STRATEGY_FIXTURE_H
#define GT_STRATEGY_FIXTURE_H

#include "search_fixture.h"

#include "search/strategy.h"

#include <math.h>

#define FLYING 7 /* points in flight at once */

#define EIGHT "0, 1, 2, 3, 4, 5, 6, 7"

/* Six parameters of eight values, every eighth point invalid: 229376 points. */
static inline struct gt_kernel *big_kernel(struct search *s)
{
    return search_kernel(
        s, "big", "+ P0 + P1 + P2 + P3 + P4 + P5",
        "\"params\": [" PARAM("P0", 0, EIGHT) "," PARAM("P1", 0, EIGHT) "," PARAM(
            "P2", 0,
            EIGHT) "," PARAM("P3", 0,
                             EIGHT) "," PARAM("P4", 0,
                                              EIGHT) "," PARAM("P5", 0,
                                                               EIGHT) "],"
                                                                      "\"constraints\": [{\"if\": "
                                                                      "\"(P0 + P1 + P2 + P3 + P4 + "
                                                                      "P5) % 8 != 3\", \"why\": "
                                                                      "\"holes\"}], " LAUNCH);
}

typedef double objective(const struct gt_point *point);

/* Separable: each parameter has its own best value, 5 2 7 0 3 6; the optimum is 100. */
static inline double separable(const struct gt_point *point)
{
    static const int best[] = {5, 2, 7, 0, 3, 6};
    double us = 100;

    for (int p = 0; p < 6; p++)
        us += 3.0 * (p + 1) * fabs((double)point->value[p] - best[p]);
    return us;
}

struct run {
    size_t asked;
    double best;
    uint64_t trace; /* digest of the points asked for, in order */
    bool done;
};

/* Drives a strategy with FLYING points in the air, answered first come first served. */
static inline struct run drive(struct gt_strategy *strategy, objective *us_of, size_t budget)
{
    struct run run = {.best = INFINITY, .trace = 14695981039346656037ull};
    size_t queue[FLYING], flying = 0;
    unsigned char *seen = calloc(strategy->space->count, 1);

    assert_non_null(seen);
    for (;;) {
        enum gt_next answer = GT_NEXT_WAIT;
        size_t asked = SIZE_MAX;
        struct gt_point point;
        double us;

        while (flying < FLYING && run.asked < budget &&
               (answer = gt_strategy_next(strategy, &asked)) == GT_NEXT_POINT) {
            assert_true(asked < strategy->space->count);
            assert_false(seen[asked]); /* never twice */
            seen[asked] = 1;
            queue[flying++] = asked;
            run.asked++;
            run.trace = (run.trace ^ asked) * 1099511628211ull;
        }
        run.done = answer == GT_NEXT_DONE;
        if (!flying)
            break;
        gt_space_point(strategy->space, queue[0], &point);
        us = us_of(&point);
        if (us > 0 && us < run.best)
            run.best = us;
        gt_strategy_tell(strategy, queue[0], us);
        memmove(queue, queue + 1, --flying * sizeof(queue[0]));
    }
    free(seen);
    return run;
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, search_setup, search_teardown)

#endif
