/* export_format.h - what the files export*.c share. */
#ifndef GT_EXPORT_FORMAT_H
#define GT_EXPORT_FORMAT_H

#include "exchange/export.h"

#include "base/strbuf.h"

/* What a format is being written into. */
struct gt_export_out {
    struct gt_strbuf *text;
    const struct gt_row_filter *filter;
    const char *keep;                 /* of the request */
    int64_t rows;                     /* so far */
    const struct gt_comparison *with; /* bench: of the row */
    bool json;                        /* energy: as JSON */
    int objective;                    /* energy: only the best by it; -1: all */
    const struct gt_kernels *today;   /* of the request */
};

/* A format: what comes before the rows (NULL: nothing), each row, what comes after (likewise); or,
 * for one that is not made of winners or trials one by one, a function that writes all of it. */
struct gt_export_ops {
    int (*whole)(struct gt_export_out *out, struct gt_store *store, struct gt_err *err);
    void (*begin)(struct gt_export_out *out);
    int (*row)(struct gt_export_out *out, const struct gt_row *row, struct gt_err *err);
    int (*end)(struct gt_export_out *out, struct gt_err *err);
    /* Instead of `row`: writes all rows of the filter's problem (NULL: of all). */
    int (*rows)(struct gt_export_out *out, struct gt_store *store, struct gt_err *err);
    bool winners_only, measured;
    bool compared; /* rows are gt_store_compared's, else gt_store_rows's */
    bool deployed; /* for programs that run the winners: replayed ones are left out */
};

extern const struct gt_export_ops gt_export_csv, gt_export_json, gt_export_md, gt_export_c,
    gt_export_shipped, gt_export_bench, gt_export_search, gt_export_energy, gt_export_trials,
    gt_export_kernel_tuner, gt_export_t4, gt_export_t4_metadata;

/* "measured", "predicted", "replayed", or the status of a failure; of an older text of its kernel
 * with " (older text)" behind it. */
#define GT_EXPORT_STATUS 64

/* Writes a blank, or U+00BF, over each control character of a line. */
void gt_export_clean(char *text);

/* Appends a field of comma-separated values: quoted where RFC 4180 asks for it, control characters
 * as blanks, so that no escape sequence reaches a terminal.  In free text a spreadsheet would run
 * what begins with = + - @: an apostrophe is put before it. */
void gt_export_field(struct gt_strbuf *text, const char *field, bool free_text);

/* Appends a text for JSON, which is UTF-8: a question mark for each byte that is not. */
void gt_export_utf8(struct gt_strbuf *to, const char *text);

/* The columns of the CSV formats and the fields of a row, both without an end of line. */
#define GT_EXPORT_CSV_COLUMNS                                                                     \
    "device,dtype,accuracy,layout,m,n,k,batch,kernel,point,us,lo_us,hi_us,cublas_us,ratio,err_u," \
    "l2,driver,nvrtc,date,problem"
void gt_export_csv_fields(struct gt_strbuf *text, const struct gt_row *row);

/* Puts a first line before the text: the magic, and a digest of the text. */
int gt_export_seal(struct gt_strbuf *text, const char *magic, struct gt_err *err);

/* Makes a text a table of the format shipped: its lines, of which the first one names the columns,
 * are sorted and put under a digest. */
int gt_export_shipped_seal(struct gt_strbuf *text, struct gt_err *err);

/* "13.0" of 13000; "" of 0. */
void gt_export_version(struct gt_strbuf *text, int version);

#endif
