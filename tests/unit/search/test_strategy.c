/* test_strategy.c - every strategy on synthetic spaces: finds optima, repeats itself, survives. */
#include "strategy_fixture.h"

#include "search/hill_climb.h"

/* 64 points. */
static struct gt_kernel *small_kernel(struct search *s)
{
    return search_kernel(
        s, "small", "+ P + Q",
        "\"params\": [" PARAM("P", 0, EIGHT) "," PARAM("Q", 0, EIGHT) "], " LAUNCH);
}

static double always_fails(const struct gt_point *point)
{
    (void)point;
    return 0;
}

static void test_local_search_finds_the_optimum(void **state)
{
    struct search *s = *state;
    struct gt_kernel *kernel = big_kernel(s);
    struct gt_space space;

    OK(&s->err, gt_space_init(&space, kernel, &s->problem, &s->device, 0, &s->err));
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct gt_strategy *strategy;
        struct run run;

        OK(&s->err, gt_strategy_new(&strategy, "local", &space, seed, NULL, &s->err));
        run = drive(strategy, separable, 3000); /* 1.5 % of the space */
        assert_true(run.best == 100);
        assert_true(strategy->known[strategy->best] == 100);
        gt_strategy_free(strategy);
    }
    gt_space_release(&space);
    gt_kernel_free(kernel);
}

static void test_equal_seeds_give_equal_traces(void **state)
{
    struct search *s = *state;
    struct gt_kernel *kernel = big_kernel(s);
    struct gt_space space;

    OK(&s->err, gt_space_init(&space, kernel, &s->problem, &s->device, 0, &s->err));
    for (size_t i = 0; gt_strategies[i]; i++) {
        uint64_t trace[3];

        for (uint64_t t = 0; t < 3; t++) {
            struct gt_strategy *strategy;

            OK(&s->err, gt_strategy_new(&strategy, gt_strategies[i]->name, &space, t == 2 ? 2 : 1,
                                        NULL, &s->err));
            trace[t] = drive(strategy, separable, 500).trace;
            gt_strategy_free(strategy);
        }
        assert_true(trace[0] == trace[1]);
        if (strcmp(gt_strategies[i]->name, "exhaustive") != 0)
            assert_true(trace[0] != trace[2]);
    }
    gt_space_release(&space);
    gt_kernel_free(kernel);
}

/* The strategy of that number in the table, such that it goes on to the last point. */
static const char *tireless(size_t i)
{
    return strcmp(gt_strategies[i]->name, "auto") == 0 ? "auto:gain=0" : gt_strategies[i]->name;
}

/* All end after every point, also when none is any good and when some were told unasked. */
static void test_a_small_space_is_exhausted(void **state)
{
    struct search *s = *state;
    struct gt_kernel *kernel = small_kernel(s);
    struct gt_space space;

    OK(&s->err, gt_space_init(&space, kernel, &s->problem, &s->device, 0, &s->err));
    for (size_t i = 0; gt_strategies[i]; i++) {
        objective *objectives[] = {separable, always_fails};

        for (size_t o = 0; o < 2; o++) {
            struct gt_strategy *strategy;
            struct run run;

            OK(&s->err, gt_strategy_new(&strategy, tireless(i), &space, 3, NULL, &s->err));
            gt_strategy_tell(strategy, 5, 123);
            gt_strategy_tell(strategy, 63, 0);
            gt_strategy_tell(strategy, 5, 50); /* measured anew */
            run = drive(strategy, objectives[o], 1000);
            assert_true(run.done);
            assert_int_equal(run.asked, 62);
            assert_int_equal(strategy->best, 5);
            gt_strategy_tell(strategy, 5, 0);
            assert_true(strategy->best != 5);
            gt_strategy_free(strategy);
        }
    }
    gt_space_release(&space);
    gt_kernel_free(kernel);
}

static double impossible(const struct gt_point *point)
{
    static const double us[] = {1e-100, 1e-46, 1e-45, 1e-7, 4e38, 1e300, INFINITY, NAN};

    return us[point->value[0]];
}

/* What is told may come from a database or a recording that somebody else wrote. */
static void test_no_time_is_too_odd(void **state)
{
    struct search *s = *state;
    struct gt_kernel *kernel = small_kernel(s);
    struct gt_space space;

    OK(&s->err, gt_space_init(&space, kernel, &s->problem, &s->device, 0, &s->err));
    for (size_t i = 0; gt_strategies[i]; i++) {
        struct gt_strategy *strategy;
        struct run run;

        OK(&s->err, gt_strategy_new(&strategy, tireless(i), &space, 3, NULL, &s->err));
        gt_strategy_tell(strategy, 5, 1e-100);
        run = drive(strategy, impossible, 1000);
        assert_true(run.done);
        assert_int_equal(run.asked, 63);
        assert_int_equal(strategy->best, SIZE_MAX);
        gt_strategy_free(strategy);
    }
    gt_space_release(&space);
    gt_kernel_free(kernel);
}

