/* store_rows.c - reads the trials that a sweep resumes from, and the rows of every export.  Part of
 * the store: see store.h. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "db/store_internal.h"

#define FIELD(kind, name) GT_FIELD(gt_trial, kind, name),
const struct gt_field gt_store_trial_fields[GT_STORE_TRIAL_FIELD_COUNT] = {
    GT_STORE_TRIAL_FIELDS(FIELD)};
#undef FIELD

#define FIELD(kind, name) GT_FIELD(gt_row, kind, name),
static const struct gt_field row_fields[] = {GT_FIELD(gt_row, TEXT, device),
                                             GT_STORE_ROW_FIELDS(FIELD)};
#undef FIELD

enum { ROW_FIELDS = sizeof(row_fields) / sizeof(row_fields[0]), STATUS = ROW_FIELDS };
_Static_assert(ROW_FIELDS + 3 == GT_STORE_ROW_COLUMN_COUNT, "status, provenance and varies follow");

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
        if (!(sample[j] >= (float)GT_LEAST_US && sample[j] < (float)GT_MOST_US))
            return 0;
    }
    return samples;
}

static const char resume_sql[] =
    "SELECT t.point, CASE WHEN t.status <> 'ok' THEN coalesce(a.count, 0)"
    " WHEN coalesce(a.open, 0) THEN a.count - 1 ELSE 0 END, " GT_STORE_RESUME_COLUMNS
    " FROM trial AS t"
    " LEFT JOIN attempt AS a ON a.device = t.device AND a.toolchain = t.toolchain"
    " AND a.kernel = t.kernel AND a.problem = t.problem AND a.timing = t.timing"
    " AND a.point = t.point"
    " WHERE t.device = ?1 AND t.toolchain = ?2 AND t.kernel = ?3 AND t.problem = ?4"
    " AND t.timing = ?5 AND t.provenance = ?6"
    " UNION ALL SELECT a.point, a.count, " GT_STORE_RESUME_COLUMNS " FROM attempt AS a"
    " LEFT JOIN trial AS t ON t.device = a.device AND t.toolchain = a.toolchain"
    " AND t.kernel = a.kernel AND t.problem = a.problem AND t.timing = a.timing"
    " AND t.point = a.point AND t.provenance = ?6"
    " WHERE a.device = ?1 AND a.toolchain = ?2 AND a.kernel = ?3 AND a.problem = ?4"
    " AND a.timing = ?5 AND a.open AND t.id IS NULL ORDER BY 1";

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
    gt_store_read_fields(s, 4, gt_store_trial_fields, GT_STORE_TRIAL_FIELD_COUNT, trial);
    snprintf(trial->detail, sizeof(trial->detail), "%s", gt_store_text(s, 19));
    trial->samples = read_samples(s, 20, trial->sample);
    if (trial->status == GT_STATUS_OK && !(trial->us > 0))
        trial->status = GT_STATUS_NONE;
    return gt_store_whole(store, err);
}

int gt_store_resume(struct gt_store *store, const struct gt_trial_key *key,
                    enum gt_provenance provenance, gt_store_visit *visit, void *context,
                    struct gt_err *err)
{
    struct gt_query q = gt_query(store, "read trials", resume_sql, err);
    struct gt_trial trial;

    sqlite3_bind_int64(q.s, 1, key->device);
    sqlite3_bind_int64(q.s, 2, key->toolchain);
    sqlite3_bind_int64(q.s, 3, key->kernel);
    sqlite3_bind_int64(q.s, 4, key->problem);
    sqlite3_bind_int(q.s, 5, key->timing);
    gt_store_bind(q.s, 6, gt_provenance_name(provenance));
    while (gt_query_row(&q)) {
        q.code = gt_store_read_trial(store, q.s, &trial, err);
        if (trial.status || sqlite3_column_type(q.s, 2) == SQLITE_NULL)
            GT_STEP(q.code,
                    visit(context, gt_store_text(q.s, 0), &trial, sqlite3_column_int(q.s, 1), err));
    }
    return gt_query_end(&q);
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
    gt_strbuf_addf(sql, " AND%s ((kernel, signature) %sIN (VALUES ('', '')",
                   filter->older ? " ok AND" : "", filter->older ? "NOT " : "");
    for (size_t i = 0; i < filter->kernels->count; i++) {
        const struct gt_kernel *kernel = filter->kernels->kernel[i];
        gt_strbuf_add(sql, ", (");
        add_quoted(sql, kernel->name);
        gt_strbuf_add(sql, ", ");
        add_quoted(sql, kernel->signature);
        gt_strbuf_add(sql, ")");
    }
    gt_strbuf_add(sql, filter->others ? ") OR current AND (kernel NOT IN (''" : "");
    for (size_t i = 0; i < filter->kernels->count && filter->others; i++) {
        gt_strbuf_add(sql, ", ");
        add_quoted(sql, filter->kernels->kernel[i]->name);
    }
    gt_strbuf_add(sql, filter->others ? ") OR recorded))" : "))");
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

/* The order within a problem: as in the view `winner`, failures last. */
#define RANKED(first)                                                                    \
    "row_number() OVER (PARTITION BY device, cc, substr(uuid, instr(uuid || ' ', ' '))," \
    " problem, timing, provenance = 'replayed'"                                          \
    " ORDER BY " first "ok DESC, provenance, stage DESC,"                                \
    " CASE WHEN us > 0 THEN us * (1 - 0.01 * chosen) ELSE 1e300 END, kernel, point,"     \
    " driver DESC, nvrtc DESC, uuid, signature) AS place FROM line WHERE " GT_STORE_TIMED

