/* bench_host.c - figures of the host side: enumeration, expressions, predictions, commits,
 * rendering and compiling; look-ups and plans are in bench_library.c.  `make bench-host` prints
 * them, and `make bench-host BENCH=plans` or `BENCH=lookups` only these; they depend on the machine
 * and on what else it does, so no test is made of them. */
#include "bench_host.h"

#include "db/store.h"
#include "cuda/compile.h"
#include "base/err.h"
#include "lookup/predict.h"
#include "problem/problem.h"
#include "kernel/render.h"
#include "search/space.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define EVALS     2000000
#define PREDICTED 200000
#define COMMITS   200
#define RENDERS   2000
#define COMPILES  12

/* The valid points of one kernel, in a row that is called `what`; *seconds grows by what they cost,
 * and stays for a kernel that has none for the problem. */
static int bench_kernel_space(struct bench *bench, const char *what, const struct gt_kernel *kernel,
                              const struct gt_problem *problem, const struct gt_device *device,
                              double *seconds)
{
    char name[96], remark[160], text[GT_PROBLEM_TEXT_MAX];
    double begin = cpu(), took;
    struct gt_space space;
    int rc = gt_space_init(&space, kernel, problem, device, 0, &bench->err);

    took = cpu() - begin;
    *seconds += took;
    if (rc)
        return rc == GT_ERANGE ? GT_OK : rc;
    gt_problem_format(problem, text);
    snprintf(name, sizeof(name), "%s sm_%d %s", what, device->cc, kernel->name);
    snprintf(remark, sizeof(remark), "%s: %.4g valid of %.4g, %.3g of the product/s", text,
             space.valid, space.cross_product, space.cross_product / took);
    figure(name, took, "s CPU", remark);
    gt_space_release(&space);
    return GT_OK;
}

/* The spaces that a sweep of the problem enumerates before it begins, and their sum. */
static int bench_spaces(struct bench *bench, const char *text, int cc)
{
    struct gt_problem problem;
    struct gt_device device;
    char name[96];
    double seconds = 0;
    int rc = gt_problem_parse(&problem, text, &bench->err);

    GT_STEP(rc, gt_device_profile(&device, bench->data_dir, cc, &bench->err));
    for (size_t i = 0; i < bench->kernels.count && !rc; i++) {
        const struct gt_kernel *kernel = bench->kernels.kernel[i];

        if (kernel->production && gt_kernel_serves(kernel, &problem, &device))
            rc = bench_kernel_space(bench, "space", kernel, &problem, &device, &seconds);
    }
    snprintf(name, sizeof(name), "spaces sm_%d, all of a problem", cc);
    if (!rc && seconds > 0)
        figure(name, seconds, "s CPU", text);
    return rc;
}

static int bench_all_spaces(struct bench *bench)
{
    static const int arch[] = {86, 90};
    static const char *const text[] = {"4096x4096x4096:f32:nn",
                                       "1000x1000x1000:f32:tn",
                                       "1023x1537x2049:f32:nn",
                                       "3000x500x700:f32:tt",
                                       "64x64x65536:f32:nt",
                                       "1x4096x14336:f32:nn",
                                       "4096x4096x4096:tf32:nn",
                                       "4096x4096x4096:bf16:nn",
                                       "4092x4092x4092:bf16:nt",
                                       "16x4096x4096:bf16:nt",
                                       "4096x4096x4096:s8:nt",
                                       "4096x4096x4096:e4m3:nt",
                                       "4096x4096x4096:f32:nn:accuracy=f32"};
    int rc = GT_OK;

    for (size_t a = 0; a < sizeof(arch) / sizeof(*arch); a++)
        for (size_t i = 0; i < sizeof(text) / sizeof(*text) && !rc; i++)
            rc = bench_spaces(bench, text[i], arch[a]);
    return rc;
}

/* The largest space that tune --no-bets can be asked for.  The kernel has lost its bets afterwards.
 */
static int bench_without_bets(struct bench *bench)
{
    struct gt_kernel *kernel = gt_kernels_find(&bench->kernels, "simt", &bench->err);
    struct gt_problem problem;
    double seconds = 0;

    if (!kernel)
        return GT_ERANGE;
    gt_kernel_drop_bets(kernel);
    gt_problem_init(&problem, 4096, 4096, 4096);
    return bench_kernel_space(bench, "space without bets", kernel, &problem, &bench->device,
                              &seconds);
}

