/* calls_around.c - what is around a product under libgemmtune_cublas.so: streams, workspaces,
 * contexts, a reset of the device, two versions of cuBLAS, the end of the program. */
#include <dlfcn.h>
#include <string.h>

#include "calls.h"

/* Every stream is handed on: the default one (which is 1, too), that of each thread, and one of the
 * program's. */
void test_streams(void)
{
    const uintptr_t streams[] = {0, 1, 2, 0x5000};
    const struct product p = plain(EX, 64, 48, 32);
    void *handle = new_handle();

    for (size_t i = 0; i < sizeof(streams) / sizeof(*streams); i++) {
        cublasSetStream_v2(handle, (void *)streams[i]);
        EXPECT(run(handle, &p));
        EXPECT(stub_last_stream == (void *)(streams[i] ? streams[i] : 1));
    }
}

/* A program may set a handle by calls that no hook sees, at any time: the next product is that of
 * what the handle is set to. */
void test_unseen(void)
{
    const struct product p = plain(EX, 64, 48, 32);
    void *handle = new_handle();
    struct stub_settings to = {.stream = (void *)0x5000};

    for (int i = 0; i < 100; i++)
        EXPECT(run(handle, &p));
    for (int i = 1; i < 4; i++, to.stream = (char *)to.stream + 0x1000) {
        cublasStubSet(handle, &to);
        EXPECT(run(handle, &p));
        EXPECT(stub_last_stream == to.stream);
    }
    to.pointers = 1;
    cublasStubSet(handle, &to);
    EXPECT(!run(handle, &p));
    to.pointers = 0;
    cublasStubSet(handle, &to);
    EXPECT(run(handle, &p));
}

/* The same of another handle, of which only the arithmetic is set so. */
void test_unseen_math(void)
{
    const struct product p = plain(SGEMM, 64, 48, 32);
    const struct stub_settings strict = {.math = 2 /* pedantic */};
    void *handle = new_handle();

    cublasSetMathMode(handle, GT_MATH_TF32);
    for (int i = 0; i < 100; i++)
        EXPECT(run(handle, &p));
    cublasStubSet(handle, &strict);
    EXPECT(!run(handle, &p));
}

/* A product of few elements and a deep sum, of which the winner divides the sum. */
static struct product deep(int number)
{
    static const int of[][4] = {{16, 16, 65536, GT_CUDA_R_16BF}, {64, 64, 16384, GT_CUDA_R_16BF},
                                {64, 64, 8192, GT_CUDA_R_16F},   {32, 32, 32768, GT_CUDA_R_32F},
                                {8, 8, 100000, GT_CUDA_R_32F},   {64, 64, 16384, GT_CUDA_R_32F}};
    struct product p = plain(EX, of[number][0], of[number][1], of[number][2]);

    p.at = p.ct = of[number][3];
    return p;
}
#define DEEP 6

/* The first of them whose winner needs a workspace, which there is none of while capturing. */
static struct product find_workspace(void *handle)
{
    struct product p;

    for (int i = 0; i < DEEP; i++) {
        p = deep(i);
        stub_capturing = 0;
        if (!run(handle, &p))
            continue;
        stub_capturing = 1;
        if (!run(handle, &p))
            return p;
    }
    EXPECT(!"a winner that needs a workspace");
    return p;
}

/* While a graph is captured, a workspace must be the program's. */
void test_workspaces(void)
{
    char *workspace = device_bytes(16 << 20, 0);
    void *handle = new_handle();
    const struct product p = find_workspace(handle);

    cublasSetWorkspace_v2(handle, workspace, 8 << 20);
    EXPECT(run(handle, &p));
    cublasSetWorkspace_v2(handle, workspace + 128, 8 << 20); /* cuBLAS asks for 256 */
    EXPECT(!run(handle, &p));
    cublasSetWorkspace_v2(handle, workspace, 16);
    EXPECT(!run(handle, &p));
    cublasSetWorkspace_v2(handle, workspace, 8 << 20);
    cublasSetStream_v2(handle, (void *)0x5000); /* takes it away */
    EXPECT(!run(handle, &p));
    stub_capturing = 0;
    EXPECT(run(handle, &p));
    cublasSetStream_v2(handle, (void *)2); /* another stream in each thread: no memory of ours */
    EXPECT(!run(handle, &p));
    cublasSetWorkspace_v2(handle, workspace, 8 << 20);
    EXPECT(run(handle, &p));
}

/* A program may make any number of handles, one after the other at an address of its own: what the
 * last one is set to is noted as for the first. */
void test_many_handles(void)
{
    enum { HANDLES = 10000 };
    static void *between[HANDLES]; /* so that no address comes twice */
    void *workspace = device_bytes(16 << 20, 0), *handle = new_handle();
    const struct product p = find_workspace(handle);

    for (int i = 0; i < HANDLES; i++) {
        cublasSetWorkspace_v2(handle, workspace, 8 << 20);
        EXPECT(cublasDestroy_v2(handle) == 0);
        between[i] = malloc(32);
        handle = new_handle();
    }
    EXPECT(!run(handle, &p)); /* it has none */
    cublasSetWorkspace_v2(handle, workspace, 8 << 20);
    EXPECT(run(handle, &p));
    for (int i = 0; i < HANDLES; i++)
        free(between[i]);
}

