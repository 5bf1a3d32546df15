/* evaluator.h - what turns candidates into trials: `cuda` (workers prove and time on a GPU),
 * `predict` (workers compile, a model estimates), `replay` (answers from a recorded space).  Chosen
 * by --device.
 *
 * The supervisor (sweep.c) submits candidates while there is room and collects finished trials; it
 * never blocks in submit.  One thread. */
#ifndef GT_EVALUATOR_H
#define GT_EVALUATOR_H

#include "timing/bench.h"
#include "timing/calibrate.h"
#include "problem/trial.h"
#include "search/space.h"

#include <signal.h>

struct gt_evaluator;
struct gt_recording; /* recording.h */

/* What the evaluator tells the sweep while it works. */
struct gt_evaluator_events {
    void *context;
    /* About to launch the candidate of this id for the first time: the attempt must be durable when
     * this returns.  Called while the one before is on the device, but not while the trial of one
     * before that is to be collected, so that at most two attempts are open.  A non-zero return
     * stops the sweep. */
    int (*launching)(void *context, uint64_t id, struct gt_err *err);
    /* Whether an earlier attempt of this candidate never ended: no other one is open beside its
     * next. NULL: none is. */
    bool (*in_doubt)(void *context, uint64_t id);
    /* For the log: a worker died, was respawned, the device is back... */
    void (*notice)(void *context, const char *sentence);
};

struct gt_evaluator_options {
    const char *data_dir, *cache_dir, *kernels_dir;
    int jobs;                 /* compile workers; 0: one per core */
    int64_t compile_memory;   /* bytes; 0: 2 GiB */
    double compile_cpu_s;     /* 0: 60 */
    double launch_deadline_s; /* floor of a trial's deadline; 0: 10 */
    bool baseline;            /* measure cuBLASLt */
    const char *space;        /* replay: the T1 file of the kernel's space; NULL: as recorded */
    struct gt_bench_options bench;
    struct gt_evaluator_events events;
    /* Signals seen so far (NULL: none): a second one ends blocking calls with GT_EINTERRUPTED. */
    const volatile sig_atomic_t *signals;
};

struct gt_evaluator_stats {
    double busy_s, wall_s;                  /* GPU worker at work; since the problem was opened */
    int64_t compiled, cache_hits, respawns; /* since the evaluator was opened */
};

struct gt_evaluator_ops {
    const char *name;              /* "cuda" */
    enum gt_provenance provenance; /* of its trials */
    /* spec: what follows the name in --device ("0" of "cuda:0", "sm_86" of "predict:sm_86", the
     * file of "replay:FILE"). */
    int (*open)(struct gt_evaluator *evaluator, const char *spec, struct gt_err *err);
    int (*open_problem)(struct gt_evaluator *evaluator, const struct gt_problem *problem,
                        struct gt_err *err);
    /* Seconds on the evaluator's own clock; NULL: the system's monotonic one. */
    double (*now)(const struct gt_evaluator *evaluator);
    /* The points of the evaluator's own kernel; NULL: those a description makes valid. */
    int (*space)(const struct gt_evaluator *evaluator, struct gt_space *space,
                 const struct gt_problem *problem, struct gt_err *err);
    /* How many more candidates may be submitted now. */
    size_t (*room)(struct gt_evaluator *evaluator);
    /* Whether the device will have to wait for a compiler; NULL: it never does.  One candidate more
     * than there is room for is welcome then, if its cubin is at hand. */
    bool (*starved)(const struct gt_evaluator *evaluator);
    /* Proves and races (cuda) or estimates (predict); id comes back from collect. */
    int (*submit)(struct gt_evaluator *evaluator, uint64_t id, const struct gt_candidate *candidate,
                  struct gt_err *err);
    /* Compiles a candidate that will be submitted later, for another problem too, once nothing else
     * is to be compiled; opening a problem forgets those that no compiler has begun.  NULL where
     * nothing is measured. */
    int (*ahead)(struct gt_evaluator *evaluator, const struct gt_candidate *candidate,
                 struct gt_err *err);
    /* Waits at most timeout_ms for a finished trial: 1 and *id, *trial; 0: none yet; < 0: an error.
     */
    int (*collect)(struct gt_evaluator *evaluator, int timeout_ms, uint64_t *id,
                   struct gt_trial *trial, struct gt_err *err);
    /* Forgets what was submitted and not begun: those ids never come back.  Returns how many trials
     * are still to be collected.  For a sweep that is to stop with the candidate in flight, because
     * of a signal or the clock. */
    size_t (*drop)(struct gt_evaluator *evaluator);
    /* Best time so far, for `slow`. */
    void (*set_best)(struct gt_evaluator *evaluator, double us);
    /* Stages 2 and 3; NULL for evaluators that do not measure.  Blocking.  baseline may be NULL. */
    int (*sample)(struct gt_evaluator *evaluator, const struct gt_candidate *candidate,
                  struct gt_trial *trial, struct gt_err *err);
    int (*final)(struct gt_evaluator *evaluator, const struct gt_candidate *candidate, size_t count,
                 int rounds, struct gt_trial *trial, struct gt_trial *baseline, struct gt_err *err);
    /* Best cuBLASLt answer; GT_ENOLIB / GT_ENOTFOUND: there is none, go on. */
    int (*baseline)(struct gt_evaluator *evaluator, struct gt_baseline *baseline,
                    struct gt_err *err);
    /* What memory alone takes for the problem; NULL where nothing is measured. */
    int (*move)(struct gt_evaluator *evaluator, struct gt_move *move, struct gt_err *err);
    /* Lets the GPU worker go: the next problem is opened by a new process, in new memory.  NULL
     * where nothing is measured. */
    int (*renew)(struct gt_evaluator *evaluator, struct gt_err *err);
    /* Reference kernel's time, for drift; NULL where nothing is measured. */
    int (*reference)(struct gt_evaluator *evaluator, double *us, struct gt_err *err);
    /* What the device reaches, or only its copy; not while a problem is open.  NULL where nothing
     * is measured. */
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

/* How many rounds a contest has: as many as take `us`, from least to most.  round_us: the sum of
 * its entries' times, as far as known.
 *
 * Times of one launch of 10 to 20 us scatter by 4 %, so that the ratio of two medians of 41 rounds
 * is certain to 0.7 %, of 200 to 0.3 % (standard deviations, on an H200); what processes and
 * placements of the operands add is 0.1 %. */
struct gt_rounds {
    int least, most;
    double us;
};
int gt_rounds_for(const struct gt_rounds *rounds, size_t entries, double round_us);

/* What every time of a sweep is read from: the evaluator's clock, in seconds since some moment. */
double gt_evaluator_now(const struct gt_evaluator *evaluator);

/* device: "cuda", "cuda:1", "predict:sm_86", "replay:FILE".  Exit-code relevant errors:
 * GT_ENOTFOUND (unknown evaluator or arch), GT_ENOGPU, GT_ENOLIB, GT_EBUSY (another tuner holds the
 * GPU). */
int gt_evaluator_open(struct gt_evaluator **evaluator, const char *device,
                      const struct gt_evaluator_options *options, struct gt_err *err);
void gt_evaluator_close(struct gt_evaluator *evaluator); /* NULL accepted */

#endif
