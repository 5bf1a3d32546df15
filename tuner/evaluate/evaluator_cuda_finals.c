/* evaluator_cuda_finals.c - the blocking requests of the cuda evaluator: sampling one candidate,
 * the final among several, the cuBLASLt baseline, the time of moving the data alone, the reference
 * kernel, and calibration.
 *
 * A final that fails or kills the worker does not show which candidate is the cause.  The
 * candidates are then sampled one by one, failing candidates are removed, and the final is held
 * again.  If no candidate fails alone, the final is held with a quarter of the rounds: if a launch
 * costs the host far more than it should, all rounds together miss the deadline.  If every final
 * fails, the samples are the result. */
#include "base/err.h"
#include "evaluate/evaluator_cuda.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FINAL    64 /* candidates, as in worker_gpu.c */
#define MAX_TRIES    3
#define LEAST_ROUNDS 7   /* least rounds of a repeated final, as in tuner/sweep/finals.c */
#define MAX_SAMPLES  256 /* samples of stage 2 */
#define BASELINE_S   120 /* for loading cuBLASLt and asking it for algorithms */
#define BASELINE_RUN 512 /* launches: up to 32 algorithms with 16 samples each */
#define REFERENCE_S  30
#define MOVE_S       60 /* mostly for compiling */
#define PROOF_RUNS   24
#define ENERGY_TIMES 16 /* times the measured seconds: with heating and patience, and by power */
#define ENERGY_LEAST 5  /* likewise, if the measurement has to be quick */
#define ENERGY_S     4  /* further seconds: heating takes at least a second where power is read */

/* Makes sure that an idle worker has the problem open. */
static int prepare(struct gt_cuda *cuda, struct gt_err *err)
{
    int rc = gt_cuda_settle(cuda, err);

    return rc ? rc : gt_gpu_client_ready(&cuda->gpu, err);
}

/* Sends the built frame and waits for the reply.  GT_OK: the reply may still be a loss or an
 * error. */
static int call(struct gt_cuda *cuda, double deadline_s, struct gt_gpu_reply *reply,
                struct gt_err *err)
{
    int rc = gt_gpu_client_call(&cuda->gpu, deadline_s, reply, err);

    if (!rc &&
        (reply->lost || (reply->code && reply->code != GT_ENOTFOUND && reply->code != GT_ENOLIB)))
        cuda->gpu.ready = false;
    return rc;
}

/* Sends a request that the rest can do without: a loss or an error of the worker becomes an error
 * code, and the answer is one structure.  what: the request's name, for the sentence of a loss. */
static int ask(struct gt_cuda *cuda, double deadline_s, const char *what, void *answer, size_t size,
               struct gt_err *err)
{
    struct gt_gpu_reply reply;
    int rc = call(cuda, deadline_s, &reply, err);

    if (rc)
        return rc;
    if (reply.lost)
        return gt_err_set(err, GT_ELOST, "%s: %s", what, reply.how);
    if (reply.code)
        return gt_err_set(err, reply.code, "%s", reply.sentence);
    gt_wire_get_struct(&reply.in, answer, size);
    return gt_wire_finish(&reply.in, err);
}

/* Makes sure that the candidates' images are in the cache.  Missing images are compiled in
 * parallel; entry->compiled has the outcome. */
static int images_of(struct gt_cuda *cuda, const struct gt_candidate *candidate,
                     struct gt_entry *entry, size_t count, struct gt_err *err)
{
    size_t asked;
    int rc = GT_OK;

    for (asked = 0; asked < count && !rc; asked++) {
        entry[asked] = (struct gt_entry){.ticket = 0};
        rc = gt_compile_pool_prepare(cuda->pool, &candidate[asked], &entry[asked].prepared, err);
        GT_STEP(rc, gt_cuda_compile(cuda, &entry[asked], err));
        if (!rc)
            TAILQ_INSERT_TAIL(&cuda->compiling, &entry[asked], link);
    }
    for (size_t i = 0; i < count && !rc; i++)
        rc = gt_cuda_wait_compiled(cuda, &entry[i], err);
    for (size_t i = 0; i < asked && rc; i++)
        gt_cuda_take_back(cuda, &entry[i]);
    return rc;
}

