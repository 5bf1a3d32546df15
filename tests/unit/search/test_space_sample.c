/* test_space_sample.c - spaces that are too large to be listed, or of which few points are wanted:
 * the sample is even, and the number of valid points is estimated. */
#include "search_fixture.h"

#include "search/space.h"

#define SIXTEEN "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15"

/* 16 x 16 x 16 points, all valid, of which 512 are kept: no value of any parameter is favoured. */
static void test_the_sample_is_even(void **state)
{
    struct search *s = *state;
    int count[3][16] = {{0}};
    struct gt_kernel *kernel = search_kernel(
        s, "even", "+ P + Q + R",
        "\"params\": [" PARAM("P", 1, SIXTEEN) "," PARAM("Q", 1, SIXTEEN) "," PARAM(
            "R", 1, SIXTEEN) "], \"constraints\": [{\"if\": \"P >= 0\", \"why\": \"-\"}], " LAUNCH);
    struct gt_space space;

    OK(&s->err, gt_space_init(&space, kernel, &s->problem, &s->device, 512, &s->err));
    assert_int_equal(space.count, 512);
    assert_true(space.valid == 4096);
    for (size_t i = 0; i < space.count; i++) {
        struct gt_point point;

        gt_space_point(&space, i, &point);
        assert_int_equal(gt_space_find(&space, &point), i); /* none is kept twice */
        for (int p = 0; p < 3; p++)
            count[p][point.value[p]]++;
    }
    for (int p = 0; p < 3; p++)
        for (int v = 0; v < 16; v++)
            assert_in_range(count[p][v], 12, 56); /* 32 expected, sigma 5.1 */
    gt_space_release(&space);
    gt_kernel_free(kernel);
}

#define PAIR(a, b) "{\"if\": \"(" a " + " b ") % 2 == 0\", \"why\": \"-\"}"

/* 16^8 points, of which one in 16 is valid: too many to visit, so that a part is, and the number is
 * estimated from it. */
static void test_a_large_space(void **state)
{
    struct search *s = *state;
    /* clang-format off */
    struct gt_kernel *kernel = search_kernel(
        s, "large", "+ P + Q + R + S + T + U + V + W",
        "\"params\": [" PARAM("P", 1, SIXTEEN) "," PARAM("Q", 1, SIXTEEN) ","
        PARAM("R", 1, SIXTEEN) "," PARAM("S", 1, SIXTEEN) "," PARAM("T", 1, SIXTEEN) ","
        PARAM("U", 1, SIXTEEN) "," PARAM("V", 1, SIXTEEN) "," PARAM("W", 1, SIXTEEN) "], "
        "\"constraints\": [" PAIR("P", "Q") "," PAIR("R", "S") "," PAIR("T", "U") ","
        PAIR("V", "W") "], " LAUNCH);
    /* clang-format on */
    struct gt_space space;

    OK(&s->err, gt_space_init(&space, kernel, &s->problem, &s->device, 100000, &s->err));
    assert_true(space.estimated);
    assert_int_equal(space.count, 100000);
    print_message("%.4g points\n", space.valid);
    assert_true(space.valid > 0.9 * 0x1p28 && space.valid < 1.1 * 0x1p28);
    for (int p = 0; p < 8; p++) {
        int count[16] = {0};

        for (size_t i = 0; i < space.count; i++)
            count[space.index[i * 8 + (size_t)p]]++;
        for (int v = 0; v < 16; v++)
            assert_in_range(count[v], 5000, 7500); /* 6250 expected */
    }
    gt_space_release(&space);
    gt_kernel_free(kernel);
}

/* Of no parameter, which have 16 values each, one is favoured. */
static void assert_even(const struct gt_space *space)
{
    const size_t params = space->kernel->params;
    const double expected = (double)space->count / 16;

    for (size_t p = 0; p < params; p++) {
        int count[16] = {0};

        for (size_t i = 0; i < space->count; i++)
            count[space->index[i * params + p]]++;
        for (int v = 0; v < 16; v++)
            assert_in_range(count[v], (int)(0.8 * expected), (int)(1.2 * expected));
    }
}

/* The same with two parameters that no constraint reads, and so many points wanted that shares are
 * walked first: each prefix gives 256 points, of which a part of the space shows few. */
