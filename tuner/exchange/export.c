/* export.c - writes rows of a database as text: chooses the format, and writes CSV and Markdown.
 * JSON, C and the library's own table have their own files. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "exchange/export_format.h"
#include "lookup/table.h"
#include "problem/problem.h"
#include "problem/trial.h"

static const char *const names[GT_EXPORT_COUNT] = {
#define GT_EXPORT_NAME(name, text, doc) text,
    GT_EXPORT_MAP(GT_EXPORT_NAME)
#undef GT_EXPORT_NAME
};

/* Whether every row is a measured winner, so that no status has to be printed. */
static bool only_measured_winners(const struct gt_row_filter *filter)
{
    return filter->provenance == 1u << GT_MEASURED && filter->winners_only;
}

static void csv_begin(struct gt_export_out *out)
{
    gt_strbuf_add(out->text, GT_EXPORT_CSV_COLUMNS);
    gt_strbuf_add(out->text, only_measured_winners(out->filter) ? "\n" : ",status\n");
}

static const char *gt_export_status(const struct gt_export_out *out, const struct gt_row *row,
                                    char text[GT_EXPORT_STATUS])
{
    snprintf(text, GT_EXPORT_STATUS, "%s%s",
             row->status == GT_STATUS_OK ? gt_provenance_name(row->provenance)
                                         : gt_status_name(row->status),
             gt_export_older(out->today, row->kernel, row->signature, row->provenance)
                 ? " (older text)"
                 : "");
    return text;
}

static int csv_row(struct gt_export_out *out, const struct gt_row *row, struct gt_err *err)
{
    char status[GT_EXPORT_STATUS];

    (void)err;
    gt_export_csv_fields(out->text, row);
    if (!only_measured_winners(out->filter))
        gt_strbuf_addf(out->text, ",%s", gt_export_status(out, row, status));
    gt_strbuf_add_char(out->text, '\n');
    return GT_OK;
}

const struct gt_export_ops gt_export_csv = {.begin = csv_begin, .row = csv_row};

/* Writes a cell, with the characters that would end it escaped, and what follows it. */
static void md_cell(struct gt_strbuf *text, const char *cell, const char *after)
{
    const size_t begin = text->length;

    for (; *cell; cell++)
        if (strchr("|\\`<*_", *cell))
            gt_strbuf_addf(text, "\\%c", *cell);
        else
            gt_strbuf_add_char(text, *cell);
    if (!text->failed && text->length > begin)
        gt_export_clean(text->text + begin);
    gt_strbuf_add(text, after);
}

static int md_row(struct gt_export_out *out, const struct gt_row *row, struct gt_err *err)
{
    struct gt_strbuf *text = out->text;
    double flops = 2.0 * (double)row->m * (double)row->n * (double)row->k * (double)row->batch;
    char status[GT_EXPORT_STATUS];

    (void)err;
    gt_strbuf_add(text, "| ");
    md_cell(text, row->device, " | ");
    md_cell(text, row->problem, " | ");
    md_cell(text, row->kernel, " | ");
    md_cell(text, row->point, " | ");
    if (row->us > 0)
        gt_strbuf_addf(text, "%.2f | %.2f | ", row->us, flops / row->us * 1e-6);
    else
        gt_strbuf_add(text, "- | - | ");
    if (row->baseline_us > 0 && row->us > 0)
        gt_strbuf_addf(text, "%.2f | %.3f | ", row->baseline_us, row->baseline_us / row->us);
    else
        gt_strbuf_add(text, "- | - | ");
    if (row->provenance != GT_MEASURED)
        gt_strbuf_add(text, "- | - | ");
    else
        gt_strbuf_addf(text, "%.3g | %s | ", row->err_u, gt_timing_name(row->timing));
    md_cell(text, gt_export_status(out, row, status),
            row->status == GT_STATUS_OK && row->provenance != GT_MEASURED ? ", not measured |\n"
                                                                          : " |\n");
    return GT_OK;
}

static void md_begin(struct gt_export_out *out)
{
    gt_strbuf_add(out->text,
                  "| device | problem | kernel | point | us | TFLOP/s | cuBLAS us | ratio |"
                  " error, u | L2 | status |\n"
                  "|---|---|---|---|---:|---:|---:|---:|---:|---|---|\n");
}

const struct gt_export_ops gt_export_md = {.begin = md_begin, .row = md_row};

