/* test_module.c - loading and launching against the stub driver: launches that are refused, several
 * in a row, tensor maps, and drivers that are too old for them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>

#include "cuda/gpu_internal.h"
#include "stub_fixture.h"

static struct gt_geometry geometry_of(const char *entry)
{
    struct gt_geometry geometry = {.launches = 1, .deterministic = true};

    geometry.launch[0] = (struct gt_launch_geometry){.entry = entry,
                                                     .grid = {1, 1, 1},
                                                     .block = {32, 1, 1},
                                                     .cluster = {1, 1, 1},
                                                     .carveout = -1};
    return geometry;
}

/* Each limit is named in the sentence. */
static void test_refused_launches(void **state)
{
    static const char image[] = "gtstub1\nvoid gemm reduce";
    struct gt_gpu *gpu = stub_gpu(false);
    struct gt_geometry geometry = geometry_of("gemm");
    struct gt_module *module;
    struct gt_err err;

    (void)state;
    assert_int_equal(gt_module_load(&module, gpu, image, sizeof(image), &geometry, &err), GT_OK);
    geometry.launch[0].block[0] = 1025;
    assert_int_equal(gt_module_geometry(module, &geometry, &err), GT_ERANGE);
    assert_non_null(strstr(err.msg, "block[0] is 1025"));
    geometry.launch[0].block[0] = 512;
    geometry.launch[0].block[1] = 4;
    assert_int_equal(gt_module_geometry(module, &geometry, &err), GT_ERANGE);
    assert_non_null(strstr(err.msg, "2048 threads"));
    geometry = geometry_of("gemm");
    geometry.launch[0].grid[1] = 65536;
    assert_int_equal(gt_module_geometry(module, &geometry, &err), GT_ERANGE);
    assert_non_null(strstr(err.msg, "grid[1] is 65536, at most 65535"));
    geometry = geometry_of("gemm");
    geometry.launch[0].shared_bytes = 232449;
    assert_int_equal(gt_module_geometry(module, &geometry, &err), GT_ERANGE);
    assert_non_null(strstr(err.msg, "232449 bytes of shared memory"));
    geometry = geometry_of("other");
    assert_int_equal(gt_module_geometry(module, &geometry, &err), GT_ERANGE);
    assert_non_null(strstr(err.msg, "entry \"other\""));
    gt_module_free(module);

    geometry = geometry_of("gemm");
    assert_int_equal(gt_module_load(&module, gpu, "ELF", 4, &geometry, &err), GT_ERANGE);
    assert_non_null(strstr(err.msg, "CUDA_ERROR_INVALID_IMAGE"));
    assert_null(module);
    assert_int_equal(gt_module_load(&module, gpu, "", 0, &geometry, &err), GT_ERANGE);
    assert_false(gt_gpu_poisoned(gpu));
    gt_gpu_close(gpu);
}

/* Several launches, one of them empty, one in clusters and early. */
static void test_launches(void **state)
{
    static const char image[] = "gtstub1\nvoid gemm reduce";
    struct gt_gpu *gpu = stub_gpu(true);
    struct gt_geometry geometry = geometry_of("gemm");
    struct gt_module_facts facts;
    struct gt_module *module;
    struct gt_args args = {
        .m = 2, .n = 2, .k = 1, .lda = 1, .ldb = 2, .ldc = 2, .batch = 1, .alpha = 1};
    float a[] = {1, 2}, b[] = {3, 4}, d[4] = {0};
    struct gt_err err;

    (void)state;
    geometry.launches = 3;
    geometry.launch[1] = geometry.launch[0];
    geometry.launch[1].grid[0] = 0;
    geometry.launch[2] = geometry.launch[0];
    geometry.launch[2].entry = "reduce";
    geometry.launch[2].grid[0] = geometry.launch[2].cluster[0] = 2;
    geometry.launch[2].pdl = true;
    geometry.launch[2].shared_bytes = 4096;
    geometry.launch[2].carveout = 50;
    if (gt_module_load(&module, gpu, image, sizeof(image), &geometry, &err))
        fail_msg("%s", err.msg);
    gt_module_facts(module, &facts);
    assert_int_equal(facts.shared_bytes, 4096);
    assert_in_range(facts.registers, 32, 128);
    args.a = a; /* device memory is host memory */
    args.b = b;
    args.d = d;
    assert_int_equal(gt_module_run(module, NULL, &args, NULL, &err), GT_OK);
    assert_true(d[0] == 3 && d[1] == 4 && d[2] == 6 && d[3] == 8);
    gt_module_free(module);
    gt_gpu_close(gpu);
}

