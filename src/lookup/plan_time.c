/* plan_time.c - stage: times a few candidates of one problem beside a running program.  Part of
 * gt_plan with GT_PLAN_MEASURE: see plan_impl.h.
 *
 * The memory holds sets of A, B and D and is larger than L2; each launch takes the next set, so
 * that L2 holds nothing of it.  Candidates take turns, and those that are far behind leave after a
 * few rounds. */
#include "lookup/plan_impl.h"

#include "base/err.h"
#include "base/stats.h"
#include "problem/problem.h"

#include <stdlib.h>
#include <string.h>

#define L2_TIMES     3         /* times L2: size of the memory that launches rotate through */
#define MEMORY_PART  4         /* at most one part in this many of the free memory is taken */
#define SET_ALIGN    256       /* bytes */
#define PATTERN      (1 << 18) /* words of the pattern that fills the operands, repeated */
#define ROUNDS_LEAST 7         /* after so many, candidates that are far behind leave */
#define ROUNDS_MOST  61        /* medians of short launches are then certain to 1 % */
#define TIME_US      100000.0  /* of all rounds, unless the least take longer */
#define BEHIND       1.25      /* times the best median: a candidate above is far behind */

struct timing {
    struct gt_gpu *gpu;
    const struct gt_problem *problem;
    struct gt_contestant *contestant;
    struct gt_module *module[GT_PLAN_TIMED]; /* NULL: not loaded, or out of the race */
    size_t count;
    gt_devptr memory, workspace;
    size_t bytes, set, sets, next; /* of the memory; of a set; number of sets; the next one */
    size_t at[4];                  /* of A, B, D and bias in a set */
    struct gt_event *event[GT_PLAN_TIMED + 1];
    float sample[GT_PLAN_TIMED][ROUNDS_MOST]; /* microseconds */
    int samples[GT_PLAN_TIMED];
};

static size_t aligned(int64_t bytes)
{
    return ((size_t)bytes + SET_ALIGN - 1) / SET_ALIGN * SET_ALIGN;
}

/* Changes a word's bits so that it holds ordinary numbers of the type: from 0.5 to 2, of both
 * signs.  The numbers matter for times: a GPU that multiplies zeros draws less power. */
static uint32_t ordinary(uint32_t word, enum gt_dtype type)
{
    switch (type) {
    case GT_F16:
        return (word & 0x87ff87ffu) | 0x38003800u;
    case GT_BF16:
        return (word & 0x80ff80ffu) | 0x3f003f00u;
    case GT_E4M3:
        return (word & 0x8f8f8f8fu) | 0x30303030u;
    case GT_E5M2:
        return (word & 0x87878787u) | 0x38383838u;
    case GT_S8:
    case GT_S32:
        return word;
    default:
        return (word & 0x80ffffffu) | 0x3f000000u;
    }
}

static int fill(struct timing *timing, struct gt_err *err)
{
    struct gt_random random = {.state = 1};
    uint32_t *pattern = malloc(PATTERN * sizeof(*pattern));
    int rc = pattern ? GT_OK : gt_err_nomem(err);

    for (size_t i = 0; i < PATTERN && !rc; i++)
        pattern[i] = ordinary((uint32_t)(gt_random_next(&random) >> 32), timing->problem->type);
    for (size_t at = 0; at < timing->bytes && !rc; at += PATTERN * sizeof(*pattern)) {
        const size_t left = timing->bytes - at, all = PATTERN * sizeof(*pattern);

        rc = gt_gpu_upload(timing->gpu, timing->memory + at, pattern, left < all ? left : all, err);
    }
    free(pattern);
    return rc;
}

static int allocate(struct timing *timing, struct gt_err *err)
{
    const struct gt_problem *p = timing->problem;
    const int64_t l2 = gt_gpu_device(timing->gpu)->l2_bytes;
    size_t workspace = 0, free_bytes, total;
    int rc = gt_gpu_memory(timing->gpu, &free_bytes, &total, err);

    timing->at[1] = aligned(gt_problem_bytes(p, GT_OPERAND_A));
    timing->at[2] = timing->at[1] + aligned(gt_problem_bytes(p, GT_OPERAND_B));
    timing->at[3] = timing->at[2] + aligned(gt_problem_bytes(p, GT_OPERAND_C));
    timing->set = timing->at[3] + aligned(p->n * gt_dtype_size(p->out));
    timing->sets = 1 + (l2 > 0 ? L2_TIMES * (size_t)l2 / timing->set : 0);
    timing->bytes = timing->sets * timing->set;
    for (size_t i = 0; i < timing->count; i++)
        if (timing->contestant[i].geometry->workspace_bytes > workspace)
            workspace = timing->contestant[i].geometry->workspace_bytes;
    if (!rc && timing->bytes + workspace > free_bytes / MEMORY_PART)
        return gt_err_set(
            err, GT_ETOOBIG,
            "timing candidates takes %zu bytes; a quarter of the free %zu may be used",
            timing->bytes + workspace, free_bytes);
    GT_STEP(rc, gt_gpu_alloc(timing->gpu, &timing->memory, timing->bytes, err));
    if (!rc && workspace)
        rc = gt_gpu_alloc(timing->gpu, &timing->workspace, workspace, err);
    for (size_t i = 0; i <= timing->count && !rc; i++)
        rc = gt_event_new(&timing->event[i], timing->gpu, err);
    return rc ? rc : fill(timing, err);
}

