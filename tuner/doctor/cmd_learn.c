/* cmd_learn.c - tune doctor --predictor --leave-out and --learn: reads measured trials, reports the
 * losses of choosing by them, and writes a ranking.  See cmd_predictor.h. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "console/cmd_record.h"
#include "console/cmd_write.h"
#include "doctor/cmd_predictor.h"
#include "kernel/kernel.h"
#include "learn/learn.h"
#include "session/cmd_session.h"

static const char csv_heading[] = "problem,kind,layout,trials,chosen_by,loss,loss4,loss8,kernel,"
                                  "point,best_kernel,best_point,device";

/* The ways of choosing that are compared: the learning's, and the trees of the split by family. */
#define FAMILY GT_LEARN_MEANS
#define WAYS   (GT_LEARN_MEANS + 1)
static const char *const way_name[WAYS] = {"model", "ranking", "trees", "prototypes", "family"};
static const char *const way_text[WAYS] = {"model", "ranking of --onto", "trees", "prototypes",
                                           "trees, family left out"};

struct reporting {
    struct gt_cli *cli;
    struct gt_learning *learning;
    struct gt_records *rows;              /* root NULL: tables are printed */
    struct gt_learn_choice *choice[WAYS]; /* NULL: this way is not reported */
};

/* ---- tables ---- */

static void print_kind(FILE *out, const char *kind, const struct gt_learn_loss *loss)
{
    static const int columns[] = {GT_LEARN_MODEL, GT_LEARN_TREES, GT_LEARN_PROTOTYPES};

    fprintf(out, "%-14s %8zu", kind, loss[0].problems);
    for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
        fprintf(out, "   %6.1f %6.1f %6.1f", 100 * loss[columns[i]].mean,
                100 * loss[columns[i]].p90, 100 * loss[columns[i]].most);
    fprintf(out, "\n");
}

static void print_all(const struct reporting *reporting, const char *device,
                      const struct gt_learn_loss *loss)
{
    FILE *out = reporting->cli->out;
    char title[96];

    gt_copy_clean(title, sizeof(title), device ? device : "all kinds");
    fprintf(out, "\n%-23s %8s   %6s %6s %6s   %6s %6s\n", title, "problems", "mean", "p90", "most",
            "of 4", "of 8");
    for (int way = 0; way < WAYS; way++)
        if (reporting->choice[way])
            fprintf(out, "%-23s %8zu   %6.1f %6.1f %6.1f   %6.1f %6.1f\n", way_text[way],
                    loss[way].problems, 100 * loss[way].mean, 100 * loss[way].p90,
                    100 * loss[way].most, 100 * loss[way].of4, 100 * loss[way].of8);
    if (!device)
        fprintf(out,
                "of 4, of 8: mean where the first four and eight choices are timed, which divide "
                "the\nproblem in different ways; family: type, accuracy and layout\n");
}

/* device: NULL: all devices. */
static int report_kind(const struct reporting *reporting, size_t kind, const char *name,
                       const char *device, struct gt_err *err)
{
    struct gt_learn_loss loss[WAYS] = {{0}};
    cJSON *row = NULL;
    int rc = GT_OK;

    for (int way = 0; way < WAYS && !rc; way++)
        if (reporting->choice[way])
            rc = gt_learn_loss_of(reporting->learning, reporting->choice[way], kind, device,
                                  &loss[way], err);
    if (rc || !loss[0].problems)
        return rc;
    if (!reporting->rows->root) {
        if (kind == GT_LEARN_ALL)
            print_all(reporting, device, loss);
        else
            print_kind(reporting->cli->out, name, loss);
        return GT_OK;
    }
    row = gt_json_append(reporting->rows->list, "kind=%s device=%s problems=%zu", name, device,
                         loss[0].problems);
    for (int way = 0; way < WAYS; way++)
        if (reporting->choice[way])
            gt_json_object(row, way_name[way], "mean=%g p90=%g most=%g of4=%g of8=%g",
                           loss[way].mean, loss[way].p90, loss[way].most, loss[way].of4,
                           loss[way].of8);
    return GT_OK;
}

/* Prints the gain of the trees over the times that they correct, paired by problem. */
static void print_gain(const struct reporting *reporting)
{
    const int before = reporting->choice[GT_LEARN_RANKING] ? GT_LEARN_RANKING : GT_LEARN_MODEL;
    struct gt_learn_gain gain = {0};

    gt_learn_compare(reporting->learning, reporting->choice[before],
                     reporting->choice[GT_LEARN_TREES], &gain);
    if (reporting->learning->base && *reporting->learning->base->device) {
        char device[96];

        gt_copy_clean(device, sizeof(device), reporting->learning->base->device);
        fprintf(reporting->cli->out, "the ranking of --onto was learned on %s\n", device);
    }
    fprintf(reporting->cli->out,
            "the trees lose %.1f +- %.1f %% less than the %s: %zu problems better, %zu worse\n",
            100 * gain.mean, 100 * gain.error, way_name[before], gain.better, gain.worse);
}