static const struct gt_export_ops *const formats[GT_EXPORT_COUNT] = {
    [GT_EXPORT_CSV] = &gt_export_csv,         [GT_EXPORT_JSON] = &gt_export_json,
    [GT_EXPORT_MD] = &gt_export_md,           [GT_EXPORT_C] = &gt_export_c,
    [GT_EXPORT_SHIPPED] = &gt_export_shipped, [GT_EXPORT_BENCH] = &gt_export_bench,
    [GT_EXPORT_SEARCH] = &gt_export_search,   [GT_EXPORT_ENERGY] = &gt_export_energy,
    [GT_EXPORT_TRIALS] = &gt_export_trials,   [GT_EXPORT_KT_CACHE] = &gt_export_kernel_tuner,
    [GT_EXPORT_T4] = &gt_export_t4,           [GT_EXPORT_T4_METADATA] = &gt_export_t4_metadata,
};

const char *gt_export_name(enum gt_export_format format)
{
    return names[format];
}

int gt_export_parse(const char *text, enum gt_export_format *format, struct gt_err *err)
{
    for (int i = 0; i < GT_EXPORT_COUNT; i++)
        if (strcmp(text, names[i]) == 0) {
            *format = (enum gt_export_format)i;
            return GT_OK;
        }
    return gt_err_set(err, GT_ENOTFOUND,
                      "there is no export format \"%s\"; there are csv, json, md, c, shipped, "
                      "bench, search, energy, trials, kt-cache, t4, t4-metadata, db and deploy",
                      text);
}

bool gt_export_older(const struct gt_kernels *today, const char *kernel, const char *signature,
                     enum gt_provenance provenance)
{
    for (size_t i = 0; today && i < today->count && provenance != GT_REPLAYED; i++)
        if (strcmp(today->kernel[i]->name, kernel) == 0)
            return strcmp(today->kernel[i]->signature, signature) != 0;
    return false;
}

void gt_export_clean(char *text)
{
    for (size_t i = 0; text[i]; i++)
        if (gt_is_control(text, i)) /* the second byte of U+0080 to U+009F: U+00BF instead */
            text[i] = (unsigned char)text[i] < 0x80 ? ' ' : (char)0xbf;
}

void gt_export_field(struct gt_strbuf *text, const char *field, bool free_text)
{
    const size_t begin = text->length;
    bool quote = strpbrk(field, ",\"\r\n") != NULL;

    if (quote)
        gt_strbuf_add_char(text, '"');
    if (free_text && *field && strchr("=+-@\t\r", *field))
        gt_strbuf_add_char(text, '\'');
    for (; *field; field++) {
        if (*field == '"')
            gt_strbuf_add_char(text, '"');
        gt_strbuf_add_char(text, *field);
    }
    if (quote)
        gt_strbuf_add_char(text, '"');
    if (!text->failed && text->length > begin)
        gt_export_clean(text->text + begin);
}

void gt_export_version(struct gt_strbuf *text, int version)
{
    if (version > 0)
        gt_strbuf_addf(text, "%d.%d", version / 1000, version % 1000 / 10);
}

void gt_export_csv_fields(struct gt_strbuf *text, const struct gt_row *row)
{
    gt_export_field(text, row->device, true);
    gt_strbuf_add_char(text, ',');
    gt_export_field(text, row->dtype, true);
    gt_strbuf_add_char(text, ',');
    gt_export_field(text, row->accuracy, true);
    gt_strbuf_add_char(text, ',');
    gt_export_field(text, row->layout, true);
    gt_strbuf_addf(text, ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",", row->m, row->n,
                   row->k, row->batch);
    gt_export_field(text, row->kernel, true);
    gt_strbuf_add_char(text, ',');
    gt_export_field(text, row->point, true);
    if (row->us > 0 && !gt_interval_known(row->provenance, row->lo_us, row->hi_us))
        gt_strbuf_addf(text, ",%.3f,,,", row->us);
    else if (row->us > 0)
        gt_strbuf_addf(text, ",%.3f,%.3f,%.3f,", row->us, row->lo_us, row->hi_us);
    else
        gt_strbuf_add(text, ",,,,");
    if (row->baseline_us > 0 && row->us > 0)
        gt_strbuf_addf(text, "%.3f,%.4f,", row->baseline_us, row->baseline_us / row->us);
    else
        gt_strbuf_add(text, ",,");
    if (row->provenance == GT_MEASURED &&
        (row->us > 0 || row->err_u > 0)) /* `wrong` has an error but no time */
        gt_strbuf_addf(text, "%.3g", row->err_u);
    gt_strbuf_addf(text, ",%s,", gt_timing_name(row->timing));
    gt_export_version(text, row->driver);
    gt_strbuf_add_char(text, ',');
    gt_export_version(text, row->nvrtc);
    gt_strbuf_addf(text, ",%s,", row->date);
    gt_export_field(text, row->problem, false);
}

