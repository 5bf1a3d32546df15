/* execute.c - test: candidate -> C++ source -> shared object -> launches (execute.h). */
#include "execute.h"

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build.h"
#include "base/err.h"
#include "machine.h"
#include "operands.h"
#include "problem/problem.h"
#include "kernel/render.h"
#include "served.h"
#include "tensor_maps.h"
#include "tests/serves.h"

/* One compiled source: a layout and an epilogue of the job's point. */
struct build {
    const struct gt_emu_job *job;
    bool trans_a, trans_b;
    unsigned epilogue;
    struct gt_strbuf source;
    void *object; /* of dlopen; NULL before the first case */
};

static int write_file(const char *path, const struct gt_strbuf *text, struct gt_err *err)
{
    FILE *file = fopen(path, "w");
    size_t written = file ? fwrite(text->text, 1, text->length, file) : 0;
    if (!file || fclose(file) != 0 || written != text->length)
        return gt_err_set(err, GT_EIO, "%s: %s", path, strerror(errno));
    return GT_OK;
}

static int compile(struct build *build, struct gt_err *err)
{
    const struct gt_emu_job *job = build->job;
    char source[512], object[512], include[512];

    snprintf(source, sizeof source, "%s-%c%c%u.cu", job->build_path, build->trans_a ? 't' : 'n',
             build->trans_b ? 't' : 'n', build->epilogue);
    snprintf(object, sizeof object, "%s.so", source);
    snprintf(include, sizeof include, "%s/templates", job->data_dir);
    int status = write_file(source, &build->source, err);
    if (!status)
        status = gt_emu_open(&build->object, include, source, object, err);
    return status;
}

/* Renders for the candidate; compiles if it is the build's first, and else insists on the same
 * source: sizes must not be part of it. */
static int prepare(struct build *build, const struct gt_candidate *candidate, struct gt_err *err)
{
    struct gt_strbuf source = GT_STRBUF_INIT;
    int status = gt_render(&source, candidate, err);
    if (status)
        goto out;
    if (build->object) {
        if (strcmp(source.text, build->source.text) != 0)
            status = gt_err_set(err, GT_ECONFIG, "two sizes render to two sources");
        goto out;
    }
    gt_strbuf_add(&build->source, source.text);
    status = gt_strbuf_check(&build->source, err);
    if (!status)
        status = compile(build, err);
out:
    gt_strbuf_release(&source);
    return status;
}

/* Both arguments of an entry; most take only the first. */
struct arguments {
    struct gt_args args;
    struct gt_maps maps;
};

static void call(const struct gt_emu_launch *launch)
{
    const struct arguments *arguments = launch->args;
    void (*entry)(struct gt_args);
    *(void **)&entry = launch->entry;
    entry(arguments->args);
}

static void call_with_maps(const struct gt_emu_launch *launch)
{
    const struct arguments *arguments = launch->args;
    void (*entry)(struct gt_args, struct gt_maps);
    *(void **)&entry = launch->entry;
    entry(arguments->args, arguments->maps);
}

static int launch_all(const struct build *build, const struct gt_geometry *geometry,
                      const struct gt_args *args, bool second, struct gt_err *err)
{
    struct arguments arguments = {.args = *args};

    memcpy(arguments.args.launch, geometry->launch_param, sizeof arguments.args.launch);
    gt_emu_maps(&arguments.maps, geometry, args);
    for (size_t i = 0; i < geometry->launches; i++) {
        const struct gt_launch_geometry *from = &geometry->launch[i];
        struct gt_emu_launch launch = {.call = from->maps ? call_with_maps : call,
                                       .entry = dlsym(build->object, from->entry),
                                       .args = &arguments,
                                       .shared_bytes = from->shared_bytes,
                                       .reverse = second,
                                       .eager = second};
        memcpy(launch.grid, from->grid, sizeof launch.grid);
        memcpy(launch.block, from->block, sizeof launch.block);
        memcpy(launch.cluster, from->cluster, sizeof launch.cluster);
        if (!launch.entry)
            return gt_err_set(err, GT_ECONFIG, "the template has no entry %s", from->entry);
        int status = gt_emu_run(&launch, err);
        if (status)
            return gt_err_prefix(err, status, "launch %zu (%s)", i, from->entry);
    }
    return GT_OK;
}

/* One case under one schedule. */
static int run_once(const struct build *build, const struct gt_candidate *candidate,
                    const struct gt_geometry *geometry, const struct gt_emu_case *cases,
                    bool second, struct gt_err *err)
{
    struct gt_emu_operands operands;
    struct gt_args args;
    int status;

    gt_emu_operands_init(&operands, candidate->problem, cases, second ? 7 : 3);
    gt_emu_operands_args(&args, &operands, candidate->problem);
    if (geometry->workspace_bytes) {
        operands.block[6] = malloc(geometry->workspace_bytes);
        if (!operands.block[6])
            abort();
        memset(operands.block[6], 0xff, geometry->workspace_bytes);
        args.workspace = operands.block[6];
    }
    status = launch_all(build, geometry, &args, second, err);
    if (!status)
        status = gt_emu_operands_check(&operands, candidate->problem, err);
    gt_emu_operands_release(&operands);
    return status;
}