/* Whether an earlier problem of the list was measured on this problem's device. */
static bool is_known(const struct gt_learning *learning, size_t problem)
{
    for (size_t i = 0; i < problem; i++)
        if (strcmp(learning->problem[i].device, learning->problem[problem].device) == 0)
            return true;
    return false;
}

/* Reports the losses of each device, if there are several devices. */
static int report_devices(const struct reporting *reporting, struct gt_err *err)
{
    const struct gt_learning *learning = reporting->learning;
    size_t devices = 0;
    int rc = GT_OK;

    for (size_t i = 0; i < learning->problems; i++)
        devices += !is_known(learning, i);
    for (size_t i = 0; i < learning->problems && devices > 1 && !rc; i++)
        if (!is_known(learning, i))
            rc = report_kind(reporting, GT_LEARN_ALL, "all", learning->problem[i].device, err);
    return rc;
}

static int report_losses(const struct reporting *reporting, struct gt_err *err)
{
    FILE *out = reporting->cli->out;
    int rc = GT_OK;

    if (!reporting->rows->root)
        fprintf(out,
                "%-14s %8s   %-20s   %-20s   %-20s\n%-14s %8s   %6s %6s %6s   %6s %6s %6s   %6s "
                "%6s %6s\n",
                "left out", "problems", "model: mean p90 most", "trees", "prototypes", "", "", "%",
                "%", "%", "%", "%", "%", "%", "%", "%");
    for (size_t kind = 0; kind < GT_RANKING_KINDS && !rc; kind++) {
        char name[32];

        gt_ranking_kind_name(kind, name);
        rc = report_kind(reporting, kind, name, NULL, err);
    }
    if (!reporting->rows->root)
        fprintf(out, "slower than the best time measured of a problem, where no trial of a problem "
                     "with its n and k was learned from\n");
    GT_STEP(rc, report_kind(reporting, GT_LEARN_ALL, "all", NULL, err));
    GT_STEP(rc, report_devices(reporting, err));
    if (!rc && !reporting->rows->root)
        print_gain(reporting);
    return rc;
}

/* ---- CSV ---- */

static void format_point(struct gt_strbuf *text, const struct gt_learning *learning,
                         const struct gt_learn_row *row)
{
    gt_point_format(text, learning->kernels->kernel[row->kernel],
                    &learning->point[row->point].point);
}

static int write_choice(const struct reporting *reporting, size_t problem, int way,
                        struct gt_err *err)
{
    const struct gt_learning *learning = reporting->learning;
    const struct gt_learn_choice *choice = &reporting->choice[way][problem];
    const struct gt_learn_problem *of = &learning->problem[problem];
    const char layout[] = {of->problem.trans_a ? 't' : 'n', of->problem.trans_b ? 't' : 'n', '\0'};
    const struct gt_records csv = {.csv = reporting->rows->csv};
    struct gt_strbuf point = GT_STRBUF_INIT, best = GT_STRBUF_INIT;
    char kind[32];
    int rc;

    gt_ranking_kind_name(of->kind, kind);
    format_point(&point, learning, choice->row);
    format_point(&best, learning, choice->best);
    rc = gt_strbuf_check(&point, err);
    GT_STEP(rc, gt_strbuf_check(&best, err));
    if (!rc)
        gt_records_add(&csv,
                       "problem=%s kind=%s layout=%s trials=%zu chosen_by=%s loss=%.4f "
                       "loss4=%.4f loss8=%.4f kernel=%s point=%s best_kernel=%s best_point=%s "
                       "device=%s",
                       of->text, kind, layout, of->rows, way_name[way], expm1(choice->loss[0]),
                       expm1(choice->loss[3]), expm1(choice->loss[GT_LEARN_PICKS - 1]),
                       learning->kernels->kernel[choice->row->kernel]->name, point.text,
                       learning->kernels->kernel[choice->best->kernel]->name, best.text,
                       of->device);
    gt_strbuf_release(&point);
    gt_strbuf_release(&best);
    return rc;
}

static int write_csv(const struct reporting *reporting, const char *path, struct gt_err *err)
{
    int rc = gt_csv_new(&reporting->rows->csv, path, csv_heading, err);

    for (size_t i = 0; i < reporting->learning->problems; i++)
        for (int way = 0; way < WAYS && !rc; way++)
            if (reporting->choice[way] && reporting->choice[way][i].row)
                rc = write_choice(reporting, i, way, err);
    return rc;
}

