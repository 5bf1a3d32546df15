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
    uint64_t known = 0, undefined;
    int rc;

    for (size_t d = 0; d < kernel->deriveds; d++)
        known |= (uint64_t)becomes_known(orderer, kernel->derived[d].depends, set) << d;
    undefined = gt_kernel_derive(kernel, known, 0, slots, &rc, NULL);
    for (size_t c = 0; c < kernel->constraints; c++) {
        const struct gt_constraint *constraint = &kernel->constraint[c];

        if (becomes_known(orderer, constraint->depends, set) &&
            !(constraint->derived & undefined) && !gt_constraint_holds(constraint, slots, NULL))
            return false;
    }
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
        uint64_t open = kernel->constraint[c].depends & ~orderer->bound;
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

/* Fills order[0..params): first the parameters that constraints depend on, in the order in which to
 * bind them, then the other parameters.  Returns how many parameters constraints depend on.  facts:
 * slots of problem and device. */
static size_t find_order(const struct gt_kernel *kernel, const int64_t *facts,
                         size_t order[GT_MAX_PARAMS])
{
    struct orderer orderer = {.kernel = kernel, .prefixes = 1};
    size_t count = 0, walked;

    orderer.random.state = ORDER_SEED;
    memcpy(orderer.prefix[0].slots, facts, sizeof(orderer.prefix[0].slots));
    for (size_t c = 0; c < kernel->constraints; c++)
        orderer.constrained |= kernel->constraint[c].depends;
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

/* ---- the plan ---- */

/* A key of verdicts has, from its low bits on, the block of the last parameter's values, the
 * numbers of the other parameters' values, and the step. */
#define BLOCK_BITS 2  /* a parameter has at most 256 values, in blocks of 64 */
#define STEP_SHIFT 55 /* there are at most GT_MAX_CONSTRAINTS + GT_MAX_DERIVED steps */

/* A step of the level whose parameter is `last` (NULL: level 0).  depends: the parameters that the
 * step depends on. */
static struct gt_walk_step make_step(const struct gt_walk_plan *plan, const struct gt_param *last,
                                     uint64_t depends)
{
    struct gt_walk_step step = {.last = last, .others = depends};
    unsigned bits = BLOCK_BITS;

    if (last)
        step.others &= ~(1ull << (last - plan->kernel->param));
    for (uint64_t left = step.others; left; left &= left - 1)
        bits += plan->bits[__builtin_ctzll(left)];
    step.kept = bits <= STEP_SHIFT;
    return step;
}

/* Sets the steps of each level: constraints as early as possible, a derived value only after the
 * constraints that guard it (BM % WARPS == 0 before xdiv(BM, WARPS)).  checked: zeros, one for each
 * constraint. */
static void plan_steps(struct gt_walk_plan *plan, bool *checked)
{
    const struct gt_kernel *kernel = plan->kernel;
    const struct gt_param *last = NULL;
    uint64_t bound = 0, computed = 0;
    size_t steps = 0;

    for (size_t level = 0; level <= plan->depth; level++) {
        plan->first_step[level] = steps;
        if (level > 0) {
            last = &kernel->param[plan->order[level - 1]];
            bound |= 1ull << plan->order[level - 1];
        }
        for (size_t d = 0; d <= kernel->deriveds; d++) {
            for (size_t c = 0; c < kernel->constraints; c++) {
                const struct gt_constraint *constraint = &kernel->constraint[c];

                if (checked[c] || constraint->depends & ~bound || constraint->derived & ~computed)
                    continue;
                checked[c] = true;
                plan->step[steps] = make_step(plan, last, constraint->depends);
                plan->step[steps].constraint = true;
                plan->step[steps].index = c;
                plan->step[steps++].derived = constraint->derived;
            }
            if (d < kernel->deriveds && !(computed >> d & 1) &&
                !(kernel->derived[d].depends & ~bound)) {
                computed |= 1ull << d;
                plan->step[steps] = make_step(plan, last, kernel->derived[d].depends);
                plan->step[steps].index = d;
                plan->step[steps++].derived = kernel->derived[d].derived | 1ull << d;
            }
        }
    }
    plan->first_step[plan->depth + 1] = steps;
}

int gt_walk_plan_init(struct gt_walk_plan *plan, const struct gt_kernel *kernel,
                      const int64_t *facts, struct gt_err *err)
{
    bool *checked = calloc(kernel->constraints + 1, sizeof(*checked));

    *plan = (struct gt_walk_plan){.kernel = kernel};
    plan->step = calloc(kernel->constraints + kernel->deriveds + 1, sizeof(*plan->step));
    for (size_t i = 0; i < kernel->params; i++)
        while (kernel->param[i].count > (size_t)1 << plan->bits[i])
            plan->bits[i]++;
    if (checked && plan->step) {
        plan->depth = find_order(kernel, facts, plan->order);
        plan_steps(plan, checked);
    }
    free(checked);
    return checked && plan->step ? GT_OK : gt_err_nomem(err);
}

void gt_walk_plan_release(struct gt_walk_plan *plan)
{
    free(plan->step);
    *plan = (struct gt_walk_plan){.step = NULL};
}

/* ---- the verdicts of constraints on prefixes; the same values are judged once ---- */

/* A constraint reads a few parameters, and a walk comes to the same values of these parameters
 * again and again: of simt's 38 million judgements at 1000^3, two in a hundred are new.  So the
 * verdicts are kept in a table.  An entry has, as bits, the verdicts of a step on up to 64 values
 * of the step's last parameter.  The key of an entry holds the step, which of the last parameter's
 * values these are, and the values of the other parameters that the step depends on.  A table that
 * is full is emptied. */

#define ENTRIES_BITS 18 /* 2^18 entries: 6 MB; simt needs half of them */
#define ENTRIES      ((size_t)1 << ENTRIES_BITS)
#define BLOCK        64 /* values of an entry, one bit each */

/* Values of a parameter, as bits: bit i for value 64 * block + i. */
struct admitted {
    uint64_t values;   /* values that no step of the level rejects */
    uint64_t doubtful; /* those of `values` for which an expression failed (for example a division
                          by zero) */
};

/* A derived value passes if it can be computed. */
struct entry {
    uint64_t key;        /* 0: the entry is free */
    uint64_t pass, fail; /* values that pass; values for which an expression fails */
};

/* The verdicts of a plan's steps on the prefixes of a walk. */
struct verdicts {
    const struct gt_walk_plan *plan;
    struct entry *entry; /* hash table */
    size_t used;
    struct entry unkept;          /* of a step whose key would be too long */
    bool *passed;                 /* for each step: whether some prefix satisfied it */
    size_t furthest;              /* 1 + the last constraint that was reached */
    uint8_t index[GT_MAX_PARAMS]; /* the number of each bound parameter's value */
    int64_t slots[GT_MAX_SLOTS];
};

/* Fills an entry with the verdicts on the values from 64 * block on. */
static void judge(struct verdicts *verdicts, const struct gt_walk_step *step, size_t block,
                  struct entry *entry)
{
    const struct gt_kernel *kernel = verdicts->plan->kernel;
    const size_t count = step->last ? step->last->count : 1;
    const uint64_t varying = step->last ? step->derived & step->last->derived : 0;
    int64_t *slots = verdicts->slots;
    uint64_t undefined;
    int rc;

    undefined = gt_kernel_derive(kernel, step->derived & ~varying, 0, slots, &rc, NULL);
    entry->pass = entry->fail = 0;
    for (size_t i = block * BLOCK; i < count && i < (block + 1) * BLOCK; i++) {
        uint64_t lacking;
        int holds = 1;

        if (step->last)
            slots[kernel->first_param + (size_t)(step->last - kernel->param)] =
                step->last->value[i];
        lacking = gt_kernel_derive(kernel, varying, undefined, slots, &rc, NULL) & step->derived;
        if (step->constraint && !lacking)
            holds = gt_constraint_holds(&kernel->constraint[step->index], slots, NULL);
        if (lacking || holds < 0)
            entry->fail |= 1ull << i % BLOCK;
        else if (holds)
            entry->pass |= 1ull << i % BLOCK;
    }
}

static void empty(struct verdicts *verdicts)
{
    memset(verdicts->entry, 0, ENTRIES * sizeof(*verdicts->entry));
    verdicts->used = 0;
}

/* The verdicts of a step, after the parameters before its last parameter were bound. */
static const struct entry *look_up(struct verdicts *verdicts, size_t number, size_t block)
{
    const struct gt_walk_step *step = &verdicts->plan->step[number];
    struct entry *entry = &verdicts->unkept;
    uint64_t key = 0;
    size_t at;

    if (!step->kept) {
        judge(verdicts, step, block, entry);
        return entry;
    }
    for (uint64_t left = step->others; left; left &= left - 1) {
        const size_t param = (size_t)__builtin_ctzll(left);

        key = key << verdicts->plan->bits[param] | verdicts->index[param];
    }
    key = (key << BLOCK_BITS | block) + ((uint64_t)(number + 1) << STEP_SHIFT);
    at = (size_t)(key * 0x9e3779b97f4a7c15u >> (64 - ENTRIES_BITS));
    for (; verdicts->entry[at].key != key; at = (at + 1) % ENTRIES) {
        entry = &verdicts->entry[at];
        if (entry->key)
            continue;
        if (++verdicts->used > ENTRIES / 4 * 3)
            empty(verdicts);
        entry->key = key;
        judge(verdicts, step, block, entry);
        return entry;
    }
    return &verdicts->entry[at];
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
        const struct entry *entry = look_up(verdicts, s, block);

        if (plan->step[s].constraint && admitted.values & ~entry->fail) {
            verdicts->passed[s] |= (admitted.values & entry->pass) != 0;
            if (s + 1 > verdicts->furthest)
                verdicts->furthest = s + 1;
        }
        admitted.doubtful |= admitted.values & entry->fail;
        admitted.values &= entry->pass | entry->fail;
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
        if (plan->step[s].constraint && !verdicts->passed[s])
            return &plan->kernel->constraint[plan->step[s].index];
    return NULL;
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
    uint64_t written;     /* points put into the sample, also in the place of others */
    double chance;        /* chance of each point to be seen; 1: all points are seen */
    uint64_t seen;        /* points seen so far, without the points passed over */
    struct gt_random random;
    double weight;
    uint64_t next; /* number, among the points seen, of the next point to take */
    uint64_t gap;  /* points before the next point that is seen */
};

#define LOOK_EVERY  8192 /* visits between two looks at the signals: 1 ms */
#define SAMPLE_SEED 0x67656d6d74756e65ull

/* Writes the walked parameters and the `offset`-th combination of the free parameters as point
 * `at`. */
static void put_point(struct sample *sample, const uint8_t *index, size_t at, uint64_t offset)
{
    const struct gt_kernel *kernel = sample->space->kernel;
    uint8_t *point = sample->space->index + at * kernel->params;

    sample->written++;
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

/* Takes all points of a valid prefix, whose walked parameters have these values: a byte per
 * parameter, the index of its value.  GT_ENOMEM is the only error. */
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
    while (space->count == sample->limit && sample->next < end) {
        replace(sample, index, sample->next - first);
        if (sample->written % LOOK_EVERY == 0 && space->signals && *space->signals)
            return gt_err_set(err, GT_EINTERRUPTED, "interrupted; the same command resumes");
    }
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

#define PREFIX_SEED 0x7072656669786573ull /* seed of the choice of the values followed */

struct walk {
    struct gt_space *space;
    struct gt_walk_plan plan;
    struct verdicts verdicts;
    struct sample sample;
    /* the state */
    uint64_t visits; /* prefixes so far, */
    uint64_t visits_most, seen_most;
    uint64_t look; /* visits and points written at which time and signals are looked at again */
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
            kernel->param[walk->plan.order[i]].value[walk->verdicts.index[walk->plan.order[i]]];
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
    return walk->sample.chance < 1 ? take_some(&walk->sample, walk->verdicts.index, walk->err)
                                   : take_all(&walk->sample, walk->verdicts.index, walk->err);
}

/* Counts a visit and returns GT_OK, unless the walk ends early: too many visits or points, too much
 * time, or a signal. */
static int check_visits(struct walk *walk)
{
    const volatile sig_atomic_t *signals = walk->space->signals;

    if (++walk->visits > walk->visits_most || walk->sample.seen > walk->seen_most)
        return GIVEN_UP;
    if (walk->visits + walk->sample.written < walk->look)
        return GT_OK;
    walk->look = walk->visits + walk->sample.written + LOOK_EVERY;
    if (signals && *signals)
        return gt_err_set(walk->err, GT_EINTERRUPTED, "interrupted; the same command resumes");
    return gt_clock_thread_s() > walk->ends_s ? SPENT : GT_OK;
}

/* Extends a prefix by every value of the next parameter.  doubt: an expression failed for this
 * prefix.  The doubt is settled at the prefix's points, because another constraint may reject the
 * points. */
static int descend(struct walk *walk, size_t level, bool doubt)
{
    const struct gt_kernel *kernel = walk->space->kernel;
    const size_t param = walk->plan.order[level];
    struct admitted admitted = {0, 0};
    int rc = GT_OK;

    if (level == walk->share.level && walk->prefixes++ % walk->share.of != walk->share.number)
        return GT_OK;
    if (level == walk->plan.depth)
        return arrive(walk, doubt);
    for (size_t i = 0; i < kernel->param[param].count && !rc; i++) {
        const size_t bit = i % BLOCK;

        if (!bit)
            admitted = admit(&walk->verdicts, level + 1, i / BLOCK);
        if (!followed(walk, level))
            continue;
        walk->verdicts.index[param] = (uint8_t)i;
        rc = check_visits(walk);
        if (rc)
            return rc;
        if (!(admitted.values >> bit & 1))
            continue;
        walk->verdicts.slots[kernel->first_param + param] = kernel->param[param].value[i];
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
        before += part * walk->verdicts.index[walk->plan.order[level]];
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
    walk->look = 0;
    walk->prefixes = 0;
    root = admit(&walk->verdicts, 0, 0);
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
    const struct gt_constraint *constraint = culprit(&walk->verdicts);
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
    struct verdicts *verdicts = &walk->verdicts;
    int rc;

    *walk = (struct walk){.space = space,
                          .sample = {.space = space, .limit = limit, .chance = 1},
                          .seen_most = UINT64_MAX,
                          .ends_s =
                              space->seconds > 0 ? gt_clock_thread_s() + space->seconds : INFINITY,
                          .chance = 1,
                          .share = *share,
                          .err = err};
    gt_facts_fill(space->problem, space->device, walk->verdicts.slots);
    space->cross_product = gt_kernel_cross_product(space->kernel);
    rc = gt_walk_plan_init(&walk->plan, space->kernel, walk->verdicts.slots, err);
    GT_STEP(rc, count_free(walk));
    if (rc)
        return rc;
    verdicts->plan = &walk->plan;
    verdicts->entry = calloc(ENTRIES, sizeof(*verdicts->entry));
    verdicts->passed =
        calloc(walk->plan.first_step[walk->plan.depth + 1] + 1, sizeof(*verdicts->passed));
    walk->share.level = walk->plan.depth / SHARED_FROM;
    return verdicts->entry && verdicts->passed ? GT_OK : gt_err_nomem(err);
}

static void release(struct walk *walk)
{
    free(walk->verdicts.entry);
    free(walk->verdicts.passed);
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
