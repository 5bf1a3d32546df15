/* lookup_near.c - answers for a problem that was not tuned: near winners, prototypes, relatives.
 *
 * near    prototypes and winners of the nearest tuned problems of the arch, of which a ranking
 *         expects the least time here (lookup_choose.c); where there is no ranking for the arch,
 *         near winners adapted to this problem (lookup_repair.c), ranked by the model alone.
 * family  no problem like it was tuned on the arch: default points and winners of other layouts,
 *         epilogues and archs, ranked by the model. */
#include "lookup/lookup_search.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GT_NEAR_TAKEN 8  /* winners handed to the model */
#define GT_NEAR_TRIES 16 /* nearest winners of serving kernels, from which they are taken */

/* A row that may serve, and the distance of its problem. */
struct neighbour {
    const struct gt_table_row *row;
    double distance, loss;
    bool kin; /* it was tuned on the device that the ranking was learned on */
};

static double octaves(int64_t x, int64_t y)
{
    return fabs(log2((double)(x > 0 ? x : 1)) - log2((double)(y > 0 ? y : 1)));
}

/* The distance in doublings.  Sizes count once; so does the number of tiles of D, which decides how
 * well the GPU is filled.  The depth counts half, because it changes little once the pipeline is
 * full. */
static double distance(const struct gt_problem *x, const struct gt_problem *y)
{
    const double m = octaves(x->m, y->m), n = octaves(x->n, y->n), k = octaves(x->k, y->k);
    const double tiles =
        fabs(log2((double)(x->m > 0 ? x->m : 1)) + log2((double)(x->n > 0 ? x->n : 1)) +
             log2((double)x->batch) - log2((double)(y->m > 0 ? y->m : 1)) -
             log2((double)(y->n > 0 ? y->n : 1)) - log2((double)y->batch));

    return sqrt(m * m + n * n + 0.25 * k * k + 0.5 * tiles * tiles);
}

/* Whether a winner for the tuned problem may compute the one that is asked: same types and at least
 * the accuracy asked for; the same layout and epilogue, too, unless distant relatives are wanted.
 */
static bool same_kind(const struct gt_problem *asked, const struct gt_problem *tuned, bool distant)
{
    return asked->type == tuned->type && asked->out == tuned->out && asked->acc == tuned->acc &&
           tuned->accuracy <= asked->accuracy &&
           (distant || (asked->trans_a == tuned->trans_a && asked->trans_b == tuned->trans_b &&
                        asked->epilogue == tuned->epilogue));
}

/* The time to expect here, or 0 if that cannot be told.  It is the model's estimate; for a row that
 * was timed cold, it is scaled by the model's error where that can be checked, which is the row's
 * own point on its own problem.  The farther that problem is, the less the error counts.  A time of
 * another device says what that device takes: beside rows of this one, the error is theirs. */
static double expect_us(struct gt_search *search, const struct gt_candidate *candidate,
                        const struct gt_geometry *geometry, const struct gt_table_row *row)
{
    struct gt_candidate there = *candidate;
    struct gt_geometry unused;
    double us = gt_lookup_predict(candidate, geometry), us_there = 0, off;

    if (!row || row->predicted || row->timing || row->cc != candidate->device->cc || us == 0)
        return us;
    there.problem = &row->problem;
    if (gt_point_parse(&there.point, there.kernel, row->point, NULL) == GT_OK) {
        gt_candidate_renew(&there);
        if (gt_lookup_fits(&there, &unused))
            us_there = gt_lookup_predict(&there, &unused);
    }
    if (us_there <= 0)
        return us;
    off = row->us / us_there;
    if (!gt_lookup_same_device(search, row))
        off = search->off > 0 ? search->off : off;
    else if (!(search->off > 0))
        search->off = off;
    return us * pow(off, exp2(-distance(candidate->problem, &row->problem)));
}

