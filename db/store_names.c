/* store_names.c - writes what trials refer to: devices, toolchains, kernels, problems, sweeps.
 * Part of the store: see store.h. */
#include "db/store_internal.h"

#include "base/clock.h"
#include "base/err.h"
#include "problem/problem.h"

int gt_store_device(struct gt_store *store, const struct gt_device *device, int64_t *id,
                    struct gt_err *err)
{
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
    return gt_query_insert(&q, id);
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
