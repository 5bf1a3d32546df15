/* boost.c - gradient-boosted regression trees.  See boost.h. */
#include "learn/boost.h"

#include "base/strbuf.h"
#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BINS      48
#define MAX_DEPTH 8
#define MAX_OPEN  (1 << MAX_DEPTH) /* most nodes of a level */

/* Node i of a growing tree; its children are 2 i + 1 and 2 i + 2. */
struct grown {
    int column; /* < 0: a leaf */
    float below;
    double value;
};

struct sums {
    double weight, value;
};

/* A counted row of an open node.  node: the node's index within the level. */
struct counted {
    unsigned row, node;
    struct sums sums;
};

struct growing {
    const struct gt_boost_data *data;
    const struct gt_boost_options *options;
    unsigned char *bin;   /* columns x rows */
    float (*edge)[BINS];  /* for each column: bin b holds the values below edge[b] */
    int *bins;            /* number of bins of each column */
    double *left;         /* the residual of each target after the trees so far */
    bool *seen;           /* for each row: whether the growing tree sees it */
    unsigned short *node; /* for each row: its node in the growing tree */
    double mean_weight;
    int tree; /* index of the growing tree */
    struct counted *counted;
    size_t count;
    bool derived[MAX_OPEN]; /* nodes of the level whose sums are the parent's less the sibling's */
    struct sums (*above)[MAX_OPEN / 2][BINS]; /* for each column: sums of the level above */
};

struct split {
    double gain, value[2];
    int column, bin;
};

/* Whether the growing tree sees a column or a row.  Each tree sees only some columns and rows,
 * drawn by a hash, so that trees err differently. */
static bool is_seen(const struct growing *g, size_t which, double share)
{
    uint64_t mixed = ((uint64_t)which << 20 | (uint64_t)g->tree) * 0x9e3779b97f4a7c15u;

    mixed = (mixed ^ mixed >> 31) * 0xbf58476d1ce4e5b9u;
    return (double)(mixed >> 11) * 0x1p-53 < share;
}

static int by_value(const void *x, const void *y)
{
    const float a = *(const float *)x, b = *(const float *)y;

    return (a > b) - (a < b);
}

/* Cuts one column between different values, into about equal counts.  sorted: room for all rows. */
static void cut_column(struct growing *g, size_t column, float *sorted)
{
    const struct gt_boost_data *data = g->data;
    unsigned char *bin = g->bin + column * data->rows;
    float *edge = g->edge[column];
    int bins = 0;

    for (size_t r = 0; r < data->rows; r++)
        sorted[r] = data->x[r * data->columns + column];
    qsort(sorted, data->rows, sizeof(*sorted), by_value);
    for (size_t r = 1, last = 0; r < data->rows && bins < BINS - 1; r++)
        if (sorted[r] > sorted[r - 1] && (r - last) * BINS >= data->rows) {
            edge[bins++] = sorted[r - 1] + (sorted[r] - sorted[r - 1]) / 2;
            last = r;
        }
    edge[bins++] = INFINITY;
    g->bins[column] = bins;
    for (size_t r = 0; r < data->rows; r++) {
        const float value = data->x[r * data->columns + column];
        int b = 0;

        while (value >= edge[b] && b < bins - 1)
            b++;
        bin[r] = (unsigned char)b;
    }
}

static double score(const struct growing *g, struct sums s)
{
    return s.value * s.value / (s.weight + g->options->shrink * g->mean_weight);
}

/* Lists the rows of a level's nodes [first, first + count) that are counted for each column: of two
 * siblings only the rows of the sibling with fewer rows. */
static void list_counted(struct growing *g, int first, int count)
{
    size_t rows[MAX_OPEN] = {0};

    for (size_t r = 0; r < g->data->rows; r++)
        if (g->seen[r] && g->node[r] >= first)
            rows[g->node[r] - first]++;
    for (int n = 0; n < count; n++)
        g->derived[n] = count > 1 && rows[n] && rows[n] + (size_t)(n & 1) > rows[n ^ 1];
    g->count = 0;
    for (size_t r = 0; r < g->data->rows; r++) {
        const int at = (int)g->node[r] - first;
        const double weight = g->data->w[r];

        if (at >= 0 && g->seen[r] && !g->derived[at])
            g->counted[g->count++] =
                (struct counted){(unsigned)r, (unsigned)at, {weight, weight * g->left[r]}};
    }
}

