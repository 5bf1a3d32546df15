/* store_carry.c - takes a trial over to another text of its kernel.  Part of the store: see
 * store.h.
 */
#include "db/store_internal.h"

#include "base/err.h"

/* The trials of a row: ?1 point, ?2 timing, ?3 problem, ?4 kernel, ?5 signature, ?6 to ?9 device.
 */
#define OF_ROW                                                \
    " WHERE point = ?1 AND timing = ?2"                       \
    " AND problem = (SELECT id FROM problem WHERE text = ?3)" \
    " AND device IN (SELECT id FROM device WHERE (name, uuid, cc, driver) = (?6, ?7, ?8, ?9))"

static const char trials_sql[] =
    "INSERT OR IGNORE INTO trial (device, toolchain, kernel, problem, point, timing, sweep, "
    "at," GT_STORE_TRIAL_COLUMNS ") SELECT device, toolchain, ?11, problem, ?13, timing, ?12, "
    "at," GT_STORE_TRIAL_COLUMNS " FROM trial" OF_ROW
    " AND kernel = (SELECT id FROM kernel WHERE (name, signature) = (?4, ?5))"
    " AND toolchain = (SELECT id FROM toolchain WHERE nvrtc = ?10)"
    " AND status = 'ok' AND provenance = 'measured'";

/* A point has one more parameter than the text of the tie that it won. */
static const char ties_sql[] =
    "INSERT OR IGNORE INTO tie (device, problem, timing, kernel, point, chosen)"
    " SELECT device, problem, timing, kernel, ?13, chosen FROM tie" OF_ROW " AND kernel = ?4";

static void run(struct gt_store *store, const char *sql, const struct gt_row *row,
                const struct gt_trial_key *to, int *code, struct gt_err *err)
{
    struct gt_query q;

    if (*code)
        return;
    q = gt_query(store, "take a trial over", sql, err);
    gt_store_bind(q.s, 1, row->point);
    sqlite3_bind_int(q.s, 2, row->timing);
    gt_store_bind(q.s, 3, row->problem);
    gt_store_bind(q.s, 4, row->kernel);
    gt_store_bind(q.s, 5, row->signature);
    gt_store_bind(q.s, 6, row->device);
    gt_store_bind(q.s, 7, row->uuid);
    sqlite3_bind_int(q.s, 8, row->cc);
    sqlite3_bind_int(q.s, 9, row->driver);
    sqlite3_bind_int(q.s, 10, row->nvrtc);
    sqlite3_bind_int64(q.s, 11, to->kernel);
    sqlite3_bind_int64(q.s, 12, to->sweep);
    gt_store_bind(q.s, 13, to->point);
    gt_query_run(&q);
    *code = gt_query_end(&q);
}

int gt_store_carry(struct gt_store *store, const struct gt_row *row, const struct gt_trial_key *to,
                   struct gt_err *err)
{
    int code = gt_store_begin(store, err);

    if (code)
        return code;
    run(store, trials_sql, row, to, &code, err);
    run(store, ties_sql, row, to, &code, err);
    return gt_store_finish(store, code, err);
}
