/* execute.c - test: the cases that a point is run for (execute.h). */
#include "execute.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "hang.h"
#include "launch.h"
#include "operands.h"
#include "problem/problem.h"
#include "served.h"
#include "shrink.h"
#include "tests/serves.h"

#define LAYOUTS 4 /* trans_a * 2 + trans_b */

/* One case under one schedule, launched for a problem that may have another beta than the one that
 * the geometry was made for. */
static int run_once(const struct gt_emu_build *build, const struct gt_problem *launched,
                    const struct gt_geometry *geometry, const struct gt_emu_case *cases,
                    bool c_given, int schedule, struct gt_err *err)
{
    struct gt_emu_operands operands;
    int status;

    gt_emu_operands_init(&operands, launched, cases, schedule > 0 ? 7 : 3);
    operands.c_given = c_given;
    status = gt_emu_launch_all(build, geometry, &operands, launched, schedule, err);
    if (!status)
        status = gt_emu_operands_check(&operands, launched, err);
    gt_emu_operands_release(&operands);
    return status;
}

/* Runs the case; the first one of a build that reads C is also launched with a beta of 0, as gt_run
 * allows, and with NaN in C, which must not reach D then. */
static int run_schedule(struct gt_emu_build *build, const struct gt_problem *problem,
                        const struct gt_geometry *geometry, const struct gt_emu_case *cases,
                        int schedule, struct gt_err *err)
{
    const bool reads = problem->beta != 0;
    struct gt_problem without = *problem;
    int status = run_once(build, problem, geometry, cases, reads, schedule, err);

    without.beta = 0;
    if (!status && reads && !build->without_beta) {
        build->without_beta = true;
        status = run_once(build, &without, geometry, cases, true, schedule, err);
        if (status)
            gt_err_prefix(err, status, "launched with beta 0");
    }
    return status;
}

/* Multiply-adds: where only a part of the cases is asked for, a larger problem is run only if the
 * point is valid for no smaller one. */
#define LARGE 4e6

/* Makes the case a problem that the candidate's point is valid for, as small as possible; *found:
 * whether there is one. Bets are about speed: where they leave no problem, they do not count,
 * unless the job brings a scale that suits them. */
static int fit_case(const struct gt_emu_build *build, const struct gt_emu_case *cases,
                    struct gt_problem *problem, const struct gt_candidate *candidate, bool *found,
                    struct gt_err *err)
{
    const struct gt_emu_scale *own = &build->job->scale;
    size_t scales = gt_emu_scale_count + (own->m != 0);
    *found = false;
    for (size_t i = 0; i < (own->m ? 1 : 2) * scales && !*found; i++) {
        size_t scale = i % scales;
        int failed;
        gt_emu_case_problem(problem, cases,
                            scale < gt_emu_scale_count ? gt_emu_scales[scale] : *own,
                            &build->job->types, build->trans_a, build->trans_b, build->epilogue);
        int status = gt_problem_check(problem, err);
        if (!status && gt_kernel_serves(candidate->kernel, problem, candidate->device)) {
            status = i < scales ? gt_candidate_valid(candidate, &failed, err)
                                : gt_candidate_possible(candidate, &failed, err);
            *found = failed < 0;
        }
        if (status)
            return status;
    }
    return GT_OK;
}

/* Runs a problem that the candidate is valid for, under both schedules (job->once: one of them).
 * With build->every_warp, it is run once more for each warp of a block, which is late then. */
static int run_problem(struct gt_emu_build *build, const struct gt_candidate *candidate,
                       const struct gt_emu_case *cases, struct gt_emu_tally *tally,
                       struct gt_err *err)
{
    struct gt_geometry geometry;
    char text[GT_PROBLEM_TEXT_MAX];
    int status = gt_candidate_geometry(candidate, &geometry, err);

    if (!status)
        status = gt_emu_prepare(build, candidate, err);
    if (status)
        return status;
    gt_problem_format(candidate->problem, text);
    tally->problems++;
    build->turn++;
    const int schedules = 2 + (build->every_warp ? gt_emu_warps(&geometry) : 0);
    for (int schedule = 0; schedule < schedules; schedule++) {
        struct gt_err wrong;
        if (build->job->once && (tally->problems + build->trans_a + schedule) % 2)
            continue;
        if (build->job->plan) {
            gt_strbuf_addf(build->job->plan, "%s, case %d, schedule %d\n", text,
                           (int)(cases - gt_emu_cases), schedule);
            gt_emu_plan_geometry(build->job->plan, &geometry);
            continue;
        }
        /* The sanitizers end the process: let the log name the case first. */
        printf("%s, schedule %d\n", text, schedule);
        fflush(stdout);
        if (build->job->seconds)
            gt_emu_limit(build->job->seconds);
        if (run_schedule(build, candidate->problem, &geometry, cases, schedule, &wrong)) {
            printf("FAILED: %s\n", wrong.msg);
            tally->failed++;
        } else {
            tally->passed++;
        }
    }
    return GT_OK;
}

