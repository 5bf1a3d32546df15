/* space_walk.c - walks through a kernel's parameters to its valid points, for space.c.
 *
 * Parameters are bound one after the other, in an order that prunes early.  A constraint is checked
 * as soon as all its parameters are bound, and a prefix that fails is not extended; the verdicts of
 * constraints are remembered.  Parameters that no constraint reads are not walked: every valid
 * prefix is combined with all of their values.
 *
 * A kernel without its bets may have 10^12 valid points (simt, at 4096^3).  A walk that visits more
 * than VISITS_MOST prefixes, or fewer if few points are wanted, begins again.  At its later levels
 * the new walk follows each value only with some chance.  Every valid point then has the same
 * chance to be found, and the number of points found gives an estimate of all valid points.  The
 * first chance is a guess from how far the walk came; the visits of the next walk show which chance
 * would use all allowed visits.  If no point is found, valid points are rare and more prefixes are
 * visited, so that no kernel is lost.  If a part has far more points than are kept, each point is
 * seen with some chance only, because points that enter the sample and are replaced cost more than
 * visits. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/stats.h"
#include "problem/problem.h"
#include "search/space_walk.h"

/* ---- the order in which a walk binds the parameters ---- */

/* A good order prunes early: parameters whose values the constraints mostly decide come first, and
 * parameters that are free to vary come last.  The constraints do not show which parameters these
 * are, so orders are tried on a few random prefixes.  A choice is one parameter, or the few
 * parameters that one constraint relates.  The choice of whose combinations the smallest part
 * survives gives the next parameter. */

#define PREFIXES   24   /* prefixes of a sample */
#define TOGETHER   4    /* parameters tried together */
#define TRIED_MOST 4096 /* combinations tried for one choice, over all prefixes */
#define ORDER_SEED 1

struct prefix {
    int64_t slots[GT_MAX_SLOTS];
};

struct orderer {
    const struct gt_kernel *kernel;
    const uint64_t *need; /* for each constraint, the parameters that it depends on */
    uint64_t constrained; /* parameters that some constraint depends on */
    uint64_t bound;
    struct prefix prefix[PREFIXES];
    size_t prefixes;
    struct gt_random random;
};

/* A few parameters to be bound together. */
struct choice {
    uint64_t set;
    size_t param[TOGETHER], count;
    double open; /* how much of the choice survives: 0 one combination, 1 all combinations */
};

/* Whether an expression that depends on `need` becomes known when the set is bound. */
static bool becomes_known(const struct orderer *orderer, uint64_t need, uint64_t set)
{
    return need & set && !(need & ~(orderer->bound | set));
}

/* Computes the values and constraints that the newly bound set determines; false: a constraint
 * rejects the prefix.  The walk deals with expressions that fail. */
static bool survives(const struct orderer *orderer, int64_t *slots, uint64_t set)
{
    const struct gt_kernel *kernel = orderer->kernel;
    int64_t value;

    for (size_t d = 0; d < kernel->deriveds; d++)
        if (becomes_known(orderer, kernel->derived[d].depends, set) &&
            gt_expr_eval(kernel->derived[d].expr, slots, &value, NULL) == GT_OK)
            slots[kernel->first_param + kernel->params + d] = value;
    for (size_t c = 0; c < kernel->constraints; c++)
        if (becomes_known(orderer, orderer->need[c], set) &&
            gt_expr_eval(kernel->constraint[c].expr, slots, &value, NULL) == GT_OK && !value)
            return false;
    return true;
}

static size_t combinations(const struct gt_kernel *kernel, const struct choice *choice)
{
    size_t all = 1;

    for (size_t i = 0; i < choice->count; i++)
        all *= kernel->param[choice->param[i]].count;
    return all;
}

/* Extends the first prefixes of the sample by every combination of the choice's values.  Returns
 * how many extended prefixes survive; keeps PREFIXES of the survivors, evenly drawn, if kept is not
 * NULL. */
static size_t extend(struct orderer *orderer, const struct choice *choice, size_t prefixes,
                     struct prefix *kept)
{
    const struct gt_kernel *kernel = orderer->kernel;
    size_t all = combinations(kernel, choice), survivors = 0;

    for (size_t p = 0; p < prefixes; p++) {
        struct prefix prefix = orderer->prefix[p];

        for (size_t c = 0; c < all; c++) {
            size_t rest = c, place;

            for (size_t i = 0; i < choice->count; i++) {
                const struct gt_param *param = &kernel->param[choice->param[i]];

                prefix.slots[kernel->first_param + choice->param[i]] =
                    param->value[rest % param->count];
                rest /= param->count;
            }
            if (!survives(orderer, prefix.slots, choice->set))
                continue;
            place = survivors++;
            if (kept && place >= PREFIXES)
                place = gt_random_below(&orderer->random, survivors);
            if (kept && place < PREFIXES)
                kept[place] = prefix;
        }
    }
    return survivors;
}

