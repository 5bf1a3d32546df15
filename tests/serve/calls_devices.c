/* calls_devices.c - several devices in a process, and what a call must not disturb under
 * libgemmtune_cublas.so: captures of other threads, small stacks, programs without products. */
#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "calls.h"

/* A kernel belongs to the device for which it was loaded; the stub refuses any other. */
void test_devices(void)
{
    const struct product p = plain(EX, 64, 48, 32);
    void *handle[2];

    for (int turn = 0; turn < 4; turn++)
        for (int i = 0; i < 2; i++) {
            use_device(i);
            if (turn == 0)
                handle[i] = new_handle();
            EXPECT(run(handle[i], &p));
        }
}

static void *change_devices(void *argument)
{
    const struct product p = plain(EX, 64, 48, 32);
    const struct memory *memory = argument;
    void *handle[2];

    for (int i = 0; i < 20; i++) {
        use_device(i & 1);
        if (i < 2)
            handle[i] = new_handle();
        EXPECT(call(handle[i & 1], &p, memory) == 0);
    }
    return NULL;
}

static void multiply_on_both(int products)
{
    const struct product p = plain(EX, 64, 48, 32);
    struct memory memory[4];
    pthread_t thread[4];

    for (int i = 0; i < 4; i++) {
        memory[i] = fill(&p);
        EXPECT(pthread_create(&thread[i], NULL, change_devices, &memory[i]) == 0);
    }
    for (int i = 0; i < 4; i++) {
        EXPECT(pthread_join(thread[i], NULL) == 0 && right(&p, &memory[i]));
        release(&memory[i]);
    }
    EXPECT(stub_blas_products == products);
}

void test_device_threads(void)
{
    multiply_on_both(0);
}

/* Checks of several threads at once share what is kept for them. */
void test_device_threads_checked(void)
{
    multiply_on_both(80);
}

/* The other device has another name. */
void test_untuned_device(void)
{
    const struct product p = plain(EX, 64, 48, 32);
    void *handle = new_handle();

    EXPECT(run(handle, &p));
    use_device(1);
    EXPECT(!run(new_handle(), &p));
    use_device(0);
    EXPECT(run(handle, &p));
}

/* Sizes that need 64 bits are cuBLAS's.  With one step of k, columns may be any distance apart. */
void test_wide(void)
{
    const float one = 1, zero = 0;
    const struct product p = plain(EX_64, 64, 48, 1);
    void *handle = new_handle();

    for (int shift = 31; shift <= 33; shift++) {
        struct memory memory = fill(&p);

        EXPECT(cublasGemmEx_64(handle, 0, 0, 64, 48, 1, &one, memory.a, 0, (int64_t)1 << shift,
                               memory.b, 0, 1, &zero, memory.c, 0, 64, GT_COMPUTE_32F, -1) == 0);
        EXPECT(right(&p, &memory));
        release(&memory);
    }
}

/* One of a thousand threads at once, each with a handle and a stream of its own. */
struct one_of_many {
    pthread_t thread;
    struct memory memory;
    int number;
};

static _Atomic(void *) left_behind; /* a handle, for the next thread */

static void *multiply_among_many(void *argument)
{
    struct one_of_many *mine = argument;
    const struct product p = plain(EX, 16, 24, 8);
    void *handle = new_handle(), *other;

    begin_context();
    cublasSetStream_v2(handle, (void *)(uintptr_t)(0x5000 + 16 * mine->number));
    EXPECT(call(handle, &p, &mine->memory) == 0);
    other = atomic_exchange(&left_behind, handle);
    if (other) {
        EXPECT(call(other, &p, &mine->memory) == 0);
        cublasDestroy_v2(other);
    }
    return NULL;
}