/* ---- tensor maps ---- */

static const char mapped_image[] = "gtstub1\nGT_KERNEL_MAPS_BOUNDS(gemm)";

/* A product of 4 x 4 matrices, A (16 bytes into its operand) and B read through maps. */
static struct gt_geometry mapped_geometry(void)
{
    struct gt_geometry geometry = geometry_of("gemm");

    geometry.launch[0].maps = geometry.launch[0].pdl = true;
    geometry.maps = 3;
    geometry.map[0] = (struct gt_map_geometry){.used = true,
                                               .operand = GT_MAP_A,
                                               .offset = 16,
                                               .rank = 2,
                                               .dims = {4, 4},
                                               .strides = {4, 16},
                                               .box = {4, 4},
                                               .swizzle = 32,
                                               .promotion = 256};
    geometry.map[1] = geometry.map[0];
    geometry.map[1].operand = GT_MAP_B;
    geometry.map[1].offset = 0;
    return geometry;
}

struct product {
    _Alignas(16) float a[20], b[16], d[16];
};

/* Runs the product of a * identity for a fresh A and checks it; 0 or -1. */
static int run_mapped(const struct gt_module *module, struct product *p, int salt)
{
    struct gt_args args = {.a = p->a,
                           .b = p->b,
                           .d = p->d,
                           .m = 4,
                           .n = 4,
                           .k = 4,
                           .lda = 4,
                           .ldb = 4,
                           .ldc = 4,
                           .batch = 1,
                           .alpha = 1};

    for (int i = 0; i < 20; i++)
        p->a[i] = (float)(salt + i);
    for (int i = 0; i < 16; i++)
        p->b[i] = i % 5 == 0;
    if (gt_module_run(module, NULL, &args, NULL, NULL))
        return -1;
    return memcmp(p->d, p->a + 4, sizeof(p->d)) ? -1 : 0;
}

static void test_maps(void **state)
{
    struct gt_gpu *gpu = stub_gpu(true);
    struct gt_geometry geometry = mapped_geometry();
    struct product products[3];
    struct gt_module *module;
    struct gt_args args = {.a = (char *)products + 4, .b = products};
    struct gt_err err;

    (void)state;
    if (gt_module_load(&module, gpu, mapped_image, sizeof(mapped_image), &geometry, &err))
        fail_msg("%s", err.msg);
    for (int i = 0; i < 9; i++) /* the maps follow the operands */
        assert_int_equal(run_mapped(module, &products[i % 3], i), 0);
    assert_int_equal(gt_module_run(module, NULL, &args, NULL, &err), GT_ERANGE);
    assert_non_null(strstr(err.msg, "tensor_maps[0]: cuTensorMapEncodeTiled"));
    geometry.map[1].box[0] = 257;
    assert_int_equal(gt_module_geometry(module, &geometry, &err), GT_ERANGE);
    assert_non_null(strstr(err.msg, "tensor_maps[1]: cuTensorMapEncodeTiled"));
    assert_false(gt_gpu_poisoned(gpu));
    gt_module_free(module);
    gt_gpu_close(gpu);
}

static int (*driver_encode)(void *, int, unsigned, void *, const uint64_t *, const uint64_t *,
                            const uint32_t *, const uint32_t *, int, int, int, int);
static int encoded;

static int count_encode(void *map, int type, unsigned rank, void *address, const uint64_t *dims,
                        const uint64_t *strides, const uint32_t *box, const uint32_t *every,
                        int interleave, int swizzle, int promotion, int fill)
{
    encoded++;
    return driver_encode(map, type, rank, address, dims, strides, box, every, interleave, swizzle,
                         promotion, fill);
}

/* The map of an address is encoded once for a geometry, however often its operands are used. */
static void test_maps_are_kept(void **state)
{
    struct gt_gpu *gpu = stub_gpu(true);
    struct gt_geometry geometry = mapped_geometry();
    struct product products[2];
    struct gt_module *module;
    struct gt_err err;

    (void)state;
    driver_encode = gpu->cu.TensorMapEncodeTiled;
    gpu->cu.TensorMapEncodeTiled = count_encode;
    if (gt_module_load(&module, gpu, mapped_image, sizeof(mapped_image), &geometry, &err))
        fail_msg("%s", err.msg);
    for (int round = 0; round < 2; round++) {
        encoded = 0;
        for (int i = 0; i < 20; i++)
            assert_int_equal(run_mapped(module, &products[0], i), 0);
        assert_int_equal(encoded, 2);
        for (int i = 0; i < 20; i++) /* two addresses may share a place, then each is encoded */
            assert_int_equal(run_mapped(module, &products[i % 2], i), 0);
        assert_in_range(encoded, 4, 42);
        assert_int_equal(gt_module_geometry(module, &geometry, &err), GT_OK);
    }
    gt_module_free(module);
    gt_gpu_close(gpu);
}

