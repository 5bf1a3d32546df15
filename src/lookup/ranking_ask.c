/* ranking_ask.c - stage: evaluates what was learned.  See ranking.h; ranking_read.c reads the file.
 */
#include "lookup/ranking.h"

#include "lookup/ranking_impl.h"
#include "problem/problem.h"

#include <math.h>
#include <stdio.h>

void gt_ranking_end_tree(struct gt_ranking_node *tree, size_t nodes)
{
    for (size_t i = 0; i < nodes; i++)
        if (tree[i].column < 0)
            tree[i].right = (unsigned short)(nodes - i);
}

double gt_ranking_sum(const struct gt_ranking_node *node, size_t nodes, const float *column)
{
    const struct gt_ranking_node *here = node, *end = node + nodes;
    double sum = 0;

    while (here < end) {
        while (here->column >= 0)
            here += column[here->column] < here->value ? 1 : here->right;
        sum += (double)here->value;
        here += here->right;
    }
    return sum;
}

/* Copies the tree that begins at `from`; to: NULL, or where its nodes go.  Returns their number. */
static size_t copy_tree(const struct gt_ranking_model *model, const struct gt_ranking_node *from,
                        struct gt_ranking_node *to)
{
    const short column = from->column < 0 ? from->column : model->source[from->column];
    size_t left, right;

    if (from->column >= 0 && column < 0)
        return copy_tree(model, from + (0 < from->value ? 1 : from->right), to);
    if (to)
        *to = *from;
    if (column < 0)
        return 1;
    left = copy_tree(model, from + 1, to ? to + 1 : NULL);
    right = copy_tree(model, from + from->right, to ? to + 1 + left : NULL);
    if (to) {
        to->column = column;
        to->right = (unsigned short)(1 + left);
    }
    return 1 + left + right;
}

size_t gt_ranking_trees(const struct gt_ranking *ranking, const struct gt_kernel *kernel,
                        struct gt_ranking_node *node)
{
    size_t count = 0;

    for (size_t i = 0; i < ranking->models; i++) {
        const struct gt_ranking_model *model = &ranking->model[i];

        for (size_t at = 0; model->kernel == kernel && at < model->nodes;) {
            const size_t nodes = copy_tree(model, model->node + at, node ? node + count : NULL);

            if (node)
                gt_ranking_end_tree(node + count, nodes);
            count += nodes;
            while (model->node[at].column >= 0)
                at++;
            at += model->node[at].right;
        }
    }
    return count;
}

const char *gt_ranking_column_name(const struct gt_kernel *kernel, size_t column)
{
    static const char *const term[] = {
#define NAME(name) #name,
        GT_RANKING_TERMS(NAME)
#undef NAME
    };

    if (column < GT_TERM_COUNT)
        return term[column];
    column -= GT_TERM_COUNT;
    return column < kernel->names.count ? kernel->names.name[column] : NULL;
}