/* Compiles an entry's image, which has left the cache, because the entry is to be run once more. */
static int image_again(struct gt_cuda *cuda, struct gt_entry *entry, struct gt_err *err)
{
    const struct gt_candidate candidate = entry->prepared.candidate;
    const int misses = entry->recompiled;
    int rc = images_of(cuda, &candidate, entry, 1, err);

    entry->recompiled = misses;
    if (!rc && entry->compiled.status != GT_STATUS_OK)
        gt_cuda_finish_with(entry, entry->compiled.status, entry->compiled.detail);
    return rc;
}

/* Samples an entry.  A lost worker or an error becomes the status of the entry's trial.  *missed:
 * the image had left the cache, and is there again unless the trial's status says why not. */
static int sample_once(struct gt_cuda *cuda, struct gt_entry *entry, bool *missed,
                       struct gt_err *err)
{
    const double runs = MAX_SAMPLES + PROOF_RUNS;
    struct gt_gpu_reply reply;
    int rc = prepare(cuda, err);

    *missed = false;
    if (rc)
        return rc;
    gt_wire_begin(&cuda->gpu.frame, GT_MSG_SAMPLE);
    gt_wire_put_int(&cuda->gpu.frame, MAX_SAMPLES);
    gt_gpu_client_put(&cuda->gpu, &entry->prepared);
    rc = call(cuda, cuda->floor_s + runs * gt_cuda_launch_s(cuda), &reply, err);
    GT_STEP(rc, gt_cuda_take_reply(cuda, entry, &reply, missed, err));
    return rc || !*missed ? rc : image_again(cuda, entry, err);
}

/* Samples an entry.  Samples it again if the worker was killed from outside or the image was
 * missed, because neither is the entry's fault. */
static int sample_entry(struct gt_cuda *cuda, struct gt_entry *entry, struct gt_err *err)
{
    bool missed;
    int rc = sample_once(cuda, entry, &missed, err);

    for (int try = 1; !rc; try += !missed) {
        const enum gt_status status = entry->trial.status;

        if (missed ? status != GT_STATUS_NONE : status != GT_STATUS_KILLED || try >= MAX_TRIES)
            return GT_OK;
        rc = sample_once(cuda, entry, &missed, err);
    }
    return rc;
}

int gt_cuda_sample(struct gt_evaluator *evaluator, const struct gt_candidate *candidate,
                   struct gt_trial *trial, struct gt_err *err)
{
    struct gt_cuda *cuda = evaluator->state;
    struct gt_entry entry;
    int rc = images_of(cuda, candidate, &entry, 1, err);

    if (rc)
        return rc;
    if (entry.compiled.status != GT_STATUS_OK) {
        gt_cuda_finish_with(&entry, entry.compiled.status, entry.compiled.detail);
    } else {
        rc = sample_entry(cuda, &entry, err);
        gt_cuda_update_stats(evaluator);
        if (rc)
            return rc;
    }
    *trial = entry.trial;
    return GT_OK;
}

static int run_baseline(struct gt_cuda *cuda, struct gt_baseline *baseline, struct gt_err *err)
{
    int rc = prepare(cuda, err);

    if (rc)
        return rc;
    gt_wire_begin(&cuda->gpu.frame, GT_MSG_BASELINE);
    rc = ask(cuda, BASELINE_S + BASELINE_RUN * gt_cuda_launch_s(cuda), "cuBLASLt", baseline,
             sizeof(*baseline), err);
    if (rc == GT_ESYNTAX || (!rc && (baseline->samples < 0 || baseline->samples > GT_MAX_SAMPLES)))
        return gt_err_set(err, GT_ELOST,
                          "the worker's answer for cuBLASLt has values out of range");
    baseline->name[sizeof(baseline->name) - 1] = '\0';
    baseline->algo[sizeof(baseline->algo) - 1] = '\0';
    if (!rc)
        cuda->gpu.baseline = true;
    return rc;
}

