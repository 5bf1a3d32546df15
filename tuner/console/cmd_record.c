/* cmd_record.c - the printer of records; see cmd_record.h. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/strbuf.h"
#include "console/cmd_record.h"
#include "console/cmd_write.h"
#include "console/options.h"
#include "console/terminal.h"
#include "exchange/export_format.h"

/* ---- CSV files ---- */

struct gt_csv {
    struct gt_cmd_output output;
    FILE *file;   /* the output's */
    bool inside;  /* a field of the current record was written */
    bool records; /* a record was written */
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

/* ---- JSON documents ---- */

static bool failed; /* a global, because cJSON's hooks have no argument */

static void *allocate(size_t size)
{
    void *block = malloc(size);

    failed |= !block;
    return block;
}

static void release_json(void *block)
{
    free(block);
}

void gt_cmd_json_watch(void)
{
    cJSON_Hooks hooks = {.malloc_fn = allocate, .free_fn = release_json};

    failed = false;
    cJSON_InitHooks(&hooks);
}

int gt_cmd_json_check(struct gt_err *err)
{
    return failed ? gt_err_nomem(err) : GT_OK;
}

/* Prints a text of cJSON's as UTF-8 and frees it; false: memory did not suffice. */
static bool put(FILE *out, char *text)
{
    struct gt_strbuf clean = GT_STRBUF_INIT;
    bool whole;

    gt_export_utf8(&clean, text ? text : "");
    whole = text && gt_strbuf_check(&clean, NULL) == GT_OK;
    for (size_t i = 0; whole && i < clean.length; i++)
        if (gt_is_control(clean.text, i) && clean.text[i] != '\n' && clean.text[i] != '\t')
            clean.text[i] = (unsigned char)clean.text[i] < 0x80 ? ' ' : (char)0xbf; /* U+00BF */
    if (whole)
        fprintf(out, "%s\n", clean.text);
    gt_strbuf_release(&clean);
    free(text);
    return whole;
}

int gt_cmd_print_json(const struct gt_cli *cli, struct cJSON *json, struct gt_err *err)
{
    char *text = json && !failed ? cJSON_Print(json) : NULL;

    cJSON_Delete(json);
    return put(cli->out, text) ? GT_OK : gt_err_nomem(err);
}

/* ---- fields ---- */

static void print_field(FILE *out, const struct gt_format_field *field, const char *separator)
{
    char text[GT_FORMAT_TEXT];
    const char *value = gt_format_text(field, text);
    const int pad = field->width - (int)strlen(value);

    fprintf(out, "%s%s%*s", separator, field->before, field->left || pad < 0 ? 0 : pad, "");
    gt_columns_put(out, value);
    fprintf(out, "%*s%s", field->left && pad > 0 ? pad : 0, "", field->after);
}

static void add_member(cJSON *json, const struct gt_format_field *field)
{
    if (!field->has_key || !field->known)
        return;
    if (field->text)
        cJSON_AddStringToObject(json, field->key, field->text);
    else if (field->conversion == 'i')
        cJSON_AddBoolToObject(json, field->key, field->number > 0);
    else
        cJSON_AddNumberToObject(json, field->key, field->number);
}

/* Adds the fields to an object, to a CSV record and to a line; each may be NULL. */
static void add_fields(cJSON *json, struct gt_csv *csv, FILE *out, const char *fields,
                       struct gt_arguments *args)
{
    const char *separator = "";
    struct gt_format_field field;
    char text[GT_FORMAT_TEXT];

