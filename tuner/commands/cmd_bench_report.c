/* cmd_bench_report.c - what tune bench prints; see cmd_bench_report.h. */
#include "commands/cmd_bench_report.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdarg.h>
#include <time.h>

#include "base/err.h"
#include "problem/problem.h"
#include "base/strbuf.h"
#include "commands/cmd_csv.h"
#include "commands/cmd_json.h"
#include "commands/cmd_report.h"

static const char csv_heading[] =
    "device,dtype,accuracy,layout,m,n,k,batch,kernel,point,us,lo_us,hi_us,cublas_us,ratio,err_u,l2,"
    "driver,nvrtc,date,problem,bound_us,memory,move_us,moved";

static void csv_row(const struct gt_bench_report *report, const struct gt_bench_row *row,
                    const char *point)
{
    const struct gt_evaluator *evaluator = report->session->evaluator;
    const struct gt_problem *problem = row->problem;
    const struct gt_trial *trial = row->trial;
    struct gt_csv *csv = report->csv;
    time_t now = time(NULL);
    char date[32], text[GT_PROBLEM_TEXT_MAX];
    struct tm utc;

    gmtime_r(&now, &utc);
    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &utc);
    gt_csv_text(csv, evaluator->device.name);
    gt_csv_text(csv, gt_dtype_name(problem->type));
    gt_csv_text(csv, gt_accuracy_name(problem->accuracy));
    gt_csv_text(csv, gt_layout_name(gt_problem_layout(problem)));
    gt_csv_format(csv, "%lld", (long long)problem->m);
    gt_csv_format(csv, "%lld", (long long)problem->n);
    gt_csv_format(csv, "%lld", (long long)problem->k);
    gt_csv_format(csv, "%lld", (long long)problem->batch);
    gt_csv_text(csv, row->kernel->name);
    gt_csv_text(csv, point);
    gt_csv_real(csv, trial->us, 3, true);
    gt_csv_real(csv, trial->lo_us, 3, true);
    gt_csv_real(csv, trial->hi_us, 3, true);
    gt_csv_real(csv, row->baseline_us, 3, row->baseline_us > 0);
    gt_csv_real(csv, row->baseline_us / trial->us, 4, row->baseline_us > 0);
    gt_csv_real(csv, trial->err_u, 2, true);
    gt_csv_text(csv, report->warm ? "warm" : "cold");
    gt_csv_format(csv, "%d.%d", evaluator->device.driver / 1000,
                  evaluator->device.driver % 1000 / 10);
    gt_csv_format(csv, "%d.%d", evaluator->nvrtc_version / 1000,
                  evaluator->nvrtc_version % 1000 / 10);
    gt_csv_text(csv, date);
    gt_problem_format(problem, text);
    gt_csv_text(csv, text);
    gt_csv_real(csv, row->bound_us, 3, row->bound_us > 0);
    gt_csv_real(csv, row->bound_us / trial->us, 4, row->bound_us > 0);
    gt_csv_real(csv, row->move_us, 3, row->move_us > 0);
    gt_csv_real(csv, row->move_us / trial->us, 4, row->move_us > 0);
    gt_csv_end(csv);
}

static void json_row(const struct gt_bench_report *report, const struct gt_bench_row *of,
                     const char *problem, const char *point)
{
    const struct gt_trial *trial = of->trial;
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
    if (of->baseline_us > 0) {
        cJSON_AddNumberToObject(row, "baseline_us", of->baseline_us);
        cJSON_AddNumberToObject(row, "ratio", of->baseline_us / trial->us);
    }
    if (of->bound_us > 0) {
        cJSON_AddNumberToObject(row, "bound_us", of->bound_us);
        cJSON_AddNumberToObject(row, "memory", of->bound_us / trial->us);
    }
    if (of->move_us > 0) {
        cJSON_AddNumberToObject(row, "move_us", of->move_us);
        cJSON_AddNumberToObject(row, "moved", of->move_us / trial->us);
    }
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
        fprintf(report->session->cli->out, "%-34s %s\n", problem, why);
        return;
    }
    row = cJSON_CreateObject();
    cJSON_AddItemToArray(report->rows, row);
    cJSON_AddStringToObject(row, "problem", problem);
    cJSON_AddStringToObject(row, "nothing", why);
}

