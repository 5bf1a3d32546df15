/* cmd_export.c - tune export: what a database holds, as text for people and programs, or as a
 * deployable copy. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../db/store.h"
#include "../src/err.h"
#include "cmd_session.h"
#include "commands.h"
#include "export.h"
#include "options.h"

#define DEFAULT_DB "gemmtune.db"

struct options {
    const char *db, *format, *output, *problem, *kernel, *arch;
    bool all, measured;
};

static const struct gt_option option_table[] = {
    {"format", 'f', GT_OPTION_TEXT, offsetof(struct options, format), "FORMAT",
     "csv (default), json, md, c (a header), shipped (a table libgemmtune reads), kt-cache or t4 "
     "(a whole space for other tuners, or to be replayed), t4-metadata (its devices), db (a "
     "read-only copy of the database, with a digest)",
     NULL, 0, 0},
    {"output", 'o', GT_OPTION_TEXT, offsetof(struct options, output), "FILE",
     "write there (default: standard output; db needs a name that does not exist)", NULL, 0, 0},
    {"db", 0, GT_OPTION_TEXT, offsetof(struct options, db), "FILE",
     "database to read (default: gemmtune.db)", NULL, 0, 0},
    {"all", 0, GT_OPTION_FLAG, offsetof(struct options, all), NULL,
     "every trial, failed ones too (default: winners)", NULL, 0, 0},
    {"measured", 0, GT_OPTION_FLAG, offsetof(struct options, measured), NULL,
     "leave predicted and replayed rows out", NULL, 0, 0},
    {"problem", 'p', GT_OPTION_TEXT, offsetof(struct options, problem), "TEXT", "only this problem",
     NULL, 0, 0},
    {"kernel", 'k', GT_OPTION_TEXT, offsetof(struct options, kernel), "NAME", "only this kernel",
     NULL, 0, 0},
    {"arch", 'a', GT_OPTION_TEXT, offsetof(struct options, arch), "sm_86", "only this arch", NULL,
     0, 0},
    GT_OPTIONS_END,
};

/* Writes the text beside `path` and renames it, so that a failure leaves the old file.  A device or
 * a pipe (/dev/stdout) is written to: it must not be replaced. */
static int export_file(const char *path, enum gt_export_format format, struct gt_store *store,
                       const struct gt_row_filter *filter, int64_t *rows, struct gt_err *err)
{
    struct stat status;
    bool direct = stat(path, &status) == 0 && !S_ISREG(status.st_mode);
    char fresh[4096];
    FILE *file;
    int rc;

    if ((size_t)snprintf(fresh, sizeof(fresh), "%s%s", path, direct ? "" : ".new") >= sizeof(fresh))
        return gt_err_set(err, GT_EIO, "%s: the name is too long", path);
    file = fopen(fresh, "w");
    if (!file)
        return gt_err_set(err, GT_EIO, "%s: cannot write: %s", fresh, strerror(errno));
    rc = gt_export(file, format, store, filter, rows, err);
    if (!rc && (fflush(file) || (!direct && fsync(fileno(file))) || ferror(file)))
        rc = gt_err_set(err, GT_EIO, "%s: cannot write: %s", fresh, strerror(errno));
    fclose(file);
    if (direct)
        return rc;
    if (!rc && rename(fresh, path))
        rc =
            gt_err_set(err, GT_EIO, "%s: cannot rename it to %s: %s", fresh, path, strerror(errno));
    if (rc)
        unlink(fresh);
    return rc;
}

/* The filter's problem is compared as text: bring it to the canonical one. */
static int fill_filter(struct gt_row_filter *filter, const struct options *options,
                       char text[GT_PROBLEM_TEXT_MAX], struct gt_err *err)
{
    struct gt_problem problem;
    int rc;

    *filter = (struct gt_row_filter){.winners_only = !options->all,
                                     .provenance = options->measured ? 1u << GT_MEASURED : 0,
                                     .kernel = options->kernel};
    if (options->arch) {
        rc = gt_arch_parse(options->arch, &filter->cc, err);
        if (rc)
            return rc;
    }
    if (options->problem) {
        rc = gt_problem_parse(&problem, options->problem, err);
        if (rc)
            return rc;
        gt_problem_format(&problem, text);
        filter->problem = text;
    }
    return GT_OK;
}

static int run(struct gt_cli *cli, const void *fields, int argc, char **argv, struct gt_err *err)
{
    const struct options *options = fields;
    const char *name = options->format ? options->format : cli->json ? "json" : "csv";
    bool copy = strcmp(name, "db") == 0;
    enum gt_export_format format = GT_EXPORT_CSV;
    struct gt_store *store = NULL;
    struct gt_row_filter filter;
    char text[GT_PROBLEM_TEXT_MAX];
    int64_t rows = 0;
    int rc = copy ? GT_OK : gt_export_parse(name, &format, err);

    (void)argc;
    (void)argv;
    if (!rc && copy && !options->output)
        rc = gt_err_set(err, GT_ESYNTAX, "--format db needs the name of a new file: --output FILE");
    if (!rc)
        rc = fill_filter(&filter, options, text, err);
    if (!rc)
        rc = gt_session_store(&store, options->db ? options->db : DEFAULT_DB, GT_STORE_READ, err);
    if (rc)
        return rc;
    if (copy)
        rc = gt_store_export(store, options->output, err);
    else if (options->output)
        rc = export_file(options->output, format, store, &filter, &rows, err);
    else
        rc = gt_export(cli->out, format, store, &filter, &rows, err);
    if (!rc && !copy && !cli->quiet)
        fprintf(cli->log, "%lld row%s\n", (long long)rows, rows == 1 ? "" : "s");
    gt_store_close(store);
    return rc;
}

const struct gt_command gt_command_export = {
    .name = "export",
    .doc = "what the database holds, as csv, json, md, a C header, or a deployable table",
    .usage = "export [--format csv|json|md|c|shipped|kt-cache|t4|t4-metadata|db] [OPTION]...",
    .about = "Writes the winner of each problem and device (--all: every trial). Predicted and\n"
             "replayed rows are marked as such in every format; --measured leaves them out. The "
             "same database gives\n"
             "the same bytes.\n"
             "\n"
             "  tune export --format md\n"
             "  tune export --format db --output winners.db\n"
             "  tune export --format kt-cache --kernel simt --output space.json\n",
    .option = option_table,
    .size = sizeof(struct options),
    .max_args = 0,
    .run = run,
};
