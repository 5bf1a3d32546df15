/* test_options.c - the command line's tables: parsing, what is refused and in which words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "console/gpu_names.h"
#include "console/options.h"

struct fields {
    bool all;
    const char *arch, *mode;
    struct gt_texts shape;
    int64_t jobs;
    struct more {
        double slow;
    } more;
};

static const struct gt_option own[] = {
    GT_TEXT(fields, arch, "arch", 'a', "sm_86", "which"),
    GT_FLAG(fields, all, "all", 0, "all of it"),
    GT_CHOICE(fields, mode, "mode", 0, "MODE", "cold|warm", "how"),
    GT_TEXTS(fields, shape, "shape", 's', "MxNxK", "what"),
    GT_INTEGER(fields, jobs, "jobs", 'j', "N", 1, 256, "workers"),
    GT_OPTIONS_END,
};

static const struct gt_option more[] = {
    GT_REAL(more, slow, "slow", 0, "FACTOR", 0.5, 1000, "when"),
    GT_OPTIONS_END,
};

static const struct gt_option_group groups[] = {
    {own, 0, NULL}, {more, offsetof(struct fields, more), NULL}, {NULL, 0, NULL}};

#define MAX_WORDS 10

/* Parses a NULL-terminated list of words as if they stood behind the program's name. */
static int parse(struct fields *fields, const char *const *words, char **argv, int *argc,
                 struct gt_err *err)
{
    struct gt_cli cli = {0};
    int rc;

    memset(fields, 0, sizeof(*fields));
    *argc = 0;
    argv[(*argc)++] = (char *)"tune";
    for (size_t i = 0; words[i]; i++)
        argv[(*argc)++] = (char *)words[i];
    argv[*argc] = NULL;
    rc = gt_options_parse(&cli, groups, fields, argc, argv, err);
    if (!rc)
        assert_int_equal(cli.quiet, strcmp(words[0], "-q") == 0);
    return rc;
}

static void test_every_type(void **state)
{
    static const char *const words[] = {"-q",    "--arch=sm_90", "-s",     "1x2x3", "--shape",
                                        "4x5x6", "-j8",          "--slow", "1.5",   NULL};
    struct fields fields;
    char *argv[2 * MAX_WORDS];
    int argc;

    (void)state;
    assert_int_equal(parse(&fields, words, argv, &argc, NULL), GT_OK);
    assert_false(fields.all);
    assert_string_equal(fields.arch, "sm_90");
    assert_int_equal(fields.shape.count, 2);
    assert_string_equal(fields.shape.text[1], "4x5x6");
    assert_int_equal(fields.jobs, 8);
    assert_true(fields.more.slow == 1.5);
    assert_int_equal(argc, 0);
}

static void test_words_left_over(void **state)
{
    static const char *const words[] = {"simt", "--all", "BM=4", "--", "-s", NULL};
    struct fields fields;
    char *argv[2 * MAX_WORDS];
    int argc;

    (void)state;
    assert_int_equal(parse(&fields, words, argv, &argc, NULL), GT_OK);
    assert_true(fields.all);
    assert_int_equal(argc, 3);
    assert_string_equal(argv[0], "simt");
    assert_string_equal(argv[1], "BM=4");
    assert_string_equal(argv[2], "-s");
}