/* Multiply-adds: where only a part of the cases is asked for, a larger problem is run only if the
 * point is valid for no smaller one. */
#define LARGE 4e6

/* Makes the case a problem that the candidate's point is valid for, as small as possible; *found:
 * whether there is one. */
static int fit_case(const struct build *build, const struct gt_emu_case *cases,
                    struct gt_problem *problem, const struct gt_candidate *candidate, bool *found,
                    struct gt_err *err)
{
    const struct gt_emu_scale *own = &build->job->scale;
    size_t scales = gt_emu_scale_count + (own->m != 0);
    *found = false;
    for (size_t i = 0; i < scales && !*found; i++) {
        int failed;
        gt_emu_case_problem(problem, cases, i < gt_emu_scale_count ? gt_emu_scales[i] : *own,
                            &build->job->types, build->trans_a, build->trans_b, build->epilogue);
        int status = gt_problem_check(problem, err);
        if (!status && gt_kernel_serves(candidate->kernel, problem, candidate->device, NULL)) {
            status = gt_candidate_valid(candidate, &failed, err);
            *found = failed < 0;
        }
        if (status)
            return status;
    }
    return GT_OK;
}

static double multiply_adds(const struct gt_problem *problem)
{
    return (double)problem->m * (double)problem->n * (double)problem->k * (double)problem->batch;
}

/* Runs the case, if it is one for the point and has no more multiply-adds than `most`. */
static int run_case(struct build *build, const struct gt_emu_case *cases, double most,
                    struct gt_emu_tally *tally, struct gt_err *err)
{
    const struct gt_emu_job *job = build->job;
    struct gt_device device;
    struct gt_problem problem;
    struct gt_candidate candidate = {job->kernel, &problem, &device, job->point};
    struct gt_geometry geometry;
    char text[GT_PROBLEM_TEXT_MAX];
    bool found = false;
    int status = GT_OK;

    for (int sms = 1; sms <= GT_EMU_SEVERAL_SMS && !status && !found;
         sms += GT_EMU_SEVERAL_SMS - 1) {
        gt_emu_device(&device, job->kernel, sms);
        status = fit_case(build, cases, &problem, &candidate, &found, err);
    }
    if (status || !found || multiply_adds(&problem) > most)
        return status;
    status = gt_candidate_geometry(&candidate, &geometry, err);
    if (!status)
        status = prepare(build, &candidate, err);
    if (status)
        return status;
    gt_problem_format(&problem, text);
    tally->problems++;
    for (int second = 0; second < 2; second++) {
        struct gt_err wrong;
        if (job->once && (tally->problems + build->trans_a + second) % 2)
            continue;
        /* The sanitizers end the process: let the log name the case first. */
        printf("%s, schedule %d\n", text, second);
        fflush(stdout);
        if (run_once(build, &candidate, &geometry, cases, second, &wrong)) {
            printf("FAILED: %s\n", wrong.msg);
            tally->failed++;
        } else {
            tally->passed++;
        }
    }
    return GT_OK;
}

/* Every part-th case, the first of them case turn % part. */
static int run_cases(struct build *build, unsigned part, unsigned turn, double most,
                     struct gt_emu_tally *tally, struct gt_err *err)
{
    int status = GT_OK;
    for (size_t i = turn % part; i < gt_emu_case_count && !status; i += part)
        status = run_case(build, &gt_emu_cases[i], most, tally, err);
    return status;
}

/* The first case that the point is valid for. */
static int run_one_case(struct build *build, double most, struct gt_emu_tally *tally,
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
    struct build build = {.job = job,
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
        dlclose(build.object);
    }
    gt_strbuf_release(&build.source);
    return status;
}

static int run_layouts(const struct gt_emu_job *job, unsigned layouts, struct gt_emu_tally *tally,
                       struct gt_err *err)
{
    int status = GT_OK;
    for (unsigned layout = 0; layout < 4 && !status; layout++)
        if (gt_serves_any(job->kernel).layouts & layouts & (1u << layout))
            status = run_build(job, layout, GT_EPILOGUE_NONE, tally, err);
    return status;
}

int gt_emu_execute(const struct gt_emu_job *job, struct gt_emu_tally *tally, struct gt_err *err)
{
    const unsigned epilogues = gt_serves_any(job->kernel).epilogues & job->epilogues;
    int status = run_layouts(job, job->layouts, tally, err);

    if (!status && tally->builds == 0)
        status = run_layouts(job, ~job->layouts, tally, err);
    for (unsigned epilogue = 1; epilogues >> epilogue && !status; epilogue++)
        if (epilogues >> epilogue & 1)
            status = run_build(job, 0, epilogue, tally, err);
    if (!status && tally->builds == 0)
        return gt_err_set(err, GT_ECONFIG, "the point is valid for no case");
    return status;
}
