/* store_records.c - reads trials in full; writes and reads the other records: comparisons, turns,
 * calibrations, energies.  Part of the store: see store.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "db/store_internal.h"

/* ---- trials in full, samples and costs included ---- */

/* A kernel's trials count while no later text of its template has taken its place, as in the view
 * `line`. */
static const char trials_sql[] =
    "SELECT t.point, 0, " GT_STORE_RESUME_COLUMNS ", d.name, d.uuid, p.text, k.name, k.signature,"
    " d.cc, d.driver, c.nvrtc, t.timing, strftime('%Y-%m-%dT%H:%M:%SZ', t.at / 1000, 'unixepoch')"
    " FROM trial AS t JOIN device AS d ON d.id = t.device JOIN toolchain AS c ON c.id = t.toolchain"
    " JOIN kernel AS k ON k.id = t.kernel JOIN problem AS p ON p.id = t.problem"
    " WHERE " GT_STORE_CURRENT
    " AND (?1 = '' OR p.text = ?1) AND (?2 = '' OR k.name = ?2) AND (?3 = 0 OR d.cc = ?3)"
    " AND (?4 = 0 OR (?4 & CASE t.provenance WHEN 'measured' THEN 1 WHEN 'predicted' THEN 2"
    " ELSE 4 END))"
    " ORDER BY d.name, d.uuid, d.driver, c.nvrtc, p.text, k.name, k.signature, t.timing,"
    " t.provenance, t.id";

_Static_assert(1u << GT_MEASURED == 1 && 1u << GT_PREDICTED == 2 && 1u << GT_REPLAYED == 4,
               "the query above knows the bits of a filter");

/* The columns behind a trial's own. */
#define FIELD(kind, name) GT_FIELD(gt_named_trial, kind, name)
static const struct gt_field name_fields[] = {
    FIELD(TEXT, device),    FIELD(TEXT, uuid), FIELD(TEXT, problem), FIELD(TEXT, kernel),
    FIELD(TEXT, signature), FIELD(INT, cc),    FIELD(INT, driver),   FIELD(INT, nvrtc),
    FIELD(INT, timing),     FIELD(TEXT, date)};
#undef FIELD
#define COUNT(fields) (sizeof(fields) / sizeof((fields)[0]))

/* Whether the trial's text of its kernel is the one among the filter's kernels. */
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

    gt_query_bind(&q, 1, "%s%s%d%d", filter->problem, filter->kernel, filter->cc,
                  (int)filter->provenance);
    while (gt_query_row(&q)) {
        q.code = gt_store_read_trial(store, q.s, &named.trial, err);
        named.point = gt_store_text(q.s, 0);
        gt_store_read_fields(q.s, 2 + GT_STORE_RESUME_COLUMN_COUNT, name_fields, COUNT(name_fields),
                             &named);
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

    gt_query_bind(&q, 1, "%s%s", kernel, signature);
    if (gt_query_row(&q)) {
        gt_strbuf_add(text, gt_store_text(q.s, 0));
        q.code = gt_store_whole(store, err);
    }
    GT_STEP(q.code, gt_strbuf_check(text, err));
    return gt_query_end(&q);
}

/* ---- comparisons: winners that `tune bench` timed beside the vendor library ---- */

#define FIELD(kind, name) GT_FIELD(gt_comparison, kind, name),
static const struct gt_field comparison_fields[] = {GT_STORE_COMPARISON_FIELDS(FIELD)};
static const struct gt_field with_fields[] = {GT_STORE_WITH_FIELDS(FIELD)};
#undef FIELD

int gt_store_put_comparison(struct gt_store *store, const struct gt_trial_key *key,
                            const struct gt_comparison *comparison, struct gt_err *err)
{
    struct gt_query q = gt_query(
        store, "write a comparison",
        "INSERT OR REPLACE INTO comparison (device, toolchain, kernel, problem, point, "
        "timing" GT_STORE_COMPARISON_COLUMNS ", at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8,"
        " ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)",
        err);

    gt_store_bind_candidate(q.s, key);
    gt_store_bind_fields(q.s, 7, comparison_fields, COUNT(comparison_fields), comparison);
    sqlite3_bind_int64(q.s, 19, gt_clock_date_ms());
    return gt_query_insert(&q, NULL);
}

/* Latest first.  A date in the future comes from a clock that was wrong, so it comes last. */
#define LATEST(date) date " > strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), " date " DESC"

