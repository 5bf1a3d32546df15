/* test_gpu_maps.c - tensor maps on a GPU: a kernel that knows its operands only through them is
 * proved for several types, layouts, boxes and patterns, as the operands rotate. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <time.h>

#include "timing/bench_internal.h"
#include "gpu_fixture.h"

#define BOXED "tests/emu/planted/boxed.json"

static const struct {
    const char *problem, *point;
} cases[] = {
    {"256x256x256:f32:nn:accuracy=f32", ""},
    {"250x260x300:f32:nn:accuracy=f32:beta=1", "ROWS=16,SWIZZLE=128"},
    {"130x132x140:f32:nt:accuracy=f32", "ROWS=64,SWIZZLE=32,L2=256"},
    {"132x130x140:f32:tt:accuracy=f32:batch=3", "ROWS=32,SWIZZLE=0,EARLY=1"},
    {"250x264x304:bf16:nn", "ROWS=32,SWIZZLE=64,L2=0"},
    {"248x264x304:bf16:tn:batch=2", "ROWS=64,SWIZZLE=128,EARLY=1"},
    {"1x264x304:bf16:nt", "ROWS=32,SWIZZLE=32"},
    {"240x272x304:e4m3:nt", "ROWS=64,SWIZZLE=128,L2=64"},
    {"240x272x304:e4m3:nn", "ROWS=32,SWIZZLE=64"},
    {"250x264x304:bf16:nt", "ROWS=32,SWIZZLE=128,OFFSET=128"},
    {"256x256x256:f32:nn:accuracy=f32", "ROWS=16,SWIZZLE=128,OFFSET=640"},
};

/* Opens the GPU; skips where it is older than TMA. */
static void open_hopper(struct gpu_fixture *f)
{
    gpu_open(f);
    if (gt_gpu_device(f->gpu)->cc >= 90)
        return;
    print_message("skipped: tensor maps need sm_90\n");
    gpu_close(f);
    skip();
}

static void test_maps_are_proved(void **state)
{
    struct gt_kernel *kernel = gpu_kernel(BOXED);
    struct gpu_fixture f;

    (void)state;
    open_hopper(&f);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct gt_problem problem;
        struct gt_bench *bench = gpu_bench(&f, cases[i].problem, false, &problem);
        struct gt_candidate candidate = {kernel, &problem, gt_gpu_device(f.gpu), {{0}}};
        struct gt_trial trial;
        struct gt_err err;
        int failed;

        if (gt_point_parse(&candidate.point, kernel, cases[i].point, &err) ||
            gt_candidate_valid(&candidate, &failed, &err))
            fail_msg("%s", err.msg);
        assert_int_equal(failed, -1);
        gpu_trial(&f, bench, &candidate, 0, &trial);
        print_message("%s %s: %s, %.2f us, %.3g u %s\n", cases[i].problem, cases[i].point,
                      gt_status_name(trial.status), trial.us, trial.err_u, trial.detail);
        assert_int_equal(trial.status, GT_STATUS_OK);
        gt_bench_close(bench);
    }
    gt_kernel_free(kernel);
    gpu_close(&f);
}

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Host time of gt_module_run, best of several runs, with some maps or none. */
static double launch_ns(const struct gpu_fixture *f, const struct gt_binary *binary,
                        const struct gt_geometry *geometry, const struct gt_args *args)
{
    struct gt_module *module;
    struct gt_err err;
    double best = 1e9;

    if (gt_module_load(&module, f->gpu, binary->image, binary->size, geometry, &err))
        fail_msg("%s", err.msg);
    for (int run = 0; run < 20; run++) {
        double start = now_ns(), each;

        for (int i = 0; i < 200; i++)
            assert_int_equal(gt_module_run(module, NULL, args, NULL, &err), GT_OK);
        each = (now_ns() - start) / 200;
        best = each < best ? each : best;
        assert_int_equal(gt_gpu_sync(f->gpu, &err), GT_OK);
    }
    gt_module_free(module);
    return best;
}

/* What maps cost the host: a product without depth runs at once, and reads none of them.  The least
 * of several turns counts: others use the host's cores, too. */
static void test_cost_of_maps(void **state)
{
    struct gt_kernel *kernel = gpu_kernel(BOXED);
    struct gt_args args = {.m = 16, .n = 16, .lda = 16, .ldb = 16, .ldc = 16, .batch = 1};
    struct gpu_fixture f;
    struct gt_problem problem;
    struct gt_geometry geometry;
    struct gt_binary binary;
    struct gt_err err;
    double with = INFINITY, without = INFINITY;
    int maps;
    gt_devptr memory;

    (void)state;
    open_hopper(&f);
    struct gt_candidate candidate = {kernel, &problem, gt_gpu_device(f.gpu), {{0}}};
    gt_problem_init(&problem, 16, 16, 16);
    gt_point_default(&candidate.point, kernel);
    gpu_compile(&f, &candidate, &binary);
    if (gt_candidate_geometry(&candidate, &geometry, &err) ||
        gt_gpu_alloc(f.gpu, &memory, 4096, &err))
        fail_msg("%s", err.msg);
    args.a = args.b = args.d = (void *)(uintptr_t)memory;
    maps = geometry.maps;
    for (int i = 0; i < 15; i++) {
        geometry.maps = maps;
        with = fmin(with, launch_ns(&f, &binary, &geometry, &args));
        geometry.maps = 0;
        without = fmin(without, launch_ns(&f, &binary, &geometry, &args));
    }
    print_message("a launch: %.0f ns with two tensor maps, %.0f ns without\n", with, without);
    assert_true(with < 1.3 * without);
    gt_gpu_free(f.gpu, memory);
    gt_binary_release(&binary);
    gt_kernel_free(kernel);
    gpu_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_maps_are_proved),
        cmocka_unit_test(test_cost_of_maps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
