/* test_t1.c - spaces described in T1: the Python of their values and conditions, their points, and
 * the answers of the recording they name. */
#include "search_fixture.h"

#include "exchange/python.h"
#include "exchange/recording.h"
#include "exchange/t1.h"

/* Evaluates with A = 6, B = 4, KIND = "row". */
static int evaluate(const char *text, struct gt_python_value *value, struct gt_err *err)
{
    const struct gt_names names = {{"A", "B", "KIND"}, 3};
    const struct gt_python_value slots[] = {{NULL, 6}, {NULL, 4}, {"row", 0}};
    struct gt_python *python;
    int rc = gt_python_parse(&python, text, &names, err);

    if (!rc)
        rc = gt_python_eval(python, slots, value, err);
    gt_python_free(python);
    return rc;
}

/* Each value is what Python 3 answers. */
static void test_values(void **state)
{
    static const struct {
        const char *text;
        double number;
    } expected[] = {
        {"A / B", 1.5},
        {"A // B", 1},
        {"-A // B", -2},
        {"0.5 // 10 ** -1", 4},
        {"-1 // (-1 / 3)", 3},
        {"7 // -2", -4},
        {"+A", 6},
        {"-A % B", 2},
        {"A % -B", -2},
        {"7 % 2.5", 2},
        {"2 ** 3 ** 2", 512},
        {"-2 ** 2", -4},
        {"2 ** -1", 0.5},
        {"1 + 2 * 3 - 4", 3},
        {"(1 + 2) * 3", 9},
        {"30 % (A / B * 5 / 3) == 0", 1}, /* 30 % 2.5 */
        {"A % (B / 2) == 0", 1},
        {"1 < B < 6", 1},
        {"1 < A < 6", 0},
        {"A >= 6 and B <= 4", 1},
        {"A > 6 or B < 4", 0},
        {"not A == 6", 0},
        {"not (A == 6 and B == 6)", 1},
        {"A != 6 or not B != 4", 1},
        {"A in [1, 2, 6]", 1},
        {"A in [1] + [2 * i for i in range(4)]", 1},
        {"B in [1] * 3 + [2]", 0},
        {"A not in (1, 2)", 1},
        {"A in [1, 6] in [[1, 6], [2]]", 1},
        {"A in [1, 6] in [[6, 1], [1, 6, 6], 'row', 1, []]", 0},
        {"A in [1, 2] in [[1, 2]]", 0},
        {"A in [1, 6] not in [[1]]", 1},
        {"[KIND, B] in [['row', 4]]", 1},
        {"A in range(0, 10, 3)", 1},
        {"KIND == 'row'", 1},
        {"KIND != \"col\" and KIND in ['row', 'tile']", 1},
        {"KIND == 1", 0},
        {"A if KIND == 'row' else B", 6},
        {"1 if A < B else 2 if A == B else 3", 3},
        {"min(A, B, 9) + max(A, B) + abs(-1)", 11},
        {"int(7 / 2) + round(2.5) + float(1)", 6},
        {"True + True - False", 2},
        {"A and B", 4},
        {"0 or B", 4},
        {"1e3 + .5", 1000.5},
        {"A and 1 / 0 if A < 0 else 5", 5},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        struct gt_python_value value;
        struct gt_err err = {0};

        if (evaluate(expected[i].text, &value, &err))
            fail_msg("%s: %s", expected[i].text, err.msg);
        if (value.text || value.number != expected[i].number)
            fail_msg("%s is %g", expected[i].text, value.number);
    }
}

