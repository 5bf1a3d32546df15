/* store_fixture.h - what the tests of the store share: a fresh database in a folder of its own and
 * made-up devices, kernels and trials. */
#ifndef GT_STORE_FIXTURE_H
#define GT_STORE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "db/store_internal.h"
#include "base/err.h"
#include "problem/problem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fixture {
    char folder[64], path[96];
    struct gt_store *store;
    struct gt_trial_key key; /* of a measured candidate; point is "BM=64" */
    struct gt_err err;
};

/* Fails the test with the sentence if a call that should succeed does not. */
#define OK(fixture, call)                                  \
    do {                                                   \
        if (call)                                          \
            fail_msg("%s: %s", #call, (fixture)->err.msg); \
    } while (0)

static inline struct gt_device fixture_device(void)
{
    return (struct gt_device){.name = "NVIDIA Test",
                              .uuid = "GPU-0000",
                              .cc = 90,
                              .sms = 132,
                              .l2_bytes = 50 << 20,
                              .clock_mhz = 1980,
                              .driver = 13000};
}

static inline struct gt_kernel fixture_kernel(char *name, const char *signature)
{
    struct gt_kernel kernel = {.name = name, .text = (char *)"__global__ void gemm() {}"};

    snprintf(kernel.signature, sizeof(kernel.signature), "%s", signature);
    return kernel;
}

static inline struct gt_trial fixture_trial(double us, int stage)
{
    struct gt_trial trial = {.status = GT_STATUS_OK,
                             .stage = stage,
                             .us = us,
                             .lo_us = us * 0.99,
                             .hi_us = us * 1.01,
                             .err_u = 3.5,
                             .registers = 128,
                             .samples = 3};

    for (int i = 0; i < 3; i++)
        trial.sample[i] = (float)us;
    return trial;
}

static inline void fixture_key(struct fixture *f)
{
    struct gt_device device = fixture_device();
    struct gt_kernel kernel = fixture_kernel((char *)"simt", "aaaa");
    struct gt_problem problem;

    gt_problem_init(&problem, 256, 128, 64);
    f->key.point = "BM=64";
    OK(f, gt_store_device(f->store, &device, &f->key.device, &f->err));
    OK(f, gt_store_toolchain(f->store, 13000, &f->key.toolchain, &f->err));
    OK(f, gt_store_kernel(f->store, &kernel, &f->key.kernel, &f->err));
    OK(f, gt_store_problem(f->store, &problem, &f->key.problem, &f->err));
    OK(f, gt_store_sweep_begin(f->store, "tune --test", &f->key.sweep, &f->err));
}

static inline void fixture_reopen(struct fixture *f, enum gt_store_mode mode)
{
    gt_store_close(f->store);
    f->store = NULL;
    OK(f, gt_store_open(&f->store, f->path, mode, &f->err));
}

static inline void fixture_close(struct fixture *f)
{
    gt_store_close(f->store);
    f->store = NULL;
}

/* Runs statements on the file, beside the store or without it. */
static inline void fixture_sql(struct fixture *f, const char *sql)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s", sqlite3_errmsg(db));
    sqlite3_close(db);
}

static inline int fixture_setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    snprintf(f->folder, sizeof(f->folder), "%s/gt-store-XXXXXX",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    assert_non_null(mkdtemp(f->folder));
    snprintf(f->path, sizeof(f->path), "%s/t.db", f->folder);
    fixture_reopen(f, GT_STORE_WRITE);
    fixture_key(f);
    *state = f;
    return 0;
}

static inline int fixture_teardown(void **state)
{
    struct fixture *f = *state;
    char command[128];

    gt_store_close(f->store);
    snprintf(command, sizeof(command), "rm -rf '%s'", f->folder);
    if (system(command) != 0)
        return -1;
    free(f);
    return 0;
}

static inline void fixture_put(struct fixture *f, const char *point, const struct gt_trial *trial)
{
    f->key.point = point;
    OK(f, gt_store_trial(f->store, &f->key, trial, &f->err));
}

#endif
