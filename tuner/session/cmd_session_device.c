/* cmd_session_device.c - opening a session's device: the evaluator of --device, or of a GPU or the
 * profile of --arch; see cmd_session_impl.h. */
#include "session/cmd_session_impl.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "console/gpu_names.h"
#include "sweep/progress.h"

static void on_waiting(void *context, double seconds)
{
    const struct gt_session *session = context;

    gt_progress_wait(session->progress,
                     session->waits_for ? session->waits_for : "the GPU's worker starts", seconds);
}

/* What --dist names: the parser of options lets no other word through. */
static enum gt_dist operands_of(const struct gt_session_options *options)
{
    return options->dist ? gt_dist_parse(options->dist) : GT_DIST_NORMAL;
}

void gt_session_name_operands(struct gt_session *session, const struct gt_session_options *options)
{
    struct gt_device *device = &session->evaluator->device;
    const struct gt_device plain = *device;

    if (operands_of(options) == GT_DIST_NORMAL)
        return;
    snprintf(device->name, sizeof(device->name), "%.80s [%s]", plain.name, options->dist);
    snprintf(device->uuid, sizeof(device->uuid), "%.52s [%s]", plain.uuid, options->dist);
}

/* Opens the evaluator of a --device text. */
static int open_device(struct gt_session *session, const struct gt_session_options *options,
                       const char *device, struct gt_err *err)
{
    const struct gt_evaluator_options evaluator = {
        .data_dir = session->cli->data_dir,
        .cache_dir = session->cache_dir,
        .kernels_dir = options->kernels_dir,
        .include_dirs = options->include_dirs,
        .jobs = (int)options->jobs,
        .tokens = options->tokens,
        .space = options->space,
        .launch_deadline_s = (double)options->deadline,
        .compile_cpu_s = (double)options->compile_cpu,
        .compile_memory = options->compile_memory << 20,
        .baseline = !options->baseline || strcmp(options->baseline, "none") != 0,
        .events = {.context = session, .waiting = on_waiting},
        .bench = {.timing = gt_session_timing(options),
                  .dist = operands_of(options),
                  .slow_factor = options->slow,
                  .seed = session->seed},
    };

    return gt_evaluator_open(&session->evaluator, device, &evaluator, err);
}

/* Refuses a device whose architecture is not the one that --arch names. */
static int check_arch(const struct gt_session *session, const struct gt_session_options *options,
                      const char *device, int cc, struct gt_err *err)
{
    struct gt_device *found = &session->evaluator->device;
    char instead[80] = "";

    if (found->cc == 0)
        found->cc = cc; /* the recording does not name its arch, so the user may */
    if (!cc || found->cc == cc)
        return GT_OK;
    if (found->profile)
        return gt_err_set(err, GT_ERANGE, "--arch sm_%d contradicts --device %s", cc, device);
    if (!options->measure)
        snprintf(instead, sizeof(instead),
                 "; without --device and --devices times are predicted for sm_%d", cc);
    return gt_err_set(err, GT_ENOGPU, "the GPU %s is %s (sm_%d), not sm_%d%s", device, found->name,
                      found->cc, cc, instead);
}

#define DEVICE_TEXT 160 /* "predict:sm_90/NVIDIA H100 PCIe" */

static void name_profile(char text[DEVICE_TEXT], int cc, const char *name)
{
    snprintf(text, DEVICE_TEXT, "predict:sm_%d%s%.120s", cc, name ? "/" : "", name ? name : "");
}

/* Without --device: takes a GPU of the arch, and of the name that was given, if there is one, else
 * a profile. */
