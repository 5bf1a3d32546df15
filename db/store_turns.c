/* store_turns.c - remembers how each problem's turn in a sweep went.  Part of the store: see
 * store.h. */
#include "db/store_internal.h"

#include "base/clock.h"
#include "base/err.h"

#include <stdlib.h>

/* ---- writing ---- */

static int put_improvements(struct gt_store *store, int64_t id, const struct gt_turn *turn,
                            struct gt_err *err)
{
    sqlite3_stmt *s;
    int code = gt_store_prepare(store, &s,
                                "INSERT INTO improvement (visit, place, trials, seconds, us)"
                                " VALUES (?1, ?2, ?3, ?4, ?5)",
                                err);

    for (size_t i = 0; i < turn->improvements && !code; i++) {
        const struct gt_improvement *improvement = &turn->improvement[i];

        sqlite3_bind_int64(s, 1, id);
        sqlite3_bind_int64(s, 2, (int64_t)i);
        sqlite3_bind_int64(s, 3, improvement->trials);
        sqlite3_bind_double(s, 4, improvement->seconds);
        sqlite3_bind_double(s, 5, improvement->us);
        code = gt_store_run(store, s, "write an improvement", err);
    }
    sqlite3_finalize(s);
    return code;
}

static int put(struct gt_store *store, const struct gt_trial_key *key, const struct gt_turn *turn,
               struct gt_err *err)
{
    sqlite3_stmt *s;
    int code = gt_store_prepare(
        store, &s,
        "INSERT INTO visit (device, problem, warm_l2, sweep, kernels, strategy, seed, known,"
        " trials, seconds, race_s, busy_s, us, baseline_us, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7,"
        " ?8, ?9, ?10, ?11, ?12, ?13, ?14, max(?15, coalesce((SELECT max(at) + 1 FROM visit"
        " WHERE device = ?1 AND problem = ?2 AND warm_l2 = ?3), 0)))",
        err);

    if (code)
        return code;
    gt_store_bind_place(s, key);
    sqlite3_bind_int64(s, 4, key->sweep);
    gt_store_bind(s, 5, turn->kernels);
    gt_store_bind(s, 6, turn->strategy);
    sqlite3_bind_int64(s, 7, (int64_t)turn->seed);
    sqlite3_bind_int64(s, 8, turn->known);
    sqlite3_bind_int64(s, 9, turn->trials);
    sqlite3_bind_double(s, 10, turn->seconds);
    sqlite3_bind_double(s, 11, turn->race_s);
    sqlite3_bind_double(s, 12, turn->busy_s);
    sqlite3_bind_double(s, 13, turn->us);
    sqlite3_bind_double(s, 14, turn->baseline_us);
    sqlite3_bind_int64(s, 15, gt_clock_date_ms());
    code = gt_store_run(store, s, "write a turn", err);
    sqlite3_finalize(s);
    return code ? code : put_improvements(store, sqlite3_last_insert_rowid(store->db), turn, err);
}

int gt_store_put_turn(struct gt_store *store, const struct gt_trial_key *key,
                      const struct gt_turn *turn, struct gt_err *err)
{
    int code = gt_store_begin(store, err);

    return code ? code : gt_store_finish(store, put(store, key, turn, err), err);
}

/* ---- reading ---- */

static const char improvements_sql[] =
    "SELECT seconds, us, trials FROM improvement WHERE visit = ?1 ORDER BY place";

static const char turns_sql[] =
    "SELECT v.id, v.kernels, v.strategy, v.seed, v.known, v.trials, v.seconds, v.race_s, v.busy_s,"
    " v.us, v.baseline_us, d.name, p.text,"
    " strftime('%Y-%m-%dT%H:%M:%SZ', v.at / 1000, 'unixepoch'), v.warm_l2,"
    " coalesce((SELECT min(i.us) FROM improvement AS i JOIN visit AS w ON w.id = i.visit"
    " JOIN device AS e ON e.id = w.device WHERE e.name = d.name AND w.problem = v.problem"
    " AND w.warm_l2 = v.warm_l2), 0),"
    " (SELECT count(*) FROM improvement AS i WHERE i.visit = v.id)"
    " FROM visit AS v JOIN device AS d ON d.id = v.device JOIN problem AS p ON p.id = v.problem"
    " WHERE (?1 = '' OR p.text = ?1) AND (?2 = 0 OR d.cc = ?2)"
    " ORDER BY d.name, d.cc, p.dtype, p.accuracy, p.layout, p.m, p.n, p.k, p.batch, p.text,"
    " v.warm_l2, v.kernels, v.at, v.id";

static void read_turn(sqlite3_stmt *s, struct gt_turn *turn)
{
    *turn = (struct gt_turn){
        .kernels = gt_store_text(s, 1),
        .strategy = gt_store_text(s, 2),
        .seed = (uint64_t)sqlite3_column_int64(s, 3),
        .known = sqlite3_column_int64(s, 4),
        .trials = sqlite3_column_int64(s, 5),
        .seconds = sqlite3_column_double(s, 6),
        .race_s = sqlite3_column_double(s, 7),
        .busy_s = sqlite3_column_double(s, 8),
        .us = sqlite3_column_double(s, 9),
        .baseline_us = sqlite3_column_double(s, 10),
        .device = gt_store_text(s, 11),
        .problem = gt_store_text(s, 12),
        .date = gt_store_text(s, 13),
        .warm_l2 = sqlite3_column_int(s, 14),
        .best_us = sqlite3_column_double(s, 15),
    };
}

/* The improvements of the turn of this id; *list is malloc'ed. */
static int read_improvements(struct gt_store *store, int64_t id, size_t count,
                             struct gt_improvement **list, size_t *read, struct gt_err *err)
{
    sqlite3_stmt *s;
    int code;

    *read = 0;
    *list = calloc(count + 1, sizeof(**list));
    if (!*list)
        return gt_err_nomem(err);
    code = gt_store_prepare(store, &s, improvements_sql, err);
    if (code)
        return code;
    sqlite3_bind_int64(s, 1, id);
    while (*read < count && sqlite3_step(s) == SQLITE_ROW)
        (*list)[(*read)++] = (struct gt_improvement){.seconds = sqlite3_column_double(s, 0),
                                                     .us = sqlite3_column_double(s, 1),
                                                     .trials = sqlite3_column_int64(s, 2)};
    if (*read < count)
        code = gt_store_fail(store->db, store->path, "read improvements", err);
    sqlite3_finalize(s);
    return code;
}

int gt_store_turns(struct gt_store *store, const struct gt_row_filter *filter, gt_turn_visit *visit,
                   void *context, struct gt_err *err)
{
    sqlite3_stmt *s;
    int result = SQLITE_DONE, code = gt_store_prepare(store, &s, turns_sql, err);

    if (code)
        return code;
    gt_store_bind(s, 1, filter->problem);
    sqlite3_bind_int(s, 2, filter->cc);
    while (!code && (result = sqlite3_step(s)) == SQLITE_ROW) {
        struct gt_improvement *list = NULL;
        struct gt_turn found;

        read_turn(s, &found);
        code = gt_store_whole(store, err);
        if (!code)
            code = read_improvements(store, sqlite3_column_int64(s, 0),
                                     (size_t)sqlite3_column_int64(s, 16), &list,
                                     &found.improvements, err);
        found.improvement = list;
        if (!code)
            code = visit(context, &found, err);
        free(list);
    }
    if (!code && result != SQLITE_DONE)
        code = gt_store_fail(store->db, store->path, "read turns", err);
    sqlite3_finalize(s);
    return code;
}
