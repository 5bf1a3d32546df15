/* cmd_carry_rows.c - where the rows of tune recheck --adopt --same-code come from and go to: a text
 * table, which is written again line by line, or a database, which gets more rows.  See
 * cmd_carry.h. */
#include "recheck/cmd_carry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "console/cmd_write.h"
#include "console/options.h"
#include "db/store.h"
#include "exchange/export_format.h"
#include "problem/problem.h"

/* Adds a row with texts of its own. */
static int add_row(struct gt_carrying *carrying, const struct gt_carry_row *from,
                   struct gt_err *err)
{
    struct gt_carry_row *row;
    size_t bytes = 0;
    char *at;

    if (GT_ARRAY_RESERVE(&carrying->row, carrying->rows + 1, &carrying->capacity, err))
        return GT_ENOMEM;
    row = &carrying->row[carrying->rows];
    *row = *from;
    const char **const text[] = {&row->device, &row->uuid,      &row->text,
                                 &row->kernel, &row->signature, &row->point};

    for (size_t i = 0; i < sizeof(text) / sizeof(*text); i++)
        bytes += strlen(*text[i]) + 1;
    row->memory = at = malloc(bytes);
    if (!at)
        return gt_err_nomem(err);
    for (size_t i = 0; i < sizeof(text) / sizeof(*text); i++) {
        const size_t size = strlen(*text[i]) + 1;

        *text[i] = memcpy(at, *text[i], size);
        at += size;
    }
    carrying->rows++;
    return gt_problem_parse(&row->problem, row->text, err);
}

/* ---- a text table ---- */

int gt_carry_read_table(struct gt_carrying *carrying, struct gt_strbuf *text, struct gt_err *err)
{
    const char *path = carrying->options->table;
    struct gt_table table = {0};
    int rc = gt_strbuf_add_file(text, path, err);

    if (!rc && strncmp(text->text, GT_TABLE_MAGIC, strlen(GT_TABLE_MAGIC)) != 0)
        return gt_err_set(err, GT_EDB,
                          "%s is no text table; --same-code takes a database by --db, and a text "
                          "table of `tune export --format shipped` by --system-db",
                          path);
    GT_STEP(rc, gt_table_parse(&table, path, text->text, text->length, err));
    for (size_t i = 0; i < table.rows && !rc; i++) {
        const struct gt_table_row *from = &table.row[i];
        const struct gt_carry_row row = {
            .device = from->device,
            .uuid = "",
            .text = from->text,
            .kernel = from->kernel,
            .signature = from->signature,
            .point = from->point,
            .cc = from->cc,
            .timing = from->timing,
        };

        rc = add_row(carrying, &row, err);
    }
    gt_table_release(&table);
    return rc;
}

/* Adds a row's line with today's digest and point: everything else stays as it is. */
static int add_line(struct gt_strbuf *to, const struct gt_carry_row *row, const char *line,
                    size_t length, struct gt_err *err)
{
    const struct gt_candidate *candidate = &row->candidate[GT_CARRY_TODAY];
    struct gt_strbuf before = GT_STRBUF_INIT, point = GT_STRBUF_INIT;
    const char *at;
    int rc;

    gt_strbuf_addf(&before, ",%s,", row->signature);
    gt_export_field(&before, row->point, false);
    gt_strbuf_add_char(&before, ',');
    gt_point_format(&point, candidate->kernel, &candidate->point);
    rc = gt_strbuf_check(&before, err);
    GT_STEP(rc, gt_strbuf_check(&point, err));
    at = rc ? NULL : memmem(line, length, before.text, before.length);
    if (!rc && !at)
        rc = gt_err_set(err, GT_EDB, "the line of %s is not quoted as `tune export` does it",
                        row->text);
    if (!rc) {
        const char *rest = at + before.length;

        gt_strbuf_add_bytes(to, line, (size_t)(at - line));
        gt_strbuf_addf(to, ",%s,", candidate->kernel->signature);
        gt_export_field(to, point.text, false);
        gt_strbuf_add_char(to, ',');
        gt_strbuf_add_bytes(to, rest, (size_t)(line + length - rest));
    }
    gt_strbuf_release(&before);
    gt_strbuf_release(&point);
    return rc;
}

static int write_text(void *context, FILE *file, struct gt_err *err)
{
    const struct gt_strbuf *text = context;

    if (fwrite(text->text, 1, text->length, file) != text->length)
        return gt_err_set(err, GT_EIO, "cannot write the table");
    return GT_OK;
}

