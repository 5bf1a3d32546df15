/* space_verdicts.c - what the constraints of a kernel say of the prefixes of a walk, each asked
 * once for the same values of what it reads, for space_walk.c.
 *
 * A constraint reads a few parameters, and a walk comes to the same values of these again and
 * again: of simt's 38 million questions at 1000^3, two in a hundred are new.  So each step of the
 * plan has a tree, whose levels are the parameters it depends on, in the order of the walk.  The
 * leaf of a prefix has the step's verdict on every value of its last parameter, as bits.  The walk
 * follows all trees as it binds parameters, and at each level joins the bits of the leaves.
 *
 * Trees that outgrow their memory are forgotten, and grow again from the present prefix. */
#include "search/space_walk.h"

#include "base/err.h"

#include <stdlib.h>
#include <string.h>

#define CELLS      ((size_t)1 << 20) /* of all trees: 8 MB; simt needs 1.3 MB */
#define BLOCK      64                /* values that one word has a bit for */
#define LEAF(size) (1 + 2 * (((size) + BLOCK - 1) / BLOCK)) /* cells of a leaf; see judge */

/* A step and the leaf of the present prefix. */
struct judged {
    const struct gt_expr *expr;
    uint64_t fixed, varying; /* derived values that it reads; the varying ones depend on `last` */
    uint64_t levels;         /* bit l: it depends on order[l] */
    const struct gt_param *last; /* the parameter of the last of them; NULL: it depends on none */
    size_t count;                /* values of that, else 1 */
    size_t root, leaf;           /* in node[]; one for each of its levels, but at least one */
    size_t root_size;            /* cells */
    bool constraint;
    bool passed; /* some prefix satisfied it */
};

/* What binding a parameter means for one step that does not end with it. */
struct branch {
    size_t node; /* of the parameter; the next parameter's is behind it */
    size_t size; /* cells of that */
};

struct gt_verdicts {
    const struct gt_walk_plan *plan;
    struct judged *step;
    size_t furthest; /* 1 + the last constraint that was reached */
    struct branch *branch;
    size_t first_branch[GT_MAX_PARAMS + 1]; /* of each parameter of the order */
    size_t *node;   /* of each step, a tree's nodes along the present prefix: where in cell[] */
    uint64_t *cell; /* an inner node has one for each value, 0 or where the next node is */
    size_t used, capacity;
    size_t path; /* cells of all trees for one prefix, at most */
    uint8_t bound[GT_MAX_PARAMS];
    int64_t slots[GT_MAX_SLOTS];
};

/* ---- judging ---- */

static bool reads(const struct gt_kernel *kernel, const struct gt_expr *expr, uint64_t derived)
{
    for (size_t i = 0; derived >> i; i++)
        if (derived >> i & 1 && gt_expr_uses(expr, kernel->first_param + kernel->params + i))
            return true;
    return false;
}

/* Computes the derived values of a set; returns those that have none, beside `undefined`. */
static uint64_t derive(struct gt_verdicts *verdicts, uint64_t set, uint64_t undefined)
{
    const struct gt_kernel *kernel = verdicts->plan->kernel;

    for (size_t i = 0; set >> i; i++) {
        const struct gt_expr *expr = kernel->derived[i].expr;
        int64_t value;

        if (!(set >> i & 1))
            continue;
        if (reads(kernel, expr, undefined) || gt_expr_eval(expr, verdicts->slots, &value, NULL))
            undefined |= 1ull << i;
        else
            verdicts->slots[kernel->first_param + kernel->params + i] = value;
    }
    return undefined;
}

/* Fills a leaf: 1, then for each block of values the bits of those that pass and the bits of those
 * for which an expression fails.  A derived value passes if it can be computed. */
static void judge(struct gt_verdicts *verdicts, const struct judged *step, uint64_t *leaf)
{
    const struct gt_kernel *kernel = verdicts->plan->kernel;
    const size_t slot =
        kernel->first_param + (step->last ? (size_t)(step->last - kernel->param) : 0);
    const uint64_t undefined = derive(verdicts, step->fixed, 0);

    leaf[0] = 1;
    for (size_t i = 0; i < step->count; i++) {
        uint64_t *word = leaf + 1 + i / BLOCK * 2, lacking;
        int64_t value;

        if (step->last)
            verdicts->slots[slot] = step->last->value[i];
        lacking = derive(verdicts, step->varying, undefined);
        if (reads(kernel, step->expr, lacking) ||
            gt_expr_eval(step->expr, verdicts->slots, &value, NULL))
            word[1] |= 1ull << i % BLOCK;
        else if (value || !step->constraint)
            word[0] |= 1ull << i % BLOCK;
    }
}

