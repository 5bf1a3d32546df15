/* export_format.c - the printer of records, as CSV, Markdown or JSON. */
#include <stdarg.h>
#include <cjson/cJSON.h>
#include <stdio.h>
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
    [GT_FIELDS_JSON_LINES] = {"{\n", ",\n", ":", "\n}\n"},
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

void gt_export_version(struct gt_strbuf *text, int version)
{
    if (version > 0)
        gt_strbuf_addf(text, "%d.%d", version / 1000, version % 1000 / 10);
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
        gt_strbuf_add(fields->text, name);
    else if (!known && fields->form == GT_FIELDS_MD)
        gt_strbuf_add_char(fields->text, '-');
    return known && !fields->heading;
}

static void add_text(struct gt_fields *fields, const char *name, const char *text, bool free_text)
{
    if (!begin_field(fields, name, text != NULL))
        return;
    if (fields->form == GT_FIELDS_CSV)
        gt_export_field(fields->text, text, free_text);
    else if (fields->form == GT_FIELDS_MD)
        add_cell(fields->text, text);
    else
        gt_export_quoted(fields->text, text);
}

void gt_fields_text(struct gt_fields *fields, const char *name, const char *text)
{
    add_text(fields, name, text, true);
}

void gt_fields_word(struct gt_fields *fields, const char *name, const char *word)
{
    add_text(fields, name, word, false);
}

void gt_fields_real(struct gt_fields *fields, const char *name, bool known, double value)
{
    if (begin_field(fields, name, known))
        add_item(fields->text, cJSON_CreateNumber(value));
}

void gt_fields_version(struct gt_fields *fields, const char *name, int version)
{
    struct gt_strbuf text = GT_STRBUF_INIT;

    gt_export_version(&text, version);
    fields->text->failed |= text.failed;
    add_text(fields, name, version > 0 ? text.text : NULL, false);
    gt_strbuf_release(&text);
}

void gt_fields_put(struct gt_fields *fields, const char *name, bool known, const char *format, ...)
{
    char value[352]; /* room also for the largest double */
    va_list arguments;

    if (!begin_field(fields, name, known))
        return;
    va_start(arguments, format);
    vsnprintf(value, sizeof(value), format, arguments);
    va_end(arguments);
    gt_strbuf_add(fields->text, value);
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
