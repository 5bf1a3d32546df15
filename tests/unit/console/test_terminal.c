/* test_terminal.c - what a terminal gets of texts that hold escape sequences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "console/terminal.h"

static void test_escapes(void **state)
{
    static const struct {
        const char *text, *shown;
    } cases[] = {
        {"plain\ttext\n", "plain\ttext\n"},
        {"\033[1mbold\033[0m", "\033[1mbold\033[0m"},
        {"\033]0;title\a", "?]0;title?"},
        {"\033[2J\033[H", "?[2J?[H"},
        {"\033[1", "?[1"},
        {"\302\233"
         "2J",
         "\302?2J"},
        {"caf\303\251 \303\200", "caf\303\251 \303\200"},
        {"back\b\r\177", "back???"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *shown = NULL;
        size_t size = 0;
        FILE *to = open_memstream(&shown, &size), *terminal = gt_terminal_open(to);

        assert_non_null(terminal);
        fputs(cases[i].text, terminal);
        assert_int_equal(fclose(terminal), 0);
        fclose(to);
        assert_string_equal(shown, cases[i].shown);
        free(shown);
    }
}

static void test_failure_is_told(void **state)
{
    FILE *full = fopen("/dev/full", "w"), *terminal;

    (void)state;
    if (!full)
        skip();
    terminal = gt_terminal_open(full);
    fputs("text\n", terminal);
    assert_int_not_equal(fclose(terminal) | ferror(full), 0);
    fclose(full);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_failure_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
