/* test_gpu_deployed.c - a deployed file on a GPU: answers made with templates and a compiler are
 * run without either; a second plan of a problem takes microseconds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "commands/deploy.h"
#include "gpu_fixture.h"
#include "lookup/lookup.h"

#define AGAIN_US 50.0 /* that the second plan of a problem may take */

static const char *const texts[] = {"256x256x256:f32:nn", "100x77x56:f32:nt", "192x128x64:f32:tn"};

enum { PROBLEMS = sizeof(texts) / sizeof(*texts) };

static void write_file(const struct gpu_fixture *f, const char *path)
{
    const struct gt_options options = {GT_OPTIONS_INIT, .user_db = "", .data_dir = ".",
                                       .allow_nvrtc = 1};
    struct gt_deploy_file file;
    struct gt_err err = {0};
    struct gt *gt = NULL;
    FILE *to = fopen(path, "w");
    size_t bytes;

    gt_deploy_file_init(&file);
    if (!to || gt_open(&gt, &options, &err))
        fail_msg("%s", err.msg);
    for (int i = 0; i < PROBLEMS; i++) {
        struct gt_resolved resolved = {.kernel = NULL};
        struct gt_binary binary = {0};
        struct gt_problem problem;
        int nvrtc;

        if (gt_problem_parse(&problem, texts[i], &err) ||
            gt_lookup_device(gt, gt_gpu_device(f->gpu), &problem, &resolved, &err) ||
            gt_plan_binary(gt_lookup_options(gt), &resolved, NULL, &binary, &nvrtc, &err) ||
            gt_deploy_file_add(&file, &resolved, &binary, nvrtc, &err))
            fail_msg("%s: %s", texts[i], err.msg);
        gt_binary_release(&binary);
        gt_resolved_release(&resolved);
    }
    if (gt_deploy_file_write(&file, to, &bytes, &err))
        fail_msg("%s", err.msg);
    assert_int_equal(fclose(to) || chmod(path, 0600), 0);
    gt_deploy_file_release(&file);
    gt_close(gt);
}

/* Twos times threes, in whatever layout. */
static void run(const struct gpu_fixture *f, const struct gt_plan *plan, const struct gt_problem *p)
{
    const size_t a = (size_t)(p->m * p->k), b = (size_t)(p->k * p->n), d = (size_t)(p->m * p->n);
    const size_t space = gt_plan_answer(plan)->workspace_bytes;
    float *host = malloc(d * sizeof(*host));
    gt_devptr at[4];
    struct gt_err err;

    assert_non_null(host);
    if (gt_gpu_alloc(f->gpu, &at[0], 4 * a, &err) || gt_gpu_alloc(f->gpu, &at[1], 4 * b, &err) ||
        gt_gpu_alloc(f->gpu, &at[2], 4 * d, &err) ||
        gt_gpu_alloc(f->gpu, &at[3], space + 16, &err) ||
        gt_gpu_fill32(f->gpu, at[0], 0x40000000u /* 2 */, a, &err) ||
        gt_gpu_fill32(f->gpu, at[1], 0x40400000u /* 3 */, b, &err))
        fail_msg("%s", err.msg);
    const struct gt_operands operands = {GT_OPERANDS_INIT,
                                         .a = (void *)(uintptr_t)at[0],
                                         .b = (void *)(uintptr_t)at[1],
                                         .d = (void *)(uintptr_t)at[2],
                                         .workspace = (void *)(uintptr_t)at[3],
                                         .alpha = 1};

    if (gt_run(plan, gt_gpu_stream(f->gpu), &operands, &err) ||
        gt_gpu_download(f->gpu, host, at[2], 4 * d, &err))
        fail_msg("%s", err.msg);
    for (size_t i = 0; i < d; i++)
        if (host[i] != (float)(6 * p->k))
            fail_msg("D[%zu] is %g, expected %lld", i, (double)host[i], (long long)(6 * p->k));
    for (int i = 0; i < 4; i++)
        gt_gpu_free(f->gpu, at[i]);
    free(host);
}

static double plan_once(struct gt *gt, const struct gt_problem *problem, struct gt_plan **plan)
{
    const double begin = gt_clock_s();
    struct gt_err err;

    if (gt_plan(plan, gt, 0, problem, &err))
        fail_msg("%s", err.msg);
    return (gt_clock_s() - begin) * 1e6;
}

static void test_deployed(void **state)
{
    char folder[] = "/tmp/gemmtune-gpu-deployed-XXXXXX", path[64];
    struct gt_options options = {GT_OPTIONS_INIT, .user_db = path};
    struct gpu_fixture f;
    struct gt_err err;
    struct gt *gt;

    (void)state;
    gpu_open(&f);
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/winners.gt", folder);
    write_file(&f, path);
    if (gt_open(&gt, &options, &err))
        fail_msg("%s", err.msg);
    for (int i = 0; i < PROBLEMS; i++) {
        struct gt_plan *plan[2];
        struct gt_problem problem;
        double first, again = 0;

        assert_int_equal(gt_problem_parse(&problem, texts[i], &err), GT_OK);
        first = plan_once(gt, &problem, &plan[0]);
        for (int attempt = 0; attempt < 5; attempt++) { /* the machine may do something else */
            again = plan_once(gt, &problem, &plan[1]);
            if (again <= AGAIN_US || attempt == 4)
                break;
            gt_plan_free(plan[1]);
        }
        print_message("%s: %s, planned in %.1f us, again in %.1f us\n", texts[i],
                      gt_plan_answer(plan[0])->kernel, first, again);
        assert_true(again <= AGAIN_US);
        run(&f, plan[0], &problem);
        gt_plan_free(plan[0]);
        run(&f, plan[1], &problem);
        gt_plan_free(plan[1]);
    }
    gt_close(gt);
    gpu_close(&f);
    assert_int_equal(unlink(path) || rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_deployed)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
