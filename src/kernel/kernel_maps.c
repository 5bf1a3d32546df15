/* kernel_maps.c - vocabulary: the tensor maps of a description ("tensor_maps"), read and evaluated.
 *
 * The limits are those of cuTensorMapEncodeTiled; they are checked here so that a candidate is
 * refused with a sentence before it reaches a GPU. */
#include "kernel/kernel_impl.h"

#include "base/err.h"
#include "kernel/kernel_reader.h"
#include "problem/problem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_BOX    256                /* elements along a dimension of a box */
#define MAX_DIM    ((int64_t)1 << 32) /* elements */
#define MAX_STRIDE ((int64_t)1 << 40) /* bytes, exclusive */
#define MAP_ALIGN  16                 /* bytes: of bases, strides and rows of a box */
#define LEAST_CC   90

const char *const gt_map_operand_names[] = {"a", "b", "c", "d", "workspace"};

/* ---- reading ---- */

/* Reads the element: "in", "out" or a type. */
GT_READS_ONCE static void read_element(struct gt_reader *r, struct gt_tensor_map *map,
                                       const cJSON *object)
{
    const cJSON *member = gt_reader_get(r, object, "element", cJSON_String, GT_OPTIONAL);
    const char *text = member ? member->valuestring : "in";
    enum gt_dtype type = GT_F32;

    if (!strcmp(text, "in"))
        map->element = GT_MAP_IN;
    else if (!strcmp(text, "out"))
        map->element = GT_MAP_OUT;
    else if (gt_dtype_parse(&type, text, strlen(text)))
        map->element = (int)type;
    else
        gt_reader_fail(r, "\"element\" is \"%.32s\"; it must be in, out or a type", text);
}

/* Reads dimensions, strides and box; the first list determines the rank. */
GT_READS_ONCE static void read_lists(struct gt_reader *r, struct gt_tensor_map *map,
                                     const cJSON *object)
{
    int strides, boxes;

    map->rank = gt_reader_exprs(r, map->dims, object, "dims", GT_MAX_MAP_RANK, GT_REQUIRED);
    strides = gt_reader_exprs(r, map->strides, object, "strides", GT_MAX_MAP_RANK - 1,
                              map->rank > 1 ? GT_REQUIRED : GT_OPTIONAL);
    boxes = gt_reader_exprs(r, map->box, object, "box", GT_MAX_MAP_RANK, GT_REQUIRED);
    if (strides != map->rank - 1)
        gt_reader_fail(r,
                       "\"strides\" lists %d; with %d dims it must list %d, for all but the "
                       "innermost",
                       strides, map->rank, map->rank - 1);
    if (boxes != map->rank)
        gt_reader_fail(r, "\"box\" lists %d; it must be as many as \"dims\", %d", boxes, map->rank);
}

GT_READS_ONCE static void read_map(struct gt_reader *r, const cJSON *object, size_t index)
{
    static const char allowed[] =
        "name operand offset element dims strides box swizzle when promotion";
    struct gt_tensor_map *map = &r->kernel->map[index];

    r->kernel->maps++;
    if (!gt_reader_object(r, object, allowed))
        return;
    gt_reader_string(r, &map->name, object, "name", GT_REQUIRED);
    map->operand = (enum gt_map_operand)gt_reader_choice(r, object, "operand", gt_map_operand_names,
                                                         GT_MAP_WORKSPACE + 1, -1);
    read_element(r, map, object);
    read_lists(r, map, object);
#define READ(member, standard) gt_reader_expr(r, &map->member, object, #member, standard);
    GT_MAP_EXPRS(READ)
#undef READ
}

GT_READS_ONCE void gt_reader_maps(struct gt_reader *r)
{
    const struct gt_kernel *kernel = r->kernel;
    size_t takers = 0;

    gt_reader_list(r, "tensor_maps", GT_MAX_MAPS, GT_OPTIONAL, read_map);
    for (size_t i = 0; i < kernel->launches; i++)
        takers += kernel->launch[i].maps;
    if (takers && !kernel->maps)
        gt_reader_fail(r, "a launch has \"maps\", but there are no \"tensor_maps\"");
    if (kernel->maps && !takers)
        gt_reader_fail(r, "no launch takes the \"tensor_maps\" (\"maps\": true)");
}

