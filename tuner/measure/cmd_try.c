/* cmd_try.c - tune try KERNEL [POINT]: whether one candidate is right and, on a GPU, how fast. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "console/columns.h"
#include "console/gpu_names.h"
#include "console/cmd_json.h"
#include "measure/cmd_try.h"
#include "console/commands.h"
#include "console/scratch.h"
#include "problem/problem.h"

#define DEFAULT_ARCH 86

static const struct gt_option option_table[] = {
    GT_TEXT(gt_try_options, problem, "problem", 'p', "PROBLEM",
            "what to compute, e.g. 512x512x512:f32:nt (needed)"),
    GT_CHOICE(gt_try_options, on, "on", 0, "WHERE", "cuda|cpu",
              "cuda (default): proves and times it on a GPU; cpu: runs it in the emulator, under "
              "AddressSanitizer and UndefinedBehaviorSanitizer"),
    GT_TEXT(gt_try_options, keep, "keep", 0, "DIR",
            "leave source, PTX, cubin, SASS and logs in this folder"),
    GT_TEXT(gt_try_options, kernels_dir, "kernels-dir", 0, "DIR",
            "a folder with descriptions of your own kernels"),
    GT_TEXT(gt_try_options, include_dirs, "include-dir", 'I', "DIR",
            "where templates of --kernels-dir also find headers: DIR[:DIR...]"),
    GT_TEXT(gt_try_options, device, "device", 'd', "DEVICE",
            "the GPU: cuda (default, the first one) or cuda:N"),
    GT_ARCH(
        gt_try_options, arch,
        "with --on cpu: the GPU whose constraints hold, and what --keep makes PTX and cubin for "
        "(default: sm_86, or the nearest "
        "that the kernel is for)"),
    GT_INTEGER(gt_try_options, deadline, "deadline", 0, "SECONDS", 1, 3600,
               "the candidate is killed on the GPU after this time, more for large problems "
               "(default: 10); in the emulator, after this CPU time of a run (default: 60)"),
    GT_INTEGER(gt_try_options, seed, "seed", 0, "N", 1, INT64_MAX,
               "seed of the operands' values on the GPU (default: 1)"),
    GT_OPTIONS_END,
};

/* ---- the report ---- */

static const char *verdict(const struct gt_try *attempt)
{
    return attempt->trial.status == GT_STATUS_OK      ? "right"
           : attempt->trial.status == GT_STATUS_WRONG ? "WRONG"
                                                      : gt_status_name(attempt->trial.status);
}

static void print_emulated(const struct gt_try *attempt)
{
    FILE *out = attempt->cli->out;

    if (*attempt->run_as && strcmp(attempt->run_as, attempt->problem_text) != 0)
        fprintf(out, "  run as     %s: the problem is too large for an emulator\n",
                attempt->run_as);
    if (attempt->problems)
        fprintf(out,
                "  checked    %d problem%s of this type, layout and epilogue, ragged ones too: "
                "%d of %d runs right\n",
                attempt->problems, attempt->problems == 1 ? "" : "s",
                attempt->runs - attempt->wrong, attempt->runs);
}

static void print_measured(const struct gt_try *attempt)
{
    const struct gt_trial *trial = &attempt->trial;
    FILE *out = attempt->cli->out;

    if (trial->status != GT_STATUS_OK)
        return;
    fprintf(out, "  error      %.1f u, u = 2^-24\n", trial->err_u);
    fprintf(out, "  time       %.2f us [%.2f, %.2f], %.2f TFLOP/s\n", trial->us, trial->lo_us,
            trial->hi_us, gt_problem_flops(&attempt->problem) / trial->us * 1e-6);
    if (attempt->baseline.us > 0)
        fprintf(out, "  cuBLAS     %.2f us, ratio %.3f (%s)\n", attempt->baseline.us,
                attempt->baseline.us / trial->us, attempt->baseline.name);
    fprintf(out, "  uses       %d registers, %d bytes spilled, %lld bytes of shared memory\n",
            trial->registers, trial->spill_bytes, (long long)trial->shared_bytes);
}

