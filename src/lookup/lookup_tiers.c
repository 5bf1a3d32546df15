/* lookup_tiers.c - finds the answer for a problem: exact, near, family, none.
 *
 * exact         a row of this problem, tuned on this device with the kernel's present template.
 * near, family  an answer made from other tuned problems.
 *
 * Measured rows of the arch are tried first, exact and then near; predicted rows come after them,
 * because a prediction may be made by anybody without a GPU.
 *
 * An exact measured row is the answer if it won a final, in which the answer handed out before was
 * timed in turns with it.  Otherwise (a sweep was killed, or did not get to its final, or a model
 * chose the row) the row is weighed against the answer that there would be without it: see
 * weigh(). */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/stats.h"
#include "base/strbuf.h"
#include "lookup/lookup_impl.h"
#include "problem/problem.h"
#include "problem/trial.h"

#define MAX_SMS 4096 /* as in a profile (src/problem/device.c) */

/* A row of the system's table comes before the user's own row if its time is at most this times the
 * user's time: GPUs of one name differ by a few percent, and so do days. */
#define FAR_FASTER 0.95

/* A row that won no final is trusted if the model expects the answer without it to take at least so
 * many times the row's time.  TRUST_NEAR is for answers from winners of near problems, whose times
 * correct the model; TRUST_FAMILY is for other answers, where nothing was ever measured. */
#define TRUST_NEAR   2.0 /* the model may be wrong by so much about a single problem */
#define TRUST_FAMILY 1.25

/* For a predicted row both times are the model's.  But the row's kernel was compiled, while the
 * registers of the answer without the row are a guess.  So that answer has to look clearly
 * faster. */
#define TRUST_PREDICTED 0.75

/* FP32 is taken in place of TF32 if it takes at most this times as long. */
#define EXACT_COST 1.01

/* Estimated slowdown of an answer against a tuned kernel.  Rules of thumb: about 5 % for each
 * doubling of a size between the problem asked for and the tuned problem; 5 % each for another
 * device of the arch, for a template that was changed since, and for a point that had to be
 * adapted; 15 % for a model's choice that was never run; a third for a problem like which none was
 * tuned on the arch. */
#define LOSS_NEAR      0.02
#define LOSS_OCTAVE    0.05
#define LOSS_CHANGED   0.05
#define LOSS_ADAPTED   0.05
#define LOSS_PREDICTED 0.15
#define LOSS_FAMILY    0.33
#define LOSS_RACED     0.10 /* a row that won no final: the best of few may be far from the best */
#define LOSS_MOST      1.0

/* The state of a look-up: the problem to resolve, and the best answer so far. */
struct search {
    const struct gt_sources *sources;
    const char *device_name;          /* NULL: any device of the arch */
    const struct gt_ranking *ranking; /* the ranking for the device; NULL: there is none */
    struct gt_resolved *resolved;
    const struct gt_table_row *row; /* row of the best answer so far; NULL: a default point */
    double score;                   /* of the best answer so far, in microseconds; 0: no estimate */
    double expected_us;             /* expected time of the best answer so far; 0: unknown */
    double off;                     /* the model's error on the nearest row of the device */
    bool found;
    bool doubted; /* rows of this problem that won no final are left out */
};

/* The row's kernel and point for the problem asked for; false: the kernel or point no longer
 * exists, or the kernel does not serve the problem. */
static bool take_row(const struct search *search, const struct gt_table_row *row,
                     struct gt_candidate *candidate)
{
    const struct gt_resolved *resolved = search->resolved;

    candidate->problem = &resolved->problem;
    candidate->device = &resolved->device;
    candidate->kernel = gt_kernels_find(&search->sources->kernels, row->kernel, NULL);
    return candidate->kernel &&
           gt_kernel_serves(candidate->kernel, candidate->problem, candidate->device) &&
           gt_point_parse(&candidate->point, candidate->kernel, row->point, NULL) == GT_OK;
}

