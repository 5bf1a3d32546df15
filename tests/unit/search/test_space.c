/* test_space.c - enumeration against brute force, look-up, neighbours, lists, errors. */
#include "search_fixture.h"

#include "base/clock.h"

#include "search/space.h"
#include "base/stats.h"

/* Constraints over early and late parameters, a guarded exact division, an unconstrained one. */
/* clang-format would take these literals apart, two letters a line. */
/* clang-format off */
static const char tangled[] =
    "\"params\": ["
    PARAM("BM", 64, "16, 24, 32, 64, 96, 128") ","
    PARAM("FREE", 1, "0, 1, 2") ","
    PARAM("TM", 4, "1, 2, 3, 4, 8") ","
    PARAM("BN", 64, "16, 32, 64") ","
    PARAM("TN", 4, "0, 1, 2, 4, 6") ","
    PARAM("STAGES", 2, "1, 2, 3") "],"
    "\"derive\": [{\"name\": \"ROWS\", \"value\": \"xdiv(BM, TM)\"},"
    "{\"name\": \"COLUMNS\", \"value\": \"BN / TN\"},"
    "{\"name\": \"THREADS\", \"value\": \"ROWS * COLUMNS\"}],"
    "\"constraints\": ["
    "{\"if\": \"BM % TM == 0\", \"why\": \"whole rows\"},"
    "{\"if\": \"TN > 0\", \"why\": \"a thread owns columns\"},"
    "{\"if\": \"BN % TN == 0\", \"why\": \"whole columns\"},"
    "{\"if\": \"THREADS % 32 == 0 && THREADS <= 512\", \"why\": \"whole warps\"},"
    "{\"if\": \"STAGES * 4 * 16 * (BM + BN) <= 20000\", \"why\": \"fits\"},"
    "{\"if\": \"M >= 512\", \"why\": \"not for small ones\"}]," LAUNCH;
/* clang-format on */
#define TANGLED_WORDS "+ BM + FREE + TM + BN + TN + STAGES"

static bool next_point(const struct gt_kernel *kernel, size_t index[GT_MAX_PARAMS])
{
    for (size_t p = kernel->params; p-- > 0;) {
        if (++index[p] < kernel->param[p].count)
            return true;
        index[p] = 0;
    }
    return false;
}

/* Every point of the cross product is in the space exactly if it is valid. */
static void test_brute_force(void **state)
{
    struct search *s = *state;
    struct gt_kernel *kernel = search_kernel(s, "tangled", TANGLED_WORDS, tangled);
    struct gt_candidate candidate = {kernel, &s->problem, &s->device, {{0}}};
    size_t index[GT_MAX_PARAMS] = {0}, valid = 0;
    struct gt_space space;

    OK(&s->err, gt_space_init(&space, kernel, &s->problem, &s->device, 0, &s->err));
    assert_true(space.cross_product == 6.0 * 3 * 5 * 3 * 5 * 3);
    do {
        size_t found;
        int failed;

        for (size_t p = 0; p < kernel->params; p++)
            candidate.point.value[p] = kernel->param[p].value[index[p]];
        OK(&s->err, gt_candidate_valid(&candidate, &failed, &s->err));
        found = gt_space_find(&space, &candidate.point);
        assert_int_equal(found != SIZE_MAX, failed < 0);
        if (found != SIZE_MAX) {
            struct gt_point point;

            gt_space_point(&space, found, &point);
            assert_memory_equal(&point, &candidate.point, sizeof(point));
            valid++;
        }
    } while (next_point(kernel, index));
    assert_true(valid > 100);
    assert_int_equal(space.count, valid);
    assert_true(space.valid == (double)valid);
    gt_space_release(&space);
    gt_space_release(&space);
    gt_kernel_free(kernel);
}

static void test_the_order_is_stable(void **state)
{
    struct search *s = *state;
    struct gt_kernel *kernel = search_kernel(s, "tangled", TANGLED_WORDS, tangled);
    size_t limits[] = {0, 100};

    for (size_t i = 0; i < 2; i++) {
        struct gt_space one, two;

        OK(&s->err, gt_space_init(&one, kernel, &s->problem, &s->device, limits[i], &s->err));
        OK(&s->err, gt_space_init(&two, kernel, &s->problem, &s->device, limits[i], &s->err));
        assert_int_equal(one.count, two.count);
        assert_memory_equal(one.index, two.index, one.count * kernel->params);
        gt_space_release(&one);
        gt_space_release(&two);
    }
    gt_kernel_free(kernel);
}

