/* test_compile_pool.c - tests compilations by worker processes: those that succeed, fail or have to
 * be killed are charged to their own candidate. */
#include "compile_pool_fixture.h"

#include "cuda/cache.h"
#include "workers/process.h"

#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>

#include "children.h"

static void one_cubin_is_compiled_once(void **state)
{
    struct fixture *f = *state;
    struct gt_compiled done[16];
    struct gt_compile_stats stats;
    int i;

    open_pool(f, 2, 0, 0);
    for (i = 0; i < 16; i++)
        submit(f, (uint64_t)i, 0, i / 4, 1 << i % 4);
    assert_int_equal(gt_compile_pool_pending(f->pool), 16);
    collect(f, done, 16);
    for (i = 0; i < 16; i++) {
        assert_int_equal(done[i].status, GT_STATUS_OK);
        assert_string_equal(done[i].key, done[i / 4 * 4].key);
        assert_true(done[i].registers > 0);
    }
    gt_compile_pool_stats(f->pool, &stats);
    assert_int_equal(stats.compiled, 4);
    submit(f, 0, 0, 0, 2);
    collect(f, done, 1);
    assert_true(done[0].cached);
    gt_compile_pool_stats(f->pool, &stats);
    assert_int_equal(stats.compiled, 4);
    assert_int_equal(stats.cache_hits, 1);
    assert_int_equal(f->notices, 0);
}

/* The pool compiles what it is sent under the key it is sent, and computes neither: the same
 * candidate is not prepared again, however its description changes, and another one is. */
static void what_is_prepared_is_not_computed_again(void **state)
{
    struct fixture *f = *state;
    struct gt_candidate candidate = {
        .kernel = f->kernel, .problem = &f->problem, .device = &f->device, .point = {{0, 1, 1}}};
    struct gt_expr *grid = f->kernel->launch[0].grid[0];
    struct gt_prepared first, again;
    struct gt_compiled done[1];
    struct gt_err err = {0};

    open_pool(f, 1, 0, 0);
    assert_int_equal(gt_compile_pool_prepare(f->pool, &candidate, &first, &err), GT_OK);
    assert_int_equal(first.why.code, GT_OK);
    assert_int_equal(gt_expr_parse(&f->kernel->launch[0].grid[0], "M / 0", &f->kernel->names, &err),
                     GT_OK);
    assert_int_equal(gt_compile_pool_prepare(f->pool, &candidate, &again, &err), GT_OK);
    assert_memory_equal(&again, &first, sizeof(again));
    memset(first.key, 'a', sizeof(first.key) - 1);
    assert_int_equal(gt_compile_pool_submit(f->pool, 0, &first, &err), GT_OK);
    collect(f, done, 1);
    assert_int_equal(done[0].status, GT_STATUS_OK);
    assert_string_equal(done[0].key, first.key);
    candidate.point.value[1] = 2;
    assert_int_equal(gt_compile_pool_prepare(f->pool, &candidate, &again, &err), GT_OK);
    assert_int_equal(again.why.code, GT_ERANGE);
    gt_expr_free(f->kernel->launch[0].grid[0]);
    f->kernel->launch[0].grid[0] = grid;
}

/* A compiler that works ahead for several devices keeps each of them in the same place in turn. */
static void another_device_in_the_same_place_is_prepared_for(void **state)
{
    struct fixture *f = *state;
    struct gt_candidate candidate = {
        .kernel = f->kernel, .problem = &f->problem, .device = &f->device, .point = {{0, 1, 1}}};
    const struct gt_device device = f->device;
    struct gt_prepared first, other, again;
    struct gt_err err = {0};

    open_pool(f, 1, 0, 0);
    assert_int_equal(gt_compile_pool_prepare(f->pool, &candidate, &first, &err), GT_OK);
    f->device.cc = device.cc == 90 ? 86 : 90;
    assert_int_equal(gt_compile_pool_prepare(f->pool, &candidate, &other, &err), GT_OK);
    assert_int_equal(other.geometry.code_arch, f->device.cc);
    assert_string_not_equal(other.key, first.key);
    f->device = device;
    assert_int_equal(gt_compile_pool_prepare(f->pool, &candidate, &again, &err), GT_OK);
    assert_string_equal(again.key, first.key);
}

/* The last 64 bytes are what candidates may spill; a source error is quoted; neither is compiled
 * again for another launch parameter. */
