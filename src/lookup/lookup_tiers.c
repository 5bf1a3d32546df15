/* lookup_tiers.c - finds the answer for a problem: exact, near, family, none.
 *
 * exact   a row of this problem, tuned on this device with the kernel's present template.
 * near    prototypes and winners of the nearest tuned problems of the arch, of which a ranking
 *         expects the least time here (lookup_choose.c); where there is no ranking for the arch,
 *         near winners adapted to this problem (lookup_repair.c), ranked by the model alone.
 * family  no problem like it was tuned on the arch: default points and winners of other layouts,
 *         epilogues and archs, ranked by the model.
 *
 * Measured rows of the arch are tried first, exact and then near; predicted rows come after them,
 * because a prediction may be made by anybody without a GPU.
 *
 * An exact measured row is the answer if it won a final, in which what was handed out before was
 * timed in turns with it.  Else (a sweep was killed, or did not get to its final) it is weighed
 * against the answer that there would be without it: see weigh(). */
#include "lookup/lookup_impl.h"

#include "base/err.h"
#include "problem/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GT_NEAR_TAKEN 8    /* winners handed to the model */
#define GT_NEAR_TRIES 16   /* winners of kernels that serve the problem, looked at for them */
#define GT_MAX_SMS    4096 /* as in a profile (src/problem/device.c) */

/* Estimated slowdown of an answer against a tuned kernel.  Rules of thumb: about 5 % for each
 * doubling of a size between the problem asked for and the one tuned, 5 % each for another device
 * of the arch, a template changed since and a point that had to be adapted, 15 % for a model's
 * choice that was never run, a third for what was never tuned on the arch. */
#define GT_LOSS_NEAR      0.02
#define GT_LOSS_OCTAVE    0.05
#define GT_LOSS_DEVICE    0.05
#define GT_LOSS_CHANGED   0.05
#define GT_LOSS_ADAPTED   0.05
#define GT_LOSS_PREDICTED 0.15
#define GT_LOSS_FAMILY    0.33
#define GT_LOSS_RACED     0.10 /* a row that won no final: the best of few may be far from the best */
#define GT_LOSS_MOST      1.0

/* A row that won no final is trusted where the model expects at least so many times its time of the
 * answer without it: of winners of near problems, whose times correct the model, and of others,
 * where nothing was ever measured. */
#define GT_TRUST_NEAR   2.0 /* so far the model may be wrong about a single problem */
#define GT_TRUST_FAMILY 1.25

/* What is being resolved, and the best answer so far. */
struct search {
    const struct gt_sources *sources;
    const char *device_name; /* NULL: any of the arch */
    struct gt_resolved *resolved;
    const struct gt_table_row *row; /* of the best so far; NULL: a default point */
    double score;                   /* of the best so far, in expected microseconds; 0: none */
    double expected_us;             /* of the best so far; 0: the model cannot tell */
    bool found;
    bool doubted; /* rows of this problem that won no final are left out */
};

/* A row that may serve, and how far its problem is. */
struct neighbour {
    const struct gt_table_row *row;
    double distance, loss;
};

static double octaves(int64_t x, int64_t y)
{
    return fabs(log2((double)(x > 0 ? x : 1)) - log2((double)(y > 0 ? y : 1)));
}

/* In doublings.  Sizes count singly; so does the number of tiles of D, which decides how well the
 * GPU is filled; the depth counts half: beyond the pipeline's filling it changes little. */
static double distance(const struct gt_problem *x, const struct gt_problem *y)
{
    const double m = octaves(x->m, y->m), n = octaves(x->n, y->n), k = octaves(x->k, y->k);
    const double tiles =
        fabs(log2((double)(x->m > 0 ? x->m : 1)) + log2((double)(x->n > 0 ? x->n : 1)) +
             log2((double)x->batch) - log2((double)(y->m > 0 ? y->m : 1)) -
             log2((double)(y->n > 0 ? y->n : 1)) - log2((double)y->batch));

    return sqrt(m * m + n * n + 0.25 * k * k + 0.5 * tiles * tiles);
}

/* Whether a winner for the one problem may compute the other: same types, and at least the accuracy
 * asked for; same layout and epilogue unless it is a distant relative that is looked for. */
static bool same_kind(const struct gt_problem *asked, const struct gt_problem *tuned, bool distant)
{
    return asked->type == tuned->type && asked->out == tuned->out && asked->acc == tuned->acc &&
           tuned->accuracy <= asked->accuracy &&
           (distant || (asked->trans_a == tuned->trans_a && asked->trans_b == tuned->trans_b &&
                        asked->epilogue == tuned->epilogue));
}

/* The time to expect here.  The model's estimate, and for a row that was timed cold, scaled by how
 * far off the model is where it can be checked: for the row's own point on its own problem, the
 * less the farther that is.  0: cannot be told. */
