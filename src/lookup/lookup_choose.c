/* lookup_choose.c - chooses by a ranking (ranking.h) among its prototypes for the kind of problem
 * and the winners of near problems.  Part of the look-up: see lookup_impl.h.
 *
 * Each candidate is checked against the problem, and a few candidates that are not valid for it are
 * repaired.  The candidates with the shortest expected times are kept, and then their neighbours
 * are judged.  The work is bounded: every check costs one unit of effort, an estimate costs
 * GT_EFFORT_ESTIMATE. */
#include <math.h>
#include <string.h>

#include "lookup/lookup_impl.h"
#include "problem/problem.h"

#define SHAPE        3    /* effort of the model's view of a candidate that may be invalid */
#define PARTS_MOST   500  /* most effort for other numbers of parts */
#define PARTS_BROKEN 2    /* broken constraints of a candidate with another number of parts */
#define VARYING      3500 /* effort reserved for the neighbours of the best choices */
#define ENOUGH       32   /* valid candidates; with fewer, other candidates are repaired */
#define ENOUGH_EACH  4    /* valid candidates of each kernel, likewise */
#define REPAIR_STEPS 8    /* changes of one parameter before a repair is given up */
#define REPAIR_MOST  6    /* broken constraints of a candidate that is repaired */

/* A candidate is dropped if half of the trees say ABANDONED times the time of the last kept choice,
 * or ABANDONED times FAR times the time of the best choice. */
#define ABANDONED 1.1
#define FAR       1.5

/* Factors on the expected time.  CHANGED: a point that was changed for the problem, so that of
 * two equal expectations the measured point wins.  SAME: a point that won this problem on another
 * device of the arch, or without C or an epilogue that this problem has, or with one.  OWN: a point
 * that won it on this device, with an older text of its kernel. See db/measured. */
#define CHANGED 1.03
#define SAME    0.85
#define OWN     0.7

/* A tile that is wider than TILE_WIDE rows or columns, and wider than TILE_OUTSIDE times D, is no
 * untuned answer. */
#define TILE_WIDE    128
#define TILE_OUTSIDE 4

#define KERNELS 64   /* kernels whose valid candidates are counted separately */
#define JUDGED  1024 /* places for hashes of judged candidates; a power of two */

struct choosing {
    const struct gt_ranking *ranking;
    const struct gt_kernels *kernels;
    struct gt_choices *choices;
    const char *device; /* the device of struct gt_near_rows */
    struct gt_candidate candidate;
    int64_t slots[GT_MAX_SLOTS];  /* the candidate's slots, filled if it was found valid */
    uint64_t judged[JUDGED];      /* hashes of judged candidates: was_judged() */
    size_t likely[GT_MAX_PARAMS]; /* by parameter: the constraint that its change broke last */
    int effort;                   /* units of effort left */
    int valid;                    /* candidates judged */
    int valid_each[KERNELS];      /* candidates judged, by kernel */
};

/* Whether both choices divide the problem in the same way.  The ranking can hardly tell other
 * differences apart, such as the order of tiles, so one choice of each way is kept. */
static bool same_way(const struct gt_choice *x, const struct gt_choice *y)
{
    return x->kernel == y->kernel && gt_predict_same_way(&x->shape, &y->shape);
}

/* Keeps the choice if it is better than the kept choice of the same way, or than the last
 * choice. */
static void keep(struct gt_choices *choices, const struct gt_choice *choice)
{
    struct gt_choice *kept = choices->choice;
    size_t at = 0;

    while (at < choices->count && !same_way(&kept[at], choice))
        at++;
    if (at == choices->count && at < GT_CHOICES)
        choices->count++;
    else if (at == choices->count)
        at--;
    if (kept[at].kernel && choice->score >= kept[at].score)
        return;
    for (; at > 0 && choice->score < kept[at - 1].score; at--)
        kept[at] = kept[at - 1];
    kept[at] = *choice;
}

static size_t index_of(const struct choosing *choosing)
{
    const struct gt_kernels *kernels = choosing->kernels;
    size_t i = 0;

    while (i < kernels->count && kernels->kernel[i] != choosing->candidate.kernel)
        i++;
    return i;
}

/* The index in valid_each of the candidate's kernel; kernels beyond the array share one count. */
static size_t place_of(const struct choosing *choosing)
{
    const size_t i = index_of(choosing);

    return i < KERNELS ? i : KERNELS - 1;
}

