/* export_kernel_tuner.c - writes a space as a cache file of Kernel Tuner (schema 1.1.0), for its
 * dashboard, for autotuning_methodology, and for replays (recording.h).
 *
 * "time" is the median of the samples in milliseconds (Kernel Tuner writes their mean).  A failure
 * has the name of Kernel Tuner's error class there and in "__error__", with our status beside it.
 */
#include "exchange/export_space.h"

#include "problem/problem.h"

#include <inttypes.h>
#include <string.h>

static void begin(struct gt_strbuf *text, const struct gt_export_space *space)
{
    gt_strbuf_addf(text,
                   "{\n\"schema_version\":\"1.1.0\",\n%s,\n\"problem_size\":[%" PRId64 ",%" PRId64
                   ",%" PRId64 "],\n",
                   space->head.text, space->problem.m, space->problem.n, space->problem.k);
    gt_strbuf_add(text, "\"tune_params_keys\":[");
    for (size_t i = 0; i < space->params; i++) {
        gt_strbuf_add(text, i ? "," : "");
        gt_export_string(text, space->param[i].name);
    }
    gt_strbuf_add(text, "],\n\"tune_params\":{");
    for (size_t i = 0; i < space->params; i++) {
        const struct gt_export_param *param = &space->param[i];

        gt_strbuf_add(text, i ? "," : "");
        gt_export_string(text, param->name);
        for (size_t v = 0; v < param->count; v++)
            gt_strbuf_addf(text, "%s%s", v ? "," : ":[", param->value[v]);
        gt_strbuf_add(text, "]");
    }
    gt_strbuf_add(text, "},\n\"objective\":\"time\",\n\"cache\":{\n");
}

/* Adds "time" and the members that only an entry with a time has. */
static void add_time(struct gt_strbuf *text, const struct gt_export_space *space,
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
                   gt_problem_flops(&space->problem) / trial->us * 1e-3);
}

static int entry(struct gt_strbuf *text, const struct gt_export_space *space,
                 const struct gt_named_trial *named, const char *const *values, struct gt_err *err)
{
    const struct gt_trial *trial = &named->trial;

    (void)err;
    for (size_t i = 0; i < space->params; i++) { /* the key: the values without their quotes */
        const int quotes = values[i][0] == '"';

        gt_strbuf_addf(text, "%s%.*s", i ? "," : "\"", (int)strlen(values[i]) - 2 * quotes,
                       values[i] + quotes);
    }
    gt_strbuf_add(text, "\":{");
    for (size_t i = 0; i < space->params; i++) {
        gt_export_string(text, space->param[i].name);
        gt_strbuf_addf(text, ":%s,", values[i]);
    }
    add_time(text, space, trial);
    if (trial->status != GT_STATUS_OK)
        gt_strbuf_addf(text, "\"gemmtune_status\":\"%s\",", gt_status_name(trial->status));
    gt_strbuf_addf(text,
                   "\"compile_time\":%.6g,\"verification_time\":%.6g,\"benchmark_time\":%.6g,"
                   "\"strategy_time\":0,\"framework_time\":0,\"timestamp\":\"%s\"}",
                   trial->compile_ms, trial->prove_ms, trial->time_ms, named->date);
    return GT_OK;
}

static int space(struct gt_export_out *out, struct gt_store *store, struct gt_err *err)
{
    return gt_export_space(out, store, begin, entry, "\n}\n}\n", err);
}

const struct gt_export_ops gt_export_kernel_tuner = {.whole = space};
