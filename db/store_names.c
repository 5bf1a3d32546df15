/* store_names.c - writes what trials refer to: devices, toolchains, kernels, problems, sweeps.
 * Part of the store: see store.h. */
#include "db/store_internal.h"

#include "base/clock.h"
#include "base/err.h"
#include "problem/problem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Notes the power limit that a device was first measured at. */
static int note_power(struct gt_store *store, double watts, int64_t id, struct gt_err *err)
{
    struct gt_query q = gt_query(store, "write the device's power limit",
                                 "INSERT OR IGNORE INTO calibration (device, figure, value, at)"
                                 " VALUES (?1, 'power_w', ?2, ?3)",
                                 err);

    sqlite3_bind_int64(q.s, 1, id);
    sqlite3_bind_double(q.s, 2, watts);
    sqlite3_bind_int64(q.s, 3, gt_clock_date_ms());
    while (gt_query_row(&q))
        continue;
    return gt_query_end(&q);
}

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
    int code;
    struct gt_query q = gt_query(
        store, "write the device",
        "INSERT INTO device (name, uuid, cc, driver, profile, sms, l2_bytes, memory_bytes,"
        " clock_mhz) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (name, uuid, cc,"
        " driver, profile) DO UPDATE SET sms = excluded.sms, l2_bytes = excluded.l2_bytes,"
        " memory_bytes = excluded.memory_bytes, clock_mhz = excluded.clock_mhz RETURNING id",
        err);

    gt_store_bind(q.s, 1, device->name);
    gt_store_bind(q.s, 2, device->uuid);
    sqlite3_bind_int(q.s, 3, device->cc);
    sqlite3_bind_int(q.s, 4, device->driver);
    sqlite3_bind_int(q.s, 5, device->profile);
    sqlite3_bind_int(q.s, 6, device->sms);
    sqlite3_bind_int64(q.s, 7, device->l2_bytes);
    sqlite3_bind_int64(q.s, 8, device->memory_bytes);
    sqlite3_bind_double(q.s, 9, device->clock_mhz);
    code = gt_query_insert(&q, id);
    if (device->power_w > 0)
        GT_STEP(code, note_power(store, device->power_w, *id, err));
    return code;
}

int gt_store_toolchain(struct gt_store *store, int nvrtc_version, int64_t *id, struct gt_err *err)
{
    struct gt_query q = gt_query(store, "write the toolchain",
                                 "INSERT INTO toolchain (nvrtc) VALUES (?1) ON CONFLICT (nvrtc)"
                                 " DO UPDATE SET nvrtc = excluded.nvrtc RETURNING id",
                                 err);

    sqlite3_bind_int(q.s, 1, nvrtc_version);
    return gt_query_insert(&q, id);
}

int gt_store_kernel(struct gt_store *store, const struct gt_kernel *kernel, int64_t *id,
                    struct gt_err *err)
{
    struct gt_strbuf description = GT_STRBUF_INIT;
    int code = kernel->path ? gt_strbuf_add_file(&description, kernel->path, err) : GT_OK;

    if (!code) {
        struct gt_query q = gt_query(store, "write the kernel",
                                     "INSERT INTO kernel (name, signature, description, template,"
                                     " seen) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (name,"
                                     " signature) DO UPDATE SET seen = max(seen, excluded.seen)"
                                     " RETURNING id",
                                     err);

        gt_store_bind(q.s, 1, kernel->name);
        gt_store_bind(q.s, 2, kernel->signature);
        gt_store_bind(q.s, 3, description.text);
        gt_store_bind(q.s, 4, kernel->text);
        sqlite3_bind_int64(q.s, 5, gt_clock_date_ms());
        code = gt_query_insert(&q, id);
    }
    gt_strbuf_release(&description);
    return code;
}

int gt_store_problem(struct gt_store *store, const struct gt_problem *problem, int64_t *id,
                     struct gt_err *err)
{
    char canonical[GT_PROBLEM_TEXT_MAX];
    struct gt_query q =
        gt_query(store, "write the problem",
                 "INSERT INTO problem (text, dtype, accuracy, layout, m, n, k, batch)"
                 " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (text)"
                 " DO UPDATE SET text = excluded.text RETURNING id",
                 err);

    gt_problem_format(problem, canonical);
    gt_store_bind(q.s, 1, canonical);
    gt_store_bind(q.s, 2, gt_dtype_name(problem->type));
    gt_store_bind(q.s, 3, gt_accuracy_name(problem->accuracy));
    gt_store_bind(q.s, 4, gt_layout_name(gt_problem_layout(problem)));
    sqlite3_bind_int64(q.s, 5, problem->m);
    sqlite3_bind_int64(q.s, 6, problem->n);
    sqlite3_bind_int64(q.s, 7, problem->k);
    sqlite3_bind_int64(q.s, 8, problem->batch);
    return gt_query_insert(&q, id);
}

int gt_store_sweep_begin(struct gt_store *store, const char *command, int64_t *sweep,
                         struct gt_err *err)
{
    struct gt_query q =
        gt_query(store, "begin a sweep",
                 "INSERT INTO sweep (command, started) VALUES (?1, ?2) RETURNING id", err);

    gt_store_bind(q.s, 1, command);
    sqlite3_bind_int64(q.s, 2, gt_clock_date_ms());
    return gt_query_insert(&q, sweep);
}

int gt_store_sweep_end(struct gt_store *store, int64_t sweep, const char *outcome,
                       const struct gt_store_sweep_stats *stats, struct gt_err *err)
{
    struct gt_query q =
        gt_query(store, "end the sweep",
                 "UPDATE sweep SET outcome = ?2, ended = ?3, wall_s = ?4, busy_s = ?5, trials = ?6,"
                 " compiled = ?7, to_best_s = ?8 WHERE id = ?1 RETURNING id",
                 err);
    int64_t id;

    sqlite3_bind_int64(q.s, 1, sweep);
    gt_store_bind(q.s, 2, outcome);
    sqlite3_bind_int64(q.s, 3, gt_clock_date_ms());
    sqlite3_bind_double(q.s, 4, stats->wall_s);
    sqlite3_bind_double(q.s, 5, stats->busy_s);
    sqlite3_bind_int64(q.s, 6, stats->trials);
    sqlite3_bind_int64(q.s, 7, stats->compiled);
    sqlite3_bind_double(q.s, 8, stats->to_best_s);
    return gt_query_insert(&q, &id);
}