#define ORDERED \
    " ORDER BY device, cc, dtype, accuracy, layout, m, n, k, batch, problem, timing, place"

#define RANKED_COLUMNS GT_STORE_ROW_COLUMNS ", " DEVICE_FACT("sms") ", " DEVICE_FACT("l2_bytes")

/* Trials that may be the winners of their problems are found in the index alone, since reading a
 * million rows takes ten seconds: the trials within 2 % of the best of their device and timing
 * stage (a choice among ties counts for 1 %).  The texts of the query say which kernels (kernel,
 * signature, current) and which of their rows count.  The last column is the number of times from
 * which a winner was chosen. */
static const char winners_sql[] =
    "WITH eligible AS MATERIALIZED (SELECT id FROM (SELECT id, name AS kernel, signature, 1 AS ok,"
    " " GT_STORE_CURRENT " AS current, id IN (SELECT kernel FROM"
    " trial WHERE provenance = 'replayed') AS recorded FROM kernel AS k) WHERE true%s)"
    ", top AS (SELECT problem, device, timing, provenance, status, stage, min(us) AS least"
    " FROM trial WHERE status = 'ok' AND " GT_STORE_TIMED
    " AND kernel IN eligible GROUP BY 1, 2, 3, 4, 5, 6)"
    ", near AS MATERIALIZED (SELECT t.id FROM top CROSS JOIN trial AS t USING (problem, device,"
    " timing, provenance, status, stage) WHERE us <= 1.02 * least AND kernel IN eligible)"
    " SELECT " RANKED_COLUMNS ", (SELECT count(*) FROM trial AS w JOIN trial AS o"
    " USING (problem, timing, provenance, status) WHERE w.id = ranked.id AND o.kernel IN eligible"
    " AND o.device IN (SELECT id FROM device AS d WHERE (d.name, d.cc) = (ranked.device,"
    " ranked.cc))) FROM (SELECT *, " RANKED(
        "") " AND id IN near%s) AS ranked WHERE place = 1" ORDERED;

static struct gt_query query_winners(struct gt_store *store, const char *kernels, const char *rows,
                                     struct gt_err *err)
{
    struct gt_strbuf sql = GT_STRBUF_INIT;

    gt_strbuf_addf(&sql, winners_sql, kernels, rows);
    return gt_query_built(store, "read rows", &sql, err);
}

/* The filter narrows before rows are ranked, so that "winners of kernel K" are the best of K. */
static void add_conditions(struct gt_strbuf *sql, const struct gt_row_filter *filter)
{
    gt_store_add_filter(sql, filter);
    for (int i = 0; filter->provenance && i < GT_PROVENANCE_COUNT; i++)
        if (!(filter->provenance >> i & 1))
            gt_strbuf_addf(sql, " AND provenance <> '%s'",
                           gt_provenance_name((enum gt_provenance)i));
}

static struct gt_query query_filtered_winners(struct gt_store *store,
                                              const struct gt_row_filter *filter,
                                              struct gt_err *err)
{
    struct gt_strbuf kernels = GT_STRBUF_INIT, rows = GT_STRBUF_INIT;
    struct gt_query q = {.code = GT_ENOMEM};

    gt_strbuf_add(&kernels, filter->kernel ? " AND kernel = ?2" : "");
    gt_store_add_current(&kernels, filter);
    add_conditions(&rows, filter);
    if (gt_strbuf_check(&kernels, err) || gt_strbuf_check(&rows, err))
        q.err = err;
    else
        q = query_winners(store, kernels.text ? kernels.text : "", rows.text ? rows.text : "", err);
    gt_strbuf_release(&kernels);
    gt_strbuf_release(&rows);
    return q;
}

