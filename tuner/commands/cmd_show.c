/* cmd_show.c - tune show KERNEL [POINT]: shows one candidate at every stage: constraints with their
 * verdicts, geometry, source, the compiler's log. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "kernel/kernel.h"
#include "problem/problem.h"
#include "kernel/render.h"
#include "console/cmd_compile.h"
#include "console/gpu_names.h"
#include "session/cmd_session.h"
#include "commands/cmd_show_json.h"
#include "commands/show_text.h"
#include "commands/cmd_stored_energy.h"
#include "console/commands.h"
#include "console/options.h"

#define DEFAULT_ARCH    "sm_86"
#define DEFAULT_PROBLEM "4096x4096x4096"

struct options {
    const char *problem, *arch, *kernels_dir, *include_dirs, *db, *objective;
    bool source, params_header, no_compile;
    struct gt_problem_options parts;
};

static const struct gt_option option_table[] = {
    GT_TEXT(options, problem, "problem", 'p', "TEXT",
            "what to compute (default: " DEFAULT_PROBLEM ":f32:nn)"),
    GT_ARCH(options, arch, "device profile to compile and check for (default: " DEFAULT_ARCH ")"),
    GT_TEXT(options, kernels_dir, "kernels-dir", 0, "DIR",
            "a folder with descriptions of your own kernels"),
    GT_TEXT(options, include_dirs, "include-dir", 'I', "DIR",
            "where templates of --kernels-dir also find headers: DIR[:DIR...]"),
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
    GT_FLAG(options, no_compile, "no-compile", 0, "leave the compiler out"),
    GT_OPTIONS_END,
};

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
        gt_show_binary(cli->out, candidate, geometry, &binary);
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

/* Prints one candidate as a JSON document, up to the stage that it reaches. */
static int show_document(const struct gt_cli *cli, const struct options *options,
                         const struct gt_candidate *candidate,
                         const struct gt_stored_energies *energies, const char *source,
                         struct gt_err *err)
{
    struct gt_shown shown = {.candidate = candidate,
                             .energies = energies,
                             .one_point = cli->arguments > 1,
                             .source = options->source ? source : NULL};
    struct gt_binary binary = {0};
    struct gt_geometry geometry;
    int64_t slots[GT_MAX_SLOTS];
    int failed = -1, rc = gt_candidate_slots(candidate, slots, err), printed;

    shown.slots = slots;
    GT_STEP(rc, gt_candidate_possible(candidate, &failed, err));
    if (!rc && failed < 0)
        rc = gt_candidate_geometry(candidate, &geometry, err);
    if (rc)
        return rc;
    if (failed < 0)
        shown.geometry = &geometry;
    if (failed < 0 && !options->no_compile)
        rc = gt_cmd_compile(candidate, &geometry, source, GT_IMAGE_DEFAULT, &binary,
                            &shown.nvrtc_version, err);
    if (binary.log)
        shown.binary = &binary;
    printed = gt_show_json(cli, &shown, rc ? NULL : err);
    gt_binary_release(&binary);
    if (!rc && !printed && failed >= 0)
        return gt_err_set(err, GT_EXIT_NOTHING, "the candidate is not valid here: %s",
                          candidate->kernel->constraint[failed].why);
    return rc ? rc : printed;
}

/* Prints the text for --source or --params-header, and a sentence too if the point is not possible.
 */
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

/* What products cost, of the point that was named or of all. */
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

/* Shows one candidate whose kernel, problem, device and point are known; energies: NULL if nobody
 * asked for them. */
static int show_candidate(const struct gt_cli *cli, const struct options *options,
                          const struct gt_candidate *candidate,
                          const struct gt_stored_energies *energies, struct gt_err *err)
{
    struct gt_strbuf source = GT_STRBUF_INIT;
    struct gt_strbuf point = GT_STRBUF_INIT;
    struct gt_geometry geometry;
    int64_t slots[GT_MAX_SLOTS];
    int rc, broken = 0, lost_bets;

    if ((options->source && !cli->json) || options->params_header)
        return show_source(cli, options, candidate, err);
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
    gt_show_params(cli->out, candidate, slots);
    rc = gt_show_constraints(cli->out, candidate, false, slots, &broken, err);
    if (!rc && !broken)
        rc = gt_show_constraints(cli->out, candidate, true, slots, &lost_bets, err);
    if (rc)
        goto out;
    if (broken) {
        rc = not_valid(candidate, broken, err);
        goto out;
    }
    rc = gt_candidate_geometry(candidate, &geometry, err);
    if (rc)
        goto out;
    gt_show_geometry(cli->out, &geometry);
    gt_show_maps(cli->out, candidate->kernel, &geometry);
    if (!options->no_compile)
        rc = show_compile(cli, candidate, &geometry, source.text, err);
out:
    gt_strbuf_release(&point);
    gt_strbuf_release(&source);
    return rc;
}

/* Reads what products cost and, where no point was named, takes the best one. */
static int weigh(struct gt_cli *cli, const struct options *options,
                 const struct gt_kernels *kernels, struct gt_candidate *candidate,
                 struct gt_stored_energies *energies, struct gt_err *err)
{
    const struct gt_stored_energy *best;
    struct gt_energy_question asked = {.kernels = kernels,
                                       .cc = candidate->device->cc,
                                       .kernel = candidate->kernel,
                                       .problem = candidate->problem};
    char problem[GT_PROBLEM_TEXT_MAX];
    int rc = gt_session_database(&asked.path, cli, options->db, false, err);

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
    int cc, rc;

    cli->raw |= options->source || options->params_header;
    if (options->db && !options->objective)
        return gt_err_set(err, GT_ESYNTAX, "--db goes with --objective");
    rc = gt_session_complete(&problem, options->problem ? options->problem : DEFAULT_PROBLEM,
                             &options->parts, err);
    GT_STEP(rc, gt_gpu_parse(options->arch ? options->arch : DEFAULT_ARCH, &cc, &name, err));
    GT_STEP(rc, gt_device_profile_of(&device, cli->data_dir, cc, name, err));
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
        rc = weigh(cli, options, &kernels, &candidate, &energies, err);
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
        "  tune show hopper --problem 4096x4096x4096:bf16 --arch sm_90 --objective energy\n",
    .group = {{option_table, 0}, {gt_problem_part_table, offsetof(struct options, parts)}},
    .argument = "KERNEL",
    .size = sizeof(struct options),
    .min_args = 1,
    .max_args = 2,
    .run = run,
};