static void test_mistakes(void **state)
{
    static const struct {
        const char *text, *says;
        int code;
    } wrong[] = {
        {"", "the text ends too early", GT_ESYNTAX},
        {"A +", "the text ends too early", GT_ESYNTAX},
        {"A B", "what is this at \"B\"", GT_ESYNTAX},
        {"(A", "a comma or an end is missing", GT_ESYNTAX},
        {"A & B", "what is this at \"& B\"", GT_ESYNTAX},
        {"KIND == 'row", "a text without an end", GT_ESYNTAX},
        {"__import__('os')", "an unknown function", GT_ESYNTAX},
        {"2x", "a malformed number", GT_ESYNTAX},
        {"C == 1", "unknown name \"C\"", GT_ENOTFOUND},
        {"A / (B - 4)", "a division by zero", GT_ERANGE},
        {"A % 0", "a division by zero", GT_ERANGE},
        {"+'text'", "a number is expected, not a text", GT_ERANGE},
        {"KIND + 1", "a number is expected, not a text", GT_ERANGE},
        {"KIND < 1", "a number is compared with a text", GT_ERANGE},
        {"[A]", "a value is expected, not a list", GT_ERANGE},
        {"A in B", "a list is expected", GT_ERANGE},
        {"A in [1] + 2", "a list is expected", GT_ERANGE},
        {"A in [1] * 99999 * 99999", "a list that long is not meant", GT_ERANGE},
        {"A in [] * 99999 * 99999", "a list that long is not meant", GT_ERANGE},
        {"A in [1] * 1.5", "a whole number of times", GT_ERANGE},
        {"A in [1] * [2]", "a value is expected, not a list", GT_ERANGE},
        {"A in [6] in 6", "a list of lists is expected", GT_ERANGE},
        {"10 ** 400", "no number comes out", GT_ERANGE},
        {"((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((1))))", "nested",
         GT_ESYNTAX},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct gt_python_value value;
        struct gt_err err = {0};

        assert_int_equal(evaluate(wrong[i].text, &value, &err), wrong[i].code);
        if (!strstr(err.msg, wrong[i].says))
            fail_msg("\"%s\" does not say: %s", err.msg, wrong[i].says);
    }
}

static int collect(void *context, const struct gt_python_value *value, struct gt_err *err)
{
    (void)err;
    if (value->text)
        gt_strbuf_addf(context, "%s ", value->text);
    else
        gt_strbuf_addf(context, "%g ", value->number);
    return GT_OK;
}

static void test_lists(void **state)
{
    static const struct {
        const char *text, *values;
    } expected[] = {
        {"[16, 32,64]", "16 32 64 "},
        {"[]", ""},
        {"range(3)", "0 1 2 "},
        {"list(range(8, 2, -2))", "8 6 4 "},
        {"[2**i for i in range(6)]", "1 2 4 8 16 32 "},
        {"[i * 2 for i in [1, 2, 3, 4] if i % 2 == 0]", "4 8 "},
        {"['a', 'b']", "a b "},
        {"(1, 2)", "1 2 "},
        {"[True, False]", "1 0 "},
        {"[1] + [2 * i for i in range(1, 3)]", "1 2 4 "},
        {"list(range(1, 3)) + [4] + [2**i for i in range(3, 5)]", "1 2 4 8 16 "},
        {"[x for x in [1] + [2, 3] if x != 2]", "1 3 "},
        {"([1, 2] + [3]) * 2 + 0 * [9] + -1 * [8]", "1 2 3 1 2 3 "},
        {"['a'] + ['b' for i in range(2)]", "a b b "},
        {"[1] if 2 > 3 else [4] + [5]", "4 5 "},
    };
    const struct gt_names none = {.count = 0};

    (void)state;
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        struct gt_strbuf values = GT_STRBUF_INIT;
        struct gt_python *python;
        struct gt_err err = {0};

        OK(&err, gt_python_parse(&python, expected[i].text, &none, &err));
        OK(&err, gt_python_list(python, collect, &values, &err));
        assert_string_equal(values.text, expected[i].values);
        gt_python_free(python);
        gt_strbuf_release(&values);
    }
}

#define T1(values, condition, more)                                                             \
    "{\"ConfigurationSpace\": {\"TuningParameters\": [{\"Name\": \"P\", \"Type\": \"int\", "    \
    "\"Values\": \"" values "\"}, {\"Name\": \"Q\", \"Type\": \"string\", \"Values\": \"['x', " \
    "'y']\"}], \"Conditions\": [{\"Parameters\": [\"P\", \"Q\"], \"Expression\": \"" condition  \
    "\"}]}, \"KernelSpecification\": {\"Language\": \"CUDA\", \"KernelName\": \"mine\"" more    \
    ", \"KernelFile\": \"m.cu\", \"GlobalSize\": {\"X\": \"1\"}, \"LocalSize\": {\"X\": "       \
    "\"1\"}}}"

/* In another order, with a point that T1 forbids, one of a value it has not, and one missing. */
static const char recorded[] =
    "{\"device_name\": \"G\", \"tune_params_keys\": [\"Q\", \"P\"], \"tune_params\": {\"P\": [8, "
    "4, 2, 1], \"Q\": [\"y\", \"x\"]}, \"cache\": {"
    "\"x,4\": {\"Q\": \"x\", \"P\": 4, \"time\": 4}, \"y,2\": {\"Q\": \"y\", \"P\": 2, \"time\": "
    "3}, \"y,4\": {\"Q\": \"y\", \"P\": 4, \"time\": 1}, \"x,8\": {\"Q\": \"x\", \"P\": 8, "
    "\"time\": 2}}}";

