/* bench_move.c - stage: gt_bench_move of bench.h.  It times kernels that move the problem's data
 * and compute nothing, in the same way as candidates. */
#include "timing/bench_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/stats.h"
#include "base/trace.h"
#include "problem/problem.h"
#include "cuda/sources.h"
#include "templates/calibrate/move_args.h"

#define BLOCK_THREADS 256 /* of a block, as in the template */
#define RACES         12  /* launches of each form */
#define FINALISTS     3   /* forms that are sampled */
#define SAMPLES       41
#define BULK_CC       90
#define BULK_WORDS    512 /* of 16 bytes that a copy has, as in the template */

enum entry { LOADS_4, LOADS_8, BULK, ENTRIES };

static const char *const entries[ENTRIES] = {"move_loads_4", "move_loads_8", "move_bulk"};

static const struct gt_program_sources sources = {
    .name = "templates/calibrate/move.cu",
    .file = {"common/args.h", "common/platform.cuh", "calibrate/move_args.h", "calibrate/move.cu"},
};

/* The ways of moving bytes that are tried.  blocks_sm: blocks of an SM; 0: so many that each thread
 * has one round. */
static const struct form {
    enum entry entry;
    int loads, blocks_sm;
} forms[] = {
    {LOADS_4, 4, 4}, {LOADS_4, 4, 8}, {LOADS_4, 4, 0}, {LOADS_8, 8, 2}, {LOADS_8, 8, 4},
    {LOADS_8, 8, 8}, {LOADS_8, 8, 0}, {BULK, 0, 1},    {BULK, 0, 2},    {BULK, 0, 4},
};

#define FORMS (sizeof(forms) / sizeof(*forms))

/* A form that can be timed; runner is the first member, so that run_move can cast it back. */
struct mover {
    struct gt_runner runner;
    const struct gt_program *program;
    const struct form *form;
    struct gt_move_args args; /* without the addresses */
    unsigned blocks;
    double us; /* in the race */
};

static int run_move(const struct gt_runner *runner, const struct gt_args *launch,
                    struct gt_err *err)
{
    const struct mover *mover = (const struct mover *)runner;
    const void *const from[GT_MOVE_PARTS] = {launch->a, launch->b, launch->c};
    const unsigned grid[3] = {mover->blocks, 1, 1};
    struct gt_move_args args = mover->args;

    for (int i = 0; i < GT_MOVE_PARTS; i++) /* device addresses, which the host must not read */
        args.from[i] = (const void *)(((uintptr_t)from[i] + 15) / 16 * 16);
    args.to = (void *)(((uintptr_t)launch->d + 15) / 16 * 16);
    return gt_program_run(mover->program, mover->form->entry, grid, BLOCK_THREADS, &args, err);
}

/* Whole words of 16 bytes within an operand: as many as its elements have, without its edges. */
static int64_t words_of(const struct gt_problem *problem, enum gt_operand operand)
{
    double touched = gt_problem_touched(problem, operand);
    int64_t bytes = gt_problem_bytes(problem, operand);

    if (touched < (double)bytes)
        bytes = (int64_t)touched;
    return problem->align < 16 ? (bytes > 15 ? (bytes - 15) / 16 : 0) : bytes / 16;
}

static void make_mover(struct mover *mover, const struct gt_bench *bench,
                       const struct gt_program *program, const struct form *form)
{
    const struct gt_problem *problem = &bench->resident.problem;
    const int64_t sms = gt_gpu_device(bench->gpu)->sms;
    struct gt_move_args *args = &mover->args;
    int64_t words, blocks;

    *mover = (struct mover){.runner.run = run_move, .program = program, .form = form};
    args->words[0] = words_of(problem, GT_OPERAND_A);
    args->words[1] = words_of(problem, GT_OPERAND_B);
    args->words[2] = problem->beta != 0 ? words_of(problem, GT_OPERAND_C) : 0;
    args->written = words_of(problem, GT_OPERAND_C);
    args->never = 0x9e3779b9;
    words = args->words[0] + args->words[1] + args->words[2];
    blocks = form->loads ? (words + BLOCK_THREADS * form->loads - 1) / (BLOCK_THREADS * form->loads)
                         : (words + BULK_WORDS - 1) / BULK_WORDS;
    if (form->blocks_sm && blocks > sms * form->blocks_sm)
        blocks = sms * form->blocks_sm;
    mover->blocks = blocks < 1 ? 1 : blocks > INT32_MAX ? INT32_MAX : (unsigned)blocks;
}

/* Times a few launches of every form that the device supports. */
static int race(struct gt_bench *bench, const struct gt_program *program, struct mover *mover,
                struct gt_err *err)
{
    int rc = GT_OK;

    for (size_t i = 0; i < FORMS && !rc; i++) {
        float sample[RACES];

        make_mover(&mover[i], bench, program, &forms[i]);
        if (forms[i].entry == BULK && gt_gpu_device(bench->gpu)->cc < BULK_CC)
            continue;
        rc = gt_bench_run_batch(bench, &mover[i].runner, RACES, sample, err);
        if (rc)
            break;
        mover[i].us = gt_median(sample, RACES);
        gt_trace("bench", "%s, %u blocks: %.2f us", entries[forms[i].entry], mover[i].blocks,
                 mover[i].us);
    }
    return rc;
}

/* Samples the fastest forms; the least median is the result. */
static int sample_best(struct gt_bench *bench, struct mover *mover, struct gt_move *move,
                       struct gt_err *err)
{
    int rc = GT_OK;

    for (int i = 0; i < FINALISTS && !rc; i++) {
        struct mover *best = NULL;
        struct gt_series series;

        for (size_t j = 0; j < FORMS; j++)
            if (mover[j].us > 0 && (!best || mover[j].us < best->us))
                best = &mover[j];
        if (!best)
            break;
        rc = gt_bench_series(bench, &best->runner, SAMPLES, &series, err);
        best->us = 0;
        if (rc || (move->us > 0 && series.us >= move->us))
            continue;
        move->us = series.us;
        move->lo_us = series.lo_us;
        move->hi_us = series.hi_us;
        snprintf(move->form, sizeof(move->form), "%s, %u blocks", entries[best->form->entry],
                 best->blocks);
    }
    return rc;
}

int gt_bench_move(struct gt_bench *bench, struct gt_nvrtc *nvrtc, const char *data_dir,
                  const char *cache_dir, struct gt_move *move, struct gt_err *err)
{
    struct mover *mover = calloc(FORMS, sizeof(*mover));
    struct gt_program *program = NULL;
    int rc = mover ? GT_OK : gt_err_nomem(err);

    *move = (struct gt_move){0};
    GT_STEP(rc, gt_program_build(&program, bench->gpu, nvrtc, data_dir, cache_dir, &sources,
                                 entries, ENTRIES, err));
    GT_STEP(rc, race(bench, program, mover, err));
    GT_STEP(rc, sample_best(bench, mover, move, err));
    gt_program_free(program);
    free(mover);
    return rc;
}
