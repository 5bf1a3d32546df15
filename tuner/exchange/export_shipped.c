/* export_shipped.c - writes winners as the text table that libgemmtune reads (src/lookup/table.c):
 * a digest, the names of the columns, then one winner a line in byte order, so that a change shows
 * as a diff.  Rows of an earlier table may be kept. */
#include "exchange/export_format.h"

#include "base/digest.h"
#include "base/err.h"
#include "lookup/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void shipped_begin(struct gt_export_out *out)
{
    gt_strbuf_add(out->text, GT_TABLE_COLUMNS GT_TABLE_CONTEST "\n");
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
    gt_strbuf_addf(text, "%s,%.3f,%.3f,%.3f,%.3f,%.3g,%d,%d,%s,%d,%" PRId64 "\n",
                   gt_timing_name(row->timing), row->us, row->lo_us, row->hi_us, row->baseline_us,
                   row->err_u, row->driver, row->nvrtc, row->date, row->stage, row->trials);
    return GT_OK;
}

int gt_export_seal(struct gt_strbuf *text, const char *magic, struct gt_err *err)
{
    struct gt_strbuf all = GT_STRBUF_INIT;
    char digest[GT_DIGEST_HEX];
    int rc = gt_strbuf_check(text, err);

    if (rc)
        return rc;
    gt_digest_bytes(text->text, text->length, digest);
    gt_strbuf_addf(&all, "%s%s\n", magic, digest);
    gt_strbuf_add_bytes(&all, text->text, text->length);
    gt_strbuf_release(text);
    *text = all;
    return gt_strbuf_check(&all, err);
}

/* ---- rows that are kept ---- */

/* Whether the kernel's text is still the row's, and rows of its kind were asked for. */
static bool still_holds(const struct gt_table_row *row, const struct gt_row_filter *filter)
{
    const struct gt_kernels *kernels = filter->kernels;

    if (row->predicted && !(filter->provenance & 1u << GT_PREDICTED))
        return false;
    for (size_t i = 0; kernels && i < kernels->count; i++)
        if (strcmp(kernels->kernel[i]->name, row->kernel) == 0)
            return strcmp(kernels->kernel[i]->signature, row->signature) == 0;
    return !kernels || filter->others;
}

/* Whether the table has a winner that replaces this row: one that never won a final does not
 * replace one that did. */
static bool has_winner(const struct gt_table *table, const struct gt_table_row *of)
{
    for (size_t i = 0; i < table->rows; i++) {
        const struct gt_table_row *row = &table->row[i];

        if (row->cc == of->cc && row->timing == of->timing && row->predicted <= of->predicted &&
            row->contested >= of->contested && strcmp(row->device, of->device) == 0 &&
            strcmp(row->text, of->text) == 0)
            return true;
    }
    return false;
}

/* Adds the lines of the earlier table that are kept; its lines are its rows, in the same order. */
static int add_kept(struct gt_export_out *out, const struct gt_table *ours, struct gt_err *err)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    struct gt_table earlier = {0};
    const char *line;
    bool more;
    int rc = gt_strbuf_add_file(&text, out->keep, err);

    GT_STEP(rc, gt_table_parse(&earlier, out->keep, text.text, text.length, err));
    line = rc ? NULL : strchr(text.text, '\n') + 1;
    more = line && gt_table_has_contest(line);
    line = line ? strchr(line, '\n') + 1 : NULL;
    for (size_t i = 0; i < earlier.rows && !rc; i++) {
        const char *end = strchr(line, '\n');

        if (still_holds(&earlier.row[i], out->filter) && !has_winner(ours, &earlier.row[i])) {
            gt_strbuf_add_bytes(out->text, line, (size_t)(end - line));
            gt_strbuf_add(out->text, more ? "\n" : ",,\n");
            out->rows++;
        }
        line = end + 1;
    }
    gt_table_release(&earlier);
    gt_strbuf_release(&text);
    return rc ? rc : gt_strbuf_check(out->text, err);
}

/* Adds the rows that are kept.  To decide, the database's rows are read back just as the table's
 * reader will read them. */
static int keep_rows(struct gt_export_out *out, struct gt_err *err)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    struct gt_table ours = {0};
    int rc;

    gt_strbuf_add_bytes(&text, out->text->text, out->text->length);
    rc = gt_export_seal(&text, GT_TABLE_MAGIC, err);
    GT_STEP(rc, gt_table_parse(&ours, "the winners", text.text, text.length, err));
    GT_STEP(rc, add_kept(out, &ours, err));
    gt_table_release(&ours);
    gt_strbuf_release(&text);
    return rc;
}

/* ---- order ---- */

static int compare_lines(const void *x, const void *y)
{
    return strcmp(*(char *const *)x, *(char *const *)y);
}

/* Sorts the lines after the first one, which names the columns. */
static int sort_lines(struct gt_strbuf *text, struct gt_err *err)
{
    struct gt_strbuf sorted = GT_STRBUF_INIT;
    size_t lines = 0, count = 0;
    char **line, *save, *at;

    for (at = text->text; (at = strchr(at, '\n')); at++)
        lines++;
    line = calloc(lines + 1, sizeof(*line));
    if (!line)
        return gt_err_nomem(err);
    strtok_r(text->text, "\n", &save);
    while ((at = strtok_r(NULL, "\n", &save)))
        line[count++] = at;
    qsort(line, count, sizeof(*line), compare_lines);
    gt_strbuf_add(&sorted, GT_TABLE_COLUMNS GT_TABLE_CONTEST "\n");
    for (size_t i = 0; i < count; i++)
        gt_strbuf_addf(&sorted, "%s\n", line[i]);
    free(line);
    gt_strbuf_release(text);
    *text = sorted;
    return gt_strbuf_check(&sorted, err);
}

int gt_export_shipped_seal(struct gt_strbuf *text, struct gt_err *err)
{
    int rc = gt_strbuf_check(text, err);

    GT_STEP(rc, sort_lines(text, err));
    return rc ? rc : gt_export_seal(text, GT_TABLE_MAGIC, err);
}

static int shipped_end(struct gt_export_out *out, struct gt_err *err)
{
    int rc = out->keep ? keep_rows(out, err) : GT_OK;

    return rc ? rc : gt_export_shipped_seal(out->text, err);
}

const struct gt_export_ops gt_export_shipped = {
    .begin = shipped_begin,
    .row = shipped_row,
    .end = shipped_end,
    .winners_only = true,
    .deployed = true,
};
