/* test_cmd_try.c - what `tune try` reads out of the emulator's log. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <string.h>

#include <cmocka.h>

#include "measure/cmd_try.h"

#define RUN "33x65x17:f32:nn, schedule 1\n"

static void test_verdicts(void **state)
{
    static const struct {
        const char *log;
        int wait_status;
        enum gt_status status;
        const char *detail;
    } cases[] = {
        {RUN "done: 2 right, 0 wrong, 1 problems\n", 0, GT_STATUS_OK, ""},
        {RUN "FAILED: D[0,1] of matrix 0 is 3 where 5 is right\n" RUN
             "done: 1 right, 1 wrong, 1 problems\n",
         0, GT_STATUS_WRONG, "D[0,1] of matrix 0 is 3 where 5 is right, for 33x65x17:f32:nn"},
        {RUN "FAILED: written beside D: 1 in row 0, column 70 of matrix 0\n"
             "done: 1 right, 1 wrong, 1 problems\n",
         0, GT_STATUS_OOB_WRITE,
         "written beside D: 1 in row 0, column 70 of matrix 0, for 33x65x17:f32:nn"},
        {RUN "FAILED: launch 0 (gemm): divergence at a barrier\n"
             "done: 1 right, 1 wrong, 1 problems\n",
         0, GT_STATUS_FAULT, "launch 0 (gemm): divergence at a barrier, for 33x65x17:f32:nn"},
        {RUN "==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x60 at pc 0x1\n"
             "READ of size 4 at 0x60 thread T0\n"
             "    #0 0x7f12 in gt_load(float const*) /data/templates/common/load.cuh:12\n"
             "    #1 0x7f13 in gemm(gt_args) /own/rows.cu:34\n",
         1 << 8, GT_STATUS_FAULT,
         "heap-buffer-overflow: READ of size 4 at /data/templates/common/load.cuh:12, for "
         "33x65x17:f32:nn"},
        {RUN "/own/rows.cu:30:9: runtime error: signed integer overflow\n", 1 << 8, GT_STATUS_FAULT,
         "signed integer overflow at /own/rows.cu:30:9, for 33x65x17:f32:nn"},
        {RUN "FAILED: D[0,1] of matrix 0 is 3 where 5 is right\n" RUN
             "==7==ERROR: AddressSanitizer: SEGV on unknown address\n",
         1 << 8, GT_STATUS_WRONG,
         "D[0,1] of matrix 0 is 3 where 5 is right, for 33x65x17:f32:nn; then SEGV, for "
         "33x65x17:f32:nn"},
        {RUN, SIGXCPU, GT_STATUS_TIMEOUT,
         "the emulator was killed by signal 24 (CPU time limit exceeded), for 33x65x17:f32:nn"},
        {"", 3 << 8, GT_STATUS_FAULT, "the emulator exited with code 3, for the first problem"},
        {"x.cu:3:1: error: 'oops' was not declared\nerror -9: x.cu does not compile\n", 1 << 8,
         GT_STATUS_COMPILE_ERROR, "x.cu:3:1: error: 'oops' was not declared"},
    };

    (void)state;
    assert_int_equal(GT_ENVRTC, -9);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct gt_try attempt = {.cli = NULL};
        struct gt_err err = {0};

        assert_int_equal(gt_try_read_log(&attempt, cases[i].log, cases[i].wait_status, &err),
                         GT_OK);
        assert_string_equal(attempt.trial.detail, cases[i].detail);
        assert_int_equal(attempt.trial.status, cases[i].status);
    }
}

/* What keeps the candidate from being run is an error of the command. */
static void test_not_run(void **state)
{
    struct gt_try attempt = {.cli = NULL};
    struct gt_err err = {0};

    (void)state;
    assert_int_equal(
        gt_try_read_log(&attempt, "error -3: kernel x does not serve this\n", 1 << 8, &err), -3);
    assert_string_equal(err.msg, "kernel x does not serve this");
}

static void test_counts(void **state)
{
    struct gt_try attempt = {.cli = NULL};

    (void)state;
    assert_int_equal(gt_try_read_log(&attempt,
                                     RUN "FAILED: D[0,0] of matrix 0 is 1 where 2 is right\n" RUN
                                         "done: 3 right, 1 wrong, 2 problems\n",
                                     0, NULL),
                     GT_OK);
    assert_int_equal(attempt.runs, 4);
    assert_int_equal(attempt.wrong, 1);
    assert_int_equal(attempt.problems, 2);
    assert_string_equal(attempt.run_as, "33x65x17:f32:nn");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdicts),
        cmocka_unit_test(test_not_run),
        cmocka_unit_test(test_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
