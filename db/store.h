/* store.h - stage: what is remembered.  db/store*.c are the only files that speak SQL.
 *
 * SQLite, WAL, synchronous=FULL, one writer, every writing transaction BEGIN IMMEDIATE.  A row is
 * keyed by everything it depends on: kernel signature, device (name, uuid, driver), toolchain,
 * problem, point, L2 mode.  Not thread-safe: one thread, one handle.
 *
 * Every writing function fails with GT_EDB if the file was moved, removed or replaced meanwhile;
 * its sentence says where everything was saved. */
#ifndef GT_STORE_H
#define GT_STORE_H

#include "problem/device.h"
#include "kernel/kernel.h"
#include "problem/measured.h"
#include "problem/trial.h"

struct gt_store;

enum gt_store_mode {
    GT_STORE_READ,
    GT_STORE_WRITE, /* create if missing, migrate, one writer */
    /* For the processes of one tuner, beside the one that holds the database by GT_STORE_WRITE and
     * writes nothing meanwhile: no lock, no check.  What `_later` functions write is durable at
     * once, because an open transaction would keep the others from writing. */
    GT_STORE_SHARED
};

/* Errors: not ours or newer (GT_ESTALE), corrupt, read-only, on a network file system or full disk
 * (GT_EDB), held by another writer (GT_EBUSY); each a sentence with the path and what to do. */
int gt_store_open(struct gt_store **store, const char *path, enum gt_store_mode mode,
                  struct gt_err *err);
void gt_store_close(struct gt_store *store); /* NULL accepted */

/* Closes the file of a GT_STORE_WRITE store and keeps its lock: processes that are forked from now
 * on write it by GT_STORE_SHARED.  Nothing but gt_store_close may follow.  (SQLite's state of an
 * open file must not pass a fork.) */
void gt_store_hand_over(struct gt_store *store);

/* GT_EDB for a path on a network file system, where SQLite's locks cannot be trusted and no
 * database is written. */
int gt_store_check_place(const char *path, struct gt_err *err);

/* Row ids of what trials refer to; inserted when new. */
int gt_store_device(struct gt_store *store, const struct gt_device *device, int64_t *id,
                    struct gt_err *err);
int gt_store_toolchain(struct gt_store *store, int nvrtc_version, int64_t *id, struct gt_err *err);
int gt_store_kernel(struct gt_store *store, const struct gt_kernel *kernel, int64_t *id,
                    struct gt_err *err);
int gt_store_problem(struct gt_store *store, const struct gt_problem *problem, int64_t *id,
                     struct gt_err *err);

/* Everything a trial's row is keyed by. */
struct gt_trial_key {
    int64_t sweep, device, toolchain, kernel, problem;
    const char *point; /* canonical text */
    bool warm_l2;
};

/* What a sweep cost; zeros where nothing was measured. */
struct gt_store_sweep_stats {
    double wall_s, busy_s;    /* of the run; of the GPU worker */
    int64_t trials, compiled; /* finished in this run */
    double to_best_s;         /* until a time within 2 % of the final best was first seen */
};

/* A sweep: one run of `tune`; command: its words, for people. */
int gt_store_sweep_begin(struct gt_store *store, const char *command, int64_t *sweep,
                         struct gt_err *err);
int gt_store_sweep_end(struct gt_store *store, int64_t sweep, const char *outcome,
                       const struct gt_store_sweep_stats *stats, struct gt_err *err);

/* The attempt is durable when this returns; one that no trial closes blames its candidate.  An ok
 * trial forgives the attempts before it. */
int gt_store_attempt(struct gt_store *store, const struct gt_trial_key *key, struct gt_err *err);

/* As gt_store_attempt, but durable only after gt_store_settle: for a final of many candidates,
 * which then waits for the disk once. */
int gt_store_attempt_later(struct gt_store *store, const struct gt_trial_key *key,
                           struct gt_err *err);

/* What ended the candidate's attempts was not the candidate: they count as one, closed.  doubtful:
 * a later run is to find one more that never ended, and so to look at the candidate again. */
int gt_store_forgive(struct gt_store *store, const struct gt_trial_key *key, bool doubtful,
                     struct gt_err *err);

/* Inserts or replaces the trial of the key and closes its attempt, in one transaction.  Measured,
 * predicted and replayed trials of a key live side by side.  An ok trial is not replaced by one of
 * a shallower stage or by a lost device; proof of a fault (wrong, oob_write, nondeterministic,
 * fault) always counts. An ok trial
 * without a time above zero and below 1e12 us is refused (GT_ERANGE), and nothing is stored. */
