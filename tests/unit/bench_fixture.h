/* bench_fixture.h - what the tests of timing share: a bench on the stub driver, trials and samples
 * on it, and children for what a driver does once. */
#ifndef GT_BENCH_FIXTURE_H
#define GT_BENCH_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/wait.h>

#include "stub_fixture.h"
#include "timing/bench_internal.h"

#define OK(call) assert_int_equal(call, GT_OK)

static inline struct gt_bench *open_bench(const struct stub_fixture *f, const char *text, bool warm,
                                          struct gt_problem *problem)
{
    const struct gt_bench_options options = {
        .seed = 7, .workspace_cap = 1 << 20, .timing = warm ? GT_TIMING_WARM : GT_TIMING_COLD};
    struct gt_bench *bench = NULL;
    struct gt_err err = {0};

    if (gt_problem_parse(problem, text, &err) ||
        gt_bench_open(&bench, f->gpu, f->nvrtc, ".", NULL, problem, &options, &err))
        fail_msg("%s: %s", text, err.msg);
    return bench;
}

static inline void trial_of(void **state, struct gt_bench *bench, const struct gt_problem *problem,
                            const char *fault, double best_us, struct gt_trial *trial)
{
    struct gt_err err = {0};

    if (stub_trial(*state, bench, problem, fault, best_us, trial, &err))
        fail_msg("%s", err.msg);
}

/* Takes samples of a candidate, as stage 2 does. */
static inline int sample(void **state, struct gt_bench *bench, const struct gt_problem *problem,
                         const char *fault, int most, struct gt_trial *trial)
{
    struct gt_candidate candidate;
    struct gt_strbuf image;
    struct gt_err err = {0};
    struct gt_bench_entry entry;
    int rc = stub_candidate(*state, problem, fault, &candidate, &image, &err);

    entry = stub_entry(&candidate, &image);
    if (!rc)
        rc = gt_bench_sample(bench, &entry, most, trial, &err);
    gt_strbuf_release(&image);
    return rc;
}

/* Runs it in a process of its own, which must exit with 0. */
static inline void run_child(int (*child)(void))
{
    int status = -1;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (!pid)
        _exit(child());
    assert_true(waitpid(pid, &status, 0) == pid);
    assert_int_equal(status, 0);
}

#endif
