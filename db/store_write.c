/* store_write.c - what runs store: trials, their figures, comparisons and turns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/err.h"
#include "db/store_internal.h"

/* For the other processes' transactions, each of some milliseconds. */
#define SHARED_WAIT_MS 60000

/* What is written to has no digest until it is closed (gt_store_seal). */
static int drop_digest(struct gt_store *store, struct gt_err *err)
{
    int64_t entries;
    int code = gt_store_integer(store->db, store->path, "SELECT count(*) FROM meta", &entries, err);

    if (code || entries == 0)
        return code;
    code = gt_store_begin(store, err);
    return code ? code : gt_store_finish(store, gt_store_exec(store, "DELETE FROM meta", err), err);
}

/* A clock that was ahead must not make an older text of a kernel look newer than every text that is
 * used from now on. */
static int cap_clock(struct gt_store *store, struct gt_err *err)
{
    sqlite3_stmt *statement = NULL;
    int64_t ahead;
    char *query = sqlite3_mprintf("SELECT count(*) FROM kernel WHERE seen >= %lld",
                                  (long long)gt_clock_date_ms());
    int code =
        query ? gt_store_integer(store->db, store->path, query, &ahead, err) : gt_err_nomem(err);

    sqlite3_free(query);
    if (code || ahead == 0)
        return code;
    code = gt_store_prepare(store, &statement,
                            "UPDATE kernel SET seen = max(?1 - 1, 0) WHERE seen >= ?1", err);
    GT_STEP(code, gt_store_begin(store, err));
    if (!code) {
        sqlite3_bind_int64(statement, 1, gt_clock_date_ms());
        code =
            gt_store_finish(store, gt_store_run(store, statement, "correct its dates", err), err);
    }
    sqlite3_finalize(statement);
    return code;
}

/* Before the writer closes: the digest.  Without memory or disk there is none. */
static void seal(struct gt_store *store)
{
    if (gt_store_check_moved(store, NULL) == GT_OK)
        gt_store_seal(store, NULL);
}

/* Remembers which log is ours, and who may read the database: another one may take its place. */
static void note_file(struct gt_store *store)
{
    char *log = sqlite3_mprintf("%s-wal", store->path);
    struct stat status;

    store->mode = stat(store->path, &status) == 0 ? status.st_mode & 0666 : 0600;
    if (log && stat(log, &status) == 0) {
        store->log_device = (uint64_t)status.st_dev;
        store->log_inode = (uint64_t)status.st_ino;
    }
    sqlite3_free(log);
}

/* The lock lies beside the database itself, so that two links to it are not two databases. */
static int name_lock(struct gt_store *store, struct gt_err *err)
{
    struct stat status;
    bool linked = lstat(store->path, &status) == 0 && S_ISLNK(status.st_mode);
    char *target = linked ? realpath(store->path, NULL) : NULL; /* NULL: to nothing yet */
    int code = GT_OK;

    if (asprintf(&store->lock_path, "%s-lock", target ? target : store->path) < 0) {
        store->lock_path = NULL;
        code = gt_err_nomem(err);
    }
    GT_STEP(code, gt_store_check_place(target ? target : store->path, err));
    free(target);
    return code;
}

static int open_write(struct gt_store *store, struct gt_err *err)
{
    int64_t version = 0;
    bool fresh = false;
    int code = name_lock(store, err);

    GT_STEP(code, gt_store_lock(store, err));
    GT_STEP(code, gt_store_open_file(store, true, err));
    GT_STEP(code, gt_store_check(store, &fresh, &version, err));
    if (!code && !fresh)
        code = gt_store_check_pages(store, err);
    GT_STEP(code, gt_store_set_up(store, true, err));
    GT_STEP(code, gt_store_migrate(store->db, store->path, err));
    GT_STEP(code, gt_store_check_schema(store->db, store->path, err));
    GT_STEP(code, gt_store_check_digest(store, err)); /* of what a writer before this one closed */
    GT_STEP(code, cap_clock(store, err));
    GT_STEP(code, drop_digest(store, err));
    if (!code) {
        note_file(store);
        store->seal = seal;
    }
    return code;
}

/* Beside the holder of the lock, who has brought the schema forward and checked the file. */
static int open_shared(struct gt_store *store, struct gt_err *err)
{
    int code;

    store->shared = true;
    code = gt_store_open_file(store, true, err);
    GT_STEP(code, gt_store_set_up(store, true, err));
    if (code)
        return code;
    sqlite3_busy_timeout(store->db, SHARED_WAIT_MS);
    code = gt_store_check_schema(store->db, store->path, err);
    if (!code)
        note_file(store);
    return code;
}

int gt_store_open(struct gt_store **store, const char *path, enum gt_store_mode mode,
                  struct gt_err *err)
{
    return gt_store_open_watched(store, path, mode, NULL, err);
}

