/* calls_program.c - what a program may do beside its products, under libgemmtune_cublas.so:
 * threads, children, signals, workspaces, libraries of its own. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "calls.h"

/* Without GEMMTUNE_WAIT the first call is cuBLAS's, and later ones are served. */
void test_background(void)
{
    const struct product p = plain(EX, 64, 48, 32);
    void *handle = new_handle();
    bool served = run(handle, &p);

    EXPECT(!served);
    for (int i = 0; i < 20000 && !served; i++) {
        served = run(handle, &p);
        usleep(500);
    }
    EXPECT(served);
}

static void *many_calls(void *argument)
{
    void *handle = new_handle();

    begin_context();
    for (int i = 0; i < 200; i++) {
        const struct product p = plain((enum way)(i % 4 < 2 ? EX : MATMUL), 8 + 4 * (i % 5), 16, 8);
        const float alpha = 1, beta = 0;
        struct memory memory = *(struct memory *)argument;

        memory.c = (char *)memory.c + 0;
        EXPECT(p.way == EX
                   ? cublasGemmEx(handle, 0, 0, p.m, p.n, p.k, &alpha, memory.a, 0, p.lda, memory.b,
                                  0, p.ldb, &beta, memory.bias, 0, p.ldc, GT_COMPUTE_32F, -1) == 0
                   : true);
        cublasSetWorkspace_v2(handle, memory.c, 64);
        cublasSetStream_v2(handle, NULL);
    }
    cublasDestroy_v2(handle);
    return NULL;
}

void test_threads(void)
{
    const struct product p = plain(EX, 32, 32, 32);
    struct memory memory[4];
    pthread_t thread[4];

    for (int i = 0; i < 4; i++) {
        memory[i] = fill(&p);
        memory[i].bias = device_bytes(32 * 32 * 4, 0);
        EXPECT(pthread_create(&thread[i], NULL, many_calls, &memory[i]) == 0);
    }
    for (int i = 0; i < 4; i++) {
        EXPECT(pthread_join(thread[i], NULL) == 0);
        release(&memory[i]);
    }
}

/* A child has a session of its own, and the parent goes on. */
void test_fork(void)
{
    const struct product p = plain(EX, 64, 48, 32);
    void *handle = new_handle();
    int status = 0;
    pid_t child;

    EXPECT(run(handle, &p));
    child = fork();
    if (child == 0) {
        setenv("GEMMTUNE_SERVE", "0", 1);
        EXPECT(!run(handle, &p));
        exit(0);
    }
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
    EXPECT(run(handle, &p));
}

static void by_signal(int number)
{
    (void)number;
}

void test_own_signal(void)
{
    const struct product p = plain(EX, 8, 8, 8);
    struct sigaction now;

    signal(SIGUSR2, by_signal);
    run(new_handle(), &p);
    EXPECT(sigaction(SIGUSR2, NULL, &now) == 0 && now.sa_handler == by_signal);
    raise(SIGUSR2);
}

/* As Python loads extensions: a library with RTLD_LOCAL that is linked to cuBLAS. */
void test_local(void)
{
    const struct product p = plain(EX, 64, 48, 32);
    struct memory memory = fill(&p);
    void *extension = dlopen(getenv("EXTENSION"), RTLD_NOW | RTLD_LOCAL);
    int (*multiply)(void *, const void *, const void *, void *);
    void *address = extension ? dlsym(extension, "extension_multiply") : NULL;
    int before = stub_blas_products;

    EXPECT(address);
    memcpy(&multiply, &address, sizeof(multiply));
    EXPECT(multiply(new_handle(), memory.a, memory.b, memory.c) == 0);
    EXPECT(stub_blas_products == before && right(&p, &memory));
}

/* A workspace of the program's is used, and is not after cuBLAS has forgotten it. */
void test_handles(void)
{
    const struct product p = plain(EX, 64, 48, 32);
    void *handle = new_handle(), *workspace = device_bytes(1 << 20, 0);

    for (int i = 0; i < 200; i++) {
        cublasSetStream_v2(handle, NULL);
        cublasSetWorkspace_v2(handle, workspace, 1 << 20);
        cublasSetPointerMode_v2(handle, i % 3 == 2);
        EXPECT(run(handle, &p) == (i % 3 != 2));
    }
    cublasDestroy_v2(handle);
    handle = new_handle();
    EXPECT(run(handle, &p));
}

/* A program may change its folder before its first product; paths are those of where it began. */
void test_other_folder(void)
{
    const struct product p = plain(EX, 64, 48, 32);
    FILE *policy = fopen("elsewhere.policy", "w");

    EXPECT(policy && fputs("margin = 0\ndb = vendor.db\n", policy) >= 0 && fclose(policy) == 0);
    mkdir("elsewhere%p", 0755);
    EXPECT(chdir("elsewhere%p") == 0);
    EXPECT(run(new_handle(), &p));
}

void test_signal(void)
{
    const struct product p = plain(EX, 64, 48, 32);

    EXPECT(run(new_handle(), &p));
    raise(SIGUSR2);
    for (int i = 0; i < 60000 && access(getenv("GEMMTUNE_REPORT"), F_OK) != 0; i++)
        usleep(1000);
    EXPECT(access(getenv("GEMMTUNE_REPORT"), F_OK) == 0);
    _exit(0); /* nothing else writes it */
}

/* Where a function is found in a library of another name, dlsym leaves no error behind. */
static void find_elsewhere(void)
{
    void *library = dlopen("libcublas-1f3a.so.13", RTLD_LAZY | RTLD_LOCAL);

    EXPECT(library);
    dlerror();
    EXPECT(dlsym(library, "cublasGemmEx"));
    EXPECT(!dlerror());
}

/* A program that asks dlsym or dlvsym for cuBLAS's functions is served, and RTLD_NEXT means the
 * caller's. */
void test_dlsym(void)
{
    void *library = dlopen("libcublas.so." VERSION, RTLD_LAZY | RTLD_LOCAL);
    int(*gemm) GT_PARAMETERS_EX(int);
    struct product p = plain(EX, 64, 48, 32);
    struct memory memory = fill(&p);
    void *handle = new_handle(), *address;
    const float one = 1, zero = 0;
    int before = stub_blas_products;

    EXPECT(library);
    address = dlsym(library, "cublasGemmEx");
    memcpy(&gemm, &address, sizeof(gemm));
    EXPECT(address && gemm == cublasGemmEx); /* what the linker bound is the hook, too */
    EXPECT(gemm(handle, 0, 0, 64, 48, 32, &one, memory.a, 0, 64, memory.b, 0, 32, &zero, memory.c,
                0, 64, GT_COMPUTE_32F, -1) == 0);
    EXPECT(stub_blas_products == before && right(&p, &memory));
    EXPECT(dlsym(library, "cublasCreate_v2") == (void *)cublasCreate_v2);
    EXPECT(!dlsym(library, "cublasNoSuchFunction"));
    EXPECT(dlsym(RTLD_DEFAULT, "cublasGemmEx") == address);
    EXPECT(dlvsym(library, "cublasGemmEx", "libcublas.so." VERSION) == address);
    EXPECT(dlvsym(RTLD_DEFAULT, "cublasGemmEx", "libcublas.so." VERSION) == address);
    EXPECT(!dlvsym(library, "cublasGemmEx", "libcublas.so.10") && dlerror());
    EXPECT(dlsym(RTLD_NEXT, "cuMemAlloc_v2") == (void *)cuMemAlloc_v2);
    EXPECT(dlsym(RTLD_DEFAULT, "printf") == (void *)printf);
    find_elsewhere();
}
