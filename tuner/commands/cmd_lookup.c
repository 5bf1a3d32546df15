/* cmd_lookup.c - tune lookup PROBLEM...: prints the answers that a program with the library would
 * get. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "problem/device.h"
#include "base/err.h"
#include "cluster/queue.h"
#include "console/cmd_json.h"
#include "console/commands.h"
#include "console/options.h"

struct options {
    const char *arch, *device, *db, *system_db, *kernels_dir, *include_dirs;
    struct gt_texts problem;
};

static const struct gt_option option_table[] = {
    GT_TEXT(options, arch, "arch", 'a', "ARCH", "GPU architecture asked about (needed)"),
    GT_TEXTS(options, problem, "problem", 'p', "PROBLEM",
             "the same as an argument; may be repeated"),
    GT_TEXT(options, device, "device", 'd', "NAME",
            "name of the GPU, e.g. \"NVIDIA H200\" (default: any of the arch)"),
    GT_TEXT(options, db, "db", 0, "FILE",
            "your own database (default: as of a sweep, if there is one), or "
            "postgresql://HOST/DATABASE: what the workers of a queue have found"),
    GT_TEXT(options, system_db, "system-db", 0, "FILE",
            "table searched after it (default: db/shipped of the data folder)"),
    GT_TEXT(options, kernels_dir, "kernels-dir", 0, "DIR",
            "folder with descriptions of your own kernels"),
    GT_TEXT(options, include_dirs, "include-dir", 'I', "DIR",
            "where templates of --kernels-dir also find headers: DIR[:DIR...]"),
    GT_OPTIONS_END,
};

static const struct {
    const char *name, *meaning;
} tiers[] = {
    [GT_TIER_NONE] = {"none", "no kernel serves it"},
    [GT_TIER_EXACT] = {"exact", "this problem was tuned"},
    [GT_TIER_NEAR] = {"near", "nearest tuned problem, adapted"},
    [GT_TIER_FAMILY] = {"family", "a default point, or the winner of a less similar problem"},
};

/* Prints the times.  A time is shown as this problem's only if it was measured or predicted for
 * this very problem. */
static void print_times(FILE *out, const struct gt_answer *answer)
{
    const char *how = answer->predicted ? "PREDICTED, never measured" : "measured";
    char device[256];

    gt_copy_clean(device, sizeof(device), answer->device ? answer->device : "an unnamed device");
    if (answer->tuned_for)
        fprintf(out, "  tuned for  %s on %s\n", answer->tuned_for, device);
    if (answer->us > 0) {
        fprintf(out, "  time       %.2f us, %s\n", answer->us, how);
        return;
    }
    if (answer->tuned_us > 0)
        fprintf(out, "             its time there: %.2f us, %s\n", answer->tuned_us, how);
    if (answer->expected_us > 0)
        fprintf(out, "  time       about %.2f us here, ESTIMATED by the model\n",
                answer->expected_us);
}

/* Prints what an exact row was timed against (see src/lookup/README.md). */
static void print_contest(FILE *out, const struct gt_answer *answer)
{
    if (answer->tier != GT_TIER_EXACT || answer->predicted)
        return;
    fprintf(out, "  compared   %s",
            answer->contested ? "won a final, timed in turns with the answer before it"
                              : "never timed in turns with another answer, but faster than the "
                                "model expects of any");
    if (answer->trials > 0)
        fprintf(out, "; best of %lld trial%s", (long long)answer->trials,
                answer->trials == 1 ? "" : "s");
    fputc('\n', out);
}