/* Whether the choice has the compiled code of a near winner, whose registers did not spill. */
static bool is_known_code(const struct gt_choice *choice)
{
    return choice->row && !choice->adapted &&
           strcmp(choice->row->signature, choice->kernel->signature) == 0;
}

/* Whether the candidate was judged before: neighbours of neighbours are met more than once.  A
 * candidate whose place another one has taken is judged again, which costs effort.  So the hash is
 * of the kernel's number.  With the kernel's address, answers would differ from run to run. */
static bool was_judged(struct choosing *choosing)
{
    const struct gt_candidate *candidate = &choosing->candidate;
    uint64_t mixed = index_of(choosing) + 1;
    uint64_t *place;

    for (size_t i = 0; i < candidate->kernel->params; i++)
        mixed = ((mixed ^ (uint64_t)candidate->point.value[i]) * 0x9e3779b97f4a7c15u) ^ mixed >> 29;
    place = &choosing->judged[(mixed ^ mixed >> 32) % JUDGED];
    if (*place == mixed)
        return true;
    *place = mixed;
    return false;
}

/* Whether most of one side of a wide tile lies outside of D.  Times of such tiles were hardly ever
 * measured, so that nothing corrects the model's estimate of them. */
static bool is_mostly_outside(const struct gt_prediction *shape, const struct gt_problem *problem)
{
    return (shape->tile_m > TILE_WIDE && shape->tile_m > TILE_OUTSIDE * (double)problem->m) ||
           (shape->tile_n > TILE_WIDE && shape->tile_n > TILE_OUTSIDE * (double)problem->n);
}

/* Whether the row was timed on the device asked for, and cold, as plans run: neither warm nor in a
 * chain. */
static bool won_here(const struct choosing *choosing, const struct gt_table_row *row)
{
    return choosing->device && !row->timing && gt_device_same(row->device, choosing->device);
}

/* The time of a winner of this product, and of the bytes of C that it did not move. */
static double expect_c(const struct gt_candidate *candidate, const struct gt_table_row *row)
{
    const double more = gt_problem_traffic(candidate->problem) - gt_problem_traffic(&row->problem);

    return row->us + fmax(more, 0) / (candidate->device->memory_gbps * 1e3);
}

/* Keeps the valid candidate, whose slots are filled, if it is one of the best so far. */
static void judge(struct choosing *choosing, const struct gt_table_row *row, bool adapted)
{
    struct gt_choice choice = {.kernel = choosing->candidate.kernel,
                               .point = choosing->candidate.point,
                               .row = row,
                               .adapted = adapted};
    const struct gt_problem *problem = choosing->candidate.problem;
    const struct gt_choices *kept = choosing->choices;
    const double most =
        ABANDONED * fmin(kept->count < GT_CHOICES ? HUGE_VAL : kept->choice[GT_CHOICES - 1].score,
                         kept->count ? FAR * kept->choice[0].score : HUGE_VAL);
    struct gt_geometry geometry;

    if (was_judged(choosing))
        return;
    choosing->effort -= GT_EFFORT_ESTIMATE;
    if (gt_candidate_launches(&choosing->candidate, choosing->slots, &geometry, NULL))
        return;
    choice.us = gt_ranking_slots(choosing->ranking, &choosing->candidate, &geometry,
                                 choosing->slots, most, &choice.shape);
    if (!(choice.us > 0) || !isfinite(choice.us) || is_mostly_outside(&choice.shape, problem))
        return;
    if (is_known_code(&choice))
        choice.us /= choice.shape.risk;
    choosing->valid++;
    choosing->valid_each[place_of(choosing)]++;
    choice.score = choice.us;
    if (adapted)
        choice.score *= CHANGED;
    else if (row && gt_lookup_same_product(problem, row))
        choice.score *=
            won_here(choosing, row) && gt_lookup_same_problem(problem, row) ? OWN : SAME;
    if (row && !adapted && won_here(choosing, row) && gt_lookup_same_product(problem, row))
        choice.us = expect_c(&choosing->candidate, row);
    keep(choosing->choices, &choice);
}

