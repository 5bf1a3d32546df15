/* test_sweep_incumbent.c - tests that a sweep times what look-up hands out before anything else and
 * in the finals, and that nothing takes its place without having been timed beside it. */
#include "sweep_fixture.h"

/* A sweep over kernel "grid", with kernel "other" known to look-up and not searched, and one
 * shipped winner. */
struct arena {
    struct bench bench;
    struct fake fake;
    struct gt_kernel *list[2];
    struct gt_kernels known;
    struct gt_table_row row;
    struct gt_table shipped;
};

static void open_arena(struct arena *arena, struct search *s, const char *kernel, const char *point)
{
    memset(arena, 0, sizeof(*arena));
    arena->bench = open_bench(s);
    arena->fake = new_fake(s, true);
    arena->bench.kernel[1] = grid_kernel(s, "other");
    arena->list[0] = arena->bench.kernel[0];
    arena->list[1] = arena->bench.kernel[1];
    arena->known = (struct gt_kernels){.kernel = arena->list, .count = 2};
    arena->row = (struct gt_table_row){
        .problem = s->problem,
        .text = "1024x1024x2048:f32:nn",
        .device = "made up",
        .kernel = kernel,
        .signature = arena->list[0]->signature,
        .point = point,
        .cc = s->device.cc,
        .us = 50,
    };
    arena->row.problem.k = 2048;
    arena->shipped = (struct gt_table){.row = &arena->row, .rows = 1};
    arena->bench.options.shipped = &arena->shipped;
    arena->bench.options.known = &arena->known;
}

static void test_it_is_the_first_candidate(void **state)
{
    struct search *s = *state;
    struct arena arena;

    open_arena(&arena, s, "grid", "P=15,Q=0");
    arena.bench.options.budget.trials = 1;
    OK(&s->err, run(&arena.bench, &arena.fake));
    assert_int_equal(arena.fake.first, 15 * SIDE);
    assert_int_equal(arena.fake.trials, 1);
    assert_string_equal(stored_winner(&arena.bench, true).point, "P=15,Q=0");
    assert_int_equal(arena.bench.result.row[0].trial.stage, 3);
    OK(&s->err, run(&arena.bench, &arena.fake)); /* nothing is left to do */
    assert_int_equal(arena.fake.trials, 1);
    close_bench(&arena.bench);
}

static const struct gt_kernel *searched;
static size_t asked_ahead, asked_before_space, first_ahead; /* the last: number of a point */

static int note_ahead(struct gt_evaluator *evaluator, const struct gt_candidate *candidate,
                      struct gt_err *err)
{
    (void)evaluator, (void)err;
    if (!asked_ahead++)
        first_ahead = number_of(candidate);
    return GT_OK;
}

static int note_space(const struct gt_evaluator *evaluator, struct gt_space *space,
                      const struct gt_problem *problem, struct gt_err *err)
{
    asked_before_space = asked_ahead;
    return gt_space_init(space, searched, problem, &evaluator->device, 0, err);
}

/* By then the compilers have the race's first points too, among them the answer again. */
static int note_opened(struct gt_evaluator *evaluator, const struct gt_problem *problem,
                       struct gt_err *err)
{
    assert_int_equal(asked_ahead, 1 + ROOM);
    return fake_open_problem(evaluator, problem, err);
}

/* The compilers have the answer before its kernel's points are known. */
static void test_it_is_compiled_before_its_space_is_known(void **state)
{
    struct search *s = *state;
    struct arena arena;

    open_arena(&arena, s, "grid", "P=15,Q=0");
    searched = arena.list[0];
    asked_ahead = 0;
    arena.fake.ops.ahead = note_ahead;
    arena.fake.ops.space = note_space;
    arena.fake.ops.open_problem = note_opened;
    arena.bench.options.budget.trials = 20;
    OK(&s->err, run(&arena.bench, &arena.fake));
    assert_int_equal(first_ahead, 15 * SIDE);
    assert_int_equal(asked_before_space, 1);
    assert_int_equal(arena.fake.trials, 20);
    close_bench(&arena.bench);
}

