/* export_format.c - the printer of records, as CSV, Markdown or JSON. */
#include <stdarg.h>
#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/err.h"
#include "exchange/export_format.h"

static const struct {
    const char *begin, *between, *colon, *end;
} forms[] = {
    [GT_FIELDS_CSV] = {"", ",", NULL, "\n"},
    [GT_FIELDS_MD] = {"| ", " | ", NULL, " |\n"},
    [GT_FIELDS_JSON] = {"{", ",", ":", "}"},
    [GT_FIELDS_SPACED_JSON] = {"{", ", ", ": ", "}"},
};

/* Overwrites each control character behind the first `begin` bytes with a blank or U+00BF. */
static void clean(struct gt_strbuf *buf, size_t begin)
{
    char *text = buf->text + begin;

    if (buf->failed || buf->length <= begin)
        return;
    for (size_t i = 0; text[i]; i++)
        if (gt_is_control(text, i)) /* the second byte of U+0080 to U+009F becomes that of U+00BF */
            text[i] = (unsigned char)text[i] < 0x80 ? ' ' : (char)0xbf;
}

/* ---- texts ---- */

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

/* Appends the item and deletes it; NULL: there was no memory for the item. */
static void add_item(struct gt_strbuf *text, cJSON *item)
{
    const size_t begin = text->length;
    char *printed = item ? cJSON_PrintUnformatted(item) : NULL;

    text->failed |= !printed;
    gt_strbuf_add(text, printed ? printed : "");
    clean(text, begin);
    cJSON_free(printed);
    cJSON_Delete(item);
}

void gt_export_quoted(struct gt_strbuf *text, const char *value)
{
    struct gt_strbuf valid = GT_STRBUF_INIT;

    gt_export_utf8(&valid, value);
    text->failed |= valid.failed;
    add_item(text, cJSON_CreateStringReference(valid.text));
    gt_strbuf_release(&valid);
}

/* Adds a cell of Markdown, with the characters escaped that would end the cell. */
static void add_cell(struct gt_strbuf *text, const char *cell)
{
    const size_t begin = text->length;

    for (; *cell; cell++)
        gt_strbuf_addf(text, strchr("|\\`<*_", *cell) ? "\\%c" : "%c", *cell);
    clean(text, begin);
}

void gt_export_field(struct gt_strbuf *text, const char *field, bool free_text)
{
    const size_t begin = text->length;
    bool quote = strpbrk(field, ",\"\r\n") != NULL;

    if (quote)
        gt_strbuf_add_char(text, '"');
    if (free_text && *field && strchr("=+-@\t\r", *field))
        gt_strbuf_add_char(text, '\'');
    for (; *field; field++) {
        if (*field == '"')
            gt_strbuf_add_char(text, '"');
        gt_strbuf_add_char(text, *field);
    }
    if (quote)
        gt_strbuf_add_char(text, '"');
    clean(text, begin);
}

const char *gt_export_version(char text[GT_VERSION_TEXT], int version)
{
    snprintf(text, GT_VERSION_TEXT, "%d.%d", version / 1000, version % 1000 / 10);
    return version > 0 ? text : NULL;
}

/* ---- formats ---- */

/* Reads flags, width, precision, length and conversion behind a '%', and takes the argument. */
static const char *take_value(struct gt_format_field *field, const char *at,
                              struct gt_arguments *args)
{
    char length = 0, *end;

    for (; *at == '-' || *at == '+'; at++)
        *(*at == '-' ? &field->left : &field->above_0) = true;
    field->width = (int)strtol(at, &end, 10);
    field->exact = *end == 'g';
    field->precision = *end == '.' ? (int)strtol(end + 1, &end, 10) : *end == 'g' ? 6 : 0;
    for (at = end; *at == 'z' || *at == 'l'; at++)
        length = *at;
    field->conversion = *at == 'u' ? 'd' : *at;
    field->known = true;
    if (*at == 's')
        field->known = (field->text = va_arg(args->list, const char *)) != NULL;
    else if (*at == 'f' || *at == 'g')
        field->number = va_arg(args->list, double);
    else if (length)
        field->number = length == 'z' ? (double)va_arg(args->list, size_t)
                                      : (double)va_arg(args->list, long long);
    else
        field->number =
            *at == 'u' ? (double)va_arg(args->list, unsigned) : (double)va_arg(args->list, int);
    if (*at != 's')
        field->known = !isnan(field->number) && (field->number > 0 || !field->above_0);
    return at + 1;
}

