/* cmd_recheck_report.c - rows of tune recheck; see cmd_recheck_report.h. */
#include "recheck/cmd_recheck_report.h"

#include <cjson/cJSON.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "console/cmd_csv.h"
#include "console/cmd_json.h"
#include "session/cmd_report.h"
#include "console/options.h"
#include "console/terminal.h"

static const char csv_heading[] =
    "device,problem,verdict,margin,kernel,point,stored_us,us,lo_us,hi_"
    "us,runner_kernel,runner_point,runner_us,detail,margin_lo,margin_hi,contests";

static const char *const verdict_names[GT_VERDICT_COUNT] = {"held", "lost", "failed", "alone"};

static const struct gt_column figures[] = {
    {"stored us", 11, 3}, {"now us", 11, 0}, {"next us", 11, 2}, {"margin", 10, 1}};

static void print_line(const struct gt_recheck_report *report, const struct gt_contest *contest)
{
    FILE *out = report->cli->out;
    const struct gt_trial *trial = contest->trial;
    struct gt_strbuf winner = GT_STRBUF_INIT;
    char stored[32], now[32] = "-", next[32] = "-", margin[32] = "-";

    snprintf(stored, sizeof(stored), "%.2f", contest->stored_us);
    gt_strbuf_addf(&winner, "%-6s %s ", verdict_names[contest->verdict],
                   contest->candidate[0].kernel->name);
    gt_report_point(&winner, NULL, contest->candidate[0].kernel, &contest->candidate[0].point);
    if (contest->verdict != GT_FAILED)
        snprintf(now, sizeof(now), "%.2f", trial[0].us);
    if (contest->best)
        snprintf(next, sizeof(next), "%.2f", trial[contest->best].us);
    if (contest->verdict <= GT_LOST)
        snprintf(margin, sizeof(margin), "%+.2f %%", 100 * contest->margin);
    gt_columns_row(&report->columns, out, contest->text,
                   (const char *const[]){stored, now, next, margin}, winner.text);
    if (contest->verdict == GT_FAILED)
        fprintf(out, "%*s %s: %s\n", report->columns.below ? 1 : report->columns.lead, "",
                gt_status_name(trial[0].status), trial[0].detail);
    fflush(out);
    gt_strbuf_release(&winner);
}

static void csv_row(const struct gt_recheck_report *report, const struct gt_contest *contest,
                    const char *point, const char *runner)
{
    const struct gt_trial *trial = contest->trial, *next = &trial[contest->best];
    const struct gt_kernel *other = contest->candidate[contest->best].kernel;
    bool ok = contest->verdict != GT_FAILED;
    struct gt_csv *csv = report->csv;

    gt_csv_text(csv, report->device->name);
    gt_csv_text(csv, contest->text);
    gt_csv_text(csv, verdict_names[contest->verdict]);
    gt_csv_real(csv, contest->margin, 5, contest->verdict <= GT_LOST);
    gt_csv_text(csv, contest->candidate[0].kernel->name);
    gt_csv_text(csv, point);
    gt_csv_real(csv, contest->stored_us, 3, true);
    gt_csv_real(csv, trial[0].us, 3, ok);
    gt_csv_real(csv, trial[0].lo_us, 3, ok);
    gt_csv_real(csv, trial[0].hi_us, 3, ok);
    gt_csv_text(csv, contest->best ? other->name : "");
    gt_csv_text(csv, contest->best ? runner : "");
    gt_csv_real(csv, next->us, 3, contest->best > 0);
    gt_csv_text(csv, ok ? "" : trial[0].detail);
    gt_csv_real(csv, contest->margin_lo, 5, contest->verdict <= GT_LOST);
    gt_csv_real(csv, contest->margin_hi, 5, contest->verdict <= GT_LOST);
    gt_csv_format(csv, "%d", contest->contests);
    gt_csv_end(csv);
}