/* Whether the row was tuned on the device that is asked for. */
static bool same_device(const struct search *search, const struct gt_table_row *row)
{
    const struct gt_device *device = &search->resolved->device;

    if (row->limited)
        return false;
    return !search->device_name || (gt_device_same(row->device, search->device_name) &&
                                    (row->sms == 0 || row->sms == device->sms));
}

/* Gives the profile of the arch the figures of the device that the row was tuned on: a point for 16
 * multiprocessors need not be valid for 132.  The figures of a GPU that is present stay. */
static void take_device(struct gt_device *device, const struct gt_table_row *row)
{
    if (!device->profile || row->sms < 1 || row->sms > MAX_SMS)
        return;
    device->sms = row->sms;
    if (row->l2_bytes > 0)
        device->l2_bytes = row->l2_bytes;
}

/* Takes the facts of a device that is asked for by name from the tables, if a table has the device.
 * Among several entries, the entry with the most multiprocessors is the whole device.  If the
 * device has no profile, words of its name will do. */
static void find_device(struct search *search)
{
    const struct gt_table *table = &search->sources->table;
    struct gt_device *device = &search->resolved->device;
    bool known =
        search->device_name && (!device->profile || strcmp(search->device_name, device->name) == 0);

    for (const struct gt_table_row *row = table->row; row < table->row + table->rows; row++)
        if (row->cc == device->cc && search->device_name &&
            (gt_device_same(row->device, search->device_name) ||
             (!known && gt_device_called(row->device, search->device_name))) &&
            (!known || row->sms > device->sms)) {
            search->device_name = row->device;
            take_device(device, row);
            known = true;
        }
}

/* Whether the row is better than the best one of the same problem and device, where both are
 * measured or both predicted.  The winner of a final comes first; then cold timing before warm, and
 * warm before chains; then the faster of measured rows; else the first row, which is the user's. */
static bool is_better(const struct search *search, const struct gt_table_row *row,
                      const struct gt_table_row *best)
{
    const struct gt_table_row *users = search->sources->table.row + search->sources->user_rows;

    if (row->contested != best->contested)
        return row->contested;
    if (row->timing != best->timing)
        return row->timing < best->timing;
    return !row->predicted && row->us < best->us * (best < users && row >= users ? FAR_FASTER : 1);
}

/* A winner may break bets of its description: it was measured, so a bet tells nothing more. */
static bool is_possible(const struct gt_candidate *candidate, struct gt_geometry *geometry)
{
    int failed;

    return gt_candidate_possible(candidate, &failed, NULL) == GT_OK && failed < 0 &&
           gt_candidate_geometry(candidate, geometry, NULL) == GT_OK;
}

/* The best row of the very problem and device that still works here. */
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

        if (row->cc != device.cc || row->predicted != predicted || !same_device(search, row) ||
            (best && !is_better(search, row, best)) ||
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
    resolved->answer.expected_loss = best && predicted ? LOSS_PREDICTED : 0;
}

/* Fills the public part of the answer. */
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
        resolved->elsewhere = !same_device(search, search->row);
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
    gt_answer_take_geometry(answer, geometry);
    return GT_OK;
}

/* Whether the answer without the row may stand; `row` is the search with the row. */
static bool stands(const struct search *search, const struct search *row,
                   const struct gt_resolved *own, enum gt_tier tier)
{
    const struct gt_resolved *other = search->resolved;
    const double us = row->row->us;
    const double trust = row->row->predicted ? TRUST_PREDICTED : TRUST_FAMILY;

    if (!search->found || gt_resolved_same(own, other->kernel, &other->point))
        return false; /* the row is the measured time of that very point */
    if (tier == GT_TIER_NEAR)
        return search->expected_us < TRUST_NEAR * us;
    return search->expected_us > 0 && search->expected_us < trust * us;
}