static void test_seeds_come_first(void **state)
{
    const size_t point[] = {40, 2, 40, 17, 99999, 3};
    const struct gt_seeds seeds = {.point = point, .count = 6};
    const size_t expected[] = {40, 17, 3}; /* 2 is known already, 99999 is no point */
    struct search *s = *state;
    struct gt_kernel *kernel = small_kernel(s);
    struct gt_space space;

    OK(&s->err, gt_space_init(&space, kernel, &s->problem, &s->device, 0, &s->err));
    for (size_t i = 0; gt_strategies[i]; i++) {
        struct gt_strategy *strategy;

        OK(&s->err, gt_strategy_new(&strategy, gt_strategies[i]->name, &space, 3, &seeds, &s->err));
        gt_strategy_tell(strategy, 2, 10);
        for (size_t e = 0; e < 3; e++) {
            size_t next;

            assert_int_equal(gt_strategy_next(strategy, &next), GT_NEXT_POINT);
            assert_int_equal(next, expected[e]);
        }
        gt_strategy_free(strategy);
    }
    gt_space_release(&space);
    gt_kernel_free(kernel);
}

/* A caller that takes more points than the climbs wait for is not kept waiting for the last ones:
 * answers come late and out of order, as from many compilers. */
static void test_local_search_keeps_many_busy(void **state)
{
    struct search *s = *state;
    struct gt_kernel *kernel = big_kernel(s);
    struct gt_random random = {1};
    struct gt_strategy *strategy;
    size_t queue[88], flying = 0, least = 88;
    struct gt_space space;

    OK(&s->err, gt_space_init(&space, kernel, &s->problem, &s->device, 0, &s->err));
    OK(&s->err, gt_strategy_new(&strategy, "local", &space, 1, NULL, &s->err));
    for (int told = 0; told < 2000; told++) {
        struct gt_point point;
        size_t at;

        while (flying < 88 && gt_strategy_next(strategy, &queue[flying]) == GT_NEXT_POINT)
            flying++;
        if (told >= 100 && flying < least)
            least = flying;
        assert_in_range(flying, 1, 88);
        at = gt_random_below(&random, flying < 20 ? flying : 20);
        gt_space_point(&space, queue[at], &point);
        gt_strategy_tell(strategy, queue[at], separable(&point));
        memmove(&queue[at], &queue[at + 1], (--flying - at) * sizeof(queue[0]));
    }
    assert_true(strategy->known[strategy->best] == 100);
    assert_in_range(least, 40, 88);
    gt_strategy_free(strategy);
    gt_space_release(&space);
    gt_kernel_free(kernel);
}

/* Two parameters act together, two each alone, two not at all; 120 of 262144 points are within
 * 10 %. */
static double entangled(const struct gt_point *point)
{
    double x = (double)(point->value[0] + point->value[1]) - 9;
    double y = (double)(point->value[0] - point->value[1]) - 1;

    return 100 * exp(0.02 * x * x + 0.05 * y * y + 0.1 * fabs((double)point->value[2] - 4) +
                     0.1 * fabs((double)point->value[3] - 2));
}

/* Every strategy but those that do not learn comes near in 800 of 229376 points, with points in
 * flight. */
static void test_all_find_good_points(void **state)
{
    struct search *s = *state;
    struct gt_kernel *kernel = big_kernel(s);
    struct gt_space space;

    OK(&s->err, gt_space_init(&space, kernel, &s->problem, &s->device, 0, &s->err));
    for (size_t i = 0; gt_strategies[i]; i++) {
        const char *name = gt_strategies[i]->name;
        struct gt_strategy *strategy;
        struct run run;

        if (strcmp(name, "exhaustive") == 0 || strcmp(name, "random") == 0)
            continue;
        OK(&s->err, gt_strategy_new(&strategy, name, &space, 1, NULL, &s->err));
        run = drive(strategy, entangled, 800);
        if (run.best > 115)
            fail_msg("%s: %g after %zu points", name, run.best, run.asked);
        gt_strategy_free(strategy);
    }
    gt_space_release(&space);
    gt_kernel_free(kernel);
}

/* The later in the space, the sooner. */
static float from_the_end(struct gt_strategy *strategy, size_t point)
{
    (void)strategy;
    return -(float)point;
}