static struct gt_query query_rows(struct gt_store *store, const struct gt_row_filter *filter,
                                  struct gt_err *err)
{
    struct gt_strbuf sql = GT_STRBUF_INIT;

    gt_strbuf_add(&sql, "SELECT " RANKED_COLUMNS ", trials FROM (SELECT *, sum(ok) OVER (PARTITION"
                        " BY device, cc, problem, timing, provenance) AS trials, ");
    gt_strbuf_add(&sql, filter->older ? RANKED("") : RANKED("ok AND current DESC, "));
    add_conditions(&sql, filter);
    if (filter->kernels)
        gt_store_add_current(&sql, filter);
    gt_strbuf_add(&sql, ") AS ranked WHERE place <= ?4" ORDERED);
    return gt_query_built(store, "read rows", &sql, err);
}

int gt_store_read_row(struct gt_store *store, sqlite3_stmt *s, struct gt_row *row,
                      struct gt_err *err)
{
    gt_store_read_fields(s, 0, row_fields, ROW_FIELDS, row);
    row->status = gt_status_parse(gt_store_text(s, STATUS));
    row->deterministic = !sqlite3_column_int(s, STATUS + 2);
    if (gt_store_whole(store, NULL))
        return gt_err_nomem(err);
    if (row->status == GT_STATUS_NONE ||
        !gt_provenance_parse(&row->provenance, gt_store_text(s, STATUS + 1)))
        return gt_err_set(
            err, GT_EDB, "%s: the trial of %s has the unknown status \"%s\" or provenance \"%s\"",
            store->path, row->point, gt_store_text(s, STATUS), gt_store_text(s, STATUS + 1));
    return GT_OK;
}

static int visit_rows(struct gt_store *store, struct gt_query *q, gt_row_visit *visit,
                      void *context, struct gt_err *err)
{
    struct gt_row row;

    while (gt_query_row(q)) {
        q->code = gt_store_read_row(store, q->s, &row, err);
        row.sms = sqlite3_column_int(q->s, GT_STORE_ROW_COLUMN_COUNT);
        row.l2_bytes = sqlite3_column_int64(q->s, GT_STORE_ROW_COLUMN_COUNT + 1);
        row.trials = sqlite3_column_int64(q->s, GT_STORE_ROW_COLUMN_COUNT + 2);
        GT_STEP(q->code, visit(context, &row, err));
    }
    return gt_query_end(q);
}

int gt_store_all_winners(struct gt_store *store, gt_row_visit *visit, void *context,
                         struct gt_err *err)
{
    struct gt_query q = query_winners(store, " AND current", "", err);

    return visit_rows(store, &q, visit, context, err);
}

int gt_store_rows(struct gt_store *store, const struct gt_row_filter *filter, gt_row_visit *visit,
                  void *context, struct gt_err *err)
{
    struct gt_query q = filter->winners_only ? query_filtered_winners(store, filter, err)
                                             : query_rows(store, filter, err);

    gt_store_bind_filter(q.s, filter);
    sqlite3_bind_int(q.s, 4, filter->limit > 0 ? filter->limit : INT_MAX);
    return visit_rows(store, &q, visit, context, err);
}

/* ---- the winners of a database that may be damaged or foreign ----
 *
 * SQLite's pages carry no checksum: a flipped bit can change a value and still pass every check
 * (477 of 80,000 random flips changed an answer).  So an exported copy, and a database whose writer
 * closed it, hold a digest over the winners exactly as a reader receives them.  Whatever a damaged
 * byte does, either the winners are the same or the digest is not.  While a writer has a database
 * open, and after one was killed, there is no digest. */

/* The rows that a digest covers: `meta` names the kind by its key. */
enum kind {
    KIND_NONE,
    KIND_ROWS,  /* 'digest': the columns of `line`, in exported copies of version 0.1 and before */
    KIND_FACTS, /* 'winners': these columns and the facts of the device */
};

/* The state of reading winners. */
struct reading {
    struct gt_digest digest;
    enum kind kind;
    gt_row_visit *visit; /* NULL: only the digest is wanted */
    void *context;
};

