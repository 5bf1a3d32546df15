/* test_space_sample.c - spaces that are too large to be listed, or of which few points are wanted:
 * the sample is even, and the number of valid points is estimated. */
#include "search_fixture.h"

#include "search/space.h"
#include "whole.h"

#include <math.h>
#include <string.h>

#define SIXTEEN       "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15"
#define CONDITION(is) "{\"if\": \"" is "\", \"why\": \"-\"}"
#define EQUAL(a, b)   CONDITION("P" #a " == P" #b)
#define PAIR(a, b)    CONDITION("(P" #a " + P" #b ") % 2 == 0")

/* A kernel with parameters P0, P1... of 16 values each. */
static struct gt_kernel *sixteens(struct search *s, const char *name, int params,
                                  const char *constraints)
{
    char words[256] = "", rest[8192] = "\"params\": [";
    size_t used = 0, written = strlen(rest);

    for (int p = 0; p < params; p++) {
        used += (size_t)snprintf(words + used, sizeof(words) - used, "+ P%d ", p);
        written += (size_t)snprintf(rest + written, sizeof(rest) - written,
                                    "%s{\"name\": \"P%d\", \"values\": [" SIXTEEN
                                    "], \"default\": 0, \"kind\": \"compile\", \"doc\": \"-\"}",
                                    p ? ", " : "", p);
    }
    snprintf(rest + written, sizeof(rest) - written, "], \"constraints\": [%s], " LAUNCH,
             constraints);
    return search_kernel(s, name, words, rest);
}

/* No value is favoured: each of a parameter's 16 is in a 16th of the points, give or take a fifth
 * of that, or 3.5 standard deviations where points are few. */
static void assert_even(const struct gt_space *space)
{
    const size_t params = space->kernel->params;
    const double expected = (double)space->count / 16;
    const double error = fmax(0.2 * expected, 3.5 * sqrt(expected));

    for (size_t p = 0; p < params; p++) {
        int count[16] = {0};

        for (size_t i = 0; i < space->count; i++)
            count[space->index[i * params + p]]++;
        for (int v = 0; v < 16; v++)
            assert_true(fabs(count[v] - expected) < error);
    }
}

/* None is kept twice. */
static void assert_distinct(const struct gt_space *space)
{
    for (size_t i = 0; i < space->count; i += 1 + space->count / 5000)
        assert_int_equal(gt_space_find_index(space, space->index + i * space->kernel->params), i);
}

/* A space, and what it should be. */
struct wanted {
    const char *name;
    int params;
    const char *constraints;
    size_t limit;
    double valid; /* points */
    double error; /* of their number, relative; 0: all are counted */
    bool even;    /* whether the constraints favour no value */
};

static void test_samples(void **state)
{
    /* clang-format off */
    static const struct wanted all[] = {
        {"even", 3, CONDITION("P0 >= 0 && P1 >= 0 && P2 >= 0"), 512, 4096, 0, true},
        /* one in 16 is valid, too many to visit: a part is, and the number is estimated from it */
        {"large", 8, PAIR(0, 1) "," PAIR(2, 3) "," PAIR(4, 5) "," PAIR(6, 7),
         100000, 0x1p28, 0.1, true},
        /* with two parameters that no constraint reads, and so many points wanted that shares are
         * walked first: each prefix gives 256 points, of which a part of the space shows few */
        {"many", 10, PAIR(0, 1) "," PAIR(2, 3) "," PAIR(4, 5) "," PAIR(6, 7),
         600000, 0x1p36, 0.1, true},
        /* 16 prefixes of 16^6 points each, far apart: the short walk ends behind the first, which
         * says nothing of the way to the others, and all are walked */
        {"few", 16, EQUAL(0, 1) "," EQUAL(1, 2) "," EQUAL(2, 3) "," EQUAL(3, 4) "," EQUAL(4, 5) ","
         EQUAL(5, 6) "," EQUAL(6, 7) "," EQUAL(7, 8) "," EQUAL(8, 9), 600000, 0x1p28, 0, true},
        /* all valid points lie behind the first of 4096 prefixes, so that a walk that is given up
         * among them seems to have covered nothing: it must not end with a handful of points */
        {"corner", 8, CONDITION("P0 == 0") "," CONDITION("P1 == 0") "," CONDITION("P2 == 0") ","
         PAIR(3, 4) "," PAIR(5, 6) "," CONDITION("P7 >= 0"), 1000, 0x1p18, 0.2, false},
        /* one point is valid, and few are wanted: a walk of a part finds none, and all are walked */
        {"rare", 5, CONDITION("P0 + P1 + P2 + P3 + P4 == 75"), 16, 1, 0, false},
        /* the short walk covers so little of it that a part is walked at once */
        {"vast", 12, PAIR(0, 1) "," PAIR(2, 3) "," PAIR(4, 5) "," PAIR(6, 7) "," PAIR(8, 9) ","
         PAIR(10, 11), 600000, 0x1p42, 0.1, true},
    };
    /* clang-format on */
    struct search *s = *state;

    for (size_t i = 0; i < sizeof(all) / sizeof(*all) - (size_t)gt_whole(0, 1); i++) {
        const struct wanted *is = &all[i];
        struct gt_kernel *kernel = sixteens(s, is->name, is->params, is->constraints);
        struct gt_space space;

        OK(&s->err, gt_space_init(&space, kernel, &s->problem, &s->device, is->limit, &s->err));
        print_message("%s: %zu of %.4g points\n", is->name, space.count, space.valid);
        assert_int_equal(space.estimated, is->error > 0);
        assert_true(fabs(space.valid / is->valid - 1) <= is->error);
        assert_true((double)space.count == fmin((double)is->limit, is->valid));
        assert_distinct(&space);
        if (is->even)
            assert_even(&space);
        gt_space_release(&space);
        gt_kernel_free(kernel);
    }
}

/* The largest kernel without its bets: a sample of valid points, in seconds. */
static void test_without_bets(void **state)
{
    struct search *s = *state;
    struct gt_kernels kernels;
    const size_t wanted = (size_t)gt_whole(100000, 20000);
    struct gt_space space;
    int failed;

    OK(&s->err, gt_kernels_load(&kernels, ".", NULL, NULL, &s->err));
    OK(&s->err, gt_device_profile(&s->device, ".", 90, &s->err));
    OK(&s->err, gt_problem_parse(&s->problem, "4096x4096x4096:f32:nn", &s->err));
    struct gt_kernel *kernel = gt_kernels_find(&kernels, "simt", &s->err);
    struct gt_candidate candidate = {kernel, &s->problem, &s->device, {{0}}};

    gt_kernel_drop_bets(kernel);
    OK(&s->err, gt_space_init(&space, kernel, &s->problem, &s->device, wanted, &s->err));
    assert_true(space.estimated && space.valid > 1e11 && space.valid < 1e13);
    assert_int_equal(space.count, wanted);
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
        for (size_t limit = 500; limit <= 16000; limit *= (size_t)gt_whole(2, 8)) {
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
        WITH_FOLDER(test_samples),
        WITH_FOLDER(test_without_bets),
        WITH_FOLDER(test_a_part_that_is_too_large),
    };

    return cmocka_run_group_tests_name("space sample", tests, NULL, NULL);
}