/* ---- near and family: answers for a problem that was not tuned ----
 *
 * near    the prototype or winner of a near tuned problem of the arch for which a ranking expects
 *         the least time here (lookup_choose.c); without a ranking for the arch, the near winner,
 *         adapted to this problem (lookup_repair.c), that the model ranks first.
 * family  no similar problem was tuned on the arch: default points and winners of other layouts,
 *         epilogues and archs, ranked by the model. */

/* Which rows take part. */
struct among {
    bool distant;   /* rows of any arch, layout and epilogue; else only of those asked for */
    bool predicted; /* only predicted rows; else only measured rows */
};

/* A row that may serve, and the distance of its problem. */
struct neighbour {
    const struct gt_table_row *row;
    double distance, loss;
    bool kin; /* the row was tuned on the device that the ranking was learned on */
};

#define NEAR_TAKEN 8 /* winners handed to the model */

static double octave(int64_t size)
{
    return log2((double)(size > 0 ? size : 1));
}

/* The distance in doublings.  Sizes count once; so does the number of tiles of D, which decides how
 * well the GPU is filled.  The depth counts half, because it changes little once the pipeline is
 * full. */
static double distance(const struct gt_problem *x, const struct gt_problem *y)
{
    const double m = octave(x->m) - octave(y->m), n = octave(x->n) - octave(y->n);
    const double k = octave(x->k) - octave(y->k);
    const double tiles = octave(x->m) + octave(x->n) + octave(x->batch) - octave(y->m) -
                         octave(y->n) - octave(y->batch);

    return sqrt(m * m + n * n + 0.25 * k * k + 0.5 * tiles * tiles);
}

/* The expected time of the candidate, or 0 if it is not known: the model's estimate.  For a row
 * that was timed cold, the estimate is scaled by the model's error on the row's own point and
 * problem.  The farther that problem is, the less the error counts.  A row of another device tells
 * that device's time, so the error is taken from a row of this device, if one was met before. */
static double expect_us(struct search *search, const struct gt_candidate *candidate,
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
    if (!same_device(search, row))
        off = search->off > 0 ? search->off : off;
    else if (!(search->off > 0))
        search->off = off;
    return us * pow(off, exp2(-distance(candidate->problem, &row->problem)));
}

/* Takes the candidate as the answer if it is the best so far. */
static void consider(struct search *search, const struct gt_candidate *candidate,
                     const struct gt_geometry *geometry, const struct gt_table_row *row,
                     double loss)
{
    struct gt_resolved *resolved = search->resolved;
    double us = expect_us(search, candidate, geometry, row), score = us * (1 + loss);

    /* Without an estimate the first candidate stays, which is of the nearest problem. */
    if (search->found && (score == 0 || (search->score > 0 && score >= search->score)))
        return;
    search->found = true;
    search->score = score;
    search->expected_us = us;
    search->row = row;
    resolved->kernel = candidate->kernel;
    resolved->point = candidate->point;
    resolved->geometry = *geometry;
    resolved->answer.expected_loss = loss < LOSS_MOST ? loss : LOSS_MOST;
}

#define NEAR_TRIES 16 /* nearest winners of serving kernels, among which NEAR_TAKEN are found */

static bool is_doubted(const struct search *search, const struct gt_table_row *row)
{
    return search->doubted && !row->contested && same_device(search, row) &&
           gt_lookup_same_problem(&search->resolved->problem, row);
}

/* Whether a winner for the tuned problem may compute the problem asked for: the types are the same,
 * the accuracy is at least as good and, unless distant relatives are wanted, the layout is the
 * same.  What is done with the sums does not matter. */
