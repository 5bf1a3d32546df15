/* store_rows.c - reads what is remembered: what a sweep may resume from, and the rows of every
 * export.  Part of the store: see store.h. */
#include "db/store_internal.h"

#include "base/err.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

static double real(sqlite3_stmt *s, int i)
{
    return sqlite3_column_double(s, i);
}

static int read_samples(sqlite3_stmt *s, int i, float sample[GT_MAX_SAMPLES])
{
    const unsigned char *bytes = sqlite3_column_blob(s, i);
    int samples = sqlite3_column_bytes(s, i) / 4;

    if (samples > GT_MAX_SAMPLES)
        samples = GT_MAX_SAMPLES;
    for (int j = 0; j < samples; j++) {
        uint32_t bits = 0;

        for (int b = 0; b < 4; b++)
            bits |= (uint32_t)bytes[j * 4 + b] << (8 * b);
        memcpy(&sample[j], &bits, sizeof(bits));
    }
    return samples;
}

static const char resume_sql[] =
    "SELECT t.point, CASE WHEN t.status <> 'ok' THEN coalesce(a.count, 0)"
    " WHEN coalesce(a.open, 0) THEN a.count - 1 ELSE 0 END, " GT_STORE_RESUME_COLUMNS
    " FROM trial AS t"
    " LEFT JOIN attempt AS a ON a.device = t.device AND a.toolchain = t.toolchain"
    " AND a.kernel = t.kernel AND a.problem = t.problem AND a.warm_l2 = t.warm_l2"
    " AND a.point = t.point"
    " WHERE t.device = ?1 AND t.toolchain = ?2 AND t.kernel = ?3 AND t.problem = ?4"
    " AND t.warm_l2 = ?5 AND t.provenance = ?6"
    " UNION ALL SELECT a.point, a.count, " GT_STORE_RESUME_COLUMNS " FROM attempt AS a"
    " LEFT JOIN trial AS t ON t.device = a.device AND t.toolchain = a.toolchain"
    " AND t.kernel = a.kernel AND t.problem = a.problem AND t.warm_l2 = a.warm_l2"
    " AND t.point = a.point AND t.provenance = ?6"
    " WHERE a.device = ?1 AND a.toolchain = ?2 AND a.kernel = ?3 AND a.problem = ?4"
    " AND a.warm_l2 = ?5 AND a.open AND t.id IS NULL ORDER BY 1";

int gt_store_read_trial(struct gt_store *store, sqlite3_stmt *s, struct gt_trial *trial,
                        struct gt_err *err)
{
    memset(trial, 0, sizeof(*trial));
    if (sqlite3_column_type(s, 2) == SQLITE_NULL)
        return GT_OK;
    trial->status = gt_status_parse(gt_store_text(s, 2));
    if (gt_store_whole(store, NULL))
        return gt_err_nomem(err);
    if (trial->status == GT_STATUS_NONE)
        return gt_err_set(err, GT_EDB, "%s: the trial of %s has the unknown status \"%s\"",
                          store->path, gt_store_text(s, 0), gt_store_text(s, 2));
    if (!gt_provenance_parse(&trial->provenance, gt_store_text(s, 3)))
        return gt_err_set(err, GT_EDB, "%s: the trial of %s has the unknown provenance \"%s\"",
                          store->path, gt_store_text(s, 0), gt_store_text(s, 3));
    trial->stage = sqlite3_column_int(s, 4);
    trial->us = real(s, 5);
    trial->lo_us = real(s, 6);
    trial->hi_us = real(s, 7);
    trial->err_u = real(s, 8);
    trial->registers = sqlite3_column_int(s, 9);
    trial->spill_bytes = sqlite3_column_int(s, 10);
    trial->static_shared = sqlite3_column_int(s, 11);
    trial->shared_bytes = sqlite3_column_int64(s, 12);
    trial->workspace_bytes = sqlite3_column_int64(s, 13);
    trial->clock_mhz = real(s, 14);
    trial->compile_ms = real(s, 15);
    trial->prove_ms = real(s, 16);
    trial->time_ms = real(s, 17);
    trial->varies = sqlite3_column_int(s, 18);
    snprintf(trial->detail, sizeof(trial->detail), "%s", gt_store_text(s, 19));
    trial->samples = read_samples(s, 20, trial->sample);
    return gt_store_whole(store, err);
}

