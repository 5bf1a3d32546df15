/* race_replay.c - races on recorded trials: how near is the best time of a problem after so many
 * trials, by one way of choosing them and by another?  A problem's space is what was ever timed of
 * it, each kernel is an arm with the default strategy, and arms share trials as in a sweep
 * (tuner/sweep/shares.h).
 *
 *     build/tools/race-replay [OPTION VALUE]... WAY...
 *
 *     --from FILE     trials (*trials.gz)
 *     --seeds N       runs of each problem and way; 4
 *     --least N       problems with fewer times are left out; 200
 *     --every N       only every n-th problem; 1
 *     --first N       from this one on; 0
 *     --flying N      candidates between the choice of a point and its time; 24
 *     --arch CC       of the trials; 90
 *     --data FOLDER   with templates, configs and the arch's profile; standard: .
 *
 * A WAY is ORDER[:NAME=VALUE,...].  ORDER is what is expected of a point before it is tried:
 * `model` (src/lookup/predict.h), or `trees`, the model corrected by trees that saw no problem of
 * the same n and k.  NAME: given, points that the order gives first, of each arm, and apart, the
 * number of parameters in which they differ at least (8 and 1); power, see shares.h.
 *
 * All ways of a problem draw the same seeds.  The table has each way's mean loss and, with the
 * standard error over problems, what it loses beyond the first way. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/stats.h"
#include "exchange/trials.h"
#include "learn/learn.h"
#include "race_arms.h"

#define FLYING_MAX 256
#define WAYS_MAX   12

static const size_t stage[] = {20, 60, 100, 160, 300};
#define STAGES (sizeof(stage) / sizeof(*stage))

struct way {
    const char *text;
    int order;
    size_t given, apart;
    bool answer;
    double power;
    double *loss[STAGES]; /* of each problem, the mean over the seeds */
};

struct replay {
    struct gt_kernels kernels;
    struct gt_learning learning;
    struct gt_learn_source source;
    const char *data;
    int cc;
    size_t seeds, least, every, first, flying, raced;
    struct way way[WAYS_MAX];
    size_t ways;
};

static float expect(void *context, size_t point)
{
    return ((const struct arm *)context)->column[point];
}

/* Whether a point differs from all of the list in so many parameters. */
static bool lies_apart(const struct arm *arm, const size_t *list, size_t count, size_t i,
                       size_t apart)
{
    const size_t params = arm->kernel->params;

    for (size_t c = 0; c < count; c++) {
        size_t differ = 0;

        for (size_t p = 0; p < params; p++)
            differ += arm->space.index[list[c] * params + p] != arm->space.index[i * params + p];
        if (differ < apart)
            return false;
    }
    return true;
}

/* The least that the trees expect of the arm's points. */
static float least_expected(const struct arm *arm)
{
    float least = INFINITY;

    for (size_t i = 0; i < arm->space.count; i++)
        least = fminf(least, arm->expect[TREES][i]);
    return least;
}

/* The points that the order puts first; answers: look-up's answer is one of the arm's. */
static size_t choose_first(const struct arm *arm, const struct way *way, bool answers, size_t *list)
{
    size_t chosen = 0;

    if (answers) {
        for (size_t i = 0; i < arm->space.count; i++)
            if (!i || arm->expect[TREES][i] < arm->expect[TREES][list[0]])
                list[0] = i;
        chosen = 1;
    }
    while (chosen < way->given) {
        size_t best = SIZE_MAX;

        for (size_t i = 0; i < arm->space.count; i++)
            if ((best == SIZE_MAX || arm->column[i] < arm->column[best]) &&
                lies_apart(arm, list, chosen, i, way->apart))
                best = i;
        if (best == SIZE_MAX)
            break;
        list[chosen++] = best;
    }
    return chosen;
}

static int start(struct race *race, const struct way *way, uint64_t seed, struct gt_err *err)
{
    float answer = INFINITY;
    int rc = GT_OK;

    for (size_t i = 0; i < race->arms && way->answer; i++)
        answer = fminf(answer, least_expected(&race->arm[i]));
    for (size_t i = 0; i < race->arms && !rc; i++) {
        struct arm *arm = &race->arm[i];
        size_t list[64];
        struct gt_seeds seeds = {.point = list, .expect = expect, .context = arm};
        float least = INFINITY;

        arm->column = arm->expect[way->order];
        for (size_t p = 0; p < arm->space.count; p++)
            least = fminf(least, arm->column[p]);
        arm->record =
            (struct gt_arm_record){.predicted_us = exp((double)least),
                                   .trusted = least_expected(arm) <= answer && way->answer};
        arm->done = arm->waiting = false;
        seeds.count = choose_first(arm, way, least_expected(arm) <= answer && way->answer, list);
        rc = gt_strategy_new(&arm->strategy, "auto:stall=1e9", &arm->space, seed, &seeds, err);
    }
    return rc;
}

