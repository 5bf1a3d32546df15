/* store_turns.c - remembers how each problem's turn in a sweep went.  Part of the store: see
 * store.h. */
#include "db/store_internal.h"

#include "base/clock.h"
#include "base/err.h"

#include <stdlib.h>

/* What is written of a turn and read again, in the same order. */
static const struct gt_field fields[] = {
    GT_FIELD(gt_turn, TEXT, kernels), GT_FIELD(gt_turn, TEXT, strategy),
    GT_FIELD(gt_turn, INT64, seed), GT_FIELD(gt_turn, INT64, known),
    GT_FIELD(gt_turn, INT64, trials), GT_FIELD(gt_turn, TIME, seconds),
    GT_FIELD(gt_turn, TIME, race_s), GT_FIELD(gt_turn, TIME, busy_s), GT_FIELD(gt_turn, TIME, us),
    GT_FIELD(gt_turn, TIME, baseline_us),
    /* only read */
    GT_FIELD(gt_turn, TEXT, device), GT_FIELD(gt_turn, TEXT, problem),
    GT_FIELD(gt_turn, TEXT, date), GT_FIELD(gt_turn, INT, timing),
    GT_FIELD(gt_turn, TIME, best_us)};
enum { WRITTEN = 10, READ = sizeof(fields) / sizeof(fields[0]) };

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
    gt_store_bind_fields(q.s, 5, fields, WRITTEN, turn);
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

        gt_store_read_fields(q.s, 1, fields, READ, &found);
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
