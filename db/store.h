/* store.h - stage: the tuning database, which keeps trials and measurements.  Only db/store*.c
 * contain SQL.
 *
 * It is an SQLite database in WAL mode with synchronous=FULL and one writer, whose transactions all
 * begin with BEGIN IMMEDIATE.  A trial is stored under everything that it depends on: kernel
 * signature, device (name, uuid, driver), toolchain, problem, point and way of timing.  A handle is
 * not thread-safe: it belongs to one thread.
 *
 * Every function that writes fails with GT_EDB if the file was moved, removed or replaced since it
 * was opened; the sentence says where its contents were saved. */
#ifndef GT_STORE_H
#define GT_STORE_H

#include <signal.h>
#include <string.h>

#include "kernel/kernel.h"
#include "problem/device.h"
#include "problem/measured.h"
#include "problem/trial.h"

struct gt_store;

enum gt_store_mode {
    GT_STORE_READ,
    GT_STORE_WRITE, /* creates the file if it is missing, migrates it, and is its one writer */
    /* For further processes of one tuner, while the process that holds the database by
     * GT_STORE_WRITE writes nothing: takes no lock and makes no check.  `_later` functions are
     * durable at once, because an open transaction would keep the other processes from writing. */
    GT_STORE_SHARED
};

/* Opens a database.  GT_ESTALE: it is another program's or a newer version's; GT_EDB: it is
 * corrupt, read-only, or on a network file system or full disk; GT_EBUSY: another writer holds it.
 * Each sentence has the path and advice. */
int gt_store_open(struct gt_store **store, const char *path, enum gt_store_mode mode,
                  struct gt_err *err);

/* As gt_store_open, but opening ends with GT_EINTERRUPTED if *signals is above 0, because checking
 * a database of a million trials takes seconds.  signals NULL: nothing interrupts opening.  Later
 * calls are not interrupted. */
int gt_store_open_watched(struct gt_store **store, const char *path, enum gt_store_mode mode,
                          const volatile sig_atomic_t *signals, struct gt_err *err);
/* The schema of the file, if it is an older one than this program's; else 0.  Whoever opens such a
 * file by GT_STORE_WRITE changes it and leaves a copy, FILE-vN.backup. */
int gt_store_older(const struct gt_store *store);

/* NULL is accepted.  Pending trials are written.  A caller that has to know whether that succeeds
 * calls gt_store_settle before. */
void gt_store_close(struct gt_store *store);

/* Closes the file of a GT_STORE_WRITE store and keeps the lock.  Processes that are forked
 * afterwards write the file by GT_STORE_SHARED.  Nothing but gt_store_close may follow.  (SQLite's
 * state of an open file must not pass a fork.) On an error, pending trials are lost. */
int gt_store_hand_over(struct gt_store *store, struct gt_err *err);

/* GT_EDB for a path on a network file system, where SQLite's locks cannot be trusted and no
 * database is written. */
int gt_store_check_place(const char *path, struct gt_err *err);

/* Set *id to the row of a device, toolchain, kernel or problem, to which trials refer.  The row is
 * inserted if there is none. */
int gt_store_device(struct gt_store *store, const struct gt_device *device, int64_t *id,
                    struct gt_err *err);

/* A GPU that has another number of multiprocessors than the first GPU of its name and arch in the
 * store (a slice, a share by MPS), or another power limit, is another device: adds " 66 SMs" or "
 * 300 W" to its uuid. */
int gt_store_mark_device(struct gt_store *store, struct gt_device *device, struct gt_err *err);
int gt_store_toolchain(struct gt_store *store, int nvrtc_version, int64_t *id, struct gt_err *err);
int gt_store_kernel(struct gt_store *store, const struct gt_kernel *kernel, int64_t *id,
                    struct gt_err *err);
int gt_store_problem(struct gt_store *store, const struct gt_problem *problem, int64_t *id,
                     struct gt_err *err);

/* The key under which a trial is stored. */
struct gt_trial_key {
    int64_t sweep, device, toolchain, kernel, problem;
    const char *point; /* canonical text */
    int timing;        /* enum gt_timing */
};