static void failures_are_statuses(void **state)
{
    struct fixture *f = *state;
    struct gt_compiled done[4];
    struct gt_compile_stats stats;

    open_pool(f, 1, 0, 0);
    submit(f, 0, 1, 0, 1);
    submit(f, 1, 4, 0, 1);
    submit(f, 2, 0, 0, 1);
    collect(f, done, 3);
    assert_int_equal(done[0].status, GT_STATUS_COMPILE_ERROR);
    assert_non_null(strstr(done[0].detail, "planted by the test"));
    assert_non_null(strstr(done[0].detail, "planted.cu(12)")); /* the template's own line */
    assert_int_equal(done[1].status, GT_STATUS_SPILLS);
    assert_true(done[1].spill_bytes > GT_SPILL_LIMIT);
    assert_int_equal(done[2].status, GT_STATUS_OK);
    submit(f, 0, 1, 0, 8);
    submit(f, 1, 4, 0, 8);
    collect(f, done, 2);
    assert_int_equal(done[0].status, GT_STATUS_COMPILE_ERROR);
    assert_int_equal(done[1].status, GT_STATUS_SPILLS);
    assert_true(done[0].cached && done[1].cached);
    gt_compile_pool_stats(f->pool, &stats);
    assert_int_equal(stats.compiled, 3);
}

/* From the compiler and from the cache. */
static void serialized_wgmma_are_a_status(void **state)
{
    struct fixture *f = *state;
    struct gt_compiled done[4];

    f->device.cc = 90;
    open_pool(f, 1, 0, 0);
    for (int i = 0; i < 2; i++) {
        submit(f, 0, 5, 0, 1 + i);
        collect(f, done, 1);
        assert_int_equal(done[0].status, GT_STATUS_SERIALIZED);
        assert_int_equal(done[0].cached, i);
        assert_non_null(strstr(done[0].detail, "the compiler serializes its wgmma: "));
    }
}

static void memory_and_time_are_limited(void **state)
{
    struct fixture *f = *state;
    struct gt_compiled done[4];

    open_pool(f, 2, 300 << 20, 2);
    submit(f, 0, 3, 0, 1);
    submit(f, 1, 0, 0, 1);
    submit(f, 2, 0, 1, 1);
    submit(f, 3, 2, 0, 1);
    collect(f, done, 4);
    assert_int_equal(done[0].status, GT_STATUS_COMPILE_TIMEOUT);
    assert_non_null(
        strstr(done[0].detail, "allowed")); /* CPU time, or time if others use the CPU */
    assert_int_equal(done[1].status, GT_STATUS_OK);
    assert_int_equal(done[2].status, GT_STATUS_OK);
#ifdef __SANITIZE_ADDRESS__ /* hangs in its own report when there is no memory for it */
    assert_true(done[3].status == GT_STATUS_COMPILE_CRASH ||
                done[3].status == GT_STATUS_COMPILE_TIMEOUT);
#else
    assert_int_equal(done[3].status, GT_STATUS_COMPILE_CRASH);
    assert_non_null(strstr(done[3].detail, "300 MiB"));
#endif
    submit(f, 0, 0, 3, 1); /* the pool has recovered */
    collect(f, done, 1);
    assert_int_equal(done[0].status, GT_STATUS_OK);
    assert_true(f->notices >= 1);
}

/* Sends the signal to every worker; returns how many there are. */
static int kill_a_child(int signo)
{
    int pid[64], count = children(pid, 64), killed = 0;

    for (int i = 0; i < count; i++)
        killed += kill(pid[i], signo) == 0;
    return killed;
}

/* Whether a worker has mapped a file of that name. */
static bool a_child_maps(const char *name)
{
    int pid[64], count = children(pid, 64);
    bool found = false;

    for (int i = 0; i < count; i++) {
        char path[64], line[512];
        FILE *file;

        snprintf(path, sizeof(path), "/proc/%d/maps", pid[i]);
        file = fopen(path, "r");
        assert_non_null(file);
        while (fgets(line, sizeof(line), file))
            found = found || strstr(line, name);
        fclose(file);
    }
    return found;
}

/* Workers do not load the driver.  NVRTC 13 would store results in the driver's cache, for which it
 * starts the driver in each worker, and all workers of a machine would wait for that cache's lock.
 */
static void compilers_leave_the_driver_alone(void **state)
{
    struct fixture *f = *state;
    const char *build = getenv("BUILD"), *before = getenv("LD_LIBRARY_PATH");
    char driver[PATH_MAX], stub[PATH_MAX], path[2 * PATH_MAX], *saved = NULL;
    struct gt_compiled done[1];

    snprintf(path, sizeof(path), "%s/stub/libcuda.so.1", build ? build : "build");
    if (!realpath(path, stub)) {
        print_message("# SKIP: no %s, which stands in for the driver\n", path);
        skip();
    }
    snprintf(driver, sizeof(driver), "%s/libcuda.so.1", f->folder);
    assert_int_equal(symlink(stub, driver), 0);
    saved = before ? strdup(before) : NULL;
    snprintf(path, sizeof(path), "%s:%s", f->folder, before ? before : "");
    setenv("LD_LIBRARY_PATH", path, 1);
    open_pool(f, 1, 0, 0);
    submit(f, 0, 0, 0, 1);
    collect(f, done, 1);
    if (saved)
        setenv("LD_LIBRARY_PATH", saved, 1);
    else
        unsetenv("LD_LIBRARY_PATH");
    free(saved);
    assert_int_equal(done[0].status, GT_STATUS_OK);
    assert_true(a_child_maps("libnvrtc"));
    assert_false(a_child_maps("libcuda"));
}

