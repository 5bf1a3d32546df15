/* kernel_geometry.c - vocabulary: evaluates a candidate's launches, tensor maps and compile
 * options to numbers that CUDA accepts. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "kernel/kernel.h"
#include "kernel/kernel_impl.h"
#include "problem/problem.h"

#define MAX_BLOCK_THREADS 1024
/* Most blocks of a cluster; a kernel has to ask for more than 8, and the driver decides. */
#define MAX_CLUSTER 16
#define MAX_BOX     256                /* most elements along a dimension of a box */
#define MAX_DIM     ((int64_t)1 << 32) /* most elements along a dimension */
/* Alignment in bytes of bases, strides and rows of a box. */
#define MAP_ALIGN  16
#define MAPS_CC    90
#define MAX_STRIDE ((int64_t)1 << 40) /* every stride is less, in bytes */

const char *const gt_map_operand_names[] = {"a", "b", "c", "d", "workspace"};

/* An expression's place in a description, for sentences: "launches[2].grid[1]"; list NULL: only the
 * key; a negative element is left out. */
struct place {
    const char *list;
    int index;
    const char *key;
    int element;
};

/* The state of evaluating a candidate's geometry. */
struct evaluation {
    const struct gt_candidate *candidate;
    struct gt_err *err;
    const int64_t *slots;
};

/* The expression's value; GT_ERANGE unless it lies within least..most. */
static int eval_at(struct evaluation *e, const struct gt_expr *expr, struct place place,
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

static int eval(struct evaluation *e, const struct gt_expr *expr, int index, const char *key,
                int64_t least, int64_t most, int64_t *value)
{
    const struct place place = {index < 0 ? NULL : "launches", index, key, -1};

    return eval_at(e, expr, place, least, most, value);
}

static int eval_triple(struct evaluation *e, struct gt_expr *const expr[3], int index,
                       const char *key, int64_t least, const int64_t most[3], unsigned to[3])
{
    int rc = GT_OK;

    for (int i = 0; !rc && i < 3; i++) {
        const struct place place = {"launches", index, key, i};
        int64_t value = 0;

        rc = eval_at(e, expr[i], place, least, most[i], &value);
        to[i] = (unsigned)value;
    }
    return rc;
}

static int check_block(struct evaluation *e, int index, const struct gt_launch_geometry *launch)
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
static int check_empty(struct evaluation *e, int index, bool *empty,
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
static int eval_launch(struct evaluation *e, int index, struct gt_launch_geometry *to, bool *skip)
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
    to->more = launch->more;
    return rc;
}

static int eval_registers(struct evaluation *e, int64_t *registers)
{
    return eval(e, e->candidate->kernel->max_registers, -1, "compile.max_registers", 0, 255,
                registers);
}

static int eval_compile(struct evaluation *e, struct gt_geometry *geometry)
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

static int eval_launches(struct evaluation *e, struct gt_geometry *geometry)
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
    struct evaluation e = {.candidate = candidate, .slots = slots, .err = err};
    int64_t registers = 0;
    int rc;

    memset(geometry, 0, sizeof(*geometry));
    rc = eval_launches(&e, geometry);
    GT_STEP(rc, eval_registers(&e, &registers));
    geometry->max_registers = (int)registers;
    return rc;
}

/* ---- tensor maps ----
 *
 * The limits are cuTensorMapEncodeTiled's.  They are checked here so that a candidate is refused
 * with a sentence before it reaches a GPU. */

struct map_evaluation {
    struct evaluation *e;
    const struct gt_tensor_map *map;
    int index;
    int64_t operand_bytes;
    bool empty; /* the map spans no element */
    struct gt_map_geometry *to;
};

static int eval_of_map(struct map_evaluation *m, const struct gt_expr *expr, const char *key,
                       int index, int64_t least, int64_t most, int64_t *value)
{
    const struct place place = {"tensor_maps", m->index, key, index};

    return eval_at(m->e, expr, place, least, most, value);
}

