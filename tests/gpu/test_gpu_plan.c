/* test_gpu_plan.c - a user's way on a GPU: gt_open, gt_plan, gt_run, checked against the CPU; and
 * what gt_run costs the host beside a bare launch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "timing/bench_internal.h"
#include "base/clock.h"
#include "gpu_fixture.h"

struct memory {
    struct gt_gpu *gpu;
    gt_devptr ptr;
    float *host;
    size_t count;
};

static struct memory new_memory(struct gt_gpu *gpu, size_t count, int salt)
{
    struct memory memory = {gpu, 0, malloc(count * sizeof(float)), count};
    struct gt_err err;

    assert_non_null(memory.host);
    for (size_t i = 0; i < count; i++)
        memory.host[i] = (float)((int)(i * 7 + (size_t)salt) % 13 - 6);
    if (gt_gpu_alloc(gpu, &memory.ptr, count * sizeof(float), &err) ||
        gt_gpu_upload(gpu, memory.ptr, memory.host, count * sizeof(float), &err))
        fail_msg("%s", err.msg);
    return memory;
}

static void free_memory(struct memory *memory)
{
    gt_gpu_free(memory->gpu, memory->ptr);
    free(memory->host);
}

static void *address(const struct memory *memory)
{
    return (void *)(uintptr_t)memory->ptr;
}

static void check(const struct gt_problem *p, const struct memory *a, const struct memory *b,
                  const struct memory *c, struct memory *d, float alpha, float beta)
{
    struct gt_err err;

    assert_int_equal(gt_gpu_download(d->gpu, d->host, d->ptr, d->count * sizeof(float), &err),
                     GT_OK);
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            float sum = 0;

            for (int64_t k = 0; k < p->k; k++)
                sum += a->host[i * p->lda + k] * b->host[k * p->ldb + j];
            sum = alpha * sum + beta * c->host[i * p->ldc + j];
            if (d->host[i * p->ldc + j] != sum)
                fail_msg("(%lld,%lld) is %g, expected %g", (long long)i, (long long)j,
                         (double)d->host[i * p->ldc + j], (double)sum);
        }
}

/* Runs the plan with and without C, and checks the product. */
static void run(struct gpu_fixture *f, const struct gt_plan *plan, const struct gt_problem *p)
{
    struct memory a = new_memory(f->gpu, (size_t)(p->m * p->k), 1);
    struct memory b = new_memory(f->gpu, (size_t)(p->k * p->n), 2);
    struct memory c = new_memory(f->gpu, (size_t)(p->m * p->n), 3);
    struct memory d = new_memory(f->gpu, (size_t)(p->m * p->n), 4);
    struct memory space = new_memory(f->gpu, gt_plan_answer(plan)->workspace_bytes / 4 + 4, 5);
    struct gt_operands operands = {.a = address(&a),
                                   .b = address(&b),
                                   .c = address(&c),
                                   .d = address(&d),
                                   .workspace = address(&space),
                                   .alpha = 2,
                                   .beta = -1};
    struct gt_err err;

    if (gt_run(plan, gt_gpu_stream(f->gpu), &operands, &err))
        fail_msg("%s", err.msg);
    check(p, &a, &b, &c, &d, 2, -1);
    operands.alpha = 1;
    operands.beta = 0;
    operands.c = NULL;
    if (gt_run(plan, gt_gpu_stream(f->gpu), &operands, &err))
        fail_msg("%s", err.msg);
    check(p, &a, &b, &c, &d, 1, 0);
    free_memory(&space);
    free_memory(&d);
    free_memory(&c);
    free_memory(&b);
    free_memory(&a);
}

static void plan_and_run(const struct gt_options *options)
{
    static const int64_t sizes[][3] = {{256, 256, 256}, {100, 77, 55}, {1, 512, 300}};
    struct gpu_fixture f;
    struct gt_err err;
    struct gt *gt;

    gpu_open(&f);
    if (gt_open(&gt, options, &err))
        fail_msg("%s", err.msg);
    for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
        struct gt_plan *plan, *again;
        const struct gt_answer *answer;
        struct gt_problem p;

        gt_problem_init(&p, sizes[s][0], sizes[s][1], sizes[s][2]);
        p.beta = 1;
        if (gt_plan(&plan, gt, 0, &p, &err) || gt_plan(&again, gt, 0, &p, &err))
            fail_msg("%s", err.msg);
        answer = gt_plan_answer(plan);
        print_message("%lldx%lldx%lld: %s %s, %d timed\n", (long long)p.m, (long long)p.n,
                      (long long)p.k, answer->kernel, answer->point, answer->measured);
        assert_true(options->plan_mode == GT_PLAN_MEASURE || answer->measured == 0);
        assert_true(answer->measured == 0 || answer->expected_us > 0);
        assert_int_equal(answer->measured, gt_plan_answer(again)->measured);
        assert_string_equal(answer->point, gt_plan_answer(again)->point); /* it is remembered */
        run(&f, plan, &p);
        gt_plan_free(again);
        gt_plan_free(plan);
    }
    gt_close(gt);
    gpu_close(&f);
}