static void test_many_points_of_a_large_space(void **state)
{
    struct search *s = *state;
    /* clang-format off */
    struct gt_kernel *kernel = search_kernel(
        s, "many", "+ P + Q + R + S + T + U + V + W + X + Y",
        "\"params\": [" PARAM("P", 1, SIXTEEN) "," PARAM("Q", 1, SIXTEEN) ","
        PARAM("R", 1, SIXTEEN) "," PARAM("S", 1, SIXTEEN) "," PARAM("T", 1, SIXTEEN) ","
        PARAM("U", 1, SIXTEEN) "," PARAM("V", 1, SIXTEEN) "," PARAM("W", 1, SIXTEEN) ","
        PARAM("X", 1, SIXTEEN) "," PARAM("Y", 1, SIXTEEN) "], "
        "\"constraints\": [" PAIR("P", "Q") "," PAIR("R", "S") "," PAIR("T", "U") ","
        PAIR("V", "W") "], " LAUNCH);
    /* clang-format on */
    struct gt_space space;

    OK(&s->err, gt_space_init(&space, kernel, &s->problem, &s->device, 600000, &s->err));
    assert_true(space.estimated);
    assert_int_equal(space.count, 600000);
    print_message("%.4g points\n", space.valid);
    assert_true(space.valid > 0.9 * 0x1p36 && space.valid < 1.1 * 0x1p36);
    assert_even(&space);
    for (size_t i = 0; i < space.count; i += 100) /* none is kept twice */
        assert_int_equal(gt_space_find_index(&space, space.index + i * kernel->params), i);
    gt_space_release(&space);
    gt_kernel_free(kernel);
}

/* 2048 prefixes of 16^5 points each: the short walk ends among those of the first, which says
 * nothing of the way to go, and all are walked. */
static void test_few_prefixes_of_many_points(void **state)
{
    struct search *s = *state;
    /* clang-format off */
    struct gt_kernel *kernel = search_kernel(
        s, "few", "+ P + Q + R + S + T + U + V + W",
        "\"params\": [" PARAM("P", 1, SIXTEEN) "," PARAM("Q", 1, SIXTEEN) ","
        PARAM("R", 1, SIXTEEN) "," PARAM("S", 1, SIXTEEN) "," PARAM("T", 1, SIXTEEN) ","
        PARAM("U", 1, SIXTEEN) "," PARAM("V", 1, SIXTEEN) "," PARAM("W", 1, SIXTEEN) "], "
        "\"constraints\": [" PAIR("P", "Q") "," PAIR("Q", "R") "], " LAUNCH);
    /* clang-format on */
    struct gt_space space;

    OK(&s->err, gt_space_init(&space, kernel, &s->problem, &s->device, 600000, &s->err));
    assert_true(!space.estimated && space.valid == 0x1p30);
    assert_int_equal(space.count, 600000);
    assert_even(&space);
    gt_space_release(&space);
    gt_kernel_free(kernel);
}

/* All valid points lie behind the first of 4096 prefixes, so that a walk that is given up among
 * them seems to have come no way at all.  It must not end with a handful of points for that. */
static void test_points_behind_one_prefix(void **state)
{
    struct search *s = *state;
    /* clang-format off */
    struct gt_kernel *kernel = search_kernel(
        s, "corner", "+ P + Q + R + S + T + U + V + W",
        "\"params\": [" PARAM("P", 0, SIXTEEN) "," PARAM("Q", 0, SIXTEEN) ","
        PARAM("R", 0, SIXTEEN) "," PARAM("S", 1, SIXTEEN) "," PARAM("T", 1, SIXTEEN) ","
        PARAM("U", 1, SIXTEEN) "," PARAM("V", 1, SIXTEEN) "," PARAM("W", 1, SIXTEEN) "], "
        "\"constraints\": [{\"if\": \"P == 0\", \"why\": \"-\"},"
        "{\"if\": \"Q == 0\", \"why\": \"-\"}, {\"if\": \"R == 0\", \"why\": \"-\"},"
        PAIR("S", "T") "," PAIR("U", "V") ", {\"if\": \"W >= 0\", \"why\": \"-\"}], " LAUNCH);
    /* clang-format on */
    struct gt_space space;

    OK(&s->err, gt_space_init(&space, kernel, &s->problem, &s->device, 1000, &s->err));
    assert_true(space.estimated);
    assert_int_equal(space.count, 1000);
    assert_true(space.valid > 0.8 * 0x1p18 && space.valid < 1.25 * 0x1p18);
    gt_space_release(&space);
    gt_kernel_free(kernel);
}