struct gt_admitted gt_verdicts_admit(struct gt_verdicts *verdicts, size_t level, size_t block)
{
    const struct gt_walk_plan *plan = verdicts->plan;
    const size_t count = level ? plan->kernel->param[plan->order[level - 1]].count : 1;
    const size_t rest = count - block * BLOCK;
    struct gt_admitted admitted = {rest < BLOCK ? (1ull << rest) - 1 : ~0ull, 0};

    for (size_t s = plan->first_step[level]; s < plan->first_step[level + 1]; s++) {
        struct judged *step = &verdicts->step[s];
        uint64_t *leaf = verdicts->cell + verdicts->node[step->leaf], pass, fail;

        if (!leaf[0])
            judge(verdicts, step, leaf);
        pass = leaf[1 + 2 * block];
        fail = leaf[2 + 2 * block];
        if (step->constraint && admitted.values & ~fail) {
            step->passed |= (admitted.values & pass) != 0;
            if (s + 1 > verdicts->furthest)
                verdicts->furthest = s + 1;
        }
        admitted.doubtful |= admitted.values & fail;
        admitted.values &= pass | fail;
        if (!admitted.values)
            break;
    }
    return admitted;
}

const struct gt_constraint *gt_verdicts_culprit(const struct gt_verdicts *verdicts)
{
    const struct gt_walk_plan *plan = verdicts->plan;

    for (size_t s = 0; s < verdicts->furthest; s++)
        if (plan->step[s].constraint && !verdicts->step[s].passed)
            return &plan->kernel->constraint[plan->step[s].index];
    return NULL;
}

/* ---- trees ---- */

/* Follows the trees of the steps that read a parameter, but for those that end with it. */
static void follow(struct gt_verdicts *verdicts, size_t level)
{
    for (size_t b = verdicts->first_branch[level]; b < verdicts->first_branch[level + 1]; b++) {
        const struct branch *branch = &verdicts->branch[b];
        uint64_t *next = &verdicts->cell[verdicts->node[branch->node] + verdicts->bound[level]];

        if (!*next) {
            *next = verdicts->used;
            verdicts->used += branch->size;
        }
        verdicts->node[branch->node + 1] = *next;
    }
}

/* Begins the trees anew. */
static void forget(struct gt_verdicts *verdicts)
{
    const struct gt_walk_plan *plan = verdicts->plan;

    memset(verdicts->cell, 0, verdicts->used * sizeof(*verdicts->cell));
    verdicts->used = 1; /* a cell's 0 is no node */
    for (size_t s = 0; s < plan->first_step[plan->depth + 1]; s++) {
        const struct judged *step = &verdicts->step[s];

        verdicts->node[step->root] = verdicts->used;
        verdicts->used += step->root_size;
    }
}

void gt_verdicts_bind(struct gt_verdicts *verdicts, size_t level, size_t value)
{
    const struct gt_walk_plan *plan = verdicts->plan;
    const size_t param = plan->order[level];

    verdicts->bound[level] = (uint8_t)value;
    verdicts->slots[plan->kernel->first_param + param] = plan->kernel->param[param].value[value];
    if (verdicts->used + verdicts->path <= verdicts->capacity) {
        follow(verdicts, level);
        return;
    }
    forget(verdicts);
    for (size_t l = 0; l <= level; l++)
        follow(verdicts, l);
}

/* ---- making ---- */

/* The derived values that an expression reads, directly or through others. */
static uint64_t derived_of(const struct gt_kernel *kernel, const struct gt_expr *expr)
{
    uint64_t set = 0;

    for (size_t i = kernel->deriveds; i-- > 0;) {
        const size_t slot = kernel->first_param + kernel->params + i;
        bool read = gt_expr_uses(expr, slot);

        for (size_t d = i + 1; d < kernel->deriveds && !read; d++)
            read = set >> d & 1 && gt_expr_uses(kernel->derived[d].expr, slot);
        set |= (uint64_t)read << i;
    }
    return set;
}