/* Through a map of TF32 operands arrive rounded to nearest, as cuBLAS rounds them: 1 + 3/4096 is
 * 1 + 1/1024. */
static void test_maps_round_tf32(void **state)
{
    struct gt_gpu *gpu = stub_gpu(true);
    struct gt_geometry geometry = mapped_geometry();
    struct product p = {.b = {[0] = 1, [5] = 1, [10] = 1, [15] = 1}};
    struct gt_args args = {.a = p.a, .b = p.b, .d = p.d, .m = 4, .n = 4, .k = 4, .lda = 4};
    struct gt_module *module;
    struct gt_err err;

    (void)state;
    args.ldb = args.ldc = 4;
    args.batch = 1;
    args.alpha = 1;
    for (int i = 0; i < 20; i++)
        p.a[i] = 1 + 3.0f / 4096;
    for (int rounded = 0; rounded < 2; rounded++) {
        geometry.map[0].element = rounded ? GT_TF32 : GT_F32;
        if (gt_module_load(&module, gpu, mapped_image, sizeof(mapped_image), &geometry, &err))
            fail_msg("%s", err.msg);
        assert_int_equal(gt_module_run(module, NULL, &args, NULL, &err), GT_OK);
        for (int i = 0; i < 16; i++)
            assert_true(p.d[i] == (rounded ? 1 + 1.0f / 1024 : 1 + 3.0f / 4096));
        gt_module_free(module);
    }
    gt_gpu_close(gpu);
}

/* Drivers from before CUDA 11.8 and 12.0 do without, until a kernel asks. */
static void test_old_driver(void **state)
{
    struct gt_gpu *gpu = stub_gpu(true);
    struct gt_geometry geometry = mapped_geometry();
    struct gt_module *module;
    struct gt_err err;

    (void)state;
    gpu->cu.TensorMapEncodeTiled = NULL;
    assert_int_equal(
        gt_module_load(&module, gpu, mapped_image, sizeof(mapped_image), &geometry, &err),
        GT_ERANGE);
    assert_non_null(strstr(err.msg, "the driver is too old for tensor maps"));
    gpu->cu.LaunchKernelEx = NULL;
    assert_int_equal(
        gt_module_load(&module, gpu, mapped_image, sizeof(mapped_image), &geometry, &err),
        GT_ERANGE);
    assert_non_null(strstr(err.msg, "too old to launch programmatically (cuLaunchKernelEx)"));
    geometry = geometry_of("gemm");
    assert_int_equal(
        gt_module_load(&module, gpu, mapped_image, sizeof(mapped_image), &geometry, &err), GT_OK);
    gt_module_free(module);
    gt_gpu_close(gpu);
}

struct runner {
    pthread_t thread;
    const struct gt_module *module;
    struct product products[60]; /* more than a module keeps maps of */
    int wrong;
};

static void *run_many(void *argument)
{
    struct runner *runner = argument;

    for (int i = 0; i < 2000; i++)
        runner->wrong -= run_mapped(runner->module, &runner->products[i % 60], i);
    return NULL;
}

/* Several threads run one module, each on operands of its own. */
static void test_map_threads(void **state)
{
    struct gt_gpu *gpu = stub_gpu(true);
    const struct gt_geometry geometry = mapped_geometry();
    struct gt_module *module;
    static struct runner runners[3];
    struct gt_err err;

    (void)state;
    if (gt_module_load(&module, gpu, mapped_image, sizeof(mapped_image), &geometry, &err))
        fail_msg("%s", err.msg);
    for (int i = 0; i < 3; i++) {
        runners[i].module = module;
        runners[i].wrong = 0;
        assert_int_equal(pthread_create(&runners[i].thread, NULL, run_many, &runners[i]), 0);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(runners[i].thread, NULL);
        assert_int_equal(runners[i].wrong, 0);
    }
    gt_module_free(module);
    gt_gpu_close(gpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused_launches),
        cmocka_unit_test(test_launches),
        cmocka_unit_test(test_maps),
        cmocka_unit_test(test_maps_are_kept),
        cmocka_unit_test(test_maps_round_tf32),
        cmocka_unit_test(test_old_driver),
        cmocka_unit_test(test_map_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
