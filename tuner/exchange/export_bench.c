/* export_bench.c - writes the table of tune bench from a database: for each problem the winner
 * beside the vendor library, as measured last by tune bench or by the final of a later sweep. */
#include "exchange/export_format.h"

#include "problem/problem.h"

#define ERR_ABOVE 1.25 /* times the baseline's error; larger errors are marked */

const char gt_export_bench_columns[] =
    GT_EXPORT_CSV_COLUMNS ",bound_us,memory,move_us,moved,cublas_err_u,err_above,best_us,"
                          "best_ratio,untuned_us,untuned_ratio,worse_by_tuning,untuned";

bool gt_export_err_above(double err_u, double baseline_err_u)
{
    return baseline_err_u > 0 && err_u > ERR_ABOVE * baseline_err_u;
}

static void bench_begin(struct gt_export_out *out)
{
    gt_strbuf_addf(out->text, "%s\n", gt_export_bench_columns);
}

/* Adds two fields, a time and a ratio to it; a field is empty if its value is not known. */
static void add_pair(struct gt_strbuf *text, double time_us, double over_us, double under_us)
{
    if (time_us > 0)
        gt_strbuf_addf(text, ",%.3f,", time_us);
    else
        gt_strbuf_add(text, ",,");
    if (over_us > 0 && under_us > 0)
        gt_strbuf_addf(text, "%.4f", over_us / under_us);
}

double gt_export_bound_us(const struct gt_problem *problem, const struct gt_comparison *with,
                          int timing)
{
    return with->copy_gbps > 0 && timing != GT_TIMING_WARM
               ? gt_problem_traffic(problem) / (with->copy_gbps * 1e3)
               : 0;
}

void gt_export_bench_fields(struct gt_strbuf *text, const struct gt_row *row,
                            const struct gt_problem *problem, const struct gt_comparison *with)
{
    const double bound_us = gt_export_bound_us(problem, with, row->timing);

    gt_export_csv_fields(text, row);
    add_pair(text, bound_us, bound_us, row->us);
    add_pair(text, with->move_us, with->move_us, row->us);
    if (with->baseline_err_u > 0)
        gt_strbuf_addf(text, ",%.3g,%d", with->baseline_err_u,
                       gt_export_err_above(row->err_u, with->baseline_err_u));
    else
        gt_strbuf_add(text, ",,");
    add_pair(text, with->best_us, row->baseline_us, with->best_us);
    add_pair(text, with->untuned_us, row->baseline_us, with->untuned_us);
    if (with->untuned_us > 0)
        gt_strbuf_addf(text, ",%d,", with->worse);
    else
        gt_strbuf_add(text, ",,");
    gt_export_field(text, with->untuned ? with->untuned : "", false);
}

static int bench_row(struct gt_export_out *out, const struct gt_row *row, struct gt_err *err)
{
    struct gt_problem problem;
    int rc = gt_problem_parse(&problem, row->problem, err);

    if (rc)
        return rc;
    gt_export_bench_fields(out->text, row, &problem, out->with);
    gt_strbuf_add_char(out->text, '\n');
    return GT_OK;
}

const struct gt_export_ops gt_export_bench = {
    .begin = bench_begin,
    .row = bench_row,
    .winners_only = true,
    .measured = true,
    .compared = true,
};
