/* described.c - finds the points that a description names as seeds, for scout.c: it looks at every
 * point of a space, which may have millions. */
#include "base/err.h"
#include "sweep/sweep_parts.h"

#include <stdlib.h>

/* What a pattern names, and the best match so far. */
struct named {
    size_t param[GT_MAX_PARAMS];
    uint8_t index[GT_MAX_PARAMS]; /* of the value */
    size_t count;
    bool nowhere;       /* a value named is not among those that are searched (--values) */
    size_t best, usual; /* usual: 1 + its defaults among the parameters that are not named */
};

static struct named named_by(const struct gt_kernel *kernel, const struct gt_pattern *pattern)
{
    struct named named = {.count = 0, .best = SIZE_MAX};

    for (size_t p = 0; p < kernel->params; p++) {
        uint8_t index = 0;

        if (!(pattern->named >> p & 1))
            continue;
        while (index < kernel->param[p].count &&
               kernel->param[p].value[index] != pattern->point.value[p])
            index++;
        named.nowhere |= index == kernel->param[p].count;
        named.param[named.count] = p;
        named.index[named.count++] = index;
    }
    return named;
}

static bool has_values(const uint8_t *index, const struct named *named)
{
    for (size_t i = 0; i < named->count; i++)
        if (index[named->param[i]] != named->index[i])
            return false;
    return true;
}

static void try_match(const struct gt_kernel *kernel, const struct gt_pattern *pattern,
                      struct named *named, const uint8_t *index, size_t point)
{
    size_t usual = 1;

    if (named->nowhere || !has_values(index, named))
        return;
    for (size_t p = 0; p < kernel->params; p++)
        usual += !(pattern->named >> p & 1) && index[p] == kernel->param[p].standard;
    if (usual <= named->usual)
        return;
    named->usual = usual;
    named->best = point;
}

int gt_sweep_describe(const struct gt_space *space, size_t **described, struct gt_err *err)
{
    const struct gt_kernel *kernel = space->kernel;
    struct named *named = calloc(kernel->seeds + 1, sizeof(*named));

    *described = calloc(kernel->seeds + 1, sizeof(**described));
    if (!named || !*described) {
        free(named);
        return gt_err_nomem(err);
    }
    for (size_t i = 0; i < kernel->seeds; i++)
        named[i] = named_by(kernel, &kernel->seed[i]);
    for (size_t point = 0; point < space->count && kernel->seeds; point++)
        for (size_t i = 0; i < kernel->seeds; i++)
            try_match(kernel, &kernel->seed[i], &named[i], space->index + point * kernel->params,
                      point);
    for (size_t i = 0; i < kernel->seeds; i++)
        (*described)[i] = named[i].best;
    free(named);
    return GT_OK;
}
