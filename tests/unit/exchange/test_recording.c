/* test_recording.c - recorded spaces of other tuners and our own, whole, cut off and broken; and
 * the full ones, where they lie beside the repository (../shared/spaces, or $GEMMTUNE_SPACES). */
#include "search_fixture.h"

#include <glob.h>
#include <math.h>
#include <zlib.h>

#include "exchange/recording.h"
#include "search/strategy.h"
#include "whole.h"

#define HEAD                                                                                   \
    "{\"device_name\": \"A GPU\", \"kernel_name\": \"Xgemm\", \"problem_size\": [64, 64], "    \
    "\"tune_params_keys\": [\"WG\", \"KIND\"], \"tune_params\": {\"WG\": [32, 16], \"KIND\": " \
    "[\"a\", \"b\"]}, \"objective\": \"time\", \"cache\": {"
#define FIRST                                                                    \
    "\"32,a\": {\"WG\": 32, \"KIND\": \"a\", \"time\": 2.5, \"times\": [2, 3], " \
    "\"compile_time\": 100, \"verification_time\": 7, \"benchmark_time\": 9, "   \
    "\"framework_time\": 1, \"strategy_time\": 0.5, \"GFLOP/s\": NaN}"
#define SECOND "\"16,b\": {\"WG\": 16, \"KIND\": \"b\", \"time\": \"CompilationFailedConfig\"}"

/* Reads a file of that text. */
static int parse(struct gt_recording *recording, const char *json, struct gt_err *err)
{
    char path[] = "/tmp/gemmtune-recording-XXXXXX";
    const int fd = mkstemp(path);
    int rc;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, json, strlen(json)), strlen(json));
    close(fd);
    rc = gt_recording_load(recording, path, err);
    unlink(path);
    return rc;
}

/* Every form of the same two points gives the same recording. */
static void check_two(const char *json)
{
    struct gt_recording recording;
    struct gt_err err = {0};
    const struct gt_recorded *point;

    OK(&err, parse(&recording, json, &err));
    assert_string_equal(recording.device, "A GPU");
    assert_string_equal(recording.kernel->name, "Xgemm");
    assert_int_equal(recording.kernel->params, 2);
    assert_string_equal(recording.kernel->param[0].name, "WG");
    assert_int_equal(recording.kernel->param[0].value[0], 32); /* as listed, not sorted */
    assert_int_equal(recording.kernel->param[1].value[1], 1);
    assert_string_equal(recording.kernel->param[1].word[0], "a");
    assert_string_equal(recording.kernel->param[1].word[1], "b");
    assert_null(recording.kernel->param[1].word[2]);
    assert_int_equal(recording.points, 2);
    point = &recording.point[0];
    assert_int_equal(point->status, GT_STATUS_OK);
    assert_float_equal(point->us, 2500, 0);
    assert_int_equal(point->samples, 2);
    assert_float_equal(recording.sample[point->first + 1], 3000, 0);
    assert_float_equal(point->compile_ms, 100, 0);
    assert_float_equal(point->prove_ms, 7, 0);
    assert_float_equal(point->time_ms, 9, 0);
    assert_float_equal(point->other_ms, 1.5, 0);
    assert_true(recording.costs);
    assert_int_equal(recording.point[1].status, GT_STATUS_COMPILE_ERROR);
    assert_int_equal(recording.index[2], 1);
    assert_int_equal(recording.index[3], 1);
    gt_recording_release(&recording);
}

static void test_kernel_tuner(void **state)
{
    (void)state;
    check_two(HEAD FIRST ", " SECOND "}, \"note\": \"Infinity \\\" NaN\"}");
}

/* As Kernel Tuner leaves it when it is stopped. */
static void test_unterminated(void **state)
{
    (void)state;
    check_two(HEAD FIRST ", " SECOND "}");
    check_two(HEAD FIRST ", " SECOND);
    check_two(HEAD FIRST ",\n" SECOND ",\n");
}