static void print_report(const struct gt_try *attempt, const char *point)
{
    FILE *out = attempt->cli->out;

    fprintf(out, "%s%s%s on %s, ", attempt->candidate.kernel->name, *point ? " " : "", point,
            attempt->problem_text);
    gt_columns_put(out, attempt->on_cpu ? "in the emulator" : attempt->device.name);
    fputc('\n', out);
    if (attempt->on_cpu)
        print_emulated(attempt);
    else
        print_measured(attempt);
    fprintf(out,
            attempt->trial.status == GT_STATUS_OK && *attempt->trial.detail
                ? "  verdict    %s (%s)\n"
            : *attempt->trial.detail ? "  verdict    %s: %s\n"
                                     : "  verdict    %s%s\n",
            verdict(attempt), attempt->trial.detail);
    if (attempt->keep)
        fprintf(out, "  kept in    %s\n", attempt->keep);
}

static int print_json(const struct gt_try *attempt, const char *point, struct gt_err *err)
{
    const struct gt_trial *trial = &attempt->trial;
    cJSON *json = cJSON_CreateObject();
    bool timed = !attempt->on_cpu && trial->status == GT_STATUS_OK;
    bool ok = json && cJSON_AddStringToObject(json, "format", "gemmtune try 1") &&
              cJSON_AddStringToObject(json, "kernel", attempt->candidate.kernel->name) &&
              cJSON_AddStringToObject(json, "point", point) &&
              cJSON_AddStringToObject(json, "problem", attempt->problem_text) &&
              cJSON_AddStringToObject(json, "on", attempt->on_cpu ? "cpu" : "cuda") &&
              cJSON_AddStringToObject(json, "status", gt_status_name(trial->status)) &&
              cJSON_AddStringToObject(json, "detail", trial->detail);

    if (ok && attempt->on_cpu)
        ok = cJSON_AddStringToObject(json, "run_as", attempt->run_as) &&
             cJSON_AddNumberToObject(json, "problems", attempt->problems) &&
             cJSON_AddNumberToObject(json, "runs", attempt->runs) &&
             cJSON_AddNumberToObject(json, "wrong", attempt->wrong);
    if (ok && timed)
        ok = cJSON_AddStringToObject(json, "device", attempt->device.name) &&
             cJSON_AddNumberToObject(json, "us", trial->us) &&
             cJSON_AddNumberToObject(json, "lo_us", trial->lo_us) &&
             cJSON_AddNumberToObject(json, "hi_us", trial->hi_us) &&
             cJSON_AddNumberToObject(json, "err_u", trial->err_u) &&
             cJSON_AddNumberToObject(json, "registers", trial->registers) &&
             cJSON_AddNumberToObject(json, "shared_bytes", (double)trial->shared_bytes);
    if (ok && timed && attempt->baseline.us > 0)
        ok = cJSON_AddStringToObject(json, "baseline", attempt->baseline.name) &&
             cJSON_AddNumberToObject(json, "baseline_us", attempt->baseline.us) &&
             cJSON_AddNumberToObject(json, "ratio", attempt->baseline.us / trial->us);
    if (!ok) {
        cJSON_Delete(json);
        return gt_err_nomem(err);
    }
    return gt_cmd_print_json(attempt->cli, json, err);
}

/* ---- folders ---- */

/* The folder that --keep names, made if it is missing. */
static int open_keep(struct gt_try *attempt, struct gt_err *err)
{
    const char *keep = attempt->options->keep;
    struct stat status;

    if (!keep)
        return GT_OK;
    if (stat(keep, &status) == 0 && !S_ISDIR(status.st_mode))
        return gt_err_set(err, GT_EIO, "%s: --keep names a folder, and this is a file", keep);
    if (mkdir(keep, 0777) && (errno != EEXIST || access(keep, W_OK | X_OK)))
        return gt_err_set(err, GT_EIO, "%s: cannot make the folder: %s", keep, strerror(errno));
    attempt->keep = realpath(keep, NULL);
    return attempt->keep ? GT_OK : gt_err_set(err, GT_EIO, "%s: %s", keep, strerror(errno));
}

