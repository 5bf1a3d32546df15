/* evaluator.h - turns candidates into trials.  --device chooses the evaluator: `cuda` has workers
 * that prove and time on a GPU, `predict` has workers that compile and a model that estimates,
 * `replay` answers from a recorded space.
 *
 * The supervisor (tuner/sweep/race.c) submits candidates while there is room and collects finished
 * trials. submit never blocks.  An evaluator belongs to one thread. */
#ifndef GT_EVALUATOR_H
#define GT_EVALUATOR_H

#include "problem/trial.h"
#include "search/space.h"
#include "timing/bench.h"
#include "timing/calibrate.h"

#include <signal.h>

struct gt_compile_pool; /* workers/compile_pool.h */
struct gt_evaluator;
struct gt_recording; /* recording.h */
struct gt_tokens;    /* workers/processors.h */

/* Functions that the evaluator calls while it works. */
struct gt_evaluator_events {
    void *context;
    /* The candidate of this id is about to be launched for the first time: the attempt must be
     * durable when `launching` returns.  `launching` is called while the previous candidate is on
     * the device, but only after the trial of the candidate before that was collected, so that at
     * most two attempts are open.  A non-zero return stops the sweep. */
    int (*launching)(void *context, uint64_t id, struct gt_err *err);
    /* Whether an earlier attempt of this candidate never ended.  Its next attempt is then the only
     * open one.  NULL: no candidate is in doubt. */
    bool (*in_doubt)(void *context, uint64_t id);
    /* A sentence for the log: a worker died or was started again, the device is back, and so on. */
    void (*notice)(void *context, const char *sentence);
    /* A blocking call has waited for the GPU's worker for so many seconds; called repeatedly. */
    void (*waiting)(void *context, double seconds);
};

struct gt_evaluator_options {
    const char *data_dir, *cache_dir, *kernels_dir, *include_dirs;
    int jobs;                       /* compile workers; 0: one per core */
    const struct gt_tokens *tokens; /* shared with other processes: compilers at work; or NULL */
    int64_t compile_memory;         /* bytes; 0: 2 GiB */
    double compile_cpu_s;           /* 0: 60 */
    double launch_deadline_s;       /* a constant part of a trial's deadline; 0: 10 */
    bool baseline;                  /* measure cuBLASLt */
    const char *space; /* replay: the T1 file of the kernel's space; NULL: as recorded */
    struct gt_bench_options bench;
    struct gt_evaluator_events events;
    /* Count of signals (NULL: none): the second signal, before the GPU is ready the first, ends
     * blocking calls with GT_EINTERRUPTED. */
    const volatile sig_atomic_t *signals;
};

struct gt_evaluator_stats {
    double busy_s, wall_s; /* since the problem was opened: time that the GPU worker was at work;
                              elapsed time */
    double lead_s;         /* estimated compile latency of a candidate; 0: not known */
    double compile_s; /* time that all compile workers together were at work, since the evaluator
                         was opened */
    int64_t compiled, cache_hits, respawns; /* since the evaluator was opened */
};