/* A baseline that kills two workers counts as missing, so that the sweep goes on. */
int gt_cuda_baseline(struct gt_evaluator *evaluator, struct gt_baseline *baseline,
                     struct gt_err *err)
{
    struct gt_cuda *cuda = evaluator->state;
    struct gt_err why = {0};
    int rc;

    rc = run_baseline(cuda, baseline, &why);
    if (rc == GT_ELOST && cuda->gpu.process.pid == 0)
        rc = run_baseline(cuda, baseline, &why);
    gt_cuda_update_stats(evaluator);
    cuda->has_baseline = !rc;
    if (rc == GT_ELOST && cuda->gpu.process.pid == 0 && !gt_gpu_client_ready(&cuda->gpu, NULL))
        rc = GT_ENOTFOUND;
    return rc ? gt_err_set(err, rc, "%s", why.msg) : GT_OK;
}

/* Sends the entries that have not failed to a final.  If images had left the cache, they are
 * compiled again, and the final is asked for again. */
static int send_final(struct gt_cuda *cuda, struct gt_entry *entry, size_t count, int rounds,
                      struct gt_gpu_reply *reply, struct gt_err *err)
{
    const double runs = (double)(rounds + PROOF_RUNS) * (double)(count + 1);
    int rc = GT_OK;

    do {
        int64_t in = 0;

        for (size_t i = 0; i < count; i++)
            in += entry[i].trial.status == GT_STATUS_NONE;
        gt_wire_begin(&cuda->gpu.frame, GT_MSG_FINAL);
        gt_wire_put_int(&cuda->gpu.frame, in);
        gt_wire_put_int(&cuda->gpu.frame, rounds);
        for (size_t i = 0; i < count; i++) {
            if (entry[i].trial.status == GT_STATUS_NONE)
                gt_gpu_client_put(&cuda->gpu, &entry[i].prepared);
        }
        rc = call(cuda, cuda->floor_s + runs * gt_cuda_launch_s(cuda), reply, err);
        if (rc || reply->lost || reply->code != GT_ENOTFOUND)
            return rc;
        for (size_t i = 0; i < count && !rc; i++) {
            if (entry[i].trial.status != GT_STATUS_NONE)
                continue;
            rc = gt_cuda_miss(cuda, &entry[i], reply->sentence, err);
            GT_STEP(rc, image_again(cuda, &entry[i], err));
        }
    } while (!rc);
    return rc;
}

/* Holds one final of the entries that have not failed.  *lost: the final failed or killed the
 * worker. */
static int hold_final(struct gt_cuda *cuda, struct gt_entry *entry, size_t count, int rounds,
                      struct gt_trial *baseline, bool *lost, struct gt_err *err)
{
    struct gt_gpu_reply reply;
    struct gt_baseline again;
    size_t i;
    int rc = prepare(cuda, err);

    if (!rc && cuda->has_baseline && !cuda->gpu.baseline) { /* not open in a new worker */
        rc = run_baseline(cuda, &again, err);
        if (rc && rc != GT_EINTERRUPTED) {
            cuda->has_baseline = false; /* the final is held without the baseline */
            rc = prepare(cuda, err);
        }
    }
    if (rc)
        return rc;
    rc = send_final(cuda, entry, count, rounds, &reply, err);
    if (rc)
        return rc;
    if (reply.code == GT_ESTALE) /* the kernels' files have changed, so no final can be held */
        return gt_err_set(err, reply.code, "%s", reply.sentence);
    *lost = reply.lost != GT_STATUS_NONE || reply.code;
    if (*lost)
        return GT_OK;
    for (i = 0; !rc && i < count; i++) {
        if (entry[i].trial.status == GT_STATUS_NONE) /* in the order of sending */
            rc = gt_cuda_read_trial(&reply, &entry[i], &entry[i].trial);
    }
    if (rc)
        return gt_err_set(err, rc, "the worker's answer to the final is malformed");
    gt_wire_get_struct(&reply.in, baseline, sizeof(*baseline));
    return gt_wire_finish(&reply.in, err);
}