/* The costs of a sweep; all zero if nothing was measured. */
struct gt_store_sweep_stats {
    double wall_s, busy_s;    /* how long the run took; how long its GPU worker was at work */
    int64_t trials, compiled; /* trials and compilations that this run finished */
    double to_best_s;         /* until a time within 2 % of the final best was first measured */
};

/* Begin and end the record of a sweep, which is one run of `tune`.  command: the command line, for
 * people; outcome: how it ended, for people. */
int gt_store_sweep_begin(struct gt_store *store, const char *command, int64_t *sweep,
                         struct gt_err *err);
int gt_store_sweep_end(struct gt_store *store, int64_t sweep, const char *outcome,
                       const struct gt_store_sweep_stats *stats, struct gt_err *err);

/* Stores an attempt: the candidate is about to be launched.  The attempt is durable when the
 * function returns.  If no trial of the candidate follows, because the process died, a later run
 * holds the attempt against the candidate.  A trial that is ok cancels the attempts before it. */
int gt_store_attempt(struct gt_store *store, const struct gt_trial_key *key, struct gt_err *err);

/* As gt_store_attempt, but durable only after gt_store_settle, so that a final of many candidates
 * waits for the disk once. */
int gt_store_attempt_later(struct gt_store *store, const struct gt_trial_key *key,
                           struct gt_err *err);

/* Stores that something else than the candidate ended its attempts: they count as one finished
 * attempt.  doubtful: a second attempt stays unfinished, so that a later run tries the candidate
 * again. */
int gt_store_forgive(struct gt_store *store, const struct gt_trial_key *key, bool doubtful,
                     struct gt_err *err);

/* Inserts or replaces the trial of the key and closes its attempt, in one transaction.  A measured,
 * a predicted and a replayed trial of a key can exist beside each other.  A trial that is ok is not
 * replaced by a trial of an earlier timing stage, nor by a trial that ended because the device was
 * lost.  Proof of a fault (wrong, oob_write, nondeterministic, fault) replaces any trial.
 * GT_ERANGE, and nothing is stored: the trial is ok but has no time above zero and below 1e12
 * us. */
int gt_store_trial(struct gt_store *store, const struct gt_trial_key *key,
                   const struct gt_trial *trial, struct gt_err *err);

/* As gt_store_trial, but durable only with the next attempt or after gt_store_settle, which writes
 * pending trials.  So one commit serves trial and attempt; on a slow disk the GPU would wait for
 * two commits. */
int gt_store_trial_later(struct gt_store *store, const struct gt_trial_key *key,
                         const struct gt_trial *trial, struct gt_err *err);
int gt_store_settle(struct gt_store *store, struct gt_err *err);

/* Calls visit for each trial of the key's device, toolchain, kernel, problem and way of timing.
 * attempts: for a trial that is ok, how often the point was launched since the trial and did not
 * finish; for any other trial, how often the point was launched.  A point that was launched and has
 * no trial is visited with status NONE. */
typedef int gt_store_visit(void *context, const char *point, const struct gt_trial *trial,
                           int attempts, struct gt_err *err);
int gt_store_resume(struct gt_store *store, const struct gt_trial_key *key,
                    enum gt_provenance provenance, gt_store_visit *visit, void *context,
                    struct gt_err *err);

/* Stores the baseline of the key's problem, device and way of timing in place of an earlier one. */
int gt_store_baseline(struct gt_store *store, const struct gt_trial_key *key,
                      const struct gt_baseline *baseline, struct gt_err *err);

/* Stores the candidates of a final whose times do not differ from the winner's (the key's
 * candidate) in place of earlier ties of the problem.  From now on the winner is read before its
 * ties, and before winners of earlier finals: a trial whose time would contradict that counts as
 * sampled. */
int gt_store_tie(struct gt_store *store, const struct gt_trial_key *key, const char *const *kernel,
                 const char *const *point, size_t count, struct gt_err *err);

/* *last: whether the latest measured trial that is ok, of the key's problem, device and way of
 * timing, was measured in a final. */