/* A GPU with few SMs and, where the job names it, the compute capability that was asked for. */
static void take_device(struct gt_device *device, const struct gt_emu_job *job, int sms)
{
    gt_emu_device(device, job->kernel, sms);
    if (job->cc)
        device->cc = job->cc;
}

/* Runs the case, if it is one for the point and has no more multiply-adds than `most`. */
static int run_case(struct gt_emu_build *build, const struct gt_emu_case *cases, double most,
                    struct gt_emu_tally *tally, struct gt_err *err)
{
    const struct gt_emu_job *job = build->job;
    struct gt_device device;
    struct gt_problem problem;
    struct gt_candidate candidate = {job->kernel, &problem, &device, job->point};
    bool found = false;
    int status = GT_OK;

    for (int sms = 1; sms <= GT_EMU_SEVERAL_SMS && !status && !found;
         sms += GT_EMU_SEVERAL_SMS - 1) {
        take_device(&device, job, sms);
        status = fit_case(build, cases, &problem, &candidate, &found, err);
    }
    if (status || !found || gt_emu_multiply_adds(&problem) > most)
        return status;
    return run_problem(build, &candidate, cases, tally, err);
}

/* Every part-th case, the first of them case turn % part. */
static int run_cases(struct gt_emu_build *build, unsigned part, unsigned turn, double most,
                     struct gt_emu_tally *tally, struct gt_err *err)
{
    int status = GT_OK;
    for (size_t i = turn % part; i < gt_emu_case_count && !status; i += part)
        status = run_case(build, &gt_emu_cases[i], most, tally, err);
    return status;
}

/* The first case that the point is valid for. */
static int run_one_case(struct gt_emu_build *build, double most, struct gt_emu_tally *tally,
                        struct gt_err *err)
{
    int status = GT_OK;
    for (size_t i = 0; i < gt_emu_case_count && !status && !build->object; i++)
        status = run_case(build, &gt_emu_cases[i], most, tally, err);
    return status;
}

static int run_build(const struct gt_emu_job *job, unsigned layout, unsigned epilogue,
                     struct gt_emu_tally *tally, struct gt_err *err)
{
    struct gt_emu_build build = {.job = job,
                                 .trans_a = layout / 2,
                                 .trans_b = layout % 2,
                                 .epilogue = epilogue,
                                 .source = GT_STRBUF_INIT};
    int status = GT_OK;
    if (!job->part)
        status = run_cases(&build, 1, 0, INFINITY, tally, err);
    else
        status = run_cases(&build, job->part, job->first + layout + epilogue, LARGE, tally, err);
    if (!status && !build.object)
        status = run_one_case(&build, LARGE, tally, err);
    if (!status && !build.object)
        status = run_one_case(&build, INFINITY, tally, err);
    if (build.object) {
        tally->builds++;
        tally->layouts |= 1u << layout;
    }
    gt_emu_build_release(&build);
    return status;
}

/* Every layout without an epilogue, and every epilogue in the first layout. */
static int run_every(const struct gt_emu_job *job, unsigned layouts, unsigned epilogues,
                     struct gt_emu_tally *tally, struct gt_err *err)
{
    int status = GT_OK;
    for (unsigned layout = 0; layout < LAYOUTS && !status; layout++)
        if (layouts >> layout & 1)
            status = run_build(job, layout, GT_EPILOGUE_NONE, tally, err);
    for (unsigned epilogue = 1; epilogues >> epilogue && !status; epilogue++)
        if (epilogues >> epilogue & 1)
            status = run_build(job, 0, epilogue, tally, err);
    return status;
}

/* One build with the epilogue, in the first of `layouts` that the point is valid in; the search
 * begins at *layout, where the next one begins too. */
static int run_somewhere(const struct gt_emu_job *job, unsigned layouts, unsigned *layout,
                         unsigned epilogue, struct gt_emu_tally *tally, struct gt_err *err)
{
    const int builds = tally->builds;
    int status = GT_OK;
    for (unsigned i = 0; i < LAYOUTS && tally->builds == builds && !status; i++) {
        if (layouts >> *layout & 1)
            status = run_build(job, *layout, epilogue, tally, err);
        *layout = (*layout + 1) % LAYOUTS;
    }
    return status;
}

