/* execute.c - test: candidate -> C++ source -> shared object -> launches (execute.h). */
#include "execute.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build.h"
#include "base/err.h"
#include "hang.h"
#include "machine.h"
#include "operands.h"
#include "problem/problem.h"
#include "kernel/render.h"
#include "served.h"
#include "shrink.h"
#include "statics.h"
#include "tensor_maps.h"
#include "tests/serves.h"

#define LAYOUTS 4 /* trans_a * 2 + trans_b */

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
    char source[512], object[512];

    snprintf(source, sizeof source, "%s-%c%c%u.cu", job->build_path, build->trans_a ? 't' : 'n',
             build->trans_b ? 't' : 'n', build->epilogue);
    snprintf(object, sizeof object, "%s.so", source);
    int status = write_file(source, &build->source, err);
    if (!status)
        status = gt_emu_open(&build->object, job->kernel->include_dirs, source, object, job->strict,
                             err);
    if (!status && !job->strict)
        status = gt_emu_check_statics(object, err);
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

#define WORKSPACE 6 /* its place among the blocks of the operands */

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

#define BLOCKS (sizeof((struct gt_emu_operands *)0)->block / sizeof(void *))

/* What a launch that begins early must not touch yet: of a candidate's first launch everything,
 * because other products may be in front of it; later ones follow a launch of the same candidate,
 * which leaves something in the workspace alone. */
static size_t hide(struct gt_emu_block hidden[BLOCKS], const struct gt_emu_operands *operands,
                   bool first)
{
    size_t count = 0;

    for (size_t i = first ? 0 : WORKSPACE; i < BLOCKS; i++)
        if (operands->block[i])
            hidden[count++] =
                (struct gt_emu_block){operands->block[i], malloc_usable_size(operands->block[i])};
    return count;
}

static int launch_all(const struct build *build, const struct gt_geometry *geometry,
                      const struct gt_emu_operands *operands, const struct gt_args *args,
                      bool second, struct gt_err *err)
{
    struct arguments arguments = {.args = *args};
    struct gt_emu_block hidden[BLOCKS];

    memcpy(arguments.args.launch, geometry->launch_param, sizeof arguments.args.launch);
    gt_emu_maps(&arguments.maps, geometry, args);
    for (size_t i = 0; i < geometry->launches; i++) {
        const struct gt_launch_geometry *from = &geometry->launch[i];
        struct gt_emu_launch launch = {.call = from->maps ? call_with_maps : call,
                                       .entry = dlsym(build->object, from->entry),
                                       .args = &arguments,
                                       .shared_bytes = from->shared_bytes,
                                       .reverse = second,
                                       .eager = second,
                                       .hidden = hidden};
        memcpy(launch.grid, from->grid, sizeof launch.grid);
        memcpy(launch.block, from->block, sizeof launch.block);
        memcpy(launch.cluster, from->cluster, sizeof launch.cluster);
        if (from->pdl)
            launch.hidden_count = hide(hidden, operands, i == 0);
        launch.must_wait = from->pdl && i == 0;
        if (!launch.entry)
            return gt_err_set(err, GT_ECONFIG, "the template has no entry %s", from->entry);
        if (from->cluster[0] * from->cluster[1] * from->cluster[2] > 1 &&
            strstr(build->source.text, "__shared__"))
            return gt_err_set(
                err, GT_ECONFIG,
                "launch %zu (%s) has clusters: for the emulator their blocks' shared "
                "memory must be GT_STATIC_SHARED or GT_DYNAMIC_SHARED, not __shared__",
                i, from->entry);
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
        operands.block[WORKSPACE] = malloc(geometry->workspace_bytes);
        if (!operands.block[WORKSPACE])
            abort();
        memset(operands.block[WORKSPACE], 0xff, geometry->workspace_bytes);
        args.workspace = operands.block[WORKSPACE];
    }
    status = launch_all(build, geometry, &operands, &args, second, err);
    if (!status)
        status = gt_emu_operands_check(&operands, candidate->problem, err);
    gt_emu_operands_release(&operands);
    return status;
}

/* Multiply-adds: where only a part of the cases is asked for, a larger problem is run only if the
 * point is valid for no smaller one. */
#define LARGE 4e6

/* Makes the case a problem that the candidate's point is valid for, as small as possible; *found:
 * whether there is one. Bets are about speed: where they leave no problem, they do not count,
 * unless the job brings a scale that suits them. */
static int fit_case(const struct build *build, const struct gt_emu_case *cases,
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
        if (!status && gt_kernel_serves(candidate->kernel, problem, candidate->device, NULL)) {
            status = i < scales ? gt_candidate_valid(candidate, &failed, err)
                                : gt_candidate_possible(candidate, &failed, err);
            *found = failed < 0;
        }
        if (status)
            return status;
    }
    return GT_OK;
}

/* Runs a problem that the candidate is valid for, under both schedules (job->once: one of them). */
static int run_problem(struct build *build, const struct gt_candidate *candidate,
                       const struct gt_emu_case *cases, struct gt_emu_tally *tally,
                       struct gt_err *err)
{
    struct gt_geometry geometry;
    char text[GT_PROBLEM_TEXT_MAX];
    int status = gt_candidate_geometry(candidate, &geometry, err);

    if (!status)
        status = prepare(build, candidate, err);
    if (status)
        return status;
    gt_problem_format(candidate->problem, text);
    tally->problems++;
    for (int second = 0; second < 2; second++) {
        struct gt_err wrong;
        if (build->job->once && (tally->problems + build->trans_a + second) % 2)
            continue;
        /* The sanitizers end the process: let the log name the case first. */
        printf("%s, schedule %d\n", text, second);
        fflush(stdout);
        if (build->job->seconds)
            gt_emu_limit(build->job->seconds);
        if (run_once(build, candidate, &geometry, cases, second, &wrong)) {
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
static int run_case(struct build *build, const struct gt_emu_case *cases, double most,
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
    const unsigned epilogues = any.epilogues & job->epilogues;
    unsigned layout = job->first % LAYOUTS;
    int status;

    if (!job->part)
        status = run_every(job, any.layouts & job->layouts, epilogues, tally, err);
    else
        status = run_cover(job, any.layouts & job->layouts, epilogues, tally, err);
    if (!status && tally->builds == 0)
        status = run_somewhere(job, any.layouts, &layout, GT_EPILOGUE_NONE, tally, err);
    if (!status && tally->builds == 0)
        return gt_err_set(err, GT_ECONFIG, "the point is valid for no case");
    return status;
}

int gt_emu_try(const struct gt_emu_job *job, const struct gt_problem *asked,
               struct gt_emu_tally *tally, struct gt_err *err)
{
    static const struct gt_emu_case plain = {.alpha = 1, .batch = 1};
    struct build build = {.job = job,
                          .trans_a = asked->trans_a,
                          .trans_b = asked->trans_b,
                          .epilogue = asked->epilogue,
                          .source = GT_STRBUF_INIT};
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
    if (build.object)
        dlclose(build.object);
    gt_strbuf_release(&build.source);
    return status;
}