/* One point of 16^5 is valid, and few are wanted: a walk of a part finds none, and all are walked.
 */
static void test_a_rare_point(void **state)
{
    struct search *s = *state;
    /* clang-format off */
    struct gt_kernel *kernel = search_kernel(
        s, "rare", "+ P + Q + R + S + T",
        "\"params\": [" PARAM("P", 1, SIXTEEN) "," PARAM("Q", 1, SIXTEEN) ","
        PARAM("R", 1, SIXTEEN) "," PARAM("S", 1, SIXTEEN) "," PARAM("T", 1, SIXTEEN) "], "
        "\"constraints\": [{\"if\": \"P + Q + R + S + T == 75\", \"why\": \"-\"}], " LAUNCH);
    /* clang-format on */
    struct gt_space space;

    OK(&s->err, gt_space_init(&space, kernel, &s->problem, &s->device, 16, &s->err));
    assert_int_equal(space.count, 1);
    assert_true(!space.estimated && space.valid == 1);
    gt_space_release(&space);
    gt_kernel_free(kernel);
}

/* The largest kernel without its bets: a sample of valid points, in seconds. */
static void test_without_bets(void **state)
{
    struct search *s = *state;
    struct gt_kernels kernels;
    struct gt_space space;
    int failed;

    OK(&s->err, gt_kernels_load(&kernels, ".", NULL, NULL, &s->err));
    OK(&s->err, gt_device_profile(&s->device, ".", 90, &s->err));
    OK(&s->err, gt_problem_parse(&s->problem, "4096x4096x4096:f32:nn", &s->err));
    struct gt_kernel *kernel = gt_kernels_find(&kernels, "simt", &s->err);
    struct gt_candidate candidate = {kernel, &s->problem, &s->device, {{0}}};

    gt_kernel_drop_bets(kernel);
    OK(&s->err, gt_space_init(&space, kernel, &s->problem, &s->device, 100000, &s->err));
    assert_true(space.estimated && space.valid > 1e11 && space.valid < 1e13);
    assert_int_equal(space.count, 100000);
    for (size_t i = 0; i < space.count; i += 100) {
        gt_space_point(&space, i, &candidate.point);
        OK(&s->err, gt_candidate_valid(&candidate, &failed, &s->err));
        assert_int_equal(failed, -1);
    }
    gt_space_release(&space);
    gt_kernels_release(&kernels);
}

/* Whatever is asked for, a part is found that can be walked: one that takes too many visits is
 * followed by the one before, in which each walk sees the same prefixes. */
static void test_a_part_that_is_too_large(void **state)
{
    struct search *s = *state;
    struct gt_kernels kernels;
    struct gt_space space;
    struct gt_kernel *kernel;

    OK(&s->err, gt_kernels_load(&kernels, ".", NULL, NULL, &s->err));
    OK(&s->err, gt_device_profile(&s->device, ".", 90, &s->err));
    kernel = gt_kernels_find(&kernels, "simt", &s->err);
    for (int layout = 0; layout < 4; layout++)
        for (size_t limit = 500; limit <= 16000; limit *= 2) {
            gt_problem_init(&s->problem, 64, 256, 512);
            s->problem.trans_a = layout / 2 == 1;
            s->problem.trans_b = layout % 2 == 1;
            gt_problem_pack(&s->problem);
            OK(&s->err, gt_space_init(&space, kernel, &s->problem, &s->device, limit, &s->err));
            assert_in_range(space.count, 1, limit);
            assert_true(space.estimated || space.count == limit ||
                        (double)space.count == space.valid);
            gt_space_release(&space);
        }
    gt_kernels_release(&kernels);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, search_setup, search_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(test_the_sample_is_even),
        WITH_FOLDER(test_a_large_space),
        WITH_FOLDER(test_many_points_of_a_large_space),
        WITH_FOLDER(test_few_prefixes_of_many_points),
        WITH_FOLDER(test_points_behind_one_prefix),
        WITH_FOLDER(test_a_rare_point),
        WITH_FOLDER(test_without_bets),
        WITH_FOLDER(test_a_part_that_is_too_large),
    };

    return cmocka_run_group_tests_name("space sample", tests, NULL, NULL);
}
