/* forest.c - stage "choose": extremely randomised trees over the indices of the values. */
#include "search/auto/forest.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>

#define NODES (2 * GT_FOREST_SEEN)
#define LEAF  2 /* observations that are not split any more */
#define DRAWS 8 /* drawn at random; the best of them is taken */

/* A tree in the making. */
struct growth {
    const struct gt_space *space;
    struct gt_random *random;
    struct gt_forest_node *node;
    size_t nodes;
    const uint8_t *seen[GT_FOREST_SEEN];
    float y[GT_FOREST_SEEN];
};

int gt_forest_init(struct gt_forest *forest, const struct gt_space *space, struct gt_err *err)
{
    forest->space = space;
    forest->node = calloc((size_t)GT_FOREST_TREES * NODES, sizeof(*forest->node));
    return forest->node ? GT_OK : gt_err_nomem(err);
}

void gt_forest_release(struct gt_forest *forest)
{
    free(forest->node);
}

/* How much of the squared deviation in [from, to) a split leaves unexplained, less a constant;
 * INFINITY if all are on one side. */
static double unexplained(const struct growth *growth, size_t from, size_t to, size_t param,
                          uint8_t value)
{
    double sum[2] = {0}, count[2] = {0};

    for (size_t i = from; i < to; i++) {
        int side = growth->seen[i][param] > value;

        sum[side] += (double)growth->y[i];
        count[side]++;
    }
    if (!(count[0] > 0 && count[1] > 0))
        return INFINITY;
    return -sum[0] * sum[0] / count[0] - sum[1] * sum[1] / count[1];
}

/* The best of a few random splits of [from, to); false: none separates anything. */
static bool choose(struct growth *growth, size_t from, size_t to, struct gt_forest_node *node)
{
    const struct gt_kernel *kernel = growth->space->kernel;
    double least = INFINITY;

    for (int splits = 0; splits < DRAWS; splits++) {
        size_t param = gt_random_below(growth->random, kernel->params), a, b;
        uint8_t low, high, value;
        double left;

        /* Between the values of two observations drawn at random, so that few draws are in vain. */
        a = from + gt_random_below(growth->random, to - from);
        b = from + gt_random_below(growth->random, to - from);
        low = growth->seen[a][param];
        high = growth->seen[b][param];
        if (low == high)
            continue;
        if (low > high) {
            uint8_t swap = low;

            low = high;
            high = swap;
        }
        value = (uint8_t)(low + gt_random_below(growth->random, high - low));
        left = unexplained(growth, from, to, param, value);
        if (left < least) {
            least = left;
            node->param = (uint8_t)param;
            node->value = value;
        }
    }
    return least < INFINITY;
}

/* Puts those up to the split's value first; returns where the others begin. */
static size_t part(struct growth *growth, size_t from, size_t to, const struct gt_forest_node *node)
{
    size_t middle = from;

    for (size_t i = from; i < to; i++)
        if (growth->seen[i][node->param] <= node->value) {
            const uint8_t *seen = growth->seen[i];
            float y = growth->y[i];

            growth->seen[i] = growth->seen[middle];
            growth->y[i] = growth->y[middle];
            growth->seen[middle] = seen;
            growth->y[middle++] = y;
        }
    return middle;
}

/* The subtree of observations [from, to), its root at the next free node. */
static void grow(struct growth *growth, size_t from, size_t to)
{
    struct gt_forest_node *node = &growth->node[growth->nodes++];
    size_t middle;

    *node = (struct gt_forest_node){0};
    for (size_t i = from; i < to; i++)
        node->mean += growth->y[i] / (float)(to - from);
    if (to - from <= LEAF || !choose(growth, from, to, node))
        return;
    middle = part(growth, from, to, node);
    grow(growth, from, middle);
    node->other = (uint16_t)growth->nodes;
    grow(growth, middle, to);
}

void gt_forest_fit(struct gt_forest *forest, struct gt_random *random, const size_t *point,
                   const float *y, size_t count)
{
    struct growth growth = {.space = forest->space, .random = random};
    size_t params = forest->space->kernel->params;

    if (count > GT_FOREST_SEEN)
        count = GT_FOREST_SEEN;
    for (size_t i = 0; i < count; i++) {
        growth.seen[i] = forest->space->index + point[i] * params;
        growth.y[i] = y[i];
    }
    for (size_t tree = 0; tree < GT_FOREST_TREES; tree++) {
        growth.node = forest->node + tree * NODES;
        growth.nodes = 0;
        grow(&growth, 0, count);
    }
}

void gt_forest_predict(const struct gt_forest *forest, size_t point, double *mean, double *sd)
{
    const uint8_t *index = forest->space->index + point * forest->space->kernel->params;
    double sum = 0, square = 0;

    for (size_t tree = 0; tree < GT_FOREST_TREES; tree++) {
        const struct gt_forest_node *root = forest->node + tree * NODES, *node = root;

        while (node->other)
            node = index[node->param] <= node->value ? node + 1 : root + node->other;
        sum += (double)node->mean;
        square += (double)node->mean * (double)node->mean;
    }
    *mean = sum / GT_FOREST_TREES;
    *sd = sqrt(fmax(square / GT_FOREST_TREES - *mean * *mean, 0));
}
