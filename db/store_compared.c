/* store_compared.c - remembers winners that `tune bench` timed beside the vendor library, and reads
 * for each problem what was measured last.  Part of the store: see store.h. */
#include "db/store_internal.h"

#include "base/clock.h"
#include "base/err.h"

int gt_store_put_comparison(struct gt_store *store, const struct gt_trial_key *key,
                            const struct gt_comparison *comparison, struct gt_err *err)
{
    sqlite3_stmt *s;
    int64_t id;
    int code = gt_store_prepare(
        store, &s,
        "INSERT OR REPLACE INTO comparison (device, toolchain, kernel, problem, point, warm_l2, us,"
        " lo_us, hi_us, err_u, baseline_us, copy_gbps, move_us, baseline_err_u, best_us, untuned,"
        " untuned_us, worse, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13,"
        " ?14, ?15, ?16, ?17, ?18, ?19) RETURNING device",
        err);

    if (code)
        return code;
    gt_store_bind_candidate(s, key);
    sqlite3_bind_double(s, 7, comparison->us);
    sqlite3_bind_double(s, 8, comparison->lo_us);
    sqlite3_bind_double(s, 9, comparison->hi_us);
    sqlite3_bind_double(s, 10, comparison->err_u);
    sqlite3_bind_double(s, 11, comparison->baseline_us);
    sqlite3_bind_double(s, 12, comparison->copy_gbps);
    sqlite3_bind_double(s, 13, comparison->move_us);
    sqlite3_bind_double(s, 14, comparison->baseline_err_u);
    sqlite3_bind_double(s, 15, comparison->best_us);
    gt_store_bind(s, 16, comparison->untuned ? comparison->untuned : "");
    sqlite3_bind_double(s, 17, comparison->untuned_us);
    sqlite3_bind_int(s, 18, comparison->worse);
    sqlite3_bind_int64(s, 19, gt_clock_date_ms());
    return gt_store_insert(store, s, &id, "write a comparison", err);
}

/* A date that a clock which ran ahead left behind is no later than any other. */
#define LATEST(date) date " > strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), " date " DESC"

/* What a comparison has beside the columns of a row. */
#define WITH "copy_gbps, move_us, baseline_err_u, best_us, untuned, untuned_us, worse"

/* Comparisons with the columns of `line`: final 0.  Those that a trial has and a comparison has not
 * are empty. */
static const char compared_sql[] =
    "WITH bench AS (SELECT d.name AS device, d.uuid AS uuid, p.dtype AS dtype,"
    " p.accuracy AS accuracy, p.layout AS layout, p.text AS problem, k.name AS kernel,"
    " k.signature AS signature, x.point AS point, d.cc AS cc, d.driver AS driver,"
    " c.nvrtc AS nvrtc, p.m AS m, p.n AS n, p.k AS k, p.batch AS batch, 'ok' AS status,"
    " 'measured' AS provenance, x.warm_l2 AS warm_l2, 0 AS varies, x.us AS us, x.lo_us AS lo_us,"
    " x.hi_us AS hi_us, x.baseline_us AS baseline_us, x.err_u AS err_u, 0 AS clock_mhz,"
    " 0 AS registers, 3 AS stage, 0 AS ties, 0 AS shared_bytes, 0 AS workspace_bytes,"
    " '' AS baseline, strftime('%Y-%m-%dT%H:%M:%SZ', x.at / 1000, 'unixepoch') AS date,"
    " '' AS detail, NOT EXISTS (SELECT 1 FROM kernel AS later WHERE later.name = k.name"
    " AND (later.seen, later.id) > (k.seen, k.id)) AS current, x.copy_gbps AS copy_gbps,"
    " x.move_us AS move_us, x.baseline_err_u AS baseline_err_u, x.best_us AS best_us,"
    " x.untuned AS untuned, x.untuned_us AS untuned_us, x.worse AS worse, '' AS algo"
    " FROM comparison AS x JOIN device AS d ON d.id = x.device"
    " JOIN toolchain AS c ON c.id = x.toolchain JOIN kernel AS k ON k.id = x.kernel"
    " JOIN problem AS p ON p.id = x.problem)";