/* JSON's members have no order; a mark of UTF-8 and the ends of lines of Windows mean nothing. */
static void test_any_order(void **state)
{
    (void)state;
    check_two("\xef\xbb\xbf" HEAD FIRST ",\r\n" SECOND "}}\r\n");
    check_two("{\"cache\": {" FIRST ", " SECOND "}, \"device_name\": \"A GPU\", \"kernel_name\": "
              "\"Xgemm\", \"tune_params\": {\"KIND\": [\"a\", \"b\"], \"WG\": [32, 16]}, "
              "\"tune_params_keys\": [\"WG\", \"KIND\"], \"zz\": \"}]\"}");
}

/* What C would take for the end of a word: two values would be one. */
static void test_nul(void **state)
{
    struct gt_recording recording;
    struct gt_err err = {0};

    (void)state;
    assert_int_equal(
        parse(&recording, "{\"kernel_name\": \"X\\u0000gemm\", \"tune_params\": {}}", &err),
        GT_ECONFIG);
    assert_non_null(strstr(err.msg, "NUL"));
    gt_recording_release(&recording);
}

static void test_t4(void **state)
{
    struct gt_recording recording;
    struct gt_err err = {0};

    (void)state;
    OK(&err,
       parse(&recording,
             "{\"schema_version\": \"1.0.0\", \"results\": ["
             "{\"configuration\": {\"B\": 8, \"A\": 1.5}, \"times\": {\"compilation\": 0.5, "
             "\"runtimes\": [0.002, 0.004], \"validation\": 0.25}, \"invalidity\": \"correct\", "
             "\"correctness\": 1, \"measurements\": [{\"name\": \"time\", \"value\": 0.003}]},"
             "{\"configuration\": {\"A\": 0.5, \"B\": 4}, \"objectives\": [\"time\", \"GFLOP/s\"], "
             "\"times\": {\"runtimes\": []}, "
             "\"invalidity\": \"timeout\", \"correctness\": 0},"
             "{\"configuration\": {\"A\": 0.5, \"B\": 8}, \"times\": {}, \"invalidity\": "
             "\"correctness\", \"correctness\": 0, \"measurements\": [{\"name\": "
             "\"gemmtune_status\", \"value\": \"oob_write\"}]}],"
             "\"metadata\": {\"timeunit\": \"seconds\"}}",
             &err));
    assert_int_equal(recording.points, 3);
    assert_string_equal(recording.objective, "GFLOP/s");
    assert_string_equal(recording.kernel->param[0].name, "B");
    assert_int_equal(recording.kernel->param[0].value[0], 4); /* in order */
    assert_int_equal(recording.index[0], 1);                  /* B=8 */
    assert_null(recording.kernel->param[0].word);
    assert_string_equal(recording.kernel->param[1].word[0], "0.5");
    assert_string_equal(recording.kernel->param[1].word[1], "1.5");
    assert_float_equal(recording.point[0].us, 3000, 0.01);
    assert_float_equal(recording.sample[1], 4000, 0.01);
    assert_float_equal(recording.point[0].compile_ms, 500, 0);
    assert_float_equal(recording.point[0].prove_ms, 250, 0);
    assert_float_equal(recording.point[0].time_ms, 6, 0.001); /* of the samples */
    assert_int_equal(recording.point[1].status, GT_STATUS_TIMEOUT);
    assert_int_equal(recording.point[2].status, GT_STATUS_OOB_WRITE);
    gt_recording_release(&recording);
}

/* Values that are no whole numbers stand in points as the file has them; what could be taken for
 * something else there is quoted. */