/* Samples the entries one by one after a lost final.  A failing entry gets the status of its
 * failure.  alone[i]: the trial of entry i; *culprits: how many entries failed. */
static int find_culprits(struct gt_cuda *cuda, struct gt_entry *entry, size_t count,
                         struct gt_trial *alone, size_t *culprits, struct gt_err *err)
{
    size_t i;
    int rc = GT_OK;

    *culprits = 0;
    for (i = 0; !rc && i < count; i++) {
        if (entry[i].trial.status != GT_STATUS_NONE)
            continue;
        rc = sample_entry(cuda, &entry[i], err);
        alone[i] = entry[i].trial;
        if (!rc && entry[i].trial.status == GT_STATUS_OK)
            entry[i].trial.status = GT_STATUS_NONE;
        else
            ++*culprits;
    }
    return rc;
}

/* Holds finals until a final succeeds, MAX_TRIES at most.  If no final succeeds, the trials of the
 * single samplings are the result. */
static int try_finals(struct gt_evaluator *evaluator, struct gt_entry *entry, size_t count,
                      int rounds, struct gt_trial *trial, struct gt_trial *baseline,
                      struct gt_err *err)
{
    struct gt_cuda *cuda = evaluator->state;
    bool lost = true;
    size_t i, culprits;
    int try, rc = GT_OK;

    for (try = 0; !rc && lost && try < MAX_TRIES; try++) {
        rc = hold_final(cuda, entry, count, rounds, baseline, &lost, err);
        if (!rc && lost)
            rc = find_culprits(cuda, entry, count, trial, &culprits, err);
        if (!rc && lost && !culprits && rounds > LEAST_ROUNDS)
            rounds = rounds / 4 > LEAST_ROUNDS ? rounds / 4 : LEAST_ROUNDS;
    }
    if (!rc && lost)
        gt_evaluator_notice(evaluator, "the final is given up: it failed each time, although each "
                                       "candidate passes alone");
    for (i = 0; !rc && i < count; i++) {
        if (entry[i].trial.status != GT_STATUS_NONE)
            trial[i] = entry[i].trial;
    }
    return rc;
}

int gt_cuda_final(struct gt_evaluator *evaluator, const struct gt_candidate *candidate,
                  size_t count, int rounds, struct gt_trial *trial, struct gt_trial *baseline,
                  struct gt_err *err)
{
    struct gt_cuda *cuda = evaluator->state;
    struct gt_trial ignored;
    struct gt_entry *entry;
    size_t i;
    int rc = GT_OK;

    if (count > MAX_FINAL)
        return gt_err_set(err, GT_ERANGE, "a final of %zu candidates; at most %d", count,
                          MAX_FINAL);
    entry = calloc(count ? count : 1, sizeof(*entry));
    if (!entry)
        return gt_err_nomem(err);
    if (!baseline)
        baseline = &ignored;
    *baseline = (struct gt_trial){0};
    rc = images_of(cuda, candidate, entry, count, err);
    for (i = 0; !rc && i < count; i++) {
        if (entry[i].compiled.status != GT_STATUS_OK)
            gt_cuda_finish_with(&entry[i], entry[i].compiled.status, entry[i].compiled.detail);
    }
    GT_STEP(rc, try_finals(evaluator, entry, count, rounds, trial, baseline, err));
    gt_cuda_update_stats(evaluator);
    free(entry);
    return rc;
}