/* The arm whose turn it is: the one with the fewest candidates for its share. */
static struct arm *whose_turn(struct race *race, double best_us, double power)
{
    double least_predicted = INFINITY, least = INFINITY;
    struct arm *chosen = NULL;

    for (size_t i = 0; i < race->arms; i++)
        least_predicted = fmin(least_predicted, race->arm[i].record.predicted_us);
    for (size_t i = 0; i < race->arms; i++) {
        struct arm *arm = &race->arm[i];
        double weighted =
            (double)arm->record.drawn / gt_arm_share(&arm->record, best_us, least_predicted, power);

        if (!arm->done && !arm->waiting && (!chosen || weighted < least)) {
            chosen = arm;
            least = weighted;
        }
    }
    return chosen;
}

struct flight {
    struct arm *arm;
    size_t point;
};

/* Draws the next candidate.  False: no arm has one. */
static bool draw(struct race *race, double best_us, double power, struct flight *flight)
{
    struct arm *arm;

    while ((arm = whose_turn(race, best_us, power))) {
        enum gt_next next =
            arm->strategy->fresh ? gt_strategy_next(arm->strategy, &flight->point) : GT_NEXT_DONE;

        if (next == GT_NEXT_POINT) {
            flight->arm = arm;
            arm->record.drawn++;
            return true;
        }
        *(next == GT_NEXT_DONE ? &arm->done : &arm->waiting) = true;
    }
    return false;
}

static void tell(struct race *race, const struct flight *flight, double *best_us)
{
    struct arm *arm = flight->arm;
    const double us = (double)arm->us[flight->point];

    gt_strategy_tell(arm->strategy, flight->point, us);
    for (size_t i = 0; i < race->arms; i++)
        race->arm[i].waiting = false;
    if (!(us > 0))
        return;
    if (!(arm->record.reached_us > 0) || us < arm->record.reached_us)
        arm->record.reached_us = us;
    if (!(*best_us > 0) || us < *best_us)
        *best_us = us;
}

/* One race; loss[STAGES]: how far the best is behind, a logarithm. */
static int run(const struct replay *replay, struct race *race, const struct way *way, uint64_t seed,
               double *loss, struct gt_err *err)
{
    struct flight queue[FLYING_MAX];
    size_t flying = 0, ended = 0, at = 0;
    double best_us = 0;
    bool more = true;
    int rc = start(race, way, seed, err);

    while (!rc && at < STAGES) {
        while (more && flying < replay->flying &&
               (more = draw(race, best_us, way->power, &queue[flying])))
            flying++;
        if (flying) {
            tell(race, &queue[0], &best_us);
            flying--;
            memmove(queue, queue + 1, flying * sizeof(*queue));
            more = true;
        }
        ended++;
        for (; at < STAGES && (ended >= stage[at] || !flying); at++)
            loss[at] = best_us > 0 ? log(best_us / race->best_us) : 1;
    }
    for (size_t i = 0; i < race->arms; i++) {
        gt_strategy_free(race->arm[i].strategy);
        race->arm[i].strategy = NULL;
    }
    return rc;
}

static int race_problem(struct replay *replay, struct race *race, const char *text,
                        struct gt_err *err)
{
    int rc = GT_OK;

    for (size_t w = 0; w < replay->ways && !rc; w++) {
        struct way *way = &replay->way[w];

        printf("%s,\"%s\"", text, way->text);
        for (size_t seed = 1; seed <= replay->seeds && !rc; seed++) {
            double loss[STAGES];

            rc = run(replay, race, way, seed, loss, err);
            for (size_t i = 0; i < STAGES; i++)
                way->loss[i][replay->raced] += loss[i] / (double)replay->seeds;
        }
        for (size_t i = 0; i < STAGES; i++)
            printf(",%.4f", way->loss[i][replay->raced]);
        printf("\n");
    }
    fflush(stdout);
    replay->raced++;
    return rc;
}

static int race_all(struct replay *replay, struct gt_err *err)
{
    const struct gt_learning *learning = &replay->learning;
    int rc = GT_OK;

    for (size_t i = replay->first; i < learning->problems && !rc; i += replay->every) {
        struct race race = {.arms = 0};

        if (learning->problem[i].rows < replay->least)
            continue;
        rc = gt_race_arms_open(&race, learning, i, err);
        if (!rc && race.points >= replay->least)
            rc = race_problem(replay, &race, learning->problem[i].text, err);
        gt_race_arms_close(&race);
    }
    return rc;
}