static void test_words(void **state)
{
    static const char *const points[] = {"W=col,N=0.1,T=true,Q=\"a\\u002cb=\\\"c\\\\\"",
                                         "W=row,N=2,T=false,Q=\"2\"", "W=row,N=1e+20,T=true,Q=\"\"",
                                         "W=col,N=2,T=true,Q=2"};
    struct gt_recording recording;
    struct gt_strbuf text = GT_STRBUF_INIT;
    struct gt_space space;
    struct gt_err err = {0};

    (void)state;
    OK(&err, parse(&recording,
                   "{\"tune_params_keys\": [\"W\", \"N\", \"T\", \"Q\"], \"cache\": {"
                   "\"a\": {\"W\": \"col\", \"N\": 0.1, \"T\": true, \"Q\": \"a,b=\\\"c\\\\\", "
                   "\"time\": 1}, \"b\": {\"W\": \"row\", \"N\": 2, \"T\": false, \"Q\": \"2\", "
                   "\"time\": 2}, \"c\": {\"W\": \"row\", \"N\": 1e20, \"T\": true, \"Q\": \"\", "
                   "\"time\": 3}, \"d\": {\"W\": \"col\", \"N\": 2, \"T\": true, \"Q\": 2, "
                   "\"time\": 4}}}",
                   &err));
    OK(&err, gt_recording_space(&space, &recording, NULL, NULL, &err));
    for (size_t i = 0; i < space.count; i++) {
        struct gt_point point, read;

        gt_space_point(&space, i, &point);
        gt_strbuf_reset(&text);
        gt_point_format(&text, recording.kernel, &point);
        assert_string_equal(text.text, points[i]);
        OK(&err, gt_point_parse(&read, recording.kernel, text.text, &err));
        assert_memory_equal(&read, &point, sizeof(point));
    }
    assert_int_equal(space.count, 4);
    assert_int_not_equal(gt_point_parse(&(struct gt_point){{0}}, recording.kernel, "W=0", &err),
                         GT_OK);
    assert_non_null(strstr(err.msg, "W cannot be \"0\"; its values are: col row"));
    gt_strbuf_release(&text);
    gt_space_release(&space);
    gt_recording_release(&recording);
}

static void test_our_own(void **state)
{
    struct gt_recording recording;
    struct gt_err err = {0};

    (void)state;
    OK(&err, parse(&recording,
                   "{\"gemmtune\": {\"problem\": \"4x5x6:f32:nn\", \"cc\": 90, \"provenance\": "
                   "\"predicted\"}, \"tune_params_keys\": [\"P\"], \"tune_params\": {\"P\": [1]}, "
                   "\"cache\": {\"1\": {\"P\": 1, \"time\": \"RuntimeFailedConfig\", "
                   "\"gemmtune_status\": \"device_lost\"}}}",
                   &err));
    assert_string_equal(recording.problem, "4x5x6:f32:nn");
    assert_int_equal(recording.cc, 90);
    assert_true(recording.predicted);
    assert_false(recording.costs);
    assert_int_equal(recording.point[0].status, GT_STATUS_DEVICE_LOST);
    gt_recording_release(&recording);
}