    while (*fields) {
        fields = gt_format_take(&field, fields, " ", args);
        if (json)
            add_member(json, &field);
        if (csv && field.has_key)
            gt_csv_text(csv, field.known ? gt_format_text(&field, text) : "");
        if (out && !field.hidden) {
            print_field(out, &field, separator);
            separator = " ";
        }
    }
}

#define ADD_FIELDS(json, csv, out, fields)               \
    do {                                                 \
        struct gt_arguments args;                        \
                                                         \
        va_start(args.list, fields);                     \
        add_fields((json), (csv), (out), fields, &args); \
        va_end(args.list);                               \
    } while (0)

void gt_json_add(struct cJSON *json, const char *fields, ...)
{
    ADD_FIELDS(json, NULL, NULL, fields);
}

void gt_json_add_triple(struct cJSON *json, const char *key, const unsigned value[3])
{
    cJSON *list = cJSON_AddArrayToObject(json, key);

    for (int i = 0; i < 3; i++)
        cJSON_AddItemToArray(list, cJSON_CreateNumber(value[i]));
}

struct cJSON *gt_json_append(struct cJSON *list, const char *fields, ...)
{
    cJSON *json = cJSON_CreateObject();

    cJSON_AddItemToArray(list, json);
    ADD_FIELDS(json, NULL, NULL, fields);
    return json;
}

struct cJSON *gt_json_object(struct cJSON *json, const char *key, const char *fields, ...)
{
    cJSON *object = cJSON_AddObjectToObject(json, key);

    ADD_FIELDS(object, NULL, NULL, fields);
    return object;
}

int gt_cmd_print_members(const struct gt_cli *cli, struct gt_err *err, const char *fields, ...)
{
    cJSON *json = cJSON_CreateObject();

    ADD_FIELDS(json, NULL, NULL, fields);
    return gt_cmd_print_json(cli, json, err);
}

/* ---- records ---- */

void gt_record_add(const struct gt_record *record, const char *fields, ...)
{
    ADD_FIELDS(record->json, record->csv, NULL, fields);
}

void gt_records_open(struct gt_records *records, const struct gt_cli *cli, const char *heading)
{
    records->root = records->list = cli->json ? cJSON_CreateArray() : NULL;
    records->out = cli->json ? NULL : cli->out;
    if (records->out && heading)
        fprintf(records->out, "%s\n", heading);
}

void gt_records_document(struct gt_records *records, const struct gt_cli *cli, const char *list,
                         const char *fields, ...)
{
    records->out = cli->json ? NULL : cli->out;
    if (!cli->json)
        return;
    records->root = cJSON_CreateObject();
    ADD_FIELDS(records->root, NULL, NULL, fields);
    records->list = cJSON_AddArrayToObject(records->root, list);
}

struct cJSON *gt_records_add(const struct gt_records *records, const char *fields, ...)
{
    cJSON *json = records->list ? cJSON_CreateObject() : NULL;

    if (json)
        cJSON_AddItemToArray(records->list, json);
    ADD_FIELDS(json, records->csv, records->out, fields);
    gt_csv_end(records->csv);
    if (records->out)
        fputc('\n', records->out);
    return json;
}

int gt_records_close(struct gt_records *records, const struct gt_cli *cli, int rc,
                     struct gt_err *err)
{
    const int closed = gt_csv_close(records->csv, rc ? NULL : err);

    if (!rc && cli->json)
        rc = gt_cmd_print_json(cli, records->root, err);
    else
        cJSON_Delete(records->root);
    return rc ? rc : closed;
}

void gt_columns_print(const struct gt_columns *columns, FILE *out, const char *lead,
                      const char *tail, const char *cells, ...)
{
    char text[GT_COLUMNS_MAX][96];
    const char *cell[GT_COLUMNS_MAX];
    struct gt_arguments args;
    struct gt_format_field field;
    char number[GT_FORMAT_TEXT];

    va_start(args.list, cells);
    for (size_t i = 0; i < columns->count; i++) {
        cells = gt_format_take(&field, cells, "|", &args);
        snprintf(text[i], sizeof(text[i]), "%s%s", gt_format_text(&field, number),
                 field.known ? field.after : "");
        cell[i] = text[i];
    }
    va_end(args.list);
    gt_columns_row(columns, out, lead, cell, tail);
}

bool gt_cmd_json_error(FILE *out, const char *sentence, int code)
{
    cJSON *json;
    char *text;

    gt_cmd_json_watch();
    json = cJSON_CreateObject();
    gt_json_add(json, "error=%s code=%d", sentence, code);
    text = failed ? NULL : cJSON_PrintUnformatted(json);
    cJSON_Delete(json);
    return put(out, text);
}
