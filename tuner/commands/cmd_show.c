/* cmd_show.c - tune show KERNEL [POINT]: shows one candidate at every stage: constraints with their
 * verdicts, geometry, source, the compiler's log. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/stats.h"
#include "base/strbuf.h"
#include "commands/cmd_stored_energy.h"
#include "console/cmd_compile.h"
#include "console/cmd_record.h"
#include "console/commands.h"
#include "console/gpu_names.h"
#include "console/options.h"
#include "cuda/compile.h"
#include "kernel/kernel.h"
#include "kernel/render.h"
#include "lookup/predict.h"
#include "measure/cmd_try.h"
#include "problem/problem.h"
#include "session/cmd_session.h"
#include "session/model_error.h"

#define DEFAULT_ARCH    "sm_86"
#define DEFAULT_PROBLEM "4096x4096x4096"

struct options {
    const char *problem, *arch, *kernels_dir, *include_dirs, *db, *objective, *keep;
    bool source, params_header, ptx, no_compile;
    struct gt_problem_options parts;
};

/* Does what --keep asks for.  An invalid point has nothing to keep. */
static int keep(struct gt_cli *cli, const struct options *options,
                const struct gt_candidate *candidate, struct gt_err *err)
{
    char *folder = NULL;
    int failed = -1, rc = gt_candidate_possible(candidate, &failed, err);

    if (rc || failed >= 0)
        return rc;
    rc = gt_keep_open(&folder, options->keep, err);
    GT_STEP(rc, gt_keep_candidate(cli, candidate, folder, err));
    if (!rc && !cli->quiet)
        fprintf(cli->log, "kept in %s\n", folder);
    free(folder);
    return rc;
}

static const struct gt_option option_table[] = {
    GT_TEXT(options, problem, "problem", 'p', "TEXT",
            "what to compute (default: " DEFAULT_PROBLEM ":f32:nn)"),
    GT_ARCH(options, arch, "device profile to compile and check for (default: " DEFAULT_ARCH ")"),
    GT_KERNEL_DIRS(options, "a folder with descriptions of your own kernels"),
    GT_CHOICE(
        options, objective, "objective", 0, "WHICH", GT_OBJECTIVE_NAMES,
        "also show what products cost, of this point or, without one, of all points of the "
        "kernel whose energies are stored; the point shown is then the best by time, energy or "
        "edp (energy times time)"),
    GT_TEXT(options, db, "db", 0, "FILE",
            "with --objective: the database (default: as of a sweep)"),
    GT_FLAG(options, source, "source", 0,
            "print only the CUDA source that would be compiled, with the parameters' docs"),
    GT_FLAG(options, params_header, "params-header", 0,
            "print only what is put in front of the template, for an editor's -include"),
    GT_FLAG(options, ptx, "ptx", 0, "print only the PTX; no GPU is needed"),
    GT_TEXT(
        options, keep, "keep", 0, "DIR",
        "leave source, PTX, cubin, SASS and the compiler's log in this folder; no GPU is needed"),
    GT_FLAG(options, no_compile, "no-compile", 0, "leave the compiler out"),
    GT_OPTIONS_END,
};

static const struct gt_option_pair pairs[] = {{"db", "objective", NULL}, {NULL, NULL, NULL}};

