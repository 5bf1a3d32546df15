/* store_energy.c - what a product costs: writes and reads the table `energy` and the view
 * `objective`. Part of the store: see store.h. */
#include "db/store_internal.h"

#include "base/clock.h"
#include "base/err.h"
#include "problem/device.h"

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

int gt_store_energies(struct gt_store *store, const struct gt_device *device, const char *problem,
                      gt_energy_visit *visit, void *context, struct gt_err *err)
{
    struct gt_query q = gt_query(store, "read energies",
                                 "SELECT kernel, point, us, joules, error, watts, clock_mhz,"
                                 " counted, by_time, by_energy, by_edp FROM objective"
                                 " WHERE (device, uuid, driver, problem) = (?1, ?2, ?3, ?4)"
                                 " ORDER BY us, kernel, point",
                                 err);

    gt_store_bind(q.s, 1, device->name);
    gt_store_bind(q.s, 2, device->uuid);
    sqlite3_bind_int(q.s, 3, device->driver);
    gt_store_bind(q.s, 4, problem);
    while (!q.code && gt_query_row(&q)) {
        const struct gt_energy_row row = {.kernel = gt_store_text(q.s, 0),
                                          .point = gt_store_text(q.s, 1),
                                          .energy = {.us = sqlite3_column_double(q.s, 2),
                                                     .joules = sqlite3_column_double(q.s, 3),
                                                     .error = sqlite3_column_double(q.s, 4),
                                                     .watts = sqlite3_column_double(q.s, 5),
                                                     .clock_mhz = sqlite3_column_double(q.s, 6),
                                                     .counted = sqlite3_column_int(q.s, 7) != 0},
                                          .best = {sqlite3_column_int(q.s, 8) != 0,
                                                   sqlite3_column_int(q.s, 9) != 0,
                                                   sqlite3_column_int(q.s, 10) != 0}};

        q.code = gt_store_whole(store, err);
        GT_STEP(q.code, visit(context, &row, err));
    }
    return gt_query_end(&q);
}