/* A winner that sums with atomics is served where the program has allowed them. */
void test_atomics(void)
{
    void *handle = new_handle();
    int served = 0;

    for (int i = 0; i < DEEP && !served; i++) {
        const struct product p = deep(i);

        if (run(handle, &p))
            continue;
        cublasSetAtomicsMode(handle, 1);
        served = run(handle, &p);
        cublasSetAtomicsMode(handle, 0);
        EXPECT(!run(handle, &p));
    }
    EXPECT(served);
}

/* A context that the program has made itself, and none. */
void test_contexts(void)
{
    const struct product p = plain(EX, 64, 48, 32);
    void *handle = new_handle();

    EXPECT(run(handle, &p));
    EXPECT(cuCtxPushCurrent_v2((void *)0x4000) == 0);
    EXPECT(!run(handle, &p));
    EXPECT(cuCtxPushCurrent_v2(NULL) == 0);
    EXPECT(!run(handle, &p));
    begin_context();
    EXPECT(run(handle, &p));
}

/* A program that has only a context of its own gets no primary one. */
void test_no_primary(void)
{
    const struct product p = plain(EX, 64, 48, 32);
    void *handle = new_handle();
    int made;

    EXPECT(cuDevicePrimaryCtxRelease_v2(0) == 0); /* which calls.c has retained */
    made = atomic_load(&stub_primaries_made);
    EXPECT(cuCtxPushCurrent_v2((void *)0x4000) == 0);
    EXPECT(!run(handle, &p));
    EXPECT(atomic_load(&stub_primaries_made) == made);
    begin_context();
    EXPECT(run(handle, &p));
}

/* A reset frees what was loaded, and the program makes new handles. */
void test_reset(void)
{
    const struct product p = plain(EX, 64, 48, 32);
    void *handle = new_handle();

    EXPECT(run(handle, &p));
    EXPECT(run(new_handle(), &p)); /* another one alone is no reset */
    setenv("STUB_RESET", "1", 1);
    handle = new_handle();
    EXPECT(!run(handle, &p));
    EXPECT(!run(handle, &p));
}

/* Whether the library has handed the product to cublasLtMatmul. */
static bool handed_over(void *handle, const struct product *p)
{
    EXPECT(!run(handle, p)); /* it is cuBLAS that computes it either way */
    return strcmp(stub_blas_last, "cublasLtMatmul") == 0;
}

/* An algorithm was chosen for operands at multiples of 256 bytes, and its first launch may load
 * code. */
void test_vendor(void)
{
    const struct product p = plain(EX, 64, 48, 32);
    struct product skewed = p;
    void *handle = new_handle();

    skewed.skew = 16;
    EXPECT(!handed_over(handle, &skewed));
    stub_capturing = 1;
    EXPECT(!handed_over(handle, &p));
    stub_capturing = 0;
    EXPECT(handed_over(handle, &p));
    stub_capturing = 1;
    EXPECT(handed_over(handle, &p));
}

static void *late_handle;

static void late(void)
{
    const struct product known = plain(EX, 64, 48, 32), fresh = plain(EX, 20, 12, 36);

    run(late_handle, &known);
    EXPECT(!run(late_handle, &fresh)); /* nobody is left to decide */
}

/* Products of handlers that run after the session's end. */
void test_exit(void)
{
    const struct product p = plain(EX, 64, 48, 32);

    EXPECT(atexit(late) == 0);
    late_handle = new_handle();
    EXPECT(run(late_handle, &p));
}

/* A library that is linked to another version of cuBLAS than the program. */
void test_versions(void)
{
    const bool serving = strcmp(getenv("GEMMTUNE_SERVE"), "any") == 0;
    const struct product p = plain(EX, 64, 48, 32);
    struct memory memory = fill(&p);
    void *extension = dlopen(getenv("EXTENSION_OTHER"), RTLD_NOW | RTLD_LOCAL);
    void *blas = dlopen("libcublas.so." OTHER_VERSION, RTLD_NOW | RTLD_NOLOAD);
    void *lt = dlopen("libcublasLt.so." OTHER_VERSION, RTLD_NOW | RTLD_NOLOAD);
    const int before = stub_blas_products;
    int (*multiply)(void *, const void *, const void *, void *), (*create)(void **);
    void *address, *handle;
    int *products, others;

    EXPECT(extension && blas && lt);
    products = dlsym(lt, "stub_blas_products");
    EXPECT(products && products != &stub_blas_products);
    others = *products;
    address = dlsym(blas, "cublasCreate_v2");
    memcpy(&create, &address, sizeof(create));
    EXPECT(address && create != cublasCreate_v2 && create(&handle) == 0);
    address = dlsym(extension, "extension_multiply");
    memcpy(&multiply, &address, sizeof(multiply));
    EXPECT(multiply(handle, memory.a, memory.b, memory.c) == 0 && right(&p, &memory));
    EXPECT(stub_blas_products == before && *products == others + !serving);
    EXPECT(run(new_handle(), &p) == serving);
    EXPECT(*products == others + !serving);
}
