/* scout.c - finds the valid points of each kernel for a problem and ranks the points by the
 * predictor, in threads.  A kernel takes 0.5 to 5 s of a core.  Neither the GPU nor the compilers
 * wait for this if it is done during the turns of the two problems before. */
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/err.h"
#include "lookup/predict.h"
#include "lookup/ranking.h"
#include "sweep/sweep_parts.h"

#define SPACE_BYTES     3e8 /* for the points of all kernels; a larger space is sampled */
#define LISTING_S       27  /* a hostile description has no end: 2^50 points of one constraint */
#define LISTING_LEAST_S 10  /* the same for a short budget: listing simt's points has taken 5 s */
#define POINT_BYTES     14  /* bytes of a point beside its parameters: look-up table, time */

/* ---- the seeds of the description ---- */

/* The values that a pattern names, and the best match so far. */
struct named {
    size_t param[GT_MAX_PARAMS];
    uint8_t index[GT_MAX_PARAMS]; /* of the value */
    size_t count;
    bool nowhere;       /* a named value is not searched (--values) */
    size_t best, usual; /* usual: 1 + the number of defaults that `best` has among the parameters
                           that are not named */
};

static struct named named_by(const struct gt_kernel *kernel, const struct gt_pattern *pattern)
{
    struct named named = {.count = 0, .best = SIZE_MAX};

    for (size_t p = 0; p < kernel->params; p++) {
        uint8_t index = 0;

        if (!(pattern->named >> p & 1))
            continue;
        while (index < kernel->param[p].count &&
               kernel->param[p].value[index] != pattern->point.value[p])
            index++;
        named.nowhere |= index == kernel->param[p].count;
        named.param[named.count] = p;
        named.index[named.count++] = index;
    }
    return named;
}

static bool has_values(const uint8_t *index, const struct named *named)
{
    for (size_t i = 0; i < named->count; i++)
        if (index[named->param[i]] != named->index[i])
            return false;
    return true;
}

static void try_match(const struct gt_kernel *kernel, const struct gt_pattern *pattern,
                      struct named *named, const uint8_t *index, size_t point)
{
    size_t usual = 1;

    if (named->nowhere || !has_values(index, named))
        return;
    for (size_t p = 0; p < kernel->params; p++)
        usual += !(pattern->named >> p & 1) && index[p] == kernel->param[p].standard;
    if (usual <= named->usual)
        return;
    named->usual = usual;
    named->best = point;
}

/* Finds for each seed of the description the point that has the seed's values, and most defaults
 * among its other parameters; SIZE_MAX: no such point is valid.  *described is malloc'ed. */
static int describe(const struct gt_space *space, size_t **described, struct gt_err *err)
{
    const struct gt_kernel *kernel = space->kernel;
    struct named *named = calloc(kernel->seeds + 1, sizeof(*named));

    *described = calloc(kernel->seeds + 1, sizeof(**described));
    if (!named || !*described) {
        free(named);
        return gt_err_nomem(err);
    }
    for (size_t i = 0; i < kernel->seeds; i++)
        named[i] = named_by(kernel, &kernel->seed[i]);
    for (size_t point = 0; point < space->count && kernel->seeds; point++)
        for (size_t i = 0; i < kernel->seeds; i++)
            try_match(kernel, &kernel->seed[i], &named[i], space->index + point * kernel->params,
                      point);
    for (size_t i = 0; i < kernel->seeds; i++)
        (*described)[i] = named[i].best;
    free(named);
    return GT_OK;
}

/* ---- ranking by the predictor ---- */

/* The model predicts an even sample of the points.  Descents from the best of these points lead to
 * points with shorter predicted times.  If there is a ranking learned from measured trials, it then
 * corrects the times of the first points. */

#define SAMPLE     150000 /* points; predicting so many takes about 0.5 s */
#define DESCENTS   48
#define NEIGHBOURS 512
#define CORRECTED  16384 /* points of a list; 0.2 s */

