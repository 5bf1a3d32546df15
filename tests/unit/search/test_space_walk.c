/* test_space_walk.c - the walk through a space, which remembers what constraints say, against one
 * that evaluates each of them for every prefix: the same points, over the kernels
 * of the repository and over descriptions made to mislead a memory. */
#include "search_fixture.h"

#include "search/space_walk.h"
#include "whole.h"

/* ---- a walk without a memory ---- */

struct plain {
    const struct gt_walk_plan *plan;
    const struct gt_problem *problem;
    const struct gt_device *device;
    int64_t slots[GT_MAX_SLOTS];
    uint8_t index[GT_MAX_PARAMS];
    const struct gt_space *space; /* the points are compared as they are found */
    size_t found;
};

/* Does the steps of a level: -1 a constraint rejects the prefix, 0 none does, 1 an expression
 * failed. */
static int settle(struct plain *plain, size_t level)
{
    const struct gt_walk_plan *plan = plain->plan;
    const struct gt_kernel *kernel = plan->kernel;
    int failed = 0;

    for (size_t s = plan->first_step[level]; s < plan->first_step[level + 1]; s++) {
        const struct gt_walk_step *step = &plan->step[s];
        const struct gt_expr *expr = step->constraint ? kernel->constraint[step->index].expr
                                                      : kernel->derived[step->index].expr;
        int64_t value;

        if (gt_expr_eval(expr, plain->slots, &value, NULL))
            failed = 1;
        else if (!step->constraint)
            plain->slots[kernel->first_param + kernel->params + step->index] = value;
        else if (!value)
            return -1;
    }
    return failed;
}

static bool valid(const struct plain *plain)
{
    const struct gt_kernel *kernel = plain->plan->kernel;
    struct gt_candidate candidate = {kernel, plain->problem, plain->device, {{0}}};
    struct gt_err err = {0};
    int failed;

    for (size_t p = 0; p < kernel->params; p++)
        candidate.point.value[p] = kernel->param[p].value[plain->index[p]];
    OK(&err, gt_candidate_valid(&candidate, &failed, &err));
    return failed < 0;
}

/* Finds the points below a prefix.  What an expression that failed has left in its slot may be
 * wrong: from there on each point is judged by itself, and nothing is pruned. */
static void plain_walk(struct plain *plain, size_t level, bool failed)
{
    const struct gt_walk_plan *plan = plain->plan;
    const struct gt_kernel *kernel = plan->kernel;
    size_t p = plan->order[level];

    if (!failed && level <= plan->depth) {
        int answer = settle(plain, level);

        if (answer < 0)
            return;
        failed = answer > 0;
    }
    if (level == kernel->params) {
        if (failed && !valid(plain))
            return;
        assert_int_not_equal(gt_space_find_index(plain->space, plain->index), SIZE_MAX);
        plain->found++;
        return;
    }
    for (size_t i = 0; i < kernel->param[p].count; i++) {
        plain->index[p] = (uint8_t)i;
        plain->slots[kernel->first_param + p] = kernel->param[p].value[i];
        plain_walk(plain, level + 1, failed);
    }
}

/* Compares the space with a plain walk; returns how many points it has. */
static size_t compare(struct search *s, const struct gt_kernel *kernel)
{
    struct plain *plain = calloc(1, sizeof(*plain));
    struct gt_walk_plan plan = {.step = NULL};
    struct gt_space space = {0};
    struct gt_err err = {0};
    int rc = gt_space_init(&space, kernel, &s->problem, &s->device, 0, &err);
    size_t found;

    assert_non_null(plain);
    if (rc != GT_ERANGE)
        OK(&err, rc);
    plain->problem = &s->problem;
    plain->device = &s->device;
    plain->space = &space;
    plain->plan = &plan;
    gt_facts_fill(&s->problem, &s->device, plain->slots);
    OK(&s->err, gt_walk_plan_init(&plan, kernel, plain->slots, &s->err));
    if (space.valid == (double)space.count) { /* all were kept */
        plain_walk(plain, 0, false);
        assert_int_equal(plain->found, space.count);
    }
    found = plain->found;
    gt_walk_plan_release(&plan);
    gt_space_release(&space);
    free(plain);
    return found;
}

