/* evaluator_replay.c - the evaluator that answers from a recording (recording.h) instead of a GPU.
 *
 * Each measurement is a recorded sample of its point, drawn by the seed, so that the noise is
 * real.  A recorded failure is replayed as the same failure.  The recorded cost is charged to a
 * virtual clock (gt_evaluator_now): compiling, proving, all recorded launches and the recording
 * tuner's own time.  Without --jobs one candidate comes after the other, as in the recording; with
 * --jobs N, N candidates compile ahead of the one GPU.
 *
 * The same seed gives the same trace, because the n-th measurement of a point depends on nothing
 * but the seed.  Trials are marked as replayed and belong to a device of the recording's own. */
#include "base/err.h"
#include "base/stats.h"
#include "evaluate/evaluator.h"
#include "exchange/recording.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES    15  /* samples of stage 2 */
#define POLL_EVERY 256 /* every n-th collect is empty, so that the sweep writes to the store */

struct answer {
    uint64_t id;
    size_t point;
    double done_s; /* end, on the virtual clock */
};

struct replay {
    struct gt_recording recording;
    struct gt_space space; /* for finding points */
    uint32_t *drawn;       /* per point: samples drawn so far */
    uint32_t *cubin;       /* a point for each cubin made so far */
    size_t cubins;
    double now_s, gpu_free_s;
    double *worker_free_s; /* when each compile worker is free */
    size_t workers;
    struct answer *answer; /* submitted candidates, in the order of their ends */
    size_t count, capacity;
    unsigned collects;
};

static void close_replay(struct gt_evaluator *evaluator)
{
    struct replay *replay = evaluator->state;

    if (!replay)
        return;
    gt_space_release(&replay->space);
    gt_recording_release(&replay->recording);
    free(replay->drawn);
    free(replay->cubin);
    free(replay->worker_free_s);
    free(replay->answer);
    free(replay);
    evaluator->state = NULL;
}

/* Makes a device of the recording, distinct from any other device of that name. */
static void name_device(struct gt_evaluator *evaluator, const struct gt_recording *recording)
{
    struct gt_device *device = &evaluator->device;

    *device = (struct gt_device){.profile = true, .cc = recording->cc, .ordinal = -1};
    snprintf(device->name, sizeof(device->name), "%s",
             *recording->device ? recording->device : "a recorded device");
    snprintf(device->uuid, sizeof(device->uuid), "replay:%s", recording->kernel->signature);
}

static int open_replay(struct gt_evaluator *evaluator, const char *spec, struct gt_err *err)
{
    struct replay *replay;
    int rc;

    if (!*spec)
        return gt_err_set(err, GT_ENOTFOUND,
                          "--device replay: expected the recording to answer from, as in "
                          "replay:FILE.json.gz");
    replay = calloc(1, sizeof(*replay));
    if (!replay)
        return gt_err_nomem(err);
    evaluator->state = replay;
    replay->workers = evaluator->options.jobs > 0 ? (size_t)evaluator->options.jobs : 1;
    replay->capacity = evaluator->options.jobs > 0 ? replay->workers + 1 : 1;
    evaluator->jobs = (int)replay->workers;
    rc = evaluator->options.space
             ? gt_recording_load_space(&replay->recording, spec, evaluator->options.space, err)
             : gt_recording_load(&replay->recording, spec, err);
    GT_STEP(rc, gt_recording_space(&replay->space, &replay->recording, NULL, NULL, err));
    if (!rc) {
        replay->drawn = calloc(replay->recording.points, sizeof(*replay->drawn));
        replay->cubin = calloc(replay->recording.points, sizeof(*replay->cubin));
        replay->worker_free_s = calloc(replay->workers, sizeof(*replay->worker_free_s));
        replay->answer = calloc(replay->capacity, sizeof(*replay->answer));
        if (!replay->drawn || !replay->cubin || !replay->worker_free_s || !replay->answer)
            rc = gt_err_nomem(err);
    }
    if (rc) {
        close_replay(evaluator);
        return rc;
    }
    name_device(evaluator, &replay->recording);
    evaluator->recording = &replay->recording;
    return GT_OK;
}

/* Refuses a problem other than the recording's. */
static int open_problem(struct gt_evaluator *evaluator, const struct gt_problem *problem,
                        struct gt_err *err)
{
    struct replay *replay = evaluator->state;
    char text[GT_PROBLEM_TEXT_MAX];