int gt_store_open_watched(struct gt_store **store, const char *path, enum gt_store_mode mode,
                          const volatile sig_atomic_t *signals, struct gt_err *err)
{
    struct gt_store *opened;
    int code;

    *store = NULL;
    code = mode == GT_STORE_READ ? gt_store_open_read(&opened, path, err)
                                 : gt_store_new(&opened, path, err);
    if (code)
        return code;
    opened->signals = signals;
    code = mode == GT_STORE_READ     ? gt_store_check_digest(opened, err)
           : mode == GT_STORE_SHARED ? open_shared(opened, err)
                                     : open_write(opened, err);
    opened->signals = NULL;
    if (code) {
        gt_store_close(opened);
        return code;
    }
    sqlite3_progress_handler(opened->db, 0, NULL, NULL);
    *store = opened;
    return GT_OK;
}

/* Reads trials in full, samples and costs included: what a recording of a space is
 * made from; and whether a final was the last that was measured.  Part of the store: see store.h.
 */

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

/* Remembers winners that `tune bench` timed beside the vendor library, and reads
 * for each problem what was measured last.  Part of the store: see store.h. */

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

/* Remembers how each problem's turn in a sweep went.  Part of the store: see
 * store.h. */

/* What is written of a turn and read again, in the same order. */
static const struct gt_field fields_turns[] = {
    GT_FIELD(gt_turn, TEXT, kernels), GT_FIELD(gt_turn, TEXT, strategy),
    GT_FIELD(gt_turn, INT64, seed), GT_FIELD(gt_turn, INT64, known),
    GT_FIELD(gt_turn, INT64, trials), GT_FIELD(gt_turn, TIME, seconds),
    GT_FIELD(gt_turn, TIME, race_s), GT_FIELD(gt_turn, TIME, busy_s), GT_FIELD(gt_turn, TIME, us),
    GT_FIELD(gt_turn, TIME, baseline_us),
    /* only read */
    GT_FIELD(gt_turn, TEXT, device), GT_FIELD(gt_turn, TEXT, problem),
    GT_FIELD(gt_turn, TEXT, date), GT_FIELD(gt_turn, INT, timing),
    GT_FIELD(gt_turn, TIME, best_us)};
enum { WRITTEN = 10, READ = sizeof(fields_turns) / sizeof(fields_turns[0]) };

/* ---- writing ---- */

static int put_improvements(struct gt_store *store, int64_t id, const struct gt_turn *turn,
                            struct gt_err *err)
{
    struct gt_query q = gt_query(store, "write an improvement",
                                 "INSERT INTO improvement (visit, place, trials, seconds, us)"
                                 " VALUES (?1, ?2, ?3, ?4, ?5)",
                                 err);

    for (size_t i = 0; i < turn->improvements; i++) {
        const struct gt_improvement *improvement = &turn->improvement[i];

        sqlite3_bind_int64(q.s, 1, id);
        sqlite3_bind_int64(q.s, 2, (int64_t)i);
        sqlite3_bind_int64(q.s, 3, improvement->trials);
        sqlite3_bind_double(q.s, 4, improvement->seconds);
        sqlite3_bind_double(q.s, 5, improvement->us);
        gt_query_run(&q);
    }
    return gt_query_end(&q);
}

static int put(struct gt_store *store, const struct gt_trial_key *key, const struct gt_turn *turn,
               struct gt_err *err)
{
    struct gt_query q = gt_query(
        store, "write a turn",
        "INSERT INTO visit (device, problem, timing, sweep, kernels, strategy, seed, known,"
        " trials, seconds, race_s, busy_s, us, baseline_us, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7,"
        " ?8, ?9, ?10, ?11, ?12, ?13, ?14, max(?15, coalesce((SELECT max(at) + 1 FROM visit"
        " WHERE device = ?1 AND problem = ?2 AND timing = ?3), 0)))",
        err);

    gt_store_bind_place(q.s, key);
    sqlite3_bind_int64(q.s, 4, key->sweep);
    gt_store_bind_fields(q.s, 5, fields_turns, WRITTEN, turn);
    sqlite3_bind_int64(q.s, 15, gt_clock_date_ms());
    gt_query_run(&q);
    GT_STEP(q.code, put_improvements(store, sqlite3_last_insert_rowid(store->db), turn, err));
    return gt_query_end(&q);
}

int gt_store_put_turn(struct gt_store *store, const struct gt_trial_key *key,
                      const struct gt_turn *turn, struct gt_err *err)
{
    int code = gt_store_begin(store, err);

    return code ? code : gt_store_finish(store, put(store, key, turn, err), err);
}

/* ---- reading ---- */

