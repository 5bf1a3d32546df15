/* test_experts.c - which of several models to trust: the one that was right of late. */
#include "search_fixture.h"

#include "search/auto/experts.h"

#define MOST 5.0 /* logarithm beyond which it does not matter how slow */

/* Tells `count` points: the models are off by so much, one up, one down; what is told varies by 1.
 */
static void tell(struct gt_experts *experts, int count, double gauss, double trees)
{
    for (int i = 0; i < count; i++) {
        double y = i % 2, sign = i % 4 < 2 ? 1 : -1;

        gt_experts_note(experts, (size_t)i, y + sign * gauss, y - sign * trees);
        gt_experts_tell(experts, (size_t)i, y, MOST);
    }
}

static void test_nothing_is_learned_unasked(void **state)
{
    struct gt_experts experts, before;

    (void)state;
    gt_experts_init(&experts);
    before = experts;
    gt_experts_tell(&experts, 3, 1, MOST); /* nobody expected anything of it */
    assert_memory_equal(experts.share, before.share, sizeof(before.share));
}

static void test_trust_follows_what_holds(void **state)
{
    struct gt_experts experts;

    (void)state;
    gt_experts_init(&experts);
    tell(&experts, 40, 0.01, 0.1);
    assert_true(experts.share[GT_EXPERT_GAUSS] > 0.85);
    assert_true(experts.share[GT_EXPERT_TREES] > 0.01); /* never without a chance */
    tell(&experts, 100, 0.5, 0.02);                     /* things have changed */
    assert_true(experts.share[GT_EXPERT_TREES] > 0.85);
    tell(&experts, 100, 3, 4); /* worse than what is usual */
    assert_true(experts.share[GT_EXPERT_NOBODY] > 0.85);
    tell(&experts, 300, 0.2, 0.2);
    assert_true(experts.share[GT_EXPERT_NOBODY] < 0.1);
    assert_true(experts.share[GT_EXPERT_TREES] > 0.25);
    assert_true(experts.share[GT_EXPERT_GAUSS] > experts.share[GT_EXPERT_TREES]);
}

/* How far beyond the limit something is, or was expected, is nobody's fault. */
static void test_too_slow_is_too_slow(void **state)
{
    struct gt_experts experts;

    (void)state;
    gt_experts_init(&experts);
    gt_experts_note(&experts, 1, MOST + 3, MOST - 1);
    gt_experts_tell(&experts, 1, MOST + 9, MOST);
    assert_true(experts.error[GT_EXPERT_GAUSS] == 0);
    assert_true(experts.error[GT_EXPERT_TREES] == 1);
}

/* Points that are never told push each other out; those left are judged still. */
static void test_too_many_in_flight(void **state)
{
    struct gt_experts experts;

    (void)state;
    gt_experts_init(&experts);
    for (size_t i = 0; i < GT_EXPERTS_FLYING + 5; i++)
        gt_experts_note(&experts, i, 0, 1);
    gt_experts_tell(&experts, 2, 0, MOST);
    assert_true(experts.judged == 0);
    gt_experts_tell(&experts, 7, 0, MOST);
    assert_true(experts.judged == 1);
}

static void test_passes_are_as_many_as_nobodys_share(void **state)
{
    struct gt_experts experts;
    int passes = 0;

    (void)state;
    gt_experts_init(&experts);
    experts.share[GT_EXPERT_NOBODY] = 0.25;
    for (int i = 0; i < 100; i++)
        passes += gt_experts_pass(&experts);
    assert_int_equal(passes, 25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_learned_unasked),
        cmocka_unit_test(test_trust_follows_what_holds),
        cmocka_unit_test(test_too_slow_is_too_slow),
        cmocka_unit_test(test_too_many_in_flight),
        cmocka_unit_test(test_passes_are_as_many_as_nobodys_share),
    };

    return cmocka_run_group_tests_name("experts", tests, NULL, NULL);
}