/* Each mistake is named. */
static void test_broken(void **state)
{
    static const struct {
        const char *json, *says;
    } broken[] = {
        {"", "ends in the middle"},
        {"[1]", "an object is expected near \"[1]\""},
        {"{\"a\": 1}", "no recorded point"},
        {"{\"cache\": {}}", "\"tune_params_keys\" is missing beside \"cache\""},
        {"{\"cache\": 1}", "an object is expected near \"1}\""},
        {"{\"tune_params_keys\": [\"P\"], \"cache\": 1}", "an object is expected near \"1}\""},
        {HEAD "\"32,a\": {\"WG\": 32, \"KIND\": ", "ends in the middle"},
        {HEAD "\"32,a\": {\"WG\": 32, \"time\": 1}}}", "\"32,a\" has no value for parameter KIND"},
        {HEAD "\"32,a\": {\"WG\": 32, \"KIND\": \"a\"}}}", "\"32,a\" has no time"},
        {HEAD "\"32,a\": {\"WG\": 32, \"KIND\": \"a\", \"times\": [-1]}}}", "a sample is no time"},
        {HEAD "\"32,a\": {\"WG\": 32, \"KIND\": \"a\", \"time\": 1e-60}}}", "\"32,a\" has no time"},
        {HEAD "\"32,a\": {\"WG\": 32, \"KIND\": \"a\", \"time\": 1e-40}}}", "a time is 9.99"},
        {HEAD "\"32,a\": {\"WG\": 32, \"KIND\": \"a\", \"time\": 1e19}}}", "a time is 1e+22 us"},
        {HEAD "\"32,a\": {\"WG\": 32, \"KIND\": \"a\", \"time\": 1, \"times\": [1e-60]}}}",
         "a time is 0 us"},
        {HEAD FIRST "} \"x\"", "a comma is missing near"},
        {HEAD FIRST "}} x", "more text after the end near \"x\""},
        {HEAD "\"32,a\" {}", "a colon is missing near"},
        {HEAD "{}: 1}}", "a name is expected"},
        {"{\"tune_params_keys\": [\"P\", \"P\"]}", "\"P\" is listed twice"},
        {"{\"results\": [{\"configuration\": {}}]}", "results[0] lacks"},
        {"{\"results\": [{\"configuration\": {}, \"invalidity\": \"timeout\"}]}", "no parameters"},
        {"{\"metadata\": {\"timeunit\": \"weeks\"}}", "\"timeunit\" is \"weeks\""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        struct gt_recording recording;
        struct gt_err err = {0};

        assert_int_equal(parse(&recording, broken[i].json, &err), GT_ECONFIG);
        assert_int_equal(strncmp(err.msg, "/tmp/gemmtune-recording-", 24), 0);
        if (!strstr(err.msg, broken[i].says))
            fail_msg("\"%s\" does not say: %s", err.msg, broken[i].says);
        gt_recording_release(&recording);
    }
}

/* The space finds its points, and their neighbours, as one made from a template does. */
static void test_space(void **state)
{
    struct gt_recording recording;
    struct gt_err err = {0};
    struct gt_space space;
    struct gt_point point;
    size_t list[8];

    (void)state;
    OK(&err, parse(&recording, HEAD FIRST ", " SECOND "}}", &err));
    OK(&err, gt_recording_space(&space, &recording, NULL, NULL, &err));
    assert_int_equal(space.count, 2);
    gt_space_point(&space, 1, &point);
    assert_int_equal(point.value[0], 16);
    assert_int_equal(gt_space_find(&space, &point), 1);
    assert_int_equal(gt_space_neighbours(&space, 0, list, 8), 0); /* both differ */
    gt_space_release(&space);
    gt_recording_release(&recording);
}

/* A search that asks for a point again is told it again. */
static void test_repeats(void **state)
{
#define RESULT(p, invalidity, ms)                                                                 \
    "{\"configuration\": {\"P\": " #p "}, \"times\": {\"runtimes\": [" #ms "]}, \"invalidity\": " \
    "\"" invalidity "\"}"
    struct gt_recording recording;
    struct gt_err err = {0};

    (void)state;
    OK(&err,
       parse(&recording,
             "{\"results\": [" RESULT(1, "timeout", 9) ", " RESULT(2, "correct", 3) ", " RESULT(
                 1, "correct", 5) ", " RESULT(2, "correct", 4) ", " RESULT(3, "compile", 1) "]}",
             &err));
    assert_int_equal(recording.points, 3);
    assert_int_equal(recording.point[0].status, GT_STATUS_OK);
    assert_float_equal(recording.point[0].us, 5000, 0);
    assert_float_equal(recording.point[1].us, 3000, 0);
    assert_int_equal(recording.point[2].status, GT_STATUS_COMPILE_ERROR);
    assert_int_equal(recording.index[2], 2);
    gt_recording_release(&recording);
}

#define OWN_HEAD                                                                                 \
    "{\"gemmtune_recording\": 1, \"device\": \"G\", \"params\": [{\"name\": \"P\", \"values\": " \
    "[4, 2]}, {\"name\": \"Q\", \"words\": [\"a\", \"b\"], \"values\": [1]}], \"points\": 1, "   \
    "\"samples\": 1}\n"
#define OWN_POINT(index, status, samples) \
    "{\"point\": " index ", \"status\": \"" status "\", \"us\": 5, \"samples\": " samples "}\n"

/* The form that is read without Python: its mistakes are named with their line. */
static void test_own_form(void **state)
{
    static const struct {
        const char *text, *says;
    } broken[] = {
        {OWN_HEAD, ": the text ends too early"},
        {OWN_HEAD "[", ":2: line 1: the JSON text ends too early"},
        {OWN_HEAD OWN_POINT("[2, 0]", "ok", "[5]"), ":2: \"point\" is no point of the space"},
        {OWN_HEAD OWN_POINT("[0]", "ok", "[5]"), ":2: \"point\" is no point of the space"},
        {OWN_HEAD OWN_POINT("[0, 0]", "fine", "[5]"), ":2: \"status\" is no status"},
        {OWN_HEAD OWN_POINT("[0, 0]", "ok", "[]"),
         ":2: \"status\" is no status, or needs a sample"},
        {OWN_HEAD OWN_POINT("[0, 0]", "ok", "[5, 6]"), ":2: too many samples"},
        {OWN_HEAD OWN_POINT("[0, 0]", "ok", "[0]"), ":2: a time is 0 us"},
        {OWN_HEAD OWN_POINT("[0, 0]", "ok", "[5]") OWN_POINT("[1, 0]", "ok", "[5]"),
         ":3: too many points"},
        {"{\"gemmtune_recording\": 2}", ":1: \"gemmtune_recording\" is 2"},
        {"{\"gemmtune_recording\": 1, \"params\": []}", ":1: the points have no parameters"},
        {"{\"gemmtune_recording\": 1, \"params\": [{\"name\": \"P\", \"values\": []}]}",
         ":1: a parameter has no value"},
        {"{\"gemmtune_recording\": 1, \"params\": [{\"name\": \"P\", \"values\": [1, 1]}]}",
         ":1: values are at most 256 whole numbers, each once"},
        {"{\"gemmtune_recording\": 1, \"params\": [{\"name\": \"P\", \"words\": [\"a,b\"], "
         "\"values\": [0]}]}",
         ":1: a word that cannot stand in a point"},
        {"{\"gemmtune_recording\": 1, \"params\": [{\"name\": \"P\", \"words\": [], \"values\": "
         "[0]}]}",
         ":1: values are at most 256"},
    };
    const char *path = getenv("PATH");
    char *before = strdup(path ? path : "");
    struct gt_recording recording;
    struct gt_err err = {0};

    (void)state;
    setenv("PATH", "/nowhere", 1);
    OK(&err, parse(&recording, OWN_HEAD OWN_POINT("[1, 0]", "ok", "[6]"), &err));
    assert_string_equal(recording.device, "G");
    assert_int_equal(recording.points, 1);
    assert_int_equal(recording.index[0], 1);
    assert_string_equal(recording.kernel->param[1].word[1], "b");
    assert_float_equal(recording.point[0].us, 5, 0);
    assert_float_equal(recording.sample[0], 6, 0);
    gt_recording_release(&recording);
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        assert_int_equal(parse(&recording, broken[i].text, &err), GT_ECONFIG);
        if (!strstr(err.msg, broken[i].says))
            fail_msg("\"%s\" does not say: %s", err.msg, broken[i].says);
        gt_recording_release(&recording);
    }
    assert_int_equal(parse(&recording, HEAD FIRST, &err), GT_EIO);
    assert_non_null(strstr(err.msg, "written and read by python3, which is not in $PATH"));
    gt_recording_release(&recording);
    setenv("PATH", before, 1);
    free(before);
}