int gt_store_resume(struct gt_store *store, const struct gt_trial_key *key,
                    enum gt_provenance provenance, gt_store_visit *visit, void *context,
                    struct gt_err *err)
{
    struct gt_trial trial;
    sqlite3_stmt *s;
    int result = SQLITE_DONE, code = gt_store_prepare(store, &s, resume_sql, err);

    if (code)
        return code;
    sqlite3_bind_int64(s, 1, key->device);
    sqlite3_bind_int64(s, 2, key->toolchain);
    sqlite3_bind_int64(s, 3, key->kernel);
    sqlite3_bind_int64(s, 4, key->problem);
    sqlite3_bind_int(s, 5, key->warm_l2);
    gt_store_bind(s, 6, gt_provenance_name(provenance));
    while (!code && (result = sqlite3_step(s)) == SQLITE_ROW) {
        code = gt_store_read_trial(store, s, &trial, err);
        if (!code)
            code = visit(context, gt_store_text(s, 0), &trial, sqlite3_column_int(s, 1), err);
    }
    if (!code && result != SQLITE_DONE)
        code = gt_store_fail(store->db, store->path, "read trials", err);
    sqlite3_finalize(s);
    return code;
}

void gt_store_add_filter(struct gt_strbuf *sql, const struct gt_row_filter *filter)
{
    gt_strbuf_add(sql, filter->problem ? " AND problem = ?1" : "");
    gt_strbuf_add(sql, filter->kernel ? " AND kernel = ?2" : "");
    gt_strbuf_add(sql, filter->cc ? " AND cc = ?3" : "");
}

static void add_quoted(struct gt_strbuf *sql, const char *text)
{
    gt_strbuf_add_char(sql, '\'');
    for (; *text; text++) {
        if (*text == '\'')
            gt_strbuf_add_char(sql, '\'');
        gt_strbuf_add_char(sql, *text);
    }
    gt_strbuf_add_char(sql, '\'');
}

void gt_store_add_current(struct gt_strbuf *sql, const struct gt_row_filter *filter)
{
    if (!filter->kernels) {
        gt_strbuf_add(sql, " AND current");
        return;
    }
    gt_strbuf_addf(sql, " AND%s (kernel, signature) %sIN (VALUES ('', '')",
                   filter->older ? " ok AND" : "", filter->older ? "NOT " : "");
    for (size_t i = 0; i < filter->kernels->count; i++) {
        const struct gt_kernel *kernel = filter->kernels->kernel[i];
        gt_strbuf_add(sql, ", (");
        add_quoted(sql, kernel->name);
        gt_strbuf_add(sql, ", ");
        add_quoted(sql, kernel->signature);
        gt_strbuf_add(sql, ")");
    }
    gt_strbuf_add(sql, ")");
}

void gt_store_bind_filter(sqlite3_stmt *statement, const struct gt_row_filter *filter)
{
    if (filter->problem)
        gt_store_bind(statement, 1, filter->problem);
    if (filter->kernel)
        gt_store_bind(statement, 2, filter->kernel);
    if (filter->cc)
        sqlite3_bind_int(statement, 3, filter->cc);
}

/* A column of the device table for a row of `line`, which names the device by its key. */
#define DEVICE_FACT(column)                                                    \
    "(SELECT max(d." column ") FROM device AS d WHERE (d.name, d.uuid, d.cc, " \
    "d.driver) = (ranked.device, ranked.uuid, ranked.cc, ranked.driver))"

/* The filter narrows before rows are ranked, so that "winners of kernel K" are the best of K.
 * The order within a problem is that of the view `winner`, failures last. */