static void killed_and_stopped_workers(void **state)
{
    struct fixture *f = *state;
    struct gt_compiled done[2];
    int kills = 0;

    open_pool(f, 1, 0, 2);
    submit(f, 0, 3, 0, 1);
    while (gt_compile_pool_collect(f->pool, 1000, &done[0], NULL) == 0 && kills < 10)
        kills += kill_a_child(SIGABRT);
    assert_true(kills >= 2); /* the first death may have come from outside */
    assert_int_equal(done[0].status, GT_STATUS_COMPILE_CRASH);
    assert_non_null(strstr(done[0].detail, "signal 6"));
    submit(f, 0, 0, 0, 1);
    collect(f, done, 1);
    assert_int_equal(done[0].status, GT_STATUS_OK);
    submit(f, 0, 3, 1, 1); /* stopped, it uses no CPU time: the supervisor's clock ends it */
    usleep(200000);
    assert_int_equal(kill_a_child(SIGSTOP), 1);
    submit(f, 1, 0, 1, 1);
    collect(f, done, 2);
    assert_int_equal(done[0].status, GT_STATUS_COMPILE_TIMEOUT);
    assert_non_null(strstr(done[0].detail, "6 s"));
    assert_int_equal(done[1].status, GT_STATUS_OK);
}

/* A SIGKILL from outside, e.g. by a system short of memory, is not charged to the candidate. */
static void kills_from_outside_are_no_verdict(void **state)
{
    struct fixture *f = *state;
    struct gt_compiled done;
    int kills = 0, rc;

    open_pool(f, 1, 0, 2);
    submit(f, 0, 3, 0, 1);
    do {
        usleep(50000);
        kills += kill_a_child(kills % 2 ? SIGTERM : SIGKILL);
        rc = gt_compile_pool_collect(f->pool, 20, &done, NULL);
    } while (rc == 0 && kills < 8);
    if (rc)
        fail_msg("after %d kills: %d, status %d, %s", kills, rc, rc > 0 ? (int)done.status : 0,
                 rc > 0 ? done.detail : "");
    collect(f, &done, 1); /* without kills it gets the status of its own fault */
    assert_int_equal(done.status, GT_STATUS_COMPILE_TIMEOUT);
}

/* A short lack of descriptors or processes does not end the sweep. */
static void a_refused_start_is_tried_again(void **state)
{
    struct fixture *f = *state;
    struct rlimit before, none;
    struct gt_compiled done;
    int rc;

    open_pool(f, 1, 0, 0);
    kill_a_child(SIGKILL);
    usleep(100000);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 4;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    submit(f, 0, 0, 0, 1);
    rc = gt_compile_pool_collect(f->pool, 1500, &done, NULL);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(rc, 0);
    collect(f, &done, 1);
    assert_int_equal(done.status, GT_STATUS_OK);
}

/* A container, or taskset, may leave a process fewer processors than are online. */
static void one_worker_for_each_allowed_processor(void **state)
{
    struct fixture *f = *state;
    cpu_set_t before, one;

    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    open_pool(f, 0, 0, 0);
    assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
    assert_int_equal(gt_compile_pool_jobs(f->pool), 1);
}

/* Jobs that were not begun can be dropped. */
static void dropped_jobs_do_not_come_back(void **state)
{
    struct fixture *f = *state;
    struct gt_compiled done[4], one;
    int i;

    open_pool(f, 1, 0, 0);
    for (i = 0; i < 4; i++)
        submit(f, (uint64_t)i, 0, i, 1);
    gt_compile_pool_drop(f->pool);
    i = (int)gt_compile_pool_pending(f->pool);
    assert_true(i <= 1);
    while (gt_compile_pool_pending(f->pool))
        assert_true(gt_compile_pool_collect(f->pool, 60000, &one, NULL) >= 0);
    submit(f, 0, 0, 3, 1);
    collect(f, done, 1);
    assert_int_equal(done[0].status, GT_STATUS_OK);
}