/* Prints the time that a sweep without a GPU would rank the candidate by. */
static void show_estimate(FILE *out, const struct gt_candidate *candidate,
                          const struct gt_geometry *geometry, const struct gt_binary *binary)
{
    struct gt_geometry whole = *geometry;
    struct gt_prediction prediction;
    char statics[GT_STATIC_SHARED_MAX], us[GT_ROUGH_MAX], text[GT_ROUGH_MAX];
    double peak, rate;

    gt_log_static_shared(binary->log, statics);
    for (size_t i = 0; i < whole.launches; i++)
        whole.launch[i].shared_bytes +=
            (unsigned)gt_static_shared_of(statics, whole.launch[i].entry);
    if (gt_predict_explain(candidate, &whole, binary->registers, binary->spill_bytes, &prediction,
                           NULL))
        return; /* no block fits an SM, as the previous line says */
    peak = gt_model_peak(candidate->device, candidate->problem, candidate->kernel);
    rate = gt_problem_flops(candidate->problem) / prediction.us * 1e-6;
    fprintf(out,
            "\nmodel: %s us (on an H200 %s; %.0f %% of peak, %s TFLOP/s) PREDICTED, bound by %s, "
            "%.2f waves of blocks\n",
            gt_rough(us, prediction.us), gt_model_error(gt_model_kind_of(candidate->kernel)),
            peak > 0 ? 100 * rate / peak : 0, gt_rough(text, rate), prediction.bound,
            prediction.waves);
}

/* Prints the compiler's figures, and the time that a model expects.  The occupancy is the first
 * launch's. */
static void show_binary(FILE *out, const struct gt_candidate *candidate,
                        const struct gt_geometry *geometry, const struct gt_binary *binary)
{
    const struct gt_launch_geometry *launch = &geometry->launch[0];
    int threads = (int)(launch->block[0] * launch->block[1] * launch->block[2]);
    int blocks = gt_device_occupancy(candidate->device, binary->registers, threads,
                                     binary->static_shared + (int64_t)launch->shared_bytes);

    char reason[GT_SERIALIZED_MAX];

    fprintf(out, "  %d registers, %d bytes spilled, %d bytes of static shared, %zu bytes of code\n",
            binary->registers, binary->spill_bytes, binary->static_shared, binary->size);
    fprintf(out, "  %d blocks of %d threads fit an SM of %s\n", blocks, threads,
            candidate->device->name);
    if (gt_log_serialized(binary->log, reason))
        fprintf(out, "  wgmma serialized: %s\n", reason);
    show_estimate(out, candidate, geometry, binary);
}

static int show_compile(const struct gt_cli *cli, const struct gt_candidate *candidate,
                        const struct gt_geometry *geometry, const char *source, struct gt_err *err)
{
    struct gt_binary binary = {0};
    int version = 0,
        rc = gt_cmd_compile(candidate, geometry, source, GT_IMAGE_DEFAULT, &binary, &version, err);

    if (version)
        fprintf(cli->out, "\ncompiler: NVRTC %d.%d for sm_%d\n", version / 1000,
                version % 1000 / 10, geometry->code_arch);
    if (rc == GT_OK && binary.registers)
        show_binary(cli->out, candidate, geometry, &binary);
    if (binary.log && *binary.log && (rc == GT_ENVRTC || cli->verbose))
        fprintf(cli->out, "%s\n", binary.log);
    gt_binary_release(&binary);
    return rc;
}

static int not_valid(const struct gt_candidate *candidate, int broken, struct gt_err *err)
{
    struct gt_strbuf point = GT_STRBUF_INIT;
    int rc;

    gt_point_format(&point, candidate->kernel, &candidate->point);
    rc = gt_err_set(err, GT_EXIT_NOTHING, "%s %s is not valid here: %d constraint%s broken",
                    candidate->kernel->name, point.text, broken, broken > 1 ? "s are" : " is");
    gt_strbuf_release(&point);
    return rc;
}

static void add_binary(cJSON *root, const struct gt_binary *binary, int version, int arch)
{
    char serialized[GT_SERIALIZED_MAX];
    const bool serial = gt_log_serialized(binary->log, serialized);

    gt_json_object(root, "compiled",
                   "nvrtc=%d arch=%d registers=%d spill_bytes=%d static_shared=%d bytes=%zu ms=%g "
                   "serialized=%s log=%s",
                   version, arch, binary->registers, binary->spill_bytes, binary->static_shared,
                   binary->size, binary->ms, serial ? serialized : NULL, binary->log);
}

static const char *const operands[] = {"a", "b", "c", "d", "workspace"};

