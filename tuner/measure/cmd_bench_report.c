/* cmd_bench_report.c - what tune bench prints; see cmd_bench_report.h. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "console/cmd_write.h"
#include "console/terminal.h"
#include "exchange/export.h"
#include "measure/cmd_bench_report.h"
#include "problem/problem.h"
#include "session/cmd_report.h"
#include "sweep/progress.h"

/* Means over the problems of tune bench; see cmd_bench_report.h. */

int gt_bench_summary_add(struct gt_bench_summary *summary, const struct gt_problem *problem,
                         const struct gt_bench_figures *figures, struct gt_err *err)
{
    const char *type = gt_dtype_name(problem->type);
    struct gt_bench_figures *to;
    int rc = GT_ARRAY_RESERVE(&summary->figures, summary->count + 1, &summary->capacity, err);

    if (rc)
        return rc;
    to = &summary->figures[summary->count++];
    *to = *figures;
    if (problem->accuracy == gt_dtype_default_accuracy(problem->type))
        snprintf(to->type, sizeof(to->type), "%s", type);
    else
        snprintf(to->type, sizeof(to->type), "%s, accuracy %s", type,
                 gt_accuracy_name(problem->accuracy));
    return GT_OK;
}

void gt_bench_summary_release(struct gt_bench_summary *summary)
{
    free(summary->figures);
    *summary = (struct gt_bench_summary){0};
}

/* Accumulates a geometric mean and the least value. */
struct mean {
    double logs, weights, least;
};

static void take(struct mean *mean, double ratio, double weight)
{
    if (!(ratio > 0))
        return;
    mean->least = mean->weights > 0 && mean->least < ratio ? mean->least : ratio;
    mean->logs += weight * log(ratio);
    mean->weights += weight;
}

static double value_of(const struct mean *mean)
{
    return mean->weights > 0 ? exp(mean->logs / mean->weights) : 0;
}

/* The smallest loss that at least nine tenths of the problems do not exceed. */
static double ninth_tenth(const struct gt_bench_summary *summary, const char *type, size_t untuned)
{
    double found = 0;

    for (size_t i = 0; i < summary->count; i++) {
        const struct gt_bench_figures *at = &summary->figures[i];
        size_t within = 0;

        if (!(at->loss > 0) || (type && strcmp(at->type, type) != 0))
            continue;
        for (size_t j = 0; j < summary->count; j++) {
            const struct gt_bench_figures *other = &summary->figures[j];

            within += other->loss > 0 && other->loss <= at->loss &&
                      (!type || strcmp(other->type, type) == 0);
        }
        if (10 * within >= 9 * untuned && (!(found > 0) || at->loss < found))
            found = at->loss;
    }
    return found;
}

struct gt_bench_means gt_bench_summary_means(const struct gt_bench_summary *summary,
                                             const char *type)
{
    struct gt_bench_means means = {0};
    struct mean ratio = {0}, best = {0}, loss = {0};

    for (size_t i = 0; i < summary->count; i++) {
        const struct gt_bench_figures *at = &summary->figures[i];

        if (type && strcmp(at->type, type) != 0)
            continue;
        means.problems += at->ratio > 0;
        means.below += at->ratio > 0 && at->ratio < 1;
        means.untuned += at->loss > 0;
        means.worse += at->worse;
        means.err_above += at->err_above;
        take(&ratio, at->ratio, at->weight);
        take(&best, at->best_ratio, at->weight);
        take(&loss, at->loss, 1);
        means.loss_worst = fmax(means.loss_worst, at->loss);
    }
    means.ratio = value_of(&ratio);
    means.worst = ratio.least;
    means.best_ratio = value_of(&best);
    means.best_worst = best.least;
    means.loss = value_of(&loss);
    means.loss_p90 = ninth_tenth(summary, type, means.untuned);
    return means;
}

bool gt_bench_summary_first(const struct gt_bench_summary *summary, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (strcmp(summary->figures[j].type, summary->figures[i].type) == 0)
            return false;
    return true;
}

#define PROBLEM 34 /* columns of a problem's text */

