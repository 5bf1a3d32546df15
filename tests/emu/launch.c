/* launch.c - test: candidate -> C++ source -> shared object -> launches (launch.h). */
#include "launch.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/err.h"
#include "build.h"
#include "templates/common/more.h"
#include "kernel/render.h"
#include "machine.h"
#include "statics.h"
#include "tensor_maps.h"

static int write_file(const char *path, const struct gt_strbuf *text, struct gt_err *err)
{
    FILE *file = fopen(path, "w");
    size_t written = file ? fwrite(text->text, 1, text->length, file) : 0;
    if (!file || fclose(file) != 0 || written != text->length)
        return gt_err_set(err, GT_EIO, "%s: %s", path, strerror(errno));
    return GT_OK;
}

static int compile(struct gt_emu_build *build, struct gt_err *err)
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

int gt_emu_prepare(struct gt_emu_build *build, const struct gt_candidate *candidate,
                   struct gt_err *err)
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
    if (!status && build->job->plan) {
        build->object = build;
        status = gt_render_header(build->job->plan, candidate, err);
    } else if (!status) {
        status = compile(build, err);
    }
out:
    gt_strbuf_release(&source);
    return status;
}

static void plan_map(struct gt_strbuf *plan, const struct gt_map_geometry *map)
{
    gt_strbuf_addf(plan, "map %d %d %lld %d %d\n", (int)map->operand, (int)map->element,
                   (long long)map->offset, map->rank, map->swizzle);
    for (int i = 0; map->used && i < map->rank; i++)
        gt_strbuf_addf(plan, " %llu %llu %u\n", (unsigned long long)map->dims[i],
                       (unsigned long long)map->strides[i], map->box[i]);
}

void gt_emu_plan_geometry(struct gt_strbuf *plan, const struct gt_geometry *geometry)
{
    for (size_t i = 0; i < geometry->launches; i++) {
        const struct gt_launch_geometry *launch = &geometry->launch[i];

        gt_strbuf_addf(plan, "launch %s %u %d %d\n", launch->entry, launch->shared_bytes,
                       launch->pdl, launch->maps);
        for (int d = 0; d < 3; d++)
            gt_strbuf_addf(plan, " %u %u %u\n", launch->grid[d], launch->block[d],
                           launch->cluster[d]);
    }
    for (size_t i = 0; i < geometry->maps; i++)
        plan_map(plan, &geometry->map[i]);
    gt_strbuf_addf(plan, "workspace %zu\n", geometry->workspace_bytes);
    for (size_t i = 0; i < sizeof geometry->launch_param / sizeof *geometry->launch_param; i++)
        gt_strbuf_addf(plan, " %d", geometry->launch_param[i]);
}

#define WORKSPACE 6 /* its place among the blocks of the operands */

/* The arguments of an entry; most take only the first. */
struct arguments {
    struct gt_args args;
    struct gt_maps maps;
    struct gt_more more;
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

static void call_with_more(const struct gt_emu_launch *launch)
{
    const struct arguments *arguments = launch->args;
    void (*entry)(struct gt_args, struct gt_more);
    *(void **)&entry = launch->entry;
    entry(arguments->args, arguments->more);
}

static void call_with_both(const struct gt_emu_launch *launch)
{
    const struct arguments *arguments = launch->args;
    void (*entry)(struct gt_args, struct gt_maps, struct gt_more);
    *(void **)&entry = launch->entry;
    entry(arguments->args, arguments->maps, arguments->more);
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

static unsigned warps_of(const struct gt_launch_geometry *launch)
{
    return (launch->block[0] * launch->block[1] * launch->block[2] + 31) / 32;
}

int gt_emu_warps(const struct gt_geometry *geometry)
{
    unsigned most = 0;
    for (size_t i = 0; i < geometry->launches; i++)
        most = warps_of(&geometry->launch[i]) > most ? warps_of(&geometry->launch[i]) : most;
    return (int)most;
}

/* The warp of a cluster that is late, counted from 1; 0: none.  Under the second schedule it goes
 * by the source, and is the next one with each launch of the process, so that the points of a
 * kernel have all of them late. */
static unsigned late_warp(const struct gt_emu_build *build, const struct gt_launch_geometry *launch,
                          int schedule)
{
    static unsigned launches;
    const unsigned *cluster = launch->cluster, blocks = cluster[0] * cluster[1] * cluster[2];
    const unsigned warps = warps_of(launch), every = (unsigned)schedule - 2;
    if (schedule == 0 || (schedule > 1 && every >= warps))
        return 0;
    if (schedule > 1)
        return build->turn % blocks * warps + every + 1;
    return (unsigned)((gt_digest_number(build->source.text, build->source.length, 0) + launches++) %
                      (warps * blocks)) +
           1;
}

/* Says which warp was late, of a launch that failed. */
static int failed_launch(const struct gt_launch_geometry *from, size_t launch, unsigned late,
                         int status, struct gt_err *err)
{
    if (late == 0)
        return gt_err_prefix(err, status, "launch %zu (%s)", launch, from->entry);
    return gt_err_prefix(err, status, "launch %zu (%s), warp %u of the cluster late", launch,
                         from->entry, late - 1);
}

static int launch_with(const struct gt_emu_build *build, const struct gt_geometry *geometry,
                       const struct gt_emu_operands *operands, const struct gt_args *args,
                       const struct gt_more *more, int schedule, struct gt_err *err)
{
    struct arguments arguments = {.args = *args, .more = *more};
    struct gt_emu_block hidden[BLOCKS];

    memcpy(arguments.args.launch, geometry->launch_param, sizeof arguments.args.launch);
    gt_emu_maps(&arguments.maps, geometry, args);
    for (size_t i = 0; i < geometry->launches; i++) {
        const struct gt_launch_geometry *from = &geometry->launch[i];
        struct gt_emu_launch launch = {.call = from->maps && from->more ? call_with_both
                                               : from->maps             ? call_with_maps
                                               : from->more             ? call_with_more
                                                                        : call,
                                       .entry = dlsym(build->object, from->entry),
                                       .args = &arguments,
                                       .shared_bytes = from->shared_bytes,
                                       .reverse = schedule > 0,
                                       .late = late_warp(build, from, schedule),
                                       .eager = schedule > 0,
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
            return failed_launch(from, i, launch.late, status, err);
    }
    return GT_OK;
}

int gt_emu_launch_all(const struct gt_emu_build *build, const struct gt_geometry *geometry,
                      struct gt_emu_operands *operands, const struct gt_problem *problem,
                      int schedule, struct gt_err *err)
{
    struct gt_args args;
    struct gt_more more;

    gt_emu_operands_args(&args, &more, operands, problem);
    if (geometry->workspace_bytes) {
        operands->block[WORKSPACE] = malloc(geometry->workspace_bytes);
        if (!operands->block[WORKSPACE])
            abort();
        memset(operands->block[WORKSPACE], 0xff, geometry->workspace_bytes);
        args.workspace = operands->block[WORKSPACE];
    }
    return launch_with(build, geometry, operands, &args, &more, schedule, err);
}

void gt_emu_build_release(struct gt_emu_build *build)
{
    if (build->object && !build->job->plan)
        dlclose(build->object);
    gt_strbuf_release(&build->source);
}