static bool same_kind(const struct gt_problem *asked, const struct gt_problem *tuned, bool distant)
{
    return asked->type == tuned->type && asked->out == tuned->out && asked->acc == tuned->acc &&
           tuned->accuracy <= asked->accuracy &&
           (distant || (asked->trans_a == tuned->trans_a && asked->trans_b == tuned->trans_b &&
                        gt_epilogue_gated(asked->epilogue) == gt_epilogue_gated(tuned->epilogue)));
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

/* Lists the rows of the same kind of problem, nearest first. */
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
        to->loss = LOSS_NEAR + LOSS_OCTAVE * to->distance;
        if (!same_device(search, row))
            to->loss += GT_LOSS_DEVICE;
        to->kin = search->ranking && gt_device_same(row->device, search->ranking->device);
        if (row->predicted)
            to->loss += LOSS_PREDICTED;
        if (gt_problem_reads_c(problem) != gt_problem_reads_c(&row->problem) ||
            problem->epilogue != row->problem.epilogue)
            to->loss += LOSS_ADAPTED;
        if (!row->contested)
            to->loss += LOSS_RACED;
        if (among.distant)
            to->loss += LOSS_FAMILY;
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

    for (size_t i = 0; !code && i < count && tried < NEAR_TRIES && taken < NEAR_TAKEN; i++) {
        double loss = list[i].loss;
        bool adapted = false;
        struct gt_candidate candidate;
        struct gt_point won;
        struct gt_geometry geometry;

        if (!take_row(search, list[i].row, &candidate))
            continue;
        tried++;
        won = candidate.point;
        gt_candidate_renew(&candidate);
        if (strcmp(list[i].row->signature, candidate.kernel->signature) != 0)
            loss += LOSS_CHANGED;
        if (!gt_lookup_fits(&candidate, &geometry)) {
            if (!gt_lookup_repair(&candidate, &geometry))
                continue;
            adapted = true;
        }
        if (gt_lookup_refine(&candidate, &won, &list[i].row->problem, &geometry) || adapted)
            loss += LOSS_ADAPTED;
        consider(search, &candidate, &geometry, list[i].row, loss);
        taken++;
    }
    free(list);
    return code;
}

/* Lets default points compete: those of the kernels in production or, in a second call, those of
 * the ladder's kernels, the highest rung first. */
static void find_default(struct search *search, bool production)
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
            consider(search, &candidate, &geometry, NULL, LOSS_FAMILY);
    }
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

/* The candidates of the search's ranking, the best first; none without a ranking. */
static int list_choices(const struct search *search, struct gt_choices *choices, struct gt_err *err)
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

/* Takes the ranking's choice.  The answer's loss is the mean loss of the ranking's choices on
 * problems left out of learning. */
static void take_choice(struct search *search, const struct gt_choice *choice)
{
    struct gt_resolved *resolved = search->resolved;
    const struct gt_ranking_loss *loss =
        &search->ranking->loss[gt_ranking_kind(&resolved->problem)];

    search->found = true;
    search->expected_us = choice->us;
    search->row = choice->row;
    resolved->kernel = choice->kernel;
    resolved->point = choice->point;
    resolved->answer.expected_loss = loss->problems ? loss->mean : LOSS_FAMILY;
    resolved->answer.ranking = search->ranking->device;
}

/* Lets prototypes and the nearest winners compete, where there is a ranking for the arch. */
static int find_ranked(struct search *search, struct gt_err *err)
{
    struct gt_resolved *resolved = search->resolved;
    struct gt_choices choices;
    int code = list_choices(search, &choices, err);

    if (code || !choices.count)
        return code;
    take_choice(search, &choices.choice[0]);
    return gt_resolved_geometry(resolved, err);
}

/* Finds an answer from near winners: by a ranking, if there is one and a candidate is valid; else
 * by the model alone.  predicted: uses only predicted rows; else only measured rows. */
static int find_close(struct search *search, bool predicted, struct gt_err *err)
{
    const int code = predicted ? GT_OK : find_ranked(search, err);

    return code || search->found ? code
                                 : find_near(search, (struct among){.predicted = predicted}, err);
}

/* Weighs an exact row that won no final against the answer without the row.  For a measured row,
 * that answer is taken unless the model expects it to be clearly slower; for a predicted row, only
 * if the model expects it to be clearly faster.  Where the model cannot tell, an answer made from a
 * near winner is taken, and a default point is not.  device: the device as it was before the row
 * was taken. */
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
    if (!search->row->predicted)
        search->resolved->answer.expected_loss = LOSS_RACED;
    *tier = GT_TIER_EXACT;
    return GT_OK;
}

