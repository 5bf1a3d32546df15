/* export.c - writes rows of a database as text, in one of the formats. */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "exchange/export_format.h"
#include "problem/problem.h"

static const struct {
    const char *name;
    const struct gt_export_ops *ops;
} formats[GT_EXPORT_COUNT] = {
#define GT_EXPORT_FORMAT(name, text, ops) {text, &gt_export_##ops},
    GT_EXPORT_MAP(GT_EXPORT_FORMAT)
#undef GT_EXPORT_FORMAT
};

const char *gt_export_name(enum gt_export_format format)
{
    return formats[format].name;
}

int gt_export_parse(const char *text, enum gt_export_format *format, struct gt_err *err)
{
    for (int i = 0; i < GT_EXPORT_COUNT; i++)
        if (strcmp(text, formats[i].name) == 0) {
            *format = (enum gt_export_format)i;
            return GT_OK;
        }
    return gt_err_set(err, GT_ENOTFOUND,
                      "there is no export format \"%s\"; there are csv, json, md, c, shipped, "
                      "bench, search, energy, trials, kt-cache, t4, t4-metadata, db and deploy",
                      text);
}

/* ---- records ---- */

static int put_record(struct gt_export_out *out, const struct gt_row *row, bool heading,
                      struct gt_err *err)
{
    struct gt_fields fields = {.text = out->text, .form = out->ops->form, .heading = heading};
    int code;

    if (fields.form == GT_FIELDS_JSON && out->rows)
        gt_strbuf_add(out->text, ",\n");
    code = out->ops->put(&fields, out, row, err);
    gt_fields_end(&fields);
    return code;
}

/* Writes the names of the columns, with an empty row. */
static int put_heading(struct gt_export_out *out, struct gt_err *err)
{
    int code = put_record(out, &(struct gt_row){0}, true, err);

    if (out->ops->form == GT_FIELDS_MD) /* texts are aligned to the left, numbers to the right */
        gt_strbuf_add(out->text, "|---|---|---|---|---:|---:|---:|---:|---:|---|---|\n");
    return code;
}

/* ---- rows ---- */

static int add_row(void *context, const struct gt_row *row, struct gt_err *err)
{
    struct gt_export_out *out = context;
    int code;

    if ((out->ops->deployed && !gt_row_serves(row)) || !gt_row_asked(out->filter, row->device))
        return GT_OK;
    code = out->ops->put ? put_record(out, row, false, err) : out->ops->row(out, row, err);
    out->rows++;
    return code;
}

static int add_compared(void *context, const struct gt_row *row, const struct gt_comparison *with,
                        struct gt_err *err)
{
    struct gt_export_out *out = context;

    out->with = with;
    return add_row(context, row, err);
}

/* Writes the rows that the filter selects. */
static int add_rows(struct gt_export_out *out, struct gt_store *store, struct gt_err *err)
{
    if (out->ops->rows)
        return out->ops->rows(out, store, err);
    return out->ops->compared ? gt_store_compared(store, out->filter, add_compared, out, err)
                              : gt_store_rows(store, out->filter, add_row, out, err);
}

static int write_rows(struct gt_export_out *out, struct gt_row_filter *filter,
                      struct gt_store *store, struct gt_err *err)
{
    const struct gt_export_request *request = out->request;
    char text[GT_PROBLEM_TEXT_MAX];
    int code = GT_OK;

    if (out->ops->one_problem && request->problems > 1)
        return gt_err_set(err, GT_ERANGE, "the format %s takes one problem, not %zu",
                          gt_export_name(request->format), request->problems);
    gt_strbuf_add(out->text, out->ops->head ? out->ops->head : "");
    if (out->ops->begin)
        out->ops->begin(out);
    else if (out->ops->put && out->ops->form != GT_FIELDS_JSON)
        code = put_heading(out, err);
    if (!request->problems && !code)
        code = add_rows(out, store, err);
    for (size_t i = 0; i < request->problems && !code; i++) {
        gt_problem_format(&request->problem[i], text);
        filter->problem = text;
        code = add_rows(out, store, err);
    }
    filter->problem = request->filter.problem;
    gt_strbuf_add(out->text, out->ops->tail ? out->ops->tail : "");
    GT_STEP(code, gt_strbuf_check(out->text, err)); /* `end` may replace the buffer */
    return code || !out->ops->end ? code : out->ops->end(out, err);
}

int gt_export(FILE *file, const struct gt_export_request *request, struct gt_store *store,
              int64_t *rows, struct gt_err *err)
{
    const struct gt_export_ops *ops = formats[request->format].ops;
    struct gt_strbuf text = GT_STRBUF_INIT;
    struct gt_row_filter filter = request->filter;
    struct gt_export_out out = {.ops = ops, .text = &text, .request = request, .filter = &filter};
    int code;

    filter.winners_only |= ops->winners_only;
    if (ops->measured)
        filter.provenance = 1u << GT_MEASURED;
    if (ops->deployed && !filter.provenance)
        filter.provenance = 1u << GT_MEASURED | 1u << GT_PREDICTED;
    code = write_rows(&out, &filter, store, err);
    GT_STEP(code, gt_strbuf_check(&text, err));
    errno = 0;
    if (!code && (fwrite(text.text, 1, text.length, file) != text.length || fflush(file) != 0))
        code = gt_err_set(err, GT_EIO, "cannot write the export: %s",
                          errno ? strerror(errno) : "the file took only a part");
    gt_strbuf_release(&text);
    if (!code && rows)
        *rows = out.rows;
    return code;
}
