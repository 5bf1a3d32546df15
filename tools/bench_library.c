/* bench_library.c - part of bench-host: what programs with the library wait for, look-ups and plans
 * from a deployed file. */
#include "bench_host.h"

#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "commands/deploy.h"
#include "console/cmd_write.h"
#include "lookup/lookup.h"
#include "session/problemset.h"

#define LOOKUPS 1000000
#define ASKED   600 /* problems that nobody tuned */
#define PLANS   2000

/* Bytes that are allocated now. */
static double allocated(void)
{
    const struct mallinfo2 info = mallinfo2();

    return (double)(info.uordblks + info.hblkhd);
}

/* First look-ups of problems as programs have them, of which the table has hardly any: the time of
 * the thread that asks, and the memory that an answer keeps. */
static int bench_first_lookups(struct bench *bench, struct gt *gt)
{
    struct gt_problemset set = {0};
    const struct gt_answer *answer;
    double sum = 0, most = 0;
    int rc = gt_random_problems(&set, bench->data_dir, "plain", ASKED, 1, &bench->err);
    const double drawn = allocated();

    for (size_t i = 0; i < set.count && !rc; i++) {
        const double begin = cpu();
        double us;

        rc = gt_lookup(gt, ARCH, NULL, &set.entry[i].problem, &answer, &bench->err);
        us = (cpu() - begin) * 1e6;
        sum += us;
        most = us > most ? us : most;
    }
    if (!rc) {
        figure("look-up, first, not in it, mean", sum / ASKED, "us",
               "mean of 600 drawn problems, CPU");
        figure("look-up, first, not in it, most", most, "us", "the slowest of them");
        figure("memory of such an answer", (allocated() - drawn) / ASKED / 1024, "KiB",
               "kept for further calls");
    }
    gt_problemset_release(&set);
    return rc;
}

int bench_lookup(struct bench *bench)
{
    struct gt_options options = {GT_OPTIONS_INIT, .user_db = "", .data_dir = bench->data_dir};
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
    figure("look-up, first, in the table", (now() - begin) * 1e6, "us", "");
    begin = now();
    for (int i = 0; i < LOOKUPS && !rc; i++)
        rc = gt_lookup(gt, ARCH, NULL, &problem, &answer, &bench->err);
    if (!rc)
        figure("look-up, again", (now() - begin) / LOOKUPS * 1e9, "ns", "");
    GT_STEP(rc, bench_first_lookups(bench, gt));
    gt_close(gt);
    return rc;
}

static int put_deployed(void *context, FILE *to, struct gt_err *err)
{
    size_t bytes;

    return gt_deploy_file_write(context, to, &bytes, err);
}

/* Writes a file with the answer to the problem on the GPU. */
static int write_deployed(struct bench *bench, const struct gt_device *device,
                          const struct gt_problem *problem, const char *path)
{
    const struct gt_options options = {GT_OPTIONS_INIT, .user_db = "", .data_dir = bench->data_dir,
                                       .allow_nvrtc = 1};
    struct gt_resolved resolved = {.kernel = NULL};
    struct gt_binary binary = {0};
    struct gt_deploy_file file;
    struct gt *gt = NULL;
    const struct gt_cmd_writing writing = {.write = put_deployed, .context = &file, .mode = 0600};
    int nvrtc, rc;

    gt_deploy_file_init(&file);
    rc = gt_open(&gt, &options, &bench->err);
    GT_STEP(rc, gt_lookup_device(gt, device, problem, &resolved, &bench->err));
    GT_STEP(rc,
            gt_plan_binary(gt_lookup_options(gt), &resolved, NULL, &binary, &nvrtc, &bench->err));
    GT_STEP(rc, gt_deploy_file_add(&file, &resolved, &binary, nvrtc, &bench->err));
    GT_STEP(rc, gt_cmd_write_file(path, &writing, &bench->err));
    gt_binary_release(&binary);
    gt_resolved_release(&resolved);
    gt_deploy_file_release(&file);
    gt_close(gt);
    return rc;
}

/* One plan, and how long it took in microseconds. */
static int time_plan(struct gt *gt, const struct gt_problem *problem, double *us,
                     struct gt_err *err)
{
    const double begin = now();
    struct gt_plan *plan;
    int rc = gt_plan(&plan, gt, 0, problem, err);

    *us = (now() - begin) * 1e6;
    gt_plan_free(plan);
    return rc;
}

static int time_deployed(struct bench *bench, const struct gt_problem *problem, const char *path)
{
    struct gt_options options = {GT_OPTIONS_INIT, .user_db = path};
    struct gt *gt = NULL;
    double begin = now(), us = 0, sum = 0;
    int rc = gt_open(&gt, &options, &bench->err);

    if (rc)
        return rc;
    figure("open a deployed file", (now() - begin) * 1e6, "us", "of one problem");
    rc = time_plan(gt, problem, &us, &bench->err);
    if (!rc)
        figure("plan from it, first", us, "us", "reads, checks and loads the code");
    for (int i = 0; i < PLANS && !rc; i++) {
        rc = time_plan(gt, problem, &us, &bench->err);
        sum += us;
    }
    if (!rc)
        figure("plan from it, again", sum / PLANS, "us", "");
    gt_close(gt);
    return rc;
}

int bench_deployed(struct bench *bench)
{
    char folder[] = "bench-host-XXXXXX", path[64];
    struct gt_problem problem;
    struct gt_gpu *gpu = NULL;
    int rc = gt_gpu_open(&gpu, 0, false, &bench->err); /* its context is there before the plans */

    if (rc) {
        printf("%-34s %s\n", "plan", bench->err.msg);
        return GT_OK;
    }
    if (!mkdtemp(folder))
        return gt_err_set(&bench->err, GT_EIO, "%s: cannot be created", folder);
    snprintf(path, sizeof(path), "%s/bench.gt", folder);
    gt_problem_init(&problem, 4096, 4096, 4096);
    rc = write_deployed(bench, gt_gpu_device(gpu), &problem, path);
    GT_STEP(rc, time_deployed(bench, &problem, path));
    unlink(path);
    rmdir(folder);
    gt_gpu_close(gpu);
    return rc;
}
