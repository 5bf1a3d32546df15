/* extension.h - what tests call of a library that is linked to cuBLAS. */
#ifndef GT_TEST_EXTENSION_H
#define GT_TEST_EXTENSION_H

int extension_create(void **handle);

/* C = A B in FP32, 64 x 48 x 32, column-major. */
int extension_multiply(void *handle, const void *a, const void *b, void *c);

/* Asks a function that nobody hooks. */
int extension_stream(void *handle, void **stream);

/* What the library finds by name, and with a version if that is not NULL. */
void extension_find(const char *name, const char *version, void **found);

#endif