/* Points of "other" are fast, those of "grid" are slow. */
static double other_is_fast(const struct gt_candidate *candidate)
{
    return strcmp(candidate->kernel->name, "other") == 0 ? 60 : bowl(candidate);
}

static struct fake *judge;

/* As a GPU's worker judges a first launch. */
static int slow_beside_best(const struct gt_candidate *candidate)
{
    const double best_us = judge->best_us;

    return best_us > 0 && judge->us_of(candidate) > 1.5 * best_us ? GT_STATUS_SLOW : GT_STATUS_OK;
}

/* The answer's kernel is not searched: it is timed beside the budget, and stays the answer.  What
 * is searched is judged, ranked and shown without it. */
static void test_a_kernel_that_is_not_searched(void **state)
{
    struct search *s = *state;
    struct arena arena;

    open_arena(&arena, s, "other", "P=3,Q=2");
    arena.fake.us_of = other_is_fast;
    arena.fake.status_of = slow_beside_best;
    judge = &arena.fake;
    arena.bench.options.budget.trials = 10;
    for (int again = 0; again < 2; again++) {
        OK(&s->err, run(&arena.bench, &arena.fake));
        assert_int_equal(arena.fake.first, 3 * SIDE + 2);
        assert_int_equal(arena.fake.trials, 11);
        assert_int_equal(arena.fake.finals, 1);
        assert_int_equal(arena.bench.result.fresh + arena.bench.result.resumed, 10);
        assert_int_equal(arena.bench.result.status[GT_STATUS_OK], 10);
        assert_true(arena.fake.best_us >= 100);
        assert_int_equal(arena.bench.result.rows, 10);
        for (size_t i = 0; i < arena.bench.result.rows; i++)
            assert_string_equal(arena.bench.result.row[i].kernel->name, "grid");
        assert_int_equal(arena.bench.result.row[0].trial.stage, 3);
        assert_string_equal(arena.bench.result.incumbent.kernel->name, "other");
        assert_true(arena.bench.result.incumbent.trial.us < 61);
        assert_int_equal(arena.bench.result.incumbent.trial.stage, 3);
        assert_true(arena.bench.result.stays);
        assert_string_equal(stored_winner(&arena.bench, true).point, "P=3,Q=2");
    }
    arena.bench.options.budget.trials = 12;
    OK(&s->err, run(&arena.bench, &arena.fake));
    assert_int_equal(arena.fake.trials, 13);
    assert_int_equal(arena.bench.result.resumed, 10);
    assert_int_equal(arena.bench.result.fresh, 2);
    close_bench(&arena.bench);
}

/* Points of "other" are slow. */
static double other_is_slow(const struct gt_candidate *candidate)
{
    return strcmp(candidate->kernel->name, "other") == 0 ? 400 : bowl(candidate);
}

/* What is searched is faster: it takes the answer's place, which still has its time. */
static void test_a_kernel_that_is_not_searched_is_beaten(void **state)
{
    struct search *s = *state;
    struct arena arena;

    open_arena(&arena, s, "other", "P=3,Q=2");
    arena.fake.us_of = other_is_slow;
    OK(&s->err, run(&arena.bench, &arena.fake));
    assert_string_equal(stored_winner(&arena.bench, true).point, "P=10,Q=9");
    assert_string_equal(arena.bench.result.row[0].kernel->name, "grid");
    assert_string_equal(arena.bench.result.incumbent.kernel->name, "other");
    assert_int_equal(arena.bench.result.incumbent.trial.us, 400);
    assert_false(arena.bench.result.stays);
    close_bench(&arena.bench);
}

static int other_fails(const struct gt_candidate *candidate)
{
    return strcmp(candidate->kernel->name, "other") == 0 ? GT_STATUS_WRONG : GT_STATUS_OK;
}