/* Changes a parameter of a broken constraint so that the fewest constraints remain broken. */
static bool repair_one(struct choosing *choosing, int *broken)
{
    struct gt_candidate *candidate = &choosing->candidate;
    const struct gt_point start = candidate->point;
    struct gt_point best = start;
    const int before = *broken;
    struct gt_breaks breaks;

    gt_lookup_find_breaks(candidate, &breaks);
    for (size_t i = 0; i < candidate->kernel->params; i++) {
        const struct gt_param *param = &candidate->kernel->param[i];

        if (!(breaks.params >> i & 1))
            continue;
        candidate->point = start;
        for (size_t v = 0; v < param->count && choosing->effort > 0; v++) {
            int now;

            candidate->point.value[i] = param->value[v];
            choosing->effort--;
            now = gt_lookup_broken_after(candidate, &breaks, i, *broken);
            if (now < *broken) {
                *broken = now;
                best = candidate->point;
            }
        }
    }
    candidate->point = best;
    return *broken < before;
}

/* Repairs the candidate, which breaks `broken` constraints, and fills its slots if it is valid
 * afterwards. */
static bool repair(struct choosing *choosing, int broken)
{
    for (int step = 0; broken && step < REPAIR_STEPS && choosing->effort > 0; step++)
        if (!repair_one(choosing, &broken))
            return false;
    if (broken)
        return false;
    choosing->effort--;
    return gt_candidate_slots(&choosing->candidate, choosing->slots, NULL) == GT_OK;
}

/* Whether the prototype is for the problem's type and for its accuracy or a better one: at accuracy
 * f32, FP32 problems of few rows are computed fastest by strict kernels. */
static bool is_of_kind(const struct gt_prototype *prototype, const struct gt_problem *problem)
{
    struct gt_problem kind = *problem;

    for (int accuracy = 0; accuracy <= (int)problem->accuracy; accuracy++) {
        kind.accuracy = (enum gt_accuracy)accuracy;
        if (gt_kinds_have(&prototype->kinds, gt_ranking_kind(&kind)))
            return true;
    }
    return false;
}

/* A candidate that choosing begins with: a winner of a near problem, or a prototype. */
struct start {
    const struct gt_kernel *kernel; /* a kernel that serves the problem */
    const struct gt_point *point;
    const struct gt_table_row *row; /* the row of the winner; NULL: a prototype */
    int broken;                     /* broken constraints, counted up to REPAIR_MOST + 1 */
};

struct starts {
    struct start start[GT_NEAR_MOST + GT_RANKING_PROTOTYPES];
    size_t count;
    struct gt_point won[GT_NEAR_MOST];
};

static void add_start(const struct choosing *choosing, struct starts *starts,
                      const struct gt_kernel *kernel, const struct gt_point *point,
                      const struct gt_table_row *row)
{
    const struct gt_candidate *candidate = &choosing->candidate;

    if (gt_kernel_serves(kernel, candidate->problem, candidate->device))
        starts->start[starts->count++] = (struct start){kernel, point, row, 0};
}

/* Near winners come before prototypes. */
static void find_starts(struct choosing *choosing, const struct gt_near_rows *near,
                        struct starts *starts)
{
    const struct gt_ranking *ranking = choosing->ranking;

    starts->count = 0;
    for (size_t i = 0; i < near->count; i++) {
        const struct gt_kernel *kernel =
            gt_kernels_find(choosing->kernels, near->row[i]->kernel, NULL);

        choosing->effort--;
        if (kernel && gt_point_parse(&starts->won[i], kernel, near->row[i]->point, NULL) == GT_OK)
            add_start(choosing, starts, kernel, &starts->won[i], near->row[i]);
    }
    for (size_t i = 0; i < ranking->prototypes; i++)
        if (is_of_kind(&ranking->prototype[i], choosing->candidate.problem))
            add_start(choosing, starts, ranking->prototype[i].kernel, &ranking->prototype[i].point,
                      NULL);
}

static void take(struct choosing *choosing, const struct start *start)
{
    choosing->candidate.kernel = start->kernel;
    choosing->candidate.point = *start->point;
    gt_candidate_renew(&choosing->candidate);
}

/* How many parts of k fill the GPU once with the candidate's tiles of this problem; 0: the
 * candidate does not divide k.  The candidate need not be valid. */
static double filling_parts(struct choosing *choosing)
{
    const struct gt_candidate *candidate = &choosing->candidate;
    struct gt_geometry geometry;
    struct gt_prediction shape;

    if (gt_candidate_geometry(candidate, &geometry, NULL) ||
        gt_predict_explain(candidate, &geometry, 0, 0, &shape, NULL) || !(shape.waves > 0))
        return 0;
    return shape.splits > 1 ? shape.splits / shape.waves : 0;
}