static const char improvements_sql[] =
    "SELECT min(seconds, 1e12), min(max(us, 1e-6), 1e12), trials FROM improvement WHERE visit = ?1"
    " ORDER BY place";

static const char turns_sql[] =
    "SELECT v.id, v.kernels, v.strategy, v.seed, v.known, v.trials, v.seconds, v.race_s, v.busy_s,"
    " v.us, v.baseline_us, d.name, p.text,"
    " strftime('%Y-%m-%dT%H:%M:%SZ', v.at / 1000, 'unixepoch'), v.timing,"
    " coalesce((SELECT min(i.us) FROM improvement AS i JOIN visit AS w ON w.id = i.visit"
    " JOIN device AS e ON e.id = w.device WHERE e.name = d.name AND w.problem = v.problem"
    " AND w.timing = v.timing), 0),"
    " (SELECT count(*) FROM improvement AS i WHERE i.visit = v.id)"
    " FROM visit AS v JOIN device AS d ON d.id = v.device JOIN problem AS p ON p.id = v.problem"
    " WHERE (?1 = '' OR p.text = ?1) AND (?2 = 0 OR d.cc = ?2)"
    " ORDER BY d.name, d.cc, p.dtype, p.accuracy, p.layout, p.m, p.n, p.k, p.batch, p.text,"
    " v.timing, v.kernels, v.at, v.id";

/* The improvements of the turn of this id; *list is malloc'ed. */
static int read_improvements(struct gt_store *store, int64_t id, size_t count,
                             struct gt_improvement **list, size_t *read, struct gt_err *err)
{
    struct gt_query q;

    *read = 0;
    *list = calloc(count + 1, sizeof(**list));
    if (!*list)
        return gt_err_nomem(err);
    q = gt_query(store, "read improvements", improvements_sql, err);
    sqlite3_bind_int64(q.s, 1, id);
    while (*read < count && gt_query_row(&q))
        (*list)[(*read)++] = (struct gt_improvement){.seconds = sqlite3_column_double(q.s, 0),
                                                     .us = sqlite3_column_double(q.s, 1),
                                                     .trials = sqlite3_column_int64(q.s, 2)};
    if (!q.code && *read < count)
        q.code = gt_store_fail(store->db, store->path, q.doing, err);
    return gt_query_end(&q);
}

static const char parts_sql[] =
    "SELECT min(CAST((t.at - v.at + 1000 * v.seconds) / (1000 * v.race_s) * ?2 AS INTEGER), ?2 - 1)"
    " AS place, min(sum(t.prove_ms + t.time_ms) / 1000, 1e12), min(sum(t.compile_ms) / 1000, 1e12)"
    " FROM visit AS v JOIN trial AS t ON t.problem = v.problem AND t.device = v.device"
    " AND t.timing = v.timing AND t.sweep = v.sweep WHERE v.id = ?1 AND v.race_s > 0"
    " AND t.at BETWEEN v.at - 1000 * v.seconds AND v.at - 1000 * (v.seconds - v.race_s)"
    " GROUP BY place";

/* What the trials of the turn of this id cost, by the time at which they were stored. */
static int read_parts(struct gt_store *store, int64_t id, struct gt_turn *turn, struct gt_err *err)
{
    struct gt_query q = gt_query(store, "read the work of turns", parts_sql, err);

    sqlite3_bind_int64(q.s, 1, id);
    sqlite3_bind_int(q.s, 2, GT_TURN_PARTS);
    while (gt_query_row(&q)) {
        int place = sqlite3_column_int(q.s, 0);

        if (place >= 0 && place < GT_TURN_PARTS)
            turn->part[place] =
                (struct gt_turn_part){sqlite3_column_double(q.s, 1), sqlite3_column_double(q.s, 2)};
    }
    return gt_query_end(&q);
}

int gt_store_turns(struct gt_store *store, const struct gt_row_filter *filter, gt_turn_visit *visit,
                   void *context, struct gt_err *err)
{
    struct gt_query q = gt_query(store, "read turns", turns_sql, err);

    gt_store_bind(q.s, 1, filter->problem);
    sqlite3_bind_int(q.s, 2, filter->cc);
    while (gt_query_row(&q)) {
        struct gt_improvement *list = NULL;
        struct gt_turn found = {0};

        gt_store_read_fields(q.s, 1, fields_turns, READ, &found);
        q.code = gt_store_whole(store, err);
        GT_STEP(q.code, read_improvements(store, sqlite3_column_int64(q.s, 0),
                                          (size_t)sqlite3_column_int64(q.s, 1 + READ), &list,
                                          &found.improvements, err));
        found.improvement = list;
        GT_STEP(q.code, read_parts(store, sqlite3_column_int64(q.s, 0), &found, err));
        GT_STEP(q.code, visit(context, &found, err));
        free(list);
    }
    return gt_query_end(&q);
}
