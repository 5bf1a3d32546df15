/* calls.h - what the files of tests/serve/calls share: a product in every way that cuBLAS takes one
 * (product.c), and the tests of its other files. */
#ifndef GT_TEST_CALLS_H
#define GT_TEST_CALLS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "stub_blas.h"
#include "tests/faults/stub_launched.h"

/* The stub driver. */
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuCtxPushCurrent_v2(void *context);
int cuMemAlloc_v2(uint64_t *address, size_t bytes);
extern int stub_capturing, stub_other_capture, stub_spoilt;
extern void (*stub_damage)(void);
extern void *stub_last_stream;
extern atomic_int stub_primaries_made;

/* The version of cuBLAS that the program is linked to (STUB_MAJOR), and another one. */
#define TEXT_OF(number) #number
#define TEXT(number)    TEXT_OF(number)
#define VERSION         TEXT(STUB_MAJOR)
#if STUB_MAJOR == 13
#define OTHER_VERSION "12"
#else
#define OTHER_VERSION "13"
#endif

#define EXPECT(condition)                                              \
    do                                                                 \
        if (!(condition)) {                                            \
            printf("# line %d: %s is not so\n", __LINE__, #condition); \
            fflush(stdout);                                            \
            _exit(1);                                                  \
        }                                                              \
    while (0)

enum way {
    SGEMM,
    SGEMM_64,
    SGEMM_BATCHED,
    SGEMM_BATCHED_64,
    EX,
    EX_64,
    SGEMM_EX,
    SGEMM_EX_64,
    BATCHED_EX,
    BATCHED_EX_64,
    MATMUL,
    WAYS
};

struct product {
    enum way way;
    int ta, tb, at, ct, compute, epilogue;
    int m, n, k, lda, ldb, ldc, batch;
    long long sa, sb, sc;
    float alpha, beta;
    bool apart; /* C and D are two matrices (MATMUL) */
    int skew;   /* bytes that the operands are off their alignment */
};

struct memory {
    void *a, *b, *c, *d, *bias, *before; /* d: c, unless the product has them apart */
    size_t c_bytes;
};

/* Code of enum gt_dtype of a cudaDataType. */
int type_code(int type);

/* A number from 0 to count - 1, in the same order in every run. */
int draw(int count);

/* Memory of the device, `skew` bytes off its alignment.  It lives as long as the test. */
void *device_bytes(size_t bytes, int skew);

/* Makes the device's primary context the thread's. */
void use_device(int ordinal);

/* Operands of small whole numbers, so that every sum is exact; C holds NaN where nobody may read.
 */
struct memory fill(const struct product *p);
void release(struct memory *memory);

/* Whether D is the product by the definition. */
bool right(const struct product *p, const struct memory *memory);

/* Calls cuBLAS; returns its status. */
int call(void *handle, const struct product *p, const struct memory *memory);

/* Calls it, checks the result and says whether it was served. */
bool run(void *handle, const struct product *p);

bool is_batched(enum way way);

/* A product in FP32 whose operands lie densely. */
struct product plain(enum way way, int m, int n, int k);

/* One of any way, type, operation, leading dimension and scalar (calls_served.c). */
int random_products(void); /* how many, and calls of other tests that repeat one */
struct product random_product(void);

void *new_handle(void);
void begin_context(void);

/* calls_served.c: products that are served. */
void test_random(void);
void test_thin_path(void);
void test_math(void);
void test_small_tf32(void);
void test_half(void);
void test_nested(void);
void test_capture(void);
void test_untuned_problem(void);
void test_sgemm_ex(void);

/* calls_program.c: what a program may do beside its products. */
void test_background(void);
void test_threads(void);
void test_fork(void);
void test_own_signal(void);
void test_local(void);
void test_handles(void);
void test_signal(void);
void test_other_folder(void);
void test_dlsym(void);

/* calls_devices.c: several devices, and what a call must not disturb. */
void test_devices(void);
void test_device_threads(void);
void test_device_threads_checked(void);
void test_many_threads(void);
void test_shared_stream(void);
void test_untuned_device(void);
void test_wide(void);
void test_settings_alone(void);
void test_small_stack(void);
void test_no_tf32(void);
void test_no_key_left(void);

/* calls_check.c: comparisons with cuBLAS's results. */
void test_check(void);
void test_check_random(void);
void test_check_planted(void);
void test_check_one_of_a_million(void);
void test_check_every_third(void);
void test_check_without_memory(void);
void test_differs(void);
void test_check_beside_capture(void);

/* calls_left.c: what is left to cuBLAS. */
void test_left(void);
void test_foreign(void);
void test_matmul_left(void);
void test_matmul_fp8(void);
void test_arrays(void);

/* calls_around.c: what is around a product. */
void test_streams(void);
void test_unseen(void);
void test_unseen_math(void);
void test_workspaces(void);
void test_many_handles(void);
void test_atomics(void);
void test_contexts(void);
void test_no_primary(void);
void test_reset(void);
void test_vendor(void);
void test_exit(void);
void test_versions(void);

#endif