/* Workers get their next jobs while the caller does something else. */
static void no_worker_waits_for_the_caller(void **state)
{
    struct fixture *f = *state;
    struct gt_compile_stats stats = {0};
    struct gt_compiled done[8], one;

    open_pool(f, 2, 0, 0);
    for (int i = 0; i < 4; i++)
        submit(f, (uint64_t)i, 0, i, 1);
    for (int i = 0; i < 600 && stats.compiled < 4; i++) {
        usleep(100000); /* nothing is collected meanwhile */
        gt_compile_pool_stats(f->pool, &stats);
    }
    assert_int_equal(stats.compiled, 4);
    assert_true(stats.busy_s > 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(gt_compile_pool_collect(f->pool, 0, &done[i], NULL), 1);
    assert_int_equal(gt_compile_pool_collect(f->pool, 0, &one, NULL), 0);
}

static struct gt_compile_load load_of(struct fixture *f)
{
    struct gt_compile_load load;

    gt_compile_pool_load(f->pool, &load);
    return load;
}

static void ahead(struct fixture *f, int fault, int wide)
{
    const struct gt_candidate candidate = {.kernel = f->kernel,
                                           .problem = &f->problem,
                                           .device = &f->device,
                                           .point = {{fault, wide, 1}}};
    struct gt_prepared prepared;
    struct gt_err err = {0};

    if (gt_compile_pool_prepare(f->pool, &candidate, &prepared, &err) ||
        gt_compile_pool_ahead(f->pool, &prepared, &err))
        fail_msg("%s", err.msg);
}

/* What is wanted now comes before what is ahead; nothing is compiled twice, and no answer comes for
 * what nobody waits for. */
static void ahead_comes_after_now(void **state)
{
    struct fixture *f = *state;
    struct gt_compile_stats stats = {0};
    struct gt_compiled done[2], one;

    open_pool(f, 1, 0, 0);
    assert_int_equal(kill_a_child(SIGSTOP), 1); /* however fast it is, what is queued stays so */
    submit(f, 0, 0, 0, 1);
    for (int i = 0; i < 4; i++)
        ahead(f, 0, i);
    ahead(f, 0, 2); /* it is queued already */
    assert_in_range(load_of(f).ahead, 3, 4);
    submit(f, 1, 0, 3, 2); /* the last one ahead is wanted now, for another launch parameter */
    assert_int_equal(load_of(f).ahead, 2);
    kill_a_child(SIGCONT);
    collect(f, done, 2);
    assert_int_equal(done[1].status, GT_STATUS_OK);
    for (int i = 0; i < 600 && stats.compiled < 4; i++) {
        usleep(100000);
        gt_compile_pool_stats(f->pool, &stats);
    }
    assert_int_equal(stats.compiled, 4);
    assert_int_equal(gt_compile_pool_collect(f->pool, 0, &one, NULL), 0);
    submit(f, 0, 0, 2, 1);
    collect(f, done, 1);
    assert_true(done[0].cached);
    ahead(f, 3, 0);
    ahead(f, 3, 1);
    ahead(f, 3, 2);
    gt_compile_pool_drop_ahead(f->pool);
    assert_int_equal(load_of(f).ahead, 0);
}

/* Cubins are then handed over in a folder of this run, and one remark says so. */
static void an_unwritable_cache_costs_a_remark(void **state)
{
    struct fixture *f = *state;
    struct gt_binary binary;
    struct gt_compiled done[2];

    write_file(f->folder, "cache", "not a folder");
    open_pool(f, 1, 0, 0);
    submit(f, 0, 0, 0, 1);
    collect(f, done, 1);
    submit(f, 0, 0, 1, 1);
    collect(f, done + 1, 1);
    assert_int_equal(done[0].status, GT_STATUS_OK);
    assert_int_equal(done[1].status, GT_STATUS_OK);
    assert_int_equal(f->notices, 1);
    assert_int_equal(gt_cache_spill_load(getpid(), done[0].key, &binary, NULL), GT_OK);
    gt_binary_release(&binary);
    submit(f, 0, 0, 0, 1);
    collect(f, done, 1);
    assert_true(done[0].cached);
    gt_compile_pool_close(f->pool);
    f->pool = NULL;
    assert_int_equal(gt_cache_spill_load(getpid(), done[0].key, &binary, NULL), GT_ENOTFOUND);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, open_fixture, close_fixture)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(one_cubin_is_compiled_once),
        TEST(what_is_prepared_is_not_computed_again),
        TEST(another_device_in_the_same_place_is_prepared_for),
        TEST(failures_are_statuses),
        TEST(serialized_wgmma_are_a_status),
        TEST(memory_and_time_are_limited),
        TEST(compilers_leave_the_driver_alone),
        TEST(killed_and_stopped_workers),
        TEST(kills_from_outside_are_no_verdict),
        TEST(a_refused_start_is_tried_again),
        TEST(one_worker_for_each_allowed_processor),
        TEST(dropped_jobs_do_not_come_back),
        TEST(no_worker_waits_for_the_caller),
        TEST(ahead_comes_after_now),
        TEST(an_unwritable_cache_costs_a_remark),
    };

    if (argc > 1 && !strcmp(argv[1], GT_ROLE_COMPILE))
        return gt_worker_compile_main(GT_WORKER_FD);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
