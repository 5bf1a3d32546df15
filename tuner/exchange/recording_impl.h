/* recording_impl.h - what the files recording*.c share: a recording in the making; nobody else
 * includes it. */
#ifndef GT_RECORDING_IMPL_H
#define GT_RECORDING_IMPL_H

#include "exchange/recording.h"

#include "base/json.h"

/* A value of a parameter as the file has it. */
struct gt_recorded_value {
    char *text; /* NULL: a number (true is 1) */
    double number;
};

struct gt_recorded_param {
    char *name;
    struct gt_recorded_value *value;
    size_t count, capacity;
    bool truths; /* true or false occurs among the values */
};

struct gt_recording_reader {
    struct gt_recording *recording;
    const char *path;
    const char *at, *end;                          /* what is left of the text */
    struct gt_recorded_param param[GT_MAX_PARAMS]; /* in order */
    size_t params;
    const char *entries;  /* where "cache" or "results" begin; NULL: not seen */
    bool cached;          /* they are "cache" */
    cJSON *keys, *values; /* "tune_params_keys", "tune_params"; NULL: not seen */
    bool listed;          /* the file lists parameters and values; else the entries tell them */
    bool preset;          /* they are known before: what the file lists is not */
    double ms;            /* of the file's unit of time */
    cJSON *launch;        /* names of parameters that no cubin depends on; NULL: not said */
    size_t points_capacity, samples_capacity;
    struct gt_err *err;
};

/* ---- recording.c ---- */

/* Whether a file, gzipped or not, can be read and begins with `start`, fewer than 64 bytes. */
bool gt_recording_begins(const char *path, const char *start);

/* ---- recording.c ---- */

/* ---- recording_read.c ---- */

/* A new parameter without values. */
int gt_recording_add_param(struct gt_recording_reader *reader, const char *name);

/* Adds a value; its text is copied. */
int gt_recording_add_value(struct gt_recording_reader *reader, struct gt_recorded_param *param,
                           struct gt_recorded_value value);

/* Makes the kernel of what was read: parameters, values; values that only the entries told are put
 * in order. */
int gt_recording_finish_params(struct gt_recording_reader *reader);
void gt_recording_release_params(struct gt_recording_reader *reader);

/* ---- recording_read.c ---- */

/* Reads the whole text. */
int gt_recording_read(struct gt_recording_reader *reader);

/* ---- recording_read.c ---- */

#endif
