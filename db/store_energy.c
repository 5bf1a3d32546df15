/* store_energy.c - what a product costs: writes and reads the table `energy` and the view
 * `objective`. Part of the store: see store.h. */
#include "db/store_internal.h"

#include "base/clock.h"
#include "base/err.h"
#include "problem/device.h"

#include <stdio.h>
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

void gt_energy_best(const struct gt_energy_row *row, char text[GT_ENERGY_BEST_MAX])
{
    size_t length = 0;

    text[0] = '\0';
    for (int i = 0; i < GT_OBJECTIVES; i++)
        if (row->best[i] || row->tie[i])
            length +=
                (size_t)snprintf(text + length, GT_ENERGY_BEST_MAX - length, "%s%s%s",
                                 length ? " " : "", objective_names[i], row->tie[i] ? "=" : "");
}

bool gt_energy_less(const struct gt_energy *a, const struct gt_energy *b)
{
    return a->joules * (1 + a->error) < b->joules * (1 - b->error);
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

/* In what follows, `near_...` is 1 where the bounds of no other row lie wholly below; times have no
 * bound here. */
#define NEAR(value)                                                                   \
    value " * (1 - error) <= min(" value " * (1 + error)) OVER (PARTITION BY device," \
          " uuid, driver, problem) AS near_" value
#define TIE(value)    " near_" value " AND sum(near_" value ") OVER place > 1"
#define CHOSEN(value) " near_" value " AND us = min(iif(near_" value ", us, NULL)) OVER place"

#define NEARS   NEAR("joules") ", " NEAR("edp")
#define TIES    "0," TIE("joules") "," TIE("edp")
#define CHOICES "by_time," CHOSEN("joules") "," CHOSEN("edp")

#define ITS_CC                                                       \
    "(SELECT d.cc FROM device AS d WHERE (d.name, d.uuid, d.driver)" \
    " = (found.device, found.uuid, found.driver))"
#define ITS_SIGNATURE                                                                \
    "(SELECT e.signature FROM energy AS e JOIN device AS d ON d.id = e.device"       \
    " JOIN problem AS p ON p.id = e.problem"                                         \
    " WHERE (d.name, d.uuid, d.driver, p.text, e.kernel, e.point, e.us, e.joules) =" \
    " (found.device, found.uuid, found.driver, found.problem, found.kernel,"         \
    " found.point, found.us, found.joules))"

/* The row that the query stands on. */
static void read_energy(const struct gt_query *q, struct gt_energy_row *row)
{
    *row = (struct gt_energy_row){.device = gt_store_text(q->s, 0),
                                  .uuid = gt_store_text(q->s, 1),
                                  .problem = gt_store_text(q->s, 2),
                                  .kernel = gt_store_text(q->s, 3),
                                  .point = gt_store_text(q->s, 4),
                                  .date = gt_store_text(q->s, 5),
                                  .energy = {.us = sqlite3_column_double(q->s, 6),
                                             .joules = sqlite3_column_double(q->s, 7),
                                             .error = sqlite3_column_double(q->s, 8),
                                             .watts = sqlite3_column_double(q->s, 9),
                                             .clock_mhz = sqlite3_column_double(q->s, 10),
                                             .counted = sqlite3_column_int(q->s, 11) != 0},
                                  .driver = sqlite3_column_int(q->s, 18),
                                  .cc = sqlite3_column_int(q->s, 19),
                                  .signature = gt_store_text(q->s, 20)};
    for (int i = 0; i < GT_OBJECTIVES; i++) {
        row->best[i] = sqlite3_column_int(q->s, 12 + i) != 0;
        row->tie[i] = sqlite3_column_int(q->s, 12 + GT_OBJECTIVES + i) != 0;
    }
}

int gt_store_energies(struct gt_store *store, const struct gt_device *device, const char *problem,
                      gt_energy_visit *visit, void *context, struct gt_err *err)
{
    struct gt_query q = gt_query(
        store, "read energies",
        "SELECT device, uuid, problem, kernel, point, date, us, joules, error, watts, clock_mhz,"
        " counted, " CHOICES ", " TIES ", driver, " ITS_CC ", " ITS_SIGNATURE
        " FROM (SELECT *, " NEARS " FROM objective"
        /* what the schema lets pass and nothing can cost */
        " WHERE us BETWEEN 1e-6 AND 1e12 AND joules BETWEEN 1e-12 AND 1e12"
        " AND watts BETWEEN 1e-6 AND 1e12 AND error < 1e12 AND clock_mhz < 1e12"
        " AND (?1 IS NULL OR (device, uuid, driver) = (?1, ?2, ?3))"
        " AND (?4 IS NULL OR problem = ?4)) AS found"
        " WINDOW place AS (PARTITION BY device, uuid, driver, problem)"
        " ORDER BY device, uuid, driver, problem, us, kernel, point",
        err);

    if (device) {
        gt_store_bind(q.s, 1, device->name);
        gt_store_bind(q.s, 2, device->uuid);
        sqlite3_bind_int(q.s, 3, device->driver);
    }
    if (problem)
        gt_store_bind(q.s, 4, problem);
    while (!q.code && gt_query_row(&q)) {
        struct gt_energy_row row;

        read_energy(&q, &row);
        q.code = gt_store_whole(store, err);
        GT_STEP(q.code, visit(context, &row, err));
    }
    return gt_query_end(&q);
}
