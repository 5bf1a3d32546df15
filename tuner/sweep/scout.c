/* scout.c - finds the valid points of each kernel for a problem and ranks them by the predictor, in
 * threads: 0.5 to 5 s of a core for a kernel, for which neither the GPU nor the compilers wait if
 * it is done while the two problems before are at work. */
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/err.h"
#include "sweep/sweep_parts.h"

#define SPACE_BYTES     3e8 /* for the points of all kernels; a larger space is sampled */
#define LISTING_S       27  /* a hostile description has no end: 2^50 points of one constraint */
#define LISTING_LEAST_S 10  /* of a short budget: listing simt's points has taken 5 */
#define POINT_BYTES     14  /* of a point beside its parameters: look-up table, time */

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
    double seconds;                        /* of processor time for the listing of a kernel */
    const struct gt_kernel *const *kernel; /* as in the options */
    const struct gt_problem *problem;
    const struct gt_ranking *ranking; /* as in the options */
    uint64_t seed;
    struct gt_scout *scout;
    size_t count;
};

/* The points that are kept of a kernel.  The kernels that serve the problem share the memory, since
 * a sample has few of a point's neighbours, and few of the points that were good for other
 * problems: when an eighth of hopper's 1.3 million points was kept, sweeps of 3 s a problem found
 * points that were 2 % slower (configs/problems/mid.json on an H200), in FP32 4 % (f32.json). */
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
    GT_STEP(rc, gt_sweep_describe(&found->space, &found->described, &scout->why));
    return rc ? rc
              : gt_sweep_predict(&found->space, scouts->ranking, &found->random, &found->list,
                                 &found->listed, &scout->why);
}

static void *serve(void *context)
{
    struct gt_scout *scout = context;

    scout->rc = explore(scout);
    atomic_store(&scout->done, true);
    return NULL;
}

/* Starts the thread; without one the work is done here.  Signals are for the sweep's own thread. */
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

static void gt_scouted_release(struct gt_scouted *found)
{
    gt_space_release(&found->space);
    free(found->list);
    free(found->described);
    *found = (struct gt_scouted){.list = NULL};
}

/* How long a space is listed in a run of so many seconds; 0: it has no budget of time. */
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

/* Gives what a scout has found to the caller. */
static int take(struct gt_scout *scout, struct gt_scouted *found, struct gt_err *err)
{
    if (scout->rc) {
        gt_scouted_release(&scout->found);
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
        gt_scouted_release(&scouts->scout[i].found);
    }
    free(scouts->scout);
    free(scouts);
}