int gt_store_final_is_last(struct gt_store *store, const struct gt_trial_key *key, bool *last,
                           struct gt_err *err);

/* Stores the measured figures of the device, each in place of an earlier one. */
int gt_store_put_calibration(struct gt_store *store, const struct gt_device *device,
                             const struct gt_calibration *calibration, struct gt_err *err);

/* A device that was calibrated. */
struct gt_calibrated {
    const char *device; /* "NVIDIA H200" */
    int cc, sms;
    const char *date; /* date of the latest figure */
    struct gt_calibration calibration;
};
/* Visits the calibrated devices of a compute capability (0: all), the latest calibration first. */
typedef int gt_calibrated_visit(void *context, const struct gt_calibrated *calibrated,
                                struct gt_err *err);
int gt_store_calibrated(struct gt_store *store, int cc, gt_calibrated_visit *visit, void *context,
                        struct gt_err *err);

/* Replaces the device's facts by the latest calibration of a device of the same name.  For a
 * profile, a calibration of a device that the profile describes is taken: "H200 (profile)"
 * describes an "NVIDIA H200" with as many multiprocessors. */
int gt_store_apply_calibration(struct gt_store *store, struct gt_device *device,
                               struct gt_err *err);

/* A time that was better than all earlier times of a turn. */
struct gt_improvement {
    double seconds, us; /* seconds since the turn began; time in the race */
    int64_t trials;     /* number of trials of the turn until then */
};

/* The costs of the trials that ended in one part of a turn's search: seconds of the GPU worker
 * (proof and timing) and of the compilers, which may have worked before the turn began. */
#define GT_TURN_PARTS 20
struct gt_turn_part {
    double gpu_s, compile_s;
};

/* The record of a problem's turn in a sweep, for `tune export --format search`.  The texts of a
 * turn that is read belong to the store. */
struct gt_turn {
    const char *kernels, *strategy; /* "hopper,mma"; the strategy's name */
    uint64_t seed;
    int64_t known, trials; /* number of trials of earlier runs; of this turn */
    double seconds, race_s,
        busy_s;             /* the whole turn; its race; the GPU worker's part of the race */
    double us, baseline_us; /* times in the final; 0: none */
    const struct gt_improvement *improvement;
    size_t improvements;
    /* filled by gt_store_turns */
    const char *device, *problem, *date; /* ISO 8601 UTC, date of the turn's end */
    int timing;                          /* enum gt_timing */
    double best_us; /* the least time that any turn of the same problem, device name and way of
                       timing saw in its race; 0: none */
    struct gt_turn_part part[GT_TURN_PARTS]; /* equal parts of the race; a finalist counts in no
                                                part, because its row has the date of its final */
};

/* Stores a turn.  Of the key, sweep, device, problem and way of timing are used. */
int gt_store_put_turn(struct gt_store *store, const struct gt_trial_key *key,
                      const struct gt_turn *turn, struct gt_err *err);

/* Visits the turns, sorted by device, problem, kernels and the time of their end.  Of the filter,
 * problem and cc are used. */
struct gt_row_filter;
typedef int gt_turn_visit(void *context, const struct gt_turn *turn, struct gt_err *err);
int gt_store_turns(struct gt_store *store, const struct gt_row_filter *filter, gt_turn_visit *visit,
                   void *context, struct gt_err *err);

/* A row of an export: a trial with the names of its device, problem and kernel, as in the view
 * `line`. */
struct gt_row {
    const char *device, *uuid, *dtype, *accuracy, *layout, *problem, *kernel, *signature, *point;
    int cc, driver, nvrtc;
    int64_t m, n, k, batch;
    enum gt_status status;
    enum gt_provenance provenance;
    int timing; /* enum gt_timing */
    bool deterministic;
    double us, lo_us, hi_us, baseline_us, err_u, clock_mhz;
    int registers, stage, ties; /* ties: number of other candidates that are as fast */
    int64_t shared_bytes, workspace_bytes;
    const char *baseline, *date, *detail; /* date: ISO 8601, UTC */
    const char *algo; /* how the baseline is configured (db/README.md); "": it was no candidate */
    /* only filled by gt_store_rows */
    int sms; /* SMs of the device; l2_bytes is the device's, too */
    int64_t l2_bytes;
    int64_t trials; /* number of trials that are ok, of the row's device, problem, way of timing and
                       provenance */
};

