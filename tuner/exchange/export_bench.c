/* export_bench.c - the table of tune bench out of a database: of each problem the winner beside the
 * vendor library, as it was measured last, by tune bench or by the final of a later sweep. */
#include "exchange/export_format.h"

#include "problem/problem.h"

static void bench_begin(struct gt_export_out *out)
{
    gt_strbuf_add(out->text, GT_EXPORT_CSV_COLUMNS ",bound_us,memory,move_us,moved\n");
}

/* Two fields: a bound and its share of the time. */
static void add_bound(struct gt_strbuf *text, double bound_us, double us)
{
    if (bound_us > 0)
        gt_strbuf_addf(text, ",%.3f,%.4f", bound_us, bound_us / us);
    else
        gt_strbuf_add(text, ",,");
}

static int bench_row(struct gt_export_out *out, const struct gt_row *row, struct gt_err *err)
{
    bool bounded = out->copy_gbps > 0 && !row->warm_l2;
    struct gt_problem problem;
    int rc = gt_problem_parse(&problem, row->problem, err);

    if (rc)
        return rc;
    gt_export_csv_fields(out->text, row);
    add_bound(out->text, bounded ? gt_problem_traffic(&problem) / (out->copy_gbps * 1e3) : 0,
              row->us);
    add_bound(out->text, out->move_us, row->us);
    gt_strbuf_add_char(out->text, '\n');
    return GT_OK;
}

static int bench_end(struct gt_export_out *out, struct gt_err *err)
{
    (void)out;
    (void)err;
    return GT_OK;
}

const struct gt_export_ops gt_export_bench = {
    .begin = bench_begin,
    .row = bench_row,
    .end = bench_end,
    .winners_only = true,
    .measured = true,
    .compared = true,
};
