/* export_t4.c - writes a space in T4, the results format of the autotuning community, version 1.0.0
 * (https://github.com/odgaard/TuningSchema, branch T4), and its metadata file.
 *
 * The schema and the tools that read it disagree on a name ("compilation_time", "compilation"), so
 * both are written.  Times are milliseconds.  "invalidity" has six values; "gemmtune_status" among
 * the measurements says which of our statuses it was. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "exchange/export_space.h"
#include "problem/problem.h"

#define VERSION "\"schema_version\":\"1.0.0\""

static void begin(struct gt_strbuf *text, const struct gt_export_space *space)
{
    gt_strbuf_addf(text,
                   "{" VERSION ",\n\"metadata\":{\"timeunit\":\"milliseconds\"},\n%s,\n"
                   "\"results\":[\n",
                   space->head.text);
}

static void add_times(struct gt_strbuf *text, const struct gt_trial *trial)
{
    gt_strbuf_addf(text,
                   "\"times\":{\"compilation\":%.6g,\"compilation_time\":%.6g,\"benchmark\":%.6g,"
                   "\"validation\":%.6g,\"framework\":0,\"search_algorithm\":0,\"runtimes\":",
                   trial->compile_ms, trial->compile_ms, trial->time_ms, trial->prove_ms);
    gt_export_samples(text, trial);
    gt_strbuf_add(text, "}");
}

static void add_measurements(struct gt_strbuf *text, const struct gt_export_space *space,
                             const struct gt_trial *trial)
{
    gt_strbuf_add(text, "\"measurements\":[");
    if (gt_export_timed(trial))
        gt_strbuf_addf(text,
                       "{\"name\":\"time\",\"value\":%.9g,\"unit\":\"ms\"},"
                       "{\"name\":\"GFLOP/s\",\"value\":%.9g,\"unit\":\"GFLOP/s\"},",
                       trial->us * 1e-3, gt_problem_flops(&space->problem) / trial->us * 1e-3);
    gt_strbuf_addf(text, "{\"name\":\"gemmtune_status\",\"value\":\"%s\",\"unit\":\"\"}]",
                   gt_status_name(trial->status));
}

static int entry(struct gt_strbuf *text, const struct gt_export_space *space,
                 const struct gt_named_trial *named, const char *const *values, struct gt_err *err)
{
    const struct gt_trial *trial = &named->trial;
    bool timed = gt_export_timed(trial);

    (void)err;
    gt_strbuf_addf(text, "{\"timestamp\":\"%s\",\"configuration\":{", named->date);
    for (size_t i = 0; i < space->params; i++) {
        gt_strbuf_add(text, i ? "," : "");
        gt_export_string(text, space->param[i].name);
        gt_strbuf_addf(text, ":%s", values[i]);
    }
    gt_strbuf_add(text, "},\"objectives\":[\"time\"],");
    add_times(text, trial);
    gt_strbuf_addf(text, ",\"invalidity\":\"%s\",\"correctness\":%d,",
                   timed ? "correct" : gt_export_t4_invalidity(trial->status), timed);
    add_measurements(text, space, trial);
    gt_strbuf_add(text, "}");
    return GT_OK;
}

static int space(struct gt_export_out *out, struct gt_store *store, struct gt_err *err)
{
    return gt_export_space(out, store, begin, entry, "\n]}\n", err);
}

const struct gt_export_ops gt_export_t4 = {.whole = space};

/* ---- the metadata file ---- */

struct devices {
    struct gt_export_out *out;
    char last[192]; /* name and uuid of the device written last */
};

/* Adds a device.  Trials are sorted by device, so that each device is written once. */
static int add_device(void *context, const struct gt_named_trial *named, struct gt_err *err)
{
    struct devices *devices = context;
    struct gt_strbuf *text = devices->out->text;
    char name[sizeof(devices->last)];

    (void)err;
    snprintf(name, sizeof(name), "%s %s", named->device, named->uuid);
    if (strcmp(name, devices->last) == 0 || !gt_row_asked(devices->out->filter, named->device))
        return GT_OK;
    memcpy(devices->last, name, sizeof(name));
    gt_strbuf_add(text, devices->out->rows++ ? ",\n{\"device_name\":" : "{\"device_name\":");
    gt_export_string(text, named->device);
    gt_strbuf_add(text, ",\"uuid\":");
    gt_export_string(text, named->uuid);
    gt_strbuf_addf(text, ",\"compute_capability\":\"%d.%d\",\"cuda_driver\":\"", named->cc / 10,
                   named->cc % 10);
    gt_export_version(text, named->driver);
    gt_strbuf_add(text, "\",\"nvrtc\":\"");
    gt_export_version(text, named->nvrtc);
    gt_strbuf_add(text, "\"}");
    return GT_OK;
}

/* Writes what the database knows about the origin of its trials; the rest of T4's metadata is
 * optional. */
