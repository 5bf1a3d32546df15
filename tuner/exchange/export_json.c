/* export_json.c - rows as one JSON document: {"format", "version", "digest", "rows": [...]}, one
 * row a line.  The digest is over the text of the rows, as printed between the brackets. */
#include "exchange/export_format.h"

#include "base/digest.h"
#include "base/err.h"
#include "problem/trial.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

/* The length of the valid UTF-8 character at text, at most 4 bytes; 0 if it is not valid. */
static size_t utf8_length(const unsigned char *text)
{
    static const struct {
        unsigned char mask, lead;
        unsigned least;
    } form[] = {{0x80, 0, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};

    for (size_t n = 0; n < 4; n++) {
        unsigned value = text[0] & (unsigned char)~form[n].mask;

        if ((text[0] & form[n].mask) != form[n].lead)
            continue;
        for (size_t i = 1; i <= n; i++) {
            if ((text[i] & 0xc0) != 0x80)
                return 0;
            value = value << 6 | (text[i] & 0x3f);
        }
        if (value < form[n].least || value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
            return 0;
        return n + 1;
    }
    return 0;
}

void gt_export_utf8(struct gt_strbuf *to, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;

    while (*at) {
        size_t length = utf8_length(at);

        gt_strbuf_add_bytes(to, length ? (const char *)at : "?", length ? length : 1);
        at += length ? length : 1;
    }
}

/* An object that is being built; failed: a member was lost because memory ran out. */
struct object {
    cJSON *json;
    bool failed;
};

static void add_text(struct object *object, const char *key, const char *value)
{
    struct gt_strbuf clean = GT_STRBUF_INIT;

    gt_export_utf8(&clean, value);
    if (gt_strbuf_check(&clean, NULL) || !cJSON_AddStringToObject(object->json, key, clean.text))
        object->failed = true;
    gt_strbuf_release(&clean);
}

static void add_number(struct object *object, const char *key, double value)
{
    if (!cJSON_AddNumberToObject(object->json, key, value))
        object->failed = true;
}

/* Adds an end of the time's interval: null where it is not known, because nothing was measured or a
 * recording has no samples. */
static void add_bound(struct object *object, const char *key, const struct gt_row *row, double us)
{
    if (gt_interval_known(row->provenance, row->lo_us, row->hi_us))
        add_number(object, key, us);
    else if (!cJSON_AddNullToObject(object->json, key))
        object->failed = true;
}

/* Adds the measurements.  A value that was not measured gets no key, because 0 would look like a
 * result. */
static void add_measurements(struct object *object, const struct gt_row *row)
{
    add_text(object, "result", gt_provenance_name(row->provenance));
    add_text(object, "status", gt_status_name(row->status));
    add_number(object, "stage", row->stage);
    if (row->us > 0) {
        add_number(object, "us", row->us);
        add_bound(object, "lo_us", row, row->lo_us);
        add_bound(object, "hi_us", row, row->hi_us);
    }
    if (row->provenance == GT_MEASURED && (row->us > 0 || row->err_u > 0))
        add_number(object, "err_u", row->err_u);
    if (row->provenance == GT_MEASURED && row->clock_mhz > 0)
        add_number(object, "clock_mhz", row->clock_mhz);
    if (row->baseline_us > 0) {
        add_text(object, "baseline", row->baseline);
        add_number(object, "cublas_us", row->baseline_us);
        add_number(object, "ratio", row->us > 0 ? row->baseline_us / row->us : 0);
    }
    add_text(object, "l2", gt_timing_name(row->timing));
    add_number(object, "ties", row->ties);
    if (!cJSON_AddBoolToObject(object->json, "deterministic", row->deterministic))
        object->failed = true;
    add_number(object, "registers", row->registers);
    add_number(object, "shared_bytes", (double)row->shared_bytes);
    add_number(object, "workspace_bytes", (double)row->workspace_bytes);
    add_text(object, "detail", row->detail);
}

static void add_names(struct object *object, const struct gt_row *row)
{
    add_text(object, "device", row->device);
    add_text(object, "uuid", row->uuid);
    add_number(object, "cc", row->cc);
    add_number(object, "driver", row->driver);
    add_number(object, "nvrtc", row->nvrtc);
    add_text(object, "problem", row->problem);
    add_text(object, "dtype", row->dtype);
    add_text(object, "accuracy", row->accuracy);
    add_text(object, "layout", row->layout);
    add_number(object, "m", (double)row->m);
    add_number(object, "n", (double)row->n);
    add_number(object, "k", (double)row->k);
    add_number(object, "batch", (double)row->batch);
    add_text(object, "kernel", row->kernel);
    add_text(object, "signature", row->signature);
    add_text(object, "point", row->point);
}

static int json_row(struct gt_export_out *out, const struct gt_row *row, struct gt_err *err)
{
    struct object object = {cJSON_CreateObject(), false};
    char *line;

    if (!object.json)
        return gt_err_nomem(err);
    add_names(&object, row);
    if (gt_export_older(out->today, row->kernel, row->signature, row->provenance) &&
        !cJSON_AddTrueToObject(object.json, "older_text"))
        object.failed = true;
    add_measurements(&object, row);
    add_text(&object, "date", row->date);
    line = object.failed ? NULL : cJSON_PrintUnformatted(object.json);
    cJSON_Delete(object.json);
    if (!line)
        return gt_err_nomem(err);
    gt_export_clean(line);
    gt_strbuf_add(out->text, out->rows ? ",\n" : "");
    gt_strbuf_add(out->text, line);
    cJSON_free(line);
    return GT_OK;
}

/* Puts the head in front, whose digest is known only now. */
static int json_end(struct gt_export_out *out, struct gt_err *err)
{
    struct gt_strbuf all = GT_STRBUF_INIT;
    char digest[GT_DIGEST_HEX];

    gt_digest_bytes(out->text->text, out->text->length, digest);
    gt_strbuf_addf(
        &all, "{\"format\":\"gemmtune-rows\",\"version\":1,\"digest\":\"%s\",\"rows\":[\n", digest);
    gt_strbuf_add_bytes(&all, out->text->text, out->text->length);
    gt_strbuf_add(&all, "\n]}\n");
    gt_strbuf_release(out->text);
    *out->text = all;
    return gt_strbuf_check(&all, err);
}

const struct gt_export_ops gt_export_json = {.row = json_row, .end = json_end};