int gt_store_trial(struct gt_store *store, const struct gt_trial_key *key,
                   const struct gt_trial *trial, struct gt_err *err);

/* As gt_store_trial, but durable only with the next attempt (one commit for both: on a slow disk
 * the GPU waits for it) or after gt_store_settle, which writes what is pending. */
int gt_store_trial_later(struct gt_store *store, const struct gt_trial_key *key,
                         const struct gt_trial *trial, struct gt_err *err);
int gt_store_settle(struct gt_store *store, struct gt_err *err);

/* Known trials and open attempts of (device, toolchain, kernel, problem, l2): calls visit for each,
 * with status NONE and attempts > 0 for a point that was launched and never finished.  Of an ok
 * trial: the attempts since then, all of them without an end. */
typedef int gt_store_visit(void *context, const char *point, const struct gt_trial *trial,
                           int attempts, struct gt_err *err);
int gt_store_resume(struct gt_store *store, const struct gt_trial_key *key,
                    enum gt_provenance provenance, gt_store_visit *visit, void *context,
                    struct gt_err *err);

int gt_store_baseline(struct gt_store *store, const struct gt_trial_key *key,
                      const struct gt_baseline *baseline, struct gt_err *err);

/* Candidates of a final that cannot be told from the winner: replaces earlier ties of the problem.
 */
int gt_store_tie(struct gt_store *store, const struct gt_trial_key *key, const char *const *kernel,
                 const char *const *point, size_t count, struct gt_err *err);

/* *last: whether the latest ok measured trial of the key's problem, device and L2 mode is one of a
 * final: nothing was measured since. */
int gt_store_final_is_last(struct gt_store *store, const struct gt_trial_key *key, bool *last,
                           struct gt_err *err);

/* What the device reaches: each figure that was measured takes the place of an earlier one. */
int gt_store_put_calibration(struct gt_store *store, const struct gt_device *device,
                             const struct gt_calibration *calibration, struct gt_err *err);

/* Visits devices (those of the cc, or all: 0) that were calibrated, the latest first. */
struct gt_calibrated {
    const char *device; /* "NVIDIA H200" */
    int cc, sms;
    const char *date; /* of its latest figure */
    struct gt_calibration calibration;
};
typedef int gt_calibrated_visit(void *context, const struct gt_calibrated *calibrated,
                                struct gt_err *err);
int gt_store_calibrated(struct gt_store *store, int cc, gt_calibrated_visit *visit, void *context,
                        struct gt_err *err);

/* Replaces the device's facts by the latest figures of a device of the same name or, for a profile,
 * of one that it is of ("H200 (profile)": "NVIDIA H200" with as many SMs). */
int gt_store_apply_calibration(struct gt_store *store, struct gt_device *device,
                               struct gt_err *err);

/* How a problem's turn in a sweep went, for the table of a search.  The texts of one that is read
 * belong to the store. */
struct gt_improvement {
    double seconds, us; /* since the turn began; as the race timed it */
    int64_t trials;     /* of the turn by then */
};
struct gt_turn {
    const char *kernels, *strategy; /* "hopper,mma"; as named */
    uint64_t seed;
    int64_t known, trials;          /* of earlier runs; of this turn */
    double seconds, race_s, busy_s; /* all of it; before the finals; GPU worker at work in that */
    double us, baseline_us;         /* in the final; 0: none */
    const struct gt_improvement *improvement;
    size_t improvements;
    /* filled by gt_store_turns */
    const char *device, *problem, *date; /* ISO 8601 UTC, of its end */
    bool warm_l2;
    double best_us; /* the least that any turn of the same problem, device name and L2 mode saw in
                       its race; 0: none */
};

/* Of the key: sweep, device, problem and L2 mode. */
int gt_store_put_turn(struct gt_store *store, const struct gt_trial_key *key,
                      const struct gt_turn *turn, struct gt_err *err);

/* Visits by device, problem and kernels, those of one in the order of their ends.  Of the filter
 * problem and cc count. */
struct gt_row_filter;
typedef int gt_turn_visit(void *context, const struct gt_turn *visit, struct gt_err *err);
int gt_store_turns(struct gt_store *store, const struct gt_row_filter *filter, gt_turn_visit *visit,
                   void *context, struct gt_err *err);

