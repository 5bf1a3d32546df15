/* score_space.c - a recorded space, and what a search of it is worth: runs a strategy on virtual
 * time and compares its curve with random search and the optimum. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "score.h"

#define FLYING_MAX 256

static int by_value(const void *x, const void *y)
{
    float a = *(const float *)x, b = *(const float *)y;

    return (a > b) - (a < b);
}

/* What evaluating a point cost, ms. */
static double cost(const struct gt_recorded *point)
{
    return (double)point->compile_ms + (double)point->prove_ms + (double)point->time_ms +
           (double)point->other_ms;
}

static double middle(const float *sorted, size_t count)
{
    return ((double)sorted[(count - 1) / 2] + (double)sorted[count / 2]) / 2;
}

/* The time after which random search is expected to have come that far, ms. */
static double time_to(const struct gt_score_space *space, double percentile)
{
    double target = space->optimum + (space->median - space->optimum) * (1 - percentile);
    size_t worse = 0; /* points slower than the target */

    while ((double)space->sorted[space->count - 1 - worse] > target)
        worse++;
    return ceil((double)worse / (double)(space->count + 1 - worse)) * space->cost_median;
}

static double time_at(const struct gt_score_space *space, size_t i)
{
    return space->begin + (space->end - space->begin) * (double)i / (GT_SCORE_TIMES - 1);
}

/* The best of M points drawn without replacement is expected at place M (N + 1) / (M + 1), counted
 * from the slowest. */
static double random_search(const struct gt_score_space *space, double ms)
{
    double m = fmax(1, rint(ms / space->cost_mean)), n = (double)space->count;
    double place = fmin(n - 1, rint(m * (n + 1) / (m + 1)));

    return (double)space->sorted[space->count - 1 - (size_t)place];
}

static int measure(struct gt_score_space *space, struct gt_err *err)
{
    size_t points = space->recording.points;
    float *costs = calloc(points, sizeof(*costs));

    space->sorted = calloc(points, sizeof(*space->sorted));
    if (!costs || !space->sorted) {
        free(costs);
        return gt_err_nomem(err);
    }
    for (size_t i = 0; i < points; i++) {
        const struct gt_recorded *point = &space->recording.point[i];

        costs[i] = (float)cost(point);
        space->cost_mean += cost(point) / (double)points;
        if (point->us > 0)
            space->sorted[space->count++] = point->us;
    }
    qsort(costs, points, sizeof(*costs), by_value);
    qsort(space->sorted, space->count, sizeof(*space->sorted), by_value);
    space->cost_median = middle(costs, points);
    free(costs);
    if (!space->count || !(space->cost_median > 0))
        return gt_err_set(err, GT_ERANGE, "%s: no point has a time, or none a cost", space->name);
    space->optimum = (double)space->sorted[0];
    space->median = middle(space->sorted, space->count);
    space->begin = time_to(space, GT_SCORE_BEGIN);
    space->end = time_to(space, GT_SCORE_END);
    for (size_t i = 0; i < GT_SCORE_TIMES; i++)
        space->baseline[i] = random_search(space, time_at(space, i));
    return GT_OK;
}

int gt_score_open(struct gt_score_space *space, const char *path, struct gt_err *err)
{
    const char *slash = strrchr(path, '/');
    int rc = gt_recording_load(&space->recording, path, err);

    space->name = slash ? slash + 1 : path;
    GT_STEP(rc, gt_recording_space(&space->space, &space->recording, NULL, NULL, err));
    return rc ? rc : measure(space, err);
}

static void forget(struct gt_score_space *space)
{
    for (size_t i = 0; i < space->transfers; i++) {
        free((void *)space->transfer[i].point);
        free((void *)space->transfer[i].us);
    }
    free(space->transfer);
}

void gt_score_close(struct gt_score_space *space)
{
    forget(space);
    gt_space_release(&space->space);
    gt_recording_release(&space->recording);
    free(space->sorted);
}

/* A point of one space in another, by the names of the parameters; SIZE_MAX: it has none such. */
static size_t translate(const struct gt_score_space *to, const struct gt_score_space *from,
                        size_t i)
{
    const struct gt_kernel *target = to->space.kernel, *source = from->space.kernel;
    struct gt_point here, there = {{0}};

    gt_space_point(&from->space, i, &here);
    for (size_t p = 0; p < target->params; p++) {
        size_t q = 0;

        while (q < source->params && strcmp(source->param[q].name, target->param[p].name) != 0)
            q++;
        if (q == source->params)
            return SIZE_MAX;
        there.value[p] = here.value[q];
    }
    return gt_space_find(&to->space, &there);
}

int gt_score_learn(struct gt_score_space *space, const struct gt_score_space *other, size_t others,
                   struct gt_err *err)
{
    space->transfer = calloc(others + 1, sizeof(*space->transfer));
    if (!space->transfer)
        return gt_err_nomem(err);
    for (size_t o = 0; o < others; o++) {
        struct gt_transfer *transfer = &space->transfer[space->transfers];
        size_t *point, points = other[o].recording.points;
        float *us;

        if (&other[o] == space)
            continue;
        space->transfers++;
        transfer->point = point = calloc(points, sizeof(*point));
        transfer->us = us = calloc(points, sizeof(*us));
        if (!point || !us)
            return gt_err_nomem(err);
        for (size_t i = 0; i < points; i++) {
            point[transfer->count] = translate(space, &other[o], i);
            us[transfer->count] = other[o].recording.point[i].us;
            transfer->count += point[transfer->count] != SIZE_MAX && us[transfer->count] > 0;
        }
    }
    return GT_OK;
}