static int eval_dims(struct map_evaluation *m)
{
    int rc = GT_OK;

    for (int i = 0; !rc && i < m->map->rank; i++) {
        int64_t size = 0, box = 0;

        rc = eval_of_map(m, m->map->dims[i], "dims", i, 0, MAX_DIM, &size);
        GT_STEP(rc, eval_of_map(m, m->map->box[i], "box", i, 1, MAX_BOX, &box));
        m->to->dims[i] = (uint64_t)size;
        m->to->box[i] = (uint32_t)box;
        m->empty |= !size;
    }
    return rc;
}

/* Sets an error whose sentence begins with "kernel mma: tensor_maps[1] (b)". */
__attribute__((format(printf, 2, 3))) static int refuse(struct map_evaluation *m,
                                                        const char *format, ...)
{
    char text[256];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return gt_err_set(m->e->err, GT_ERANGE, "kernel %s: tensor_maps[%d] (%.32s): %s",
                      m->e->candidate->kernel->name, m->index, m->map->name, text);
}

/* Checks where the map begins, and that it ends within its operand.  A map that spans no element is
 * made to span one element, which the driver requires; nothing is loaded through it. */
static int check_reach(struct map_evaluation *m)
{
    struct gt_map_geometry *to = m->to;
    int64_t offset = 0, span, bytes;
    int rc = eval_of_map(m, m->map->offset, "offset", -1, 0, (int64_t)1 << 48, &offset);

    if (rc)
        return rc;
    if (offset % MAP_ALIGN)
        return refuse(m, "offset is %lld, no multiple of %d bytes", (long long)offset, MAP_ALIGN);
    to->offset = offset;
    bytes = offset + (int64_t)to->strides[0];
    for (int i = 0; i < to->rank; i++)
        if (m->empty)
            to->dims[i] = 1;
        else if (__builtin_mul_overflow((int64_t)to->dims[i] - 1, to->strides[i], &span) ||
                 __builtin_add_overflow(bytes, span, &bytes))
            bytes = INT64_MAX;
    if (!m->empty && bytes > m->operand_bytes)
        return refuse(m, "it reaches to byte %lld of %s, which has %lld", (long long)bytes,
                      gt_map_operand_names[to->operand], (long long)m->operand_bytes);
    return GT_OK;
}

/* A dimension of one element needs no stride, so the driver gets some stride that it accepts. */
static int eval_strides(struct map_evaluation *m)
{
    struct gt_map_geometry *to = m->to;
    int rc = GT_OK;

    for (int i = 1; !rc && i < m->map->rank; i++) {
        int64_t stride = MAP_ALIGN;

        if (to->dims[i] > 1 && !m->empty)
            rc = eval_of_map(m, m->map->strides[i - 1], "strides", i - 1, 0, MAX_STRIDE - 1,
                             &stride);
        if (!rc && stride % MAP_ALIGN)
            rc = refuse(m, "strides[%d] is %lld, no multiple of %d bytes", i - 1, (long long)stride,
                        MAP_ALIGN);
        to->strides[i] = (uint64_t)stride;
    }
    return rc;
}

/* Finds the operand's bytes and whether its base is aligned well enough. */
static int find_operand(struct map_evaluation *m, int64_t workspace)
{
    const struct gt_problem *problem = m->e->candidate->problem;
    static const enum gt_operand operand[] = {GT_OPERAND_A, GT_OPERAND_B, GT_OPERAND_C,
                                              GT_OPERAND_C};

    m->operand_bytes = workspace;
    if (m->map->operand == GT_MAP_WORKSPACE)
        return GT_OK;
    m->operand_bytes = gt_problem_bytes(problem, operand[m->map->operand]);
    if (problem->align % MAP_ALIGN)
        return refuse(m, "operands are aligned to %lld bytes; a tensor map needs %d",
                      (long long)problem->align, MAP_ALIGN);
    return GT_OK;
}

/* A number of bytes must be 0, or 1, 2 or 4 times `least`. */
static int eval_bytes(struct map_evaluation *m, const struct gt_expr *expr, const char *key,
                      int64_t least, int *to)
{
    int64_t value = 0;
    int rc = eval_of_map(m, expr, key, -1, 0, 4 * least, &value);

    if (!rc && value && value != least && value != 2 * least && value != 4 * least)
        rc = refuse(m, "%s is %lld; it must be 0, %lld, %lld or %lld", key, (long long)value,
                    (long long)least, (long long)(2 * least), (long long)(4 * least));
    *to = (int)value;
    return rc;
}