/* The figures of a row. */
enum { US, UNTUNED_US, CUBLAS_US, RATIO, UNTUNED, BEST, ERROR, MEMORY, MOVED, FIGURES };

static const struct gt_column figures[] = {
    [US] = {"measured us", 11, 0},
    [UNTUNED_US] = {"untuned us", 10, 3},
    [CUBLAS_US] = {"cuBLAS us", 10, 2},
    [RATIO] = {"x cuBLAS", 8, 1},
    [UNTUNED] = {"untuned", 7, 4},
    [BEST] = {"best", 7, 6},
    [ERROR] = {"err u, cuBLAS's", 15, 7},
    [MEMORY] = {"memory", 6, 5},
    [MOVED] = {"moved", 6, 8},
};

/* Writes the row in the form that exports of a database have. */
static void csv_row(const struct gt_bench_report *report, const struct gt_bench_row *row,
                    const char *problem, const char *point)
{
    const struct gt_evaluator *evaluator = report->session->evaluator;
    const struct gt_problem *p = row->problem;
    struct gt_strbuf text = GT_STRBUF_INIT;
    const time_t now = time(NULL);
    char date[32];
    struct tm utc;

    gmtime_r(&now, &utc);
    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &utc);
    gt_export_bench_fields(&text,
                           &(struct gt_row){.device = evaluator->device.name,
                                            .dtype = gt_dtype_name(p->type),
                                            .accuracy = gt_accuracy_name(p->accuracy),
                                            .layout = gt_layout_name(gt_problem_layout(p)),
                                            .m = p->m,
                                            .n = p->n,
                                            .k = p->k,
                                            .batch = p->batch,
                                            .kernel = row->kernel->name,
                                            .point = point,
                                            .provenance = row->trial->provenance,
                                            .us = row->trial->us,
                                            .lo_us = row->trial->lo_us,
                                            .hi_us = row->trial->hi_us,
                                            .baseline_us = row->with->baseline_us,
                                            .err_u = row->trial->err_u,
                                            .timing = report->timing,
                                            .driver = evaluator->device.driver,
                                            .nvrtc = evaluator->nvrtc_version,
                                            .date = date,
                                            .problem = problem},
                           p, row->with);
    gt_csv_line(report->csv, text.text);
    gt_strbuf_release(&text);
}

/* Adds a time and the ratio of the baseline to it (of it to the baseline if `share`), where both
 * are known. */
static void json_pair(cJSON *row, const char *time, double us, const char *ratio, double over,
                      double under)
{
    if (us > 0)
        cJSON_AddNumberToObject(row, time, us);
    if (us > 0 && over > 0 && under > 0)
        cJSON_AddNumberToObject(row, ratio, over / under);
}

static void json_incumbent(cJSON *row, const struct gt_bench_row *of)
{
    const struct gt_bench_incumbent *incumbent = of->incumbent;
    cJSON *json = cJSON_AddObjectToObject(row, "incumbent");
    struct gt_strbuf point = GT_STRBUF_INIT;

    gt_point_format(&point, incumbent->kernel, &incumbent->point);
    cJSON_AddStringToObject(json, "kernel", incumbent->kernel->name);
    cJSON_AddStringToObject(json, "point", point.text);
    json_pair(json, "us", incumbent->us, "ratio", of->with->baseline_us, incumbent->us);
    gt_strbuf_release(&point);
}