/* Runs the emulator in the folder of --keep or, without it, in one that is removed afterwards. */
static int emulate(struct gt_try *attempt, struct gt_err *err)
{
    struct gt_scratch folder = {0};
    int rc;

    if (attempt->keep)
        return gt_try_emulate(attempt, attempt->keep, err);
    rc = gt_scratch_make(&folder, err);
    GT_STEP(rc, gt_try_emulate(attempt, folder.path, err));
    gt_scratch_remove(&folder);
    return rc;
}

/* ---- the command ---- */

/* Sets the device that stands in where no GPU does: the profile of --arch, or of the nearest arch
 * that the kernel supports. */
static int find_device(struct gt_try *attempt, struct gt_err *err)
{
    const struct gt_kernel *kernel = attempt->candidate.kernel;
    const struct gt_serves *entry = &kernel->entry[0]; /* or that of the problem's type */
    const char *name = NULL;
    int cc = DEFAULT_ARCH;

    for (size_t i = kernel->entries; i-- > 0;)
        if (kernel->entry[i].types >> attempt->problem.type & 1)
            entry = &kernel->entry[i];

    if (attempt->options->arch && gt_gpu_parse(attempt->options->arch, &cc, &name, err))
        return err ? err->code : GT_ESYNTAX;
    if (!attempt->options->arch && cc < entry->min_cc)
        cc = entry->min_cc;
    if (!attempt->options->arch && cc > entry->max_cc)
        cc = entry->max_cc;
    return gt_device_profile_of(&attempt->device, attempt->cli->data_dir, cc, name, err);
}

int gt_try_check_point(const struct gt_try *attempt, struct gt_device device, struct gt_err *err)
{
    struct gt_candidate candidate = attempt->candidate;
    const struct gt_kernel *kernel = candidate.kernel;
    const struct gt_constraint *constraint = kernel->constraint;
    int failed = -1, rc;

    candidate.device = &device;
    device.chained = attempt->on_cpu; /* there, points for chains alone are tried, too */
    rc = gt_candidate_possible(&candidate, &failed, err);
    if (!rc && failed >= 0)
        return gt_err_set(err, GT_ERANGE,
                          "the point is not valid on sm_%d: \"%s\" does not hold: %s", device.cc,
                          gt_expr_text(constraint[failed].expr), constraint[failed].why);
    GT_STEP(rc, gt_candidate_valid(&candidate, &failed, err));
    if (!rc && failed >= 0 && !attempt->cli->quiet)
        fprintf(attempt->cli->log,
                "a sweep on sm_%d leaves this point out: \"%s\" does not hold: %s\n", device.cc,
                gt_expr_text(constraint[failed].expr), constraint[failed].why);
    return rc;
}

/* The emulator has a few SMs and runs smaller problems; constraints are those of the problem as it
 * was asked for.  What the kernel does not serve is for the emulator to say. */
static int check_emulated(const struct gt_try *attempt, struct gt_err *err)
{
    if (!gt_kernel_serves(attempt->candidate.kernel, &attempt->problem, &attempt->device))
        return GT_OK;
    return gt_try_check_point(attempt, attempt->device, err);
}