struct gt_evaluator_ops {
    const char *name;              /* "cuda" */
    enum gt_provenance provenance; /* the trials' provenance */
    /* spec: what follows the name in --device ("0" of "cuda:0", "sm_86" of "predict:sm_86", the
     * file of "replay:FILE"). */
    int (*open)(struct gt_evaluator *evaluator, const char *spec, struct gt_err *err);
    int (*open_problem)(struct gt_evaluator *evaluator, const struct gt_problem *problem,
                        struct gt_err *err);
    /* Seconds on the evaluator's own clock; NULL: the system's monotonic one. */
    double (*now)(const struct gt_evaluator *evaluator);
    /* The points of the evaluator's own kernel; NULL: the valid points of a kernel's description.
     */
    int (*space)(const struct gt_evaluator *evaluator, struct gt_space *space,
                 const struct gt_problem *problem, struct gt_err *err);
    /* How many more candidates may be submitted now. */
    size_t (*room)(struct gt_evaluator *evaluator);
    /* Whether the device will have to wait for a compiler; NULL: it never does.  A starved
     * evaluator accepts one candidate more than `room` allows, provided that its cubin is in the
     * cache. */
    bool (*starved)(const struct gt_evaluator *evaluator);
    /* Whether a candidate's cubin is in the cache; NULL: there are no cubins. */
    bool (*at_hand)(struct gt_evaluator *evaluator, const struct gt_candidate *candidate);
    /* Proves and races (cuda) or estimates (predict); id comes back from collect. */
    int (*submit)(struct gt_evaluator *evaluator, uint64_t id, const struct gt_candidate *candidate,
                  struct gt_err *err);
    /* Compiles a candidate that will be submitted later, of this or another problem, when nothing
     * else is to be compiled.  NULL if nothing is measured. */
    int (*ahead)(struct gt_evaluator *evaluator, const struct gt_candidate *candidate,
                 struct gt_err *err);
    /* Drops the candidates of `ahead` that no compiler has begun; NULL as `ahead`. */
    void (*drop_ahead)(struct gt_evaluator *evaluator);
    /* Waits at most timeout_ms for a finished trial.  1: *id and *trial are set; 0: none is
     * finished yet; < 0: an error. */
    int (*collect)(struct gt_evaluator *evaluator, int timeout_ms, uint64_t *id,
                   struct gt_trial *trial, struct gt_err *err);
    /* Drops the submitted candidates that were not begun; their ids are never collected.  Returns
     * how many trials are still to be collected.  A sweep that a signal or the clock stops calls
     * `drop`, and then waits only for the candidate on the device. */
    size_t (*drop)(struct gt_evaluator *evaluator);
    /* Sets the best time so far, with which `slow` is decided.  NULL where no candidate is given up
     * early: every estimate costs the same, and a recorded point costs what was recorded. */
    void (*set_best)(struct gt_evaluator *evaluator, double us);
    /* Stages 2 and 3; NULL for evaluators that do not measure.  Blocking.  baseline may be NULL. */
    int (*sample)(struct gt_evaluator *evaluator, const struct gt_candidate *candidate,
                  struct gt_trial *trial, struct gt_err *err);
    int (*final)(struct gt_evaluator *evaluator, const struct gt_candidate *candidate, size_t count,
                 int rounds, struct gt_trial *trial, struct gt_trial *baseline, struct gt_err *err);
    /* The best cuBLASLt algorithm.  GT_ENOLIB, GT_ENOTFOUND: there is no such algorithm; the sweep
     * goes on. */
    int (*baseline)(struct gt_evaluator *evaluator, struct gt_baseline *baseline,
                    struct gt_err *err);
    /* The time that moving the problem's data alone takes; NULL if nothing is measured. */
    int (*move)(struct gt_evaluator *evaluator, struct gt_move *move, struct gt_err *err);
    /* The energy of a product; candidate NULL: that of the baseline, which was measured before.
     * NULL if nothing is measured.  Codes as gt_bench_energy (tuner/timing/bench.h); GT_ERANGE also
     * if the candidate faults or kills the worker; GT_ELOST: the worker did not answer in time. */
    int (*energy)(struct gt_evaluator *evaluator, const struct gt_candidate *candidate,
                  const struct gt_energy_wish *wish, struct gt_energy *energy, struct gt_err *err);
    /* Ends the GPU worker, so that a new process opens the next problem in new memory.  NULL if
     * nothing is measured. */
    int (*renew)(struct gt_evaluator *evaluator, struct gt_err *err);
    /* The reference kernel's time, for the drift check; NULL if nothing is measured. */
    int (*reference)(struct gt_evaluator *evaluator, double *us, struct gt_err *err);
    /* Measures the rates that the device reaches, or only its copy rate; not while a problem is
     * open.  NULL if nothing is measured. */
    int (*calibrate)(struct gt_evaluator *evaluator, bool only_copy,
                     struct gt_calibration *calibration, struct gt_err *err);
    void (*close)(struct gt_evaluator *evaluator);
};

struct gt_evaluator {
    const struct gt_evaluator_ops *ops;
    struct gt_evaluator_options options;
    struct gt_device device;              /* known after open */
    int nvrtc_version;                    /* known after open */
    int jobs;                             /* compile workers at work; known after open */
    const struct gt_recording *recording; /* known after open; NULL but for a replay */
    struct gt_evaluator_stats stats;
    void *state;
};

extern const struct gt_evaluator_ops *const gt_evaluators[]; /* NULL-terminated */

/* For evaluators: passes a sentence on to events.notice.  context: the evaluator. */
void gt_evaluator_notice(void *context, const char *sentence);

/* For evaluators: opens the compile workers that the options ask for, and sets jobs and
 * nvrtc_version. */
int gt_evaluator_open_pool(struct gt_evaluator *evaluator, struct gt_compile_pool **pool,
                           struct gt_err *err);

/* The number of rounds of a contest: as many as take `us`, but at least `least` and at most
 * `most`.  round_us: the sum of the entries' times, as far as they are known.
 *
 * Times of one launch of 10 to 20 us scatter by 4 %.  The ratio of two medians of 41 rounds
 * therefore has a standard deviation of 0.7 %, and that of 200 rounds one of 0.3 % (on an H200).
 * Other processes and other placements of the operands add 0.1 %. */
struct gt_rounds {
    int least, most;
    double us;
};
int gt_rounds_for(const struct gt_rounds *rounds, size_t entries, double round_us);

/* Seconds on the evaluator's clock.  A sweep reads every time from this clock. */
double gt_evaluator_now(const struct gt_evaluator *evaluator);

/* device: "cuda", "cuda:1", "predict:sm_86", "replay:FILE".  Errors with an exit code of their own:
 * GT_ENOTFOUND (unknown evaluator or arch), GT_ENOGPU, GT_ENOLIB, GT_EBUSY (another tuner holds the
 * GPU). */
int gt_evaluator_open(struct gt_evaluator **evaluator, const char *device,
                      const struct gt_evaluator_options *options, struct gt_err *err);
void gt_evaluator_close(struct gt_evaluator *evaluator); /* NULL accepted */

#endif