static void test_refusals(void **state)
{
    static const struct {
        const char *words[3];
        const char *sentence;
    } cases[] = {
        {{"--shap0=1"}, "unknown option \"--shap0\"; did you mean \"--shape\"?"},
        {{"--zzzzzzzz"}, "unknown option \"--zzzzzzzz\"; see --help"},
        {{"-x"}, "unknown option \"-x\"; see --help"},
        {{"--all=yes"}, "option \"--all\" takes no value: \"--all=yes\""},
        {{"--al=yes"}, "option \"--all\" takes no value: \"--al=yes\""},
        {{"--s", "4"}, "option \"--s\" may be --shape or --slow"},
        {{"--arch"}, "option \"--arch\" needs a value"},
        {{"-s"}, "option \"-s\" needs a value"},
        {{"--mode", "hot"}, "--mode: \"hot\" is none of cold|warm"},
        {{"--mode", "cold|warm"}, "--mode: \"cold|warm\" is none of cold|warm"},
        {{"--jobs", "0"}, "--jobs: \"0\" is not a whole number from 1 to 256"},
        {{"-j", "2x"}, "--jobs: \"2x\" is not a whole number from 1 to 256"},
        {{"--slow", "0.4"}, "--slow: \"0.4\" is not a number from 0.5 to 1000"},
        {{"--slow", "nan"}, "--slow: \"nan\" is not a number from 0.5 to 1000"},
        {{"--slow", "2x"}, "--slow: \"2x\" is not a number from 0.5 to 1000"},
        {{"-j", "99999999999999999999"},
         "--jobs: \"99999999999999999999\" is not a whole number from 1 to 256"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct gt_err err = {0};
        struct fields fields;
        char *argv[2 * MAX_WORDS];
        int argc;

        assert_int_equal(parse(&fields, cases[i].words, argv, &argc, &err), GT_ESYNTAX);
        assert_string_equal(err.msg, cases[i].sentence);
    }
}

static void test_too_many(void **state)
{
    static char *argv[2 * GT_MAX_TEXTS + 8];
    struct fields fields = {0};
    struct gt_err err = {0};
    struct gt_cli cli = {0};
    int argc = 0;

    (void)state;
    argv[argc++] = (char *)"tune";
    for (int i = 0; i <= GT_MAX_TEXTS; i++)
        argv[argc++] = (char *)"-s1x1x1";
    argv[argc] = NULL;
    assert_int_equal(gt_options_parse(&cli, groups, &fields, &argc, argv, &err), GT_ERANGE);
}

/* Names of GPUs stand for their arch; what is none stays for the arch's own sentence. */
static void test_gpu_names(void **state)
{
    static const char *const cases[][2] = {{"ada", "sm_89"},
                                           {"Hopper", "sm_90"},
                                           {"turing", "sm_75"},
                                           {"a100", "sm_80"},
                                           {"A100-SXM4-80GB", "sm_80"},
                                           {"a10g", "sm_86"},
                                           {"A10", "sm_86"},
                                           {"h100", "sm_90"},
                                           {"NVIDIA H200", "sm_90"},
                                           {"h20", "sm_90"},
                                           {"NVIDIA H100 80GB HBM3", "sm_90"},
                                           {"A100 80GB", "sm_80"},
                                           {"L40S", "sm_89"},
                                           {"RTX 4090", "sm_89"},
                                           {"rtx3080ti", "sm_86"},
                                           {"GeForce GTX 1660", "sm_75"},
                                           {"rtx-5090", "sm_120"},
                                           {"B200", "sm_100"},
                                           {"gb300", "sm_103"},
                                           {"T4", "sm_75"},
                                           {"RTX A6000", "sm_86"},
                                           {"RTX 6000 Ada", "sm_89"},
                                           {"dgx spark", "sm_121"},
                                           {"8.6", "sm_86"},
                                           {"12.0", "sm_120"},
                                           {"compute_90", "sm_90"},
                                           {"sm_86", "sm_86"},
                                           {"90a", "90a"},
                                           {"86", "86"},
                                           {"6.1", "6.1"},
                                           {"4096", "4096"},
                                           {"a1000", "sm_86"},
                                           {"a1010", "a1010"},
                                           {"", ""},
                                           {"2.0.7.5.9.9.9.9.9", "2.0.7.5.9.9.9.9.9"}};
    static const char *const refused[] = {"ampere", "Blackwell", "V100-SXM2", "pascal", "GTX 1080"};
    struct gt_err err = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const char *text = cases[i][0];

        assert_int_equal(gt_gpu_arch(&text, &err), GT_OK);
        assert_string_equal(text, cases[i][1]);
    }
    for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
        const char *text = refused[i];

        assert_int_equal(gt_gpu_arch(&text, &err), GT_ENOTFOUND);
        assert_non_null(strstr(err.msg, "sm_"));
    }
}

static void test_what_was_given(void **state)
{
    static const char *const lines[][2] = {{"--arch=sm_86", "arch"}, {"--all", "all"},
                                           {"--mode=warm", "mode"},  {"--shape=1x2x3", "shape"},
                                           {"--jobs=3", "jobs"},     {"-q", NULL}};
    char *argv[MAX_WORDS + 2];
    struct fields fields;
    struct gt_err err = {0};
    int argc;

    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
        const char *const words[] = {lines[i][0], NULL};
        const char *given;

        assert_int_equal(parse(&fields, words, argv, &argc, &err), GT_OK);
        given = gt_options_given(own, &fields);
        assert_int_equal(!given, !lines[i][1]);
        if (given)
            assert_string_equal(given, lines[i][1]);
        assert_null(gt_options_given(more, &fields.more));
    }
    fields.more.slow = 0.5;
    assert_string_equal(gt_options_given(more, &fields.more), "slow");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type), cmocka_unit_test(test_words_left_over),
        cmocka_unit_test(test_refusals),   cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_gpu_names),  cmocka_unit_test(test_what_was_given),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
