/* store_merge.c - the union of two tuning databases.  Part of the store: see store.h. */
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/err.h"
#include "db/store_internal.h"

/* SQL: the rank of a trial.  Proof of a fault ranks first, then trials that are ok by stage, then
 * all other trials. */
#define RANK(row)                                                       \
    "(CASE WHEN " row ".status IN " GT_STORE_FAULTY " THEN 9 WHEN " row \
    ".status = 'ok' THEN 1 + " row ".stage ELSE 0 END, " row ".at)"

/* Ids differ between databases.  These are our ids of the rows that a row `t` of the other database
 * refers to. */
#define OURS_DEVICE                                                \
    "(SELECT d.id FROM other.device AS o JOIN main.device AS d ON" \
    " (d.name, d.uuid, d.cc, d.driver, d.profile) ="               \
    " (o.name, o.uuid, o.cc, o.driver, o.profile) WHERE o.id = t.device)"
#define OURS_TOOLCHAIN                                                \
    "(SELECT c.id FROM other.toolchain AS o JOIN main.toolchain AS c" \
    " ON c.nvrtc = o.nvrtc WHERE o.id = t.toolchain)"
#define OURS_KERNEL                                             \
    "(SELECT k.id FROM other.kernel AS o JOIN main.kernel AS k" \
    " ON (k.name, k.signature) = (o.name, o.signature) WHERE o.id = t.kernel)"
#define OURS_PROBLEM                                              \
    "(SELECT p.id FROM other.problem AS o JOIN main.problem AS p" \
    " ON p.text = o.text WHERE o.id = t.problem)"
#define THE_MERGE "(SELECT max(id) FROM main.sweep)"

/* The time in microseconds below which nothing can have been measured for a row `t`: no launch
 * takes only a tenth of a microsecond, and no device computes more than its multiprocessors (the
 * largest has 192) can at 3 GHz.  Operations of a multiprocessor per cycle, from NVIDIA's
 * documents: 256 in FP32, 2048 in TF32, 4096 in FP16 and 8192 in FP8 and INT8 up to sm_90; since
 * sm_100 twice as many on tensor cores. */
#define LEAST                                                                              \
    "(SELECT max(0.1, 2.0 * p.m * p.n * p.k * p.batch / 3000.0"                            \
    " / CASE WHEN d.sms BETWEEN 1 AND 256 THEN d.sms ELSE 256 END"                         \
    " / CASE WHEN p.dtype = 'f32' AND p.accuracy = 'strict' THEN 256 ELSE"                 \
    " CASE WHEN p.dtype IN ('f32', 'tf32') THEN 2048 WHEN p.dtype IN ('f16', 'bf16') THEN" \
    " 4096 ELSE 8192 END * (1 + (d.cc >= 100)) END)"                                       \
    " FROM other.device AS d, other.problem AS p WHERE d.id = t.device AND p.id = t.problem)"
#define SOUND " t.us >= " LEAST " AND t.us < 1e12"
#define SOUND_TRIAL                                                                      \
    " (t.status <> 'ok' OR CASE t.provenance WHEN 'measured' THEN" SOUND " ELSE t.us >=" \
    " 1e-6 END)"

/* A date in the future comes from a wrong clock, and would make its row the newest for years. */
#define NOW "(CAST(strftime('%s', 'now') AS INTEGER) * 1000 + 999)"
#define AT  "min(at, " NOW ")"

/* The tables whose rows are merged.  rows: only rows `t` for which this SQL is true; judged: the
 * others, and dates in the future, are counted.  replaces: a row takes the place of ours of the
 * same key if this is true; "": ours stays. */
static const struct merged {
    const char *table, *rows, *replaces;
    bool judged;
} merged[] = {
    {"device", "true", "", false},
    {"toolchain", "true", "", false},
    {"problem", "true", "", false},
    {"calibration", "true", "excluded.at > calibration.at", true},
    {"attempt", "true", "", false},
    {"baseline", SOUND, "excluded.at > baseline.at", true},
    {"tie", /* two choices for one problem would contradict each other */
     "NOT EXISTS (SELECT 1 FROM main.tie AS mine WHERE mine.device = " OURS_DEVICE
     " AND mine.problem = " OURS_PROBLEM " AND mine.timing = t.timing)",
     "", false},
    {"comparison", SOUND, "excluded.at > comparison.at", true},
    {"energy", SOUND, "excluded.at > energy.at", true},
    {"visit", "t.at <= " NOW, "", true}, /* its problem and end are its key: none comes twice */
    {"trial", SOUND_TRIAL, RANK("excluded") " > " RANK("trial"), true},
};
enum { TABLES = sizeof(merged) / sizeof(*merged), OF_PROBLEMS = 4 }; /* tables from there on */

