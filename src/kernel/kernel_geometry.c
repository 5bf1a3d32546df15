/* kernel_geometry.c - vocabulary: evaluates a candidate's launches and its compile options to
 * numbers that CUDA accepts. */
#include "kernel/kernel.h"

#include "base/err.h"
#include "kernel/kernel_impl.h"
#include "templates/common/args.h"

#include <stdio.h>
#include <string.h>

#define MAX_BLOCK_THREADS 1024
#define MAX_CLUSTER       16 /* blocks; beyond 8 a kernel asks for it, the driver decides */

int gt_geometry_eval(struct gt_evaluation *e, const struct gt_expr *expr, struct gt_place place,
                     int64_t least, int64_t most, int64_t *value)
{
    const char *kernel = e->candidate->kernel->name;
    char where[32] = "", key[32];
    int rc = gt_expr_eval(expr, e->slots, value, e->err);

    if (!rc && *value >= least && *value <= most)
        return GT_OK;
    if (place.list)
        snprintf(where, sizeof(where), "%s[%d].", place.list, place.index);
    if (place.element < 0)
        snprintf(key, sizeof(key), "%s", place.key);
    else
        snprintf(key, sizeof(key), "%s[%d]", place.key, place.element);
    if (rc)
        return gt_err_prefix(e->err, rc, "kernel %s: %s%s", kernel, where, key);
    return gt_err_set(e->err, GT_ERANGE,
                      "kernel %s: %s%s = \"%s\" is %lld; it must lie between %lld and %lld", kernel,
                      where, key, gt_expr_text(expr), (long long)*value, (long long)least,
                      (long long)most);
}

/* Evaluates an expression of launches[index] (or of the top, index -1) and checks its range. */
static int eval(struct gt_evaluation *e, const struct gt_expr *expr, int index, const char *key,
                int64_t least, int64_t most, int64_t *value)
{
    const struct gt_place place = {index < 0 ? NULL : "launches", index, key, -1};

    return gt_geometry_eval(e, expr, place, least, most, value);
}

static int eval_triple(struct gt_evaluation *e, struct gt_expr *const expr[3], int index,
                       const char *key, int64_t least, const int64_t most[3], unsigned to[3])
{
    int rc = GT_OK;

    for (int i = 0; !rc && i < 3; i++) {
        const struct gt_place place = {"launches", index, key, i};
        int64_t value = 0;

        rc = gt_geometry_eval(e, expr[i], place, least, most[i], &value);
        to[i] = (unsigned)value;
    }
    return rc;
}

static int check_block(struct gt_evaluation *e, int index, const struct gt_launch_geometry *launch)
{
    const unsigned *block = launch->block, *cluster = launch->cluster, *grid = launch->grid;
    const struct gt_candidate *candidate = e->candidate;
    unsigned blocks = cluster[0] * cluster[1] * cluster[2];

    if (block[0] * block[1] * block[2] > MAX_BLOCK_THREADS)
        return gt_err_set(e->err, GT_ERANGE,
                          "kernel %s: launches[%d].block has %u threads; at most %d are possible",
                          candidate->kernel->name, index, block[0] * block[1] * block[2],
                          MAX_BLOCK_THREADS);
    if (blocks > 1 && candidate->device->cc < 90)
        return gt_err_set(e->err, GT_ERANGE,
                          "kernel %s: launches[%d].cluster needs sm_90; the device is sm_%d",
                          candidate->kernel->name, index, candidate->device->cc);
    if (blocks > MAX_CLUSTER)
        return gt_err_set(e->err, GT_ERANGE,
                          "kernel %s: launches[%d].cluster has %u blocks; at most %d are possible",
                          candidate->kernel->name, index, blocks, MAX_CLUSTER);
    for (int i = 0; i < 3; i++)
        if (grid[i] % cluster[i])
            return gt_err_set(e->err, GT_ERANGE,
                              "kernel %s: launches[%d].grid[%d] is %u, no multiple of cluster[%d] "
                              "= %u",
                              candidate->kernel->name, index, i, grid[i], i, cluster[i]);
    return GT_OK;
}

/* Checks that a grid is empty only where there is nothing to compute. */
static int check_empty(struct gt_evaluation *e, int index, bool *empty,
                       const struct gt_launch_geometry *launch)
{
    const struct gt_problem *problem = e->candidate->problem;

    *empty = !launch->grid[0] || !launch->grid[1] || !launch->grid[2];
    if (*empty && problem->m && problem->n)
        return gt_err_set(
            e->err, GT_ERANGE, "kernel %s: launches[%d].grid is %ux%ux%u, without a block",
            e->candidate->kernel->name, index, launch->grid[0], launch->grid[1], launch->grid[2]);
    return GT_OK;
}

