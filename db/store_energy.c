/* store_energy.c - what a product costs: writes and reads the table `energy` and the view
 * `objective`. Part of the store: see store.h. */
#include "db/store_internal.h"

#include "base/clock.h"
#include "base/err.h"

#include <string.h>

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

int gt_store_put_energy(struct gt_store *store, const struct gt_energy_row *row,
                        const struct gt_trial_key *key, struct gt_err *err)
{
    struct gt_query q = gt_query(store, "write an energy",
                                 "INSERT OR REPLACE INTO energy (device, problem, kernel,"
                                 " signature, point, us, joules, error, watts, clock_mhz, launches,"
                                 " counted, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,"
                                 " ?11, ?12, ?13) RETURNING device",
                                 err);
    const struct gt_energy *energy = &row->energy;
    int64_t id;

    sqlite3_bind_int64(q.s, 1, key->device);
    sqlite3_bind_int64(q.s, 2, key->problem);
    gt_store_bind(q.s, 3, row->kernel);
    gt_store_bind(q.s, 4, row->signature);
    gt_store_bind(q.s, 5, row->point);
    sqlite3_bind_double(q.s, 6, energy->us);
    sqlite3_bind_double(q.s, 7, energy->joules);
    sqlite3_bind_double(q.s, 8, energy->error);
    sqlite3_bind_double(q.s, 9, energy->watts);
    sqlite3_bind_double(q.s, 10, energy->clock_mhz);
    sqlite3_bind_int64(q.s, 11, energy->launches);
    sqlite3_bind_int(q.s, 12, energy->counted);
    sqlite3_bind_int64(q.s, 13, gt_clock_date_ms());
    return gt_query_insert(&q, &id);
}

/* Every row with whether its kernel's text is the latest that this database knows; a row of an
 * older text is the best by nothing. */
static const char energies_sql[] =
    "WITH every AS (SELECT d.name AS device, p.text AS problem, e.kernel AS kernel,"
    " e.signature AS signature, e.point AS point, e.us AS us, e.joules AS joules,"
    " e.error AS error, e.watts AS watts, e.clock_mhz AS clock_mhz, e.launches AS launches,"
    " e.counted AS counted, strftime('%Y-%m-%dT%H:%M:%SZ', e.at / 1000, 'unixepoch') AS date,"
    " NOT EXISTS (SELECT 1 FROM kernel AS k JOIN kernel AS later ON later.name = k.name"
    " AND (later.seen, later.id) > (k.seen, k.id)"
    " WHERE k.name = e.kernel AND k.signature = e.signature) AS current"
    " FROM energy AS e JOIN device AS d ON d.id = e.device JOIN problem AS p ON p.id = e.problem"
    " WHERE (?1 IS NULL OR d.name = ?1) AND (?2 IS NULL OR p.text = ?2))"
    " SELECT device, problem, kernel, signature, point, us, joules, error, watts, clock_mhz,"
    " launches, counted, date, current, current AND us = min(us) OVER same,"
    " current AND joules = min(joules) OVER same,"
    " current AND us * joules = min(us * joules) OVER same FROM every"
    " WINDOW same AS (PARTITION BY device, problem, current)"
    " ORDER BY device, problem, us, kernel, point, date";

int gt_store_energies(struct gt_store *store, const char *device, const char *problem,
                      gt_energy_visit *visit, void *context, struct gt_err *err)
{
    struct gt_query q = gt_query(store, "read energies", energies_sql, err);

    if (device)
        gt_store_bind(q.s, 1, device);
    if (problem)
        gt_store_bind(q.s, 2, problem);
    while (!q.code && gt_query_row(&q)) {
        struct gt_energy_row row = {.device = gt_store_text(q.s, 0),
                                    .problem = gt_store_text(q.s, 1),
                                    .kernel = gt_store_text(q.s, 2),
                                    .signature = gt_store_text(q.s, 3),
                                    .point = gt_store_text(q.s, 4),
                                    .energy = {.us = sqlite3_column_double(q.s, 5),
                                               .joules = sqlite3_column_double(q.s, 6),
                                               .error = sqlite3_column_double(q.s, 7),
                                               .watts = sqlite3_column_double(q.s, 8),
                                               .clock_mhz = sqlite3_column_double(q.s, 9),
                                               .launches = sqlite3_column_int64(q.s, 10),
                                               .counted = sqlite3_column_int(q.s, 11) != 0},
                                    .date = gt_store_text(q.s, 12),
                                    .current = sqlite3_column_int(q.s, 13) != 0};

        for (int i = 0; i < GT_OBJECTIVES; i++)
            row.best[i] = sqlite3_column_int(q.s, 14 + i) != 0;
        q.code = gt_store_whole(store, err);
        GT_STEP(q.code, visit(context, &row, err));
    }
    return gt_query_end(&q);
}