/* Takes the candidate as the answer if it is the best so far. */
static void consider(struct gt_search *search, const struct gt_candidate *candidate,
                     const struct gt_geometry *geometry, const struct gt_table_row *row,
                     double loss)
{
    struct gt_resolved *resolved = search->resolved;
    double us = expect_us(search, candidate, geometry, row), score = us * (1 + loss);

    /* Without an estimate the first candidate stays, which is the nearest. */
    if (search->found && (score == 0 || (search->score > 0 && score >= search->score)))
        return;
    search->found = true;
    search->score = score;
    search->expected_us = us;
    search->row = row;
    resolved->kernel = candidate->kernel;
    resolved->point = candidate->point;
    resolved->geometry = *geometry;
    resolved->answer.expected_loss = loss < GT_LOSS_MOST ? loss : GT_LOSS_MOST;
}

static int nearer(const void *x, const void *y)
{
    const struct neighbour *a = x, *b = y;

    if (a->loss != b->loss)
        return a->loss < b->loss ? -1 : 1;
    if (a->kin != b->kin)
        return a->kin ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

/* Which rows take part. */
struct among {
    bool distant;   /* rows of any arch, layout and epilogue; else only of those asked for */
    bool predicted; /* predicted rows only; else measured ones only */
};

static bool is_doubted(const struct gt_search *search, const struct gt_table_row *row)
{
    return search->doubted && !row->contested && gt_lookup_same_device(search, row) &&
           gt_lookup_same_problem(&search->resolved->problem, row);
}

/* Lists the rows of the same kind of problem, nearest first. */
static int list_neighbours(const struct gt_search *search, struct among among,
                           struct neighbour **list, size_t *count, struct gt_err *err)
{
    const struct gt_table *table = &search->sources->table;
    const struct gt_problem *problem = &search->resolved->problem;

    *count = 0;
    *list = malloc((table->rows + 1) * sizeof(**list));
    if (!*list)
        return gt_err_nomem(err);
    for (const struct gt_table_row *row = table->row; row < table->row + table->rows; row++) {
        struct neighbour *to = *list + *count;

        if ((!among.distant && row->cc != search->resolved->device.cc) ||
            row->predicted != among.predicted ||
            !same_kind(problem, &row->problem, among.distant) || is_doubted(search, row))
            continue;
        to->row = row;
        to->distance = distance(problem, &row->problem);
        to->loss = GT_LOSS_NEAR + GT_LOSS_OCTAVE * to->distance;
        if (!gt_lookup_same_device(search, row))
            to->loss += GT_LOSS_DEVICE;
        to->kin = search->ranking && gt_device_same(row->device, search->ranking->device);
        if (row->predicted)
            to->loss += GT_LOSS_PREDICTED;
        if (!row->contested)
            to->loss += GT_LOSS_RACED;
        if (among.distant)
            to->loss += GT_LOSS_FAMILY;
        ++*count;
    }
    qsort(*list, *count, sizeof(**list), nearer);
    return GT_OK;
}

/* Lets the nearest winners compete. */
static int find_near(struct gt_search *search, struct among among, struct gt_err *err)
{
    struct neighbour *list;
    size_t count, tried = 0, taken = 0;
    int code = list_neighbours(search, among, &list, &count, err);

    for (size_t i = 0; !code && i < count && tried < GT_NEAR_TRIES && taken < GT_NEAR_TAKEN; i++) {
        double loss = list[i].loss;
        bool adapted = false;
        struct gt_candidate candidate;
        struct gt_point won;
        struct gt_geometry geometry;

        if (!gt_lookup_take_row(search, list[i].row, &candidate))
            continue;
        tried++;
        won = candidate.point;
        gt_candidate_renew(&candidate);
        if (strcmp(list[i].row->signature, candidate.kernel->signature) != 0)
            loss += GT_LOSS_CHANGED;
        if (!gt_lookup_fits(&candidate, &geometry)) {
            if (!gt_lookup_repair(&candidate, &geometry))
                continue;
            adapted = true;
        }
        if (gt_lookup_refine(&candidate, &won, &list[i].row->problem, &geometry) || adapted)
            loss += GT_LOSS_ADAPTED;
        consider(search, &candidate, &geometry, list[i].row, loss);
        taken++;
    }
    free(list);
    return code;
}

/* Takes the ranking's choice.  The loss is what such choices lost on problems from which the
 * ranking had not learned. */
static void take_choice(struct gt_search *search, const struct gt_choice *choice)
{
    struct gt_resolved *resolved = search->resolved;
    const struct gt_ranking_loss *loss =
        &search->ranking->loss[gt_ranking_kind(&resolved->problem)];

    search->found = true;
    search->expected_us = choice->us;
    search->row = choice->row;
    resolved->kernel = choice->kernel;
    resolved->point = choice->point;
    resolved->answer.expected_loss = loss->problems ? loss->mean : GT_LOSS_FAMILY;
    resolved->answer.ranking = search->ranking->device;
}

int gt_lookup_choices(const struct gt_search *search, struct gt_choices *choices,
                      struct gt_err *err)
{
    const struct gt_resolved *resolved = search->resolved;
    struct gt_near_rows near = {.device = search->device_name};
    struct neighbour *list;
    size_t count;
    int code;

    choices->count = 0;
    if (!search->ranking)
        return GT_OK;
    code = list_neighbours(search, (struct among){.predicted = false}, &list, &count, err);
    if (code)
        return code;
    for (size_t i = 0; i < count && near.count < GT_NEAR_MOST; i++)
        near.row[near.count++] = list[i].row;
    free(list);
    gt_lookup_choose(&search->sources->kernels, search->ranking, &resolved->problem,
                     &resolved->device, &near, choices);
    return GT_OK;
}

/* Lets prototypes and the nearest winners compete, where there is a ranking for the arch. */
static int find_ranked(struct gt_search *search, struct gt_err *err)
{
    struct gt_resolved *resolved = search->resolved;
    struct gt_choices choices;
    int code = gt_lookup_choices(search, &choices, err);

    if (code || !choices.count)
        return code;
    take_choice(search, &choices.choice[0]);
    return gt_candidate_geometry(&(struct gt_candidate){resolved->kernel, &resolved->problem,
                                                        &resolved->device, resolved->point},
                                 &resolved->geometry, err);
}

int gt_lookup_find_close(struct gt_search *search, bool predicted, struct gt_err *err)
{
    const int code = predicted ? GT_OK : find_ranked(search, err);

    return code || search->found ? code
                                 : find_near(search, (struct among){.predicted = predicted}, err);
}

/* Lets default points compete: of the kernels in production or, if none of these works, of the
 * ladder's kernels, the highest rung first. */
static void find_default(struct gt_search *search, bool production)
{
    const struct gt_kernels *kernels = &search->sources->kernels;
    struct gt_candidate candidate = {.problem = &search->resolved->problem,
                                     .device = &search->resolved->device};

    for (size_t i = kernels->count; i-- > 0;) {
        struct gt_geometry geometry;

        candidate.kernel = kernels->kernel[i];
        if (candidate.kernel->production != production ||
            !gt_kernel_serves(candidate.kernel, candidate.problem, candidate.device))
            continue;
        gt_point_default(&candidate.point, candidate.kernel);
        if (gt_lookup_fits(&candidate, &geometry) || gt_lookup_repair(&candidate, &geometry) ||
            gt_lookup_walk(&candidate, &geometry))
            consider(search, &candidate, &geometry, NULL, GT_LOSS_FAMILY);
    }
}

int gt_lookup_find_family(struct gt_search *search, struct gt_err *err)
{
    int code;

    find_default(search, true);
    code = find_near(search, (struct among){.distant = true}, err);
    if (!code && !search->found)
        find_default(search, false);
    return code;
}
