/* store_calibration.c - remembers what devices reach.  Part of the store: see store.h. */
#include "db/store_internal.h"

#include "base/clock.h"
#include "base/err.h"

#include <stdio.h>
#include <string.h>

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
        sqlite3_bind_int64(q.s, 1, device);
        gt_store_bind(q.s, 2, gt_calibration_rows[i].name);
        sqlite3_bind_double(q.s, 3, calibration->value[i]);
        sqlite3_bind_int64(q.s, 4, gt_clock_date_ms());
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

/* The figures of one device; a name that this program does not know is of a later one. */
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