static void test_neighbours(void **state)
{
    struct search *s = *state;
    struct gt_kernel *kernel =
        search_kernel(s, "grid", "+ P + Q",
                      "\"params\": [" PARAM("P", 1, "1, 2, 3, 4") "," PARAM(
                          "Q", 1, "1, 2, 3, 4") "], \"constraints\": [{\"if\": \"!(P == 2 "
                                                "&& Q == 2)\", \"why\": \"a hole\"}], " LAUNCH);
    struct gt_space space;
    struct gt_point point = {{2, 3}};
    size_t list[16], count;

    OK(&s->err, gt_space_init(&space, kernel, &s->problem, &s->device, 0, &s->err));
    assert_int_equal(space.count, 15);
    count = gt_space_neighbours(&space, gt_space_find(&space, &point), list, 16);
    assert_int_equal(count, 5); /* not the hole (2,2) */
    for (size_t i = 0; i < count; i++) {
        struct gt_point other;

        gt_space_point(&space, list[i], &other);
        assert_int_equal((other.value[0] != 2) + (other.value[1] != 3), 1);
    }
    assert_int_equal(gt_space_neighbours(&space, 0, list, 2), 6); /* told, not written */
    point = (struct gt_point){{2, 2}};
    assert_true(gt_space_find(&space, &point) == SIZE_MAX);
    point = (struct gt_point){{2, 7}};
    assert_true(gt_space_find(&space, &point) == SIZE_MAX);
    gt_space_release(&space);
    gt_kernel_free(kernel);
}

/* The constraint that nothing gets past is quoted with its reason. */
static void test_nothing_is_valid(void **state)
{
    struct search *s = *state;
    struct gt_kernel *kernel = search_kernel(s, "tangled", TANGLED_WORDS, tangled);
    struct gt_space space;

    gt_problem_init(&s->problem, 64, 64, 64);
    assert_int_equal(gt_space_init(&space, kernel, &s->problem, &s->device, 0, &s->err), GT_ERANGE);
    assert_non_null(strstr(s->err.msg, "M >= 512"));
    assert_non_null(strstr(s->err.msg, "not for small ones"));
    assert_non_null(strstr(s->err.msg, "64x64x64"));
    gt_kernel_free(kernel);
}

/* A description whose division fails where no constraint forbids it is at fault. */
static void test_a_failing_expression(void **state)
{
    struct search *s = *state;
    struct gt_kernel *kernel =
        search_kernel(s, "fails", "+ P + Q",
                      "\"params\": [" PARAM("P", 1, "0, 1, 2") "," PARAM(
                          "Q", 1, "1, 2") "], \"derive\": [{\"name\": \"PARTS\", \"value\": "
                                          "\"64 / P\"}], \"constraints\": [{\"if\": \"PARTS > Q\", "
                                          "\"why\": \"-\"}], " LAUNCH);
    struct gt_space space;

    assert_int_not_equal(gt_space_init(&space, kernel, &s->problem, &s->device, 0, &s->err), GT_OK);
    assert_non_null(strstr(s->err.msg, "64 / P"));
    gt_kernel_free(kernel);
}

static void test_no_parameters(void **state)
{
    struct search *s = *state;
    struct gt_kernel *kernel = search_kernel(s, "fixed", "", "\"params\": [], " LAUNCH);
    struct gt_space space;
    struct gt_point point;
    size_t list[1];

    OK(&s->err, gt_space_init(&space, kernel, &s->problem, &s->device, 0, &s->err));
    assert_int_equal(space.count, 1);
    gt_space_point(&space, 0, &point);
    assert_int_equal(gt_space_find(&space, &point), 0);
    assert_int_equal(gt_space_neighbours(&space, 0, list, 1), 0);
    gt_space_release(&space);
    gt_kernel_free(kernel);
}

/* Points drawn from the cross product are in the space exactly if they are valid. */
static void check_drawn(struct search *s, const struct gt_space *space)
{
    const struct gt_kernel *kernel = space->kernel;
    struct gt_candidate candidate = {kernel, space->problem, space->device, {{0}}};
    struct gt_random random = {1};

    for (int i = 0; i < 5000; i++) {
        size_t base = gt_random_below(&random, space->count);
        int failed;

        gt_space_point(space, base, &candidate.point); /* near valid ones, where it is decided */
        for (int changes = 0; changes < 2 && kernel->params; changes++) {
            size_t p = gt_random_below(&random, kernel->params);

            candidate.point.value[p] =
                kernel->param[p].value[gt_random_below(&random, kernel->param[p].count)];
        }
        OK(&s->err, gt_candidate_valid(&candidate, &failed, &s->err));
        assert_int_equal(failed < 0, gt_space_find(space, &candidate.point) != SIZE_MAX);
    }
}

/* The kernels of the repository: whatever is enumerated is valid and can be launched. */
static void test_shipped_kernels(void **state)
{
    static const struct {
        int cc;
        const char *problem;
    } use[] = {{90, "4096x4096x4096:f32:nn"}, {75, "33x70x100:f32:tt"}};
    struct search *s = *state;
    struct gt_kernels kernels;

    OK(&s->err, gt_kernels_load(&kernels, ".", NULL, NULL, &s->err));
    for (size_t u = 0; u < sizeof(use) / sizeof(use[0]); u++) {
        OK(&s->err, gt_device_profile(&s->device, ".", use[u].cc, &s->err));
        OK(&s->err, gt_problem_parse(&s->problem, use[u].problem, &s->err));
        for (size_t k = 0; k < kernels.count; k++) {
            struct gt_candidate candidate = {kernels.kernel[k], &s->problem, &s->device, {{0}}};
            struct gt_space space;

            if (!gt_kernel_serves(candidate.kernel, &s->problem, &s->device))
                continue;
            OK(&s->err,
               gt_space_init(&space, candidate.kernel, &s->problem, &s->device, 0, &s->err));
            print_message("%s, %s, sm_%d: %.0f points of %.3g\n", candidate.kernel->name,
                          use[u].problem, use[u].cc, space.valid, space.cross_product);
            for (size_t i = 0; i < space.count; i += space.count / 1000 + 1) {
                struct gt_geometry geometry;
                int failed;

                gt_space_point(&space, i, &candidate.point);
                OK(&s->err, gt_candidate_valid(&candidate, &failed, &s->err));
                assert_int_equal(failed, -1);
                OK(&s->err, gt_candidate_geometry(&candidate, &geometry, &s->err));
            }
            if ((double)space.count == space.valid)
                check_drawn(s, &space);
            gt_space_release(&space);
        }
    }
    gt_kernels_release(&kernels);
}

