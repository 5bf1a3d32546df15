/* store.c - writes the outcomes of candidates (attempts, trials, baselines, ties) and the rows that
 * trials refer to (devices, toolchains, kernels, problems, sweeps).  See store.h; opening is in
 * store_open.c, reading in store_rows.c. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "db/store_internal.h"
#include "problem/problem.h"

/* SQL: the new trial (excluded) may replace the old one.  Proof of a fault replaces any trial.  A
 * trial that is ok is replaced only by a trial of the same or a later stage that was not ended by a
 * kill or by the loss of the device.  Any other trial is replaced, and so is a trial with an
 * impossible time. */
#define GT_STORE_REPLACES                                            \
    "excluded.status IN " GT_STORE_FAULTY " OR trial.status <> 'ok'" \
    " OR trial.us < 1e-6"                                            \
    " OR (excluded.stage >= trial.stage AND excluded.status NOT IN ('device_lost', 'killed'))"

static const char *const text[GT_STORE_STATEMENTS] = {
    [GT_STORE_BEGIN] = "BEGIN IMMEDIATE",
    [GT_STORE_COMMIT] = "COMMIT",
    [GT_STORE_ROLLBACK] = "ROLLBACK",
    [GT_STORE_ATTEMPT] =
        "INSERT INTO attempt (device, toolchain, kernel, problem, point, timing, sweep, at,"
        " count, open) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 1, 1)"
        " ON CONFLICT DO UPDATE SET count = count + 1, open = 1, sweep = excluded.sweep,"
        " at = excluded.at",
    [GT_STORE_TRIAL] = "INSERT INTO trial (device, toolchain, kernel, problem, point, timing, "
                       "sweep, at," GT_STORE_TRIAL_COLUMNS
                       ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13,"
                       " ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, "
                       "?27)" GT_STORE_TRIAL_UPDATE " WHERE " GT_STORE_REPLACES,
    [GT_STORE_CLOSE_ATTEMPT] = "UPDATE attempt SET open = 0, count = CASE WHEN ?9 THEN 1 ELSE "
                               "count END WHERE device = ?1 AND toolchain = ?2 AND kernel = ?3"
                               " AND problem = ?4 AND point = ?5 AND timing = ?6",
};

/* The cached statement, prepared at its first use. */
static int cached(struct gt_store *store, enum gt_store_statement which, sqlite3_stmt **statement,
                  struct gt_err *err)
{
    int code = GT_OK;

    if (!store->statement[which])
        code = gt_store_prepare(store, &store->statement[which], text[which], err);
    *statement = store->statement[which];
    return code;
}

static int run_cached(struct gt_store *store, enum gt_store_statement which, const char *doing,
                      struct gt_err *err)
{
    sqlite3_stmt *statement;
    int code = cached(store, which, &statement, err);

    return code ? code : gt_store_run(store, statement, doing, err);
}

/* Begins a transaction, unless trials are pending: then the following rows are written in their
 * transaction. */
static int join(struct gt_store *store, struct gt_err *err)
{
    if (store->moved)
        return gt_store_check_moved(store, err);
    if (!sqlite3_get_autocommit(store->db))
        return GT_OK;
    return run_cached(store, GT_STORE_BEGIN, "begin to write", err);
}

int gt_store_begin(struct gt_store *store, struct gt_err *err)
{
    int code = gt_store_settle(store, err);

    return code ? code : join(store, err);
}

int gt_store_finish(struct gt_store *store, int code, struct gt_err *err)
{
    GT_STEP(code, run_cached(store, GT_STORE_COMMIT, "write to it", err));
    if (!code)
        return gt_store_check_moved(store, err);
    if (!sqlite3_get_autocommit(store->db))
        run_cached(store, GT_STORE_ROLLBACK, "undo", NULL);
    return code;
}

/* Ends a function that may leave its transaction open.  The transaction is ended after a failure,
 * and in a shared database, where other processes wait to write.  The trials before a failed one
 * are kept. */
static int leave_open(struct gt_store *store, int code, struct gt_err *err)
{
    if (code && !sqlite3_get_autocommit(store->db))
        gt_store_finish(store, GT_OK, NULL);
    return code || !store->shared ? code : gt_store_finish(store, GT_OK, err);
}