static void json_row(const struct gt_bench_report *report, const struct gt_bench_row *of,
                     const char *problem, const char *point)
{
    const struct gt_trial *trial = of->trial;
    const struct gt_comparison *with = of->with;
    const double bound_us = gt_export_bound_us(of->problem, with, report->timing);
    cJSON *row = cJSON_CreateObject();

    cJSON_AddItemToArray(report->rows, row);
    cJSON_AddStringToObject(row, "problem", problem);
    cJSON_AddNumberToObject(row, "weight", of->weight);
    cJSON_AddStringToObject(row, "kernel", of->kernel->name);
    cJSON_AddStringToObject(row, "point", point);
    cJSON_AddNumberToObject(row, "us", trial->us);
    if (trial->provenance == GT_MEASURED) {
        cJSON_AddNumberToObject(row, "lo_us", trial->lo_us);
        cJSON_AddNumberToObject(row, "hi_us", trial->hi_us);
        cJSON_AddNumberToObject(row, "err_u", trial->err_u);
    }
    json_pair(row, "baseline_us", with->baseline_us, "ratio", with->baseline_us, trial->us);
    if (with->baseline_err_u > 0) {
        cJSON_AddNumberToObject(row, "baseline_err_u", with->baseline_err_u);
        cJSON_AddBoolToObject(row, "err_above",
                              gt_export_err_above(trial->err_u, with->baseline_err_u));
    }
    json_pair(row, "best_us", with->best_us, "best_ratio", with->baseline_us, with->best_us);
    if (with->untuned_us > 0) {
        cJSON_AddStringToObject(row, "untuned", with->untuned);
        json_pair(row, "untuned_us", with->untuned_us, "untuned_ratio", with->baseline_us,
                  with->untuned_us);
        cJSON_AddBoolToObject(row, "worse_by_tuning", with->worse);
    }
    json_pair(row, "bound_us", bound_us, "memory", bound_us, trial->us);
    json_pair(row, "move_us", with->move_us, "moved", with->move_us, trial->us);
    if (of->incumbent->kernel)
        json_incumbent(row, of);
}

void gt_bench_report_nothing(const struct gt_bench_report *report, const char *problem,
                             const char *format, ...)
{
    char why[1100];
    va_list args;
    cJSON *row;

    va_start(args, format);
    vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    if (!report->json) {
        gt_progress_clear(report->session->progress);
        fprintf(report->session->cli->out, "%-*s %s\n", PROBLEM, problem, why);
        return;
    }
    row = cJSON_CreateObject();
    cJSON_AddItemToArray(report->rows, row);
    cJSON_AddStringToObject(row, "problem", problem);
    cJSON_AddStringToObject(row, "nothing", why);
}

/* Writes over / under to `text`, or "-" if that is not known. */
static void ratio_text(char text[32], int digits, double over, double under)
{
    if (over > 0 && under > 0)
        snprintf(text, 32, "%.*f", digits, over / under);
    else
        snprintf(text, 32, "-");
}

/* The incumbent on a line of its own. */
static void print_incumbent(const struct gt_bench_report *report, const struct gt_bench_row *row)
{
    const struct gt_bench_incumbent *incumbent = row->incumbent;
    struct gt_strbuf tail = GT_STRBUF_INIT;
    char us[32], ratio[32];
    const char *cell[FIGURES];

    for (size_t i = 0; i < FIGURES; i++)
        cell[i] = "";
    ratio_text(us, 2, incumbent->us, 1);
    ratio_text(ratio, 3, row->with->baseline_us, incumbent->us);
    cell[US] = us;
    cell[RATIO] = ratio;
    gt_strbuf_addf(&tail, "%s ", incumbent->kernel->name);
    gt_report_point(&tail, report->session, incumbent->kernel, &incumbent->point);
    gt_columns_row(&report->columns, report->session->cli->out, "  incumbent, of all kernels", cell,
                   tail.text);
    gt_strbuf_release(&tail);
}

