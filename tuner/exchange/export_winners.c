/* export_winners.c - writes winners for programs: the table that libgemmtune reads, and C
 * source. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "exchange/export_format.h"
#include "lookup/table.h"
#include "problem/problem.h"
#include "problem/trial.h"

/* ---- the shipped table ----
 * The text table that libgemmtune reads (src/lookup/table.c): a digest, the names of the columns,
 * then one winner a line in byte order, so that a change shows as a diff.  Rows of an earlier table
 * may be kept. */

static int shipped_row(struct gt_export_out *out, const struct gt_row *row, struct gt_err *err)
{
    const char *const names[] = {row->device, row->problem, row->kernel, row->signature,
                                 row->point};
    struct gt_strbuf *text = out->text;

    (void)err;
    gt_strbuf_addf(text, "%d,%s,", row->cc, gt_provenance_name(row->provenance));
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        gt_export_field(text, names[i], false);
        gt_strbuf_add_char(text, ',');
    }
    gt_strbuf_addf(text, "%s,%.3f,%.3f,%.3f,%.3f,%.3g,%d,%d,%s,%d,%" PRId64 "\n",
                   gt_timing_name(row->timing), row->us, row->lo_us, row->hi_us, row->baseline_us,
                   row->err_u, row->driver, row->nvrtc, row->date, row->stage, row->trials);
    return GT_OK;
}

/* ---- rows that are kept ---- */

/* Whether the kernel still has the row's text, and the filter asks for such rows. */
static bool still_holds(const struct gt_table_row *row, const struct gt_row_filter *filter)
{
    const struct gt_kernels *kernels = filter->kernels;

    if (row->predicted && !(filter->provenance & 1u << GT_PREDICTED))
        return false;
    for (size_t i = 0; kernels && i < kernels->count; i++)
        if (strcmp(kernels->kernel[i]->name, row->kernel) == 0)
            return strcmp(kernels->kernel[i]->signature, row->signature) == 0;
    return !kernels || filter->others;
}

/* Whether the table has a winner that replaces this row: a winner that never won a final does not
 * replace one that did. */
static bool has_winner(const struct gt_table *table, const struct gt_table_row *of)
{
    for (size_t i = 0; i < table->rows; i++) {
        const struct gt_table_row *row = &table->row[i];

        if (row->cc == of->cc && row->timing == of->timing && row->predicted <= of->predicted &&
            row->contested >= of->contested && strcmp(row->device, of->device) == 0 &&
            strcmp(row->text, of->text) == 0)
            return true;
    }
    return false;
}

/* Adds the kept lines of the earlier table, whose lines are its rows in the same order. */
static int add_kept(struct gt_export_out *out, const struct gt_table *ours, struct gt_err *err)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    struct gt_table earlier = {0};
    const char *line;
    bool more;
    int rc = gt_strbuf_add_file(&text, out->request->keep, err);

    GT_STEP(rc, gt_table_parse(&earlier, out->request->keep, text.text, text.length, err));
    line = rc ? NULL : strchr(text.text, '\n') + 1;
    more = line && gt_table_has_contest(line);
    line = line ? strchr(line, '\n') + 1 : NULL;
    for (size_t i = 0; i < earlier.rows && !rc; i++) {
        const char *end = strchr(line, '\n');

        if (still_holds(&earlier.row[i], out->filter) && !has_winner(ours, &earlier.row[i])) {
            gt_strbuf_add_bytes(out->text, line, (size_t)(end - line));
            gt_strbuf_add(out->text, more ? "\n" : ",,\n");
            out->rows++;
        }
        line = end + 1;
    }
    gt_table_release(&earlier);
    gt_strbuf_release(&text);
    return rc ? rc : gt_strbuf_check(out->text, err);
}

/* Adds the kept rows.  To decide which, the database's rows are read back just as the table's
 * reader will read them. */
static int keep_rows(struct gt_export_out *out, struct gt_err *err)
{
    struct gt_strbuf text = GT_STRBUF_INIT;
    struct gt_table ours = {0};
    int rc;

    gt_strbuf_add_bytes(&text, out->text->text, out->text->length);
    rc = gt_export_seal(&text, GT_TABLE_MAGIC, "\n", "", err);
    GT_STEP(rc, gt_table_parse(&ours, "the winners", text.text, text.length, err));
    GT_STEP(rc, add_kept(out, &ours, err));
    gt_table_release(&ours);
    gt_strbuf_release(&text);
    return rc;
}