/* Default points and distant relatives compete with the answer from near predicted rows, if there
 * is one: all of them are the model's choice. */
static int find_far(struct search *search, enum gt_tier *tier, struct gt_err *err)
{
    const double score = search->score;
    const bool near = search->found;
    const int code = find_family(search, err);

    *tier = near && search->score == score ? GT_TIER_NEAR : GT_TIER_FAMILY;
    return code;
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
            return search->row->contested && !predicted ? GT_OK : weigh(search, &device, tier, err);
        *tier = GT_TIER_NEAR;
        code = find_close(search, predicted, err);
        if (code || (search->found && !predicted))
            return code;
    }
    return find_far(search, tier, err);
}

int gt_lookup_alternatives(const struct gt_sources *sources, const struct gt_resolved *resolved,
                           struct gt_choices *choices, struct gt_err *err)
{
    struct gt_resolved copy = *resolved;
    const struct search search = {
        .sources = sources,
        .device_name = resolved->device.name,
        .ranking = gt_rankings_for(&sources->rankings, &copy.device, copy.device.name),
        .resolved = &copy};

    return list_choices(&search, choices, err);
}

int gt_lookup_take_choice(const struct gt_choice *choice, struct gt_resolved *resolved,
                          struct gt_err *err)
{
    const struct gt_answer *before = &resolved->answer;
    struct gt_resolved taken;
    const struct search search = {
        .row = choice->row, .expected_us = choice->us, .resolved = &taken};
    int code = gt_resolved_with(&taken, resolved, choice, err);

    taken.answer = (struct gt_answer){.expected_loss = before->expected_loss,
                                      .passed_over = before->passed_over,
                                      .ranking = before->ranking};
    GT_STEP(code, describe(&search, GT_TIER_NEAR, err));
    if (code)
        return code;
    free((char *)before->point);
    *resolved = taken;
    return GT_OK;
}

/* ---- rows that were not taken ----
 *
 * A row of the very problem that is not the answer is named with the reason, because whoever tuned
 * the problem expects it. */

/* Whether the row is better to name: measured before predicted, cold before warm, then faster. */
static bool says_more(const struct gt_table_row *row, const struct gt_table_row *best)
{
    if (!best)
        return true;
    if (row->predicted != best->predicted)
        return best->predicted;
    if (row->timing != best->timing)
        return row->timing < best->timing;
    return row->us < best->us;
}

/* Whether `row` is the taken row; the same winner may be in two tables. */
static bool is_taken(const struct gt_table_row *row, const struct gt_table_row *taken)
{
    return taken && row->predicted == taken->predicted && row->timing == taken->timing &&
           row->us == taken->us && strcmp(row->device, taken->device) == 0 &&
           strcmp(row->text, taken->text) == 0 && strcmp(row->kernel, taken->kernel) == 0 &&
           strcmp(row->point, taken->point) == 0;
}

/* Whether the row was compared with the answer without it and not taken (weigh()). */
static bool was_outweighed(const struct gt_table_row *row, const struct gt_table_row *taken,
                           const struct gt_resolved *resolved)
{
    return (row->predicted || !row->contested) &&
           (resolved->answer.tier != GT_TIER_EXACT || (taken && taken->contested));
}

/* Adds the reason why an outweighed row is not the answer. */
static void add_doubt(struct gt_strbuf *text, const struct gt_table_row *row,
                      const struct gt_resolved *resolved)
{
    const struct gt_answer *answer = &resolved->answer;
    char us[GT_ROUGH_MAX];

    gt_rough(us, answer->expected_us);
    if (row->predicted) {
        gt_strbuf_addf(text, "the model expects %s us of this one", us);
        return;
    }
    if (row->trials > 0)
        gt_strbuf_addf(text, "the best of %" PRId64 " trial%s, ", row->trials,
                       row->trials == 1 ? "" : "s");
    gt_strbuf_add(text, "it was never timed in turns with another answer");
    if (answer->tier == GT_TIER_EXACT)
        gt_strbuf_add(text, ", and the row taken won a final");
    else if (answer->expected_us > 0)
        gt_strbuf_addf(text, ", and the model expects %s us of this one%s%s", us,
                       answer->tuned_for ? ", made from the winner of " : "",
                       answer->tuned_for ? answer->tuned_for : "");
}