static int compare(const void *x, const void *y)
{
    const struct gt_ranked *a = x, *b = y;

    if (a->us != b->us)
        return a->us < b->us ? -1 : 1;
    if (a->unusual != b->unusual)
        return a->unusual < b->unusual ? -1 : 1;
    return a->point < b->point ? -1 : a->point > b->point;
}

static uint16_t unusual(const struct gt_kernel *kernel, const struct gt_point *point)
{
    uint16_t count = 0;

    for (size_t p = 0; p < kernel->params; p++)
        count += point->value[p] != kernel->param[p].value[kernel->param[p].standard];
    return count;
}

/* Predicts one point, by the model alone if ranking is NULL.  False: there is no prediction,
 * because no block fits an SM or an expression fails. */
static bool predict(const struct gt_space *space, const struct gt_ranking *ranking, size_t i,
                    struct gt_ranked *ranked)
{
    struct gt_candidate candidate = {space->kernel, space->problem, space->device, {{0}}};
    struct gt_geometry geometry;
    struct gt_prediction unused;
    double us;

    gt_space_point(space, i, &candidate.point);
    if (gt_candidate_geometry(&candidate, &geometry, NULL))
        return false;
    if (ranking)
        us = gt_ranking_us(ranking, &candidate, &geometry, HUGE_VAL, &unused);
    else if (gt_predict(&candidate, &geometry, 0, 0, &us, NULL))
        return false;
    if (!(us > 0))
        return false;
    *ranked = (struct gt_ranked){(uint32_t)i, unusual(space->kernel, &candidate.point), (float)us};
    return true;
}

float gt_sweep_expect(void *context, size_t point)
{
    struct gt_arm *arm = context;
    const size_t place = point % (sizeof(arm->expected) / sizeof(*arm->expected));
    struct gt_ranked ranked;

    if (arm->expected[place].after != point + 1) {
        arm->expected[place].after = point + 1;
        arm->expected[place].us = predict(&arm->space, arm->race->options->ranking, point, &ranked)
                                      ? logf(ranked.us)
                                      : NAN;
    }
    return arm->expected[place].us;
}

/* Goes from a point to its best neighbour as long as the neighbour is faster. */
static struct gt_ranked descend(const struct gt_space *space, struct gt_ranked here)
{
    for (;;) {
        struct gt_ranked best = here, next;
        size_t list[NEIGHBOURS];
        size_t count = gt_space_neighbours(space, here.point, list, NEIGHBOURS);

        for (size_t i = 0; i < count && i < NEIGHBOURS; i++)
            if (predict(space, NULL, list[i], &next) && compare(&next, &best) < 0)
                best = next;
        if (best.point == here.point)
            return here;
        here = best;
    }
}

/* Adds the points that descents from the best of the list find. */
static size_t polish(const struct gt_space *space, struct gt_ranked *list, size_t count)
{
    size_t from = count < DESCENTS ? count : DESCENTS, added = count;

    for (size_t i = 0; i < from; i++) {
        struct gt_ranked found = descend(space, list[i]);
        size_t known = count; /* only added points are compared: a point of the sample that is added
                                 again is harmless */

        while (known < added && list[known].point != found.point)
            known++;
        if (known == added)
            list[added++] = found;
    }
    qsort(list, added, sizeof(*list), compare);
    return added;
}

/* Sorts the first points of a list by corrected times. */
static void correct(const struct gt_space *space, const struct gt_ranking *ranking,
                    struct gt_ranked *list, size_t count)
{
    const size_t first = count < CORRECTED ? count : CORRECTED;
    struct gt_ranked corrected;

    for (size_t i = 0; i < first; i++)
        if (predict(space, ranking, list[i].point, &corrected))
            list[i].us = corrected.us;
    qsort(list, first, sizeof(*list), compare);
}

