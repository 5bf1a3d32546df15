/* stub_fixture.h - for tests against the stub driver, compiler and libraries
 * (tests/faults/stub_*.c): opens them instead of the real ones, and a kernel whose image is given
 * any planted fault. */
#ifndef STUB_FIXTURE_H
#define STUB_FIXTURE_H

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "timing/bench.h"
#include "cuda/compile.h"
#include "kernel/render.h"

#define STUB_KERNEL "configs/kernels/simt_naive.json"

struct stub_fixture {
    struct gt_gpu *gpu;
    struct gt_nvrtc *nvrtc;
    struct gt_kernel *kernel;
};

/* Names the stubs of this build in the environment. */
static inline void stub_environment(void)
{
    static const struct {
        const char *variable, *file;
    } libraries[] = {{"GEMMTUNE_LIBCUDA", "libcuda.so.1"},
                     {"GEMMTUNE_LIBNVRTC", "libnvrtc.so.13"},
                     {"GEMMTUNE_LIBCUBLASLT", "libcublasLt.so.13"},
                     {"GEMMTUNE_LIBNVML", "libnvidia-ml.so.1"}};
    char self[PATH_MAX] = "", path[PATH_MAX + 64];

    if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
        return;
    dirname(dirname(dirname(dirname(self)))); /* build/tests/unit/room/test_x */
    for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++) {
        snprintf(path, sizeof(path), "%s/stub/%s", self, libraries[i].file);
        setenv(libraries[i].variable, path, 1);
    }
}

/* Makes a folder below /tmp, NAME in its own, for a test with the stubs; 0, or -1. */
static inline int stub_folder(char folder[64], const char *name)
{
    stub_environment();
    snprintf(folder, 64, "/tmp/gemmtune-%s-XXXXXX", name);
    return mkdtemp(folder) ? 0 : -1;
}

/* Removes it with all that is in it; 0 if that was done. */
static inline int stub_folder_remove(const char *folder)
{
    char command[80];

    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

/* The stub device alone, or NULL.  guest: as of gt_gpu_open. */
static inline struct gt_gpu *stub_gpu(bool guest)
{
    struct gt_gpu *gpu = NULL;
    struct gt_err err;

    stub_environment();
    if (gt_gpu_open(&gpu, 0, guest, &err))
        fprintf(stderr, "%s\n", err.msg);
    return gpu;
}

static inline int stub_open(struct stub_fixture *f, const char *kernel, struct gt_err *err)
{
    int rc;

    memset(f, 0, sizeof(*f));
    stub_environment();
    rc = gt_gpu_open(&f->gpu, 0, false, err);
    if (!rc)
        rc = gt_nvrtc_open(&f->nvrtc, err);
    return rc ? rc : gt_kernel_load(&f->kernel, ".", kernel, err);
}

static inline void stub_close(struct stub_fixture *f)
{
    gt_kernel_free(f->kernel);
    gt_nvrtc_close(f->nvrtc);
    gt_gpu_close(f->gpu);
    memset(f, 0, sizeof(*f));
}

/* Set-up and tear-down of a test whose state is a fixture with STUB_KERNEL. */
static inline int stub_set_up(void **state)
{
    struct stub_fixture *f = calloc(1, sizeof(*f));
    struct gt_err err;

    *state = f;
    if (!f || !stub_open(f, STUB_KERNEL, &err))
        return !f;
    fprintf(stderr, "%s\n", err.msg);
    return 1;
}

static inline int stub_tear_down(void **state)
{
    stub_close(*state);
    free(*state);
    return 0;
}

/* The candidate of the kernel's default point, and its stub image with the fault (NULL: none)
 * planted; free image->text with gt_strbuf_release. */
static inline int stub_candidate(const struct stub_fixture *f, const struct gt_problem *problem,
                                 const char *fault, struct gt_candidate *candidate,
                                 struct gt_strbuf *image, struct gt_err *err)
{
    candidate->kernel = f->kernel;
    candidate->problem = problem;
    candidate->device = gt_gpu_device(f->gpu);
    gt_point_default(&candidate->point, f->kernel);
    gt_strbuf_init(image);
    gt_strbuf_add(image, "gtstub1\n");
    if (fault)
        gt_strbuf_addf(image, "// gt-fault: %s\n", fault);
    return gt_render(image, candidate, err);
}

/* The candidate with its geometry and image, to be run. */
static inline struct gt_bench_entry stub_entry(const struct gt_candidate *candidate,
                                               const struct gt_strbuf *image)
{
    struct gt_bench_entry entry = {
        .candidate = candidate, .image = image->text, .size = image->length + 1};

    assert_int_equal(gt_candidate_geometry(candidate, &entry.geometry, NULL), GT_OK);
    return entry;
}

/* One trial on an open bench. */
static inline int stub_trial(const struct stub_fixture *f, struct gt_bench *bench,
                             const struct gt_problem *problem, const char *fault, double best_us,
                             struct gt_trial *trial, struct gt_err *err)
{
    struct gt_candidate candidate;
    struct gt_strbuf image;
    struct gt_bench_entry entry;
    int rc = stub_candidate(f, problem, fault, &candidate, &image, err);

    memset(trial, 0, sizeof(*trial));
    entry = stub_entry(&candidate, &image);
    if (!rc)
        rc = gt_bench_trial(bench, &entry, best_us, trial, err);
    gt_strbuf_release(&image);
    return rc;
}

#endif