static void test_files(void **state)
{
    static const char text[] = HEAD FIRST;
    struct search *s = *state;
    struct gt_recording recording;
    char path[128];
    gzFile file;

    snprintf(path, sizeof(path), "%s/plain.json", s->folder);
    write_file(s->folder, "plain.json", text);
    OK(&s->err, gt_recording_load(&recording, path, &s->err));
    assert_int_equal(recording.points, 1);
    gt_recording_release(&recording);

    snprintf(path, sizeof(path), "%s/packed.json.gz", s->folder);
    file = gzopen(path, "wb");
    assert_int_equal(gzwrite(file, text, sizeof(text) - 1), sizeof(text) - 1);
    assert_int_equal(gzclose(file), Z_OK);
    OK(&s->err, gt_recording_load(&recording, path, &s->err));
    assert_int_equal(recording.points, 1);
    gt_recording_release(&recording);

    assert_int_equal(truncate(path, 60), 0);
    assert_int_equal(gt_recording_load(&recording, path, &s->err), GT_EIO);
    assert_non_null(strstr(s->err.msg, "packed.json.gz: "));
    gt_recording_release(&recording);

    assert_int_equal(gt_recording_load(&recording, "/nowhere/x.json", &s->err), GT_EIO);
    gt_recording_release(&recording);
    gt_recording_release(&recording);
}