static int grid_fails(const struct gt_candidate *candidate)
{
    return strcmp(candidate->kernel->name, "other") == 0 ? GT_STATUS_OK : GT_STATUS_WRONG;
}

/* A failure of either is not the other's: an answer that fails is no row, and where all that is
 * searched fails, the answer's time does not hide that. */
static void test_a_kernel_that_is_not_searched_or_the_others_fail(void **state)
{
    struct search *s = *state;
    struct arena arena;

    open_arena(&arena, s, "other", "P=3,Q=2");
    arena.fake.us_of = other_is_fast;
    arena.fake.status_of = other_fails;
    arena.bench.options.budget.trials = 10;
    OK(&s->err, run(&arena.bench, &arena.fake));
    assert_int_equal(arena.bench.result.rows, 10);
    assert_null(arena.bench.result.incumbent.kernel);
    assert_int_equal(arena.bench.result.status[GT_STATUS_WRONG], 0);
    close_bench(&arena.bench);
    search_teardown(state);
    search_setup(state);
    s = *state;
    open_arena(&arena, s, "other", "P=3,Q=2");
    arena.fake.us_of = other_is_fast;
    arena.fake.status_of = grid_fails;
    arena.bench.options.budget.trials = 10;
    OK(&s->err, run(&arena.bench, &arena.fake));
    assert_int_equal(arena.bench.result.rows, 0);
    assert_int_equal(arena.bench.result.status[GT_STATUS_WRONG], 10);
    assert_string_equal(arena.bench.result.incumbent.kernel->name, "other");
    close_bench(&arena.bench);
}

/* A run of both kernels gives every point of "grid" up as slow.  A run of "grid" alone tries the
 * fastest of them again, for their times, and a further one has nothing to do. */
static void test_what_was_slow_beside_others_is_tried_again(void **state)
{
    struct search *s = *state;
    struct arena arena;
    int64_t slow;

    open_arena(&arena, s, "other", "P=3,Q=2");
    arena.fake.us_of = other_is_fast;
    arena.fake.status_of = slow_beside_best;
    judge = &arena.fake;
    arena.bench.options.kernels = 2;
    arena.bench.options.budget.trials = 60;
    OK(&s->err, run(&arena.bench, &arena.fake));
    slow = arena.bench.result.status[GT_STATUS_SLOW];
    assert_in_range(slow, 2, 60);
    arena.fake.best_us = 0;
    arena.bench.options.kernels = 1;
    arena.bench.options.budget.trials = slow;
    OK(&s->err, run(&arena.bench, &arena.fake));
    assert_in_range(arena.bench.result.rows, 1, slow);
    assert_int_equal(arena.bench.result.fresh + arena.bench.result.resumed, slow);
    assert_in_range(arena.bench.result.fresh, 1, slow);
    assert_int_equal(arena.bench.result.row[0].trial.stage, 3);
    assert_true(arena.bench.result.stays);
    OK(&s->err, run(&arena.bench, &arena.fake));
    assert_int_equal(arena.bench.result.fresh, 0);
    close_bench(&arena.bench);
}

static double far_is_slow(const struct gt_candidate *candidate)
{
    return is_point(candidate, 15, 15) ? 400 : bowl(candidate);
}

static double far_is_best(const struct gt_candidate *candidate)
{
    return is_point(candidate, 15, 15) ? 50 : bowl(candidate);
}

/* The race times the answer far too long, and 70 other points are better there.  In pairs it is the
 * best. */
static void test_the_finals_decide(void **state)
{
    struct search *s = *state;
    struct arena arena;

    open_arena(&arena, s, "grid", "P=15,Q=15");
    arena.fake.us_of = far_is_slow;
    arena.fake.final_us_of = far_is_best;
    OK(&s->err, run(&arena.bench, &arena.fake));
    assert_int_equal(arena.fake.trials, BUDGET);
    assert_true(arena.bench.result.row[0].trial.us == 50);
    assert_string_equal(stored_winner(&arena.bench, true).point, "P=15,Q=15");
    close_bench(&arena.bench);
}

