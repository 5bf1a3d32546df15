/* cmd_export.c - tune export: writes the rows of a database as text for people and programs, or as
 * a deployable copy. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cluster/queue.h"
#include "commands/deploy.h"
#include "console/cmd_write.h"
#include "console/commands.h"
#include "console/options.h"
#include "db/store.h"
#include "exchange/export.h"
#include "lookup/table.h"
#include "session/cmd_session.h"
#include "session/older.h"
#include "session/model_error.h"

struct options {
    const char *db, *format, *output, *kernel, *arch, *keep, *kernels_dir, *include_dirs,
        *objective;
    struct gt_problem_options problem; /* --problem fills its `shape` */
    bool all, measured, current;
};

/* The formats, as bits: the formats of gt_export, and two that are written in another way. */
enum {
    DB = GT_EXPORT_COUNT,
    DEPLOY,
    FORMATS,
};
#define ONLY(format)      (1u << (format))
#define FORMATS_TEXT      (ONLY(GT_EXPORT_CSV) | ONLY(GT_EXPORT_JSON) | ONLY(GT_EXPORT_MD))
#define FORMATS_SPACE     (ONLY(GT_EXPORT_KT_CACHE) | ONLY(GT_EXPORT_T4) | ONLY(GT_EXPORT_T4_METADATA))
#define FORMATS_ALL       (ONLY(FORMATS) - 1)
#define FORMATS_OF_TRIALS (FORMATS_TEXT | FORMATS_SPACE | ONLY(GT_EXPORT_TRIALS)) /* take --all */

static const struct gt_option option_table[] = {
    GT_CHOICE(
        options, format, "format", 'f', "FORMAT",
        "csv|json|md|c|shipped|bench|search|energy|trials|kt-cache|t4|t4-metadata|db|deploy",
        "csv (default), json, md, c (a header), shipped (a table libgemmtune reads), bench "
        "(winners beside cuBLAS as measured last), search (how each turn of a problem went), "
        "energy (what products cost, as tune energy measured it; JSON with --json), trials (in "
        "short, to learn rankings from), "
        "kt-cache or t4 (a whole space for other tuners, or to be replayed), t4-metadata (its "
        "devices), db (a copy of the database, with a digest of its winners), deploy (one file "
        "with "
        "machine code, for programs that have neither compiler nor templates)"),
    GT_TEXT(options, output, "output", 'o', "FILE",
            "write there (default, and -: standard output; db needs a name that does not exist, "
            "deploy any)"),
    GT_TEXT(options, db, "db", 0, "FILE",
            "database to read (default: as of a sweep), or postgresql://HOST/DATABASE: what the "
            "workers of a queue have found"),
    GT_FLAG(options, all, "all", 0,
            "every trial, failed ones and those of older texts of a kernel too, which are marked "
            "(default: winners of the texts of today)"),
    GT_FLAG(options, measured, "measured", 0, "leave predicted and replayed rows out"),
    GT_FLAG(options, current, "current", 0,
            "only rows of kernels of the data folder, with their texts of today: no recordings, no "
            "kernels of your own"),
    GT_KERNEL_DIRS(
        options,
        "a folder with descriptions of your own kernels: winners of their older texts are left "
        "out, too"),
    GT_TEXT(options, keep, "keep", 0, "FILE",
            "shipped: rows of this earlier table stay where the database has no winner"),
    GT_CHOICE(options, objective, "objective", 0, "WHICH", GT_OBJECTIVE_NAMES,
              "energy: only the best of each problem by that (default: all that was measured)"),
    GT_TEXTS(options, problem.shape, "problem", 'p', "TEXT", "only this problem; may be repeated"),
    GT_TEXT(
        options, problem.shapes, "shapes", 0, "FILE",
        "only the problems of a file, in its order: JSON as in configs/problems, or one a line"),
    GT_TEXT(options, problem.dtype, "dtype", 0, "TYPE",
            "type of A and B of the problems of --shapes"),
    GT_CHOICE(options, problem.accuracy, "accuracy", 0, "CLASS", "strict|f32|tf32|low",
              "accuracy of the problems of --shapes: strict, f32, tf32, low"),
    GT_TEXT(options, kernel, "kernel", 'k', "KERNEL", "only this kernel"),
    GT_ARCH(options, arch, "only this arch, or only the GPUs of a name, such as h100"),
    GT_OPTIONS_END,
};