/* Of the kernels that a sweep of 4096^3 takes, the one with the most parameters. */
static const struct gt_kernel *main_kernel(const struct bench *bench)
{
    const struct gt_kernel *kernel = NULL;
    struct gt_problem problem;

    gt_problem_init(&problem, 4096, 4096, 4096);
    for (size_t i = 0; i < bench->kernels.count; i++) {
        const struct gt_kernel *other = bench->kernels.kernel[i];

        if (other->production && gt_kernel_serves(other, &problem, &bench->device) &&
            (!kernel || other->params > kernel->params))
            kernel = other;
    }
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
    GT_STEP(rc, gt_space_init(&space, kernel, &problem, &bench->device, 1000000, &bench->err));
    begin = now();
    for (size_t i = 0; i < COMPILES && !rc; i++) {
        struct gt_compile_request request = {.name = kernel->name,
                                             .include_dirs = kernel->include_dirs,
                                             .arch = ARCH,
                                             .device_cc = ARCH};
        struct gt_binary binary = {0};

        gt_space_point(&space, i * 104729 % space.count, &candidate.point);
        gt_strbuf_reset(&source);
        rc = gt_render(&source, &candidate, &bench->err);
        request.source = source.text;
        GT_STEP(rc, gt_compile(nvrtc, &request, &binary, &bench->err));
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
    GT_STEP(rc, gt_store_sweep_begin(store, "bench-host", &key.sweep, &bench->err));
    GT_STEP(rc, gt_store_device(store, &bench->device, &key.device, &bench->err));
    GT_STEP(rc, gt_store_toolchain(store, 13000, &key.toolchain, &bench->err));
    GT_STEP(rc, gt_store_kernel(store, kernel, &key.kernel, &bench->err));
    GT_STEP(rc, gt_store_problem(store, &problem, &key.problem, &bench->err));
    begin = now();
    for (int i = 0; i < COMMITS && !rc; i++) {
        snprintf(point, sizeof(point), "P=%d", i);
        key.point = point;
        rc = gt_store_attempt(store, &key, &bench->err);
        GT_STEP(rc, gt_store_trial(store, &key, &trial, &bench->err));
    }
    if (!rc)
        figure("commit", COMMITS * 2 / (now() - begin), "/s", "attempts and trials, durable");
    gt_store_close(store);
    unlink(path);
    rmdir(folder);
    return rc;
}

static int run(struct bench *bench)
{
    struct rusage usage;
    int rc = gt_data_dir(&bench->data_dir, &bench->err);

    GT_STEP(rc, gt_kernels_load(&bench->kernels, bench->data_dir, NULL, NULL, &bench->err));
    GT_STEP(rc, gt_device_profile(&bench->device, bench->data_dir, ARCH, &bench->err));
    GT_STEP(rc, bench_all_spaces(bench));
    GT_STEP(rc, bench_points(bench));
    getrusage(RUSAGE_SELF, &usage);
    figure("memory, at most so far", (double)usage.ru_maxrss / 1024, "MiB", "");
    GT_STEP(rc, bench_compile(bench));
    GT_STEP(rc, bench_store(bench));
    GT_STEP(rc, bench_lookup(bench));
    GT_STEP(rc, bench_without_bets(bench));
    return rc ? rc : bench_deployed(bench);
}

static int run_one(struct bench *bench, int (*part)(struct bench *))
{
    int rc = gt_data_dir(&bench->data_dir, &bench->err);

    return rc ? rc : part(bench);
}

int main(int argc, char **argv)
{
    const char *part = argc > 1 ? argv[1] : "";
    struct bench bench = {0};
    int rc = strcmp(part, "plans") == 0     ? run_one(&bench, bench_deployed)
             : strcmp(part, "lookups") == 0 ? run_one(&bench, bench_lookup)
                                            : run(&bench);

    if (rc)
        fprintf(stderr, "bench-host: %s\n", bench.err.msg);
    gt_kernels_release(&bench.kernels);
    free(bench.data_dir);
    return rc ? 1 : 0;
}
