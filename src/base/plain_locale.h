/* plain_locale.h - vocabulary: numbers are read and written with a point, whatever locale the
 * program that links the library has chosen with setlocale. */
#ifndef GT_PLAIN_LOCALE_H
#define GT_PLAIN_LOCALE_H

#include <locale.h>

/* Between the two calls this thread works in the "C" locale; other threads are not affected.  leave
 * takes what enter returned.  They may be nested and cannot fail: glibc's "C" locale is static. */
locale_t gt_locale_enter(void);
void gt_locale_leave(locale_t before);

#endif