static double expect_us(const struct gt_candidate *candidate, const struct gt_geometry *geometry,
                        const struct gt_table_row *row)
{
    struct gt_candidate there = *candidate;
    struct gt_geometry unused;
    double us = gt_lookup_predict(candidate, geometry), us_there = 0;

    if (!row || row->predicted || row->warm_l2 || row->cc != candidate->device->cc || us == 0)
        return us;
    there.problem = &row->problem;
    if (gt_point_parse(&there.point, there.kernel, row->point, NULL) == GT_OK &&
        gt_lookup_fits(&there, &unused))
        us_there = gt_lookup_predict(&there, &unused);
    if (us_there <= 0)
        return us;
    return us * pow(row->us / us_there, exp2(-distance(candidate->problem, &row->problem)));
}

/* Takes the candidate as the answer if it is the best so far. */
static void consider(struct search *search, const struct gt_candidate *candidate,
                     const struct gt_geometry *geometry, const struct gt_table_row *row,
                     double loss)
{
    struct gt_resolved *resolved = search->resolved;
    double us = expect_us(candidate, geometry, row), score = us * (1 + loss);

    /* Where the model cannot tell, the first one, which is the nearest, stays. */
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

const struct gt_kernel *gt_lookup_kernel(const struct gt_kernels *kernels, const char *name)
{
    for (size_t i = 0; i < kernels->count; i++)
        if (strcmp(kernels->kernel[i]->name, name) == 0)
            return kernels->kernel[i];
    return NULL;
}

/* The row's kernel and point for the problem asked for; false: there is no such kernel or point
 * any more, or it does not serve the problem. */
static bool take_row(const struct search *search, const struct gt_table_row *row,
                     struct gt_candidate *candidate)
{
    const struct gt_resolved *resolved = search->resolved;

    candidate->problem = &resolved->problem;
    candidate->device = &resolved->device;
    candidate->kernel = gt_lookup_kernel(&search->sources->kernels, row->kernel);
    return candidate->kernel &&
           gt_kernel_serves(candidate->kernel, candidate->problem, candidate->device, NULL) &&
           gt_point_parse(&candidate->point, candidate->kernel, row->point, NULL) == GT_OK;
}

static bool same_device(const struct search *search, const struct gt_table_row *row)
{
    return !search->device_name || strcmp(row->device, search->device_name) == 0;
}

/* Gives the profile of the arch the figures of the device that the row was tuned on: a point for 16
 * multiprocessors need not be valid for 132.  The figures of a GPU that is there stay. */
static void take_device(struct gt_device *device, const struct gt_table_row *row)
{
    if (!device->profile || row->sms < 1 || row->sms > GT_MAX_SMS)
        return;
    device->sms = row->sms;
    if (row->l2_bytes > 0)
        device->l2_bytes = row->l2_bytes;
}

/* A device that is asked for by name and in a table is known from there. */
static void find_device(struct search *search)
{
    const struct gt_table *table = &search->sources->table;
    struct gt_device *device = &search->resolved->device;

    for (const struct gt_table_row *row = table->row; row < table->row + table->rows; row++)
        if (row->cc == device->cc && search->device_name && same_device(search, row) &&
            row->sms > 0) {
            take_device(device, row);
            return;
        }
}

/* Which of two rows of the same problem and device to take, both measured or both predicted: the
 * winner of a final; timed with cold L2 before warm; of measured ones the faster; else the first,
 * which is the user's. */
static bool is_better(const struct gt_table_row *row, const struct gt_table_row *best)
{
    if (row->contested != best->contested)
        return row->contested;
    if (row->warm_l2 != best->warm_l2)
        return best->warm_l2;
    return !row->predicted && row->us < best->us;
}

bool gt_lookup_same_problem(const struct gt_problem *asked, const struct gt_table_row *row)
{
    struct gt_problem_key key, tuned;

    gt_problem_key(&key, asked);
    gt_problem_key(&tuned, &row->problem);
    return memcmp(&key, &tuned, sizeof(key)) == 0;
}

/* A winner was measured: what its description bets on, it has shown itself. */
static bool is_possible(const struct gt_candidate *candidate, struct gt_geometry *geometry)
{
    int failed;

    return gt_candidate_possible(candidate, &failed, NULL) == GT_OK && failed < 0 &&
           gt_candidate_geometry(candidate, geometry, NULL) == GT_OK;
}

/* The best row of the very problem that still works here; a prediction counts for all devices of
 * the arch. */
static void find_exact(struct search *search, bool predicted)
{
    const struct gt_table *table = &search->sources->table;
    struct gt_resolved *resolved = search->resolved;
    const struct gt_device profile = resolved->device;
    const struct gt_table_row *best = NULL;

    for (const struct gt_table_row *row = table->row; row < table->row + table->rows; row++) {
        struct gt_device device = profile;
        struct gt_candidate candidate;
        struct gt_geometry geometry;

        if (row->cc != device.cc || row->predicted != predicted ||
            !(predicted || same_device(search, row)) || (best && !is_better(row, best)) ||
            !gt_lookup_same_problem(&resolved->problem, row))
            continue;
        take_device(&device, row);
        if (!take_row(search, row, &candidate) ||
            strcmp(row->signature, candidate.kernel->signature) != 0)
            continue;
        candidate.device = &device;
        if (!is_possible(&candidate, &geometry))
            continue;
        best = row;
        resolved->kernel = candidate.kernel;
        resolved->point = candidate.point;
        resolved->geometry = geometry;
        resolved->device = device;
    }
    search->found = best != NULL;
    search->row = best;
    resolved->answer.expected_loss = best && predicted ? GT_LOSS_PREDICTED : 0;
}

static int nearer(const void *x, const void *y)
{
    const struct neighbour *a = x, *b = y;

    if (a->loss != b->loss)
        return a->loss < b->loss ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

/* Which rows are looked at. */
struct among {
    bool distant;   /* of any arch, layout and epilogue; else of those asked for */
    bool predicted; /* predicted rows only; else measured ones only */
};

static bool is_doubted(const struct search *search, const struct gt_table_row *row)
{
    return search->doubted && !row->contested && same_device(search, row) &&
           gt_lookup_same_problem(&search->resolved->problem, row);
}

/* Rows of the same kind of problem, nearest first. */
static int list_neighbours(const struct search *search, struct among among, struct neighbour **list,
                           size_t *count, struct gt_err *err)
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
        if (!same_device(search, row))
            to->loss += GT_LOSS_DEVICE;
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
static int find_near(struct search *search, struct among among, struct gt_err *err)
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

        if (!take_row(search, list[i].row, &candidate))
            continue;
        tried++;
        won = candidate.point;
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

/* What the ranking expects of the choice here.  The loss is what choices of its kind lost on
 * problems that it had not learned from. */
static void take_choice(struct search *search, const struct gt_choice *choice)
{
    struct gt_resolved *resolved = search->resolved;
    const struct gt_ranking_loss *loss =
        &search->sources->ranking.loss[gt_ranking_kind(&resolved->problem)];

    search->found = true;
    search->expected_us = choice->us;
    search->row = choice->row;
    resolved->kernel = choice->kernel;
    resolved->point = choice->point;
    resolved->geometry = choice->geometry;
    resolved->answer.expected_loss = loss->problems ? loss->mean : GT_LOSS_FAMILY;
}

/* Lets prototypes and the nearest winners compete, where there is a ranking for the arch. */
static int find_ranked(struct search *search, struct gt_err *err)
{
    const struct gt_resolved *resolved = search->resolved;
    struct gt_near_rows near = {.count = 0};
    struct gt_choice choice;
    struct neighbour *list;
    size_t count;
    int code;

    if (search->sources->ranking.cc != resolved->device.cc)
        return GT_OK;
    code = list_neighbours(search, (struct among){.predicted = false}, &list, &count, err);
    if (code)
        return code;
    for (size_t i = 0; i < count && near.count < GT_NEAR_MOST; i++)
        near.row[near.count++] = list[i].row;
    free(list);
    if (gt_lookup_choose(search->sources, &resolved->problem, &resolved->device, &near, &choice))
        take_choice(search, &choice);
    return GT_OK;
}

/* What near winners lead to: by a ranking, where there is one and something is valid; else by the
 * model alone. */
static int find_close(struct search *search, bool predicted, struct gt_err *err)
{
    const int code = predicted ? GT_OK : find_ranked(search, err);

    return code || search->found ? code
                                 : find_near(search, (struct among){.predicted = predicted}, err);
}

/* Default points of the kernels that serve the problem: those meant for use, or, where none of them
 * works, the rungs of the ladder, the highest first. */
static void find_default(struct search *search, bool production)
{
    const struct gt_kernels *kernels = &search->sources->kernels;
    struct gt_candidate candidate = {.problem = &search->resolved->problem,
                                     .device = &search->resolved->device};

    for (size_t i = kernels->count; i-- > 0;) {
        struct gt_geometry geometry;

        candidate.kernel = kernels->kernel[i];
        if (candidate.kernel->production != production ||
            !gt_kernel_serves(candidate.kernel, candidate.problem, candidate.device, NULL))
            continue;
        gt_point_default(&candidate.point, candidate.kernel);
        if (gt_lookup_fits(&candidate, &geometry) || gt_lookup_repair(&candidate, &geometry) ||
            gt_lookup_walk(&candidate, &geometry))
            consider(search, &candidate, &geometry, NULL, GT_LOSS_FAMILY);
    }
}

/* The public part, from what was found. */
static int describe(const struct search *search, enum gt_tier tier, struct gt_err *err)
{
    struct gt_resolved *resolved = search->resolved;
    struct gt_answer *answer = &resolved->answer;
    const struct gt_geometry *geometry = &resolved->geometry;
    struct gt_strbuf point = GT_STRBUF_INIT;

    answer->tier = tier;
    answer->kernel = resolved->kernel->name;
    gt_point_format(&point, resolved->kernel, &resolved->point);
    answer->point = gt_strbuf_detach(&point);
    if (!answer->point)
        return gt_err_nomem(err);
    if (search->row) {
        answer->device = search->row->device;
        answer->tuned_for = search->row->text;
        answer->predicted = search->row->predicted;
        answer->tuned_us = search->row->us;
        answer->baseline_us = search->row->baseline_us;
    }
    if (tier == GT_TIER_EXACT) {
        answer->us = search->row->us;
        answer->contested = search->row->contested;
        answer->trials = search->row->trials;
        if (answer->contested && *search->row->algo && answer->baseline_us < answer->us)
            answer->cublaslt = search->row->algo;
    }
    answer->expected_us = tier == GT_TIER_EXACT ? answer->us : search->expected_us;
    if (geometry->launches) {
        memcpy(answer->grid, geometry->launch[0].grid, sizeof(answer->grid));
        memcpy(answer->block, geometry->launch[0].block, sizeof(answer->block));
        answer->shared_bytes = geometry->launch[0].shared_bytes;
    }
    answer->workspace_bytes = geometry->workspace_bytes;
    answer->varies = !geometry->deterministic;
    return GT_OK;
}

static int find_family(struct search *search, struct gt_err *err)
{
    int code;

    find_default(search, true);
    code = find_near(search, (struct among){.distant = true}, err);
    if (!code && !search->found)
        find_default(search, false);
    return code;
}

/* Whether the answer without the row may stand: *search has it, `row` is the search with the row.
 */
static bool stands(const struct search *search, const struct search *row,
                   const struct gt_resolved *own, enum gt_tier tier)
{
    const struct gt_resolved *other = search->resolved;
    const double us = row->row->us;

    if (!search->found || (other->kernel == own->kernel &&
                           memcmp(other->point.value, own->point.value,
                                  sizeof(own->point.value[0]) * own->kernel->params) == 0))
        return false; /* the row says how long that very point takes */
    if (tier == GT_TIER_NEAR)
        return search->expected_us < GT_TRUST_NEAR * us;
    return search->expected_us > 0 && search->expected_us < GT_TRUST_FAMILY * us;
}

/* An exact row that won no final was found: takes the answer without it instead, if the model does
 * not expect that to be clearly slower.  Where the model cannot tell, the answer made from a near
 * winner stands, and a default point does not.  device: as it was before the row. */
static int weigh(struct search *search, const struct gt_device *device, enum gt_tier *tier,
                 struct gt_err *err)
{
    const struct search exact = *search;
    const struct gt_resolved own = *search->resolved;
    int code;

    search->doubted = true;
    search->found = false;
    search->row = NULL;
    search->score = search->expected_us = 0;
    search->resolved->device = *device;
    *tier = GT_TIER_NEAR;
    code = find_close(search, false, err);
    if (!code && !search->found) {
        *tier = GT_TIER_FAMILY;
        code = find_family(search, err);
    }
    if (code || stands(search, &exact, &own, *tier))
        return code;
    *search = exact;
    *search->resolved = own;
    search->resolved->answer.expected_loss = GT_LOSS_RACED;
    *tier = GT_TIER_EXACT;
    return GT_OK;
}

/* The tiers one after the other, until one has an answer. */
static int find_tier(struct search *search, enum gt_tier *tier, struct gt_err *err)
{
    const struct gt_device device = search->resolved->device;
    int code = GT_OK;

    for (int predicted = 0; predicted < 2; predicted++) {
        *tier = GT_TIER_EXACT;
        find_exact(search, predicted);
        if (search->found)
            return search->row->contested ? GT_OK : weigh(search, &device, tier, err);
        *tier = GT_TIER_NEAR;
        code = find_close(search, predicted, err);
        if (code || search->found)
            return code;
    }
    *tier = GT_TIER_FAMILY;
    return find_family(search, err);
}

int gt_lookup_resolve(const struct gt_sources *sources, const char *device_name,
                      struct gt_resolved *resolved, struct gt_err *err)
{
    struct search search = {.sources = sources, .device_name = device_name, .resolved = resolved};
    enum gt_tier tier;
    int code;

    resolved->answer.tier = GT_TIER_NONE;
    find_device(&search);
    code = find_tier(&search, &tier, err);
    if (!code && search.found)
        code = describe(&search, tier, err);
    return code ? code : gt_lookup_explain(sources, device_name, search.row, resolved, err);
}