static void print_line(const struct gt_bench_report *report, const struct gt_bench_row *row,
                       const char *problem)
{
    const struct gt_comparison *with = row->with;
    struct gt_strbuf winner = GT_STRBUF_INIT;
    FILE *out = report->session->cli->out;
    const double us = row->trial->us;
    char text[FIGURES][32];
    const char *cell[FIGURES];

    for (size_t i = 0; i < FIGURES; i++)
        cell[i] = text[i];
    ratio_text(text[US], 2, us, 1);
    ratio_text(text[UNTUNED_US], 2, with->untuned_us, 1);
    ratio_text(text[CUBLAS_US], 2, with->baseline_us, 1);
    ratio_text(text[RATIO], 3, with->baseline_us, us);
    ratio_text(text[UNTUNED], 3, with->baseline_us, with->untuned_us);
    ratio_text(text[BEST], 3, with->baseline_us, with->best_us);
    ratio_text(text[MEMORY], 2, gt_export_bound_us(row->problem, with, report->timing), us);
    ratio_text(text[MOVED], 2, with->move_us, us);
    if (with->baseline_err_u > 0)
        snprintf(text[ERROR], sizeof(text[ERROR]), "%.3g/%.3g", row->trial->err_u,
                 with->baseline_err_u);
    else
        snprintf(text[ERROR], sizeof(text[ERROR]), "-");
    gt_strbuf_addf(&winner, "%s ", row->kernel->name);
    gt_report_point(&winner, report->session, row->kernel, row->point);
    if (gt_export_err_above(row->trial->err_u, with->baseline_err_u))
        gt_strbuf_add(&winner, " [error above 1.25 x cuBLAS's]");
    if (with->worse)
        gt_strbuf_add(&winner, " [slower than untuned]");
    gt_progress_clear(report->session->progress);
    gt_columns_row(&report->columns, out, problem, cell, winner.text);
    if (row->incumbent->kernel)
        print_incumbent(report, row);
    fflush(out);
    gt_strbuf_release(&winner);
}

static int add_figures(struct gt_bench_report *report, const struct gt_bench_row *row,
                       struct gt_err *err)
{
    const struct gt_comparison *with = row->with;
    const double us = row->trial->us, known = fmin(us, with->untuned_us);

    return gt_bench_summary_add(
        &report->summary, row->problem,
        &(struct gt_bench_figures){
            .weight = row->weight,
            .ratio = with->baseline_us / us,
            .best_ratio = with->best_us > 0 ? with->baseline_us / with->best_us : 0,
            .loss = with->untuned_us > 0 ? with->untuned_us / known : 0,
            .worse = with->worse,
            .err_above = gt_export_err_above(row->trial->err_u, with->baseline_err_u)},
        err);
}

int gt_bench_report_row(struct gt_bench_report *report, const struct gt_bench_row *row,
                        struct gt_err *err)
{
    struct gt_strbuf point = GT_STRBUF_INIT;
    char text[GT_PROBLEM_TEXT_MAX];

    gt_problem_format(row->problem, text);
    gt_point_format(&point, row->kernel, row->point);
    if (report->json)
        json_row(report, row, text, point.text);
    else
        print_line(report, row, text);
    csv_row(report, row, text, point.text);
    report->done++;
    gt_strbuf_release(&point);
    return add_figures(report, row, err);
}

/* Begins the document, without its rows. */
static int begin_json(struct gt_bench_report *report, struct gt_err *err)
{
    const struct gt_device *device = &report->session->evaluator->device;

    report->json = cJSON_CreateObject();
    cJSON_AddStringToObject(report->json, "format", "gemmtune bench 1");
    cJSON_AddStringToObject(report->json, "device", device->name);
    cJSON_AddNumberToObject(report->json, "cc", device->cc);
    cJSON_AddStringToObject(report->json, "l2", gt_timing_name(report->timing));
    cJSON_AddBoolToObject(report->json, "predicted", !report->session->measures);
    if (report->copy_gbps > 0)
        cJSON_AddNumberToObject(report->json, "copy_gbps", report->copy_gbps);
    report->rows = cJSON_AddArrayToObject(report->json, "problems");
    return report->rows ? GT_OK : gt_err_nomem(err);
}

static void print_heading(struct gt_bench_report *report)
{
    const struct gt_session *session = report->session;
    FILE *out = session->cli->out;
    const char *name[FIGURES];

    gt_columns_put(out, session->evaluator->device.name);
    fprintf(out, " (sm_%d), L2 %s: %s\n", session->evaluator->device.cc,
            gt_timing_name(report->timing),
            session->measures ? "measured, paired with cuBLASLt"
                              : "PREDICTED by a model, nothing was measured");
    gt_columns_choose(&report->columns, figures, FIGURES, PROBLEM,
                      session->cli->raw ? 0 : gt_terminal_width());
    if (report->copy_gbps > 0 && report->columns.shown[MEMORY])
        fprintf(out,
                "memory: share of the bound by a large copy of this run, %.0f GB/s; moved: by a "
                "kernel that only moves the problem's bytes\n",
                report->copy_gbps);
    for (size_t i = 0; i < FIGURES; i++)
        name[i] = figures[i].name;
    if (!session->measures)
        name[US] = "predict. us";
    gt_columns_row(&report->columns, out, "problem", name, "winner");
}