static int open_candidate(struct gt_try *attempt, struct gt_err *err)
{
    const struct gt_try_options *options = attempt->options;
    const struct gt_cli *cli = attempt->cli;
    struct gt_candidate *candidate = &attempt->candidate;
    int rc;

    if (!options->problem)
        return gt_err_set(err, GT_ESYNTAX,
                          "name the problem: tune try KERNEL [POINT] --problem 512x512x512");
    rc = gt_session_complete(&attempt->problem, options->problem, &options->parts, err);
    GT_STEP(rc, gt_kernels_load(&attempt->kernels, cli->data_dir, options->kernels_dir,
                                options->include_dirs, err));
    if (rc)
        return rc;
    gt_problem_format(&attempt->problem, attempt->problem_text);
    candidate->problem = &attempt->problem;
    candidate->device = &attempt->device;
    candidate->kernel = gt_kernels_find(&attempt->kernels, cli->argument[0], err);
    rc = candidate->kernel ? GT_OK : GT_ENOTFOUND;
    GT_STEP(rc, gt_point_parse(&candidate->point, candidate->kernel,
                               cli->arguments > 1 ? cli->argument[1] : "", err));
    if (!rc && (attempt->on_cpu || options->arch))
        rc = find_device(attempt, err);
    if (!rc && attempt->on_cpu)
        rc = check_emulated(attempt, err);
    return rc;
}

static int report(struct gt_try *attempt, struct gt_err *err)
{
    struct gt_strbuf point = GT_STRBUF_INIT;
    int rc;

    gt_point_format(&point, attempt->candidate.kernel, &attempt->candidate.point);
    rc = gt_strbuf_check(&point, err);
    if (!rc && attempt->cli->json)
        rc = print_json(attempt, point.text, err);
    else if (!rc)
        print_report(attempt, point.text);
    if (!rc && attempt->trial.status != GT_STATUS_OK)
        rc = gt_err_set(err, GT_EXIT_NOTHING, "%s is not right for %s: %s",
                        attempt->candidate.kernel->name, attempt->problem_text,
                        gt_status_name(attempt->trial.status));
    gt_strbuf_release(&point);
    return rc;
}

static int run(struct gt_cli *cli, const void *fields, struct gt_err *err)
{
    struct gt_try attempt = {.cli = cli, .options = fields};
    int rc;

    attempt.on_cpu = attempt.options->on && strcmp(attempt.options->on, "cpu") == 0;
    rc = open_candidate(&attempt, err);
    GT_STEP(rc, open_keep(&attempt, err));
    GT_STEP(rc, attempt.on_cpu ? emulate(&attempt, err) : gt_try_measure(&attempt, err));
    if (!rc && attempt.keep)
        rc = gt_try_keep(&attempt, err);
    GT_STEP(rc, report(&attempt, err));
    gt_kernels_release(&attempt.kernels);
    free(attempt.keep);
    return rc;
}

const struct gt_command gt_command_try = {
    .name = "try",
    .doc = "whether one candidate is right and, on a GPU, how fast",
    .usage = "try KERNEL [POINT] --problem P [--on cuda|cpu] [OPTION]...",
    .about =
        "Proves one candidate (default: the kernel's default point) and times it beside "
        "cuBLASLt's\n"
        "best answer. Nothing is stored. With --on cpu it runs in an emulator instead, which "
        "needs\n"
        "a C++ compiler (g++, or the one that CXX names) but no GPU: the threads of a block run "
        "in\n"
        "two different orders, and with each warp as late as can be; every access is checked, and\n"
        "every element of D is compared with the exact result in float64, for the problem (made\n"
        "smaller where it is large) and for some thirty ragged ones. Exit code 4: the candidate "
        "is\n"
        "not right.\n"
        "\n"
        "  tune try simt_naive --problem 512x512x512 --on cpu\n"
        "  tune try rows BM=8 --kernels-dir mykernels --problem 512x512x512 --on cpu\n"
        "  tune try simt_thread2d --problem 4096x4096x4096 --keep kept\n",
    .argument = "KERNEL",
    .group = {{option_table, 0}, {gt_problem_part_table, offsetof(struct gt_try_options, parts)}},
    .size = sizeof(struct gt_try_options),
    .min_args = 1,
    .max_args = 2,
    .finishes = true,
    .run = run,
};
