/* gpu_fixture.h - for tests that need a GPU: opens device and compiler, or skips with the reason.
 */
#ifndef GPU_FIXTURE_H
#define GPU_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "timing/bench.h"
#include "cuda/compile.h"
#include "problem/problem.h"
#include "kernel/render.h"

struct gpu_fixture {
    struct gt_gpu *gpu;
    struct gt_nvrtc *nvrtc;
};

/* Skips the running test where there is no GPU or no NVRTC. */
static inline void gpu_open(struct gpu_fixture *f)
{
    struct gt_err err;

    memset(f, 0, sizeof(*f));
    if (gt_gpu_open(&f->gpu, 0, false, &err) || gt_nvrtc_open(&f->nvrtc, &err)) {
        print_message("skipped: %s\n", err.msg);
        gt_gpu_close(f->gpu);
        skip();
    }
}

static inline void gpu_close(struct gpu_fixture *f)
{
    gt_nvrtc_close(f->nvrtc);
    gt_gpu_close(f->gpu);
}

static inline struct gt_kernel *gpu_kernel(const char *path)
{
    struct gt_kernel *kernel = NULL;
    struct gt_err err;

    if (gt_kernel_load(&kernel, ".", path, &err))
        fail_msg("%s", err.msg);
    return kernel;
}

static inline struct gt_bench *gpu_bench(const struct gpu_fixture *f, const char *text, bool warm,
                                         struct gt_problem *problem)
{
    const struct gt_bench_options options = {.seed = 11,
                                             .timing = warm ? GT_TIMING_WARM : GT_TIMING_COLD};
    struct gt_bench *bench = NULL;
    struct gt_err err;

    if (gt_problem_parse(problem, text, &err) ||
        gt_bench_open(&bench, f->gpu, f->nvrtc, ".", NULL, problem, &options, &err))
        fail_msg("%s: %s", text, err.msg);
    return bench;
}

/* Renders and compiles a candidate; release with gt_binary_release. */
static inline void gpu_compile(const struct gpu_fixture *f, const struct gt_candidate *candidate,
                               struct gt_binary *binary)
{
    struct gt_strbuf source = GT_STRBUF_INIT;
    struct gt_geometry geometry;
    struct gt_err err;

    if (gt_candidate_geometry(candidate, &geometry, &err) || gt_render(&source, candidate, &err))
        fail_msg("%s: %s", candidate->kernel->name, err.msg);
    const struct gt_compile_request request = {.source = source.text,
                                               .name = candidate->kernel->name,
                                               .include_dirs = candidate->kernel->include_dirs,
                                               .arch = geometry.code_arch,
                                               .device_cc = candidate->device->cc,
                                               .features = geometry.arch_features,
                                               .ptx = geometry.code_ptx,
                                               .max_registers = geometry.max_registers};

    if (gt_compile(f->nvrtc, &request, binary, &err))
        fail_msg("%s: %s", candidate->kernel->name, err.msg);
    gt_strbuf_release(&source);
}

/* The candidate with its geometry and image, to be run. */
static inline struct gt_bench_entry gpu_entry(const struct gt_candidate *candidate,
                                              const struct gt_binary *binary)
{
    struct gt_bench_entry entry = {
        .candidate = candidate, .image = binary->image, .size = binary->size};

    assert_int_equal(gt_candidate_geometry(candidate, &entry.geometry, NULL), GT_OK);
    return entry;
}

/* Compiles and tries one candidate. */
static inline void gpu_trial(const struct gpu_fixture *f, struct gt_bench *bench,
                             const struct gt_candidate *candidate, double best_us,
                             struct gt_trial *trial)
{
    struct gt_bench_entry entry;
    struct gt_binary binary;
    struct gt_err err;

    memset(trial, 0, sizeof(*trial));
    gpu_compile(f, candidate, &binary);
    entry = gpu_entry(candidate, &binary);
    if (gt_bench_trial(bench, &entry, best_us, trial, &err))
        fail_msg("%s: %s", candidate->kernel->name, err.msg);
    gt_binary_release(&binary);
}

#endif