/* ---- order ---- */

static int compare_lines(const void *x, const void *y)
{
    return strcmp(*(char *const *)x, *(char *const *)y);
}

/* Sorts the lines after the first one, which names the columns. */
static int sort_lines(struct gt_strbuf *text, struct gt_err *err)
{
    struct gt_strbuf sorted = GT_STRBUF_INIT;
    size_t lines = 0, count = 0;
    char **line, *save, *at;

    for (at = text->text; (at = strchr(at, '\n')); at++)
        lines++;
    line = calloc(lines + 1, sizeof(*line));
    if (!line)
        return gt_err_nomem(err);
    strtok_r(text->text, "\n", &save);
    while ((at = strtok_r(NULL, "\n", &save)))
        line[count++] = at;
    qsort(line, count, sizeof(*line), compare_lines);
    gt_strbuf_add(&sorted, GT_TABLE_COLUMNS GT_TABLE_CONTEST "\n");
    for (size_t i = 0; i < count; i++)
        gt_strbuf_addf(&sorted, "%s\n", line[i]);
    free(line);
    gt_strbuf_release(text);
    *text = sorted;
    return gt_strbuf_check(&sorted, err);
}

int gt_export_shipped_seal(struct gt_strbuf *text, struct gt_err *err)
{
    int rc = gt_strbuf_check(text, err);

    GT_STEP(rc, sort_lines(text, err));
    GT_STEP(rc, gt_export_seal(text, GT_TABLE_MAGIC, "\n", "", err));
    return rc;
}

static int shipped_end(struct gt_export_out *out, struct gt_err *err)
{
    int rc = out->request->keep ? keep_rows(out, err) : GT_OK;

    return rc ? rc : gt_export_shipped_seal(out->text, err);
}

const struct gt_export_ops gt_export_shipped = {
    .head = GT_TABLE_COLUMNS GT_TABLE_CONTEST "\n",
    .row = shipped_row,
    .end = shipped_end,
    .winners_only = true,
    .deployed = true,
};

/* ---- the C header ----
 * A static table and a function that finds a shape in it.  The header gets only integers, and names
 * whose every character was checked, so that no text of a database can become code. */

static const char head[] =
    "/* Winners of a gemmtune database: the fastest known kernel and point of each problem.\n"
    " * Made by `tune export --format c`.  Compiles as C11 and as C++. */\n"
    "#ifndef GEMMTUNE_WINNERS_H\n"
    "#define GEMMTUNE_WINNERS_H\n"
    "\n"
    "#include <stddef.h>\n"
    "#include <string.h>\n"
    "\n"
    "struct gemmtune_param {\n"
    "    const char *name; /* NULL ends the list */\n"
    "    long long value;\n"
    "};\n"
    "\n"
    "struct gemmtune_winner {\n"
    "    int arch;                 /* 90 for sm_90 */\n"
    "    const char *type, *accuracy, *layout;\n"
    "    long long m, n, k, batch;\n"
    "    const char *problem;      /* all of it, as gemmtune writes it */\n"
    "    int plain;                /* 1: packed, no epilogue, beta == 0: the sizes say it all */\n"
    "    int measured;             /* 0: predicted by a model, never run */\n"
    "    int timing;               /* 0: launches one by one, operands not in L2; 1: left there;\n"
    "                                 2: chains of launches in a CUDA graph */\n"
    "    int contested;            /* 1: won a final, timed in turns with the answer before it */\n"
    "    long long ns;             /* median time in nanoseconds */\n"
    "    const char *kernel;\n"
    "    struct gemmtune_param param[41];\n"
    "};\n"
    "\n"
    "static const struct gemmtune_winner gemmtune_winners[] = {\n";

static const char tail[] =
    "    {0, NULL, NULL, NULL, 0, 0, 0, 0, NULL, 0, 0, 0, 0, 0, NULL, {{NULL, 0}}},\n"
    "};\n"
    "\n"
    "/* The winner of a plain problem on an arch, or NULL if it was not tuned:\n"
    " *     gemmtune_find(90, \"f32\", \"strict\", \"nn\", 4096, 4096, 4096, 1); */\n"
    "static inline const struct gemmtune_winner *gemmtune_find(int arch, const char *type,\n"
    "                                                          const char *accuracy,\n"
    "                                                          const char *layout, long long m,\n"
    "                                                          long long n, long long k,\n"
    "                                                          long long batch)\n"
    "{\n"
    "    const struct gemmtune_winner *w;\n"
    "\n"
    "    for (w = gemmtune_winners; w->kernel; w++)\n"
    "        if (w->plain && w->arch == arch && w->m == m && w->n == n && w->k == k &&\n"
    "            w->batch == batch && strcmp(w->type, type) == 0 &&\n"
    "            strcmp(w->accuracy, accuracy) == 0 && strcmp(w->layout, layout) == 0)\n"
    "            return w;\n"
    "    return NULL;\n"
    "}\n"
    "\n"
    "#endif\n";

