/* export_format.h - what the formats of export.h have in common: what a format is, and the printer
 * of records. */
#ifndef GT_EXPORT_FORMAT_H
#define GT_EXPORT_FORMAT_H

#include "exchange/export.h"

#include "base/strbuf.h"

/* An export in the making. */
struct gt_export_out {
    const struct gt_export_ops *ops;
    struct gt_strbuf *text;
    const struct gt_export_request *request;
    const struct gt_row_filter *filter;
    int64_t rows;                     /* so far */
    const struct gt_comparison *with; /* of the row, for a format with `compared` */
};

/* The printer of records: one function names each field and its value, and the form decides what is
 * written; with `heading` that is the names. */
enum gt_fields_form { GT_FIELDS_CSV, GT_FIELDS_MD, GT_FIELDS_JSON, GT_FIELDS_SPACED_JSON };

struct gt_fields {
    struct gt_strbuf *text;
    enum gt_fields_form form;
    bool heading;
    int count; /* so far */
};

/* Adds a field.  One that is not known (a text: NULL) is empty in CSV, "-" in Markdown, and left
 * out of JSON.  Control characters become blanks, so that no escape sequence reaches a terminal. */
void gt_fields_text(struct gt_fields *fields, const char *name, const char *text);
void gt_fields_word(struct gt_fields *fields, const char *name, const char *word); /* no formula */
void gt_fields_real(struct gt_fields *fields, const char *name, bool known, double value);
void gt_fields_version(struct gt_fields *fields, const char *name, int version);
__attribute__((format(printf, 4, 5))) void gt_fields_put(struct gt_fields *fields, const char *name,
                                                         bool known, const char *format, ...);
void gt_fields_end(struct gt_fields *fields);

/* A format: what comes before the rows (NULL: nothing), each row, what comes after (likewise). */
struct gt_export_ops {
    void (*begin)(struct gt_export_out *out);
    int (*row)(struct gt_export_out *out, const struct gt_row *row, struct gt_err *err);
    int (*end)(struct gt_export_out *out, struct gt_err *err);
    /* Instead of `begin` and `row`: names the fields of a row, of which the form makes a heading
     * and the records. */
    int (*put)(struct gt_fields *fields, const struct gt_export_out *out, const struct gt_row *row,
               struct gt_err *err);
    enum gt_fields_form form;
    /* Instead of `row`: writes all rows of the filter's problem (NULL: of all). */
    int (*rows)(struct gt_export_out *out, struct gt_store *store, struct gt_err *err);
    bool one_problem; /* a request names one problem at most */
    bool winners_only, measured;
    bool compared; /* rows are gt_store_compared's, else gt_store_rows's */
    bool deployed; /* for programs that run the winners: replayed ones are left out */
};

#define GT_EXPORT_OPS(name, text, ops) extern const struct gt_export_ops gt_export_##ops;
GT_EXPORT_MAP(GT_EXPORT_OPS)
#undef GT_EXPORT_OPS

/* Whether the row is of another text of a kernel than the one among these (NULL: not known); those
 * of recordings and of kernels that are not among them are not, nor is that of a heading. */
bool gt_export_older(const struct gt_kernels *today, const char *kernel, const char *signature,
                     enum gt_provenance provenance);

/* Appends a field of comma-separated values: quoted where RFC 4180 asks for it, control characters
 * as blanks.  In free text a spreadsheet would run what begins with = + - @: an apostrophe is put
 * before it. */
void gt_export_field(struct gt_strbuf *text, const char *field, bool free_text);

/* Appends a text for JSON, which is UTF-8: a question mark for each byte that is not. */
void gt_export_utf8(struct gt_strbuf *to, const char *text);

/* "13.0" of 13000; "" of 0. */
void gt_export_version(struct gt_strbuf *text, int version);

/* Puts the magic, a digest of the text, and what follows before the text, and an end behind it. */
int gt_export_seal(struct gt_strbuf *text, const char *magic, const char *follows, const char *end,
                   struct gt_err *err);

/* Makes a text a table of the format shipped: its lines, of which the first one names the columns,
 * are sorted and put under a digest. */
int gt_export_shipped_seal(struct gt_strbuf *text, struct gt_err *err);

/* Our statuses as Kernel Tuner and T4 name them; "gemmtune_status" beside those says which of
 * several it was. */
struct gt_export_called {
    const char *kernel_tuner; /* "CompilationFailedConfig"; NULL: no failure */
    const char *t4;           /* "compile" */
};
extern const struct gt_export_called gt_export_called[GT_STATUS_COUNT];

#endif
