/* sweep_fixture.h - an evaluator that makes its answers up, and what a sweep over it needs. */
#ifndef GT_SWEEP_FIXTURE_H
#define GT_SWEEP_FIXTURE_H

#include "search_fixture.h"

#include "sweep/sweep.h"
#include "base/stats.h"

#define SIDE   16 /* values of each of the two parameters P and Q */
#define ROOM   4
#define BUDGET 120 /* trials */
#define CRASH  -1  /* a status: the tuner dies during the launch */

struct fake_flight {
    uint64_t id;
    struct gt_candidate candidate;
    double ready_s;
};

struct fake {
    struct gt_evaluator evaluator; /* first, so that either can be made of the other */
    struct gt_evaluator_ops ops;
    /* the script */
    int (*status_of)(const struct gt_candidate *candidate);
    int (*sampling)(const struct gt_candidate *candidate); /* CRASH; NULL: nothing crashes there */
    size_t finals_lost; /* so many contests are the end of the tuner */
    double (*us_of)(const struct gt_candidate *candidate);
    double (*final_us_of)(const struct gt_candidate *candidate); /* NULL: us_of */
    double spread;       /* of the samples around a time; 0: 1 % */
    size_t signal_after; /* trials until SIGINT; 0: never */
    size_t drift_at;     /* number of the reference run from which on it is 10 % slower; 0: never */
    double compile_s;    /* of every candidate, all at once, on a clock that waiting moves on */
    volatile sig_atomic_t signals;
    /* what happened */
    double clock_s;
    struct fake_flight flying[ROOM];
    size_t flights, trials, sampled, references, problems;
    size_t contests;       /* semi-finals, finals, play-offs */
    size_t finals;         /* those with the baseline: finals, play-offs */
    int seen[SIDE * SIDE]; /* launches per point */
    double best_us;        /* last told */
    size_t first;          /* number of the first point submitted */
};

static inline struct fake *fake_of(struct gt_evaluator *evaluator)
{
    return (struct fake *)evaluator;
}

static inline size_t number_of(const struct gt_candidate *candidate)
{
    return (size_t)(candidate->point.value[0] * SIDE + candidate->point.value[1]);
}

static inline int fake_open_problem(struct gt_evaluator *evaluator,
                                    const struct gt_problem *problem, struct gt_err *err)
{
    fake_of(evaluator)->flights = 0;
    fake_of(evaluator)->problems++;
    if (problem->m == 7777)
        return gt_err_set(err, GT_ETOOBIG, "it takes 2 bytes and there is 1");
    return GT_OK;
}

static inline size_t fake_room(struct gt_evaluator *evaluator)
{
    return ROOM - fake_of(evaluator)->flights;
}

static inline int fake_submit(struct gt_evaluator *evaluator, uint64_t id,
                              const struct gt_candidate *candidate, struct gt_err *err)
{
    struct fake *fake = fake_of(evaluator);

    (void)err;
    assert_true(fake->flights < ROOM);
    if (!fake->trials && !fake->flights)
        fake->first = number_of(candidate);
    fake->flying[fake->flights++] =
        (struct fake_flight){id, *candidate, fake->clock_s + fake->compile_s};
    return GT_OK;
}

/* A trial of a good candidate: samples spread around its time. */
static inline void make_trial(const struct fake *fake, const struct gt_candidate *candidate,
                              int stage, int samples, struct gt_trial *trial)
{
    double us =
        stage == 3 && fake->final_us_of ? fake->final_us_of(candidate) : fake->us_of(candidate);

    *trial = (struct gt_trial){.status = GT_STATUS_OK, .stage = stage, .samples = samples};
    trial->provenance = fake->ops.provenance;
    trial->us = trial->lo_us = trial->hi_us = us;
    trial->shared_bytes = 1000 + candidate->point.value[1];
    for (int i = 0; i < samples; i++) {
        struct gt_random random = {((uint64_t)i + 1000 * fake->contests) * SIDE * SIDE +
                                   number_of(candidate)};

        trial->sample[i] = (float)(us * (1 + (fake->spread ? fake->spread : 0.01) *
                                                 (gt_random_unit(&random) - 0.5)));
    }
}

static inline int fake_collect(struct gt_evaluator *evaluator, int timeout_ms, uint64_t *id,
                               struct gt_trial *trial, struct gt_err *err)
{
    struct fake *fake = fake_of(evaluator);
    struct fake_flight flight = fake->flying[0];
    int status = fake->status_of ? fake->status_of(&flight.candidate) : GT_STATUS_OK;
    int rc = GT_OK;

