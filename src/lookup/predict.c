/* predict.c - stage: the analytic model behind predictions.
 *
 * A block runs its k loop in tiles of block_k.  A tile costs the SM as much as the slowest of FMA
 * pipe, tensor pipe, issue slots, shared memory and L2 port; where few warps are resident,
 * latencies are added.  Blocks run over the SMs in waves.  The whole is bounded by the bandwidths
 * of L2 and device memory.  These costs overlap imperfectly, so they are joined by root sums
 * (soften4, soften6) and not by a plain maximum. */
#include "lookup/predict.h"

#include "base/err.h"
#include "problem/problem.h"

#include <math.h>

/* Machine facts that no device query gives; in cycles of the SM clock unless a unit is named. */
#define FMA_RATE          0.92   /* usable share of the FMA pipe, with real operand fetches */
#define TENSOR_RATE       0.78   /* usable share of the tensor pipe under the power limit (H200) */
#define MMA_LATENCY       33.0   /* latency of one mma.sync, from issue to result (sm_80) */
#define MMA_BYTES         32.0   /* bytes along k that one instruction multiplies */
#define SCHEDULERS        4      /* schedulers of an SM; each issues one instruction a cycle */
#define WARP              32     /* threads of a warp */
#define SHARED_LATENCY    30.0   /* from ld.shared to the use of its value */
#define BARRIER           30.0   /* a barrier, as one warp sees it */
#define MEMORY_LATENCY    1000.0 /* latency of cold operands: an L2 miss under load */
#define BLOCK_START       900.0  /* from a block's launch to its first load */
#define L2_MERGED         0.85   /* share of tile reads that reach L2: SMs share one tile's read */
#define L2_TRANSFER       (1 / 32.0) /* cycles for a byte of a tile from L2 when all SMs load */
#define CLUSTER_WAIT      1.05       /* blocks of a cluster wait for each other at every tile */
#define CLUSTER_SUM_US    3.0        /* to pass sums through the shared memory of a cluster */
#define GPC_SMS           16.0       /* SMs of a GPC that clusters of more than two blocks use */
#define L2_PORT           64.0       /* bytes that an SM gets from L2 each cycle */
#define EVEN_US           4.0        /* to pass sums through memory and counters to another block */
#define LAUNCH_US         2.7        /* an empty kernel, where the device was not calibrated */
#define NEXT_LAUNCH_US    1.8        /* each further launch of the same candidate, likewise */
#define ATOMIC_SHARE      0.25       /* share of the L2 bandwidth that atomic additions reach */
#define L2_RESIDENT       0.6        /* operands below this share of L2 are read from memory once */
#define DEFAULT_REGISTERS 64.0       /* of a thread, where a description has no estimate */
#define REGISTERS_MOST    255.0      /* most registers of a thread */
#define REGISTER_STEP     8.0        /* registers are allocated in such steps */
#define LACKING_ERROR     13.0       /* registers: width of the logistic curve of spilling */
#define SPILL_COST        0.3 /* share of the time added by spilling; see db/measured/README.md */

/* A candidate in the model's terms. */
struct shape {
#define MEMBER(member, unit, least) double member;
    GT_MODEL_EXPRS(MEMBER)
#undef MEMBER
    double blocks, threads, warps, shared_bytes;
    double tiles_m, tiles_n;
    double padded;  /* tiles of whole clusters, times the parts of the depth and the batch */
    double cluster; /* blocks of the launch's clusters */
    double slices;  /* groups of warps of a block that divide the k steps of a tile between them */
    int resident;   /* resident blocks of an SM */
};

/* Joins costs that overlap imperfectly: the fourth or sixth root of the sum of the costs' powers
 * lies between the costs' maximum and their sum. */
static double soften4(double a, double b)
{
    a *= a;
    b *= b;
    return sqrt(sqrt(a * a + b * b));
}

static double soften6(double a, double b)
{
    a *= a * a;
    b *= b * b;
    return cbrt(sqrt(a * a + b * b));
}

static double at_least(double value, double least)
{
    return value > least ? value : least;
}

/* The launch that computes the product.  Launches that prepare or reduce have no shared memory, and
 * a kernel without shared memory has only one launch. */
