/* copies.c - several copies of cuBLAS in a process: renamed ones as wheels bring them, one that is
 * linked into an extension, one of the same name in another folder, one that is closed and opened
 * again.  The program is linked to none of them.
 *
 * It prints which copy made a handle and which one multiplied.  tests/serve/preloaded runs it
 * without libgemmtune_cublas.so and with it: where nothing is served the answers are the same. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "serve/blas.h"

/* The stub driver. */
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxPushCurrent_v2(void *context);
int cuMemAlloc_v2(uint64_t *address, size_t bytes);

enum { M = 64, N = 48, K = 32 };

struct library {
    void *loaded;
    int (*create)(void **handle), (*stream)(void *handle, void **stream);
    int (*multiply)(void *handle, const void *a, const void *b, void *c);
    int (*products)(void), (*lt_products)(void);
    void (*find)(const char *name, const char *version, void **found);
};

static float *a, *b, *c;

static void find(void *loaded, const char *name, void *function)
{
    void *address = dlsym(loaded, name);

    memcpy(function, &address, sizeof(address));
}

static struct library load_as(const char *name, int flags)
{
    struct library library = {.loaded = NULL};
    char path[4096];

    snprintf(path, sizeof(path), "%s/%s", getenv("EXTENSIONS"), name);
    library.loaded = dlopen(path, RTLD_NOW | flags);
    if (!library.loaded) {
        printf("%s\n", dlerror());
        return library;
    }
    find(library.loaded, "extension_create", &library.create);
    find(library.loaded, "extension_multiply", &library.multiply);
    find(library.loaded, "extension_stream", &library.stream);
    find(library.loaded, "extension_find", &library.find);
    find(library.loaded, "cublasStubProducts", &library.products);
    find(library.loaded, "cublasLtStubProducts", &library.lt_products);
    return library;
}

static struct library load(const char *name)
{
    return load_as(name, RTLD_LOCAL);
}

static int is_right(void)
{
    for (int j = 0; j < N; j++)
        for (int i = 0; i < M; i++) {
            float sum = 0;

            for (int k = 0; k < K; k++)
                sum += a[k * M + i] * b[j * K + k];
            if (sum != c[j * M + i])
                return 0;
        }
    return 1;
}

/* Multiplies through the library and prints what its functions answer, and how many products its
 * copy of cuBLAS and of cuBLASLt have computed for it. */
static void multiply(const char *label, const struct library *library)
{
    const int before = library->products(), lt_before = library->lt_products();
    void *handle = NULL, *stream;
    int made, asked, done;

    memset(c, 0xff, M * N * sizeof(*c));
    made = library->create(&handle);
    asked = made ? -1 : library->stream(handle, &stream);
    done = made ? -1 : library->multiply(handle, a, b, c);
    printf("  %s: %d %d %d, %s, %d and %d\n", label, made, asked, done,
           is_right() ? "right" : "wrong", library->products() - before,
           library->lt_products() - lt_before);
}

static void alone(void)
{
    const struct library renamed = load("extension-renamed.so");

    multiply("renamed", &renamed);
}

static void inside(void)
{
    const struct library inner = load("extension-static.so");

    multiply("linked in", &inner);
}

/* Whoever is loaded first. */
static void among(const char *first, const char *second, int flags)
{
    const struct library one = load_as(first, flags);
    struct library two;

    multiply(first, &one);
    two = load(second);
    multiply(second, &two);
    multiply(first, &one);
}

static void renamed_first(void)
{
    among("extension-renamed.so", "extension-13.so", RTLD_LOCAL);
}

static void renamed_second(void)
{
    among("extension-13.so", "extension-renamed.so", RTLD_LOCAL);
}

static void static_first(void)
{
    among("extension-static.so", "extension-13.so", RTLD_LOCAL);
}

static void static_second(void)
{
    among("extension-12.so", "extension-static.so", RTLD_LOCAL);
}

/* The linked-in one calls what the whole process sees, as it would without this library. */
static void static_after_global(void)
{
    among("extension-13.so", "extension-static.so", RTLD_GLOBAL);
}

/* Two folders have a library of the same name; each is asked by name. */
static void twins(void)
{
    int(*gemm) GT_PARAMETERS_EX(int);
    const float one = 1, zero = 0;

    for (int i = 0; i < 4; i++) {
        const char *folder = getenv(i % 2 ? "TWIN" : "STUBS");
        int (*create)(void **), (*products)(void), (*lt_products)(void), *nested, before, status;
        char path[4096];
        void *lt, *blas, *handle = NULL;

        snprintf(path, sizeof(path), "%s/libcublasLt.so.13", folder);
        lt = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        snprintf(path, sizeof(path), "%s/libcublas.so.13", folder);
        blas = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!lt || !blas) {
            printf("%s\n", dlerror());
            return;
        }
        find(blas, "cublasCreate_v2", &create);
        find(blas, "cublasGemmEx", &gemm);
        find(blas, "cublasStubProducts", &products);
        find(lt, "cublasLtStubProducts", &lt_products);
        nested = dlsym(blas, "stub_blas_nested");
        *nested = 1;
        before = lt_products();
        memset(c, 0xff, M * N * sizeof(*c));
        status = create(&handle);
        if (!status)
            status = gemm(handle, 0, 0, M, N, K, &one, a, 0, M, b, 0, K, &zero, c, 0, M,
                          GT_COMPUTE_32F, -1);
        printf("  folder %d: %d, %s, %d\n", i % 2, status, is_right() ? "right" : "wrong",
               lt_products() - before);
    }
}

