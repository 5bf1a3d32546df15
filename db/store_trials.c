/* store_trials.c - reads trials in full, samples and costs included: what a recording of a space is
 * made from; and whether a final was the last that was measured.  Part of the store: see store.h.
 */
#include "db/store_internal.h"

#include "base/err.h"

#include <string.h>

/* A kernel's trials count while no later text of its template has taken its place, as in the view
 * `line`. */
static const char trials_sql[] =
    "SELECT t.point, 0, " GT_STORE_RESUME_COLUMNS ", d.name, d.uuid, p.text, k.name, k.signature,"
    " d.cc, d.driver, c.nvrtc, t.timing, strftime('%Y-%m-%dT%H:%M:%SZ', t.at / 1000, 'unixepoch')"
    " FROM trial AS t JOIN device AS d ON d.id = t.device JOIN toolchain AS c ON c.id = t.toolchain"
    " JOIN kernel AS k ON k.id = t.kernel JOIN problem AS p ON p.id = t.problem"
    " WHERE NOT EXISTS (SELECT 1 FROM kernel AS later WHERE later.name = k.name"
    " AND (later.seen, later.id) > (k.seen, k.id))"
    " AND (?1 = '' OR p.text = ?1) AND (?2 = '' OR k.name = ?2) AND (?3 = 0 OR d.cc = ?3)"
    " AND (?4 = 0 OR (?4 & CASE t.provenance WHEN 'measured' THEN 1 WHEN 'predicted' THEN 2"
    " ELSE 4 END))"
    " ORDER BY d.name, d.uuid, d.driver, c.nvrtc, p.text, k.name, k.signature, t.timing,"
    " t.provenance, t.id";

_Static_assert(1u << GT_MEASURED == 1 && 1u << GT_PREDICTED == 2 && 1u << GT_REPLAYED == 4,
               "the query above knows the bits of a filter");

static void read_names(sqlite3_stmt *s, int first, struct gt_named_trial *named)
{
    named->point = gt_store_text(s, 0);
    named->device = gt_store_text(s, first);
    named->uuid = gt_store_text(s, first + 1);
    named->problem = gt_store_text(s, first + 2);
    named->kernel = gt_store_text(s, first + 3);
    named->signature = gt_store_text(s, first + 4);
    named->cc = sqlite3_column_int(s, first + 5);
    named->driver = sqlite3_column_int(s, first + 6);
    named->nvrtc = sqlite3_column_int(s, first + 7);
    named->timing = sqlite3_column_int(s, first + 8);
    named->date = gt_store_text(s, first + 9);
}

/* Whether the trial is of the text that its kernel has among the filter's. */
static bool is_current(const struct gt_row_filter *filter, const struct gt_named_trial *named)
{
    for (size_t i = 0; filter->kernels && i < filter->kernels->count; i++) {
        const struct gt_kernel *kernel = filter->kernels->kernel[i];

        if (strcmp(kernel->name, named->kernel) == 0)
            return strcmp(kernel->signature, named->signature) == 0 ||
                   (filter->others && named->trial.provenance == GT_REPLAYED);
    }
    return !filter->kernels || filter->others;
}

int gt_store_trials(struct gt_store *store, const struct gt_row_filter *filter,
                    gt_named_trial_visit *visit, void *context, struct gt_err *err)
{
    struct gt_query q = gt_query(store, "read trials", trials_sql, err);
    struct gt_named_trial named;

    gt_store_bind(q.s, 1, filter->problem);
    gt_store_bind(q.s, 2, filter->kernel);
    sqlite3_bind_int(q.s, 3, filter->cc);
    sqlite3_bind_int(q.s, 4, (int)filter->provenance);
    while (gt_query_row(&q)) {
        q.code = gt_store_read_trial(store, q.s, &named.trial, err);
        read_names(q.s, 2 + GT_STORE_RESUME_COLUMN_COUNT, &named);
        GT_STEP(q.code, gt_store_whole(store, err));
        if (named.trial.status && is_current(filter, &named))
            GT_STEP(q.code, visit(context, &named, err));
    }
    return gt_query_end(&q);
}

int gt_store_final_is_last(struct gt_store *store, const struct gt_trial_key *key, bool *last,
                           struct gt_err *err)
{
    struct gt_query q = gt_query(store, "read trials",
                                 "SELECT stage = 3 FROM trial WHERE device = ?1 AND problem = ?2"
                                 " AND timing = ?3 AND provenance = 'measured' AND status = 'ok'"
                                 /* a second: the clock of a date that is not ahead */
                                 " ORDER BY at > (julianday('now') - 2440587.5) * 86400000 + 1000,"
                                 " at DESC, stage DESC LIMIT 1",
                                 err);

    gt_store_bind_place(q.s, key);
    *last = gt_query_row(&q) && sqlite3_column_int(q.s, 0);
    return gt_query_end(&q);
}

int gt_store_description(struct gt_store *store, const char *kernel, const char *signature,
                         struct gt_strbuf *text, struct gt_err *err)
{
    struct gt_query q =
        gt_query(store, "read a kernel",
                 "SELECT description FROM kernel WHERE name = ?1 AND signature = ?2", err);

    gt_store_bind(q.s, 1, kernel);
    gt_store_bind(q.s, 2, signature);
    if (gt_query_row(&q)) {
        gt_strbuf_add(text, gt_store_text(q.s, 0));
        q.code = gt_store_whole(store, err);
    }
    GT_STEP(q.code, gt_strbuf_check(text, err));
    return gt_query_end(&q);
}