static int launch(struct timing *timing, size_t i, struct gt_err *err)
{
    const struct gt_problem *p = timing->problem;
    char *set = (char *)(uintptr_t)timing->memory + timing->next++ % timing->sets * timing->set;
    struct gt_args args;

    gt_module_args(&args, p);
    memcpy(args.launch, timing->contestant[i].geometry->launch_param, sizeof(args.launch));
    args.a = set;
    args.b = set + timing->at[1];
    args.c = args.d = set + timing->at[2];
    args.bias = set + timing->at[3];
    args.workspace = (void *)(uintptr_t)timing->workspace;
    args.alpha = (float)p->alpha;
    args.beta = (float)p->beta;
    return gt_module_run(timing->module[i], NULL, &args, err);
}

static void leave(struct timing *timing, size_t i)
{
    gt_module_free(timing->module[i]);
    timing->module[i] = NULL;
}

/* Runs every contestant once; each round begins with another one, so that none always follows the
 * same one. */
static int play(struct timing *timing, size_t round, bool counts, struct gt_err *err)
{
    size_t played[GT_PLAN_TIMED], plays = 0;
    int rc = gt_event_record(timing->event[0], err);

    for (size_t j = 0; j < timing->count && !rc; j++) {
        const size_t i = (round + j) % timing->count;

        if (!timing->module[i])
            continue;
        rc = launch(timing, i, err);
        if (rc == GT_ERANGE) { /* the launch was refused, but the device still works */
            leave(timing, i);
            rc = GT_OK;
            continue;
        }
        GT_STEP(rc, gt_event_record(timing->event[plays + 1], err));
        played[plays++] = i;
    }
    for (size_t k = 0; k < plays && !rc; k++) {
        float us;

        rc = gt_event_us(timing->event[k], timing->event[k + 1], &us, err);
        if (!rc && counts)
            timing->sample[played[k]][timing->samples[played[k]]++] = us;
    }
    return rc;
}

/* Computes the medians so far; returns their sum and sets *best to the least. */
static double medians(struct timing *timing, double *best)
{
    double sum = 0;

    *best = 0;
    for (size_t i = 0; i < timing->count; i++) {
        double us;

        if (!timing->module[i] || !timing->samples[i])
            continue;
        us = timing->contestant[i].us = gt_median(timing->sample[i], timing->samples[i]);
        sum += us;
        if (*best == 0 || us < *best)
            *best = us;
    }
    return sum;
}

static int race(struct timing *timing, struct gt_err *err)
{
    double best, round_us = 0, spent_us = 0;
    int rc = play(timing, 0, false, err); /* an uncounted round that loads the code */

    for (int round = 0; round < ROUNDS_MOST && !rc; round++) {
        if (round >= ROUNDS_LEAST && spent_us + round_us > TIME_US)
            break;
        rc = play(timing, (size_t)round, true, err);
        round_us = medians(timing, &best);
        spent_us += round_us;
        if (round + 1 != ROUNDS_LEAST)
            continue;
        for (size_t i = 0; i < timing->count; i++)
            if (timing->module[i] && timing->contestant[i].us > BEHIND * best)
                leave(timing, i);
    }
    return rc;
}

int gt_plan_time(int ordinal, const struct gt_problem *problem, struct gt_contestant *contestant,
                 size_t count, struct gt_err *err)
{
    struct timing *timing = calloc(1, sizeof(*timing));
    int rc = timing ? GT_OK : gt_err_nomem(err);

    if (rc)
        return rc;
    timing->problem = problem;
    timing->contestant = contestant;
    timing->count = count < GT_PLAN_TIMED ? count : GT_PLAN_TIMED;
    rc = gt_gpu_open(&timing->gpu, ordinal, false, err);
    for (size_t i = 0; i < timing->count && !rc; i++)
        if (contestant[i].binary->size &&
            gt_module_load(&timing->module[i], timing->gpu, contestant[i].binary->image,
                           contestant[i].binary->size, contestant[i].geometry, NULL))
            timing->module[i] = NULL;
    GT_STEP(rc, allocate(timing, err));
    GT_STEP(rc, race(timing, err));
    for (size_t i = 0; timing->gpu && i < GT_PLAN_TIMED; i++)
        leave(timing, i);
    for (size_t i = 0; i <= GT_PLAN_TIMED; i++)
        gt_event_free(timing->event[i]);
    if (timing->gpu) {
        gt_gpu_free(timing->gpu, timing->memory);
        gt_gpu_free(timing->gpu, timing->workspace);
    }
    gt_gpu_close(timing->gpu);
    free(timing);
    return rc;
}