bool gt_ranking_columns(const struct gt_candidate *candidate, const struct gt_geometry *geometry,
                        float *column, struct gt_prediction *prediction)
{
    const struct gt_problem *p = candidate->problem;
    const struct gt_launch_geometry *last;
    int64_t slots[GT_MAX_SLOTS];
    struct gt_prediction was;
    double tiles, outputs = (double)p->m * (double)p->n * (double)p->batch;

    if (!geometry->launches || gt_candidate_slots(candidate, slots, NULL) ||
        gt_predict_slots(candidate, geometry, slots, 0, 0, &was, NULL) || !isfinite(was.us) ||
        was.us <= 0)
        return false;
    last = &geometry->launch[geometry->launches - 1];
    tiles = was.waves * was.blocks_sm * candidate->device->sms / was.splits;
    column[GT_TERM_us] = (float)was.us;
    column[GT_TERM_compute_share] = (float)(was.compute_us / was.us);
    column[GT_TERM_l2_share] = (float)(was.l2_us / was.us);
    column[GT_TERM_memory_share] = (float)(was.memory_us / was.us);
    column[GT_TERM_prepare_share] = (float)(was.prepare_us / was.us);
    column[GT_TERM_reduction_share] = (float)(was.reduction_us / was.us);
    column[GT_TERM_launch_share] = (float)(was.launch_us / was.us);
    column[GT_TERM_blocks_sm] = (float)was.blocks_sm;
    column[GT_TERM_waves] = (float)was.waves;
    column[GT_TERM_wave_share] = (float)(was.waves / ceil(fmax(was.waves, 1e-9)));
    column[GT_TERM_rounds] = (float)was.rounds;
    column[GT_TERM_round_share] = (float)(was.rounds / ceil(fmax(was.rounds, 1e-9)));
    column[GT_TERM_round_ratio] = (float)(ceil(was.rounds) / ceil(fmax(was.waves, 1e-9)));
    column[GT_TERM_cluster] = (float)was.cluster;
    column[GT_TERM_tile_m] = (float)was.tile_m;
    column[GT_TERM_tile_n] = (float)was.tile_n;
    column[GT_TERM_k_steps] = (float)((double)p->k / (was.splits * was.tile_k));
    column[GT_TERM_edge_share] = (float)(outputs / fmax(tiles * was.tile_m * was.tile_n, 1));
    column[GT_TERM_launches] = (float)geometry->launches;
    column[GT_TERM_threads] = (float)(last->block[0] * last->block[1] * last->block[2]);
    column[GT_TERM_shared_bytes] = (float)last->shared_bytes;
    for (size_t i = 0; i < candidate->kernel->names.count; i++)
        column[GT_TERM_COUNT + i] = (float)slots[i];
    *prediction = was;
    return true;
}

size_t gt_ranking_kind(const struct gt_problem *problem)
{
    return (size_t)problem->type * 4 + (size_t)problem->accuracy;
}

void gt_ranking_kind_name(size_t kind, char name[32])
{
    snprintf(name, 32, "%s/%s", gt_dtype_name((enum gt_dtype)(kind / 4)),
             gt_accuracy_name((enum gt_accuracy)(kind % 4)));
}

#define AT_ONCE 8

/* The values of the trees from the first to before the second, together.  Each step down a tree
 * waits for the one before it; those down different trees do not, so AT_ONCE trees are walked
 * together. asked[0] is asked by leaves, which stay where they are, and column c is asked[1 + c].
 */
static double sum_of(const struct gt_ranking_model *model, size_t from, size_t to,
                     const float *asked)
{
    double sum = 0;

    for (; from < to; from += AT_ONCE) {
        const struct gt_ranking_node *at[AT_ONCE];
        const size_t trees = to - from < AT_ONCE ? to - from : AT_ONCE;
        unsigned walking;

        for (size_t i = 0; i < AT_ONCE; i++)
            at[i] = model->node + model->tree[from + (i < trees ? i : 0)];
        do {
            walking = 0;
            for (size_t i = 0; i < AT_ONCE; i++) {
                const struct gt_ranking_node *node = at[i];
                const unsigned inner = node->column >= 0;
                const unsigned right = !(asked[1 + node->column] < node->value);

                at[i] = node + inner * (1 + right * (node->right - 1u));
                walking |= inner;
            }
        } while (walking);
        for (size_t i = 0; i < trees; i++)
            sum += (double)at[i]->value;
    }
    return sum;
}

double gt_ranking_us(const struct gt_ranking *ranking, const struct gt_candidate *candidate,
                     const struct gt_geometry *geometry, double most,
                     struct gt_prediction *prediction)
{
    float column[GT_RANKING_COLUMNS], asked[1 + GT_RANKING_COLUMNS];

    if (!gt_ranking_columns(candidate, geometry, column, prediction))
        return 0;
    if (ranking->cc != candidate->device->cc)
        return prediction->us;
    for (size_t i = 0; i < ranking->models; i++) {
        const struct gt_ranking_model *model = &ranking->model[i];
        double sum;

        if (model->kernel != candidate->kernel)
            continue;
        asked[0] = 0;
        for (size_t c = 0; c < model->columns; c++)
            asked[1 + c] = model->source[c] < 0 ? 0 : column[model->source[c]];
        sum = sum_of(model, 0, model->trees / 2, asked);
        if (prediction->us * exp(sum) < most)
            sum += sum_of(model, model->trees / 2, model->trees, asked);
        return prediction->us * exp(sum);
    }
    return prediction->us;
}