/* Whether look-ups may use a row: it is no recording, and was timed with the usual operands.  Other
 * operands (--dist) mark the device's name and uuid with "[zeros]". */
static inline bool gt_row_serves(const struct gt_row *row)
{
    return row->provenance != GT_REPLAYED && !strchr(row->uuid, '[');
}

/* Which rows to visit. */
struct gt_row_filter {
    /* Only the best row that is ok of each device, problem, accuracy and way of timing: a measured
     * row if there is one, else a predicted row; and beside it the best replayed row. */
    bool winners_only;
    unsigned provenance;          /* bits 1u << enum gt_provenance; 0: all */
    const char *problem, *kernel; /* NULL: all */
    int cc;                       /* 0: all */
    const char *device; /* words of a GPU's name, NULL: all; only gt_row_asked uses it, not
                           queries */
    bool whole;         /* `device` is one GPU's whole name: "RTX 2080" is no RTX 2080 Ti */
    int limit;          /* most rows of each problem and device, best first; 0: all */
    bool older;         /* with `kernels`: only rows that are ok, of texts that are not among
                           them */
    bool others;        /* with `kernels`: also rows of recordings and of kernels that are not among
                           them */
    /* Only rows of kernels with these texts; NULL: rows of the text that was used last of each
     * kernel. */
    const struct gt_kernels *kernels;
};

/* Whether the filter names the device of a row. */
static inline bool gt_row_asked(const struct gt_row_filter *filter, const char *device)
{
    char name[96] = ""; /* without the operands of --dist, " [zeros]" */

    strncat(name, device, strcspn(device, "[") < 95 ? strcspn(device, "[") : 95);
    return !filter->device || gt_device_same(name, filter->device) ||
           (!filter->whole && gt_device_called(name, filter->device));
}

typedef int gt_row_visit(void *context, const struct gt_row *row, struct gt_err *err);
int gt_store_rows(struct gt_store *store, const struct gt_row_filter *filter, gt_row_visit *visit,
                  void *context, struct gt_err *err);

/* As gt_store_rows with winners_only and no other condition. */
int gt_store_all_winners(struct gt_store *store, gt_row_visit *visit, void *context,
                         struct gt_err *err);

/* Stores a row's trial once more under the kernel, point and sweep of the key, which belong to
 * another text that gives the same candidate.  Of the row, only its own key is used.  A trial that
 * the new key already has stays, and so does the row's own trial. */
int gt_store_carry(struct gt_store *store, const struct gt_row *row, const struct gt_trial_key *to,
                   struct gt_err *err);

/* A winner and cuBLASLt's best answer, timed in turns. */
struct gt_comparison {
    double us, lo_us, hi_us, err_u;
    double baseline_us;             /* 0: there is none */
    double copy_gbps, move_us;      /* in the same run: bandwidth of a copy, and time of a kernel
                                       that only moves the operands; 0: not measured */
    double baseline_err_u, best_us; /* best_us: time of the winner or of the baseline, whichever the
                                       sweep chose; 0: not known */
    const char *untuned;            /* "simt TM=4,...": the look-up's answer without the database;
                                       NULL or "": not timed */
    double untuned_us;
    bool worse; /* the winner is slower than the untuned answer, by more than the noise */
};

/* Stores a comparison in place of an earlier one of the same key; the key's sweep is not used. */
int gt_store_put_comparison(struct gt_store *store, const struct gt_trial_key *key,
                            const struct gt_comparison *comparison, struct gt_err *err);

/* Visits, for each problem, device and way of timing, the latest measurement beside the vendor
 * library: a comparison, or the winner of a later final.  `with` has the figures that the row
 * lacks.  For a comparison they are its own.  For a final, copy_gbps is that of the latest
 * comparison on the device, move_us that of the latest comparison of the problem there, and all
 * other members are 0 or "".  Of the filter, problem, kernel, cc and kernels are used. */
