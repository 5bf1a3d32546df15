/* devices_list.c - reads the list of GPUs that --devices names. */
#include "cluster/devices.h"

#include "base/err.h"

#include <string.h>

/* One part: "3" or "0-3".  *text moves behind it; false: it is none. */
static bool read_part(const char **text, unsigned *first, unsigned *last)
{
    int length = 0;

    if (sscanf(*text, "%4u%n", first, &length) != 1 || strspn(*text, "0123456789") < (size_t)length)
        return false;
    *text += length;
    *last = *first;
    if (**text == '-') {
        if (sscanf(*text + 1, "%4u%n", last, &length) != 1 || !strchr("0123456789", (*text)[1]))
            return false;
        *text += 1 + length;
    }
    return *first <= *last;
}

int gt_devices_parse(int *ordinal, size_t *count, const char *text, struct gt_err *err)
{
    bool named[GT_DEVICES_MAX] = {false};
    const char *at = text;
    unsigned first, last;

    *count = 0;
    if (strcmp(text, "all") == 0)
        return GT_OK;
    for (;;) {
        if (!read_part(&at, &first, &last) || last >= GT_DEVICES_MAX || (*at && *at != ','))
            return gt_err_set(err, GT_ESYNTAX,
                              "--devices \"%s\": expected \"all\" or numbers of GPUs from 0 to %d, "
                              "such as 0-3 or 0,2",
                              text, GT_DEVICES_MAX - 1);
        for (unsigned i = first; i <= last; i++)
            named[i] = true;
        if (!*at)
            break;
        at++;
    }
    for (int i = 0; i < GT_DEVICES_MAX; i++)
        if (named[i])
            ordinal[(*count)++] = i;
    return GT_OK;
}