/* Copies up to a '%' with a value, or to a character of `ends`; "%%" becomes '%'. */
static const char *copy_until(char *to, size_t size, const char *at, const char *ends)
{
    size_t length = 0;

    for (; *at && !strchr(ends, *at) && (*at != '%' || at[1] == '%'); at++) {
        at += *at == '%';
        if (length + 1 < size)
            to[length++] = *at;
    }
    to[length] = '\0';
    return at;
}

const char *gt_format_take(struct gt_format_field *field, const char *at, const char *ends,
                           struct gt_arguments *args)
{
    const size_t key = strcspn(at, "=% ");

    *field = (struct gt_format_field){.has_key = at[key] == '=' && key > (*at == '.')};
    if (at[key] == '=') {
        field->hidden = *at == '.';
        snprintf(field->key, sizeof(field->key), "%.*s", (int)(key - field->hidden),
                 at + field->hidden);
        at += key + 1;
    }
    at = copy_until(field->before, sizeof(field->before), at, ends);
    if (*at == '%')
        at = take_value(field, at + 1, args);
    at = copy_until(field->after, sizeof(field->after), at, ends);
    return at + (*at != '\0');
}

const char *gt_format_text(const struct gt_format_field *field, char text[GT_FORMAT_TEXT])
{
    if (!field->conversion)
        return "";
    if (!field->known)
        return "-";
    if (field->text)
        return field->text;
    snprintf(text, GT_FORMAT_TEXT, field->conversion == 'g' ? "%.*g" : "%.*f", field->precision,
             field->number);
    return text;
}

/* ---- fields ---- */

/* Writes the text before the value; false: there is no value to write. */
static bool begin_field(struct gt_fields *fields, const char *name, bool known)
{
    const char *colon = forms[fields->form].colon;

    if (colon && !known)
        return false;
    gt_strbuf_add(fields->text,
                  fields->count++ ? forms[fields->form].between : forms[fields->form].begin);
    if (colon)
        gt_strbuf_addf(fields->text, "\"%s\"%s", name, colon);
    else if (fields->heading)
        for (; *name; name++) /* names in Markdown have blanks */
            gt_strbuf_add_char(fields->text,
                               *name == '_' && fields->form == GT_FIELDS_MD ? ' ' : *name);
    else if (!known && fields->form == GT_FIELDS_MD)
        gt_strbuf_add_char(fields->text, '-');
    return known && !fields->heading;
}

static void add_value(struct gt_fields *fields, const struct gt_format_field *field)
{
    const bool json = forms[fields->form].colon != NULL;
    char number[GT_FORMAT_TEXT];
    const char *text = gt_format_text(field, number);

    if (json && field->text)
        gt_export_quoted(fields->text, text);
    else if (json && field->exact)
        add_item(fields->text, cJSON_CreateNumber(field->number));
    else if (json)
        gt_strbuf_add(fields->text, field->conversion != 'i' ? text
                                    : field->number > 0      ? "true"
                                                             : "false");
    else if (fields->form == GT_FIELDS_MD)
        add_cell(fields->text, text);
    else
        gt_export_field(fields->text, text, field->text != NULL);
}

void gt_fields_add(struct gt_fields *fields, const char *format, ...)
{
    struct gt_arguments args;
    struct gt_format_field field;

    va_start(args.list, format);
    while (*format) {
        format = gt_format_take(&field, format, " ", &args);
        if (begin_field(fields, field.key, field.known))
            add_value(fields, &field);
    }
    va_end(args.list);
}

struct gt_strbuf *gt_fields_value(struct gt_fields *fields, const char *name)
{
    begin_field(fields, name, true);
    return fields->text;
}

void gt_fields_end(struct gt_fields *fields)
{
    gt_strbuf_add(fields->text, forms[fields->form].end);
}

/* ---- what several formats need ---- */

bool gt_export_older(const struct gt_kernels *today, const char *kernel, const char *signature,
                     enum gt_provenance provenance)
{
    for (size_t i = 0; today && kernel && i < today->count && provenance != GT_REPLAYED; i++)
        if (strcmp(today->kernel[i]->name, kernel) == 0)
            return strcmp(today->kernel[i]->signature, signature) != 0;
    return false;
}

int gt_export_seal(struct gt_strbuf *text, const char *magic, const char *follows, const char *end,
                   struct gt_err *err)
{
    struct gt_strbuf all = GT_STRBUF_INIT;
    char digest[GT_DIGEST_HEX];
    int rc = gt_strbuf_check(text, err);

    if (rc)
        return rc;
    gt_digest_bytes(text->text, text->length, digest);
    gt_strbuf_addf(&all, "%s%s%s", magic, digest, follows);
    gt_strbuf_add_bytes(&all, text->text, text->length);
    gt_strbuf_add(&all, end);
    gt_strbuf_release(text);
    *text = all;
    return gt_strbuf_check(&all, err);
}
