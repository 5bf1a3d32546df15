/* recording_impl.h - what the files recording*.c share: a recording in the making; nobody else
 * includes it. */
#ifndef GT_RECORDING_IMPL_H
#define GT_RECORDING_IMPL_H

#include "exchange/recording.h"

#include "base/json.h"
#include "exchange/t1.h"

struct gt_recording_reader {
    struct gt_recording *recording;
    const char *path;
    const char *at, *end;                    /* what is left of the text */
    struct gt_t1_param param[GT_MAX_PARAMS]; /* in order */
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

/* A new parameter without values. */
int gt_recording_add_param(struct gt_recording_reader *reader, const char *name);

/* Makes the kernel of what was read: parameters, values; values that only the entries told are put
 * in order. */
int gt_recording_finish_params(struct gt_recording_reader *reader);
void gt_recording_release_params(struct gt_recording_reader *reader);

/* Reads the whole text. */
int gt_recording_read(struct gt_recording_reader *reader);

#endif
