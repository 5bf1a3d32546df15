/* ranking_trees.c - stage: the sum of a kernel's trees, which is most of the work of an estimate.
 * See ranking_impl.h; ranking_ask.c asks for it.
 *
 * Each step down a tree waits for the one before it; those down different trees do not, so AT_ONCE
 * trees are walked together. */
#include "lookup/ranking_impl.h"

_Static_assert(GT_RANKING_COLUMNS <= 256, "a step's column is a byte");

#define AT_ONCE 8

double gt_ranking_sum_of(const struct gt_ranking_model *model, size_t from, size_t to,
                         const float *asked)
{
    double sum = 0;

    for (; from < to; from += AT_ONCE) {
        const size_t trees = to - from < AT_ONCE ? to - from : AT_ONCE;
        const struct gt_ranking_steps *steps = model->steps + from;
        unsigned at[AT_ONCE] = {0};

        for (int depth = 0; depth < GT_RANKING_DEPTH; depth++)
            for (size_t i = 0; i < AT_ONCE; i++) {
                const struct gt_ranking_steps *tree = &steps[i < trees ? i : 0];

                at[i] = 2 * at[i] + 1 + !(asked[tree->column[at[i]]] < tree->below[at[i]]);
            }
        for (size_t i = 0; i < trees; i++)
            sum += (double)steps[i].leaf[at[i] - GT_RANKING_INNER];
    }
    return sum;
}
