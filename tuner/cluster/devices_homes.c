/* devices_homes.c - which GPUs tuned the problems of `tune --devices` in earlier runs: times belong
 * to a GPU, so a problem goes where its trials are (devices_plan.c).  Those of an older text of
 * their kernel are of no use to this run. */
#include "cluster/devices_parts.h"

#include "base/array.h"
#include "base/err.h"
#include "problem/problem.h"

#include <string.h>

static int take_home(void *context, const struct gt_row *row, struct gt_err *err)
{
    struct gt_devices *devices = context;
    char text[GT_PROBLEM_TEXT_MAX];

    for (size_t i = 0; i < devices->options.problems; i++) {
        struct gt_home *home;
        int rc;

        gt_problem_format(&devices->options.problem[i], text);
        if (strcmp(text, row->problem) != 0)
            continue;
        rc = GT_ARRAY_RESERVE(&devices->home, devices->homes + 1, &devices->home_capacity, err);
        if (rc)
            return rc;
        home = &devices->home[devices->homes++];
        *home = (struct gt_home){.problem = i,
                                 .final = row->stage == 3 &&
                                          row->timing ==
                                              (int)gt_session_timing(&devices->options.session)};
        snprintf(home->uuid, sizeof(home->uuid), "%s", row->uuid);
        snprintf(home->name, sizeof(home->name), "%s", row->device);
    }
    return GT_OK;
}

int gt_devices_find_homes(struct gt_devices *devices, struct gt_store *store, struct gt_err *err)
{
    const struct gt_session_options *session = &devices->options.session;
    struct gt_kernels kernels = {0};
    const struct gt_row_filter filter = {
        .winners_only = true, .provenance = 1u << GT_MEASURED, .kernels = &kernels};
    int rc = gt_kernels_load(&kernels, devices->cli->data_dir, session->kernels_dir,
                             session->include_dirs, err);

    GT_STEP(rc, gt_store_rows(store, &filter, take_home, devices, err));
    gt_kernels_release(&kernels);
    return rc;
}

const struct gt_device_process *gt_devices_home_of(const struct gt_devices *devices, int class_of,
                                                   size_t problem)
{
    for (size_t i = 0; i < devices->homes; i++)
        for (size_t j = 0; j < devices->gpus && devices->home[i].problem == problem; j++)
            if (devices->gpu[j].class_of == class_of &&
                strcmp(devices->gpu[j].device.uuid, devices->home[i].uuid) == 0)
                return &devices->gpu[j];
    return NULL;
}

bool gt_devices_is_done(const struct gt_devices *devices, int class_of, size_t problem)
{
    const char *name = "";

    for (size_t i = 0; i < devices->gpus; i++)
        if (devices->gpu[i].class_of == class_of)
            name = devices->gpu[i].device.name;
    for (size_t i = 0; i < devices->homes; i++)
        if (devices->home[i].problem == problem && devices->home[i].final &&
            strcmp(devices->home[i].name, name) == 0)
            return true;
    return false;
}