static void json_row(const struct gt_recheck_report *report, const struct gt_contest *contest,
                     const char *point, const char *runner)
{
    const struct gt_trial *trial = contest->trial;
    cJSON *row = cJSON_CreateObject(), *other;

    cJSON_AddItemToArray(report->rows, row);
    cJSON_AddStringToObject(row, "problem", contest->text);
    cJSON_AddStringToObject(row, "verdict", verdict_names[contest->verdict]);
    if (contest->verdict <= GT_LOST) {
        cJSON_AddNumberToObject(row, "margin", contest->margin);
        cJSON_AddNumberToObject(row, "margin_lo", contest->margin_lo);
        cJSON_AddNumberToObject(row, "margin_hi", contest->margin_hi);
    }
    cJSON_AddNumberToObject(row, "contests", contest->contests);
    cJSON_AddStringToObject(row, "kernel", contest->candidate[0].kernel->name);
    cJSON_AddStringToObject(row, "point", point);
    cJSON_AddNumberToObject(row, "stored_us", contest->stored_us);
    if (contest->verdict == GT_FAILED) {
        cJSON_AddStringToObject(row, "status", gt_status_name(trial[0].status));
        cJSON_AddStringToObject(row, "detail", trial[0].detail);
    } else {
        cJSON_AddNumberToObject(row, "us", trial[0].us);
        cJSON_AddNumberToObject(row, "lo_us", trial[0].lo_us);
        cJSON_AddNumberToObject(row, "hi_us", trial[0].hi_us);
    }
    if (!contest->best)
        return;
    other = cJSON_AddObjectToObject(row, "runner_up");
    cJSON_AddStringToObject(other, "kernel", contest->candidate[contest->best].kernel->name);
    cJSON_AddStringToObject(other, "point", runner);
    cJSON_AddNumberToObject(other, "us", trial[contest->best].us);
}

int gt_recheck_report_row(struct gt_recheck_report *report, const struct gt_contest *contest,
                          struct gt_err *err)
{
    const struct gt_candidate *next = &contest->candidate[contest->best];
    struct gt_strbuf point = GT_STRBUF_INIT, runner = GT_STRBUF_INIT;
    int rc;

    gt_point_format(&point, contest->candidate[0].kernel, &contest->candidate[0].point);
    gt_point_format(&runner, next->kernel, &next->point);
    rc = gt_strbuf_check(&point, err);
    GT_STEP(rc, gt_strbuf_check(&runner, err));
    if (!rc) {
        if (report->json)
            json_row(report, contest, point.text, runner.text);
        else
            print_line(report, contest);
        csv_row(report, contest, point.text, runner.text);
        if (contest->verdict <= GT_LOST && (report->tally[GT_HELD] + report->tally[GT_LOST] == 0 ||
                                            contest->margin < report->worst))
            report->worst = contest->margin;
        report->tally[contest->verdict]++;
    }
    gt_strbuf_release(&runner);
    gt_strbuf_release(&point);
    return rc;
}

/* When it was, UTC: a report draws margins over dates. */
static void add_date(cJSON *json)
{
    const time_t now = (time_t)(gt_clock_date_ms() / 1000);
    struct tm utc;
    char text[32];

    if (gmtime_r(&now, &utc) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc))
        cJSON_AddStringToObject(json, "date", text);
}

int gt_recheck_report_open(struct gt_recheck_report *report, const struct gt_cli *cli,
                           const struct gt_device *device, int timing, const char *csv_path,
                           struct gt_err *err)
{
    *report = (struct gt_recheck_report){.cli = cli, .device = device, .timing = timing};
    if (cli->json) {
        report->json = cJSON_CreateObject();
        cJSON_AddStringToObject(report->json, "format", "gemmtune recheck 1");
        add_date(report->json);
        cJSON_AddStringToObject(report->json, "device", device->name);
        cJSON_AddNumberToObject(report->json, "cc", device->cc);
        cJSON_AddStringToObject(report->json, "l2", gt_timing_name(timing));
        report->rows = cJSON_AddArrayToObject(report->json, "winners");
        if (!report->rows)
            return gt_err_nomem(err);
    } else {
        gt_columns_put(cli->out, device->name);
        fprintf(cli->out,
                " (sm_%d), L2 %s: stored winners and the best others, timed side by side\n",
                device->cc, gt_timing_name(timing));
        gt_columns_choose(&report->columns, figures, sizeof(figures) / sizeof(*figures), 34,
                          cli->raw ? 0 : gt_terminal_width());
        gt_columns_row(&report->columns, cli->out, "problem", NULL, "       winner");
    }
    return csv_path ? gt_csv_new(&report->csv, csv_path, csv_heading, err) : GT_OK;
}

int gt_recheck_report_close(struct gt_recheck_report *report, int rc, struct gt_err *err)
{
    const size_t *tally = report->tally;
    int closed = gt_csv_close(report->csv, rc ? NULL : err);

    rc = rc ? rc : closed;
    if (report->json && !rc) {
        for (int i = 0; i < GT_VERDICT_COUNT; i++)
            cJSON_AddNumberToObject(report->json, verdict_names[i], (double)tally[i]);
        return gt_cmd_print_json(report->cli, report->json, err);
    }
    if (report->cli && !report->json && !rc)
        fprintf(report->cli->out,
                "%zu held, %zu lost by more than %.0f %%, %zu failed, %zu alone; worst margin "
                "%+.2f %%\n",
                tally[GT_HELD], tally[GT_LOST], 100 * GT_RECHECK_TOLERANCE, tally[GT_FAILED],
                tally[GT_ALONE], 100 * report->worst);
    cJSON_Delete(report->json);
    return rc;
}
