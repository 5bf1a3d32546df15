/* test_progress.c - tests the text of the progress line and its rewriting on a terminal. */
#include "search_fixture.h"
#include "sweep/progress.h"

static struct gt_progress_state example(void)
{
    struct gt_progress_state state = {
        .done = 60,
        .fresh = 40,
        .trials_limit = 120,
        .elapsed_s = 20,
        .best_us = 2691.25,
        .flops = 2.0 * 4096 * 4096 * 4096,
        .predicted = true,
        .phase = "racing",
    };

    state.status[GT_STATUS_OK] = 55;
    state.status[GT_STATUS_SPILLS] = 5;
    return state;
}

static void test_format(void **unused)
{
    struct gt_progress_state state = example();
    char text[400];

    (void)unused;
    gt_progress_format(&state, 0, text, sizeof(text));
    assert_string_equal(text, "racing; 60/120 tried: 55 ok, 5 spills; best predicted 2700 us "
                              "(51 TFLOP/s); 2.0/s; 20s, about 30s left");
    state.done = 130; /* an earlier run with more trials */
    state.fresh = 0;
    gt_progress_format(&state, 0, text, sizeof(text));
    assert_string_equal(text, "racing; 130 tried: 55 ok, 5 spills; best predicted 2700 us "
                              "(51 TFLOP/s); 20s");
    state = (struct gt_progress_state){
        .done = 36, .fresh = 36, .elapsed_s = 3720, .seconds_limit = 30000};
    gt_progress_format(&state, 0, text, sizeof(text));
    assert_string_equal(text, "36 tried; 0.0/s; 1h02m, about 7h18m left");
}

/* Every width from 20 columns on is kept to, and a wider line says at least as much. */
static void test_widths(void **unused)
{
    struct gt_progress_state state = example();
    char text[400];
    size_t before = 0;

    (void)unused;
    state.status[GT_STATUS_SLOW] = 3;
    state.all_left_s = 725;
    for (size_t width = 20; width <= 200; width++) {
        gt_progress_format(&state, width, text, sizeof(text));
        assert_true(strlen(text) <= width);
        assert_true(strlen(text) >= before || width < 40);
        before = strlen(text);
    }
    gt_progress_format(&state, 40, text, sizeof(text));
    assert_string_equal(text, "best predicted 2700 us; 30s left");
    gt_progress_format(&state, 77, text, sizeof(text));
    assert_string_equal(text, " 50 %; racing; 60/120 tried; best predicted 2700 us; 30s left; "
                              "all 12m05s");
    gt_progress_format(&state, 160, text, sizeof(text));
    assert_string_equal(text,
                        "[##########..........]  50 %; racing; 60/120 tried: 55 ok, 5 spills, "
                        "3 slow; best predicted 2700 us (51 TFLOP/s); 2.0/s; 20s, "
                        "about 30s left; "
                        "all 12m05s");
}

/* A space of few points ends before its budget of time; a search that is over has no time left. */
static void test_finite_spaces(void **unused)
{
    struct gt_progress_state state = {
        .done = 6, .fresh = 6, .elapsed_s = 3, .seconds_limit = 3600, .points = 12};
    char text[400];

    (void)unused;
    gt_progress_format(&state, 0, text, sizeof(text));
    assert_string_equal(text, "6/12 tried; 2.0/s; 3s, about 3s left");
    gt_progress_format(&state, 60, text, sizeof(text));
    assert_string_equal(text, "[##########..........]  50 %; 6/12 tried; 2.0/s; 3s left");
    state.elapsed_s = 3601; /* what is in flight ends soon, nobody knows when */
    state.points = 1881130;
    gt_progress_format(&state, 0, text, sizeof(text));
    assert_string_equal(text, "6/1881130 tried; 0.0/s; 1h00m");
    state.elapsed_s = 3;
    state.points = 12;
    state.searched = true;
    state.phase = "final";
    state.best_us = 8;
    state.ratio = 1.25;
    gt_progress_format(&state, 80, text, sizeof(text));
    assert_string_equal(text, "[####################] 100 %; final; 6/12 tried; best 8.00 us, "
                              "1.250 x cuBLAS");
    state.ended = true;
    gt_progress_format(&state, 80, text, sizeof(text));
    assert_string_equal(text, "final; 6/12 tried; best 8.00 us, 1.250 x cuBLAS; 2.0/s; 3s");
}

