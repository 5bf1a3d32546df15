/* baseline.c - stage: times the baseline, in the same way as candidates: the vendor's library, and
 * kernels that move the problem's data and compute nothing.  All algorithms that the heuristic of
 * cuBLASLt returns ("answers") are proved against the same reference and timed like candidates.
 * The best answer takes part in the finals.
 *
 * Both sides have the same storage types and sum in the same type, and C is another matrix than D:
 * results rotate through three copies, from which C would come out of the L2 cache.  GELU is
 * compared with the library's, which is its tanh form and proved as that; such an answer is only a
 * yardstick.  For 8-bit types cuBLASLt serves few problems: k must run along the stored rows of
 * both operands (layout nt here), and leading dimensions must be multiples of 4 or 16.  If cuBLASLt
 * has no answer, there is no ratio. */
#include "timing/bench_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/stats.h"
#include "cuda/sources.h"
#include "templates/calibrate/move_args.h"

#define SAMPLES   64
#define FINALISTS 2 /* fastest answers of the race; these and the first get SAMPLES samples */

/* The tanh form of GELU is at most 4.8e-4 beside GELU, and the GPU's approximate tanh, whose error
 * is 2^-11, adds x/2 times that, for x below 5. */
#define GELU_FORMS 0.0017

/* Puts the problem to the library once more, and adds the answers to those that there are. */
static int ask(struct gt_lt *lt, struct gt_bench *bench, const struct gt_cublaslt_recipe *recipe,
               struct gt_err *err)
{
    const struct gt_problem *p = &lt->product;
    struct gt_cublaslt **put = &lt->lt[recipe->fast];
    int answers = 0, rc = gt_cublaslt_open(put, bench->gpu, p, recipe, err);

    GT_STEP(rc, gt_cublaslt_factor(*put, &lt->operands.alpha, p->alpha, err));
    GT_STEP(rc, gt_cublaslt_factor(*put, &lt->operands.beta, p->beta, err));
    GT_STEP(rc, gt_cublaslt_ask(*put, p, lt->operands.workspace_bytes, GT_LT_ANSWERS,
                                lt->answer + lt->answers, &answers, err));
    for (int i = 0; i < answers && !rc; i++)
        lt->fast[lt->answers + i] = recipe->fast;
    if (!rc)
        lt->answers += answers;
    return rc;
}

/* The library has no groups with sizes in device memory: the rival is a loop of products, one for
 * each group, whose sizes it is told on the host.  Timed groups are all alike (tuner/proof): where
 * they are not of one size, there is no such loop. */
static int split_groups(struct gt_lt *lt, struct gt_err *err)
{
    struct gt_problem *p = &lt->product;
    const bool by_k = p->by == GT_GROUPS_BY_K;
    int64_t *share = by_k ? &p->k : &p->m, size = gt_dtype_size(p->type), misaligned;

    if (*share % p->groups)
        return gt_err_set(err, GT_ENOTFOUND,
                          "cuBLASLt has no groups, and a loop of its products is timed where all "
                          "groups have the same size: make %s a multiple of %lld",
                          by_k ? "k" : "m", (long long)p->groups);
    lt->products = p->groups;
    *share /= p->groups;
    lt->step[0] = size * *share * (p->trans_a == by_k ? p->lda : 1);
    lt->step[1] = gt_dtype_size(gt_problem_type_b(p)) *
                  (by_k ? *share * (p->trans_b ? 1 : p->ldb) : p->stride_b);
    lt->step[2] = gt_dtype_size(p->out) * (by_k ? p->stride_c : *share * p->ldc);
    misaligned = lt->step[0] | lt->step[1] | lt->step[2] | p->align;
    p->align = (unsigned char)(misaligned & -misaligned);
    p->groups = p->by = 0;
    p->stride_a = p->lda * gt_problem_rows(p, GT_OPERAND_A);
    p->stride_b = p->ldb * gt_problem_rows(p, GT_OPERAND_B);
    p->stride_c = p->ldc * p->m;
    return GT_OK;
}