/* Ranks the space, or an even sample of the space: the shortest predicted time first, among equals
 * the point with most defaults.  Points without a prediction are left out.  ranking: corrects the
 * times of the first points; NULL: no correction.  *list is malloc'ed. */
static int rank(const struct gt_space *space, const struct gt_ranking *ranking,
                struct gt_random *random, struct gt_ranked **list, size_t *count,
                struct gt_err *err)
{
    size_t step = space->count / SAMPLE + 1, point;

    *count = 0;
    *list = NULL;
    if (!space->kernel->launches)
        return GT_OK; /* a recorded kernel, for which there is no model */
    *list = malloc((space->count / step + 1 + DESCENTS) * sizeof(**list));
    if (!*list)
        return gt_err_nomem(err);
    for (size_t i = 0; i < space->count; i += step) {
        if (space->signals && *space->signals)
            return gt_err_set(err, GT_EINTERRUPTED, "interrupted; the same command resumes");
        point = i + gt_random_below(random, step); /* a fixed stride would miss values */

        if (point < space->count && predict(space, NULL, point, &(*list)[*count]))
            ++*count;
    }
    qsort(*list, *count, sizeof(**list), compare);
    if (step > 1)
        *count = polish(space, *list, *count);
    if (ranking)
        correct(space, ranking, *list, *count);
    return GT_OK;
}

/* ---- the scouts ---- */

struct gt_scout {
    const struct gt_scouts *scouts;
    const struct gt_kernel *kernel;
    struct gt_scouted found;
    pthread_t thread;
    bool running;
    atomic_bool done;
    int rc;
    struct gt_err why;
};

/* Threads that find the points of all kernels of a sweep. */
struct gt_scouts {
    struct gt_evaluator *evaluator;
    const volatile sig_atomic_t *signals;
    double seconds;                        /* processor time for listing a kernel's points */
    const struct gt_kernel *const *kernel; /* as in the options */
    const struct gt_problem *problem;
    const struct gt_ranking *ranking; /* as in the options */
    uint64_t seed;
    struct gt_scout *scout;
    size_t count;
};

/* The most points that are kept of a kernel.  The kernels that serve the problem share all of the
 * memory, because a sample has few of a point's neighbours, and few of the points that were good
 * for other problems.  When an eighth of hopper's 1.3 million points was kept, sweeps of 3 s a
 * problem found points that were 2 % slower (configs/problems/mid.json on an H200), and in FP32 4 %
 * slower (f32.json). */
static size_t limit_of(const struct gt_scouts *scouts, const struct gt_kernel *kernel)
{
    const double share = SPACE_BYTES / (double)(scouts->count ? scouts->count : 1);

    return (size_t)(share / (double)(kernel->params + POINT_BYTES));
}

static int explore(struct gt_scout *scout)
{
    const struct gt_scouts *scouts = scout->scouts;
    const struct gt_evaluator *evaluator = scouts->evaluator;
    struct gt_scouted *found = &scout->found;
    int rc = evaluator->ops->space
                 ? evaluator->ops->space(evaluator, &found->space, scouts->problem, &scout->why)
                 : gt_space_init_until(&found->space, scout->kernel, scouts->problem,
                                       &evaluator->device, limit_of(scouts, scout->kernel),
                                       scouts->seconds, scouts->signals, &scout->why);

    found->random = (struct gt_random){scouts->seed};
    found->learned = scouts->ranking && scouts->ranking->cc == evaluator->device.cc &&
                     gt_ranking_trees(scouts->ranking, scout->kernel, NULL) > 0;
    GT_STEP(rc, describe(&found->space, &found->described, &scout->why));
    return rc ? rc
              : rank(&found->space, scouts->ranking, &found->random, &found->list, &found->listed,
                     &scout->why);
}

static void *serve(void *context)
{
    struct gt_scout *scout = context;

    scout->rc = explore(scout);
    atomic_store(&scout->done, true);
    return NULL;
}