typedef int gt_compared_visit(void *context, const struct gt_row *row,
                              const struct gt_comparison *with, struct gt_err *err);
int gt_store_compared(struct gt_store *store, const struct gt_row_filter *filter,
                      gt_compared_visit *visit, void *context, struct gt_err *err);

/* A trial with its samples and costs, and the names of its device, problem and kernel. */
struct gt_named_trial {
    const char *device, *uuid, *problem, *kernel, *signature, *point, *date; /* ISO 8601 UTC */
    int cc, driver, nvrtc;
    int timing; /* enum gt_timing */
    struct gt_trial trial;
};
typedef int gt_named_trial_visit(void *context, const struct gt_named_trial *named,
                                 struct gt_err *err);

/* Visits trials of all statuses, of kernels with the text that was used last.  The trials of one
 * space follow one another, in the order in which they were first stored.  Of the filter, problem,
 * kernel, cc, provenance and kernels are used. */
int gt_store_trials(struct gt_store *store, const struct gt_row_filter *filter,
                    gt_named_trial_visit *visit, void *context, struct gt_err *err);

/* Appends the description (configs/kernels) of the kernel with this signature; "" for a kernel of a
 * recording, which has none. */
int gt_store_description(struct gt_store *store, const char *kernel, const char *signature,
                         struct gt_strbuf *text, struct gt_err *err);

/* Writes a copy to hand out: without a write-ahead log, and with a digest of its winners.  GT_EIO:
 * `path` exists already, or cannot be written. */
int gt_store_export(struct gt_store *store, const char *path, struct gt_err *err);

/* Visits the winners of the database at `path`, which may be in use or an exported copy.  If it has
 * a digest, the rows are checked against it; they may be used only after GT_OK was returned. */
int gt_store_winners(const char *path, gt_row_visit *visit, void *context, struct gt_err *err);

/* Adds everything that another database holds, in one transaction.  Of two trials of the same key,
 * the kept one is the trial that proves a fault; else the trial that is ok; else the trial of the
 * later timing stage; else the newer trial.  *rows: number of trials that were added or
 * replaced. */
int gt_store_merge(struct gt_store *store, const char *path, int64_t *rows, struct gt_err *err);

/* Counts the rows that the last merge changed or left out.  *refused: rows that were left out,
 * because their time is too short to be a measurement or their turn ended in the future.  *dated:
 * rows whose date was in the future and was replaced by the merge's. */
void gt_store_merge_doubts(const struct gt_store *store, int64_t *refused, int64_t *dated);

/* Appends the bytes of a database that holds the store's rows of one problem, as gt_store_merge
 * reads it from a file.  Kernels come without their texts.  *rows: its trials. */
int gt_store_pack_problem(struct gt_store *store, const char *problem, struct gt_strbuf *file,
                          int64_t *rows, struct gt_err *err);

/* A note that the rows of a queue's job have to be uploaded: its number, its problem, and the
 * worker that began it in this database. */
struct gt_store_job {
    char id[24], worker[96], problem[GT_PROBLEM_TEXT_MAX];
    bool ends; /* the job is done, and not only begun */
};

/* gt_store_note_job stores a note in place of an earlier one of the same job and worker; the note
 * is durable when the function returns.  gt_store_next_job reads one of the notes, if there is one.
 * gt_store_drop_job removes a note. */
int gt_store_note_job(struct gt_store *store, const struct gt_store_job *job, struct gt_err *err);
int gt_store_next_job(struct gt_store *store, struct gt_store_job *job, bool *found,
                      struct gt_err *err);
int gt_store_drop_job(struct gt_store *store, const struct gt_store_job *job, struct gt_err *err);

/* The trials to forget.  Every condition narrows the selection; without a condition all trials are
 * selected. */
struct gt_selection {
    const char *device;        /* the device's name, in capitals or not, or its uuid; NULL: all */
    const char *const *kernel; /* names or patterns such as "simt*" */
    const char *const *problem;
    size_t kernels, problems; /* 0: all */
    bool predicted;           /* only predictions */
};