    gt_problem_format(problem, text);
    if (*replay->recording.problem && strcmp(text, replay->recording.problem) != 0)
        return gt_err_set(err, GT_ERANGE, "the recording is of problem %s, not of %s",
                          replay->recording.problem, text);
    replay->count = 0;
    return GT_OK;
}

static double now(const struct gt_evaluator *evaluator)
{
    const struct replay *replay = evaluator->state;

    return replay->now_s;
}

static int make_space(const struct gt_evaluator *evaluator, struct gt_space *space,
                      const struct gt_problem *problem, struct gt_err *err)
{
    const struct replay *replay = evaluator->state;

    return gt_recording_space(space, &replay->recording, problem, &evaluator->device, err);
}

static size_t room(struct gt_evaluator *evaluator)
{
    const struct replay *replay = evaluator->state;

    return replay->capacity - replay->count;
}

static int find(const struct replay *replay, const struct gt_candidate *candidate, size_t *point,
                struct gt_err *err)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    int rc;

    *point = gt_space_find(&replay->space, &candidate->point);
    if (*point != SIZE_MAX)
        return GT_OK;
    gt_point_format(&text, candidate->kernel, &candidate->point);
    rc = gt_err_set(err, GT_ERANGE, "the recording has no point %s", text.text);
    gt_strbuf_release(&text);
    return rc;
}

/* Draws one of the point's samples. */
static float draw(const struct gt_evaluator *evaluator, size_t point)
{
    struct replay *replay = evaluator->state;
    const struct gt_recorded *recorded = &replay->recording.point[point];
    struct gt_random random = {evaluator->options.bench.seed};

    random.state ^= gt_random_next(&random) + point;
    random.state ^= gt_random_next(&random) + replay->drawn[point]++;
    return replay->recording.sample[recorded->first + gt_random_below(&random, recorded->samples)];
}

/* Whether the point's cubin was made before; if not, it counts as made from now on. */
static bool take_cubin(struct replay *replay, size_t point)
{
    const struct gt_recording *recording = &replay->recording;

    for (size_t i = 0; i < replay->cubins; i++)
        if (gt_space_same_cubin(recording->kernel, recording->index, replay->cubin[i], point))
            return true;
    replay->cubin[replay->cubins++] = (uint32_t)point;
    return false;
}

/* Charges the candidate's times to the compile worker that is free first, and then to the GPU.
 * Returns the time at which the candidate is done. */
static double run_on_clock(struct gt_evaluator *evaluator, const struct gt_recorded *recorded,
                           bool compiled)
{
    struct replay *replay = evaluator->state;
    double gpu_s = ((double)recorded->prove_ms + recorded->time_ms) * 1e-3;
    size_t worker = 0;
    double ready;

    for (size_t i = 1; i < replay->workers; i++)
        if (replay->worker_free_s[i] < replay->worker_free_s[worker])
            worker = i;
    ready = fmax(replay->now_s, replay->worker_free_s[worker]);
    if (!compiled)
        ready += recorded->compile_ms * 1e-3;
    replay->worker_free_s[worker] = ready;
    evaluator->stats.compiled += !compiled;
    evaluator->stats.cache_hits += compiled;
    evaluator->stats.busy_s += gpu_s;
    replay->gpu_free_s = fmax(ready, replay->gpu_free_s) + gpu_s + recorded->other_ms * 1e-3;
    return replay->gpu_free_s;
}

static int submit(struct gt_evaluator *evaluator, uint64_t id, const struct gt_candidate *candidate,
                  struct gt_err *err)
{
    struct replay *replay = evaluator->state;
    struct answer *answer = &replay->answer[replay->count];
    int rc;

    if (replay->count == replay->capacity)
        return gt_err_set(err, GT_EBUSY, "%zu candidates are under way; there is no room for more",
                          replay->count);
    rc = find(replay, candidate, &answer->point, err);
    if (rc)
        return rc;
    answer->id = id;
    answer->done_s = run_on_clock(evaluator, &replay->recording.point[answer->point],
                                  take_cubin(replay, answer->point));
    replay->count++;
    return GT_OK;
}

