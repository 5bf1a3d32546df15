/* export_rows.c - the rows of a database as CSV, Markdown and JSON, and as the table of tune bench.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"
#include "exchange/export_format.h"
#include "problem/problem.h"
#include "problem/trial.h"

#define STATUS 64

/* "measured", "predicted", "replayed", or the status of a failure; with " (older text)" behind it
 * if the row is of an older text of its kernel. */
static const char *status_of(const struct gt_export_out *out, const struct gt_row *row,
                             char text[STATUS])
{
    snprintf(text, STATUS, "%s%s",
             row->status == GT_STATUS_OK ? gt_provenance_name(row->provenance)
                                         : gt_status_name(row->status),
             gt_export_older(out->request->today, row->kernel, row->signature, row->provenance)
                 ? " (older text)"
                 : "");
    return text;
}

/* ---- CSV ---- */

/* Whether every row is a measured winner, so that no status needs to be printed. */
static bool only_measured_winners(const struct gt_row_filter *filter)
{
    return filter->provenance == 1u << GT_MEASURED && filter->winners_only;
}

static void put_shape(struct gt_fields *fields, const struct gt_row *row)
{
    gt_fields_text(fields, "dtype", row->dtype);
    gt_fields_text(fields, "accuracy", row->accuracy);
    gt_fields_text(fields, "layout", row->layout);
    gt_fields_put(fields, "m", true, "%" PRId64, row->m);
    gt_fields_put(fields, "n", true, "%" PRId64, row->n);
    gt_fields_put(fields, "k", true, "%" PRId64, row->k);
    gt_fields_put(fields, "batch", true, "%" PRId64, row->batch);
}

static void put_row(struct gt_fields *fields, const struct gt_row *row)
{
    const bool timed = row->us > 0, compared = timed && row->baseline_us > 0;
    const bool bounded = timed && gt_interval_known(row->provenance, row->lo_us, row->hi_us);

    gt_fields_text(fields, "device", row->device);
    put_shape(fields, row);
    gt_fields_text(fields, "kernel", row->kernel);
    gt_fields_text(fields, "point", row->point);
    gt_fields_put(fields, "us", timed, "%.3f", row->us);
    gt_fields_put(fields, "lo_us", bounded, "%.3f", row->lo_us);
    gt_fields_put(fields, "hi_us", bounded, "%.3f", row->hi_us);
    gt_fields_put(fields, "cublas_us", compared, "%.3f", row->baseline_us);
    gt_fields_put(fields, "ratio", compared, "%.4f", row->baseline_us / row->us);
    gt_fields_put(fields, "err_u", /* `wrong` has an error but no time */
                  row->provenance == GT_MEASURED && (timed || row->err_u > 0), "%.3g", row->err_u);
    gt_fields_word(fields, "l2", gt_timing_name(row->timing));
    gt_fields_version(fields, "driver", row->driver);
    gt_fields_version(fields, "nvrtc", row->nvrtc);
    gt_fields_word(fields, "date", row->date);
    gt_fields_word(fields, "problem", row->problem);
}

static int put_csv(struct gt_fields *fields, const struct gt_export_out *out,
                   const struct gt_row *row, struct gt_err *err)
{
    char status[STATUS];

    (void)err;
    put_row(fields, row);
    if (!only_measured_winners(out->filter))
        gt_fields_word(fields, "status", status_of(out, row, status));
    return GT_OK;
}

const struct gt_export_ops gt_export_csv = {.put = put_csv};

/* ---- Markdown ---- */

