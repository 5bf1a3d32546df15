/* fail_malloc.c - builds a library for LD_PRELOAD that lets one allocation of libgemmtune_cublas.so
 * fail: the FAIL_AT-th that its code asks for, whichever thread it is in.  FAIL_NOTE: a file that
 * is made when it has. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *from, size_t size);

static long asked;

/* Whether the allocation that `caller` asks for is the one. */
static int fails(const void *caller)
{
    const char *at = getenv("FAIL_AT"), *note = getenv("FAIL_NOTE");
    Dl_info info;
    int file;

    if (!at || !note || !dladdr(caller, &info) || !info.dli_fname ||
        !strstr(info.dli_fname, "libgemmtune_cublas"))
        return 0;
    if (__atomic_add_fetch(&asked, 1, __ATOMIC_RELAXED) != strtol(at, NULL, 10))
        return 0;
    file = open(note, O_WRONLY | O_CREAT, 0600);
    if (file >= 0)
        close(file);
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *from, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(from, size);
}
