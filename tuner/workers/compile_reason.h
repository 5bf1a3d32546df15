/* compile_reason.h - why a source did not compile, for people. */
#ifndef GT_COMPILE_REASON_H
#define GT_COMPILE_REASON_H

#include <stddef.h>

/* Quotes the compiler's log from its first error on; later errors are often a consequence of it.
 * The first line also says what helps: folders of headers, or dynamic shared memory, of which NVRTC
 * itself says nothing. */
void gt_compile_reason(char *text, size_t size, const char *log);

#endif
