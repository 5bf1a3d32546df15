/* test_compile_pool.c - tests compilations by worker processes: those that succeed, fail or have to
 * be killed are charged to their own candidate. */
#include "base/err.h"
#include "cuda/cache.h"
#include "workers/compile_pool.h"
#include "workers/process.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "children.h"

/* FAULT chooses the compiler's fault; WIDE is a second value of the cubin's key. */
static const char template_text[] =
    "#ifndef FAULT\n#define FAULT 0\n#endif\n#ifndef WIDE\n#define WIDE 0\n#endif\n"
    "#ifndef GROUP\n#define GROUP 1\n#endif\n"
    "#include \"common/args.h\"\n"
    "#if FAULT == 1\n#error planted by the test\n#endif\n"
    "#if FAULT == 2\n" /* memory without end */
    "template <int N, int M> struct f { static const long v = f<N-1,2*M>::v + f<N-1,2*M+1>::v; };\n"
    "template <int M> struct f<0, M> { static const long v = M; };\n"
    "__device__ long eat() { return f<28, 1>::v; }\n"
    "#endif\n"
    "#if FAULT == 3\n" /* time without end: many evaluations, each below the compiler's own limit */
    "constexpr __device__ unsigned spin(unsigned x) {\n"
    "    for (int i = 0; i < 30000; i++) x = x * 1664525u + 1013904223u;\n    return x; }\n"
    "template <int N> struct g { static constexpr unsigned v = spin(N) + g<N - 1>::v; };\n"
    "template <> struct g<0> { static constexpr unsigned v = 1; };\n"
    "template <int N> struct h { static constexpr unsigned v = g<N * 150>::v + h<N - 1>::v; };\n"
    "template <> struct h<0> { static constexpr unsigned v = 1; };\n"
    "__device__ unsigned burn() { return h<100>::v; }\n"
    "#endif\n"
    "extern \"C\" __global__ void gemm(const __grid_constant__ gt_args args) {\n"
    "    float *d = (float *)args.d;\n"
    "#if FAULT == 4\n" /* more live values than registers */
    "    float v[300];\n    #pragma unroll\n"
    "    for (int i = 0; i < 300; i++) v[i] = ((volatile float *)args.a)[i];\n    #pragma unroll\n"
    "    for (int i = 0; i < 300; i++) d[i] = v[i] * v[299 - i];\n"
    "#endif\n"
    "#if FAULT == 5\n" /* accumulators that are used between two wgmma */
    "    float v[4] = {};\n    unsigned long long a = args.lda;\n"
    "    asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");\n"
    "    for (int i = 0; i < 2; i++, v[0] *= 2)\n"
    "        asm volatile(\"wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0,%1,%2,%3}, %4, "
    "\"\n"
    "            \"%4, 1, 1, 1, 0, 0;\" : \"+f\"(v[0]), \"+f\"(v[1]), \"+f\"(v[2]), \"+f\"(v[3]) : "
    "\"l\"(a));\n"
    "    asm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\");\n"
    "    asm volatile(\"wgmma.wait_group.sync.aligned 0;\" ::: \"memory\");\n"
    "    d[threadIdx.x + 64] = v[0] + v[1] + v[2] + v[3];\n"
    "#endif\n"
    "    d[threadIdx.x + GROUP] = WIDE;\n}\n";

static const char description[] =
    "{\"kernel\": \"planted\", \"doc\": \"Compiles or not.\", \"template\": "
    "\"templates/planted.cu\", \"role\": \"production\",\n"
    "\"serves\": {\"types\": [\"f32\"], \"out\": [\"f32\"], \"layouts\": [\"nn\"], \"min_cc\": 75, "
    "\"max_cc\": 129, \"accuracy\": \"strict\", \"epilogues\": [\"none\"], \"batch\": false},\n"
    "\"params\": [{\"name\": \"FAULT\", \"values\": [0,1,2,3,4,5], \"default\": 0, \"kind\": "
    "\"compile\", \"doc\": \"d\"},\n"
    " {\"name\": \"WIDE\", \"values\": [0,1,2,3], \"default\": 0, \"kind\": \"compile\", \"doc\": "
    "\"d\"},\n"
    " {\"name\": \"GROUP\", \"values\": [1,2,4,8], \"default\": 1, \"kind\": \"launch\", \"doc\": "
    "\"d\"}],\n"
    "\"derive\": [], \"constraints\": [], \"compile\": {\"max_registers\": \"FAULT == 4 ? 32 : "
    "0\"},\n"
    "\"launches\": [{\"entry\": \"gemm\", \"when\": \"1\", \"grid\": [\"1\",\"1\",\"1\"], "
    "\"block\": "
    "[\"32\",\"1\",\"1\"], \"shared\": \"0\"}]}\n";

struct fixture {
    char folder[64], cache[96];
    struct gt_kernel *kernel;
    struct gt_problem problem;
    struct gt_device device;
    struct gt_compile_pool *pool;
    int notices;
};

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[160];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fputs(text, file) >= 0, 1);
    assert_int_equal(fclose(file), 0);
}

