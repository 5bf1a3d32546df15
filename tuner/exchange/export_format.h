/* export_format.h - what the formats of export.h have in common: what a format is, and the printer
 * of records. */
#ifndef GT_EXPORT_FORMAT_H
#define GT_EXPORT_FORMAT_H

#include "exchange/export.h"

#include <stdarg.h>

#include "base/strbuf.h"

/* An export in the making. */
struct gt_export_out {
    const struct gt_export_ops *ops;
    struct gt_strbuf *text;
    const struct gt_export_request *request;
    const struct gt_row_filter *filter;
    int64_t rows;                     /* so far */
    const struct gt_comparison *with; /* the row's comparison, for a format with `compared` */
};

/* ---- formats of fields; console/cmd_record.h describes them ---- */

/* A va_list that functions can advance. */
struct gt_arguments {
    va_list list;
};

/* A field of a format, with its value. */
struct gt_format_field {
    char key[48];
    bool has_key, hidden;             /* hidden: no part of a line */
    char before[16], after[16];       /* what stands around the value in a line */
    bool left, above_0;               /* the flags - and + */
    int width, precision, conversion; /* 's', 'i' (a truth value), 'd', 'f' or 'g' */
    bool known, exact;                /* exact: %g without a precision */
    const char *text;
    double number;
};

/* Reads a field up to one of `ends`, which is passed over. */
const char *gt_format_take(struct gt_format_field *field, const char *at, const char *ends,
                           struct gt_arguments *args);

/* The value as text: its number in `text`, "-" if it is not known. */
#define GT_FORMAT_TEXT 352 /* room also for the largest double */
const char *gt_format_text(const struct gt_format_field *field, char text[GT_FORMAT_TEXT]);

/* The printer of records: one function names each field and its value, and the form decides how a
 * field is written; with `heading` the names are written. */
enum gt_fields_form { GT_FIELDS_CSV, GT_FIELDS_MD, GT_FIELDS_JSON, GT_FIELDS_SPACED_JSON };

struct gt_fields {
    struct gt_strbuf *text;
    enum gt_fields_form form;
    bool heading;
    int count; /* so far */
};

/* Adds the fields of a printf format (console/cmd_record.h), each with a key.  An unknown value is
 * empty in CSV, "-" in Markdown, and left out of JSON, where %g without a precision has all digits.
 * Control characters become blanks, so that no escape sequence reaches a terminal. */
__attribute__((format(printf, 2, 3))) void gt_fields_add(struct gt_fields *fields,
                                                         const char *format, ...);
/* Begins a field of JSON whose value, a list or an object, the caller appends to the text. */
struct gt_strbuf *gt_fields_value(struct gt_fields *fields, const char *name);
void gt_fields_end(struct gt_fields *fields);

/* A format.  `begin` writes the text before the rows, `end` the text after them; NULL: nothing. */
struct gt_export_ops {
    const char *head, *tail; /* the first and the last text; NULL: none */
    void (*begin)(struct gt_export_out *out);
    int (*row)(struct gt_export_out *out, const struct gt_row *row, struct gt_err *err);
    int (*end)(struct gt_export_out *out, struct gt_err *err);
    /* Instead of `begin` and `row`: names the fields of a row, from which the form makes a heading
     * and the records. */
    int (*put)(struct gt_fields *fields, const struct gt_export_out *out, const struct gt_row *row,
               struct gt_err *err);
    enum gt_fields_form form;
    /* Instead of `row`: writes all rows of the filter's problem (NULL: of all). */
    int (*rows)(struct gt_export_out *out, struct gt_store *store, struct gt_err *err);
    bool one_problem; /* a request names one problem at most */
    bool winners_only, measured;
    bool compared; /* rows are gt_store_compared's, else gt_store_rows's */
    bool deployed; /* for programs that run the winners: replayed winners are left out */
};

#define GT_EXPORT_OPS(name, text, ops) extern const struct gt_export_ops gt_export_##ops;
GT_EXPORT_MAP(GT_EXPORT_OPS)
#undef GT_EXPORT_OPS

/* Whether the row is of another text of its kernel than the kernel in `today` has (NULL: not
 * known).  False for rows of recordings, for rows of kernels that are not in `today`, and for the
 * row of a heading. */
bool gt_export_older(const struct gt_kernels *today, const char *kernel, const char *signature,
                     enum gt_provenance provenance);

/* Appends a field of comma-separated values: quoted where RFC 4180 asks for it, control characters
 * as blanks.  A spreadsheet would run free text that begins with = + - @, so an apostrophe is put
 * before such a text. */
void gt_export_field(struct gt_strbuf *text, const char *field, bool free_text);

/* Appends a text in quotes, as JSON; control characters that JSON need not escape become blanks. */
void gt_export_quoted(struct gt_strbuf *text, const char *value);

/* Appends a text for JSON, with a question mark for each byte that is not UTF-8. */
void gt_export_utf8(struct gt_strbuf *to, const char *text);

/* A version as text: "13.0" for 13000; NULL for 0. */
#define GT_VERSION_TEXT 24
const char *gt_export_version(char text[GT_VERSION_TEXT], int version);

/* Puts the magic, a digest of the text, and `follows` before the text, and `end` behind it. */
int gt_export_seal(struct gt_strbuf *text, const char *magic, const char *follows, const char *end,
                   struct gt_err *err);

/* Makes a text a table of the format shipped: its lines, of which the first one names the columns,
 * are sorted and put under a digest. */
int gt_export_shipped_seal(struct gt_strbuf *text, struct gt_err *err);

#endif