int gt_cuda_reference(struct gt_evaluator *evaluator, double *us, struct gt_err *err)
{
    struct gt_cuda *cuda = evaluator->state;
    struct gt_gpu_reply reply;
    int try, rc = GT_OK;

    for (try = 0; try < MAX_TRIES; try++) {
        rc = prepare(cuda, err);
        if (rc)
            return rc;
        gt_wire_begin(&cuda->gpu.frame, GT_MSG_REFERENCE);
        rc = call(cuda, REFERENCE_S, &reply, err);
        gt_cuda_update_stats(evaluator);
        if (rc)
            return rc;
        if (reply.lost || reply.code)
            continue;
        gt_wire_get_struct(&reply.in, us, sizeof(*us));
        return gt_wire_finish(&reply.in, err);
    }
    return gt_err_set(err, GT_ELOST, "the reference kernel failed %d times, the last: %s",
                      MAX_TRIES, reply.lost ? reply.how : reply.sentence);
}

int gt_cuda_move(struct gt_evaluator *evaluator, struct gt_move *move, struct gt_err *err)
{
    struct gt_cuda *cuda = evaluator->state;
    int rc = prepare(cuda, err);

    if (rc)
        return rc;
    gt_wire_begin(&cuda->gpu.frame, GT_MSG_MOVE);
    rc = ask(cuda, MOVE_S + BASELINE_RUN * gt_cuda_launch_s(cuda), "what memory alone takes", move,
             sizeof(*move), err);
    gt_cuda_update_stats(evaluator);
    move->form[sizeof(move->form) - 1] = '\0';
    return rc;
}

/* How long the worker may take.  If the caller has less time, the worker is ended earlier, because
 * a stalled reading must not take the time of other measurements. */
static double energy_deadline(const struct gt_cuda *cuda, const struct gt_energy_wish *wish)
{
    const double proof_s = PROOF_RUNS * gt_cuda_launch_s(cuda);
    const double usual = cuda->floor_s + ENERGY_S + ENERGY_TIMES * wish->seconds + proof_s;
    const double quick = ENERGY_S + ENERGY_LEAST * wish->seconds + proof_s;

    return wish->most_s > 0 ? fmin(usual, fmax(quick, wish->most_s)) : usual;
}

int gt_cuda_energy(struct gt_evaluator *evaluator, const struct gt_candidate *candidate,
                   const struct gt_energy_wish *wish, struct gt_energy *energy, struct gt_err *err)
{
    struct gt_cuda *cuda = evaluator->state;
    struct gt_gpu_reply reply;
    struct gt_entry entry = {0};
    int rc = candidate ? images_of(cuda, candidate, &entry, 1, err) : GT_OK;

    if (!rc && candidate && entry.compiled.status != GT_STATUS_OK)
        return gt_err_set(err, GT_ERANGE, "%s", entry.compiled.detail);
    GT_STEP(rc, prepare(cuda, err));
    if (rc)
        return rc;
    gt_wire_begin(&cuda->gpu.frame, GT_MSG_ENERGY);
    gt_wire_put_bytes(&cuda->gpu.frame, wish, sizeof(*wish));
    gt_wire_put_int(&cuda->gpu.frame, candidate != NULL);
    if (candidate)
        gt_gpu_client_put(&cuda->gpu, &entry.prepared);
    rc = call(cuda, energy_deadline(cuda, wish), &reply, err);
    gt_cuda_update_stats(evaluator);
    if (rc)
        return rc;
    if (reply.lost) /* the worker is lost; a new worker measures the others */
        return gt_err_set(err, reply.lost == GT_STATUS_TIMEOUT ? GT_ELOST : GT_ERANGE, "%s",
                          reply.how);
    if (reply.code)
        return gt_err_set(err, reply.code == GT_ECUDA ? GT_ERANGE : reply.code, "%s",
                          reply.sentence);
    gt_wire_get_struct(&reply.in, energy, sizeof(*energy));
    return gt_wire_finish(&reply.in, err);
}

int gt_cuda_calibrate(struct gt_evaluator *evaluator, bool only_copy,
                      struct gt_calibration *calibration, struct gt_err *err)
{
    struct gt_cuda *cuda = evaluator->state;
    int rc = gt_cuda_settle(cuda, err);

    return rc ? rc : gt_gpu_client_calibrate(&cuda->gpu, only_copy, calibration, err);
}