static void add_sizes(cJSON *json, const char *key, const uint64_t *size, int count)
{
    cJSON *list = cJSON_AddArrayToObject(json, key);

    for (int i = 0; i < count; i++)
        cJSON_AddItemToArray(list, cJSON_CreateNumber((double)size[i]));
}

static void add_launches(cJSON *root, const struct gt_geometry *geometry)
{
    cJSON *list = cJSON_AddArrayToObject(root, "launches");

    for (size_t i = 0; i < geometry->launches; i++) {
        const struct gt_launch_geometry *launch = &geometry->launch[i];
        cJSON *item = gt_json_append(list, "entry=%s", launch->entry);

        gt_json_add_triple(item, "grid", launch->grid);
        gt_json_add_triple(item, "block", launch->block);
        gt_json_add_triple(item, "cluster", launch->cluster);
        gt_json_add(item, "shared_bytes=%u carveout=%d pdl=%i maps=%i", launch->shared_bytes,
                    launch->carveout, launch->pdl, launch->maps);
    }
    gt_json_add(root, "workspace_bytes=%g deterministic=%i", (double)geometry->workspace_bytes,
                geometry->deterministic);
}

/* Adds the constraints with their verdicts, in lines those of one kind; *broken: how many do not
 * hold. */
static int show_constraints(const struct gt_records *to, const struct gt_candidate *candidate,
                            bool bets, const int64_t *slots, int *broken, struct gt_err *err)
{
    const struct gt_kernel *kernel = candidate->kernel;
    int told = 0;

    *broken = 0;
    if (to->out && !bets)
        fputs("\nconstraints: what must hold, or it is wrong or impossible\n", to->out);
    for (size_t i = 0; i < kernel->constraints; i++) {
        const struct gt_constraint *constraint = &kernel->constraint[i];
        int64_t value;
        int rc;

        if (to->out && constraint->bet != bets)
            continue;
        if (to->out && bets && !told++)
            fputs("\nbets: what must hold, or it is thought slow (tune --no-bets tries it all the "
                  "same)\n",
                  to->out);
        rc = gt_expr_eval(constraint->expr, slots, &value, err);
        if (rc)
            return gt_err_prefix(err, rc, "kernel %s: constraints[%zu]", kernel->name, i);
        gt_records_add(to, "  =%-4s if=%s: .kind=%s why=%s .holds=%i", value ? "ok" : "NOT",
                       gt_expr_text(constraint->expr), constraint->bet ? "bet" : "must",
                       constraint->why, value != 0);
        *broken += !value;
    }
    return GT_OK;
}

static void add_names(cJSON *root, const struct gt_candidate *candidate, const int64_t *slots)
{
    const struct gt_kernel *kernel = candidate->kernel;
    cJSON *params = cJSON_AddObjectToObject(root, "params");
    cJSON *derived = cJSON_AddObjectToObject(root, "derived");

    for (size_t i = 0; i < kernel->params; i++)
        cJSON_AddNumberToObject(params, kernel->param[i].name, (double)candidate->point.value[i]);
    for (size_t i = 0; i < kernel->deriveds; i++)
        cJSON_AddNumberToObject(derived, kernel->derived[i].name,
                                (double)slots[kernel->first_param + kernel->params + i]);
}

static void add_maps(cJSON *root, const struct gt_kernel *kernel,
                     const struct gt_geometry *geometry)
{
    cJSON *list = geometry->maps ? cJSON_AddArrayToObject(root, "tensor_maps") : NULL;

    for (size_t i = 0; i < geometry->maps; i++) {
        const struct gt_map_geometry *map = &geometry->map[i];
        uint64_t box[GT_MAX_MAP_RANK];
        cJSON *item = gt_json_append(list, "name=%s used=%i", kernel->map[i].name, map->used);
        if (!map->used)
            continue;
        for (int j = 0; j < map->rank; j++)
            box[j] = map->box[j];
        gt_json_add(item, "operand=%s element=%s offset=%g", operands[map->operand],
                    gt_dtype_name(map->element), (double)map->offset);
        add_sizes(item, "dims", map->dims, map->rank);
        add_sizes(item, "strides", map->strides + 1, map->rank - 1);
        add_sizes(item, "box", box, map->rank);
        gt_json_add(item, "swizzle=%d promotion=%d", map->swizzle, map->promotion);
    }
}

