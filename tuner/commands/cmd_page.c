/* cmd_page.c - tune report: writes the contents of a database as one HTML file for people. */
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "cluster/queue.h"
#include "console/cmd_write.h"
#include "console/commands.h"
#include "console/options.h"
#include "db/store.h"
#include "kernel/kernel.h"
#include "problem/device.h"
#include "report/page.h"
#include "session/cmd_session.h"
#include "session/coverage.h"
#include "session/model_error.h"

/* Seconds between two versions of the file, and between two reloads of the page. */
#define WATCH_S 5

struct options {
    const char *html, *db, *arch;
    struct gt_problem_options problem;
    struct gt_texts recheck;
    bool watch;
};

static const struct gt_option option_table[] = {
    GT_TEXT(options, html, "html", 'o', "FILE",
            "the page to write, - for standard output (default: report.html)"),
    GT_TEXT(options, db, "db", 0, "FILE",
            "database to read (default: as of a sweep), or postgresql://HOST/DATABASE: what the "
            "workers of a queue have found"),
    GT_TEXTS(options, problem.shape, "problem", 'p', "TEXT", "only this problem; may be repeated"),
    GT_TEXT(options, problem.shapes, "shapes", 0, "FILE",
            "only the problems of a file, with its weights: JSON as in configs/problems, or one a "
            "line"),
    GT_ARCH(options, arch, "only this arch, or only the GPUs of a name, such as h100"),
    GT_TEXTS(options, recheck, "recheck", 0, "FILE",
             "what tune recheck --json printed: its margins are drawn over dates; may be repeated"),
    GT_FLAG(options, watch, "watch", 0,
            "write the page again every 5 s, for a sweep that is running, until Ctrl-C; the page "
            "reloads itself"),
    GT_OPTIONS_END,
};

struct writing {
    const struct gt_report_request *request;
    struct gt_store *store;
    struct gt_report_counts counts;
};

static int write_page(void *context, FILE *file, struct gt_err *err)
{
    struct writing *writing = context;

    return gt_report_write(file, writing->request, writing->store, &writing->counts, err);
}

/* Writes the page of the present state of the database that --db names; a queue's results are
 * fetched again each time. */
static int write_now(struct gt_cli *cli, const char *named, const char *path,
                     const struct gt_report_request *request, struct gt_report_counts *counts,
                     struct gt_coverage *coverage, struct gt_err *err)
{
    struct writing writing = {.request = request};
    const struct gt_cmd_writing file = {write_page, NULL, &writing, 0666};
    struct gt_queue_copy from;
    int rc = gt_queue_copy_open(&from, cli, named, err);

    GT_STEP(rc, gt_session_store(&writing.store, from.path, GT_STORE_READ, err));
    GT_STEP(rc, gt_cmd_write_file(path, &file, err));
    GT_STEP(rc, gt_coverage_find(coverage, NULL, writing.store, request->problem, request->weight,
                                 request->problems, err));
    gt_store_close(writing.store);
    gt_queue_copy_close(&from, err);
    *counts = writing.counts;
    return rc;
}

static void say_counts(struct gt_cli *cli, const char *path, const struct gt_report_counts *counts)
{
    fprintf(cli->log, "%s: %zu problem%s with a measured time", path, counts->measured,
            counts->measured == 1 ? "" : "s");
    if (counts->guessed)
        fprintf(cli->log, "; %zu trial%s PREDICTED or replayed, not measured", counts->guessed,
                counts->guessed == 1 ? " was" : "s were");
    if (counts->left)
        fprintf(cli->log,
                "; %zu problems, turns and trials are left out, for a page that a browser opens: "
                "-p and --shapes choose others",
                counts->left);
    fputc('\n', cli->log);
}

static int run(struct gt_cli *cli, const void *fields, struct gt_err *err)
{
    const struct options *options = fields;
    const char *path = options->html ? options->html : "report.html";
    const bool some = options->problem.shape.count || options->problem.shapes;
    struct gt_row_filter filter = {0};
    struct gt_report_request request = {.filter = &filter,
                                        .recheck = (const char *const *)options->recheck.text,
                                        .rechecks = options->recheck.count,
                                        .reload_s = options->watch ? WATCH_S : 0};
    struct gt_problem *problem = NULL;
    double *weight = NULL;
    struct gt_report_counts counts = {0};
    struct gt_coverage coverage = {0};
    int rc = GT_OK;

    if (options->watch && strcmp(path, "-") == 0)
        return gt_err_set(err, GT_ESYNTAX,
                          "--watch writes the page again and again: --html names its file, not "
                          "\"-\"");
    if ((options->problem.shapes || options->arch) && !cli->data_dir)
        gt_data_dir(&cli->data_dir, NULL); /* the folder names sets of problems, if it exists */
    if (options->arch)
        rc = gt_filter_arch(&filter, cli->data_dir, options->arch, err);
    if (!rc && some)
        rc = gt_session_problems(cli, NULL, &problem, &weight, &request.problems, &options->problem,
                                 err);
    request.problem = problem;
    request.weight = weight;
    GT_STEP(rc, write_now(cli, options->db, path, &request, &counts, &coverage, err));
    if (!rc && !cli->quiet)
        say_counts(cli, path, &counts);
    if (!rc && !cli->quiet && some)
        gt_coverage_print(&coverage, cli->log);
    while (!rc && options->watch && !*cli->signals) {
        for (int second = 0; second < WATCH_S && !*cli->signals; second++)
            sleep(1);
        rc = write_now(cli, options->db, path, &request, &counts, &coverage, err);
    }
    free(problem);
    free(weight);
    return rc;
}

const struct gt_command gt_command_report = {
    .name = "report",
    .doc = "a page with pictures of what a database holds",
    .usage = "report [--html FILE] [--db FILE] [--shapes FILE] [--watch]",
    .about =
        "Writes one HTML file that needs no network: ratios to cuBLASLt, a roofline, speed over\n"
        "rows, energy, the course of each search, what each parameter is worth, failures, margins "
        "over\n"
        "time. Every point tells its values, and every picture has its table.\n"
        "\n"
        "  tune report --html report.html\n"
        "  tune report --shapes captured.txt --html report.html   # with its weights\n"
        "  tune report --watch --html report.html                  beside a sweep\n",
    .group = {{option_table, 0, NULL}},
    .size = sizeof(struct options),
    .finishes = true,
    .needs_no_data = true,
    .run = run,
};