/* Everything written to a stream by showing the example twice and noting something between. */
static char *written(bool terminal, bool color)
{
    struct gt_progress_state state = example();
    struct gt_progress *progress;
    struct gt_err err = {0};
    size_t size;
    char *text;
    FILE *stream = open_memstream(&text, &size);

    assert_non_null(stream);
    OK(&err, gt_progress_new(&progress, stream, terminal, color, &err));
    gt_progress_title(progress, "4096x4096x4096:f32:nn");
    gt_progress_show(progress, &state, true);
    gt_progress_note(progress, "a worker died");
    gt_progress_show(progress, &state, false); /* too soon */
    gt_progress_free(progress);
    fclose(stream);
    return text;
}

static void test_plain_lines(void **unused)
{
    char *text = written(false, false);

    (void)unused;
    assert_null(strchr(text, '\r'));
    assert_null(strchr(text, '\033'));
    assert_ptr_equal(strstr(text, "4096x4096x4096:f32:nn\n"), text);
    assert_non_null(strstr(text, "left\n  a worker died\n"));
    assert_null(strstr(strstr(text, "racing") + 1, "racing"));
    free(text);
}

static void test_a_terminal_line_is_rewritten(void **unused)
{
    char *text = written(true, false);

    (void)unused;
    assert_non_null(strstr(text, "\r\033[K"));
    assert_null(strstr(text, "\033[36m"));
    free(text);
    text = written(true, true);
    assert_non_null(strstr(text, "\033[36m"));
    free(text);
}

/* Names of devices and words of compilers are foreign texts. */
static void test_control_characters_are_not_shown(void **unused)
{
    struct gt_progress *progress;
    struct gt_err err = {0};
    size_t size;
    char *text;
    FILE *stream = open_memstream(&text, &size);

    (void)unused;
    OK(&err, gt_progress_new(&progress, stream, false, false, &err));
    gt_progress_title(progress, "a\033]0;own\007b");
    gt_progress_note(progress, "c\033[2Jd\ne \xc2\x9b"
                               "31m \xc3\xa9");
    gt_progress_wait(progress, "f\rg", 3);
    gt_progress_free(progress);
    fclose(stream);
    assert_string_equal(text, "a?]0;own?b\n  c?[2Jd e \xc2?31m \xc3\xa9\n  f?g; 3s\n");
    free(text);
}

/* A wait is told of at once, but not with each call. */
static void test_waiting(void **unused)
{
    struct gt_progress_state state = example();
    struct gt_progress *progress;
    struct gt_err err = {0};
    size_t size;
    char *text;
    FILE *stream = open_memstream(&text, &size);

    (void)unused;
    OK(&err, gt_progress_new(&progress, stream, false, false, &err));
    gt_progress_wait(progress, "it starts", 0.4);
    gt_progress_wait(progress, "it starts", 0.8);
    gt_progress_show(progress, &state, true);
    gt_progress_wait(progress, "it prepares", 1.2);
    gt_progress_free(progress);
    fclose(stream);
    assert_ptr_equal(strstr(text, "  it starts; 0s\n  racing; "), text);
    assert_non_null(strstr(text, "left\n  it prepares; 1s\n"));
    free(text);
    stream = open_memstream(&text, &size);
    OK(&err, gt_progress_new(&progress, stream, true, false, &err));
    gt_progress_wait(progress, "it starts", 0.4);
    gt_progress_clear(progress);
    fflush(stream);
    assert_string_equal(text, "\r\033[K  it starts; 0s\r\033[K");
    gt_progress_free(progress);
    fclose(stream);
    free(text);
}

static void test_silence(void **unused)
{
    struct gt_progress_state state = example();

    (void)unused;
    gt_progress_title(NULL, "x");
    gt_progress_show(NULL, &state, true);
    gt_progress_note(NULL, "x");
    gt_progress_wait(NULL, "x", 1);
    gt_progress_clear(NULL);
    gt_progress_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_format),
        cmocka_unit_test(test_widths),
        cmocka_unit_test(test_finite_spaces),
        cmocka_unit_test(test_plain_lines),
        cmocka_unit_test(test_a_terminal_line_is_rewritten),
        cmocka_unit_test(test_control_characters_are_not_shown),
        cmocka_unit_test(test_waiting),
        cmocka_unit_test(test_silence),
    };

    return cmocka_run_group_tests_name("progress", tests, NULL, NULL);
}
