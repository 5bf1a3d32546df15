/* deployed_fixture.h - a deployed file in a folder of its own, made from tables on the stub driver:
 * its problems, the answers that it was made of, and a product run by a plan. */
#ifndef GT_DEPLOYED_FIXTURE_H
#define GT_DEPLOYED_FIXTURE_H

#include "stub_fixture.h"

#include "commands/deploy.h"
#include "lookup/deployed.h"
#include "lookup/lookup.h"

enum { N = 64, PROBLEMS = 3 };

struct world {
    char folder[64], path[96];
    struct gt_device device;
    struct gt_options options;       /* with the file */
    struct gt_answer full[PROBLEMS]; /* of the tables that the file was made of */
};

static inline void problem_of(struct gt_problem *problem, int i)
{
    gt_problem_init(problem, N, N, N + 8 * i);
}

/* change: may alter what is stored of the last problem; NULL: nothing. */
struct change {
    int cc, nvrtc, sms;
    const char *device;
};

static inline void add(struct world *w, struct gt_deploy_file *file, struct gt *gt, int i,
                       const struct change *change)
{
    struct gt_resolved resolved;
    struct gt_binary binary = {0};
    struct gt_problem problem;
    struct gt_err err;
    int nvrtc;

    problem_of(&problem, i);
    if (gt_lookup_device(gt, &w->device, &problem, &resolved, &err) ||
        gt_plan_binary(gt_lookup_options(gt), &resolved, NULL, &binary, &nvrtc, &err))
        fail_msg("%s", err.msg);
    if (change && change->cc)
        resolved.device.cc = change->cc;
    if (change && change->sms)
        resolved.device.sms = change->sms;
    if (change && change->device)
        snprintf(resolved.device.name, sizeof(resolved.device.name), "%s", change->device);
    if (gt_deploy_file_add(file, &resolved, &binary,
                           change && change->nvrtc ? change->nvrtc : nvrtc, &err))
        fail_msg("%s", err.msg);
    w->full[i] = resolved.answer;
    w->full[i].point = w->full[i].kernel = NULL;
    gt_binary_release(&binary);
    gt_resolved_release(&resolved);
}

static inline void write_file(struct world *w, const struct change *change)
{
    const struct gt_options options = {GT_OPTIONS_INIT, .user_db = "", .data_dir = ".",
                                       .allow_nvrtc = 1};
    struct gt_deploy_file file;
    struct gt_err err = {0};
    struct gt *gt;
    FILE *to = fopen(w->path, "we");
    size_t bytes;

    gt_deploy_file_init(&file);
    if (!to || gt_open(&gt, &options, &err))
        fail_msg("%s", err.msg);
    for (int i = 0; i < PROBLEMS; i++)
        add(w, &file, gt, i, i == PROBLEMS - 1 ? change : NULL);
    if (gt_deploy_file_write(&file, to, &bytes, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(fclose(to), 0);
    assert_int_equal(chmod(w->path, 0644), 0);
    gt_deploy_file_release(&file);
    gt_close(gt);
    /* Images are shared where problems have the same kernel, and nothing lies between parts. */
    assert_true(bytes > 0);
}

static inline int set_up(void **state)
{
    struct world *w = calloc(1, sizeof(*w));
    struct gt_gpu *gpu;
    struct gt_err err;

    *state = w;
    stub_environment();
    if (!w || gt_gpu_open(&gpu, 0, true, &err))
        return 1;
    w->device = *gt_gpu_device(gpu);
    gt_gpu_close(gpu);
    strcpy(w->folder, "/tmp/gemmtune-deployed-XXXXXX");
    if (!mkdtemp(w->folder))
        return 1;
    snprintf(w->path, sizeof(w->path), "%s/winners.gt", w->folder);
    write_file(w, NULL);
    w->options = (struct gt_options){GT_OPTIONS_INIT, .user_db = w->path};
    /* Nothing of what made it is there any more. */
    setenv("GEMMTUNE_LIBNVRTC", "/nonexistent", 1);
    setenv("GEMMTUNE_DATA", "/nonexistent", 1);
    return 0;
}

static inline int tear_down(void **state)
{
    struct world *w = *state;
    char command[128];

    setenv("GEMMTUNE_DATA", ".", 1);
    snprintf(command, sizeof(command), "rm -rf %s", w->folder);
    free(w);
    return system(command);
}

static inline struct gt *open_file(const struct world *w)
{
    struct gt_err err;
    struct gt *gt;

    if (gt_open(&gt, &w->options, &err))
        fail_msg("%s", err.msg);
    return gt;
}

/* 2 * 3 summed k times. */
static inline void run(const struct gt_plan *plan, int k)
{
    float *a = aligned_alloc(256, sizeof(float) * N * (size_t)k),
          *b = aligned_alloc(256, sizeof(float) * N * (size_t)k),
          *d = aligned_alloc(256, sizeof(float) * N * N);
    struct gt_operands operands = {GT_OPERANDS_INIT, .a = a, .b = b, .d = d, .alpha = 1};
    struct gt_err err;

    for (int i = 0; i < N * k; i++) {
        a[i] = 2;
        b[i] = 3;
    }
    operands.workspace = aligned_alloc(256, (gt_plan_answer(plan)->workspace_bytes | 255) + 1);
    if (gt_run(plan, NULL, &operands, &err))
        fail_msg("%s", err.msg);
    for (int i = 0; i < N * N; i++)
        if (d[i] != (float)(6 * k))
            fail_msg("D[%d] is %g, expected %d", i, (double)d[i], 6 * k);
    free(operands.workspace);
    free(a);
    free(b);
    free(d);
}

#endif
