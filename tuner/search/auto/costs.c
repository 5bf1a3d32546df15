/* costs.c - stage "choose": what trying a point costs.
 *
 * Two regressions, of the seconds a candidate runs and of those it is compiled: the logarithm is a
 * sum of one number for each value of each parameter, estimated with a normal prior and corrected
 * by each cost told (recursive least squares).  A point whose cubin another point has needed before
 * costs no compiling. */
#include "search/auto/costs.h"

#include "base/err.h"

#include <math.h>
#include <stdlib.h>

#define PRIOR  0.25 /* variance of a value's number: a factor of about 1.6 is nothing unusual */
#define NOISE  0.1  /* variance of a cost's logarithm that no value explains */
#define KNOWN  16   /* costs told before they count */
#define RANGE  4.0  /* logarithm of the greatest difference of costs that counts */
#define LEAST  1e-6 /* seconds; what costs less costs that */
#define CUBINS 256  /* room in the set at first */

struct gt_cost_model {
    size_t width;             /* values of all parameters */
    size_t at[GT_MAX_PARAMS]; /* where those of a parameter begin */
    double *number;           /* of each value */
    double *variance;         /* of the numbers, width x width */
    double *gain;             /* scratch */
    double level;             /* mean logarithm of what was told */
    size_t told;
};

static struct gt_cost_model *new_model(const struct gt_space *space)
{
    struct gt_cost_model *model = calloc(1, sizeof(*model));

    if (!model)
        return NULL;
    for (size_t p = 0; p < space->kernel->params; p++) {
        model->at[p] = model->width;
        model->width += space->kernel->param[p].count;
    }
    model->number = calloc(model->width + 1, sizeof(*model->number));
    model->gain = calloc(model->width + 1, sizeof(*model->gain));
    model->variance = calloc(model->width * model->width + 1, sizeof(*model->variance));
    for (size_t i = 0; model->variance && i < model->width; i++)
        model->variance[i * model->width + i] = PRIOR;
    return model;
}

static bool is_whole(const struct gt_cost_model *model)
{
    return model && model->number && model->gain && model->variance;
}

static void free_model(struct gt_cost_model *model)
{
    if (!model)
        return;
    free(model->number);
    free(model->gain);
    free(model->variance);
    free(model);
}

int gt_costs_init(struct gt_costs *costs, const struct gt_space *space, struct gt_err *err)
{
    costs->space = space;
    costs->run = new_model(space);
    costs->compile = new_model(space);
    costs->room = CUBINS;
    costs->cubin = calloc(costs->room, sizeof(*costs->cubin));
    return is_whole(costs->run) && is_whole(costs->compile) && costs->cubin ? GT_OK
                                                                            : gt_err_nomem(err);
}

void gt_costs_release(struct gt_costs *costs)
{
    free_model(costs->run);
    free_model(costs->compile);
    free(costs->cubin);
}

/* ---- the regressions ---- */

static double number_of(const struct gt_costs *costs, const struct gt_cost_model *model,
                        size_t point)
{
    size_t params = costs->space->kernel->params;
    const uint8_t *index = costs->space->index + point * params;
    double sum = 0;

    for (size_t p = 0; p < params; p++)
        sum += model->number[model->at[p] + index[p]];
    return sum;
}

static void learn(const struct gt_costs *costs, struct gt_cost_model *model, size_t point,
                  double seconds)
{
    size_t params = costs->space->kernel->params, width = model->width;
    const uint8_t *index = costs->space->index + point * params;
    double spread = NOISE, off;

    seconds = fmax(seconds, LEAST);
    model->told++;
    model->level += (log(seconds) - model->level) / (double)model->told;
    off = log(seconds) - model->level - number_of(costs, model, point);
    for (size_t i = 0; i < width; i++) {
        model->gain[i] = 0;
        for (size_t p = 0; p < params; p++)
            model->gain[i] += model->variance[i * width + model->at[p] + index[p]];
    }
    for (size_t p = 0; p < params; p++)
        spread += model->gain[model->at[p] + index[p]];
    for (size_t i = 0; i < width; i++) {
        double step = model->gain[i] / spread;

        model->number[i] += step * off;
        for (size_t j = 0; j < width; j++)
            model->variance[i * width + j] -= step * model->gain[j];
    }
}

/* ---- cubins ---- */

/* Of what a point's cubin depends on; never 0. */
static uint64_t digest(const struct gt_space *space, size_t point)
{
    const struct gt_kernel *kernel = space->kernel;
    const uint8_t *index = space->index + point * kernel->params;
    uint64_t sum = 14695981039346656037u; /* FNV-1a, 64 bits */

    for (size_t p = 0; p < kernel->params; p++)
        if (!kernel->param[p].launch)
            sum = (sum ^ index[p]) * 1099511628211u;
    return sum | 1;
}

static uint64_t *slot_of(const struct gt_costs *costs, uint64_t digest)
{
    size_t i = (size_t)(digest >> 20) % costs->room;

    while (costs->cubin[i] && costs->cubin[i] != digest)
        i = (i + 1) % costs->room;
    return &costs->cubin[i];
}

/* Puts a digest into the set; without memory to grow it stays as it is, and a cubin is compiled
 * twice at worst.  Returns whether it was not there. */
static bool add_cubin(struct gt_costs *costs, uint64_t digest)
{
    struct gt_costs grown = *costs;
    uint64_t *slot = slot_of(costs, digest);

    if (*slot)
        return false;
    if (2 * (costs->cubins + 1) > costs->room) {
        grown.room = 2 * costs->room;
        grown.cubin = calloc(grown.room, sizeof(*grown.cubin));
        if (!grown.cubin)
            return true;
        for (size_t i = 0; i < costs->room; i++)
            if (costs->cubin[i])
                *slot_of(&grown, costs->cubin[i]) = costs->cubin[i];
        free(costs->cubin);
        *costs = grown;
        slot = slot_of(costs, digest);
    }
    *slot = digest;
    costs->cubins++;
    return true;
}

/* ---- the interface ---- */

void gt_costs_tell(struct gt_costs *costs, size_t point, double run_s, double compile_s)
{
    learn(costs, costs->run, point, run_s);
    if (add_cubin(costs, digest(costs->space, point)) && compile_s > 0)
        learn(costs, costs->compile, point, compile_s);
}

static double seconds_of(const struct gt_costs *costs, const struct gt_cost_model *model,
                         size_t point)
{
    double number = number_of(costs, model, point);

    return exp(model->level + fmax(-RANGE / 2, fmin(RANGE / 2, number)));
}

double gt_costs_of(const struct gt_costs *costs, size_t point)
{
    const struct gt_cost_model *run = costs->run, *compile = costs->compile;
    double seconds;

    if (run->told < KNOWN || !compile->told)
        return 1;
    seconds = seconds_of(costs, run, point);
    if (!*slot_of(costs, digest(costs->space, point)))
        seconds += seconds_of(costs, compile, point);
    return seconds / (exp(run->level) + exp(compile->level));
}