static int show_document(const struct gt_cli *cli, const struct options *options,
                         const struct gt_candidate *candidate,
                         const struct gt_stored_energies *energies, const char *source,
                         struct gt_err *err)
{
    const struct gt_kernel *kernel = candidate->kernel;
    struct gt_strbuf point = GT_STRBUF_INIT;
    struct gt_binary binary = {0};
    struct gt_geometry geometry;
    char problem[GT_PROBLEM_TEXT_MAX];
    int64_t slots[GT_MAX_SLOTS];
    cJSON *root;
    struct gt_records constraints = {0};
    int version = 0, failed = -1, broken, compiled = GT_OK,
        rc = gt_candidate_slots(candidate, slots, err);

    GT_STEP(rc, gt_candidate_possible(candidate, &failed, err));
    if (!rc && failed < 0)
        rc = gt_candidate_geometry(candidate, &geometry, err);
    if (rc)
        return rc;
    if (failed < 0 && !options->no_compile)
        compiled =
            gt_cmd_compile(candidate, &geometry, source, GT_IMAGE_DEFAULT, &binary, &version, err);
    root = cJSON_CreateObject();
    gt_problem_format(candidate->problem, problem);
    gt_point_format(&point, kernel, &candidate->point);
    gt_json_add(root, "format=%s kernel=%s doc=%s point=%s problem=%s device=%s",
                "gemmtune candidate 1", kernel->name, kernel->doc, point.text, problem,
                candidate->device->name);
    gt_strbuf_release(&point);
    add_names(root, candidate, slots);
    if (energies)
        gt_stored_energies_list(energies, cli->arguments > 1 ? &candidate->point : NULL, root);
    constraints.list = cJSON_AddArrayToObject(root, "constraints");
    rc = show_constraints(&constraints, candidate, false, slots, &broken, compiled ? NULL : err);
    if (failed < 0) {
        add_launches(root, &geometry);
        add_maps(root, kernel, &geometry);
    }
    if (binary.log)
        add_binary(root, &binary, version, geometry.code_arch);
    if (options->source)
        cJSON_AddStringToObject(root, "source", source);
    gt_binary_release(&binary);
    if (rc)
        cJSON_Delete(root);
    else
        rc = gt_cmd_print_json(cli, root, compiled ? NULL : err);
    if (!rc && !compiled && failed >= 0)
        return gt_err_set(err, GT_EXIT_NOTHING, "the candidate is not valid here: %s",
                          kernel->constraint[failed].why);
    return compiled ? compiled : rc;
}

/* Prints the text for --source or --params-header, and also a sentence if the point is not
 * possible. */
static int show_source(const struct gt_cli *cli, const struct options *options,
                       const struct gt_candidate *candidate, struct gt_err *err)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    int failed = -1, rc = gt_render_header(&text, candidate, err);

    if (!rc)
        fputs(text.text, cli->out);
    if (!rc && !options->params_header)
        fprintf(cli->out, "#line 1 \"%s\"\n%s", candidate->kernel->template_path,
                candidate->kernel->text);
    gt_strbuf_release(&text);
    GT_STEP(rc, gt_candidate_possible(candidate, &failed, err));
    if (!rc && failed >= 0)
        rc = gt_err_set(err, GT_ERANGE, "this source is of a point that is not valid here: %s",
                        candidate->kernel->constraint[failed].why);
    return rc;
}