/* Fills the sums of one column for the nodes of a level. */
static void fill_histogram(const struct growing *g, size_t column, int count,
                           struct sums (*histogram)[BINS])
{
    const unsigned char *bin = g->bin + column * g->data->rows;
    struct sums(*above)[BINS] = g->above[column];

    memset(histogram, 0, (size_t)count * sizeof(*histogram));
    for (size_t i = 0; i < g->count; i++) {
        const struct counted *row = &g->counted[i];
        struct sums *to = &histogram[row->node][bin[row->row]];

        to->weight += row->sums.weight;
        to->value += row->sums.value;
    }
    for (int n = 0; n < count; n++)
        for (int b = 0; g->derived[n] && b < g->bins[column]; b++)
            histogram[n][b] = (struct sums){above[n / 2][b].weight - histogram[n ^ 1][b].weight,
                                            above[n / 2][b].value - histogram[n ^ 1][b].value};
    if (count <= MAX_OPEN / 2)
        memcpy(above, histogram, (size_t)count * sizeof(*histogram));
}

/* Tries all splits of one column for the nodes of a level. */
static void try_column(const struct growing *g, size_t column, int count,
                       struct sums (*histogram)[BINS], struct split *best)
{
    const double least = g->options->least * g->mean_weight;

    fill_histogram(g, column, count, histogram);
    for (int n = 0; n < count; n++) {
        struct sums all = {0, 0}, below = {0, 0}, above;

        for (int b = 0; b < g->bins[column]; b++) {
            all.weight += histogram[n][b].weight;
            all.value += histogram[n][b].value;
        }
        for (int b = 0; b + 1 < g->bins[column]; b++) {
            double gain;

            below.weight += histogram[n][b].weight;
            below.value += histogram[n][b].value;
            above = (struct sums){all.weight - below.weight, all.value - below.value};
            if (below.weight < least || above.weight < least)
                continue;
            gain = score(g, below) + score(g, above) - score(g, all);
            if (gain > best[n].gain * (1 + 1e-9) + 1e-12)
                best[n] = (struct split){gain, {0, 0}, (int)column, b};
        }
    }
}

/* Computes the value of each leaf from the leaf's rows. */
static void fill_leaves(const struct growing *g, struct grown *tree, size_t nodes,
                        struct sums *sums)
{
    memset(sums, 0, nodes * sizeof(*sums));
    for (size_t r = 0; r < g->data->rows; r++) {
        sums[g->node[r]].weight += g->data->w[r];
        sums[g->node[r]].value += g->data->w[r] * g->left[r];
    }
    for (size_t n = 0; n < nodes; n++)
        tree[n].value = g->options->rate * sums[n].value /
                        (sums[n].weight + g->options->shrink * g->mean_weight);
    for (size_t r = 0; r < g->data->rows; r++)
        g->left[r] -= tree[g->node[r]].value;
}

static void grow(struct growing *g, struct grown *tree, struct sums (*histogram)[BINS])
{
    const struct gt_boost_data *data = g->data;
    const size_t all = ((size_t)2 << g->options->depth) - 1;
    struct split best[MAX_OPEN];

    memset(g->node, 0, data->rows * sizeof(*g->node));
    for (size_t r = 0; r < data->rows; r++)
        g->seen[r] = is_seen(g, r, g->options->rows);
    for (size_t n = 0; n < all; n++)
        tree[n] = (struct grown){.column = -1};
    for (int level = 0; level < g->options->depth; level++) {
        const int first = (1 << level) - 1, count = 1 << level;

        for (int n = 0; n < count; n++)
            best[n] = (struct split){.column = -1};
        list_counted(g, first, count);
        for (size_t c = 0; c < data->columns; c++)
            if (g->bins[c] > 1 && is_seen(g, data->rows + c, g->options->columns))
                try_column(g, c, count, histogram, best);
        for (int n = 0; n < count; n++)
            if (best[n].column >= 0) {
                tree[first + n].column = best[n].column;
                tree[first + n].below = g->edge[best[n].column][best[n].bin];
            }
        for (size_t r = 0; r < data->rows; r++) {
            const int at = g->node[r], c = tree[at].column;

            if (at >= first && c >= 0)
                g->node[r] =
                    (unsigned short)(2 * at + 1 +
                                     (g->bin[(size_t)c * data->rows + r] > best[at - first].bin));
        }
    }
    fill_leaves(g, tree, all, (struct sums *)histogram);
}