int gt_query_insert(struct gt_query *q, int64_t *id)
{
    GT_STEP(q->code, gt_store_begin(q->store, q->err));
    if (!q->code) {
        if (id && gt_query_row(q))
            *id = sqlite3_column_int64(q->s, 0);
        else if (id && !q->code) /* it has found no row to change */
            q->code = gt_store_fail(q->store->db, q->store->path, q->doing, q->err);
        gt_query_run(q);
        q->code = gt_store_finish(q->store, q->code, q->err);
    }
    return gt_query_end(q);
}

int gt_store_insert(struct gt_store *store, int64_t *id, const char *doing, const char *sql,
                    struct gt_err *err, const char *format, ...)
{
    struct gt_query q = gt_query(store, doing, sql, err);
    va_list values;

    va_start(values, format);
    gt_query_bind_list(&q, 1, format, values);
    va_end(values);
    return gt_query_insert(&q, id);
}

void gt_store_bind_place(sqlite3_stmt *statement, const struct gt_trial_key *key)
{
    sqlite3_bind_int64(statement, 1, key->device);
    sqlite3_bind_int64(statement, 2, key->problem);
    sqlite3_bind_int(statement, 3, key->timing);
}

void gt_store_bind_candidate(sqlite3_stmt *statement, const struct gt_trial_key *key)
{
    sqlite3_bind_int64(statement, 1, key->device);
    sqlite3_bind_int64(statement, 2, key->toolchain);
    sqlite3_bind_int64(statement, 3, key->kernel);
    sqlite3_bind_int64(statement, 4, key->problem);
    gt_store_bind(statement, 5, key->point);
    sqlite3_bind_int(statement, 6, key->timing);
}

/* Binds parameters 1 to 8, which are the same in every statement that writes about a candidate. */
static void bind_key(sqlite3_stmt *s, const struct gt_trial_key *key)
{
    gt_store_bind_candidate(s, key);
    if (sqlite3_bind_parameter_count(s) < 8)
        return;
    sqlite3_bind_int64(s, 7, key->sweep);
    sqlite3_bind_int64(s, 8, gt_clock_date_ms());
}

int gt_store_attempt_later(struct gt_store *store, const struct gt_trial_key *key,
                           struct gt_err *err)
{
    sqlite3_stmt *s;
    int code = cached(store, GT_STORE_ATTEMPT, &s, err);

    GT_STEP(code, join(store, err));
    if (code)
        return code;
    bind_key(s, key);
    return leave_open(store, gt_store_run(store, s, "write an attempt", err), err);
}

int gt_store_attempt(struct gt_store *store, const struct gt_trial_key *key, struct gt_err *err)
{
    int code = gt_store_attempt_later(store, key, err);

    return code ? code : gt_store_settle(store, err);
}

int gt_store_forgive(struct gt_store *store, const struct gt_trial_key *key, bool doubtful,
                     struct gt_err *err)
{
    return gt_store_insert(store, NULL, "forgive an attempt",
                           "UPDATE attempt SET count = 1 + ?7, open = ?7 WHERE device = ?1"
                           " AND toolchain = ?2 AND kernel = ?3 AND problem = ?4"
                           " AND point = ?5 AND timing = ?6",
                           err, "%ld%ld%ld%ld%s%d%d", key->device, key->toolchain, key->kernel,
                           key->problem, key->point, key->timing, doubtful);
}

/* Samples are kept as little-endian float32, whatever machine wrote them. */
static void bind_samples(sqlite3_stmt *s, int i, const float *sample, int samples)
{
    unsigned char bytes[GT_MAX_SAMPLES * 4];

    for (int j = 0; j < samples; j++) {
        uint32_t bits;

        memcpy(&bits, &sample[j], sizeof(bits));
        for (int b = 0; b < 4; b++)
            bytes[j * 4 + b] = (unsigned char)(bits >> (8 * b));
    }
    sqlite3_bind_blob(s, i, bytes, samples * 4, SQLITE_TRANSIENT);
}