/* Handles are made in one thread, and used and destroyed in another. */
void test_many_threads(void)
{
    enum { THREADS = 1000 };
    static struct one_of_many many[THREADS];
    const struct product p = plain(EX, 16, 24, 8);
    const struct memory memory = fill(&p);

    for (int i = 0; i < THREADS; i++) {
        many[i].number = i;
        many[i].memory = memory;
        many[i].memory.c = many[i].memory.d = device_bytes(memory.c_bytes, 0);
        EXPECT(pthread_create(&many[i].thread, NULL, multiply_among_many, &many[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++)
        EXPECT(pthread_join(many[i].thread, NULL) == 0 && right(&p, &many[i].memory));
}

/* Products with several launches, of two threads on one stream: those of one are not between those
 * of the other, which has the same workspace. */
static void *multiply_on_shared(void *argument)
{
    const struct memory *memory = argument;
    struct product p = plain(EX, 501, 501, 501);
    void *handle = new_handle();

    p.at = p.ct = GT_CUDA_R_16BF;
    begin_context();
    for (int i = 0; i < random_products(); i++)
        EXPECT(call(handle, &p, memory) == 0);
    cublasDestroy_v2(handle);
    return NULL;
}

void test_shared_stream(void)
{
    struct product p = plain(EX, 501, 501, 501);
    struct memory memory[2];
    pthread_t thread[2];
    const int calls = random_products();
    int launches, first;

    p.at = p.ct = GT_CUDA_R_16BF;
    for (int i = 0; i < 2; i++)
        memory[i] = fill(&p);
    multiply_on_shared(&memory[0]);
    launches = stub_launched_count / calls;
    EXPECT(launches > 1 && stub_launched_count % calls == 0);
    first = stub_launched_count;
    for (int i = 0; i < 2; i++)
        EXPECT(pthread_create(&thread[i], NULL, multiply_on_shared, &memory[i]) == 0);
    for (int i = 0; i < 2; i++)
        EXPECT(pthread_join(thread[i], NULL) == 0);
    EXPECT(stub_launched_count == first + 2 * calls * launches);
    for (int i = first; i < stub_launched_count; i++)
        EXPECT(stub_launched[i].workspace == stub_launched[0].workspace &&
               stub_launched[i].d == stub_launched[i - (i - first) % launches].d);
}

static int threads(void)
{
    DIR *folder = opendir("/proc/self/task");
    int count = 0;

    while (folder && readdir(folder))
        count++;
    if (folder)
        closedir(folder);
    return count - 2;
}

/* A program that multiplies nothing has no thread of this library's, whatever its settings. */
void test_settings_alone(void)
{
    const int before = threads(); /* a sanitizer may have one */
    void *handle = new_handle();

    cublasSetStream_v2(handle, NULL);
    cublasSetPointerMode_v2(handle, 1);
    cublasSetMathMode(handle, GT_MATH_TF32);
    cublasSetAtomicsMode(handle, 1);
    cublasSetSmCountTarget(handle, 4);
    cublasDestroy_v2(handle);
    EXPECT(threads() == before);
}

static void *multiply_once(void *argument)
{
    const struct product p = plain(EX, 64, 48, 32);

    begin_context();
    EXPECT(call(new_handle(), &p, argument) == 0);
    return NULL;
}

/* The first product, with which everything begins, in the smallest thread that there is. */
void test_small_stack(void)
{
    const struct product p = plain(EX, 64, 48, 32);
    struct memory memory = fill(&p);
    pthread_attr_t attributes;
    pthread_t thread;

    pthread_attr_init(&attributes);
    EXPECT(pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN) == 0);
    EXPECT(pthread_create(&thread, &attributes, multiply_once, &memory) == 0);
    EXPECT(pthread_join(thread, NULL) == 0 && right(&p, &memory));
}

/* The user forbids TF32, whatever the program allows. */
void test_no_tf32(void)
{
    struct product p = plain(SGEMM, 64, 48, 32);
    void *handle = new_handle();

    cublasSetMathMode(handle, GT_MATH_TF32);
    EXPECT(run(handle, &p));
    p.way = EX;
    p.compute = GT_COMPUTE_32F_FAST_TF32;
    cublasSetMathMode(handle, GT_MATH_DEFAULT);
    EXPECT(run(handle, &p));
}

/* The program has taken every key of thread-specific values: the library gets none, and leaves the
 * program's values alone. */
void test_no_key_left(void)
{
    const struct product p = plain(MATMUL, 64, 48, 32);
    static pthread_key_t key[PTHREAD_KEYS_MAX + 1];
    int count = 0;

    while (count <= PTHREAD_KEYS_MAX && pthread_key_create(&key[count], NULL) == 0)
        count++;
    EXPECT(count > 0 && count <= PTHREAD_KEYS_MAX);
    for (int i = 0; i < count; i++)
        EXPECT(pthread_setspecific(key[i], &key[i]) == 0);
    for (int i = 0; i < 2; i++)
        EXPECT(run(NULL, &p));
    for (int i = 0; i < count; i++)
        EXPECT(pthread_getspecific(key[i]) == &key[i]);
}