/* The means over the problems, and what a way loses beyond the first. */
static void print_table(const struct replay *replay)
{
    for (size_t w = 0; w < replay->ways; w++) {
        const struct way *way = &replay->way[w], *base = &replay->way[0];
        const double n = (double)replay->raced;

        printf("# %-24s %zu problems", way->text, replay->raced);
        for (size_t s = 0; s < STAGES; s++) {
            double sum = 0, change = 0, squares = 0;

            for (size_t i = 0; i < replay->raced; i++) {
                const double more = way->loss[s][i] - base->loss[s][i];

                sum += way->loss[s][i] / n;
                change += more / n;
                squares += more * more / n;
            }
            printf("  %zu: %.2f%% (%+.2f +- %.2f)", stage[s], 100 * expm1(sum), 100 * change,
                   100 * sqrt(fmax(0, squares - change * change) / fmax(1, n - 1)));
        }
        printf("\n");
    }
}

static int add_way(struct replay *replay, char *text, struct gt_err *err)
{
    struct way *way = &replay->way[replay->ways];
    const char *given = strstr(text, "given="), *power = strstr(text, "power=");
    const char *apart = strstr(text, "apart=");

    if (replay->ways == WAYS_MAX || (strncmp(text, "model", 5) && strncmp(text, "trees", 5)))
        return gt_err_set(err, GT_ESYNTAX, "%s: not a way, or one too many", text);
    *way = (struct way){.text = text,
                        .order = text[0] == 'm' ? MODEL : TREES,
                        .given = given ? strtoul(given + 6, NULL, 10) : 8,
                        .apart = apart ? strtoul(apart + 6, NULL, 10) : 1,
                        .answer = strstr(text, "answer=1") != NULL,
                        .power = power ? strtod(power + 6, NULL) : GT_SHARE_POWER};
    for (size_t s = 0; s < STAGES; s++)
        way->loss[s] = calloc(replay->learning.problems + 1, sizeof(**way->loss));
    replay->ways++;
    return way->given > 64 ? gt_err_set(err, GT_ERANGE, "given: at most 64") : GT_OK;
}

static int read_arguments(struct replay *replay, int argc, char **argv, struct gt_err *err)
{
    int rc = gt_kernels_load(&replay->kernels, replay->data, NULL, NULL, err);

    replay->learning.kernels = &replay->kernels;
    replay->source =
        (struct gt_learn_source){.learning = &replay->learning, .data_dir = replay->data};
    GT_STEP(rc, gt_device_profile(&replay->learning.device, replay->data, replay->cc, err));
    for (int i = 1; i < argc && !rc; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
        const size_t number = strtoul(value, NULL, 10);

        if (strncmp(name, "--", 2) != 0) {
            rc = add_way(replay, argv[i], err);
            continue;
        }
        i++;
        if (strcmp(name, "--from") == 0)
            rc = gt_trials_read(value, gt_learn_take, &replay->source, err);
        else if (strcmp(name, "--seeds") == 0)
            replay->seeds = number;
        else if (strcmp(name, "--least") == 0)
            replay->least = number;
        else if (strcmp(name, "--every") == 0 && number)
            replay->every = number;
        else if (strcmp(name, "--first") == 0)
            replay->first = number;
        else if (strcmp(name, "--flying") == 0 && number && number <= FLYING_MAX)
            replay->flying = number;
        else if (strcmp(name, "--data") != 0 && strcmp(name, "--arch") != 0)
            rc = gt_err_set(err, GT_ESYNTAX, "%s %s: see tools/race_replay.c", name, value);
    }
    return rc;
}

int main(int argc, char **argv)
{
    struct replay replay = {
        .data = ".", .cc = 90, .seeds = 4, .least = 200, .every = 1, .flying = 24};
    struct gt_err err = {0};
    int rc;

    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], "--data") == 0)
            replay.data = argv[i + 1];
        else if (strcmp(argv[i], "--arch") == 0)
            replay.cc = (int)strtol(argv[i + 1], NULL, 10);
    rc = read_arguments(&replay, argc, argv, &err);
    GT_STEP(rc, gt_learn_leave_out(&replay.learning, GT_LEARN_BY_SIZE, &err));
    if (!rc)
        printf("problem,way,loss_20,loss_60,loss_100,loss_160,loss_300\n");
    GT_STEP(rc, race_all(&replay, &err));
    if (!rc)
        print_table(&replay);
    else
        fprintf(stderr, "%s\n", err.msg);
    for (size_t w = 0; w < replay.ways; w++)
        for (size_t s = 0; s < STAGES; s++)
            free(replay.way[w].loss[s]);
    gt_learn_release(&replay.learning);
    gt_kernels_release(&replay.kernels);
    return rc != GT_OK;
}