/* The winner of each problem's finals, as in the view `winner`. */
static const char finals_sql[] =
    ", final AS (SELECT *, row_number() OVER (PARTITION BY device, cc, problem, warm_l2"
    " ORDER BY us * (1 - 0.01 * chosen), kernel, point, driver DESC, nvrtc DESC, uuid, signature)"
    " AS place FROM line WHERE ok AND provenance = 'measured' AND stage = 3";

static const char both_sql[] =
    ", both AS (SELECT 1 AS final, " GT_STORE_ROW_COLUMNS ", coalesce((SELECT copy_gbps FROM bench"
    " WHERE bench.device = final.device ORDER BY " LATEST(
        "bench.date") " LIMIT 1), 0) AS copy_gbps,"
                      " coalesce((SELECT move_us FROM bench WHERE bench.device = final.device"
                      " AND bench.problem = final.problem AND bench.warm_l2 = final.warm_l2"
                      " ORDER BY " LATEST("bench.date") " LIMIT 1), 0) AS move_us, 0 AS "
                                                        "baseline_err_u, 0 AS best_us,"
                                                        " '' AS untuned, 0 AS untuned_us, 0 AS "
                                                        "worse FROM final WHERE place = 1"
                                                        " UNION ALL SELECT 0, " GT_STORE_ROW_COLUMNS
                                                        ", " WITH " FROM bench WHERE true";

static const char latest_sql[] =
    ") SELECT " GT_STORE_ROW_COLUMNS ", " WITH " FROM (SELECT *, row_number() OVER ("
    "PARTITION BY device, cc, problem, warm_l2 ORDER BY " LATEST(
        "date") ", final, uuid, driver DESC,"
                " nvrtc DESC, kernel, point, signature) AS place FROM both) WHERE place = 1"
                " ORDER BY device, cc, dtype, accuracy, layout, m, n, k, batch, problem, warm_l2";

static int prepare(struct gt_store *store, sqlite3_stmt **statement,
                   const struct gt_row_filter *filter, struct gt_err *err)
{
    struct gt_strbuf sql = GT_STRBUF_INIT;
    int code;

    gt_strbuf_add(&sql, compared_sql);
    gt_strbuf_add(&sql, finals_sql);
    gt_store_add_filter(&sql, filter);
    gt_store_add_current(&sql, filter);
    gt_strbuf_add(&sql, ")");
    gt_strbuf_add(&sql, both_sql);
    gt_store_add_filter(&sql, filter);
    gt_store_add_current(&sql, filter);
    gt_strbuf_add(&sql, latest_sql);
    code = gt_strbuf_check(&sql, err);
    if (!code)
        code = gt_store_prepare(store, statement, sql.text, err);
    gt_strbuf_release(&sql);
    if (!code)
        gt_store_bind_filter(*statement, filter);
    return code;
}

static int read_with(struct gt_store *store, sqlite3_stmt *s, struct gt_comparison *with,
                     struct gt_err *err)
{
    const int at = GT_STORE_ROW_COLUMN_COUNT;

    *with = (struct gt_comparison){.copy_gbps = sqlite3_column_double(s, at),
                                   .move_us = sqlite3_column_double(s, at + 1),
                                   .baseline_err_u = sqlite3_column_double(s, at + 2),
                                   .best_us = sqlite3_column_double(s, at + 3),
                                   .untuned = gt_store_text(s, at + 4),
                                   .untuned_us = sqlite3_column_double(s, at + 5),
                                   .worse = sqlite3_column_int(s, at + 6)};
    return gt_store_whole(store, err);
}

int gt_store_compared(struct gt_store *store, const struct gt_row_filter *filter,
                      gt_compared_visit *visit, void *context, struct gt_err *err)
{
    struct gt_comparison with;
    struct gt_row row;
    sqlite3_stmt *s;
    int result = SQLITE_DONE, code = prepare(store, &s, filter, err);

    if (code)
        return code;
    while (!code && (result = sqlite3_step(s)) == SQLITE_ROW) {
        code = gt_store_read_row(store, s, &row, err);
        if (!code)
            code = read_with(store, s, &with, err);
        if (!code)
            code = visit(context, &row, &with, err);
    }
    if (!code && result != SQLITE_DONE)
        code = gt_store_fail(store->db, store->path, "read comparisons", err);
    sqlite3_finalize(s);
    return code;
}