static int check_trial(const struct gt_trial_key *key, const struct gt_trial *trial,
                       struct gt_err *err)
{
    if (trial->status <= GT_STATUS_NONE || trial->status >= GT_STATUS_COUNT || trial->samples < 0 ||
        trial->samples > GT_MAX_SAMPLES)
        return gt_err_set(err, GT_ERANGE,
                          "the trial of %s has status %d and %d samples: not a finished trial",
                          key->point, (int)trial->status, trial->samples);
    if (trial->status == GT_STATUS_OK &&
        !(trial->us >= GT_LEAST_US && trial->lo_us >= 0 && trial->lo_us <= trial->us &&
          (trial->hi_us >= trial->us || trial->hi_us == 0) && trial->us < GT_MOST_US &&
          trial->hi_us < GT_MOST_US))
        return gt_err_set(err, GT_ERANGE,
                          "the time of %s is %g us in [%g, %g]: not a time from 1e-6 to 1e12 "
                          "with its interval",
                          key->point, trial->us, trial->lo_us, trial->hi_us);
    return GT_OK;
}

static void bind_trial(sqlite3_stmt *s, const struct gt_trial *trial)
{
    gt_store_bind(s, 9, gt_provenance_name(trial->provenance));
    gt_store_bind(s, 10, gt_status_name(trial->status));
    gt_store_bind_fields(s, 11, gt_store_trial_fields, GT_STORE_TRIAL_FIELD_COUNT, trial);
    gt_store_bind(s, 26, trial->detail);
    bind_samples(s, 27, trial->sample, trial->samples);
}

int gt_store_trial_later(struct gt_store *store, const struct gt_trial_key *key,
                         const struct gt_trial *trial, struct gt_err *err)
{
    sqlite3_stmt *s, *closing;
    int code = check_trial(key, trial, err);

    GT_STEP(code, cached(store, GT_STORE_TRIAL, &s, err));
    GT_STEP(code, cached(store, GT_STORE_CLOSE_ATTEMPT, &closing, err));
    GT_STEP(code, join(store, err));
    if (code)
        return code;
    bind_key(s, key);
    bind_trial(s, trial);
    code = gt_store_run(store, s, "write a trial", err);
    if (!code) {
        bind_key(closing, key);
        sqlite3_bind_int(closing, 9, trial->status == GT_STATUS_OK);
        code = gt_store_run(store, closing, "close an attempt", err);
    }
    return leave_open(store, code, err);
}

int gt_store_settle(struct gt_store *store, struct gt_err *err)
{
    return sqlite3_get_autocommit(store->db) ? gt_store_check_moved(store, err)
                                             : gt_store_finish(store, GT_OK, err);
}

int gt_store_trial(struct gt_store *store, const struct gt_trial_key *key,
                   const struct gt_trial *trial, struct gt_err *err)
{
    int code = gt_store_trial_later(store, key, trial, err);

    return code ? code : gt_store_settle(store, err);
}

#define FIELD(kind, name) GT_FIELD(gt_baseline, kind, name),
static const struct gt_field baseline_fields[] = {GT_STORE_BASELINE_FIELDS(FIELD)};
#undef FIELD

int gt_store_baseline(struct gt_store *store, const struct gt_trial_key *key,
                      const struct gt_baseline *baseline, struct gt_err *err)
{
    struct gt_query q = gt_query(store, "write the baseline",
                                 "INSERT OR REPLACE INTO baseline (device, problem, timing, sweep, "
                                 "name" GT_STORE_BASELINE_COLUMNS
                                 ", samples, at, algo) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8,"
                                 " ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
                                 err);

    gt_query_bind(&q, 1, "%ld%ld%d%ld%s", key->device, key->problem, key->timing, key->sweep,
                  baseline->name);
    gt_store_bind_fields(q.s, 6, baseline_fields, 7, baseline);
    bind_samples(q.s, 13, baseline->sample, baseline->samples);
    gt_query_bind(&q, 14, "%ld%s", gt_clock_date_ms(), baseline->algo);
    return gt_query_insert(&q, NULL);
}

/* Adds one member of a tie group; the statement is reused. */
static void add_tie(struct gt_query *q, const struct gt_trial_key *key, const char *kernel,
                    const char *point)
{
    gt_store_bind_place(q->s, key);
    if (kernel)
        gt_store_bind(q->s, 4, kernel);
    gt_query_bind(q, 5, "%ld%s%d", key->kernel, point, !kernel);
    gt_query_run(q);
}