static const struct gt_launch_geometry *main_launch(const struct gt_geometry *geometry)
{
    const struct gt_launch_geometry *best = &geometry->launch[0];

    for (size_t i = 1; i < geometry->launches; i++)
        if (geometry->launch[i].shared_bytes > best->shared_bytes)
            best = &geometry->launch[i];
    return best;
}

static double product(const unsigned dim[3])
{
    return (double)dim[0] * dim[1] * dim[2];
}

/* Fills the members that the description's model leaves out: square tiles, no overlap, both factors
 * of each FMA loaded anew. */
static void fill_defaults(struct shape *shape, const struct gt_model *model)
{
    if (!model->fma && !model->mma)
        shape->fma = shape->block_m * shape->block_n / shape->threads;
    if (!model->issue)
        shape->issue = 2 * shape->fma;
    if (!model->shared_words)
        shape->shared_words = 2 * shape->fma;
    if (!model->load_m)
        shape->load_m = shape->block_m;
    if (!model->load_n)
        shape->load_n = shape->block_n;
    /* If a k step has more FMA than the tile has elements, not every thread does every step. */
    shape->slices =
        at_least(round(shape->threads * shape->fma / (shape->block_m * shape->block_n)), 1);
    shape->slices = fmin(shape->slices, shape->block_k);
}

/* Limits the estimate of registers before the kernel is compiled.  A thread can have as many as a
 * block leaves it, or max_registers of the description; registers beyond that limit spill. */
static void limit_registers(struct shape *shape, const struct gt_device *device, int limit,
                            int *spill_bytes)
{
    double most = floor(device->regs_sm / (shape->warps * WARP * REGISTER_STEP)) * REGISTER_STEP;

    most = fmin(most, REGISTERS_MOST);
    if (limit > 0)
        most = fmin(most, limit);
    if (most < 1 || shape->registers <= most)
        return;
    *spill_bytes += (int)(4 * (shape->registers - most));
    shape->registers = most;
}

/* The factor on the time of a candidate that may spill, because it lacks so many registers by the
 * description's estimate. */
static double spill_risk(double lacking)
{
    return 1 + SPILL_COST / (1 + exp(-lacking / LACKING_ERROR));
}

/* Fills the shape from the geometry and the description's model. */
static int read_model(struct shape *shape, const struct gt_candidate *candidate,
                      const struct gt_geometry *geometry, const int64_t *slots, struct gt_err *err)
{
    const struct gt_model *model = &candidate->kernel->model;
    const struct gt_problem *problem = candidate->problem;
    const struct gt_launch_geometry *launch = main_launch(geometry);
    const struct {
        const struct gt_expr *expr;
        double scale, least;
        double *value;
    } entry[] = {
#define ENTRY(member, unit, least) {model->member, 1.0 / (unit), least, &shape->member},
        GT_MODEL_EXPRS(ENTRY)
#undef ENTRY
    };
    double outputs = (double)problem->m * (double)problem->n * (double)problem->batch;

    *shape = (struct shape){
        .block_k = 1, .splits = 1, .stages = 1, .group = 1, .cluster_m = 1, .cluster_n = 1};
    shape->registers = DEFAULT_REGISTERS;
    shape->lacking = -HUGE_VAL;
    shape->mma_type = problem->type;
    shape->blocks = at_least(product(launch->grid), 1);
    shape->threads = at_least(product(launch->block), 1);
    shape->warps = ceil(shape->threads / WARP);
    shape->shared_bytes = launch->shared_bytes;
    shape->cluster = at_least(product(launch->cluster), 1);
    shape->block_m = shape->block_n = at_least(sqrt(outputs / shape->blocks), 1);
    for (size_t i = 0; i < sizeof(entry) / sizeof(entry[0]); i++) {
        int64_t value;
        int rc;

        if (!entry[i].expr)
            continue;
        rc = gt_expr_eval(entry[i].expr, slots, &value, err);
        if (rc)
            return gt_err_prefix(err, rc, "%s: model", candidate->kernel->path);
        *entry[i].value = at_least((double)value * entry[i].scale, entry[i].least);
    }
    fill_defaults(shape, model);
    shape->tiles_m = ceil(at_least((double)problem->m, 1) / shape->block_m);
    shape->tiles_n = ceil(at_least((double)problem->n, 1) / shape->block_n);
    shape->padded = ceil(shape->tiles_m / shape->cluster_m) * shape->cluster_m *
                    ceil(shape->tiles_n / shape->cluster_n) * shape->cluster_n * shape->splits *
                    (double)problem->batch;
    /* Persistent blocks, which take one tile after the other, cost as much as one block for each
     * tile. */
    if (model->block_m && model->block_n)
        shape->blocks = at_least(shape->blocks, shape->padded);
    return GT_OK;
}