static int metadata(struct gt_export_out *out, struct gt_store *store, struct gt_err *err)
{
    struct devices devices = {.out = out};
    int code;

    gt_strbuf_add(out->text,
                  "{" VERSION ",\n\"metadata\":{\"hardware\":{\"hardware_description\":[\n");
    code = gt_store_trials(store, out->filter, add_device, &devices, err);
    gt_strbuf_addf(out->text,
                   "\n]},\n\"environment\":{\"device_query\":{},\"requirements\":[\"gemmtune "
                   "%d.%d.%d\"]}}}\n",
                   GT_VERSION_MAJOR, GT_VERSION_MINOR, GT_VERSION_PATCH);
    return code;
}

const struct gt_export_ops gt_export_t4_metadata = {.whole = metadata};

/* Writes a space as a cache file of Kernel Tuner (schema 1.1.0), for its
 * dashboard, for autotuning_methodology, and for replays (recording.h).
 *
 * "time" is the median of the samples in milliseconds (Kernel Tuner writes their mean).  A failure
 * has the name of Kernel Tuner's error class there and in "__error__", with our status beside it.
 */

static void begin_tuner(struct gt_strbuf *text, const struct gt_export_space *space_tuner)
{
    gt_strbuf_addf(text,
                   "{\n\"schema_version\":\"1.1.0\",\n%s,\n\"problem_size\":[%" PRId64 ",%" PRId64
                   ",%" PRId64 "],\n",
                   space_tuner->head.text, space_tuner->problem.m, space_tuner->problem.n,
                   space_tuner->problem.k);
    gt_strbuf_add(text, "\"tune_params_keys\":[");
    for (size_t i = 0; i < space_tuner->params; i++) {
        gt_strbuf_add(text, i ? "," : "");
        gt_export_string(text, space_tuner->param[i].name);
    }
    gt_strbuf_add(text, "],\n\"tune_params\":{");
    for (size_t i = 0; i < space_tuner->params; i++) {
        const struct gt_export_param *param = &space_tuner->param[i];

        gt_strbuf_add(text, i ? "," : "");
        gt_export_string(text, param->name);
        for (size_t v = 0; v < param->count; v++)
            gt_strbuf_addf(text, "%s%s", v ? "," : ":[", param->value[v]);
        gt_strbuf_add(text, "]");
    }
    gt_strbuf_add(text, "},\n\"objective\":\"time\",\n\"cache\":{\n");
}

/* Adds "time" and the members that only an entry with a time has. */
static void add_time(struct gt_strbuf *text, const struct gt_export_space *space_tuner,
                     const struct gt_trial *trial)
{
    const char *failure = gt_export_kernel_tuner_error(trial->status);

    if (!gt_export_timed(trial)) {
        gt_strbuf_addf(text, "\"time\":\"%s\",\"__error__\":\"%s\",", failure, failure);
        return;
    }
    gt_strbuf_addf(text, "\"time\":%.9g,\"times\":", trial->us * 1e-3);
    gt_export_samples(text, trial);
    gt_strbuf_addf(text, ",\"GFLOP/s\":%.9g,",
                   gt_problem_flops(&space_tuner->problem) / trial->us * 1e-3);
}

static int entry_tuner(struct gt_strbuf *text, const struct gt_export_space *space_tuner,
                       const struct gt_named_trial *named, const char *const *values,
                       struct gt_err *err)
{
    const struct gt_trial *trial = &named->trial;

    (void)err;
    for (size_t i = 0; i < space_tuner->params;
         i++) { /* the key: the values without their quotes */
        const int quotes = values[i][0] == '"';

        gt_strbuf_addf(text, "%s%.*s", i ? "," : "\"", (int)strlen(values[i]) - 2 * quotes,
                       values[i] + quotes);
    }
    gt_strbuf_add(text, "\":{");
    for (size_t i = 0; i < space_tuner->params; i++) {
        gt_export_string(text, space_tuner->param[i].name);
        gt_strbuf_addf(text, ":%s,", values[i]);
    }
    add_time(text, space_tuner, trial);
    if (trial->status != GT_STATUS_OK)
        gt_strbuf_addf(text, "\"gemmtune_status\":\"%s\",", gt_status_name(trial->status));
    gt_strbuf_addf(text,
                   "\"compile_time\":%.6g,\"verification_time\":%.6g,\"benchmark_time\":%.6g,"
                   "\"strategy_time\":0,\"framework_time\":0,\"timestamp\":\"%s\"}",
                   trial->compile_ms, trial->prove_ms, trial->time_ms, named->date);
    return GT_OK;
}

static int space_tuner(struct gt_export_out *out, struct gt_store *store, struct gt_err *err)
{
    return gt_export_space(out, store, begin_tuner, entry_tuner, "\n}\n}\n", err);
}

const struct gt_export_ops gt_export_kernel_tuner = {.whole = space_tuner};
