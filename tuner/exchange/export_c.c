/* export_c.c - writes winners as a C header: a static table and a function that finds a shape in
 * it.  Only integers, and names whose every character was checked, go into the header, so that
 * nothing in a database can become code. */
#include "exchange/export_format.h"

#include "base/err.h"
#include "problem/problem.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

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

/* "BM=128,BN=64" as {"BM", 128}, {"BN", 64}. */
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

static void c_begin(struct gt_export_out *out)
{
    gt_strbuf_add(out->text, head);
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

static int c_end(struct gt_export_out *out, struct gt_err *err)
{
    (void)err;
    gt_strbuf_add(out->text, tail);
    return GT_OK;
}

const struct gt_export_ops gt_export_c = {
    .begin = c_begin,
    .row = c_row,
    .end = c_end,
    .winners_only = true,
    .deployed = true,
};