/* ---- one run ---- */

struct run {
    const struct gt_score_space *space;
    struct gt_score *score;
    struct gt_random random;
    double now, best; /* ms; microseconds, of the fastest point so far */
    size_t next_time; /* of the curve */
    size_t evals;     /* that had a time */
    int told;         /* evaluations, failed ones too */
    double score_sum; /* of the curve so far */
    double regret;    /* after options->regret evaluations: best / optimum - 1 */
};

static double rank_of(const struct gt_score_space *space, double us)
{
    size_t low = 0, high = space->count;

    while (low < high) {
        size_t half = (low + high) / 2;

        if ((double)space->sorted[half] < us)
            low = half + 1;
        else
            high = half;
    }
    return (double)low;
}

/* How far a time lies from random search (0) towards the optimum (1), at one point of the curve. */
static double performance(const struct gt_score_space *space, size_t i, double us)
{
    double gap = space->baseline[i] - space->optimum;

    return gap > 0 ? (space->baseline[i] - us) / gap : 1;
}

/* The curve up to a time, at the best so far. */
static void advance(struct run *run, double ms)
{
    while (run->next_time < GT_SCORE_TIMES && time_at(run->space, run->next_time) < ms) {
        run->score->best[run->next_time] += run->best;
        run->score_sum += performance(run->space, run->next_time, run->best);
        run->score->rank[run->next_time++] += rank_of(run->space, run->best);
    }
    run->now = ms;
}

/* Charges a point and returns what the strategy is told of it. */
static double evaluate(struct run *run, size_t point, bool exact)
{
    const struct gt_recorded *recorded = &run->space->recording.point[point];

    advance(run, run->now + cost(recorded));
    if (!(recorded->us > 0))
        return 0;
    run->best = fmin(run->best, (double)recorded->us);
    if (run->evals < GT_SCORE_EVALS)
        run->score->share[run->evals++] += run->space->optimum / run->best;
    if (exact || !recorded->samples)
        return (double)recorded->us;
    return (double)run->space->recording
        .sample[recorded->first + gt_random_below(&run->random, recorded->samples)];
}

static void drive(struct run *run, struct gt_strategy *strategy,
                  const struct gt_score_options *options)
{
    size_t queue[FLYING_MAX], flying = 0;
    clock_t begin = clock();

    /* What follows the optimum cannot change the score. */
    while (run->best > run->space->optimum &&
           (run->now < run->space->end || run->told < options->regret ||
            run->evals < (size_t)options->follow)) {
        while (flying < (size_t)options->flying &&
               gt_strategy_next(strategy, &queue[flying]) == GT_NEXT_POINT) {
            flying++;
            run->score->asked++;
        }
        if (!flying)
            break;
        gt_strategy_tell(strategy, queue[0], evaluate(run, queue[0], options->exact));
        memmove(queue, queue + 1, --flying * sizeof(queue[0]));
        if (++run->told <= options->regret)
            run->regret = run->best / run->space->optimum - 1;
    }
    run->score->seconds += (double)(clock() - begin) / CLOCKS_PER_SEC;
    advance(run, INFINITY);
    while (run->evals < GT_SCORE_EVALS)
        run->score->share[run->evals++] += run->space->optimum / run->best;
}

/* Means of the sums, and the score from them. */
static void conclude(struct gt_score *score, const struct gt_score_space *space, int runs)
{
    for (size_t i = 0; i < GT_SCORE_EVALS; i++)
        score->share[i] /= runs;
    for (size_t i = 0; i < GT_SCORE_TIMES; i++) {
        double ranked = (double)space->sorted[(size_t)rint(score->rank[i] / runs)];

        score->best[i] /= runs;
        score->performance[i] = performance(space, i, score->best[i]);
        score->score += score->performance[i] / GT_SCORE_TIMES;
        score->by_rank += performance(space, i, ranked) / GT_SCORE_TIMES;
    }
    if (runs > 1)
        score->error =
            sqrt(fmax(score->squares / runs - score->score * score->score, 0) / (runs - 1));
}

int gt_score_run(struct gt_score *score, const char *strategy, const struct gt_score_space *space,
                 const struct gt_score_options *options, struct gt_err *err)
{
    const struct gt_seeds seeds = {.transfer = space->transfer, .transfers = space->transfers};

    *score = (struct gt_score){0};
    for (int seed = 1; seed <= options->seeds; seed++) {
        struct run run = {
            .space = space,
            .score = score,
            .random = {(uint64_t)seed},
            .best = (double)space->sorted[space->count - 1],
        };
        struct gt_strategy *made;
        int rc = gt_strategy_new(&made, strategy, &space->space, (uint64_t)seed, &seeds, err);

        if (rc)
            return rc;
        drive(&run, made, options);
        gt_strategy_free(made);
        score->squares += run.score_sum * run.score_sum / GT_SCORE_TIMES / GT_SCORE_TIMES;
        score->regret += run.regret / options->seeds;
        if (options->runs)
            fprintf(options->runs, "%s,%d,%.6f,%.6f,\"%s\"\n", space->name, seed,
                    run.score_sum / GT_SCORE_TIMES, run.regret, strategy);
    }
    conclude(score, space, options->seeds);
    return GT_OK;
}
