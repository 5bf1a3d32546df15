/* fuzz_text.h - the bytes of a fuzz target as a text, for parsers that take one. */
#ifndef GT_FUZZ_TEXT_H
#define GT_FUZZ_TEXT_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A copy that ends with a zero, which the caller frees; NULL: there is no memory. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    if (!text)
        return NULL;
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

#endif