static int put_md(struct gt_fields *fields, const struct gt_export_out *out,
                  const struct gt_row *row, struct gt_err *err)
{
    const double flops =
        2.0 * (double)row->m * (double)row->n * (double)row->k * (double)row->batch;
    const bool timed = row->us > 0, compared = timed && row->baseline_us > 0;
    const bool measured = row->provenance == GT_MEASURED;
    char status[STATUS];

    (void)err;
    gt_fields_text(fields, "device", row->device);
    gt_fields_text(fields, "problem", row->problem);
    gt_fields_text(fields, "kernel", row->kernel);
    gt_fields_text(fields, "point", row->point);
    gt_fields_put(fields, "us", timed, "%.2f", row->us);
    gt_fields_put(fields, "TFLOP/s", timed, "%.2f", flops / row->us * 1e-6);
    gt_fields_put(fields, "cuBLAS us", compared, "%.2f", row->baseline_us);
    gt_fields_put(fields, "ratio", compared, "%.3f", row->baseline_us / row->us);
    gt_fields_put(fields, "error, u", measured, "%.3g", row->err_u);
    gt_fields_word(fields, "L2", measured ? gt_timing_name(row->timing) : NULL);
    gt_fields_word(fields, "status", status_of(out, row, status));
    if (!fields->heading && row->status == GT_STATUS_OK && !measured)
        gt_strbuf_add(fields->text, ", not measured");
    return GT_OK;
}

const struct gt_export_ops gt_export_md = {.put = put_md, .form = GT_FIELDS_MD};

/* ---- JSON ----
 * One document: {"format", "version", "digest", "rows": [...]}, one row a line.  The digest is that
 * of the rows' text, as printed between the brackets. */

/* Adds a bound of the time's interval: null if the bound is not known, because nothing was measured
 * or a recording has no samples. */
static void put_bound(struct gt_fields *fields, const char *name, const struct gt_row *row,
                      double us)
{
    const bool known = gt_interval_known(row->provenance, row->lo_us, row->hi_us);

    if (known || !(row->us > 0))
        gt_fields_real(fields, name, row->us > 0, us);
    else
        gt_fields_put(fields, name, true, "null");
}

/* Adds the measurements.  A value that was not measured gets no key, because 0 would look like a
 * result. */
static void put_measurements(struct gt_fields *fields, const struct gt_row *row)
{
    const bool measured = row->provenance == GT_MEASURED, timed = row->us > 0;
    const bool compared = row->baseline_us > 0;

    gt_fields_word(fields, "result", gt_provenance_name(row->provenance));
    gt_fields_word(fields, "status", gt_status_name(row->status));
    gt_fields_put(fields, "stage", true, "%d", row->stage);
    gt_fields_real(fields, "us", timed, row->us);
    put_bound(fields, "lo_us", row, row->lo_us);
    put_bound(fields, "hi_us", row, row->hi_us);
    gt_fields_real(fields, "err_u", measured && (timed || row->err_u > 0), row->err_u);
    gt_fields_real(fields, "clock_mhz", measured && row->clock_mhz > 0, row->clock_mhz);
    gt_fields_text(fields, "baseline", compared ? row->baseline : NULL);
    gt_fields_real(fields, "cublas_us", compared, row->baseline_us);
    gt_fields_real(fields, "ratio", compared, timed ? row->baseline_us / row->us : 0);
    gt_fields_word(fields, "l2", gt_timing_name(row->timing));
    gt_fields_put(fields, "ties", true, "%d", row->ties);
    gt_fields_put(fields, "deterministic", true, row->deterministic ? "true" : "false");
    gt_fields_put(fields, "registers", true, "%d", row->registers);
    gt_fields_put(fields, "shared_bytes", true, "%" PRId64, row->shared_bytes);
    gt_fields_put(fields, "workspace_bytes", true, "%" PRId64, row->workspace_bytes);
    gt_fields_text(fields, "detail", row->detail);
    gt_fields_word(fields, "date", row->date);
}

static int put_json(struct gt_fields *fields, const struct gt_export_out *out,
                    const struct gt_row *row, struct gt_err *err)
{
    gt_fields_text(fields, "device", row->device);
    gt_fields_text(fields, "uuid", row->uuid);
    gt_fields_put(fields, "cc", true, "%d", row->cc);
    gt_fields_put(fields, "driver", true, "%d", row->driver);
    gt_fields_put(fields, "nvrtc", true, "%d", row->nvrtc);
    gt_fields_text(fields, "problem", row->problem);
    put_shape(fields, row);
    gt_fields_text(fields, "kernel", row->kernel);
    gt_fields_text(fields, "signature", row->signature);
    gt_fields_text(fields, "point", row->point);
    gt_fields_put(
        fields, "older_text",
        gt_export_older(out->request->today, row->kernel, row->signature, row->provenance), "true");
    put_measurements(fields, row);
    return gt_strbuf_check(out->text, err);
}