/* Comparisons with the columns of `line`; columns that only a trial has are empty. */
static const char compared_sql[] =
    "WITH bench AS (SELECT d.name AS device, d.uuid AS uuid, p.dtype AS dtype,"
    " p.accuracy AS accuracy, p.layout AS layout, p.text AS problem, k.name AS kernel,"
    " k.signature AS signature, x.point AS point, d.cc AS cc, d.driver AS driver,"
    " c.nvrtc AS nvrtc, p.m AS m, p.n AS n, p.k AS k, p.batch AS batch, 'ok' AS status,"
    " 'measured' AS provenance, x.timing AS timing, 0 AS varies, x.us AS us, x.lo_us AS lo_us,"
    " x.hi_us AS hi_us, x.baseline_us AS baseline_us, x.err_u AS err_u, 0 AS clock_mhz,"
    " 0 AS registers, 3 AS stage, 0 AS ties, 0 AS shared_bytes, 0 AS workspace_bytes,"
    " '' AS baseline, strftime('%Y-%m-%dT%H:%M:%SZ', x.at / 1000, 'unixepoch') AS date,"
    " '' AS detail, " GT_STORE_CURRENT " AS current, x.copy_gbps AS copy_gbps,"
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

/* clang-format off */
static const char both_sql[] =
    ", both AS (SELECT 1 AS final, " GT_STORE_ROW_COLUMNS ", coalesce((SELECT copy_gbps FROM bench"
    " WHERE bench.device = final.device ORDER BY " LATEST("bench.date") " LIMIT 1), 0) AS copy_gbps,"
    " coalesce((SELECT move_us FROM bench WHERE bench.device = final.device"
    " AND bench.problem = final.problem AND bench.timing = final.timing"
    " ORDER BY " LATEST("bench.date") " LIMIT 1), 0) AS move_us, 0 AS baseline_err_u, 0 AS best_us,"
    " '' AS untuned, 0 AS untuned_us, 0 AS worse FROM final WHERE place = 1"
    " UNION ALL SELECT 0, " GT_STORE_ROW_COLUMNS GT_STORE_WITH_COLUMNS " FROM bench WHERE true";

static const char latest_sql[] =
    ") SELECT " GT_STORE_ROW_COLUMNS GT_STORE_WITH_COLUMNS " FROM (SELECT *, row_number() OVER ("
    "PARTITION BY device, cc, problem, timing ORDER BY " LATEST("date") ", final, uuid, driver DESC,"
    " nvrtc DESC, kernel, point, signature) AS place FROM both) WHERE place = 1"
    " ORDER BY device, cc, dtype, accuracy, layout, m, n, k, batch, problem, timing";
/* clang-format on */

static struct gt_query query_compared(struct gt_store *store, const struct gt_row_filter *filter,
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
    struct gt_query q = query_compared(store, filter, err);
    struct gt_comparison with = {0};
    struct gt_row row;

    while (gt_query_row(&q)) {
        q.code = gt_store_read_row(store, q.s, &row, err);
        gt_store_read_fields(q.s, GT_STORE_ROW_COLUMN_COUNT, with_fields, COUNT(with_fields),
                             &with);
        GT_STEP(q.code, gt_store_whole(store, err));
        GT_STEP(q.code, visit(context, &row, &with, err));
    }
    return gt_query_end(&q);
}

/* ---- turns: the record of each problem's turn in a sweep ---- */

/* The fields of a turn that are written and read; then the fields that are only read. */
#define FIELD(kind, name) GT_FIELD(gt_turn, kind, name),
static const struct gt_field turn_fields[] = {GT_STORE_TURN_FIELDS(FIELD)};
#undef FIELD
static const struct gt_field read_fields[] = {
    GT_FIELD(gt_turn, TEXT, device), GT_FIELD(gt_turn, TEXT, problem),
    GT_FIELD(gt_turn, TEXT, date), GT_FIELD(gt_turn, INT, timing),
    GT_FIELD(gt_turn, TIME, best_us)};
enum { TURN = COUNT(turn_fields), READ = COUNT(read_fields) };

static int put_improvements(struct gt_store *store, int64_t id, const struct gt_turn *turn,
                            struct gt_err *err)
{
    struct gt_query q = gt_query(store, "write an improvement",
                                 "INSERT INTO improvement (visit, place, trials, seconds, us)"
                                 " VALUES (?1, ?2, ?3, ?4, ?5)",
                                 err);