/* A winner that divides k has as many parts as fill the GPU with the tiles of its own problem.  So
 * it is also judged with as many parts as fill the GPU for this problem.  For few tiles and an
 * enormous k these are many more parts.  For more tiles, a winner of many parts breaks
 * constraints. */
static void judge_parts(struct choosing *choosing, const struct gt_table_row *row)
{
    struct gt_candidate *candidate = &choosing->candidate;
    const struct gt_kernel *kernel = candidate->kernel;
    const struct gt_point start = candidate->point;

    for (size_t i = 0; i < kernel->params; i++) {
        const struct gt_param *param = &kernel->param[i];
        double most;
        int broken;

        if (start.value[i] < 2 || !gt_expr_uses(kernel->model.splits, kernel->first_param + i))
            continue;
        choosing->effort -= SHAPE;
        most = filling_parts(choosing);
        for (size_t v = 0; v < param->count && choosing->effort > 0; v++) {
            const double parts = (double)param->value[v];

            if (param->value[v] == start.value[i] || parts > most || 2 * parts <= most)
                continue;
            candidate->point.value[i] = param->value[v];
            choosing->effort--;
            broken = gt_lookup_broken_slots(candidate, PARTS_BROKEN + 1, choosing->slots);
            if (!broken || (broken <= PARTS_BROKEN && repair(choosing, broken)))
                judge(choosing, row, true);
            candidate->point = start;
        }
    }
}

/* Tries other numbers of parts for all starts that divide k. */
static void judge_all_parts(struct choosing *choosing, const struct starts *starts)
{
    const int kept = choosing->effort > PARTS_MOST ? choosing->effort - PARTS_MOST : 0;

    choosing->effort -= kept;
    for (size_t i = 0; i < starts->count && choosing->effort > 0; i++) {
        take(choosing, &starts->start[i]);
        judge_parts(choosing, starts->start[i].row);
    }
    choosing->effort += kept;
}

/* Judges the starts that are valid without a repair. */
static void judge_starts(struct choosing *choosing, struct starts *starts)
{
    for (size_t i = 0; i < starts->count && choosing->effort > 0; i++) {
        struct start *start = &starts->start[i];

        take(choosing, start);
        choosing->effort--;
        start->broken =
            gt_lookup_broken_slots(&choosing->candidate, REPAIR_MOST + 1, choosing->slots);
        if (!start->broken)
            judge(choosing, start->row, false);
    }
}

/* Repairs candidates until enough are valid, of every kernel and in all, beginning with the
 * candidates that break the fewest constraints.  A kernel must not become the answer only because
 * no point of a better kernel happens to be valid without a repair.  For example, few rows that are
 * stored along m break the constraints of most points on vectors. */
static void repair_some(struct choosing *choosing, const struct starts *starts)
{
    for (int most = 1; most <= REPAIR_MOST; most++)
        for (size_t i = 0; i < starts->count && choosing->effort > 0; i++) {
            const struct start *start = &starts->start[i];

            if (start->broken != most)
                continue;
            take(choosing, start);
            if ((choosing->valid < ENOUGH ||
                 choosing->valid_each[place_of(choosing)] < ENOUGH_EACH) &&
                repair(choosing, start->broken))
                judge(choosing, start->row, true);
        }
}

/* Drops choices that the constraints allow but a launch would refuse, because constraints are
 * incomplete. */
static void drop_refused(struct choosing *choosing)
{
    struct gt_choices *choices = choosing->choices;
    size_t count = 0;

    for (size_t i = 0; i < choices->count; i++) {
        const struct gt_choice *choice = &choices->choice[i];
        struct gt_geometry geometry;

        choosing->candidate.kernel = choice->kernel;
        choosing->candidate.point = choice->point;
        if (gt_candidate_geometry(&choosing->candidate, &geometry, NULL) == GT_OK)
            choices->choice[count++] = *choice;
    }
    choices->count = count;
}

/* ---- the neighbours of the best choices ----
 *
 * Best-first search: the best choice that was not yet varied is the next one whose neighbours are
 * judged.
 *
 * First come the neighbours that are valid without a repair: a choice has ten such neighbours, and
 * half a hundred checks find them.  Neighbours that need a repair cost twenty times as many checks,
 * so they wait until every choice within reach has been varied.
 *
 * A tile that exactly fills the last wave often differs from a known one in two or more parameters:
 * one size is larger and another one smaller, or the number of warps changes with the tile.  So a
 * neighbour that breaks a constraint is repaired by one more parameter of that constraint, and a
 * neighbour that is valid but only as good is kept and varied, too. */