/* Puts the head in front of the rows; only now is its digest known. */
static int json_end(struct gt_export_out *out, struct gt_err *err)
{
    return gt_export_seal(out->text, "{\"format\":\"gemmtune-rows\",\"version\":1,\"digest\":\"",
                          "\",\"rows\":[\n", "\n]}\n", err);
}

const struct gt_export_ops gt_export_json = {
    .put = put_json, .form = GT_FIELDS_JSON, .end = json_end};

/* ---- the table of tune bench ----
 * Each problem's winner beside the vendor library, as last measured by tune bench or by the final
 * of a later sweep. */

#define ERR_ABOVE 1.25 /* times the baseline's error; errors above that are marked */

bool gt_export_err_above(double err_u, double baseline_err_u)
{
    return baseline_err_u > 0 && err_u > ERR_ABOVE * baseline_err_u;
}

double gt_export_bound_us(const struct gt_problem *problem, const struct gt_comparison *with,
                          int timing)
{
    return with->copy_gbps > 0 && timing != GT_TIMING_WARM
               ? gt_problem_traffic(problem) / (with->copy_gbps * 1e3)
               : 0;
}

static void put_ratio(struct gt_fields *fields, const char *name, double over_us, double under_us)
{
    gt_fields_put(fields, name, over_us > 0 && under_us > 0, "%.4f", over_us / under_us);
}

static void put_compared(struct gt_fields *fields, const struct gt_row *row, double bound_us,
                         const struct gt_comparison *with)
{
    const bool error = with->baseline_err_u > 0, untuned = with->untuned_us > 0;

    put_row(fields, row);
    gt_fields_put(fields, "bound_us", bound_us > 0, "%.3f", bound_us);
    put_ratio(fields, "memory", bound_us, row->us);
    gt_fields_put(fields, "move_us", with->move_us > 0, "%.3f", with->move_us);
    put_ratio(fields, "moved", with->move_us, row->us);
    gt_fields_put(fields, "cublas_err_u", error, "%.3g", with->baseline_err_u);
    gt_fields_put(fields, "err_above", error, "%d",
                  gt_export_err_above(row->err_u, with->baseline_err_u));
    gt_fields_put(fields, "best_us", with->best_us > 0, "%.3f", with->best_us);
    put_ratio(fields, "best_ratio", row->baseline_us, with->best_us);
    gt_fields_put(fields, "untuned_us", untuned, "%.3f", with->untuned_us);
    put_ratio(fields, "untuned_ratio", row->baseline_us, with->untuned_us);
    gt_fields_put(fields, "worse_by_tuning", untuned, "%d", with->worse);
    gt_fields_word(fields, "untuned", with->untuned);
}

void gt_export_bench_heading(struct gt_strbuf *text)
{
    put_compared(&(struct gt_fields){.text = text, .heading = true}, &(struct gt_row){0}, 0,
                 &(struct gt_comparison){0});
}

void gt_export_bench_fields(struct gt_strbuf *text, const struct gt_row *row,
                            const struct gt_problem *problem, const struct gt_comparison *with)
{
    put_compared(&(struct gt_fields){.text = text}, row,
                 gt_export_bound_us(problem, with, row->timing), with);
}

static void bench_begin(struct gt_export_out *out)
{
    gt_export_bench_heading(out->text);
    gt_strbuf_add_char(out->text, '\n');
}

static int put_bench(struct gt_fields *fields, const struct gt_export_out *out,
                     const struct gt_row *row, struct gt_err *err)
{
    struct gt_problem problem;
    int rc = gt_problem_parse(&problem, row->problem, err);

    if (rc)
        return rc;
    put_compared(fields, row, gt_export_bound_us(&problem, out->with, row->timing), out->with);
    return GT_OK;
}

const struct gt_export_ops gt_export_bench = {
    .begin = bench_begin,
    .put = put_bench,
    .winners_only = true,
    .measured = true,
    .compared = true,
};
