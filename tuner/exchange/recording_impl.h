/* recording_impl.h - a recording in the making, which the files recording*.c share; no other file
 * includes this. */
#ifndef GT_RECORDING_IMPL_H
#define GT_RECORDING_IMPL_H

#include "exchange/recording.h"

#include "base/json.h"
#include "exchange/t1.h"

struct gt_recording_reader {
    struct gt_recording *recording;
    const char *path;
    const char *at, *end;                    /* the rest of the text */
    struct gt_t1_param param[GT_MAX_PARAMS]; /* in order */
    size_t params;
    const char *entries;  /* where "cache" or "results" begin; NULL: not seen */
    bool cached;          /* the entries are "cache" */
    cJSON *keys, *values; /* "tune_params_keys", "tune_params"; NULL: not seen */
    bool listed;          /* the file lists parameters and values; else the entries tell them */
    bool preset;   /* parameters and values are set in advance, and the file's lists do not count */
    double ms;     /* milliseconds of the file's unit of time */
    cJSON *launch; /* names of parameters that no cubin depends on; NULL: not in the file */
    size_t points_capacity, samples_capacity;
    struct gt_err *err;
};

/* Adds a parameter without values. */
int gt_recording_add_param(struct gt_recording_reader *reader, const char *name);

/* Makes the kernel from the parameters and values that were read; values that only the entries told
 * are sorted. */
int gt_recording_finish_params(struct gt_recording_reader *reader);
void gt_recording_release_params(struct gt_recording_reader *reader);

/* Reads the whole text. */
int gt_recording_read(struct gt_recording_reader *reader);

#endif