static void print_answer(FILE *out, const char *problem, const struct gt_answer *answer)
{
    char text[512];

    fprintf(out, "%s\n", problem);
    fprintf(out, "  tier       %s: %s\n", tiers[answer->tier].name, tiers[answer->tier].meaning);
    if (answer->tier != GT_TIER_NONE) {
        fprintf(out, "  kernel     %s\n", answer->kernel);
        fprintf(out, "  point      %s\n", answer->point);
        print_times(out, answer);
        print_contest(out, answer);
        fprintf(out, "  slowdown   %.1f %% expected against a tuned kernel\n",
                100 * answer->expected_loss);
        fprintf(out,
                "  launch     grid %u x %u x %u, block %u x %u x %u, %u bytes of dynamic shared\n",
                answer->grid[0], answer->grid[1], answer->grid[2], answer->block[0],
                answer->block[1], answer->block[2], answer->shared_bytes);
        fprintf(out, "  workspace  %zu bytes\n", answer->workspace_bytes);
    }
    if (answer->cublaslt) {
        gt_copy_clean(text, sizeof(text), answer->cublaslt);
        fprintf(out,
                "  cuBLASLt   %.2f us, faster: for programs that set gt_options.allow_cublaslt, "
                "with the library's version %.*s\n",
                answer->baseline_us, (int)strcspn(text, " "), text);
    }
    if (answer->passed_over) {
        gt_copy_clean(text, sizeof(text), answer->passed_over);
        fprintf(out, "  not taken  %s\n", text);
    }
}

static void add_sizes(cJSON *json, const char *key, const unsigned size[3])
{
    cJSON *list = cJSON_AddArrayToObject(json, key);

    for (int i = 0; i < 3; i++)
        cJSON_AddItemToArray(list, cJSON_CreateNumber(size[i]));
}

/* Adds the times that are known.  us: of this very problem; tuned_us: of the problem tuned_for;
 * estimated_us: the model's estimate for this problem. */
static void add_times(cJSON *json, const struct gt_answer *answer)
{
    if (answer->us > 0)
        cJSON_AddNumberToObject(json, "us", answer->us);
    else if (answer->tuned_us > 0)
        cJSON_AddNumberToObject(json, "tuned_us", answer->tuned_us);
    if (!(answer->us > 0) && answer->expected_us > 0)
        cJSON_AddNumberToObject(json, "estimated_us", answer->expected_us);
}

static void add_answer(cJSON *json, const struct gt_answer *answer)
{
    cJSON_AddStringToObject(json, "kernel", answer->kernel);
    cJSON_AddStringToObject(json, "point", answer->point);
    cJSON_AddStringToObject(json, "device", answer->device ? answer->device : "");
    cJSON_AddStringToObject(json, "tuned_for", answer->tuned_for ? answer->tuned_for : "");
    cJSON_AddBoolToObject(json, "predicted", answer->predicted);
    add_times(json, answer);
    cJSON_AddNumberToObject(json, "expected_loss", answer->expected_loss);
    if (answer->tier == GT_TIER_EXACT && !answer->predicted) {
        cJSON_AddBoolToObject(json, "contested", answer->contested);
        cJSON_AddNumberToObject(json, "trials", (double)answer->trials);
    }
    add_sizes(json, "grid", answer->grid);
    add_sizes(json, "block", answer->block);
    cJSON_AddNumberToObject(json, "shared_bytes", answer->shared_bytes);
    cJSON_AddNumberToObject(json, "workspace_bytes", (double)answer->workspace_bytes);
}

static void list_answer(cJSON *list, const char *problem, const struct gt_answer *answer)
{
    cJSON *json = cJSON_CreateObject();

    cJSON_AddItemToArray(list, json);
    cJSON_AddStringToObject(json, "problem", problem);
    cJSON_AddStringToObject(json, "tier", tiers[answer->tier].name);
    if (answer->tier != GT_TIER_NONE)
        add_answer(json, answer);
    if (answer->cublaslt)
        cJSON_AddStringToObject(json, "cublaslt", answer->cublaslt);
    if (answer->passed_over)
        cJSON_AddStringToObject(json, "not_taken", answer->passed_over);
}

