/* recording.h - a recorded space: the result of every point that somebody measured, read back so
 * that a search can be run and scored without a GPU.
 *
 * There is one form that C reads, plain or gzipped: a line of JSON for the space, then one for each
 * point (described at recording.c's reader).  python3 with recordings.py, which is compiled in,
 * makes it of the forms of other programs when such a file is loaded:
 *   - Kernel Tuner's cache file, also one whose last braces are missing (its writer was stopped);
 *   - T4 results, version 1.0.0 (https://github.com/odgaard/TuningSchema, branch T4);
 *   - our own (`tune export --format kt-cache`): Kernel Tuner's cache with an object "gemmtune" for
 *     facts that have no field there (problem, arch, provenance), and "gemmtune_status" in points
 *     whose status Kernel Tuner's words cannot tell apart.
 *   - T1, the input format, whose KernelSpecification.SimulationInput names one of the above: the
 *     space is T1's, with the Python of its values and conditions, the answers are the recording's.
 * Only one entry at a time is held as JSON: 100 000 points take some 20 MB beside the text. */
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
    float time_ms;  /* time of all launches; the sum of the samples if only samples were recorded */
    float other_ms; /* framework and search of the tuner that recorded it */
};

struct gt_recording {
    /* A kernel with the recording's parameters (of a launch where the recording says so) and their
     * values, without template and constraints, which serves every problem.  If the values of a
     * parameter are not all whole numbers, they become 0, 1, 2... with words. */
    struct gt_kernel *kernel;
    char *device;     /* name of the GPU; "" if the recording does not say */
    char *problem;    /* text form; "" if the recording does not say */
    int cc;           /* 90 for sm_90; 0 if the recording does not say */
    char *objective;  /* what the recording's tuner searched by; "" if that was time */
    size_t described; /* points of the T1 space; 0: there is no T1 space */
    bool predicted;   /* the times are a model's estimates, not measurements */
    bool costs;       /* compile, proof or benchmark times were recorded */
    struct gt_recorded *point;
    uint8_t *index; /* points x kernel->params: the values' indices, as in a space */
    size_t points;  /* of a T1 space only the recorded points */
    float *sample;  /* microseconds, in the order taken */
    size_t samples;
};

/* GT_EIO (unreadable file, damaged gzip, no python3), GT_ECONFIG (none of the forms above; the
 * sentence names file and entry), GT_ERANGE (more than GT_MAX_PARAMS parameters, 256 values or 4
 * GiB of text). Release it also after a failure. */
int gt_recording_load(struct gt_recording *recording, const char *path, struct gt_err *err);

/* Appends the file's bytes, unpacked. */
struct gt_strbuf;
int gt_recording_read_text(struct gt_strbuf *text, const char *path, struct gt_err *err);

/* Whether a file, gzipped or not, can be read and begins with `start`, fewer than 64 bytes. */
bool gt_recording_begins(const char *path, const char *start);

/* As gt_recording_load for the T1 file `space`, with `path` as the recording that it names. */
int gt_recording_load_space(struct gt_recording *recording, const char *path, const char *space,
                            struct gt_err *err);

/* As gt_recording_load for text[0..length) of the form that C reads, where text[length] is NUL. The
 * text is changed.  GT_ECONFIG names `path` and line.  The signature is left empty. */
int gt_recording_parse(struct gt_recording *recording, const char *path, char *text, size_t length,
                       struct gt_err *err);

/* Runs recordings.py on the text, behind `before` (NULL: nothing), and replaces the text by what it
 * writes.  Its arguments stand at the top of recordings.py; NULL ends them.  GT_EIO: there is no
 * python3, or it failed. */
int gt_recording_convert(struct gt_strbuf *text, const struct gt_strbuf *before,
                         const char *const argument[3], struct gt_err *err);

void gt_recording_release(struct gt_recording *recording); /* a zeroed one is accepted */

/* The space of all recorded points, failed ones too; point i of the space is point i of the
 * recording.  problem and device may be NULL. */
int gt_recording_space(struct gt_space *space, const struct gt_recording *recording,
                       const struct gt_problem *problem, const struct gt_device *device,
                       struct gt_err *err);

#endif