static double whole_clusters(const struct shape *shape, double sms)
{
    return floor(sms * shape->resident / shape->cluster) * shape->cluster / shape->resident;
}

/* The SMs that whole clusters of this size fill.  A cluster lies within a GPC, and of an H200's 132
 * SMs 120 take part in clusters of more than two.  Taken as seven times 16 SMs and eight more,
 * these 120 SMs hold 30 clusters of four and 15 of eight, as was seen, but only 15 of six and 37 of
 * three. */
static double cluster_sms(const struct shape *shape, const struct gt_device *device)
{
    double sms = device->sms, filled;

    if (shape->cluster > 2) {
        sms -= floor(sms / 11);
        filled = floor(sms / GPC_SMS) * whole_clusters(shape, GPC_SMS) +
                 whole_clusters(shape, fmod(sms, GPC_SMS));
    } else {
        filled = whole_clusters(shape, sms);
    }
    return at_least(filled, shape->cluster / shape->resident);
}

/* Cycles of the tensor pipe for one k step of a block's tile. */
static double tensor_cycles(const struct shape *shape, const struct gt_device *device)
{
    double rate = gt_device_tensor_rate(device, (enum gt_dtype)(int)shape->mma_type);

    if (!(shape->mma > 0))
        return 0;
    return 2 * shape->block_m * shape->block_n * shape->mma / (at_least(rate, 1) * TENSOR_RATE);
}

/* Cycles that `resident` blocks of one SM need together for one k tile each. */
static double tile_cycles(const struct shape *shape, const struct gt_problem *problem,
                          const struct gt_device *device, double resident)
{
    double lanes = at_least(gt_device_fma(device, problem->acc), 1);
    double pipe = shape->warps * shape->fma * WARP / (lanes * FMA_RATE);
    double issue = shape->warps * (shape->fma / FMA_RATE + shape->issue) / SCHEDULERS;
    double shared = shape->warps * shape->shared_words;
    double size = (double)gt_dtype_size(problem->type);
    double bytes = (shape->load_m + shape->load_n) * size;
    double steps = shape->block_k / shape->slices; /* k steps of one warp */
    double inside = soften6(soften6(soften6(pipe, issue), shared), tensor_cycles(shape, device));
    double work = resident * soften6(steps * inside, shape->block_k * bytes / L2_PORT);
    /* The time of one warp alone: its instructions one after the other, and the latencies that it
     * cannot fill. */
    double step = shape->fma * at_least(SCHEDULERS * WARP / lanes, 1) + shape->issue;
    double latency =
        shape->mma > 0 ? (SHARED_LATENCY + MMA_LATENCY) * size / MMA_BYTES : SHARED_LATENCY;
    double alone = steps * at_least(step, latency) + BARRIER;
    double tile = soften4(work, alone);
    double ahead = at_least(shape->stages - 1, 0) * tile; /* from a load to the use of its data */

    if (shape->cluster_m * shape->cluster_n > 1)
        tile *= CLUSTER_WAIT;
    return tile + at_least(MEMORY_LATENCY + shape->block_k * bytes * L2_TRANSFER - ahead, 0) /
                      (shape->stages > 1 ? 1 : resident);
}

/* Cycles of `resident` blocks from start to end. */
static double block_cycles(const struct shape *shape, const struct gt_problem *problem,
                           const struct gt_device *device, double resident)
{
    double k_tiles = ceil((double)problem->k / (shape->splits * shape->block_k));
    double output = shape->block_m * shape->block_n * (double)gt_dtype_size(problem->out) *
                    (gt_problem_reads_c(problem) ? 2 : 1);

    return k_tiles * tile_cycles(shape, problem, device, resident) + BLOCK_START + MEMORY_LATENCY +
           resident * output / L2_PORT;
}