static int prepare_rows(struct gt_store *store, sqlite3_stmt **statement,
                        const struct gt_row_filter *filter, struct gt_err *err)
{
    struct gt_strbuf sql = GT_STRBUF_INIT;
    int code;

    gt_strbuf_addf(
        &sql,
        "SELECT " GT_STORE_ROW_COLUMNS ", " DEVICE_FACT("sms") ", " DEVICE_FACT(
            "l2_bytes") ", trials FROM (SELECT *, sum(ok) OVER (PARTITION BY device, cc, problem,"
                        " warm_l2, provenance) AS trials, row_number() OVER ("
                        "PARTITION BY device, cc, problem, warm_l2, provenance = 'replayed'"
                        " ORDER BY %s ok DESC, provenance, stage DESC,"
                        " CASE WHEN us > 0 THEN us * (1 - 0.01 * chosen) ELSE 1e300 END, kernel, "
                        "point,"
                        " driver DESC, nvrtc DESC, uuid, signature) AS place FROM line WHERE true",
        filter->older ? "" : "ok AND current DESC,");
    gt_store_add_filter(&sql, filter);
    for (int i = 0; filter->provenance && i < GT_PROVENANCE_COUNT; i++)
        if (!(filter->provenance >> i & 1))
            gt_strbuf_addf(&sql, " AND provenance <> '%s'",
                           gt_provenance_name((enum gt_provenance)i));
    gt_strbuf_add(&sql, filter->winners_only ? " AND ok" : "");
    if (filter->winners_only || filter->kernels)
        gt_store_add_current(&sql, filter);
    gt_strbuf_add(
        &sql, ") AS ranked WHERE place <= ?4 ORDER BY device, cc, dtype, accuracy, layout, m, n, k,"
              " batch, problem, warm_l2, place");
    code = gt_strbuf_check(&sql, err);
    if (!code)
        code = gt_store_prepare(store, statement, sql.text, err);
    gt_strbuf_release(&sql);
    if (code)
        return code;
    gt_store_bind_filter(*statement, filter);
    sqlite3_bind_int(*statement, 4,
                     filter->winners_only ? 1
                     : filter->limit > 0  ? filter->limit
                                          : INT_MAX);
    return GT_OK;
}

int gt_store_read_row(struct gt_store *store, sqlite3_stmt *s, struct gt_row *row,
                      struct gt_err *err)
{
    const char **texts[] = {&row->device,   &row->uuid,      &row->dtype,
                            &row->accuracy, &row->layout,    &row->problem,
                            &row->kernel,   &row->signature, &row->point};

    for (int i = 0; i < 9; i++)
        *texts[i] = gt_store_text(s, i);
    row->cc = sqlite3_column_int(s, 9);
    row->driver = sqlite3_column_int(s, 10);
    row->nvrtc = sqlite3_column_int(s, 11);
    row->m = sqlite3_column_int64(s, 12);
    row->n = sqlite3_column_int64(s, 13);
    row->k = sqlite3_column_int64(s, 14);
    row->batch = sqlite3_column_int64(s, 15);
    row->status = gt_status_parse(gt_store_text(s, 16));
    row->warm_l2 = sqlite3_column_int(s, 18);
    row->deterministic = !sqlite3_column_int(s, 19);
    row->us = real(s, 20);
    row->lo_us = real(s, 21);
    row->hi_us = real(s, 22);
    row->baseline_us = real(s, 23);
    row->err_u = real(s, 24);
    row->clock_mhz = real(s, 25);
    row->registers = sqlite3_column_int(s, 26);
    row->stage = sqlite3_column_int(s, 27);
    row->ties = sqlite3_column_int(s, 28);
    row->shared_bytes = sqlite3_column_int64(s, 29);
    row->workspace_bytes = sqlite3_column_int64(s, 30);
    row->baseline = gt_store_text(s, 31);
    row->date = gt_store_text(s, 32);
    row->detail = gt_store_text(s, 33);
    row->algo = gt_store_text(s, 34);
    if (gt_store_whole(store, NULL))
        return gt_err_nomem(err);
    if (row->status == GT_STATUS_NONE ||
        !gt_provenance_parse(&row->provenance, gt_store_text(s, 17)))
        return gt_err_set(err, GT_EDB,
                          "%s: the trial of %s has the unknown status \"%s\" or provenance \"%s\"",
                          store->path, row->point, gt_store_text(s, 16), gt_store_text(s, 17));
    return GT_OK;
}

int gt_store_rows(struct gt_store *store, const struct gt_row_filter *filter, gt_row_visit *visit,
                  void *context, struct gt_err *err)
{
    struct gt_row row;
    sqlite3_stmt *s;
    int result = SQLITE_DONE, code = prepare_rows(store, &s, filter, err);

    if (code)
        return code;
    while (!code && (result = sqlite3_step(s)) == SQLITE_ROW) {
        code = gt_store_read_row(store, s, &row, err);
        row.sms = sqlite3_column_int(s, GT_STORE_ROW_COLUMN_COUNT);
        row.l2_bytes = sqlite3_column_int64(s, GT_STORE_ROW_COLUMN_COUNT + 1);
        row.trials = sqlite3_column_int64(s, GT_STORE_ROW_COLUMN_COUNT + 2);
        if (!code)
            code = visit(context, &row, err);
    }
    if (!code && result != SQLITE_DONE)
        code = gt_store_fail(store->db, store->path, "read rows", err);
    sqlite3_finalize(s);
    return code;
}
