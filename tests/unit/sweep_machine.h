/* sweep_machine.h - a made-up evaluator with compile workers, a cache of cubins and a GPU, on a
 * clock of its own: what a machine of many cores does with its time, without one. */
#ifndef GT_SWEEP_MACHINE_H
#define GT_SWEEP_MACHINE_H

#include "sweep_fixture.h"

#include <math.h>

#define MACHINE_JOBS     16
#define MACHINE_PROBLEMS 32                                   /* M = 100, 200... */
#define MACHINE_CUBINS   (2 * MACHINE_PROBLEMS * SIDE * SIDE) /* of "grid" and of another kernel */
#define MACHINE_ENTRIES  96
#define MACHINE_SEQUENCE 8192

enum machine_state { ABSENT, WANTED, AHEAD, AT_WORK, CACHED };

struct machine_entry {
    uint64_t id;
    size_t cubin;
    struct gt_candidate candidate;
    double ready_s; /* when its cubin was there; negative: it is not */
};

struct machine {
    struct fake fake; /* first, so that either can be made of the other */
    /* the script; seconds */
    double cubin_s, trial_s, open_s, baseline_s;
    bool shared; /* a cubin serves all problems */
    /* the state */
    unsigned char state[MACHINE_CUBINS];
    size_t queue[2][MACHINE_SEQUENCE], head[2], tail[2]; /* wanted now; ahead */
    struct {
        size_t cubin;
        double done_s;
        bool busy;
    } worker[MACHINE_JOBS];
    struct machine_entry entry[MACHINE_ENTRIES], running, done;
    size_t entries;
    bool is_running, is_done;
    double running_s; /* when the trial on the GPU ends */
    /* what happened */
    double gpu_s; /* the GPU at work, finals included */
    size_t compiled;
};

static inline struct machine *machine_of(const struct gt_evaluator *evaluator)
{
    return (struct machine *)evaluator->state;
}

static inline size_t machine_cubin(const struct machine *m, const struct gt_candidate *candidate)
{
    const size_t problem = m->shared ? 0 : (size_t)candidate->problem->m / 100 - 1;
    const size_t kernel = strcmp(candidate->kernel->name, "grid") != 0;

    assert_true(problem < MACHINE_PROBLEMS);
    return (kernel * MACHINE_PROBLEMS + problem) * SIDE * SIDE + number_of(candidate);
}

/* Gives idle workers their next cubins, and the GPU its next candidate. */
static inline void machine_feed(struct machine *m)
{
    const double now = m->fake.clock_s;

    for (int w = 0; w < MACHINE_JOBS; w++)
        for (int q = 0; q < 2 && !m->worker[w].busy; q++)
            while (!m->worker[w].busy && m->head[q] < m->tail[q]) {
                const size_t cubin = m->queue[q][m->head[q]++];

                if (m->state[cubin] != (q ? AHEAD : WANTED))
                    continue;
                m->state[cubin] = AT_WORK;
                m->worker[w].cubin = cubin;
                m->worker[w].done_s = now + m->cubin_s;
                m->worker[w].busy = true;
            }
    for (size_t i = 0; i < m->entries; i++)
        if (m->entry[i].ready_s < 0 && m->state[m->entry[i].cubin] == CACHED)
            m->entry[i].ready_s = now;
    if (m->is_running || m->is_done)
        return;
    for (size_t i = 0; i < m->entries; i++) /* the order of the list is that of their coming */
        if (m->entry[i].ready_s >= 0) {
            const struct gt_evaluator_events *events = &m->fake.evaluator.options.events;

            assert_int_equal(events->launching(events->context, m->entry[i].id, NULL), GT_OK);
            m->running = m->entry[i];
            m->is_running = true;
            m->running_s = now + m->trial_s;
            memmove(&m->entry[i], &m->entry[i + 1], (--m->entries - i) * sizeof(*m->entry));
            return;
        }
}