/* Lowers the stage of trials that would be read as the winner in place of the chosen one, because
 * of their times in an earlier final or by the luck of a tie.  Their dates become no later than the
 * chosen trial's. */
static int rank_behind(struct gt_store *store, const struct gt_trial_key *key, struct gt_err *err)
{
    return gt_store_do(
        store, "rank the finalists",
        "UPDATE trial SET stage = 2, at = min(trial.at, best.at) FROM trial AS best"
        " WHERE best.device = ?1 AND best.problem = ?2 AND best.timing = ?3 AND best.kernel = ?4"
        " AND best.point = ?5 AND best.toolchain = ?6 AND best.status = 'ok' AND best.stage = 3"
        " AND (trial.device, trial.problem, trial.timing) = (?1, ?2, ?3) AND trial.status = 'ok'"
        " AND trial.stage = 3 AND trial.provenance = best.provenance"
        " AND (trial.kernel <> ?4 OR trial.point <> ?5)"
        " AND trial.us <= best.us * (1 - 0.01)", /* as in the view `winner` */
        err, "%ld%ld%d%ld%s%ld", key->device, key->problem, key->timing, key->kernel, key->point,
        key->toolchain);
}

int gt_store_tie(struct gt_store *store, const struct gt_trial_key *key, const char *const *kernel,
                 const char *const *point, size_t count, struct gt_err *err)
{
    struct gt_query q =
        gt_query(store, "write a tie",
                 "INSERT OR IGNORE INTO tie (device, problem, timing, kernel, point, chosen)"
                 " VALUES (?1, ?2, ?3, coalesce(?4, (SELECT name FROM kernel WHERE id = ?5)), ?6,"
                 " ?7)",
                 err);

    GT_STEP(q.code, gt_store_begin(store, err));
    if (!q.code) {
        q.code = gt_store_do(store, "clear the ties",
                             "DELETE FROM tie WHERE device = ?1 AND problem = ?2 AND timing = ?3",
                             err, "%ld%ld%d", key->device, key->problem, key->timing);
        add_tie(&q, key, NULL, key->point); /* first: its repetition below is ignored */
        for (size_t i = 0; i < count; i++)
            add_tie(&q, key, kernel[i], point[i]);
        GT_STEP(q.code, rank_behind(store, key, err));
        q.code = gt_store_finish(store, q.code, err);
    }
    return gt_query_end(&q);
}

/* ---- the rows that trials refer to ---- */

int gt_store_mark_device(struct gt_store *store, struct gt_device *device, struct gt_err *err)
{
    char mark[48] = "";
    size_t length = strlen(device->uuid);
    struct gt_query q = gt_query(
        store, "read the device",
        "SELECT (SELECT sms FROM device WHERE (name, cc, profile) = (?1, ?2, 0) AND sms > 0"
        " AND instr(uuid, ' ') = 0 ORDER BY id), (SELECT c.value FROM calibration AS c JOIN device"
        " AS d ON d.id = c.device WHERE c.figure = 'power_w' AND (d.name, d.cc, d.profile) ="
        " (?1, ?2, 0) AND instr(d.uuid, ' W') = 0 ORDER BY d.id)",
        err);

    gt_store_bind(q.s, 1, device->name);
    sqlite3_bind_int(q.s, 2, device->cc);
    if (gt_query_row(&q) && !device->profile) {
        const int sms = sqlite3_column_int(q.s, 0);
        const double watts = sqlite3_column_double(q.s, 1);

        if (sms > 0 && device->sms != sms)
            snprintf(mark, sizeof(mark), " %d SMs", device->sms);
        if (watts > 0 && device->power_w > 0 && fabs(watts - device->power_w) >= 1)
            snprintf(mark + strlen(mark), sizeof(mark) - strlen(mark), " %.0f W", device->power_w);
    }
    if (length + strlen(mark) < sizeof(device->uuid))
        memcpy(device->uuid + length, mark, strlen(mark) + 1);
    return gt_query_end(&q);
}