/* Those that others recorded: every point there, a search that gets near the best. */
static void test_recorded_spaces(void **state)
{
    struct search *s = *state;
    const char *folder = getenv("GEMMTUNE_SPACES");
    char pattern[512];
    glob_t found;

    snprintf(pattern, sizeof(pattern), "%s/*.json.gz", folder ? folder : "../shared/spaces");
    if (glob(pattern, 0, NULL, &found)) {
        print_message("# there are no recorded spaces: %s\n", pattern);
        skip();
    }
    for (size_t i = 0; i < found.gl_pathc; i += (size_t)gt_whole(1, 3)) {
        struct gt_recording recording;
        struct gt_space space;
        float best = INFINITY;

        OK(&s->err, gt_recording_load(&recording, found.gl_pathv[i], &s->err));
        assert_int_equal(recording.points, 17956);
        assert_int_equal(recording.samples, 17956 * 32);
        assert_int_equal(recording.kernel->params, 15);
        for (size_t p = 0; p < recording.points; p++)
            best = fminf(best, recording.point[p].us);
        assert_true(best > 5000 && best < 60000); /* 4096^3 on such devices, in us */
        OK(&s->err, gt_recording_space(&space, &recording, &s->problem, &s->device, &s->err));
        assert_true(space.cross_product == 82944);
        gt_space_release(&space);
        gt_recording_release(&recording);
    }
    globfree(&found);
}

/* Our own, in the repository: each says what it is of. */
static void test_own_spaces(void **state)
{
    struct search *s = *state;
    glob_t found;

    assert_int_equal(glob("tests/replay/*.json.gz", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i += (size_t)gt_whole(1, 3)) {
        struct gt_recording recording;
        struct gt_problem problem;

        OK(&s->err, gt_recording_load(&recording, found.gl_pathv[i], &s->err));
        assert_true(recording.points > 250 && recording.cc == 90 && recording.costs);
        assert_int_equal(recording.predicted, strstr(found.gl_pathv[i], "predicted") != NULL);
        OK(&s->err, gt_problem_parse(&problem, recording.problem, &s->err));
        gt_recording_release(&recording);
    }
    globfree(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernel_tuner),
        cmocka_unit_test(test_unterminated),
        cmocka_unit_test(test_nul),
        cmocka_unit_test(test_t4),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_any_order),
        cmocka_unit_test(test_our_own),
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_space),
        cmocka_unit_test(test_repeats),
        cmocka_unit_test(test_own_form),
        cmocka_unit_test_setup_teardown(test_files, search_setup, search_teardown),
        cmocka_unit_test_setup_teardown(test_own_spaces, search_setup, search_teardown),
        cmocka_unit_test_setup_teardown(test_recorded_spaces, search_setup, search_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
