/* cmd_export.c - tune export: what a database holds, as text for people and programs, or as a
 * deployable copy. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/store.h"
#include "base/err.h"
#include "console/cmd_session.h"
#include "console/commands.h"
#include "exchange/export.h"
#include "lookup/table.h"
#include "console/options.h"

struct options {
    const char *db, *format, *output, *kernel, *arch, *keep, *kernels_dir, *include_dirs;
    struct gt_problem_options problem; /* --problem is its shape */
    bool all, measured, current;
};

static const struct gt_option option_table[] = {
    {"format", 'f', GT_OPTION_TEXT, offsetof(struct options, format), "FORMAT",
     "csv (default), json, md, c (a header), shipped (a table libgemmtune reads), bench (winners "
     "beside cuBLAS as measured last), search (how each visit of a problem went), kt-cache or t4 "
     "(a whole space for other tuners, or to be replayed), t4-metadata (its devices), db (a "
     "read-only copy of the database, with a digest)",
     NULL, 0, 0},
    {"output", 'o', GT_OPTION_TEXT, offsetof(struct options, output), "FILE",
     "write there (default: standard output; db needs a name that does not exist)", NULL, 0, 0},
    {"db", 0, GT_OPTION_TEXT, offsetof(struct options, db), "FILE",
     "database to read (default: as of a sweep)", NULL, 0, 0},
    {"all", 0, GT_OPTION_FLAG, offsetof(struct options, all), NULL,
     "every trial, failed ones too (default: winners)", NULL, 0, 0},
    {"measured", 0, GT_OPTION_FLAG, offsetof(struct options, measured), NULL,
     "leave predicted and replayed rows out", NULL, 0, 0},
    {"current", 0, GT_OPTION_FLAG, offsetof(struct options, current), NULL,
     "only rows of kernels whose text is that of the data folder now", NULL, 0, 0},
    {"kernels-dir", 0, GT_OPTION_TEXT, offsetof(struct options, kernels_dir), "DIR",
     "with --current and --kernel: a folder with descriptions of your own kernels", NULL, 0, 0},
    {"include-dir", 'I', GT_OPTION_TEXT, offsetof(struct options, include_dirs), "DIR",
     "where templates of --kernels-dir also find headers: DIR[:DIR...]", NULL, 0, 0},
    {"keep", 0, GT_OPTION_TEXT, offsetof(struct options, keep), "FILE",
     "shipped: rows of this earlier table stay where the database has no winner", NULL, 0, 0},
    {"problem", 'p', GT_OPTION_TEXTS, offsetof(struct options, problem.shape), "TEXT",
     "only this problem; may be repeated", NULL, 0, 0},
    {"shapes", 0, GT_OPTION_TEXT, offsetof(struct options, problem.shapes), "FILE",
     "only the problems of a file, in its order: JSON as in configs/problems, or one a line", NULL,
     0, 0},
    {"dtype", 0, GT_OPTION_TEXT, offsetof(struct options, problem.dtype), "TYPE",
     "type of A and B of the problems of --shapes", NULL, 0, 0},
    {"accuracy", 0, GT_OPTION_TEXT, offsetof(struct options, problem.accuracy), "CLASS",
     "accuracy of the problems of --shapes: strict, f32, tf32, low", NULL, 0, 0},
    {"kernel", 'k', GT_OPTION_TEXT, offsetof(struct options, kernel), "KERNEL", "only this kernel",
     NULL, 0, 0},
    {"arch", 'a', GT_OPTION_TEXT, offsetof(struct options, arch), "ARCH", "only this arch", NULL, 0,
     0},
    GT_OPTIONS_END,
};

/* A rename is durable once its folder is. */
static void sync_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path + 1)) : strdup(".");
    int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(folder);
}

/* A table that programs read must be one that they can open: it is parsed before it replaces
 * another. */
static int check_written(const char *fresh, enum gt_export_format format, struct gt_err *err)
{
    struct gt_table table = {0};
    int rc = GT_OK;

    if (format == GT_EXPORT_SHIPPED)
        rc = gt_table_load(&table, fresh, err);
    gt_table_release(&table);
    return rc ? gt_err_prefix(err, rc, "what was exported cannot be read back") : GT_OK;
}

/* Writes to a device or a pipe (/dev/stdout), which must not be replaced. */
static int export_direct(const char *path, const struct gt_export_request *request,
                         struct gt_store *store, int64_t *rows, struct gt_err *err)
{
    FILE *file = fopen(path, "w");
    int rc;

    if (!file)
        return gt_err_set(err, GT_EIO, "%s: cannot write: %s", path, strerror(errno));
    rc = gt_export(file, request, store, rows, err);
    if (fclose(file) && !rc)
        rc = gt_err_set(err, GT_EIO, "%s: cannot write: %s", path, strerror(errno));
    return rc;
}

/* Writes the text to a new file beside `path`, which nobody can have planted, and renames it, so
 * that a failure leaves the old file. */
static int export_file(const char *path, const struct gt_export_request *request,
                       struct gt_store *store, int64_t *rows, struct gt_err *err)
{
    const mode_t mask = umask(0);
    char fresh[PATH_MAX];
    struct stat status;
    FILE *file = NULL;
    int fd, rc = GT_OK;

