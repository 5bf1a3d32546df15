/* cmd_csv.c - CSV files that commands write; see cmd_csv.h. */
#include "console/cmd_csv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "base/err.h"
#include "console/cmd_write.h"

struct gt_csv {
    struct gt_cmd_output output;
    FILE *file;   /* of the output */
    bool inside;  /* a field of this record was written */
    bool records; /* there is one */
};

int gt_csv_new(struct gt_csv **csv, const char *path, const char *heading, struct gt_err *err)
{
    struct gt_csv *made;
    int rc;

    if (strcmp(path, "-") == 0)
        return gt_err_set(err, GT_ESYNTAX,
                          "--csv names a file, not \"-\": standard output has the table already");
    made = calloc(1, sizeof(*made));
    if (!made)
        return gt_err_nomem(err);
    rc = gt_cmd_output_open(&made->output, path, err);
    if (rc) {
        free(made);
        return rc;
    }
    made->file = made->output.file;
    fprintf(made->file, "%s\n", heading);
    *csv = made;
    return GT_OK;
}

int gt_csv_close(struct gt_csv *csv, struct gt_err *err)
{
    int rc;

    if (!csv)
        return GT_OK;
    rc = gt_cmd_output_close(&csv->output, !err && !csv->records ? GT_EIO : GT_OK, err);
    free(csv);
    return rc;
}

void gt_csv_text(struct gt_csv *csv, const char *text)
{
    if (!csv)
        return;
    if (csv->inside)
        fputc(',', csv->file);
    csv->inside = true;
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, csv->file);
        return;
    }
    fputc('"', csv->file);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', csv->file);
        fputc(*text, csv->file);
    }
    fputc('"', csv->file);
}

void gt_csv_format(struct gt_csv *csv, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    gt_csv_text(csv, text);
}

void gt_csv_real(struct gt_csv *csv, double value, int digits, bool known)
{
    if (known)
        gt_csv_format(csv, "%.*f", digits, value);
    else
        gt_csv_text(csv, "");
}

void gt_csv_end(struct gt_csv *csv)
{
    if (!csv)
        return;
    fputc('\n', csv->file);
    fflush(csv->file);
    csv->inside = false;
    csv->records = true;
}

void gt_csv_line(struct gt_csv *csv, const char *record)
{
    if (!csv)
        return;
    fputs(record, csv->file);
    gt_csv_end(csv);
}

void gt_record_text(const struct gt_record *record, const char *key, const char *text)
{
    if (record->json && text)
        cJSON_AddStringToObject(record->json, key, text);
    gt_csv_text(record->csv, text ? text : "");
}

void gt_record_bool(const struct gt_record *record, const char *key, bool value)
{
    if (record->json)
        cJSON_AddBoolToObject(record->json, key, value);
    gt_csv_text(record->csv, value ? "1" : "0");
}

void gt_record_real(const struct gt_record *record, const char *key, double value, int digits,
                    bool known)
{
    if (record->json && known)
        cJSON_AddNumberToObject(record->json, key, value);
    gt_csv_real(record->csv, value, digits, known);
}
