/* terminal.c - output to a terminal; see terminal.h. */
#include "console/terminal.h"

#include "base/err.h"

#include <stdbool.h>
#include <string.h>
#include <sys/types.h>

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
