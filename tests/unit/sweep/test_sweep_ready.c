/* test_sweep_ready.c - tests what is set aside when a race closes: points whose cubins are there,
 * the fastest first, and never the incumbent while it is due; and a candidate that is refused. */
#include "sweep/sweep_parts.h"
#include "sweep_fixture.h"

static size_t absent = SIZE_MAX; /* Q of the points whose cubins are not there */

static bool at_hand(struct gt_evaluator *evaluator, const struct gt_candidate *candidate)
{
    (void)evaluator;
    return (size_t)candidate->point.value[1] != absent;
}

/* A race of one arm, whose first `draws` points were drawn ahead and not submitted. */
struct closing {
    struct gt_evaluator_ops ops;
    struct gt_evaluator evaluator;
    struct gt_arm arm;
    struct gt_sweep_options options;
    struct gt_race race;
};

static void open_closing(struct closing *c, struct search *s, const struct gt_kernel *kernel,
                         size_t draws)
{
    *c = (struct closing){.ops = {.at_hand = at_hand}};
    c->evaluator = (struct gt_evaluator){.ops = &c->ops, .device = s->device};
    c->arm = (struct gt_arm){.race = &c->race, .kernel = kernel};
    OK(&s->err, gt_space_init(&c->arm.space, kernel, &s->problem, &s->device, 0, &s->err));
    OK(&s->err, gt_strategy_new(&c->arm.strategy, "random", &c->arm.space, 1, NULL, &s->err));
    c->race = (struct gt_race){.options = &c->options,
                               .evaluator = &c->evaluator,
                               .problem = &s->problem,
                               .arm = &c->arm,
                               .arms = 1,
                               .draw = calloc(draws, sizeof(*c->race.draw)),
                               .draws = draws};
    for (size_t i = 0; i < draws; i++) {
        c->race.draw[i] = (struct gt_proposal){.arm = &c->arm, .what.point = i};
        c->arm.flying++;
    }
}

static void close_closing(struct closing *c)
{
    gt_strategy_free(c->arm.strategy);
    gt_space_release(&c->arm.space);
    free(c->race.draw);
    free(c->race.ready);
}

static void test_what_is_there(void **state)
{
    struct search *s = *state;
    struct gt_kernel *kernel = grid_kernel(s, "grid");
    struct gt_proposal next;
    struct closing c;

    open_closing(&c, s, kernel, 3);
    absent = 2; /* the points are P=0, Q=0, 1, 2 */
    OK(&s->err, gt_sweep_find_ready(&c.race, &s->err));
    assert_int_equal(c.race.readies, 2);
    assert_int_equal(c.race.draws, 1);
    assert_int_equal(c.race.draw[0].what.point, 2);
    assert_int_equal(c.arm.flying, 1);
    assert_true(gt_sweep_ready(&c.race, &next));
    assert_true(gt_sweep_ready(&c.race, &next));
    assert_false(gt_sweep_ready(&c.race, &next));
    close_closing(&c);
    absent = SIZE_MAX;
    gt_kernel_free(kernel);
}

/* Points that are ready wait for the incumbent, so it must not be one of them: nothing would submit
 * it, and the race would end without its time. */
static void test_the_incumbent_is_left_to_the_race(void **state)
{
    struct search *s = *state;
    struct gt_kernel *kernel = grid_kernel(s, "grid");
    struct gt_proposal next;
    struct closing c;

    open_closing(&c, s, kernel, 3);
    c.race.incumbent_arm = &c.arm;
    c.race.incumbent_due = true;
    OK(&s->err, gt_sweep_find_ready(&c.race, &s->err));
    assert_int_equal(c.race.draws, 1);
    assert_int_equal(c.race.draw[0].what.point, c.race.incumbent_point);
    assert_int_equal(c.race.readies, 2);
    assert_false(gt_sweep_ready(&c.race, &next));
    c.race.incumbent_due = false;
    assert_true(gt_sweep_ready(&c.race, &next));
    assert_int_not_equal(next.what.point, c.race.incumbent_point);
    close_closing(&c);
    gt_kernel_free(kernel);
}

static size_t room(struct gt_evaluator *evaluator)
{
    (void)evaluator;
    return 1;
}

static int refuse(struct gt_evaluator *evaluator, uint64_t id, const struct gt_candidate *candidate,
                  struct gt_err *err)
{
    (void)evaluator, (void)id, (void)candidate;
    return gt_err_set(err, GT_EIO, "refused");
}

/* A candidate that the evaluator refuses is not in flight: neither the race nor its arm counts it.
 */
static void test_refused(void **state)
{
    struct search *s = *state;
    struct gt_kernel *kernel = grid_kernel(s, "grid");
    struct gt_sweep_options options = {.problems = 1};
    struct gt_run run = {.options = &options};
    uint64_t id = 0;
    struct closing c;

    open_closing(&c, s, kernel, 1);
    c.ops.room = room;
    c.ops.submit = refuse;
    c.race.options = &options;
    c.race.run = &run;
    c.race.next_id = &id;
    assert_int_equal(gt_sweep_race(&c.race, &s->err), GT_EIO);
    assert_int_equal(c.race.flights, 0);
    assert_int_equal(c.arm.flying, 0);
    free(c.race.flight);
    close_closing(&c);
    gt_kernel_free(kernel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_is_there, search_setup, search_teardown),
        cmocka_unit_test_setup_teardown(test_the_incumbent_is_left_to_the_race, search_setup,
                                        search_teardown),
        cmocka_unit_test_setup_teardown(test_refused, search_setup, search_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
