/* export_shipped.c - winners as the text table that libgemmtune reads (src/table.c): a digest, the
 * names of the columns, then one winner a line, so that a change shows as a diff. */
#include "export_format.h"

#include "../src/digest.h"
#include "../src/table.h"

static void shipped_begin(struct gt_export_out *out)
{
    gt_strbuf_add(out->text, GT_TABLE_COLUMNS "\n");
}

static int shipped_row(struct gt_export_out *out, const struct gt_row *row, struct gt_err *err)
{
    const char *const names[] = {row->device, row->problem, row->kernel, row->signature,
                                 row->point};
    struct gt_strbuf *text = out->text;

    (void)err;
    gt_strbuf_addf(text, "%d,%s,", row->cc, gt_provenance_name(row->provenance));
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        gt_export_field(text, names[i], false);
        gt_strbuf_add_char(text, ',');
    }
    gt_strbuf_addf(text, "%s,%.3f,%.3f,%.3f,%.3f,%.3g,%d,%d,%s\n", row->warm_l2 ? "warm" : "cold",
                   row->us, row->lo_us, row->hi_us, row->baseline_us, row->err_u, row->driver,
                   row->nvrtc, row->date);
    return GT_OK;
}

static int shipped_end(struct gt_export_out *out, struct gt_err *err)
{
    struct gt_strbuf all = GT_STRBUF_INIT;
    char digest[GT_DIGEST_HEX];

    gt_digest_bytes(out->text->text, out->text->length, digest);
    gt_strbuf_addf(&all, GT_TABLE_MAGIC "%s\n", digest);
    gt_strbuf_add_bytes(&all, out->text->text, out->text->length);
    gt_strbuf_release(out->text);
    *out->text = all;
    return gt_strbuf_check(&all, err);
}

const struct gt_export_ops gt_export_shipped = {
    .begin = shipped_begin,
    .row = shipped_row,
    .end = shipped_end,
    .winners_only = true,
    .deployed = true,
};
