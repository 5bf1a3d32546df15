/* test_costs.c - what trying a point is thought to cost. */
#include "search_fixture.h"

#include "base/stats.h"
#include "search/auto/costs.h"

#define EIGHT "0, 1, 2, 3, 4, 5, 6, 7"
#define TOLD  200

struct world {
    struct search *s;
    struct gt_kernel *kernel;
    struct gt_space space;
    struct gt_costs costs;
};

/* Four parameters of the cubin, and GROUP, which travels with the launch. */
static int setup(void **state)
{
    struct world *world = calloc(1, sizeof(*world));
    void *search;

    assert_non_null(world);
    search_setup(&search);
    world->s = search;
    world->kernel = search_kernel(
        world->s, "cube", "+ P0 + P1 + P2 + PTX + GROUP",
        "\"params\": [" PARAM("P0", 0, EIGHT) "," PARAM("P1", 0, EIGHT) "," PARAM(
            "P2", 0, EIGHT) "," PARAM("PTX", 0,
                                      "0, 1") ","
                                              "{\"name\": \"GROUP\", \"values\": [1, 2, 4], "
                                              "\"default\": 1, \"kind\": \"launch\", \"doc\": "
                                              "\"for a test\"}], " LAUNCH);
    OK(&world->s->err, gt_space_init(&world->space, world->kernel, &world->s->problem,
                                     &world->s->device, 0, &world->s->err));
    OK(&world->s->err, gt_costs_init(&world->costs, &world->space, &world->s->err));
    *state = world;
    return 0;
}

static int teardown(void **state)
{
    struct world *world = *state;
    void *search = world->s;

    gt_costs_release(&world->costs);
    gt_space_release(&world->space);
    gt_kernel_free(world->kernel);
    free(world);
    return search_teardown(&search);
}

static size_t point_of(const struct world *world, int64_t p0, int64_t p1, int64_t ptx,
                       int64_t group)
{
    const struct gt_point point = {{p0, p1, 0, ptx, group}};
    size_t found = gt_space_find(&world->space, &point);

    assert_true(found != SIZE_MAX);
    return found;
}

/* PTX takes the driver long and the compilers short; the more of P0, the longer all takes. */
static void tell(struct world *world, size_t i)
{
    struct gt_point point;
    double size;

    gt_space_point(&world->space, i, &point);
    size = 1 + 0.2 * (double)point.value[0];
    gt_costs_tell(&world->costs, i, (point.value[3] ? 0.3 : 0.01) * size,
                  (point.value[3] ? 0.05 : 0.1) * size);
}

/* Points with the last two values of P1 stay unknown. */
static void tell_some(struct world *world)
{
    struct gt_random random = {7};

    for (int told = 0; told < TOLD;) {
        size_t i = gt_random_below(&random, world->space.count);
        struct gt_point point;

        gt_space_point(&world->space, i, &point);
        if (point.value[1] > 5)
            continue;
        tell(world, i);
        told++;
    }
}

static void test_nothing_is_known_at_first(void **state)
{
    struct world *world = *state;

    assert_true(gt_costs_of(&world->costs, 0) == 1);
    tell(world, point_of(world, 7, 0, 1, 1));
    assert_true(gt_costs_of(&world->costs, point_of(world, 0, 1, 0, 1)) == 1);
}

/* Both kinds of cost count by what they are in seconds, not each by itself. */
static void test_the_dear_are_known(void **state)
{
    struct world *world = *state;
    double plain, ptx, large;

    tell_some(world);
    plain = gt_costs_of(&world->costs, point_of(world, 0, 0, 0, 1));
    ptx = gt_costs_of(&world->costs, point_of(world, 0, 0, 1, 1));
    large = gt_costs_of(&world->costs, point_of(world, 7, 0, 0, 1));
    assert_true(ptx / plain > 2 && ptx / plain < 5);
    assert_true(large / plain > 1.6 && large / plain < 3.2);
}

/* What differs in launch parameters only needs no compiler. */
static void test_a_cubin_is_paid_once(void **state)
{
    struct world *world = *state;
    size_t told, like, other;

    tell_some(world);
    told = point_of(world, 3, 6, 0, 1);
    like = point_of(world, 3, 6, 0, 4);
    other = point_of(world, 3, 7, 0, 4);
    gt_costs_tell(&world->costs, told, 0.016, 0.16);
    assert_true(gt_costs_of(&world->costs, like) < gt_costs_of(&world->costs, other) / 3);
}

/* More cubins than the set has room for at first. */
static void test_the_set_of_cubins_grows(void **state)
{
    struct world *world = *state;

    for (size_t i = 0; i < world->space.count; i++)
        tell(world, i);
    assert_int_equal(world->costs.cubins, 8 * 8 * 8 * 2);
    for (size_t i = 0; i < world->space.count; i++)
        tell(world, i);
    assert_int_equal(world->costs.cubins, 8 * 8 * 8 * 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nothing_is_known_at_first, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_dear_are_known, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_cubin_is_paid_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_set_of_cubins_grows, setup, teardown),
    };

    return cmocka_run_group_tests_name("costs", tests, NULL, NULL);
}