static int open_lt(struct gt_lt **opened, struct gt_bench *bench, struct gt_err *err)
{
    const struct gt_problem *p = &bench->resident.problem;
    struct gt_cublaslt_recipe recipe;
    struct gt_lt *lt = calloc(1, sizeof(*lt));
    int rc;

    *opened = NULL;
    if (!lt)
        return gt_err_nomem(err);
    lt->product = *p;
    lt->products = 1;
    lt->operands.workspace = bench->resident.workspace.span.data;
    lt->operands.workspace_bytes = (size_t)bench->resident.workspace_bytes;
    lt->stream = gt_gpu_stream(bench->gpu);
    recipe = (struct gt_cublaslt_recipe){.bias = bench->resident.bias.span.data,
                                         .scale_a = bench->resident.factors.scale[0].span.data,
                                         .scale_b = bench->resident.factors.scale[1].span.data,
                                         .gelu_tanh = true};
    rc = p->groups ? split_groups(lt, err) : GT_OK;
    GT_STEP(rc, ask(lt, bench, &recipe, err));
    recipe.fast = true; /* the proof judges its sums as it judges a candidate's */
    if (gt_type_f8(p->type) && p->sums == GT_SUMS_FAST && ask(lt, bench, &recipe, NULL) == GT_OK)
        rc = GT_OK;
    if (rc) {
        gt_lt_close(lt);
        return rc;
    }
    *opened = lt;
    return GT_OK;
}

static int run_lt(const struct gt_runner *runner, const struct gt_args *args,
                  const struct gt_more *more, struct gt_err *err)
{
    const struct gt_lt *lt = runner->lt;
    struct gt_cublaslt_operands operands = lt->operands;

    int rc = GT_OK;

    (void)more; /* the description of the product holds the scales */
    for (int64_t i = 0; i < lt->products && !rc; i++) {
        operands.a = (const char *)args->a + i * lt->step[0];
        operands.b = (const char *)args->b + i * lt->step[1];
        operands.c = args->c ? (const char *)args->c + i * lt->step[2] : NULL;
        operands.d = (char *)args->d + i * lt->step[2];
        rc = gt_cublaslt_run(lt->lt[lt->fast[runner->answer]], &lt->answer[runner->answer].algo,
                             &operands, lt->stream, err);
    }
    return rc;
}

static bool has_gelu(const struct gt_bench *bench)
{
    return GT_ACTIVATION(bench->resident.problem.epilogue) == GT_EPILOGUE_GELU;
}

static struct gt_runner runner_of(const struct gt_bench *bench, struct gt_lt *lt, int answer)
{
    return (struct gt_runner){.run = run_lt,
                              .lt = lt,
                              .answer = answer,
                              .slack = has_gelu(bench) ? GELU_FORMS : 0,
                              .workspace = lt->operands.workspace_bytes};
}

bool gt_baseline_runner(struct gt_bench *bench, struct gt_runner *runner)
{
    if (!bench->lt)
        return false;
    *runner = runner_of(bench, bench->lt, bench->lt->best);
    return true;
}

/* An answer's race: the median of three proved samples (0: the answer is wrong or does not run),
 * and its error. */
struct race {
    double us, err_u;
};

/* Runs one answer: a warm-up and three proved samples. */
static int try_answer(struct gt_bench *bench, struct gt_runner *runner, struct race *race,
                      struct gt_err *err)
{
    struct gt_trial trial = {.status = GT_STATUS_NONE};
    float sample[GT_RESULTS];
    int rc = gt_chain_make(bench, runner, err);

    GT_STEP(rc, gt_bench_launch(bench, runner, 0, 0, err));

    GT_STEP(rc, gt_bench_poison(bench, runner, err));
    GT_STEP(rc, gt_bench_head_start(bench, GT_RESULTS, err));
    for (int i = 0; i < GT_RESULTS && !rc; i++)
        rc = gt_bench_launch(bench, runner, i, i, err);
    if (rc == GT_ERANGE)
        return GT_OK; /* this answer does not run */
    GT_STEP(rc, gt_bench_judge(bench, runner, GT_RESULTS, &trial, err));
    GT_STEP(rc, gt_bench_times(bench, 0, GT_RESULTS, sample, err));
    if (!rc && trial.status == GT_STATUS_NONE) {
        *race = (struct race){gt_median(sample, GT_RESULTS), trial.err_u};
    } else if (!rc && !runner->lt->why[0]) {
        snprintf(runner->lt->why, sizeof(runner->lt->why), "; answer %d is off by %.3g u: %s",
                 runner->answer + 1, trial.err_u, trial.detail);
    }
    return rc;
}

