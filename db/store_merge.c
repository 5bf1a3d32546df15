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
#define OURS      OURS_DEVICE ", " OURS_TOOLCHAIN ", " OURS_KERNEL ", " OURS_PROBLEM
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
#define SOUND_VISIT " t.at <= " NOW

/* A date in the future comes from a wrong clock, and would make its row the newest for years. */
#define NOW "(CAST(strftime('%s', 'now') AS INTEGER) * 1000 + 999)"
#define AT  "min(at, " NOW ")"

/* clang-format off */
#define ENERGY_FIELDS(X) \
    X(, us) X(, joules) X(, error) X(, watts) X(, clock_mhz) X(, launches) X(, counted)
/* clang-format on */
#define ENERGY_COLUMNS      ENERGY_FIELDS(GT_COLUMN)
#define ENERGY_REPLACED     ENERGY_FIELDS(GT_REPLACED)
#define BASELINE_REPLACED   GT_STORE_BASELINE_FIELDS(GT_REPLACED)
#define COMPARISON_REPLACED GT_STORE_COMPARISON_FIELDS(GT_REPLACED)

static const char doubts_sql[] =
    "SELECT (SELECT count(*) FROM other.trial AS t WHERE NOT" SOUND_TRIAL
    ") + (SELECT count(*) FROM other.baseline AS t WHERE NOT (" SOUND
    ")) + (SELECT count(*) FROM other.comparison AS t WHERE NOT (" SOUND
    ")) + (SELECT count(*) FROM other.energy AS t WHERE NOT (" SOUND
    ")) + (SELECT count(*) FROM other.visit AS t WHERE NOT" SOUND_VISIT
    "), (SELECT count(*) FROM other.trial AS t WHERE at > " NOW " AND" SOUND_TRIAL
    ") + (SELECT count(*) FROM other.baseline AS t WHERE at > " NOW " AND" SOUND
    ") + (SELECT count(*) FROM other.calibration WHERE at > " NOW
    ") + (SELECT count(*) FROM other.comparison AS t WHERE at > " NOW " AND" SOUND
    ") + (SELECT count(*) FROM other.energy AS t WHERE at > " NOW " AND" SOUND ")";

static const char names_sql[] =
    "INSERT OR IGNORE INTO main.device (name, uuid, cc, driver, profile, sms, l2_bytes,"
    " memory_bytes, clock_mhz) SELECT name, uuid, cc, driver, profile, sms, l2_bytes,"
    " memory_bytes, clock_mhz FROM other.device;"
    "INSERT OR IGNORE INTO main.toolchain (nvrtc) SELECT nvrtc FROM other.toolchain;"
    "INSERT OR IGNORE INTO main.problem (text, dtype, accuracy, layout, m, n, k, batch)"
    " SELECT text, dtype, accuracy, layout, m, n, k, batch FROM other.problem;"
    "INSERT INTO main.kernel (name, signature, description, template, seen)"
    " SELECT name, signature, description, template,"
    " min(seen, CAST(strftime('%s', 'now') AS INTEGER) * 1000) FROM other.kernel WHERE true"
    " ON CONFLICT (name, signature) DO UPDATE SET seen = max(seen, excluded.seen);";

static const char trials_sql[] =
    "INSERT INTO main.trial (device, toolchain, kernel, problem, point, timing, sweep, "
    "at," GT_STORE_TRIAL_COLUMNS ") SELECT " OURS ", point, timing, " THE_MERGE ", " AT
    "," GT_STORE_TRIAL_COLUMNS " FROM other.trial AS t WHERE" SOUND_TRIAL GT_STORE_TRIAL_UPDATE
    " WHERE " RANK("excluded") " > " RANK("trial");

/* Ties are taken over only for problems that have none here, because two choices would contradict
 * each other. */
static const char rest_sql[] =
    "INSERT OR IGNORE INTO main.attempt (device, toolchain, kernel, problem, point, timing, sweep,"
    " count, open, at) SELECT " OURS ", point, timing, " THE_MERGE ", count, open, at"
    " FROM other.attempt AS t;"
    "INSERT INTO main.baseline (device, problem, timing, sweep, name, "
    "algo" GT_STORE_BASELINE_COLUMNS ", samples, at) SELECT " OURS_DEVICE ", " OURS_PROBLEM
    ", timing, " THE_MERGE ", name, algo" GT_STORE_BASELINE_COLUMNS ", samples, " AT
    " FROM other.baseline AS t WHERE" SOUND
    " ON CONFLICT (device, problem, timing) DO UPDATE SET sweep = excluded.sweep,"
    " name = excluded.name, algo = excluded.algo" BASELINE_REPLACED
    ", samples = excluded.samples, at = excluded.at WHERE excluded.at > baseline.at;"
    "INSERT INTO main.tie (device, problem, timing, kernel, point, chosen)"
    " SELECT " OURS_DEVICE ", " OURS_PROBLEM ", timing, kernel, point, chosen"
    " FROM other.tie AS t WHERE NOT EXISTS (SELECT 1 FROM main.tie AS mine"
    " WHERE mine.device = " OURS_DEVICE " AND mine.problem = " OURS_PROBLEM
    " AND mine.timing = t.timing);";

static const char calibration_sql[] =
    "INSERT INTO main.calibration (device, figure, value, at) SELECT " OURS_DEVICE
    ", figure, value, " AT " FROM other.calibration AS t WHERE true"
    " ON CONFLICT (device, figure) DO UPDATE SET value = excluded.value, at = excluded.at"
    " WHERE excluded.at > calibration.at;";

