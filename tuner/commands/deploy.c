/* deploy.c - decides what goes into a file to deploy and obtains the machine code; see deploy.h. */
#include "commands/deploy.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "commands/deploy_file.h"
#include "console/cmd_write.h"
#include "console/options.h"
#include "cuda/cache.h"
#include "lookup/deployed.h"
#include "lookup/lookup_impl.h"
#include "lookup/table.h"
#include "problem/device.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAY_SECONDS 10 /* between two progress lines */

/* A problem on a device, whose answer goes into the file. */
struct target {
    const char *device; /* owned by the table */
    int cc, sms;        /* sms 0: the number of the arch's profile */
    int64_t l2_bytes;
    const struct gt_problem *problem;
};

struct deploying {
    struct gt_cli *cli;
    const struct gt_deploy_request *request;
    struct gt_deploy_counts *counts;
    struct gt *gt;
    struct gt_table table;
    struct target *target;
    size_t targets, capacity;
    struct gt_deploy_file file;
};

/* ---- targets ---- */

static bool same_target(const struct target *x, const struct target *y)
{
    struct gt_problem_key a, b;

    if (x->cc != y->cc || strcmp(x->device, y->device) != 0)
        return false;
    gt_problem_key(&a, x->problem);
    gt_problem_key(&b, y->problem);
    return memcmp(&a, &b, sizeof(a)) == 0;
}

/* Appends the target unless it is there already. */
static int add_target(struct deploying *deploying, const struct target *target, struct gt_err *err)
{
    int rc;

    for (size_t i = 0; i < deploying->targets; i++)
        if (same_target(&deploying->target[i], target))
            return GT_OK;
    rc = GT_ARRAY_RESERVE(&deploying->target, deploying->targets + 1, &deploying->capacity, err);
    if (!rc)
        deploying->target[deploying->targets++] = *target;
    return rc;
}

/* Lists the targets: the problem of each winner or, if problems were named, each of them on each
 * device that has winners. */
static int list_targets(struct deploying *deploying, struct gt_err *err)
{
    const struct gt_deploy_request *request = deploying->request;
    const struct gt_table *table = &deploying->table;
    int rc = GT_OK;

    for (const struct gt_table_row *row = table->row; row < table->row + table->rows; row++) {
        struct target target = {row->device, row->cc, row->sms, row->l2_bytes, &row->problem};

        if (request->cc && row->cc != request->cc)
            continue;
        if (!request->problems)
            rc = add_target(deploying, &target, err);
        for (size_t i = 0; i < request->problems && !rc; i++) {
            target.problem = &request->problem[i];
            rc = add_target(deploying, &target, err);
        }
        if (rc)
            return rc;
    }
    return GT_OK;
}

/* ---- answers and their code ---- */

__attribute__((format(printf, 2, 3))) static void leave_out(struct deploying *deploying,
                                                            const char *format, ...)
{
    va_list args;

    if (deploying->counts->left_out++)
        return;
    va_start(args, format);
    vsnprintf(deploying->counts->why, sizeof(deploying->counts->why), format, args);
    va_end(args);
}

static int device_of(const struct deploying *deploying, const struct target *target,
                     struct gt_device *device, struct gt_err *err)
{
    int rc =
        gt_device_profile_of(device, deploying->cli->data_dir, target->cc, target->device, err);

    if (rc)
        return rc;
    snprintf(device->name, sizeof(device->name), "%s", target->device);
    if (target->sms > 0)
        device->sms = target->sms;
    if (target->l2_bytes > 0)
        device->l2_bytes = target->l2_bytes;
    return GT_OK;
}

/* Whether the answer belongs in the file; if not, records why. */
static bool is_wanted(struct deploying *deploying, const struct gt_problem *asked,
                      const struct gt_resolved *resolved)
{
    const struct gt_deploy_request *request = deploying->request;
    const struct gt_answer *answer = &resolved->answer;
    char problem[GT_PROBLEM_TEXT_MAX], why[GT_UNSERVED_MAX];

    if (request->kernel && answer->kernel && strcmp(answer->kernel, request->kernel) != 0)
        return false;
    if (request->measured && answer->predicted)
        return false;
    gt_problem_format(asked, problem);
    if (answer->tier == GT_TIER_NONE)
        gt_lookup_unserved(why, deploying->gt, &resolved->problem, &resolved->device);
    if (answer->tier == GT_TIER_NONE)
        leave_out(deploying, "%s: no kernel serves it on %s: %s", problem, resolved->device.name,
                  why);
    else if (answer->tier != GT_TIER_EXACT && !request->problems)
        leave_out(deploying, "%s on %s: %s; tune it again, or name it with --problem", problem,
                  resolved->device.name,
                  answer->passed_over ? answer->passed_over : "its winner cannot run any more");
    else
        return true;
    return false;
}