static void copy_args(const char *folder)
{
    const char *data = getenv("GEMMTUNE_DATA");
    char command[512];

    snprintf(command, sizeof(command), "cp '%s/templates/common/args.h' '%s/templates/common/'",
             data ? data : ".", folder);
    assert_int_equal(system(command), 0);
}

static void count_notice(void *context, const char *sentence)
{
    (void)sentence;
    ++*(int *)context;
}

static int open_fixture(void **state)
{
    const char *const folders[] = {"templates", "templates/common", "configs", "configs/kernels"};
    struct fixture *f = calloc(1, sizeof(*f));
    struct gt_err err = {0};
    char path[160];
    size_t i;

    assert_non_null(f);
    strcpy(f->folder, "/tmp/gemmtune-pool-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", f->folder, folders[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    copy_args(f->folder);
    write_file(f->folder, "templates/planted.cu", template_text);
    write_file(f->folder, "configs/kernels/planted.json", description);
    snprintf(path, sizeof(path), "%s/configs/kernels/planted.json", f->folder);
    if (gt_kernel_load(&f->kernel, f->folder, path, &err))
        fail_msg("%s", err.msg);
    gt_problem_init(&f->problem, 64, 64, 64);
    f->device = (struct gt_device){.cc = 80, .sms = 108, .profile = true, .ordinal = -1};
    snprintf(f->cache, sizeof(f->cache), "%s/cache", f->folder);
    *state = f;
    return 0;
}

static int close_fixture(void **state)
{
    struct fixture *f = *state;
    char command[128];

    gt_compile_pool_close(f->pool);
    gt_kernel_free(f->kernel);
    snprintf(command, sizeof(command), "rm -rf '%s'", f->folder);
    free(f);
    return system(command);
}

static void open_pool(struct fixture *f, int jobs, int64_t memory, double cpu_s)
{
    const struct gt_compile_pool_options options = {
        .cache_dir = f->cache,
        .jobs = jobs,
        .memory = memory,
        .cpu_s = cpu_s,
        .notice = count_notice,
        .context = &f->notices,
    };
    struct gt_err err = {0};
    int rc;

    setenv("ASAN_OPTIONS", "allocator_may_return_null=1", 1); /* in the workers: as without it */
    rc = gt_compile_pool_open(&f->pool, &options, &err);

    if (rc == GT_ENOLIB) {
        print_message("# SKIP: %s\n", err.msg);
        skip();
    }
    if (rc)
        fail_msg("%s", err.msg);
    assert_true(gt_compile_pool_nvrtc(f->pool) >= 11000);
}

static void submit(struct fixture *f, uint64_t id, int fault, int wide, int group)
{
    const struct gt_candidate candidate = {
        .kernel = f->kernel,
        .problem = &f->problem,
        .device = &f->device,
        .point = {{fault, wide, group}},
    };
    struct gt_err err = {0};

    if (gt_compile_pool_submit(f->pool, id, &candidate, &err))
        fail_msg("%s", err.msg);
}

static void collect(struct fixture *f, struct gt_compiled *compiled, size_t count)
{
    struct gt_err err = {0};
    struct gt_compiled one;
    int rc;

    memset(compiled, 0, count * sizeof(*compiled));
    for (size_t i = 0; i < count;) {
        rc = gt_compile_pool_collect(f->pool, 60000, &one, &err);
        if (rc < 0)
            fail_msg("%s", err.msg);
        if (rc == 0)
            continue;
        assert_true(one.id < count);
        assert_int_equal(compiled[one.id].status, GT_STATUS_NONE); /* each id once */
        compiled[one.id] = one;
        i++;
    }
    assert_int_equal(gt_compile_pool_pending(f->pool), 0);
    assert_int_equal(gt_compile_pool_collect(f->pool, 0, &one, &err), 0);
}

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
    struct gt_err err = {0};

    if (gt_compile_pool_ahead(f->pool, &candidate, &err))
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
    submit(f, 0, 0, 0, 1); /* keeps the one worker busy */
    for (int i = 0; i < 4; i++)
        ahead(f, 0, i);
    ahead(f, 0, 2); /* it is queued already */
    assert_in_range(load_of(f).ahead, 3, 4);
    submit(f, 1, 0, 3, 2); /* the last one ahead is wanted now, for another launch parameter */
    assert_int_equal(load_of(f).ahead, 2);
    collect(f, done, 2);
    assert_true(load_of(f).ahead >= 1);
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

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_cubin_is_compiled_once, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(failures_are_statuses, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(serialized_wgmma_are_a_status, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(memory_and_time_are_limited, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(compilers_leave_the_driver_alone, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(killed_and_stopped_workers, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(kills_from_outside_are_no_verdict, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(a_refused_start_is_tried_again, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(one_worker_for_each_allowed_processor, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(dropped_jobs_do_not_come_back, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(no_worker_waits_for_the_caller, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(ahead_comes_after_now, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(an_unwritable_cache_costs_a_remark, open_fixture,
                                        close_fixture),
    };

    if (argc > 1 && !strcmp(argv[1], GT_ROLE_COMPILE))
        return gt_worker_compile_main(GT_WORKER_FD);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