/* Makes the statement that merges a table: ?1 table, ?2 rows, ?3 replaces; then what the columns of
 * `ours` become here. */
static const char insert_sql[] =
    "WITH ours(ours, value) AS (VALUES ('device', ?4), ('toolchain', ?5), ('kernel', ?6),"
    " ('problem', ?7), ('sweep', ?8), ('at', ?9))"
    " SELECT 'INSERT ' || iif(?3 = '', 'OR IGNORE', '') || ' INTO main.' || ?1 || ' ('"
    " || group_concat(name) || ') SELECT '"
    " || group_concat(iif(type = 'INTEGER', coalesce(value, name), name)) || ' FROM other.' || ?1"
    " || ' AS t WHERE ' || ?2 || iif(?3 = '', '', ' ON CONFLICT DO UPDATE SET '"
    " || group_concat(name || ' = excluded.' || name) FILTER (WHERE name NOT IN ('device',"
    " 'toolchain', 'kernel', 'problem', 'point', 'timing', 'provenance', 'signature', 'figure'))"
    " || ' WHERE ' || ?3) FROM pragma_table_info(?1, 'main') LEFT JOIN ours ON ours = name"
    " WHERE name <> 'id'";

static const char kernels_sql[] =
    "INSERT INTO main.kernel (name, signature, description, template, seen)"
    " SELECT name, signature, description, template,"
    " min(seen, CAST(strftime('%s', 'now') AS INTEGER) * 1000) FROM other.kernel WHERE true"
    " ON CONFLICT (name, signature) DO UPDATE SET seen = max(seen, excluded.seen);";

static const char improvements_sql[] =
    "INSERT OR IGNORE INTO main.improvement (visit, place, trials, seconds, us) SELECT"
    " (SELECT v.id FROM main.visit AS v WHERE (v.device, v.problem, v.timing, v.at) ="
    " (" OURS_DEVICE ", " OURS_PROBLEM ", t.timing, t.at)), i.place, i.trials, i.seconds, i.us"
    " FROM other.improvement AS i JOIN other.visit AS t ON t.id = i.visit"
    " WHERE i.us >= 1e-6 AND t.at <= " NOW ";";

/* What belongs to the rows of one problem in the form of a whole database.  The texts of kernels,
 * which are most of a database, are left out. */
static const char problem_sql[] =
    "CREATE TABLE other.improvement AS SELECT * FROM whole.improvement"
    " WHERE visit IN (SELECT id FROM other.visit);"
    "CREATE TABLE other.problem AS SELECT * FROM whole.problem WHERE text = %Q;"
    "CREATE TABLE other.device AS SELECT * FROM whole.device;"
    "CREATE TABLE other.toolchain AS SELECT * FROM whole.toolchain;"
    "CREATE TABLE other.calibration AS SELECT * FROM whole.calibration;"
    "CREATE TABLE other.kernel AS SELECT id, name, signature, '' AS description, '' AS template,"
    " seen FROM whole.kernel WHERE id IN (SELECT kernel FROM other.trial UNION"
    " SELECT kernel FROM other.attempt UNION SELECT kernel FROM other.comparison);";

/* Attaches a database under a name. */
static int attach_as(struct gt_store *store, const char *uri, const char *name, struct gt_err *err)
{
    return gt_store_do(store, "read the other database", "ATTACH ?1 AS ?2", err, "%s%s", uri, name);
}

/* Attaches the file itself or, for an older version, its copy in memory that was brought
 * forward. */
static int attach_store(struct gt_store *store, const struct gt_store *other, struct gt_err *err)
{
    char *uri;
    int code;

    if (other->forwarded) {
        code = attach_as(store, ":memory:", "other", err);
        return code ? code : gt_store_fill(store->db, "other", other->db, other->path, err);
    }
    uri = gt_store_uri(other->path, other->immutable ? "immutable=1" : "mode=ro");
    code = uri ? attach_as(store, uri, "other", err) : gt_err_nomem(err);
    free(uri);
    return code;
}

/* The other database is first opened by itself, so that all checks of a database and of an exported
 * copy apply to it.  It is closed after it was detached, so that closing removes its log. */