    for (size_t i = 0; i < turn->improvements; i++) {
        const struct gt_improvement *improvement = &turn->improvement[i];

        gt_query_bind(&q, 1, "%ld%ld%ld%g%g", id, (int64_t)i, improvement->trials,
                      improvement->seconds, improvement->us);
        gt_query_run(&q);
    }
    return gt_query_end(&q);
}

static int put_turn(struct gt_store *store, const struct gt_trial_key *key,
                    const struct gt_turn *turn, struct gt_err *err)
{
    struct gt_query q = gt_query(
        store, "write a turn",
        "INSERT INTO visit (device, problem, timing, sweep" GT_STORE_TURN_COLUMNS
        ", at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7,"
        " ?8, ?9, ?10, ?11, ?12, ?13, ?14, max(?15, coalesce((SELECT max(at) + 1 FROM visit"
        " WHERE device = ?1 AND problem = ?2 AND timing = ?3), 0)))",
        err);

    gt_store_bind_place(q.s, key);
    sqlite3_bind_int64(q.s, 4, key->sweep);
    gt_store_bind_fields(q.s, 5, turn_fields, TURN, turn);
    sqlite3_bind_int64(q.s, 15, gt_clock_date_ms());
    gt_query_run(&q);
    GT_STEP(q.code, put_improvements(store, sqlite3_last_insert_rowid(store->db), turn, err));
    return gt_query_end(&q);
}

int gt_store_put_turn(struct gt_store *store, const struct gt_trial_key *key,
                      const struct gt_turn *turn, struct gt_err *err)
{
    int code = gt_store_begin(store, err);

    return code ? code : gt_store_finish(store, put_turn(store, key, turn, err), err);
}

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

/* Reads the improvements of the turn with this id; *list is malloc'ed. */
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

/* Reads the costs of the trials of the turn with this id, by the time at which the trials were
 * stored. */
static int read_parts(struct gt_store *store, int64_t id, struct gt_turn *turn, struct gt_err *err)
{
    struct gt_query q = gt_query(store, "read the work of turns", parts_sql, err);

    gt_query_bind(&q, 1, "%ld%d", id, GT_TURN_PARTS);
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

    gt_query_bind(&q, 1, "%s%d", filter->problem, filter->cc);
    while (gt_query_row(&q)) {
        struct gt_improvement *list = NULL;
        struct gt_turn found = {0};

        gt_store_read_fields(q.s, 1, turn_fields, TURN, &found);
        gt_store_read_fields(q.s, 1 + TURN, read_fields, READ, &found);
        q.code = gt_store_whole(store, err);
        GT_STEP(q.code, read_improvements(store, sqlite3_column_int64(q.s, 0),
                                          (size_t)sqlite3_column_int64(q.s, 1 + TURN + READ), &list,
                                          &found.improvements, err));
        found.improvement = list;
        GT_STEP(q.code, read_parts(store, sqlite3_column_int64(q.s, 0), &found, err));
        GT_STEP(q.code, visit(context, &found, err));
        free(list);
    }
    return gt_query_end(&q);
}

/* ---- calibrations: measured figures of devices ---- */

static int put_figures(struct gt_store *store, int64_t device,
                       const struct gt_calibration *calibration, struct gt_err *err)
{
    struct gt_query q = gt_query(store, "write a calibration",
                                 "INSERT OR REPLACE INTO calibration (device, figure, value, at)"
                                 " VALUES (?1, ?2, ?3, ?4)",
                                 err);

    for (int i = 0; i < GT_CALIBRATION_COUNT; i++) {
        if (!(calibration->value[i] > 0))
            continue;
        gt_query_bind(&q, 1, "%ld%s%g%ld", device, gt_calibration_rows[i].name,
                      calibration->value[i], gt_clock_date_ms());
        gt_query_run(&q);
    }
    return gt_query_end(&q);
}

int gt_store_put_calibration(struct gt_store *store, const struct gt_device *device,
                             const struct gt_calibration *calibration, struct gt_err *err)
{
    int64_t id;
    int code = gt_store_device(store, device, &id, err);

    GT_STEP(code, gt_store_begin(store, err));
    return code ? code : gt_store_finish(store, put_figures(store, id, calibration, err), err);
}

/* Reads the figures of one device.  A name that this program does not know is of a later
 * version. */
static int read_figures(struct gt_store *store, int64_t device, struct gt_calibration *calibration,
                        struct gt_err *err)
{
    struct gt_query q = gt_query(store, "read a calibration",
                                 "SELECT figure, value FROM calibration WHERE device = ?1"
                                 " AND value BETWEEN 1e-6 AND 1e12",
                                 err);