/* Cells of a step's node for the parameter order[level]. */
static size_t node_size(const struct gt_walk_plan *plan, const struct judged *step, size_t level)
{
    const struct gt_param *param = &plan->kernel->param[plan->order[level]];

    return param == step->last ? LEAF(param->count) : param->count;
}

/* The first level from `from` on whose parameter the step depends on. */
static size_t next_level(const struct judged *step, size_t from)
{
    return from + (size_t)__builtin_ctzll(step->levels >> from);
}

/* Fills a step, whose nodes begin at `root`.  Returns how many it has. */
static size_t fill_step(struct gt_verdicts *verdicts, const struct gt_walk_step *from,
                        struct judged *step, size_t root)
{
    const struct gt_walk_plan *plan = verdicts->plan;
    const struct gt_kernel *kernel = plan->kernel;
    uint64_t depends, varying = 0;
    size_t nodes;

    step->constraint = from->constraint;
    step->expr =
        from->constraint ? kernel->constraint[from->index].expr : kernel->derived[from->index].expr;
    depends = gt_kernel_depends(kernel, step->expr);
    for (size_t l = 0; l < plan->depth; l++)
        if (depends >> plan->order[l] & 1) {
            step->levels |= 1ull << l;
            step->last = &kernel->param[plan->order[l]];
        }
    for (size_t i = 0; i < kernel->deriveds && step->last; i++)
        varying |= (kernel->derived[i].depends >> (step->last - kernel->param) & 1) << i;
    step->fixed = derived_of(kernel, step->expr) & ~varying;
    step->varying = derived_of(kernel, step->expr) & varying;
    step->count = step->last ? step->last->count : 1;
    nodes = step->last ? (size_t)__builtin_popcountll(step->levels) : 1;
    step->root = root;
    step->leaf = root + nodes - 1;
    step->root_size = step->last ? node_size(plan, step, next_level(step, 0)) : LEAF(1);
    verdicts->path += step->root_size;
    return nodes;
}

/* Fills the branches of a level; those of all levels have room for as many as there are nodes. */
static void fill_branches(struct gt_verdicts *verdicts, size_t level, size_t steps)
{
    const struct gt_walk_plan *plan = verdicts->plan;
    size_t count = verdicts->first_branch[level];

    for (size_t s = 0; s < steps; s++) {
        const struct judged *step = &verdicts->step[s];
        const uint64_t before = step->levels & ((1ull << level) - 1);
        size_t size;

        if (!(step->levels >> level & 1) || !(step->levels >> level >> 1))
            continue;
        size = node_size(plan, step, next_level(step, level + 1));
        verdicts->path += size;
        verdicts->branch[count++] =
            (struct branch){step->root + (size_t)__builtin_popcountll(before), size};
    }
    verdicts->first_branch[level + 1] = count;
}

int gt_verdicts_new(struct gt_verdicts **verdicts, const struct gt_walk_plan *plan,
                    const int64_t *facts, struct gt_err *err)
{
    const size_t steps = plan->first_step[plan->depth + 1];
    struct gt_verdicts *made = calloc(1, sizeof(*made));
    size_t nodes = 0;

    *verdicts = made;
    if (!made)
        return gt_err_nomem(err);
    made->plan = plan;
    memcpy(made->slots, facts, sizeof(made->slots));
    made->step = calloc(steps + 1, sizeof(*made->step));
    for (size_t s = 0; s < steps && made->step; s++)
        nodes += fill_step(made, &plan->step[s], &made->step[s], nodes);
    made->node = calloc(nodes + 1, sizeof(*made->node));
    made->branch = calloc(nodes + 1, sizeof(*made->branch));
    for (size_t l = 0; l < plan->depth && made->step && made->branch; l++)
        fill_branches(made, l, steps);
    made->capacity = 1 + 2 * made->path; /* trees that were forgotten fit for one prefix more */
    if (made->capacity < CELLS)
        made->capacity = CELLS;
    made->cell = calloc(made->capacity, sizeof(*made->cell));
    if (!made->step || !made->node || !made->branch || !made->cell)
        return gt_err_nomem(err);
    forget(made);
    return GT_OK;
}

void gt_verdicts_free(struct gt_verdicts *verdicts)
{
    if (!verdicts)
        return;
    free(verdicts->step);
    free(verdicts->branch);
    free(verdicts->node);
    free(verdicts->cell);
    free(verdicts);
}
