/* trial.h - vocabulary: a trial, the outcome of a candidate. */
#ifndef GT_TRIAL_H
#define GT_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

/* X(name, text, final): every status.  A candidate with a final status is never tried again; with
 * another status it is retried up to GT_MAX_ATTEMPTS times. */
#define GT_STATUS_MAP(X)                       \
    X(OK, "ok", 1)                             \
    X(COMPILE_ERROR, "compile_error", 1)       \
    X(COMPILE_TIMEOUT, "compile_timeout", 1)   \
    X(COMPILE_CRASH, "compile_crash", 1)       \
    X(SPILLS, "spills", 1)                     \
    X(SERIALIZED, "serialized", 1)             \
    X(LAUNCH_INVALID, "launch_invalid", 1)     \
    X(FAULT, "fault", 1)                       \
    X(TIMEOUT, "timeout", 0)                   \
    X(WRONG, "wrong", 1)                       \
    X(OOB_WRITE, "oob_write", 1)               \
    X(NONDETERMINISTIC, "nondeterministic", 1) \
    X(SLOW, "slow", 1)                         \
    X(DEVICE_LOST, "device_lost", 0)           \
    X(KILLED, "killed", 0)

enum gt_status {
    GT_STATUS_NONE, /* not tried yet */
#define GT_STATUS_ENUM(name, text, final) GT_STATUS_##name,
    GT_STATUS_MAP(GT_STATUS_ENUM)
#undef GT_STATUS_ENUM
        GT_STATUS_COUNT
};

#define GT_MAX_ATTEMPTS 3   /* attempts at a candidate whose status is not final */
#define GT_MAX_SAMPLES  512 /* samples kept of one trial */

/* Bounds of a time in microseconds, whoever wrote it.  A smaller time would be 0 as a float and
 * look like a candidate that was not tried; the upper bound is eleven days.  db/store*.c have the
 * bounds, too. */
#define GT_LEAST_US 1e-6
#define GT_MOST_US  1e12

/* The source of a time.  replayed: from a recording, so the time says nothing of a device that is
 * here (tuner/evaluate/evaluator_replay.c). */
enum gt_provenance { GT_MEASURED, GT_PREDICTED, GT_REPLAYED, GT_PROVENANCE_COUNT };

const char *gt_provenance_name(enum gt_provenance provenance); /* "measured" */
/* Whether text is such a name. */
bool gt_provenance_parse(enum gt_provenance *provenance, const char *text);

/* Whether the 95 % interval of a time is known: a model has none, nor a recording of one time. */
static inline bool gt_interval_known(enum gt_provenance provenance, double lo_us, double hi_us)
{
    return provenance == GT_MEASURED ? lo_us > 0 : provenance == GT_REPLAYED && hi_us > lo_us;
}

/* How a time was taken.  It is part of the key of a stored trial, so the three ways are never
 * mixed.  Cold and warm: launches timed one by one.  Graph: chains of launches in a CUDA graph,
 * each of which waits for the launch before it (tuner/timing/bench_internal.h), with operands as
 * cold. */
enum gt_timing { GT_TIMING_COLD, GT_TIMING_WARM, GT_TIMING_GRAPH, GT_TIMING_COUNT };

const char *gt_timing_name(int timing); /* "cold" */
/* Whether text is such a name. */
bool gt_timing_parse(int *timing, const char *text);

const char *gt_status_name(enum gt_status status);
bool gt_status_final(enum gt_status status);
enum gt_status gt_status_parse(const char *text); /* GT_STATUS_NONE if unknown */

struct gt_trial {
    enum gt_status status;
    enum gt_provenance provenance;
    int stage; /* deepest timing stage reached: 0 none, 1 race, 2 sampled, 3 final */
    float sample[GT_MAX_SAMPLES]; /* microseconds, in the order taken (the last stage's) */
    int samples;
    double us, lo_us, hi_us; /* median and its 95 % interval; 0 if not timed */
    double err_u; /* max |c-ref| / (|A||B|), in units of u = 2^-24, or 2^-53 of doubles */
    int registers, spill_bytes, static_shared;
    int64_t shared_bytes;                 /* shared memory of a block, static and dynamic */
    int64_t workspace_bytes;              /* workspace of the whole candidate */
    bool varies;                          /* last bits may differ between launches (atomics) */
    double clock_mhz;                     /* SM clock seen while timing; 0: not seen */
    double compile_ms, prove_ms, time_ms; /* costs of the trial */
    char detail[512]; /* the reason of the status, for people: "element (3,17) is 1.25, expected
                         1.5" */
};

#endif
