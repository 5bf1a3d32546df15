/* compile_pool_fixture.h - a kernel with planted faults of the compiler, and a pool that compiles
 * its candidates in a folder of the test's own. */
#ifndef GT_TEST_COMPILE_POOL_FIXTURE_H
#define GT_TEST_COMPILE_POOL_FIXTURE_H

#include "base/err.h"
#include "workers/compile_pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

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
    struct gt_prepared prepared;
    struct gt_err err = {0};

    if (gt_compile_pool_prepare(f->pool, &candidate, &prepared, &err) ||
        gt_compile_pool_submit(f->pool, id, &prepared, &err))
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

#endif