struct writing {
    const struct gt_export_request *request;
    struct gt_store *store;
    int64_t *rows;
};

static int write_text(void *context, FILE *file, struct gt_err *err)
{
    const struct writing *writing = context;

    return gt_export(file, writing->request, writing->store, writing->rows, err);
}

/* Parses a table for programs before it replaces an older table, to be sure that programs can open
 * it. */
static int check_text(void *context, const char *path, struct gt_err *err)
{
    const struct writing *writing = context;
    struct gt_table table = {0};
    int rc = GT_OK;

    if (writing->request->format == GT_EXPORT_SHIPPED)
        rc = gt_table_load(&table, path, err);
    gt_table_release(&table);
    return rc;
}

static int export_file(const char *path, const struct gt_export_request *request,
                       struct gt_store *store, int64_t *rows, struct gt_err *err)
{
    struct writing writing = {request, store, rows};
    const struct gt_cmd_writing file = {write_text, check_text, &writing, 0666};

    return gt_cmd_write_file(path, &file, err);
}

/* Translates the options into a request.  *problem (malloc'ed) and *kernels are to be released
 * afterwards. */
static int fill_request(struct gt_export_request *request, const struct gt_cli *cli,
                        const struct options *options, struct gt_problem **problem,
                        struct gt_kernels *kernels, struct gt_err *err)
{
    bool some = options->problem.shape.count || options->problem.shapes;
    int rc = GT_OK;

    request->keep = options->keep;
    request->filter =
        (struct gt_row_filter){.winners_only = !options->all,
                               .provenance = options->measured ? 1u << GT_MEASURED : 0,
                               .kernel = options->kernel};
    request->json = cli->json;
    request->objective = options->objective ? (int)gt_objective_parse(options->objective) : -1;
    if (!rc && options->arch)
        rc = gt_filter_arch(&request->filter, cli->data_dir, options->arch, err);
    if (!rc && some)
        rc = gt_session_problems(cli, NULL, problem, NULL, &request->problems, &options->problem,
                                 err);
    GT_STEP(rc, gt_kernels_load(kernels, cli->data_dir, options->kernels_dir, options->include_dirs,
                                err));
    request->today = kernels;
    if (options->current || !options->all)
        request->filter.kernels = kernels;
    request->filter.others = !options->current;
    request->problem = *problem;
    return rc;
}

static void report_older(const struct gt_cli *cli, const struct gt_export_request *request,
                         struct gt_store *store)
{
    struct gt_older older = {0};

    if (request->filter.kernels && !gt_older_count(&older, store, request->today, &request->filter,
                                                   request->problem, request->problems, NULL))
        gt_older_tell(cli->log, &older, "left out");
}

static void report(const struct gt_cli *cli, const struct gt_export_request *request, int64_t rows)
{
    size_t asked = request->format == GT_EXPORT_BENCH ? request->problems : 0;

    fprintf(cli->log, "%lld row%s%s\n", (long long)rows, rows == 1 ? "" : "s",
            rows || !request->filter.winners_only || !(FORMATS_OF_TRIALS >> request->format & 1)
                ? ""
                : "; --all has every trial, failed ones and those of older texts, too");
    if (asked > (size_t)rows)
        fprintf(cli->log, "%zu of %zu problems were not measured\n", asked - (size_t)rows, asked);
}

static int found_row(void *context, const struct gt_row *row, struct gt_err *err)
{
    (void)row;
    (void)err;
    *(bool *)context = true;
    return GT_OK;
}

/* Refuses a kernel that neither the database nor the data folder knows, because its name is
 * misspelled. */
static int check_kernel(const struct gt_cli *cli, const struct options *options,
                        struct gt_store *store, struct gt_err *err)
{
    const struct gt_row_filter filter = {.kernel = options->kernel};
    struct gt_kernels kernels = {0};
    bool found = false;
    int rc;