int gt_store_device(struct gt_store *store, const struct gt_device *device, int64_t *id,
                    struct gt_err *err)
{
    int code = gt_store_insert(
        store, id, "write the device",
        "INSERT INTO device (name, uuid, cc, driver, profile, sms, l2_bytes, memory_bytes,"
        " clock_mhz) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (name, uuid, cc,"
        " driver, profile) DO UPDATE SET sms = excluded.sms, l2_bytes = excluded.l2_bytes,"
        " memory_bytes = excluded.memory_bytes, clock_mhz = excluded.clock_mhz RETURNING id",
        err, "%s%s%d%d%d%d%ld%ld%g", device->name, device->uuid, device->cc, device->driver,
        device->profile, device->sms, device->l2_bytes, device->memory_bytes, device->clock_mhz);

    if (device->power_w > 0) /* the power limit at which the device was measured first */
        GT_STEP(code, gt_store_do(store, "write the device's power limit",
                                  "INSERT OR IGNORE INTO calibration (device, figure, value, at)"
                                  " VALUES (?1, 'power_w', ?2, ?3)",
                                  err, "%ld%g%ld", *id, device->power_w, gt_clock_date_ms()));
    return code;
}

int gt_store_toolchain(struct gt_store *store, int nvrtc_version, int64_t *id, struct gt_err *err)
{
    return gt_store_insert(store, id, "write the toolchain",
                           "INSERT INTO toolchain (nvrtc) VALUES (?1) ON CONFLICT (nvrtc)"
                           " DO UPDATE SET nvrtc = excluded.nvrtc RETURNING id",
                           err, "%d", nvrtc_version);
}

int gt_store_kernel(struct gt_store *store, const struct gt_kernel *kernel, int64_t *id,
                    struct gt_err *err)
{
    struct gt_strbuf description = GT_STRBUF_INIT;
    int code = kernel->path ? gt_strbuf_add_file(&description, kernel->path, err) : GT_OK;

    GT_STEP(code, gt_store_insert(store, id, "write the kernel",
                                  "INSERT INTO kernel (name, signature, description, template,"
                                  " seen) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (name,"
                                  " signature) DO UPDATE SET seen = max(seen, excluded.seen)"
                                  " RETURNING id",
                                  err, "%s%s%s%s%ld", kernel->name, kernel->signature,
                                  description.text, kernel->text, gt_clock_date_ms()));
    gt_strbuf_release(&description);
    return code;
}

int gt_store_problem(struct gt_store *store, const struct gt_problem *problem, int64_t *id,
                     struct gt_err *err)
{
    char canonical[GT_PROBLEM_TEXT_MAX];

    gt_problem_format(problem, canonical);
    return gt_store_insert(store, id, "write the problem",
                           "INSERT INTO problem (text, dtype, accuracy, layout, m, n, k, batch)"
                           " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (text)"
                           " DO UPDATE SET text = excluded.text RETURNING id",
                           err, "%s%s%s%s%ld%ld%ld%ld", canonical, gt_dtype_name(problem->type),
                           gt_accuracy_name(problem->accuracy),
                           gt_layout_name(gt_problem_layout(problem)), problem->m, problem->n,
                           problem->k, problem->batch);
}

int gt_store_sweep_begin(struct gt_store *store, const char *command, int64_t *sweep,
                         struct gt_err *err)
{
    return gt_store_insert(store, sweep, "begin a sweep",
                           "INSERT INTO sweep (command, started) VALUES (?1, ?2) RETURNING id", err,
                           "%s%ld", command, gt_clock_date_ms());
}

int gt_store_sweep_end(struct gt_store *store, int64_t sweep, const char *outcome,
                       const struct gt_store_sweep_stats *stats, struct gt_err *err)
{
    return gt_store_insert(
        store, &sweep, "end the sweep",
        "UPDATE sweep SET outcome = ?2, ended = ?3, wall_s = ?4, busy_s = ?5, trials = ?6,"
        " compiled = ?7, to_best_s = ?8 WHERE id = ?1 RETURNING id",
        err, "%ld%s%ld%g%g%ld%ld%g", sweep, outcome, gt_clock_date_ms(), stats->wall_s,
        stats->busy_s, stats->trials, stats->compiled, stats->to_best_s);
}