static int open_arch(struct gt_session *session, const struct gt_session_options *options, int cc,
                     const char *name, struct gt_err *err)
{
    char profile[DEVICE_TEXT];
    int rc = open_device(session, options, "cuda", &session->no_gpu);

    if (rc == GT_OK && session->evaluator->device.cc == cc &&
        (!name || gt_device_called(session->evaluator->device.name, name)))
        return GT_OK;
    if (rc && rc != GT_ENOGPU && rc != GT_ENOLIB && rc != GT_ECUDA) {
        if (err)
            *err = session->no_gpu;
        return rc;
    }
    if (rc == GT_OK)
        gt_err_set(&session->no_gpu, GT_ENOGPU, "the GPU here is %s (sm_%d)",
                   session->evaluator->device.name, session->evaluator->device.cc);
    gt_evaluator_close(session->evaluator);
    session->evaluator = NULL;
    name_profile(profile, cc, name);
    return open_device(session, options, profile, err);
}

/* The arch that "predict" or "predict:NAME" means becomes part of the word; NAME is whatever --arch
 * takes, or a file. */
static int complete_prediction(const char **device, char text[DEVICE_TEXT], int cc,
                               const char **asked, struct gt_err *err)
{
    const char *name = *device + strlen("predict");
    int rc;

    if (!*name && cc) {
        name_profile(text, cc, *asked);
        *device = text;
    }
    if (*name++ != ':' || !*name || strstr(name, ".json") || strchr(name, '/'))
        return GT_OK;
    rc = gt_gpu_parse(name, &cc, asked, err);
    if (rc)
        return gt_err_prefix(err, rc, "--device");
    name_profile(text, cc, *asked);
    *device = text;
    return GT_OK;
}

int gt_session_open_evaluator(struct gt_session *session, const struct gt_session_options *options,
                              int cc, const char *name, struct gt_err *err)
{
    const char *device = options->device;
    char text[DEVICE_TEXT];
    int rc = GT_OK;

    if (device && strncmp(device, "predict", strlen("predict")) == 0)
        rc = complete_prediction(&device, text, cc, &name, err);
    session->asked = name;
    if (rc)
        return rc;
    if (device || !cc || options->measure) {
        rc = open_device(session, options, device ? device : "cuda", err);
        if (rc && !device && !options->measure && (rc == GT_ENOGPU || rc == GT_ENOLIB))
            gt_err_prefix(err, rc, "without a GPU, --arch says what to predict for, e.g. sm_86");
        return rc ? rc : check_arch(session, options, device ? device : "cuda", cc, err);
    }
    return open_arch(session, options, cc, name, err);
}

/* Writes the option that only a GPU can honour, and why predictions and recordings cannot; false:
 * there is none. */
static bool needs_gpu(const struct gt_session_options *options, char option[64], const char **why)
{
    const enum gt_timing timing = gt_session_timing(options);

    if (timing == GT_TIMING_GRAPH) {
        snprintf(option, 64, "--timing graph");
        *why = "predictions and recordings are of launches by themselves";
    } else if (timing == GT_TIMING_WARM) {
        snprintf(option, 64, "--l2 warm");
        *why = "predictions and recordings are of operands that are not in L2";
    } else if (operands_of(options) != GT_DIST_NORMAL) {
        snprintf(option, 64, "--dist %.40s", options->dist);
        *why = "predictions and recordings compute no product";
    } else {
        return false;
    }
    return true;
}

int gt_session_check_timing(const struct gt_session *session,
                            const struct gt_session_options *options, struct gt_err *err)
{
    const bool warm = options->l2 && strcmp(options->l2, "warm") == 0;
    char option[64];
    const char *why;

    if (warm && gt_session_timing(options) == GT_TIMING_GRAPH)
        return gt_err_set(err, GT_ESYNTAX,
                          "--timing graph reads operands that are not in L2; --l2 warm is for "
                          "--timing single");
    if (session->evaluator->ops->provenance == GT_MEASURED || !needs_gpu(options, option, &why))
        return GT_OK;
    return gt_err_set(err, GT_ENOGPU, "%s needs a GPU: %s%s%s", option, why,
                      session->no_gpu.code ? "; " : "",
                      session->no_gpu.code ? session->no_gpu.msg : "");
}