/* Whether text consists of letters, digits, '_' and the characters of `more`. */
static bool is_clean(const char *text, const char *more)
{
    if (!*text)
        return false;
    for (; *text; text++)
        if (!isalnum((unsigned char)*text) && *text != '_' && !strchr(more, *text))
            return false;
    return true;
}

static int refuse(const struct gt_row *row, const char *what, const char *value, struct gt_err *err)
{
    return gt_err_set(err, GT_ERANGE,
                      "the row of %s has the %s \"%s\", which may not stand in a C header",
                      row->problem, what, value);
}

/* Adds "BM=128,BN=64" as {"BM", 128}, {"BN", 64}. */
static int add_params(struct gt_strbuf *text, const struct gt_row *row, struct gt_err *err)
{
    const char *at = row->point;
    char name[64];
    long long value;
    int used, count = 0;

    while (*at) {
        used = 0;
        if (sscanf(at, "%63[A-Za-z0-9_]=%lld%n", name, &value, &used) != 2 ||
            (at[used] != ',' && at[used] != '\0') || isdigit((unsigned char)*name) ||
            ++count > GT_MAX_PARAMS)
            return refuse(row, "point", row->point, err);
        gt_strbuf_addf(text, "{\"%s\", %lld}, ", name, value);
        at += used + (at[used] == ',');
    }
    gt_strbuf_add(text, "{NULL, 0}");
    return GT_OK;
}

/* *plain: whether m, n, k, batch, type, layout and accuracy describe the problem completely. */
static int check_plain(const struct gt_row *row, bool *plain, struct gt_err *err)
{
    char canonical[GT_PROBLEM_TEXT_MAX], shape[GT_PROBLEM_TEXT_MAX];
    struct gt_problem problem;
    int code;

    snprintf(shape, sizeof(shape),
             "%" PRId64 "x%" PRId64 "x%" PRId64 ":%s:%s:batch=%" PRId64 ":accuracy=%s", row->m,
             row->n, row->k, row->dtype, row->layout, row->batch, row->accuracy);
    code = gt_problem_parse(&problem, shape, err);
    if (!code)
        gt_problem_format(&problem, canonical);
    *plain = !code && strcmp(canonical, row->problem) == 0;
    return code;
}

static int c_row(struct gt_export_out *out, const struct gt_row *row, struct gt_err *err)
{
    struct gt_strbuf *text = out->text;
    bool plain;
    int code = check_plain(row, &plain, err);

    if (code)
        return code;
    if (!is_clean(row->kernel, "") || isdigit((unsigned char)*row->kernel))
        return refuse(row, "kernel", row->kernel, err);
    if (!is_clean(row->dtype, "") || !is_clean(row->layout, "") || !is_clean(row->accuracy, "") ||
        !is_clean(row->problem, ":=+-."))
        return refuse(row, "problem", row->problem, err);
    gt_strbuf_addf(text,
                   "    {%d, \"%s\", \"%s\", \"%s\", %" PRId64 ", %" PRId64 ", %" PRId64
                   ", %" PRId64 ",\n     \"%s\", %d, %d, %d, %d, %.0f, \"%s\",\n     {",
                   row->cc, row->dtype, row->accuracy, row->layout, row->m, row->n, row->k,
                   row->batch, row->problem, plain, row->provenance == GT_MEASURED, row->timing,
                   row->provenance == GT_MEASURED && row->stage == 3, row->us * 1000, row->kernel);
    code = add_params(text, row, err);
    gt_strbuf_addf(text, "}},%s\n",
                   row->provenance == GT_PREDICTED ? " /* predicted, not measured */" : "");
    return code;
}

const struct gt_export_ops gt_export_c = {
    .head = head,
    .tail = tail,
    .row = c_row,
    .winners_only = true,
    .deployed = true,
};