static void consider(struct orderer *orderer, uint64_t set, struct choice *best)
{
    const struct gt_kernel *kernel = orderer->kernel;
    struct choice choice = {.set = set};
    size_t all, prefixes = orderer->prefixes;
    double survivors;

    for (size_t i = 0; i < kernel->params; i++)
        if (set >> i & 1)
            choice.param[choice.count++] = i;
    all = combinations(kernel, &choice);
    if (all > TRIED_MOST && choice.count > 1)
        return;
    if (all * prefixes > TRIED_MOST)
        prefixes = all < TRIED_MOST ? TRIED_MOST / all : 1;
    survivors = (double)extend(orderer, &choice, prefixes, NULL) / (double)prefixes;
    choice.open = all > 1 ? log(fmax(survivors, 1e-3)) / log((double)all) : -1;
    if (!best->set || choice.open < best->open)
        *best = choice;
}

/* The best choice among the parameters of `among`; sets: choices of several parameters are tried,
 * too. */
static struct choice choose(struct orderer *orderer, uint64_t among, bool sets)
{
    const struct gt_kernel *kernel = orderer->kernel;
    struct choice best = {0};

    for (size_t i = 0; i < kernel->params; i++)
        if (among >> i & 1)
            consider(orderer, 1ull << i, &best);
    for (size_t c = 0; sets && c < kernel->constraints; c++) {
        uint64_t open = orderer->need[c] & ~orderer->bound;
        int count = __builtin_popcountll(open);

        if (count > 1 && count <= TOGETHER)
            consider(orderer, open, &best);
    }
    return best;
}

/* Binds one parameter and goes on with the surviving prefixes. */
static void bind(struct orderer *orderer, const struct choice *choice)
{
    struct prefix kept[PREFIXES];
    size_t survivors = extend(orderer, choice, orderer->prefixes, kept);

    orderer->bound |= choice->set;
    if (!survivors)
        return; /* no prefix is left: the old sample stays */
    orderer->prefixes = survivors < PREFIXES ? survivors : PREFIXES;
    memcpy(orderer->prefix, kept, orderer->prefixes * sizeof(kept[0]));
}

/* Fills order[0..params): first the parameters that constraints depend on (need[c]: the parameters
 * of constraint c), in the order in which to bind them, then the other parameters.  Returns how
 * many parameters constraints depend on.  facts: slots of problem and device. */
static size_t find_order(const struct gt_kernel *kernel, const int64_t *facts, const uint64_t *need,
                         size_t order[GT_MAX_PARAMS])
{
    struct orderer orderer = {.kernel = kernel, .need = need, .prefixes = 1};
    size_t count = 0, walked;

    orderer.random.state = ORDER_SEED;
    memcpy(orderer.prefix[0].slots, facts, sizeof(orderer.prefix[0].slots));
    for (size_t c = 0; c < kernel->constraints; c++)
        orderer.constrained |= need[c];
    while (orderer.constrained & ~orderer.bound) {
        uint64_t set = choose(&orderer, orderer.constrained & ~orderer.bound, true).set;

        while (set & ~orderer.bound) {
            struct choice one = choose(&orderer, set & ~orderer.bound, false);

            order[count++] = one.param[0];
            bind(&orderer, &one);
        }
    }
    walked = count;
    for (size_t i = 0; i < kernel->params; i++)
        if (!(orderer.constrained >> i & 1))
            order[count++] = i;
    return walked;
}

/* ---- the verdicts of constraints on prefixes; the same values are judged once ---- */

/* A constraint reads a few parameters, and a walk comes to the same values of these parameters
 * again and again: of simt's 38 million judgements at 1000^3, two in a hundred are new.  So each
 * step of the plan has a tree, whose levels are the parameters that the step depends on, in the
 * order of the walk.  The leaf of a prefix has, as bits, the step's verdict on every value of the
 * step's last parameter.  The walk follows all trees as it binds parameters, and at each level
 * joins the bits of the leaves.
 *
 * Trees that outgrow their memory are forgotten, and grow again from the present prefix. */

#define CELLS      ((size_t)1 << 20) /* cells of all trees: 8 MB; simt needs 1.3 MB */
#define BLOCK      64                /* values per word, one bit each */
#define LEAF(size) (1 + 2 * (((size) + BLOCK - 1) / BLOCK)) /* cells of a leaf; see judge */

