/* cmd_adopt_report.c - rows of tune recheck --adopt as a table, JSON and CSV; see cmd_adopt.h. */
#include "recheck/cmd_adopt.h"

#include <cjson/cJSON.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "console/cmd_csv.h"
#include "console/cmd_json.h"
#include "console/terminal.h"
#include "sweep/progress.h"

static const char csv_heading[] =
    "device,problem,verdict,kernel,point,stored_us,us,lo_us,hi_us,cublas_us,detail";

static const char *const verdict_names[GT_ADOPT_COUNT] = {"open", "adopted", "known", "unfit",
                                                          "failed"};

static const struct gt_column figures[] = {
    {"stored us", 11, 1}, {"now us", 11, 0}, {"cuBLAS us", 11, 2}};

int gt_adopt_report_open(struct gt_adopting *adopting, struct gt_err *err)
{
    const struct gt_device *device = &adopting->session->evaluator->device;
    const struct gt_cli *cli = adopting->session->cli;
    const char *l2 = gt_timing_name(adopting->options->timing);

    if (cli->json) {
        adopting->json = cJSON_CreateObject();
        cJSON_AddStringToObject(adopting->json, "format", "gemmtune adopt 1");
        cJSON_AddStringToObject(adopting->json, "device", device->name);
        cJSON_AddNumberToObject(adopting->json, "cc", device->cc);
        cJSON_AddStringToObject(adopting->json, "l2", l2);
        adopting->rows = cJSON_AddArrayToObject(adopting->json, "winners");
        if (!adopting->rows)
            return gt_err_nomem(err);
    } else {
        gt_columns_put(cli->out, device->name);
        fprintf(cli->out, " (sm_%d), L2 %s: winners proved and timed with today's kernels\n",
                device->cc, l2);
        gt_columns_choose(&adopting->columns, figures, sizeof(figures) / sizeof(*figures), 34,
                          cli->raw ? 0 : gt_terminal_width());
        gt_columns_row(&adopting->columns, cli->out, "problem", NULL, "        winner");
    }
    return adopting->options->csv
               ? gt_csv_new(&adopting->csv, adopting->options->csv, csv_heading, err)
               : GT_OK;
}

static void print_line(const struct gt_adopting *adopting, const struct gt_adoptee *item)
{
    FILE *out = adopting->session->cli->out;
    struct gt_strbuf winner = GT_STRBUF_INIT;
    char stored[32], now[32] = "-", baseline[32] = "-";

    snprintf(stored, sizeof(stored), "%.2f", item->stored_us);
    if (item->us > 0)
        snprintf(now, sizeof(now), "%.2f", item->us);
    if (item->baseline_us > 0)
        snprintf(baseline, sizeof(baseline), "%.2f", item->baseline_us);
    gt_strbuf_addf(&winner, "%-7s %s %s", verdict_names[item->verdict], item->kernel_name,
                   item->point);
    gt_progress_clear(adopting->session->progress);
    gt_columns_row(&adopting->columns, out, item->text,
                   (const char *const[]){stored, now, baseline}, winner.text);
    if (*item->detail) {
        fprintf(out, "%*s ", adopting->columns.below ? 1 : adopting->columns.lead, "");
        gt_columns_put(out, item->detail);
        fputc('\n', out);
    }
    fflush(out);
    gt_strbuf_release(&winner);
}

void gt_adopt_report_row(struct gt_adopting *adopting, const struct gt_adoptee *item)
{
    const struct gt_record row = {adopting->json ? cJSON_CreateObject() : NULL, adopting->csv};
    bool timed = item->us > 0;

    adopting->tally[item->verdict]++;
    if (adopting->json)
        cJSON_AddItemToArray(adopting->rows, row.json);
    else
        print_line(adopting, item);
    gt_csv_text(row.csv, adopting->session->evaluator->device.name);
    gt_record_text(&row, "problem", item->text);
    gt_record_text(&row, "verdict", verdict_names[item->verdict]);
    gt_record_text(&row, "kernel", item->kernel_name);
    gt_record_text(&row, "point", item->point);
    gt_record_real(&row, "stored_us", item->stored_us, 3, true);
    gt_record_real(&row, "us", item->us, 3, timed);
    gt_record_real(&row, "lo_us", item->lo_us, 3, timed);
    gt_record_real(&row, "hi_us", item->hi_us, 3, timed);
    gt_record_real(&row, "cublas_us", item->baseline_us, 3, item->baseline_us > 0);
    gt_record_text(&row, "detail", *item->detail ? item->detail : NULL);
    gt_csv_end(row.csv);
}

int gt_adopt_report_close(struct gt_adopting *adopting, int rc, struct gt_err *err)
{
    const struct gt_cli *cli = adopting->session->cli;
    const size_t *tally = adopting->tally;
    int closed = gt_csv_close(adopting->csv, rc ? NULL : err);

    rc = rc ? rc : closed;
    if (adopting->json && !rc) {
        for (int i = GT_ADOPT_DONE; i < GT_ADOPT_COUNT; i++)
            cJSON_AddNumberToObject(adopting->json, verdict_names[i], (double)tally[i]);
        return gt_cmd_print_json(cli, adopting->json, err);
    }
    if (!cli->json && !rc && adopting->items)
        fprintf(cli->out, "%zu adopted, %zu known from earlier runs, %zu unfit, %zu failed\n",
                tally[GT_ADOPT_DONE], tally[GT_ADOPT_KNOWN], tally[GT_ADOPT_UNFIT],
                tally[GT_ADOPT_FAILED]);
    cJSON_Delete(adopting->json);
    return rc;
}