/* Looks up one problem; *answered counts the problems that have an answer. */
static int look_up(struct gt_cli *cli, struct gt *gt, int cc, const struct options *options,
                   const char *text, cJSON *list, int *answered, struct gt_err *err)
{
    char canonical[GT_PROBLEM_TEXT_MAX];
    const struct gt_answer *answer;
    struct gt_problem problem;
    int rc = gt_problem_parse(&problem, text, err);

    GT_STEP(rc, gt_lookup(gt, cc, options->device, &problem, &answer, err));
    if (rc)
        return rc;
    gt_problem_format(&problem, canonical);
    *answered += answer->tier != GT_TIER_NONE;
    if (cli->json)
        list_answer(list, canonical, answer);
    else
        print_answer(cli->out, canonical, answer);
    return GT_OK;
}

/* Problem i of the command line, on which arguments come before options. */
static const char *problem_at(const struct gt_cli *cli, const struct options *options, size_t i)
{
    size_t arguments = (size_t)cli->arguments;

    return i < arguments ? cli->argument[i] : options->problem.text[i - arguments];
}

static int run(struct gt_cli *cli, const void *fields, struct gt_err *err)
{
    const struct options *options = fields;
    const char *const folders[] = {options->kernels_dir, NULL};
    const size_t count = (size_t)cli->arguments + options->problem.count;
    struct gt_options open = {
        GT_OPTIONS_INIT,         .system_db = options->system_db,       .data_dir = cli->data_dir,
        .kernels_dirs = folders, .include_dirs = options->include_dirs,
    };
    struct gt_queue_copy from = {.path = NULL};
    cJSON *list;
    struct gt *gt = NULL;
    int cc, rc, answered = 0;

    if (!count)
        return gt_err_set(err, GT_ESYNTAX, "missing argument; usage: tune %s",
                          gt_command_lookup.usage);
    if (!options->arch)
        return gt_err_set(err, GT_ESYNTAX, "name the architecture asked about, e.g. --arch sm_90");
    list = cli->json ? cJSON_CreateArray() : NULL;
    rc = gt_arch_parse(options->arch, &cc, err);
    if (!rc && options->db)
        rc = gt_queue_copy_open(&from, cli, options->db, err);
    open.user_db = from.path;
    if (!rc && from.path && access(from.path, R_OK) != 0)
        rc = gt_err_set(err, GT_EDB, "%s: cannot read the database: %s", options->db,
                        strerror(errno));
    GT_STEP(rc, gt_open(&gt, &open, err));
    for (size_t i = 0; i < count && !rc; i++)
        rc = look_up(cli, gt, cc, options, problem_at(cli, options, i), list, &answered, err);
    if (cli->json && !rc)
        rc = gt_cmd_print_json(cli, list, err);
    else
        cJSON_Delete(list);
    gt_close(gt);
    gt_queue_copy_close(&from, err);
    if (!rc && !answered)
        rc = gt_err_set(err, GT_EXIT_NOTHING, "no kernel serves %s%s on sm_%d",
                        problem_at(cli, options, 0),
                        count > 1 ? " or any of the other problems" : "", cc);
    return rc;
}

const struct gt_command gt_command_lookup = {
    .name = "lookup",
    .doc = "the kernel a program would be handed for a problem, without tuning",
    .usage = "lookup PROBLEM... --arch sm_90 [OPTION]...",
    .about =
        "Answers at once from the databases, as the library does, and says how good the\n"
        "answer is: exact (this problem was tuned), near (the nearest tuned problem's winner,\n"
        "adapted), family (a default), none.  A measured row comes before a predicted one, and\n"
        "the faster of two measured ones is taken; the other one is shown as not taken.  A row\n"
        "that was never timed in turns with another answer, because its sweep was killed before\n"
        "the final, is taken only if the model expects the answer without it to be far slower:\n"
        "twice its time, if that answer is made from a near winner.  A predicted one gives way\n"
        "to what the model expects to be clearly faster.\n"
        "\n"
        "  tune lookup 4096x4096x4096:f32:nn --arch sm_90\n",
    .group = {{option_table, 0}},
    .size = sizeof(struct options),
    .max_args = 4096,
    .run = run,
};