/* ---- the report ---- */

static int choose(struct reporting *reporting, int way, enum gt_learn_means means,
                  struct gt_err *err)
{
    struct gt_learn_choice *choice =
        calloc(reporting->learning->problems + 1, sizeof(*reporting->choice[way]));

    reporting->choice[way] = choice;
    return choice ? gt_learn_choose(reporting->learning, means, choice, err) : gt_err_nomem(err);
}

/* Leaves problems out, in parts by size and, unless a ranking is written, also by family.  Adds the
 * losses of each kind and of all kinds to rows (NULL: prints them), and writes the choices for each
 * problem to options->csv.  Afterwards the learning's parts are those by size. */
static int report_choices(struct gt_cli *cli, const struct gt_predictor_options *options,
                          struct gt_learning *learning, struct gt_records *rows, struct gt_err *err)
{
    struct reporting reporting = {cli, learning, rows, {NULL}};
    int rc = GT_OK;

    if (!options->output) {
        rc = gt_learn_leave_out(learning, GT_LEARN_BY_FAMILY, err);
        GT_STEP(rc, choose(&reporting, FAMILY, GT_LEARN_TREES, err));
    }
    GT_STEP(rc, gt_learn_leave_out(learning, GT_LEARN_BY_SIZE, err));
    for (int means = 0; means < GT_LEARN_MEANS && !rc; means++)
        if (means != GT_LEARN_RANKING || learning->base)
            rc = choose(&reporting, means, (enum gt_learn_means)means, err);
    GT_STEP(rc, report_losses(&reporting, err));
    if (!rc && options->csv)
        rc = write_csv(&reporting, options->csv, err);
    for (int way = 0; way < WAYS; way++)
        free(reporting.choice[way]);
    return rc;
}

/* ---- what is learned from ---- */

struct learning {
    struct gt_cli *cli;
    struct gt_kernels kernels;
    struct gt_learning rows;
    struct gt_learn_source source; /* where the rows come from */
    struct gt_ranking base;        /* arch 0: there is no base */
};

static int read_source(struct learning *learning, const char *path, struct gt_err *err)
{
    return gt_learn_visit(path, &learning->kernels, gt_learn_take, &learning->source, err);
}

/* ---- what is written ---- */

static int write_ranking(const struct learning *learning, const char *path, struct gt_err *err)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    int rc = gt_learn_write(&learning->rows, GT_LEARN_WHOLE, &text, err);

    GT_STEP(rc, gt_cmd_write_bytes(path, text.text, text.length, err));
    gt_strbuf_release(&text);
    return rc;
}

int gt_cmd_learn(struct gt_cli *cli, const struct gt_predictor_options *options, struct gt_err *err)
{
    struct learning learning = {
        .cli = cli,
        .rows = {.kernels = &learning.kernels, .narrow = options->narrow},
        .source = {.learning = &learning.rows, .data_dir = cli->data_dir},
    };
    struct gt_records rows = {0};
    int rc = gt_kernels_load(&learning.kernels, cli->data_dir, NULL, NULL, err);

    gt_records_open(&rows, cli, NULL);
    if (!rc && options->output) /* asked before minutes of work */
        rc = gt_cmd_may_write(options->output, err);
    if (!rc && options->onto)
        rc = gt_ranking_load(&learning.base, &learning.kernels, options->onto, err);
    if (!rc && options->onto)
        rc = gt_learn_onto(&learning.rows, &learning.base, err);
    if (!rc && options->db)
        rc = read_source(&learning, options->db, err);
    for (size_t i = 0; i < options->from.count && !rc; i++)
        rc = read_source(&learning, options->from.text[i], err);
    if (!rc && !learning.rows.rows)
        rc = gt_err_set(err, GT_EXIT_NOTHING, "nothing was measured that could be learned from");
    GT_STEP(rc, report_choices(cli, options, &learning.rows, &rows, err));
    if (!rc && learning.source.other + learning.source.gone && !cli->quiet)
        fprintf(cli->log,
                "%zu trials left out: of another arch, or of points that no kernel here "
                "has\n",
                learning.source.other + learning.source.gone);
    if (!rc && options->output)
        rc = write_ranking(&learning, options->output, err);
    rc = gt_records_close(&rows, cli, rc, err);
    gt_learn_release(&learning.rows);
    gt_ranking_release(&learning.base);
    gt_kernels_release(&learning.kernels);
    return rc;
}
