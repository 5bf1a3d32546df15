/* terminal.c - output to a terminal; see terminal.h. */
#include "console/terminal.h"

#include "base/err.h"

#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/types.h>
#include <unistd.h>

#define LEAST 20 /* columns of a broken text, however narrow the terminal is */

/* ESC [ digits m at text: its length; 0: something else. */
static size_t colour_length(const char *text, size_t size)
{
    size_t i = 2;

    if (size < 3 || text[0] != '\033' || text[1] != '[')
        return 0;
    while (i < size && text[i] >= '0' && text[i] <= '9')
        i++;
    return i < size && text[i] == 'm' ? i + 1 : 0;
}

static ssize_t write_clean(void *cookie, const char *text, size_t size)
{
    FILE *to = cookie;

    for (size_t i = 0; i < size; i++) {
        size_t colour = colour_length(text + i, size - i);

        if (colour) {
            fwrite(text + i, 1, colour, to);
            i += colour - 1;
        } else {
            fputc(gt_is_control(text, i) && text[i] != '\n' && text[i] != '\t' ? '?' : text[i], to);
        }
    }
    return ferror(to) || fflush(to) ? 0 : (ssize_t)size; /* 0 tells the stream that it failed */
}

FILE *gt_terminal_open(FILE *to)
{
    FILE *stream = fopencookie(to, "w", (cookie_io_functions_t){.write = write_clean});

    if (stream)
        setvbuf(stream, NULL, _IOLBF, 4096);
    return stream;
}

int gt_terminal_width(void)
{
    struct winsize window;

    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) ? 0 : window.ws_col;
}

void gt_terminal_wrap(FILE *out, const char *text, int column, int width)
{
    const int room = width - column > LEAST ? width - column : LEAST;

    while (width > 0 && (int)strlen(text) > room) {
        int cut = room;

        while (cut > 1 && text[cut] != ' ')
            cut--;
        fprintf(out, "%.*s\n%*s", cut, text, column, "");
        text += cut + (text[cut] == ' ');
    }
    fprintf(out, "%s\n", text);
}