/* And what is faster in the final takes its place, in this and in later turns. */
static void test_a_better_one_replaces_it(void **state)
{
    struct search *s = *state;
    struct arena arena;

    open_arena(&arena, s, "grid", "P=15,Q=15");
    OK(&s->err, run(&arena.bench, &arena.fake));
    assert_string_equal(stored_winner(&arena.bench, true).point, "P=10,Q=9");
    close_bench(&arena.bench);
}

/* It is slower to compile than the budget lasts.  The race waits for it. */
static void test_the_clock_waits_for_it(void **state)
{
    struct search *s = *state;
    struct arena arena;

    open_arena(&arena, s, "grid", "P=15,Q=15");
    arena.bench.options.budget = (struct gt_budget){.seconds = 1};
    arena.fake.ops.now = compile_clock;
    arena.fake.compile_s = 20;
    OK(&s->err, run(&arena.bench, &arena.fake));
    assert_int_equal(arena.fake.first, 15 * SIDE + 15);
    assert_int_equal(arena.fake.seen[15 * SIDE + 15], 1);
    assert_in_range(arena.fake.finals, 1, 2);
    close_bench(&arena.bench);
}

static int far_fails(const struct gt_candidate *candidate)
{
    return is_point(candidate, 15, 15) ? GT_STATUS_WRONG : GT_STATUS_OK;
}

static int far_is_lost(const struct gt_candidate *candidate)
{
    return is_point(candidate, 15, 15) ? GT_STATUS_KILLED : GT_STATUS_OK;
}

/* An answer that is wrong here is no opponent.  One that could not be timed, for a cause that is
 * not its own, keeps its place: no final is held. */
static void test_one_that_fails(void **state)
{
    struct search *s = *state;
    struct arena arena;

    open_arena(&arena, s, "grid", "P=15,Q=15");
    arena.bench.options.budget.trials = 30;
    arena.fake.status_of = far_is_lost;
    OK(&s->err, run(&arena.bench, &arena.fake));
    assert_int_equal(arena.fake.finals, 0);
    for (size_t i = 0; i < arena.bench.result.rows; i++)
        assert_in_range(arena.bench.result.row[i].trial.stage, 1, 2);
    arena.fake.status_of = far_fails;
    arena.bench.options.budget.trials = 60;
    OK(&s->err, run(&arena.bench, &arena.fake));
    assert_int_equal(arena.fake.finals, 1);
    assert_int_equal(arena.bench.result.row[0].trial.stage, 3);
    close_bench(&arena.bench);
}

/* Every point takes the same time: there is no reason to replace the answer. */
static double all_alike(const struct gt_candidate *candidate)
{
    (void)candidate;
    return 100;
}

static void test_it_stays_if_nothing_is_faster(void **state)
{
    struct search *s = *state;
    struct arena arena;

    open_arena(&arena, s, "grid", "P=6,Q=11");
    arena.fake.us_of = all_alike;
    OK(&s->err, run(&arena.bench, &arena.fake));
    assert_string_equal(stored_winner(&arena.bench, true).point, "P=6,Q=11");
    close_bench(&arena.bench);
}

/* The answer takes 3 % longer than all others. */
static double alike_but_one(const struct gt_candidate *candidate)
{
    return is_point(candidate, 6, 11) ? 103 : 100;
}

/* Samples scatter so much that the final cannot tell 3 %: the answer stays, and the database hands
 * it out although the times of others are shorter. */