/* Starts the thread; if no thread can be started, the work is done here.  Signals are for the
 * sweep's own thread. */
static void start(struct gt_scout *scout)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    scout->running = !pthread_create(&scout->thread, NULL, serve, scout);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!scout->running)
        serve(scout);
}

static void wait_for(struct gt_scout *scout)
{
    if (scout->running)
        pthread_join(scout->thread, NULL);
    scout->running = false;
}

static void scouted_release(struct gt_scouted *found)
{
    gt_space_release(&found->space);
    free(found->list);
    free(found->described);
    *found = (struct gt_scouted){.list = NULL};
}

/* Seconds for listing a space in a run of `seconds`; 0: the run has no budget of time. */
static double listing_s(double seconds)
{
    return seconds > 0 ? fmin(LISTING_S, fmax(LISTING_LEAST_S, seconds)) : LISTING_S;
}

int gt_scouts_new(struct gt_scouts **made, const struct gt_sweep_options *options,
                  const struct gt_problem *problem, uint64_t seed, struct gt_err *err)
{
    struct gt_scouts *scouts = calloc(1, sizeof(*scouts));

    *made = scouts;
    if (!scouts)
        return gt_err_nomem(err);
    *scouts = (struct gt_scouts){.evaluator = options->evaluator,
                                 .signals = options->signals,
                                 .seconds = listing_s(options->budget.seconds),
                                 .kernel = options->kernel,
                                 .problem = problem,
                                 .ranking = options->ranking,
                                 .seed = seed};
    scouts->scout = calloc(options->kernels + 1, sizeof(*scouts->scout));
    if (!scouts->scout)
        return gt_err_nomem(err);
    for (size_t i = 0; i < options->kernels && !options->evaluator->ops->space; i++)
        if (gt_kernel_serves(options->kernel[i], problem, &options->evaluator->device))
            scouts->scout[scouts->count++] =
                (struct gt_scout){.scouts = scouts, .kernel = options->kernel[i]};
    for (size_t i = 0; i < scouts->count; i++)
        start(&scouts->scout[i]);
    return GT_OK;
}

/* Hands a scout's findings to the caller. */
static int take(struct gt_scout *scout, struct gt_scouted *found, struct gt_err *err)
{
    if (scout->rc) {
        scouted_release(&scout->found);
        if (err)
            *err = scout->why;
        return scout->rc;
    }
    *found = scout->found;
    scout->found = (struct gt_scouted){.list = NULL};
    return GT_OK;
}

int gt_scouts_take(struct gt_scouts *scouts, const struct gt_kernel *kernel,
                   struct gt_scouted *found, struct gt_err *err)
{
    struct gt_scout here = {.scouts = scouts, .kernel = kernel};

    for (size_t i = 0; i < scouts->count; i++)
        if (scouts->scout[i].kernel == kernel) {
            wait_for(&scouts->scout[i]);
            return take(&scouts->scout[i], found, err);
        }
    serve(&here);
    return take(&here, found, err);
}

bool gt_scouts_done(struct gt_scouts *scouts)
{
    const bool waits = scouts->evaluator->ops->now != NULL;

    for (size_t i = 0; i < scouts->count; i++)
        if (waits)
            wait_for(&scouts->scout[i]);
        else if (!atomic_load(&scouts->scout[i].done))
            return false;
    return true;
}

bool gt_scouts_are_of(const struct gt_scouts *scouts, const struct gt_sweep_options *options,
                      const struct gt_problem *problem, uint64_t seed)
{
    return scouts->evaluator == options->evaluator && scouts->kernel == options->kernel &&
           scouts->problem == problem && scouts->seed == seed;
}

void gt_scouts_free(struct gt_scouts *scouts)
{
    if (!scouts)
        return;
    for (size_t i = 0; i < scouts->count; i++) {
        wait_for(&scouts->scout[i]);
        scouted_release(&scouts->scout[i].found);
    }
    free(scouts->scout);
    free(scouts);
}