#define REACH 1.25 /* times the best expected time: slower choices are not varied */

/* The best choice within reach whose `varied` is below the argument; NULL: there is none. */
static struct gt_choice *next(struct gt_choices *choices, int varied)
{
    for (size_t i = 0;
         i < choices->count && choices->choice[i].score <= REACH * choices->choice[0].score; i++)
        if (choices->choice[i].varied < varied)
            return &choices->choice[i];
    return NULL;
}

/* Tries to repair the candidate, whose parameters `changed` differ from start, by one of the
 * parameters in its broken constraint. */
static void repair_by_another(struct choosing *choosing, const struct gt_choice *start,
                              uint64_t changed, uint64_t broken, const int64_t before[GT_MAX_SLOTS])
{
    struct gt_candidate *candidate = &choosing->candidate;
    const struct gt_kernel *kernel = start->kernel;

    for (size_t i = 0; i < kernel->params; i++) {
        const uint64_t bit = (uint64_t)1 << i;
        const struct gt_param *param = &kernel->param[i];

        if (!(broken & ~changed & bit))
            continue;
        for (size_t v = 0; v < param->count && choosing->effort > 0; v++) {
            candidate->point.value[i] = param->value[v];
            choosing->effort--;
            if (param->value[v] != start->point.value[i] &&
                gt_candidate_still_valid(candidate, changed | bit, before, choosing->slots,
                                         &choosing->likely[i]))
                judge(choosing, start->row, true);
        }
        candidate->point.value[i] = start->point.value[i];
    }
}

/* repairs: judges only changes that need a repair; else only changes that need none. */
static void vary_one(struct choosing *choosing, const struct gt_choice *start, bool repairs)
{
    struct gt_candidate *candidate = &choosing->candidate;
    const struct gt_kernel *kernel = start->kernel;
    int64_t before[GT_MAX_SLOTS];

    candidate->kernel = kernel;
    candidate->point = start->point;
    if (gt_candidate_slots(candidate, before, NULL))
        return;
    for (size_t i = 0; i < kernel->params; i++) {
        const struct gt_param *param = &kernel->param[i];
        const uint64_t bit = (uint64_t)1 << i;

        for (size_t v = 0; v < param->count && choosing->effort > 0; v++) {
            uint64_t broken;

            candidate->point.value[i] = param->value[v];
            choosing->effort--;
            if (param->value[v] == start->point.value[i])
                continue;
            if (repairs) {
                if (gt_candidate_breaks(candidate, bit, before, choosing->slots, &broken))
                    repair_by_another(choosing, start, bit, broken, before);
            } else if (gt_candidate_still_valid(candidate, bit, before, choosing->slots,
                                                &choosing->likely[i])) {
                judge(choosing, start->row, true);
            }
        }
        candidate->point.value[i] = start->point.value[i];
    }
}

/* Judges points that differ from the best choices in one parameter, or in two parameters of which
 * the second repairs what the first breaks.  Then it does the same around the best of these points,
 * while effort is left. */
static void vary(struct choosing *choosing)
{
    while (choosing->effort > 0) {
        struct gt_choice *choice = NULL, start;

        for (int varied = 1; varied <= 2 && !choice; varied++)
            choice = next(choosing->choices, varied);
        if (!choice)
            return;
        start = *choice;
        choice->varied++;
        vary_one(choosing, &start, start.varied);
    }
}

bool gt_lookup_choose(const struct gt_kernels *kernels, const struct gt_ranking *ranking,
                      const struct gt_problem *problem, const struct gt_device *device,
                      const struct gt_near_rows *near, struct gt_choices *choices)
{
    struct choosing choosing = {.ranking = ranking,
                                .kernels = kernels,
                                .choices = choices,
                                .device = near->device,
                                .candidate = {.problem = problem, .device = device},
                                .effort = GT_EFFORT_MOST - VARYING};
    struct starts starts;

    *choices = (struct gt_choices){.count = 0};
    find_starts(&choosing, near, &starts);
    judge_starts(&choosing, &starts);
    repair_some(&choosing, &starts);
    judge_all_parts(&choosing, &starts);
    choosing.effort += VARYING;
    vary(&choosing);
    drop_refused(&choosing);
    choices->effort = GT_EFFORT_MOST - choosing.effort;
    return choices->count;
}
