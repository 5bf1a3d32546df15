/* cmd_carry_compare.c - is a row's candidate the same by the older text and by today's?  Launches,
 * tensor maps and compile options are compared as numbers for the row's own problem and device, the
 * machine code as bytes.  See cmd_carry.h. */
#include "recheck/cmd_carry.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "console/options.h"
#include "cuda/cache.h"
#include "problem/trial.h"
#include "workers/compile_pool.h"

static const char *const text_names[GT_CARRY_TEXTS] = {"the older text", "today's text"};

__attribute__((format(printf, 3, 4))) static void
judge(struct gt_carry_row *row, enum gt_carry_verdict verdict, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(row->detail, sizeof(row->detail), format, args);
    va_end(args);
    row->verdict = verdict;
}

/* ---- the two candidates ---- */

/* Whether the profile is one of the named device: "H200 (profile)" describes an "NVIDIA H200". */
static bool describes(const struct gt_device *profile, const char *device)
{
    const char *end = strstr(profile->name, " (profile)");
    char name[sizeof(profile->name)];

    snprintf(name, sizeof(name), "%.*s", end ? (int)(end - profile->name) : (int)sizeof(name) - 1,
             profile->name);
    return strstr(device, name) != NULL;
}

/* The device that the row was timed on, as far as expressions can tell. */
static int find_device(const struct gt_carrying *carrying, struct gt_carry_row *row,
                       struct gt_err *err)
{
    int rc = gt_device_profile_of(&row->on, carrying->cli->data_dir, row->cc, row->device, err);

    if (rc)
        return rc;
    row->on.chained = row->timing == GT_TIMING_GRAPH;
    if (row->sms > 0) {
        row->on.sms = row->sms;
        row->on.l2_bytes = row->l2_bytes;
    } else if (!describes(&row->on, row->device)) {
        judge(row, GT_CARRY_UNFIT, "no profile has the figures of %s, on which launches depend",
              row->device);
    }
    return GT_OK;
}

/* Makes the candidate of one text; false: there is none, and the row is judged. */
static bool fit_text(const struct gt_carrying *carrying, struct gt_carry_row *row, int which,
                     struct gt_geometry *geometry)
{
    struct gt_candidate *candidate = &row->candidate[which];
    char reason[GT_UNSERVED_MAX];
    struct gt_err why = {0};
    int failed = -1, rc;

    *candidate = (struct gt_candidate){
        .kernel = gt_kernels_find(&carrying->kernels[which], row->kernel, &why),
        .problem = &row->problem,
        .device = &row->on,
    };
    rc = candidate->kernel ? gt_point_parse(&candidate->point, candidate->kernel, row->point, &why)
                           : GT_ENOTFOUND;
    if (!rc && gt_unserved(reason, "it", &candidate->kernel, 1, &row->problem, &row->on))
        rc = gt_err_set(&why, GT_ERANGE, "%s", reason);
    GT_STEP(rc, gt_candidate_possible(candidate, &failed, &why));
    if (!rc && failed >= 0)
        rc = gt_err_set(&why, GT_ERANGE, "%s", candidate->kernel->constraint[failed].why);
    GT_STEP(rc, gt_candidate_geometry(candidate, geometry, &why));
    if (rc)
        judge(row, GT_CARRY_UNFIT, "by %s: %s", text_names[which], why.msg);
    return !rc;
}

/* ---- what is compared ---- */

#define SAME(x, y, field) (memcmp(&(x)->field, &(y)->field, sizeof((x)->field)) == 0)

static bool same_launches(const struct gt_geometry *x, const struct gt_geometry *y)
{
    if (x->launches != y->launches)
        return false;
    for (size_t i = 0; i < x->launches; i++) {
        const struct gt_launch_geometry *a = &x->launch[i], *b = &y->launch[i];

        if (strcmp(a->entry, b->entry) != 0 || !SAME(a, b, grid) || !SAME(a, b, block) ||
            !SAME(a, b, cluster) || a->shared_bytes != b->shared_bytes ||
            a->carveout != b->carveout || a->pdl != b->pdl || a->maps != b->maps)
            return false;
    }
    return true;
}

/* A map that only one text has is undefined by the other, which is the same if it is not used. */
static bool same_maps(const struct gt_geometry *x, const struct gt_geometry *y)
{
    const size_t most = x->maps > y->maps ? x->maps : y->maps;

    for (size_t i = 0; i < most; i++) {
        const struct gt_map_geometry *a = &x->map[i], *b = &y->map[i];

        if (a->used != b->used || a->operand != b->operand || a->element != b->element ||
            a->offset != b->offset || a->rank != b->rank || !SAME(a, b, dims) ||
            !SAME(a, b, strides) || !SAME(a, b, box) || a->swizzle != b->swizzle ||
            a->promotion != b->promotion)
            return false;
    }
    return true;
}

