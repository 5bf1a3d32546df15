/* ranking_ask.c - stage: evaluates the trees of a ranking (ranking.h). */
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "lookup/ranking.h"
#include "problem/problem.h"

void gt_ranking_end_tree(struct gt_ranking_node *tree, size_t nodes)
{
    for (size_t i = 0; i < nodes; i++)
        if (tree[i].column < 0)
            tree[i].right = (unsigned short)(nodes - i);
}

double gt_ranking_sum(const struct gt_ranking_node *node, size_t nodes, const float *column)
{
    const struct gt_ranking_node *here = node, *end = nodes ? node + nodes : node;
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
#define NAME(name, value) #name,
        GT_RANKING_TERMS(NAME)
#undef NAME
    };

    if (column < GT_TERM_COUNT)
        return term[column];
    column -= GT_TERM_COUNT;
    return column < kernel->names.count ? kernel->names.name[column] : NULL;
}

/* Fills the terms.  False: no estimate. */
static bool fill_terms(const struct gt_candidate *candidate, const struct gt_geometry *geometry,
                       const int64_t *slots, float *term, struct gt_prediction *prediction)
{
    const struct gt_problem *p = candidate->problem;
    const struct gt_launch_geometry *last;
    struct gt_prediction was;
    double tiles, outputs = (double)p->m * (double)p->n * (double)p->batch;

    if (!geometry->launches || gt_predict_slots(candidate, geometry, slots, 0, 0, &was, NULL) ||
        !isfinite(was.us) || was.us <= 0)
        return false;
    last = &geometry->launch[geometry->launches - 1];
    tiles = was.waves * was.blocks_sm * candidate->device->sms / was.splits;
#define FILL(name, value) term[GT_TERM_##name] = (float)(value);
    GT_RANKING_TERMS(FILL)
#undef FILL
    *prediction = was;
    return true;
}

bool gt_ranking_columns(const struct gt_candidate *candidate, const struct gt_geometry *geometry,
                        float *column, struct gt_prediction *prediction)
{
    int64_t slots[GT_MAX_SLOTS];

    if (gt_candidate_slots(candidate, slots, NULL) ||
        !fill_terms(candidate, geometry, slots, column, prediction))
        return false;
    for (size_t i = 0; i < candidate->kernel->names.count; i++)
        column[GT_TERM_COUNT + i] = (float)slots[i];
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

/* ---- the sum of a kernel's trees, which is most of the work of an estimate ----
 *
 * Each step down a tree waits for the step before it, but steps down different trees do not wait
 * for each other.  So AT_ONCE trees are walked together, each in variables of its own, which a
 * compiler keeps in registers. */

static inline double leaf(const struct gt_ranking_steps *tree, size_t at)
{
    return (double)tree->leaf[at - GT_RANKING_INNER];
}

/* The step below step `at`. */
static inline size_t below(const struct gt_ranking_steps *tree, size_t at, const float *asked)
{
    return 2 * at + 1 + !(asked[tree->step[at].column] < tree->step[at].below);
}

#define AT_ONCE 4

/* The sum of the values of the trees from `from` to before `to`; asked: values by the model's
 * columns. */
static double sum_of(const struct gt_ranking_model *model, size_t from, size_t to,
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

/* The sum of the model's trees.  If the first trees already say that the candidate is far too slow,
 * it is only their sum, because the first trees make up most of the whole sum. */
static double sum_in_stages(const struct gt_ranking_model *model, const float *asked, double us,
                            double most)
{
    static const struct {
        size_t trees; /* trees asked so far, at most half of all */
        double times; /* a candidate is dropped if these trees say more than so many times `most` */
    } stage[] = {{0, 1.5}, {16, 1.15}, {48, 1.05}, {SIZE_MAX, 1}};
    const size_t half = model->trees / 2;
    double sum = 0;
    size_t done = 0;

    for (size_t i = 0; i < sizeof(stage) / sizeof(stage[0]); i++) {
        const size_t to = stage[i].trees < half ? stage[i].trees : half;

        sum += sum_of(model, done, to, asked);
        done = to;
        if (us * exp(sum) > stage[i].times * most)
            return sum;
    }
    return sum + sum_of(model, half, model->trees, asked);
}

double gt_ranking_slots(const struct gt_ranking *ranking, const struct gt_candidate *candidate,
                        const struct gt_geometry *geometry, const int64_t *slots, double most,
                        struct gt_prediction *prediction)
{
    float term[GT_TERM_COUNT], asked[GT_RANKING_COLUMNS];

    if (!fill_terms(candidate, geometry, slots, term, prediction))
        return 0;
    if (ranking->cc != candidate->device->cc)
        return prediction->us;
    for (size_t i = 0; i < ranking->models; i++) {
        const struct gt_ranking_model *model = &ranking->model[i];

        if (model->kernel != candidate->kernel)
            continue;
        for (size_t c = 0; c < model->columns; c++) {
            const short source = model->source[c];

            if (source < GT_TERM_COUNT)
                asked[c] = source < 0 ? 0 : term[source];
            else
                asked[c] = (float)slots[source - GT_TERM_COUNT];
        }
        return prediction->us * exp(sum_in_stages(model, asked, prediction->us, most));
    }
    return prediction->us;
}

double gt_ranking_us(const struct gt_ranking *ranking, const struct gt_candidate *candidate,
                     const struct gt_geometry *geometry, double most,
                     struct gt_prediction *prediction)
{
    int64_t slots[GT_MAX_SLOTS];

    if (gt_candidate_slots(candidate, slots, NULL))
        return 0;
    return gt_ranking_slots(ranking, candidate, geometry, slots, most, prediction);
}