static int attach(struct gt_store *store, const char *path, struct gt_store **opened,
                  struct gt_err *err)
{
    struct stat ours, theirs;
    int code = gt_store_open(opened, path, GT_STORE_READ, err);
    const struct gt_store *other = *opened;

    if (code)
        return code;
    if (stat(store->path, &ours) == 0 && stat(path, &theirs) == 0 && ours.st_dev == theirs.st_dev &&
        ours.st_ino == theirs.st_ino)
        code = gt_err_set(err, GT_ERANGE, "%s: cannot be merged with itself", path);
    return code ? code : attach_store(store, other, err);
}

/* Counts the rows of a table that the merge changes or leaves out. */
static int count_doubts(struct gt_store *store, const struct merged *table, struct gt_err *err)
{
    struct gt_strbuf sql = GT_STRBUF_INIT;
    struct gt_query q;

    gt_strbuf_addf(&sql,
                   "SELECT count(*) FILTER (WHERE NOT (%s)),"
                   " count(*) FILTER (WHERE t.at > %s AND %s) FROM other.%s AS t",
                   table->rows, NOW, table->rows, table->table);
    q = gt_query_built(store, "judge the other database", &sql, err);
    if (gt_query_row(&q)) {
        store->refused += sqlite3_column_int64(q.s, 0);
        store->dated += sqlite3_column_int64(q.s, 1);
    }
    return gt_query_end(&q);
}

void gt_store_merge_doubts(const struct gt_store *store, int64_t *refused, int64_t *dated)
{
    *refused = store->refused;
    *dated = store->dated;
}

static int copy_table(struct gt_store *store, const struct merged *table, struct gt_err *err)
{
    struct gt_query q = gt_query(store, "read its tables", insert_sql, err);

    gt_query_bind(&q, 1, "%s%s%s%s%s%s%s%s%s", table->table, table->rows, table->replaces,
                  OURS_DEVICE, OURS_TOOLCHAIN, OURS_KERNEL, OURS_PROBLEM, THE_MERGE, AT);
    if (table->judged)
        GT_STEP(q.code, count_doubts(store, table, err));
    if (gt_query_row(&q))
        q.code = gt_store_exec(store, gt_store_text(q.s, 0), err);
    return gt_query_end(&q);
}

/* Merges all tables, the trials last, whose number is *rows. */
static int copy(struct gt_store *store, const char *path, int64_t *rows, struct gt_err *err)
{
    int code = gt_store_do(store, "begin the merge",
                           "INSERT INTO main.sweep (command, started, ended, outcome)"
                           " VALUES ('merge ' || ?1, ?2, ?2, 'merged')",
                           err, "%s%ld", path, gt_clock_date_ms());

    store->refused = store->dated = 0;
    GT_STEP(code, gt_store_exec(store, kernels_sql, err));
    for (size_t i = 0; i < TABLES; i++)
        GT_STEP(code, copy_table(store, &merged[i], err));
    *rows = sqlite3_changes64(store->db);
    GT_STEP(code, gt_store_exec(store, improvements_sql, err));
    return code;
}

int gt_store_merge(struct gt_store *store, const char *path, int64_t *rows, struct gt_err *err)
{
    struct gt_store *other = NULL;
    int code = attach(store, path, &other, err);

    *rows = 0;
    GT_STEP(code, gt_store_begin(store, err));
    GT_STEP(code, gt_store_finish(store, copy(store, path, rows, err), err));
    sqlite3_exec(store->db, "DETACH other", NULL, NULL, NULL);
    gt_store_close(other);
    return code;
}

/* Makes a database `other` in memory with the rows that `whole` has of a problem. */
static int take_problem(struct gt_store *store, const char *problem, struct gt_err *err)
{
    struct gt_strbuf sql = GT_STRBUF_INIT;
    char *rest = sqlite3_mprintf(problem_sql, problem), *of = sqlite3_mprintf("%Q", problem);
    int code = rest && of ? GT_OK : gt_err_nomem(err);

    for (size_t i = OF_PROBLEMS; i < TABLES && !code; i++)
        gt_strbuf_addf(&sql,
                       "CREATE TABLE other.%s AS SELECT * FROM whole.%s WHERE problem ="
                       " (SELECT id FROM whole.problem WHERE text = %s);",
                       merged[i].table, merged[i].table, of);
    GT_STEP(code, gt_strbuf_check(&sql, err));
    GT_STEP(code, gt_store_exec(store, sql.text, err));
    GT_STEP(code, gt_store_exec(store, rest, err));
    gt_strbuf_release(&sql);
    sqlite3_free(rest);
    sqlite3_free(of);
    return code;
}

