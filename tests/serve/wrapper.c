/* wrapper.c - another library that is preloaded and stands in for functions of cuBLAS, as profilers
 * do: it hands their calls on and says at the end how many there were.  Its definitions have no
 * versions.  It finds cuBLAS's by RTLD_NEXT, or, with WRAPPER_OPENS, in the library of that name.
 * With PRODUCTS_ONLY it leaves handles alone. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/blas.h"

static int products, handles;

static void find(const char *name, void *function)
{
    const char *opens = getenv("WRAPPER_OPENS");
    void *library = opens ? dlopen(opens, RTLD_LAZY | RTLD_NOLOAD) : RTLD_NEXT;
    void *address = dlsym(library, name);

    memcpy(function, &address, sizeof(address));
}

int cublasCreate_v2(void **handle);
int cublasGemmEx GT_PARAMETERS_EX(int);

#ifndef PRODUCTS_ONLY
int cublasCreate_v2(void **handle)
{
    int (*next)(void **);

    if (handles++ > 1000) {
        printf("the wrapper is called by what it calls\n");
        abort();
    }
    find("cublasCreate_v2", &next);
    return next ? next(handle) : GT_BLAS_NOT_INITIALIZED;
}
#endif

int cublasGemmEx GT_PARAMETERS_EX(int)
{
    int(*next) GT_PARAMETERS_EX(int);

    if (products++ > 1000) {
        printf("the wrapper is called by what it calls\n");
        abort();
    }
    find("cublasGemmEx", &next);
    return next ? next GT_NAMES_EX : GT_BLAS_NOT_INITIALIZED;
}

__attribute__((destructor)) static void tell(void)
{
    if (products + handles)
        printf("the wrapper has seen %d handles, %d products\n", handles, products);
}