/* The older text's launch parameters have their places and values.  One that follows them is none
 * that the same machine code can read. */
static bool same_launch_params(const struct gt_kernel *older, const struct gt_geometry *x,
                               const struct gt_geometry *y)
{
    size_t count = 0;

    for (size_t i = 0; i < older->params; i++)
        count += older->param[i].launch;
    return memcmp(x->launch_param, y->launch_param, count * sizeof(*x->launch_param)) == 0;
}

/* What differs, in words; NULL: nothing. */
static const char *difference(const struct gt_kernel *older, const struct gt_geometry *x,
                              const struct gt_geometry *y)
{
    return !same_launches(x, y)               ? "its launches are others by today's text"
           : !same_maps(x, y)                 ? "its tensor maps are others by today's text"
           : !same_launch_params(older, x, y) ? "its launch parameters are others by today's text"
           : x->workspace_bytes != y->workspace_bytes ? "its workspace is another by today's text"
           : x->deterministic != y->deterministic
               ? "its results vary by one text and not by the other"
           : x->max_registers != y->max_registers || x->code_arch != y->code_arch ||
                   x->arch_features != y->arch_features || x->code_ptx != y->code_ptx
               ? "it is compiled with other options by today's text"
               : NULL;
}

int gt_carry_fit(const struct gt_carrying *carrying, struct gt_carry_row *row, struct gt_err *err)
{
    struct gt_geometry geometry[GT_CARRY_TEXTS];
    const struct gt_kernel *today =
        gt_kernels_find(&carrying->kernels[GT_CARRY_TODAY], row->kernel, NULL);
    const struct gt_kernel *older =
        gt_kernels_find(&carrying->kernels[GT_CARRY_OLDER], row->kernel, NULL);
    const char *what;
    int rc;

    if (today && strcmp(today->signature, row->signature) == 0) {
        row->verdict = GT_CARRY_CURRENT;
        return GT_OK;
    }
    if (older && strcmp(older->signature, row->signature) != 0) {
        judge(row, GT_CARRY_UNFIT, "%s has another text of %s than the row's",
              carrying->options->older, row->kernel);
        return GT_OK;
    }
    rc = find_device(carrying, row, err);
    if (rc || row->verdict != GT_CARRY_OPEN)
        return rc;
    for (int i = 0; i < GT_CARRY_TEXTS; i++)
        if (!fit_text(carrying, row, i, &geometry[i]))
            return GT_OK;
    what = difference(older, &geometry[GT_CARRY_OLDER], &geometry[GT_CARRY_TODAY]);
    if (what)
        judge(row, GT_CARRY_OTHER, "%s", what);
    return GT_OK;
}

/* ---- machine code ---- */

void gt_carry_compiled(struct gt_carry_row *row, int which, const struct gt_compiled *compiled)
{
    snprintf(row->key[which], sizeof(row->key[which]), "%s", compiled->key);
    if (compiled->status != GT_STATUS_OK && row->verdict == GT_CARRY_OPEN)
        judge(row, GT_CARRY_OTHER, "by %s: %s: %.*s", text_names[which],
              gt_status_name(compiled->status), (int)strcspn(compiled->detail, "\n"),
              compiled->detail);
}

int gt_carry_code(struct gt_carry_row *row, const char *cache_dir, struct gt_err *err)
{
    struct gt_binary code[GT_CARRY_TEXTS] = {{0}};
    int rc = GT_OK;

    for (int i = 0; i < GT_CARRY_TEXTS && !rc; i++) {
        rc = gt_cache_load(cache_dir, row->key[i], &code[i], err);
        if (rc && gt_cache_spill_load(getpid(), row->key[i], &code[i], NULL) == GT_OK)
            rc = GT_OK;
    }
    if (!rc && code[0].size == code[1].size &&
        memcmp(code[0].image, code[1].image, code[0].size) == 0)
        row->verdict = GT_CARRY_SAME;
    else if (!rc)
        judge(row, GT_CARRY_OTHER, "its machine code is another by today's text");
    for (int i = 0; i < GT_CARRY_TEXTS; i++)
        gt_binary_release(&code[i]);
    return rc;
}