/* The number of selected trials of one kernel, problem, device and provenance. */
struct gt_selected {
    const char *device, *problem, *kernel, *result;
    int64_t trials;
};
typedef int gt_selected_visit(void *context, const struct gt_selected *selected,
                              struct gt_err *err);
int gt_store_select(struct gt_store *store, const struct gt_selection *which,
                    gt_selected_visit *visit, void *context, struct gt_err *err);

/* Removes the selected trials in one transaction, with all records that belong only to them:
 * launches, ties, comparisons, energies, and baselines and turns of problems that have no trial
 * left. */
int gt_store_forget(struct gt_store *store, const struct gt_selection *which, struct gt_err *err);

/* The objectives by which a candidate can be the best, with their names: "time", "energy", "edp"
 * (energy times time). */
enum gt_objective { GT_BY_TIME, GT_BY_ENERGY, GT_BY_EDP, GT_OBJECTIVES };
#define GT_OBJECTIVE_NAMES "time|energy|edp"
const char *gt_objective_name(enum gt_objective objective);
/* The objective of that name; NULL stands for time. */
enum gt_objective gt_objective_parse(const char *name);

/* The place of an energy among the energies of its device and problem.  tie: the bounds of the
 * errors do not tell this row apart from the least one; or this row is the least, and they do not
 * tell another row apart from it.  best: the row is the least, or the fastest of a tie. */
struct gt_energy_rank {
    bool best[GT_OBJECTIVES], tie[GT_OBJECTIVES];
};

/* The energy of a candidate's product.  The texts that gt_store_energies fills are valid during the
 * visit; gt_store_put_energy uses the first line and the energy. */
struct gt_energy_row {
    const char *kernel, *signature, *point; /* GT_ENERGY_VENDOR, "", "": the vendor's best answer */
    struct gt_energy energy;
    const char *device, *uuid, *problem, *date; /* date: "2026-01-31T12:00:00Z" */
    int cc, driver;
    struct gt_energy_rank rank;
};
#define GT_ENERGY_VENDOR "cublaslt"

/* Writes the objectives by which a row is the best, "time edp", and if `ties` those by which it is
 * one of a tie, "energy=". */
#define GT_ENERGY_BEST_MAX 32
void gt_energy_best(const struct gt_energy_rank *rank, bool ties, char text[GT_ENERGY_BEST_MAX]);

/* Whether a takes less energy than b, whatever their errors are within the bounds. */
bool gt_energy_less(const struct gt_energy *a, const struct gt_energy *b);

/* Stores the energy in place of an earlier one of the same device, problem and candidate.  Of the
 * key, device and problem are used. */
int gt_store_put_energy(struct gt_store *store, const struct gt_energy_row *row,
                        const struct gt_trial_key *key, struct gt_err *err);

/* Which energies are asked for. */
struct gt_energy_filter {
    /* Before the rows are ranked, problem, kernel, kernels and others choose among them; the texts
     * of kernels do not concern cuBLASLt's answers.  cc and device, with `whole`, choose devices; a
     * device that is named as it is stored is that device alone. */
    struct gt_row_filter rows;
    const struct gt_device *device; /* this very device with its driver; NULL: all */
    const char *operands; /* of --dist, which the stored name of a device has in brackets; "": the
                             usual ones; NULL: all */
    bool ours;            /* cuBLASLt's answer has no place among our candidates */
};

/* Whether the filter asks for the device of a row. */
bool gt_energy_asked(const struct gt_energy_filter *filter, const struct gt_energy_row *row);

/* Visits the measured energies, sorted by device, problem and time, the fastest first.  Candidates
 * of an older text of their kernel are left out. */
typedef int gt_energy_visit(void *context, const struct gt_energy_row *row, struct gt_err *err);
int gt_store_energies(struct gt_store *store, const struct gt_energy_filter *filter,
                      gt_energy_visit *visit, void *context, struct gt_err *err);

#endif