static int load(struct search *s, struct gt_recording *recording, const char *t1)
{
    char path[128];

    write_file(s->folder, "recorded.json", recorded);
    write_file(s->folder, "t1.json", t1);
    snprintf(path, sizeof(path), "%s/t1.json", s->folder);
    return gt_recording_load(recording, path, &s->err);
}

#define ANSWERED ", \"SimulationInput\": \"recorded.json\""

static void test_space(void **state)
{
    struct search *s = *state;
    struct gt_recording recording;
    struct gt_space space;
    struct gt_point point;

    OK(&s->err, load(s, &recording, T1("[2, 4]", "not (P == 4 and Q == 'y')", ANSWERED)));
    assert_string_equal(recording.kernel->name, "mine");
    assert_string_equal(recording.device, "G");
    assert_string_equal(recording.kernel->param[0].name, "P");
    assert_int_equal(recording.kernel->param[0].count, 2);
    assert_int_equal(recording.points, 2);
    assert_int_equal(recording.described, 3); /* P=2 with Q=x is not recorded */
    OK(&s->err, gt_recording_space(&space, &recording, NULL, NULL, &s->err));
    assert_true(space.cross_product == 4);
    for (size_t i = 0; i < 2; i++) {
        static const struct {
            int64_t p, q;
            enum gt_status status;
            float us;
        } expected[] = {{2, 1, GT_STATUS_OK, 3000}, {4, 0, GT_STATUS_OK, 4000}};

        gt_space_point(&space, i, &point);
        assert_int_equal(point.value[0], expected[i].p);
        assert_int_equal(point.value[1], expected[i].q);
        assert_int_equal(recording.point[i].status, expected[i].status);
        assert_float_equal(recording.point[i].us, expected[i].us, 0);
    }
    gt_space_release(&space);
    gt_recording_release(&recording);
}

static void test_refusals(void **state)
{
    static const struct {
        const char *t1, *says;
    } wrong[] = {
        {T1("[2, 4]", "P > 1", ""), "names no recording to answer from"},
        {T1("[2, 4]", "P > 1", ", \"SimulationInput\": \"none.json\""), "/none.json: No such file"},
        {T1("[2, 4]", "P > 1", ", \"SimulationInput\": \"t1.json\""), "no recorded point"},
        {T1("[2, 4]", "P > Z", ANSWERED), "Conditions[0]: \"P > Z\": unknown name \"Z\""},
        {T1("[2, 4", "P > 1", ANSWERED), "TuningParameters[0]: \"[2, 4\": a comma or an end"},
        {T1("[]", "P > 1", ANSWERED), "parameter P has no value"},
        {T1("[2, 4]", "P > 9", ANSWERED), "kernel mine: no point satisfies every condition"},
        {T1("[3]", "P > 1", ANSWERED), "mine: the recording has none of its points"},
        {T1("[2, 4]", "1 / (P - 2) > 0", ANSWERED), "a division by zero"},
        {"{\"ConfigurationSpace\": {\"TuningParameters\": [{\"Name\": \"P\", \"Values\": "
         "\"[2]\"}]}, \"KernelSpecification\": {\"KernelName\": \"mine\"" ANSWERED "}}",
         "parameter \"Q\" varies in the recording and is not in the space"},
        {"{\"ConfigurationSpace\": 1}", "\"ConfigurationSpace\" must be an object"},
        {"{\"ConfigurationSpace\": {}}", "\"KernelSpecification\" is missing"},
    };
    struct search *s = *state;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct gt_recording recording;

        assert_int_equal(load(s, &recording, wrong[i].t1), i == 1 ? GT_EIO : GT_ECONFIG);
        if (!strstr(s->err.msg, wrong[i].says))
            fail_msg("\"%s\" does not say: %s", s->err.msg, wrong[i].says);
        gt_recording_release(&recording);
    }
}

#define WITH_FOLDER(function) \
    cmocka_unit_test_setup_teardown(function, search_setup, search_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values), cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_lists),  WITH_FOLDER(test_space),
        WITH_FOLDER(test_refusals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