/* ---- evaluating ---- */

struct map_evaluation {
    struct gt_evaluation *e;
    const struct gt_tensor_map *map;
    int index;
    int64_t operand_bytes;
    bool empty; /* spans no element */
    struct gt_map_geometry *to;
};

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

static int eval(struct map_evaluation *m, const struct gt_expr *expr, const char *key, int index,
                int64_t least, int64_t most, int64_t *value)
{
    const struct gt_place place = {"tensor_maps", m->index, key, index};

    return gt_geometry_eval(m->e, expr, place, least, most, value);
}

/* Evaluates a number of bytes, which must be 0, `least`, or a doubling of it up to 4 times. */
static int eval_bytes(struct map_evaluation *m, const struct gt_expr *expr, const char *key,
                      int64_t least, int *to)
{
    int64_t value = 0;
    int rc = eval(m, expr, key, -1, 0, 4 * least, &value);

    if (!rc && value && value != least && value != 2 * least && value != 4 * least)
        rc = refuse(m, "%s is %lld; it must be 0, %lld, %lld or %lld", key, (long long)value,
                    (long long)least, (long long)(2 * least), (long long)(4 * least));
    *to = (int)value;
    return rc;
}

static int eval_dims(struct map_evaluation *m)
{
    int rc = GT_OK;

    for (int i = 0; !rc && i < m->map->rank; i++) {
        int64_t size = 0, box = 0;

        rc = eval(m, m->map->dims[i], "dims", i, 0, MAX_DIM, &size);
        GT_STEP(rc, eval(m, m->map->box[i], "box", i, 1, MAX_BOX, &box));
        m->to->dims[i] = (uint64_t)size;
        m->to->box[i] = (uint32_t)box;
        m->empty |= !size;
    }
    return rc;
}

/* Evaluates the strides.  A dimension of one element needs no stride: it may have any, and the
 * driver gets one that it accepts. */
static int eval_strides(struct map_evaluation *m)
{
    struct gt_map_geometry *to = m->to;
    int rc = GT_OK;

    for (int i = 1; !rc && i < m->map->rank; i++) {
        int64_t stride = MAP_ALIGN;

        if (to->dims[i] > 1 && !m->empty)
            rc = eval(m, m->map->strides[i - 1], "strides", i - 1, 0, MAX_STRIDE - 1, &stride);
        if (!rc && stride % MAP_ALIGN)
            rc = refuse(m, "strides[%d] is %lld, no multiple of %d bytes", i - 1, (long long)stride,
                        MAP_ALIGN);
        to->strides[i] = (uint64_t)stride;
    }
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

/* Checks where the map begins, and that it ends within its operand.  A map that spans nothing is
 * made to span one element, which the driver requires; nothing is loaded through it. */
static int check_reach(struct map_evaluation *m)
{
    struct gt_map_geometry *to = m->to;
    int64_t offset = 0, span, bytes;
    int rc = eval(m, m->map->offset, "offset", -1, 0, (int64_t)1 << 48, &offset);

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

static int eval_map(struct map_evaluation *m, int64_t workspace)
{
    const struct gt_candidate *candidate = m->e->candidate;
    struct gt_map_geometry *to = m->to;
    int64_t when = 0;
    int rc = eval(m, m->map->when, "when", -1, INT64_MIN, INT64_MAX, &when);

    if (rc || !when)
        return rc;
    if (candidate->device->cc < LEAST_CC)
        return refuse(m, "tensor maps need sm_%d; the device is sm_%d", LEAST_CC,
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

int gt_geometry_maps(struct gt_evaluation *e, int64_t workspace, struct gt_geometry *geometry)
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