struct pass {
    const struct gt_export_ops *ops;
    struct gt_export_out out;
};

static int add_row(void *context, const struct gt_row *row, struct gt_err *err)
{
    struct pass *pass = context;
    int code;

    if ((pass->ops->deployed && !gt_row_serves(row)) ||
        !gt_row_asked(pass->out.filter, row->device))
        return GT_OK;
    code = pass->ops->row(&pass->out, row, err);
    pass->out.rows++;
    return code;
}

static int add_compared(void *context, const struct gt_row *row, const struct gt_comparison *with,
                        struct gt_err *err)
{
    struct pass *pass = context;

    pass->out.with = with;
    return add_row(context, row, err);
}

static int read_rows(struct pass *pass, struct gt_store *store, const struct gt_row_filter *filter,
                     struct gt_err *err)
{
    return pass->ops->compared ? gt_store_compared(store, filter, add_compared, pass, err)
                               : gt_store_rows(store, filter, add_row, pass, err);
}

/* The rows of the filter, in the way of the format. */
static int read_all(struct pass *pass, struct gt_store *store, const struct gt_row_filter *filter,
                    struct gt_err *err)
{
    if (!pass->ops->rows)
        return read_rows(pass, store, filter, err);
    pass->out.filter = filter;
    return pass->ops->rows(&pass->out, store, err);
}

static int write_rows(struct pass *pass, const struct gt_export_request *request,
                      struct gt_store *store, struct gt_err *err)
{
    struct gt_row_filter filter = *pass->out.filter;
    char text[GT_PROBLEM_TEXT_MAX];
    int code = GT_OK;

    if (pass->ops->begin)
        pass->ops->begin(&pass->out);
    if (!request->problems)
        code = read_all(pass, store, &filter, err);
    for (size_t i = 0; i < request->problems && !code; i++) {
        gt_problem_format(&request->problem[i], text);
        filter.problem = text;
        code = read_all(pass, store, &filter, err);
    }
    GT_STEP(code, gt_strbuf_check(pass->out.text, err)); /* `end` may replace the buffer */
    return code || !pass->ops->end ? code : pass->ops->end(&pass->out, err);
}

/* Writes a format that is not built row by row. */
static int write_whole(struct pass *pass, struct gt_row_filter *filter,
                       const struct gt_export_request *request, struct gt_store *store,
                       struct gt_err *err)
{
    char text[GT_PROBLEM_TEXT_MAX];
    int code;

    if (request->problems > 1)
        return gt_err_set(err, GT_ERANGE, "the format %s takes one problem, not %zu",
                          gt_export_name(request->format), request->problems);
    if (request->problems) {
        gt_problem_format(request->problem, text);
        filter->problem = text;
    }
    code = pass->ops->whole(&pass->out, store, err);
    filter->problem = request->filter.problem;
    return code;
}

int gt_export(FILE *file, const struct gt_export_request *request, struct gt_store *store,
              int64_t *rows, struct gt_err *err)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    struct gt_row_filter filter = request->filter;
    struct pass pass = {formats[request->format],
                        {.text = &text,
                         .filter = &filter,
                         .keep = request->keep,
                         .json = request->json,
                         .today = request->today,
                         .objective = request->objective}};
    int code;

    if (pass.ops->winners_only)
        filter.winners_only = true;
    if (pass.ops->measured)
        filter.provenance = 1u << GT_MEASURED;
    if (pass.ops->deployed && !filter.provenance)
        filter.provenance = 1u << GT_MEASURED | 1u << GT_PREDICTED;
    code = pass.ops->whole ? write_whole(&pass, &filter, request, store, err)
                           : write_rows(&pass, request, store, err);
    GT_STEP(code, gt_strbuf_check(&text, err));
    errno = 0;
    if (!code && (fwrite(text.text, 1, text.length, file) != text.length || fflush(file) != 0))
        code = gt_err_set(err, GT_EIO, "cannot write the export: %s",
                          errno ? strerror(errno) : "the file took only a part");
    gt_strbuf_release(&text);
    if (!code && rows)
        *rows = pass.out.rows;
    return code;
}