/* Tries all answers.  race[i] is the race of answer i, *first_right the first right answer. */
static int try_answers(struct gt_bench *bench, struct gt_lt *lt, struct gt_baseline *baseline,
                       struct race *race, int *first_right, struct gt_err *err)
{
    int rc = GT_OK;

    *first_right = -1;
    for (int i = 0; i < lt->answers && !rc; i++) {
        struct gt_runner runner = runner_of(bench, lt, i);

        race[i] = (struct race){0, 0};
        if (!lt->answer[i].state)
            rc = try_answer(bench, &runner, &race[i], err);
        gt_runner_release(&runner);
        if (!(race[i].us > 0))
            continue;
        if (*first_right < 0)
            *first_right = i;
        baseline->answers++;
    }
    if (!rc && *first_right < 0)
        rc = gt_err_set(err, GT_ENOTFOUND,
                        "none of cuBLASLt's %d answers for this problem runs and is right%s",
                        lt->answers, lt->why);
    return rc;
}

/* Takes up to SAMPLES samples of an answer, and keeps the best answer so far. */
static int sample_answer(struct gt_bench *bench, struct gt_lt *lt, int answer, double err_u,
                         struct gt_baseline *baseline, double *us, struct gt_err *err)
{
    struct gt_runner runner = runner_of(bench, lt, answer);
    struct gt_series series;
    int rc = gt_chain_make(bench, &runner, err);

    GT_STEP(rc, gt_bench_series(bench, &runner, SAMPLES, &series, err));
    gt_runner_release(&runner);
    if (rc)
        return rc;

    *us = series.us;
    if (baseline->samples && series.us >= baseline->us)
        return GT_OK;
    memcpy(baseline->sample, series.sample, sizeof(baseline->sample));
    baseline->samples = series.samples;
    baseline->us = series.us;
    baseline->lo_us = series.lo_us;
    baseline->hi_us = series.hi_us;
    baseline->err_u = err_u;
    baseline->best = lt->best = answer;
    return GT_OK;
}

/* Samples the first answer and the fastest answers of the race, because three samples alone may
 * favour a slower answer. */
static int measure(struct gt_bench *bench, struct gt_lt *lt, struct race *race, int first_right,
                   struct gt_baseline *baseline, struct gt_err *err)
{
    double us;
    int rc = sample_answer(bench, lt, first_right, race[first_right].err_u, baseline,
                           &baseline->first_us, err);

    race[first_right].us = 0;
    for (int i = 0; i < FINALISTS && !rc; i++) {
        int next = -1;

        for (int j = 0; j < lt->answers; j++)
            if (race[j].us > 0 && (next < 0 || race[j].us < race[next].us))
                next = j;
        if (next < 0)
            break;
        rc = sample_answer(bench, lt, next, race[next].err_u, baseline, &us, err);
        race[next].us = 0;
    }
    return rc;
}

/* Names the best answer, and writes its algorithm down for plans, which put problems to the library
 * without fast accumulation, one by one and with their own function. */
static void describe(const struct gt_bench *bench, struct gt_baseline *baseline)
{
    const struct gt_lt *lt = bench->lt;

    snprintf(baseline->name, sizeof(baseline->name), "cuBLASLt %s, answer %d of %d%s%s%s",
             lt->lt[0]->version, lt->best + 1, lt->answers,
             lt->fast[lt->best] ? ", fast accumulation" : "",
             has_gelu(bench) ? ", GELU in its tanh form" : "",
             lt->products > 1 ? ", a loop of products" : "");
    if (!lt->fast[lt->best] && lt->products == 1 && !has_gelu(bench))
        gt_cublaslt_format(baseline->algo, lt->lt[0]->version, &lt->answer[lt->best],
                           baseline->us > 0 ? baseline->first_us / baseline->us : 0);
}