    *calibration = (struct gt_calibration){{0}};
    sqlite3_bind_int64(q.s, 1, device);
    while (gt_query_row(&q))
        for (int i = 0; i < GT_CALIBRATION_COUNT; i++)
            if (strcmp(gt_store_text(q.s, 0), gt_calibration_rows[i].name) == 0)
                calibration->value[i] = sqlite3_column_double(q.s, 1);
    return gt_query_end(&q);
}

int gt_store_calibrated(struct gt_store *store, int cc, gt_calibrated_visit *visit, void *context,
                        struct gt_err *err)
{
    struct gt_query q = gt_query(
        store, "read calibrations",
        "SELECT d.id, d.name, d.cc, d.sms,"
        " strftime('%Y-%m-%dT%H:%M:%SZ', max(c.at) / 1000, 'unixepoch') FROM calibration AS c"
        " JOIN device AS d ON d.id = c.device WHERE c.figure <> 'power_w' AND (?1 = 0 OR d.cc = ?1)"
        " GROUP BY d.id ORDER BY max(c.at) DESC, d.id DESC",
        err);

    sqlite3_bind_int(q.s, 1, cc);
    while (gt_query_row(&q)) {
        struct gt_calibrated calibrated = {.device = gt_store_text(q.s, 1),
                                           .cc = sqlite3_column_int(q.s, 2),
                                           .sms = sqlite3_column_int(q.s, 3),
                                           .date = gt_store_text(q.s, 4)};

        q.code = gt_store_whole(store, err);
        GT_STEP(q.code,
                read_figures(store, sqlite3_column_int64(q.s, 0), &calibrated.calibration, err));
        GT_STEP(q.code, visit(context, &calibrated, err));
    }
    return gt_query_end(&q);
}

struct applying {
    struct gt_device *device;
    bool done;
};

/* Whether the calibration is of a device of the same name or, for a profile, of a device that it
 * describes. */
static bool is_of(const struct gt_device *device, const struct gt_calibrated *calibrated)
{
    char model[sizeof(device->name)];

    if (!device->profile)
        return strcmp(device->name, calibrated->device) == 0;
    snprintf(model, sizeof(model), "%s", device->name);
    model[strcspn(model, "(")] = '\0';
    for (size_t end = strlen(model); end > 0 && model[end - 1] == ' '; end--)
        model[end - 1] = '\0';
    return *model && calibrated->sms == device->sms && strstr(calibrated->device, model);
}

static int apply(void *context, const struct gt_calibrated *calibrated, struct gt_err *err)
{
    struct applying *applying = context;

    (void)err;
    if (applying->done || !is_of(applying->device, calibrated))
        return GT_OK;
    gt_calibration_apply(&calibrated->calibration, applying->device);
    applying->done = true;
    return GT_OK;
}

int gt_store_apply_calibration(struct gt_store *store, struct gt_device *device, struct gt_err *err)
{
    struct applying applying = {.device = device};

    return gt_store_calibrated(store, device->cc, apply, &applying, err);
}

/* ---- jobs of a queue whose rows are to be uploaded: keys 'job ID,WORKER' in `meta` ---- */

/* Runs a statement about the note with the key ?1, in a transaction of its own; ?2: its value. */
static int write_note(struct gt_store *store, const struct gt_store_job *job, const char *sql,
                      struct gt_err *err)
{
    char key[sizeof(job->id) + sizeof(job->worker) + 8], value[sizeof(job->problem) + 8];

    snprintf(key, sizeof(key), "job %s,%s", job->id, job->worker);
    snprintf(value, sizeof(value), "%d %s", job->ends, job->problem);
    return gt_store_insert(store, NULL, "note a job", sql, err, "%s%s", key, value);
}

int gt_store_note_job(struct gt_store *store, const struct gt_store_job *job, struct gt_err *err)
{
    return write_note(store, job, "INSERT OR REPLACE INTO meta (key, value) VALUES (?1, ?2)", err);
}

int gt_store_drop_job(struct gt_store *store, const struct gt_store_job *job, struct gt_err *err)
{
    return write_note(store, job, "DELETE FROM meta WHERE key = ?1", err);
}