    if (!options->kernel)
        return GT_OK;
    rc = gt_store_rows(store, &filter, found_row, &found, err);
    if (rc || found)
        return rc;
    rc = gt_kernels_load(&kernels, cli->data_dir, options->kernels_dir, options->include_dirs, err);
    if (!rc && !gt_kernels_find(&kernels, options->kernel, err))
        rc = GT_ENOTFOUND;
    gt_kernels_release(&kernels);
    return rc;
}

static int run_export(struct gt_cli *cli, const char *path, const struct options *options,
                      const struct gt_export_request *request, bool copy, struct gt_err *err)
{
    struct gt_store *store = NULL;
    int64_t rows = 0;
    int rc = gt_session_store(&store, path, GT_STORE_READ, err);

    GT_STEP(rc, check_kernel(cli, options, store, err));
    if (rc)
        ;
    else if (copy)
        rc = gt_store_export(store, options->output, err);
    else if (options->output && strcmp(options->output, "-") != 0)
        rc = export_file(options->output, request, store, &rows, err);
    else
        rc = gt_export(cli->out, request, store, &rows, err);
    if (!rc && !copy && !cli->quiet)
        report(cli, request, rows);
    if (!rc && !copy)
        report_older(cli, request, store);
    gt_store_close(store);
    return rc;
}

/* Writes one file for programs that run the winners on other machines. */
static int run_deploy(struct gt_cli *cli, const char *path, const struct options *options,
                      struct gt_err *err)
{
    struct gt_deploy_request request = {.path = options->output,
                                        .db = path,
                                        .kernels_dir = options->kernels_dir,
                                        .include_dirs = options->include_dirs,
                                        .kernel = options->kernel,
                                        .measured = options->measured};
    const bool some = options->problem.shape.count || options->problem.shapes;
    struct gt_problem *problem = NULL;
    struct gt_deploy_counts counts;
    int rc = GT_OK;

    if (options->arch)
        rc = gt_filter_arch(&request.rows, cli->data_dir, options->arch, err);
    if (!rc && some)
        rc = gt_session_problems(cli, NULL, &problem, NULL, &request.problems, &options->problem,
                                 err);
    request.problem = problem;
    GT_STEP(rc, gt_deploy(cli, &request, &counts, err));
    if (!rc && !cli->quiet)
        fprintf(cli->log, "%zu answer%s, %zu cubin%s, %zu KB\n", counts.answers,
                counts.answers == 1 ? "" : "s", counts.images, counts.images == 1 ? "" : "s",
                (counts.bytes + 999) / 1000);
    if (!rc && counts.left_out)
        rc = gt_err_set(err, GT_EXIT_NOTHING,
                        "%zu of %zu problems were left out of %s, which has the others",
                        counts.left_out, counts.left_out + counts.answers, options->output);
    free(problem);
    return rc;
}

static const char *name_of(unsigned format)
{
    return format == DB ? "db" : format == DEPLOY ? "deploy" : gt_export_name(format);
}

/* Refuses an option that the format does not honour. */
static int check_option(const char *option, bool given, unsigned formats, unsigned format,
                        struct gt_err *err)
{
    char list[200] = "";
    size_t used = 0;

    if (!given || formats >> format & 1)
        return GT_OK;
    for (unsigned i = 0; i < FORMATS; i++)
        if (formats >> i & 1)
            used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "",
                                     name_of(i));
    return gt_err_set(err, GT_ESYNTAX, "--format %s does not take %s, which is for %s",
                      name_of(format), option, list);
}

/* Refuses options that the format does not honour or that contradict each other, before anything is
 * read. */