int gt_bench_baseline(struct gt_bench *bench, struct gt_baseline *baseline, struct gt_err *err)
{
    struct race race[2 * GT_LT_ANSWERS];
    struct gt_lt *lt;
    int first_right, rc;

    memset(baseline, 0, sizeof(*baseline));
    gt_lt_close(bench->lt);
    bench->lt = NULL;
    rc = open_lt(&lt, bench, err);
    if (rc)
        return rc;
    rc = try_answers(bench, lt, baseline, race, &first_right, err);
    GT_STEP(rc, measure(bench, lt, race, first_right, baseline, err));
    if (rc) {
        gt_lt_close(lt);
        return rc;
    }
    bench->lt = lt;
    describe(bench, baseline);
    return GT_OK;
}

/* ---- moving the data alone ---- */

#define BLOCK_THREADS  256 /* of a block, as in the template */
#define MOVE_RACES     12  /* launches of each form */
#define MOVE_FINALISTS 3   /* forms that are sampled */
#define MOVE_SAMPLES   41
#define BULK_CC        90
#define BULK_WORDS     512 /* words of 16 bytes in a copy, as in the template */

enum entry { LOADS_4, LOADS_8, BULK, ENTRIES };

static const char *const entries[ENTRIES] = {"move_loads_4", "move_loads_8", "move_bulk"};

static const struct gt_program_sources sources = {
    .name = "templates/calibrate/move.cu",
    .file = {"common/args.h", "common/platform.cuh", "calibrate/move_args.h", "calibrate/move.cu"},
};

/* The ways of moving bytes that are tried.  blocks_sm: blocks per SM; 0: as many blocks as give
 * each thread one round. */
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
    double us; /* time in the race */
};

static int run_move(const struct gt_runner *runner, const struct gt_args *launch,
                    const struct gt_more *more, struct gt_err *err)
{
    const struct mover *mover = (const struct mover *)runner;
    const void *const from[GT_MOVE_PARTS] = {launch->a, launch->b, launch->c};
    const unsigned grid[3] = {mover->blocks, 1, 1};
    struct gt_move_args args = mover->args;

    (void)more;

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
    args->words[2] = gt_problem_reads_c(problem) ? words_of(problem, GT_OPERAND_C) : 0;
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
static int race_forms(struct gt_bench *bench, const struct gt_program *program, struct mover *mover,
                      struct gt_err *err)
{
    int rc = GT_OK;

    for (size_t i = 0; i < FORMS && !rc; i++) {
        float sample[MOVE_RACES];

        make_mover(&mover[i], bench, program, &forms[i]);
        if (forms[i].entry == BULK && gt_gpu_device(bench->gpu)->cc < BULK_CC)
            continue;
        rc = gt_bench_run_batch(bench, &mover[i].runner, MOVE_RACES, sample, err);
        if (rc)
            break;
        mover[i].us = gt_median(sample, MOVE_RACES);
        gt_trace("bench", "%s, %u blocks: %.2f us", entries[forms[i].entry], mover[i].blocks,
                 mover[i].us);
    }
    return rc;
}

/* Samples the fastest forms; the least median is the result. */
static int sample_forms(struct gt_bench *bench, struct mover *mover, struct gt_move *move,
                        struct gt_err *err)
{
    int rc = GT_OK;

    for (int i = 0; i < MOVE_FINALISTS && !rc; i++) {
        struct mover *best = NULL;
        struct gt_series series;

        for (size_t j = 0; j < FORMS; j++)
            if (mover[j].us > 0 && (!best || mover[j].us < best->us))
                best = &mover[j];
        if (!best)
            break;
        rc = gt_bench_series(bench, &best->runner, MOVE_SAMPLES, &series, err);
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
    GT_STEP(rc, race_forms(bench, program, mover, err));
    GT_STEP(rc, sample_forms(bench, mover, move, err));
    gt_program_free(program);
    free(mover);
    return rc;
}