static void test_it_stays_if_it_ties(void **state)
{
    struct search *s = *state;
    struct arena arena;

    open_arena(&arena, s, "grid", "P=6,Q=11");
    arena.fake.us_of = alike_but_one;
    arena.fake.spread = 1;
    OK(&s->err, run(&arena.bench, &arena.fake));
    assert_int_equal(arena.bench.result.row[0].point.value[0], 6);
    assert_string_equal(stored_winner(&arena.bench, true).point, "P=6,Q=11");
    OK(&s->err, run(&arena.bench, &arena.fake)); /* nothing is left to do */
    assert_int_equal(arena.fake.trials, BUDGET);
    assert_string_equal(stored_winner(&arena.bench, true).point, "P=6,Q=11");
    close_bench(&arena.bench);
}

static const struct fake *heated;

/* One point is 3 % faster than the answer until the play-off, on a device that is cool until then,
 * and 2 % slower from then on. */
static double fast_while_cool(const struct gt_candidate *candidate)
{
    if (is_point(candidate, 3, 3))
        return heated->contests < 3 ? 97 : 102;
    return is_point(candidate, 6, 11) ? 100 : 105;
}

static void test_it_stays_if_it_wins_on_a_hot_device(void **state)
{
    struct search *s = *state;
    struct arena arena;

    open_arena(&arena, s, "grid", "P=6,Q=11");
    heated = &arena.fake;
    arena.fake.us_of = fast_while_cool;
    arena.bench.options.strategy = "exhaustive";
    OK(&s->err, run(&arena.bench, &arena.fake));
    assert_int_equal(arena.fake.contests, 3);
    assert_string_equal(stored_winner(&arena.bench, true).point, "P=6,Q=11");
    close_bench(&arena.bench);
}

/* Two points are faster than the answer, by 4 and 3 %. */
static double two_faster(const struct gt_candidate *candidate)
{
    if (is_point(candidate, 3, 3))
        return 96;
    if (is_point(candidate, 4, 4))
        return 97;
    return is_point(candidate, 6, 11) ? 100 : 105;
}

/* The answer is in the play-off, and the second point is not; the ranks go by the times. */
static void test_it_is_third_if_it_loses_to_two(void **state)
{
    struct search *s = *state;
    struct arena arena;

    open_arena(&arena, s, "grid", "P=6,Q=11");
    arena.fake.us_of = two_faster;
    arena.bench.options.strategy = "exhaustive";
    OK(&s->err, run(&arena.bench, &arena.fake));
    assert_int_equal(arena.fake.contests, 3);
    assert_int_equal(arena.bench.result.row[0].point.value[0], 3);
    assert_int_equal(arena.bench.result.row[1].point.value[0], 4);
    assert_int_equal(arena.bench.result.row[2].point.value[0], 6);
    close_bench(&arena.bench);
}

/* One point is 0.7 % faster than the answer in every contest, and the others are far slower.  A
 * launch takes a fifth of a second, so that contests have the fewest rounds. */
static double barely_faster(const struct gt_candidate *candidate)
{
    if (is_point(candidate, 3, 3))
        return 0.993 * 2e5;
    return is_point(candidate, 6, 11) ? 2e5 : 3e5;
}

/* A gap that is no larger than gaps of two contests differ needs many rounds: here there is no time
 * for them, and the answer stays.  With many rounds the faster point takes its place. */
static void test_it_stays_if_few_rounds_show_little(void **state)
{
    struct search *s = *state;
    struct arena arena;

    open_arena(&arena, s, "grid", "P=6,Q=11");
    arena.fake.us_of = barely_faster;
    arena.fake.spread = 0.002;
    arena.fake.ops.now = trial_clock;
    arena.bench.options.strategy = "exhaustive";
    arena.bench.options.budget = (struct gt_budget){.seconds = 0.2};
    OK(&s->err, run(&arena.bench, &arena.fake));
    assert_int_equal(arena.fake.seen[3 * SIDE + 3], 1);
    assert_in_range(arena.bench.result.row[0].trial.samples, 7, 20);
    assert_string_equal(stored_winner(&arena.bench, true).point, "P=6,Q=11");
    arena.bench.options.budget = (struct gt_budget){.trials = SIDE * SIDE};
    OK(&s->err, run(&arena.bench, &arena.fake));
    assert_in_range(arena.bench.result.row[0].trial.samples, 21, 1000);
    assert_string_equal(stored_winner(&arena.bench, true).point, "P=3,Q=3");
    close_bench(&arena.bench);
}