/* A list of points is a space if each is there once. */
static void test_a_list(void **state)
{
    struct search *s = *state;
    struct gt_kernel *kernel =
        search_kernel(s, "listed", "+ P + Q",
                      "\"params\": [" PARAM("P", 1, "1, 2") "," PARAM("Q", 3, "3, 5") "], " LAUNCH);
    const uint8_t index[] = {0, 1, 1, 0, 0, 1};
    struct gt_space space;
    struct gt_point point = {{2, 3}};

    OK(&s->err, gt_space_list(&space, kernel, NULL, NULL, index, 2, &s->err));
    assert_int_equal(space.count, 2);
    assert_true(space.cross_product == 4 && space.valid == 2);
    assert_int_equal(gt_space_find(&space, &point), 1);
    gt_space_release(&space);
    assert_int_equal(gt_space_list(&space, kernel, NULL, NULL, index, 3, &s->err), GT_ECONFIG);
    assert_string_equal(s->err.msg, "point P=1,Q=5 is there twice");
    assert_int_equal(gt_space_list(&space, kernel, NULL, NULL, index, 0, &s->err), GT_ERANGE);
    gt_kernel_free(kernel);
}

#define ONE_TO_64                                                                      \
    "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, "          \
    "21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, " \
    "41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, " \
    "61, 62, 63, 64"

/* A listing of many prefixes ends at a signal, of which it is told by a count; nothing is left
 * of it. */
static void test_a_signal(void **state)
{
    struct search *s = *state;
    struct gt_kernel *kernel = search_kernel(
        s, "wide", "+ A + B + C",
        "\"params\": [" PARAM("A", 1, ONE_TO_64) "," PARAM("B", 1, ONE_TO_64) "," PARAM(
            "C", 1, ONE_TO_64) "], \"constraints\": [{\"if\": \"A + B + C > 0\", \"why\": "
                               "\"always\"}], " LAUNCH);
    volatile sig_atomic_t signals = 0;
    struct gt_space space;

    OK(&s->err,
       gt_space_init_until(&space, kernel, &s->problem, &s->device, 0, 0, &signals, &s->err));
    assert_int_equal(space.count, 64 * 64 * 64);
    gt_space_release(&space);
    signals = 1;
    assert_int_equal(
        gt_space_init_until(&space, kernel, &s->problem, &s->device, 0, 0, &signals, &s->err),
        GT_EINTERRUPTED);
    assert_null(space.index);
    gt_kernel_free(kernel);
}

#define WIDE(name) PARAM(name, 1, ONE_TO_64)

/* A space of 2^36 points that one constraint ties together ends after its seconds, with points. */
static void test_a_limit_of_time(void **state)
{
    struct search *s = *state;
    struct gt_kernel *kernel = search_kernel(
        s, "tied", "+ A + B + C + D + E + F",
        "\"params\": [" WIDE("A") "," WIDE("B") "," WIDE("C") "," WIDE("D") "," WIDE("E") "," WIDE(
            "F") "], \"constraints\": [{\"if\": \"(A + 3 * B + 5 * C + 7 * D + 11 * E + 13 * F)"
                 " % 97 == 5\", \"why\": \"tied\"}], " LAUNCH);
    struct gt_space space;
    const double begin = gt_clock_thread_s();

    OK(&s->err,
       gt_space_init_until(&space, kernel, &s->problem, &s->device, 0, 0.2, NULL, &s->err));
    assert_true(gt_clock_thread_s() - begin < 2);
    assert_true(space.count > 0 && space.estimated && space.valid > (double)space.count);
    gt_space_release(&space);
    gt_kernel_free(kernel);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, search_setup, search_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(test_brute_force),          WITH_FOLDER(test_the_order_is_stable),
        WITH_FOLDER(test_neighbours),           WITH_FOLDER(test_nothing_is_valid),
        WITH_FOLDER(test_a_failing_expression), WITH_FOLDER(test_a_list),
        WITH_FOLDER(test_no_parameters),        WITH_FOLDER(test_a_signal),
        WITH_FOLDER(test_shipped_kernels),      WITH_FOLDER(test_a_limit_of_time),
    };

    return cmocka_run_group_tests_name("space", tests, NULL, NULL);
}
