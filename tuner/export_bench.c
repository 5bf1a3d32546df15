/* export_bench.c - the table of tune bench out of a database: of each problem the winner beside the
 * vendor library, as it was measured last, by tune bench or by the final of a later sweep. */
#include "export_format.h"

#include "../src/problem.h"

static void bench_begin(struct gt_export_out *out)
{
    gt_strbuf_add(out->text, GT_EXPORT_CSV_COLUMNS ",bound_us,memory\n");
}

static int bench_row(struct gt_export_out *out, const struct gt_row *row, struct gt_err *err)
{
    struct gt_strbuf *text = out->text;
    struct gt_problem problem;
    int rc = gt_problem_parse(&problem, row->problem, err);

    if (rc)
        return rc;
    gt_export_csv_fields(text, row);
    if (out->copy_gbps > 0 && !row->warm_l2) {
        const double bound_us = gt_problem_traffic(&problem) / (out->copy_gbps * 1e3);

        gt_strbuf_addf(text, ",%.3f,%.4f\n", bound_us, bound_us / row->us);
    } else {
        gt_strbuf_add(text, ",,\n");
    }
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