static int add_answer(struct deploying *deploying, const struct target *target, struct gt_err *err)
{
    const struct gt_options *options = gt_lookup_options(deploying->gt);
    struct gt_resolved resolved = {.kernel = NULL};
    struct gt_binary binary = {0};
    struct gt_device device;
    int nvrtc = 0, rc = device_of(deploying, target, &device, err);

    GT_STEP(rc, gt_lookup_device(deploying->gt, &device, target->problem, &resolved, err));
    if (!rc && is_wanted(deploying, target->problem, &resolved)) {
        rc = gt_plan_binary(options, &resolved, NULL, &binary, &nvrtc, err);
        resolved.problem = *target->problem; /* which it is found by, in whatever it is computed */
        GT_STEP(rc, gt_deploy_file_add(&deploying->file, &resolved, &binary, nvrtc, err));
    }
    gt_binary_release(&binary);
    gt_resolved_release(&resolved);
    return rc;
}

static int open_sources(struct deploying *deploying, struct gt_err *err)
{
    const struct gt_deploy_request *request = deploying->request;
    const char *const folders[] = {request->kernels_dir, NULL};
    struct gt_options options = {GT_OPTIONS_INIT,
                                 .user_db = request->db,
                                 .data_dir = deploying->cli->data_dir,
                                 .allow_nvrtc = 1,
                                 .kernels_dirs = request->kernels_dir ? folders : NULL,
                                 .include_dirs = request->include_dirs};
    char *cubins = NULL;
    int rc;

    if (gt_deployed_is(request->db))
        return gt_err_set(err, GT_EDB,
                          "%s is a deployed file already; export from the database it was made of",
                          request->db);
    gt_cache_dir(&cubins, NULL); /* without a cache everything is compiled */
    options.cubin_dir = cubins;
    rc = gt_open(&deploying->gt, &options, err);
    GT_STEP(rc, gt_table_load(&deploying->table, request->db, err));
    free(cubins);
    return rc;
}

/* ---- the file ---- */

static int write_file(void *context, FILE *to, struct gt_err *err)
{
    struct deploying *deploying = context;

    return gt_deploy_file_write(&deploying->file, to, &deploying->counts->bytes, err);
}

static int check_file(void *context, const char *path, struct gt_err *err)
{
    struct gt_deployed *deployed;
    int rc = gt_deployed_open(&deployed, path, err);

    (void)context;
    for (uint32_t i = 0; !rc && i < gt_deployed_items(deployed); i++) {
        void *image = NULL;
        size_t size;

        rc = gt_deployed_image(deployed, gt_deployed_item(deployed, i), &image, &size, err);
        free(image);
    }
    gt_deployed_close(deployed);
    return rc;
}

static int fill(struct deploying *deploying, struct gt_err *err)
{
    double said = gt_clock_s();
    int rc = open_sources(deploying, err);

    GT_STEP(rc, list_targets(deploying, err));
    for (size_t i = 0; i < deploying->targets && !rc; i++) {
        rc = add_answer(deploying, &deploying->target[i], err);
        if (!rc && !deploying->cli->quiet && gt_clock_s() - said > SAY_SECONDS) {
            said = gt_clock_s();
            fprintf(deploying->cli->log, "%zu of %zu problems; what the cache lacks is compiled\n",
                    i + 1, deploying->targets);
        }
    }
    if (!rc && !deploying->file.item_count && deploying->counts->left_out)
        rc = gt_err_set(err, GT_ENOTFOUND, "%s has nothing to deploy: %s", deploying->request->db,
                        deploying->counts->why);
    else if (!rc && !deploying->file.item_count)
        rc = gt_err_set(err, GT_ENOTFOUND, "%s has no winner of what was asked for",
                        deploying->request->db);
    return rc;
}

int gt_deploy(struct gt_cli *cli, const struct gt_deploy_request *request,
              struct gt_deploy_counts *counts, struct gt_err *err)
{
    struct deploying deploying = {.cli = cli, .request = request, .counts = counts};
    /* The mode does not depend on the umask: nobody else may write a file that holds code (see
     * gt_deployed_open). */
    const struct gt_cmd_writing file = {write_file, check_file, &deploying, 0644};
    int rc;

    memset(counts, 0, sizeof(*counts));
    gt_deploy_file_init(&deploying.file);
    rc = fill(&deploying, err);
    counts->answers = deploying.file.item_count;
    counts->images = deploying.file.image_count;
    GT_STEP(rc, gt_cmd_write_file(request->path, &file, err));
    gt_deploy_file_release(&deploying.file);
    gt_table_release(&deploying.table);
    gt_close(deploying.gt);
    free(deploying.target);
    return rc;
}