/* Whether the row was measured on another device than the one asked about, or than the taken
 * row's. */
static bool is_elsewhere(const struct search *search, const struct gt_table_row *row)
{
    if (row->predicted)
        return false;
    if (search->device_name || row->limited)
        return !same_device(search, row);
    return search->row && strcmp(row->device, search->row->device) != 0;
}

/* The reason why the row is not the answer; NULL if it was outweighed. */
static const char *reason(const struct search *search, const struct gt_table_row *row)
{
    const struct gt_resolved *resolved = search->resolved;
    const struct gt_table_row *taken = search->row;
    const struct gt_kernel *kernel = gt_kernels_find(&search->sources->kernels, row->kernel, NULL);

    if (!kernel)
        return "its kernel is not loaded";
    if (strcmp(kernel->signature, row->signature) != 0)
        return "its kernel has changed since";
    if (!row->predicted && row->limited)
        return "it was measured at another power limit";
    if (search->device_name && is_elsewhere(search, row))
        return gt_device_same(row->device, search->device_name)
                   ? "it was measured with another number of multiprocessors"
                   : "it was measured on another device";
    if (row->predicted && taken && !taken->predicted && resolved->answer.tier != GT_TIER_FAMILY)
        return "a measured row comes first";
    if (!same_device(search, row))
        return "it was predicted for another device";
    if (was_outweighed(row, taken, resolved))
        return NULL;
    if (resolved->answer.tier != GT_TIER_EXACT)
        return row->timing == GT_TIMING_GRAPH ? "its point is for chains of launches alone"
                                              : "its point is not valid on this device";
    if (row->timing)
        return "it was timed with operands left in L2 (warm), or in chains";
    if (row->predicted)
        return "another prediction comes first";
    return taken && row->us < taken->us ? "own times come first" : "the row taken is faster";
}

/* Mentions a ranking that could not be read, unless the very device's ranking chose. */
static int explain_damage(const struct search *search, struct gt_err *err)
{
    struct gt_answer *answer = &search->resolved->answer;
    const char *damage = search->sources->rankings.damage, *chosen_by = answer->ranking;

    if (!damage || answer->tier == GT_TIER_EXACT ||
        (chosen_by && search->device_name && gt_device_same(chosen_by, search->device_name)))
        return GT_OK;
    answer->passed_over = strdup(damage);
    return answer->passed_over ? GT_OK : gt_err_nomem(err);
}

/* How near a row is to who asks: measured elsewhere, or about another device, it is farther. */
static int nearness(const struct search *search, const struct gt_table_row *row)
{
    return 2 * !is_elsewhere(search, row) + same_device(search, row);
}

/* As says_more, but rows of another device come last, because nobody expects them. */
static bool is_told(const struct search *search, const struct gt_table_row *row,
                    const struct gt_table_row *best)
{
    const int near = nearness(search, row);

    if (best && near != nearness(search, best))
        return near > nearness(search, best);
    return says_more(row, best);
}

/* Sets answer.passed_over: the best row of the arch that was tuned for the problem and was not
 * taken, with the reason; else, where no row is exact, the damage of the ranking.  search->row
 * NULL: a default point was taken. */