/* Sums up the samples in the trial. */
static void sum_up(struct gt_trial *trial, int stage)
{
    trial->status = GT_STATUS_OK;
    trial->provenance = GT_REPLAYED;
    trial->stage = stage;
    trial->us = gt_median(trial->sample, trial->samples);
    gt_median_interval(trial->sample, trial->samples, &trial->lo_us, &trial->hi_us);
}

static void answer_trial(struct gt_evaluator *evaluator, size_t point, struct gt_trial *trial)
{
    const struct replay *replay = evaluator->state;
    const struct gt_recorded *recorded = &replay->recording.point[point];

    *trial = (struct gt_trial){
        .status = recorded->status,
        .provenance = GT_REPLAYED,
        .compile_ms = recorded->compile_ms,
        .prove_ms = recorded->prove_ms,
        .time_ms = recorded->time_ms,
    };
    snprintf(trial->detail, sizeof(trial->detail), "replayed: one of %u recorded samples",
             (unsigned)recorded->samples);
    if (recorded->status != GT_STATUS_OK) {
        snprintf(trial->detail, sizeof(trial->detail), "replayed: recorded as %s",
                 gt_status_name(recorded->status));
        return;
    }
    trial->sample[trial->samples++] = draw(evaluator, point);
    sum_up(trial, 1);
}

/* Every POLL_EVERY-th call without a timeout finds nothing ready, so that the sweep makes its
 * recorded trials durable. */
static int collect(struct gt_evaluator *evaluator, int timeout_ms, uint64_t *id,
                   struct gt_trial *trial, struct gt_err *err)
{
    struct replay *replay = evaluator->state;

    (void)err;
    if (!replay->count || (++replay->collects % POLL_EVERY == 0 && !timeout_ms))
        return 0;
    *id = replay->answer[0].id;
    replay->now_s = fmax(replay->now_s, replay->answer[0].done_s);
    evaluator->stats.wall_s = replay->now_s;
    answer_trial(evaluator, replay->answer[0].point, trial);
    memmove(replay->answer, replay->answer + 1, --replay->count * sizeof(*replay->answer));
    return 1;
}

static size_t drop(struct gt_evaluator *evaluator)
{
    struct replay *replay = evaluator->state;

    if (replay->count > 1)
        replay->count = 1;
    return replay->count;
}

/* Draws `count` samples and charges their time to the clock. */
static void measure(struct gt_evaluator *evaluator, size_t point, int count, struct gt_trial *trial)
{
    struct replay *replay = evaluator->state;

    trial->samples = 0;
    while (trial->samples < count) {
        float us = draw(evaluator, point);

        trial->sample[trial->samples++] = us;
        replay->now_s += us * 1e-6;
        evaluator->stats.busy_s += us * 1e-6;
    }
    replay->gpu_free_s = fmax(replay->gpu_free_s, replay->now_s);
}

static int sample(struct gt_evaluator *evaluator, const struct gt_candidate *candidate,
                  struct gt_trial *trial, struct gt_err *err)
{
    size_t point;
    int rc = find(evaluator->state, candidate, &point, err);

    if (rc)
        return rc;
    measure(evaluator, point, SAMPLES, trial);
    sum_up(trial, 2);
    return GT_OK;
}

/* A round pairs two independent draws, because the samples of two points were not taken side by
 * side. */
static int final(struct gt_evaluator *evaluator, const struct gt_candidate *candidate, size_t count,
                 int rounds, struct gt_trial *trial, struct gt_trial *baseline, struct gt_err *err)
{
    (void)baseline; /* no recording has a baseline */
    if (rounds > GT_MAX_SAMPLES)
        rounds = GT_MAX_SAMPLES;
    for (size_t i = 0; i < count; i++) {
        size_t point;
        int rc = find(evaluator->state, &candidate[i], &point, err);

        if (rc)
            return rc;
        measure(evaluator, point, rounds, &trial[i]);
        sum_up(&trial[i], 3);
    }
    return GT_OK;
}

const struct gt_evaluator_ops gt_evaluator_replay = {
    .name = "replay",
    .provenance = GT_REPLAYED,
    .open = open_replay,
    .open_problem = open_problem,
    .now = now,
    .space = make_space,
    .room = room,
    .submit = submit,
    .collect = collect,
    .drop = drop,
    .sample = sample,
    .final = final,
    .close = close_replay,
};