    umask(mask);
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
        return export_direct(path, request, store, rows, err);
    if ((size_t)snprintf(fresh, sizeof(fresh), "%s.XXXXXX", path) >= sizeof(fresh))
        return gt_err_set(err, GT_EIO, "%s: the name is too long", path);
    fd = mkostemp(fresh, O_CLOEXEC); /* O_EXCL: follows no link */
    if (fd >= 0)
        file = fdopen(fd, "w");
    if (!file) {
        rc = gt_err_set(err, GT_EIO, "%s: cannot write: %s", path, strerror(errno));
        if (fd >= 0) {
            close(fd);
            unlink(fresh);
        }
        return rc;
    }
    rc = gt_export(file, request, store, rows, err);
    if (!rc && (fflush(file) || fchmod(fd, 0666 & ~mask) || fsync(fd) || ferror(file)))
        rc = gt_err_set(err, GT_EIO, "%s: cannot write: %s", path, strerror(errno));
    if (fclose(file) && !rc)
        rc = gt_err_set(err, GT_EIO, "%s: cannot write: %s", path, strerror(errno));
    GT_STEP(rc, check_written(fresh, request->format, err));
    if (!rc && rename(fresh, path))
        rc = gt_err_set(err, GT_EIO, "%s: cannot replace it: %s", path, strerror(errno));
    if (rc)
        unlink(fresh);
    else
        sync_folder(path);
    return rc;
}

/* What the options ask for; *problem (malloc'ed) and *kernels are to be released afterwards. */
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
    if (options->keep && request->format != GT_EXPORT_SHIPPED)
        rc = gt_err_set(err, GT_ESYNTAX, "--keep is for --format shipped");
    if (!rc && options->arch)
        rc = gt_arch_parse(options->arch, &request->filter.cc, err);
    if (!rc && some)
        rc = gt_session_problems(cli, NULL, problem, NULL, &request->problems, &options->problem,
                                 err);
    if (!rc && options->current)
        rc = gt_kernels_load(kernels, cli->data_dir, options->kernels_dir, options->include_dirs,
                             err);
    if (!rc && options->current)
        request->filter.kernels = kernels;
    request->problem = *problem;
    return rc;
}

static void report(const struct gt_cli *cli, const struct gt_export_request *request, int64_t rows)
{
    size_t asked = request->format == GT_EXPORT_BENCH ? request->problems : 0;

    fprintf(cli->log, "%lld row%s\n", (long long)rows, rows == 1 ? "" : "s");
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

/* A kernel that neither the database nor the data folder knows is a slip. */
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

static int run_export(struct gt_cli *cli, const struct options *options,
                      const struct gt_export_request *request, bool copy, struct gt_err *err)
{
    struct gt_store *store = NULL;
    const char *path = NULL;
    int64_t rows = 0;
    int rc = gt_session_database(&path, cli, options->db, false, err);

    GT_STEP(rc, gt_session_store(&store, path, GT_STORE_READ, err));
    if (rc)
        return rc;
    rc = check_kernel(cli, options, store, err);
    if (rc)
        ;
    else if (copy)
        rc = gt_store_export(store, options->output, err);
    else if (options->output)
        rc = export_file(options->output, request, store, &rows, err);
    else
        rc = gt_export(cli->out, request, store, &rows, err);
    if (!rc && !copy && !cli->quiet)
        report(cli, request, rows);
    gt_store_close(store);
    return rc;
}

static int run(struct gt_cli *cli, const void *fields, int argc, char **argv, struct gt_err *err)
{
    const struct options *options = fields;
    const char *name = options->format ? options->format : cli->json ? "json" : "csv";
    bool copy = strcmp(name, "db") == 0;
    struct gt_export_request request = {.format = GT_EXPORT_CSV};
    struct gt_problem *problem = NULL;
    struct gt_kernels kernels = {0};
    int rc = copy ? GT_OK : gt_export_parse(name, &request.format, err);

    (void)argc;
    (void)argv;
    if (!rc && copy && !options->output)
        rc = gt_err_set(err, GT_ESYNTAX, "--format db needs the name of a new file: --output FILE");
    GT_STEP(rc, fill_request(&request, cli, options, &problem, &kernels, err));
    GT_STEP(rc, run_export(cli, options, &request, copy, err));
    gt_kernels_release(&kernels);
    free(problem);
    return rc;
}

const struct gt_command gt_command_export = {
    .name = "export",
    .doc = "what the database holds, as csv, json, md, a C header, or a deployable table",
    .usage = "export [--format csv|json|md|c|shipped|bench|search|kt-cache|t4|t4-metadata|db] "
             "[OPTION]...",
    .about = "Writes the winner of each problem and device (--all: every trial). Predicted and\n"
             "replayed rows are marked as such in every format; --measured leaves them out. The "
             "same database gives\n"
             "the same bytes.\n"
             "\n"
             "  tune export --format md\n"
             "  tune export --format db --output winners.db\n"
             "  tune export --format bench --shapes bench --dtype bf16\n"
             "  tune export --format search --problem 4096x4096x4096:f32:nn\n"
             "  tune export --format shipped --measured --current --keep old.csv -o new.csv\n"
             "  tune export --format kt-cache --kernel simt --output space.json\n",
    .group = {{option_table, 0}},
    .size = sizeof(struct options),
    .max_args = 0,
    .run = run,
};