/* Lets the machine work until that time or, if `first`, until a trial is done. */
static inline void machine_work(struct machine *m, double until, bool first)
{
    machine_feed(m);
    while (!(first && m->is_done)) {
        double next = m->is_running ? m->running_s : INFINITY;
        int worker = -1;

        for (int w = 0; w < MACHINE_JOBS; w++)
            if (m->worker[w].busy && m->worker[w].done_s < next) {
                next = m->worker[w].done_s;
                worker = w;
            }
        if (next > until) {
            m->fake.clock_s = until;
            return;
        }
        m->fake.clock_s = next;
        if (worker >= 0) {
            m->worker[worker].busy = false;
            m->state[m->worker[worker].cubin] = CACHED;
            m->compiled++;
        } else {
            m->is_running = false;
            m->is_done = true;
            m->done = m->running;
            m->gpu_s += m->trial_s;
        }
        machine_feed(m);
    }
}

/* The GPU is at work for so long, at a blocking request. */
static inline void machine_block(struct machine *m, double seconds)
{
    m->gpu_s += seconds;
    machine_work(m, m->fake.clock_s + seconds, false);
}

static inline void machine_queue(struct machine *m, size_t cubin, bool ahead)
{
    const enum machine_state now = ahead ? AHEAD : WANTED;

    if (m->state[cubin] != ABSENT && !(m->state[cubin] == AHEAD && !ahead))
        return;
    m->state[cubin] = now;
    assert_true(m->tail[ahead] < MACHINE_SEQUENCE);
    m->queue[ahead][m->tail[ahead]++] = cubin;
}

static inline size_t machine_room(struct gt_evaluator *evaluator)
{
    const struct machine *m = machine_of(evaluator);
    size_t wanted = 2 + MACHINE_JOBS / 4, waiting = 0, ready = 0;

    for (int w = 0; w < MACHINE_JOBS; w++)
        wanted += !m->worker[w].busy;
    for (size_t i = 0; i < m->entries; i++) {
        waiting += m->state[m->entry[i].cubin] == WANTED;
        ready += m->entry[i].ready_s >= 0;
    }
    return waiting >= wanted || ready >= 2 + MACHINE_JOBS ? 0 : wanted - waiting;
}

static inline bool machine_starved(const struct gt_evaluator *evaluator)
{
    const struct machine *m = machine_of(evaluator);

    for (size_t i = 0; i < m->entries; i++)
        if (m->entry[i].ready_s >= 0)
            return false;
    return true;
}

static inline bool machine_at_hand(struct gt_evaluator *evaluator,
                                   const struct gt_candidate *candidate)
{
    const struct machine *m = machine_of(evaluator);

    return m->state[machine_cubin(m, candidate)] == CACHED;
}

static inline int machine_submit(struct gt_evaluator *evaluator, uint64_t id,
                                 const struct gt_candidate *candidate, struct gt_err *err)
{
    struct machine *m = machine_of(evaluator);
    const size_t cubin = machine_cubin(m, candidate);

    (void)err;
    assert_true(m->entries < MACHINE_ENTRIES);
    m->entry[m->entries++] = (struct machine_entry){id, cubin, *candidate, -1};
    machine_queue(m, cubin, false);
    machine_feed(m);
    return GT_OK;
}

static inline int machine_ahead(struct gt_evaluator *evaluator,
                                const struct gt_candidate *candidate, struct gt_err *err)
{
    struct machine *m = machine_of(evaluator);

    (void)err;
    machine_queue(m, machine_cubin(m, candidate), true);
    machine_feed(m);
    return GT_OK;
}

static inline void machine_drop_ahead(struct gt_evaluator *evaluator)
{
    struct machine *m = machine_of(evaluator);

    for (; m->head[1] < m->tail[1]; m->head[1]++)
        if (m->state[m->queue[1][m->head[1]]] == AHEAD)
            m->state[m->queue[1][m->head[1]]] = ABSENT;
}

static inline int machine_collect(struct gt_evaluator *evaluator, int timeout_ms, uint64_t *id,
                                  struct gt_trial *trial, struct gt_err *err)
{
    struct machine *m = machine_of(evaluator);