static double compute_us(const struct shape *shape, const struct gt_problem *problem,
                         const struct gt_device *device)
{
    double share = shape->blocks / cluster_sms(shape, device);
    double blocks = shape->even > 0 ? share : ceil(share); /* blocks of the busiest SM */
    double full = floor(blocks / shape->resident);
    double rest = blocks - full * shape->resident;
    double cycles = 0;

    if (full > 0)
        cycles += full * block_cycles(shape, problem, device, shape->resident);
    if (rest > 0 && shape->even > 0)
        cycles += rest / ceil(rest) * block_cycles(shape, problem, device, ceil(rest));
    else if (rest > 0)
        cycles += block_cycles(shape, problem, device, rest);
    return cycles / device->clock_mhz;
}

/* Bytes of A and B read from device memory: once if the operands stay in L2; else the bytes that
 * each wave of concurrent blocks touches, which depend on how the raster groups the blocks. */
static double operand_bytes(const struct shape *shape, const struct gt_problem *problem,
                            const struct gt_device *device)
{
    double size = (double)gt_dtype_size(problem->type);
    double once =
        size * (double)problem->k * ((double)problem->m + (double)problem->n) * problem->batch;
    double every = shape->blocks * (shape->block_m + shape->block_n) * size * (double)problem->k /
                   shape->splits;
    double tiles = shape->tiles_m * shape->tiles_n;
    double wave = fmin((double)device->sms * shape->resident / shape->splits, tiles);
    double rows, columns, traffic;

    if (once <= L2_RESIDENT * (double)device->l2_bytes)
        return once;
    wave = at_least(wave, 1);
    rows = fmin(shape->group, shape->tiles_m);
    columns = fmin(at_least(wave / rows, 1), shape->tiles_n);
    rows = fmin(at_least(wave / columns, 1), shape->tiles_m);
    traffic = tiles * problem->batch / wave * size * (double)problem->k *
              (rows * shape->block_m + columns * shape->block_n);
    return at_least(fmin(traffic, every), once);
}

/* Time of the launches that prepare operands.  Their output stays in L2 if it fits. */
static double prepare_us(const struct shape *shape, const struct gt_device *device)
{
    bool fits = shape->prepare_write <= L2_RESIDENT * (double)device->l2_bytes;

    return (shape->prepare_read / device->memory_gbps +
            shape->prepare_write / (fits ? device->l2_gbps : device->memory_gbps)) *
           1e-3;
}

/* Time to bring partial results together when k is split; workspace: bytes of the partial
 * results. */
static double reduction_us(const struct shape *shape, const struct gt_problem *problem,
                           const struct gt_device *device, double workspace)
{
    double outputs = (double)problem->m * problem->n * problem->batch;
    double bandwidth = workspace <= L2_RESIDENT * (double)device->l2_bytes ? device->l2_gbps / 2
                                                                           : device->memory_gbps;

    if (shape->even > 0) /* two parts of a tile for each block, half of them for another block */
        return EVEN_US + workspace / (bandwidth * 1e3);
    if (shape->splits <= 1)
        return 0;
    if (workspace > 0) /* written and read once */
        return 2 * workspace / (bandwidth * 1e3);
    if (shape->cluster >= shape->splits)
        return CLUSTER_SUM_US + 4 * shape->splits * outputs / (device->l2_gbps * 1e3);
    return shape->splits * outputs * (double)gt_dtype_size(problem->out) /
           (ATOMIC_SHARE * device->l2_gbps * 1e3);
}

static double launches_us(const struct gt_device *device, const struct gt_geometry *geometry)
{
    double one = device->launch_us > 0 ? device->launch_us : LAUNCH_US;
    double next = device->next_launch_us > 0 ? device->next_launch_us : NEXT_LAUNCH_US;

    return one + next * ((double)geometry->launches - 1);
}

static void name_bound(struct gt_prediction *prediction)
{
    const struct {
        const char *name;
        double us;
    } part[] = {
        {"compute", prediction->compute_us}, {"l2", prediction->l2_us},
        {"memory", prediction->memory_us},   {"reduction", prediction->reduction_us},
        {"launch", prediction->launch_us},   {"prepare", prediction->prepare_us},
    };
    size_t best = 0;

    for (size_t i = 1; i < sizeof(part) / sizeof(part[0]); i++)
        if (part[i].us > part[best].us)
            best = i;
    prediction->bound = part[best].name;
}

