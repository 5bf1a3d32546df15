/* recording.h - a recorded space: what became of every point that somebody measured, read back so
 * that a search can be run, and scored, without a GPU.
 *
 * Forms that are read, plain or gzipped:
 *   - Kernel Tuner's cache file, also one whose last braces are missing (its writer was stopped);
 *   - T4 results, version 1.0.0 (https://github.com/odgaard/TuningSchema, branch T4);
 *   - our own (`tune export --format kt-cache`): Kernel Tuner's cache with an object "gemmtune"
 *     that says what its fields cannot (problem, arch, provenance), and "gemmtune_status" in points
 *     whose status its words cannot tell apart.
 *   - T1, the input format, whose KernelSpecification.SimulationInput names one of the above: the
 *     space is T1's (t1.h), the answers are the recording's.
 * One entry at a time is held as JSON: 100 000 points take some 20 MB beside the text. */
#ifndef GT_RECORDING_H
#define GT_RECORDING_H

#include "base/digest.h"
#include "problem/trial.h"
#include "search/space.h"

/* One recorded point.  Costs are milliseconds; 0 where they were not recorded. */
struct gt_recorded {
    enum gt_status status;
    float us;                /* time as the recording states it (Kernel Tuner: the mean of the
                                samples; ours: their median); 0 unless ok */
    uint32_t first, samples; /* sample[first .. first + samples) of the recording */
    float compile_ms, prove_ms;
    float time_ms;  /* of all its launches; the samples' sum where only those were recorded */
    float other_ms; /* framework and search of the tuner that recorded it */
};

struct gt_recording {
    /* Its parameters (of a launch where the recording says so) and their values; no template, no
     * constraints, and it serves every problem.
     * The values of a parameter that are not all whole numbers become 0, 1, 2... with words. */
    struct gt_kernel *kernel;
    char *device;     /* name of the GPU; "" if the recording does not say */
    char *problem;    /* text form; "" if the recording does not say */
    int cc;           /* 90 for sm_90; 0 if the recording does not say */
    char *objective;  /* what its tuner searched by, if that was not time; "" otherwise */
    size_t described; /* points of the T1 space; 0: there is none */
    bool predicted;   /* the times are a model's estimates, not measurements */
    bool costs;       /* compile, proof or benchmark times were recorded */
    struct gt_recorded *point;
    uint8_t *index; /* points x kernel->params: which value of each parameter, as in a space */
    size_t points;  /* of a T1 space those that are recorded */
    float *sample;  /* microseconds, in the order taken */
    size_t samples;
};

/* GT_EIO (cannot be read, damaged gzip), GT_ECONFIG (none of the forms above; names file and
 * entry), GT_ERANGE (more than GT_MAX_PARAMS parameters, 256 values or 4 GiB of text).  Release it
 * also after a failure. */
int gt_recording_load(struct gt_recording *recording, const char *path, struct gt_err *err);

/* Appends the file's bytes, unpacked. */
struct gt_strbuf;
int gt_recording_read_text(struct gt_strbuf *text, const char *path, struct gt_err *err);

/* Whether a file, gzipped or not, can be read and begins with `start`, fewer than 64 bytes. */
bool gt_recording_begins(const char *path, const char *start);

/* As for the T1 file `space` if it named the recording `path`. */
int gt_recording_load_space(struct gt_recording *recording, const char *path, const char *space,
                            struct gt_err *err);

/* As gt_recording_load for text[0..length), text[length] is NUL, which came from `path`.  The text
 * is changed: NaN and Infinity, which Python writes and JSON has not, are replaced in place. */
int gt_recording_parse(struct gt_recording *recording, const char *path, char *text, size_t length,
                       struct gt_err *err);
void gt_recording_release(struct gt_recording *recording); /* a zeroed one is accepted */

/* The space of all recorded points, failed ones too; point i of the space is point i of the
 * recording.  Problem and device may be NULL for a caller that has none. */
int gt_recording_space(struct gt_space *space, const struct gt_recording *recording,
                       const struct gt_problem *problem, const struct gt_device *device,
                       struct gt_err *err);

#endif