static void test_plan_and_run(void **state)
{
    (void)state;
    plan_and_run(&(struct gt_options){.data_dir = ".", .allow_nvrtc = 1});
}

/* The same with candidates that are timed beside this thread's own context. */
static void test_plan_by_time(void **state)
{
    (void)state;
    plan_and_run(&(struct gt_options){GT_OPTIONS_INIT, .data_dir = ".", .allow_nvrtc = 1,
                                      .plan_mode = GT_PLAN_MEASURE});
}

/* Microseconds of host time for a call, the device kept idle enough for its queue never to fill. */
static double host_us(struct gt_gpu *gpu, const struct gt_plan *plan,
                      const struct gt_operands *operands, const struct gt_module *bare,
                      const struct gt_args *args)
{
    enum { ROUNDS = 20, CALLS = 200 };
    double least = INFINITY;
    struct gt_err err;

    for (int round = 0; round < ROUNDS; round++) {
        double start = gt_clock_s(), us;

        for (int i = 0; i < CALLS; i++)
            if (plan ? gt_run(plan, gt_gpu_stream(gpu), operands, &err)
                     : gt_module_run(bare, NULL, args, NULL, &err))
                fail_msg("%s", err.msg);
        us = (gt_clock_s() - start) * 1e6 / CALLS;
        least = us < least ? us : least;
        gt_gpu_sync(gpu, &err);
    }
    return least;
}

static void test_cost_of_a_run(void **state)
{
    static const char source[] = "extern \"C\" __global__ void gemm(const int x) {}";
    const struct gt_options options = {.data_dir = ".", .allow_nvrtc = 1};
    struct gt_geometry geometry = {.launches = 1};
    struct gt_args args = {0};
    struct gpu_fixture f;
    struct gt_plan *plan;
    struct gt_module *bare;
    struct gt_binary binary;
    struct gt_problem p;
    struct gt_err err;
    struct gt *gt;

    (void)state;
    gpu_open(&f);
    const struct gt_compile_request request = {.source = source,
                                               .name = "bare",
                                               .arch = gt_gpu_device(f.gpu)->cc,
                                               .device_cc = gt_gpu_device(f.gpu)->cc};

    geometry.launch[0] = (struct gt_launch_geometry){.entry = "gemm",
                                                     .grid = {1, 1, 1},
                                                     .block = {32, 1, 1},
                                                     .cluster = {1, 1, 1},
                                                     .carveout = -1};
    if (gt_compile(f.nvrtc, &request, &binary, &err) ||
        gt_module_load(&bare, f.gpu, binary.image, binary.size, &geometry, &err))
        fail_msg("%s", err.msg);
    gt_problem_init(&p, 16, 16, 16);
    if (gt_open(&gt, &options, &err) || gt_plan(&plan, gt, 0, &p, &err))
        fail_msg("%s", err.msg);
    struct memory all = new_memory(f.gpu, 4 * 256, 1);
    struct memory space = new_memory(f.gpu, gt_plan_answer(plan)->workspace_bytes / 4 + 4, 5);
    const struct gt_operands operands = {.a = address(&all),
                                         .b = (char *)address(&all) + 1024,
                                         .d = (char *)address(&all) + 2048,
                                         .workspace = address(&space),
                                         .alpha = 1};
    double run = host_us(f.gpu, plan, &operands, NULL, NULL);
    double launch = host_us(f.gpu, NULL, NULL, bare, &args);

    print_message("gt_run %.2f us of host time, an empty launch %.2f us: %.2f x\n", run, launch,
                  run / launch);
    assert_true(run < 3 * launch);
    free_memory(&space);
    free_memory(&all);
    gt_plan_free(plan);
    gt_close(gt);
    gt_module_free(bare);
    gt_binary_release(&binary);
    gpu_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan_and_run),
        cmocka_unit_test(test_plan_by_time),
        cmocka_unit_test(test_cost_of_a_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