/* ---- tests ---- */

static void test_shipped_kernels(void **state)
{
    static const struct {
        int cc;
        const char *problem;
    } use[] = {{90, "4096x4096x4096:bf16:nn"}, {90, "1x4096x14336:f32:nn"},
               {90, "16x4096x4096:s8:nt"},     {90, "4092x4092x4092:f16:nt"},
               {86, "1000x1000x1000:f32:tn"},  {86, "4096x4096x4096:f32:nn:accuracy=f32"},
               {80, "64x64x65536:tf32:tt"},    {75, "33x70x100:f32:tt"}};
    struct search *s = *state;
    struct gt_kernels kernels;
    size_t compared = 0;

    OK(&s->err, gt_kernels_load(&kernels, ".", NULL, NULL, &s->err));
    for (size_t u = 0; u < sizeof(use) / sizeof(use[0]); u++) {
        OK(&s->err, gt_device_profile(&s->device, ".", use[u].cc, &s->err));
        OK(&s->err, gt_problem_parse(&s->problem, use[u].problem, &s->err));
        for (size_t k = 0; k < kernels.count; k++) {
            size_t points;

            if ((k + u) % (size_t)gt_whole(1, 3) != 0 ||
                !gt_kernel_serves(kernels.kernel[k], &s->problem, &s->device))
                continue;
            points = compare(s, kernels.kernel[k]);
            print_message("%s, %s, sm_%d: %zu points\n", kernels.kernel[k]->name, use[u].problem,
                          use[u].cc, points);
            compared += points > 0;
        }
    }
    assert_true(compared > (size_t)gt_whole(20, 7));
    gt_kernels_release(&kernels);
}

/* Divisions by zero and rests that a later constraint excludes, at a value that is bound early. */
static void test_doubts(void **state)
{
    struct search *s = *state;
    /* clang-format off */
    struct gt_kernel *kernel = search_kernel(
        s, "doubts", "+ P + Q + R + S",
        "\"params\": [" PARAM("P", 1, "0, 1, 2, 3") "," PARAM("Q", 1, "1, 2, 3, 4") ","
        PARAM("R", 1, "0, 1, 2, 5") "," PARAM("S", 1, "0, 1") "],"
        "\"derive\": [{\"name\": \"PARTS\", \"value\": \"12 / P\"},"
        "{\"name\": \"EXACT\", \"value\": \"xdiv(PARTS, Q)\"}],"
        "\"constraints\": [{\"if\": \"P + R > 1 && P > 0\", \"why\": \"-\"},"
        "{\"if\": \"P == 0 || 12 / P % Q == 0\", \"why\": \"-\"},"
        "{\"if\": \"EXACT >= S\", \"why\": \"-\"}], " LAUNCH);
    /* clang-format on */

    assert_int_equal(compare(s, kernel), 2 * (4 * 3 + 3 * 4 + 3 * 4));
    gt_kernel_free(kernel);
}

#define TEN(d) d "0," d "1," d "2," d "3," d "4," d "5," d "6," d "7," d "8," d "9"
#define HUNDRED                                                                            \
    TEN("")                                                                                \
    "," TEN("1") "," TEN("2") "," TEN("3") "," TEN("4") "," TEN("5") "," TEN("6") "," TEN( \
        "7") "," TEN("8") "," TEN("9")

/* More values than a word has bits. */
static void test_many_values(void **state)
{
    struct search *s = *state;
    struct gt_kernel *kernel = search_kernel(
        s, "many", "+ P + Q",
        "\"params\": [" PARAM("P", 1, HUNDRED) "," PARAM(
            "Q", 1, HUNDRED) "], \"constraints\": "
                             "[{\"if\": \"P * Q % 7 == 3\", \"why\": \"-\"}], " LAUNCH);

    assert_true(compare(s, kernel) > 1000);
    gt_kernel_free(kernel);
}