int gt_store_next_job(struct gt_store *store, struct gt_store_job *job, bool *found,
                      struct gt_err *err)
{
    struct gt_query q = gt_query(store, "read its jobs",
                                 "SELECT substr(key, 5, instr(key, ',') - 5),"
                                 " substr(key, instr(key, ',') + 1), substr(value, 3),"
                                 " value GLOB '1 *' FROM meta WHERE key GLOB 'job [0-9]*,*'"
                                 /* as gt_store_note_job writes them, so that they can be dropped */
                                 " AND substr(key, 5, instr(key, ',') - 5) NOT GLOB '*[^0-9]*'"
                                 " AND instr(key, ',') < 28 AND length(key) - instr(key, ',') < 96"
                                 " ORDER BY key LIMIT 1",
                                 err);

    *found = gt_query_row(&q);
    if (*found) {
        snprintf(job->id, sizeof(job->id), "%s", gt_store_text(q.s, 0));
        snprintf(job->worker, sizeof(job->worker), "%s", gt_store_text(q.s, 1));
        snprintf(job->problem, sizeof(job->problem), "%s", gt_store_text(q.s, 2));
        job->ends = sqlite3_column_int(q.s, 3);
        q.code = gt_store_whole(store, err);
    }
    return gt_query_end(&q);
}

/* ---- energies: the table `energy` and the view `objective` ---- */

static const char *const objective_names[GT_OBJECTIVES] = {"time", "energy", "edp"};

const char *gt_objective_name(enum gt_objective objective)
{
    return objective_names[objective];
}

enum gt_objective gt_objective_parse(const char *name)
{
    for (int i = 0; name && i < GT_OBJECTIVES; i++)
        if (strcmp(name, objective_names[i]) == 0)
            return (enum gt_objective)i;
    return GT_BY_TIME;
}

void gt_energy_best(const struct gt_energy_rank *rank, bool ties, char text[GT_ENERGY_BEST_MAX])
{
    size_t length = 0;

    text[0] = '\0';
    for (int i = 0; i < GT_OBJECTIVES; i++)
        if (rank->best[i] || (ties && rank->tie[i]))
            length += (size_t)snprintf(text + length, GT_ENERGY_BEST_MAX - length, "%s%s%s",
                                       length ? " " : "", objective_names[i],
                                       ties && rank->tie[i] ? "=" : "");
}

bool gt_energy_less(const struct gt_energy *a, const struct gt_energy *b)
{
    return a->joules * (1 + a->error) < b->joules * (1 - b->error);
}

int gt_store_put_energy(struct gt_store *store, const struct gt_energy_row *row,
                        const struct gt_trial_key *key, struct gt_err *err)
{
    const struct gt_energy *energy = &row->energy;

    return gt_store_insert(
        store, NULL, "write an energy",
        "INSERT OR REPLACE INTO energy (device, problem, kernel, signature, point, us, joules,"
        " error, watts, clock_mhz, launches, counted, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8,"
        " ?9, ?10, ?11, ?12, ?13)",
        err, "%ld%ld%s%s%s%g%g%g%g%g%ld%d%ld", key->device, key->problem, row->kernel,
        row->signature, row->point, energy->us, energy->joules, energy->error, energy->watts,
        energy->clock_mhz, (int64_t)energy->launches, energy->counted, gt_clock_date_ms());
}

bool gt_energy_asked(const struct gt_energy_filter *filter, const struct gt_energy_row *row)
{
    const char *asked = filter->rows.device, *mark = strchr(row->device, '[');
    const char *operands = mark ? mark + 1 : "";

    if (filter->rows.cc && filter->rows.cc != row->cc)
        return false;
    if (asked && strcmp(asked, row->device) == 0)
        return true;
    return gt_row_asked(&filter->rows, row->device) &&
           (!filter->operands ||
            (strcspn(operands, "]") == strlen(filter->operands) &&
             strncmp(operands, filter->operands, strcspn(operands, "]")) == 0));
}

/* The rows with their device and problem.  Costs that the schema lets pass but that are impossible
 * are left out. */
