/* export_space.h - what the exports of whole spaces share (Kernel Tuner's cache, T4): one kernel's
 * trials of one problem on one device, and what others call a status. */
#ifndef GT_EXPORT_SPACE_H
#define GT_EXPORT_SPACE_H

#include "exchange/export_format.h"

/* A parameter of the points: the values that occur as JSON, numbers ascending before words. */
struct gt_export_param {
    char *name;
    char **value;
    size_t count, capacity;
};

struct gt_export_space {
    const struct gt_row_filter *filter;
    struct gt_store *store;
    struct gt_export_param param[GT_MAX_PARAMS];
    size_t params;
    struct gt_problem problem;
    int64_t trials;
    /* What every trial of it has in common, as JSON: "device_name", "kernel_name", and "gemmtune",
     * which tuner/exchange/recording_read.c reads back. */
    struct gt_strbuf head;
    struct gt_strbuf identity; /* of the first trial, for comparison */
};

/* How one trial is written: values[0 .. space->params) of its point as JSON, in order. */
typedef int gt_export_entry(struct gt_strbuf *text, const struct gt_export_space *space,
                            const struct gt_named_trial *named, const char *const *values,
                            struct gt_err *err);

/* Reads the trials that the filter lets through twice: for the space, then for the entries, which
 * it puts commas between.  GT_ENOTFOUND if there are none, GT_ERANGE if they are of several spaces.
 * begin writes what comes before the entries. */
int gt_export_space(struct gt_export_out *out, struct gt_store *store,
                    void (*begin)(struct gt_strbuf *text, const struct gt_export_space *space),
                    gt_export_entry *entry, const char *end, struct gt_err *err);

/* A trial that others should see as one with a time: it is ok, or was found slow. */
bool gt_export_timed(const struct gt_trial *trial);

/* "CompilationFailedConfig" (Kernel Tuner), "compile" (T4's invalidity); of every status but none.
 */
const char *gt_export_kernel_tuner_error(enum gt_status status); /* NULL: no failure */
const char *gt_export_t4_invalidity(enum gt_status status);

/* "[1.5,2.25]": the samples, or else the time, in milliseconds; "[]" if there is neither. */
void gt_export_samples(struct gt_strbuf *text, const struct gt_trial *trial);

/* A JSON string with its quotes. */
void gt_export_string(struct gt_strbuf *text, const char *value);

#endif
