/* test_t1.c - spaces described in T1: their points, and the answers of the recording they name.
 * tests/replay/recordings tests the Python of their values and conditions. */
#include "search_fixture.h"

#include "exchange/recording.h"

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
        {T1("[2, 4", "P > 1", ANSWERED), "TuningParameters[0]: \"[2, 4\": "},
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
        WITH_FOLDER(test_space),
        WITH_FOLDER(test_refusals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