static int show_ptx(const struct gt_cli *cli, const struct gt_candidate *candidate,
                    struct gt_err *err)
{
    struct gt_strbuf source = GT_STRBUF_INIT;
    struct gt_binary binary = {0};
    struct gt_geometry geometry;
    int version, rc = gt_render(&source, candidate, err);

    GT_STEP(rc, gt_candidate_geometry(candidate, &geometry, err));
    GT_STEP(rc, gt_cmd_compile(candidate, &geometry, source.text, GT_IMAGE_PTX, &binary, &version,
                               err));
    if (rc == GT_OK)
        fputs(binary.image, cli->out);
    else if (rc == GT_ENVRTC && binary.log)
        fprintf(cli->log, "%s\n", binary.log);
    gt_binary_release(&binary);
    gt_strbuf_release(&source);
    return rc;
}

static void show_energies(const struct gt_cli *cli, const struct options *options,
                          const struct gt_candidate *candidate,
                          const struct gt_stored_energies *energies)
{
    fprintf(cli->out, "\nwhat a product costs, the whole GPU (*: best of the kernel by %s)\n",
            options->objective);
    if (!gt_stored_energies_print(energies, cli->arguments > 1 ? &candidate->point : NULL,
                                  gt_objective_parse(options->objective), cli->out))
        fputs("  nothing is stored of this point for this problem; `tune energy` measures it\n",
              cli->out);
}

static void show_params(FILE *out, const struct gt_candidate *candidate, const int64_t *slots)
{
    const struct gt_kernel *kernel = candidate->kernel;

    fprintf(out, "\nparameters\n");
    for (size_t i = 0; i < kernel->params; i++) {
        const struct gt_param *param = &kernel->param[i];

        fprintf(out, "  %-14s %8lld  %-7s %s {", param->name, (long long)candidate->point.value[i],
                param->launch ? "launch" : "compile", param->doc);
        for (size_t v = 0; v < param->count; v++)
            fprintf(out, "%s%lld", v ? " " : "", (long long)param->value[v]);
        fprintf(out, "}\n");
    }
    for (size_t i = 0; i < kernel->deriveds; i++)
        fprintf(out, "  %-14s %8lld  derived %s = %s\n", kernel->derived[i].name,
                (long long)slots[kernel->first_param + kernel->params + i],
                kernel->derived[i].doc ? kernel->derived[i].doc : "",
                gt_expr_text(kernel->derived[i].expr));
}

/* "200 x 100 x 1" */
static void show_sizes(FILE *out, const char *words, const uint64_t *size, int count)
{
    fputs(words, out);
    for (int i = 0; i < count; i++)
        fprintf(out, "%s%llu", i ? " x " : "", (unsigned long long)size[i]);
}

static void show_maps(FILE *out, const struct gt_kernel *kernel, const struct gt_geometry *geometry)
{

    if (geometry->maps)
        fprintf(out, "\ntensor maps\n");
    for (size_t i = 0; i < geometry->maps; i++) {
        const struct gt_map_geometry *map = &geometry->map[i];
        uint64_t box[GT_MAX_MAP_RANK];

        fprintf(out, "  %-8s ", kernel->map[i].name);
        if (!map->used) {
            fprintf(out, "not used\n");
            continue;
        }
        for (int j = 0; j < map->rank; j++)
            box[j] = map->box[j];
        fprintf(out, "%s of %s", gt_dtype_name(map->element), operands[map->operand]);
        if (map->offset)
            fprintf(out, " from byte %lld", (long long)map->offset);
        show_sizes(out, ": ", map->dims, map->rank);
        if (map->rank > 1)
            show_sizes(out, ", strides ", map->strides + 1, map->rank - 1);
        show_sizes(out, ", box ", box, map->rank);
        fprintf(out, ", swizzle %d, promotion %d\n", map->swizzle, map->promotion);
    }
}

