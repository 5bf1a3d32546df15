/* test_bench_faults.c - tests what a driver does once in a process: a device that wakes up, errors
 * after which nothing works any more. */
#include "bench_fixture.h"

/* A candidate that ran at the low clock of an idle device is timed again and not called slow.  This
 * runs in a process of its own, because the stub device leaves its idle state only once. */
static int asleep_child(void)
{
    struct gt_bench_options options = {.workspace_cap = 1 << 20};
    struct stub_fixture f;
    struct gt_problem problem;
    struct gt_bench *bench = NULL;
    struct gt_trial trial;
    struct gt_err err;

    setenv("STUB_ASLEEP", "40", 1);
    gt_problem_init(&problem, 128, 128, 128);
    if (stub_open(&f, STUB_KERNEL, &err) ||
        gt_bench_open(&bench, f.gpu, f.nvrtc, ".", NULL, &problem, &options, &err) ||
        stub_trial(&f, bench, &problem, NULL, 9, &trial, &err))
        return 2;
    gt_bench_close(bench);
    stub_close(&f);
    return trial.status == GT_STATUS_OK && trial.us < 9 && trial.clock_mhz > 900 ? 0 : 3;
}

static void test_sleeping_device(void **state)
{
    (void)state;
    run_child(asleep_child);
}

/* What follows a sticky error, in a process of its own. */
static int fault_child(const char *fault, enum gt_timing timing)
{
    struct stub_fixture f;
    struct gt_problem problem;
    struct gt_bench *bench = NULL;
    struct gt_bench_options options = {.workspace_cap = 1 << 20, .timing = timing};
    struct gt_trial trial;
    struct gt_err err;

    if (stub_open(&f, STUB_KERNEL, &err))
        return 2;
    gt_problem_init(&problem, 32, 32, 32);
    if (gt_bench_open(&bench, f.gpu, f.nvrtc, ".", NULL, &problem, &options, &err))
        return 3;
    if (stub_trial(&f, bench, &problem, fault, 0, &trial, &err))
        return 4;
    if (trial.status != GT_STATUS_FAULT || !strstr(trial.detail, "CUDA_ERROR_"))
        return 5;
    if (!gt_gpu_poisoned(f.gpu))
        return 6;
    gt_bench_close(bench); /* even now */
    stub_close(&f);
    return 0;
}

static int illegal_address_child(void)
{
    return fault_child("illegal_address", GT_TIMING_COLD);
}

static int misaligned_child(void)
{
    return fault_child("misaligned", GT_TIMING_GRAPH);
}

static void test_sticky_faults(void **state)
{
    (void)state;
    run_child(illegal_address_child);
    run_child(misaligned_child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sleeping_device),
        cmocka_unit_test(test_sticky_faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