/* Values of a parameter, as bits: bit i for value 64 * block + i. */
struct admitted {
    uint64_t values;   /* values that no step of the level rejects */
    uint64_t doubtful; /* those of `values` for which an expression failed (for example a division
                          by zero) */
};

/* A step and the leaf of the present prefix. */
struct judged {
    const struct gt_expr *expr;
    uint64_t fixed, varying;     /* derived values that the step reads; the varying values depend on
                                    `last` */
    uint64_t levels;             /* bit l: the step depends on order[l] */
    const struct gt_param *last; /* the parameter of the last level; NULL: the step depends on no
                                    parameter */
    size_t count;                /* values of `last`, or 1 without it */
    size_t root, leaf;           /* in node[]; one for each of its levels, but at least one */
    size_t root_size;            /* cells */
    bool constraint;
    bool passed; /* some prefix satisfied the step */
};

/* The effect of binding a parameter on one step for which this is not the last parameter. */
struct branch {
    size_t node; /* the parameter's node; the next parameter's node is behind it */
    size_t size; /* cells of the next parameter's node */
};

/* The verdicts of a plan's steps on the prefixes of a walk. */
struct verdicts {
    const struct gt_walk_plan *plan;
    struct judged *step;
    size_t furthest; /* 1 + the last constraint that was reached */
    struct branch *branch;
    size_t first_branch[GT_MAX_PARAMS + 1]; /* of each parameter of the order */
    size_t *node;   /* for each step the nodes of its tree along the present prefix, as places in
                       cell[] */
    uint64_t *cell; /* an inner node has a cell for each value: the place of the next node, or 0 */
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

/* Computes the derived values of a set; returns `undefined` and the derived values that cannot be
 * computed. */
static uint64_t derive(struct verdicts *verdicts, uint64_t set, uint64_t undefined)
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

/* Fills a leaf: 1, then for each block of values the bits of values that pass and the bits of
 * values for which an expression fails.  A derived value passes if it can be computed. */
static void judge(struct verdicts *verdicts, const struct judged *step, uint64_t *leaf)
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

/* The verdict of a level's steps on the values of order[level - 1], after the parameters before it
 * were bound.  Level 0 has no parameter; its verdict is bit 0. */
static struct admitted admit(struct verdicts *verdicts, size_t level, size_t block)
{
    const struct gt_walk_plan *plan = verdicts->plan;
    const size_t count = level ? plan->kernel->param[plan->order[level - 1]].count : 1;
    const size_t rest = count - block * BLOCK;
    struct admitted admitted = {rest < BLOCK ? (1ull << rest) - 1 : ~0ull, 0};

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

/* The first constraint, in the order of the steps, that was reached and that no prefix satisfied;
 * NULL: there is none. */
static const struct gt_constraint *culprit(const struct verdicts *verdicts)
{
    const struct gt_walk_plan *plan = verdicts->plan;

    for (size_t s = 0; s < verdicts->furthest; s++)
        if (plan->step[s].constraint && !verdicts->step[s].passed)
            return &plan->kernel->constraint[plan->step[s].index];
    return NULL;
}

/* ---- trees ---- */

/* Follows the trees of the steps that read a parameter, except steps for which it is the last
 * parameter. */
static void follow(struct verdicts *verdicts, size_t level)
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
static void forget(struct verdicts *verdicts)
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

/* Binds order[level] to its value number `value`, after the parameters before it. */
static void bind_value(struct verdicts *verdicts, size_t level, size_t value)
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

/* Fills a step, whose nodes begin at `root`.  Returns the number of the step's nodes. */
static size_t fill_step(struct verdicts *verdicts, const struct gt_walk_step *from,
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

/* Fills the branches of a level; the branches of all levels together have room for as many as there
 * are nodes. */
static void fill_branches(struct verdicts *verdicts, size_t level, size_t steps)
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

/* Plan and kernel must outlive the verdicts.  facts: slots of problem and device. */
static int verdicts_new(struct verdicts **verdicts, const struct gt_walk_plan *plan,
                        const int64_t *facts, struct gt_err *err)
{
    const size_t steps = plan->first_step[plan->depth + 1];
    struct verdicts *made = calloc(1, sizeof(*made));
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
    made->capacity = 1 + 2 * made->path; /* forgotten trees fit for at least one prefix */
    if (made->capacity < CELLS)
        made->capacity = CELLS;
    made->cell = calloc(made->capacity, sizeof(*made->cell));
    if (!made->step || !made->node || !made->branch || !made->cell)
        return gt_err_nomem(err);
    forget(made);
    return GT_OK;
}

static void verdicts_free(struct verdicts *verdicts)
{
    if (!verdicts)
        return;
    free(verdicts->step);
    free(verdicts->branch);
    free(verdicts->node);
    free(verdicts->cell);
    free(verdicts);
}

/* ---- the plan ---- */

/* Whether an expression reads only derived values of `computed`. */
static bool computable(const struct gt_kernel *kernel, const struct gt_expr *expr,
                       const bool *computed)
{
    for (size_t i = 0; i < kernel->deriveds; i++)
        if (!computed[i] && gt_expr_uses(expr, kernel->first_param + kernel->params + i))
            return false;
    return true;
}

/* Sets the steps of each level: constraints as early as possible, a derived value only after the
 * constraints that guard it (BM % WARPS == 0 before xdiv(BM, WARPS)).  checked: zeros, one for each
 * constraint. */
static void plan_steps(struct gt_walk_plan *plan, const uint64_t *need, bool *checked)
{
    const struct gt_kernel *kernel = plan->kernel;
    bool computed[GT_MAX_DERIVED] = {false};
    uint64_t bound = 0;
    size_t steps = 0;

    for (size_t level = 0; level <= plan->depth; level++) {
        plan->first_step[level] = steps;
        if (level > 0)
            bound |= 1ull << plan->order[level - 1];
        for (size_t d = 0; d <= kernel->deriveds; d++) {
            for (size_t c = 0; c < kernel->constraints; c++) {
                if (checked[c] || (need[c] & ~bound) ||
                    !computable(kernel, kernel->constraint[c].expr, computed))
                    continue;
                checked[c] = true;
                plan->step[steps++] = (struct gt_walk_step){true, c};
            }
            if (d < kernel->deriveds && !computed[d] && !(kernel->derived[d].depends & ~bound)) {
                computed[d] = true;
                plan->step[steps++] = (struct gt_walk_step){false, d};
            }
        }
    }
    plan->first_step[plan->depth + 1] = steps;
}

int gt_walk_plan_init(struct gt_walk_plan *plan, const struct gt_kernel *kernel,
                      const int64_t *facts, struct gt_err *err)
{
    uint64_t *need = calloc(kernel->constraints + 1, sizeof(*need));
    bool *checked = calloc(kernel->constraints + 1, sizeof(*checked));
    int rc = GT_OK;

    *plan = (struct gt_walk_plan){.kernel = kernel};
    plan->step = calloc(kernel->constraints + kernel->deriveds + 1, sizeof(*plan->step));
    if (!need || !checked || !plan->step) {
        rc = gt_err_nomem(err);
    } else {
        for (size_t c = 0; c < kernel->constraints; c++)
            need[c] = gt_kernel_depends(kernel, kernel->constraint[c].expr);
        plan->depth = find_order(kernel, facts, need, plan->order);
        plan_steps(plan, need, checked);
    }
    free(need);
    free(checked);
    return rc;
}

void gt_walk_plan_release(struct gt_walk_plan *plan)
{
    free(plan->step);
    *plan = (struct gt_walk_plan){.step = NULL};
}

/* ---- the points that are kept ---- */

/* The points that are kept of a walk: all points, or a uniform sample, which is the same for the
 * same points.  A sample is kept by a reservoir that knows how many points it may skip (algorithm L
 * of Li, ACM TOMS 20(4), 1994).  A point that enters a full reservoir replaces another point at a
 * random place of hundreds of megabytes.  This takes about 60 ns with 6.7 million points kept.
 * From 100 times as many points as are kept, 4.6 times as many (ln 100) enter.  If only a part of a
 * space is walked, fewer points need to be seen: each point is seen with the same chance, and the
 * others are passed over. */
struct sample {
    struct gt_space *space; /* the space whose points are kept */
    const struct gt_walk_plan *plan;
    size_t limit; /* the most points that are kept */
    size_t capacity;
    uint64_t free_points; /* points of each prefix: the combinations of the parameters that no
                             constraint reads */
    double chance;        /* chance of each point to be seen; 1: all points are seen */
    uint64_t seen;        /* points seen so far, without the points passed over */
    struct gt_random random;
    double weight;
    uint64_t next; /* number, among the points seen, of the next point to take */
    uint64_t gap;  /* points before the next point that is seen */
};

#define SAMPLE_SEED 0x67656d6d74756e65ull

/* Writes the walked parameters and the `offset`-th combination of the free parameters as point
 * `at`. */
static void put_point(struct sample *sample, const uint8_t *index, size_t at, uint64_t offset)
{
    const struct gt_kernel *kernel = sample->space->kernel;
    uint8_t *point = sample->space->index + at * kernel->params;

    memcpy(point, index, kernel->params);
    for (size_t i = kernel->params; i-- > sample->plan->depth;) {
        size_t count = kernel->param[sample->plan->order[i]].count;

        point[sample->plan->order[i]] = (uint8_t)(offset % count);
        offset /= count;
    }
}

static int grow(struct sample *sample, struct gt_err *err)
{
    struct gt_space *space = sample->space;
    size_t capacity = sample->capacity ? sample->capacity * 2 : 1024;
    uint8_t *index;

    if (capacity > sample->limit)
        capacity = sample->limit;
    index = realloc(space->index, capacity * (space->kernel->params ? space->kernel->params : 1));
    if (!index)
        return gt_err_nomem(err);
    space->index = index;
    sample->capacity = capacity;
    return GT_OK;
}

/* Draws how many points are skipped before the next point is taken. */
static void skip(struct sample *sample)
{
    double k = (double)sample->limit, gap;

    sample->weight *= exp(log1p(-gt_random_unit(&sample->random)) / k);
    gap = floor(log1p(-gt_random_unit(&sample->random)) / log1p(-sample->weight));
    sample->next += gap < 0x1p61 ? (uint64_t)gap + 1 : 1ull << 61;
}

/* Puts a point in the place of another. */
static void replace(struct sample *sample, const uint8_t *index, uint64_t offset)
{
    put_point(sample, index, gt_random_below(&sample->random, sample->limit), offset);
    skip(sample);
}

/* Adds a point to a sample that is not yet full. */
static int append(struct sample *sample, const uint8_t *index, uint64_t offset, struct gt_err *err)
{
    struct gt_space *space = sample->space;

    if (space->count == sample->capacity) {
        int rc = grow(sample, err);

        if (rc)
            return rc;
    }
    put_point(sample, index, space->count++, offset);
    if (space->count == sample->limit) {
        sample->next = sample->limit - 1;
        skip(sample);
    }
    return GT_OK;
}

/* Takes all of a prefix's points. */
static int take_all(struct sample *sample, const uint8_t *index, struct gt_err *err)
{
    const struct gt_space *space = sample->space;
    const uint64_t first = sample->seen, end = first + sample->free_points;
    uint64_t offset = 0;

    for (; space->count < sample->limit && first + offset < end; offset++) {
        int rc = append(sample, index, offset, err);

        if (rc)
            return rc;
    }
    while (space->count == sample->limit && sample->next < end)
        replace(sample, index, sample->next - first);
    sample->seen = end;
    return GT_OK;
}

/* How many points are passed over before the next point that is seen. */
static uint64_t passed_over(struct sample *sample)
{
    const double gap = floor(log1p(-gt_random_unit(&sample->random)) / log1p(-sample->chance));

    return gap < 0x1p60 ? (uint64_t)gap : 1ull << 60;
}

/* Takes the points of a prefix that are seen, if each point is seen with some chance. */
static int take_some(struct sample *sample, const uint8_t *index, struct gt_err *err)
{
    int rc = GT_OK;

    for (; !rc && sample->gap < sample->free_points; sample->gap += 1 + passed_over(sample)) {
        if (sample->space->count < sample->limit)
            rc = append(sample, index, sample->gap, err);
        else if (sample->next == sample->seen)
            replace(sample, index, sample->gap);
        sample->seen++;
    }
    sample->gap -= sample->free_points;
    return rc;
}

/* Begins a walk; points kept by an earlier walk are dropped. */
static void sample_begin(struct sample *sample)
{
    sample->random.state = SAMPLE_SEED;
    sample->weight = 1;
    sample->seen = 0;
    sample->space->count = 0;
    sample->gap = sample->chance < 1 ? passed_over(sample) : 0;
}

/* Takes the points of a valid prefix, whose walked parameters have these values: a byte per
 * parameter, the index of its value.  GT_ENOMEM is the only error. */
static int sample_take(struct sample *sample, const uint8_t *index, struct gt_err *err)
{
    return sample->chance < 1 ? take_some(sample, index, err) : take_all(sample, index, err);
}

/* ---- the walk ---- */

/* Spaces of 3 to 11 million points, such as simt's where operands are not aligned, take 16 to 57
 * million visits.  When a walk was allowed 20 million visits, sweeps of such problems knew 5,000 to
 * 40,000 points with one or two neighbours each, and found nothing beside their first points. */
#define VISITS_MOST  GT_WALK_VISITS
#define VISITS_POINT 100       /* visits for each point that is kept, if few points are kept */
#define VISITS_EMPTY 100000000 /* walks that found no point are repeated below this limit */
#define VISITS_MORE  10        /* a repeated walk may take this many times the visits */
#define CHANCE_LEAST 1e-4      /* a walk that was given up lowers the chance at most by this */
#define VISITS_PART  8         /* a part that took less than visits_most over this is too small */
#define VISITS_AIM   0.4       /* the next part should take this much of visits_most */
#define WIDENED_MOST 4         /* most walks of a larger part */
#define SEEN_AIM     4         /* points of a part that should be seen for each point kept */
#define SHARED_FROM  2         /* shares divide the prefixes of depth / this many parameters */
#define GIVEN_UP     1         /* returned by a walk of too many visits */
#define SPENT        2         /* returned if all walks together took too long */
#define LOOK_EVERY   8192      /* visits between two looks at the signals: 1 ms */

#define PREFIX_SEED 0x7072656669786573ull /* seed of the choice of the values followed */

struct walk {
    struct gt_space *space;
    struct gt_walk_plan plan;
    struct verdicts *verdicts;
    struct sample sample;
    /* the state */
    uint8_t index[GT_MAX_PARAMS];
    uint64_t visits; /* prefixes so far, */
    uint64_t visits_most, seen_most;
    double ends_s; /* when the thread has taken so much processor time */
    /* the part of a large space that is walked */
    double chance;       /* chance of each prefix of all parameters; 1: all are walked */
    double value_chance; /* chance of each value from level `thinned` on */
    double density;      /* points over visits in the last walk */
    size_t thinned;
    struct gt_random random; /* separate numbers, so that the prefixes do not depend on the points
                                kept */
    /* the share of the prefixes of `share.level` parameters that is walked */
    struct gt_walk_share share;
    uint64_t prefixes; /* prefixes of `share.level` parameters so far */
    struct gt_err *err;
};

/* Values of the parameters in `set`, multiplied. */
static double points_of(const struct gt_kernel *kernel, uint64_t set)
{
    double points = 1;

    for (size_t i = 0; i < kernel->params; i++)
        if (set >> i & 1)
            points *= (double)kernel->param[i].count;
    return points;
}

/* Counts the points that the parameters which are not walked make of each prefix. */
static int count_free(struct walk *walk)
{
    const struct gt_kernel *kernel = walk->space->kernel;
    double free_points = 1;

    for (size_t i = walk->plan.depth; i < kernel->params; i++)
        free_points *= (double)kernel->param[walk->plan.order[i]].count;
    if (free_points > 0x1p60)
        return gt_err_set(walk->err, GT_ERANGE,
                          "%s: its parameters span %.3g points; at most 2^60 can be counted",
                          kernel->path, free_points);
    walk->sample.plan = &walk->plan;
    walk->sample.free_points = (uint64_t)free_points;
    return GT_OK;
}

/* Judges a point whose expressions failed somewhere as gt_candidate_valid does: 1 valid, 0 rejected
 * by another constraint, < 0 an error of the description. */
static int settle_doubt(struct walk *walk)
{
    const struct gt_space *space = walk->space;
    const struct gt_kernel *kernel = space->kernel;
    struct gt_candidate candidate = {kernel, space->problem, space->device, {{0}}};
    int failed, rc;

    gt_point_default(&candidate.point, kernel);
    for (size_t i = 0; i < walk->plan.depth; i++)
        candidate.point.value[walk->plan.order[i]] =
            kernel->param[walk->plan.order[i]].value[walk->index[walk->plan.order[i]]];
    rc = gt_candidate_valid(&candidate, &failed, walk->err);
    return rc ? rc : failed < 0;
}

/* Whether a value is followed, if each value is followed with some chance. */
static bool followed(struct walk *walk, size_t level)
{
    return level < walk->thinned || walk->chance == 1 ||
           gt_random_unit(&walk->random) < walk->value_chance;
}

/* Takes the points of a prefix that binds all walked parameters. */
static int arrive(struct walk *walk, bool doubt)
{
    int rc = doubt ? settle_doubt(walk) : 1;

    if (rc <= 0)
        return rc;
    return sample_take(&walk->sample, walk->index, walk->err);
}

/* Counts a visit and returns GT_OK, unless the walk ends early: too many visits or points, too much
 * time, or a signal. */
static int check_visits(struct walk *walk)
{
    const volatile sig_atomic_t *signals = walk->space->signals;

    if (++walk->visits > walk->visits_most || walk->sample.seen > walk->seen_most)
        return GIVEN_UP;
    if (walk->visits % LOOK_EVERY == 0 && signals && *signals)
        return gt_err_set(walk->err, GT_EINTERRUPTED, "interrupted; the same command resumes");
    return walk->visits % LOOK_EVERY == 0 && gt_clock_thread_s() > walk->ends_s ? SPENT : GT_OK;
}

/* Extends a prefix by every value of the next parameter.  doubt: an expression failed for this
 * prefix.  The doubt is settled at the prefix's points, because another constraint may reject the
 * points. */
static int descend(struct walk *walk, size_t level, bool doubt)
{
    const size_t param = walk->plan.order[level];
    struct admitted admitted = {0, 0};
    int rc = GT_OK;

    if (level == walk->share.level && walk->prefixes++ % walk->share.of != walk->share.number)
        return GT_OK;
    if (level == walk->plan.depth)
        return arrive(walk, doubt);
    for (size_t i = 0; i < walk->space->kernel->param[param].count && !rc; i++) {
        const size_t bit = i % 64;

        if (!bit)
            admitted = admit(walk->verdicts, level + 1, i / 64);
        if (!followed(walk, level))
            continue;
        walk->index[param] = (uint8_t)i;
        rc = check_visits(walk);
        if (rc)
            return rc;
        if (!(admitted.values >> bit & 1))
            continue;
        bind_value(walk->verdicts, level, i);
        rc = descend(walk, level + 1, doubt || admitted.doubtful >> bit & 1);
    }
    return rc;
}

/* The part of all prefixes that lies before the prefix at which a walk was given up. */
static double progress(const struct walk *walk)
{
    double part = 1, before = 0;

    for (size_t level = 0; level < walk->plan.depth; level++) {
        part /= (double)walk->space->kernel->param[walk->plan.order[level]].count;
        before += part * walk->index[walk->plan.order[level]];
    }
    return before;
}

/* Sets the chance of each prefix, for a walk that should take `visits` visits.  The later half of
 * the levels, which has most prefixes, is thinned; if this is not enough, more levels are
 * thinned. */
static void set_chance(struct walk *walk, double chance, double visits)
{
    const double points = walk->density * visits, wanted = SEEN_AIM * (double)walk->sample.limit;

    walk->chance = chance;
    walk->value_chance = pow(chance, 1 / (double)(walk->plan.depth - walk->thinned));
    walk->sample.chance = points > wanted ? wanted / points : 1;
}

/* Chooses a smaller part after a walk of which visits_most covered only the part `covered`, such
 * that the next walk takes about half of visits_most. */
static void thin(struct walk *walk, double covered)
{
    walk->thinned = walk->chance == 1 ? walk->plan.depth / 2 : walk->thinned / 2;
    set_chance(walk, walk->chance * fmax(covered, CHANCE_LEAST) / 2,
               VISITS_AIM * (double)walk->visits_most);
}

static int walk_once(struct walk *walk)
{
    struct admitted root;
    int rc = GT_OK;

    sample_begin(&walk->sample);
    walk->random.state = PREFIX_SEED;
    walk->visits = 1; /* the prefix without a parameter */
    walk->prefixes = 0;
    root = admit(walk->verdicts, 0, 0);
    if (root.values)
        rc = descend(walk, 0, root.doubtful);
    walk->density = (double)walk->sample.seen / walk->sample.chance / (double)walk->visits;
    return rc;
}

/* Whether a larger part of a space should be walked than by the last walk, because this walk used
 * too few visits or saw too few points. */
static bool too_small(const struct walk *walk)
{
    return walk->chance < 1 &&
           (walk->visits < walk->visits_most / VISITS_PART ||
            (walk->sample.chance < 1 && walk->space->count < walk->sample.limit));
}

/* After the walk of a part, walks larger parts as long as the visits allow.  The guessed chance may
 * be a thousandth of the chance that they allow. */
static int widen(struct walk *walk)
{
    const double aim = VISITS_AIM * (double)walk->visits_most;
    int rc = GT_OK;

    for (int i = 0; !rc && i < WIDENED_MOST && too_small(walk); i++) {
        const double done = walk->chance, visits = (double)walk->visits;

        set_chance(walk, fmin(0.5, done * fmax(1, aim / visits)), fmax(aim, visits));
        rc = walk_once(walk);
        if (rc == GIVEN_UP) {
            set_chance(walk, done, visits);
            return walk_once(walk);
        }
    }
    return rc;
}

/* Walks through all points, or through as large a part of the points as visits_most allows. */
static int walk_part(struct walk *walk)
{
    int rc = GIVEN_UP;

    while (rc == GIVEN_UP) {
        rc = walk_once(walk);
        if (rc == GIVEN_UP)
            thin(walk, progress(walk));
    }
    return rc ? rc : widen(walk);
}

/* The same, with more visits as long as no point of the walked part is valid. */
static int walk_all(struct walk *walk)
{
    int rc = walk_part(walk);

    while (!rc && !walk->sample.seen && walk->chance < 1 && walk->visits_most < VISITS_EMPTY) {
        walk->visits_most *= VISITS_MORE;
        walk->chance = walk->sample.chance = 1;
        rc = walk_part(walk);
    }
    return rc;
}

/* The error if no point is valid: names the constraint that rejected every prefix. */
static int explain_empty(const struct walk *walk)
{
    const struct gt_kernel *kernel = walk->space->kernel;
    const struct gt_constraint *constraint = culprit(walk->verdicts);
    char problem[GT_PROBLEM_TEXT_MAX];

    gt_problem_format(walk->space->problem, problem);
    if (walk->chance < 1)
        return gt_err_set(walk->err, GT_ERANGE,
                          "kernel %s has too many points for %s on %s to look at all of them, and "
                          "none of those looked at was valid; name the values to search",
                          kernel->name, problem, walk->space->device->name);
    if (constraint)
        return gt_err_set(walk->err, GT_ERANGE,
                          "kernel %s has no valid point for %s on %s: the constraint \"%s\" (%s) "
                          "rejects every point",
                          kernel->name, problem, walk->space->device->name,
                          gt_expr_text(constraint->expr), constraint->why);
    return gt_err_set(walk->err, GT_ERANGE, "kernel %s has no valid point for %s on %s",
                      kernel->name, problem, walk->space->device->name);
}

/* *walk is to be released also after a failure. */
static int begin(struct walk *walk, struct gt_space *space, size_t limit,
                 const struct gt_walk_share *share, struct gt_err *err)
{
    int64_t facts[GT_MAX_SLOTS] = {0};
    int rc;

    *walk = (struct walk){.space = space,
                          .sample = {.space = space, .limit = limit, .chance = 1},
                          .seen_most = UINT64_MAX,
                          .ends_s =
                              space->seconds > 0 ? gt_clock_thread_s() + space->seconds : INFINITY,
                          .chance = 1,
                          .share = *share,
                          .err = err};
    gt_facts_fill(space->problem, space->device, facts);
    space->cross_product = points_of(space->kernel, ~0ull);
    rc = gt_walk_plan_init(&walk->plan, space->kernel, facts, err);
    GT_STEP(rc, count_free(walk));
    GT_STEP(rc, verdicts_new(&walk->verdicts, &walk->plan, facts, err));
    walk->share.level = walk->plan.depth / SHARED_FROM;
    return rc;
}

static void release(struct walk *walk)
{
    verdicts_free(walk->verdicts);
    gt_walk_plan_release(&walk->plan);
}

int gt_space_walk(struct gt_space *space, size_t limit, double covered, struct gt_err *err)
{
    struct walk walk;
    int rc = begin(&walk, space, limit, &(struct gt_walk_share){.of = 1}, err);

    walk.visits_most = limit < VISITS_MOST / VISITS_POINT ? limit * VISITS_POINT : VISITS_MOST;
    walk.density = (double)walk.sample.free_points; /* at most */
    if (!rc && covered < 1)
        thin(&walk, covered);
    GT_STEP(rc, walk_all(&walk));
    if (rc == SPENT) { /* the points found so far are searched; there may be others */
        walk.chance *= fmax(progress(&walk), CHANCE_LEAST);
        rc = GT_OK;
    }
    if (!rc && !space->count)
        rc = explain_empty(&walk);
    space->estimated = walk.chance < 1;
    space->valid = (double)walk.sample.seen / walk.sample.chance / walk.chance;
    release(&walk);
    return rc;
}

int gt_space_walk_share(struct gt_space *space, size_t limit, struct gt_walk_share *share,
                        struct gt_err *err)
{
    struct walk walk;
    int rc = begin(&walk, space, limit, share, err);

    walk.visits_most = share->visits;
    if (share->points)
        walk.seen_most = share->points;
    GT_STEP(rc, walk_once(&walk));
    share->covered = rc == GT_OK ? 1 : progress(&walk);
    share->visited = walk.visits;
    space->valid = (double)walk.sample.seen;
    release(&walk);
    return rc == GIVEN_UP || rc == SPENT ? GT_OK : rc;
}
