/* export_space.c - writes whole spaces for other tuners: a Kernel Tuner cache, T4 results, and T4's
 * metadata file.  recordings.py, which reads these forms, writes them too: it gets a line of JSON
 * for each trial. */
#include <cjson/cJSON.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "exchange/export_format.h"
#include "exchange/recording.h"
#include "problem/problem.h"

struct writing {
    struct gt_export_out *out;
    struct gt_store *store;
};

/* Adds the description of the first trial's kernel, which names the launch parameters. */
static int put_description(struct gt_fields *fields, const struct writing *writing,
                           const struct gt_named_trial *named, struct gt_err *err)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    int rc = gt_store_description(writing->store, named->kernel, named->signature, &text, err);

    if (!rc)
        gt_fields_add(fields, "description=%s", text.text);
    gt_strbuf_release(&text);
    return rc;
}

/* Adds what is known of the trial beside its point. */
static void put_trial(struct gt_fields *fields, const struct gt_trial *trial)
{
    struct gt_strbuf *text = fields->text;

    gt_fields_add(fields, "provenance=%s status=%s us=%g compile_ms=%g prove_ms=%g time_ms=%g",
                  gt_provenance_name(trial->provenance), gt_status_name(trial->status), trial->us,
                  trial->compile_ms, trial->prove_ms, trial->time_ms);
    gt_strbuf_add_char(gt_fields_value(fields, "samples"), '[');
    for (int i = 0; i < trial->samples; i++)
        gt_strbuf_addf(text, "%s%.17g", i ? "," : "", (double)trial->sample[i]);
    gt_strbuf_add_char(text, ']');
}

static int add_trial(void *context, const struct gt_named_trial *named, struct gt_err *err)
{
    const struct writing *writing = context;
    struct gt_export_out *out = writing->out;
    struct gt_fields fields = {.text = out->text, .form = GT_FIELDS_JSON};
    struct gt_problem problem;
    int rc;

    if (!gt_row_asked(out->filter, named->device))
        return GT_OK;
    rc = gt_problem_parse(&problem, named->problem, err);
    if (rc)
        return rc;
    gt_fields_add(&fields,
                  "device=%s uuid=%s cc=%d driver=%d nvrtc=%d l2=%s problem=%s m=%lld n=%lld "
                  "k=%lld flops=%g kernel=%s signature=%s point=%s date=%s",
                  named->device, named->uuid, named->cc, named->driver, named->nvrtc,
                  gt_timing_name(named->timing), named->problem, (long long)problem.m,
                  (long long)problem.n, (long long)problem.k, gt_problem_flops(&problem),
                  named->kernel, named->signature, named->point, named->date);
    put_trial(&fields, &named->trial);
    if (!out->rows++)
        rc = put_description(&fields, writing, named, err);
    gt_fields_end(&fields);
    gt_strbuf_add_char(out->text, '\n');
    return rc;
}

/* Takes the first line of what recordings.py made, which has the number of rows or an error, off
 * the text. */
static int take_answer(struct gt_export_out *out, struct gt_err *err)
{
    struct gt_strbuf *text = out->text;
    const size_t size = strcspn(text->text, "\n");
    const char *error;
    cJSON *answer = NULL;
    int rc;

    if (size < text->length)
        text->text[size] = '\0';
    rc = gt_json_parse(&answer, "recordings.py", text->text, size, err);
    error = cJSON_GetStringValue(cJSON_GetObjectItem(answer, "error"));
    if (!rc && error)
        rc =
            gt_err_set(err, cJSON_IsTrue(cJSON_GetObjectItem(answer, "range")) ? GT_ERANGE : GT_EDB,
                       "%s", error);
    GT_STEP(rc, gt_json_integer(&out->rows, answer, "recordings.py", "rows", 0, INT64_MAX,
                                GT_REQUIRED, err));
    cJSON_Delete(answer);
    if (rc)
        return rc;
    text->length -= size + 1;
    memmove(text->text, text->text + size + 1, text->length + 1);
    return GT_OK;
}

/* GT_ERANGE: the trials are of several spaces. */
static int write_space(struct gt_export_out *out, struct gt_store *store, struct gt_err *err)
{
    struct writing writing = {out, store};
    char version[24];
    const char *const argument[] = {"--write", gt_export_name(out->request->format), version};
    int rc = gt_store_trials(store, out->filter, add_trial, &writing, err);

    snprintf(version, sizeof(version), "%d.%d.%d", GT_VERSION_MAJOR, GT_VERSION_MINOR,
             GT_VERSION_PATCH);
    GT_STEP(rc, gt_strbuf_check(out->text, err));
    if (!rc && !out->rows)
        rc = gt_err_set(err, GT_ENOTFOUND, "there is no trial to export");
    GT_STEP(rc, gt_recording_convert(out->text, NULL, argument, err));
    return rc ? rc : take_answer(out, err);
}

const struct gt_export_ops gt_export_kt_cache = {.rows = write_space, .one_problem = true};
const struct gt_export_ops gt_export_t4 = {.rows = write_space, .one_problem = true};
const struct gt_export_ops gt_export_t4_metadata = {.rows = write_space, .one_problem = true};
