/* cmd_serve.c - tune serve: runs a program with winners in place of cuBLAS where they are faster;
 * also tune doctor --program, which reports on a program. */
#include "commands/cmd_serve.h"

#include <inttypes.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "commands/cmd_preload.h"
#include "console/cmd_write.h"
#include "console/commands.h"
#include "serve/policy.h"

struct options {
    const char *db, *accuracy, *policy, *report, *library;
    double margin;
    int64_t check;
    bool wait, compile, cublaslt;
};

static const struct gt_option option_table[] = {
    GT_TEXT(options, db, "db", 0, "FILE",
            "tuned tables, before the shipped one (default: your database)"),
    GT_CHOICE(options, accuracy, "accuracy", 0, "CLASS", "strict|f32|tf32",
              "what strict FP32 products may be computed with (default: strict)"),
    GT_REAL(options, margin, "margin", 0, "RATIO", 0.001, 100,
            "serve what was at least so many times as fast as cuBLAS (default: 1.03)"),
    GT_INTEGER(options, check, "check", 0, "N", 0, 1000000000,
               "compare every N-th served call of a problem with cuBLAS (default: none)"),
    GT_FLAG(options, wait, "wait", 0,
            "decide on the first call of a problem, so that all calls have the same bits"),
    GT_FLAG(options, compile, "compile", 0,
            "compile kernels that the cache lacks, in a thread of the program"),
    GT_FLAG(options, cublaslt, "cublaslt", 0,
            "serve cuBLASLt's own algorithms, too, where one was faster than cuBLAS's choice"),
    GT_TEXT(options, report, "report", 0, "FILE",
            "write what was served and what was not, at the end and on SIGUSR2; %p: process"),
    GT_TEXT(options, policy, "policy", 0, "FILE", "a file with any of these settings"),
    GT_TEXT(options, library, "library", 0, "FILE",
            "libgemmtune_cublas.so, if it is not beside this program"),
    GT_OPTIONS_END,
};

static int set_policy(const struct options *options, struct gt_err *err)
{
    char check[24], margin[32];
    const struct {
        const char *variable, *value;
    } settings[] = {{"GEMMTUNE_SERVE", getenv("GEMMTUNE_SERVE") ? NULL : "1"},
                    {"GEMMTUNE_DB", options->db},
                    {"GEMMTUNE_ACCURACY", options->accuracy},
                    {"GEMMTUNE_MARGIN", options->margin > 0 ? margin : NULL},
                    {"GEMMTUNE_CHECK", options->check ? check : NULL},
                    {"GEMMTUNE_WAIT", options->wait ? "1" : NULL},
                    {"GEMMTUNE_COMPILE", options->compile ? "1" : NULL},
                    {"GEMMTUNE_CUBLASLT", options->cublaslt ? "1" : NULL},
                    {"GEMMTUNE_REPORT", options->report},
                    {"GEMMTUNE_POLICY", options->policy}};
    int rc = gt_preload(options->library, err);

    snprintf(check, sizeof(check), "%" PRId64, options->check);
    snprintf(margin, sizeof(margin), "%.17g", options->margin);
    for (size_t i = 0; !rc && i < sizeof(settings) / sizeof(settings[0]); i++)
        rc = gt_preload_set(settings[i].variable, settings[i].value, err);
    return rc;
}

/* What the program would read from the environment, read once before it: a mistake is told here,
 * where nothing has begun yet.  Only --db asks for a file now: GEMMTUNE_DB is everywhere in the
 * environment of one who has not tuned yet. */
static int check_policy(const struct options *options, struct gt_err *err)
{
    struct gt_policy policy;
    int rc = gt_policy_read(&policy, NULL, err);

    if (!rc && options->db && access(policy.db, R_OK))
        rc = gt_err_set(err, GT_EDB, "%.1000s: cannot read the database: %s", policy.db,
                        strerror(errno));
    if (!rc && options->report)
        rc = gt_cmd_may_write(policy.report, err);
    return rc;
}

static int run(struct gt_cli *cli, const void *fields, struct gt_err *err)
{
    int rc = set_policy(fields, err);

    GT_STEP(rc, check_policy(fields, err));
    return rc ? rc : gt_preload_become(cli->argument, err);
}

static int print_report(void *context, const char *path, struct gt_err *err)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    int rc = gt_strbuf_add_file(&text, path, err);

    if (!rc)
        fputs(text.text, context);
    gt_strbuf_release(&text);
    return rc;
}

static int count_report(void *context, const char *path, struct gt_err *err)
{
    (void)path, (void)err;
    ++*(int *)context;
    return GT_OK;
}

int gt_cmd_doctor_program(struct gt_cli *cli, const char *db, char **command, struct gt_err *err)
{
    struct gt_scratch folder = {0};
    int status = 0, reports = 0;
    int rc = gt_preload(NULL, err);

    GT_STEP(rc, gt_preload_folder(&folder, "GEMMTUNE_REPORT", err));
    GT_STEP(rc, gt_preload_set("GEMMTUNE_SERVE", "0", err));
    GT_STEP(rc, gt_preload_set("GEMMTUNE_WAIT", "1", err));
    GT_STEP(rc, gt_preload_set("GEMMTUNE_DB", db, err));
    GT_STEP(rc, gt_preload_run(command, &status, err));
    GT_STEP(rc, gt_preload_files(folder.path, count_report, &reports, err));
    if (!rc && reports)
        rc = gt_preload_files(folder.path, print_report, cli->out, err);
    else if (!rc)
        fputs("no process asked cuBLAS for a product through a symbol that is taken\n", cli->out);
    gt_scratch_remove(&folder);
    return rc ? rc : gt_preload_end(status);
}

const struct gt_command gt_command_serve = {
    .name = "serve",
    .doc = "run a program with tuned kernels in place of cuBLAS",
    .usage = "serve [--db FILE] [--accuracy CLASS] [--report FILE] -- COMMAND [ARGUMENT]...",
    .about =
        "Becomes COMMAND, with libgemmtune_cublas.so before its cuBLAS. A product is served if a\n"
        "row of this very problem was measured on a GPU of this name, and was faster than\n"
        "cuBLAS by the margin; everything else is left to cuBLAS. The environment says the same\n"
        "without this command: LD_PRELOAD=libgemmtune_cublas.so and GEMMTUNE_... variables.\n"
        "\n"
        "  tune serve --report report.txt -- python3 train.py\n"
        "  tune serve --db mine.db --accuracy f32 --check 1000 -- ./solver\n",
    .group = {{option_table, 0}},
    .size = sizeof(struct options),
    .min_args = 1,
    .max_args = GT_WORDS_OF_A_PROGRAM,
    .needs_no_data = true,
    .run = run,
};
