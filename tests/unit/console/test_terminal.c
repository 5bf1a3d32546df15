/* test_terminal.c - what a terminal gets of texts that hold escape sequences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "console/terminal.h"

static bool raw;

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
        FILE *to = open_memstream(&shown, &size), *terminal = gt_terminal_open(to, &raw);

        assert_non_null(terminal);
        fputs(cases[i].text, terminal);
        assert_int_equal(fclose(terminal), 0);
        fclose(to);
        assert_string_equal(shown, cases[i].shown);
        free(shown);
    }
}

/* What a terminal has been given, without the carriage returns that it adds: `wanted` characters,
   which arrive in pieces, and whatever comes with them; fewer when nothing arrives for a
   minute. */
static void read_terminal(int master, char shown[static 256], size_t wanted)
{
    struct pollfd ready = {.fd = master, .events = POLLIN};
    size_t used = 0;

    while (used < wanted && poll(&ready, 1, 60000) > 0) {
        char piece[128];
        const ssize_t got = read(master, piece, sizeof(piece));

        assert_true(got > 0);
        assert_true(used + (size_t)got < 256);
        for (ssize_t at = 0; at < got; at++)
            if (piece[at] != '\r')
                shown[used++] = piece[at];
    }
    shown[used] = '\0';
}

/* A real terminal of 30 columns: lines are broken at spaces, behind commas, else where they must.
 */
static void test_width(void **state)
{
    static const struct {
        bool raw;
        const char *text, *shown;
    } cases[] = {
        {false, "a line of thirty columns, whole\n", "a line of thirty columns,\n  whole\n"},
        {false, "123456789012345678901234567890\n", "123456789012345678901234567890\n"},
        {true, "a line of more than thirty columns\n", "a line of more than thirty columns\n"},
        {false, "  key     what it means in a long sentence\n",
         "  key     what it means in a\n          long sentence\n"},
        {false, "\033[1mAB=1,CD=2,EF=3,GH=4,IJ=5,KL=666\033[0m\n",
         "\033[1mAB=1,CD=2,EF=3,GH=4,IJ=5,\n  KL=666\033[0m\n"},
        {false, "1234567890123456789012345678901234\n", "123456789012345678901234567890\n  1234\n"},
        {false, "caf\303\251 caf\303\251 caf\303\251 caf\303\251 caf\303\251 caf\303\251\n",
         "caf\303\251 caf\303\251 caf\303\251 caf\303\251 caf\303\251 caf\303\251\n"},
        {false, "no end of a line, wider than thirty", "no end of a line, wider than\n  thirty"},
    };
    const struct winsize size = {.ws_row = 24, .ws_col = 30};
    int master = posix_openpt(O_RDWR | O_NOCTTY);

    (void)state;
    if (master < 0 || grantpt(master) || unlockpt(master) || ioctl(master, TIOCSWINSZ, &size))
        skip();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        FILE *to = fdopen(open(ptsname(master), O_WRONLY | O_NOCTTY), "w");
        FILE *terminal = to ? gt_terminal_open(to, &raw) : NULL;
        char shown[256];

        assert_non_null(terminal);
        raw = cases[i].raw;
        fputs(cases[i].text, terminal);
        assert_int_equal(fclose(terminal), 0);
        read_terminal(master, shown, strlen(cases[i].shown));
        assert_string_equal(shown, cases[i].shown);
        fclose(to);
    }
    raw = false;
    close(master);
}

/* A terminal of so few columns that breaking makes no sense gets lines as they are. */
static void test_narrow(void **state)
{
    static const char text[] = "wide=1,text=2 and more\n";
    struct winsize size = {.ws_row = 24};
    int master = posix_openpt(O_RDWR | O_NOCTTY);

    (void)state;
    if (master < 0 || grantpt(master) || unlockpt(master))
        skip();
    for (size.ws_col = 1; size.ws_col < 20; size.ws_col++) {
        FILE *to = fdopen(open(ptsname(master), O_WRONLY | O_NOCTTY), "w"), *terminal;
        char shown[256];

        assert_int_equal(ioctl(master, TIOCSWINSZ, &size), 0);
        terminal = gt_terminal_open(to, &raw);
        assert_non_null(terminal);
        alarm(60);
        fputs(text, terminal);
        assert_int_equal(fclose(terminal), 0);
        alarm(0);
        read_terminal(master, shown, strlen(text));
        assert_string_equal(shown, text);
        fclose(to);
    }
    close(master);
}

static void test_failure_is_told(void **state)
{
    FILE *full = fopen("/dev/full", "w"), *terminal;

    (void)state;
    if (!full)
        skip();
    terminal = gt_terminal_open(full, &raw);
    fputs("text\n", terminal);
    assert_int_not_equal(fclose(terminal) | ferror(full), 0);
    fclose(full);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_width),
        cmocka_unit_test(test_narrow),
        cmocka_unit_test(test_failure_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