/* What was written must be a table that programs can open. */
static int check_text(void *context, const char *path, struct gt_err *err)
{
    struct gt_table table = {0};
    int rc = gt_table_load(&table, path, err);

    (void)context;
    gt_table_release(&table);
    return rc;
}

int gt_carry_write_table(const struct gt_carrying *carrying, const char *text, struct gt_err *err)
{
    struct gt_strbuf to = GT_STRBUF_INIT;
    const struct gt_cmd_writing file = {write_text, check_text, &to, 0666};
    const char *line = strchr(text, '\n') + 1;
    const bool more = gt_table_has_contest(line);
    int rc = GT_OK;

    line = strchr(line, '\n') + 1;
    gt_strbuf_add(&to, GT_TABLE_COLUMNS GT_TABLE_CONTEST "\n");
    for (size_t i = 0; i < carrying->rows && !rc; i++) {
        const struct gt_carry_row *row = &carrying->row[i];
        const size_t length = strcspn(line, "\n");

        if (row->verdict == GT_CARRY_SAME)
            rc = add_line(&to, row, line, length, err);
        else
            gt_strbuf_add_bytes(&to, line, length);
        gt_strbuf_add(&to, more ? "\n" : ",,\n");
        line += length + 1;
    }
    GT_STEP(rc, gt_export_shipped_seal(&to, err));
    GT_STEP(rc, gt_cmd_write_file(carrying->options->output, &file, err));
    gt_strbuf_release(&to);
    return rc;
}

/* ---- a database ---- */

static int take_row(void *context, const struct gt_row *from, struct gt_err *err)
{
    const struct gt_carry_row row = {
        .device = from->device,
        .uuid = from->uuid,
        .text = from->problem,
        .kernel = from->kernel,
        .signature = from->signature,
        .point = from->point,
        .cc = from->cc,
        .driver = from->driver,
        .nvrtc = from->nvrtc,
        .timing = from->timing,
        .sms = from->sms,
        .l2_bytes = from->l2_bytes,
    };

    return add_row(context, &row, err);
}

static int count_row(void *context, const struct gt_row *row, struct gt_err *err)
{
    struct gt_carrying *carrying = context;

    (void)row;
    (void)err;
    carrying->current++;
    return GT_OK;
}

int gt_carry_read_store(struct gt_carrying *carrying, struct gt_store *store, struct gt_err *err)
{
    const struct gt_row_filter older = {.older = true,
                                        .kernels = &carrying->kernels[GT_CARRY_TODAY],
                                        .provenance = 1u << GT_MEASURED,
                                        .limit = 1};
    const struct gt_row_filter current = {.winners_only = true,
                                          .kernels = &carrying->kernels[GT_CARRY_TODAY],
                                          .provenance = 1u << GT_MEASURED};
    int rc = gt_store_rows(store, &older, take_row, carrying, err);

    return rc ? rc : gt_store_rows(store, &current, count_row, carrying, err);
}

static int write_row(struct gt_store *store, const struct gt_carry_row *row, int64_t sweep,
                     struct gt_err *err)
{
    const struct gt_candidate *candidate = &row->candidate[GT_CARRY_TODAY];
    struct gt_strbuf point = GT_STRBUF_INIT;
    const struct gt_row from = {.device = row->device,
                                .uuid = row->uuid,
                                .cc = row->cc,
                                .driver = row->driver,
                                .nvrtc = row->nvrtc,
                                .problem = row->text,
                                .kernel = row->kernel,
                                .signature = row->signature,
                                .point = row->point,
                                .timing = row->timing};
    struct gt_trial_key to = {.sweep = sweep};
    int rc;

    gt_point_format(&point, candidate->kernel, &candidate->point);
    rc = gt_strbuf_check(&point, err);
    to.point = point.text;
    GT_STEP(rc, gt_store_kernel(store, candidate->kernel, &to.kernel, err));
    GT_STEP(rc, gt_store_carry(store, &from, &to, err));
    gt_strbuf_release(&point);
    return rc;
}

int gt_carry_write_store(const struct gt_carrying *carrying, struct gt_store *store,
                         struct gt_err *err)
{
    const struct gt_store_sweep_stats none = {0};
    int64_t sweep;
    int code, rc = gt_store_sweep_begin(store, carrying->cli->words, &sweep, err);

    if (rc)
        return rc;
    for (size_t i = 0; i < carrying->rows && !rc; i++)
        if (carrying->row[i].verdict == GT_CARRY_SAME)
            rc = write_row(store, &carrying->row[i], sweep, err);
    code = gt_store_sweep_end(store, sweep, rc ? "failed" : "finished", &none, rc ? NULL : err);
    return rc ? rc : code;
}
