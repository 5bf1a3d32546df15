/* evaluator_cuda.h - what the files of the cuda evaluator share: evaluator_cuda.c (the operations)
 * uses evaluator_cuda_finals.c (stages 2 and 3, baseline, reference), and both use
 * evaluator_cuda_entries.c (the way of a candidate in the race).  No other file includes this. */
#ifndef GT_EVALUATOR_CUDA_H
#define GT_EVALUATOR_CUDA_H

#include <sys/queue.h>

#include "evaluate/evaluator.h"
#include "workers/compile_pool.h"
#include "workers/gpu_client.h"

/* A candidate that was submitted and not yet collected. */
struct gt_entry {
    uint64_t id;       /* the sweep's id */
    uint64_t ticket;   /* the compile pool's ticket */
    int64_t submitted; /* when it was submitted to the pool, by gt_clock_ms */
    struct gt_prepared prepared;
    struct gt_compiled compiled;
    struct gt_trial trial;
    bool launched;  /* its attempt was announced */
    int recompiled; /* how often its image had left the cache */
    TAILQ_ENTRY(gt_entry) link;
};

TAILQ_HEAD(gt_entries, gt_entry);

struct gt_entry *gt_entries_pop(struct gt_entries *list); /* NULL: the list is empty */

struct gt_cuda {
    struct gt_compile_pool *pool;
    struct gt_gpu_client gpu;
    struct gt_entries compiling, ready, done;
    struct gt_entry *running;    /* the candidate on the GPU worker; NULL: none */
    struct gt_entry *announced;  /* a candidate whose attempt is durable; it is sent as soon as the
                                    worker is free */
    struct gt_entry *unrecorded; /* a candidate in `done` that was on the GPU, and whose trial is
                                    not yet collected */
    uint64_t tickets;
    size_t capacity;
    bool has_baseline; /* asked for and found; a new worker opens it again */
    double best_us, floor_s, lead_s;
    int64_t opened; /* when the problem was opened, by gt_clock_ms */
    double busy_before;
};

/* Seconds that a launch may take; a candidate that takes longer is given up. */
double gt_cuda_launch_s(const struct gt_cuda *cuda);

/* Hands the entry to the compile pool; the caller puts it in a list before the next pump. */
int gt_cuda_compile(struct gt_cuda *cuda, struct gt_entry *entry, struct gt_err *err);

/* Takes note that an image had left the cache when the GPU's worker looked for it: from now on the
 * run keeps images of its own.  GT_EIO, with the worker's sentence: images of its own have not
 * helped. */
int gt_cuda_miss(struct gt_cuda *cuda, struct gt_entry *entry, const char *sentence,
                 struct gt_err *err);

/* Waits for an entry of the list `compiling`: after GT_OK the entry is in no list. */
int gt_cuda_wait_compiled(struct gt_cuda *cuda, struct gt_entry *entry, struct gt_err *err);

/* Takes the entry out of its list, if it is in one; the caller then owns the entry. */
void gt_cuda_take_back(struct gt_cuda *cuda, const struct gt_entry *entry);

/* Moves the entries that the compile workers have finished to `ready` or `done`. */
int gt_cuda_pump_pool(struct gt_cuda *cuda, struct gt_err *err);

/* Announces the next ready candidate and sends it to an idle GPU worker. */
int gt_cuda_feed_gpu(struct gt_evaluator *evaluator, struct gt_err *err);

/* Does all the work that needs no waiting: takes the answers of the GPU worker and of the compile
 * workers, and feeds the GPU. */
int gt_cuda_pump(struct gt_evaluator *evaluator, struct gt_err *err);

/* Sleeps until a worker sends something, a deadline passes or timeout_ms are over; false: a signal
 * came. */
bool gt_cuda_wait_for_workers(const struct gt_cuda *cuda, int64_t timeout_ms);

/* Waits until no candidate is on the GPU or announced. */
int gt_cuda_settle(struct gt_cuda *cuda, struct gt_err *err);

/* Fills evaluator->stats; to be called after every request of the GPU worker. */
void gt_cuda_update_stats(struct gt_evaluator *evaluator);

/* Ends the entry's trial with a status that the supervisor decides. */
void gt_cuda_finish_with(struct gt_entry *entry, enum gt_status status, const char *detail);

/* Completes the trial of an entry that was sent to the worker, which has answered or is gone.
 * *again: the entry must be compiled again, because its image is no longer in the cache
 * (gt_cuda_miss). */
int gt_cuda_take_reply(struct gt_cuda *cuda, struct gt_entry *entry, struct gt_gpu_reply *reply,
                       bool *again, struct gt_err *err);

/* Reads a trial from a reply and adds the compiler's facts to it. */
int gt_cuda_read_trial(struct gt_gpu_reply *reply, const struct gt_entry *entry,
                       struct gt_trial *trial);

/* evaluator_cuda_finals.c: operations of struct gt_evaluator_ops. */
int gt_cuda_sample(struct gt_evaluator *evaluator, const struct gt_candidate *candidate,
                   struct gt_trial *trial, struct gt_err *err);
int gt_cuda_energy(struct gt_evaluator *evaluator, const struct gt_candidate *candidate,
                   const struct gt_energy_wish *wish, struct gt_energy *energy, struct gt_err *err);
int gt_cuda_final(struct gt_evaluator *evaluator, const struct gt_candidate *candidate,
                  size_t count, int rounds, struct gt_trial *trial, struct gt_trial *baseline,
                  struct gt_err *err);
int gt_cuda_baseline(struct gt_evaluator *evaluator, struct gt_baseline *baseline,
                     struct gt_err *err);
int gt_cuda_move(struct gt_evaluator *evaluator, struct gt_move *move, struct gt_err *err);
int gt_cuda_calibrate(struct gt_evaluator *evaluator, bool only_copy,
                      struct gt_calibration *calibration, struct gt_err *err);
int gt_cuda_reference(struct gt_evaluator *evaluator, double *us, struct gt_err *err);

#endif