static int digest_row(void *context, const struct gt_row *row, struct gt_err *err)
{
    struct reading *reading = context;
    const char *const texts[] = {row->device, row->uuid,     row->dtype,  row->accuracy,
                                 row->layout, row->problem,  row->kernel, row->signature,
                                 row->point,  row->baseline, row->date,   row->detail};
    char numbers[640];
    const bool algo = *row->algo; /* absent from the rows, and the digests, of earlier versions */

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        gt_digest_add(&reading->digest, texts[i], strlen(texts[i]));
    if (algo)
        gt_digest_add(&reading->digest, row->algo, strlen(row->algo));
    snprintf(numbers, sizeof(numbers),
             "%d %d %d %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64
             " %d %d %d %d %a %a %a %a %a %a %d %d %d %" PRId64 " %" PRId64,
             row->cc, row->driver, row->nvrtc, row->m, row->n, row->k, row->batch, row->status,
             row->provenance, row->timing, row->deterministic, row->us, row->lo_us, row->hi_us,
             row->baseline_us, row->err_u, row->clock_mhz, row->registers, row->stage, row->ties,
             row->shared_bytes, row->workspace_bytes);
    gt_digest_add(&reading->digest, numbers, strlen(numbers));
    if (reading->kind == KIND_FACTS) {
        snprintf(numbers, sizeof(numbers), " %d %" PRId64, row->sms, row->l2_bytes);
        gt_digest_add(&reading->digest, numbers, strlen(numbers));
    }
    return reading->visit ? reading->visit(reading->context, row, err) : GT_OK;
}

/* Visits the winners; hex: the digest of the visited rows. */
static int read_winners(struct gt_store *store, enum kind kind, gt_row_visit *visit, void *context,
                        char hex[GT_DIGEST_HEX], struct gt_err *err)
{
    struct reading reading = {.kind = kind, .visit = visit, .context = context};
    locale_t before;
    int code;

    if (gt_digest_init(&reading.digest))
        return gt_err_nomem(err);
    before = gt_locale_enter(); /* the digest covers numbers as "%a" writes them, with a point */
    code = gt_store_all_winners(store, digest_row, &reading, err);
    gt_locale_leave(before);
    gt_digest_final(&reading.digest, hex);
    return code;
}

int gt_store_winners_digest(struct gt_store *store, char hex[GT_DIGEST_HEX], struct gt_err *err)
{
    return read_winners(store, KIND_FACTS, NULL, NULL, hex, err);
}

/* Reads the stored digest. */
static int stored_digest(struct gt_store *store, enum kind *kind, char hex[GT_DIGEST_HEX],
                         struct gt_err *err)
{
    struct gt_query q = gt_query(store, "read its digest",
                                 "SELECT key = 'winners', value FROM meta"
                                 " WHERE key IN ('digest', 'winners') ORDER BY key DESC",
                                 err);

    *kind = KIND_NONE;
    *hex = '\0';
    if (gt_query_row(&q)) {
        *kind = sqlite3_column_int(q.s, 0) ? KIND_FACTS : KIND_ROWS;
        snprintf(hex, GT_DIGEST_HEX, "%s", gt_store_text(q.s, 1));
        q.code = gt_store_whole(store, err);
    }
    return gt_query_end(&q);
}

/* Reads the winners and compares them with the digest, all in one transaction, because a writer may
 * change both meanwhile.  Without a digest every page is checked first.  That takes 3 s for a
 * million trials, so it is left out where a digest proves the rows. */
static int read_checked(struct gt_store *store, gt_row_visit *visit, void *context,
                        struct gt_err *err)
{
    char expected[GT_DIGEST_HEX], found[GT_DIGEST_HEX];
    enum kind kind = KIND_NONE;
    bool differ;
    int code = gt_store_exec(store, "SAVEPOINT reading", err);

    GT_STEP(code, stored_digest(store, &kind, expected, err));
    if (!code && !kind && visit)
        code = gt_store_check_pages(store, err);
    if (!code && (kind || visit))
        code = read_winners(store, kind, visit, context, found, err);
    differ = !code && kind && strcmp(expected, found) != 0;
    if (differ)
        code = gt_store_check_pages(store, err); /* sets the sentence on the damage */
    if (!code && differ)
        code = gt_err_set(err, GT_EDB,
                          "%s is damaged, or another program changed it: its winners do not match "
                          "its digest; tune them again into another file, or take them as they are "
                          "with `sqlite3 FILE 'DELETE FROM meta'`",
                          store->path);
    sqlite3_exec(store->db, "RELEASE reading", NULL, NULL, NULL);
    return code;
}

int gt_store_check_digest(struct gt_store *store, struct gt_err *err)
{
    return read_checked(store, NULL, NULL, err);
}

int gt_store_winners(const char *path, gt_row_visit *visit, void *context, struct gt_err *err)
{
    struct gt_store *store;
    int code = gt_store_open_unchecked(&store, path, err);

    if (code)
        return code;
    sqlite3_limit(store->db, SQLITE_LIMIT_LENGTH, 16 << 20);
    sqlite3_limit(store->db, SQLITE_LIMIT_ATTACHED, 0);
    code = read_checked(store, visit, context, err);
    gt_store_close(store);
    return code;
}