static void show_geometry(FILE *out, const struct gt_geometry *geometry)
{
    fprintf(out, "\nlaunches\n");
    for (size_t i = 0; i < geometry->launches; i++) {
        const struct gt_launch_geometry *launch = &geometry->launch[i];

        fprintf(out, "  %-8s grid %u x %u x %u, block %u x %u x %u, %u bytes of dynamic shared",
                launch->entry, launch->grid[0], launch->grid[1], launch->grid[2], launch->block[0],
                launch->block[1], launch->block[2], launch->shared_bytes);
        if (launch->cluster[0] * launch->cluster[1] * launch->cluster[2] > 1)
            fprintf(out, ", cluster %u x %u x %u", launch->cluster[0], launch->cluster[1],
                    launch->cluster[2]);
        if (launch->carveout >= 0)
            fprintf(out, ", carve-out %d %%", launch->carveout);
        if (launch->pdl)
            fputs(", beginning early", out);
        fputc('\n', out);
    }
    fprintf(out, "  workspace %zu bytes; results %s\n", geometry->workspace_bytes,
            geometry->deterministic ? "equal from launch to launch"
                                    : "may differ in the last bits (atomics)");
}

/* Shows one candidate whose kernel, problem, device and point are known.  energies: NULL if not
 * asked for. */
static int show_candidate(const struct gt_cli *cli, const struct options *options,
                          const struct gt_candidate *candidate,
                          const struct gt_stored_energies *energies, struct gt_err *err)
{
    const struct gt_records lines = {.out = cli->out};
    struct gt_strbuf source = GT_STRBUF_INIT;
    struct gt_strbuf point = GT_STRBUF_INIT;
    struct gt_geometry geometry;
    int64_t slots[GT_MAX_SLOTS];
    int rc, broken = 0, lost_bets;

    if ((options->source && !cli->json) || options->params_header)
        return show_source(cli, options, candidate, err);
    if (options->ptx)
        return show_ptx(cli, candidate, err);
    rc = gt_render(&source, candidate, err);
    if (rc || cli->json) {
        GT_STEP(rc, show_document(cli, options, candidate, energies, source.text, err));
        goto out;
    }
    gt_point_format(&point, candidate->kernel, &candidate->point);
    fprintf(cli->out, "%s %s\n%s\n", candidate->kernel->name, point.text, candidate->kernel->doc);
    if (energies)
        show_energies(cli, options, candidate, energies);
    rc = gt_candidate_slots(candidate, slots, err);
    if (rc)
        goto out;
    show_params(cli->out, candidate, slots);
    rc = show_constraints(&lines, candidate, false, slots, &broken, err);
    if (!rc && !broken)
        rc = show_constraints(&lines, candidate, true, slots, &lost_bets, err);
    if (rc)
        goto out;
    if (broken) {
        rc = not_valid(candidate, broken, err);
        goto out;
    }
    rc = gt_candidate_geometry(candidate, &geometry, err);
    if (rc)
        goto out;
    show_geometry(cli->out, &geometry);
    show_maps(cli->out, candidate->kernel, &geometry);
    if (!options->no_compile)
        rc = show_compile(cli, candidate, &geometry, source.text, err);
out:
    gt_strbuf_release(&point);
    gt_strbuf_release(&source);
    return rc;
}

/* Reads the energies of products and, if no point was named, takes the best point. */
static int weigh(struct gt_cli *cli, const struct options *options,
                 const struct gt_kernels *kernels, struct gt_candidate *candidate,
                 const char *device, struct gt_stored_energies *energies, struct gt_err *err)
{
    const struct gt_stored_energy *best;
    struct gt_energy_question asked = {.kernels = kernels,
                                       .gpu = {.cc = candidate->device->cc, .device = device},
                                       .kernel = candidate->kernel,
                                       .problem = candidate->problem};
    char problem[GT_PROBLEM_TEXT_MAX];
    int rc = gt_session_database(&asked.path, cli, options->db, false, err);

    gt_filter_whole(&asked.gpu, cli->data_dir);
    GT_STEP(rc, gt_stored_energies_read(energies, &asked, err));
    if (rc || cli->arguments > 1)
        return rc;
    best = gt_stored_energies_choose(energies, gt_objective_parse(options->objective));
    if (best) {
        candidate->point = best->point;
        return GT_OK;
    }
    gt_problem_format(candidate->problem, problem);
    return gt_err_set(err, GT_EXIT_NOTHING,
                      "no energy of %s is stored for %s on sm_%d in %s: `tune energy` measures it "
                      "on a GPU",
                      candidate->kernel->name, problem, candidate->device->cc, asked.path);
}

