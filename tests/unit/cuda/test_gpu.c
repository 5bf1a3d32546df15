/* test_gpu.c - the driver stage against the stub driver: facts, memory, events, absent devices, and
 * threads that find a device poisoned. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>

#include "cuda/gpu_internal.h"
#include "stub_fixture.h"

static void test_device_facts(void **state)
{
    struct gt_gpu *gpu = stub_gpu(false);
    const struct gt_device *device = gt_gpu_device(gpu);
    struct gt_device profile;
    int count = 0;

    (void)state;
    assert_int_equal(gt_device_profile(&profile, ".", 90, NULL), GT_OK);
    assert_int_equal(gt_gpu_count(&count, NULL), GT_OK);
    assert_int_equal(count, 1);
    assert_string_equal(device->name, "Stub device");
    assert_string_equal(device->uuid, "GPU-00112233-4455-6677-8899-aabbccddeeff");
    assert_int_equal(device->cc, 90);
    assert_int_equal(device->sms, 16);
    assert_int_equal(device->smem_block, 232448);
    assert_int_equal(device->fma_lanes, profile.fma_lanes);
    assert_int_equal(device->tensor_tf32, profile.tensor_tf32);
    assert_int_equal(device->tensor_f16, profile.tensor_f16);
    assert_int_equal(device->tensor_f8, profile.tensor_f8);
    assert_int_equal(device->tensor_s8, profile.tensor_s8);
    assert_int_equal(device->driver, 13000);
    assert_false(device->profile);
    assert_true(device->clock_mhz == 1000);
    assert_true(device->memory_gbps > 100 && device->memory_gbps < 128);
    assert_true(device->l2_gbps > 0);
    assert_false(gt_gpu_poisoned(gpu));
    gt_gpu_close(gpu);
}

static void test_memory(void **state)
{
    struct gt_gpu *gpu = stub_gpu(false);
    uint32_t words[8] = {0};
    size_t present, after, total;
    struct gt_err err;
    gt_devptr ptr;

    (void)state;
    assert_int_equal(gt_gpu_memory(gpu, &present, &total, &err), GT_OK);
    assert_int_equal(gt_gpu_alloc(gpu, &ptr, sizeof(words), &err), GT_OK);
    assert_int_equal(gt_gpu_memory(gpu, &after, &total, &err), GT_OK);
    assert_int_equal(present - after, sizeof(words));
    assert_int_equal(gt_gpu_fill32(gpu, ptr, 0x1234, 8, &err), GT_OK);
    assert_int_equal(gt_gpu_upload(gpu, ptr + 4, &(uint32_t){5}, 4, &err), GT_OK);
    assert_int_equal(gt_gpu_download(gpu, words, ptr, sizeof(words), &err), GT_OK);
    assert_int_equal(words[0], 0x1234);
    assert_int_equal(words[1], 5);
    assert_int_equal(words[7], 0x1234);
    gt_gpu_free(gpu, ptr);
    assert_int_equal(gt_gpu_alloc(gpu, &ptr, (size_t)1 << 40, &err), GT_ETOOBIG);
    assert_non_null(strstr(err.msg, "1099511627776 bytes"));
    assert_non_null(strstr(err.msg, "CUDA_ERROR_OUT_OF_MEMORY"));
    assert_int_equal(ptr, 0);
    gt_gpu_free(gpu, 0);
    gt_gpu_close(gpu);
}

static void *fail_often(void *gpu)
{
    struct gt_err err;

    for (int i = 0; i < 1000; i++)
        assert_int_equal(gt_gpu_check(gpu, 700, "call", &err), GT_ECUDA);
    return NULL;
}

/* Threads run plans on one device, any of which may find it poisoned (the sanitizer of threads sees
 * what is not atomic). */
static void test_poisoned_by_threads(void **state)
{
    struct gt_gpu *gpu = stub_gpu(true);
    pthread_t thread[4];

    (void)state;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, fail_often, gpu), 0);
    while (!gt_gpu_poisoned(gpu))
        ;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_join(thread[i], NULL), 0);
    gt_gpu_close(gpu);
}

static void test_events(void **state)
{
    struct gt_gpu *gpu = stub_gpu(false);
    struct gt_event *from, *to;
    struct gt_err err;
    gt_devptr ptr;
    float us = -1;

    (void)state;
    assert_int_equal(gt_event_new(&from, gpu, &err), GT_OK);
    assert_int_equal(gt_event_new(&to, gpu, &err), GT_OK);
    assert_int_equal(gt_gpu_alloc(gpu, &ptr, 4096, &err), GT_OK);
    assert_int_equal(gt_event_record(from, &err), GT_OK);
    assert_int_equal(gt_gpu_fill32(gpu, ptr, 0, 1024, &err), GT_OK);
    assert_int_equal(gt_event_record(to, &err), GT_OK);
    assert_int_equal(gt_event_us(from, to, &us, &err), GT_OK);
    assert_true(us > 0.9f && us < 2);
    gt_gpu_free(gpu, ptr);
    gt_event_free(to);
    gt_event_free(from);
    gt_event_free(NULL);
    gt_gpu_close(gpu);
}

static void test_absent_devices(void **state)
{
    struct gt_gpu *gpu;
    struct gt_err err;
    int count;

    (void)state;
    stub_environment();
    assert_int_equal(gt_gpu_open(&gpu, 1, false, &err), GT_ENOGPU);
    assert_string_equal(err.msg, "no GPU 1: the driver sees 1, numbered from 0");
    assert_null(gpu);
    setenv("STUB_INIT", "100", 1);
    assert_int_equal(gt_gpu_count(&count, &err), GT_ENOGPU);
    assert_non_null(strstr(err.msg, "no CUDA-capable device is detected"));
    setenv("STUB_INIT", "34", 1); /* what the toolkit's library for linking answers */
    assert_int_equal(gt_gpu_count(&count, &err), GT_ENOGPU);
    assert_non_null(strstr(err.msg, "cuInit answers 34, the driver library is the toolkit's stub "
                                    "for linking; the driver has its own libcuda.so.1"));
    unsetenv("STUB_INIT");
    setenv("GEMMTUNE_LIBCUDA", "/nonexistent", 1);
    assert_int_equal(gt_gpu_open(&gpu, 0, false, &err), GT_ENOLIB);
    assert_non_null(strstr(err.msg, "CUDA driver library not found: tried /nonexistent"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_device_facts),        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_poisoned_by_threads), cmocka_unit_test(test_events),
        cmocka_unit_test(test_absent_devices),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
