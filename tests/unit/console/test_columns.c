/* test_columns.c - tests which columns of a table are shown on terminals of which width. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "console/terminal.h"

static const struct gt_column figures[] = {
    {"stored us", 11, 3}, {"now us", 11, 0}, {"margin", 10, 1}, {"next us", 11, 2}};
static const char *const cell[] = {"1.00", "2.00", "+3 %", "4.00"};

/* A heading and a row as text; malloc'ed. */
static char *table(int width, const char *lead, const char *tail)
{
    struct gt_columns columns;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_non_null(out);
    gt_columns_choose(&columns, figures, 4, 12, width);
    gt_columns_row(&columns, out, "problem", NULL, "winner");
    gt_columns_row(&columns, out, lead, cell, tail);
    fclose(out);
    return text;
}

static void expect(int width, const char *lead, const char *tail, const char *want)
{
    char *text = table(width, lead, tail);

    assert_string_equal(text, want);
    free(text);
}

static void test_rows(void **unused)
{
    (void)unused;
    expect(0, "8x8x8", "simt A=1",
           "problem        stored us      now us     margin     next us  winner\n"
           "8x8x8               1.00        2.00       +3 %        4.00  simt A=1\n");
    /* The figures of least rank come first; a tail without room gets a line. */
    expect(50, "8x8x8", "simt A=1",
           "problem           now us     margin     next us\n  winner\n"
           "8x8x8               2.00       +3 %        4.00\n  simt A=1\n");
    expect(37, "8x8x8", "simt A=1",
           "problem           now us     margin\n  winner\n"
           "8x8x8               2.00       +3 %\n  simt A=1\n");
    /* Two are always shown, below the lead if need be. */
    expect(30, "8x8x8", "simt A=1",
           "problem\n        now us     margin\n  winner\n"
           "8x8x8\n          2.00       +3 %\n  simt A=1\n");
    /* A long lead has a line of its own, and the figures stay where they are. */
    expect(37, "8x8x8:f32:nn:batch=3", "t",
           "problem           now us     margin\n  winner\n"
           "8x8x8:f32:nn:batch=3\n                    2.00       +3 %\n  t\n");
}

static void test_widths(void **unused)
{
    (void)unused;
    for (int width = 26; width <= 120; width++) {
        char *text = table(width, "8x8x8", "simt"), *at = text;

        assert_non_null(strstr(text, "2.00"));
        assert_non_null(strstr(text, "+3 %"));
        for (; *at; at += strcspn(at, "\n") + 1)
            assert_true((int)strcspn(at, "\n") <= width);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_widths),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