static const char comparisons_sql[] =
    "INSERT INTO main.comparison (device, toolchain, kernel, problem, point, "
    "timing" GT_STORE_COMPARISON_COLUMNS ", at) SELECT " OURS
    ", point, timing" GT_STORE_COMPARISON_COLUMNS ", " AT " FROM other.comparison AS t WHERE" SOUND
    " ON CONFLICT (device, toolchain, kernel, problem, timing, point) DO UPDATE SET"
    " at = excluded.at" COMPARISON_REPLACED " WHERE excluded.at > comparison.at;";

static const char energies_sql[] =
    "INSERT INTO main.energy (device, problem, kernel, signature, point" ENERGY_COLUMNS ", at)"
    " SELECT " OURS_DEVICE ", " OURS_PROBLEM ", kernel, signature, point" ENERGY_COLUMNS ", " AT
    " FROM other.energy AS t WHERE" SOUND
    " ON CONFLICT (device, problem, kernel, signature, point) DO UPDATE SET"
    " at = excluded.at" ENERGY_REPLACED " WHERE excluded.at > energy.at;";

/* A turn is identified by its problem and its end, so that no turn comes twice. */
static const char visits_sql[] =
    "INSERT OR IGNORE INTO main.visit (device, problem, timing, sweep" GT_STORE_TURN_COLUMNS
    ", at) SELECT " OURS_DEVICE ", " OURS_PROBLEM ", timing, " THE_MERGE GT_STORE_TURN_COLUMNS
    ", at FROM other.visit AS t WHERE" SOUND_VISIT ";"
    "INSERT OR IGNORE INTO main.improvement (visit, place, trials, seconds, us) SELECT"
    " (SELECT v.id FROM main.visit AS v WHERE (v.device, v.problem, v.timing, v.at) ="
    " (" OURS_DEVICE ", " OURS_PROBLEM ", t.timing, t.at)), i.place, i.trials, i.seconds, i.us"
    " FROM other.improvement AS i JOIN other.visit AS t ON t.id = i.visit"
    " WHERE i.us >= 1e-6 AND" SOUND_VISIT ";";

/* All rows of one problem, in the form of a whole database.  The texts of kernels, which are most
 * of a database, are left out. */
#define OF_PROBLEM " WHERE problem = (SELECT id FROM whole.problem WHERE text = %Q);"
static const char problem_sql[] =
    "CREATE TABLE other.trial AS SELECT * FROM whole.trial" OF_PROBLEM
    "CREATE TABLE other.attempt AS SELECT * FROM whole.attempt" OF_PROBLEM
    "CREATE TABLE other.baseline AS SELECT * FROM whole.baseline" OF_PROBLEM
    "CREATE TABLE other.tie AS SELECT * FROM whole.tie" OF_PROBLEM
    "CREATE TABLE other.comparison AS SELECT * FROM whole.comparison" OF_PROBLEM
    "CREATE TABLE other.energy AS SELECT * FROM whole.energy" OF_PROBLEM
    "CREATE TABLE other.visit AS SELECT * FROM whole.visit" OF_PROBLEM
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

/* Counts the rows that the merge changes or leaves out. */
static int count_doubts(struct gt_store *store, struct gt_err *err)
{
    struct gt_query q = gt_query(store, "judge the other database", doubts_sql, err);

    if (gt_query_row(&q)) {
        store->refused = sqlite3_column_int64(q.s, 0);
        store->dated = sqlite3_column_int64(q.s, 1);
    }
    return gt_query_end(&q);
}

void gt_store_merge_doubts(const struct gt_store *store, int64_t *refused, int64_t *dated)
{
    *refused = store->refused;
    *dated = store->dated;
}

static int copy(struct gt_store *store, const char *path, int64_t *rows, struct gt_err *err)
{
    int code = gt_store_do(store, "begin the merge",
                           "INSERT INTO main.sweep (command, started, ended, outcome)"
                           " VALUES ('merge ' || ?1, ?2, ?2, 'merged')",
                           err, "%s%ld", path, gt_clock_date_ms());

    GT_STEP(code, count_doubts(store, err));
    GT_STEP(code, gt_store_exec(store, names_sql, err));
    GT_STEP(code, gt_store_exec(store, trials_sql, err));
    *rows = sqlite3_changes64(store->db);
    GT_STEP(code, gt_store_exec(store, rest_sql, err));
    GT_STEP(code, gt_store_exec(store, calibration_sql, err));
    GT_STEP(code, gt_store_exec(store, comparisons_sql, err));
    GT_STEP(code, gt_store_exec(store, energies_sql, err));
    GT_STEP(code, gt_store_exec(store, visits_sql, err));
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

int gt_store_merge_problem(struct gt_store *store, const char *path, const char *problem,
                           int64_t *rows, struct gt_err *err)
{
    char *uri = gt_store_uri(path, "mode=ro");
    char *sql = sqlite3_mprintf(problem_sql, problem, problem, problem, problem, problem, problem,
                                problem, problem);
    int code = uri && sql ? GT_OK : gt_err_nomem(err);

    *rows = 0;
    GT_STEP(code, attach_as(store, uri, "whole", err));
    GT_STEP(code, attach_as(store, ":memory:", "other", err));
    GT_STEP(code, gt_store_begin(store, err));
    if (!code) {
        GT_STEP(code, gt_store_exec(store, sql, err));
        GT_STEP(code, copy(store, path, rows, err));
        code = gt_store_finish(store, code, err);
    }
    sqlite3_exec(store->db, "DETACH other", NULL, NULL, NULL);
    sqlite3_exec(store->db, "DETACH whole", NULL, NULL, NULL);
    sqlite3_free(sql);
    free(uri);
    return code;
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