/* Checks the box, which lies in shared memory row by row. */
static int check_box(struct map_evaluation *m)
{
    uint64_t row = m->to->box[0] * m->to->strides[0], all = row;

    for (int i = 1; i < m->map->rank; i++)
        all *= m->to->box[i];

    if (row % MAP_ALIGN)
        return refuse(m, "a row of the box has %llu bytes, no multiple of %d",
                      (unsigned long long)row, MAP_ALIGN);
    if (m->to->swizzle && row > (uint64_t)m->to->swizzle)
        return refuse(m, "a row of the box has %llu bytes; the swizzle spans %d",
                      (unsigned long long)row, m->to->swizzle);
    if (all > (uint64_t)m->e->candidate->device->smem_block)
        return refuse(m, "the box has %llu bytes; a block has %lld of shared memory",
                      (unsigned long long)all, (long long)m->e->candidate->device->smem_block);
    return GT_OK;
}

static int eval_map(struct map_evaluation *m, int64_t workspace)
{
    const struct gt_candidate *candidate = m->e->candidate;
    struct gt_map_geometry *to = m->to;
    int64_t when = 0;
    int rc = eval_of_map(m, m->map->when, "when", -1, INT64_MIN, INT64_MAX, &when);

    if (rc || !when)
        return rc;
    if (candidate->device->cc < MAPS_CC)
        return refuse(m, "tensor maps need sm_%d; the device is sm_%d", MAPS_CC,
                      candidate->device->cc);
    to->used = true;
    to->operand = m->map->operand;
    to->element = m->map->element == GT_MAP_IN    ? candidate->problem->type
                  : m->map->element == GT_MAP_OUT ? candidate->problem->out
                                                  : (enum gt_dtype)m->map->element;
    to->rank = m->map->rank;
    to->strides[0] = (uint64_t)gt_dtype_size(to->element);
    rc = find_operand(m, workspace);
    GT_STEP(rc, eval_dims(m));
    GT_STEP(rc, eval_strides(m));
    GT_STEP(rc, eval_bytes(m, m->map->swizzle, "swizzle", 32, &to->swizzle));
    GT_STEP(rc, eval_bytes(m, m->map->promotion, "promotion", 64, &to->promotion));
    GT_STEP(rc, check_box(m));
    return rc ? rc : check_reach(m);
}

/* Evaluates all maps of the candidate; workspace: the workspace's bytes. */
static int eval_all_maps(struct evaluation *e, int64_t workspace, struct gt_geometry *geometry)
{
    const struct gt_kernel *kernel = e->candidate->kernel;
    int rc = GT_OK;

    for (size_t i = 0; !rc && i < kernel->maps; i++) {
        struct map_evaluation m = {
            .e = e, .map = &kernel->map[i], .index = (int)i, .to = &geometry->map[i]};

        rc = eval_map(&m, workspace);
    }
    geometry->maps = kernel->maps;
    return rc;
}

int gt_candidate_geometry(const struct gt_candidate *candidate, struct gt_geometry *geometry,
                          struct gt_err *err)
{
    const struct gt_kernel *kernel = candidate->kernel;
    int64_t slots[GT_MAX_SLOTS], deterministic = 1;
    struct evaluation e = {.candidate = candidate, .slots = slots, .err = err};
    size_t launch_params = 0;
    int rc = gt_candidate_slots(candidate, slots, err);

    memset(geometry, 0, sizeof(*geometry));
    GT_STEP(rc, eval_launches(&e, geometry));
    GT_STEP(rc, eval_all_maps(&e, (int64_t)geometry->workspace_bytes, geometry));
    GT_STEP(rc, eval(&e, kernel->deterministic, -1, "deterministic", INT64_MIN, INT64_MAX,
                     &deterministic));
    GT_STEP(rc, eval_compile(&e, geometry));
    geometry->deterministic = deterministic;
    for (size_t i = 0; i < kernel->params; i++)
        if (kernel->param[i].launch)
            geometry->launch_param[launch_params++] = (int)candidate->point.value[i];
    return rc;
}