/* Whether all but one of the parameters agree. */
static bool are_neighbours(const struct gt_space *space, size_t x, size_t y)
{
    size_t params = space->kernel->params, differ = 0;

    for (size_t p = 0; p < params; p++)
        differ += space->index[x * params + p] != space->index[y * params + p];
    return differ == 1;
}

/* Each hill climb takes a start, the fastest first, and the neighbours in the order asked for. */
static void test_multi_start_takes_starts_and_order(void **state)
{
    struct search *s = *state;
    struct gt_kernel *kernel = small_kernel(s);
    struct gt_multi_start multi = {0};
    struct gt_strategy *strategy;
    const size_t start[] = {9, 54};
    struct gt_space space;

    OK(&s->err, gt_space_init(&space, kernel, &s->problem, &s->device, 0, &s->err));
    OK(&s->err, gt_strategy_new(&strategy, "random", &space, 1, NULL, &s->err));
    OK(&s->err, gt_multi_start_init(&multi, 2, 2, from_the_end, &s->err));
    for (size_t i = 0; i < 2; i++) {
        gt_strategy_tell(strategy, start[i], 100 + 10 * (double)i);
        gt_multi_start_add(&multi, start[i]);
    }
    for (size_t i = 0; i < 2; i++) {
        size_t last = space.count, point;

        for (size_t n = 0; n < GT_HILL_CLIMB_FLYING; n++) {
            assert_int_equal(gt_multi_start_next(strategy, &multi, &point), GT_NEXT_POINT);
            assert_true(are_neighbours(&space, start[i], point) && point < last);
            gt_strategy_claim(strategy, point);
            last = point;
        }
        if (i == 1) /* both have enough in flight */
            assert_int_equal(gt_multi_start_next(strategy, &multi, &point), GT_NEXT_WAIT);
    }
    gt_multi_start_release(&multi);
    gt_strategy_free(strategy);
    gt_space_release(&space);
    gt_kernel_free(kernel);
}

static void test_options(void **state)
{
    static const struct {
        const char *text, *words;
    } bad[] = {
        {"auto:start", "start=NUMBER"},
        {"auto:start=", "0 to 1000"},
        {"auto:start=-1", "start=-1"},
        {"auto:start=4x", "4x"},
        {"auto:", "there are: start"},
        {"auto:strt=3",
         "strategy auto: unknown option \"strt\" (did you mean \"start\"?); there are: start"},
        {"random:start=3", "there are: none"},
        {"gentic", "did you mean \"genetic\""},
        {"genetic:mutate=nan", "mutate"},
        {"annealing:hot=0.5", "strategy \"annealing\" of earlier versions is gone; use local"},
    };
    const struct gt_strategy_ops *ops;
    double option[GT_STRATEGY_OPTIONS];
    struct search *s = *state;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_not_equal(gt_strategy_parse(NULL, NULL, bad[i].text, &s->err), GT_OK);
        if (!strstr(s->err.msg, bad[i].words))
            fail_msg("%s: %s", bad[i].text, s->err.msg);
    }
    OK(&s->err, gt_strategy_parse(&ops, option, "genetic:mutate=2.5,population=7", &s->err));
    assert_string_equal(ops->name, "genetic");
    assert_true(option[0] == 7 && option[1] == 2.5);
    OK(&s->err, gt_strategy_parse(&ops, option, "genetic", &s->err));
    assert_true(option[0] == 20 && option[1] == 1);
}

static void test_unknown_names(void **state)
{
    struct gt_strategy *strategy = NULL;
    struct search *s = *state;
    struct gt_space space = {0};

    assert_int_equal(gt_strategy_new(&strategy, "psychic", &space, 1, NULL, &s->err), GT_ENOTFOUND);
    assert_non_null(strstr(s->err.msg, "psychic"));
    assert_non_null(strstr(s->err.msg, "exhaustive"));
    gt_strategy_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(test_local_search_finds_the_optimum),
        WITH_FOLDER(test_equal_seeds_give_equal_traces),
        WITH_FOLDER(test_a_small_space_is_exhausted),
        WITH_FOLDER(test_no_time_is_too_odd),
        WITH_FOLDER(test_seeds_come_first),
        WITH_FOLDER(test_local_search_keeps_many_busy),
        WITH_FOLDER(test_all_find_good_points),
        WITH_FOLDER(test_multi_start_takes_starts_and_order),
        WITH_FOLDER(test_options),
        WITH_FOLDER(test_unknown_names),
    };

    return cmocka_run_group_tests_name("strategy", tests, NULL, NULL);
}