/* Appends the tree below node n, in the order of struct gt_ranking_node. */
static int append(struct gt_boosted *to, const struct grown *tree, size_t n, struct gt_err *err)
{
    const size_t at = to->nodes;
    int rc = GT_ARRAY_RESERVE(&to->node, at + 1, &to->capacity, err);

    if (rc)
        return rc;
    to->nodes++;
    if (tree[n].column < 0) {
        to->node[at] = (struct gt_ranking_node){.column = -1, .value = (float)tree[n].value};
        return GT_OK;
    }
    rc = append(to, tree, 2 * n + 1, err);
    to->node[at] = (struct gt_ranking_node){.column = (short)tree[n].column,
                                            .right = (unsigned short)(to->nodes - at),
                                            .value = tree[n].below};
    return rc ? rc : append(to, tree, 2 * n + 2, err);
}

static int grow_all(struct growing *g, struct gt_boosted *boosted, struct gt_err *err)
{
    const size_t nodes = ((size_t)2 << g->options->depth) - 1;
    size_t first;
    struct grown *tree = malloc(nodes * sizeof(*tree));
    struct sums(*histogram)[BINS] = malloc(nodes * sizeof(*histogram));
    int rc = tree && histogram ? GT_OK : gt_err_nomem(err);

    for (int t = 0; t < g->options->trees && !rc; t++) {
        g->tree = t;
        grow(g, tree, histogram);
        first = boosted->nodes;
        rc = append(boosted, tree, 0, err);
        if (!rc)
            gt_ranking_end_tree(boosted->node + first, boosted->nodes - first);
    }
    free(tree);
    free(histogram);
    return rc;
}

int gt_boost(struct gt_boosted *boosted, const struct gt_boost_data *data,
             const struct gt_boost_options *options, struct gt_err *err)
{
    const size_t rows = data->rows, columns = data->columns;
    float *sorted = malloc((rows + 1) * sizeof(*sorted));
    struct growing g = {
        .data = data,
        .options = options,
        .bin = malloc(rows * columns + 1),
        .edge = malloc((columns + 1) * sizeof(*g.edge)),
        .bins = malloc((columns + 1) * sizeof(*g.bins)),
        .left = malloc((rows + 1) * sizeof(*g.left)),
        .seen = malloc((rows + 1) * sizeof(*g.seen)),
        .node = malloc((rows + 1) * sizeof(*g.node)),
        .counted = malloc((rows + 1) * sizeof(*g.counted)),
        .above = malloc((columns + 1) * sizeof(*g.above)),
    };
    const bool room =
        sorted && g.bin && g.edge && g.bins && g.left && g.seen && g.node && g.counted && g.above;
    int rc = room ? GT_OK : gt_err_nomem(err);

    *boosted = (struct gt_boosted){0};
    for (size_t c = 0; c < columns && !rc; c++)
        cut_column(&g, c, sorted);
    for (size_t r = 0; r < rows && !rc; r++) {
        g.left[r] = data->y[r];
        g.mean_weight += data->w[r] / (double)rows;
    }
    if (!rc && rows)
        rc = grow_all(&g, boosted, err);
    free(sorted);
    free(g.bin);
    free(g.edge);
    free(g.bins);
    free(g.left);
    free(g.seen);
    free(g.node);
    free(g.counted);
    free(g.above);
    return rc;
}

void gt_boosted_release(struct gt_boosted *boosted)
{
    free(boosted->node);
    *boosted = (struct gt_boosted){0};
}