/* Every layout and every epilogue, none among them, in as few builds as that takes. */
static int run_cover(const struct gt_emu_job *job, unsigned layouts, unsigned epilogues,
                     struct gt_emu_tally *tally, struct gt_err *err)
{
    unsigned layout = job->first % LAYOUTS;
    int status = GT_OK;
    for (unsigned epilogue = GT_EPILOGUE_NONE; (epilogues | 1) >> epilogue && !status; epilogue++)
        if ((epilogues | 1) >> epilogue & 1)
            status = run_somewhere(job, layouts, &layout, epilogue, tally, err);
    for (layout = 0; layout < LAYOUTS && !status; layout++)
        if ((layouts & ~tally->layouts) >> layout & 1)
            status = run_build(job, layout, GT_EPILOGUE_NONE, tally, err);
    return status;
}

int gt_emu_execute(const struct gt_emu_job *job, struct gt_emu_tally *tally, struct gt_err *err)
{
    const struct gt_serves any = gt_serves_any(job->kernel);
    const bool plain = any.epilogues >> GT_EPILOGUE_NONE & 1; /* else it always has one */
    const unsigned epilogues = any.epilogues & (plain ? job->epilogues : ~0u);
    const unsigned plainest = plain || !epilogues ? 0 : (unsigned)__builtin_ctz(epilogues);
    unsigned layout = job->first % LAYOUTS;
    int status;

    if (!job->part)
        status = run_every(job, any.layouts & job->layouts, epilogues, tally, err);
    else
        status = run_cover(job, any.layouts & job->layouts, epilogues, tally, err);
    if (!status && tally->builds == 0)
        status = run_somewhere(job, any.layouts, &layout, plainest, tally, err);
    if (!status && tally->builds == 0)
        return gt_err_set(err, GT_ECONFIG, "the point is valid for no case");
    return status;
}

int gt_emu_given(struct gt_emu_build *build, const struct gt_problem *problem, const void *a,
                 const void *b, void *d, struct gt_err *err)
{
    static const struct gt_emu_case plain = {.alpha = 1, .batch = 1};
    const size_t size_a = (size_t)gt_problem_bytes(problem, GT_OPERAND_A);
    const size_t size_b = (size_t)gt_problem_bytes(problem, GT_OPERAND_B);
    struct gt_device device;
    struct gt_candidate candidate = {build->job->kernel, problem, &device, build->job->point};
    struct gt_geometry geometry;
    struct gt_emu_operands operands;
    int failed, status;

    take_device(&device, build->job, GT_EMU_SEVERAL_SMS);
    status = gt_candidate_possible(&candidate, &failed, err);
    if (!status && failed >= 0)
        status = gt_err_set(err, GT_ECONFIG, "the point is not valid for the problem");
    if (!status)
        status = gt_candidate_geometry(&candidate, &geometry, err);
    if (!status)
        status = gt_emu_prepare(build, &candidate, err);
    if (!status && build->job->plan)
        gt_emu_plan_geometry(build->job->plan, &geometry);
    if (status || build->job->plan)
        return status;
    gt_emu_operands_init(&operands, problem, &plain, 3);
    memcpy(operands.a, a, size_a);
    memcpy(operands.b, b, size_b);
    status = gt_emu_launch_all(build, &geometry, &operands, problem, 0, err);
    memcpy(d, operands.d, (size_t)gt_problem_bytes(problem, GT_OPERAND_C));
    gt_emu_operands_release(&operands);
    return status;
}

int gt_emu_try(const struct gt_emu_job *job, const struct gt_problem *asked,
               struct gt_emu_tally *tally, struct gt_err *err)
{
    static const struct gt_emu_case plain = {.alpha = 1, .batch = 1};
    struct gt_emu_build build = {.job = job,
                                 .trans_a = asked->trans_a,
                                 .trans_b = asked->trans_b,
                                 .epilogue = asked->epilogue,
                                 .source = GT_STRBUF_INIT,
                                 .every_warp = true};
    struct gt_problem problem;
    struct gt_device device;
    struct gt_candidate candidate = {job->kernel, &problem, &device, job->point};
    gt_emu_check *const check[] = {gt_candidate_valid, gt_candidate_possible};
    bool found = false;
    int status;

    for (int i = 0; i < 2 && !found; i++)
        for (int sms = GT_EMU_SEVERAL_SMS; sms >= 1 && !found; sms -= GT_EMU_SEVERAL_SMS - 1) {
            take_device(&device, job, sms);
            found = gt_emu_shrink(&candidate, &problem, asked, check[i]);
        }
    status = found ? GT_OK : gt_emu_none_fits(&candidate, err);
    if (!status)
        status = run_problem(&build, &candidate, &plain, tally, err);
    /* The cases have the accumulator of their type alone, which is a part of the source. */
    if (!status && asked->acc == gt_dtype_default_acc(asked->type))
        status = run_cases(&build, 1, 0, GT_EMU_ASKED, tally, err);
    tally->builds += build.object != NULL;
    gt_emu_build_release(&build);
    return status;
}