int gt_predict_explain(const struct gt_candidate *candidate, const struct gt_geometry *geometry,
                       int registers, int spill_bytes, struct gt_prediction *prediction,
                       struct gt_err *err)
{
    int64_t slots[GT_MAX_SLOTS];
    const int rc = gt_candidate_slots(candidate, slots, err);

    *prediction = (struct gt_prediction){0};
    return rc ? rc
              : gt_predict_slots(candidate, geometry, slots, registers, spill_bytes, prediction,
                                 err);
}

int gt_predict_slots(const struct gt_candidate *candidate, const struct gt_geometry *geometry,
                     const int64_t *slots, int registers, int spill_bytes,
                     struct gt_prediction *prediction, struct gt_err *err)
{
    const struct gt_problem *problem = candidate->problem;
    const struct gt_device *device = candidate->device;
    struct shape shape;
    double output, l2_bytes, merged;
    int rc;

    *prediction = (struct gt_prediction){0};
    rc = read_model(&shape, candidate, geometry, slots, err);
    if (rc)
        return rc;
    if (registers)
        shape.registers = registers;
    else
        limit_registers(&shape, device, geometry->max_registers, &spill_bytes);
    /* Spilled words are stored and loaded again once per k tile. */
    shape.issue += 2.0 * spill_bytes / 4 * shape.slices / shape.block_k;
    shape.resident = gt_device_occupancy(device, (int)shape.registers, (int)shape.threads,
                                         (int64_t)shape.shared_bytes);
    if (shape.resident < 1)
        return gt_err_set(err, GT_ERANGE,
                          "no block of %.0f threads with %.0f registers and %.0f bytes of shared "
                          "memory fits an SM of %s",
                          shape.threads, shape.registers, shape.shared_bytes, device->name);
    prediction->tile_m = shape.block_m;
    prediction->tile_n = shape.block_n;
    prediction->tile_k = shape.block_k;
    prediction->splits = shape.splits;
    prediction->cluster = shape.cluster_m * shape.cluster_n;
    prediction->rounds = shape.padded / ((double)shape.resident * device->sms);
    prediction->blocks_sm = shape.resident;
    prediction->waves = shape.blocks / ((double)shape.resident * device->sms);
    prediction->compute_us = compute_us(&shape, problem, device);
    l2_bytes = shape.blocks * (shape.load_m / shape.cluster_n + shape.load_n / shape.cluster_m) *
               (double)problem->k / shape.splits * (double)gt_dtype_size(problem->type);
    /* Blocks that are at different k ask for different tiles. */
    merged = L2_MERGED + (1 - L2_MERGED) * fmin(shape.even / 100, 1);
    prediction->l2_us = merged * l2_bytes / (device->l2_gbps * 1e3);
    output = (double)gt_problem_results(problem) * (double)gt_dtype_size(problem->out);
    prediction->memory_us =
        (operand_bytes(&shape, problem, device) + output * (gt_problem_reads_c(problem) ? 2 : 1)) /
        (device->memory_gbps * 1e3);
    prediction->prepare_us = prepare_us(&shape, device);
    prediction->reduction_us =
        reduction_us(&shape, problem, device,
                     at_least((double)geometry->workspace_bytes - shape.prepare_write, 0));
    prediction->launch_us = launches_us(device, geometry);
    prediction->risk = registers ? 1 : spill_risk(shape.lacking);
    prediction->us =
        prediction->risk *
        (soften4(prediction->compute_us, soften4(prediction->l2_us, prediction->memory_us)) +
         prediction->prepare_us + prediction->reduction_us + prediction->launch_us);
    name_bound(prediction);
    return GT_OK;
}

bool gt_predict_same_way(const struct gt_prediction *a, const struct gt_prediction *b)
{
    return a->tile_m == b->tile_m && a->tile_n == b->tile_n && a->tile_k == b->tile_k &&
           a->splits == b->splits && a->cluster == b->cluster && a->blocks_sm == b->blocks_sm;
}

int gt_predict(const struct gt_candidate *candidate, const struct gt_geometry *geometry,
               int registers, int spill_bytes, double *us, struct gt_err *err)
{
    struct gt_prediction prediction;
    int rc = gt_predict_explain(candidate, geometry, registers, spill_bytes, &prediction, err);

    if (!rc)
        *us = prediction.us;
    return rc;
}