static void print_line(const struct gt_bench_report *report, const struct gt_bench_row *row,
                       const char *text)
{
    struct gt_strbuf point = GT_STRBUF_INIT;
    FILE *out = report->session->cli->out;
    const double us = row->trial->us;
    char against[64] = "-", ratio[32] = "-", memory[32] = "-", moved[32] = "-";

    if (row->baseline_us > 0) {
        snprintf(against, sizeof(against), "%.2f", row->baseline_us);
        snprintf(ratio, sizeof(ratio), "%.3f", row->baseline_us / us);
    }
    if (row->bound_us > 0)
        snprintf(memory, sizeof(memory), "%.2f", row->bound_us / us);
    if (row->move_us > 0)
        snprintf(moved, sizeof(moved), "%.2f", row->move_us / us);
    gt_report_point(&point, report->session, row->kernel, row->point);
    fprintf(out, "%-34s %11.2f %9.2f %11s %8s %6s %6s  %s %s\n", text, us,
            gt_problem_flops(row->problem) / us * 1e-6, against, ratio, memory, moved,
            row->kernel->name, point.text);
    fflush(out);
    gt_strbuf_release(&point);
}

void gt_bench_report_row(struct gt_bench_report *report, const struct gt_bench_row *row)
{
    struct gt_strbuf point = GT_STRBUF_INIT;
    char text[GT_PROBLEM_TEXT_MAX];
    double times = row->baseline_us / row->trial->us;

    if (row->baseline_us > 0) {
        report->log_sum += row->weight * log(times);
        report->weights += row->weight;
        report->worst = report->compared && report->worst < times ? report->worst : times;
        report->compared++;
    }
    gt_problem_format(row->problem, text);
    gt_point_format(&point, row->kernel, row->point);
    if (report->json)
        json_row(report, row, text, point.text);
    else
        print_line(report, row, text);
    csv_row(report, row, point.text);
    report->done++;
    gt_strbuf_release(&point);
}

/* The document without its rows. */
static int begin_json(struct gt_bench_report *report, struct gt_err *err)
{
    const struct gt_device *device = &report->session->evaluator->device;

    report->json = cJSON_CreateObject();
    cJSON_AddStringToObject(report->json, "format", "gemmtune bench 1");
    cJSON_AddStringToObject(report->json, "device", device->name);
    cJSON_AddNumberToObject(report->json, "cc", device->cc);
    cJSON_AddStringToObject(report->json, "l2", report->warm ? "warm" : "cold");
    cJSON_AddBoolToObject(report->json, "predicted", !report->session->measures);
    if (report->copy_gbps > 0)
        cJSON_AddNumberToObject(report->json, "copy_gbps", report->copy_gbps);
    report->rows = cJSON_AddArrayToObject(report->json, "problems");
    return report->rows ? GT_OK : gt_err_nomem(err);
}

static void print_heading(const struct gt_bench_report *report)
{
    const struct gt_session *session = report->session;
    FILE *out = session->cli->out;

    fprintf(out, "%s (sm_%d), L2 %s: %s\n", session->evaluator->device.name,
            session->evaluator->device.cc, report->warm ? "warm" : "cold",
            session->measures ? "measured, paired with cuBLASLt"
                              : "PREDICTED by a model, nothing was measured");
    if (report->copy_gbps > 0)
        fprintf(out,
                "memory: share of the bound by a large copy of this run, %.0f GB/s; moved: by a "
                "kernel that only moves the problem's bytes\n",
                report->copy_gbps);
    fprintf(out, "%-34s %11s %9s %11s %8s %6s %6s  winner\n", "problem",
            session->measures ? "measured us" : "predict. us", "TFLOP/s", "cuBLAS us", "x cuBLAS",
            "memory", "moved");
}

int gt_bench_report_open(struct gt_bench_report *report, const char *csv, struct gt_err *err)
{
    const struct gt_session *session = report->session;
    int rc = GT_OK;

    if (csv && session->measures)
        rc = gt_csv_new(&report->csv, csv, csv_heading, err);
    else if (csv)
        rc = gt_err_set(err, GT_ENOGPU, "--csv holds measured times, but there is no GPU here");
    if (!rc && session->cli->json)
        return begin_json(report, err);
    if (!rc)
        print_heading(report);
    return rc;
}

static int finish(struct gt_bench_report *report, struct gt_err *err)
{
    const bool any = report->compared && report->weights > 0;
    const double mean = any ? exp(report->log_sum / report->weights) : 0;

    if (!report->json && any)
        fprintf(report->session->cli->out,
                "%zu compared: geometric mean %.3f x cuBLAS, worst %.3f\n", report->compared, mean,
                report->worst);
    if (!report->json)
        return GT_OK;
    if (any) {
        cJSON_AddNumberToObject(report->json, "mean_ratio", mean);
        cJSON_AddNumberToObject(report->json, "worst_ratio", report->worst);
    }
    return gt_cmd_print_json(report->session->cli, report->json, err);
}

int gt_bench_report_close(struct gt_bench_report *report, int rc, struct gt_err *err)
{
    int closed = gt_csv_close(report->csv, rc ? NULL : err), printed;

    if (rc) {
        cJSON_Delete(report->json);
        return rc;
    }
    printed = finish(report, err);
    return printed ? printed : closed;
}
