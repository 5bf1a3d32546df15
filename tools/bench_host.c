/* bench_host.c - figures of the host side: enumeration, expressions, predictions, commits,
 * look-ups, rendering and compiling.  `make bench-host` prints them; they depend on the machine and
 * on what else it does, so no test is made of them. */
#include "../db/store.h"
#include "../src/compile.h"
#include "../src/err.h"
#include "../src/predict.h"
#include "../src/problem.h"
#include "../src/render.h"
#include "../tuner/space.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define ARCH      90 /* of the profile used throughout */
#define EVALS     2000000
#define PREDICTED 200000
#define COMMITS   200
#define LOOKUPS   1000000
#define RENDERS   2000
#define COMPILES  12

struct bench {
    char *data_dir;
    struct gt_kernels kernels;
    struct gt_device device;
    struct gt_err err;
};

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* CPU time of this process: what enumeration costs on a machine that does nothing else. */
static double cpu(void)
{
    struct timespec time;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* One figure a line. */
static void figure(const char *name, double value, const char *unit, const char *remark)
{
    printf("%-34s %12.3f %-10s %s\n", name, value, unit, remark);
    fflush(stdout);
}

static int bench_space(struct bench *bench, const char *text)
{
    struct gt_problem problem;
    int rc = gt_problem_parse(&problem, text, &bench->err);

    for (size_t i = 0; i < bench->kernels.count && !rc; i++) {
        const struct gt_kernel *kernel = bench->kernels.kernel[i];
        struct gt_space space;
        char name[96], remark[160];
        double begin = cpu(), seconds;

        if (!gt_kernel_serves(kernel, &problem, &bench->device, NULL))
            continue;
        rc = gt_space_init(&space, kernel, &problem, &bench->device, 0, &bench->err);
        seconds = cpu() - begin;
        if (rc == GT_ERANGE) { /* no valid point for this problem */
            rc = GT_OK;
            continue;
        }
        if (rc)
            return rc;
        snprintf(name, sizeof(name), "space %s", kernel->name);
        snprintf(remark, sizeof(remark), "%s: %.4g valid of %.4g, %.3g of the product/s", text,
                 space.valid, space.cross_product, space.cross_product / seconds);
        figure(name, seconds, "s CPU", remark);
        gt_space_release(&space);
    }
    return rc;
}

/* The kernel that `tune` sweeps by default, or the last one of the ladder. */
static const struct gt_kernel *main_kernel(const struct bench *bench)
{
    const struct gt_kernel *kernel = NULL;

    for (size_t i = 0; i < bench->kernels.count; i++)
        if (!kernel || !kernel->production)
            kernel = bench->kernels.kernel[i];
    return kernel;
}

static int bench_points(struct bench *bench)
{
    const struct gt_kernel *kernel = main_kernel(bench);
    struct gt_candidate candidate = {.kernel = kernel, .device = &bench->device};
    struct gt_strbuf source = GT_STRBUF_INIT;
    struct gt_problem problem;
    struct gt_space space;
    int64_t slots[GT_MAX_SLOTS], value, sum = 0;
    size_t evaluated = 0, predicted = 0;
    double begin;
    int rc;

    gt_problem_init(&problem, 4096, 4096, 4096);
    candidate.problem = &problem;
    rc = gt_space_init(&space, kernel, &problem, &bench->device, 1000000, &bench->err);
    if (rc)
        return rc;
    gt_space_point(&space, 0, &candidate.point);
    rc = gt_candidate_slots(&candidate, slots, &bench->err);
    for (begin = now(); !rc && evaluated < EVALS; evaluated++) {
        rc = gt_expr_eval(kernel->constraint[evaluated % kernel->constraints].expr, slots, &value,
                          &bench->err);
        sum += value;
    }
    figure("expression", (now() - begin) / EVALS * 1e9, "ns", sum ? "one constraint" : "");
    begin = now();
    for (; !rc && predicted < PREDICTED; predicted++) {
        struct gt_geometry geometry;
        double us;

        gt_space_point(&space, predicted % space.count, &candidate.point);
        if (!gt_candidate_geometry(&candidate, &geometry, NULL))
            gt_predict(&candidate, &geometry, 0, 0, &us, NULL);
    }
    figure("prediction", (now() - begin) / PREDICTED * 1e6, "us", "geometry and model of a point");
    begin = now();
    for (size_t i = 0; i < RENDERS && !rc; i++) {
        gt_strbuf_reset(&source);
        gt_space_point(&space, i * 7919 % space.count, &candidate.point);
        rc = gt_render(&source, &candidate, &bench->err);
    }
    figure("render", (now() - begin) / RENDERS * 1e6, "us", kernel->name);
    gt_strbuf_release(&source);
    gt_space_release(&space);
    return rc;
}

static int bench_compile(struct bench *bench)
{
    const struct gt_kernel *kernel = main_kernel(bench);
    struct gt_candidate candidate = {.kernel = kernel, .device = &bench->device};
    struct gt_strbuf source = GT_STRBUF_INIT;
    struct gt_problem problem;
    struct gt_space space = {0};
    struct gt_nvrtc *nvrtc = NULL;
    double begin;
    int rc = gt_nvrtc_open(&nvrtc, &bench->err);

    if (rc == GT_ENOLIB) {
        printf("%-34s %s\n", "compile", bench->err.msg);
        return GT_OK;
    }
    gt_problem_init(&problem, 4096, 4096, 4096);
    candidate.problem = &problem;
    if (!rc)
        rc = gt_space_init(&space, kernel, &problem, &bench->device, 1000000, &bench->err);
    begin = now();
    for (size_t i = 0; i < COMPILES && !rc; i++) {
        struct gt_compile_request request = {.name = kernel->name,
                                             .include_dir = kernel->include_dir,
                                             .arch = ARCH,
                                             .device_cc = ARCH};
        struct gt_binary binary = {0};

        gt_space_point(&space, i * 104729 % space.count, &candidate.point);
        gt_strbuf_reset(&source);
        rc = gt_render(&source, &candidate, &bench->err);
        request.source = source.text;
        if (!rc)
            rc = gt_compile(nvrtc, &request, &binary, &bench->err);
        gt_binary_release(&binary);
    }
    if (!rc)
        figure("render and compile", COMPILES / (now() - begin), "/s",
               "one thread, points of all sizes");
    gt_strbuf_release(&source);
    gt_space_release(&space);
    gt_nvrtc_close(nvrtc);
    return rc;
}

static int bench_store(struct bench *bench)
{
    const struct gt_kernel *kernel = main_kernel(bench);
    struct gt_trial trial = {.status = GT_STATUS_OK, .stage = 1, .us = 1, .lo_us = 1, .hi_us = 1};
    struct gt_trial_key key = {0};
    char folder[] = "bench-host-XXXXXX", path[64], point[32];
    struct gt_store *store = NULL;
    struct gt_problem problem;
    double begin = 0;
    int rc;

    if (!mkdtemp(folder))
        return gt_err_set(&bench->err, GT_EIO, "%s: cannot be created", folder);
    snprintf(path, sizeof(path), "%s/bench.db", folder);
    gt_problem_init(&problem, 4096, 4096, 4096);
    rc = gt_store_open(&store, path, GT_STORE_WRITE, &bench->err);
    if (!rc)
        rc = gt_store_sweep_begin(store, "bench-host", &key.sweep, &bench->err);
    if (!rc)
        rc = gt_store_device(store, &bench->device, &key.device, &bench->err);
    if (!rc)
        rc = gt_store_toolchain(store, 13000, &key.toolchain, &bench->err);
    if (!rc)
        rc = gt_store_kernel(store, kernel, &key.kernel, &bench->err);
    if (!rc)
        rc = gt_store_problem(store, &problem, &key.problem, &bench->err);
    begin = now();
    for (int i = 0; i < COMMITS && !rc; i++) {
        snprintf(point, sizeof(point), "P=%d", i);
        key.point = point;
        rc = gt_store_attempt(store, &key, &bench->err);
        if (!rc)
            rc = gt_store_trial(store, &key, &trial, &bench->err);
    }
    if (!rc)
        figure("commit", COMMITS * 2 / (now() - begin), "/s", "attempts and trials, durable");
    gt_store_close(store);
    unlink(path);
    rmdir(folder);
    return rc;
}

static int bench_lookup(struct bench *bench)
{
    struct gt_options options = {.data_dir = bench->data_dir};
    const struct gt_answer *answer;
    struct gt_problem problem;
    struct gt *gt = NULL;
    double begin = now();
    int rc = gt_open(&gt, &options, &bench->err);

    if (rc)
        return rc;
    figure("open the tables", (now() - begin) * 1e3, "ms", "");
    gt_problem_init(&problem, 4096, 4096, 4096);
    begin = now();
    rc = gt_lookup(gt, ARCH, NULL, &problem, &answer, &bench->err);
    figure("look-up, first of a problem", (now() - begin) * 1e6, "us", "");
    begin = now();
    for (int i = 0; i < LOOKUPS && !rc; i++)
        rc = gt_lookup(gt, ARCH, NULL, &problem, &answer, &bench->err);
    if (!rc)
        figure("look-up, again", (now() - begin) / LOOKUPS * 1e9, "ns", "");
    gt_close(gt);
    return rc;
}

static int run(struct bench *bench)
{
    struct rusage usage;
    int rc = gt_data_dir(&bench->data_dir, &bench->err);

    if (!rc)
        rc = gt_kernels_load(&bench->kernels, bench->data_dir, NULL, &bench->err);
    if (!rc)
        rc = gt_device_profile(&bench->device, bench->data_dir, ARCH, &bench->err);
    if (!rc)
        rc = bench_space(bench, "4096x4096x4096:f32:nn");
    if (!rc)
        rc = bench_space(bench, "1000x1000x1000:f32:tn");
    if (!rc)
        rc = bench_space(bench, "64x64x65536:f32:nt");
    if (!rc)
        rc = bench_points(bench);
    getrusage(RUSAGE_SELF, &usage);
    figure("memory, at most so far", (double)usage.ru_maxrss / 1024, "MiB", "");
    if (!rc)
        rc = bench_compile(bench);
    if (!rc)
        rc = bench_store(bench);
    if (!rc)
        rc = bench_lookup(bench);
    return rc;
}

int main(void)
{
    struct bench bench = {0};
    int rc = run(&bench);

    if (rc)
        fprintf(stderr, "bench-host: %s\n", bench.err.msg);
    gt_kernels_release(&bench.kernels);
    free(bench.data_dir);
    return rc ? 1 : 0;
}