    if (!fake->flights || flight.ready_s > fake->clock_s) {
        fake->clock_s += 1e-3 * timeout_ms;
        return 0;
    }
    if (fake->ops.sample)
        rc = evaluator->options.events.launching(evaluator->options.events.context, flight.id, err);
    if (rc)
        return rc;
    fake->seen[number_of(&flight.candidate)]++;
    if (status == CRASH)
        return gt_err_set(err, GT_EIO, "killed");
    memmove(fake->flying, fake->flying + 1, --fake->flights * sizeof(flight));
    make_trial(fake, &flight.candidate, fake->ops.sample ? 1 : 0, 3, trial);
    if (status != GT_STATUS_OK)
        *trial = (struct gt_trial){.status = (enum gt_status)status,
                                   .us = status == GT_STATUS_SLOW ? trial->us : 0};
    trial->provenance = fake->ops.provenance;
    *id = flight.id;
    if (++fake->trials == fake->signal_after)
        fake->signals = 1;
    return 1;
}

/* Only the first one has begun, unless it is still being compiled. */
static inline size_t fake_drop(struct gt_evaluator *evaluator)
{
    struct fake *fake = fake_of(evaluator);

    fake->flights = fake->flights && fake->flying[0].ready_s <= fake->clock_s ? 1 : 0;
    return fake->flights;
}

static inline void fake_set_best(struct gt_evaluator *evaluator, double us)
{
    assert_true(us > 0);
    fake_of(evaluator)->best_us = us;
}

static inline int fake_sample(struct gt_evaluator *evaluator, const struct gt_candidate *candidate,
                              struct gt_trial *trial, struct gt_err *err)
{
    struct fake *fake = fake_of(evaluator);

    fake->sampled++;
    if (fake->sampling && fake->sampling(candidate) == CRASH)
        return gt_err_set(err, GT_EIO, "killed");
    make_trial(fake_of(evaluator), candidate, 2, 21, trial);
    return GT_OK;
}

static inline int fake_final(struct gt_evaluator *evaluator, const struct gt_candidate *candidate,
                             size_t count, int rounds, struct gt_trial *trial,
                             struct gt_trial *baseline, struct gt_err *err)
{
    struct fake *fake = fake_of(evaluator);

    assert_true(rounds >= 7);
    fake->contests++;
    fake->finals += baseline != NULL;
    if (fake->finals_lost) {
        fake->finals_lost--;
        return gt_err_set(err, GT_EIO, "killed");
    }
    for (size_t i = 0; i < count; i++)
        make_trial(fake, &candidate[i], 3, rounds, &trial[i]);
    if (baseline) {
        *baseline = (struct gt_trial){.status = GT_STATUS_OK, .us = 123, .samples = 1};
        baseline->sample[0] = 123;
    }
    return GT_OK;
}

static inline int fake_baseline(struct gt_evaluator *evaluator, struct gt_baseline *baseline,
                                struct gt_err *err)
{
    (void)evaluator;
    (void)err;
    *baseline = (struct gt_baseline){.name = "vendor 1.0", .answers = 8, .us = 130};
    return GT_OK;
}

static inline int fake_reference(struct gt_evaluator *evaluator, double *us, struct gt_err *err)
{
    struct fake *fake = fake_of(evaluator);

    (void)err;
    fake->references++;
    *us = fake->drift_at && fake->references >= fake->drift_at ? 110 : 100;
    return GT_OK;
}

/* 100 us at P = 10, Q = 9; a bowl around it. */
static inline double bowl(const struct gt_candidate *candidate)
{
    return 100 + 2.0 * labs(candidate->point.value[0] - 10) +
           2.0 * labs(candidate->point.value[1] - 9);
}

static inline struct fake new_fake(const struct search *s, bool measures)
{
    struct fake fake = {.us_of = bowl};

    fake.ops = (struct gt_evaluator_ops){
        .name = "fake",
        .open_problem = fake_open_problem,
        .room = fake_room,
        .submit = fake_submit,
        .collect = fake_collect,
        .drop = fake_drop,
        .set_best = fake_set_best,
    };
    fake.ops.provenance = measures ? GT_MEASURED : GT_PREDICTED;
    if (measures) {
        fake.ops.sample = fake_sample;
        fake.ops.final = fake_final;
        fake.ops.baseline = fake_baseline;
        fake.ops.reference = fake_reference;
    }
    fake.evaluator.options.baseline = measures;
    fake.evaluator.device = s->device;
    fake.evaluator.device.profile = !measures;
    strcpy(fake.evaluator.device.uuid, measures ? "GPU-1" : "");
    fake.evaluator.nvrtc_version = 13000;
    return fake;
}