    (void)err;
    machine_work(m, m->fake.clock_s + 1e-3 * timeout_ms, true);
    if (!m->is_done)
        return 0;
    m->is_done = false;
    *id = m->done.id;
    make_trial(&m->fake, &m->done.candidate, 1, 3, trial);
    trial->provenance = GT_MEASURED;
    m->fake.trials++;
    evaluator->stats.busy_s = m->gpu_s;
    evaluator->stats.lead_s = 2 * m->cubin_s;
    return 1;
}

static inline size_t machine_drop(struct gt_evaluator *evaluator)
{
    struct machine *m = machine_of(evaluator);

    for (; m->head[0] < m->tail[0]; m->head[0]++)
        if (m->state[m->queue[0][m->head[0]]] == WANTED)
            m->state[m->queue[0][m->head[0]]] = ABSENT;
    m->entries = 0;
    return (size_t)m->is_running + m->is_done;
}

static inline int machine_open_problem(struct gt_evaluator *evaluator,
                                       const struct gt_problem *problem, struct gt_err *err)
{
    struct machine *m = machine_of(evaluator);

    (void)problem, (void)err;
    assert_false(m->is_running || m->is_done);
    machine_drop(evaluator);
    machine_block(m, m->open_s);
    m->gpu_s = 0;
    return GT_OK;
}

static inline int machine_baseline(struct gt_evaluator *evaluator, struct gt_baseline *baseline,
                                   struct gt_err *err)
{
    machine_block(machine_of(evaluator), machine_of(evaluator)->baseline_s);
    return fake_baseline(evaluator, baseline, err);
}

static inline int machine_final(struct gt_evaluator *evaluator,
                                const struct gt_candidate *candidate, size_t count, int rounds,
                                struct gt_trial *trial, struct gt_trial *baseline,
                                struct gt_err *err)
{
    double seconds = 0.25; /* of heat */

    for (size_t i = 0; i < count; i++)
        seconds += 1e-6 * rounds * (trial[i].us + 5);
    machine_block(machine_of(evaluator), seconds);
    return fake_final(evaluator, candidate, count, rounds, trial, baseline, err);
}

static inline double machine_clock(const struct gt_evaluator *evaluator)
{
    return machine_of(evaluator)->fake.clock_s;
}

/* Cubins of 0.6 s, trials of 6 ms. */
static inline void machine_init(struct machine *m, const struct search *s)
{
    memset(m, 0, sizeof(*m));
    m->fake = new_fake(s, true);
    m->fake.ops.now = machine_clock;
    m->fake.ops.open_problem = machine_open_problem;
    m->fake.ops.room = machine_room;
    m->fake.ops.starved = machine_starved;
    m->fake.ops.at_hand = machine_at_hand;
    m->fake.ops.submit = machine_submit;
    m->fake.ops.ahead = machine_ahead;
    m->fake.ops.drop_ahead = machine_drop_ahead;
    m->fake.ops.collect = machine_collect;
    m->fake.ops.drop = machine_drop;
    m->fake.ops.final = machine_final;
    m->fake.ops.baseline = machine_baseline;
    m->fake.evaluator.jobs = MACHINE_JOBS;
    m->fake.evaluator.ops = &m->fake.ops;
    m->fake.evaluator.state = m;
    m->cubin_s = 0.6;
    m->trial_s = 0.006;
    m->open_s = 0.15;
    m->baseline_s = 0.3;
}

/* Tunes the problems M = 100, 200... */
static inline void machine_sweep(struct machine *m, struct bench *bench, struct gt_problem *problem,
                                 struct gt_sweep_result *result, size_t problems, double each_s)
{
    for (size_t i = 0; i < problems; i++)
        gt_problem_init(&problem[i], 100 * (int64_t)(i + 1), 64, 64);
    bench->options.kernel = (const struct gt_kernel *const *)bench->kernel;
    bench->options.evaluator = &m->fake.evaluator;
    bench->options.signals = &m->fake.signals;
    bench->options.problem = problem;
    bench->options.problems = problems;
    bench->options.budget = (struct gt_budget){.seconds = each_s * (double)problems};
    OK(&bench->s->err, gt_sweep_run(&bench->options, result, &bench->s->err));
}

#endif
