/* store_run.h - what the tests of the store's failures share: what a sweep does to a database, and
 * whether a database that something happened to has kept what was acknowledged. */
#ifndef GT_STORE_RUN_H
#define GT_STORE_RUN_H

#include "store_fixture.h"

#define TRIALS 6

static inline int count_trials(void *context, const char *point, const struct gt_trial *trial,
                               int attempts, struct gt_err *err)
{
    (void)point;
    (void)err;
    if (trial->status == GT_STATUS_OK && !attempts)
        ++*(int *)context;
    return GT_OK;
}

/* What a sweep does to a database: opens it, names things, tries candidates. */
struct run {
    const char *path;
    int first, trials; /* points BM=first .. */
    int tell;          /* a pipe that gets one byte per trial acknowledged, or -1 */
    int done;          /* trials acknowledged */
};

static inline int sweep(struct run *run, struct gt_err *err)
{
    struct fixture f = {0};
    struct gt_device device = fixture_device();
    struct gt_kernel kernel = fixture_kernel((char *)"simt", "aaaa");
    struct gt_trial trial = fixture_trial(50, 1);
    struct gt_problem problem;
    char point[32];
    int code = gt_store_open(&f.store, run->path, GT_STORE_WRITE, err);

    run->done = 0;
    gt_problem_init(&problem, 256, 128, 64);
    f.key.point = point;
    if (!code)
        code = gt_store_device(f.store, &device, &f.key.device, err);
    if (!code)
        code = gt_store_toolchain(f.store, 13000, &f.key.toolchain, err);
    if (!code)
        code = gt_store_kernel(f.store, &kernel, &f.key.kernel, err);
    if (!code)
        code = gt_store_problem(f.store, &problem, &f.key.problem, err);
    if (!code)
        code = gt_store_sweep_begin(f.store, "tune", &f.key.sweep, err);
    for (int i = 0; !code && i < run->trials; i++) {
        snprintf(point, sizeof(point), "BM=%d", run->first + i);
        code = gt_store_attempt(f.store, &f.key, err);
        if (!code)
            code = gt_store_trial(f.store, &f.key, &trial, err);
        if (!code && run->tell >= 0 && write(run->tell, "t", 1) != 1)
            code = GT_EIO;
        run->done += !code;
    }
    gt_store_close(f.store);
    return code;
}

/* Opens a database that something happened to: it must be sound and hold at least `done` trials,
 * each with its attempt. */
static inline void expect_kept(struct fixture *f, int done, long at)
{
    struct gt_trial_key key;
    struct gt_device device = fixture_device();
    struct gt_kernel kernel = fixture_kernel((char *)"simt", "aaaa");
    struct gt_problem problem;
    int64_t trials, orphans;
    int found = 0;

    memset(&key, 0, sizeof(key));
    gt_problem_init(&problem, 256, 128, 64);
    if (gt_store_open(&f->store, f->path, GT_STORE_WRITE, &f->err))
        fail_msg("after fault %ld: %s", at, f->err.msg);
    OK(f, gt_store_device(f->store, &device, &key.device, &f->err));
    OK(f, gt_store_toolchain(f->store, 13000, &key.toolchain, &f->err));
    OK(f, gt_store_kernel(f->store, &kernel, &key.kernel, &f->err));
    OK(f, gt_store_problem(f->store, &problem, &key.problem, &f->err));
    OK(f, gt_store_resume(f->store, &key, false, count_trials, &found, &f->err));
    if (found < done)
        fail_msg("after fault %ld: %d trials of %d acknowledged ones are left", at, found, done);
    OK(f, gt_store_integer(f->store, "SELECT count(*) FROM trial", &trials, &f->err));
    assert_int_equal(trials, found);
    OK(f, gt_store_integer(f->store,
                           "SELECT count(*) FROM trial LEFT JOIN attempt USING (point)"
                           " WHERE coalesce(open, 1)",
                           &orphans, &f->err));
    assert_int_equal(orphans, 0); /* a trial closes its attempt in the same transaction */
    gt_store_close(f->store);
    f->store = NULL;
}

static inline void remove_database(const struct fixture *f)
{
    static const char *const suffix[] = {"", "-wal", "-shm", "-journal", "-lock"};
    char path[128];

    for (size_t i = 0; i < sizeof(suffix) / sizeof(*suffix); i++) {
        snprintf(path, sizeof(path), "%s%s", f->path, suffix[i]);
        unlink(path);
    }
}

#endif