#define ENERGIES                                                                                \
    "(SELECT d.name AS device, d.uuid AS uuid, d.driver AS driver, d.cc AS cc, p.text AS"       \
    " problem, kernel, signature, point, us, joules, us * joules AS edp, error, watts,"         \
    " e.clock_mhz AS clock_mhz, counted, 0 AS recorded,"                                        \
    " strftime('%Y-%m-%dT%H:%M:%SZ', e.at / 1000, 'unixepoch') AS date,"                        \
    " NOT EXISTS (SELECT 1 FROM kernel AS k WHERE (k.name, k.signature) = (e.kernel,"           \
    " e.signature) AND NOT " GT_STORE_CURRENT ") AS current"                                    \
    " FROM energy AS e JOIN device AS d ON d.id = e.device JOIN problem AS p ON p.id = problem" \
    " WHERE us BETWEEN 1e-6 AND 1e12 AND joules BETWEEN 1e-12 AND 1e12"                         \
    " AND watts BETWEEN 1e-6 AND 1e12 AND error < 1e12 AND e.clock_mhz < 1e12)"

#define PLACE "(PARTITION BY device, uuid, driver, problem, kernel = '" GT_ENERGY_VENDOR "' AND ?7)"

/* `near_...` is 1 if the bounds of no other row lie wholly below the row's own; times have no bound
 * here. */
#define NEAR(value) \
    value " * (1 - error) <= min(" value " * (1 + error)) OVER " PLACE " AS near_" value
#define TIE(value)    " near_" value " AND sum(near_" value ") OVER place > 1"
#define CHOSEN(value) " near_" value " AND us = min(iif(near_" value ", us, NULL)) OVER place"

#define NEARS   NEAR("joules") ", " NEAR("edp") ", us <= min(us) OVER " PLACE " AS by_time"
#define TIES    "0," TIE("joules") "," TIE("edp")
#define CHOICES "by_time," CHOSEN("joules") "," CHOSEN("edp")

/* The columns of the query below, in its order. */
/* clang-format off */
#define ENERGY_ROW_FIELDS(X) \
    X(TEXT, device) X(TEXT, uuid) X(TEXT, problem) X(TEXT, kernel) X(TEXT, signature) \
    X(TEXT, point) X(TEXT, date) X(ERROR, energy.us) X(ERROR, energy.joules) \
    X(ERROR, energy.error) X(ERROR, energy.watts) X(ERROR, energy.clock_mhz) \
    X(BOOL, energy.counted) X(INT, driver) X(INT, cc) X(BOOL, rank.best[0]) \
    X(BOOL, rank.best[1]) X(BOOL, rank.best[2]) X(BOOL, rank.tie[0]) X(BOOL, rank.tie[1]) \
    X(BOOL, rank.tie[2])
/* clang-format on */
#define FIELD(kind, name) GT_FIELD(gt_energy_row, kind, name),
static const struct gt_field energy_fields[] = {ENERGY_ROW_FIELDS(FIELD)};
#undef FIELD

static struct gt_query query_energies(struct gt_store *store, const struct gt_energy_filter *filter,
                                      struct gt_err *err)
{
    struct gt_strbuf sql = GT_STRBUF_INIT;
    struct gt_query q;

    gt_strbuf_add(&sql, "SELECT device, uuid, problem, kernel, signature, point, date, us, joules,"
                        " error, watts, clock_mhz, counted, driver, cc, " CHOICES ", " TIES
                        " FROM (SELECT *, " NEARS " FROM " ENERGIES
                        " WHERE (kernel = '" GT_ENERGY_VENDOR "' OR true");
    gt_store_add_current(&sql, &filter->rows);
    gt_strbuf_add(&sql, ")");
    gt_store_add_filter(&sql, &filter->rows);
    gt_strbuf_add(&sql, filter->device ? " AND (device, uuid, driver) = (?4, ?5, ?6)" : "");
    gt_strbuf_add(&sql, ") WINDOW place AS " PLACE
                        " ORDER BY device, uuid, driver, problem, us, kernel, point");
    q = gt_query_built(store, "read energies", &sql, err);
    gt_store_bind_filter(q.s, &filter->rows);
    if (filter->device)
        gt_query_bind(&q, 4, "%s%s%d", filter->device->name, filter->device->uuid,
                      filter->device->driver);
    gt_query_bind(&q, 7, "%d", filter->ours);
    return q;
}

int gt_store_energies(struct gt_store *store, const struct gt_energy_filter *filter,
                      gt_energy_visit *visit, void *context, struct gt_err *err)
{
    struct gt_query q = query_energies(store, filter, err);

    while (gt_query_row(&q)) {
        struct gt_energy_row row = {0};

        gt_store_read_fields(q.s, 0, energy_fields, COUNT(energy_fields), &row);
        q.code = gt_store_whole(store, err);
        if (!q.code && gt_energy_asked(filter, &row))
            q.code = visit(context, &row, err);
    }
    return gt_query_end(&q);
}