/* The winner of a near problem of another kernel comes right behind the answer, before any point
 * that a strategy chooses. */
static void test_near_winners_follow(void **state)
{
    struct search *s = *state;
    struct arena arena;
    struct gt_table_row rows[3];

    open_arena(&arena, s, "grid", "P=15,Q=0");
    arena.bench.options.kernels = 2;
    arena.bench.options.budget.trials = 3;
    for (int i = 0; i < 3; i++) {
        rows[i] = arena.row;
        rows[i].problem.m = 1024 << i;
        rows[i].kernel = i ? "other" : "grid";
    }
    rows[1].point = "P=14,Q=13";
    rows[2].point = "P=12,Q=1";
    arena.shipped = (struct gt_table){.row = rows, .rows = 3};
    OK(&s->err, run(&arena.bench, &arena.fake));
    assert_int_equal(arena.fake.trials, 3);
    assert_int_equal(arena.fake.first, 15 * SIDE);
    assert_int_equal(arena.fake.seen[14 * SIDE + 13] + arena.fake.seen[12 * SIDE + 1], 2);
    close_bench(&arena.bench);
}

/* The winner of a near problem is not valid for this one.  It is adapted, and comes as early. */
static void test_near_winners_are_adapted(void **state)
{
    struct search *s = *state;
    struct arena arena;
    struct gt_table_row rows[2];
    int of_14 = 0;

    open_arena(&arena, s, "grid", "P=15,Q=0");
    gt_kernel_free(arena.bench.kernel[0]);
    arena.bench.kernel[0] = modelled_kernel(
        s, "grid",
        "\"constraints\": [{\"if\": \"128 * Q <= K\", \"why\": \"as many slices as k has\"}], ");
    arena.list[0] = arena.bench.kernel[0];
    arena.bench.options.budget.trials = 2;
    for (int i = 0; i < 2; i++) {
        rows[i] = arena.row;
        rows[i].signature = arena.list[0]->signature;
        rows[i].problem.m = 1024 << i;
    }
    rows[1].point = "P=14,Q=13"; /* 13 slices of 2048, here k is 1024 */
    arena.shipped = (struct gt_table){.row = rows, .rows = 2};
    OK(&s->err, run(&arena.bench, &arena.fake));
    assert_int_equal(arena.fake.first, 15 * SIDE);
    for (int q = 0; q < SIDE; q++)
        of_14 += arena.fake.seen[14 * SIDE + q];
    assert_int_equal(of_14, 1);
    close_bench(&arena.bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(test_it_is_the_first_candidate),
        WITH_FOLDER(test_it_is_compiled_before_its_space_is_known),
        WITH_FOLDER(test_a_kernel_that_is_not_searched),
        WITH_FOLDER(test_a_kernel_that_is_not_searched_is_beaten),
        WITH_FOLDER(test_a_kernel_that_is_not_searched_or_the_others_fail),
        WITH_FOLDER(test_what_was_slow_beside_others_is_tried_again),
        WITH_FOLDER(test_the_finals_decide),
        WITH_FOLDER(test_a_better_one_replaces_it),
        WITH_FOLDER(test_the_clock_waits_for_it),
        WITH_FOLDER(test_one_that_fails),
        WITH_FOLDER(test_it_stays_if_nothing_is_faster),
        WITH_FOLDER(test_it_stays_if_it_ties),
        WITH_FOLDER(test_it_stays_if_it_wins_on_a_hot_device),
        WITH_FOLDER(test_it_is_third_if_it_loses_to_two),
        WITH_FOLDER(test_it_stays_if_few_rounds_show_little),
        WITH_FOLDER(test_near_winners_follow),
        WITH_FOLDER(test_near_winners_are_adapted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
