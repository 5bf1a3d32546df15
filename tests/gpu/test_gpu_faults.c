/* test_gpu_faults.c - the test of the verifier on a GPU: every fault of faulty/faulty.cu really
 * happens, and is caught with the status it deserves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu_fixture.h"

#define FAULTY     "tests/gpu/faulty/faulty.json"
#define UNPROMOTED "tests/gpu/faulty/unpromoted.json"

static const struct planted {
    const char *what;
    enum gt_status status; /* of FAULT = index */
} planted[] = {
    {"none", GT_STATUS_OK},
    {"an element 0.1 % off", GT_STATUS_WRONG},
    {"one zeroed", GT_STATUS_WRONG},
    {"two swapped", GT_STATUS_WRONG},
    {"last k lost in a tile", GT_STATUS_WRONG},
    {"a tile accumulated in fp16", GT_STATUS_WRONG},
    {"D through fp16", GT_STATUS_WRONG},
    {"D through bf16", GT_STATUS_WRONG},
    {"NaN", GT_STATUS_WRONG},
    {"a word behind D", GT_STATUS_OOB_WRITE},
    {"a word between rows", GT_STATUS_OOB_WRITE},
    {"an input changed", GT_STATUS_OOB_WRITE},
    {"not deterministic", GT_STATUS_NONDETERMINISTIC},
    {"beta twice", GT_STATUS_WRONG},
    {"C read at beta 0", GT_STATUS_WRONG},
    {"a row not written", GT_STATUS_WRONG},
    {"workspace not asked for", GT_STATUS_OOB_WRITE},
};

static void test_faults_are_caught(void **state)
{
    static const char *const problems[] = {"300x200x512", "256x256x4096:f32:nt:beta=0.5",
                                           "100x90x80:f32:tn:batch=3:ldc=96:sc=10000"};
    struct gpu_fixture f;
    struct gt_kernel *kernel;

    (void)state;
    gpu_open(&f);
    kernel = gpu_kernel(FAULTY);
    for (size_t p = 0; p < sizeof(problems) / sizeof(*problems); p++) {
        struct gt_problem problem;
        struct gt_bench *bench = gpu_bench(&f, problems[p], false, &problem);
        struct gt_candidate candidate = {kernel, &problem, gt_gpu_device(f.gpu), {{0}}};

        for (size_t i = 0; i < sizeof(planted) / sizeof(*planted); i++) {
            struct gt_trial trial;

            candidate.point.value[0] = (int64_t)i;
            gpu_trial(&f, bench, &candidate, 0, &trial);
            print_message("%s, %s: %s %s\n", problems[p], planted[i].what,
                          gt_status_name(trial.status), trial.detail);
            if (trial.status != planted[i].status)
                fail_msg("%s, %s: %s: %s", problems[p], planted[i].what,
                         gt_status_name(trial.status), trial.detail);
        }
        gt_bench_close(bench);
    }
    gt_kernel_free(kernel);
    gpu_close(&f);
}

/* Tensor cores reach FP32's accuracy with promotion, and are refused without it. */
static void test_unpromoted_sums_are_refused(void **state)
{
    static const enum gt_status expected[] = {GT_STATUS_OK, GT_STATUS_WRONG, GT_STATUS_WRONG};
    struct gt_kernel *kernel;
    struct gt_problem problem;
    struct gt_bench *bench;
    struct gpu_fixture f;

    (void)state;
    gpu_open(&f);
    kernel = gpu_kernel(UNPROMOTED);
    bench = gpu_bench(&f, "512x512x4096:f32:nt:accuracy=f32", false, &problem);
    for (int loss = 0; loss < 3; loss++) {
        struct gt_candidate candidate = {kernel, &problem, gt_gpu_device(f.gpu), {{loss}}};
        struct gt_trial trial;

        gpu_trial(&f, bench, &candidate, 0, &trial);
        print_message("LOSS %d: %s, %.2f u %s\n", loss, gt_status_name(trial.status), trial.err_u,
                      trial.detail);
        assert_int_equal(trial.status, expected[loss]);
    }
    gt_bench_close(bench);
    gt_kernel_free(kernel);
    gpu_close(&f);
}

/* The part of a sticky fault, run as a process of its own: 0 if it was called a fault. */
static int sticky_child(int fault)
{
    const struct gt_bench_options options = {.seed = 11};
    struct gpu_fixture f = {0};
    struct gt_kernel *kernel;
    struct gt_problem problem;
    struct gt_bench *bench;
    struct gt_trial trial;
    struct gt_err err;

    if (gt_gpu_open(&f.gpu, 0, false, &err) || gt_nvrtc_open(&f.nvrtc, &err))
        return 77;
    gt_problem_init(&problem, 128, 128, 128);
    if (gt_kernel_load(&kernel, ".", FAULTY, &err) ||
        gt_bench_open(&bench, f.gpu, f.nvrtc, ".", NULL, &problem, &options, &err))
        return 2;
    struct gt_candidate candidate = {kernel, &problem, gt_gpu_device(f.gpu), {{fault}}};
    gpu_trial(&f, bench, &candidate, 0, &trial);
    fprintf(stderr, "%s %s\n", gt_status_name(trial.status), trial.detail);
    return trial.status == GT_STATUS_FAULT && gt_gpu_poisoned(f.gpu) ? 0 : 3;
}

static void test_sticky_faults(void **state)
{
    (void)state;
    for (int fault = 17; fault <= 18; fault++) {
        char number[8], name[] = "sticky";
        int status = -1;
        pid_t child = fork();

        if (!child) {
            /* A forked process may not use a driver that its parent opened. */
            snprintf(number, sizeof(number), "%d", fault);
            execl("/proc/self/exe", name, number, (char *)NULL);
            _exit(4);
        }
        assert_true(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
        if (WEXITSTATUS(status) == 77) {
            print_message("skipped: no usable GPU\n");
            skip();
        }
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faults_are_caught),
        cmocka_unit_test(test_unpromoted_sums_are_refused),
        cmocka_unit_test(test_sticky_faults),
    };

    if (argc > 1)
        return sticky_child((int)strtol(argv[1], NULL, 10));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
