/* export_rows.c - the rows of a database as CSV, Markdown and JSON, and as the table of tune bench.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"
#include "base/stats.h"
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

static void put_shape(struct gt_fields *fields, const struct gt_row *row)
{
    gt_fields_add(fields,
                  "dtype=%s accuracy=%s layout=%s m=%" PRId64 " n=%" PRId64 " k=%" PRId64
                  " batch=%" PRId64,
                  row->dtype, row->accuracy, row->layout, row->m, row->n, row->k, row->batch);
}

/* A failure such as `wrong` has an error but no time. */
static double error_of(const struct gt_row *row)
{
    return gt_if(row->provenance == GT_MEASURED && (row->us > 0 || row->err_u > 0), row->err_u);
}

static double ratio(double over_us, double under_us)
{
    return gt_if(over_us > 0 && under_us > 0, over_us / under_us);
}

static void put_row(struct gt_fields *fields, const struct gt_row *row)
{
    const bool timed = row->us > 0;
    const bool bounded = timed && gt_interval_known(row->provenance, row->lo_us, row->hi_us);
    char driver[GT_VERSION_TEXT], nvrtc[GT_VERSION_TEXT];

    gt_fields_add(fields, "device=%s", row->device);
    put_shape(fields, row);
    gt_fields_add(fields,
                  "kernel=%s point=%s us=%+.3f lo_us=%.3f hi_us=%.3f cublas_us=%+.3f ratio=%.4f "
                  "err_u=%.3g l2=%s driver=%s nvrtc=%s date=%s problem=%s",
                  row->kernel, row->point, row->us, gt_if(bounded, row->lo_us),
                  gt_if(bounded, row->hi_us), gt_if(timed, row->baseline_us),
                  ratio(row->baseline_us, row->us), error_of(row), gt_timing_name(row->timing),
                  gt_export_version(driver, row->driver), gt_export_version(nvrtc, row->nvrtc),
                  row->date, row->problem);
}

static int put_csv(struct gt_fields *fields, const struct gt_export_out *out,
                   const struct gt_row *row, struct gt_err *err)
{
    char status[STATUS];

    (void)err;
    put_row(fields, row);
    if (out->filter->provenance != 1u << GT_MEASURED || !out->filter->winners_only)
        gt_fields_add(fields, "status=%s", status_of(out, row, status));
    return GT_OK;
}

const struct gt_export_ops gt_export_csv = {.put = put_csv};

/* ---- Markdown ---- */

static int put_md(struct gt_fields *fields, const struct gt_export_out *out,
                  const struct gt_row *row, struct gt_err *err)
{
    const double flops =
        2.0 * (double)row->m * (double)row->n * (double)row->k * (double)row->batch;
    const bool measured = row->provenance == GT_MEASURED;
    char status[STATUS];

    (void)err;
    gt_fields_add(fields,
                  "device=%s problem=%s kernel=%s point=%s us=%+.2f TFLOP/s=%.2f cuBLAS_us=%+.2f "
                  "ratio=%.3f error,_u=%.3g L2=%s status=%s",
                  row->device, row->problem, row->kernel, row->point, row->us,
                  gt_if(row->us > 0, flops / row->us * 1e-6), gt_if(row->us > 0, row->baseline_us),
                  ratio(row->baseline_us, row->us), gt_if(measured, row->err_u),
                  gt_text_if(measured, gt_timing_name(row->timing)), status_of(out, row, status));
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
static void put_bound(struct gt_fields *fields, const char *format, const char *name,
                      const struct gt_row *row, double us)
{
    if (!(row->us > 0))
        return;
    if (gt_interval_known(row->provenance, row->lo_us, row->hi_us))
        gt_fields_add(fields, format, us);
    else
        gt_strbuf_add(gt_fields_value(fields, name), "null");
}

/* Adds the measurements.  A value that was not measured gets no key, because 0 would look like a
 * result. */
static void put_measurements(struct gt_fields *fields, const struct gt_row *row)
{
    const bool measured = row->provenance == GT_MEASURED, compared = row->baseline_us > 0;

    gt_fields_add(fields, "result=%s status=%s stage=%d us=%+g",
                  gt_provenance_name(row->provenance), gt_status_name(row->status), row->stage,
                  row->us);
    put_bound(fields, "lo_us=%g", "lo_us", row, row->lo_us);
    put_bound(fields, "hi_us=%g", "hi_us", row, row->hi_us);
    gt_fields_add(fields,
                  "err_u=%g clock_mhz=%+g baseline=%s cublas_us=%+g ratio=%g l2=%s ties=%d "
                  "deterministic=%i registers=%d shared_bytes=%" PRId64 " workspace_bytes=%" PRId64
                  " detail=%s date=%s",
                  error_of(row), gt_if(measured, row->clock_mhz), compared ? row->baseline : NULL,
                  row->baseline_us, gt_if(compared, row->us > 0 ? row->baseline_us / row->us : 0),
                  gt_timing_name(row->timing), row->ties, row->deterministic, row->registers,
                  row->shared_bytes, row->workspace_bytes, row->detail, row->date);
}

static int put_json(struct gt_fields *fields, const struct gt_export_out *out,
                    const struct gt_row *row, struct gt_err *err)
{
    gt_fields_add(fields, "device=%s uuid=%s cc=%d driver=%d nvrtc=%d problem=%s", row->device,
                  row->uuid, row->cc, row->driver, row->nvrtc, row->problem);
    put_shape(fields, row);
    gt_fields_add(fields, "kernel=%s signature=%s point=%s", row->kernel, row->signature,
                  row->point);
    if (gt_export_older(out->request->today, row->kernel, row->signature, row->provenance))
        gt_fields_add(fields, "older_text=%i", true);
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

static void put_compared(struct gt_fields *fields, const struct gt_row *row, double bound_us,
                         const struct gt_comparison *with)
{
    const bool error = with->baseline_err_u > 0, untuned = with->untuned_us > 0;

    put_row(fields, row);
    gt_fields_add(
        fields,
        "bound_us=%+.3f memory=%.4f move_us=%+.3f moved=%.4f cublas_err_u=%+.3g "
        "err_above=%.0f best_us=%+.3f best_ratio=%.4f untuned_us=%+.3f "
        "untuned_ratio=%.4f worse_by_tuning=%.0f untuned=%s",
        bound_us, ratio(bound_us, row->us), with->move_us, ratio(with->move_us, row->us),
        with->baseline_err_u, gt_if(error, gt_export_err_above(row->err_u, with->baseline_err_u)),
        with->best_us, ratio(row->baseline_us, with->best_us), with->untuned_us,
        ratio(row->baseline_us, with->untuned_us), gt_if(untuned, with->worse), with->untuned);
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