/* A sweep in the making; set fields of options, then call run. */
struct bench {
    struct search *s;
    struct gt_kernel *kernel[2];
    struct gt_store *store;
    struct gt_sweep_options options;
    struct gt_sweep_result result;
};

/* model: an entry of the description, or nothing. */
static inline struct gt_kernel *modelled_kernel(struct search *s, const char *name,
                                                const char *model)
{
    char values[512] = "0", rest[2048];

    for (int i = 1; i < SIDE; i++)
        snprintf(values + strlen(values), sizeof(values) - strlen(values), ", %d", i);
    snprintf(rest, sizeof(rest),
             "\"params\": [{\"name\": \"P\", \"values\": [%s], \"default\": 0, \"kind\": "
             "\"compile\", \"doc\": \"-\"}, {\"name\": \"Q\", \"values\": [%s], \"default\": 0, "
             "\"kind\": \"compile\", \"doc\": \"-\"}], %s%s",
             values, values, model, LAUNCH);
    return search_kernel(s, name, "+ P + Q", rest);
}

static inline struct gt_kernel *grid_kernel(struct search *s, const char *name)
{
    return modelled_kernel(s, name, "");
}

static inline struct bench open_bench(struct search *s)
{
    struct bench bench = {.s = s};
    char path[128];

    snprintf(path, sizeof(path), "%s/test.db", s->folder);
    OK(&s->err, gt_store_open(&bench.store, path, GT_STORE_WRITE, &s->err));
    bench.kernel[0] = grid_kernel(s, "grid");
    bench.options = (struct gt_sweep_options){
        .problem = &s->problem,
        .problems = 1,
        .kernels = 1,
        .store = bench.store,
        .budget = {.trials = BUDGET},
        .seed = 1,
    };
    return bench;
}

static inline int run(struct bench *bench, struct fake *fake)
{
    gt_sweep_result_release(&bench->result);
    fake->evaluator.ops = &fake->ops;
    fake->evaluator.state = fake;
    bench->options.kernel = (const struct gt_kernel *const *)bench->kernel;
    bench->options.evaluator = &fake->evaluator;
    bench->options.signals = &fake->signals;
    return gt_sweep_run(&bench->options, &bench->result, &bench->s->err);
}

static inline void close_bench(struct bench *bench)
{
    gt_sweep_result_release(&bench->result);
    gt_kernel_free(bench->kernel[0]);
    gt_kernel_free(bench->kernel[1]);
    gt_store_close(bench->store);
}

/* Launches of all points; none may exceed `most`. */
static inline size_t launches(const struct fake *fake, int most)
{
    size_t sum = 0;

    for (size_t i = 0; i < SIDE * SIDE; i++) {
        assert_in_range(fake->seen[i], 0, most);
        sum += (size_t)fake->seen[i];
    }
    return sum;
}

struct winner {
    int rows, ties;
    double us, baseline_us;
    enum gt_provenance provenance;
    char point[64];
};

static inline int on_winner(void *context, const struct gt_row *row, struct gt_err *err)
{
    struct winner *winner = context;

    (void)err;
    winner->rows++;
    winner->ties = row->ties;
    winner->us = row->us;
    winner->baseline_us = row->baseline_us;
    winner->provenance = row->provenance;
    snprintf(winner->point, sizeof(winner->point), "%s", row->point);
    return GT_OK;
}

/* The winner as the store tells it; measured_only: predicted ones are left out. */
static inline struct winner stored_winner(struct bench *bench, bool measured_only)
{
    struct gt_row_filter filter = {.winners_only = true,
                                   .provenance = measured_only ? 1u << GT_MEASURED : 0};
    struct winner winner = {0};

    OK(&bench->s->err, gt_store_rows(bench->store, &filter, on_winner, &winner, &bench->s->err));
    return winner;
}

/* A clock on which only compiling takes time. */
static inline double compile_clock(const struct gt_evaluator *evaluator)
{
    return ((const struct fake *)evaluator)->clock_s;
}

/* A clock on which every trial takes a millisecond. */
static inline double trial_clock(const struct gt_evaluator *evaluator)
{
    return 1e-3 * (double)((const struct fake *)evaluator)->trials;
}

/* Whether it is this point. */
static inline bool is_point(const struct gt_candidate *candidate, int64_t p, int64_t q)
{
    return candidate->point.value[0] == p && candidate->point.value[1] == q;
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, search_setup, search_teardown)

#endif
