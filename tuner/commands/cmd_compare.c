/* cmd_compare.c - tune compare A.db B.db: the winners of two databases beside each other. */
#include <stdlib.h>

#include "base/err.h"
#include "console/cmd_record.h"
#include "console/cmd_write.h"
#include "session/cmd_session.h"
#include "console/terminal.h"
#include "console/commands.h"
#include "console/options.h"
#include "db/store.h"
#include "report/compare.h"

/* The ratio by which two sweeps of one machine differ (db/measured/README.md, Stability). */
#define NOISE 1.02

struct options {
    const char *csv, *html;
    double noise;
    bool any_device;
};

static const struct gt_option option_table[] = {
    GT_REAL(options, noise, "noise", 0, "RATIO", 1, 100,
            "times that differ by less are the same (default: 1.02)"),
    GT_FLAG(options, any_device, "any-device", 0,
            "compare problem by problem, whatever the devices are called"),
    GT_TEXT(options, csv, "csv", 0, "FILE", "write every pair with all its columns there"),
    GT_TEXT(options, html, "html", 'o', "FILE", "write a page with pictures there"),
    GT_OPTIONS_END,
};

static const char csv_heading[] =
    "problem,device,l2,verdict,ratio,lo,hi,a_us,a_lo_us,a_hi_us,a_kernel,a_signature,a_point,"
    "a_driver,a_nvrtc,a_date,b_us,b_lo_us,b_hi_us,b_kernel,b_signature,b_point,b_driver,b_nvrtc,"
    "b_date";

static int write_page(void *context, FILE *file, struct gt_err *err)
{
    return gt_compare_write(file, context, err);
}

static void print_table(const struct gt_cli *cli, const struct gt_pairs *pairs)
{
    static const struct gt_column figures[] = {
        {"A / B", 6, 0}, {"95 % interval", 14, 3}, {"A us", 10, 1}, {"B us", 10, 2}};
    struct gt_columns columns;

    gt_columns_choose(&columns, figures, sizeof(figures) / sizeof(*figures), 9,
                      cli->raw ? 0 : gt_terminal_width());
    if (pairs->count)
        gt_columns_row(&columns, cli->out, "", NULL, "problem");
    for (size_t i = 0; i < pairs->count; i++) {
        const struct gt_pair *pair = &pairs->pair[i];
        char interval[64] = "-", problem[2 * GT_PROBLEM_TEXT_MAX];

        if (pair->ratio > 0)
            snprintf(interval, sizeof(interval), "[%.3f, %.3f]", pair->lo, pair->hi);
        snprintf(problem, sizeof(problem), "%s%s%s%s", pair->problem,
                 pair->timing == GT_TIMING_WARM ? " (warm L2)"
                 : pair->timing                 ? " (in chains)"
                                                : "",
                 *pair->device ? " on " : "", pair->device);
        gt_columns_print(&columns, cli->out, gt_verdict_name(pair->verdict), problem,
                         "%+.3f|%s|%+.2f|%+.2f", pair->ratio, interval, pair->side[0].us,
                         pair->side[1].us);
    }
}

static void print(const struct gt_cli *cli, const struct gt_pairs *pairs)
{
    const char *separator = "";

    print_table(cli, pairs);
    for (int i = 0; i < GT_VERDICTS; i++) {
        if (!pairs->of[i])
            continue;
        fprintf(cli->out, "%s%zu %s", separator, pairs->of[i], gt_verdict_name((enum gt_verdict)i));
        separator = ", ";
    }
    if (pairs->geometric_mean > 0)
        fprintf(cli->out, "; geometric mean of the ratios %.3f (above 1: B is faster)",
                pairs->geometric_mean);
    fprintf(cli->out, "%s\n", pairs->count ? "" : "neither database has a measured winner");
}

static int open_both(struct gt_store *store[2], const char *const *path, struct gt_err *err)
{
    int rc = gt_session_store(&store[0], path[0], GT_STORE_READ, err);

    GT_STEP(rc, gt_session_store(&store[1], path[1], GT_STORE_READ, err));
    return rc;
}

static int run(struct gt_cli *cli, const void *fields, struct gt_err *err)
{
    const struct options *options = fields;
    const char *const names[] = {cli->argument[0], cli->argument[1]};
    struct gt_store *store[2] = {NULL, NULL};
    struct gt_pairs pairs = {0};
    struct gt_records records = {0};
    struct gt_cmd_writing page = {write_page, NULL, NULL, 0666};
    int rc = open_both(store, names, err);

    GT_STEP(rc, gt_compare(&pairs, store[0], store[1], options->noise > 0 ? options->noise : NOISE,
                           options->any_device, err));
    if (options->csv)
        GT_STEP(rc, gt_csv_new(&records.csv, options->csv, csv_heading, err));
    if (!rc)
        page.context = records.root = gt_compare_json(&pairs, names, records.csv);
    if (options->html)
        GT_STEP(rc, gt_cmd_write_file(options->html, &page, err));
    rc = gt_records_close(&records, cli, rc, err);
    if (!rc && !cli->json && !(options->html && strcmp(options->html, "-") == 0))
        print(cli, &pairs); /* else standard output has the document or the page */
    if (!rc && pairs.of[GT_VERDICT_SLOWER])
        rc = GT_EXIT_LOST;
    else if (!rc && pairs.of[GT_VERDICT_ONLY_A] + pairs.of[GT_VERDICT_ONLY_B] == pairs.count)
        rc = GT_EXIT_NOTHING;
    gt_pairs_release(&pairs);
    gt_store_close(store[0]);
    gt_store_close(store[1]);
    return rc;
}

const struct gt_command gt_command_compare = {
    .name = "compare",
    .doc = "the winners of two databases: same, faster, slower",
    .usage = "compare A.db B.db [--noise RATIO] [--any-device] [--csv FILE] [--html FILE]",
    .about =
        "Compares the measured winners of two databases problem by problem: of two machines,\n"
        "drivers, versions, days. A pair is faster or slower only if all of both intervals say\n"
        "so by more than the noise, the same if all of them lie within it, else ambiguous. The\n"
        "exit code is 8 if something is slower, 4 if nothing could be compared.\n"
        "\n"
        "  tune compare before.db after.db\n"
        "  tune compare h100.db h200.db --any-device --html compared.html\n",
    .argument = "FILE",
    .group = {{option_table, 0, NULL}},
    .size = sizeof(struct options),
    .min_args = 2,
    .max_args = 2,
    .needs_no_data = true,
    .run = run,
};