/* Fills an empty database in memory with the rows that the file at `path` has of a problem. */
static int fill_of_problem(struct gt_store *made, const char *path, const char *problem,
                           int64_t *rows, struct gt_err *err)
{
    char *uri = gt_store_uri(path, "mode=ro");
    int code = uri ? attach_as(made, uri, "whole", err) : gt_err_nomem(err);

    GT_STEP(code, attach_as(made, ":memory:", "other", err));
    GT_STEP(code, gt_store_begin(made, err));
    if (!code) {
        code = take_problem(made, problem, err);
        GT_STEP(code, copy(made, path, rows, err));
        code = gt_store_finish(made, code, err);
    }
    sqlite3_exec(made->db, "DETACH other; DETACH whole", NULL, NULL, NULL);
    free(uri);
    return code;
}

int gt_store_pack_problem(struct gt_store *store, const char *problem, struct gt_strbuf *file,
                          int64_t *rows, struct gt_err *err)
{
    struct gt_store *made;
    sqlite3_int64 size = 0;
    unsigned char *bytes = NULL;
    int code = gt_store_settle(store, err);

    *rows = 0;
    GT_STEP(code, gt_store_new(&made, store->path, err));
    if (code)
        return code;
    code = gt_store_open_memory(made, err);
    GT_STEP(code, gt_store_migrate(made, err));
    GT_STEP(code, fill_of_problem(made, store->path, problem, rows, err));
    GT_STEP(code, gt_store_seal(made, err));
    if (!code && !(bytes = sqlite3_serialize(made->db, "main", &size, 0)))
        code = gt_err_nomem(err);
    if (!code)
        gt_strbuf_add_bytes(file, bytes, (size_t)size);
    sqlite3_free(bytes);
    gt_store_close(made);
    return code ? code : gt_strbuf_check(file, err);
}

/* ---- taking a trial over to another text of its kernel ---- */

/* The trials of a row: ?1 point, ?2 timing, ?3 problem, ?4 kernel, ?5 signature, ?6 to ?9 device.
 */
#define OF_ROW                                                \
    " WHERE point = ?1 AND timing = ?2"                       \
    " AND problem = (SELECT id FROM problem WHERE text = ?3)" \
    " AND device IN (SELECT id FROM device WHERE (name, uuid, cc, driver) = (?6, ?7, ?8, ?9))"

static const char carried_trials_sql[] =
    "INSERT OR IGNORE INTO trial (device, toolchain, kernel, problem, point, timing, sweep, "
    "at," GT_STORE_TRIAL_COLUMNS ") SELECT device, toolchain, ?11, problem, ?13, timing, ?12, "
    "at," GT_STORE_TRIAL_COLUMNS " FROM trial" OF_ROW
    " AND kernel = (SELECT id FROM kernel WHERE (name, signature) = (?4, ?5))"
    " AND toolchain = (SELECT id FROM toolchain WHERE nvrtc = ?10)"
    " AND status = 'ok' AND provenance = 'measured'";

/* A carried point may have one more parameter than the point in the tie that it won. */
static const char carried_ties_sql[] =
    "INSERT OR IGNORE INTO tie (device, problem, timing, kernel, point, chosen)"
    " SELECT device, problem, timing, kernel, ?13, chosen FROM tie" OF_ROW " AND kernel = ?4";

static int take_over(struct gt_store *store, const char *sql, const struct gt_row *row,
                     const struct gt_trial_key *to, struct gt_err *err)
{
    return gt_store_do(store, "take a trial over", sql, err, "%s%d%s%s%s%s%s%d%d%d%ld%ld%s",
                       row->point, row->timing, row->problem, row->kernel, row->signature,
                       row->device, row->uuid, row->cc, row->driver, row->nvrtc, to->kernel,
                       to->sweep, to->point);
}

int gt_store_carry(struct gt_store *store, const struct gt_row *row, const struct gt_trial_key *to,
                   struct gt_err *err)
{
    int code = gt_store_begin(store, err);

    if (code)
        return code;
    code = take_over(store, carried_trials_sql, row, to, err);
    GT_STEP(code, take_over(store, carried_ties_sql, row, to, err));
    return gt_store_finish(store, code, err);
}
