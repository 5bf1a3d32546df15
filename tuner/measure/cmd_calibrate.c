/* cmd_calibrate.c - tune doctor --calibrate, and the figures of earlier calibrations. */
#include "measure/cmd_calibrate.h"

#include <stdlib.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "db/store.h"
#include "cuda/cache.h"
#include "base/err.h"
#include "console/terminal.h"
#include "console/cmd_record.h"
#include "session/cmd_session.h"
#include "evaluate/evaluator.h"
#include "console/options.h"

/* Fills the figures that are assumed if nothing was measured: the figures of the device's profile
 * or, without one, of its arch's profile. */
static void find_assumed(const struct gt_cli *cli, int cc, const char *name,
                         struct gt_device *assumed)
{
    if (gt_device_profile_of(assumed, cli->data_dir, cc, name, NULL))
        *assumed = (struct gt_device){.cc = cc};
}

/* Prints the figures that were measured beside those of the profile. */
static int report(const struct gt_cli *cli, const char *device,
                  const struct gt_calibration *calibration, const struct gt_device *assumed,
                  struct gt_err *err)
{
    struct gt_records records = {0};

    gt_records_document(&records, cli, "figures", "format=%s device=%s cc=%d",
                        "gemmtune calibration 1", device, assumed->cc);
    if (records.out) {
        gt_columns_put(cli->out, device);
        fprintf(cli->out, " (sm_%d), measured and as %s says\n", assumed->cc,
                *assumed->name ? assumed->name : "no profile");
    }
    for (int i = 0; i < GT_CALIBRATION_COUNT; i++) {
        const struct gt_calibration_row *row = &gt_calibration_rows[i];
        const double value = calibration->value[i];
        const double expected = gt_calibration_expected(assumed, (enum gt_calibration_figure)i);
        char profile[32] = "-";

        if (expected > 0)
            snprintf(profile, sizeof(profile), "%.*f", row->decimals, expected);
        if (value > 0 && records.list)
            gt_json_append(records.list, "figure=%s unit=%s measured=%g profile=%+g", row->name,
                           row->unit, value, expected);
        else if (value > 0)
            fprintf(cli->out, "  %-12s %10.*f %10s  %-8s %s\n", row->name, row->decimals, value,
                    profile, row->unit, row->doc);
    }
    return gt_records_close(&records, cli, GT_OK, err);
}

/* ---- measuring ---- */

static int measure(struct gt_cli *cli, const char *device, struct gt_evaluator **evaluator,
                   struct gt_calibration *calibration, struct gt_err *err)
{
    struct gt_evaluator_options options = {
        .data_dir = cli->data_dir, .jobs = 1, .signals = cli->signals};
    char *cache_dir = NULL;
    int rc = gt_session_cache(&cache_dir, err);

    options.cache_dir = cache_dir;
    GT_STEP(rc, gt_evaluator_open(evaluator, device, &options, err));
    if (!rc && !(*evaluator)->ops->calibrate)
        rc = gt_err_set(err, GT_ESYNTAX,
                        "--device %s: --calibrate measures, which takes a GPU: cuda or cuda:N",
                        device);
    GT_STEP(rc, (*evaluator)->ops->calibrate(*evaluator, false, calibration, err));
    free(cache_dir);
    return rc;
}

int gt_cmd_calibrate(struct gt_cli *cli, const char *device, const char *db, struct gt_err *err)
{
    struct gt_evaluator *evaluator = NULL;
    struct gt_calibration calibration;
    struct gt_device assumed;
    struct gt_store *store = NULL;
    int rc = measure(cli, device, &evaluator, &calibration, err);

    GT_STEP(rc, gt_session_store(&store, db, GT_STORE_WRITE, err));
    GT_STEP(rc, gt_store_put_calibration(store, &evaluator->device, &calibration, err));
    if (!rc) {
        find_assumed(cli, evaluator->device.cc, evaluator->device.name, &assumed);
        rc = report(cli, evaluator->device.name, &calibration, &assumed, err);
    }
    gt_store_close(store);
    gt_evaluator_close(evaluator);
    return rc;
}

/* ---- earlier calibrations ---- */

static int print_calibrated(void *context, const struct gt_calibrated *calibrated,
                            struct gt_err *err)
{
    const struct gt_cli *cli = context;
    struct gt_device assumed;

    find_assumed(cli, calibrated->cc, calibrated->device, &assumed);
    fprintf(cli->out, "\ncalibrated %s: ", calibrated->date);
    return report(cli, calibrated->device, &calibrated->calibration, &assumed, err);
}

int gt_cmd_calibrated(struct gt_cli *cli, const char *db, struct gt_err *err)
{
    struct gt_store *store;
    int rc;

    /* Doctor's line about the database has already said what is wrong with the database. */
    if (access(db, R_OK) != 0 || gt_store_open(&store, db, GT_STORE_READ, NULL))
        return GT_OK;
    rc = gt_store_calibrated(store, 0, print_calibrated, cli, err);
    gt_store_close(store);
    return rc;
}