/* One line of every export and of the winner view. */
struct gt_row {
    const char *device, *uuid, *dtype, *accuracy, *layout, *problem, *kernel, *signature, *point;
    int cc, driver, nvrtc;
    int64_t m, n, k, batch;
    enum gt_status status;
    enum gt_provenance provenance;
    bool warm_l2, deterministic;
    double us, lo_us, hi_us, baseline_us, err_u, clock_mhz;
    int registers, stage, ties; /* how many others tie with it */
    int64_t shared_bytes, workspace_bytes;
    const char *baseline, *date, *detail; /* ISO 8601 UTC */
    const char *algo;                     /* of the baseline (db/README.md); "": no candidate */
    int sms;                              /* of the device; filled by gt_store_rows, as l2_bytes */
    int64_t l2_bytes;
    int64_t trials; /* ok ones of its device, problem, L2 mode and provenance; likewise */
};

/* winners_only: the best ok row per (device, problem, accuracy, l2), measured before predicted;
 * beside it the best replayed one. */
struct gt_row_filter {
    bool winners_only;
    unsigned provenance;          /* bits 1u << enum gt_provenance; 0: all */
    const char *problem, *kernel; /* NULL: all */
    int cc;                       /* 0: all */
    int limit;                    /* rows of each problem and device, best first; 0: all */
    bool older;                   /* beside kernels: only ok rows of other texts than those */
    /* Only rows of these texts of kernels, whichever was seen last; NULL: winners of a text that no
     * later one has replaced.  Heeded by gt_store_rows and gt_store_compared. */
    const struct gt_kernels *kernels;
};
typedef int gt_row_visit(void *context, const struct gt_row *row, struct gt_err *err);
int gt_store_rows(struct gt_store *store, const struct gt_row_filter *filter, gt_row_visit *visit,
                  void *context, struct gt_err *err);

/* A winner and cuBLASLt's best answer, timed in turns. */
struct gt_comparison {
    double us, lo_us, hi_us, err_u;
    double baseline_us;             /* 0: there is none */
    double copy_gbps, move_us;      /* of a copy in the same run, of a kernel that only moves the
                                       operands; 0: not measured */
    double baseline_err_u, best_us; /* best_us: of the winner or the baseline, as the sweep chose;
                                       0: not known */
    const char *untuned;            /* "simt TM=4,...": the answer without the database; NULL, "":
                                       not timed */
    double untuned_us;
    bool worse; /* the winner is slower than that, by more than the noise */
};

/* Takes the place of an earlier one of the same key (the sweep does not count). */
int gt_store_put_comparison(struct gt_store *store, const struct gt_trial_key *key,
                            const struct gt_comparison *comparison, struct gt_err *err);

/* Visits for each problem, device and L2 mode what was measured last beside the vendor library: a
 * comparison, or the winner of a later final.  Of `with`, what the row does not have is filled:
 * copy_gbps and move_us of the comparison, or of the latest on that device and of the problem, the
 * rest of the comparison alone; 0, "": none.  Of the filter problem, kernel, cc and kernels count.
 */
typedef int gt_compared_visit(void *context, const struct gt_row *row,
                              const struct gt_comparison *with, struct gt_err *err);
int gt_store_compared(struct gt_store *store, const struct gt_row_filter *filter,
                      gt_compared_visit *visit, void *context, struct gt_err *err);

/* One trial in full, with the names of what it refers to. */
struct gt_named_trial {
    const char *device, *uuid, *problem, *kernel, *signature, *point, *date; /* ISO 8601 UTC */
    int cc, driver, nvrtc;
    bool warm_l2;
    struct gt_trial trial;
};
typedef int gt_named_trial_visit(void *context, const struct gt_named_trial *named,
                                 struct gt_err *err);

/* Trials of all statuses, of kernels whose template no later text has replaced; those of one space
 * come together, in the order in which they were first written.  Of the filter problem, kernel, cc
 * and provenance count. */
int gt_store_trials(struct gt_store *store, const struct gt_row_filter *filter,
                    gt_named_trial_visit *visit, void *context, struct gt_err *err);

/* Appends the description (configs/kernels) that a kernel of this signature had; "" for one that
 * was only recorded. */
int gt_store_description(struct gt_store *store, const char *kernel, const char *signature,
                         struct gt_strbuf *text, struct gt_err *err);

/* A deployable copy: VACUUM INTO, rollback journal, content digest stored; path must not exist. */
int gt_store_export(struct gt_store *store, const char *path, struct gt_err *err);

/* The winners of the database at `path`, live or exported; one with a digest is checked against it.
 * The rows count only once GT_OK was returned. */
int gt_store_winners(const char *path, gt_row_visit *visit, void *context, struct gt_err *err);

/* Union with another database, in one transaction: of two trials of a key the one that proves a
 * fault wins, else the ok one, the deeper stage, the newer.  Comparisons and visits come too. rows:
 * trials taken over. */
int gt_store_merge(struct gt_store *store, const char *path, int64_t *rows, struct gt_err *err);

#endif