static int check_options(const struct options *options, unsigned format, struct gt_err *err)
{
    const struct gt_problem_options *problem = &options->problem;
    const unsigned rows = FORMATS_ALL & ~ONLY(DB), kernels = rows & ~ONLY(GT_EXPORT_SEARCH),
                   measured = kernels & ~ONLY(GT_EXPORT_ENERGY);
    const struct {
        const char *option;
        bool given;
        unsigned formats;
    } rules[] = {
        {"--all", options->all, FORMATS_OF_TRIALS},
        {"--measured", options->measured, measured},
        {"--current", options->current, measured},
        {"--kernel", options->kernel, kernels},
        {"--kernels-dir", options->kernels_dir, kernels},
        {"--include-dir", options->include_dirs, kernels},
        {"--arch", options->arch, rows},
        {"--problem", problem->shape.count, rows},
        {"--shapes", problem->shapes, rows},
        {"--dtype", problem->dtype, rows},
        {"--accuracy", problem->accuracy, rows},
        {"--keep", options->keep, ONLY(GT_EXPORT_SHIPPED)},
        {"--objective", options->objective, ONLY(GT_EXPORT_ENERGY)},
    };
    int rc = GT_OK;

    for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
        GT_STEP(rc, check_option(rules[i].option, rules[i].given, rules[i].formats, format, err));
    if (!rc && (problem->dtype || problem->accuracy) && !problem->shapes)
        rc = gt_err_set(err, GT_ESYNTAX,
                        "%s is of the problems of --shapes FILE, which is missing; --problem names "
                        "a problem with its type and accuracy",
                        problem->dtype ? "--dtype" : "--accuracy");
    if (!rc && format == DEPLOY && !options->output)
        rc = gt_err_set(err, GT_ESYNTAX, "--format deploy needs a name: --output winners.gt");
    if (!rc && format == DB && (!options->output || strcmp(options->output, "-") == 0))
        rc = gt_err_set(err, GT_ESYNTAX, "--format db needs the name of a new file: --output FILE");
    return rc;
}

/* The format of that name, as a bit. */
static int format_of(const char *name, unsigned *format, struct gt_err *err)
{
    enum gt_export_format found = GT_EXPORT_CSV;
    int rc;

    for (*format = DB; *format < FORMATS; ++*format)
        if (strcmp(name, name_of(*format)) == 0)
            return GT_OK;
    rc = gt_export_parse(name, &found, err);
    *format = found;
    return rc;
}

static int run(struct gt_cli *cli, const void *fields, struct gt_err *err)
{
    const struct options *options = fields;
    const char *name = options->format ? options->format : cli->json ? "json" : "csv";
    struct gt_export_request request = {.format = GT_EXPORT_CSV};
    struct gt_problem *problem = NULL;
    struct gt_kernels kernels = {0};
    struct gt_queue_copy from = {.path = NULL};
    unsigned format;
    int rc = format_of(name, &format, err);

    GT_STEP(rc, check_options(options, format, err));
    if (!rc && format < GT_EXPORT_COUNT)
        request.format = (enum gt_export_format)format;
    if (format != DEPLOY)
        GT_STEP(rc, fill_request(&request, cli, options, &problem, &kernels, err));
    GT_STEP(rc, gt_queue_copy_open(&from, cli, options->db, err));
    GT_STEP(rc, format == DEPLOY
                    ? run_deploy(cli, from.path, options, err)
                    : run_export(cli, from.path, options, &request, format == DB, err));
    gt_queue_copy_close(&from, err);
    gt_kernels_release(&kernels);
    free(problem);
    return rc;
}

const struct gt_command gt_command_export = {
    .name = "export",
    .doc = "what the database holds, as csv, json, md, a C header, or a deployable table",
    .usage = "export [--format FORMAT] [--output FILE] [OPTION]...",
    .about = "Writes the winner of each problem and device (--all: every trial). Predicted and\n"
             "replayed rows are marked as such in every format; --measured leaves them out. The "
             "same database gives\n"
             "the same bytes. An option that a format does not honour is refused. Where a deploy\n"
             "export leaves problems out, it names them, and the exit code is 4.\n"
             "\n"
             "  tune export --format md\n"
             "  tune export --format db --output winners.db\n"
             "  tune export --format deploy --output winners.gt\n"
             "  tune export --format deploy --db postgresql://db/tuning --output winners.gt\n"
             "  tune export --format bench --shapes bench --dtype bf16\n"
             "  tune export --format energy --objective energy\n"
             "  tune export --format search --problem 4096x4096x4096:f32:nn\n"
             "  tune export --format shipped --measured --current --keep old.csv -o new.csv\n"
             "  tune export --format kt-cache --kernel simt --output space.json\n",
    .group = {{option_table, 0, NULL}},
    .size = sizeof(struct options),
    .raw = true,
    .run = run,
};