/* An expression that fails for the 81st value of a parameter, which nothing forbids. */
static void test_a_late_failure(void **state)
{
    struct search *s = *state;
    struct gt_kernel *kernel = search_kernel(
        s, "late", "+ P",
        "\"params\": [" PARAM(
            "P", 1, HUNDRED) "], \"constraints\": "
                             "[{\"if\": \"10 / (P - 80) < 20\", \"why\": \"-\"}], " LAUNCH);
    struct gt_space space;

    assert_int_equal(gt_space_init(&space, kernel, &s->problem, &s->device, 0, &s->err), GT_ERANGE);
    assert_non_null(strstr(s->err.msg, "10 / (P - 80) < 20"));
    assert_non_null(strstr(s->err.msg, "divides by zero"));
    gt_kernel_free(kernel);
}

#define THIRTEEN "0,1,2,3,4,5,6,7,8,9,10,11,12"

/* A constraint over so many prefixes that what it says of them is forgotten on the way. */
static void test_forgotten(void **state)
{
    struct search *s = *state;
    /* clang-format off */
    struct gt_kernel *kernel = search_kernel(
        s, "forgotten", "+ P + Q + R + S + T + U",
        "\"params\": [" PARAM("P", 1, THIRTEEN) "," PARAM("Q", 1, THIRTEEN) ","
        PARAM("R", 1, THIRTEEN) "," PARAM("S", 1, THIRTEEN) "," PARAM("T", 1, THIRTEEN) ","
        PARAM("U", 1, THIRTEEN) "], \"constraints\": ["
        "{\"if\": \"(P + 3 * Q + 5 * R + 7 * S + 11 * T + 13 * U) % 97 == 1\", \"why\": \"-\"},"
        "{\"if\": \"(P + U) % 2 == 0\", \"why\": \"-\"}], " LAUNCH);
    /* clang-format on */

    assert_true(compare(s, kernel) > 10000);
    gt_kernel_free(kernel);
}

/* A constraint over so many values that its verdicts are not kept. */
static void test_not_kept(void **state)
{
    struct search *s = *state;
    /* clang-format off */
    struct gt_kernel *kernel = search_kernel(
        s, "wide", "+ P + Q + R + S + T + U + V + W + X",
        "\"params\": [" PARAM("P", 1, HUNDRED) "," PARAM("Q", 1, HUNDRED) ","
        PARAM("R", 1, HUNDRED) "," PARAM("S", 1, HUNDRED) "," PARAM("T", 1, HUNDRED) ","
        PARAM("U", 1, HUNDRED) "," PARAM("V", 1, HUNDRED) "," PARAM("W", 1, HUNDRED) ","
        PARAM("X", 1, HUNDRED) "], \"constraints\": ["
        "{\"if\": \"P < 2\", \"why\": \"-\"}, {\"if\": \"Q < 2\", \"why\": \"-\"},"
        "{\"if\": \"R < 2\", \"why\": \"-\"}, {\"if\": \"S < 2\", \"why\": \"-\"},"
        "{\"if\": \"T < 2\", \"why\": \"-\"}, {\"if\": \"U < 2\", \"why\": \"-\"},"
        "{\"if\": \"V < 2\", \"why\": \"-\"}, {\"if\": \"W < 2\", \"why\": \"-\"},"
        "{\"if\": \"(P + Q + R + S + T + U + V + W + X) % 97 == 1\", \"why\": \"-\"}], " LAUNCH);
    struct gt_walk_plan plan;
    int64_t facts[GT_MAX_SLOTS] = {0};
    size_t unkept = 0;
    /* clang-format on */

    OK(&s->err, gt_walk_plan_init(&plan, kernel, facts, &s->err));
    for (size_t i = 0; i < plan.first_step[plan.depth + 1]; i++)
        unkept += !plan.step[i].kept;
    assert_int_equal(unkept, 1);
    gt_walk_plan_release(&plan);
    assert_int_equal(compare(s, kernel), 256 + 8 + 1); /* sums of 98 also: X = 98 or 97 */
    gt_kernel_free(kernel);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, search_setup, search_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(test_shipped_kernels), WITH_FOLDER(test_doubts),
        WITH_FOLDER(test_many_values),     WITH_FOLDER(test_a_late_failure),
        WITH_FOLDER(test_forgotten),       WITH_FOLDER(test_not_kept),
    };

    return cmocka_run_group_tests_name("space_walk", tests, NULL, NULL);
}