static int run(struct gt_cli *cli, const void *fields, struct gt_err *err)
{
    const struct options *options = fields;
    struct gt_stored_energies energies = {.entry = NULL};
    struct gt_kernels kernels = {0};
    struct gt_candidate candidate = {0};
    struct gt_problem problem;
    struct gt_device device;
    char why[GT_UNSERVED_MAX];
    const char *name = NULL;
    char text[GT_STAND_IN_MAX];
    int cc, rc;

    cli->raw |= options->source || options->params_header || options->ptx;
    rc = gt_session_complete(&problem, options->problem ? options->problem : DEFAULT_PROBLEM,
                             &options->parts, err);
    GT_STEP(rc, gt_gpu_parse(options->arch ? options->arch : DEFAULT_ARCH, &cc, &name, err));
    GT_STEP(rc, gt_device_profile_of(&device, cli->data_dir, cc, name, err));
    if (!rc && !cli->quiet && gt_stand_in(text, &device, name))
        fprintf(cli->log, "%s\n", text);
    GT_STEP(rc, gt_kernels_load(&kernels, cli->data_dir, options->kernels_dir,
                                options->include_dirs, err));
    if (rc)
        goto out;
    candidate.problem = &problem;
    candidate.device = &device;
    candidate.kernel = gt_kernels_find(&kernels, cli->argument[0], err);
    rc = candidate.kernel ? GT_OK : GT_ENOTFOUND;
    GT_STEP(rc, gt_point_parse(&candidate.point, candidate.kernel,
                               cli->arguments > 1 ? cli->argument[1] : "", err));
    if (!rc && gt_unserved(why, "it", &candidate.kernel, 1, &problem, &device))
        rc = gt_err_set(err, GT_ERANGE, "kernel %s does not serve this problem on sm_%d: %s",
                        cli->argument[0], cc, why);
    if (!rc && options->objective)
        rc = weigh(cli, options, &kernels, &candidate, name, &energies, err);
    if (!rc && options->keep)
        rc = keep(cli, options, &candidate, err);
    GT_STEP(rc,
            show_candidate(cli, options, &candidate, options->objective ? &energies : NULL, err));
out:
    gt_stored_energies_release(&energies);
    gt_kernels_release(&kernels);
    return rc;
}

const struct gt_command gt_command_show = {
    .name = "show",
    .doc = "one candidate at every stage: constraints, geometry, source, compiler's log",
    .usage = "show KERNEL [POINT] [--problem P] [--arch sm_86] [OPTION]...",
    .about =
        "Shows what a kernel and a point (default: its default point) mean for a problem:\n"
        "parameters, constraints with their verdicts, launches, registers. A point is written\n"
        "NAME=VALUE,...; parameters left out have their default.\n"
        "\n"
        "  tune show simt_warptile TM=4,BM=64 --problem 4096x4096x4096:f32:nt\n"
        "  tune show simt_warptile --source\n"
        "  tune show simt_warptile --problem 512x512x512 --arch rtx4090 --keep kept\n"
        "  tune show hopper --problem 4096x4096x4096:bf16 --arch sm_90 --objective energy\n",
    .group = {{option_table, 0, pairs},
              {gt_problem_part_table, offsetof(struct options, parts), NULL}},
    .argument = "KERNEL",
    .size = sizeof(struct options),
    .min_args = 1,
    .max_args = 2,
    .run = run,
};
