/* ranking_trees.c - stage: the sum of a kernel's trees, which is most of the work of an estimate.
 * See ranking_impl.h; ranking_ask.c asks for it.
 *
 * Each step down a tree waits for the one before it; those down different trees do not, so AT_ONCE
 * trees are walked together, in variables of their own that a compiler keeps in registers. */
#include "lookup/ranking_impl.h"

#define AT_ONCE 4

/* The step below step `at`. */
static inline size_t below(const struct gt_ranking_steps *tree, size_t at, const float *asked)
{
    return 2 * at + 1 + !(asked[tree->step[at].column] < tree->step[at].below);
}

static inline double leaf(const struct gt_ranking_steps *tree, size_t at)
{
    return (double)tree->leaf[at - GT_RANKING_INNER];
}

double gt_ranking_sum_of(const struct gt_ranking_model *model, size_t from, size_t to,
                         const float *asked)
{
    const struct gt_ranking_steps *tree = model->steps + from, *end = model->steps + to;
    double sum = 0;

    for (; end - tree >= AT_ONCE; tree += AT_ONCE) {
        size_t a = 0, b = 0, c = 0, d = 0;

        for (int depth = 0; depth < GT_RANKING_DEPTH; depth++) {
            a = below(&tree[0], a, asked);
            b = below(&tree[1], b, asked);
            c = below(&tree[2], c, asked);
            d = below(&tree[3], d, asked);
        }
        sum += leaf(&tree[0], a);
        sum += leaf(&tree[1], b);
        sum += leaf(&tree[2], c);
        sum += leaf(&tree[3], d);
    }
    for (; tree < end; tree++) {
        size_t a = 0;

        for (int depth = 0; depth < GT_RANKING_DEPTH; depth++)
            a = below(tree, a, asked);
        sum += leaf(tree, a);
    }
    return sum;
}