/* Fills one launch; *skip is set if its `when` is 0 or its grid is empty. */
static int eval_launch(struct gt_evaluation *e, int index, struct gt_launch_geometry *to,
                       bool *skip)
{
    static const int64_t most_grid[3] = {0x7fffffff, 65535, 65535};
    static const int64_t most_block[3] = {1024, 1024, 64};
    static const int64_t most_cluster[3] = {MAX_CLUSTER, MAX_CLUSTER, MAX_CLUSTER};
    const struct gt_launch *launch = &e->candidate->kernel->launch[index];
    int64_t when = 0, shared = 0, carveout = -1, pdl = 0;
    int rc = eval(e, launch->when, index, "when", INT64_MIN, INT64_MAX, &when);

    *skip = !when;
    if (rc || *skip)
        return rc;
    to->entry = launch->entry;
    rc = eval_triple(e, launch->grid, index, "grid", 0, most_grid, to->grid);
    GT_STEP(rc, check_empty(e, index, skip, to));
    if (rc || *skip)
        return rc;
    rc = eval_triple(e, launch->block, index, "block", 1, most_block, to->block);
    GT_STEP(rc, eval_triple(e, launch->cluster, index, "cluster", 1, most_cluster, to->cluster));
    GT_STEP(rc, check_block(e, index, to));
    GT_STEP(rc,
            eval(e, launch->shared, index, "shared", 0, e->candidate->device->smem_block, &shared));
    GT_STEP(rc, eval(e, launch->carveout, index, "carveout", -1, 100, &carveout));
    GT_STEP(rc, eval(e, launch->pdl, index, "pdl", 0, e->candidate->device->cc >= 90, &pdl));
    to->shared_bytes = (unsigned)shared;
    to->carveout = (int)carveout;
    to->pdl = pdl;
    to->maps = launch->maps;
    return rc;
}

static int eval_registers(struct gt_evaluation *e, int64_t *registers)
{
    return eval(e, e->candidate->kernel->max_registers, -1, "compile.max_registers", 0, 255,
                registers);
}

static int eval_compile(struct gt_evaluation *e, struct gt_geometry *geometry)
{
    const struct gt_kernel *kernel = e->candidate->kernel;
    int64_t registers = 0, arch = 0, features = 0, ptx = 0;
    int cc = e->candidate->device->cc;
    int rc = eval_registers(e, &registers);

    GT_STEP(rc, eval(e, kernel->code_arch, -1, "compile.code_arch", 75, cc, &arch));
    GT_STEP(rc,
            eval(e, kernel->arch_features, -1, "compile.arch_features", 0, cc >= 90, &features));
    GT_STEP(rc, eval(e, kernel->code_ptx, -1, "compile.code_ptx", 0, 1, &ptx));
    if (!rc && !gt_arch_known((int)arch))
        rc = gt_err_set(e->err, GT_ERANGE,
                        "kernel %s: compile.code_arch = \"%s\" is %lld; there is no such arch",
                        kernel->name, gt_expr_text(kernel->code_arch), (long long)arch);
    if (!rc && !ptx && arch / 10 != cc / 10)
        rc = gt_err_set(e->err, GT_ERANGE,
                        "kernel %s: machine code of sm_%lld does not run on sm_%d; only PTX of it "
                        "does (compile.code_ptx)",
                        kernel->name, (long long)arch, cc);
    if (!rc && features && arch != cc)
        rc = gt_err_set(e->err, GT_ERANGE,
                        "kernel %s: code with compile.arch_features runs on its own arch only, "
                        "sm_%lld, and not on sm_%d",
                        kernel->name, (long long)arch, cc);
    geometry->max_registers = (int)registers;
    geometry->code_arch = (int)arch;
    geometry->arch_features = features;
    geometry->code_ptx = ptx;
    return rc;
}

static int eval_launches(struct gt_evaluation *e, struct gt_geometry *geometry)
{
    const struct gt_kernel *kernel = e->candidate->kernel;
    const struct gt_problem *problem = e->candidate->problem;
    int64_t workspace = 0;
    int rc = GT_OK;

    for (size_t i = 0; !rc && i < kernel->launches; i++) {
        bool skip = false;

        rc = eval_launch(e, (int)i, &geometry->launch[geometry->launches], &skip);
        geometry->launches += !skip;
    }
    if (!rc && !geometry->launches && problem->m && problem->n)
        rc =
            gt_err_set(e->err, GT_ERANGE, "kernel %s: \"when\" of every launch is 0", kernel->name);
    GT_STEP(rc, eval(e, kernel->workspace, -1, "workspace", 0, (int64_t)1 << 48, &workspace));
    geometry->workspace_bytes = (size_t)workspace;
    return rc;
}

int gt_candidate_launches(const struct gt_candidate *candidate, const int64_t slots[GT_MAX_SLOTS],
                          struct gt_geometry *geometry, struct gt_err *err)
{
    struct gt_evaluation e = {.candidate = candidate, .slots = slots, .err = err};
    int64_t registers = 0;
    int rc;

    memset(geometry, 0, sizeof(*geometry));
    rc = eval_launches(&e, geometry);
    GT_STEP(rc, eval_registers(&e, &registers));
    geometry->max_registers = (int)registers;
    return rc;
}

int gt_candidate_geometry(const struct gt_candidate *candidate, struct gt_geometry *geometry,
                          struct gt_err *err)
{
    const struct gt_kernel *kernel = candidate->kernel;
    int64_t slots[GT_MAX_SLOTS], deterministic = 1;
    struct gt_evaluation e = {.candidate = candidate, .slots = slots, .err = err};
    size_t launch_params = 0;
    int rc = gt_candidate_slots(candidate, slots, err);

    memset(geometry, 0, sizeof(*geometry));
    GT_STEP(rc, eval_launches(&e, geometry));
    GT_STEP(rc, gt_geometry_maps(&e, (int64_t)geometry->workspace_bytes, geometry));
    GT_STEP(rc, eval(&e, kernel->deterministic, -1, "deterministic", INT64_MIN, INT64_MAX,
                     &deterministic));
    GT_STEP(rc, eval_compile(&e, geometry));
    geometry->deterministic = deterministic;
    for (size_t i = 0; i < kernel->params; i++)
        if (kernel->param[i].launch)
            geometry->launch_param[launch_params++] = (int)candidate->point.value[i];
    return rc;
}
