/* export_energy.c - writes what products cost, as tune energy measured it: ours and the vendor's,
 * with the objectives by which a row is the best of its problem and device. */
#include "exchange/export_format.h"

#include "base/err.h"
#include "problem/problem.h"

#include <cjson/cJSON.h>
#include <string.h>

/* The columns, and the keys of the JSON form. */
#define HEADING                                                                           \
    "device,uuid,driver,problem,kernel,point,us,tflops,joules,error,watts,clock_mhz,edp," \
    "method,best,date"

static void begin(struct gt_export_out *out)
{
    gt_strbuf_add(out->text,
                  out->json ? "{\"format\": \"gemmtune energies 1\", \"rows\": [" : HEADING "\n");
}

static int end(struct gt_export_out *out, struct gt_err *err)
{
    if (out->json)
        gt_strbuf_add(out->text, out->rows ? "\n]}\n" : "]}\n");
    return gt_strbuf_check(out->text, err);
}

/* A field of either form; a number's text as it is, text quoted. */
static void add(struct gt_export_out *out, const char *key, const char *text, bool quoted)
{
    const bool first = strcmp(key, "device") == 0;

    if (!out->json) {
        if (!first)
            gt_strbuf_add_char(out->text, ',');
        gt_export_field(out->text, text, quoted && first);
        return;
    }
    if (!*text)
        return;
    gt_strbuf_addf(out->text, "%s\"%s\": ", first ? "" : ", ", key);
    if (quoted) {
        cJSON *item = cJSON_CreateStringReference(text);
        char *printed = item ? cJSON_PrintUnformatted(item) : NULL;

        if (printed)
            gt_export_clean(printed);
        gt_strbuf_add(out->text, printed ? printed : "\"\"");
        cJSON_free(printed);
        cJSON_Delete(item);
    } else {
        gt_strbuf_add(out->text, text);
    }
}

static void add_real(struct gt_export_out *out, const char *key, double value, int digits)
{
    char text[64] = "";

    if (value > 0)
        snprintf(text, sizeof(text), "%.*f", digits, value);
    add(out, key, text, false);
}

static int take(void *context, const struct gt_energy_row *row, struct gt_err *err)
{
    const struct gt_energy *energy = &row->energy;
    struct gt_export_out *out = context;
    struct gt_strbuf driver = GT_STRBUF_INIT;
    struct gt_problem problem;
    char best[GT_ENERGY_BEST_MAX];
    int rc;

    if ((out->filter->cc && row->cc != out->filter->cc) ||
        (out->filter->kernel && strcmp(row->kernel, out->filter->kernel) != 0) ||
        gt_export_older(out->today, row->kernel, row->signature, GT_MEASURED) ||
        (out->objective >= 0 && !row->best[out->objective]))
        return GT_OK;
    rc = gt_problem_parse(&problem, row->problem, err);
    if (rc)
        return rc;
    if (out->json)
        gt_strbuf_add(out->text, out->rows ? ",\n{" : "\n{");
    out->rows++;
    gt_export_version(&driver, row->driver);
    add(out, "device", row->device, true);
    add(out, "uuid", row->uuid, true);
    add(out, "driver", driver.text, true);
    add(out, "problem", row->problem, true);
    add(out, "kernel", row->kernel, true);
    add(out, "point", row->point, true);
    add_real(out, "us", energy->us, 3);
    add_real(out, "tflops", gt_problem_flops(&problem) / energy->us * 1e-6, 3);
    add_real(out, "joules", energy->joules, 8);
    add_real(out, "error", energy->error, 4);
    add_real(out, "watts", energy->watts, 1);
    add_real(out, "clock_mhz", energy->clock_mhz, 0);
    add_real(out, "edp", energy->us * energy->joules, 6);
    add(out, "method", energy->counted ? "counter" : "power", true);
    gt_energy_best(row, best);
    add(out, "best", best, true);
    add(out, "date", row->date, true);
    gt_strbuf_add(out->text, out->json ? "}" : "\n");
    rc = gt_strbuf_check(&driver, err);
    gt_strbuf_release(&driver);
    return rc;
}

static int rows(struct gt_export_out *out, struct gt_store *store, struct gt_err *err)
{
    return gt_store_energies(store, NULL, out->filter->problem, take, out, err);
}

const struct gt_export_ops gt_export_energy = {.begin = begin, .rows = rows, .end = end};
