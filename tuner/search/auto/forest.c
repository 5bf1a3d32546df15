/* forest.c - extremely randomised trees over the indices of the values. */
#include "search/auto/forest.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>

#define TREES 32
#define SEEN  512 /* observations at most */
#define NODES (2 * SEEN)
#define LEAF  2 /* observations of a node that is not split further */
#define DRAWS 8 /* random splits, of which the best is taken */

/* One tree while it is built. */
struct builder {
    const struct gt_space *space;
    struct gt_random *random;
    struct gt_forest_node *node;
    size_t nodes;
    const uint8_t *seen[SEEN];
    float y[SEEN];
};

int gt_forest_init(struct gt_forest *forest, const struct gt_space *space, struct gt_err *err)
{
    forest->space = space;
    forest->node = calloc((size_t)TREES * NODES, sizeof(*forest->node));
    return forest->node ? GT_OK : gt_err_nomem(err);
}

void gt_forest_release(struct gt_forest *forest)
{
    free(forest->node);
}

/* The squared deviation in [from, to) that a split leaves, less a constant; INFINITY if all
 * observations are on one side. */
static double unexplained(const struct builder *builder, size_t from, size_t to, size_t param,
                          uint8_t value)
{
    double sum[2] = {0}, count[2] = {0};

    for (size_t i = from; i < to; i++) {
        int side = builder->seen[i][param] > value;

        sum[side] += (double)builder->y[i];
        count[side]++;
    }
    if (!(count[0] > 0 && count[1] > 0))
        return INFINITY;
    return -sum[0] * sum[0] / count[0] - sum[1] * sum[1] / count[1];
}

/* The best of a few random splits of [from, to); false: no split separates observations. */
static bool choose(struct builder *builder, size_t from, size_t to, struct gt_forest_node *node)
{
    const struct gt_kernel *kernel = builder->space->kernel;
    double least = INFINITY;

    for (int splits = 0; splits < DRAWS; splits++) {
        size_t param = gt_random_below(builder->random, kernel->params), a, b;
        uint8_t low, high, value;
        double left;

        /* The split lies between the values of two random observations, because most other splits
         * separate nothing. */
        a = from + gt_random_below(builder->random, to - from);
        b = from + gt_random_below(builder->random, to - from);
        low = builder->seen[a][param];
        high = builder->seen[b][param];
        if (low == high)
            continue;
        if (low > high) {
            uint8_t swap = low;

            low = high;
            high = swap;
        }
        value = (uint8_t)(low + gt_random_below(builder->random, high - low));
        left = unexplained(builder, from, to, param, value);
        if (left < least) {
            least = left;
            node->param = (uint8_t)param;
            node->value = value;
        }
    }
    return least < INFINITY;
}

/* Moves the observations with at most the split's value to the front; returns where the other
 * observations begin. */
static size_t part(struct builder *builder, size_t from, size_t to,
                   const struct gt_forest_node *node)
{
    size_t middle = from;

    for (size_t i = from; i < to; i++)
        if (builder->seen[i][node->param] <= node->value) {
            const uint8_t *seen = builder->seen[i];
            float y = builder->y[i];

            builder->seen[i] = builder->seen[middle];
            builder->y[i] = builder->y[middle];
            builder->seen[middle] = seen;
            builder->y[middle++] = y;
        }
    return middle;
}

/* The subtree of observations [from, to), its root at the next free node. */
static void build(struct builder *builder, size_t from, size_t to)
{
    struct gt_forest_node *node = &builder->node[builder->nodes++];
    size_t middle;

    *node = (struct gt_forest_node){0};
    for (size_t i = from; i < to; i++)
        node->mean += builder->y[i] / (float)(to - from);
    if (to - from <= LEAF || !choose(builder, from, to, node))
        return;
    middle = part(builder, from, to, node);
    build(builder, from, middle);
    node->other = (uint16_t)builder->nodes;
    build(builder, middle, to);
}

void gt_forest_fit(struct gt_forest *forest, struct gt_random *random,
                   const struct gt_elites *elites, gt_forest_target *target, const void *context)
{
    struct builder builder = {.space = forest->space, .random = random};
    size_t point[SEEN], count = gt_elites_mix(elites, point, SEEN - GT_FAILED_MAX);

    for (size_t i = 0; i < elites->failures && i < GT_FAILED_MAX; i++)
        point[count++] = elites->failed[i];
    for (size_t i = 0; i < count; i++) {
        builder.seen[i] = forest->space->index + point[i] * forest->space->kernel->params;
        builder.y[i] = target(context, point[i]);
    }
    for (size_t tree = 0; tree < TREES; tree++) {
        builder.node = forest->node + tree * NODES;
        builder.nodes = 0;
        build(&builder, 0, count);
    }
}

static void predict(struct gt_forest *forest, size_t at, size_t point)
{
    const uint8_t *index = forest->space->index + point * forest->space->kernel->params;
    double sum = 0, square = 0, mean;

    for (size_t tree = 0; tree < TREES; tree++) {
        const struct gt_forest_node *root = forest->node + tree * NODES, *node = root;

        while (node->other)
            node = index[node->param] <= node->value ? node + 1 : root + node->other;
        sum += (double)node->mean;
        square += (double)node->mean * (double)node->mean;
    }
    mean = sum / TREES;
    forest->mean[at] = (float)mean;
    forest->sd[at] = (float)sqrt(fmax(square / TREES - mean * mean, 0));
}

void gt_forest_predict(struct gt_forest *forest, const struct gt_pool *pool)
{
    for (size_t i = 0; i < pool->count; i++)
        predict(forest, i, pool->point[i]);
}