/* Another namespace has no preloaded libraries. */
static void namespace(void)
{
    char path[4096];
    struct library other = {.loaded = NULL};

    snprintf(path, sizeof(path), "%s/extension-13.so", getenv("EXTENSIONS"));
    other.loaded = dlmopen(LM_ID_NEWLM, path, RTLD_NOW | RTLD_LOCAL);
    if (!other.loaded) {
        printf("%s\n", dlerror());
        return;
    }
    find(other.loaded, "extension_create", &other.create);
    find(other.loaded, "extension_multiply", &other.multiply);
    find(other.loaded, "extension_stream", &other.stream);
    find(other.loaded, "cublasStubProducts", &other.products);
    find(other.loaded, "cublasLtStubProducts", &other.lt_products);
    multiply("of another namespace", &other);
}

static void reopened(void)
{
    for (int i = 0; i < 3; i++) {
        const struct library library = load(i % 2 ? "extension-12.so" : "extension-13.so");

        multiply("opened", &library);
        printf("  closed: %d\n", dlclose(library.loaded));
    }
}

/* What a library finds that asks for cuBLAS's functions by name: those of its own dependencies,
 * which nobody else sees.  A handle is made by what was found. */
static void asked_inside(const char *file)
{
    static const char *const names[] = {"cublasSgemm_v2",     "cublasGemmEx",
                                        "cublasSetStream_v2", "cublasLtMatmul",
                                        "cublasGetStream_v2", "cublasNothing"};
    static const char *const versions[] = {NULL, "libcublas.so.11", "libcublas.so.12",
                                           "libcublas.so.13", "libcublasLt.so.13"};
    struct library library = load(file);

    for (size_t v = 0; v < sizeof(versions) / sizeof(versions[0]); v++) {
        void *address, *handle = NULL, *stream;
        int (*create)(void **handle);

        printf("  %s, %s:", file, versions[v] ? versions[v] : "any version");
        library.find("cublasCreate_v2", versions[v], &address);
        memcpy(&create, &address, sizeof(address));
        if (create && create(&handle) == 0)
            printf(" made %d,", library.stream(handle, &stream));
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
            const char *why;

            dlerror();
            library.find(names[i], versions[v], &address);
            why = dlerror();
            printf(" %d%s", address != NULL, why && strstr(why, file) ? " not in it" : "");
        }
        printf("\n");
    }
}

static void inside_out(void)
{
    asked_inside("extension-13.so");
    asked_inside("extension-12.so");
    asked_inside("extension-renamed.so");
    asked_inside("extension-static.so");
}

/* What dlsym says where there is nothing. */
static void absent(void)
{
    static const char *const names[] = {"cublasGemmEx", "cublasLtMatmul", "cublasNothing"};
    struct library library;

    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < 3; i++) {
            void *found;
            const char *why;

            dlerror();
            found = dlsym(RTLD_DEFAULT, names[i]);
            why = dlerror();
            printf("  %s: %s, %s\n", names[i], found ? "found" : "nothing",
                   !why                              ? "no error"
                   : strstr(why, "undefined symbol") ? "undefined symbol"
                                                     : why);
        }
        library = load("extension-13.so"); /* locally: not for everybody */
        multiply("loaded", &library);
    }
    printf("  by version: %s\n",
           dlvsym(library.loaded, "cublasGemmEx", "libcublas.so.13") ? "found" : "nothing");
}

static const struct {
    const char *name;
    void (*run)(void);
} scenes[] = {{"renamed", alone},
              {"linked in", inside},
              {"renamed, then usual", renamed_first},
              {"usual, then renamed", renamed_second},
              {"linked in, then usual", static_first},
              {"another version, then linked in", static_second},
              {"usual for everybody, then linked in", static_after_global},
              {"two folders", twins},
              {"a namespace", namespace},
              {"closed and opened", reopened},
              {"asked for by name inside", inside_out},
              {"nothing there", absent}};

static float *device_floats(int count, int salt)
{
    uint64_t address = 0;
    float *at;

    if (cuMemAlloc_v2(&address, (size_t)count * sizeof(*at)))
        exit(9);
    at = (float *)(uintptr_t)address;
    for (int i = 0; i < count; i++)
        at[i] = (float)((i * 7 + salt) % 11 - 5);
    return at;
}

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++) {
        int status = 0;
        pid_t child;

        if (argc > 1 && !strstr(scenes[i].name, argv[1]))
            continue;
        printf("%s\n", scenes[i].name);
        fflush(stdout);
        child = fork();
        if (child == 0) {
            void *context = NULL;

            cuDevicePrimaryCtxRetain(&context, 0);
            cuCtxPushCurrent_v2(context);
            a = device_floats(M * K, 1);
            b = device_floats(K * N, 3);
            c = device_floats(M * N, 0);
            scenes[i].run();
            exit(0);
        }
        waitpid(child, &status, 0);
        if (status)
            printf("  status %d\n", status);
    }
    return 0;
}
