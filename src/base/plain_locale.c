/* plain_locale.c - vocabulary: switches one thread to the "C" locale for a while.  See
 * plain_locale.h. */
#include "base/plain_locale.h"

locale_t gt_locale_enter(void)
{
    return uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
}

void gt_locale_leave(locale_t before)
{
    uselocale(before);
}
