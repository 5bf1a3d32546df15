/* store_compared.c - remembers winners that `tune bench` timed beside the vendor library, and reads
 * for each problem what was measured last.  Part of the store: see store.h. */
#include "db/store_internal.h"

#include "base/clock.h"
#include "base/err.h"

/* What a comparison has; WITH names those that are no columns of a row, which begin at OF_ROWS. */
static const struct gt_field fields[] = {
    GT_FIELD(gt_comparison, TIME, us),          GT_FIELD(gt_comparison, TIME, lo_us),
    GT_FIELD(gt_comparison, TIME, hi_us),       GT_FIELD(gt_comparison, ERROR, err_u),
    GT_FIELD(gt_comparison, TIME, baseline_us), GT_FIELD(gt_comparison, TIME, copy_gbps),
    GT_FIELD(gt_comparison, TIME, move_us),     GT_FIELD(gt_comparison, ERROR, baseline_err_u),
    GT_FIELD(gt_comparison, TIME, best_us),     GT_FIELD(gt_comparison, TEXT, untuned),
    GT_FIELD(gt_comparison, TIME, untuned_us),  GT_FIELD(gt_comparison, BOOL, worse)};
enum { FIELDS = sizeof(fields) / sizeof(fields[0]), OF_ROWS = 5 };
#define WITH "copy_gbps, move_us, baseline_err_u, best_us, untuned, untuned_us, worse"

int gt_store_put_comparison(struct gt_store *store, const struct gt_trial_key *key,
                            const struct gt_comparison *comparison, struct gt_err *err)
{
    struct gt_query q = gt_query(
        store, "write a comparison",
        "INSERT OR REPLACE INTO comparison (device, toolchain, kernel, problem, point, timing, us,"
        " lo_us, hi_us, err_u, baseline_us, " WITH ", at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8,"
        " ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19) RETURNING device",
        err);
    int64_t id;

    gt_store_bind_candidate(q.s, key);
    gt_store_bind_fields(q.s, 7, fields, FIELDS, comparison);
    sqlite3_bind_int64(q.s, 19, gt_clock_date_ms());
    return gt_query_insert(&q, &id);
}

/* Latest first.  A date in the future comes from a clock that was wrong, so it comes last. */
#define LATEST(date) date " > strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), " date " DESC"

/* Comparisons with the columns of `line`; those that only a trial has are empty.  `final` is 0 for
 * them. */
static const char compared_sql[] =
    "WITH bench AS (SELECT d.name AS device, d.uuid AS uuid, p.dtype AS dtype,"
    " p.accuracy AS accuracy, p.layout AS layout, p.text AS problem, k.name AS kernel,"
    " k.signature AS signature, x.point AS point, d.cc AS cc, d.driver AS driver,"
    " c.nvrtc AS nvrtc, p.m AS m, p.n AS n, p.k AS k, p.batch AS batch, 'ok' AS status,"
    " 'measured' AS provenance, x.timing AS timing, 0 AS varies, x.us AS us, x.lo_us AS lo_us,"
    " x.hi_us AS hi_us, x.baseline_us AS baseline_us, x.err_u AS err_u, 0 AS clock_mhz,"
    " 0 AS registers, 3 AS stage, 0 AS ties, 0 AS shared_bytes, 0 AS workspace_bytes,"
    " '' AS baseline, strftime('%Y-%m-%dT%H:%M:%SZ', x.at / 1000, 'unixepoch') AS date,"
    " '' AS detail, NOT EXISTS (SELECT 1 FROM kernel AS later WHERE later.name = k.name"
    " AND (later.seen, later.id) > (k.seen, k.id)) AS current, x.copy_gbps AS copy_gbps,"
    " x.move_us AS move_us, x.baseline_err_u AS baseline_err_u, x.best_us AS best_us,"
    " x.untuned AS untuned, x.untuned_us AS untuned_us, x.worse AS worse, '' AS algo"
    ", 0 AS recorded FROM comparison AS x JOIN device AS d ON d.id = x.device"
    " JOIN toolchain AS c ON c.id = x.toolchain JOIN kernel AS k ON k.id = x.kernel"
    " JOIN problem AS p ON p.id = x.problem"
    " WHERE x.us >= 1e-6)";

/* The winner of each problem's finals, as in the view `winner`. */
static const char finals_sql[] =
    ", final AS (SELECT *, row_number() OVER (PARTITION BY device, cc, problem, timing"
    " ORDER BY us * (1 - 0.01 * chosen), kernel, point, driver DESC, nvrtc DESC, uuid, signature)"
    " AS place FROM (SELECT *, 0 AS recorded FROM line) WHERE ok AND provenance = 'measured' AND "
    "stage = 3"
    " AND " GT_STORE_TIMED;

static const char both_sql[] =
    ", both AS (SELECT 1 AS final, " GT_STORE_ROW_COLUMNS ", coalesce((SELECT copy_gbps FROM bench"
    " WHERE bench.device = final.device ORDER BY " LATEST(
        "bench.date") " LIMIT 1), 0) AS copy_gbps,"
                      " coalesce((SELECT move_us FROM bench WHERE bench.device = final.device"
                      " AND bench.problem = final.problem AND bench.timing = final.timing"
                      " ORDER BY " LATEST("bench.date") " LIMIT 1), 0) AS move_us, 0 AS "
                                                        "baseline_err_u, 0 AS best_us,"
                                                        " '' AS untuned, 0 AS untuned_us, 0 AS "
                                                        "worse FROM final WHERE place = 1"
                                                        " UNION ALL SELECT 0, " GT_STORE_ROW_COLUMNS
                                                        ", " WITH " FROM bench WHERE true";

static const char latest_sql[] =
    ") SELECT " GT_STORE_ROW_COLUMNS ", " WITH " FROM (SELECT *, row_number() OVER ("
    "PARTITION BY device, cc, problem, timing ORDER BY " LATEST(
        "date") ", final, uuid, driver DESC,"
                " nvrtc DESC, kernel, point, signature) AS place FROM both) WHERE place = 1"
                " ORDER BY device, cc, dtype, accuracy, layout, m, n, k, batch, problem, timing";

static struct gt_query query(struct gt_store *store, const struct gt_row_filter *filter,
                             struct gt_err *err)
{
    struct gt_strbuf sql = GT_STRBUF_INIT;
    struct gt_query q;

    gt_strbuf_add(&sql, compared_sql);
    gt_strbuf_add(&sql, finals_sql);
    gt_store_add_filter(&sql, filter);
    gt_store_add_current(&sql, filter);
    gt_strbuf_add(&sql, ")");
    gt_strbuf_add(&sql, both_sql);
    gt_store_add_filter(&sql, filter);
    gt_store_add_current(&sql, filter);
    gt_strbuf_add(&sql, latest_sql);
    q = gt_query_built(store, "read comparisons", &sql, err);
    gt_store_bind_filter(q.s, filter);
    return q;
}

int gt_store_compared(struct gt_store *store, const struct gt_row_filter *filter,
                      gt_compared_visit *visit, void *context, struct gt_err *err)
{
    struct gt_query q = query(store, filter, err);
    struct gt_comparison with = {0};
    struct gt_row row;

    while (gt_query_row(&q)) {
        q.code = gt_store_read_row(store, q.s, &row, err);
        gt_store_read_fields(q.s, GT_STORE_ROW_COLUMN_COUNT, fields + OF_ROWS, FIELDS - OF_ROWS,
                             &with);
        GT_STEP(q.code, gt_store_whole(store, err));
        GT_STEP(q.code, visit(context, &row, &with, err));
    }
    return gt_query_end(&q);
}