int gt_bench_report_open(struct gt_bench_report *report, const char *csv, struct gt_err *err)
{
    const struct gt_session *session = report->session;
    struct gt_strbuf heading = GT_STRBUF_INIT;
    int rc = GT_OK;

    if (csv && session->measures) {
        gt_export_bench_heading(&heading);
        rc = gt_strbuf_check(&heading, err);
        GT_STEP(rc, gt_csv_new(&report->csv, csv, heading.text, err));
        gt_strbuf_release(&heading);
    } else if (csv)
        rc = gt_err_set(err, GT_ENOGPU, "--csv holds measured times, but there is no GPU here");
    if (!rc && session->cli->json)
        return begin_json(report, err);
    if (!rc)
        print_heading(report);
    return rc;
}

static void print_means(FILE *out, const char *of, const struct gt_bench_means *means)
{
    if (means->problems)
        fprintf(out,
                "%s: %zu compared: geometric mean %.3f x cuBLAS, worst %.3f; %zu below 1, %zu with "
                "an error above 1.25 x cuBLAS's\n",
                of, means->problems, means->ratio, means->worst, means->below, means->err_above);
    if (means->best_ratio > 0)
        fprintf(out, "%s: best of everything: geometric mean %.3f x cuBLAS, worst %.3f\n", of,
                means->best_ratio, means->best_worst);
    if (means->untuned)
        fprintf(out,
                "%s: %zu untuned: %.3f times the best known, p90 %.3f, worst %.3f; %zu slower by "
                "tuning\n",
                of, means->untuned, means->loss, means->loss_p90, means->loss_worst, means->worse);
}

static void json_means(cJSON *to, const struct gt_bench_means *means)
{
    const struct {
        const char *key;
        double value;
    } row[] = {
        {"compared", (double)means->problems},   {"mean_ratio", means->ratio},
        {"worst_ratio", means->worst},           {"below_1", (double)means->below},
        {"best_mean_ratio", means->best_ratio},  {"best_worst_ratio", means->best_worst},
        {"err_above", (double)means->err_above}, {"untuned", (double)means->untuned},
        {"untuned_loss", means->loss},           {"untuned_p90", means->loss_p90},
        {"untuned_worst", means->loss_worst},    {"worse_by_tuning", (double)means->worse},
    };

    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++)
        cJSON_AddNumberToObject(to, row[i].key, row[i].value);
}

/* Prints the means of each type and, if there are several types, of all. */
static int finish(struct gt_bench_report *report, struct gt_err *err)
{
    const struct gt_bench_summary *summary = &report->summary;
    const struct gt_bench_means all = gt_bench_summary_means(summary, NULL);
    cJSON *types = report->json ? cJSON_AddObjectToObject(report->json, "types") : NULL;
    size_t kinds = 0;

    for (size_t i = 0; i < summary->count; i++) {
        const char *type = summary->figures[i].type;
        const struct gt_bench_means means = gt_bench_summary_means(summary, type);

        if (!gt_bench_summary_first(summary, i))
            continue;
        kinds++;
        if (types)
            json_means(cJSON_AddObjectToObject(types, type), &means);
        else
            print_means(report->session->cli->out, type, &means);
    }
    if (report->json && all.problems)
        json_means(report->json, &all);
    else if (!report->json && kinds > 1)
        print_means(report->session->cli->out, "all", &all);
    return report->json ? gt_cmd_print_json(report->session->cli, report->json, err) : GT_OK;
}

int gt_bench_report_close(struct gt_bench_report *report, int rc, struct gt_err *err)
{
    int closed = gt_csv_close(report->csv, rc ? NULL : err), printed;

    if (rc) {
        gt_bench_summary_release(&report->summary);
        cJSON_Delete(report->json);
        return rc;
    }
    printed = finish(report, err);
    gt_bench_summary_release(&report->summary);
    return printed ? printed : closed;
}
