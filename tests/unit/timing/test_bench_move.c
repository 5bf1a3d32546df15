/* test_bench_move.c - tests the time of moving a problem's data alone, on the stub driver.  The
 * stub moves 1000 bytes a microsecond by loads and 2000 in bulk, and has a fault if a kernel leaves
 * its operands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <sys/wait.h>

#include "problem/problem.h"
#include "stub_fixture.h"

#define LAUNCH_US 2 /* of the stub */

static void measure(const struct stub_fixture *f, const char *text, struct gt_problem *problem,
                    struct gt_move *move)
{
    const struct gt_bench_options options = {.workspace_cap = 1 << 20};
    struct gt_bench *bench = NULL;
    struct gt_trial trial;
    struct gt_err err = {0};

    if (gt_problem_parse(problem, text, &err) ||
        gt_bench_open(&bench, f->gpu, f->nvrtc, ".", NULL, problem, &options, &err) ||
        gt_bench_move(bench, f->nvrtc, ".", NULL, move, &err) ||
        stub_trial(f, bench, problem, NULL, 0, &trial, &err)) /* D was written to: no harm */
        fail_msg("%s: %s", text, err.msg);
    assert_int_equal(trial.status, GT_STATUS_OK);
    gt_bench_close(bench);
}

static void check(const struct stub_fixture *f, const char *text, double bytes_us, const char *form)
{
    struct gt_problem problem;
    struct gt_move move;
    double us;

    measure(f, text, &problem, &move);
    us = LAUNCH_US + gt_problem_traffic(&problem) / bytes_us;
    if (fabs(move.us - us) > 1e-3 * us || move.lo_us > move.us || move.hi_us < move.us)
        fail_msg("%s: %g us [%g, %g], expected %g", text, move.us, move.lo_us, move.hi_us, us);
    assert_int_equal(strncmp(move.form, form, strlen(form)), 0);
}

/* Every byte of the operands is moved once, those of C only if beta is not 0; the fastest form is
 * the result. */
static void test_all_bytes_once(void **state)
{
    check(*state, "128x128x64", 2000, "move_bulk, ");
    check(*state, "128x128x64:beta=0.5", 2000, "move_bulk, ");
    check(*state, "32x64x128:f32:nt:batch=3", 2000, "move_bulk, ");
    check(*state, "32x64x128:f32:nn:batch=3:sb=0", 2000, "move_bulk, "); /* one B for all */
    check(*state, "64x64x64:f32:nn:lda=80:ldc=96", 2000, "move_bulk, "); /* rows as if packed */
}

/* Of unaligned operands a few bytes at the ends are left out, and nothing beyond is touched. */
static void test_operands_that_are_not_aligned(void **state)
{
    struct gt_problem problem;
    struct gt_move move;

    measure(*state, "33x35x37:f32:nn:align=4:beta=1", &problem, &move);
    assert_true(move.us <= LAUNCH_US + gt_problem_traffic(&problem) / 2000);
    assert_true(move.us > LAUNCH_US + (gt_problem_traffic(&problem) - 4 * 32) / 2000);
    measure(*state, "1x1x1:f32:nn:align=4", &problem, &move);
    assert_true(move.us == LAUNCH_US);
}

/* An older device, in a process of its own, because the device's facts are read when it is opened.
 */
static int older_child(void)
{
    struct stub_fixture f;
    struct gt_err err;

    setenv("STUB_CC", "75", 1);
    if (stub_open(&f, STUB_KERNEL, &err))
        return 2;
    check(&f, "128x128x64", 1000, "move_loads_4, "); /* no bulk copies there */
    stub_close(&f);
    return 0;
}

static void test_older_device(void **state)
{
    int status = 0;
    pid_t pid = fork();

    (void)state;
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(older_child());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all_bytes_once, stub_set_up, stub_tear_down),
        cmocka_unit_test_setup_teardown(test_operands_that_are_not_aligned, stub_set_up,
                                        stub_tear_down),
        cmocka_unit_test(test_older_device),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