static int explain(const struct search *search, struct gt_err *err)
{
    const struct gt_sources *sources = search->sources;
    const struct gt_table *table = &sources->table;
    const struct gt_table_row *best = NULL;
    struct gt_resolved *resolved = search->resolved;
    struct gt_strbuf text = GT_STRBUF_INIT;
    const bool exact = resolved->answer.tier == GT_TIER_EXACT && !resolved->answer.predicted;
    const char *why;
    char us[GT_ROUGH_MAX];

    for (const struct gt_table_row *row = table->row; row < table->row + table->rows; row++)
        if (row->cc == resolved->device.cc && row != search->row && is_told(search, row, best) &&
            !(exact && is_elsewhere(search, row)) &&
            gt_lookup_same_problem(&resolved->problem, row) && !is_taken(row, search->row))
            best = row;
    if (!best)
        return explain_damage(search, err);
    why = reason(search, best);
    if (best->predicted) /* of which two digits are known */
        gt_rough(us, best->us);
    else
        snprintf(us, sizeof(us), "%.2f", best->us);
    gt_strbuf_addf(&text, "kernel %s, %s us %s on %s (%s): %s", best->kernel, us,
                   best->predicted ? "predicted" : "measured", best->device,
                   best < table->row + sources->user_rows ? "own table" : "system's table",
                   why ? why : "");
    if (!why)
        add_doubt(&text, best, resolved);
    resolved->answer.passed_over = gt_strbuf_detach(&text);
    return resolved->answer.passed_over ? GT_OK : gt_err_nomem(err);
}

/* ---- answers ---- */

int gt_lookup_resolve(const struct gt_sources *sources, const char *device_name,
                      struct gt_resolved *resolved, struct gt_err *err)
{
    struct search search = {.sources = sources, .device_name = device_name, .resolved = resolved};
    enum gt_tier tier;
    int code;

    resolved->answer.tier = GT_TIER_NONE;
    find_device(&search);
    search.ranking = gt_rankings_for(&sources->rankings, &resolved->device, search.device_name);
    code = find_tier(&search, &tier, err);
    if (!code && search.found)
        code = describe(&search, tier, err);
    return code ? code : explain(&search, err);
}

/* Whether the device's multiply-adds take clearly longer than the answer, whatever the kernel, at
 * half as much again as the profile's clock. */
static bool is_out_of_reach(const struct gt_resolved *fast)
{
    const struct gt_device *device = &fast->device;
    const double rate =
        2.0 * device->sms * gt_device_fma(device, fast->problem.acc) * device->clock_mhz; /* a us */

    return rate > 0 && fast->answer.expected_us > 0 &&
           gt_problem_flops(&fast->problem) > 1.5 * rate * fast->answer.expected_us;
}

/* The two times can be compared if both are this problem's, or if both are estimates: estimates are
 * off by more than a percent, but by about the same. */
static bool is_as_fast(const struct gt_answer *exact, const struct gt_answer *fast)
{
    return exact->tier != GT_TIER_NONE &&
           (fast->tier == GT_TIER_NONE ||
            (!fast->cublaslt && !(exact->us > 0) == !(fast->us > 0) &&
             exact->predicted == fast->predicted && exact->contested >= fast->contested &&
             exact->expected_us > 0 && exact->expected_us <= EXACT_COST * fast->expected_us));
}

int gt_lookup_resolve_exactly(const struct gt_sources *sources, const char *device_name,
                              struct gt_resolved *resolved, struct gt_err *err)
{
    struct gt_resolved exact = {.problem = resolved->problem, .device = resolved->device};
    int code = gt_lookup_resolve(sources, device_name, resolved, err);

    if (code || exact.problem.type > GT_TF32 || exact.problem.accuracy < GT_ACCURACY_TF32 ||
        is_out_of_reach(resolved))
        return code;
    gt_lookup_in_f32(&exact.problem);
    code = gt_lookup_resolve(sources, device_name, &exact, err);
    if (code || !is_as_fast(&exact.answer, &resolved->answer)) {
        gt_resolved_release(&exact);
        return code;
    }
    exact.answer.in_f32 = 1;
    exact.answer.baseline_us = resolved->answer.baseline_us; /* cuBLASLt may take TF32 */
    exact.answer.cublaslt = NULL;
    gt_resolved_release(resolved);
    *resolved = exact;
    return GT_OK;
}
